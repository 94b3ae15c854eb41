"""The transcoder's golden model: what comes out, and when."""

import pickle
import random
from copy import copy
from dataclasses import replace
from itertools import cycle, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dense import by_arrays, packed, readable, texts_as_piece, with_holes
from hostile import chunks, hostile_bytes
from modelled import EarlyEnd, ModelEngine, NumberOfInput
from reference import BOUNDARY_BYTES
from rtl import STALLS, quick_engine
from utf8_hdl import UCS2, UNICODE, ByteOrder, ErrorSpan, Form, Transcoder
from utf8_sim.components import TRANSCODER, component_of
from utf8_sim.engines.engine import Engine
from utf8_sim.golden.array_timing import ArrayTranscoding
from utf8_sim.golden.packing import Packer
from utf8_sim.golden.text import Output
from utf8_sim.golden.timing import Packing, PackingCycles, Transcoding, TranscodingCycles
from utf8_sim.golden.transcoding import Conversion, TranscoderTransducer, Utf16Reader
from utf8_sim.lockstep import Golden, Lockstep
from utf8_sim.stimulus import RandomStalls, Stimulus
from utf8_sim.trace import Trace

LITTLE, BIG = ByteOrder.LITTLE, ByteOrder.BIG
PAIRS = list(product(Form, Form))
each_pair = pytest.mark.parametrize(
    ("source", "target"), PAIRS, ids=[f"{a.value} to {b.value}" for a, b in PAIRS]
)
each_order = pytest.mark.parametrize("order", ByteOrder, ids=lambda order: order.value)
PROFILES = [
    UNICODE,
    UCS2,
    replace(UNICODE, accept_surrogates=True, accept_noncharacters=False),
    replace(UNICODE, error_span=ErrorSpan.WHOLE_SEQUENCE),
]


def codec(form: Form, order: ByteOrder) -> str:
    """What CPython calls it."""
    return form.value if form is Form.UTF_8 else f"{form.value}-{order.value[0]}e"


def is_wrong(text: bytes, name: str) -> bool:
    try:
        text.decode(name)
    except UnicodeDecodeError:
        return True
    return False


def expected(design: Transcoder, texts: list[bytes]) -> list[tuple[bytes, int]]:
    """What CPython makes of texts, and whether it finds an error."""
    source, target = (codec(form, design.byte_order) for form in (design.from_form, design.to_form))
    return [
        (text.decode(source, "replace").encode(target), int(is_wrong(text, source)))
        for text in texts
    ]


def plain(outputs: list[tuple]) -> list[tuple[bytes, int]]:
    """Outputs as texts, and whether each has an error."""
    texts, text = [], b""
    for _, _, data, keep, last, error in outputs:
        count = sum(keep)
        assert keep == [1] * count + [0] * (len(keep) - count)
        assert last or count == len(keep)
        text += bytes(data[:count])
        if last:
            texts.append((text, error))
            text = b""
        else:
            assert not error
    assert text == b""
    return texts


def units(values: list[int], size: int, order: ByteOrder) -> bytes:
    return b"".join(value.to_bytes(size, order.value) for value in values)


UTF_16 = [0, 0x41, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000]
UTF_16 += [0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF]
UTF_32 = [*UTF_16, 0x10000, 0x10FFFF, 0x110000, 0x10041, 0x200041, 0x80000041, 0xFFFFFFFF]


def short_texts(source: Form, order: ByteOrder) -> list[bytes]:
    """All of one or two bytes, or units at all edges with bytes left over."""
    if source is Form.UTF_8:
        pairs = [bytes(pair) for pair in product(range(256), repeat=2)]
        rng, leads = random.Random(0), bytes.fromhex("C2 E0 E1 ED EF F0 F1 F4 F5")
        edges = [bytes([lead, *two]) for lead in leads for two in product(BOUNDARY_BYTES, repeat=2)]
        longer = [bytes([*rng.choices(leads), *rng.choices(BOUNDARY_BYTES, k=3)]) for _ in edges]
        return [bytes([byte]) for byte in range(256)] + pairs + edges + longer
    size = source.unit_bytes
    edges = UTF_16 if source is Form.UTF_16 else UTF_32
    wholes = [
        units(list(some), size, order) for count in (1, 2) for some in product(edges, repeat=count)
    ]
    if source is Form.UTF_16:
        wholes += [units(list(some), size, order) for some in product(UTF_16[6:], repeat=3)]
    ends = [b"", *(bytes([0xD8] * count) for count in range(1, size))]
    return [whole + end for whole in wholes for end in ends] + ends[1:]


