"""The transcoder's golden model: what comes out, and when."""

import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dense import fed, packed, texts_as_piece
from hostile import hostile_bytes
from modelled import agrees, edited, misled, mistimed, tells_apart, timed
from reference import BOUNDARY_BYTES
from rtl import STALLS, quick_engine
from utf8_hdl import UCS2, UNICODE, EncodingScheme, ErrorSpan, Profile, Transcoder
from utf8_sim.components import TRANSCODER, component_of
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.golden.timing import Packing
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import FixedStalls, Stimulus
from utf8_sim.trace import Trace

PAIRS = list(product(EncodingScheme, EncodingScheme))
each_pair = pytest.mark.parametrize(
    ("source", "target"), PAIRS, ids=[f"{a.value} to {b.value}" for a, b in PAIRS]
)
each_source = pytest.mark.parametrize("source", EncodingScheme, ids=lambda scheme: scheme.value)
UTF_8, UTF_16LE, UTF_32LE = (
    EncodingScheme.UTF_8,
    EncodingScheme.UTF_16LE,
    EncodingScheme.UTF_32LE,
)
each_form = pytest.mark.parametrize(
    "source", [UTF_8, UTF_16LE, UTF_32LE], ids=lambda scheme: scheme.value
)
PROFILES = [
    UNICODE,
    UCS2,
    replace(UNICODE, accept_surrogates=True, accept_noncharacters=False),
    replace(UNICODE, error_span=ErrorSpan.WHOLE_SEQUENCE),
]


def transcoder(
    lanes: int,
    source: EncodingScheme,
    target: EncodingScheme,
    profile: Profile = UNICODE,
    strip_bom: bool = False,
) -> Transcoder:
    return Transcoder(profile, lanes=lanes, source=source, target=target, strip_bom=strip_bom)


def is_wrong(text: bytes, name: str) -> bool:
    try:
        text.decode(name)
    except UnicodeDecodeError:
        return True
    return False


def expected(design: Transcoder, texts: list[bytes]) -> list[tuple[bytes, int]]:
    """What CPython makes of texts, and whether it finds an error."""
    source, target = design.source.value, design.target.value
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


def units(values: Iterable[int], scheme: EncodingScheme) -> bytes:
    size, order = SIZES[scheme.value[4:6]], "big" if scheme.value.endswith("be") else "little"
    return b"".join(value.to_bytes(size, order) for value in values)


SIZES = {"8": 1, "16": 2, "32": 4}


UTF_16 = [0, 0x41, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000]
UTF_16 += [0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF]
UTF_32 = [*UTF_16, 0x10000, 0x10FFFF, 0x110000, 0x10041, 0x200041, 0x80000041, 0xFFFFFFFF]


def short_texts(source: EncodingScheme) -> list[bytes]:
    """All of one or two bytes, or units at all edges with bytes left over."""
    if source is UTF_8:
        pairs = [bytes(pair) for pair in product(range(256), repeat=2)]
        rng, leads = random.Random(0), bytes.fromhex("C2 E0 E1 ED EF F0 F1 F4 F5")
        edges = [bytes([lead, *two]) for lead in leads for two in product(BOUNDARY_BYTES, repeat=2)]
        longer = [bytes([*rng.choices(leads), *rng.choices(BOUNDARY_BYTES, k=3)]) for _ in edges]
        return [bytes([byte]) for byte in range(256)] + pairs + edges + longer
    size = source.unit_bytes
    edges = UTF_16 if source.unit_bytes == 2 else UTF_32
    wholes = [units(some, source) for count in (1, 2) for some in product(edges, repeat=count)]
    if source.unit_bytes == 2:
        wholes += [units(some, source) for some in product(UTF_16[6:], repeat=3)]
    ends = [b"", *(bytes([0xD8] * count) for count in range(1, size))]
    return [whole + end for whole in wholes for end in ends] + ends[1:]


@each_pair
def test_short_texts_are_those_of_cpython(source, target):
    texts = short_texts(source)
    for lanes in {4, 8 if source.unit_bytes == 4 else 2}:
        design = transcoder(lanes, source, target)
        items = packed(design, texts_as_piece(texts))
        assert plain(fed(design, items)) == expected(design, texts)


