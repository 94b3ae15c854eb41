"""AXI4-Stream ports of components, derived from their payloads."""

from typing import Any

import pytest
from amaranth.hdl import ClockDomain, DomainRenamer, Module, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from utf8_hdl import (
    EXTENDED,
    UNICODE,
    CompactDecoder,
    Compactor,
    Decoder,
    Encoder,
    Transcoder,
    WideDecoder,
)
from utf8_hdl.axi import AxiStream
from utf8_hdl.parallel.validator import Validator


class Toy(wiring.Component):
    """A component that connects its input to its output."""

    def __init__(self, shape: Any = 8) -> None:
        signature = stream.Signature(shape)
        super().__init__({"i": In(signature), "o": Out(signature)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += [self.o.valid.eq(self.i.valid), self.i.ready.eq(self.o.ready)]
        m.d.comb += self.o.p.eq(self.i.p)
        return m


def ports(component: Any) -> list[tuple[str, int]]:
    """Names and widths of the ports, without clock and reset."""
    return [(port.name, len(port)) for port in AxiStream(component).ports]


def named(prefix: str, *widths: tuple[str, int]) -> list[tuple[str, int]]:
    return [(f"{prefix}_axis_{name}", width) for name, width in widths]


HANDSHAKE = ("tvalid", 1), ("tready", 1)
LAST = ("tlast", 1)


@pytest.mark.parametrize(("profile", "width"), [(UNICODE, 32), (EXTENDED, 64)])
def test_ports_of_components(profile, width):
    byte, code_point = ("tdata", 8), ("tdata", width)
    assert ports(Decoder(profile)) == [
        *named("s", byte, *HANDSHAKE, LAST), *named("m", code_point, *HANDSHAKE, LAST, ("tuser", 8))
    ]  # fmt: skip
    assert ports(Encoder(profile)) == [
        *named("s", code_point, *HANDSHAKE, LAST), *named("m", byte, *HANDSHAKE, LAST, ("tuser", 1))
    ]  # fmt: skip
    beat = [("tdata", 32), ("tkeep", 4), *HANDSHAKE, LAST]
    slots = ("tdata", 5 * width), ("tkeep", 5 * width // 8), *HANDSHAKE, LAST, ("tuser", 5 * 8)
    assert ports(WideDecoder(profile, lanes=4)) == [*named("s", *beat), *named("m", *slots)]
    verdict = *beat, ("tuser", 10)
    validator = Validator(profile, lanes=4, offset_width=6)
    assert ports(validator) == [*named("s", *beat), *named("m", *verdict)]
    values = ("tdata", 4 * 12), ("tkeep", 4), *HANDSHAKE, LAST, ("tuser", 3)
    compactor = Compactor(lanes=4, shape=12, user=3)
    assert ports(compactor) == [*named("s", *values), *named("m", *values)]


@pytest.mark.parametrize(("errors", "user"), [(False, 1), (True, 4 + 32 + 32)])
def test_ports_of_transcoder(errors, user):
    utf8 = ("tdata", 32), ("tkeep", 4), *HANDSHAKE, LAST
    utf16 = ("tdata", 64), ("tkeep", 8), *HANDSHAKE, LAST, ("tuser", user)
    assert ports(Transcoder(lanes=4, errors=errors)) == [*named("s", *utf8), *named("m", *utf16)]


def test_missing_fields_have_no_port():
    plain = ("tdata", 8), *HANDSHAKE
    assert ports(Toy()) == [*named("s", *plain), *named("m", *plain)]


LANE = data.StructLayout({"unit": 3, "why": 2, "bad": 1})
LANES = data.StructLayout({"lanes": data.ArrayLayout(LANE, 2), "last": 1})


def test_lanes_are_mapped_to_ports():
    toy = Toy(LANES)  # with wider lanes and one more port at the output
    toy.axi_widths = {"m_axis_tdata": 8, "m_axis_tuser": 4}
    toy.axi_outputs = {"m_axis_tkeep": toy.o.p.lanes[1].unit}
    top: Any = AxiStream(toy)
    lanes = [{"unit": 5, "why": 2, "bad": 0}, {"unit": 6, "why": 1, "bad": 1}]
    inputs = {"tdata": 0b110_101, "tlast": 1, "tuser": 0b1_01_0_10, "tvalid": 1}
    outputs = {"tdata": 0x06_05, "tkeep": 6, "tlast": 1, "tuser": 0b101_0010, "tvalid": 1}
    simulator = Simulator(top)

    async def bench(ctx):
        for name, level in inputs.items():
            ctx.set(getattr(top, f"s_axis_{name}"), level)
        ctx.set(top.m_axis_tready, 1)
        assert ctx.get(toy.i.p) == LANES.const({"lanes": lanes, "last": 1})
        assert ctx.get(top.s_axis_tready) == 1
        assert {name: ctx.get(getattr(top, f"m_axis_{name}")) for name in outputs} == outputs

    simulator.add_testbench(bench)
    simulator.run()


async def decoded(ctx: Any, top: Any, text: bytes) -> list[int]:
    """The code points of a text, from a decoder with AXI4-Stream ports."""
    left, found = [*text], []
    ctx.set(top.m_axis_tready, 1)
    for _ in range(20):
        ctx.set(top.s_axis_tvalid, bool(left))
        ctx.set(top.s_axis_tdata, left[0] if left else 0)
        ctx.set(top.s_axis_tlast, len(left) == 1)
        _, _, ready, valid, data = await ctx.tick("fast").sample(
            top.s_axis_tready, top.m_axis_tvalid, top.m_axis_tdata
        )
        del left[:ready]
        found += [data] * valid
    return found


def test_submodule_in_clock_domain():
    m, restart, top = Module(), Signal(), AxiStream(CompactDecoder())
    m.domains.fast = ClockDomain("fast")
    m.d.fast += Signal().eq(1)
    m.submodules.axi = ResetInserter({"fast": restart})(DomainRenamer("fast")(top))
    simulator = Simulator(m)
    simulator.add_clock(1e-6, domain="fast")

    async def bench(ctx):
        assert await decoded(ctx, top, "a€".encode()) == [ord("a"), ord("€")]
        ctx.set(top.m_axis_tready, 0)  # the reset discards the stalled token
        ctx.set(top.s_axis_tvalid, 1)
        await ctx.tick("fast").repeat(3)
        assert ctx.get(top.m_axis_tvalid)
        ctx.set(restart, 1)
        await ctx.tick("fast")
        ctx.set(restart, 0)
        ctx.set(top.s_axis_tvalid, 0)
        assert await decoded(ctx, top, b"b") == [ord("b")]

    simulator.add_testbench(bench)
    simulator.run()
