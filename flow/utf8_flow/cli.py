"""The command ``utf8-hdl``."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import product
from typing import Annotated, Any, TypeVar

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text
from typer.exceptions import Abort, TyperException

from utf8_hdl import (
    PROFILES,
    UNICODE,
    Decoder,
    Encoder,
    ErrorSpan,
    Profile,
    __version__,
)
from utf8_sim.campaign import Coverage, campaign
from utf8_sim.engine import ENGINES, Engine, HangError
from utf8_sim.lockstep import Lockstep, taken
from utf8_sim.stimulus import RandomStalls, Stimulus
from utf8_sim.waveform import WaveWriter

from .output import (
    Refused,
    check_output,
    open_binary_output,
    open_output,
    standard_output_failed,
)
from .report import coverage_table, cycle_table, report
from .synthesis import area, tool_version
from .texts import file_part, open_text
from .verilog import generate as generate_verilog

SHORT_TEXT = 64
"""Up to so many bytes, ``simulate`` shows every cycle."""

MOST_CYCLES_SHOWN = 256

CAMPAIGN_STALLS = (0.0, 0.25)
"""Probabilities of stalls that ``compare`` tries on each side, all combinations."""

DIFFERENCE_VCD = "utf8-hdl-difference.vcd"
"""Where the waveform around a difference is kept, unless ``--vcd`` names a file."""

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

DESIGNS: dict[str, Any] = {"decoder": Decoder, "encoder": Encoder}
"""The components by name; each takes a profile."""

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
EngineOption = Annotated[
    str, typer.Option(metavar="|".join(ENGINES), help="What simulates the hardware.")
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
VcdOption = Annotated[str | None, typer.Option(metavar="OUT.vcd", help="Write the waveform.")]


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
    engine: EngineOption = "amaranth",
    seed: SeedOption = 0,
    stall_input: StallInputOption = None,
    stall_output: StallOutputOption = None,
    tokens: TokensOption = None,
    encoded: Annotated[
        str | None,
        typer.Option("--bytes", metavar="OUT", help="For an encoder: write the bytes it gave."),
    ] = None,
    vcd: VcdOption = None,
) -> None:
    """Run the hardware on real bytes, next to the golden model, and show what it made of them.

    The text is FILE, standard input (-), or TEXT. A decoder gets its bytes. An encoder gets its
    characters, surrogates and all other values too that its input can carry, or those of LIST.
    Short texts are shown cycle by cycle.
    """
    rules = choose_profile(profile, surrogates, noncharacters, error_span)
    stalls = _stalls(seed, stall_input or 0.0, stall_output or 0.0)
    simulator = _engine(engine, component, rules)
    if component == "decoder" and (code_points is not None or encoded is not None):
        option = "--bytes" if code_points is None else "--code-points"
        raise Refused(f"{option} is for --component encoder")
    outputs = {"--tokens": tokens, "--bytes": encoded, "--vcd": vcd}
    _check_outputs([file] if file else [], outputs)
    show = _report_console(outputs)

    shown, hang = _ShortTrace(), None
    with ExitStack() as stack:
        pieces, size = stack.enter_context(open_text(file, text, code_points, simulator))
        lockstep = Lockstep(simulator, Stimulus(pieces, *stalls))
        summary = report(simulator, stack.enter_context(open_output(tokens)) if tokens else None)
        byte_file = stack.enter_context(open_binary_output(encoded)) if encoded else None
        wave = stack.enter_context(_open_wave(vcd, simulator)) if vcd else None
        progress = stack.enter_context(_progress())
        task = progress.add_task("simulating", total=size)
        try:
            for trace in lockstep:
                summary.add(trace)
                shown.add(trace)
                if byte_file:
                    byte_file.write(bytes(taken(trace)["o.data"].tolist()))
                if wave:
                    wave.write(lockstep.recent[-1])
                progress.update(task, completed=summary.inputs)
        except HangError as error:
            hang = error
        except KeyboardInterrupt:
            progress.stop()
            _print(show, summary.lines())
            _say(show, f"interrupted after {lockstep.cycles} cycles, which agree")
            raise typer.Exit(130) from None

    if summary.inputs <= SHORT_TEXT:
        _print(show, shown.lines(simulator))
    _print(show, summary.lines())
    if lockstep.difference:
        _report_difference(show, lockstep, simulator, None if vcd else DIFFERENCE_VCD)
    _conclude(show, lockstep.difference is not None, hang, lockstep.cycles)


class _ShortTrace:
    """The first cycles of a trace, as long as a table of them is worth reading."""

    def __init__(self) -> None:
        self._windows: list[np.ndarray] = []
        self._cycles = 0

    def add(self, trace: np.ndarray) -> None:
        if self._cycles < MOST_CYCLES_SHOWN:
            self._windows.append(trace[: MOST_CYCLES_SHOWN - self._cycles])
        self._cycles += len(trace)

    def lines(self, engine: Engine) -> list[Text]:
        table = cycle_table(np.concatenate(self._windows), engine)
        if len(table) == 1:  # only the heading
            return []
        if self._cycles > MOST_CYCLES_SHOWN:
            table.append(Text(f"... and {self._cycles - MOST_CYCLES_SHOWN} more cycles"))
        return [*table, Text()]


@app.command()
def compare(
    files: Annotated[list[str] | None, typer.Argument(metavar="[FILE]...")] = None,
    component: ComponentOption = "decoder",
    profile: ProfileOption = "unicode",
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
    engine: EngineOption = "amaranth",
    seed: SeedOption = 0,
    stall_input: StallInputOption = None,
    stall_output: StallOutputOption = None,
    tokens: TokensOption = None,
    vcd: VcdOption = None,
) -> None:
    """Drive many stimuli and compare every output pin with the golden model, cycle by cycle.

    The stimuli are the FILEs, or without any the built-in campaign. Each runs at full rate and
    with stalls on either side and both. --vcd names the waveform that is kept if there is a
    difference.
    """
    rules = choose_profile(profile, surrogates, noncharacters, error_span)
    modes = _modes(seed, stall_input, stall_output)
    simulator = _engine(engine, component, rules)
    outputs = {"--tokens": tokens, "--vcd": vcd}
    _check_outputs(files or [], outputs)
    show = _report_console(outputs)
    parts = [file_part(name, simulator) for name in files] if files else campaign(simulator, seed)
    coverage = Coverage(simulator)

    cycles, difference, hang = 0, False, None
    with ExitStack() as stack:
        token_file = stack.enter_context(open_output(tokens)) if tokens else None
        _say(show, f"profile {rules.describe()}")
        names = ", ".join(name for name, _ in modes)
        stimuli = "1 stimulus" if len(parts) == 1 else f"{len(parts)} stimuli"
        _say(show, f"{len(parts) * len(modes)} runs: {stimuli}, each at {names}")
        progress = stack.enter_context(_progress())
        task = progress.add_task("", total=len(parts) * len(modes))
        try:
            for part, (mode, stalls) in product(parts, modes):
                progress.update(task, description=f"{part.name}, {mode}")
                lockstep = Lockstep(simulator, Stimulus(part.pieces(), *stalls))
                log = report(simulator, token_file) if token_file else None
                for trace in lockstep:
                    cycles += len(trace)
                    coverage.add(trace)
                    if log:
                        log.add(trace)
                if lockstep.difference:
                    difference = True
                    break
                progress.advance(task)
        except HangError as error:
            hang = error
        except KeyboardInterrupt:
            progress.stop()
            _print(show, coverage_table(coverage))
            _say(show, f"interrupted after {cycles} cycles, which agree")
            raise typer.Exit(130) from None

    if difference or hang:
        _say(show, f"stimulus: {part.name}, {mode}, seed {seed}")
    else:
        _print(show, coverage_table(coverage))
        if not files:
            gaps = coverage.gaps()
            columns = "state" if coverage.is_decoder else "output"
            met = f"every class met every {columns}"
            _say(show, f"never met: {', '.join(gaps)}" if gaps else met)
    if difference:
        _report_difference(show, lockstep, simulator, vcd or DIFFERENCE_VCD)
    _conclude(show, difference, hang, cycles)


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
) -> None:
    """Write Verilog: module utf8_decoder or utf8_encoder, with AXI4-Stream ports."""
    rules = choose_profile(profile, surrogates, noncharacters, error_span)
    design = _choose("--component", component, DESIGNS)(rules)
    with open_output(output) as file:
        file.write(generate_verilog(design))


@app.command()
def synthesize(
    component: Annotated[
        str | None, typer.Option("--component", metavar="|".join(DESIGNS), help="Only this one.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", metavar="|".join(PROFILES), help="Only this one.")
    ] = None,
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
) -> None:
    """Count registers and four-input lookup tables, per component and profile.

    Without --profile, all of them are counted, and unicode with each of its rules turned round.
    """
    overrides = surrogates, noncharacters, error_span
    names = [component] if component else list(DESIGNS)
    designs = [_choose("--component", name, DESIGNS) for name in names]
    if profile or any(overrides):
        profiles = [choose_profile(profile or "unicode", *overrides)]
    else:
        profiles = [*PROFILES.values(), *_overridden(UNICODE)]

    show = Console(highlight=False)
    _say(show, tool_version())
    _say(show, f"{'registers':>9}{'LUTs':>6}  component and rules", "bold")
    with _progress() as progress:
        task = progress.add_task("", total=len(designs) * len(profiles))
        for (name, design), rules in product(zip(names, designs, strict=True), profiles):
            progress.update(task, description=f"{name}, {rules.name}")
            registers, lookup_tables = area(design(rules))
            _say(show, f"{registers:>9}{lookup_tables:>6}  {name}, {rules.describe()}")
            progress.advance(task)


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


def _engine(name: str, component: str, profile: Profile) -> Engine:
    design = _choose("--component", component, DESIGNS)
    return _choose("--engine", name, ENGINES)(design(profile))


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


def _modes(
    seed: int, stall_input: float | None, stall_output: float | None
) -> list[tuple[str, tuple[RandomStalls, RandomStalls]]]:
    """The stalls that ``compare`` tries, with their names; full rate is always among them."""
    if stall_input is None and stall_output is None:
        pairs = [(i, o) for i in CAMPAIGN_STALLS for o in CAMPAIGN_STALLS]
    else:
        pairs = [(0.0, 0.0), (stall_input or 0.0, stall_output or 0.0)]
    return [
        (f"stalls in {i:g} out {o:g}" if i or o else "full rate", _stalls(seed, i, o))
        for i, o in pairs
    ]


def _report_console(outputs: dict[str, str | None]) -> Console:
    """Where the report goes: standard output, unless that carries data."""
    return Console(file=sys.stderr if "-" in outputs.values() else sys.stdout, highlight=False)


def _check_outputs(inputs: list[str], outputs: dict[str, str | None]) -> None:
    """Refuse outputs that cannot be written, to one place, or over an input."""
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
def _open_wave(path: str, engine: Engine, first_cycle: int = 0) -> Iterator[WaveWriter]:
    with open_output(path) as file, WaveWriter(file, engine, first_cycle) as wave:
        yield wave


@contextmanager
def _progress() -> Iterator[Progress]:
    """A progress bar on standard error, if a person is looking."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),  # it may hold the name of a file
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        yield progress


