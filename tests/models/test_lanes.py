"""Components with lanes: their golden models, what is driven, and how beats are shown."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import hostile_bytes
from modelled import agrees, edited, misled, tells_apart, timed
from reference import ref_tokens
from rtl import (
    COUNTER_FLAWS,
    STALLS,
    WHOLE_UCS4,
    altered_lanes,
    quick_engine,
)
from utf8_hdl import EXTENDED, UNICODE, ErrorKind, Validator, WideDecoder
from utf8_sim.components import component_of
from utf8_sim.components.beats import show_beat, show_slots, show_verdict
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.golden.model import feed_all
from utf8_sim.golden.timing import Credit
from utf8_sim.golden.validator import BYTES_BEFORE, ValidatorModel
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import FixedStalls, Stimulus
from utf8_sim.subject import interface_of
from utf8_sim.trace import Columns, Trace


def packed(design, *pieces) -> Columns:
    """The inputs for pieces of texts."""
    interface = interface_of(design)
    parts = list(component_of(design).pack(pieces, interface))
    return {pin.name: np.concatenate([p[pin.name] for p in parts]) for pin in interface.inputs}


def beats(lanes: int, *pieces) -> list[str]:
    """The same, a letter for each lane and a mark where a text ends."""
    items = packed(Validator(lanes=lanes), *pieces)
    rows = zip(*(items[name].tolist() for name in items), strict=True)
    return [
        "".join(chr(byte) if kept else "." for byte, kept in zip(data, keep, strict=True))
        + "|" * last
        for data, keep, last in rows
    ]


def test_texts_fill_beats():
    assert beats(4, (b"abcdefgh", True), (b"ij", True)) == ["abcd", "efgh|", "ij..|"]
    assert beats(4, (b"", True), (b"abcd", False), (b"", True)) == ["....|", "abcd", "....|"]
    assert beats(4, (b"abc", False), (b"def", True), (b"g", False)) == ["abcd", "ef..|", "g..."]
    ends = np.array([0, 0, 1, 0, 0, 1, 1, 0], dtype=bool)
    pieces = (b"ab", False), (list(b"cdefghij"), ends), (b"klmno", True)
    assert beats(2, *pieces) == ["ab", "cd", "e.|", "fg", "h.|", "i.|", "jk", "lm", "no|"]
    inputs = packed(Validator(lanes=4), (b"xyz", True))
    assert beats(4, (b"a", False), inputs, (b"b", True)) == ["a...", "xyz.|", "b...|"]


def test_lanes_without_a_byte_have_anything_but_always_the_same():
    items = packed(Validator(lanes=64), (b"a", True), (b"b", True))
    assert len(set(items["i.data"].ravel().tolist())) > 50
    again = packed(Validator(lanes=64), (b"a", True), (b"b", True))
    assert (items["i.data"] == again["i.data"]).all()


@pytest.mark.parametrize("value", [256, -1, "a"])
def test_bytes_that_do_not_fit_are_refused(value):
    with pytest.raises((TypeError, ValueError), match="data must be unsigned 8-bit integers"):
        beats(4, ([value], True))


def fed(design, items: Columns) -> list[tuple]:
    """What comes out for some inputs."""
    columns = feed_all(component_of(design).model(design), items)
    names = [pin.name for pin in interface_of(design).outputs]
    return list(zip(*(columns[name].tolist() for name in names), strict=True))


def is_cut(text: bytes, token) -> bool:
    """Whether only what follows an error's bytes says that it is one."""
    return token.error is not None and 0xC2 <= text[token.offset] <= 0xF4


HOSTILE = st.lists(hostile_bytes(UNICODE).map(bytes), max_size=3)


@pytest.mark.parametrize("lanes", [2, 4, 64])
@given(texts=HOSTILE, empty=st.booleans())
@settings(deadline=None)
def test_slots_have_the_tokens_of_cpython(lanes, texts, empty):
    """With ``empty``, texts that fill their last beat are ended by one without a byte."""
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
    outputs = fed(design, packed(design, *pieces))
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


