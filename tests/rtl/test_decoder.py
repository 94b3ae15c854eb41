"""Both byte decoders against CPython; `tests/formal` proves their properties."""

from pathlib import Path

import pytest

from reference import ref_tokens
from rtl import BOTH, BREAKS_OF_OTHER_RULES, DECODERS, STALLS, broken, campaign_catches
from utf8_hdl import ErrorKind
from utf8_sim import simulate

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.sample(2)
@BOTH
@pytest.mark.parametrize(
    ("name", "stalls"), [("scripts.txt", "full rate"), ("stress.txt", "both slow")]
)
def test_decoder_matches_cpython(name, stalls, compact):
    data = (EXAMPLES / name).read_bytes()[-2500:]
    input_stalls, output_stalls = STALLS[stalls]
    trace = simulate(
        DECODERS[compact](), data, input_stalls=input_stalls, output_stalls=output_stalls
    )
    assert [
        (token["length"], token["code_point"], ErrorKind(token["kind"]).label)
        for token in trace.outputs()
    ] == [(token.length, token.code_point, token.error or "none") for token in ref_tokens(data)]
    assert all(token["error"] == (token["kind"] != 0) for token in trace.outputs())


@pytest.mark.sample(1)
@pytest.mark.parametrize("flaw", BREAKS_OF_OTHER_RULES)
def test_campaign_detects_flaw_of_custom_profile(flaw):
    """Neither proofs nor planted faults cover custom profiles."""
    assert campaign_catches(broken(flaw))