@each_order
@each_pair
def test_short_texts_are_those_of_cpython(source, target, order):
    texts = short_texts(source, order)
    for lanes in {4, 8 if source is Form.UTF_32 else 2}:
        design = Transcoder(UNICODE, lanes, source, target, order)
        items = packed(design, texts_as_piece(texts))
        whole = slice(0, len(items["i.last"]))
        assert plain(by_arrays(design, items, [whole])) == expected(design, texts)
    few = slice(0, 4000)
    design = Transcoder(UNICODE, 4, source, target, order)
    items = packed(design, texts_as_piece(texts[few]))
    assert plain(readable(design, items)) == expected(design, texts[few])


def some_text(source: Form, order: ByteOrder) -> st.SearchStrategy[bytes]:
    """Units at edges, characters, and any bytes."""
    if source is Form.UTF_8:
        return hostile_bytes(UNICODE).map(bytes)
    size = source.unit_bytes
    edges = st.sampled_from(UTF_16 if source is Form.UTF_16 else UTF_32)
    unit = edges.map(lambda value: units([value], size, order))
    character = st.characters(exclude_categories=["Cs"])
    right = character.map(lambda text: text.encode(codec(source, order)))
    return st.lists(st.one_of(unit, unit, right, st.binary(max_size=3)), max_size=20).map(b"".join)


@each_pair
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_texts_are_those_of_cpython(source, target, data):
    order = data.draw(st.sampled_from(ByteOrder))
    lanes = data.draw(
        st.sampled_from([lanes for lanes in (1, 2, 4, 8, 16) if lanes >= source.unit_bytes])
    )
    design = Transcoder(UNICODE, lanes, source, target, order)
    texts = data.draw(st.lists(some_text(source, order), max_size=4))
    pieces = []
    for text in texts:
        empty = data.draw(st.booleans())  # its last beat has no byte
        pieces += [(text, False), (b"", True)] if empty else [(text, True)]
    if texts:
        assert plain(readable(design, packed(design, *pieces))) == expected(design, texts)


@each_pair
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_both_models_say_the_same_even_where_keep_is_wrong(source, target, data):
    order = data.draw(st.sampled_from(ByteOrder))
    lanes = data.draw(
        st.sampled_from([lanes for lanes in (1, 2, 4, 8) if lanes >= source.unit_bytes])
    )
    profile, strips = data.draw(st.sampled_from(PROFILES)), data.draw(st.booleans())
    design = Transcoder(profile, lanes, source, target, order, strip_bom=strips)
    mark = st.just("\ufeff".encode(codec(source, order)))
    text = st.tuples(st.one_of(st.just(b""), mark), some_text(source, order)).map(b"".join)
    pieces = st.lists(st.tuples(text, st.booleans()), max_size=6)
    items = packed(design, *data.draw(pieces), (b"A", False))
    rng = data.draw(st.randoms(use_true_random=False))
    for wrong in False, True:
        with_holes(items, rng, wrong)
        parts = list(chunks(len(items["i.last"]), rng))
        assert by_arrays(design, items, parts) == readable(design, items)


def result(source, target, text, profile=UNICODE, lanes=4, **options) -> bytes:
    """What a text becomes."""
    design = Transcoder(profile, lanes, source, target, **options)
    [(found, _)] = plain(readable(design, packed(design, (text, True))))
    return found


def test_profiles_decide_what_is_an_error():
    lone, pair = "\ud800".encode("utf-16-le", "surrogatepass"), "😀".encode("utf-16-le")
    accepts = replace(UNICODE, accept_surrogates=True)
    to_16 = Form.UTF_16, Form.UTF_16
    assert result(*to_16, lone + b"A\0" + pair, accepts) == lone + b"A\0" + pair
    assert result(*to_16, lone + b"A", accepts) == lone + b"\xfd\xff"
    assert result(*to_16, lone + b"A") == b"\xfd\xff"
    assert result(*to_16, pair + b"A\0", UCS2) == b"\xfd\xffA\0"
    assert result(*to_16, b"\xfe\xff", UCS2) == b"\xfd\xff"
    assert result(Form.UTF_16, Form.UTF_8, lone, accepts) == b"\xed\xa0\x80"
    assert result(Form.UTF_32, Form.UTF_16, lone + b"\0\0", accepts) == lone


