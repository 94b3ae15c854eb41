"""``simulate`` and ``compare``: the hardware against its golden model."""

from contextlib import ExitStack
from typing import Annotated

import typer

from utf8_sim.campaign import Mode, Part
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.tools.errors import Refused

from ..terminal import report_console, say
from ..verify.difference import design_words
from ..verify.engines import AUTO, prepare_engine, tools_of
from ..verify.runner import Budget, Runner
from ..verify.simulation import Recording
from ..verify.sources import LONGEST, Campaign, Counted, Exhaustive, Plan, RandomUnits, Replay
from . import options
from .choices import Design, Engine, Kept, Stalling, Where, cycle_range, refuse_idle
from .output import check_outputs
from .texts import Typed, file_part, one_text, read_table

OF_A_TEXT = (
    *("file", "text", "hexadecimal", "code_points", "stall_input", "stall_output"),
    *("stall_input_cycles", "stall_output_cycles"),
)
"""Parameters of ``simulate`` that have no effect with a table."""

LONG_RUNS = "Long runs"
"""A panel of the help."""

UNLESS_RATES = "unless --stall-input or --stall-output is given"

OF_OTHER_TEXTS = (
    *("files", "text", "hexadecimal", "code_points"),
    *("tokens", "stall_input_cycles", "stall_output_cycles"),
)
"""Parameters of ``compare`` that have no effect in long runs."""

STATE_FILE = "utf8-hdl-compare.json"
"""The default of ``--state``."""

MAX_CYCLES, MAX_HOURS = 10**18, 10**6
"""More than a century."""

MAX_CYCLES_DRAWN = 256

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
    stimulus: Annotated[
        str | None,
        options.option(
            "FILE",
            "Replay a table of all input pins in every cycle, such as difference.json.",
            panel=Typed.panel,
        ),
    ] = None,
    design: Design,
    engine: Engine = AUTO,
    stalling: Stalling,
    kept: Kept,
    encoded: Annotated[
        str | None,
        options.output(
            "OUT",
            "For an encoder or transcoder: write the bytes of its output.",
            "--bytes",
            panel=Kept.panel,
        ),
    ] = None,
    wave_cycles: Annotated[
        str,
        options.option("FIRST-LAST", "Cycles of the diagram of --wave.", panel=Kept.panel),
    ] = "0-31",
) -> None:
    """Simulate the hardware on a text, against its golden model.

    The report shows the output, a summary, and for a short text a table of the cycles. The text is
    FILE, standard input (-), or the value of --text, --hex or --code-points.

    The bytes of FILE and --hex are the input of a decoder, validator or transcoder. An encoder
    gets the code points of the text, with surrogates and every other value that its input can
    carry. For a transcoder, --text is first encoded as --from. Each byte is a value for a
    compactor.
    """
    refuse_idle(
        context,
        design.variants(),
        **dict.fromkeys(OF_A_TEXT, stimulus is not None and "with --stimulus"),
        seed=stalling.rates == (None, None) and UNLESS_RATES,
        wave_cycles=kept.wave is None and "without --wave",
    )
    made, mode = design.made(), Mode(str(stalling), *stalling.stalls())
    facts = AmaranthEngine(made)
    outputs = {**kept.names(), "--bytes": encoded}
    check_outputs([name for name in (file, stimulus) if name], outputs)
    drawn = cycle_range("--wave-cycles", wave_cycles)
    if len(drawn) > MAX_CYCLES_DRAWN:
        raise Refused(f"--wave-cycles draws at most {MAX_CYCLES_DRAWN} cycles, not {len(drawn)}")
    show = report_console(outputs)
    of = facts.profile, engine, design.variant, stalling.seed
    with ExitStack() as files:
        plan: Plan
        if stimulus is not None:
            plan = Replay(*of, read_table(stimulus, facts.interface, design_words(made)))
        else:
            text = files.enter_context(one_text(file, typed.part(facts), facts))
            plan = Campaign(*of, [mode], [text], counted=Counted.NOTHING)
        simulator, engine_line = prepare_engine(engine, made, plan.inputs)
        recording = Recording(simulator, outputs, drawn)
        runner = Runner(show, plan.on(simulator), observer=recording)
        runner.run_units()
    recording.conclude(show, runner, engine_line, DIFFERENCE_VCD)


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
            "For a decoder, validator or transcoder: compare every text of N bytes.",
            1,
            LONGEST,
            panel=LONG_RUNS,
        ),
    ] = None,
    cycles: Annotated[
        int | None,
        options.number(
            "Compare random inputs and stalls until N cycles are compared.",
            1,
            MAX_CYCLES,
            panel=LONG_RUNS,
        ),
    ] = None,
    hours: Annotated[
        float | None,
        options.number(
            "Compare random inputs and stalls for H hours. With --cycles, stop at the first limit.",
            0,
            MAX_HOURS,
            float,
            "H",
            panel=LONG_RUNS,
        ),
    ] = None,
    unit: Annotated[
        int | None,
        options.number(
            "Repeat unit N of a run with --cycles or --hours, and no other.", 0, panel=LONG_RUNS
        ),
    ] = None,
    state: Annotated[
        str | None,
        options.option(
            "FILE",
            "State file, from which an interrupted run with --exhaustive, --cycles or --hours "
            f"resumes. Default: {STATE_FILE}.",
            panel=LONG_RUNS,
        ),
    ] = None,
    where: Where,
) -> None:
    """Compare hardware and golden model, cycle by cycle.

    The stimuli are the FILEs (- is standard input) or the value of --text, --hex or --code-points.
    By default they are the built-in campaign. Each stimulus runs at full rate, with stalls on
    either side, and with stalls on both; those of the campaign also with resets. The files of --vcd
    and --wave are written only if there is a difference.

    --cycles and --hours run units of 1048576 cycles. The random inputs and stalls of a unit depend
    on --seed and on the number of the unit. The same command resumes an interrupted run. With
    --state it also extends a finished run to more cycles or hours.
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
    if state == "-":
        raise Refused("--state needs the name of a file")
    made, modes, outputs = design.made(), stalling.modes(resets=is_campaign), kept.names()
    state_file = (STATE_FILE if state is None else state) if long and long != "--unit" else None
    check_outputs(files or [], {**outputs, "--state": state_file})
    show, facts = report_console(outputs), AmaranthEngine(made)
    plan: Plan
    of = facts.profile, engine, design.variant, stalling.seed
    if exhaustive is not None:
        rates = stalling.stall_input or 0.0, stalling.stall_output or 0.0
        plan = Exhaustive(*of, exhaustive, rates)
    elif long:
        plan = RandomUnits(*of, stalling.rates)
    else:
        given = _given_parts(context, files or [], typed.part(facts), facts)
        # The user's own stalls need not reach every cover point.
        is_whole = is_campaign and not any(stalling.rates + stalling.cycles)
        plan = Campaign(*of, modes, given, is_campaign=is_whole)
    simulator, engine_line = prepare_engine(engine, made, plan.inputs)
    with where.workers(*tools_of(simulator.name)) as workers:
        runner = Runner(
            show,
            plan.on(simulator),
            # A campaign takes seconds: processes on other cores would start too slowly.
            workers=workers if long or where.cluster else None,
            budget=Budget(cycles, hours, unit),
            state_file=state_file,
            tokens=kept.tokens,
        )
        if "--profile" in design.variant.used_options:
            say(show, f"profile {made.profile.describe()}")
        say(show, f"engine {engine_line}")
        keeps_state = state is not None and exhaustive is None
        runner.compare(kept.vcd or DIFFERENCE_VCD, kept.wave, keeps_state=keeps_state)


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