@pytest.mark.parametrize("lanes", [1, 2, 4, 64])
@given(texts=HOSTILE, empty=st.booleans())
@settings(deadline=None)
def test_verdicts_are_those_of_cpython(lanes, texts, empty):
    design, pieces, expected = Validator(lanes=lanes), [], []
    for text in texts:
        pieces += [(text, False), (b"", True)] if empty else [(text, True)]
        try:
            text.decode()
            expected.append((0, "none", 0))
        except UnicodeDecodeError as error:
            token = next(token for token in ref_tokens(text) if token.error)
            expected.append((1, token.error, error.start))
    items = packed(design, *pieces)
    outputs = fed(design, items)
    rows = zip(*(column.tolist() for column in items.values()), strict=True)
    assert [output[:3] for output in outputs] == list(rows)
    assert all(output[3:] == (0, 0, 0) for output in outputs if not output[2])
    verdicts = [output[3:] for output in outputs if output[2]]
    assert [(error, ErrorKind(kind).label, offset) for error, kind, offset in verdicts] == expected


def test_an_offset_that_is_too_high_stays_at_the_highest():
    def offset(before: int, text: bytes) -> int:
        model, design = ValidatorModel(UNICODE, 2), Validator(lanes=2)
        model._text[BYTES_BEFORE] = before
        return int(feed_all(model, packed(design, (text, True)))["o.offset"][0])

    assert offset((1 << 32) - 2, b"\xff\xff") == (1 << 32) - 2
    for before in (1 << 32) - 2, 1 << 32:
        assert offset(before, b"A\xff") == (1 << 32) - 1


def around_carries(offset_width: int) -> list[bytes]:
    """Texts whose first error is about where a bit of the offset changes, or is too far."""
    bits = range(offset_width + 2)
    offsets = sorted({max(0, (1 << bit) + more) for bit in bits for more in (-3, -2, -1, 0, 1)})
    return [
        b"A" * offset + error
        for offset in offsets
        for error in (b"\xff", b"\xe2\x82B\xff" + b"A" * 9)
    ]


def clipped(text: bytes, offset_width: int) -> int:
    """Where CPython finds the first error of a text, with so many bits."""
    with pytest.raises(UnicodeDecodeError) as raised:
        text.decode()
    return min(raised.value.start, (1 << offset_width) - 1)


@pytest.mark.parametrize(("lanes", "offset_width"), [(1, 6), (4, 6), (8, 6), (8, 12), (32, 6)])
def test_offsets_carry_and_saturate(lanes, offset_width):
    engine = quick_engine(Validator(lanes=lanes, offset_width=offset_width))
    texts = around_carries(offset_width)
    for stalls in STALLS["full rate"], STALLS["both slow"]:
        lockstep = Lockstep(engine, Stimulus([(text, True) for text in texts], *stalls))
        taken = Trace.join(list(lockstep)).taken()
        assert lockstep.difference is None
        offsets = taken["o.offset"][taken["o.last"] != 0].tolist()
        assert offsets == [clipped(text, offset_width) for text in texts]


@pytest.mark.sample(2)
@pytest.mark.parametrize("flaw", COUNTER_FLAWS)
def test_a_wrong_carry_or_saturation_is_found(flaw):
    lanes, offset_width, edit = COUNTER_FLAWS[flaw]
    design = altered_lanes(edit).Validator(lanes=lanes, offset_width=offset_width)
    pieces = [(text, True) for text in around_carries(offset_width)]
    assert Lockstep(quick_engine(design), Stimulus(pieces, *STALLS["full rate"])).run()


# Timing, and what is wrong with a model.


def test_credit_as_its_docstring_says():
    """Nothing is taken: 16 beats are accepted, the one at the output among them."""
    engine = AmaranthEngine(WideDecoder(lanes=2))
    assert engine.timing == Credit(7)
    stalls = FixedStalls(), FixedStalls((True,) * 60)
    lockstep = Lockstep(engine, Stimulus([(bytes(80), True)], *stalls))
    trace = Trace.join(list(lockstep))
    assert lockstep.difference is None
    assert trace["i.ready"][:18].tolist() == [0] + 16 * [1] + [0]
    assert trace["o.valid"][:10].tolist() == [0] * 9 + [1]


def looks_at_garbage(items):
    items["i.keep"][:] = 1


def wrong_in_lane_2(items):
    lane = items["i.data"][:, 2]
    for wrong, right in (0xC1, 0xC2), (0xF5, 0xF4):
        lane[lane == wrong] = right


