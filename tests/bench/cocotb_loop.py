"""A hand-written cocotb test at full rate; `bench.py` runs it in Icarus Verilog.

It reads its text from the file BENCH_TEXT, and ends BENCH_DRAIN cycles after the last byte. It
writes the same line as `verilator_loop.cc` to the file BENCH_RESULT: cycles, seconds, tokens, and
the sum of their code points.
"""

import os
import time
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge


async def reset(dut) -> None:
    dut.rst.value = 1
    dut.s_axis_tvalid.value = 0
    dut.m_axis_tready.value = 1
    for _ in range(2):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


@cocotb.test()
async def full_rate(dut) -> None:
    """Drive a byte per cycle, and read every output pin in every cycle, before the clock edge."""
    text = Path(os.environ["BENCH_TEXT"]).read_bytes()
    Clock(dut.clk, 10, unit="ns").start()
    await reset(dut)
    # Look up attributes of the design only once: they are slow.
    edge = RisingEdge(dut.clk)
    tvalid, tdata, tlast = dut.s_axis_tvalid, dut.s_axis_tdata, dut.s_axis_tlast
    names = ("s_axis_tready", "m_axis_tvalid", "m_axis_tdata", "m_axis_tuser", "m_axis_tlast")
    outputs = [getattr(dut, name) for name in names]

    cycles = tokens = total = following = 0
    size, drain = len(text), int(os.environ["BENCH_DRAIN"])
    begin = time.perf_counter()
    while drain:
        offered = following < size
        tvalid.value = offered
        tdata.value = text[following] if offered else 0
        tlast.value = following + 1 == size
        await edge
        s_ready, m_valid, m_data, _, _ = [int(pin.value) for pin in outputs]
        cycles += 1
        if m_valid:
            tokens += 1
            total += m_data
        if not offered:
            drain -= 1
        elif s_ready:
            following += 1
    elapsed = time.perf_counter() - begin
    Path(os.environ["BENCH_RESULT"]).write_text(f"{cycles} {elapsed} {tokens} {total}\n")
