"""``prove``, ``check`` and ``mutate``: proofs, their certificates, and the mutation test."""

from contextlib import ExitStack
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from utf8_sim.command_line import component_options
from utf8_sim.tools.errors import UsageError

from .choices import AllRules, Designs, Machines, Rules, Stalling, reject_inapplicable
from .options import command, option, output_file
from .output import check_outputs

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer()


def _property_names() -> list[str]:
    from ..verify.proofs import property_names

    return property_names()


@dataclass
class Proofs:
    """Options for the proofs."""

    panel = "Proofs"

    name: str | None = option(
        None,
        "Property to prove. Default: every property.",
        "--property",
        metavar="NAME",
        autocompletion=_property_names,
    )
    vcd: str = output_file(
        "OUT.vcd",
        "Waveform of a counterexample, if there is one.",
        default="utf8-hdl-counterexample.vcd",
    )
    certificates: str | None = option(
        None,
        "Write a certificate of each proof to this folder: two files, which utf8-hdl check "
        "verifies.",
        metavar="FOLDER",
    )
    json_file: str | None = option(
        None, "Merge each result into a JSON file.", "--json", metavar="FILE"
    )
    missing: bool = option(
        False, "Skip properties that --json records as proved for the current code."
    )
    status: bool = option(False, "Print the results in --json as Markdown, without proving.")
    theorem: bool = option(
        False, "Print the theorem of each component and its steps, without proving."
    )
    timeout: int = option(900, "Time limit for each property.", metavar="SECONDS", min=1)


@command(
    app,
    "utf8-hdl prove --component encoder --profile unicode",
    "utf8-hdl prove --property line-rate",
    "utf8-hdl prove --component encoder --profile unicode --certificates proofs",
)
def prove(
    context: typer.Context, *, designs: Designs, rules: AllRules, proofs: Proofs, machines: Machines
) -> None:
    """Prove the properties of the components.

    A proof covers inputs of any length, with any stalls. Without --profile, each property is proved
    for every profile, and for unicode with each of its rules inverted.
    """
    from utf8_sim.tools.files import output_folder
    from utf8_sim.tools.yowasp import need_packages

    from ..formal.abc_program import PACKAGE as PROVER
    from ..formal.certificate import SOLVER
    from ..formal.prover import tool_version
    from ..terminal import VerificationFailed, report_console, say
    from ..verify.proof_report import status_tables, theorem_lines
    from ..verify.proof_results import Results
    from ..verify.proofs import choose_goals, prove_all, scope
    from ..verify.proofs import missing as choose_missing

    chosen = designs.specs()
    reject_inapplicable(context, chosen, **_idle(proofs.status, proofs.theorem))
    if (proofs.missing or proofs.status) and proofs.json_file is None:
        raise UsageError(f"{'--status' if proofs.status else '--missing'} needs --json FILE")
    if proofs.json_file in ("", "-"):
        raise UsageError("--json needs the name of a file")
    results = (
        None if proofs.json_file is None else Results(proofs.json_file, must_exist=proofs.status)
    )
    show = report_console()
    if proofs.status or proofs.theorem:
        named = None if designs == Designs() else chosen
        lines = status_tables(results, named) if proofs.status and results else []
        if proofs.theorem:
            lines += theorem_lines(designs.component, results)
        for line in lines:
            say(show, line)
        return
    goals = choose_goals(chosen, proofs.name, rules.profiles(), small=designs == Designs())
    if proofs.missing and results:
        goals = choose_missing(goals, results, proofs.timeout)
    if proofs.vcd == "-":
        raise UsageError("--vcd needs the name of a file")
    if proofs.certificates in ("", "-"):
        raise UsageError("--certificates needs the name of a folder")
    check_outputs([], {"--vcd": proofs.vcd, "--json": proofs.json_file})
    version = tool_version()
    if not goals:
        say(show, "nothing is missing", "green")
        return
    with ExitStack() as stack:
        folder, tools = None, [PROVER]
        if proofs.certificates is not None:
            need_packages("--certificates", [SOLVER], "formal")
            tools.append(SOLVER)
            folder = stack.enter_context(output_folder(proofs.certificates))
        workers = stack.enter_context(machines.workers(*tools))
        say(show, version)
        if not prove_all(show, goals, proofs.vcd, workers, folder, proofs.timeout, results):
            raise VerificationFailed
        for line in scope(goals) if proofs.name is None else []:
            say(show, line)


