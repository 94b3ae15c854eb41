"""`utf8-hdl prove`: scope, report and files."""

import pickle
import re
from pathlib import Path

import pytest

from command import assert_is_waveform, break_design, edit_component, names, output_of, squeezed
from rtl import COMPACT_ENCODER_BREAKS, altered
from utf8_flow.cli.choices import AllRules
from utf8_flow.designs import DesignSpec, designs
from utf8_flow.formal import abc_program, specification
from utf8_flow.formal.properties import proofs_of
from utf8_flow.formal.prover import Proof
from utf8_flow.verify import proofs
from utf8_sim.tools.cores import Cores
from utf8_sim.tools.errors import OutOfTime

pytest.importorskip("pyosys", reason="pyosys is not installed")

VCD = "utf8-hdl-counterexample.vcd"
STIMULUS = VCD.replace(".vcd", ".json")
COMPACT_ENCODER = "--component", "encoder", "--compact"
ONE = "--component", "decoder", "--profile", "unicode", "--property"


@pytest.mark.long
def test_scope_names_every_design_and_exclusion():
    goals = proofs.choose_goals(designs(), None, AllRules().profiles(), small=True)
    *proved, left_out = proofs.scope(goals)
    named = [label for line in proved for label in line.partition(": ")[2].split("; ")]
    assert sorted(named) == sorted({goal.spec.label for goal in goals})
    assert any(re.match("proved in unicode: compactor, 8 lanes; ", line) for line in proved)
    assert left_out.startswith("left out: verilog of transcoder from UTF-8 to UTF-8, 8 lanes")


def test_prove_prints_the_scope(folder, monkeypatch):
    proved = Proof("proved", "induction", 1.5, 1)
    monkeypatch.setattr(Cores, "do", lambda _, work, goals: ((goal, proved) for goal in goals))
    options = "--component", "encoder", "--profile", "ucs2", "--surrogates", "accept"
    assert squeezed(output_of("prove", *options))[-2:] == [
        "proved in ucs2 surrogates accepted: encoder",
        "left out: any other design, profile and combination of rules",
    ]


def test_prove_one_property(folder):
    options = *ONE, "line-rate", "--surrogates", "accept"
    tool, _, line, end = squeezed(output_of("prove", *options))
    assert tool.startswith("Yosys and ABC of pyosys ")
    assert line.startswith("decoder unicode surrogates accepted line-rate proved ")
    assert end == "1 property proved, 1 cover reached"
    assert names(folder) == {"text.txt"}


def test_timeout_is_reported(folder, monkeypatch):
    def out_of_time(*_, **options):
        raise OutOfTime("yosys-abc")

    monkeypatch.setattr(abc_program, "run_tool", out_of_time)
    options = *ONE, "line-rate", "--timeout", "60"
    *_, verdict, hint = squeezed(output_of("prove", *options, status=1))
    assert verdict.startswith("UNDECIDED: decoder, unicode, line-rate: ")
    assert hint.startswith("not decided: limit of 60 s; ")
    assert names(folder) == {"text.txt"}


def test_counterexample_report(folder, monkeypatch):
    break_design(monkeypatch, "wrong kind")
    lines = squeezed(output_of("prove", *ONE, "tokens", status=1))
    _, _, line, verdict, heading, _, *table, model, wave, stimulus = lines
    assert line.startswith("decoder unicode tokens FAILED run of 9 cycles 2/2 ")
    tokens = proofs_of(DesignSpec("decoder"))[0]
    assert verdict == f"FAILED: decoder, unicode, tokens: {tokens.statement}"
    assert heading.endswith("decoder, unicode, tokens, which fails in cycle 8")
    rows = [row for row in table if row.removeprefix("> ")[0].isdigit()]
    assert [int(row.removeprefix("> ").split()[0]) for row in rows] == list(range(9))
    assert rows[8].startswith("> 8 ")
    assert "<- o.kind 6 (truncated), golden " in rows[8]
    assert wave == f"waveform: {VCD}"
    assert_is_waveform(VCD)
    command = f"utf8-hdl simulate --engine amaranth --stimulus {STIMULUS}"
    assert stimulus == f"to repeat it: {command}"
    assert names(folder) == {"text.txt", VCD, VCD.replace(".vcd", ".gtkw"), STIMULUS}
    repeated = output_of(*command.split()[1:], status=1)
    assert f"DIFFERENCE: {model.removeprefix('the golden model differs: ')}\n" in repeated


