"""The AXI4-Stream ports of the pins of a design, as in its Verilog module."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from amaranth.lib import data

from utf8_hdl.axi import AxiStream


def axi_ports(design: Any) -> dict[str, str]:
    """The port of each pin of the streams, such as ``m_axis_tuser[3:1]`` for ``o.kind``.

    The bits are left out if the port has no other pins, or if it has the pin in several lanes.

    Parameters
    ----------
    design : wiring.Component
        The design.
    """
    found: dict[str, dict[str, list[range]]] = defaultdict(lambda: defaultdict(list))
    for part in AxiStream(design).parts:
        side, _, handshake = part.source.partition(".")
        layout = getattr(design, side).p.shape()
        fields = [(handshake, part.bits)] if handshake else _fields(layout, 0)
        for name, bits in fields:
            if bits.start in part.bits:
                lowest = part.lowest + bits.start - part.bits.start
                width = part.width if bits == part.bits else len(bits)  # with its zero bits
                found[part.port][f"{side}.{name}"].append(range(lowest, lowest + width))
    return {
        pin: port if len(pins) == 1 or len(lanes) > 1 else f"{port}[{_index(*lanes)}]"
        for port, pins in found.items()
        for pin, lanes in pins.items()
    }


def _index(bits: range) -> str:
    return f"{bits[-1]}:{bits[0]}" if len(bits) > 1 else f"{bits[0]}"


def _fields(layout: Any, lowest: int) -> Iterator[tuple[str, range]]:
    """Names and bits of the fields of a payload, also of structures in it."""
    if not isinstance(layout, data.Layout):
        layout = data.StructLayout({"data": layout})
    for name, field in layout:
        shape, begin = field.shape, lowest + field.offset
        if isinstance(shape, data.ArrayLayout) and isinstance(shape.elem_shape, data.StructLayout):
            for _, element in shape:
                yield from _fields(element.shape, begin + element.offset)
        elif isinstance(shape, data.StructLayout):
            yield from _fields(shape, begin)
        else:
            yield name, range(begin, begin + field.width)
