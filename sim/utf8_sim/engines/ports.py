"""The mapping of a component's pins to the ports of a module."""

from typing import Any, NamedTuple

from utf8_hdl.axi import AxiStream, Part

from ..trace import Interface, Pin


class Place(NamedTuple):
    """The bits of a port to which a part of a pin is mapped; ``number`` is the part's number."""

    pin: Pin
    number: int
    port: str
    lowest: int
    width: int


def stream_places(interface: Interface) -> list[Place]:
    """The ports of a bare component: the ports of its streams, with Amaranth's names.

    A register of the interface is a port with the register's name.
    """
    payload = dict.fromkeys(interface.inputs, "i__payload")
    payload |= dict.fromkeys(interface.outputs, "o__payload")
    payload |= {pin: pin.name for pin in interface.registers}
    return [
        Place(pin, number, payload.get(pin, pin.name.replace(".", "__")), *part)
        for pin in interface.pins
        for number, part in enumerate(pin.parts)
    ]


def axi_places(design: Any, interface: Interface) -> list[Place]:
    """The ports of a module with AXI4-Stream ports, for a design.

    A port may be wider than the pins mapped to it; the highest part includes the excess bits.
    """
    state = range(interface.state_width)
    parts = [*AxiStream(design).parts, Part("state", 0, len(state), "state", state)]
    payloads = {pin: pin.name[0] for pin in (*interface.inputs, *interface.outputs)}
    places = []
    for pin in interface.pins:
        source = payloads.get(pin, pin.name)
        own = [part for part in parts if part.source == source]
        for number, (lowest, width) in enumerate(pin.parts):
            found = next(part for part in own if lowest in part.bits)
            more = found.width - len(found.bits) if lowest + width == found.bits.stop else 0
            begin = found.lowest + lowest - found.bits.start
            places.append(Place(pin, number, found.port, begin, width + more))
    return places