def some_text(source: EncodingScheme) -> st.SearchStrategy[bytes]:
    """Units at edges, characters, and any bytes."""
    if source is UTF_8:
        return hostile_bytes(UNICODE).map(bytes)
    edges = st.sampled_from(UTF_16 if source.unit_bytes == 2 else UTF_32)
    unit = edges.map(lambda value: units([value], source))
    character = st.characters(exclude_categories=["Cs"])
    right = character.map(lambda text: text.encode(source.value))
    return st.lists(st.one_of(unit, unit, right, st.binary(max_size=3)), max_size=20).map(b"".join)


@each_pair
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_texts_are_those_of_cpython(source, target, data):
    lanes = data.draw(
        st.sampled_from([lanes for lanes in (1, 2, 4, 8, 16) if lanes >= source.unit_bytes])
    )
    design = transcoder(lanes, source, target)
    texts = data.draw(st.lists(some_text(source), max_size=4))
    pieces = []
    for text in texts:
        empty = data.draw(st.booleans())  # its last beat has no byte
        pieces += [(text, False), (b"", True)] if empty else [(text, True)]
    if texts:
        assert plain(fed(design, packed(design, *pieces))) == expected(design, texts)


def result(source, target, text, profile=UNICODE, lanes=4, **options) -> bytes:
    """What a text becomes."""
    design = transcoder(lanes, source, target, profile, **options)
    [(found, _)] = plain(fed(design, packed(design, (text, True))))
    return found


def test_profiles_decide_what_is_an_error():
    lone, pair = "\ud800".encode("utf-16-le", "surrogatepass"), "😀".encode("utf-16-le")
    accepts = replace(UNICODE, accept_surrogates=True)
    to_16 = UTF_16LE, UTF_16LE
    assert result(*to_16, lone + b"A\0" + pair, accepts) == lone + b"A\0" + pair
    assert result(*to_16, lone + b"A", accepts) == lone + b"\xfd\xff"
    assert result(*to_16, lone + b"A") == b"\xfd\xff"
    assert result(*to_16, pair + b"A\0", UCS2) == b"\xfd\xffA\0"
    assert result(*to_16, b"\xfe\xff", UCS2) == b"\xfd\xff"
    assert result(UTF_16LE, UTF_8, lone, accepts) == b"\xed\xa0\x80"
    assert result(UTF_32LE, UTF_16LE, lone + b"\0\0", accepts) == lone


@each_source
@pytest.mark.parametrize("lanes", [4, 16])
def test_a_byte_order_mark_is_left_out_if_it_is_first(source, lanes):
    for text in "\ufeff", "\ufeffA", "\ufeff\ufeff", "A\ufeff", "", "\ufffe":
        for strips in True, False:
            found = result(
                source,
                UTF_8,
                text.encode(source.value),
                lanes=lanes,
                strip_bom=strips,
            )
            assert found.decode() == (text.removeprefix("\ufeff") if strips else text)


def test_a_byte_order_mark_behind_a_lane_without_a_byte_stays():
    design = transcoder(4, UTF_16LE, UTF_8, strip_bom=True)
    rows = {
        "i.data": [[9, 9, 0xFF, 0xFE], [0xFF, 0xFE, 9, 9]],
        "i.keep": [[0, 0, 1, 1], [1, 1, 0, 0]],
        "i.last": [1, 1],
    }
    items = {name: np.array(levels, dtype=np.uint8) for name, levels in rows.items()}
    assert plain(fed(design, items)) == [("\ufeff".encode(), 0), (b"", 0)]


def test_a_high_surrogate_belongs_to_the_place_before():
    """It fills the output beat of the input beat before, which is known with the next one."""
    design = transcoder(4, UTF_8, UTF_16LE)
    outputs = fed(design, packed(design, (b"ABCDEFG" + "😀".encode(), True)))
    assert [(n, cut, bytes(data[: sum(keep)])) for n, cut, data, keep, *_ in outputs] == [
        (2, True, "ABCD".encode("utf-16-le")),
        (2, False, "EFG😀".encode("utf-16-le")[:8]),
        (2, False, "😀".encode("utf-16-le")[2:]),
    ]


