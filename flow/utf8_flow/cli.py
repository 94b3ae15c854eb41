"""The command ``utf8-hdl``."""

import atexit
import io
import json
import math
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Annotated, TypeVar

import typer
from amaranth.hdl import UnusedElaboratable
from rich.console import Console
from typer.exceptions import Abort, TyperException

from utf8_hdl import PROFILES, UNICODE, ErrorSpan, Profile, __version__
from utf8_sim.campaign import campaign
from utf8_sim.engine import AmaranthEngine, EngineError
from utf8_sim.interrupts import ENDING
from utf8_sim.stimulus import Mode, RandomStalls, Stimulus

from .boards import BAUD, BOARDS, write_bitstream
from .chart import chart
from .comparison import PartsComparison, compare_exhaustively
from .engines import AUTO, DESIGNS, ENGINES, keep_freed_memory, prepare_engine
from .exhaustive import LONGEST as LONGEST_EXHAUSTIVE
from .exhaustive import Plan
from .formal.prover import tool_version as prover_version
from .fusesoc import core_file, core_file_name
from .mutants import mutation_score
from .output import (
    OutputFailed,
    Refused,
    check_output,
    open_output,
    standard_output_failed,
    visible,
)
from .placement import SEEDS, choose_jobs, measure
from .proofs import choose_goals, prove_all
from .report import coverage_table
from .results import document, summary
from .simulation import Outputs, TextSimulation, look_ahead
from .synthesis import DEVICES
from .terminal import (
    INTERRUPTED,
    GivenUp,
    conclude,
    print_lines,
    report_console,
    report_difference,
    say,
)
from .texts import file_part, open_text
from .verilog import generate as generate_verilog
from .waves import check_drawing, drawing_range, save_file_name

PATIENCE = 3.0
"""Seconds after Ctrl-C in which another one changes nothing."""

CAMPAIGN_STALLS = (0.0, 0.25)
"""Probabilities of stalls that ``compare`` tries on each side, all combinations."""

DIFFERENCE_VCD = "utf8-hdl-difference.vcd"
"""Where the waveform around a difference is kept, unless ``--vcd`` names a file."""

RESET_POLARITIES = {"high": False, "low": True}
"""Whether the reset is active low, by the names of ``generate``'s option."""

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

T = TypeVar("T")

ComponentOption = Annotated[
    str, typer.Option("--component", metavar="|".join(DESIGNS), help="Which piece of hardware.")
]

