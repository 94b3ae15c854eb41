"""The report of a difference or of a failed run."""

import os
import shlex
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import groupby, product

import numpy as np
from rich.console import Console
from rich.text import Text

from utf8_sim.engines.engine import Engine
from utf8_sim.lockstep import Difference, Lockstep, Window
from utf8_sim.minimise import PATIENCE, Found, NotReproducible, attempt, is_item, minimised
from utf8_sim.stimulus import FixedStalls, Stimulus
from utf8_sim.subject import Subject
from utf8_sim.tools.errors import ToolError, UsageError
from utf8_sim.tools.files import open_output
from utf8_sim.tools.words import plural
from utf8_sim.trace import RESET, Trace

from ..designs import DesignSpec
from ..terminal import VerificationFailed, print_lines, progress_bar, say
from .cycles import cycle_table, shown_output
from .diagnosis import broken_rule, offered_values, opinions
from .run import Run
from .waves import draw, write_wave

AROUND = 16, 5
"""Number of cycles in the report: before a difference, and from its own cycle on."""

RECORDED_AROUND = 1024, 64
"""Number of cycles in the waveform: before a difference, and from its own cycle on."""

STIMULUS_FILE = "difference.json"
"""File name of the shortest stimulus that shows a difference, in the waveform's folder."""

MAX_SHOWN, MAX_VALUES = 64, 64
"""Maximum number of cycles of the shortest stimulus in the report, and of values in a command."""

VALUES_AROUND = 16, 4
"""Number of values in the report: accepted before a difference, and from its cycle on."""


def report_verdict(
    show: Console, run: Run, vcd: str | None, wave: str | None, folder: str | None = None
) -> None:
    """Print and explain the verdict; raise `VerificationFailed` if something is wrong.

    The stimulus of a difference is written to ``folder``, by default the folder of ``vcd``.
    """
    if run.recent and run.wrong:
        _explain(show, run, vcd, wave)
    if run.difference:
        _report_shortest(show, run, run.difference, folder or os.path.dirname(vcd or ""))
    if run.failure:
        say(show, run.wrong, "bold red")
    if run.wrong:
        raise VerificationFailed
    report_match(show, run.cycles)


def report_match(show: Console, cycles: int) -> None:
    """Print the verdict of a comparison without a difference."""
    verdict = f"hardware and golden model agree on every output pin in all {cycles} cycles"
    say(show, verdict, "green")


def _explain(show: Console, run: Run, vcd: str | None, wave: str | None) -> None:
    """Show the cycles around the difference, or around the last transfer of a failed run.

    Also write a waveform and a timing diagram, if file names for them are given.
    """
    engine, difference, recording = run.engine, run.difference, run.recording()
    if difference:
        cycle, marked = difference.cycle, difference.cycle
        say(show, f"DIFFERENCE: {difference}", "bold red")
        if difference.pin != "i.ready":
            say(show, _outputs(recording, difference, engine))
        say(show, f"{'text':<12}{_text_around(recording, cycle, engine)}")
    else:
        moved = np.flatnonzero(recording.actual.is_accepted | recording.actual.is_taken)
        cycle, marked = recording.first_cycle + int([0, *moved.tolist()][-1]), None
    near, recorded = (
        recording.part(cycle - before, cycle + after) for before, after in (AROUND, RECORDED_AROUND)
    )
    cycles = range(near.first_cycle, near.end)
    table = cycle_table(recording, engine, cycles, pins=True, marked=marked, idle=run.is_replay)
    print_lines(show, table)
    pictures = ("waveform", vcd, write_wave, recorded), ("timing diagram", wave, draw, near)
    for what, name, write, window in pictures:
        if name is None:
            continue
        try:
            write(name, window, engine)
            say(show, f"{what} around it: {name}")
        except UsageError as error:  # the verdict matters more, and decides the exit status
            say(show, f"no {what}: {error}")


