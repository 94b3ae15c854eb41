"""Where the pins of a component are in the ports of a module."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..trace import Interface, Pin


class Place(NamedTuple):
    """Where a part of a pin is: bits of a port."""

    port: str
    lowest: int
    width: int


Places = dict[str, tuple[Place, ...]]
"""For each pin the places of its parts."""

STREAMS = {"i": "s_axis", "o": "m_axis"}


def stream_places(interface: Interface) -> Places:
    """The ports of a bare component: those of its streams, as Amaranth names them."""

    def places(pin: Pin) -> Iterator[Place]:
        side, _, name = pin.name.rpartition(".")
        is_field = pin in interface.inputs or pin in interface.outputs
        port = f"{side}__{'payload' if is_field else name}" if side else name
        for lowest, width in pin.parts:
            yield Place(port, lowest, width)

    return {pin.name: tuple(places(pin)) for pin in interface.pins}


def axi_places(interface: Interface, verilog: str) -> Places:
    """The ports of a module with AXI4-Stream ports.

    ``tdata`` is the first field, ``tlast`` the field ``last``, and ``tuser`` holds the others, from
    bit 0 on. A port may be wider than what it carries: the excess belongs to the highest field.
    """
    widths = port_widths(verilog)
    places: Places = {}
    for pin in interface.pins:
        side, _, name = pin.name.rpartition(".")
        port = f"{STREAMS[side]}_t{name}" if side else name
        places[pin.name] = (Place(port, 0, pin.width),)
    for stream, pins in zip(STREAMS.values(), (interface.inputs, interface.outputs), strict=True):
        first, *others = pins
        for port, fields in (
            (f"{stream}_tdata", [first]),
            (f"{stream}_tuser", [pin for pin in others if not pin.name.endswith(".last")]),
        ):
            lowest = 0
            for number, pin in enumerate(fields):
                parts = []
                for _, width in pin.parts:
                    parts.append(Place(port, lowest, width))
                    lowest += width
                if number == len(fields) - 1:
                    last = parts[-1]
                    parts[-1] = last._replace(width=widths[port] - last.lowest)
                places[pin.name] = tuple(parts)
    return places


def port_widths(verilog: str) -> dict[str, int]:
    """The ports of the only module in a Verilog text, in order."""
    found = re.findall(r"^\s*(?:in|out)put\s+(?:wire\s+)?(?:\[(\d+):0\]\s*)?(\w+)", verilog, re.M)
    return {name: int(high or 0) + 1 for high, name in found}
