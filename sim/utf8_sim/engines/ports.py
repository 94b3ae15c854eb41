"""Where the pins of a component are in the ports of a module."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from utf8_hdl import AxiStream

from ..trace import Interface, Pin


class Place(NamedTuple):
    """Where a part of a pin is: bits of a port."""

    port: str
    lowest: int
    width: int


Places = dict[str, tuple[Place, ...]]
"""For each pin the places of its parts."""


def stream_places(interface: Interface) -> Places:
    """The ports of a bare component: those of its streams, as Amaranth names them."""

    def places(pin: Pin) -> Iterator[Place]:
        side, _, name = pin.name.rpartition(".")
        is_field = pin in interface.inputs or pin in interface.outputs
        port = f"{side}__{'payload' if is_field else name}" if side else name
        for lowest, width in pin.parts:
            yield Place(port, lowest, width)

    return {pin.name: tuple(places(pin)) for pin in interface.pins}


class _Carried(NamedTuple):
    """Bits of a payload that a port carries, and how much wider than these the port is."""

    bits: range
    port: str
    lowest: int
    excess: int

    def place(self, lowest: int, width: int) -> Place:
        """Where a part of the payload is. The excess belongs to the highest bit."""
        more = self.excess if lowest + width == self.bits.stop else 0
        return Place(self.port, self.lowest + lowest - self.bits.start, width + more)


def axi_places(design: Any, interface: Interface) -> Places:
    """The ports of a module with AXI4-Stream ports, for a design.

    A port may be wider than what it carries: the excess belongs to the highest field.
    """
    axi = AxiStream(design)
    widths = {port.name: len(port) for port in axi.ports}
    places: Places = {"state": (Place("state", 0, interface.state_width),)}
    carried: dict[str, list[_Carried]] = {"i": [], "o": []}
    for port, names in axi.fields.items():
        end = 0
        for name in names:
            side, _, field = name.partition(".")
            if field in ("valid", "ready"):
                places[name] = (Place(port, 0, 1),)
            else:
                where = getattr(design, side).p.shape()[field]
                begin, width = where.offset, where.width
                excess = widths[port] - end - width if name == names[-1] else 0
                bits = range(begin, begin + width)
                carried[side].append(_Carried(bits, port, end, excess))
                end += width
    for pin in (*interface.inputs, *interface.outputs):
        places[pin.name] = tuple(
            next(there.place(*part) for there in carried[pin.name[0]] if part[0] in there.bits)
            for part in pin.parts
        )
    return places