def _outputs(recording: Window, difference: Difference, engine: Engine) -> str:
    """The outputs of golden model and design."""
    index = difference.cycle - recording.first_cycle
    expected, actual = (
        shown_output(trace, engine, index).replace("\n", " ") or "none"
        for trace in (recording.expected, recording.actual)
    )
    return f"{engine.component.result:<12}expected {expected}, actual {actual}"


def _text_around(recording: Window, cycle: int, engine: Engine) -> str:
    """The values accepted before and after a cycle, and their offset in the text."""
    values, ends, cycles = recording.inputs(engine.component)
    index = int(np.searchsorted(cycles, cycle))
    before, after = VALUES_AROUND
    first = max(0, index - before)
    shown = [f"{value:0{digits(engine)}X}" for value in values[first : index + after].tolist()]
    if not shown:
        return "none"
    for end in ends[(ends > first) & (ends < first + len(shown))]:
        shown[end - first] = f"/ {shown[end - first]}"
    begun = ends[ends <= first]
    offset = first - int(begun[-1]) if len(begun) else first + recording.of_text
    return f"{'... ' if offset else ''}{' '.join(shown)} from offset {offset}"


def digits(engine: Engine) -> int:
    """Minimum number of hexadecimal digits of a value."""
    _, width = engine.interface.inputs[0].parts[0]
    return min(4, width // 4)


def hex_list(engine: Engine, texts: Iterable[np.ndarray]) -> str:
    """The values of texts, as the option of the component for a list of values accepts them."""
    return " / ".join(
        " ".join(f"{value:0{digits(engine)}X}" for value in text.tolist()) for text in texts
    )


def _report_shortest(show: Console, run: Run, difference: Difference, folder: str) -> None:
    """Search for a shorter stimulus with the difference, explain it, and print its command."""
    engine = run.engine
    if run.is_replay:
        _explain_shortest(show, engine, Found(difference, run.history.trace()))
        return
    found, remark = None, ""
    begin = time.monotonic()
    try:
        with progress_bar() as progress:
            progress.add_task("looking for a shorter input", total=None)
            for found in minimised(engine, run):  # noqa: B007 - the last one counts
                pass
        if time.monotonic() - begin > PATIENCE:
            remark = f" in {PATIENCE:.0f} seconds"
    except KeyboardInterrupt:
        remark = " until interrupted"
    except NotReproducible:
        why = "the same stimulus, driven again, does not show it"
        say(show, f"not reproducible: {run.wrong}; {why}")
        return
    except ToolError as error:
        remark = f" ({error})"
    if found is None:
        cycles = f": the last {len(run.history.trace())} cycles alone do not show it"
        say(show, f"no shorter input found{remark or cycles}; to repeat it, run the same again")
        return
    file = _keep(show, found, os.path.join(folder, STIMULUS_FILE), engine)
    words = ["--stimulus", file] if file else []
    with suppress(KeyboardInterrupt):
        if found.difference != difference or _is_hidden(found.trace):
            say(show, f"in the shortest input: {found.difference}", "bold")
            print_lines(show, _eventful_cycles(engine, found))
        _explain_shortest(show, engine, found)
        words = as_text(engine, found) or words
    values = plural(len(offered_values(engine, found.trace)[0]), engine.component.value)
    if words:
        say(show, f"shortest input found{remark}: {values}; to repeat it:")
        say(show, simulation(engine, engine.name, *words))
    else:
        say(show, f"shortest input found{remark}: {values}")


def _explain_shortest(show: Console, engine: Engine, found: Found) -> None:
    """Print the broken rule, and CPython's result for the text."""
    say(show, f"{'rule':<12}{broken_rule(engine, found)}")
    for line in opinions(engine, found.trace):
        say(show, f"{'CPython':<12}{line}")


def _keep(show: Console, found: Found, file: str, engine: Engine) -> str:
    """Write a stimulus to a file; return the file's name, or an empty string if that fails."""
    design = shlex.join(DesignSpec.of(engine.design).words)
    try:
        with open_output(file) as stream:
            replace(found.table, design=design).write(stream)
    except UsageError as error:
        say(show, f"no stimulus: {error}")
        return ""
    say(show, f"{'stimulus':<12}{file}: {_contents(found.trace)}")
    return file


def _is_hidden(trace: Trace) -> bool:
    """True if an idle input is not zero, or if reset is active in any cycle."""
    idle = trace[trace["i.valid"] == 0]
    payload = (idle[pin.name] for pin in trace.interface.inputs)
    return bool(trace[RESET].any() or any(column.any() for column in payload))


def _eventful_cycles(engine: Engine, found: Found) -> list[Text]:
    """The table of the last :data:`MAX_SHOWN` cycles with a reset, an active input or an output.

    The last cycle is always included.
    """
    trace = found.trace
    marks = trace["i.valid"] | trace[RESET] | trace["o.valid"]
    for pin in trace.interface.inputs:
        marks = marks | trace[pin.name].reshape(len(trace), -1).any(axis=1)
    marks[-1] = 1
    cycles = np.flatnonzero(marks)[-MAX_SHOWN:].tolist()
    again = Lockstep(engine, found.table)
    again.run()
    marked = found.difference.cycle
    return cycle_table(again.recording(), engine, cycles, pins=True, marked=marked, idle=True)


def _contents(trace: Trace) -> str:
    """Describe a stimulus: its number of cycles, stalls, idle cycles and cycles of reset."""
    counts = {
        "cycle": len(trace),
        "stall at the output": int((trace["o.ready"] == 0).sum()),
        "idle cycle at the input": int((trace["i.valid"] == 0).sum()),
        "cycle of reset": int(trace[RESET].sum()),
    }
    nouns = {each: each.replace("stall", "stalls").replace("cycle", "cycles") for each in counts}
    return ", ".join(plural(n, each, nouns[each]) for each, n in counts.items() if n)


def simulation(subject: Subject, engine: str, *options: str) -> str:
    """The command that simulates a design with these options."""
    words = ["utf8-hdl", "simulate", *DesignSpec.of(subject.design).words]
    return shlex.join([*words, "--engine", engine, *options])


def as_text(engine: Engine, found: Found) -> list[str]:
    """The options for a stimulus as values and stalls; empty if they cannot express it.

    On the command line, a text ends after the last value. If the text must not end there, another
    value is added. In a cycle in which no input can be accepted, an offered input usually has the
    same effect as an idle cycle; then the idle cycle needs no option.
    """
    trace, side = found.trace, found.difference.pin.partition(".")[0]
    values, ends = offered_values(engine, trace)
    if _is_hidden(trace) or values.ndim > 1 or len(values) > MAX_VALUES:
        return []
    last_item = int(np.flatnonzero(np.append(True, is_item(trace)))[-1])  # no input follows it
    idle, stalls = trace["i.valid"][:last_item] == 0, _pattern(trace["o.ready"] == 0)
    sides = _pattern(idle & (trace["i.ready"][:last_item] == 1)), _pattern(idle)
    for gaps, given in product(sides, (values, np.append(values, values[-1:]))):
        texts = np.split(given, ends[ends < len(given)])
        if attempt(engine, Stimulus([(text, True) for text in texts], gaps, stalls), side):
            break
    else:
        return []
    words = [engine.component.list_option, hex_list(engine, texts)]
    for name, side_stalls in (("input", gaps), ("output", stalls)):
        if any(side_stalls.pattern):
            words += [f"--stall-{name}-cycles", _cycle_list(side_stalls.pattern)]
    return words


def _pattern(marks: np.ndarray) -> FixedStalls:
    """Stalls in the marked cycles."""
    return FixedStalls(tuple(np.trim_zeros(marks, "b").tolist()))


def _cycle_list(stalls: tuple[bool, ...]) -> str:
    """The cycles of a pattern, such as ``3,5-9``."""
    numbers = np.flatnonzero(stalls).tolist()
    runs = (list(run) for _, run in groupby(enumerate(numbers), lambda item: item[1] - item[0]))
    return ",".join(f"{run[0][1]}-{run[-1][1]}" if len(run) > 1 else str(run[0][1]) for run in runs)
