"""Where the pins of a component are in the ports of a module."""

from typing import Any, NamedTuple

from utf8_hdl import AxiStream

from ..trace import Interface, Pin


class Place(NamedTuple):
    """Where a part of a pin is, by its number: bits of a port."""

    pin: Pin
    number: int
    port: str
    lowest: int
    width: int


def stream_places(interface: Interface) -> list[Place]:
    """The ports of a bare component: those of its streams, as Amaranth names them."""
    payload = dict.fromkeys(interface.inputs, "i__payload")
    payload |= dict.fromkeys(interface.outputs, "o__payload")
    return [
        Place(pin, number, payload.get(pin, pin.name.replace(".", "__")), *part)
        for pin in interface.pins
        for number, part in enumerate(pin.parts)
    ]


class _Carried(NamedTuple):
    """Bits of a payload that a port carries, and how much wider than these the port is."""

    bits: range
    port: str
    lowest: int
    excess: int


def axi_places(design: Any, interface: Interface) -> list[Place]:
    """The ports of a module with AXI4-Stream ports, for a design.

    A port may be wider than what it carries: the excess belongs to the highest bit.
    """
    axi = AxiStream(design)
    widths = {port.name: len(port) for port in axi.ports}
    payload = {pin: pin.name[0] for pin in (*interface.inputs, *interface.outputs)}
    carried = {"state": [_Carried(range(interface.state_width), "state", 0, 0)], "i": [], "o": []}
    for port, names in axi.fields.items():
        end = 0
        for name in names:
            side, _, field = name.partition(".")
            if field in ("valid", "ready"):
                carried[name] = [_Carried(range(1), port, 0, 0)]
                continue
            where = getattr(design, side).p.shape()[field]
            bits = range(where.offset, where.offset + where.width)
            excess = widths[port] - end - where.width if name == names[-1] else 0
            carried[side].append(_Carried(bits, port, end, excess))
            end += where.width

    places = []
    for pin in interface.pins:
        for number, (lowest, width) in enumerate(pin.parts):
            there = next(c for c in carried[payload.get(pin, pin.name)] if lowest in c.bits)
            more = there.excess if lowest + width == there.bits.stop else 0
            begin = there.lowest + lowest - there.bits.start
            places.append(Place(pin, number, there.port, begin, width + more))
    return places
