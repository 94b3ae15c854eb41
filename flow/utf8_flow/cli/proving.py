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
from ..verify.proofs import choose_goals, property_names, prove_all
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
    refuse_idle(context, chosen)
    goals = choose_goals(chosen, name, rules.profiles())
    if vcd == "-":
        raise Refused("--vcd needs the name of a file")
    if certificates in ("", "-"):
        raise Refused("--certificates needs the name of a folder")
    check_outputs([], {"--vcd": vcd})
    show, version = report_console(), prover_version()
    with ExitStack() as stack:
        folder, tools = None, [PROVER]
        if certificates is not None:
            need_packages("--certificates", [SOLVER], "formal")
            tools.append(SOLVER)
            folder = stack.enter_context(output_folder(certificates))
        workers = stack.enter_context(where.workers(*tools))
        say(show, version)
        if not prove_all(show, goals, vcd, workers, folder, timeout):
            raise Wrong


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