# Timing, and what is wrong with a model.


def events(pieces, stalls=STALLS["full rate"], lanes: int = 4) -> Trace:
    engine = AmaranthEngine(transcoder(lanes, UTF_8, UTF_16LE))
    lockstep = Lockstep(engine, Stimulus(pieces, *stalls))
    trace = Trace.join(list(lockstep))
    assert lockstep.difference is None
    return trace


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
    """30 beats are outstanding, and two more are behind these: one in the join, one not full."""
    trace = events([(bytes(4 * 60), True)], (FixedStalls(), FixedStalls((True,) * 90)))
    first_taken = int(trace.is_taken.argmax())
    assert np.count_nonzero(trace.is_accepted[:first_taken]) == 30 + 2
    assert np.count_nonzero(trace.is_taken) == 60


def narrow() -> Transcoder:
    return transcoder(2, UTF_8, UTF_16LE)


@pytest.mark.parametrize(
    "timing", [Packing(21, 16, True), Packing(20, 17, True), Packing(20, 16)], ids=str
)
def test_campaign_finds_a_stage_too_many(timing):
    assert not agrees(timed(narrow(), timing))


WRONG_TIMING = {
    "a text's last beat waits for nothing": (
        "waits * (1 - queue.cut[known]) + queue.ends[known]",
        "waits * (1 - queue.cut[known] - queue.ends[known]) + queue.ends[known]",
    ),
    "an input waits for as many as in a compactor": (
        "room = MAX_IN_PACKING - 1 - waits",
        "room = MAX_IN_PACKING - 1",
    ),
}


@pytest.mark.parametrize("edit", WRONG_TIMING.values(), ids=WRONG_TIMING)
def test_campaign_finds_a_wrong_timing(edit):
    assert not agrees(mistimed(narrow(), edit))


def looks_at_garbage(items):
    items["i.keep"][:] = 1


def drops_the_last_lane(items):
    items["i.keep"][:, -1] &= items["i.last"]


def forgets_a_bit(items):
    items["i.data"][:, -1] &= 0xBF


def forgets_empty_texts(items):
    items["i.last"] &= items["i.keep"].any(axis=1)


def forgets_what_is_left_over(items):
    keep = items["i.keep"]
    odd = keep.sum(axis=1) % 2 == 1
    keep[odd, :-1] &= keep[odd, 1:]
    keep[odd, -1] = 0


CHANGES = [
    looks_at_garbage,
    drops_the_last_lane,
    forgets_a_bit,
    forgets_empty_texts,
    forgets_what_is_left_over,
]


@each_form
@pytest.mark.parametrize("change", CHANGES)
def test_campaign_finds_a_model_that_is_misled(source, change):
    design = transcoder(4, source, UTF_16LE)
    assert tells_apart(design, misled(design, change))


WRONG_READER = {
    "a high surrogate goes from text to text": (
        "for place in range(forms.places + last[beat]):",
        "for place in range(forms.places + last[beat] * (forms.from_unit != UTF_16)):",
    ),
    "a pair may have a gap between": (
        "    high, number = state.text[UNPAIRED], 0\n",
        "    high, number = state.text[UNPAIRED], 0\n    if not kept and high:\n        return 0\n",
    ),
    "a byte left over is an error of its own": (
        "if high and rules.accept_surrogates:",
        "if high:",
    ),
}


@pytest.mark.parametrize("edit", WRONG_READER.values(), ids=WRONG_READER)
def test_campaign_finds_a_wrong_reader(edit):
    design = transcoder(4, UTF_16LE, UTF_8)
    assert tells_apart(design, edited(design, edit, "transcoder"))