ProfileOption = Annotated[
    str, typer.Option("--profile", metavar="|".join(PROFILES), help="Which UTF-8 is spoken.")
]
SurrogatesOption = Annotated[
    str | None,
    typer.Option(metavar="accept|reject", help="U+D800 to U+DFFF, instead of the profile's rule."),
]
NoncharactersOption = Annotated[
    str | None,
    typer.Option(metavar="accept|reject", help="U+FFFE and U+FFFF, instead of the profile's rule."),
]
ErrorSpanOption = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(span.value for span in ErrorSpan), help="How many bytes one error covers."
    ),
]
OnlyComponentOption = Annotated[
    str | None, typer.Option("--component", metavar="|".join(DESIGNS), help="Only this one.")
]
OnlyProfileOption = Annotated[
    str | None, typer.Option("--profile", metavar="|".join(PROFILES), help="Only this one.")
]
EngineOption = Annotated[
    str, typer.Option(metavar="|".join([AUTO, *ENGINES]), help="What simulates the hardware.")
]
SeedOption = Annotated[int, typer.Option(metavar="N", help="What all that is random depends on.")]
StallInputOption = Annotated[
    float | None,
    typer.Option(metavar="P", help="Probability, each cycle, that no byte is offered."),
]
StallOutputOption = Annotated[
    float | None,
    typer.Option(metavar="P", help="Probability, each cycle, that no token is taken."),
]
TokensOption = Annotated[
    str | None,
    typer.Option(
        metavar="OUT.jsonl",
        help="Write the hardware's tokens, one JSON object a line; - is stdout.",
    ),
]
VcdOption = Annotated[
    str | None,
    typer.Option(metavar="OUT.vcd", help="Write the waveform, and OUT.gtkw to show it in GTKWave."),
]
WaveOption = Annotated[
    str | None, typer.Option(metavar="OUT.svg", help="Draw a timing diagram of some cycles.")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"utf8-hdl {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """UTF-8 in hardware: simulate it, compare it with its golden model, get its Verilog."""


@app.command()
def simulate(
    file: Annotated[str | None, typer.Argument(metavar="[FILE|-]", show_default=False)] = None,
    text: Annotated[str | None, typer.Option(help="Take this instead of a file.")] = None,
    code_points: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="For an encoder: values such as '20AC, D800, 110000'."),
    ] = None,
    component: ComponentOption = "decoder",
    profile: ProfileOption = "unicode",
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
    engine: EngineOption = AUTO,
    seed: SeedOption = 0,
    stall_input: StallInputOption = None,
    stall_output: StallOutputOption = None,
    tokens: TokensOption = None,
    encoded: Annotated[
        str | None,
        typer.Option("--bytes", metavar="OUT", help="For an encoder: write the bytes it gave."),
    ] = None,
    vcd: VcdOption = None,
    wave: WaveOption = None,
    wave_cycles: Annotated[
        str, typer.Option(metavar="FIRST-LAST", help="Which cycles --wave draws.")
    ] = "0-31",
) -> None:
    """Run the hardware on real bytes, next to the golden model, and show what it made of them.

    The text is FILE, standard input (-), or TEXT. A decoder gets its bytes. An encoder gets its
    characters, surrogates and all other values too that its input can carry, or those of LIST.
    Short texts are shown cycle by cycle.
    """
    rules = choose_profile(profile, surrogates, noncharacters, error_span)
    stalls = _stalls(seed, stall_input or 0.0, stall_output or 0.0)
    design = _choose("--component", component, DESIGNS)(rules)
    if component == "decoder" and (code_points is not None or encoded is not None):
        option = "--bytes" if code_points is None else "--code-points"
        raise Refused(f"{option} is for --component encoder")
    names = {"--tokens": tokens, "--bytes": encoded, "--vcd": vcd, "--wave": wave}
    _check_outputs([file] if file else [], names)
    drawn = drawing_range(wave_cycles)
    show = report_console(names)
    with open_text(file, text, code_points, AmaranthEngine(design)) as (text_pieces, size):
        pieces, inputs = look_ahead(text_pieces)
        simulator, engine_line = prepare_engine(engine, design, inputs)
        outputs = Outputs(tokens, encoded, vcd, wave)
        simulation = TextSimulation(simulator, Stimulus(pieces, *stalls), outputs, drawn)
        simulation.run(show, size)
    simulation.tell(show, engine_line, DIFFERENCE_VCD)


@app.command()
def compare(
    files: Annotated[list[str] | None, typer.Argument(metavar="[FILE]...")] = None,
    component: ComponentOption = "decoder",
    profile: ProfileOption = "unicode",
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
    engine: EngineOption = AUTO,
    seed: SeedOption = 0,
    stall_input: StallInputOption = None,
    stall_output: StallOutputOption = None,
    tokens: TokensOption = None,
    vcd: VcdOption = None,
    wave: WaveOption = None,
    exhaustive: Annotated[
        int | None,
        typer.Option(metavar="N", help="Instead of FILEs: every text of N bytes, 1 to 4."),
    ] = None,
    state: Annotated[
        str,
        typer.Option(metavar="FILE", help="Where --exhaustive keeps what is done, to go on later."),
    ] = "utf8-hdl-exhaustive.json",
) -> None:
    """Drive many stimuli and compare every output pin with the golden model, cycle by cycle.

    The stimuli are the FILEs, or without any the built-in campaign. Each runs at full rate and
    with stalls on either side and both. --vcd and --wave name what is kept if there is a
    difference.
    """
    rules = choose_profile(profile, surrogates, noncharacters, error_span)
    modes = _modes(seed, stall_input, stall_output)
    design = _choose("--component", component, DESIGNS)(rules)
    outputs = {"--tokens": tokens, "--vcd": vcd, "--wave": wave}
    kept: dict[str, str | None] = {} if exhaustive is None else {"--state": state}
    if state == "-":
        raise Refused("--state needs the name of a file")
    _check_outputs(files or [], outputs | kept)
    show = report_console(outputs)
    if exhaustive is not None:
        if files or tokens or component != "decoder":
            raise Refused("--exhaustive is for the decoder, without FILEs and without --tokens")
        if not 1 <= exhaustive <= LONGEST_EXHAUSTIVE:
            raise Refused(f"--exhaustive must be 1 to {LONGEST_EXHAUSTIVE} bytes, not {exhaustive}")
        inputs = exhaustive * 256**exhaustive
        simulator, engine_line = prepare_engine(engine, design, inputs)
        rates = stall_input or 0.0, stall_output or 0.0
        plan = Plan(exhaustive, rules, simulator.name, rates, seed)
        compare_exhaustively(show, plan, simulator, engine_line, state, vcd or DIFFERENCE_VCD, wave)
        return

    facts = AmaranthEngine(design)
    parts = [file_part(name, facts) for name in files] if files else campaign(facts, seed)
    inputs = len(modes) * sum(part.size for part in parts)
    simulator, engine_line = prepare_engine(engine, design, inputs)
    say(show, f"profile {rules.describe()}")
    say(show, f"engine {engine_line}")
    names = ", ".join(name for name, _ in modes)
    stimuli = "1 stimulus" if len(parts) == 1 else f"{len(parts)} stimuli"
    say(show, f"{len(parts) * len(modes)} runs: {stimuli}, each at {names}")
    comparison = PartsComparison(simulator, parts, modes)
    comparison.run(show, tokens)
    coverage = comparison.coverage
    if comparison.differs or comparison.failure:
        say(show, f"stimulus: {comparison.stimulus}, seed {seed}")
    else:
        print_lines(show, coverage_table(coverage))
        if not files:
            gaps = coverage.gaps()
            columns = "state" if coverage.is_decoder else "output"
            met = f"every class met every {columns}"
            say(show, f"never met: {', '.join(gaps)}" if gaps else met)
    if comparison.lockstep and comparison.differs:
        report_difference(show, comparison.lockstep, simulator, vcd or DIFFERENCE_VCD, wave)
    conclude(show, comparison.differs, comparison.failure, comparison.cycles)


@app.command()
def generate(
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Where to write; - is stdout.")
    ] = "-",
    component: ComponentOption = "decoder",
    profile: ProfileOption = "unicode",
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
    module: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the module, instead of utf8_COMPONENT."),
    ] = None,
    reset_polarity: Annotated[
        str,
        typer.Option(
            metavar="|".join(RESET_POLARITIES),
            help="high: ports clk and rst; low: aclk and aresetn, as AXI has them.",
        ),
    ] = "high",
    fusesoc: Annotated[
        bool, typer.Option("--fusesoc", help="Write FILE.core too, for FILE.v: a FuseSoC core.")
    ] = False,
) -> None:
    """Write Verilog: module utf8_decoder or utf8_encoder, with AXI4-Stream ports."""
    rules = choose_profile(profile, surrogates, noncharacters, error_span)
    design = _choose("--component", component, DESIGNS)(rules)
    active_low_reset = _choose("--reset-polarity", reset_polarity, RESET_POLARITIES)
    module = f"utf8_{component}" if module is None else module
    files = {output: generate_verilog(design, module, active_low_reset)}
    if fusesoc:
        files[core_file_name(output)] = core_file(design, module, output)
    with ExitStack() as opened:
        for name, content in files.items():
            opened.enter_context(open_output(name)).write(content)


@app.command()
def prove(
    component: OnlyComponentOption = None,
    profile: OnlyProfileOption = None,
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
    name: Annotated[
        str | None, typer.Option("--property", metavar="NAME", help="Only this one.")
    ] = None,
    vcd: Annotated[
        str, typer.Option(metavar="OUT.vcd", help="Where to write a counterexample's waveform.")
    ] = "utf8-hdl-counterexample.vcd",
) -> None:
    """Prove the properties of the designs, for all inputs of any length under any stalls.

    Without --profile, in all of them, and in unicode with each of its rules turned round.
    """
    if component is not None:
        _choose("--component", component, DESIGNS)
    profiles = _choose_profiles(profile, surrogates, noncharacters, error_span)
    goals = choose_goals(component, name, profiles)
    if vcd == "-":
        raise Refused("--vcd needs the name of a file")
    _check_outputs([], {"--vcd": vcd})
    show = Console(highlight=False)
    say(show, prover_version())
    if not prove_all(show, goals, vcd):
        raise typer.Exit(1)


@app.command()
def mutate(
    component: OnlyComponentOption = None,
    profile: ProfileOption = "unicode",
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
    seed: SeedOption = 0,
    mutants: Annotated[int, typer.Option(metavar="N", help="How many of each component.")] = 1000,
) -> None:
    """Break the synthesised designs, one gate at a time, and count what notices.

    Each mutant meets the built-in campaign of compare and the properties of prove. One that none
    of them kills must be proved to do the same as the design.
    """
    if component is not None:
        _choose("--component", component, DESIGNS)
    rules = choose_profile(profile, surrogates, noncharacters, error_span)
    if mutants < 1:
        raise Refused(f"--mutants must be 1 or more, not {mutants}")
    modes = _modes(seed, None, None)
    show = Console(highlight=False)
    say(show, prover_version())
    names = [component] if component else list(DESIGNS)
    scores = [mutation_score(show, name, rules, mutants, seed, modes) for name in names]
    if not all(scores):
        raise typer.Exit(1)


@app.command()
def synthesize(
    component: OnlyComponentOption = None,
    profile: OnlyProfileOption = None,
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
    device: Annotated[
        str | None, typer.Option(metavar="|".join(DEVICES), help="Only this one.")
    ] = None,
    fields: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Outputs that are used, such as code_point,error."),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(metavar="N", help="How often each is placed and routed; 0: only count cells."),
    ] = 5,
    seed: Annotated[int, typer.Option(metavar="N", help="The first of the seeds.")] = 0,
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="OUT.json", help="Write all results; - is stdout."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option(metavar="OUT.svg", help="Draw frequency and area.")
    ] = None,
) -> None:
    """Synthesise, place and route: area and clock frequency on real devices.

    Without --profile, in all of them, and in unicode with each of its rules turned round.
    """
    if component is not None:
        _choose("--component", component, DESIGNS)
    if device is not None:
        _choose("--device", device, DEVICES)
    profiles = _choose_profiles(profile, surrogates, noncharacters, error_span)
    if min(seed, seeds) < 0 or seed + seeds > SEEDS:
        raise Refused(f"--seed and --seeds must be 0 or more, and together at most {SEEDS}")
    if plot is not None and not seeds:
        raise Refused("--plot shows frequencies: it needs --seeds 1 or more")
    outputs = {"--json": json_file, "--plot": plot}
    _check_outputs([], outputs)
    components = [component] if component else list(DESIGNS)
    jobs = choose_jobs(components, profiles, [device] if device else list(DEVICES), fields)
    show = report_console(outputs)
    results = document(measure(jobs, range(seed, seed + seeds)))
    for line in summary(results):
        say(show, line)
    if json_file is not None:
        with open_output(json_file) as file:
            file.write(json.dumps(results, indent=2) + "\n")
    if plot is not None:
        with open_output(plot) as file:
            file.write(chart(results))


@app.command()
def bitstream(
    board: Annotated[str, typer.Option(metavar="|".join(BOARDS), help="Which board.")],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to write; - is stdout. Without it utf8_demo_BOARD.bin or .bit.",
        ),
    ] = None,
    baud: Annotated[int, typer.Option(metavar="N", help="Bits per second.")] = BAUD,
    profile: ProfileOption = "unicode",
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
) -> None:
    """Build the demo for a board: bytes in on its UART, code points and errors out, as text."""
    rules = choose_profile(profile, surrogates, noncharacters, error_span)
    _choose("--board", board, BOARDS)
    write_bitstream(board, rules, baud, output)


def _choose_profiles(profile: str | None, *overrides: str | None) -> list[Profile]:
    """The profile that the options name, or all that are offered if they name none."""
    if profile or any(overrides):
        return [choose_profile(profile or "unicode", *overrides)]
    return [*PROFILES.values(), *_overridden(UNICODE)]


def _overridden(profile: Profile) -> list[Profile]:
    """The profile with each of its rules turned round, one at a time."""
    return [
        replace(profile, accept_surrogates=not profile.accept_surrogates),
        replace(profile, accept_noncharacters=not profile.accept_noncharacters),
        replace(profile, error_span=ErrorSpan.WHOLE_SEQUENCE),
    ]


def _choose(option: str, name: str, choices: dict[str, T]) -> T:
    if name not in choices:
        raise Refused(f"unknown {option} {name!r}: choose from {', '.join(choices)}")
    return choices[name]


def choose_profile(
    name: str,
    surrogates: str | None = None,
    noncharacters: str | None = None,
    error_span: str | None = None,
) -> Profile:
    """The profile that the command line's options name.

    Parameters
    ----------
    name, surrogates, noncharacters, error_span : str or None
        The values of the options of these names.

    Raises
    ------
    Refused
        If a value is unknown.
    """
    profile = _choose("--profile", name, PROFILES)
    verdicts = {"accept": True, "reject": False}
    if surrogates is not None:
        accept = _choose("--surrogates", surrogates, verdicts)
        profile = replace(profile, accept_surrogates=accept)
    if noncharacters is not None:
        accept = _choose("--noncharacters", noncharacters, verdicts)
        profile = replace(profile, accept_noncharacters=accept)
    if error_span is not None:
        spans = {span.value: span for span in ErrorSpan}
        profile = replace(profile, error_span=_choose("--error-span", error_span, spans))
    return profile


def _stalls(
    seed: int, stall_input: float, stall_output: float
) -> tuple[RandomStalls, RandomStalls]:
    if seed < 0:
        raise Refused(f"--seed must be 0 or more, not {seed}")
    for option, probability in (("--stall-input", stall_input), ("--stall-output", stall_output)):
        if not 0 <= probability < 1:
            raise Refused(
                f"{option} must be at least 0 and below 1 (at 1 nothing would ever move), "
                f"not {probability:g}"
            )
    return RandomStalls(stall_input, (seed, 1)), RandomStalls(stall_output, (seed, 2))


def _modes(seed: int, stall_input: float | None, stall_output: float | None) -> list[Mode]:
    """The stalls that ``compare`` tries, with their names; full rate is always among them."""
    if stall_input is None and stall_output is None:
        pairs = [(i, o) for i in CAMPAIGN_STALLS for o in CAMPAIGN_STALLS]
    else:
        pairs = [(0.0, 0.0), (stall_input or 0.0, stall_output or 0.0)]
    return [
        (f"stalls in {i:g} out {o:g}" if i or o else "full rate", _stalls(seed, i, o))
        for i, o in pairs
    ]


def _check_outputs(inputs: list[str], outputs: dict[str, str | None]) -> None:
    """Refuse outputs that cannot be written, to one place, or over an input."""
    if outputs.get("--wave") is not None:
        check_drawing()
    if outputs.get("--vcd") not in (None, "", "-", os.devnull):
        outputs = {**outputs, "the save file of --vcd": save_file_name(outputs["--vcd"] or "")}
    places: dict[str, tuple[str, str]] = {}
    for option, name in outputs.items():
        if name is None:
            continue
        if not name:
            raise Refused(f"{option} needs the name of a file, or - for standard output")
        place = name if name == "-" else os.path.realpath(name)
        if place in places and place != os.devnull:
            first_option, first_name = places[place]
            raise Refused(f"{first_option} and {option} both name {first_name!r}: choose another")
        places[place] = option, name
        check_output(name)
    for name in inputs:
        if name != "-" and os.path.realpath(name) in places:
            option, _ = places[os.path.realpath(name)]
            raise Refused(f"{option} would replace the input {name!r}: choose another file")


@contextmanager
def _one_interrupt(heeded: list[int]) -> Iterator[None]:
    """Heed Ctrl-C, SIGTERM and SIGHUP, but not again at once: that would disturb the clearing up.

    Parameters
    ----------
    heeded : list of int
        Gets the numbers of the signals.
    """
    patient_until = -math.inf

    def interrupt(number: int, frame: object) -> None:
        nonlocal patient_until
        if time.monotonic() > patient_until:
            patient_until = time.monotonic() + PATIENCE
            heeded.append(number)
            raise KeyboardInterrupt

    def unraisable(lost: "sys.UnraisableHookArgs") -> None:
        """A finaliser cannot raise: send the signal once more, when it is over."""
        nonlocal patient_until
        if lost.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(lost)
            return
        patient_until = -math.inf
        threading.Timer(0.05, os.kill, (os.getpid(), heeded.pop())).start()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = {number: signal.getsignal(number) for number in ENDING}
    chosen = [number for number in ENDING if usual[number] not in (None, signal.SIG_IGN)]
    usual_hook, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        for number in chosen:
            signal.signal(number, interrupt)
        yield
    finally:
        for number in chosen:
            signal.signal(number, usual[number])
        sys.unraisablehook = usual_hook


@contextmanager
def _own_temporary_folder() -> Iterator[None]:
    """For all temporary files, so that what an interrupt leaves there goes at the end."""
    usual = folder = None
    try:
        with suppress(OSError):  # who needs one will say that there is none
            usual = tempfile.gettempdir()
            folder = os.path.join(usual, f"utf8-hdl-{uuid.uuid4().hex}")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)  # if interrupted below
            os.mkdir(folder, mode=0o700)
            tempfile.tempdir = folder
        yield
    finally:
        tempfile.tempdir = usual
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


def _check_current_folder() -> None:
    try:
        os.getcwd()
    except OSError as error:
        raise Refused(
            f"the current folder cannot be used ({error.strerror}): go to another one"
        ) from error


def _what_failed(error: BaseException | None) -> str:
    """What the operating system says; errors of output files and tools have their own words."""
    reason = getattr(error, "strerror", None) or str(error)
    name = getattr(error, "filename", None)
    if name is not None:
        return f"cannot use {os.fsdecode(name)!r}: {reason}"
    place = f" (temporary files are in {tempfile.tempdir!r})" if tempfile.tempdir else ""
    return f"cannot go on: {reason}{place}"


def _status_after(heeded: list[int]) -> int:
    return 128 + heeded[0] if heeded else INTERRUPTED


def main(arguments: list[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        0 if hardware and golden model agree, 1 if they differ, 2 for wrong usage or unreadable
        input, 128 and the signal's number after an interrupt, 141 if the reader of standard output
        went away.
    """
    keep_freed_memory()
    # A design may be made and then not used, because what follows is refused.
    warnings.filterwarnings("ignore", category=UnusedElaboratable)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may lack most characters
            stream.reconfigure(errors="backslashreplace")
    heeded: list[int] = []
    try:
        try:
            with _one_interrupt(heeded), _own_temporary_folder():
                _check_current_folder()
                status = app(arguments, standalone_mode=False) or 0
                if status == INTERRUPTED:
                    raise KeyboardInterrupt
                return status
        finally:
            if sys.stdout:
                sys.stdout.flush()
    except (Refused, EngineError) as error:
        if isinstance(error, OutputFailed):
            standard_output_failed()
        message = str(error)
    except TyperException as error:
        message = f"{error.format_message().rstrip('.')} (see utf8-hdl --help)"
    except GivenUp:
        return _status_after(heeded)
    except (Abort, KeyboardInterrupt):
        message = "interrupted"
    except (SystemExit, OSError) as error:
        # Typer answers to a closed pipe with the exit status 1, which is taken.
        cause = error.__context__ if isinstance(error, SystemExit) else error
        if isinstance(cause, BrokenPipeError):
            standard_output_failed()
            return 141
        message = _what_failed(cause)
    with suppress(OSError):
        print(f"utf8-hdl: {visible(' '.join(message.split()))}", file=sys.stderr)
    return _status_after(heeded) if heeded or message == "interrupted" else 2
