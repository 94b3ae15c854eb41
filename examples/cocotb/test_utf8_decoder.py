"""A cocotb test bench for utf8_decoder: random bytes, random pauses, and a scoreboard.

cocotb runs each function marked `@cocotb.test()` inside the simulator. `dut` is the module; its
ports are read and written by name, and `await` lets simulated time pass. The scoreboard of utf8_sim
gets inputs and outputs, and raises an error at the first token that is wrong.
"""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from utf8_hdl import Decoder
from utf8_sim import Scoreboard

TEXTS = 200
PAUSE = 0.3  # probability, in each cycle, that a side is not ready

# What texts are made of: characters of 1 to 4 bytes, and bytes that are wrong in most places.
PIECES = [c.encode() for c in "Aé€😀"] + [bytes([b]) for b in b"\x80\xbf\xc0\xe2\xed\xf0\xf4\xff"]


async def send(dut, text: bytes, scoreboard: Scoreboard) -> None:
    """Offer one byte after the other; each stays until the decoder takes it."""
    for index, byte in enumerate(text):
        while random.random() < PAUSE:
            await RisingEdge(dut.clk)
        last = index == len(text) - 1
        dut.s_axis_tvalid.value = 1
        dut.s_axis_tdata.value = byte
        dut.s_axis_tlast.value = last
        await RisingEdge(dut.clk)
        while not dut.s_axis_tready.value:
            await RisingEdge(dut.clk)
        scoreboard.accept({"data": byte, "last": last})
        dut.s_axis_tvalid.value = 0


async def receive(dut, scoreboard: Scoreboard) -> int:
    """Take tokens up to the last one of a text; how many there were."""
    tokens = last = 0
    while not last:
        dut.m_axis_tready.value = random.random() >= PAUSE
        await RisingEdge(dut.clk)  # what is read now are the levels just before the edge
        if dut.m_axis_tvalid.value and dut.m_axis_tready.value:
            user, last = int(dut.m_axis_tuser.value), int(dut.m_axis_tlast.value)
            token = {"code_point": dut.m_axis_tdata.value, "last": last}
            token |= {"error": user & 1, "kind": user >> 1 & 7, "length": user >> 4}
            scoreboard.take(token)
            tokens += 1
    return tokens


@cocotb.test(timeout_time=300, timeout_unit="us")  # a decoder that hangs must not hang the test
async def decodes_as_the_golden_model_does(dut):
    Clock(dut.clk, 10, unit="ns").start()
    dut.s_axis_tvalid.value = 0
    dut.m_axis_tready.value = 0
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0

    scoreboard = Scoreboard(Decoder())
    tokens = 0
    for _ in range(TEXTS):
        text = b"".join(random.choices(PIECES, k=random.randint(1, 20)))
        sending = cocotb.start_soon(send(dut, text, scoreboard))  # at the same time as receiving
        tokens += await receive(dut, scoreboard)
        await sending
        scoreboard.finish()
    cocotb.log.info(f"{TEXTS} texts: {tokens} tokens, all as expected")
