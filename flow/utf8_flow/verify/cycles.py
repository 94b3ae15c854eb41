"""Tables of cycles: what comes in, what happens in the state machine, what comes out."""

from collections.abc import Iterator
from copy import deepcopy

import numpy as np
from rich.cells import cell_len
from rich.text import Text

from utf8_sim.engines.engine import Engine, state_name
from utf8_sim.golden.arrays import array_timing
from utf8_sim.lockstep import Window, shown_level
from utf8_sim.stimulus import LAST
from utf8_sim.trace import Trace
from utf8_sim.waves.diagram import outputs

from .report import active_cycles

SHOWN_ITEM = 6
"""Characters for an input beside a state."""


def cycle_table(
    window: Window,
    engine: Engine,
    cycles: range | None = None,
    pins: bool = False,
    marked: int | None = None,
) -> list[Text]:
    """One line for each cycle, below the headings; nothing, if there are no cycles.

    Without ``cycles``, all but the idle ones at the end. With ``pins`` the handshakes are shown
    too, and each pin that the golden model contradicts.
    """
    trace, begin = window.actual, window.first_cycle
    cycles = cycles or range(begin, begin + active_cycles(trace))
    if not cycles:
        return []
    met = _met(window, engine) if engine.timing.latency_of_state else None
    rows = []
    for number in cycles:
        place = number - begin
        handshakes = [_levels(trace, side, place) for side in "io"] if pins else []
        inside = _state(trace, engine, place, met)
        cells = [*handshakes[:1], _input(trace, engine, place), inside, *handshakes[1:]]
        rows.append([str(number), *cells, shown_output(trace, engine, place)])
    headings = _headings(engine, pins)
    lines = _aligned([*headings, *rows])
    errors = [bool(row.get("o.error")) for row in outputs(trace)]
    for number, line in zip(cycles, lines[-len(rows) :], strict=True):
        place = number - begin
        line.stylize("red" if errors[place] else "")
        if pins and (contradicted := "; ".join(_contradicted(window, place))):
            line.append(f"  <- {contradicted}", "bold red")
    for line in lines[: len(headings)]:
        line.stylize("bold")
    if marked is None:
        return lines
    marks = [" "] * len(headings) + [">" if number == marked else " " for number in cycles]
    return [Text(f"{mark} ").append_text(line) for mark, line in zip(marks, lines, strict=True)]


def _headings(engine: Engine, pins: bool) -> list[list[str]]:
    """One line or two that say what the columns are."""
    item, result = engine.component.item, engine.component.result
    inside = ("", "state")
    if engine.timing.latency_of_state:
        inside = ("in the state machine", f"{item:<{SHOWN_ITEM}}state")
    columns = [("", f"{item} in"), inside, ("", f"{result} out")]
    if pins:
        columns.insert(2, ("o.valid", "| o.ready"))
        columns.insert(0, ("i.valid", "| i.ready"))
    lines = zip(("", "cycle"), *columns, strict=True)
    return [list(line) for line in lines if any(line)]


def _aligned(rows: list[list[str]]) -> list[Text]:
    """Rows as lines, the numbers in the first column to the right."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        padded = [
            cell + " " * (width - cell_len(cell))
            for cell, width in zip(others, widths[1:], strict=True)
        ]
        lines.append(Text("  ".join([first.rjust(widths[0]), *padded]).rstrip()))
    return lines


def _levels(trace: Trace, side: str, place: int) -> str:
    return f"{trace[f'{side}.valid'][place]} {trace[f'{side}.ready'][place]}"


def _met(window: Window, engine: Engine) -> dict[int, int]:
    """The cycles in which an input meets the state machine, and those in which it came in."""
    meetings = window.before.meetings or array_timing(engine.timing).meetings()
    came = np.flatnonzero(window.actual.is_accepted)
    meet = deepcopy(meetings)(window.actual)
    return dict(zip(meet.tolist(), came.tolist(), strict=False))


def _state(trace: Trace, engine: Engine, place: int, met: dict[int, int] | None) -> str:
    """The state; if inputs meet it later, also the one that does, and the state that follows."""
    if not trace.interface.state_width:
        return ""
    names = [
        state_name(engine.state_names, state)
        for state in trace["state"][place : place + 2].tolist()
    ]
    if met is None:
        return names[0]
    if place not in met:
        return f"{'':<{SHOWN_ITEM}}{names[0]}"
    item = engine.component.show_item(int(trace[trace.interface.item][met[place]]))
    return f"{item:<{SHOWN_ITEM}}{' -> '.join(names)}"


def _input(trace: Trace, engine: Engine, place: int) -> str:
    if not trace["i.valid"][place]:
        return ""
    item = trace.interface.inputs[0]
    shown = engine.component.show_item(int(trace[item.name][place]))
    width = len("41 A") if item.width == 8 else 0  # so that what follows is in line
    last, waits = bool(trace[LAST][place]), not trace["i.ready"][place]
    return _with_remarks(f"{shown:<{width}}", last, waits)


def shown_output(trace: Trace, engine: Engine, place: int) -> str:
    """The output at the pins in a cycle, for a person; nothing, if there is none."""
    [row] = outputs(trace[place : place + 1])
    if not row:
        return ""
    shown = engine.component.show_result(row)
    return _with_remarks(shown, bool(row["o.last"]), not trace["o.ready"][place])


def _with_remarks(shown: str, last: bool, waits: bool) -> str:
    remarks = [name for name, holds in (("last", last), ("waits", waits)) if holds]
    return " ".join([shown, *remarks]).rstrip()


def _contradicted(window: Window, place: int) -> Iterator[str]:
    """Each pin that is not as the golden model says; the payload only where both are valid."""
    actual = window.actual[place : place + 1]
    expected = window.expected[place : place + 1]
    interface = window.actual.interface
    pins = interface.observed
    if not (actual["o.valid"] & expected["o.valid"]).any():
        pins = pins[:2]
    for pin in pins:
        number = interface.pin(pin).number
        levels = [number(trace[pin][0].tolist()) for trace in (actual, expected)]
        if levels[0] != levels[1]:
            here, golden = (shown_level(pin, level) for level in levels)
            yield f"{pin} {here}, golden {golden}"
