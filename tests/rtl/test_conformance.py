"""`utf8-hdl conform`: right cores pass, and each rule is broken by a core that is named by it."""

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

from command import assert_refused, conform, failed, run
from needs import ENGINES as NEEDS
from needs import each_engine, needs_icarus, needs_verilator
from utf8_flow.cli import conforming
from utf8_hdl import UNICODE, Decoder
from utf8_sim.conformance import SPANS, runner
from utf8_sim.conformance.connections import Connections
from utf8_sim.conformance.core import ENGINES, Core
from utf8_sim.conformance.rules import decoder_rules
from utf8_sim.engines import isolated
from utf8_sim.engines.sources import refuse_old_ghdl
from utf8_sim.tools.errors import NotInstalled
from utf8_sim.tools.programs import find

ROOT = Path(__file__).parents[2]
WRONG = Path(__file__).with_name("wrong_decoder.v")
CORE = ["conform", WRONG, "--top", "wrong_decoder"]
LONG = pytest.mark.long

RULES = [rule.name for rule in decoder_rules(UNICODE.longest_form) if rule.name != "defined"]
"""The rules of every engine; each has the number of the fault that breaks it, from 1."""

DEFINED = len(RULES) + 1
"""The fault that breaks the rule `defined`."""

# A byte that is lost makes one error fewer, if it would be an error of its own.
ALSO = {
    "truncated": {"error-span", "kept-byte"},
    "output-stalls": {"stable-output"},
    "rate-well-formed": {"rate-hostile"},
}
"""Other rules that the wrong core of a rule breaks."""


def break_rule(folder, rule):
    """Let the core break a rule."""
    (folder / "bug").write_text(str(RULES.index(rule) + 1))


def scorecard(*options):
    return conform(*CORE[1:], *options)


def options_of(rule):
    """The options with which a rule is tried."""
    if rule == "noncharacter":
        Path("map.toml").write_text("[parameters]\nNONCHARACTERS = 0\n")
        return ["--noncharacters", "reject", "--ports", "map.toml"]
    return ["--error-span", "maximal-subpart"] if rule == "error-span" else []


@each_engine("verilator", "cxxrtl", "icarus")
@pytest.mark.sample(1)
def test_right_core_passes_a_rule(folder, engine):
    result, rows = scorecard("--engine", engine, "--rule", "2-byte")
    assert result.status == 0
    assert rows["2-byte"]["cases"] == 0x800 - 0x80


@LONG
@needs_verilator
def test_right_core_passes(folder):
    result, rows = scorecard()
    assert (result.status, failed(rows)) == (0, set())
    assert rows["noncharacter"]["reason"] == "the profile accepts them"
    assert rows["4-byte"]["cases"] > 0x100000
    not_tried = {name for name, row in rows.items() if row["verdict"] == "n/a"}
    assert not_tried == {"noncharacter", "defined"}


@LONG
@needs_verilator
@pytest.mark.parametrize("rule", [name for name in RULES if name[0].isalpha()])
def test_wrong_core_breaks_its_rule(folder, rule):
    break_rule(folder, rule)
    result, rows = scorecard("--engine", "verilator", *options_of(rule))
    assert (result.status, failed(rows)) == (1, {rule} | ALSO.get(rule, set()))


@needs_verilator
@pytest.mark.sample(1)
@pytest.mark.parametrize("rule", RULES)
def test_rule_alone_has_a_command_that_repeats_the_failure(folder, rule):
    break_rule(folder, rule)
    result, rows = scorecard("--engine", "verilator", "--rule", rule, *options_of(rule))
    assert (result.status, failed(rows)) == (1, {rule})
    [command] = re.findall(r"^ *repeat +(.*)$", result.out, re.M)
    assert command == rows[rule]["command"]
    result = run(*shlex.split(command)[1:])
    assert result.status == 1
    assert f"breaks the rule '{rule}'" in result.out or f"fail {rule} " in result.out


