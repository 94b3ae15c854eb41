"""Texts through a validator or a decoder with lanes, by cocotbext-axi; `test_axi_texts.py` runs it.

What must come is known from CPython's codec, not from the golden model.
"""

import os
import random
from collections.abc import Iterator

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from reference import BOUNDARY_BYTES, ref_tokens

TEXTS = 150
PIECES = [c.encode() for c in "Aé€😀"] * 5 + [bytes([byte]) for byte in BOUNDARY_BYTES]
KINDS = [
    None, "unexpected-continuation", "invalid-byte", "overlong", "surrogate", "out-of-range",
    "truncated",
]  # fmt: skip


def random_text(lanes: int) -> bytes:
    """Of some beats, or empty, valid or not; it may end in any lane."""
    pieces = PIECES[: random.choice([20, len(PIECES)])]
    text = b"".join(random.choices(pieces, k=random.randint(0, 3 * lanes)))
    return text[: random.randint(0, 4 * lanes)]


def pauses(probability: float) -> Iterator[bool]:
    while True:
        yield random.random() < probability


def frame_of(text: bytes, lanes: int) -> AxiStreamFrame:
    """A text; an empty one is a beat that keeps no byte."""
    return AxiStreamFrame(text) if text else AxiStreamFrame(bytes(lanes), tkeep=[0] * lanes)


def beats_of(frame: AxiStreamFrame, width: int) -> Iterator[tuple[bytes, list[int], int]]:
    """Bytes, ``tkeep`` and ``tuser`` of each beat that came out."""
    for begin in range(0, len(frame.tdata), width):
        beat = slice(begin, begin + width)
        yield bytes(frame.tdata[beat]), frame.tkeep[beat], frame.tuser[begin]


def check_verdict(text: bytes, frame: AxiStreamFrame, lanes: int) -> None:
    """The text came through, and the last beat says what is wrong with it."""
    error = next((token for token in ref_tokens(text) if token.error), None)
    verdict = 1 | KINDS.index(error.error) << 1 | error.offset << 4 if error else 0
    beats = list(beats_of(frame, lanes))
    users = [user for _, _, user in beats]
    assert users == [0] * (len(beats) - 1) + [verdict], (text, users)
    kept = bytes(byte for data, keep, _ in beats for byte, k in zip(data, keep, strict=True) if k)
    assert kept == text
    assert len(beats) == max(1, -(-len(text) // lanes))


def check_tokens(text: bytes, frame: AxiStreamFrame, lanes: int) -> None:
    """The slots have the tokens, each in the slot of its last byte, or before the next beat's."""
    tokens = iter(ref_tokens(text))
    beats = list(beats_of(frame, 4 * (lanes + 1)))
    for number, (data, keep, users) in enumerate(beats):
        for slot in range(lanes + 1):
            value = int.from_bytes(data[4 * slot : 4 * slot + 4], "little")
            user = users >> 8 * slot & 0xFF
            if not any(keep[4 * slot : 4 * slot + 4]):
                assert (value, user) == (0, 0)
                continue
            token = next(tokens)
            error = KINDS.index(token.error)
            assert keep[4 * slot : 4 * slot + 4] == [1] * 4
            assert value == token.code_point, (text, token)
            assert user == bool(error) | error << 1 | token.length << 4, (text, token)
            assert token.offset + token.length == lanes * number + slot, (text, token)
    assert next(tokens, None) is None, text
    assert len(beats) == max(1, -(-len(text) // lanes))


@cocotb.test(timeout_time=300, timeout_unit="us")
@cocotb.parametrize(paused=[(0, 0), (0.5, 0), (0, 0.5), (0.3, 0.9)])
async def texts(dut, paused):
    Clock(dut.clk, 10, unit="ns").start()
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.clk, dut.rst)
    sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.clk, dut.rst)
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    for side, probability in zip((source, sink), paused, strict=True):
        if probability:
            side.set_pause_generator(pauses(probability))
    lanes = source.byte_lanes
    check = check_verdict if os.environ["COMPONENT"] == "validator" else check_tokens
    sent = [random_text(lanes) for _ in range(TEXTS)]
    for text in sent:
        source.send_nowait(frame_of(text, lanes))
    for text in sent:
        check(text, await sink.recv(compact=False), lanes)
    assert sink.empty()
