"""``simulate`` and ``compare``: the hardware against its golden model."""

import shlex
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from utf8_sim.tools.errors import UsageError

from .choices import (
    Design,
    InlineInput,
    Machines,
    OutputFiles,
    Rules,
    Simulator,
    Stalling,
    cycle_range,
    reject_inapplicable,
)
from .options import OWNERS, command, option, output_file
from .output import check_outputs

if TYPE_CHECKING:
    from utf8_sim.campaign import Part
    from utf8_sim.subject import Subject

    from ..verify.sources import Plan

OF_A_TEXT = (
    *("file", "text", "hexadecimal", "code_points", "stall_input", "stall_output"),
    *("stall_input_cycles", "stall_output_cycles"),
)
"""Parameters of ``simulate`` that have no effect with a table."""

UNLESS_RATES = "unless --stall-input or --stall-output is given"

OF_OTHER_TEXTS = (
    *("files", "text", "hexadecimal", "code_points"),
    *("tokens", "stall_input_cycles", "stall_output_cycles"),
)
"""Parameters of ``compare`` that have no effect in long runs."""

STATE_FILE = "utf8-hdl-compare.json"
"""The default of ``--state``."""

MAX_CYCLES, MAX_HOURS = 10**18, 10**6
"""Maximum values of ``--cycles`` and ``--hours``: both take more than a century."""

MAX_CYCLES_DRAWN = 256
"""Maximum number of cycles in a timing diagram."""

DIFFERENCE_VCD = "utf8-hdl-difference.vcd"
"""The file with the waveform around a difference, unless ``--vcd`` names another."""

app = typer.Typer()


@dataclass
class Input(InlineInput):
    """Options for the input of a simulation."""

    stimulus: str | None = option(
        None,
        "Replay a table of all input pins in every cycle, such as difference.json.",
        metavar="FILE",
    )


@dataclass
class Record(OutputFiles):
    """Options for the output files of a simulation."""

    encoded: str | None = output_file("OUT", f"{OWNERS}: write the bytes of its output.", "--bytes")
    wave_cycles: str = option("0-31", "Cycles in the diagram of --wave.", metavar="FIRST-LAST")


@dataclass
class LongRuns:
    """Options for long comparisons."""

    panel = "Long runs"

    exhaustive: int | None = option(
        None,
        f"{OWNERS}: compare every text of N bytes.",
        metavar="N",
        min=1,
        max=4,
    )
    cycles: int | None = option(
        None,
        "Compare random inputs and stalls until N cycles are compared.",
        metavar="N",
        min=1,
        max=MAX_CYCLES,
    )
    hours: float | None = option(
        None,
        "Compare random inputs and stalls for H hours. With --cycles, stop at the first limit.",
        metavar="H",
        min=0,
        max=MAX_HOURS,
    )
    unit: int | None = option(
        None, "Repeat only unit N of a run with --cycles or --hours.", metavar="N", min=0
    )
    state: str | None = option(
        None,
        "State file, from which an interrupted run with --exhaustive, --cycles or --hours "
        f"resumes. Default: {STATE_FILE}.",
        metavar="FILE",
    )


@command(
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
    inline: Input,
    design: Design,
    rules: Rules,
    simulator: Simulator,
    stalling: Stalling,
    outputs: Record,
) -> None:
    """Simulate the hardware on a text, against its golden model.

    The report shows the output, a summary, and for a short text a table of the cycles. The text is
    FILE, standard input (-), or the value of --text, --hex or --code-points.

    The bytes of FILE and --hex are the input. {inputs}
    """
    from utf8_sim.campaign import Mode
    from utf8_sim.subject import Subject

    from ..terminal import report_console
    from ..verify.engine_choice import prepare_engine
    from ..verify.runner import Runner
    from ..verify.simulation import Recording
    from ..verify.sources import Campaign, Counted, Replay
    from .texts import inline_part, one_text, read_table

    spec, stimulus = design.spec(rules.chosen()), inline.stimulus
    reject_inapplicable(
        context,
        [spec],
        **dict.fromkeys(OF_A_TEXT, stimulus is not None and "with --stimulus"),
        seed=stalling.rates == (None, None) and UNLESS_RATES,
        wave_cycles=outputs.wave is None and "without --wave",
    )
    subject, mode = Subject(spec.make()), Mode(str(stalling), *stalling.stalls())
    names = {**outputs.names(), "--bytes": outputs.encoded}
    check_outputs([name for name in (file, stimulus) if name], names)
    drawn = cycle_range("--wave-cycles", outputs.wave_cycles)
    if len(drawn) > MAX_CYCLES_DRAWN:
        raise UsageError(f"--wave-cycles draws at most {MAX_CYCLES_DRAWN} cycles, not {len(drawn)}")
    show = report_console(names)
    of = spec, simulator.engine, stalling.seed
    with ExitStack() as files:
        plan: Plan
        if stimulus is not None:
            plan = Replay(*of, read_table(stimulus, subject.interface, shlex.join(spec.words)))
        else:
            text = files.enter_context(one_text(file, inline_part(inline, subject), subject))
            plan = Campaign(*of, [mode], [text], counted=Counted.NOTHING)
        plan = plan.with_subject(subject)
        engine, engine_line = prepare_engine(simulator.engine, subject.design, plan.inputs)
        recording = Recording(engine, names, drawn)
        runner = Runner(show, plan.with_simulator(engine), recording=recording)
        runner.run_units()
    recording.report_verdict(show, runner, engine_line, DIFFERENCE_VCD)


