"""Golden models of decoder and validator with lanes; packing and display of their beats."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dense import fed, packed
from hostile import hostile_bytes
from reference import ref_tokens
from utf8_hdl import UNICODE, ErrorKind, Validator, WideDecoder
from utf8_sim.components.beats import show_beat, show_slots, show_verdict
from utf8_sim.subject import interface_of
from utf8_sim.trace import Columns


def beats(lanes: int, *pieces) -> list[str]:
    """The beats of pieces of texts: a letter for each lane, and a mark at the end of a text."""
    items = packed(Validator(lanes=lanes), *pieces)
    rows = zip(*(items[name].tolist() for name in items), strict=True)
    return [
        "".join(chr(byte) if kept else "." for byte, kept in zip(data, keep, strict=True))
        + "|" * last
        for data, keep, last in rows
    ]


def test_texts_are_packed_into_beats():
    assert beats(4, (b"abcdefgh", True), (b"ij", True)) == ["abcd", "efgh|", "ij..|"]
    assert beats(4, (b"", True), (b"abcd", False), (b"", True)) == ["....|", "abcd", "....|"]
    assert beats(4, (b"abc", False), (b"def", True), (b"g", False)) == ["abcd", "ef..|", "g..."]
    ends = np.array([0, 0, 1, 0, 0, 1, 1, 0], dtype=bool)
    pieces = (b"ab", False), (list(b"cdefghij"), ends), (b"klmno", True)
    assert beats(2, *pieces) == ["ab", "cd", "e.|", "fg", "h.|", "i.|", "jk", "lm", "no|"]
    inputs = packed(Validator(lanes=4), (b"xyz", True))
    assert beats(4, (b"a", False), inputs, (b"b", True)) == ["a...", "xyz.|", "b...|"]


def test_empty_lanes_have_reproducible_garbage():
    items = packed(Validator(lanes=64), (b"a", True), (b"b", True))
    assert len(set(items["i.data"].ravel().tolist())) > 50
    again = packed(Validator(lanes=64), (b"a", True), (b"b", True))
    assert (items["i.data"] == again["i.data"]).all()


def results(design, items: Columns) -> list[tuple]:
    """The payload of each output."""
    return [payload for _, _, *payload in fed(design, items)]


def is_cut(text: bytes, token) -> bool:
    """True if an error is detected only with the byte after it."""
    return token.error is not None and 0xC2 <= text[token.offset] <= 0xF4


HOSTILE = st.lists(hostile_bytes(UNICODE).map(bytes), max_size=3)


@pytest.mark.parametrize("lanes", [2, 64])
@given(texts=HOSTILE, empty=st.booleans())
def test_slots_match_cpython(lanes, texts, empty):
    """With ``empty``, a beat without bytes ends each text that fills its last beat."""
    design, pieces, expected, begin = WideDecoder(lanes=lanes), [], {}, 0
    for text in texts:
        pieces += [(text, False), (b"", True)] if empty else [(text, True)]
        for token in ref_tokens(text):
            end = token.offset + token.length
            beat, lane = divmod(end - 1, lanes)
            waits = lane == lanes - 1 and is_cut(text, token) and (end < len(text) or empty)
            place = (begin + beat + 1, 0) if waits else (begin + beat, lane + 1)
            expected[place] = token.code_point, token.error or "none", token.length
        begin += len(text) // lanes + 1 if empty else max(1, -(-len(text) // lanes))
    outputs = results(design, packed(design, *pieces))
    assert len(outputs) == begin
    found = {}
    for beat, (*fields, _) in enumerate(outputs):
        for slot, (code_point, error, kind, length) in enumerate(zip(*fields, strict=True)):
            assert bool(error) == bool(kind)
            if length:
                found[beat, slot] = code_point, ErrorKind(kind).label, length
            else:
                assert (code_point, kind) == (0, 0)
    assert found == expected


@pytest.mark.parametrize("lanes", [1, 64])
@given(texts=HOSTILE, empty=st.booleans())
def test_verdicts_match_cpython(lanes, texts, empty):
    design, pieces, expected = Validator(lanes=lanes), [], []
    for text in texts:
        pieces += [(text, False), (b"", True)] if empty else [(text, True)]
        errors = [(1, token.error, token.offset) for token in ref_tokens(text) if token.error]
        expected.append(errors[0] if errors else (0, "none", 0))
    items = packed(design, *pieces)
    outputs = results(design, items)
    rows = zip(*(column.tolist() for column in items.values()), strict=True)
    assert [tuple(output[:3]) for output in outputs] == list(rows)
    assert all(output[3:] == [0, 0, 0] for output in outputs if not output[2])
    verdicts = [output[3:] for output in outputs if output[2]]
    assert [(error, ErrorKind(kind).label, offset) for error, kind, offset in verdicts] == expected


@pytest.mark.sample(1)
@pytest.mark.parametrize(("lanes", "offset_width"), [(1, 6), (4, 6), (8, 12)])
def test_offset_carries_and_saturates(lanes, offset_width):
    """The first error is near a change of an offset bit, or beyond the highest offset."""
    design = Validator(lanes=lanes, offset_width=offset_width)
    near = [(1 << bit) + more for bit in range(offset_width + 2) for more in (-3, -2, -1, 0, 1)]
    texts = [
        b"A" * offset + error
        for offset in sorted({max(0, offset) for offset in near})
        for error in (b"\xff", b"\xe2\x82B\xff" + b"A" * 9)
    ]
    errors = [next(token for token in ref_tokens(text) if token.error) for text in texts]
    expected = [min(error.offset, (1 << offset_width) - 1) for error in errors]
    outputs = results(design, packed(design, *((text, True) for text in texts)))
    assert [output[-1] for output in outputs if output[2]] == expected


# --- display ------------------------------------------------------------------------------------


def test_display_of_beats():
    assert show_beat({"i.data": [0x41, 0xE2, 9, 0], "i.keep": [1, 1, 0, 0]}) == "41 E2 -- --"
    assert show_beat({"i.data": 0x41, "i.keep": 1}) == "41"
    wide = {"i.data": [0x41] * 32, "i.keep": [1, 0, 1] + [0] * 29}
    assert show_beat(wide) == "41 -- 41 (2 of 32 bytes)"


def test_display_of_slots():
    outputs = results(
        WideDecoder(lanes=8), packed(WideDecoder(lanes=8), (b"Hey \xe2\x82\xac\xf0!\xff", True))
    )
    names = "o.code_point", "o.error", "o.kind", "o.length", "o.last"
    shown = [show_slots(dict(zip(names, output, strict=True))) for output in outputs]
    assert shown == [
        '1..4 "Hey ", 7 U+20AC €',
        "0 truncated (the beat before), 1 U+0021 !, 2 invalid-byte (lane 1)",
    ]
    assert show_slots({"o.code_point": [0, 0], "o.length": [0, 0]}) == "no tokens"


def test_display_of_verdicts():
    design = Validator(lanes=2)
    items = packed(design, (b"ab", False), (b"\xc0", True), (b"", True))
    names = [pin.name for pin in interface_of(design).outputs]
    outputs = (dict(zip(names, output, strict=True)) for output in results(design, items))
    assert list(map(show_verdict, outputs)) == [
        "61 62",
        "C0 --: overlong at 2",
        "-- --: well-formed",
    ]
