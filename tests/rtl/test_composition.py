"""The code blocks of `docs/composition.md` in simulation, against CPython's codecs."""

import random
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring

import utf8_hdl
from reference import BOUNDARY_BYTES
from rtl import run_streams
from utf8_hdl import (
    UCS2,
    BeatsToBytes,
    BytesToBeats,
    CompactDecoder,
    Decoder,
    Encoder,
    Transcoder,
    Validator,
    WideDecoder,
    beat_layout,
    join,
)

PAGE = (Path(__file__).parents[2] / "docs" / "composition.md").read_text()
BLOCKS = dict(re.findall(r"^## ([^\n]+)\n[^#]*?```python\n(.*?)```", PAGE, re.M | re.S))
COMPLETE = BLOCKS.pop("A complete component")

STALLS = 0.4
"""The probability of a stall in a cycle."""

TEXTS = [
    "Aé€😀, Zoë".encode(),
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80\xff",
    b"A",
    b"abcd\xe2\x82\xac" * 3,
    b"\xf0\x9fabc\xe2\x82\xe2\x82\xac\xf0\x90\x8d\x88",
    "€€€".encode() + b"\xf0",
]
"""Well-formed and ill-formed texts; their lengths cover all values modulo the number of lanes."""


def hostile(seed: int) -> list[bytes]:
    """Random texts of boundary bytes."""
    rng = random.Random(seed)
    return [bytes(rng.choices(BOUNDARY_BYTES, k=rng.randint(1, 40))) for _ in range(6)]


def beats(texts: list[bytes], lanes: int) -> Iterator[dict[str, Any]]:
    """The beats of texts."""
    for text in texts:
        for begin in range(0, max(1, len(text)), lanes):
            part = text[begin : begin + lanes]
            data, keep = [*part, *[0] * (lanes - len(part))], [n < len(part) for n in range(lanes)]
            yield {"data": data, "keep": keep, "last": begin + lanes >= len(text)}


def single(texts: list[Any], name: str = "data") -> Iterator[dict[str, Any]]:
    """The items of texts, one value each."""
    for text in texts:
        for n, value in enumerate(text):
            yield {name: value, "last": n == len(text) - 1}


def texts_of(taken: list[Any], values: Callable[[Any], list[int]]) -> list[list[int]]:
    """The values of each text."""
    texts: list[list[int]] = [[]]
    for payload in taken:
        texts[-1] += values(payload)
        if payload.last:
            texts.append([])
    assert texts.pop() == []
    return texts


def of_beat(beat: Any) -> list[int]:
    return [value for value, keep in zip(beat.data, beat.keep, strict=True) if keep]


def of_byte(payload: Any) -> list[int]:
    return [payload.data]


def of_tokens(payload: Any) -> list[int]:
    return [payload.code_point]


def of_slots(payload: Any) -> list[int]:
    return [slot.code_point for slot in payload.slots if slot.length]


def repaired(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def code_points(text: bytes) -> list[int]:
    return list(map(ord, repaired(text)))


PAIRS: dict[str, Any] = {
    "Decoder to Encoder": (1, of_byte, lambda text: list(repaired(text).encode())),
    "Encoder to Decoder": (0, of_tokens, code_points),
    "Validator to WideDecoder": (4, of_slots, code_points),
    "Validator to Transcoder": (8, of_beat, lambda text: list(repaired(text).encode("utf-16-le"))),
    "Transcoder to Validator": (2, of_beat, lambda text: list(repaired(text).encode())),
    "Transcoder to Transcoder": (4, of_beat, lambda text: list(repaired(text).encode("utf-32-be"))),
    "WideDecoder to Compactor": (8, of_beat, code_points),
    "Bytes to beats to bytes": (1, of_byte, lambda text: list(repaired(text).encode("utf-16-le"))),
}
"""Lanes of the input (0: code points), the values of an output, and the expected values."""


def pair(block: str) -> tuple[Module, Any, Any]:
    """The module of a code block, its first input and its last output."""
    m = Module()
    names = {name: getattr(utf8_hdl, name) for name in utf8_hdl.__all__}
    found = {"m": m, "wiring": wiring, **names}
    before = set(found)
    exec(block, found)
    made = [value for name, value in found.items() if name not in before and hasattr(value, "i")]
    return m, made[0].i, made[-1].o


def items_of(lanes: int, texts: list[bytes]) -> Iterator[dict[str, Any]]:
    if lanes == 0:
        return single([code_points(text) for text in texts], "code_point")
    return single(texts) if lanes == 1 else beats(texts, lanes)


def check_pair(name: str, block: str, texts: list[bytes], stalls: float) -> None:
    """Check the outputs of a code block against CPython's results."""
    lanes, values_of, expected = PAIRS[name]
    m, source, sink = pair(block)
    outputs = run_streams(m, source, sink, items_of(lanes, texts), (stalls, stalls))
    assert texts_of(outputs, values_of) == [expected(text) for text in texts]


def test_page_has_each_pair():
    assert BLOCKS.keys() == PAIRS.keys()


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", PAIRS)
def test_pair_matches_cpython(name):
    check_pair(name, BLOCKS[name], [*TEXTS, *hostile(seed=3)], STALLS)


def test_pair_check_detects_lost_output():
    """A pair whose decoder is always ready loses tokens."""
    name = "Decoder to Encoder"
    right = "wiring.connect(m, decoder.o, tokens.i)"
    assert right in BLOCKS[name]
    block = BLOCKS[name].replace(right, "m.d.comb += decoder.o.ready.eq(1)")
    with pytest.raises(AssertionError):
        check_pair(name, block, TEXTS, 0)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("lanes", "stalls"), [(2, STALLS), (1, 0), (8, STALLS)])