@pytest.mark.parametrize("source", Form, ids=lambda form: form.value)
@pytest.mark.parametrize("lanes", [4, 16])
@each_order
def test_a_byte_order_mark_is_left_out_if_it_is_first(source, lanes, order):
    name = codec(source, order)
    for text in "\ufeff", "\ufeffA", "\ufeff\ufeff", "A\ufeff", "", "\ufffe":
        for strips in True, False:
            found = result(
                source,
                Form.UTF_8,
                text.encode(name),
                lanes=lanes,
                byte_order=order,
                strip_bom=strips,
            )
            assert found.decode() == (text.removeprefix("\ufeff") if strips else text)


def test_a_byte_order_mark_behind_a_lane_without_a_byte_stays():
    design = Transcoder(UNICODE, 4, Form.UTF_16, Form.UTF_8, strip_bom=True)
    model = TranscoderTransducer(Conversion.of(design))
    mark = list("\ufeff".encode())
    [output] = model.feed([9, 9, 0xFF, 0xFE], [0, 0, 1, 1], 1)
    assert output.payload[0][:3] == mark
    [output] = model.feed([0xFF, 0xFE, 9, 9], [1, 1, 0, 0], 1)
    assert output.payload[1] == [0] * 8


def test_a_high_surrogate_belongs_to_the_place_before():
    """It fills the output beat of the input beat before, which is known with the next one."""
    design = Transcoder(UNICODE, 4, Form.UTF_8, Form.UTF_16)
    outputs = readable(design, packed(design, (b"ABCDEFG" + "😀".encode(), True)))
    assert [(n, cut, bytes(data[: sum(keep)])) for n, cut, data, keep, *_ in outputs] == [
        (2, True, "ABCD".encode("utf-16-le")),
        (2, False, "EFG😀".encode("utf-16-le")[:8]),
        (2, False, "😀".encode("utf-16-le")[2:]),
    ]


# Timing, and all of it together.


def agrees(engine: Engine, gaps: bool = True) -> bool:
    """True if all parts of the campaign agree, which then meet every class in every case."""
    coverage = engine.component.coverage(engine)
    parts = engine.component.campaign(engine.design, 0)
    for part, stalls in zip(parts, cycle(STALLS.values()), strict=False):
        lockstep = Lockstep(engine, Stimulus(part.pieces(), *stalls))
        for trace in lockstep:
            coverage.add(trace)
        if lockstep.difference:
            return False
    assert coverage.cells.all()
    return True


@each_pair
def test_campaign_agrees_and_leaves_no_gap(source, target):
    number = PAIRS.index((source, target))
    lanes = max(source.unit_bytes, (2, 8, 1)[number % 3])
    design = Transcoder(
        PROFILES[number % 4], lanes, source, target, (LITTLE, BIG)[number % 2], number % 2 == 1
    )
    assert agrees(ModelEngine(design))


SLOW = RandomStalls(0.3, 1), RandomStalls(0.9, 2)
TIMINGS = [Transcoding(9, 11), Transcoding(1, 2), Transcoding(10, 20)]


def mixed_text(design, beats: int, seed: int):
    """Beats some of which have no byte."""
    items = packed(design, (random.Random(seed).randbytes(beats * design.lanes), False))
    keep = np.random.default_rng(seed)
    items["i.keep"][keep.random(beats) < 0.4] = 0
    items["i.last"][keep.random(beats) < 0.1] = 1
    return items


@pytest.mark.parametrize("timing", TIMINGS, ids=str)
@pytest.mark.parametrize("size", [2, 7, 64])
def test_transcoding_in_windows(timing, size):
    design = Transcoder(UNICODE, 2, Form.UTF_8, Form.UTF_8)
    engine = ModelEngine(design)
    engine.timing, engine.window = timing, size
    for text in bytes(100), b"\xff" * 200:
        for stalls in (*STALLS.values(), SLOW):
            pieces = [(text, True), mixed_text(design, 80, 1)]
            lockstep = Lockstep(engine, Stimulus(pieces, *stalls))
            trace = Trace.join(list(lockstep))
            assert lockstep.difference is None
    assert (trace["i.ready"][20:150] == 0).any()  # too many were outstanding


def test_a_copy_of_a_timing_shares_nothing_that_changes():
    engine = ModelEngine(Transcoder(UNICODE, 2, Form.UTF_8, Form.UTF_8))
    trace = Trace.join(list(engine.run(Stimulus([(b"\xff" * 200, True)]))))
    model = Golden(engine)
    model.expected(trace[:40])
    kept = copy(model.timing)
    before = pickle.dumps(kept)
    model.expected(trace[40:80])
    assert pickle.dumps(kept) == before


