"""Components with lanes: their golden models, what is driven, and how beats are shown."""

from collections.abc import Iterator
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import chunks, hostile_bytes
from modelled import ModelEngine
from reference import ref_tokens
from rtl import (
    ALL_RULES,
    COUNTER_FLAWS,
    ODD_PROFILES,
    STALLS,
    WHOLE_UCS4,
    altered_lanes,
    quick_engine,
)
from utf8_hdl import EXTENDED, UNICODE, Decoder, Kind, Validator
from utf8_sim.components import component_of
from utf8_sim.components.beats import show_beat, show_slots, show_verdict
from utf8_sim.engines.engine import Engine, interface_of
from utf8_sim.golden.array_timing import ArrayCredit
from utf8_sim.golden.lanes import SlotsTransducer, VerdictTransducer
from utf8_sim.golden.text import DecoderTransducer
from utf8_sim.golden.timing import Credit
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import RandomStalls, Stimulus
from utf8_sim.trace import Columns, Trace

VARIANTS = list((ALL_RULES | ODD_PROFILES).values())
MAKERS = {
    **{f"validator, {lanes}": partial(Validator, lanes=lanes) for lanes in (1, 2, 4, 8, 64)},
    "validator, 4, offset of 6 bits": partial(Validator, lanes=4, offset_width=6),
    **{f"decoder, {lanes}": partial(Decoder, lanes=lanes) for lanes in (2, 4, 8, 64)},
}
each_design = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


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


def readable(design, items: Columns) -> list[tuple]:
    """What comes out for some inputs."""
    model = component_of(design).transducer(design)
    rows = zip(*(column.tolist() for column in items.values()), strict=True)
    return [payload for row in rows for payload, _ in model.feed(*row)]


def by_arrays(design, items: Columns, parts: Iterator[slice]) -> list[tuple]:
    model, pins = component_of(design).array_transducer(design), interface_of(design).outputs
    outputs: list[tuple] = []
    for part in parts:
        fed = model.feed({name: column[part] for name, column in items.items()})
        assert fed.brought_by.tolist() == list(range(part.stop - part.start))
        columns = [fed.columns[pin.name] for pin in pins]
        assert [column.dtype for column in columns] == [pin.dtype for pin in pins]
        outputs += zip(*(column.tolist() for column in columns), strict=True)
    return outputs


@each_design
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_both_models_say_the_same_even_where_keep_is_wrong(make, data):
    design = make(data.draw(st.sampled_from(VARIANTS)))
    text = st.tuples(hostile_bytes(design.profile), st.booleans())
    items = packed(design, *data.draw(st.lists(text, max_size=6)))
    rng = data.draw(st.randoms(use_true_random=False))
    for wrong in 0, 1:
        for name in "i.keep", "i.last":
            flips = rng.choices((0, wrong), (8, 1), k=items[name].size)
            items[name] ^= np.array(flips, dtype=np.uint8).reshape(items[name].shape)
        parts = chunks(len(items["i.last"]), rng)
        assert by_arrays(design, items, parts) == readable(design, items)


def is_cut(text: bytes, token) -> bool:
    """Whether only what follows an error's bytes says that it is one."""
    return token.error is not None and 0xC2 <= text[token.offset] <= 0xF4


HOSTILE = st.lists(hostile_bytes(UNICODE).map(bytes), max_size=3)


