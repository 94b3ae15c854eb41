"""The page that leads to a component says what was measured, and its lines work."""

import re
from pathlib import Path

import pytest
from amaranth.hdl import Fragment

from command import narrow, run
from utf8_flow.export import verilog
from utf8_flow.fpga.choices import table_for
from utf8_hdl.axi import AxiModule
from utf8_sim.components import COMPONENTS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/choose.md").read_text()
LINES = sorted(set(re.findall(r"`utf8-hdl (generate[^`]*)`", PAGE)))


@pytest.mark.parametrize("question", ["bytes", "out", "rules"])
def test_tables_are_filled(question, monkeypatch):
    monkeypatch.chdir(ROOT)
    filled = PAGE.split(f"<!-- from make choose-{question} -->\n")[1].split("<!-- end -->")[0]
    assert filled.splitlines() == table_for(question)


def generated(line: str, folder: Path) -> str:
    """The file that a line writes."""
    arguments = line.split()
    if "-o" not in arguments:
        arguments += ["-o", "out.v"]
    assert run(*arguments).status == 0
    return (folder / arguments[-1]).read_text()


@pytest.mark.parametrize("line", sorted({narrow(line, 8) for line in LINES}))
def test_every_line_names_a_design(line, tmp_path, monkeypatch):
    """It is elaborated, which takes a fraction of the time that its Verilog would take."""

    def elaborate(design, module, active_low_reset):
        Fragment.get(AxiModule(design, active_low_reset), platform=None)
        return module

    monkeypatch.setattr(verilog, "generate", elaborate)
    monkeypatch.chdir(tmp_path)
    assert generated(line, tmp_path) == module_of(line)


def module_of(line: str) -> str:
    """The name of the module that a command generates."""
    lanes = re.search(r"--lanes (\d+)", line)
    words = ["compact"] * ("--compact" in line) + [component_of(line)]
    return "_".join(["utf8", *words, *([lanes[1]] if lanes else [])])


def component_of(line: str) -> str:
    named = re.search(r"--component (\w+)", line)
    return named[1] if named else "decoder"


ONE_EACH = {
    component_of(line): narrow(line, 2)
    for line in sorted(LINES, reverse=True)
    if "utf-32" not in line  # from which it has four lanes or more
}


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_line_of_each_component_makes_verilog(component, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = generated(ONE_EACH[component], tmp_path)
    assert re.search(rf"^module {module_of(ONE_EACH[component])} ", text, re.M)
