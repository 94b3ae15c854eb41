"""What `make test` leaves out for `make test-all`, and what it must not leave out."""

import subprocess
import sys
from pathlib import Path

from rtl import BREAKS, BREAKS_OF_OTHER_RULES, ENCODER_BREAKS

ROOT = Path(__file__).parents[1]


def collected(file: str, *options: str) -> set[str]:
    """The tests of a file, without its name."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *options, f"tests/{file}"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {line.partition("::")[2] for line in run.stdout.splitlines() if "::" in line}


def test_every_flaw_is_looked_for_by_the_short_tests():
    decoder, encoder = (collected(f"hdl/test_{name}.py") for name in ("decoder", "encoder"))
    for flaw in BREAKS | BREAKS_OF_OTHER_RULES:
        assert f"test_campaign_catches_a_broken_decoder[{flaw}]" in decoder
    for flaw in ENCODER_BREAKS:
        assert f"test_campaign_catches_a_broken_encoder[{flaw}]" in encoder


def test_a_test_is_short_or_long_and_a_sample_has_each_value_of_each_parameter():
    short = collected("sim/test_engines.py")
    long = collected("sim/test_engines.py", "-m", "long")
    assert short & long == set()
    assert short | long == collected("sim/test_engines.py", "-m", "")
    matrix = "test_size_of_the_windows_changes_nothing["
    sample, rest = ([test for test in tests if matrix in test] for tests in (short, long))
    assert len(sample) < len(rest)
    values = [set("-".join(tests).replace(matrix, "").replace("]", "").split("-"))
              for tests in (sample, rest)]  # fmt: skip
    assert values[0] == values[1]
