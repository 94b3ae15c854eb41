"""What is said about a run in which hardware and golden model part, or that cannot go on."""

import shlex
import time
from itertools import groupby

import numpy as np
from rich.console import Console

from utf8_sim.engines.engine import Engine
from utf8_sim.lockstep import Difference, Lockstep, Window
from utf8_sim.shrink import PATIENCE, Case, attempts, shortest
from utf8_sim.tools.errors import Refused, ToolError

from ..components.entry import Variant, entry_of
from ..terminal import Wrong, plural, print_lines, progress_bar, say
from .cycles import cycle_table, shown_output
from .report import overrides
from .run import Run, agree
from .waves import draw, write_wave

AROUND = 16, 5
"""Cycles before and after a difference that are shown, with its own,"""

KEPT_AROUND = 1024, 64
"""and those that are kept as a waveform."""

VALUES_AROUND = 16, 4
"""Bytes or code points that are shown: accepted before a difference, and after it."""


def conclude(show: Console, run: Run, vcd: str | None, wave: str | None) -> None:
    """The verdict, in words and as exit status, with all that explains it."""
    if run.lockstep and run.lockstep.recent and run.wrong:
        _explain(show, run, run.lockstep, vcd, wave)
    if run.failure:
        say(show, run.wrong, "bold red")
    if run.wrong:
        raise Wrong
    agree(show, run.cycles)


def _explain(
    show: Console, run: Run, lockstep: Lockstep, vcd: str | None, wave: str | None
) -> None:
    """Show where the two part, or in which cycles the design stopped, and keep pictures of it.

    Of a difference, a shorter input is looked for.
    """
    engine, difference, recording = run.engine, lockstep.difference, lockstep.recording()
    if difference:
        cycle, marked = difference.cycle, difference.cycle
        say(show, f"DIFFERENCE: {difference}", "bold red")
        if difference.pin != "i.ready":
            say(show, _outputs(recording, difference, engine))
        say(show, f"{'text':<12}{_text_around(recording, cycle, engine)}")
    else:
        moved = np.flatnonzero(recording.actual.is_accepted | recording.actual.is_taken)
        cycle, marked = recording.first_cycle + int([0, *moved.tolist()][-1]), None
    shown, kept = (
        recording.part(cycle - before, cycle + after) for before, after in (AROUND, KEPT_AROUND)
    )
    cycles = range(shown.first_cycle, shown.end)
    print_lines(show, cycle_table(recording, engine, cycles, pins=True, marked=marked))
    pictures = ("waveform", vcd, write_wave, kept), ("timing diagram", wave, draw, shown)
    for what, name, write, window in pictures:
        if name is None:
            continue
        try:
            write(name, window, engine)
            say(show, f"{what} around it: {name}")
        except Refused as error:  # what is wrong is the news, and decides the exit status
            say(show, f"no {what}: {error}")
    if difference:
        _report_shortest(show, recording, difference, engine)


def _outputs(recording: Window, difference: Difference, engine: Engine) -> str:
    """The outputs of both."""
    place = difference.cycle - recording.first_cycle
    expected, actual = (
        shown_output(trace, engine, place).replace("\n", " ") or "none"
        for trace in (recording.expected, recording.actual)
    )
    return f"{engine.component.result:<12}expected {expected}, actual {actual}"


def _text_around(recording: Window, cycle: int, engine: Engine) -> str:
    """The values accepted before a cycle and some after it, and where in their text they begin."""
    values, ends, cycles = recording.inputs(engine.component)
    place = int(np.searchsorted(cycles, cycle))
    before, after = VALUES_AROUND
    first = max(0, place - before)
    shown = [f"{value:0{digits(engine)}X}" for value in values[first : place + after].tolist()]
    if not shown:
        return "none"
    for end in ends[(ends > first) & (ends < first + len(shown))]:
        shown[end - first] = f"/ {shown[end - first]}"
    begun = ends[ends <= first]
    offset = first - int(begun[-1]) if len(begun) else first + recording.of_text
    return f"{'... ' if offset else ''}{' '.join(shown)} from offset {offset}"


def digits(engine: Engine) -> int:
    """Hexadecimal digits in which a value is shown, at least."""
    _, width = engine.interface.inputs[0].parts[0]
    return min(4, width // 4)


def _report_shortest(
    show: Console, recording: Window, difference: Difference, engine: Engine
) -> None:
    """Look for a shorter input that shows a difference, and say how to run it."""
    found: Case | None = None
    remark = ""
    begin = time.monotonic()
    try:
        with progress_bar() as progress:
            progress.add_task("looking for a shorter input", total=None)
            attempt = attempts(engine, difference.pin)
            for found in shortest(recording, engine.component, difference, attempt):  # noqa: B007 - the last counts
                pass
        if time.monotonic() - begin > PATIENCE:
            remark = f" in {PATIENCE:.0f} seconds"
    except KeyboardInterrupt:
        remark = " until interrupted"
    except ToolError as error:
        remark = f" ({error})"
    if found:
        size = plural(len(found.values), engine.component.value)
        say(show, f"shortest input found{remark}: {size}; to repeat it:")
        say(show, command(found, engine))
    elif remark:
        say(show, f"no shorter input found{remark}")
    elif recording.first_cycle:
        cycles = f"{recording.first_cycle}-{difference.cycle}"
        say(show, f"no shorter input found: cycles {cycles} alone do not show it")
    else:
        say(show, "not reproducible: the same input, run once more, shows no difference")


def command(case: Case, engine: Engine) -> str:
    """The command that runs a case."""
    width = digits(engine)
    words = ["utf8-hdl", "simulate", *Variant.of(engine.design).options]
    texts = (" ".join(f"{value:0{width}X}" for value in text) for text in case.texts())
    if engine.profile.name != "unicode":
        words += ["--profile", engine.profile.name]
    for rule, value in overrides(engine.profile):
        words += [f"--{rule}", value]
    words += ["--engine", engine.name, entry_of(engine).list_option, " / ".join(texts)]
    for side, stalls in (("input", case.gaps), ("output", case.stalls)):
        if any(stalls):
            words += [f"--stall-{side}-cycles", _cycle_list(stalls)]
    return shlex.join(words)


def _cycle_list(stalls: tuple[bool, ...]) -> str:
    """The cycles of a pattern, such as ``3,5-9``."""
    numbers = np.flatnonzero(stalls).tolist()
    runs = (list(run) for _, run in groupby(enumerate(numbers), lambda item: item[1] - item[0]))
    return ",".join(f"{run[0][1]}-{run[-1][1]}" if len(run) > 1 else str(run[0][1]) for run in runs)