@pytest.mark.parametrize("lanes", [2, 4, 64])
@given(texts=HOSTILE, empty=st.booleans())
@settings(deadline=None)
def test_slots_have_the_tokens_of_cpython(lanes, texts, empty):
    """With ``empty``, texts that fill their last beat are ended by one without a byte."""
    design, pieces, expected, begin = Decoder(lanes=lanes), [], {}, 0
    for text in texts:
        pieces += [(text, False), (b"", True)] if empty else [(text, True)]
        for token in ref_tokens(text):
            end = token.offset + token.length
            beat, lane = divmod(end - 1, lanes)
            waits = lane == lanes - 1 and is_cut(text, token) and (end < len(text) or empty)
            place = (begin + beat + 1, 0) if waits else (begin + beat, lane + 1)
            expected[place] = token.code_point, token.error or "none", token.length
        begin += len(text) // lanes + 1 if empty else max(1, -(-len(text) // lanes))
    outputs = readable(design, packed(design, *pieces))
    assert len(outputs) == begin
    found = {}
    for beat, (*fields, _) in enumerate(outputs):
        for slot, (code_point, error, kind, length) in enumerate(zip(*fields, strict=True)):
            assert bool(error) == bool(kind)
            if length:
                found[beat, slot] = code_point, Kind(kind).label, length
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
    outputs = readable(design, items)
    rows = zip(*(column.tolist() for column in items.values()), strict=True)
    assert [output[:3] for output in outputs] == list(rows)
    assert all(output[3:] == (0, 0, 0) for output in outputs if not output[2])
    verdicts = [output[3:] for output in outputs if output[2]]
    assert [(error, Kind(kind).label, offset) for error, kind, offset in verdicts] == expected


def test_an_offset_that_is_too_high_stays_at_the_highest():
    model = VerdictTransducer(UNICODE, 2)
    model._lanes_before = (1 << 32) - 2
    assert model.feed([0xFF, 0xFF], [1, 1], 1)[0].payload[3:] == (1, 2, (1 << 32) - 2)
    for before in (1 << 32) - 2, 1 << 32:
        model._lanes_before = before
        assert model.feed([0x41, 0xFF], [1, 1], 1)[0].payload[3:] == (1, 2, (1 << 32) - 1)


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


# Timing, and all of it together: the vectorised model looks at what the readable one does.


def agrees(engine: Engine) -> bool:
    """True if all parts of the campaign agree, which then meet every class in every case."""
    coverage = engine.component.coverage(engine)
    parts = [part for part in engine.component.campaign(engine.design, 0) if not part.is_long]
    for part, stalls in zip(parts, cycle(STALLS.values()), strict=False):
        lockstep = Lockstep(engine, Stimulus(part.pieces(), *stalls))
        for trace in lockstep:
            coverage.add(trace)
        if lockstep.difference:
            return False
    assert coverage.cells.all()
    return True


@each_design
def test_campaign_agrees_and_leaves_no_gap(make):
    lanes = make.keywords["lanes"]
    design = make(EXTENDED if lanes == 4 else UNICODE, lanes=min(lanes, 16))
    assert agrees(ModelEngine(design))


@pytest.mark.parametrize("stages", [1, 7, 12])
@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_credit_in_windows(stages, size):
    engine = ModelEngine(Validator(lanes=2))
    engine.timing, engine.window = Credit(stages), size
    text = bytes(range(256))
    very_slow = RandomStalls(0.3, 1), RandomStalls(0.9, 2)
    for stalls in (*STALLS.values(), very_slow):
        lockstep = Lockstep(engine, Stimulus([(text, True)], *stalls))
        trace = Trace.join(list(lockstep))
        assert lockstep.difference is None
        assert np.count_nonzero(trace.is_taken) == 128
    assert (trace["i.ready"][20:200] == 0).any()  # too many were outstanding


def test_credit_as_its_docstring_says():
    """Nothing is taken: 16 beats are accepted, the one at the output among them."""
    engine = ModelEngine(Validator(lanes=1))
    engine.timing = Credit(7)
    stalls = RandomStalls(), RandomStalls(0.999, 1)
    trace = Trace.join(list(Lockstep(engine, Stimulus([(bytes(40), True)], *stalls))))
    assert trace["i.ready"][:18].tolist() == [0] + 16 * [1] + [0]
    assert trace["o.valid"][:10].tolist() == [0] * 9 + [1]


@pytest.mark.parametrize("forgotten", ["_ready", "_arrives"])
def test_a_model_that_forgets_at_the_end_of_a_window_is_found(forgotten, monkeypatch):
    flow = ArrayCredit.flow

    def forgetful(timing, *arguments):
        setattr(timing, forgotten, getattr(ArrayCredit(Credit(7)), forgotten))
        return flow(timing, *arguments)

    monkeypatch.setattr(ArrayCredit, "flow", forgetful)
    engine = ModelEngine(Decoder(lanes=2))
    engine.window = 5
    assert Lockstep(engine, Stimulus([(bytes(100), True)], *STALLS["slow consumer"])).run()


