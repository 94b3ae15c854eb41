"""Both byte decoders against CPython; `tests/formal` proves their properties."""

from pathlib import Path

import pytest

from reference import ref_tokens
from rtl import BOTH, BREAKS_OF_OTHER_RULES, STALLS, broken, campaign_catches, rtl_tokens

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.sample(2)
@BOTH
@pytest.mark.parametrize(
    ("name", "stalls"), [("scripts.txt", "full rate"), ("stress.txt", "both slow")]
)
def test_decoder_matches_cpython(name, stalls, compact):
    data = (EXAMPLES / name).read_bytes()[-2500:]
    assert rtl_tokens(data, STALLS[stalls], compact=compact) == ref_tokens(data)


@pytest.mark.sample(1)
@pytest.mark.parametrize("flaw", [name for name in BREAKS_OF_OTHER_RULES if "range" in name])
def test_campaign_detects_flaw_of_custom_profile(flaw):
    """Neither proofs nor planted faults cover custom profiles."""
    assert campaign_catches(broken(flaw))
