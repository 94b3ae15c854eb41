"""What is said about a run in which hardware and golden model part, or that cannot go on."""

import shlex
import time
from itertools import groupby

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

from utf8_sim.components import COMPONENTS
from utf8_sim.engines.engine import Engine
from utf8_sim.lockstep import Difference, Lockstep, Window
from utf8_sim.shrink import PATIENCE, Case, attempts, shortest
from utf8_sim.tools.errors import Refused, ToolError
from utf8_sim.trace import Trace

from ..components import entry_of
from ..terminal import plural, print_lines, progress_bar, say
from .cycles import cycle_table, shown_output
from .report import overrides
from .run import Run, agree
from .waves import draw, write_wave

AROUND = 16, 5
"""Cycles before and after a difference that are shown, with its own,"""

KEPT_AROUND = 1024, 64
"""and those that are kept as a waveform."""

VALUES_AROUND = 8
"""Bytes or code points shown on either side of those that a difference is about."""


def conclude(show: Console, run: Run, vcd: str | None, wave: str | None) -> None:
    """The verdict, in words and as exit status, with all that explains it."""
    if run.lockstep and run.lockstep.recent and run.wrong:
        _explain(show, run, run.lockstep, vcd, wave)
    if run.failure:
        say(show, run.wrong, "bold red")
    if run.wrong:
        raise typer.Exit(1)
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
        print_lines(show, _explanation(recording, difference, engine))
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


def _explanation(recording: Window, difference: Difference, engine: Engine) -> list[Text]:
    """The outputs of both, if there may be any, and the text around the place."""
    place = difference.cycle - recording.first_cycle
    expected, actual = (
        shown_output(trace, engine, place) or "none"
        for trace in (recording.expected, recording.actual)
    )
    outputs = Text(f"{engine.component.result:<12}expected {expected}, actual {actual}")
    about = _about(recording, difference, engine)
    text = Text(f"{'text':<12}{_text_around(recording, engine, *about)}")
    return [text] if difference.pin == "i.ready" else [outputs, text]


def _about(recording: Window, difference: Difference, engine: Engine) -> tuple[int, int]:
    """Which of the inputs a difference is about: the first one, and how many.

    Those of the output that is expected; of ``i.ready``, the input that is on offer.
    """
    place = difference.cycle - recording.first_cycle
    before, expected = recording.actual[:place], recording.expected[place : place + 1]
    if difference.pin == "i.ready":
        return int(np.count_nonzero(before.is_accepted)), 1
    is_valid = bool(expected["o.valid"][0])
    shown = Trace.join([before[before.is_taken], *([expected] if is_valid else [])])
    firsts, counts = engine.component.covered(shown.columns)
    first, count = -recording.in_flight, 1
    if len(shown):
        first, count = first + int(firsts[-1]), int(counts[-1])
    if not is_valid and len(shown):
        first, count = first + count, 1
    return max(first, 0), max(1, count + min(first, 0))


def _text_around(recording: Window, engine: Engine, item: int, items: int) -> str:
    """Values around those of some inputs, in brackets, within their text; and their offset."""
    values, ended, counts, _ = recording.inputs(engine.component)
    if not len(values):
        return "none"
    first, count = int(counts[:item].sum()), int(counts[item : item + items].sum())
    ends = [0, *ended.tolist()]
    begin = max(end for end in ends if end <= min(first, len(values) - 1))
    end = min((end for end in ends if end > begin), default=len(values))
    offset = first - begin + (0 if begin else recording.of_text)
    around = range(max(begin, first - VALUES_AROUND), min(end, first + count + VALUES_AROUND))
    width = digits(engine)
    words = [f"{value:0{width}X}" for value in values[around.start : around.stop].tolist()]
    marked = slice(first - around.start, first - around.start + count)
    words[marked] = [f"[{' '.join(words[marked])}]"]
    if offset > first - around.start:
        words.insert(0, "...")
    if around.stop < end or end not in ends:
        words.append("...")
    return f"{' '.join(words)} at offset {offset}"


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
    component, option = engine.component.name, entry_of(engine).list_option
    width = digits(engine)
    words = ["utf8-hdl", "simulate"]
    if component != next(iter(COMPONENTS)):  # the first one needs no option
        words += ["--component", component]
    if getattr(engine.design, "compact", False):
        words.append("--compact")
    texts = (" ".join(f"{value:0{width}X}" for value in text) for text in case.texts())
    if engine.profile.name != "unicode":
        words += ["--profile", engine.profile.name]
    for rule, value in overrides(engine.profile):
        words += [f"--{rule}", value]
    words += ["--engine", engine.name, option, " / ".join(texts)]
    for side, stalls in (("input", case.gaps), ("output", case.stalls)):
        if any(stalls):
            words += [f"--stall-{side}-cycles", _cycle_list(stalls)]
    return shlex.join(words)


def _cycle_list(stalls: tuple[bool, ...]) -> str:
    """The cycles of a pattern, such as ``3,5-9``."""
    numbers = np.flatnonzero(stalls).tolist()
    runs = (list(run) for _, run in groupby(enumerate(numbers), lambda item: item[1] - item[0]))
    return ",".join(f"{run[0][1]}-{run[-1][1]}" if len(run) > 1 else str(run[0][1]) for run in runs)
