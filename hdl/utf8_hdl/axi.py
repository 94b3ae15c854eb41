"""The components with flat AXI4-Stream ports, as Verilog users expect to plug them in."""

from typing import Any

from amaranth.hdl import Cat, ClockDomain, Elaboratable, Module, Signal

from .decoder import Decoder
from .encoder import Encoder


class AxiStream(Elaboratable):
    """A decoder or an encoder with flat ports, in the order of the Verilog module.

    The clock domain is part of it. Its reset is synchronous in both namings: it acts at rising
    edges of the clock. During reset ``s_axis_tready`` may be high, and nothing is taken;
    AXI4-Stream has ``tvalid`` low then.

    Parameters
    ----------
    component : Decoder or Encoder
        What is inside.
    active_low_reset : bool
        Whether clock and reset are ``aclk`` and ``aresetn``, active low, the names of AXI, instead
        of ``clk`` and ``rst``, active high.

    Attributes
    ----------
    component : Decoder or Encoder
        As given.
    name : str
        ``decoder`` or ``encoder``.
    ports : list of Signal
        All ports, in order.
    parts : dict of str to Value
        The pins of the component that the ports of its streams carry, by their names.

    Members
    -------
    clk, rst : Signal, in
        Clock and reset; or ``aclk`` and ``aresetn``.
    s_axis_tdata : Signal, in
        A byte (8 bits), or for an encoder a code point as in UTF-32 (32 bits; 64 where the profile
        needs them). With ``s_axis_tvalid`` and ``s_axis_tlast`` in and ``s_axis_tready`` out.
    m_axis_tdata : Signal, out
        A code point, zero-extended as in UTF-32, or for an encoder a byte. With ``m_axis_tvalid``
        and ``m_axis_tlast`` out and ``m_axis_tready`` in.
    m_axis_tuser : Signal, out
        Of a decoder (8 bits) bit 0 ``error``, bits 3:1 ``kind``, bits 7:4 ``length``; of an
        encoder (1 bit) ``error``.
    """

    def __init__(self, component: Decoder | Encoder, active_low_reset: bool = False) -> None:
        self.component = component
        token = component.o.p
        if "code_point" in component.i.p.shape().members:
            self.name = "encoder"
            self._input = component.i.p.code_point
            self._output, output_width = token.data, 8
            self._user, user_width = token.error, 1
        else:
            self.name = "decoder"
            self._input = component.i.p.data
            self._output, output_width = token.code_point, component.profile.utf32_width
            self._user, user_width = Cat(token.error, token.kind, token.length), 8

        self._domain: Any = ClockDomain("sync")
        self._reset: Any = self._domain.rst
        self._active_low_reset = active_low_reset
        if active_low_reset:
            self._domain.clk = Signal(name="aclk")
            self._reset = Signal(name="aresetn")
        self.s_axis_tdata = Signal(len(self._input))
        self.s_axis_tvalid = Signal()
        self.s_axis_tready = Signal()
        self.s_axis_tlast = Signal()
        self.m_axis_tdata = Signal(output_width)
        self.m_axis_tvalid = Signal()
        self.m_axis_tready = Signal()
        self.m_axis_tlast = Signal()
        self.m_axis_tuser = Signal(user_width)
        self.ports: list[Any] = [
            self._domain.clk,
            self._reset,
            self.s_axis_tdata,
            self.s_axis_tvalid,
            self.s_axis_tready,
            self.s_axis_tlast,
            self.m_axis_tdata,
            self.m_axis_tvalid,
            self.m_axis_tready,
            self.m_axis_tlast,
            self.m_axis_tuser,
        ]

        self.parts: dict[str, Any] = {
            "s_axis_tdata": self._input,
            "s_axis_tvalid": component.i.valid,
            "s_axis_tready": component.i.ready,
            "s_axis_tlast": component.i.p.last,
            "m_axis_tdata": self._output,
            "m_axis_tvalid": component.o.valid,
            "m_axis_tready": component.o.ready,
            "m_axis_tlast": token.last,
            "m_axis_tuser": self._user,
        }

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.sync = self._domain
        if self._active_low_reset:
            m.d.comb += self._domain.rst.eq(~self._reset)
        m.submodules[self.name] = self.component
        for name, part in self.parts.items():
            port = getattr(self, name)
            m.d.comb += part.eq(port) if is_input(name) else port.eq(part)
        return m


def is_input(port: str) -> bool:
    """Whether a port of a stream goes into the component, by its name."""
    return port.startswith("s_axis") != port.endswith("tready")
