"""Conformance of a decoder with registers instead of streams.

To use it for your decoder, change `decode`: it gets the bytes of a text, and returns the tokens.
"""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from utf8_sim.conformance import Checks

QUIET = 3  # cycles after which no more tokens come

STATUS, CODE_POINT, REST = range(3)
BYTE, LAST_BYTE, REMOVE = range(3)


async def read(dut, address: int) -> int:
    dut.address.value = address
    await RisingEdge(dut.clk)
    return int(dut.rdata.value)


async def write(dut, address: int, data: int = 0) -> None:
    dut.address.value, dut.wdata.value, dut.write.value = address, data, 1
    await RisingEdge(dut.clk)
    dut.write.value = 0


async def token(dut) -> dict[str, int] | None:
    """The token that can be read, if any."""
    if not await read(dut, STATUS) & 2:
        return None
    code_point, rest = await read(dut, CODE_POINT), await read(dut, REST)
    await write(dut, REMOVE)
    return {
        "code_point": code_point,
        "error": rest & 1,
        "kind": rest >> 1 & 7,
        "length": rest >> 4 & 15,
        "last": rest >> 8,
    }


async def decode(dut, text: bytes) -> list[dict[str, int]]:
    """The tokens of a text, in order."""
    tokens = []
    for index, byte in enumerate(text):
        while not await read(dut, STATUS) & 1:
            pass
        await write(dut, LAST_BYTE if index == len(text) - 1 else BYTE, byte)
        quiet = 0
        while quiet < QUIET:
            found = await token(dut)
            tokens += [found] if found else []
            quiet = 0 if found else quiet + 1
    return tokens


@cocotb.test(timeout_time=10, timeout_unit="ms")  # a decoder may hang
async def conforms(dut):
    Clock(dut.clk, 10, unit="ns").start()
    dut.write.value = dut.address.value = dut.wdata.value = 0
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    checks = Checks()  # fields=["code_point", "error"], for a decoder that has no others
    for case in checks.cases():
        checks.check(case, await decode(dut, case.text))
    print(checks.report())
    assert checks.card.passed