def test_counterexample_from_any_state(folder, monkeypatch):
    """The table shows the register that differs; the twin starts in the reset state."""
    flaw = "self.state = Signal(self.State", "self.state = Signal(self.State, reset_less=True"
    broken = altered("compact encoder", [flaw])
    edit_component(monkeypatch, "encoder", make=lambda profile, compact: broken(profile))
    out = output_of("prove", *COMPACT_ENCODER, "--property", "reset", "--profile", "ucs2", status=1)
    assert "golden" not in out
    _, own, twin = out.split("\nencoder")
    begins, state, _, _, reset, _, marked, _ = squeezed(own.strip())
    assert begins.startswith("the run begins in any state")
    assert re.fullmatch("state is [1-9], not 0", state)
    assert reset.startswith("0 1 0 0 SEND_")
    assert marked.startswith("> 2 0 0 0 SEND_")
    assert squeezed(twin)[1] == "no clock enable in 1 cycle: 0"
    wave = Path(VCD).read_text()
    assert " reset " in wave
    assert "golden" not in wave
    assert not list(folder.glob("*.json"))


def waveforms(out: str) -> list[str]:
    """The waveforms that a report names."""
    files = re.findall(r"^waveform: (.*)$", out, re.M)
    for file in files:
        assert_is_waveform(file)
    return files


@pytest.mark.long
def test_each_failed_property_has_a_counterexample(folder, monkeypatch):
    """The first goal's waveform has the given name, even if another goal fails earlier."""
    flaw = COMPACT_ENCODER_BREAKS["compact: byte changes under stall"]
    hasty = altered("compact encoder", [flaw])
    edit_component(monkeypatch, "encoder", make=lambda profile, compact: hasty(profile))

    def backwards(_, work, goals):
        for goal in goals[::-1]:
            yield goal, pickle.loads(pickle.dumps(work(goal)))  # as from a worker

    monkeypatch.setattr(Cores, "do", backwards)
    options = *COMPACT_ENCODER, "--property", "output-stream", "--vcd", "a.vcd"
    out = output_of("prove", *options, status=1)
    goals = [
        *("unicode", "ucs2", "ucs4", "extended"),
        *("unicode surrogates accepted", "unicode noncharacters rejected"),
    ]
    verdicts = re.findall("^FAILED: compact encoder, (.*), output-stream: ", out, re.M)
    assert verdicts == goals
    others = [goal.replace(" ", "-") for goal in goals[1:]]
    files = ["a.vcd", *(f"a-compact-encoder-{goal}-output-stream.vcd" for goal in others)]
    assert waveforms(out) == files


@pytest.mark.long
def test_second_design_of_a_run_has_its_own_waveform(folder, monkeypatch):
    break_design(monkeypatch, "byte taken that was not offered")
    out = output_of("prove", *ONE, "input-stream", "--vcd", "two.vcd", status=1)
    files = waveforms(out)
    assert files == ["two.vcd", "two-decoder_other.vcd"]
    assert Path(files[0]).read_bytes() != Path(files[1]).read_bytes()


def test_unreached_cover_is_reported(folder, monkeypatch):
    silent = altered("decoder", [("o.valid.eq(will_stall | both_full | comes)", "o.valid.eq(0)")])
    edit_component(monkeypatch, "decoder", make=silent)
    *_, verdict, unreached = squeezed(output_of("prove", *ONE, "output-stream", status=1))
    assert verdict.startswith("VACUOUS: decoder, unicode, output-stream: An offered ")
    assert unreached == "not reached: an output that waits, and is taken then"
    assert names(folder) == {"text.txt"}


def test_counterexample_to_a_lemma(folder, monkeypatch):
    monkeypatch.setattr(specification, "TABLE_3_7", "00..7F")
    out = output_of("prove", *ONE, "well-formed-passes", status=1)
    assert re.search(r"^ +cycle +offered +byte +last$", out, re.M)
    assert re.search(r"^ +0 +1 +[C-F]. +0$", out, re.M)
    assert re.search(r"^> +1 +1 +[89AB]. +0$", out, re.M)
    assert names(folder) == {"text.txt"}