@LONG
@needs_icarus
def test_undefined_output_is_found(folder, monkeypatch):
    """Icarus Verilog starts again after each failure; most texts are left out."""
    monkeypatch.setattr(runner, "STEADY", 1)
    Path("map.toml").write_text(f"[parameters]\nBUG = {DEFINED}\n")
    _, rows = scorecard("--engine", "icarus", "--rule", "defined", "--ports", "map.toml")
    assert failed(rows) == {"defined"}
    assert "m_axis_tdata is" in rows["defined"]["note"]


def core_with(**connections):
    return Core(Decoder(), [str(WRONG)], "wrong_decoder", Connections(**connections))


def test_fields_without_a_port_are_not_compared():
    """Else a rule about such a field would pass."""
    without_ports = core_with(without=frozenset({"m_axis_tuser", "m_axis_tlast"}))
    assert without_ports.compared == ["o.code_point"]
    with_own_port = core_with(ports={"error": "~bad"})
    assert with_own_port.compared == ["o.code_point", "o.error", "o.last"]
    for core in (without_ports, with_own_port):
        assert not {"kind", "length"} & core.has


def test_page_has_every_rule():
    page = (ROOT / "docs" / "conformance.md").read_text()
    names = [name for name in [*RULES, "defined"] if name[0].isalpha()]
    assert [name for name in names if f"`{name}`" not in page] == []
    assert "`1-byte` to `4-byte`" in page


def test_names_on_the_command_line_equal_those_of_the_code():
    """The options repeat them, because help must not import these modules."""
    assert (*SPANS,) == conforming.SPANS
    assert (*ENGINES,) == conforming.ENGINES


POLICIES = {
    "maximal-subpart": "error, U+0041 A",
    "whole-sequence": "error, U+0041 A",
    "each-byte": "error, error, U+0041 A",
    "first-byte": "error, U+0041 A",
    "silent": "U+0041 A",
}


@needs_icarus
@pytest.mark.sample(1)
@pytest.mark.parametrize("span", POLICIES)
def test_each_policy_has_its_own_tokens(folder, span):
    words = ["--engine", "icarus", "--hex", "E2 82 41", "--without", "kind,length,last"]
    result = run(*CORE, *words, "--error-span", span)
    expected = POLICIES[span]
    assert f"expected    {expected}\n" in result.out
    actual = "U+FFFD �" if span == "silent" else "error"
    assert f"actual      {actual}, U+0041 A\n" in result.out
    assert result.status == (expected != "error, U+0041 A")


@LONG
@needs_verilator
def test_state_that_reset_leaves_is_found(folder):
    """A single state register: a second lead byte before the reset would hide the fault."""
    text = (ROOT / "verilog" / "utf8_compact_decoder.v").read_text()
    good, bad = "if (!running) state <= STATE_START;\n    else if (step)", "if (step)"
    assert text.count(good) == 1
    Path("core.v").write_text(text.replace(good, bad))
    result, rows = conform("core.v", "--top", "utf8_compact_decoder", "--rule", "reset")
    assert result.status == 1
    assert [*rows] == ["reset"]
    assert rows["reset"]["note"].startswith("after C2 without an end, and a reset")


SELDOM = """
module seldom (
  input clk, input rst, input [7:0] s_axis_tdata, input s_axis_tlast, input s_axis_tvalid,
  output s_axis_tready, output [31:0] m_axis_tdata, output [7:0] m_axis_tuser,
  output m_axis_tlast, output m_axis_tvalid, input m_axis_tready
);
  reg [12:0] count = 0;
  wire [31:0] data;
  utf8_compact_decoder core (.m_axis_tdata(data), .*);
  always @(posedge clk) if (rst) count <= 0; else count <= count + (m_axis_tvalid && m_axis_tready);
  assign m_axis_tdata = data ^ &count;
endmodule
"""


@LONG
@needs_verilator
def test_seldom_fault_has_a_verdict(folder, monkeypatch):
    """It needs thousands of texts: without a budget, to shorten each failure would not end."""
    monkeypatch.setattr(runner, "BUDGET", 1 << 18)
    Path("seldom.sv").write_text(SELDOM)
    core = ROOT / "verilog" / "utf8_compact_decoder.v"
    result = run("conform", "seldom.sv", core, "--top", "seldom")
    assert result.status == 1, result.out