MARK = "    if forms.strip_bom and value == BOM and is_first:"
WRONG_RESULT = {
    "the error of the text before": (
        "        state.text[number] = 0",
        "        state.text[number] *= number == FIRST_KIND",
    ),
    "an error of the last beat only": (
        "        state.text[IS_BEFORE] = 1",
        "        state.text[IS_BEFORE], state.text[FIRST_KIND] = 1, 0",
    ),
    "a mark anywhere": (MARK, MARK.replace("is_first", "True")),
    "beats are counted with two bits": (
        "        state.text[UNITS_BEFORE] += forms.places",
        "        state.text[UNITS_BEFORE] = (state.text[UNITS_BEFORE] + forms.places) % "
        "(4 * forms.places)",
    ),
}


@each_form
@pytest.mark.parametrize("edit", WRONG_RESULT.values(), ids=WRONG_RESULT)
def test_campaign_finds_what_is_wrong_with_a_result(source, edit):
    design = transcoder(8, source, UTF_8, strip_bom=True)
    assert tells_apart(design, edited(design, edit, "transcoder"))


FIRST = "        if state.text[FIRST_KIND] == NONE:"
WRONG_REPORT = {
    "the newest error": (FIRST, "        if True:"),
    "the offset is that of the unit behind": (
        "place + 1 - state.found[at + SIZE]",
        "place + 2 - state.found[at + SIZE]",
    ),
    "the errors of the text before": (
        "        state.text[number] = 0",
        "        state.text[number] *= number == ERRORS",
    ),
    "an error that is cut is not counted": (
        "        state.text[ERRORS] += 1",
        "        state.text[ERRORS] += place >= 0",
    ),
    "every error has the same kind": (
        "            state.text[FIRST_KIND] = state.found[at + ERROR]",
        "            state.text[FIRST_KIND] = TRUNCATED",
    ),
    "places are counted with eight bits": (
        "            state.text[FIRST_UNIT] = state.text[UNITS_BEFORE]",
        "            state.text[FIRST_UNIT] = state.text[UNITS_BEFORE] % 256",
    ),
}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        pair
        for pair in product([UTF_8, UTF_16LE, UTF_32LE], WRONG_REPORT)
        if pair != (UTF_32LE, "an error that is cut is not counted")  # no error of UTF-32 is cut
    ],
)
def test_campaign_finds_a_wrong_report(source, name):
    design = Transcoder(lanes=8, source=source, target=UTF_8, errors=True)
    assert tells_apart(design, edited(design, WRONG_REPORT[name], "transcoder"))


def test_campaign_finds_a_high_surrogate_in_another_beat():
    edit = "            int(early_high),", "            0,"
    design = transcoder(4, UTF_8, UTF_16LE)
    assert tells_apart(design, edited(design, edit, "transcoder"))


@pytest.mark.parametrize(
    "options",
    [
        (2, UTF_8, UTF_16LE),
        (4, EncodingScheme.UTF_16BE, UTF_8, UCS2, True),
        (4, UTF_32LE, EncodingScheme.UTF_16BE, PROFILES[2]),
    ],
    ids=["utf-8 to utf-16le", "utf-16be to utf-8", "utf-32le to utf-16be"],
)
def test_gateware_agrees(options):
    assert agrees(quick_engine(transcoder(*options)))


@pytest.mark.parametrize("source", [UTF_8, EncodingScheme.UTF_16BE, UTF_32LE], ids=str)
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_gateware_agrees_about_errors_up_to_the_highest_number(source, profile):
    """All of them go beyond the seven bits of a report here."""
    design = Transcoder(profile, lanes=8, source=source, errors=True, report_width=7)
    assert agrees(quick_engine(design))


def test_outputs_are_shown_byte_by_byte():
    assert component_of(Transcoder()) is TRANSCODER
    output = {"o.data": [0x41, 0, 7, 7], "o.keep": [1, 1, 0, 0], "o.last": 1, "o.error": 0}
    assert TRANSCODER.show_result(output) == "41 00 -- --"
    output["o.error"] = 1
    assert TRANSCODER.show_result(output) == "41 00 -- -- error"
    output |= {"o.kind": 3, "o.offset": 7, "o.count": 2}
    assert TRANSCODER.show_result(output) == "41 00 -- -- error: overlong at 7, 2 errors"
