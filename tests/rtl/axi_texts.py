"""Send random texts through a component with lanes, by cocotbext-axi; `test_axi_texts.py` runs it.

The expected output comes from CPython's codecs, not from the golden model.
"""

import os
import random
from collections.abc import Iterator
from typing import Literal

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from reference import BOUNDARY_BYTES, ref_errors, ref_tokens, ref_transcoded

TEXTS = int(os.environ["TEXTS"])
PIECES = [c.encode() for c in "Aé€😀"] * 5 + [bytes([byte]) for byte in BOUNDARY_BYTES]
KINDS = [
    None, "unexpected-continuation", "invalid-byte", "overlong", "surrogate", "out-of-range",
    "truncated",
]  # fmt: skip
SOURCE, TARGET = os.environ["SOURCE"], os.environ["TARGET"]
ORDER: Literal["little", "big"] = "big" if SOURCE.endswith("be") else "little"


def pieces_of(scheme: str) -> list[bytes]:
    """Characters in an encoding scheme, followed by units that may be errors."""
    if scheme == "utf-8":
        return PIECES
    encoded = [c.encode(scheme) for c in "Aé€😀"] * 5
    units = [0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFF, 0x10FFFF, 0x110000]
    size = len(encoded[0])
    wrong = [unit.to_bytes(4, ORDER) for unit in units]
    return encoded + [unit[-size:] if ORDER == "big" else unit[:size] for unit in wrong] + [b"A"]


def random_text(lanes: int) -> bytes:
    """A text of up to four beats, well-formed or not, which may end in any lane."""
    pieces = pieces_of(SOURCE)
    pieces = pieces[: random.choice([20, len(pieces)])]
    text = b"".join(random.choices(pieces, k=random.randint(0, 3 * lanes)))
    return text[: random.randint(0, 4 * lanes)]


def pauses(probability: float) -> Iterator[bool]:
    while True:
        yield random.random() < probability


def frame_of(text: bytes, lanes: int) -> AxiStreamFrame:
    """A text as a frame: a beat without bytes if it is empty, sparse for a compactor."""
    if os.environ["COMPONENT"] == "compactor":
        beats = range(lanes * random.randint(1, 4))
        share = random.choice([0, 0.5, 1])
        keep = [int(random.random() < share) for _ in beats]
        return AxiStreamFrame([random.randrange(256) for _ in beats], tkeep=keep)
    return AxiStreamFrame(text) if text else AxiStreamFrame(bytes(lanes), tkeep=[0] * lanes)


def beats_of(frame: AxiStreamFrame, width: int) -> Iterator[tuple[bytes, list[int], int]]:
    """Bytes, ``tkeep`` and ``tuser`` of each output beat."""
    for begin in range(0, len(frame.tdata), width):
        beat = slice(begin, begin + width)
        yield bytes(frame.tdata[beat]), frame.tkeep[beat], frame.tuser[begin]


def check_verdict(text: bytes, frame: AxiStreamFrame, lanes: int) -> None:
    """The text is unchanged, and the last beat has the verdict."""
    error = next((token for token in ref_tokens(text) if token.error), None)
    verdict = 1 | KINDS.index(error.error) << 1 | error.offset << 4 if error else 0
    beats = list(beats_of(frame, lanes))
    users = [user for _, _, user in beats]
    assert users == [0] * (len(beats) - 1) + [verdict], (text, users)
    kept = bytes(byte for data, keep, _ in beats for byte, k in zip(data, keep, strict=True) if k)
    assert kept == text
    assert len(beats) == max(1, -(-len(text) // lanes))


def check_tokens(text: bytes, frame: AxiStreamFrame, lanes: int) -> None:
    """Each token is in the slot of its last byte, or in the last slot of the beat."""
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


def check_dense(data: list[int], frame: AxiStreamFrame, width: int) -> None:
    """The output consists of the data only, in as few beats as possible."""
    kept = [byte for byte, keep in zip(frame.tdata, frame.tkeep, strict=True) if keep]
    assert kept == data, (data, kept)
    assert frame.tkeep == [1] * len(data) + [0] * (len(frame.tkeep) - len(data))
    assert len(frame.tkeep) == width * max(1, -(-len(data) // width))


def check_transcoded(text: bytes, frame: AxiStreamFrame, width: int) -> None:
    """The output is CPython's, and the last beat has the error flag or the report."""
    data, error = ref_transcoded(text, SOURCE, TARGET)
    check_dense(list(data), frame, width)
    user = report(text) if os.environ["REPORTS"] else error
    assert list(frame.tuser[::width]) == [0] * (len(frame.tkeep) // width - 1) + [user], text


def report(text: bytes) -> int:
    """A transcoder's report of the errors in a text."""
    errors = ref_errors(text, SOURCE)
    if not errors:
        return 0
    first = errors[0]
    return 1 | KINDS.index(first.kind) << 1 | first.offset << 4 | len(errors) << 36


def check_frame(sent: AxiStreamFrame, frame: AxiStreamFrame, lanes: int, width: int) -> None:
    """Check the output frame of an input frame; ``lanes`` at the input, ``width`` at the output."""
    component, keeps = os.environ["COMPONENT"], sent.tkeep or [1] * len(sent.tdata)
    values = [value for value, keep in zip(sent.tdata, keeps, strict=True) if keep]
    if component == "compactor":
        check_dense(values, frame, width)
    elif component == "transcoder":
        check_transcoded(bytes(values), frame, width)
    elif component == "validator":
        check_verdict(bytes(values), frame, lanes)
    else:
        check_tokens(bytes(values), frame, lanes)


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
    sent = [frame_of(random_text(lanes), lanes) for _ in range(TEXTS)]
    for frame in sent:
        source.send_nowait(AxiStreamFrame(frame))
    for frame in sent:
        check_frame(frame, await sink.recv(compact=False), lanes, sink.byte_lanes)
    assert sink.empty()
