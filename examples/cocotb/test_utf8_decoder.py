"""A cocotb test bench for utf8_decoder: random bytes, random pauses, and Python's own decoder.

cocotb runs each function marked `@cocotb.test()` inside the simulator. `dut` is the module; its
ports are read and written by name, and `await` lets simulated time pass.
"""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

TEXTS = 200
PAUSE = 0.3  # probability, in each cycle, that a side is not ready

# What texts are made of: characters of 1 to 4 bytes, and bytes that are wrong in most places.
# U+FFFD is not among the characters, so each one that comes out stands for an error.
PIECES = [c.encode() for c in "Aé€😀"] + [bytes([b]) for b in b"\x80\xbf\xc0\xe2\xed\xf0\xf4\xff"]


async def send(dut, text: bytes) -> None:
    """Offer one byte after the other; each stays until the decoder takes it."""
    for index, byte in enumerate(text):
        while random.random() < PAUSE:
            await RisingEdge(dut.clk)
        dut.s_axis_tvalid.value = 1
        dut.s_axis_tdata.value = byte
        dut.s_axis_tlast.value = index == len(text) - 1
        await RisingEdge(dut.clk)
        while not dut.s_axis_tready.value:
            await RisingEdge(dut.clk)
        dut.s_axis_tvalid.value = 0


async def receive(dut) -> list[tuple[str, bool, int]]:
    """Take tokens up to the last one of a text: character, whether it is an error, and length."""
    tokens = []
    while True:
        dut.m_axis_tready.value = random.random() >= PAUSE
        await RisingEdge(dut.clk)  # what is read now are the levels just before the edge
        if dut.m_axis_tvalid.value and dut.m_axis_tready.value:
            user = int(dut.m_axis_tuser.value)
            tokens.append((chr(int(dut.m_axis_tdata.value)), bool(user & 1), user >> 4))
            if dut.m_axis_tlast.value:
                return tokens


@cocotb.test(timeout_time=300, timeout_unit="us")  # a decoder that hangs must not hang the test
async def decodes_as_python_does(dut):
    Clock(dut.clk, 10, unit="ns").start()
    dut.s_axis_tvalid.value = 0
    dut.m_axis_tready.value = 0
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0

    characters = errors = 0
    for _ in range(TEXTS):
        text = b"".join(random.choices(PIECES, k=random.randint(1, 20)))
        sending = cocotb.start_soon(send(dut, text))  # at the same time as receiving
        tokens = await receive(dut)
        await sending

        decoded = "".join(character for character, _, _ in tokens)
        assert decoded == text.decode("utf-8", errors="replace"), text.hex(" ")
        assert [c == "\N{REPLACEMENT CHARACTER}" for c in decoded] == [e for _, e, _ in tokens]
        assert sum(length for _, _, length in tokens) == len(text)
        characters += sum(not error for _, error, _ in tokens)
        errors += sum(error for _, error, _ in tokens)
    cocotb.log.info(f"{TEXTS} texts: {characters} characters and {errors} errors, as in Python")