def events(pieces, stalls=STALLS["full rate"], lanes: int = 4) -> Trace:
    engine = ModelEngine(Transcoder(UNICODE, lanes, Form.UTF_8, Form.UTF_16))
    return Trace.join(list(Lockstep(engine, Stimulus(pieces, *stalls))))


def test_latency_is_as_its_docstring_says():
    """The first output is cut by the input of cycle 3; the others are brought about by it alone."""
    timing = TRANSCODER.timing(Transcoder())
    assert (timing.latency, timing.latency_of_full, timing.latency_of_cut) == (24, 23, 22)
    trace = events([(b"A" * 12, True)])
    assert np.flatnonzero(trace.is_accepted).tolist() == [1, 2, 3]
    assert np.flatnonzero(trace["o.valid"]).tolist() == [3 + 22, 3 + 23, 3 + 24]
    trace = events([(b"A", True), (b"B", True)])
    assert np.flatnonzero(trace["o.valid"]).tolist() == [1 + 24, 2 + 24]


def test_nothing_is_lost_while_nothing_is_taken():
    """Each of the two pipelines has what its credit allows."""
    engine = ModelEngine(Transcoder(UNICODE, 4, Form.UTF_8, Form.UTF_16))
    stalls = RandomStalls(), RandomStalls(0.995, 1)
    trace = Trace.join(list(Lockstep(engine, Stimulus([(bytes(4 * 60), True)], *stalls))))
    first_taken = int(trace.is_taken.argmax())
    assert np.count_nonzero(trace.is_accepted[:first_taken]) == 16 + 16
    assert np.count_nonzero(trace.is_taken) == 60


OF_READING = "_arrives", "_numbers", "_ends", "_accepted", "_ready"
STATE = "_held", "_known", "_open", "_accepted", "_ends", "_arrives", "_numbers"


def nothing_like(value):
    if isinstance(value, list):
        return [0 for _ in value]
    return np.zeros_like(value) if isinstance(value, np.ndarray) else type(value)()


@pytest.mark.parametrize(
    ("of_reading", "forgotten"),
    [*product([True], OF_READING), *product([False], STATE)],
)
def test_a_model_that_forgets_at_the_end_of_a_window_is_found(of_reading, forgotten, monkeypatch):
    flow = ArrayTranscoding.flow

    def forgetful(timing, *arguments):
        whose = timing._reading if of_reading else timing
        setattr(whose, forgotten, nothing_like(getattr(whose, forgotten)))
        return flow(timing, *arguments)

    monkeypatch.setattr(ArrayTranscoding, "flow", forgetful)
    engine = ModelEngine(Transcoder(UNICODE, 2, Form.UTF_8, Form.UTF_16))
    engine.timing, engine.window = Transcoding(16, 16), 5
    pieces = [mixed_text(engine.design, 200, 2)]
    runs = [Lockstep(engine, Stimulus(pieces, *stalls)) for stalls in (*STALLS.values(), SLOW)]
    assert any(run.run() for run in runs)


def broken_reading(of: type[PackingCycles]) -> TranscodingCycles:
    """The chain with another first pipeline."""
    cycles = Transcoding(9, 11).cycles()
    cycles._reading = of(Packing(9), cycles._reading._ends)
    return cycles


@pytest.mark.parametrize(
    "cycles",
    [
        Transcoding(10, 11).cycles,
        Transcoding(9, 12).cycles,
        lambda: broken_reading(EarlyEnd),
        lambda: broken_reading(NumberOfInput),
    ],
    ids=["slow reading", "slow packing", "early end of reading", "another number"],
)
def test_campaign_finds_a_wrong_timing(cycles):
    design = Transcoder(UNICODE, 2, Form.UTF_8, Form.UTF_16)
    assert not agrees(ModelEngine(design, cycles=cycles()))


class Broken(TranscoderTransducer):
    """It is fed something else than it should be."""

    def __init__(self, conversion, change) -> None:
        super().__init__(conversion)
        self._change = change

    def feed(self, *item) -> list[Output]:
        return super().feed(*self._change(*item))


CHANGES = {
    "looks at garbage": lambda data, keep, last: (data, [1] * len(keep), last),
    "drops the last lane": lambda data, keep, last: (data, [*keep[:-1], keep[-1] & last], last),
    "forgets a bit": lambda data, keep, last: ([*data[:-1], data[-1] & 0xBF], keep, last),
    "forgets empty texts": lambda data, keep, last: (data, keep, last * any(keep)),
    "forgets what is left over": lambda data, keep, last: (
        (data, [n & m for n, m in zip(keep, [*keep[1:], 0], strict=True)], last)
        if sum(keep) % 2
        else (data, keep, last)
    ),
}


