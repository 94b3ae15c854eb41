"""Tables of cycles: inputs, the state machine, outputs."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from utf8_sim.components.report import active_cycles
from utf8_sim.format import has_error
from utf8_sim.golden.model import MET
from utf8_sim.golden.timing import NOTHING, meets_state_later
from utf8_sim.lockstep import HANDSHAKE, Window
from utf8_sim.stimulus import LAST
from utf8_sim.subject import Subject
from utf8_sim.trace import RESET, Fields, Trace, as_list, shown_number

WIDEST = len(" ".join(["00"] * 16))
"""Maximum width of an input or an output on one line: that of sixteen bytes of a beat."""

NO_BREAK = "\N{NO-BREAK SPACE}"

MAX_PINS_NAMED = 8
"""Maximum number of wrong pins that a line names."""


def cycle_table(
    window: Window,
    subject: Subject,
    cycles: Sequence[int] | None = None,
    pins: bool = False,
    marked: int | None = None,
    idle: bool = False,
    others: Sequence[Mapping[str, int]] = (),
) -> list[Text]:
    """Headings, and a line for each cycle, or several lines if a beat is too wide.

    The table is empty if there are no cycles. By default, ``cycles`` are all cycles except idle
    cycles at the end. ``pins`` adds the handshakes and each pin that differs from the golden model.
    ``idle`` adds the non-zero values of idle inputs, in brackets. ``others`` are additional inputs
    for each cycle. Reset has a column if it is active in any of the cycles.
    """
    trace, begin = window.actual, window.first_cycle
    cycles = cycles or range(begin, begin + active_cycles(trace))
    if not cycles:
        return []
    resets = bool(trace[RESET][cycles[0] - begin : cycles[-1] + 1 - begin].any())
    is_later = MET in trace.columns and meets_state_later(subject.timing)
    met = _met(trace, subject) if is_later else None
    width = max(len("cycle"), len(str(cycles[-1])))
    no_mark = "" if marked is None else "  "
    free = [name for name in (others[0] if others else ()) if any(row[name] for row in others)]
    further = [*[RESET] * resets, *free]
    rows = _headings(subject, pins, f"{no_mark}{'cycle':>{width}}", met is not None, further)
    head = len(rows)
    for number in cycles:
        index = number - begin
        mark = "> " if number == marked else no_mark
        cells = [_input(trace, subject, index, idle)]
        if met is not None:
            cells.append(met.get(index, ""))
        if trace.interface.state_width:
            states = trace["state"][index : index + (2 if met and index in met else 1)].tolist()
            cells.append(" -> ".join(map(subject.state_name, states)))
        cells.append(shown_output(trace, subject, index))
        if pins:
            i, o = (f"{trace[f'{s}.valid'][index]} {trace[f'{s}.ready'][index]}" for s in "io")
            cells.insert(-1, o)
            cells.insert(0, i)
        cells = [*(f"{others[index][name]:X}" for name in free), *cells]
        if resets:
            cells.insert(0, f"{trace[RESET][index]}")
        rows.append([f"{mark}{number:>{width}}", *cells])
    lines = _aligned(rows)
    for line in lines[:head]:
        line.stylize("bold")
    for number, line in zip(cycles, lines[head:], strict=True):
        index = number - begin
        if has_error(_offered(trace, "o", index)):
            line.stylize("red")
        if pins and (contradicted := list(_contradicted(window, index))):
            more = "; ..." * (len(contradicted) > MAX_PINS_NAMED)
            shown = "; ".join(contradicted[:MAX_PINS_NAMED])
            line.append(f"  <- {shown}{more}", "bold red")
    return lines


def input_table(inputs: Sequence[Mapping[str, int]], marked: int) -> list[Text]:
    """A line for each cycle with the values of the inputs, for a bench without a design."""
    rows = [["  cycle", *inputs[0]]]
    for number, levels in enumerate(inputs):
        mark = "> " if number == marked else "  "
        rows.append([f"{mark}{number:>5}", *(f"{level:X}" for level in levels.values())])
    heading, *lines = _aligned(rows)
    heading.stylize("bold")
    return [heading, *lines]


def _headings(
    subject: Subject, pins: bool, cycle: str, meets: bool, more: list[str]
) -> list[list[str]]:
    """One or two lines with the headings of the columns."""
    item, result = subject.component.item, subject.component.result
    inside = [("", "state")] if subject.interface.state_width else []
    if meets:
        inside.insert(0, ("", f"{item} meets"))
    columns = [("", f"{item} in"), *inside, ("", f"{result} out")]
    if pins:
        columns.insert(-1, ("o.valid", "| o.ready"))
        columns.insert(0, ("i.valid", "| i.ready"))
    columns = [*(("", name) for name in more), *columns]
    lines = zip(("", cycle), *columns, strict=True)
    return [list(line) for line in lines if any(line)]


def _aligned(rows: list[list[str]]) -> list[Text]:
    """Align the columns. Cells may have several lines, and characters may be two columns wide."""
    by_line = [list(zip_longest(*map(str.splitlines, row), fillvalue="")) for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*chain(*by_line), strict=True)]
    return [
        Text("\n".join("  ".join(map(set_cell_size, line, widths)).rstrip() for line in lines))
        for lines in by_line
    ]


def _met(trace: Trace, subject: Subject) -> dict[int, str]:
    """Inputs by the index of the cycle in which they enter the state machine."""
    (cycles,) = np.nonzero(trace[MET] != NOTHING)
    accepted = cycles - trace[MET].take(cycles)
    is_here = accepted >= 0
    items = trace[accepted[is_here]].offered("i")
    return dict(zip(cycles[is_here].tolist(), map(subject.component.show_item, items), strict=True))


def _input(trace: Trace, subject: Subject, index: int, idle: bool) -> str:
    pins = [pin.name for pin in trace.interface.inputs]
    levels = {name: trace[name][index].tolist() for name in pins}
    fields = _in_lines(show_fields(levels))
    if not trace["i.valid"][index]:
        return f"({fields})" if idle and fields else ""
    shown = subject.component.show_item(levels)
    width = len("41 A") if trace.interface.inputs[0].width == 8 else 0  # aligns the remarks
    waits = not trace["i.ready"][index]
    remarks = _with_remarks(f"{shown:<{width}}", bool(levels.get(LAST)), waits)
    return f"{remarks}\n({fields})" if idle and _has_more(levels) else remarks


def _has_more(levels: Fields) -> bool:
    """True if a lane without ``keep`` is not zero."""
    lanes = zip(as_list(levels.get("i.data", 0)), as_list(levels.get("i.keep", 1)), strict=False)
    return any(value and not keep for value, keep in lanes)


def show_fields(levels: Mapping[str, Any]) -> str:
    """The fields of a payload that are not zero, by name, in hexadecimal."""
    shown = {
        name.partition(".")[2]: " ".join(f"{level:X}" for level in as_list(field))
        for name, field in levels.items()
        if any(as_list(field))
    }
    return ", ".join(f"{name} {field}" for name, field in shown.items())


def show_plain(levels: Mapping[str, Any]) -> str:
    """Like :func:`show_fields`, but without ``last``, which a table shows separately."""
    return show_fields({name: level for name, level in levels.items() if name[2:] != "last"})


def _offered(trace: Trace, side: str, index: int) -> Fields:
    """The fields that are offered in a cycle; empty if nothing is offered."""
    return next(trace[index : index + 1].offered(side))


def shown_output(trace: Trace, subject: Subject, index: int) -> str:
    """The output at the pins in a cycle, for humans; empty if there is none."""
    row = _offered(trace, "o", index)
    if not row:
        return ""
    waits = not trace["o.ready"][index]
    return _with_remarks(subject.component.show_result(row), bool(row.get("o.last")), waits)


def _with_remarks(shown: str, last: bool, waits: bool) -> str:
    remarks = [name for name, holds in (("last", last), ("waits", waits)) if holds]
    return " ".join([_in_lines(shown), *remarks]).rstrip()


def _in_lines(shown: str) -> str:
    """Wrap to :data:`WIDEST`: between members of a list, or between words if it is no list."""
    if len(shown) <= WIDEST:
        return shown
    fixed = shown.replace(" ", NO_BREAK).replace(f",{NO_BREAK}", ", ") if ", " in shown else shown
    return textwrap.fill(fixed, WIDEST, break_on_hyphens=False).replace(NO_BREAK, " ")


def _contradicted(window: Window, index: int) -> Iterator[str]:
    """Each pin that differs from the golden model; the payload only if both are valid."""
    interface, traces = window.actual.interface, (window.actual, window.expected)
    both = all(trace["o.valid"][index] for trace in traces)
    for name in interface.observed if both else HANDSHAKE:
        for _, pin, golden, here, labels in window.differences(name, index):
            yield f"{pin} {shown_number(here, labels)}, golden {shown_number(golden, labels)}"
