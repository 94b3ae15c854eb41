"""Both decoders against CPython, and against the golden model cycle by cycle."""

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import BOUNDARY_BYTES, ref_tokens
from rtl import (
    BOTH,
    BREAKS,
    BREAKS_OF_OTHER_RULES,
    COMPACT_DECODER_BREAKS,
    DECODERS,
    STALLS,
    broken,
    campaign_catches,
    engine_of,
    lockstep,
    rtl_tokens,
    rtl_trace,
)
from utf8_hdl import UCS4, UNICODE, CompactDecoder, Decoder
from utf8_sim.stimulus import FixedStalls

EXAMPLES = Path(__file__).parents[2] / "examples"
PATTERN = st.lists(st.booleans(), max_size=40).map(tuple).map(FixedStalls)
HOSTILE = st.lists(st.sampled_from(BOUNDARY_BYTES), min_size=1, max_size=24).map(bytes)


@pytest.mark.sample
@BOTH
@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
@pytest.mark.parametrize("name", ["scripts.txt", "stress.txt"])
def test_examples_decode_as_in_cpython(name, stalls, compact):
    data = (EXAMPLES / name).read_bytes()[-2500:]
    assert rtl_tokens(data, stalls, compact=compact) == ref_tokens(data)


@BOTH
@pytest.mark.parametrize("stalls", ["full rate", "both slow"])
def test_every_pair_of_boundary_bytes_decodes_as_in_cpython(stalls, compact):
    data = b"".join(bytes(pair) for pair in product(BOUNDARY_BYTES, repeat=2))
    assert rtl_tokens(data, STALLS[stalls], compact=compact) == ref_tokens(data)


@BOTH
@settings(max_examples=60, deadline=None)
@given(st.lists(HOSTILE, max_size=4), PATTERN, PATTERN)
def test_every_pin_is_as_predicted_under_any_stalls(compact, texts, input_stalls, output_stalls):
    engine = engine_of(DECODERS[compact], UNICODE)
    assert lockstep(texts, (input_stalls, output_stalls), engine) is None


@BOTH
def test_texts_follow_each_other_without_a_gap(compact):
    engine = engine_of(DECODERS[compact], UNICODE)
    assert not rtl_trace([], design=engine)["o.valid"].any()
    trace = rtl_trace([b"\xe2\x82", b"\xac", b"\xe2\x82\xac"], design=engine)
    shown = trace[trace["o.valid"] == 1][["o.length", "o.error", "o.last"]].tolist()
    assert shown == [(2, 1, 1), (1, 1, 1), (3, 0, 1)]
    assert trace["i.valid"][:6].all()


@BOTH
@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
def test_texts_do_not_touch_each_other(stalls, compact):
    """A second byte that is refused, bytes of one character, noncharacters: each in two texts."""
    texts = [
        b"\xe0",
        b"\x80",
        b"\xe2",
        b"\x82",
        b"\xac",
        b"\xef\xbf",
        b"\xbe",
        b"\xef",
        b"\xbf\xbf",
    ]
    assert lockstep(texts, stalls, engine_of(DECODERS[compact], UCS4)) is None


@pytest.mark.parametrize("name", [*BREAKS, *BREAKS_OF_OTHER_RULES, *COMPACT_DECODER_BREAKS])
def test_campaign_catches_a_broken_decoder(name):
    assert campaign_catches(broken(name))


def test_a_state_for_each_number_of_missing_bytes():
    states = {state.name: state.value for state in Decoder(UNICODE).State}
    assert states == {"START": 1, "NEED_1": 2, "NEED_2": 4, "NEED_3": 8}
    compact = {state.name: state.value for state in CompactDecoder(UNICODE).State}
    assert compact == {"START": 0, "NEED_1": 1, "NEED_2": 2, "NEED_3": 3, "HELD": 4}