@needs_icarus
def test_port_that_the_core_lacks_is_named(folder):
    Path("core.v").write_text("module core (input clk); endmodule")
    result = run("conform", "core.v", "--top", "core", "--engine", "icarus")
    assert_refused(
        result, "the core has no port 'rst': name it in --ports, or list it in --without"
    )


@needs_icarus
@pytest.mark.parametrize(
    ("rule", "words"), [("kept-byte", "41 / E2 82 41"), ("last", "41 / 42 C2")]
)
def test_text_that_fails_alone_has_its_own_rule(folder, rule, words):
    break_rule(folder, rule)
    result = run(*CORE, "--engine", "icarus", "--hex", words)
    assert result.status == 1
    assert f"breaks the rule '{rule}'" in result.out


ENCODER = "--top", "utf8_encoder", "--component", "encoder"


@LONG
@needs_verilator
def test_a_rule_is_not_blamed_for_the_texts_of_another(folder):
    """A core that encodes surrogates: they are in no text of `every-character`."""
    words = ["--component", "encoder", "--surrogates", "accept"]
    assert run("generate", *words, "-o", "core.v").status == 0
    result, rows = conform("core.v", *ENCODER)
    assert result.status == 1
    assert "boundary-code-points" in failed(rows)
    assert rows["every-character"]["verdict"] == "pass"
    result = run("conform", "core.v", *ENCODER, "--code-points", "D800")
    assert "core and golden model disagree on this input" in result.out


ODD = """
`include "width.vh"
module odd #(parameter WIDTH = `DEFAULT_WIDTH) (
  input clock, input reset_n, input enable, input [7:0] octet, input strobe,
  output [WIDTH-1:0] value, output done, output bad
);
  wire [31:0] data; wire [7:0] user;
  wrong_decoder core (
    .clk(clock), .rst(~reset_n), .s_axis_tdata(octet), .s_axis_tvalid(strobe & enable),
    .s_axis_tlast(1'b0), .m_axis_tready(1'b1), .m_axis_tdata(data), .m_axis_tvalid(done),
    .m_axis_tuser(user)
  );
  assign value = data;
  assign bad = ~user[0];
endmodule
"""

MAP = """
[ports]
clk = "clock"
rst = "~reset_n"
s_axis_tdata = "octet"
s_axis_tvalid = "strobe"
m_axis_tvalid = "done"
code_point = "value"
error = "~bad"
[parameters]
WIDTH = 24
[constants]
enable = 1
"""


@each_engine("verilator", "cxxrtl", "icarus")
@pytest.mark.sample(1)
def test_core_with_other_ports_passes(folder, engine):
    Path("odd core.v").write_text(ODD)
    Path("width.vh").write_text("`define DEFAULT_WIDTH 21\n")
    Path("map.toml").write_text(MAP)
    words = ["--without", "ready,last,kind,length", "--ports", "map.toml", "--engine", engine]
    result = run(
        "conform", "odd core.v", WRONG, "--top", "odd", *words, "--hex", "41 C3 A9 FF E2 82 41"
    )
    tokens = "U+0041 A, U+00E9 é, error, error, U+0041 A"
    assert f"expected    {tokens}\nactual      {tokens}\n" in result.out
    assert result.status == 0


CORE_THAT = """
module ends (
  input clk, input [7:0] s_axis_tdata, input s_axis_tvalid, output reg [31:0] m_axis_tdata,
  output m_axis_tvalid
);
  reg [7:0] value;
  wire [7:0] loop = @;
  assign m_axis_tvalid = s_axis_tvalid;
  always @(posedge clk) begin
    #
    m_axis_tdata <= value | loop;
  end
endmodule
"""

ENDS = ["--top", "ends", "--without", "ready,last,error,kind,length,reset", "--hex", "41"]

FAULTY = {
    "loop": ("~(loop & s_axis_tvalid)", ""),
    "endless": ("1'b0", "value = s_axis_tdata; while (value[0]) value = value + 2;"),
    "finish": ("1'b0", 'if (s_axis_tvalid) begin $display("done"); $finish; end'),
}
"""The value of a wire, and a statement."""

