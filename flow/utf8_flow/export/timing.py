"""Timing diagrams in plain text: the streams of a module in each cycle of a short simulation."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from string import ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple

import numpy as np

from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.engine import Engine
from utf8_sim.shown import has_error
from utf8_sim.stimulus import FixedStalls, Stimulus
from utf8_sim.trace import Fields, Trace

from .text import LINE, filled

NAME, CELL = 14, 3
"""Characters of a row's name, and of a cycle."""

UNDEFINED = "."
"""Symbol of a don't care."""


class Diagram(NamedTuple):
    """A diagram: a line for each port, under the numbers of the cycles."""

    rows: list[str]
    #: The meaning of each letter in the rows, as lines.
    legend: list[str]
    #: The cycle in which the consumer stalls.
    stalled: int


def timing_diagram(design: Any, make_engine: Callable[[Any], Engine] = AmaranthEngine) -> Diagram:
    """Simulate the example of a component from reset, and draw it.

    The consumer stalls for one cycle, when the second output is offered.
    """
    engine = make_engine(design)
    stalled = int(np.flatnonzero(_run(engine, ())["o.valid"])[:2][-1])
    trace = _run(engine, (*([False] * stalled), True))
    component = engine.component
    cycles = "".join(f"{cycle:>{CELL}}" for cycle in range(len(trace)))
    rows, legend = [f"{'cycle':<{NAME}}{cycles}"], []
    for side, bus, letters, show in (
        ("i", "s_axis", ascii_lowercase, component.show_item),
        ("o", "m_axis", ascii_uppercase, component.show_result),
    ):
        labels, meanings = _labels(trace, side, letters, show)
        valid = trace[f"{side}.valid"]
        rows += [
            _wave(f"{bus}_tvalid", valid.tolist()),
            _wave(f"{bus}_tready", trace[f"{side}.ready"].tolist()),
            _row(f"{bus}_tdata", labels),
            _row(f"{bus}_tlast", _where(valid, map(str, trace[f"{side}.last"].tolist()))),
        ]
        legend += filled([f"{meaning};" for meaning in meanings], LINE)
    return Diagram(rows, [line.removesuffix(";") for line in legend], stalled)


def _run(engine: Engine, stalls: tuple[bool, ...]) -> Trace:
    """The cycles until the last output of the example is taken."""
    component, design = engine.component, engine.design
    pieces = list(component.from_bytes(iter([component.example(design)]), design))
    trace = Trace.join(list(engine.run(Stimulus(pieces, output_stalls=FixedStalls(stalls)))))
    return trace[: np.flatnonzero(trace.is_taken)[-1] + 1]


def _labels(
    trace: Trace, side: str, letters: str, show: Callable[[Fields], str]
) -> tuple[Iterator[str], list[str]]:
    """The label of each cycle, and the meanings of the labels.

    A label is a byte in hexadecimal, or a letter for each transfer, in order.
    """
    is_taken = trace[f"{side}.valid"] & trace[f"{side}.ready"]
    numbers = (np.cumsum(is_taken) - is_taken).tolist()
    payloads = list(trace.offered(side))
    pin = (trace.interface.inputs if side == "i" else trace.interface.outputs)[0]
    is_lane = f"{side}.keep" in trace.columns
    if pin.width <= 8 and not is_lane and not any(map(has_error, payloads)):
        values = trace[pin.name].tolist()
        return _where(trace[f"{side}.valid"], (f"{value:02X}" for value in values)), []
    shown = {n: show(row) for n, row in zip(numbers, payloads, strict=True) if row}
    names = (letters[number % len(letters)] for number in numbers)
    meanings = [f"{letters[number]} {_shortened(each)}" for number, each in shown.items()]
    return _where(trace[f"{side}.valid"], names), meanings


def _shortened(text: str) -> str:
    """A text without words in its middle, if it is longer than a line."""
    half = LINE // 2 - 4
    if len(text) <= 2 * half:
        return text
    return f"{text[:half].rpartition(' ')[0]} … {text[-half:].partition(' ')[2]}"


def _where(valid: Iterable[int], labels: Iterable[str]) -> Iterator[str]:
    for is_valid, label in zip(valid, labels, strict=True):
        yield label if is_valid else UNDEFINED


def _row(name: str, labels: Iterable[str]) -> str:
    return f"{name:<{NAME}}" + "".join(f"{label:>{CELL}}" for label in labels)


def _wave(name: str, levels: list[int]) -> str:
    """The levels of a port as a line with edges."""
    wave = ""
    for cycle, level in zip(count(), levels):
        line = "_~"[level]
        is_edge = cycle and level != levels[cycle - 1]
        wave += (r"\/"[level] if is_edge else line) + line * (CELL - 1)
    return f"{name:<{NAME}}{wave}"
