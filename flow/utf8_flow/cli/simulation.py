"""``simulate`` and ``compare``: the hardware next to its golden model."""

from typing import Annotated

import typer

from utf8_sim.campaign import Part
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.stimulus import Stimulus
from utf8_sim.tools.errors import Refused

from ..terminal import plural, report_console, say
from ..verify.comparison import PartsComparison
from ..verify.engines import AUTO, prepare_engine, tools_of
from ..verify.exhaustive import LONGEST, Plan, compare_exhaustively
from ..verify.simulation import TextSimulation
from . import options
from .choices import Design, Engine, Kept, Stalling, Where, cycle_range, refuse_idle
from .output import check_outputs
from .texts import Typed, file_part, one_text

UNLESS_RATES = "unless --stall-input or --stall-output is given"

NOT_EXHAUSTIVE = (
    *("files", "text", "hexadecimal", "code_points"),
    *("tokens", "stall_input_cycles", "stall_output_cycles"),
)
"""Parameters of ``compare`` that have no effect on ``--exhaustive``, which has its own texts."""

MOST_CYCLES_DRAWN = 256

DIFFERENCE_VCD = "utf8-hdl-difference.vcd"
"""Where the waveform around a difference is kept, unless ``--vcd`` names a file."""

app = typer.Typer()


@options.command(
    app,
    "utf8-hdl simulate --text 'A€😀'",
    "utf8-hdl simulate --hex 'C0 AF E2 82' --tokens -",
    "utf8-hdl simulate --text 'A€' --stall-output 0.5 --seed 7 --vcd wave.vcd",
    "utf8-hdl simulate --component encoder --code-points '20AC D800' --bytes out.txt",
)
def simulate(
    context: typer.Context,
    *,
    file: Annotated[str | None, typer.Argument(metavar="FILE|-", hidden=True)] = None,
    typed: Typed,
    design: Design,
    engine: Engine = AUTO,
    stalling: Stalling,
    kept: Kept,
    encoded: Annotated[
        str | None,
        options.option("OUT", "For an encoder or transcoder: write the bytes it gave.", "--bytes"),
    ] = None,
    wave_cycles: Annotated[
        str, options.option("FIRST-LAST", "Which cycles --wave draws.")
    ] = "0-31",
) -> None:
    """Run the hardware on real bytes, next to the golden model.

    What it made of them is shown, of short texts cycle by cycle. The text is FILE, standard input
    (-), or what --text or --hex gives. A decoder gets its bytes. An encoder gets its characters,
    surrogates and all other values too that its input can carry, or those of LIST. A transcoder
    gets the bytes of FILE or --hex as they are, and --text in the form that it takes. A compactor
    gets a value in each byte, and none in a lane that --hex has as --.
    """
    refuse_idle(
        context,
        design.variants(),
        seed=stalling.rates == (None, None) and UNLESS_RATES,
        wave_cycles=kept.wave is None and "without --wave",
    )
    made, stalls = design.made(), stalling.stalls()
    facts = AmaranthEngine(made)
    part = typed.part(facts)
    names = {**kept.names(), "--bytes": encoded}
    check_outputs([file] if file else [], names)
    drawn = cycle_range("--wave-cycles", wave_cycles)
    if len(drawn) > MOST_CYCLES_DRAWN:
        raise Refused(f"--wave-cycles draws at most {MOST_CYCLES_DRAWN} cycles, not {len(drawn)}")
    show = report_console(names)
    with one_text(file, part, facts) as text:
        simulator, engine_line = prepare_engine(engine, made, text.size)
        simulation = TextSimulation(simulator, names, drawn)
        simulation.run(show, Stimulus(text.pieces(), *stalls), text.size)
    simulation.tell(show, engine_line, DIFFERENCE_VCD)


@options.command(
    app,
    "utf8-hdl compare",
    "utf8-hdl compare --hex 'E2 82 / ED A0 80'",
    "printf 'A\\xe2\\x82' | utf8-hdl compare - --stall-input 0.9",
    "utf8-hdl compare --exhaustive 2",
)
def compare(
    context: typer.Context,
    *,
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE|-", hidden=True)] = None,
    typed: Typed,
    design: Design,
    engine: Engine = AUTO,
    stalling: Stalling,
    kept: Kept,
    exhaustive: Annotated[
        int | None,
        options.number(
            "For a decoder, validator or transcoder: every text of N bytes instead of FILEs.",
            1,
            LONGEST,
        ),
    ] = None,
    state: Annotated[
        str, options.option("FILE", "Where --exhaustive keeps what is done, to go on later.")
    ] = "utf8-hdl-exhaustive.json",
    where: Where,
) -> None:
    """Compare hardware and golden model, cycle by cycle.

    The stimuli are the FILEs (- is standard input), or what --text, --hex or --code-points gives,
    or without any the built-in campaign. Each runs at full rate and with stalls on either side and
    both. --vcd and --wave name what is kept if there is a difference.
    """
    is_campaign = not files and typed == Typed()
    nothing_random = exhaustive is not None or (any(stalling.cycles) and not is_campaign)
    why = UNLESS_RATES if exhaustive is None else f"with --exhaustive {UNLESS_RATES}"
    refuse_idle(
        context,
        design.variants(),
        seed=nothing_random and stalling.rates == (None, None) and why,
        state=exhaustive is None and "without --exhaustive",
        **dict.fromkeys(NOT_EXHAUSTIVE, exhaustive is not None and "with --exhaustive"),
    )
    made, modes = design.made(), stalling.modes()
    if state == "-":
        raise Refused("--state needs the name of a file")
    outputs = kept.names()
    check_outputs(files or [], outputs if exhaustive is None else {**outputs, "--state": state})
    show = report_console(outputs)
    vcd = kept.vcd or DIFFERENCE_VCD
    if exhaustive is not None:
        simulator, engine_line = prepare_engine(engine, made, exhaustive * 256**exhaustive)
        rates = stalling.stall_input or 0.0, stalling.stall_output or 0.0
        seed, variant = stalling.seed, design.variant
        plan = Plan(exhaustive, made.profile, simulator.name, rates, seed, variant)
        with where.workers(*tools_of(simulator.name)) as workers:
            compare_exhaustively(show, plan, engine_line, state, vcd, kept.wave, workers)
        return

    facts = AmaranthEngine(made)
    parts = _given_parts(context, files or [], typed.part(facts), facts)
    parts = parts or facts.component.campaign(made, stalling.seed)
    inputs = sum(part.size for part in parts) * len(modes)
    simulator, engine_line = prepare_engine(engine, made, inputs)
    if "--profile" in design.variant.used_options:
        say(show, f"profile {made.profile.describe()}")
    say(show, f"engine {engine_line}")
    stimuli = plural(len(parts), "stimulus", "stimuli")
    names = ", ".join(name for name, _ in modes)
    say(show, f"{plural(len(parts) * len(modes), 'run')}: {stimuli}, each at {names}")
    comparison = PartsComparison(simulator, parts, modes)
    comparison.run(show, kept.tokens)
    comparison.tell(show, stalling.seed, is_campaign, vcd, kept.wave)


def _given_parts(
    context: typer.Context, files: list[str], typed: Part | None, facts: AmaranthEngine
) -> list[Part]:
    """The stimuli that the command line names; none means the campaign."""
    if files.count("-") > 1:
        raise Refused("- is standard input, which can be read only once: give it once")
    if files and typed:
        raise Refused(f"give FILEs or {typed.name}, not both")
    if typed:
        return [typed]
    return [context.with_resource(file_part(name, facts)) for name in files]