_PROVING = (
    *("name", "vcd", "certificates", "timeout", "missing", "cluster"),
    *("profile", "surrogates", "noncharacters", "error_span"),
)
"""Parameters of `prove` that only a proof needs."""

_CHOOSING = "compact", "lanes"
"""Parameters that select designs of a component; all designs of a component share its theorem."""


def _idle(status: bool, theorem: bool) -> dict[str, str]:
    """The parameters that have no effect if nothing is proved."""
    if not (status or theorem):
        return {}
    own = (each.name for each in component_options().values())
    names = {*_PROVING, *((*_CHOOSING, *own) if theorem else ())}
    return dict.fromkeys(names, f"with {'--theorem' if theorem else '--status'}")


@dataclass
class Mutants:
    """Options for the mutation test."""

    panel = "Mutants"

    seed: int = option(0, "Random seed.", metavar="N", min=0)
    mutants: int = option(1000, "Number of mutants of each component.", metavar="N", min=1)


@command(
    app,
    "utf8-hdl mutate --component encoder --mutants 100",
    "utf8-hdl mutate --profile ucs2 --seed 1",
)
def mutate(
    context: typer.Context, *, designs: Designs, rules: Rules, mutation: Mutants, machines: Machines
) -> None:
    """Mutation test: inject faults and count those detected.

    A mutant is the netlist of a component with one gate changed. The built-in campaign of compare
    and the properties of prove must kill it, or it must be proved equivalent to the component.
    Components with lanes take hours: they are tested only if --lanes or --component names them.
    """
    from utf8_sim.tools.yowasp import need_packages

    from ..designs import possible
    from ..formal.abc_program import PACKAGE as PROVER
    from ..formal.prover import tool_version
    from ..terminal import VerificationFailed, report_console, say
    from ..verify.mutants import mutation_score

    need_packages("mutate", [PROVER], "formal")
    chosen, profile = designs.specs(with_lanes=False), rules.chosen()
    reject_inapplicable(context, chosen)
    tried = possible(spec.under(profile) for spec in chosen)
    seed, mutants = astuple(mutation)
    modes = Stalling(seed).modes()
    show, version = report_console(), tool_version()
    with machines.workers(PROVER) as workers:
        say(show, version)
        scores = [mutation_score(show, each, mutants, seed, modes, workers) for each in tried]
    if not all(scores):
        raise VerificationFailed


@command(app, "utf8-hdl check proofs", "utf8-hdl check proofs/encoder-unicode-bytes.inv")
def check(
    *,
    names: Annotated[list[str] | None, typer.Argument(metavar="FILE|FOLDER", hidden=True)] = None,
) -> None:
    """Verify certificates of proofs.

    prove --certificates writes the certificates. The command checks each FILE, and all certificates
    in each FOLDER. The checker is a small program that uses no other code of this project and also
    runs alone. It prints one line per certificate. If it rejects one, the exit status is 1.
    """
    from utf8_sim.tools.yowasp import need_packages

    from ..formal.certificate import SOLVER
    from ..terminal import VerificationFailed, report_console

    need_packages("check", [SOLVER], "formal")
    if not check_all(report_console(), names or []):
        raise VerificationFailed


def check_all(show: "Console", names: list[str]) -> bool:
    """Print the verdict on each certificate; true if all are confirmed."""
    import utf8_check

    from ..terminal import progress_bar, say

    all_confirmed = True
    try:
        found = utf8_check.certificates(names)
        with progress_bar() as progress:
            task = progress.add_task("checking", total=len(found))
            for certificate in found:
                confirmed, text = utf8_check.verdict(certificate)
                say(show, f"{certificate}: {text}", "" if confirmed else "bold red")
                all_confirmed &= confirmed
                progress.advance(task)
    except utf8_check.Unreadable as error:
        raise UsageError(str(error)) from error
    return all_confirmed
