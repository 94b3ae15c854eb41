"""Tables of cycles: what comes in, what happens in the state machine, what comes out."""

import textwrap
from collections.abc import Iterator
from copy import copy
from itertools import chain, zip_longest

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from utf8_sim.engines.engine import Engine
from utf8_sim.golden.array_timing import array_timing
from utf8_sim.lockstep import HANDSHAKE, Window
from utf8_sim.shown import has_error
from utf8_sim.stimulus import LAST
from utf8_sim.trace import Fields, Trace, shown_number

from .report import active_cycles

WIDEST = len(" ".join(["00"] * 16))
"""An input or an output that is wider gets several lines: sixteen bytes of a beat are in one."""

NO_BREAK = "\N{NO-BREAK SPACE}"

MOST_CONTRADICTED = 8
"""Pins that are named in a line because they are wrong."""


def cycle_table(
    window: Window,
    engine: Engine,
    cycles: range | None = None,
    pins: bool = False,
    marked: int | None = None,
) -> list[Text]:
    """A line for each cycle, or several if a beat is too wide for one, below the headings.

    There is nothing if there are no cycles. Without ``cycles``, they are all but the idle ones at
    the end. With ``pins`` the handshakes are shown too, and each pin that the golden model
    contradicts.
    """
    trace, begin = window.actual, window.first_cycle
    cycles = cycles or range(begin, begin + active_cycles(trace))
    if not cycles:
        return []
    met = _met(window, engine) if engine.timing.latency_of_state else None
    width = max(len("cycle"), len(str(cycles[-1])))
    no_mark = "" if marked is None else "  "
    rows = _headings(engine, pins, f"{no_mark}{'cycle':>{width}}", met is not None)
    head = len(rows)
    for number in cycles:
        place = number - begin
        mark = "> " if number == marked else no_mark
        cells = [_input(trace, engine, place)]
        if met is not None:
            cells.append(met.get(place, ""))
        if trace.interface.state_width:
            states = trace["state"][place : place + (2 if met and place in met else 1)].tolist()
            cells.append(" -> ".join(map(engine.state_name, states)))
        cells.append(shown_output(trace, engine, place))
        if pins:
            i, o = (f"{trace[f'{s}.valid'][place]} {trace[f'{s}.ready'][place]}" for s in "io")
            cells.insert(-1, o)
            cells.insert(0, i)
        rows.append([f"{mark}{number:>{width}}", *cells])
    lines = _aligned(rows)
    for line in lines[:head]:
        line.stylize("bold")
    for number, line in zip(cycles, lines[head:], strict=True):
        place = number - begin
        if has_error(_offered(trace, "o", place)):
            line.stylize("red")
        if pins and (contradicted := list(_contradicted(window, place))):
            more = "; ..." * (len(contradicted) > MOST_CONTRADICTED)
            shown = "; ".join(contradicted[:MOST_CONTRADICTED])
            line.append(f"  <- {shown}{more}", "bold red")
    return lines


def _headings(engine: Engine, pins: bool, cycle: str, meets: bool) -> list[list[str]]:
    """One line or two that say what the columns are."""
    item, result = engine.component.item, engine.component.result
    inside = [("", "state")] if engine.interface.state_width else []
    if meets:
        inside.insert(0, ("", f"{item} meets"))
    columns = [("", f"{item} in"), *inside, ("", f"{result} out")]
    if pins:
        columns.insert(-1, ("o.valid", "| o.ready"))
        columns.insert(0, ("i.valid", "| i.ready"))
    lines = zip(("", cycle), *columns, strict=True)
    return [list(line) for line in lines if any(line)]


def _aligned(rows: list[list[str]]) -> list[Text]:
    """Rows, in line; a cell may have several lines, and a character take two places."""
    by_line = [list(zip_longest(*map(str.splitlines, row), fillvalue="")) for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*chain(*by_line), strict=True)]
    return [
        Text("\n".join("  ".join(map(set_cell_size, line, widths)).rstrip() for line in lines))
        for lines in by_line
    ]


def _met(window: Window, engine: Engine) -> dict[int, str]:
    """Inputs by the place of the cycle in which they meet the state machine."""
    trace = window.actual
    timing = copy(window.timing or array_timing(engine.timing))
    items = map(engine.component.show_item, trace[trace.is_accepted].offered("i"))
    return dict(zip(timing.meetings(trace).tolist(), items, strict=False))


def _input(trace: Trace, engine: Engine, place: int) -> str:
    item = _offered(trace, "i", place)
    if not item:
        return ""
    shown = engine.component.show_item(item)
    width = len("41 A") if trace.interface.inputs[0].width == 8 else 0  # so that all is in line
    return _with_remarks(f"{shown:<{width}}", bool(item[LAST]), not trace["i.ready"][place])


def _offered(trace: Trace, side: str, place: int) -> Fields:
    """The fields that are offered in a cycle; none, if nothing is."""
    return next(trace[place : place + 1].offered(side))


def shown_output(trace: Trace, engine: Engine, place: int) -> str:
    """The output at the pins in a cycle, for a person; nothing, if there is none."""
    row = _offered(trace, "o", place)
    if not row:
        return ""
    waits = not trace["o.ready"][place]
    return _with_remarks(engine.component.show_result(row), bool(row["o.last"]), waits)


def _with_remarks(shown: str, last: bool, waits: bool) -> str:
    remarks = [name for name, holds in (("last", last), ("waits", waits)) if holds]
    return " ".join([_in_lines(shown), *remarks]).rstrip()


def _in_lines(shown: str) -> str:
    """The same in lines that are not too wide: of a list whole members, else whole words."""
    if len(shown) <= WIDEST:
        return shown
    fixed = shown.replace(" ", NO_BREAK).replace(f",{NO_BREAK}", ", ") if ", " in shown else shown
    return textwrap.fill(fixed, WIDEST, break_on_hyphens=False).replace(NO_BREAK, " ")


def _contradicted(window: Window, place: int) -> Iterator[str]:
    """Each pin that is not as the golden model says; the payload only where both are valid."""
    interface, traces = window.actual.interface, (window.actual, window.expected)
    both = all(trace["o.valid"][place] for trace in traces)
    for name in interface.observed if both else HANDSHAKE:
        for _, pin, golden, here, labels in window.differences(name, place):
            yield f"{pin} {shown_number(here, labels)}, golden {shown_number(golden, labels)}"
