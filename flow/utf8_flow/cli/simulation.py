"""``simulate`` and ``compare``: the hardware next to its golden model."""

from typing import Annotated

import typer

from utf8_sim.campaign import Part
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.stimulus import Stimulus
from utf8_sim.tools.errors import Refused

from ..terminal import plural, report_console, say
from ..verify.comparison import Campaign, PartsComparison
from ..verify.engines import AUTO, prepare_engine, tools_of
from ..verify.exhaustive import LONGEST, Plan, compare_exhaustively
from ..verify.hostile import Budget, Hostile, compare_hostilely
from ..verify.simulation import TextSimulation
from . import options
from .choices import Design, Engine, Kept, Stalling, Where, cycle_range, refuse_idle
from .output import check_outputs
from .texts import Typed, file_part, one_text

UNLESS_RATES = "unless --stall-input or --stall-output is given"

OF_OTHER_TEXTS = (
    *("files", "text", "hexadecimal", "code_points"),
    *("tokens", "stall_input_cycles", "stall_output_cycles"),
)
"""Parameters of ``compare`` that have no effect where it has texts of its own, and long ones."""

EXHAUSTIVE_STATE, HOSTILE_STATE = "utf8-hdl-exhaustive.json", "utf8-hdl-hostile.json"

MOST_CYCLES, MOST_HOURS = 10**18, 10**6
"""More than a century."""

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
    "printf 'A\\xe2\\x82' | utf8-hdl compare - --stall-input 0.9",
    "utf8-hdl compare --exhaustive 2",
    "utf8-hdl compare --cycles 1000000 --seed 7",
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
    cycles: Annotated[
        int | None,
        options.number(
            "Random hostile inputs instead of FILEs, until so many are compared.", 1, MOST_CYCLES
        ),
    ] = None,
    hours: Annotated[
        float | None,
        options.number(
            "Likewise, for so long; with --cycles no longer.", 0, MOST_HOURS, float, "H"
        ),
    ] = None,
    unit: Annotated[
        int | None, options.number("Likewise, only the unit of this number, once more.", 0)
    ] = None,
    state: Annotated[
        str | None,
        options.option(
            "FILE",
            "Where --exhaustive, --cycles and --hours keep what is done, to go on later; "
            f"without it {EXHAUSTIVE_STATE} or {HOSTILE_STATE}.",
        ),
    ] = None,
    where: Where,
) -> None:
    """Compare hardware and golden model, cycle by cycle.

    The stimuli are the FILEs (- is standard input), or what --text, --hex or --code-points gives,
    or without any the built-in campaign. Each runs at full rate and with stalls on either side and
    both. --vcd and --wave name what is kept if there is a difference.

    --cycles and --hours draw ever new inputs and stalls, in units of 1048576 cycles that follow
    from --seed and their number. A run that is interrupted goes on if it is started again. With
    --state it also goes on when it has come to its end, with more cycles or for more hours.
    """
    is_campaign = not files and typed == Typed()
    budgets = {"--exhaustive": exhaustive, "--unit": unit, "--cycles": cycles, "--hours": hours}
    [long, *others] = [option for option, given in budgets.items() if given is not None] or [""]
    if others and long in ("--exhaustive", "--unit"):
        raise Refused(f"give {long} or {others[0]}, not both")
    nothing_random = long == "--exhaustive" or (any(stalling.cycles) and not is_campaign)
    why = f"with {long} {UNLESS_RATES}" if long else UNLESS_RATES
    no_state = "without --exhaustive, --cycles or --hours" if not long else ""
    refuse_idle(
        context,
        design.variants(),
        seed=nothing_random and stalling.rates == (None, None) and why,
        state=no_state or (long == "--unit" and "with --unit"),
        cluster=not long and not is_campaign and "on texts that are given",
        **dict.fromkeys(OF_OTHER_TEXTS, bool(long) and f"with {long}"),
    )
    made, seed, variant = design.made(), stalling.seed, design.variant
    if state == "-":
        raise Refused("--state needs the name of a file")
    outputs, kept_state = kept.names(), state is not None
    if long and long != "--unit":
        state = state if kept_state else EXHAUSTIVE_STATE if exhaustive else HOSTILE_STATE
    check_outputs(files or [], {**outputs, "--state": state})
    show = report_console(outputs)
    vcd = kept.vcd or DIFFERENCE_VCD
    if exhaustive is not None and state is not None:
        simulator, engine_line = prepare_engine(engine, made, exhaustive * 256**exhaustive)
        rates = stalling.stall_input or 0.0, stalling.stall_output or 0.0
        plan = Plan(exhaustive, made.profile, simulator.name, rates, seed, variant)
        plan.use(simulator)
        with where.workers(*tools_of(simulator.name)) as workers:
            compare_exhaustively(show, plan, engine_line, state, vcd, kept.wave, workers)
        return
    if long:
        simulator, engine_line = prepare_engine(engine, made, Hostile.cycles)
        hostile = Hostile(simulator.profile, simulator.name, variant, seed, stalling.rates)
        hostile.use(simulator)
        budget = Budget(cycles, hours, unit)
        with where.workers(*tools_of(simulator.name)) as workers:
            compare_hostilely(
                show, hostile, budget, engine_line, state, kept_state, vcd, kept.wave, workers
            )
        return

    facts, modes = AmaranthEngine(made), stalling.modes()
    given = _given_parts(context, files or [], typed.part(facts), facts)
    parts = given or facts.component.campaign(made, seed)
    inputs = sum(part.size for part in parts) * len(modes)
    simulator, engine_line = prepare_engine(engine, made, inputs)
    if "--profile" in design.variant.used_options:
        say(show, f"profile {made.profile.describe()}")
    say(show, f"engine {engine_line}")
    stimuli = plural(len(parts), "stimulus", "stimuli")
    names = ", ".join(name for name, _ in modes)
    say(show, f"{plural(len(parts) * len(modes), 'run')}: {stimuli}, each at {names}")
    has_lines = kept.tokens is not None
    campaign = Campaign(simulator.profile, simulator.name, variant, seed, modes, has_lines, given)
    comparison = PartsComparison(simulator, campaign)
    with where.workers(*tools_of(simulator.name)) as workers:  # a second's work is not for cores
        comparison.run(show, kept.tokens, workers if where.cluster else None)
    comparison.tell(show, is_campaign, vcd, kept.wave)


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
