"""Tables of cycles: what comes in, what happens in the state machine, what comes out."""

from collections.abc import Iterator
from copy import copy

import numpy as np
from rich.cells import cell_len
from rich.text import Text

from utf8_hdl import Kind
from utf8_sim.campaign import RUNS_TO_THE_STATE
from utf8_sim.engines.engine import Engine, state_name
from utf8_sim.lockstep import Window, shown_level
from utf8_sim.trace import DECODER, Interface, Trace
from utf8_sim.waves.diagram import character, named

from ..terminal import plural
from .report import active_cycles


def cycle_table(
    window: Window,
    engine: Engine,
    cycles: range | None = None,
    pins: bool = False,
    marked: int | None = None,
) -> list[Text]:
    """One line for each cycle, below the headings; nothing, if there are no cycles.

    Parameters
    ----------
    window : Window
        What was simulated.
    engine : Engine
        What simulated it.
    cycles : range, optional
        The numbers of the cycles; without it, all but the idle ones at the end.
    pins : bool
        Whether to show the handshakes too, and each pin that the golden model contradicts.
    marked : int, optional
        The cycle to mark.
    """
    trace, begin = window.actual, window.first_cycle
    cycles = cycles or range(begin, begin + active_cycles(trace))
    if not cycles:
        return []
    met = _met(window) if engine.interface == DECODER else {}
    rows = []
    for number in cycles:
        place = number - begin
        handshakes = [_levels(trace, side, place) for side in "io"] if pins else []
        inside = _state(trace, engine, place, met.get(place))
        cells = [*handshakes[:1], _input(trace, place), inside, *handshakes[1:]]
        rows.append([str(number), *cells, shown_output(trace, place)])
    headings = _headings(engine.interface, pins)
    lines = _aligned([*headings, *rows])
    errors = trace["o.valid"] & trace["o.error"]
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


def _headings(interface: Interface, pins: bool) -> list[list[str]]:
    """One line or two that say what the columns are."""
    if interface == DECODER:
        columns = [("", "byte in"), ("in the state machine", "byte  state"), ("", "token out")]
    else:
        columns = [("", "code point in"), ("", "state"), ("", "byte out")]
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


def _met(window: Window) -> dict[int, int]:
    """The cycles in which a byte meets the state machine, and those in which it came in."""
    trace = window.actual
    pace = copy(window.before.progress).add(trace)
    runs, came = np.flatnonzero(pace.runs), np.flatnonzero(trace.is_accepted)
    meets = pace.sets_out.take(came) + RUNS_TO_THE_STATE
    is_here = meets < len(runs)
    return dict(zip(runs.take(meets[is_here]).tolist(), came[is_here].tolist(), strict=True))


def _state(trace: Trace, engine: Engine, place: int, met: int | None) -> str:
    """The state; of a decoder also the byte that meets it, and the state that follows from it."""
    names = [
        state_name(engine.state_names, state) for state in trace.state[place : place + 2].tolist()
    ]
    if engine.interface != DECODER:
        return names[0]
    if met is None:
        return f"{'':<6}{names[0]}"
    return f"{shown_value(trace.interface, int(trace.item[met])):<6}{' -> '.join(names)}"


def _input(trace: Trace, place: int) -> str:
    if not trace.i_valid[place]:
        return ""
    shown = shown_value(trace.interface, int(trace.item[place]))
    width = 4 if trace.interface == DECODER else 0  # so that what follows is in line
    last, waits = bool(trace.i_last[place]), not trace["i.ready"][place]
    return _with_remarks(f"{shown:<{width}}", last, waits)


def shown_value(interface: Interface, value: int) -> str:
    """A byte or a code point that is offered, for a person."""
    if interface != DECODER:
        return named(value)
    return f"{value:02X} {character(value) if value < 0x80 else ''}".rstrip()


def shown_output(trace: Trace, place: int) -> str:
    """A token or a byte that is on offer in a cycle, for a person; nothing, if none is."""
    if not trace["o.valid"][place]:
        return ""
    pins = {pin: int(trace[pin][place]) for pin in trace.interface.observed}
    if trace.interface != DECODER:
        shown = f"{pins['o.data']:02X}" + (" error" if pins["o.error"] else "")
    else:
        of_error = f"error {Kind(pins['o.kind']).label}"
        shown = of_error if pins["o.error"] else named(pins["o.code_point"])
        shown += f" ({plural(pins['o.length'], 'byte')})"
    return _with_remarks(shown, bool(pins["o.last"]), not trace.o_ready[place])


def _with_remarks(shown: str, last: bool, waits: bool) -> str:
    remarks = [name for name, holds in (("last", last), ("waits", waits)) if holds]
    return " ".join([shown, *remarks]).rstrip()


def _contradicted(window: Window, place: int) -> Iterator[str]:
    """Each pin that is not as the golden model says; the payload only where both are valid."""
    actual = window.actual[place : place + 1]
    expected = window.expected[place : place + 1]
    pins = window.actual.interface.observed
    if not (actual["o.valid"] & expected["o.valid"]).any():
        pins = pins[:2]
    for pin in pins:
        levels = [int(trace[pin][0]) for trace in (actual, expected)]
        if levels[0] != levels[1]:
            here, golden = (shown_level(pin, level) for level in levels)
            yield f"{pin} {here}, golden {golden}"
