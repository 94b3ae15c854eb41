"""Wraps a component in a module with flat AXI4-Stream ports."""

from collections import defaultdict
from collections.abc import Iterator
from reprlib import repr as shortened
from typing import Any, NamedTuple

from amaranth.hdl import Cat, ClockDomain, Const, Elaboratable, Module, Signal, Value
from amaranth.lib import data

PORTS = ("tdata", "tkeep", "tvalid", "tready", "tlast", "tuser")
"""The ports that a stream may have, in order."""

SIDEBAND = {"keep": "tkeep", "last": "tlast"}
"""Fields of a payload that have a port of their own."""


def module_name(component: Any) -> str:
    """The name of a component's Verilog module, such as ``utf8_decoder_8``.

    It has the component's name, ``compact`` before it and the number of lanes after it, so that
    several variants fit into one design.
    """
    name = getattr(component, "component_name", type(component).__name__.lower())
    words = [*(["compact"] if getattr(component, "compact", False) else []), name]
    lanes = getattr(component, "lanes", None)
    return "_".join(["utf8", *words, *([] if lanes is None else [str(lanes)])])


class Part(NamedTuple):
    """Bits of a port, and the pins of the component that they are connected to."""

    port: str
    lowest: int
    #: Width in the port; zero-filled above the pins.
    width: int
    #: A handshake pin such as ``i.valid``; or ``i`` or ``o``, with ``bits`` of its payload.
    source: str
    bits: range


class AxiStream(Elaboratable):
    """A component with flat ports, in the order of the Verilog module.

    The payloads of the streams ``i`` and ``o`` determine the ports. The first field of a payload is
    ``tdata``, the fields of :data:`.SIDEBAND` have a port each, and all other fields are ``tuser``,
    the first one lowest. A port that would have no fields is omitted. The elements of an array of
    structures are mapped in order, each by its own fields.

    A component may have two more attributes, dictionaries by port name. ``axi_widths`` has the
    width of a port, or of an element's part of it, if that is wider than its fields: it is
    zero-extended. ``axi_outputs`` has additional output ports and their values.

    It is an ordinary submodule: its registers are in the domain ``sync`` of the surrounding design,
    and ``DomainRenamer`` and ``ResetInserter`` apply as usual. Converted alone, it has two more
    ports, ``clk`` and ``rst``, added by Amaranth. ``s_axis_tready`` and ``m_axis_tvalid`` are low
    from the first clock edge with reset to the first clock edge without it.

    Parameters
    ----------
    component : wiring.Component
        The component.

    Raises
    ------
    TypeError
        If the component has no streams ``i`` and ``o``.

    Attributes
    ----------
    name : str
        Name of the Verilog module, ``module_name``, without ``utf8_``.
    ports : list of Signal
        All ports of the streams, in order.
    parts : list of Part
        The bits of the ports to which the pins of the streams are mapped.
    inputs, outputs : dict of str to Value
        Values of the input and output ports, by name, as concatenations of the component's pins.

    Members
    -------
    s_axis_tdata, s_axis_tkeep, s_axis_tvalid, s_axis_tready, s_axis_tlast, s_axis_tuser : Signal
        The input.
    m_axis_tdata, m_axis_tkeep, m_axis_tvalid, m_axis_tready, m_axis_tlast, m_axis_tuser : Signal
        The output. The header of the generated Verilog lists its fields.
    """

    m_axis_tdata: Signal
    m_axis_tuser: Signal

    _MustUse__silence = True  # No warning from Amaranth if only the attributes are used.

    def __init__(self, component: Any) -> None:
        if not (hasattr(component, "i") and hasattr(component, "o")):
            raise TypeError(
                f"component must be a design with the streams i and o, not {shortened(component)}"
            )
        self.component = component
        self.name = module_name(component).removeprefix("utf8_")
        widths = getattr(component, "axi_widths", {})
        self.parts = [
            part
            for side, bus in (("i", "s_axis"), ("o", "m_axis"))
            for part in _parts(side, bus, getattr(component, side).p.shape(), widths)
        ]
        pins: dict[str, list[Value]] = defaultdict(list)
        for part in self.parts:
            pin = self.pin(part)
            pins[part.port] += [pin, Const(0, part.width - len(pin))]
        values = {port: Cat(bits) for port, bits in pins.items()}
        values |= getattr(component, "axi_outputs", {})
        order = [f"{bus}_axis_{port}" for bus in "sm" for port in PORTS]
        streams = {port: Signal(len(values[port]), name=port) for port in order if port in values}
        vars(self).update(streams)
        self.ports: list[Any] = list(streams.values())
        outputs = {port for port in streams if port.startswith("m_axis")} ^ _READY
        self.inputs = {port: values[port] for port in streams if port not in outputs}
        self.outputs = {port: values[port] for port in streams if port in outputs}

    def pin(self, part: Part) -> Value:
        """The pins of the component that are connected to some bits of a port."""
        side, _, handshake = part.source.partition(".")
        stream = getattr(self.component, side)
        if handshake:
            return Value.cast(getattr(stream, handshake))
        return Value.cast(stream.p)[part.bits.start : part.bits.stop]

    def driven(self, ports: dict[str, Any]) -> list[Any]:
        """Statements that drive the component's pins from ports, given by name and value."""
        own = [part for part in self.parts if part.port in ports]
        return [self.pin(part).eq(ports[part.port][part.lowest :]) for part in own]

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules[self.name] = self.component
        m.d.comb += self.driven({name: getattr(self, name) for name in self.inputs})
        m.d.comb += [getattr(self, name).eq(values) for name, values in self.outputs.items()]
        return m


