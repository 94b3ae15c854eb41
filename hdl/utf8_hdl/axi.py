"""Any component with flat AXI4-Stream ports, as Verilog users expect to plug it in."""

from typing import Any

from amaranth.hdl import Cat, ClockDomain, Elaboratable, Module, Signal, Value
from amaranth.lib import data

SIDEBAND = {"last": "tlast"}
"""Fields of a payload that have a port of their own, in the order of the ports."""


class AxiStream(Elaboratable):
    """A component with flat ports, in the order of the Verilog module.

    Its streams ``i`` and ``o`` say what the ports are. The first field of a payload is ``tdata``,
    the fields of :data:`SIDEBAND` have a port each, and all others are ``tuser``, the first one
    lowest. There is no port where there is no field. A component that wants a port wider than
    that, with zeros above, says so in an attribute ``axi_widths``: a dictionary of widths by port.

    The clock domain is part of it. Its reset is synchronous in both namings: it acts at rising
    edges of the clock. During reset ``s_axis_tready`` may be high, and nothing is taken;
    AXI4-Stream has ``tvalid`` low then.

    Parameters
    ----------
    component : wiring.Component
        What is inside.
    active_low_reset : bool
        Whether clock and reset are ``aclk`` and ``aresetn``, active low, the names of AXI, instead
        of ``clk`` and ``rst``, active high.

    Attributes
    ----------
    name : str
        The name of the component's class in lower case.
    ports : list of Signal
        All ports, in order.
    fields : dict of str to list of str
        What each port of the streams carries, the lowest first: ``i.valid``, ``o.error``, say.
    inputs, outputs : dict of str to Value
        The pins of the component that go with each port of its streams, by the ports' names.

    Members
    -------
    clk, rst : Signal, in
        Clock and reset; or ``aclk`` and ``aresetn``.
    s_axis_tdata, s_axis_tvalid, s_axis_tready, s_axis_tlast, s_axis_tuser : Signal
        The input.
    m_axis_tdata, m_axis_tvalid, m_axis_tready, m_axis_tlast, m_axis_tuser : Signal
        The output. The header of the generated Verilog says what is in it.
    """

    m_axis_tdata: Signal
    m_axis_tuser: Signal

    _MustUse__silence = True  # Amaranth need not warn of one that is only asked for its ports.

    def __init__(self, component: Any, active_low_reset: bool = False) -> None:
        self.component = component
        self.name = type(component).__name__.lower()
        self._domain: Any = ClockDomain("sync")
        self._reset: Any = self._domain.rst
        self._active_low_reset = active_low_reset
        if active_low_reset:
            self._domain.clk = Signal(name="aclk")
            self._reset = Signal(name="aresetn")
        self.fields: dict[str, list[str]] = {}
        parts = {}
        for bus, side in (("s_axis", "i"), ("m_axis", "o")):
            for port, fields in _parts(getattr(component, side)).items():
                self.fields[f"{bus}_{port}"] = [f"{side}.{name}" for name in fields]
                parts[f"{bus}_{port}"] = Cat(fields.values())
        widths = getattr(component, "axi_widths", {})
        streams = {
            name: Signal(widths.get(name, len(part)), name=name) for name, part in parts.items()
        }
        vars(self).update(streams)
        self.ports: list[Any] = [self._domain.clk, self._reset, *streams.values()]
        driven = {name for name in parts if name.startswith("m_axis")} ^ _READY
        self.inputs = {name: part for name, part in parts.items() if name not in driven}
        self.outputs = {name: part for name, part in parts.items() if name in driven}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.sync = self._domain
        if self._active_low_reset:
            m.d.comb += self._domain.rst.eq(~self._reset)
        m.submodules[self.name] = self.component
        m.d.comb += [part.eq(getattr(self, name)) for name, part in self.inputs.items()]
        m.d.comb += [getattr(self, name).eq(part) for name, part in self.outputs.items()]
        return m


_READY = {"s_axis_tready", "m_axis_tready"}


def _parts(stream: Any) -> dict[str, dict[str, Value]]:
    """What each port of a stream carries, in order: fields by name, the lowest first."""
    fields = {"": stream.p}
    if isinstance(stream.p.shape(), data.StructLayout):
        fields = {name: stream.p[name] for name in stream.p.shape().members}
    values = {name: Value.cast(field) for name, field in fields.items()}
    first = next(iter(values))
    parts = {"tdata": {first: values.pop(first)}}
    parts |= {"tvalid": {"valid": stream.valid}, "tready": {"ready": stream.ready}}
    for field, port in SIDEBAND.items():
        if field in values:
            parts[port] = {field: values.pop(field)}
    return parts | ({"tuser": values} if values else {})
