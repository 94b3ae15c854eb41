"""The components with flat AXI4-Stream ports, as Verilog users expect to plug them in."""

from typing import Any

from amaranth.hdl import Cat, ClockDomain, Elaboratable, Module, Signal

from .decoder import Decoder
from .profile import UNICODE, Profile


class AxiStreamDecoder(Elaboratable):
    """:class:`Decoder` as the Verilog module ``utf8_decoder``.

    The clock domain is part of it: ``clk``, and ``rst``, synchronous and active high. During reset
    ``s_axis_tready`` is high, and bytes are not taken; AXI4-Stream has ``tvalid`` low then.

    Parameters
    ----------
    profile : Profile
        Which UTF-8 is spoken.

    Attributes
    ----------
    decoder : Decoder
        The component inside.
    ports : list of Signal
        All ports, in the order of the Verilog module.

    Members
    -------
    s_axis_tdata : Signal(8), in
        A byte; with ``s_axis_tvalid`` and ``s_axis_tlast`` in and ``s_axis_tready`` out.
    m_axis_tdata : Signal(32), out
        The code point, zero-extended, as in UTF-32; 64 bits wide where the profile needs it. With
        ``m_axis_tvalid`` and ``m_axis_tlast`` out and ``m_axis_tready`` in.
    m_axis_tuser : Signal(8), out
        Bit 0 ``error``, bits 3:1 ``kind``, bits 7:4 ``length``.
    """

    def __init__(self, profile: Profile = UNICODE) -> None:
        self.decoder = Decoder(profile)
        self._domain = ClockDomain("sync")
        self.s_axis_tdata = Signal(8)
        self.s_axis_tvalid = Signal()
        self.s_axis_tready = Signal()
        self.s_axis_tlast = Signal()
        self.m_axis_tdata = Signal(32 if profile.code_point_width <= 32 else 64)
        self.m_axis_tvalid = Signal()
        self.m_axis_tready = Signal()
        self.m_axis_tlast = Signal()
        self.m_axis_tuser = Signal(8)
        self.ports: list[Any] = [
            self._domain.clk,
            self._domain.rst,
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

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.sync = self._domain
        m.submodules.decoder = decoder = self.decoder
        token = decoder.o.p
        m.d.comb += [
            decoder.i.p.data.eq(self.s_axis_tdata),
            decoder.i.valid.eq(self.s_axis_tvalid),
            self.s_axis_tready.eq(decoder.i.ready),
            decoder.i.p.last.eq(self.s_axis_tlast),
            self.m_axis_tdata.eq(token.code_point),
            self.m_axis_tvalid.eq(decoder.o.valid),
            decoder.o.ready.eq(self.m_axis_tready),
            self.m_axis_tlast.eq(token.last),
            self.m_axis_tuser.eq(Cat(token.error, token.kind, token.length)),
        ]
        return m
