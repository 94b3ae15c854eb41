"""Both byte decoders against CPython, and cycle by cycle against the golden model."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import BOUNDARY_BYTES, ref_tokens
from rtl import (
    BOTH,
    BREAKS_OF_OTHER_RULES,
    DECODERS,
    STALLS,
    broken,
    campaign_catches,
    engine_of,
    lockstep,
    rtl_tokens,
)
from utf8_hdl import UNICODE
from utf8_sim.stimulus import FixedStalls

EXAMPLES = Path(__file__).parents[2] / "examples"
PATTERN = st.lists(st.booleans(), max_size=40).map(tuple).map(FixedStalls)
HOSTILE = st.lists(st.sampled_from(BOUNDARY_BYTES), min_size=1, max_size=24).map(bytes)


@pytest.mark.sample(2)
@BOTH
@pytest.mark.parametrize(
    ("name", "stalls"), [("scripts.txt", "full rate"), ("stress.txt", "both slow")]
)
def test_decoder_matches_cpython(name, stalls, compact):
    data = (EXAMPLES / name).read_bytes()[-2500:]
    assert rtl_tokens(data, STALLS[stalls], compact=compact) == ref_tokens(data)


@BOTH
@given(st.lists(HOSTILE, max_size=4), PATTERN, PATTERN)
def test_decoder_matches_golden_model(compact, texts, input_stalls, output_stalls):
    engine = engine_of(DECODERS[compact], UNICODE)
    assert lockstep(texts, (input_stalls, output_stalls), engine) is None


@pytest.mark.sample(1)
@pytest.mark.parametrize("flaw", [name for name in BREAKS_OF_OTHER_RULES if "range" in name])
def test_campaign_detects_flaw_of_custom_profile(flaw):
    """No proof or planted fault is about custom profiles."""
    assert campaign_catches(broken(flaw))
