"""Both encoders against CPython and the golden model; `tests/formal` proves their properties."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rtl import ALL_RULES, BOTH, ENCODERS, ODD_PROFILES, STALLS, engine_of, lockstep
from utf8_sim import simulate
from utf8_sim.campaign import boundary_values
from utf8_sim.stimulus import FixedStalls

RULES = {
    name: (ALL_RULES | ODD_PROFILES)[name]
    for name in (
        "unicode, surrogates True, noncharacters False, maximal-subpart",
        "F0 restricted twice",
        "ucs2, surrogates False, noncharacters True, maximal-subpart",
        "seven bytes",
        "FF restricted twice",
    )
}
"""Rules that the proofs do not cover."""

PATTERN = st.lists(st.booleans(), max_size=40).map(tuple).map(FixedStalls)
SCALARS = st.characters(exclude_categories=["Cs"])
OF_ALL_LENGTHS = "A\x7f\x80\u00a9\u07ff\u0800\u2260\ud7ff\ue000\ufffd\U00010000\U0010ffff"


@BOTH
@given(st.text(SCALARS, max_size=16), PATTERN, PATTERN)
@example(OF_ALL_LENGTHS * 20, FixedStalls(), FixedStalls((True, False, True)))
def test_encoder_matches_cpython(compact, text, input_stalls, output_stalls):
    values = [ord(character) for character in text]
    stalls = {"input_stalls": input_stalls, "output_stalls": output_stalls}
    outputs = simulate(engine_of(ENCODERS[compact]), values, **stalls).outputs()
    assert bytes(output["data"] for output in outputs) == text.encode()
    assert not any(output["error"] for output in outputs)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("profile", "compact"),
    [(rules, n % 2 == 1) for n, rules in enumerate(RULES.values())],
    ids=RULES,
)
def test_encoder_rules(profile, compact):
    values = [*boundary_values(profile), *range(0xD7F0, 0xE010, 15)]
    values = [value for value in values if value < 1 << profile.utf32_width]
    design = ENCODERS[compact](profile)
    assert lockstep([values, values[::-1]], STALLS["both slow"], design) is None