@pytest.mark.parametrize("source", Form, ids=lambda form: form.value)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_campaign_finds_a_design_that_is_wrong_about_its_input(source, change):
    design = Transcoder(UNICODE, 4, source, Form.UTF_16)
    assert not agrees(ModelEngine(design, Broken(Conversion.of(design), change)))


class HighKept(Utf16Reader):
    """It takes a high surrogate from one text to the next."""

    def found(self, data, keep, last):
        return super().found(data, keep, 0)


class HolesIgnored(Utf16Reader):
    """A pair may have units between it that are not there."""

    def _found_at(self, place, unit, kept):
        return super()._found_at(place, unit, kept) if kept else iter(())


class LeftOverAlone(Utf16Reader):
    """A byte left over behind a high surrogate is an error of its own."""

    def _found_at(self, place, unit, kept):
        if kept == 1:
            yield from self._unpaired(place)
        yield from super()._found_at(place, unit, kept)


@pytest.mark.parametrize("broken", [HighKept, HolesIgnored, LeftOverAlone])
def test_campaign_finds_a_wrong_reader(broken):
    design = Transcoder(UNICODE, 4, Form.UTF_16, Form.UTF_8)
    model = TranscoderTransducer(Conversion.of(design))
    model._reader = broken(Conversion.of(design))
    assert not agrees(ModelEngine(design, model))


class OldError(TranscoderTransducer):
    """It remembers the error of the text before."""

    def _begin_text(self) -> None:
        before = getattr(self, "_error", False)
        super()._begin_text()
        self._error = before


class LastBeatOnly(TranscoderTransducer):
    """It forgets an error before the last beat."""

    def feed(self, *item) -> list[Output]:
        self._error = False
        return super().feed(*item)


class MarkAnywhere(TranscoderTransducer):
    """It strips a byte order mark wherever one is."""

    def _is_bom(self, found) -> bool:
        return found.code_point == 0xFEFF


class MarkIgnoresHoles(TranscoderTransducer):
    """It strips one that is first, also behind lanes without a byte."""

    def _begin_text(self) -> None:
        super()._begin_text()
        self._is_first = True

    def _is_bom(self, found) -> bool:
        is_first, self._is_first = self._is_first, False
        return is_first and found.code_point == 0xFEFF


class MarkInEveryFourthBeat(TranscoderTransducer):
    """It counts the beats of a text with two bits, and begins again."""

    def feed(self, *item) -> list[Output]:
        self._lanes_before %= 4 * self._conversion.lanes
        return super().feed(*item)


MISTAKES = [OldError, LastBeatOnly, MarkAnywhere, MarkIgnoresHoles, MarkInEveryFourthBeat]


@pytest.mark.parametrize("source", Form, ids=lambda form: form.value)
@pytest.mark.parametrize("broken", MISTAKES)
def test_campaign_finds_what_is_wrong_with_a_result(source, broken):
    design = Transcoder(UNICODE, 8, source, Form.UTF_8, strip_bom=True)
    assert not agrees(ModelEngine(design, broken(Conversion.of(design))))


class HighInItsPlace(Conversion):
    """A high surrogate belongs to the place of its pair."""

    early_high = 0
    out_lanes = 8


def test_campaign_finds_a_high_surrogate_in_another_beat():
    design = Transcoder(UNICODE, 4, Form.UTF_8, Form.UTF_16)
    model = TranscoderTransducer(HighInItsPlace.of(design))
    model._packer = Packer(8)
    assert not agrees(ModelEngine(design, model))


@pytest.mark.parametrize(
    "options",
    [
        (UNICODE, 2, Form.UTF_8, Form.UTF_16),
        (UCS2, 4, Form.UTF_16, Form.UTF_8, BIG, True),
        (PROFILES[2], 4, Form.UTF_32, Form.UTF_16),
    ],
    ids=["utf-8 to utf-16", "utf-16 to utf-8", "utf-32 to utf-16"],
)
def test_gateware_agrees(options):
    assert agrees(quick_engine(Transcoder(*options)))


def test_outputs_are_shown_byte_by_byte():
    assert component_of(Transcoder()) is TRANSCODER
    output = {"o.data": [0x41, 0, 7, 7], "o.keep": [1, 1, 0, 0], "o.last": 1, "o.error": 0}
    assert TRANSCODER.show_result(output) == "41 00 -- --"
    assert TRANSCODER.show_result({**output, "o.error": 1}) == "41 00 -- -- error"
