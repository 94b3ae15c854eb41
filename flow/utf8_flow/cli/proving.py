"""``prove`` and ``mutate``: what is known of the designs, and what would notice a mistake."""

from typing import Annotated

import typer
from rich.console import Console

from utf8_sim.tools.errors import Refused

from ..components.entry import possible
from ..formal.prover import PACKAGE as PROVER
from ..formal.prover import tool_version as prover_version
from ..terminal import Wrong, say
from ..verify.mutants import mutation_score
from ..verify.proofs import choose_goals, property_names, prove_all
from . import options
from .choices import AllRules, Designs, Rules, Stalling, Where, refuse_idle
from .output import check_outputs

app = typer.Typer()


@options.command(
    app,
    "utf8-hdl prove --component encoder --profile unicode",
    "utf8-hdl prove --property line-rate",
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
            help="Only this one.",
            autocompletion=property_names,
        ),
    ] = None,
    vcd: Annotated[
        str, options.option("OUT.vcd", "Where to write a counterexample's waveform.")
    ] = "utf8-hdl-counterexample.vcd",
    where: Where,
) -> None:
    """Prove the properties of the designs, for all inputs.

    These may be of any length, under any stalls. Without --profile, in all of them, and in unicode
    with each of its rules inverted.
    """
    chosen = designs.variants()
    refuse_idle(context, chosen)
    goals = choose_goals(chosen, name, rules.profiles())
    if vcd == "-":
        raise Refused("--vcd needs the name of a file")
    check_outputs([], {"--vcd": vcd})
    show, version = Console(highlight=False), prover_version()
    with where.workers(PROVER) as workers:
        say(show, version)
        if not prove_all(show, goals, vcd, workers):
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
    seed: options.Seed = 0,
    mutants: Annotated[int, options.number("How many of each component.", 1)] = 1000,
    where: Where,
) -> None:
    """Break the designs gate by gate, and count what notices.

    They are synthesised before. Each mutant meets the built-in campaign of compare and the
    properties of prove. One that none of them kills must be proved to do the same as the design.
    Components with lanes are tried if one says --lanes or --component: they take hours.
    """
    chosen, profile = designs.variants(with_lanes=False), rules.chosen()
    refuse_idle(context, chosen)
    tried = possible((variant, profile) for variant in chosen)
    modes = Stalling(seed).modes()
    show, version = Console(highlight=False), prover_version()
    with where.workers(PROVER) as workers:
        say(show, version)
        scores = [mutation_score(show, *each, mutants, seed, modes, workers) for each in tried]
    if not all(scores):
        raise Wrong
