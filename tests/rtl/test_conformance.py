"""`utf8-hdl conform`: right cores pass, and each rule is broken by a core that is named by it."""

import json
from pathlib import Path

import pytest

from command import run
from needs import each_engine, needs_icarus, needs_verilator
from utf8_hdl import UNICODE
from utf8_sim.conformance.rules import decoder_rules

ROOT = Path(__file__).parents[2]
WRONG = Path(__file__).with_name("wrong_decoder.v")
CORE = ["conform", WRONG, "--top", "wrong_decoder"]
LONG = pytest.mark.long

RULES = [rule.name for rule in decoder_rules(UNICODE.longest_form)]

# A byte that is lost makes one error fewer, if it would be an error of its own.
ALSO = {
    "truncated": {"error-span"},
    "kept-byte": {"error-span"},
    "output-stalls": {"stable-output", "no-hang"},
    "rate-well-formed": {"rate-hostile"},
}
"""Other rules that the wrong core of a rule may break."""


def break_rule(folder, rule):
    """Let the core break a rule; its number is the place of the rule in its source."""
    order = [*RULES]
    order.remove("defined")
    (folder / "bug").write_text(str(order.index(rule) + 1))


def scorecard(*options):
    """The exit status and the scorecard's rows by rule."""
    result = run(*CORE, *options, "--json", "card.json")
    card = json.loads(Path("card.json").read_text())
    assert card["passed"] == (result.status == 0)
    return result, {row["rule"]: row for row in card["rules"]}


def failed(rows):
    return {name for name, row in rows.items() if row["verdict"] == "fail"}


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
    assert rows["4-byte"]["cases"] > 0x100000
    assert {name for name, row in rows.items() if row["verdict"] == "n/a"} == {
        "noncharacter",
        "defined",
    }


@LONG
@needs_verilator
@pytest.mark.parametrize("compact", ["", "compact_"])
def test_our_decoders_pass_every_text_of_three_bytes(folder, compact):
    name = f"utf8_{compact}decoder"
    verilog = ROOT / "verilog" / f"{name}.v"
    result = run("conform", verilog, "--top", name, "--exhaustive", 3)
    assert result.status == 0, result.out


@needs_verilator
@pytest.mark.sample(1)
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "defined"])
def test_wrong_core_breaks_its_rule(folder, rule):
    break_rule(folder, rule)
    result, rows = scorecard("--engine", "verilator", "--rule", rule, *options_of(rule))
    assert (result.status, failed(rows)) == (1, {rule})
    [command] = [line for line in result.out.splitlines() if line.strip().startswith("repeat ")]
    assert command.split()[1:3] == ["utf8-hdl", "conform"]


@LONG
@needs_verilator
@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule[0].isdigit()])
def test_wrong_core_breaks_no_other_rule(folder, rule):
    if rule == "defined":
        pytest.skip("Verilator has no X")
    break_rule(folder, rule)
    _, rows = scorecard("--engine", "verilator", *options_of(rule))
    assert rule in failed(rows)
    assert failed(rows) <= {rule} | ALSO.get(rule, set())


@LONG
@needs_icarus
def test_undefined_output_is_found(folder):
    Path("map.toml").write_text("[parameters]\nBUG = 31\n")
    _, rows = scorecard("--engine", "icarus", "--rule", "defined", "--ports", "map.toml")
    assert failed(rows) == {"defined"}
    assert "m_axis_tdata is" in rows["defined"]["note"]
