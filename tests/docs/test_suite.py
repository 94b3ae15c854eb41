"""What `make test` leaves out for `make test-all`, and what it must not leave out."""

import re
import subprocess
import sys
from pathlib import Path

from rtl import BREAKS, BREAKS_OF_OTHER_RULES, ENCODER_BREAKS

ROOT = Path(__file__).parents[2]
FILES = "tests/rtl/test_decoder.py", "tests/rtl/test_encoder.py", "tests/rtl/test_engines.py"
MATRIX = "test_size_of_the_windows_changes_nothing"


def collected(marks: str) -> list[str]:
    """The names of the tests with some marks."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", marks, *FILES]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return re.findall(r"::(.+)", run.stdout)


def test_short_tests_look_for_every_flaw_and_a_sample_has_each_value_of_each_parameter():
    short, everything = collected("not long"), collected("")
    for component, flaws in (
        ("decoder", BREAKS | BREAKS_OF_OTHER_RULES),
        ("encoder", ENCODER_BREAKS),
    ):
        wanted = {f"test_campaign_catches_a_broken_{component}[{flaw}]" for flaw in flaws}
        assert wanted <= set(short)
    assert set(short) < set(everything)
    sample, matrix = (
        re.findall(rf"{MATRIX}\[(.*)\]", "\n".join(tests)) for tests in (short, everything)
    )
    assert 0 < len(sample) < len(matrix)
    assert set("-".join(sample).split("-")) == set("-".join(matrix).split("-"))
