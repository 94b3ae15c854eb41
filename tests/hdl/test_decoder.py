"""The decoder against CPython, and against the golden model cycle by cycle."""

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import BOUNDARY_BYTES, ref_tokens
from rtl import (
    BREAKS,
    BREAKS_OF_OTHER_RULES,
    STALLS,
    broken,
    campaign_catches,
    lockstep,
    rtl_tokens,
    rtl_trace,
    taken,
)
from utf8_hdl import EXTENDED, UCS4, UNICODE, Decoder
from utf8_sim.stimulus import FixedStalls, RandomStalls

EXAMPLES = Path(__file__).parents[2] / "examples"
PATTERN = st.lists(st.booleans(), max_size=40).map(tuple).map(FixedStalls)
HOSTILE = st.lists(st.sampled_from(BOUNDARY_BYTES), min_size=1, max_size=24).map(bytes)


@pytest.mark.sample
@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
@pytest.mark.parametrize("name", ["scripts.txt", "stress.txt"])
def test_examples_decode_as_in_cpython(name, stalls):
    data = (EXAMPLES / name).read_bytes()[-2500:]
    assert rtl_tokens(data, stalls) == ref_tokens(data)


@settings(max_examples=60, deadline=None)
@given(HOSTILE)
def test_hostile_text_decodes_as_in_cpython(data):
    assert rtl_tokens(data) == ref_tokens(data)


def test_every_pair_of_boundary_bytes_decodes_as_in_cpython():
    data = b"".join(bytes(pair) for pair in product(BOUNDARY_BYTES, repeat=2))
    assert rtl_tokens(data) == ref_tokens(data)


@settings(max_examples=60, deadline=None)
@given(st.lists(HOSTILE, max_size=4), PATTERN, PATTERN)
def test_every_pin_is_as_predicted_under_any_stalls(texts, input_stalls, output_stalls):
    assert lockstep(texts, (input_stalls, output_stalls)) is None


@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
def test_every_pin_is_as_predicted_on_random_bytes(stalls):
    data = RandomStalls(0.5, 7)  # a source of random bits that is the same on every run
    bits = next(data.windows(8 * 2000))
    assert lockstep([bytes(sum(b << n for n, b in enumerate(bits[i : i + 8].tolist()))
                           for i in range(0, len(bits), 8))], stalls) is None  # fmt: skip


def test_no_text_gives_no_token():
    assert not rtl_trace([])["o.valid"].any()


def test_texts_follow_each_other_without_a_gap():
    trace = rtl_trace([b"\xe2\x82", b"\xac", b"\xe2\x82\xac"])
    tokens = [
        (int(cycle["o.length"]), bool(cycle["o.error"]), bool(cycle["o.last"]))
        for cycle in trace
        if cycle["o.valid"]
    ]
    assert tokens == [(2, True, True), (1, True, True), (3, False, True)]
    assert trace["i.valid"][:6].all()


@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
@pytest.mark.parametrize(
    "texts",
    [
        pytest.param([b"\xe0", b"\x80"], id="the second text would refuse the first"),
        pytest.param([b"\xe2", b"\x82", b"\xac"], id="each a byte of one character"),
        pytest.param([b"\xef\xbf", b"\xbe"], id="a noncharacter if they were one text"),
        pytest.param([b"\xef", b"\xbf\xbf"], id="another"),
    ],
)
def test_texts_do_not_touch_each_other(texts, stalls):
    assert lockstep(texts, stalls, Decoder(UCS4)) is None


@pytest.mark.parametrize("name", [*BREAKS, *BREAKS_OF_OTHER_RULES])
def test_campaign_catches_a_broken_decoder(name):
    assert campaign_catches(broken(name))


def test_a_state_for_each_number_of_missing_bytes():
    states = {state.name: state.value for state in Decoder(UNICODE).State}
    assert states == {"START": 1, "NEED_1": 2, "NEED_2": 4, "NEED_3": 8}
    assert [state.name for state in Decoder(EXTENDED).State][-1] == "NEED_7"


@pytest.mark.parametrize("profile", [UNICODE, UCS4, EXTENDED], ids=lambda profile: profile.name)
def test_a_compact_decoder_gives_the_same_tokens(profile):
    texts = [bytes(pair) for pair in product(BOUNDARY_BYTES, repeat=2)][::7]
    pipelined, compact = (
        taken(rtl_trace(texts, STALLS["both slow"], Decoder(profile, compact=compact)))
        for compact in (False, True)
    )
    fields = ["o.code_point", "o.error", "o.kind", "o.length", "o.last"]
    assert len(pipelined) > len(texts)
    assert compact[fields].tolist() == pipelined[fields].tolist()