class AxiModule(AxiStream):
    """An :class:`AxiStream` as a top-level design: its ``ports`` begin with clock and reset.

    With either name the reset is synchronous: it acts at rising edges of the clock.

    Parameters
    ----------
    component : wiring.Component
        The component.
    active_low_reset : bool
        Name clock and reset ``aclk`` and ``aresetn`` (active low) as AXI does, instead of ``clk``
        and ``rst`` (active high).
    """

    def __init__(self, component: Any, active_low_reset: bool = False) -> None:
        super().__init__(component)
        self._domain: Any = ClockDomain("sync")
        self._reset: Any = self._domain.rst
        if active_low_reset:
            self._domain.clk = Signal(name="aclk")
            self._reset = Signal(name="aresetn")
        self.ports[:0] = [self._domain.clk, self._reset]

    def elaborate(self, platform: Any) -> Module:
        m = super().elaborate(platform)
        m.domains.sync = self._domain
        if self._reset is not self._domain.rst:
            m.d.comb += self._domain.rst.eq(~self._reset)
        return m


_READY = {"s_axis_tready", "m_axis_tready"}


def _parts(side: str, bus: str, layout: Any, widths: dict[str, int]) -> Iterator[Part]:
    """The bits of the ports to which the pins of a stream are mapped."""
    for signal in ("valid", "ready"):
        yield Part(f"{bus}_t{signal}", 0, 1, f"{side}.{signal}", range(1))
    if not isinstance(layout, data.StructLayout):
        layout = data.StructLayout({"data": layout})
    structures = list(_structures(layout, 0))
    first, _ = structures[0][0]
    ends: dict[str, int] = defaultdict(int)
    for structure in structures:
        ports = defaultdict(list)
        for name, bits in structure:
            port = SIDEBAND.get(name, "tdata" if name == first else "tuser")
            ports[f"{bus}_{port}"].append(bits)
        for port, fields in ports.items():
            end = ends[port] + widths.get(port, sum(map(len, fields)))
            for bits in fields:
                width = end - ends[port] if bits is fields[-1] else len(bits)
                yield Part(port, ends[port], width, side, bits)
                ends[port] += width


def _structures(layout: Any, lowest: int) -> Iterator[list[tuple[str, range]]]:
    """Names and bits of the fields: of each structure in an array, and of the payload itself."""
    fields = []
    for name, field in layout:
        begin = lowest + field.offset
        if isinstance(field.shape, data.ArrayLayout) and isinstance(
            field.shape.elem_shape, data.StructLayout
        ):
            for _, element in field.shape:
                yield from _structures(element.shape, begin + element.offset)
        else:
            fields.append((name, range(begin, begin + field.width)))
    yield fields