def _say(show: Console, line: str, style: str = "") -> None:
    show.print(Text(line, style=style), soft_wrap=True)


def _print(show: Console, lines: list[Text]) -> None:
    for line in lines:
        show.print(line, soft_wrap=True)


def _report_difference(show: Console, lockstep: Lockstep, engine: Engine, vcd: str | None) -> None:
    """Say where hardware and golden model part, and keep the waveform around it."""
    _say(show, f"DIFFERENCE: {lockstep.difference}", "bold red")
    if vcd is None:
        return
    try:
        with _open_wave(vcd, engine, lockstep.recent[0].first_cycle) as wave:
            for window in lockstep.recent:
                wave.write(window)
        _say(show, f"waveform around it: {vcd}")
    except Refused as error:  # the difference is the news, and decides the exit status
        _say(show, f"no waveform: {error}")


def _conclude(show: Console, difference: bool, hang: HangError | None, cycles: int) -> None:
    """The verdict, in words and as exit status."""
    if hang:
        _say(show, f"HANG: {hang}", "bold red")
    if hang or difference:
        raise typer.Exit(1)
    _say(
        show, f"hardware and golden model agree on every output pin in all {cycles} cycles", "green"
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        0 if hardware and golden model agree, 1 if they differ, 2 for wrong usage or unreadable
        input, 130 after an interrupt, 141 if the reader of standard output went away.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may lack most characters
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            return app(arguments, standalone_mode=False) or 0
        finally:
            if sys.stdout:
                sys.stdout.flush()
    except Refused as error:
        message = str(error)
    except TyperException as error:
        message = f"{error.format_message().rstrip('.')} (see utf8-hdl --help)"
    except (Abort, KeyboardInterrupt):
        return 130
    except (SystemExit, OSError) as error:
        # Files have errors of their own, so this is standard output's. Typer answers to a closed
        # pipe with the exit status 1, which is taken.
        cause = error.__context__ if isinstance(error, SystemExit) else error
        standard_output_failed()
        if isinstance(cause, BrokenPipeError):
            return 141
        message = f"cannot write standard output: {getattr(cause, 'strerror', error)}"
    print(f"utf8-hdl: {' '.join(message.split())}", file=sys.stderr)
    return 2
