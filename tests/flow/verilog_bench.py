"""cocotb test benches for the generated Verilog; `test_verilog.py` runs them in Icarus Verilog."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge

from utf8_hdl import PROFILES
from utf8_sim.campaign import campaign
from utf8_sim.engine import TestBench
from utf8_sim.model import CycleModel, Outputs, TextModel
from utf8_sim.stimulus import RandomStalls, Stimulus

PROFILE = PROFILES[os.environ["BENCH_PROFILE"]]
STALLS = float(os.environ["BENCH_STALLS"])


async def reset(dut) -> None:
    dut.rst.value = 1
    dut.s_axis_tvalid.value = 0
    dut.m_axis_tready.value = 0
    for _ in range(2):
        await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0


def outputs(dut) -> Outputs:
    """The output pins, in the form in which the golden model predicts them."""
    tuser = int(dut.m_axis_tuser.value)
    return Outputs(
        bool(dut.s_axis_tready.value),
        bool(dut.m_axis_tvalid.value),
        int(dut.m_axis_tdata.value),
        bool(tuser & 1),
        tuser >> 1 & 7,
        tuser >> 4,
        bool(dut.m_axis_tlast.value),
    )


async def drive(dut, i_valid: int, data: int, last: int, o_ready: int) -> Outputs:
    """One cycle, from falling edge to falling edge; the pins as they are before the rising one."""
    dut.s_axis_tvalid.value = i_valid
    dut.s_axis_tdata.value = data
    dut.s_axis_tlast.value = last
    dut.m_axis_tready.value = o_ready
    await ReadOnly()
    seen = outputs(dut)
    await FallingEdge(dut.clk)
    return seen


@cocotb.test()
async def campaign_in_lockstep(dut):
    """The stimuli of `utf8-hdl compare`, every output pin in every cycle."""
    Clock(dut.clk, 10, unit="ns").start()
    cycles = 0
    for part in campaign(PROFILE, seed=int(os.environ["BENCH_SEED"])):
        await reset(dut)
        stalls = RandomStalls(STALLS, 1), RandomStalls(STALLS, 2)
        bench, model = TestBench(Stimulus(part.pieces(), *stalls)), CycleModel(PROFILE)
        while not bench.over:
            driven = bench.drive()
            expected = model.cycle(*driven)
            actual = await drive(dut, *driven)
            assert actual == expected, f"{part.name}, cycle {cycles}"
            bench.observe(actual.i_ready, actual.o_valid)
            cycles += 1
        assert bench.hang is None
    dut._log.info("%d cycles", cycles)


@cocotb.test()
async def reset_forgets_everything(dut):
    """Reset in the middle of a sequence, with both places taken, gives a fresh decoder."""
    Clock(dut.clk, 10, unit="ns").start()
    await reset(dut)
    for byte in b"\xe2\x82A\xf0":
        await drive(dut, 1, byte, 0, 0)
    await reset(dut)
    model = CycleModel(PROFILE)
    for byte in b"\x82\xacB":
        assert await drive(dut, 1, byte, 0, 1) == model.cycle(True, byte, False, True)
    assert await drive(dut, 0, 0, 0, 1) == model.cycle(False, 0, False, True)


@cocotb.test()
async def registers_recover_from_any_contents(dut):
    """Promise 5: all registers are overwritten; after `longest_form - 1` bytes all is right."""
    rng = random.Random(int(os.environ["BENCH_SEED"]))
    registers = [getattr(dut, name) for name in os.environ["BENCH_REGISTERS"].split(",")]
    Clock(dut.clk, 10, unit="ns").start()
    await reset(dut)
    for _ in range(200):
        for register in registers:
            register.value = rng.getrandbits(len(register))
        noise = [rng.choice(b"\x80\x8f\x90\xa0\xbf\xc2\xe0\xed\xf0\xf4\xff") for _ in range(7)]
        text = [
            *noise[: PROFILE.longest_form - 1],
            *b"A\xe2\x82\xac\xf0\x9f\x98\x80\xc2Z\xed\xa0\xc2",
        ]
        model, expected = TextModel(PROFILE), []
        for index, byte in enumerate(text):
            tokens = model.feed(byte, index == len(text) - 1)
            if index >= PROFILE.longest_form - 1:
                expected += tokens
        seen = []
        for index in range(len(text) + 3):
            valid = index < len(text)
            byte = text[index] if valid else 0
            pins = await drive(dut, valid, byte, index == len(text) - 1, 1)
            if pins.o_valid:
                seen.append((pins.code_point, pins.kind, pins.length, pins.last))
        wanted = [(t.code_point, t.kind.value, t.length, t.last) for t in expected]
        assert seen[-len(wanted) :] == wanted
