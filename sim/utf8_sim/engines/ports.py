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


def axi_places(design: Any, interface: Interface) -> Places:
    """The ports of a module with AXI4-Stream ports, for a design.

    A port may be wider than what it carries: the excess belongs to the highest field.
    """
    axi = AxiStream(design)
    widths = {port.name: len(port) for port in axi.ports}
    places: Places = {"state": (Place("state", 0, interface.state_width),)}
    for port, fields in axi.fields.items():
        lowest = 0
        for field in fields:
            parts = []
            for _, width in interface.pin(field).parts:
                parts.append(Place(port, lowest, width))
                lowest += width
            places[field] = tuple(parts)
        *others, highest = parts
        places[field] = (*others, highest._replace(width=widths[port] - highest.lowest))
    return places
