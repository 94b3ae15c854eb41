"""cocotb test benches for the generated Verilog; `test_verilog.py` runs them in Icarus Verilog."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge

from utf8_flow.cli.choices import Rules
from utf8_flow.components import make_design
from utf8_sim.campaign import campaign
from utf8_sim.components import COMPONENTS
from utf8_sim.engines.engine import AmaranthEngine, TestBench, interface_of
from utf8_sim.golden.text import TextModel
from utf8_sim.golden.timing import CycleModel
from utf8_sim.stimulus import RandomStalls, Stimulus

PROFILE = Rules(*(word or None for word in os.environ["BENCH_RULES"].split(","))).chosen()
IS_DECODER = os.environ["BENCH_COMPONENT"] == "decoder"
STALLS = float(os.environ["BENCH_STALLS"])
SEED = int(os.environ["BENCH_SEED"])
PARTS = os.environ["BENCH_PARTS"].split(",")
"""Of the campaign; one empty name, for all."""

LATENCY = 8
"""In so many cycles a token is at the output at the latest, if none waits."""

COMPONENT = COMPONENTS[os.environ["BENCH_COMPONENT"]]
DESIGN = make_design(COMPONENT.name, PROFILE, bool(os.environ["BENCH_COMPACT"]))


def golden_cycles() -> CycleModel:
    """The golden model at its first cycle after reset."""
    fields = len(interface_of(DESIGN).outputs)
    return CycleModel(COMPONENT.transducer(DESIGN), COMPONENT.timing(DESIGN).cycles(), fields)


async def reset(dut) -> None:
    dut.rst.value = 1
    dut.s_axis_tvalid.value = 0
    dut.m_axis_tready.value = 0
    for _ in range(2):
        await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0


def outputs(dut) -> tuple[int, ...]:
    """The output pins, in the form in which the golden model predicts them."""
    if not dut.m_axis_tvalid.value:  # the payload is don't care, and may be undefined
        fields = len(interface_of(DESIGN).outputs)
        return int(dut.s_axis_tready.value), 0, *(0,) * fields
    data, user = int(dut.m_axis_tdata.value), int(dut.m_axis_tuser.value)
    token = (data, user & 1, user >> 1 & 7, user >> 4) if IS_DECODER else (data, user)
    return int(dut.s_axis_tready.value), 1, *token, int(dut.m_axis_tlast.value)


async def drive(dut, i_valid: int, value: int, last: int, o_ready: int) -> tuple[int, ...]:
    """One cycle, from falling edge to falling edge; the pins as they are before the rising one."""
    dut.s_axis_tvalid.value = i_valid
    dut.s_axis_tdata.value = value
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
    engine = AmaranthEngine(DESIGN)
    parts = [part for part in campaign(engine, SEED) if PARTS == [""] or part.name in PARTS]
    assert len(parts) >= 2
    for part in parts:
        await reset(dut)
        stalls = RandomStalls(STALLS, 1), RandomStalls(STALLS, 2)
        bench = TestBench(Stimulus(part.pieces(), *stalls), engine)
        model = golden_cycles()
        cycle = 0
        while not bench.ending.over:
            driven = bench.drive()
            expected = model.cycle(*driven)
            actual = await drive(dut, *driven)
            assert actual == expected, f"{part.name}, cycle {cycle}"
            bench.observe(*actual[:2])
            cycle += 1
        assert bench.ending.hang is None


@cocotb.test()
async def reset_forgets_everything(dut):
    """Reset in the middle of a sequence, with all registers taken, gives a fresh design."""
    Clock(dut.clk, 10, unit="ns").start()
    await reset(dut)
    for value in b"\xe2\x82A\xf0" * 4:
        await drive(dut, 1, value, 0, 0)
    await drive(dut, 1, 0xE2, 0, 1)  # the end of a pause, when the decoder's skid register is taken
    await reset(dut)
    model = golden_cycles()
    for value in b"\x82\xacB":
        assert await drive(dut, 1, value, 0, 1) == model.cycle(1, value, 0, 1)
    for _ in range(LATENCY):
        assert await drive(dut, 0, 0, 0, 1) == model.cycle(0, 0, 0, 1)


@cocotb.test(skip=not IS_DECODER)
async def registers_recover_from_any_contents(dut):
    """Promise 5: all registers are overwritten; after `longest_form - 1` bytes all is right."""
    rng = random.Random(SEED)
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
            if index >= len(noise):
                expected += tokens
        seen = []
        for index in range(len(text) + LATENCY):
            valid = index < len(text)
            byte = text[index] if valid else 0
            _, o_valid, *token = await drive(dut, valid, byte, index == len(text) - 1, 1)
            if o_valid:
                seen.append(token)
        wanted = [[t.code_point, t.error, t.kind.value, t.length, t.last] for t in expected]
        assert seen[-len(wanted) :] == wanted
