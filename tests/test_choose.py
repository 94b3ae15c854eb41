"""The page that leads to a component says what was measured, and its lines work."""

import re
from pathlib import Path

import pytest

from command import run
from utf8_flow.fpga.choices import table_for

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/choose.md").read_text()
LINES = sorted(set(re.findall(r"`utf8-hdl (generate[^`]*)`", PAGE)))
MOST_LANES = 8
"""Wider designs take minutes; that they make Verilog is tested with the components."""


@pytest.mark.parametrize("question", ["bytes", "out", "rules"])
def test_tables_are_filled(question, monkeypatch):
    monkeypatch.chdir(ROOT)
    filled = PAGE.split(f"<!-- from make choose-{question} -->\n")[1].split("<!-- end -->")[0]
    assert filled.splitlines() == table_for(question)


def narrow(line: str) -> str:
    """The line with at most `MOST_LANES`."""
    return re.sub(r"--lanes (\d+)", lambda lanes: f"--lanes {min(int(lanes[1]), MOST_LANES)}", line)


@pytest.mark.sample(3)
@pytest.mark.parametrize("line", sorted(set(map(narrow, LINES))))
def test_every_line_makes_verilog(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = line.split()
    if "-o" not in arguments:
        arguments += ["-o", "out.v"]
    assert run(*arguments).status == 0
    text = (tmp_path / arguments[-1]).read_text()
    assert re.search(
        r"^module utf8_(de|en|trans)coder|^module utf8_(validator|compactor)", text, re.M
    )
