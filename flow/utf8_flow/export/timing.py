"""Timing diagrams in plain text: the streams of a module in each cycle of a short simulation."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from string import ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple

import numpy as np

from utf8_hdl import AxiStream
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.engine import Engine
from utf8_sim.stimulus import FixedStalls, Stimulus
from utf8_sim.trace import Fields, Trace

from .text import LINE, filled

NAME, CELL = 14, 3
"""Characters of a row's name, and of a cycle."""

BUSES = {"i": "s_axis", "o": "m_axis"}
"""The buses of the streams."""

HANDSHAKE, PAYLOAD = ("valid", "ready"), ("tdata", "tkeep", "tlast", "tuser")
"""The signals of a handshake, and the ports of a payload."""

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
    axi, component = AxiStream(design), engine.component
    cycles = "".join(f"{cycle:>{CELL}}" for cycle in range(len(trace)))
    rows, legend = [f"{'cycle':<{NAME}}{cycles}"], []
    for side, letters, show in (
        ("i", ascii_lowercase, component.show_item),
        ("o", ascii_uppercase, component.show_result),
    ):
        drawn, meanings = _stream(axi, trace, side, letters, show)
        rows += drawn
        legend += filled([f"{meaning};" for meaning in meanings], LINE)
    return Diagram(rows, [line.removesuffix(";") for line in legend], stalled)


def _stream(
    axi: AxiStream, trace: Trace, side: str, letters: str, show: Callable[[Fields], str]
) -> tuple[list[str], list[str]]:
    """The rows of a stream's ports, and the meanings of the letters in them.

    A number is in hexadecimal. One that is too long has a letter in its place, that of the
    transfer: they are in order.
    """
    bus, valid = BUSES[side], trace[f"{side}.valid"].tolist()
    ends = trace.is_accepted if side == "i" else trace.is_taken
    transfers = (np.cumsum(ends) - ends).tolist()
    names = [letters[number % len(letters)] for number in transfers]
    ports = [port.name for port in axi.ports if port.name in {f"{bus}_{role}" for role in PAYLOAD}]
    labels = {port: _numbers(axi, port, trace, side) for port in ports}
    rows = [_wave(f"{bus}_t{signal}", trace[f"{side}.{signal}"].tolist()) for signal in HANDSHAKE]
    rows += [_row(port, _where(valid, labels[port] or names)) for port in ports]
    if all(labels.values()):
        return rows, []
    offers = zip(transfers, trace.offered(side), strict=True)
    shown = {number: show(payload) for number, payload in offers if payload}
    return rows, [f"{letters[n % len(letters)]} {_shortened(shown[n])}" for n in shown]


def _numbers(axi: AxiStream, port: str, trace: Trace, side: str) -> list[str]:
    """The number at a port of the payload in each cycle; none if it is too long for a cell."""
    pins = trace.interface.inputs if side == "i" else trace.interface.outputs
    parts = [part for part in axi.parts if part.port == port]
    digits = -(-len(getattr(axi, port)) // 4)
    if digits >= CELL or not parts:  # a port without parts depends on several fields
        return []
    numbers = []
    for levels in zip(*(trace[pin.name].tolist() for pin in pins), strict=True):
        payload = sum(pin.integer(level) for pin, level in zip(pins, levels, strict=True))
        fields = (_bits(payload, part.bits) << part.lowest for part in parts)
        numbers.append(f"{sum(fields):0{digits}X}")
    return numbers


def _bits(number: int, bits: range) -> int:
    return number >> bits.start & (1 << len(bits)) - 1


def _run(engine: Engine, stalls: tuple[bool, ...]) -> Trace:
    """The cycles until the last output of the example is taken."""
    component, design = engine.component, engine.design
    pieces = list(component.from_bytes(iter([component.example(design)]), design))
    trace = Trace.join(list(engine.run(Stimulus(pieces, output_stalls=FixedStalls(stalls)))))
    return trace[: np.flatnonzero(trace.is_taken)[-1] + 1]


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