class Broken:
    """A transducer that is fed something else than what it should be."""

    def __init__(self, transducer, change) -> None:
        self._transducer = transducer
        self._change = change

    def feed(self, *item: Any):
        return self._transducer.feed(*self._change(*map(np.copy, item)))


def looks_at_garbage(data, keep, last):
    return data.tolist(), [1] * len(keep), int(last)


def wrong_in_lane_2(data, keep, last):
    data[2] = {0xC1: 0xC2, 0xF5: 0xF4}.get(int(data[2]), data[2])
    return data.tolist(), keep.tolist(), int(last)


def forgets_the_end_of_a_text(data, keep, last):
    return data.tolist(), keep.tolist(), 0


def drops_the_last_lane(data, keep, last):
    keep[3] &= last
    return data.tolist(), keep.tolist(), int(last)


@pytest.mark.parametrize("make", [Validator, Decoder])
@pytest.mark.parametrize(
    "change",
    [looks_at_garbage, wrong_in_lane_2, forgets_the_end_of_a_text, drops_the_last_lane],
)
def test_campaign_finds_a_design_that_is_wrong_about_its_input(make, change):
    design = make(lanes=4)
    transducer = component_of(design).transducer(design)
    assert not agrees(ModelEngine(design, Broken(transducer, change)))


class CarryLost(DecoderTransducer):
    """It forgets what is unfinished after each fourth byte."""

    fed = 0

    def feed(self, *item: Any):
        self.fed += 1
        if self.fed % 4 == 1:
            self._text.pending = b""
        return super().feed(*item)


class SlotZeroEmpty(SlotsTransducer):
    def feed(self, *item: Any):
        [output] = super().feed(*item)
        *fields, last = output.payload
        return [output._replace(payload=(*([0, *field[1:]] for field in fields), last))]


class LastError(VerdictTransducer):
    """It reports the last error of a text."""

    def feed(self, *item: Any):
        before = self._verdict
        self._verdict = 0, 0, 0
        outputs = super().feed(*item)
        if not item[-1] and not self._verdict[0]:
            self._verdict = before
        return outputs


class OldError(VerdictTransducer):
    """It remembers the error of the text before."""

    def _begin_text(self) -> None:
        self._lanes_before = 0
        self._verdict = getattr(self, "_verdict", (0, 0, 0))


class OffsetOfBeat(VerdictTransducer):
    """It does not count the beats of a text."""

    def feed(self, *item: Any):
        self._lanes_before = 0
        return super().feed(*item)


@pytest.mark.parametrize("broken", [SlotZeroEmpty, LastError, OldError, OffsetOfBeat])
def test_campaign_finds_what_is_wrong_with_a_result(broken):
    make = Decoder if broken is SlotZeroEmpty else Validator
    assert not agrees(ModelEngine(make(lanes=4), broken(UNICODE, 4)))


@pytest.mark.parametrize("make", [Validator, Decoder])
def test_campaign_finds_a_lost_carry(make):
    design = make(lanes=4)
    model = component_of(design).transducer(design)
    model._lanes._bytes = CarryLost(UNICODE)
    assert not agrees(ModelEngine(design, model))


@pytest.mark.parametrize("make", [Validator, Decoder])
def test_campaign_finds_wrong_credit(make):
    design = make(lanes=2)
    timing = component_of(design).timing(design)
    assert not agrees(ModelEngine(design, cycles=Credit(timing.stages + 1).cycles()))


@pytest.mark.parametrize(
    ("make", "lanes", "profile"),
    [(Validator, 1, WHOLE_UCS4), (Decoder, 2, UNICODE), (Validator, 4, EXTENDED)],
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
    outputs = readable(
        Decoder(lanes=8), packed(Decoder(lanes=8), (b"Hey \xe2\x82\xac\xf0!\xff", True))
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
    outputs = (dict(zip(names, output, strict=True)) for output in readable(design, items))
    assert list(map(show_verdict, outputs)) == [
        "61 62",
        "C0 --: overlong at 2",
        "-- --: well-formed",
    ]
