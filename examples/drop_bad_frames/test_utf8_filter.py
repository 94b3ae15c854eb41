"""A cocotb test bench for utf8_filter: random texts, random pauses, and CPython as the oracle.

`AxiStreamSource` and `AxiStreamSink` of cocotbext-axi send and take a text as one frame.
"""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamSink, AxiStreamSource

TEXTS = 300
PIECES = [c.encode() for c in "Aé€😀"]
WRONG = [b"\x80", b"\xc0\xaf", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff"]


def random_text(longest: int) -> bytes:
    """A text; one in three has an error somewhere, or at its end."""
    pieces = random.choices(PIECES, k=random.randint(1, longest // 4))
    if random.random() < 1 / 3:
        pieces.insert(random.randint(0, len(pieces)), random.choice(WRONG))
    return b"".join(pieces)


def is_well_formed(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def pauses(probability: float):
    while True:
        yield random.random() < probability


async def count(dut, seen: list) -> None:
    """Record each cycle in which a text is dropped."""
    while True:
        await RisingEdge(dut.clk)
        if dut.dropped.value == 1:
            seen.append(True)


@cocotb.test(timeout_time=500, timeout_unit="us")  # a hang must not hang the test
@cocotb.parametrize(paused=[(0, 0), (0.5, 0), (0, 0.5), (0.2, 0.9)])
async def good_texts_come_through_and_bad_ones_do_not(dut, paused):
    Clock(dut.clk, 10, unit="ns").start()
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.clk, dut.rst)
    sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.clk, dut.rst)
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    for side, probability in zip((source, sink), paused, strict=True):
        side.set_pause_generator(pauses(probability))
        side.log.setLevel("WARNING")  # else it logs every text

    fifo = source.byte_lanes << dut.ADDRESS_BITS.value.to_unsigned()  # bytes
    texts = [random_text(fifo // 4) for _ in range(TEXTS)]
    texts[100] = b"A" * (fifo + 1)  # too long
    texts[200] = b"A" * fifo  # just fits
    good = [text for text in texts if is_well_formed(text) and len(text) <= fifo]
    dropped: list = []
    cocotb.start_soon(count(dut, dropped))
    for text in texts:
        source.send_nowait(text)
    for text in good:
        assert bytes(await sink.recv()) == text
    for _ in range(1000):  # the last texts may be ill-formed
        await RisingEdge(dut.clk)
    assert sink.empty()
    assert len(dropped) == len(texts) - len(good)
    cocotb.log.info(f"{len(good)} texts came through, {len(dropped)} were dropped")
