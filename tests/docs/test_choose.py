"""Test docs/choose.md: its tables show the measurements, and its commands work."""

import re
from pathlib import Path

import pytest
from amaranth.hdl import Fragment

from command import narrow, run
from utf8_flow.export import verilog
from utf8_flow.fpga.result_tables import TABLES
from utf8_hdl.axi import AxiModule

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/choose.md").read_text()
LINES = sorted(set(re.findall(r"`utf8-hdl (generate[^`]*)`", PAGE)))


@pytest.mark.parametrize("question", ["bytes", "out", "rules"])
def test_tables_match_the_measurements(question, monkeypatch):
    monkeypatch.chdir(ROOT)
    filled = PAGE.split(f"<!-- from make choose-{question} -->\n")[1].split("<!-- end -->")[0]
    assert filled.splitlines() == TABLES[question]()


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    "line", sorted({narrow(line, 4) for line in LINES if "--profile" not in line})
)
def test_command_names_a_design(line, tmp_path, monkeypatch):
    """The design is only elaborated, which is much faster than its Verilog."""

    def elaborate(design, module, active_low_reset, _initial_values):
        Fragment.get(AxiModule(design, active_low_reset), platform=None)
        return module

    monkeypatch.setattr(verilog, "generate", elaborate)
    monkeypatch.chdir(tmp_path)
    arguments = line.split()
    if "-o" not in arguments:
        arguments += ["-o", "out.v"]
    assert run(*arguments).status == 0
    compact = ["compact"] * ("--compact" in line)
    component = re.findall(r"--component (\w+)", line) or ["decoder"]
    lanes = re.findall(r"--lanes (\d+)", line)
    module = (tmp_path / arguments[-1]).read_text()
    assert module == "_".join(["utf8", *compact, *component, *lanes])
