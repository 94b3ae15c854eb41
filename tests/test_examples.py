"""The texts that the repository ships are what they say they are."""

import unicodedata
from pathlib import Path

import pytest

from reference import ref_tokens

EXAMPLES = Path(__file__).parents[1] / "examples"
STRESS = (EXAMPLES / "stress.txt").read_bytes()
CASES = [line for line in STRESS.split(b"\n") if line and not line.startswith(b"# ")]


def test_scripts_text_has_many_scripts_and_all_lengths():
    text = (EXAMPLES / "scripts.txt").read_text(encoding="utf-8")
    # The first word of a letter's name is its script's, near enough to count them.
    scripts = {unicodedata.name(c, "?").split()[0] for c in text if c.isalpha()}
    assert len(scripts) >= 25
    assert {len(c.encode()) for c in text} == {1, 2, 3, 4}
    assert "\N{ZERO WIDTH JOINER}" in text
    assert any(unicodedata.category(c) == "Mn" for c in text)


@pytest.mark.parametrize("case", CASES, ids=[case.split(b" | ")[1].decode() for case in CASES])
def test_stress_case_is_what_its_label_says(case):
    kind, _, digits, raw = case.split(b" | ", 3)
    raw = raw.removesuffix(b" |")
    assert raw == bytes.fromhex(digits.decode())
    errors = [token.error for token in ref_tokens(raw) if token.error]
    assert (errors[0] if errors else "none") == kind.decode()


def test_stress_text_has_every_kind_of_error_and_ends_inside_a_character():
    assert {case.split(b" | ")[0].decode() for case in CASES} == {
        "none", "unexpected-continuation", "invalid-byte", "overlong", "surrogate",
        "out-of-range", "truncated",
    }  # fmt: skip
    assert ref_tokens(STRESS)[-1].error == "truncated"