def forgets_the_end_of_a_text(items):
    items["i.last"][:] = 0


def drops_the_last_lane(items):
    items["i.keep"][:, 3] &= items["i.last"]


@pytest.mark.parametrize("make", [Validator, WideDecoder])
@pytest.mark.parametrize(
    "change",
    [looks_at_garbage, wrong_in_lane_2, forgets_the_end_of_a_text, drops_the_last_lane],
)
def test_campaign_finds_a_model_that_is_misled(make, change):
    design = make(lanes=4)
    assert tells_apart(design, misled(design, change))


EDITS = {
    "carry lost": (
        WideDecoder,
        "decoder",
        (
            "            state[PENDING] = 0\n        for lane in range(lanes",
            "            pass\n        state[PENDING] = 0\n        for lane in range(lanes",
        ),
    ),
    "slot 0 empty": (
        WideDecoder,
        "decoder",
        ("if two[token + LENGTH]:", "if two[token + LENGTH] and (lane or token == OWN):"),
    ),
    "last error": (
        Validator,
        "validator",
        (
            "if is_error and text[FIRST_KIND] == NONE:",
            "if is_error and (token == OWN or text[FIRST_KIND] == NONE):",
        ),
    ),
    "error of the text before": (
        Validator,
        "validator",
        (
            "highest)\n            text[BYTES_BEFORE] = text[FIRST_KIND] = text[FIRST_OFFSET] = 0",
            "highest)\n            text[BYTES_BEFORE] = 0",
        ),
    ),
    "offset in the beat": (
        Validator,
        "validator",
        ("text[BYTES_BEFORE] += lanes", "text[BYTES_BEFORE] = 0"),
    ),
}


@pytest.mark.parametrize(("make", "module", "edit"), EDITS.values(), ids=EDITS)
def test_campaign_finds_what_is_wrong_with_a_model(make, module, edit):
    design = make(lanes=4)
    assert tells_apart(design, edited(design, edit, module))


@pytest.mark.parametrize("make", [Validator, WideDecoder])
def test_campaign_finds_wrong_credit(make):
    design = make(lanes=2)
    stages = component_of(design).timing(design).stages
    assert not agrees(timed(design, Credit(stages + 1)))


@pytest.mark.parametrize(
    ("make", "lanes", "profile"),
    [(Validator, 1, WHOLE_UCS4), (WideDecoder, 2, UNICODE), (Validator, 4, EXTENDED)],
)
def test_gateware_agrees(make, lanes, profile):
    assert agrees(quick_engine(make(profile, lanes=lanes)))


# How it is shown.


def test_beats_are_shown_byte_by_byte():
    assert show_beat({"i.data": [0x41, 0xE2, 9, 0], "i.keep": [1, 1, 0, 0]}) == "41 E2 -- --"
    assert show_beat({"i.data": 0x41, "i.keep": 1}) == "41"
    wide = {"i.data": [0x41] * 32, "i.keep": [1, 0, 1] + [0] * 29}
    assert show_beat(wide) == "41 -- 41 (2 of 32 bytes)"


def test_slots_are_shown_by_their_numbers():
    outputs = fed(
        WideDecoder(lanes=8), packed(WideDecoder(lanes=8), (b"Hey \xe2\x82\xac\xf0!\xff", True))
    )
    names = "o.code_point", "o.error", "o.kind", "o.length", "o.last"
    shown = [show_slots(dict(zip(names, output, strict=True))) for output in outputs]
    assert shown == [
        '1..4 "Hey ", 7 U+20AC €',
        "0 truncated (the beat before), 1 U+0021 !, 2 invalid-byte (lane 1)",
    ]
    assert show_slots({"o.code_point": [0, 0], "o.length": [0, 0]}) == "no tokens"


def test_verdicts_are_shown_where_texts_end():
    design = Validator(lanes=2)
    items = packed(design, (b"ab", False), (b"\xc0", True), (b"", True))
    names = [pin.name for pin in interface_of(design).outputs]
    outputs = (dict(zip(names, output, strict=True)) for output in fed(design, items))
    assert list(map(show_verdict, outputs)) == [
        "61 62",
        "C0 --: overlong at 2",
        "-- --: well-formed",
    ]