STOPPED = [
    ("loop", "verilator", "the core ended its simulation: %Error"),
    ("loop", "cxxrtl", "the core ended its simulation: Error: the outputs do not settle"),
    ("loop", "icarus", "an endless or combinational loop? 64 cycles did not end within 1 s"),
    ("endless", "verilator", "an endless or combinational loop? 64 cycles did not end within 1 s"),
    ("endless", "icarus", "an endless or combinational loop? 64 cycles did not end within 1 s"),
    ("finish", "verilator", "the core ended its simulation: - source0/ends.v:"),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("fault", "engine", "message"),
    [pytest.param(*case, marks=NEEDS[case[1]], id=" ".join(case[:2])) for case in STOPPED],
)
def test_core_that_stops_its_simulation_is_refused(folder, fault, engine, message, monkeypatch):
    monkeypatch.setattr(isolated, "SECONDS", 1.0)
    wire, statement = FAULTY[fault]
    Path("ends.v").write_text(CORE_THAT.replace("@;", f"{wire};").replace("#", statement))
    assert_refused(run("conform", "ends.v", *ENDS, "--engine", engine), message)


@each_engine("verilator", "icarus")
@pytest.mark.sample(1)
def test_core_may_print_and_read_files(folder, engine):
    """It reads them from the current folder, and what it prints is not in the report."""
    Path("table.hex").write_text("41\n")
    statement = 'value = cells[0]; $display("0 1"); $write("x");'
    text = CORE_THAT.replace("@;", "value;").replace("#", statement)
    cells = 'reg [7:0] cells [0:0]; initial $readmemh("table.hex", cells);'
    Path("ends.v").write_text(text.replace("reg [7:0] value;", f"reg [7:0] value; {cells}"))
    result = run("conform", "ends.v", *ENDS, "--engine", engine)
    assert "expected    U+0041 A\nactual" in result.out
    assert "0 1" not in result.out


@needs_icarus
@pytest.mark.skipif(not find("ghdl"), reason="not installed: ghdl")
@LONG
def test_core_in_vhdl_passes(folder):
    """Its characters are those of ASCII; other bytes are errors, as they are for ASCII alone."""
    Path("ascii.vhd").write_text(ASCII_DECODER)
    words = ["--without", "ready,last,kind,length", "--engine", "icarus"]
    result = run("conform", "ascii.vhd", "--top", "ascii", *words, "--rule", "1-byte")
    assert result.status == 0, result.out
    result = run("conform", "ascii.vhd", "--top", "ascii", *words, "--hex", "C3 A9")
    assert result.status == 1


ASCII_DECODER = """
library ieee;
use ieee.std_logic_1164.all;
entity ascii is port (
  clk, rst, s_axis_tvalid : in std_logic;
  s_axis_tdata : in std_logic_vector(7 downto 0);
  m_axis_tvalid : out std_logic;
  m_axis_tdata : out std_logic_vector(31 downto 0);
  m_axis_tuser : out std_logic_vector(7 downto 0));
end entity;
architecture rtl of ascii is begin
  process (clk) begin
    if rising_edge(clk) then
      m_axis_tvalid <= s_axis_tvalid and not rst;
      m_axis_tdata <= (others => '0');
      m_axis_tdata(7 downto 0) <= s_axis_tdata;
      m_axis_tuser <= "0000000" & s_axis_tdata(7);
    end if;
  end process;
end architecture;
"""


GOOD_CASES = """
    case (n1_o)
      2'b00: n2_o = i0;
      2'b11: n2_o = i3;
    endcase
    case (n3_o)
      2'b10: n4_o = 40'b0;
      default: n4_o = n5_o;
    endcase
"""


@pytest.mark.parametrize(
    ("good", "bad"), [("      default: n4_o = n5_o;\n", ""), ("40'b0", f'"{40 * "0"}"')]
)
def test_wrong_verilog_of_an_old_ghdl_is_refused(good, bad):
    refuse_old_ghdl(GOOD_CASES)
    assert good in GOOD_CASES
    with pytest.raises(NotInstalled, match="install GHDL 3 or newer"):
        refuse_old_ghdl(GOOD_CASES.replace(good, bad))