def test_adapters_pack_and_unpack(lanes, stalls):
    texts = [*TEXTS, *hostile(seed=4)]
    pack, unpack = BytesToBeats(lanes=lanes), BeatsToBytes(lanes=lanes)
    packed = run_streams(pack, pack.i, pack.o, single(texts), (stalls, stalls))
    assert [(of_beat(beat), beat.last) for beat in packed] == [
        (beat["data"][: sum(beat["keep"])], beat["last"]) for beat in beats(texts, lanes)
    ]
    taken = run_streams(unpack, unpack.i, unpack.o, beats(texts, lanes), (stalls, stalls))
    assert texts_of(taken, of_byte) == [list(text) for text in texts]


@pytest.mark.parametrize(
    ("design", "items", "steps"),
    [
        (BytesToBeats(lanes=4), single([b"A" * 50]), {4, 2}),
        (BeatsToBytes(lanes=4), beats([b"A" * 48], 4), {1}),
    ],
    ids=["packer", "unpacker"],
)
def test_adapter_rate(design, items, steps):
    """No cycle is lost at full rate. The last beat is partial."""
    valid: list[int] = []
    run_streams(design, design.i, design.o, items, watched=(design.o.valid, valid))
    cycles = [cycle for cycle, level in enumerate(valid) if level]
    assert {after - before for before, after in pairwise(cycles)} == steps


def test_adapter_drops_empty_beats():
    """The last byte waits for the end of its text; an empty text is dropped."""
    given = [
        {"data": [0x41, 0x42], "keep": [1, 1], "last": 0},
        {"data": [0, 0], "keep": [0, 0], "last": 1},
        {"data": [0, 0], "keep": [0, 0], "last": 1},
        {"data": [0, 0], "keep": [0, 0], "last": 0},
        {"data": [0x43, 0], "keep": [1, 0], "last": 0},
        {"data": [0, 0], "keep": [0, 0], "last": 0},
        {"data": [0x44, 0], "keep": [1, 0], "last": 1},
    ]
    for stalls in (0, 0.5):
        unpack = BeatsToBytes(lanes=2)
        taken = run_streams(unpack, unpack.i, unpack.o, given, (stalls, stalls))
        assert texts_of(taken, of_byte) == [[0x41, 0x42], [0x43, 0x44]]


def test_complete_component():
    found: dict[str, Any] = {}
    exec(COMPLETE, found)
    design = found["Checked"]()
    errors: list[int] = []
    stalls, watched = (STALLS, STALLS), (design.errors, errors)
    taken = run_streams(design, design.i, design.o, single(TEXTS), stalls, watched)
    assert texts_of(taken, of_byte) == [list(text) for text in TEXTS]
    assert errors[-1] == sum("\ufffd" in repaired(text) for text in TEXTS)


# --- `join` ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "sink", "options", "message"),
    [
        (Encoder, Decoder, {}, "'user' of the source .* has no counterpart; drop must name it"),
        (Decoder, Encoder, {"drop": ["error", "kind", "length"]}, "'code_point' is .*; drop must"),
        (Encoder, Decoder, {"drop": ["user", "last"]}, "'last'.*; constants must have it"),
        (Encoder, Decoder, {"drop": ["user", "keep"]}, r"drop has 'keep', but .*\['data', 'last'"),
        (Encoder, Decoder, {"drop": ["user"], "constants": {"x": 1}}, "constants has 'x', but"),
        (
            lambda: Validator(lanes=8),
            lambda: WideDecoder(lanes=4),
            {"drop": ["user"]},
            "'data' is .* in the source, .* in the sink",
        ),
    ],
)
def test_join_refuses_unnamed_field(source, sink, options, message):
    with pytest.raises(ValueError, match=message):
        join(Module(), source().o, sink().i, **options)


def test_join_refuses_wrong_types():
    with pytest.raises(TypeError, match=r"drop must be a collection of names, such as \['user'\]"):
        join(Module(), Validator().o, Transcoder().i, drop="user")
    source = stream.Signature(8).create()
    with pytest.raises(TypeError, match="payload of the source must be a structure"):
        join(Module(), source, Decoder().i)


def test_join_constants():
    m = Module()
    m.submodules.transcoder = transcoder = Transcoder(lanes=1)
    m.submodules.source = source = Encoder()
    constants = {"keep": [1], "data": source.o.p.data}
    with pytest.raises(TypeError):
        join(m, source.o, transcoder.i, drop=["data", "user"], constants=constants)
    join(m, source.o, transcoder.i, drop=["data", "user"], constants=constants | {"keep": 1})
    made = run_streams(m, source.i, transcoder.o, single([[0x20AC, 0x41]], "code_point"))
    assert texts_of(made, of_beat) == [list("€A".encode("utf-16-le"))]


def test_equal_payloads_connect():
    for decoder in (Decoder(UCS2), CompactDecoder(UCS2)):
        wiring.connect(Module(), utf8_hdl.TokensToCodePoints(UCS2).i, decoder.o)
    shape = beat_layout(8, 21)
    assert utf8_hdl.Compactor(shape=21).i.payload.shape() == shape