@command(
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
    inline: InlineInput,
    design: Design,
    rules: Rules,
    simulator: Simulator,
    stalling: Stalling,
    outputs: OutputFiles,
    runs: LongRuns,
    machines: Machines,
) -> None:
    """Compare hardware and golden model, cycle by cycle.

    The stimuli are the FILEs (- is standard input) or the value of --text, --hex or --code-points.
    By default they are the built-in campaign. Each stimulus runs at full rate, with stalls on
    either side, and with stalls on both; campaign stimuli also run with resets. The files of --vcd
    and --wave are written only if there is a difference.

    --cycles and --hours run units of 1048576 cycles. The random inputs and stalls of a unit depend
    on --seed and on the number of the unit. The same command resumes an interrupted run. With
    --state it also extends a finished run to more cycles or hours.
    """
    from utf8_sim.golden.kernels import execution_mode
    from utf8_sim.subject import Subject

    from ..terminal import report_console, say
    from ..verify.engine_choice import prepare_engine
    from ..verify.engines import tools_of
    from ..verify.runner import Budget, Runner
    from ..verify.sources import Campaign, Exhaustive, RandomUnits
    from .texts import inline_part

    spec, state = design.spec(rules.chosen()), runs.state
    is_campaign = not files and inline == InlineInput()
    budgets = {
        f"--{name}": getattr(runs, name) for name in ("exhaustive", "unit", "cycles", "hours")
    }
    [long, *others] = [option for option, given in budgets.items() if given is not None] or [""]
    if others and long in ("--exhaustive", "--unit"):
        raise UsageError(f"give {long} or {others[0]}, not both")
    nothing_random = long == "--exhaustive" or (any(stalling.cycles) and not is_campaign)
    why = f"with {long} {UNLESS_RATES}" if long else UNLESS_RATES
    no_state = "without --exhaustive, --cycles or --hours" if not long else ""
    reject_inapplicable(
        context,
        [spec],
        seed=nothing_random and stalling.rates == (None, None) and why,
        state=no_state or (long == "--unit" and "with --unit"),
        cluster=not long and not is_campaign and "on given texts",
        **dict.fromkeys(OF_OTHER_TEXTS, bool(long) and f"with {long}"),
    )
    if state == "-":
        raise UsageError("--state needs the name of a file")
    subject, names = Subject(spec.make()), outputs.names()
    modes = stalling.modes(resets=is_campaign)
    state_file = (STATE_FILE if state is None else state) if long and long != "--unit" else None
    check_outputs(files or [], {**names, "--state": state_file})
    show = report_console(names)
    plan: Plan
    of = spec, simulator.engine, stalling.seed
    if runs.exhaustive is not None:
        rates = stalling.stall_input or 0.0, stalling.stall_output or 0.0
        plan = Exhaustive(*of, runs.exhaustive, rates)
    elif long:
        plan = RandomUnits(*of, stalling.rates)
    else:
        given = _given_parts(context, files or [], inline_part(inline, subject), subject)
        # The user's own stalls need not reach every cover point.
        is_whole = is_campaign and not any(stalling.rates + stalling.cycles)
        plan = Campaign(*of, modes, given, is_campaign=is_whole)
    plan = plan.with_subject(subject)
    engine, engine_line = prepare_engine(simulator.engine, subject.design, plan.inputs)
    with machines.workers(*tools_of(engine.name)) as workers:
        runner = Runner(
            show,
            plan.with_simulator(engine),
            # A campaign takes seconds: processes on other cores would start too slowly.
            workers=workers if long or machines.cluster else None,
            budget=Budget(runs.cycles, runs.hours, runs.unit),
            state_file=state_file,
            tokens=outputs.tokens,
        )
        if "--profile" in spec.used_options:
            say(show, f"profile {spec.profile.describe()}")
        say(show, f"engine {engine_line}")
        say(show, f"golden model {execution_mode(plan.inputs)}")
        keeps_state = state is not None and runs.exhaustive is None
        runner.compare(outputs.vcd or DIFFERENCE_VCD, outputs.wave, keeps_state=keeps_state)


def _given_parts(
    context: typer.Context, files: list[str], inline: "Part | None", subject: "Subject"
) -> list["Part"]:
    """The stimuli given on the command line; without any, the campaign is used."""
    from .texts import file_part

    if files.count("-") > 1:
        raise UsageError("- is standard input, which can be read only once: give it once")
    if files and inline:
        raise UsageError(f"give FILEs or {inline.name}, not both")
    if inline:
        return [inline]
    return [context.with_resource(file_part(name, subject)) for name in files]
