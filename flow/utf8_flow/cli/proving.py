"""``prove`` and ``mutate``: the proofs, and how many faults the checks detect."""

from contextlib import ExitStack
from typing import Annotated

import typer

from utf8_sim.tools.errors import Refused
from utf8_sim.tools.files import output_folder
from utf8_sim.tools.yowasp import need_packages

from ..components.entry import possible
from ..formal.abc_program import PACKAGE as PROVER
from ..formal.certificate import SOLVER
from ..formal.prover import LONGEST_PROOF
from ..formal.prover import tool_version as prover_version
from ..terminal import Wrong, report_console, say
from ..verify.mutants import mutation_score
from ..verify.proof_report import status_tables, theorem_lines
from ..verify.proof_results import Results
from ..verify.proofs import choose_goals, property_names, prove_all, scope
from ..verify.proofs import missing as choose_missing
from . import options
from .choices import AllRules, Designs, Rules, Stalling, Where, refuse_idle
from .output import check_outputs

PROOFS, MUTANTS = "Proofs", "Mutants"
"""Panels of the help."""

app = typer.Typer()


@options.command(
    app,
    "utf8-hdl prove --component encoder --profile unicode",
    "utf8-hdl prove --property line-rate",
    "utf8-hdl prove --component encoder --profile unicode --certificates proofs",
)
def prove(
    context: typer.Context,
    *,
    designs: Designs,
    rules: AllRules,
    name: Annotated[
        str | None,
        typer.Option(
            "--property",
            metavar="NAME",
            help="Property to prove. Default: every property.",
            autocompletion=property_names,
            rich_help_panel=PROOFS,
        ),
    ] = None,
    vcd: Annotated[
        str,
        options.output("OUT.vcd", "Waveform of a counterexample, if there is one.", panel=PROOFS),
    ] = "utf8-hdl-counterexample.vcd",
    certificates: Annotated[
        str | None,
        options.option(
            "FOLDER",
            "Write a certificate of each proof to this folder: two files, which utf8-hdl check "
            "verifies.",
            panel=PROOFS,
        ),
    ] = None,
    json_file: Annotated[
        str | None,
        options.option("FILE", "Merge each result into a JSON file.", "--json", panel=PROOFS),
    ] = None,
    missing: Annotated[
        bool,
        options.flag(
            "--missing",
            "Skip each property that is proved for the present code in --json.",
            panel=PROOFS,
        ),
    ] = False,
    status: Annotated[
        bool,
        options.flag(
            "--status", "Print the results in --json as Markdown, and prove nothing.", panel=PROOFS
        ),
    ] = False,
    theorem: Annotated[
        bool,
        options.flag(
            "--theorem",
            "Print the theorem of each component and its steps, and prove nothing.",
            panel=PROOFS,
        ),
    ] = False,
    timeout: Annotated[
        int,
        options.number("Time limit for each property.", 1, metavar="SECONDS", panel=PROOFS),
    ] = LONGEST_PROOF,
    where: Where,
) -> None:
    """Prove the properties of the components.

    A proof covers inputs of any length, with any stalls. Without --profile, each property is proved
    for every profile, and for unicode with each of its rules inverted.
    """
    chosen = designs.variants()
    refuse_idle(context, chosen, **_idle(status, theorem))
    if (missing or status) and json_file is None:
        raise Refused(f"{'--status' if status else '--missing'} needs --json FILE")
    if json_file in ("", "-"):
        raise Refused("--json needs the name of a file")
    results = None if json_file is None else Results(json_file, must_exist=status)
    show = report_console()
    if status or theorem:
        named = None if designs == Designs() else chosen
        lines = status_tables(results, named) if status and results else []
        if theorem:
            lines += theorem_lines(designs.component, results)
        for line in lines:
            say(show, line)
        return
    goals = choose_goals(chosen, name, rules.profiles(), small=designs == Designs())
    if missing and results:
        goals = choose_missing(goals, results, timeout)
    if vcd == "-":
        raise Refused("--vcd needs the name of a file")
    if certificates in ("", "-"):
        raise Refused("--certificates needs the name of a folder")
    check_outputs([], {"--vcd": vcd, "--json": json_file})
    version = prover_version()
    if not goals:
        say(show, "nothing is missing", "green")
        return
    with ExitStack() as stack:
        folder, tools = None, [PROVER]
        if certificates is not None:
            need_packages("--certificates", [SOLVER], "formal")
            tools.append(SOLVER)
            folder = stack.enter_context(output_folder(certificates))
        workers = stack.enter_context(where.workers(*tools))
        say(show, version)
        if not prove_all(show, goals, vcd, workers, folder, timeout, results):
            raise Wrong
        for line in scope(goals) if name is None else []:
            say(show, line)


_PROVING = (
    *("name", "vcd", "certificates", "timeout", "missing", "cluster"),
    *("profile", "surrogates", "noncharacters", "error_span"),
)
"""Parameters of `prove` that only a proof needs."""

_CHOOSING = "compact", "lanes", "from_form", "to_form", "byte_order", "strip_bom", "width"
"""Parameters that choose among the designs of a component, which have one theorem."""


def _idle(status: bool, theorem: bool) -> dict[str, str]:
    """The parameters that have no effect where nothing is proved."""
    if not (status or theorem):
        return {}
    names = {*_PROVING, *(_CHOOSING if theorem else ())}
    return dict.fromkeys(names, f"with {'--theorem' if theorem else '--status'}")


@options.command(
    app,
    "utf8-hdl mutate --component encoder --mutants 100",
    "utf8-hdl mutate --profile ucs2 --seed 1",
)
def mutate(
    context: typer.Context,
    *,
    designs: Designs,
    rules: Rules,
    seed: Annotated[int, options.number("Random seed.", panel=MUTANTS)] = 0,
    mutants: Annotated[int, options.number("Mutants of each component.", 1, panel=MUTANTS)] = 1000,
    where: Where,
) -> None:
    """Mutation test: inject faults and count those detected.

    A mutant is the netlist of a component with one gate changed. The built-in campaign of compare
    and the properties of prove must kill it, or it must be proved equivalent to the component.
    Components with lanes take hours: they are tested only if --lanes or --component names them.
    """
    need_packages("mutate", [PROVER], "formal")
    chosen, profile = designs.variants(with_lanes=False), rules.chosen()
    refuse_idle(context, chosen)
    tried = possible((variant, profile) for variant in chosen)
    modes = Stalling(seed).modes()
    show, version = report_console(), prover_version()
    with where.workers(PROVER) as workers:
        say(show, version)
        scores = [mutation_score(show, *each, mutants, seed, modes, workers) for each in tried]
    if not all(scores):
        raise Wrong