@needs_icarus
def test_files_of_a_scorecard(folder):
    words = ["--json", "-", "--junit", "card.xml", "--badge", "badge.json"]
    result = run(*CORE, "--engine", "icarus", "--rule", "quiet-reset", *words)
    assert result.status == 0
    assert json.loads(result.out)["rules"][0]["rule"] == "quiet-reset"
    suite = ElementTree.parse("card.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")
    badge = json.loads(Path("badge.json").read_text())
    assert badge["message"] == "1 of 1 rules"


REFUSALS = [
    ("", "Missing option '--top'"),
    ("--top 'a b'", "--top must be the name of a module, not 'a b'"),
    ("--top wrong_decoder --without tkind", "unknown port 'tkind' of --without: choose from ready"),
    ("--top wrong_decoder --rule a", "unknown --rule 'a': choose from 1-byte, 2-byte"),
    ("--top wrong_decoder --engine amaranth", "unknown --engine 'amaranth': choose from auto, ver"),
    ("--top wrong_decoder --ports a.toml", "cannot read 'a.toml': No such file or directory"),
    ("--top wrong_decoder --ports bad.toml", "--ports 'bad.toml' is not TOML: "),
    ("--top wrong_decoder --ports odd.toml", "--ports 'odd.toml' has tables ports, parameters, c"),
    ("--top wrong_decoder --ports name.toml", "clk must be the name of a port, after ~ if it is"),
    ("--top wrong_decoder --ports flat.toml", "--ports 'flat.toml' has tables ports, parameters, "),
    ("--top wrong_decoder --ports list.toml", "parameters.WIDTH must be an integer or a text in"),
    ("--top wrong_decoder --ports key.toml", "'a b' in constants is not a name in Verilog"),
    ("--top wrong_decoder --ports odd.toml --json odd.toml", "--json would overwrite the input"),
    ("--top wrong_decoder --without m_axis_tvalid", "--without must not have 'm_axis_tvalid'"),
    ("--top wrong_decoder --without code_point", "a decoder needs code_point"),
    ("--top wrong_decoder --seed 1", "--seed has no effect without an input"),
    ("--top wrong_decoder --hex 41 --junit o", "--junit has no effect with an input"),
    ("--top wrong_decoder --every-text 4", "less than or equal to 3"),
    ("--top wrong_decoder --component encoder --every-text 1", "except for a decoder with one lan"),
    ("--top wrong_decoder --compact", "--compact has no effect for a core: its ports are the same"),
    ("--top wrong_decoder --component validator --error-span silent", "--error-span silent is for"),
    ("--top wrong_decoder --lanes 8 --error-span silent", "is for decoders with one lane"),
    ("--top nothing --engine icarus", "iverilog failed (exit status"),
    # These do not wait until the core is compiled: there is no such module.
    ("--top nothing --rule a", "unknown --rule 'a': choose from 1-byte, 2-byte"),
    ("--top nothing --component encoder --rule a", "unknown --rule 'a': choose from every-char"),
    ("--top nothing --error-span a", "unknown --error-span 'a': choose from auto, maximal"),
    ("--top nothing --hex 41 --text A", "give one of --text, --hex and --code-points"),
    ("--top nothing --hex 4", "--hex"),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("words", "message"), REFUSALS, ids=[message for _, message in REFUSALS])
def test_wrong_usage_is_refused(folder, words, message):
    Path("bad.toml").write_text("a b")
    Path("odd.toml").write_text("[port]\n")
    Path("name.toml").write_text("[ports]\nclk = 'a.b'\n")
    Path("flat.toml").write_text("ports = 1\n")
    Path("list.toml").write_text("[parameters]\nWIDTH = [1]\n")
    Path("key.toml").write_text("[constants]\n'a b' = 1\n")
    assert_refused(run("conform", WRONG, *shlex.split(words)), message)


def test_missing_file_is_refused(folder):
    assert_refused(run("conform", "a.v", "--top", "a"), "cannot read 'a.v': No such file")
