"""`utf8-hdl prove`: what it prints, refuses and leaves behind."""

import os
import re
from itertools import product
from pathlib import Path

import pytest

from command import (
    Process,
    assert_is_waveform,
    assert_refused,
    break_design,
    names,
    needs_proc,
    replace_design,
    run,
    squeezed,
)
from rtl import COMPACT_ENCODER_BREAKS, altered
from utf8_flow.cli.choices import AllRules
from utf8_flow.designs import DesignSpec, designs
from utf8_flow.formal import abc_program, specification
from utf8_flow.formal.properties import proofs_of
from utf8_flow.formal.prover import Proof
from utf8_flow.verify import proofs
from utf8_hdl import UNICODE
from utf8_sim.tools import yowasp as tools
from utf8_sim.tools.cores import Cores
from utf8_sim.tools.errors import OutOfTime

pytest.importorskip("pyosys", reason="pyosys is not installed")

VCD = "utf8-hdl-counterexample.vcd"
STIMULUS = VCD.replace(".vcd", ".json")
ONE = "--component", "decoder", "--profile", "unicode", "--property"


# --- what is proved -----------------------------------------------------------------------------


def every_goal():
    return proofs.choose_goals(designs(), None, AllRules().profiles(), small=True)


def test_every_pair_of_forms_is_proved_in_unicode():
    """With four lanes; some of them big-endian and without a byte order mark, too."""
    small = {goal.spec for goal in every_goal() if goal.spec.label.endswith(", 4 lanes")}
    assert {spec.profile for spec in small} == {UNICODE}
    pairs = product(("utf-8", "utf-16le", "utf-32le"), repeat=2)
    owns = [{"source": taken, "target": given} for taken, given in pairs]
    plain = {DesignSpec("transcoder", lanes=4, own=own) for own in owns}
    assert plain < small
    others = [dict(spec.own) for spec in small - plain]
    strips = {own["source"] for own in others if own["strip_bom"]}
    reports = {own["source"] for own in others if own["errors"]}
    assert strips == {"utf-8", "utf-16be", "utf-32be"}
    assert reports == {"utf-8", "utf-16le", "utf-32le"}
    assert len(others) == len(strips) + len(reports)


def test_the_scope_names_every_design_and_what_is_left_out():
    *proved, left_out = proofs.scope(every_goal())
    named = [label for line in proved for label in line.partition(": ")[2].split("; ")]
    assert sorted(named) == sorted({goal.spec.label for goal in every_goal()})
    assert any(re.match("proved in unicode: compactor, 8 lanes; ", line) for line in proved)
    assert left_out.startswith(
        "left out: verilog of transcoder from UTF-8 to UTF-8, 8 lanes, which"
    )


def test_without_a_property_the_scope_is_printed(folder, monkeypatch):
    monkeypatch.setattr(Cores, "do", lambda _, work, goals: ((goal, PROVED) for goal in goals))
    result = run("prove", "--component", "encoder", "--profile", "ucs2", "--surrogates", "accept")
    assert (result.status, result.err) == (0, "")
    assert squeezed(result.out)[-2:] == [
        "proved in ucs2 surrogates accepted: encoder",
        "left out: any other design, profile and combination of rules",
    ]


PROVED = Proof("proved", "induction", 1.5, 1)


def test_one_property(folder):
    result = run("prove", *ONE, "line-rate", "--surrogates", "accept")
    assert (result.status, result.err) == (0, "")
    tool, head, line, end = squeezed(result.out)
    assert tool.startswith("Yosys and ABC of pyosys ")
    assert head.startswith("component profile")
    assert re.fullmatch(
        r"decoder unicode surrogates accepted line-rate proved .+ 1/1 [\d.]+ s", line
    )
    assert end == "1 property proved, 1 cover reached"
    assert names(folder) == {"text.txt"}


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--property speed", "--property must be one of tokens, self-synchronisation, "),
        (
            "--component encoder --property tokens",
            "--property must be one of bytes, self-synchronisation, ",
        ),
        (
            "--component codec",
            "unknown --component 'codec': choose from decoder, encoder, validator, compactor, "
            "transcoder; docs/python.md describes how to register another one\n",
        ),
        ("--profile utf7", "unknown --profile 'utf7': choose from unicode, ucs2, ucs4, extended\n"),
        ("--error-span byte", "'byte': choose from maximal-subpart, whole-sequence\n"),
        ("--vcd none/out.vcd", "cannot write 'none/out.vcd'"),
        ("--vcd .", "cannot write '.'"),
        ("--vcd -", "--vcd needs the name of a file"),
        ("--timeout 0", "'--timeout': Input should be greater than or equal to 1"),
        ("--missing", "--missing needs --json FILE"),
        ("--status", "--status needs --json FILE"),
        ("--json -", "--json needs the name of a file"),
        ("--json none/out.json", "cannot write 'none/out.json'"),
        ("--json text.txt", "'text.txt' holds no results of proofs: choose a file that prove"),
        ("--json . --status", "cannot read '.': Is a directory"),
        ("--theorem --profile ucs2", "--profile has no effect with --theorem"),
        ("--status --json x --profile ucs2", "--profile has no effect with --status"),
        ("--theorem --lanes 8", "--lanes has no effect with --theorem"),
        ("text.txt", "text.txt"),
    ],
)
def test_wrong_usage_is_refused(folder, arguments, named):
    assert_refused(run("prove", *arguments.split()), named)
    assert names(folder) == {"text.txt"}


def test_what_to_install_is_said(folder, monkeypatch):
    monkeypatch.setattr(tools.importlib.util, "find_spec", lambda name: None)
    assert_refused(run("prove"), "prove needs pyosys: in a clone, pip install '.[formal]'\n")


# --- what is wrong ------------------------------------------------------------------------------


def test_what_is_not_decided_in_time_is_listed(folder, monkeypatch):
    def out_of_time(*_, **options):
        raise OutOfTime("yosys-abc")

    monkeypatch.setattr(abc_program, "run_tool", out_of_time)
    result = run("prove", *ONE, "line-rate", "--timeout", "60")
    assert (result.status, result.err) == (1, "")
    _, _, line, verdict, hint = squeezed(result.out)
    assert line.startswith("decoder unicode line-rate UNDECIDED limit of 60 s 0/0 ")
    assert verdict.startswith("UNDECIDED: decoder, unicode, line-rate: ")
    assert hint == "not decided: limit of 60 s; --timeout sets the limit of a property"
    assert names(folder) == {"text.txt"}


def test_a_counterexample_is_shown(folder, monkeypatch):
    break_design(monkeypatch, "wrong kind")
    result = run("prove", *ONE, "tokens")
    assert (result.status, result.err) == (1, "")
    _, _, line, verdict, heading, name, *table, model, wave, stimulus = squeezed(result.out)
    assert line.startswith("decoder unicode tokens FAILED run of 9 cycles 2/2 ")
    tokens = proofs_of(DesignSpec("decoder"))[0]
    assert verdict == f"FAILED: decoder, unicode, tokens: {tokens.statement}"
    counterexample = "counterexample of 9 cycles to decoder, unicode, tokens"
    assert heading == f"{counterexample}, which fails in cycle 8"
    assert name == "decoder"
    assert table[:2] == [
        "i.valid o.valid",
        "cycle | i.ready byte in byte meets state | o.ready token out",
    ]
    rows = [row for row in table if row.removeprefix("> ")[0].isdigit()]
    assert [int(row.removeprefix("> ").split()[0]) for row in rows] == list(range(9))
    assert rows[8].startswith("> 8 ")
    assert re.search(r"START 1 [01] error truncated \(1 byte\)", rows[8])
    assert "<- o.kind 6 (truncated), golden " in rows[8]
    assert wave == f"waveform: {VCD}"
    assert_is_waveform(VCD)
    command = f"utf8-hdl simulate --engine amaranth --stimulus {STIMULUS}"
    assert stimulus == f"to repeat it: {command}"
    assert names(folder) == {"text.txt", VCD, VCD.replace(".vcd", ".gtkw"), STIMULUS}
    repeated = run(*command.split()[1:])
    assert repeated.status == 1
    assert f"DIFFERENCE: {model.removeprefix('the golden model differs: ')}\n" in repeated.out


def test_a_counterexample_from_any_state(folder, monkeypatch):
    """The table has reset, and the only register that matters; the twin begins as after reset."""
    flaw = "self.state = Signal(self.State", "self.state = Signal(self.State, reset_less=True"
    broken = altered("compact encoder", [flaw])
    replace_design(monkeypatch, "encoder", lambda profile, compact: broken(profile))
    result = run(
        "prove", "--component", "encoder", "--compact", "--property", "reset", "--profile", "ucs2"
    )
    assert (result.status, result.err) == (1, "")
    assert "golden" not in result.out
    _, own, twin = result.out.split("\nencoder")
    begins, state, _, columns, reset, _, marked, _ = squeezed(own.strip())
    assert begins == "the run begins in any state: the registers are as after reset, except:"
    assert re.fullmatch("state is [1-9], not 0", state)
    assert columns.startswith("cycle reset | i.ready ")
    assert reset.startswith("0 1 0 0 SEND_")
    assert marked.startswith("> 2 0 0 0 SEND_")
    assert squeezed(twin)[1] == "no clock enable in 1 cycle: 0"
    wave = Path(VCD).read_text()
    assert " reset " in wave
    assert " state " in wave
    assert "golden" not in wave
    assert {each for each in names(folder) if each.endswith(".json")} == set()


def test_every_property_that_fails_has_its_counterexample(folder, monkeypatch):
    """The first keeps the waveform's name, whichever is found first."""
    hasty = altered(
        "compact encoder", [COMPACT_ENCODER_BREAKS["compact: byte changes under stall"]]
    )
    replace_design(monkeypatch, "encoder", lambda profile, compact: hasty(profile))
    monkeypatch.setattr(
        Cores, "do", lambda _, work, goals: ((goal, work(goal)) for goal in goals[::-1])
    )
    arguments = "--component", "encoder", "--compact", "--property", "output-stream"
    result = run("prove", *arguments, "--vcd", "hasty.vcd")
    assert (result.status, result.err) == (1, "")
    goals = [
        "unicode",
        "ucs2",
        "ucs4",
        "extended",
        "unicode surrogates accepted",
        "unicode noncharacters rejected",
    ]
    verdicts = re.findall("^FAILED: compact encoder, (.*), output-stream: ", result.out, re.M)
    assert verdicts == goals
    tables = re.findall(
        r"^counterexample of \d+ cycles? to compact encoder, ([^,]*), .*?^waveform: (\S*)$",
        result.out,
        re.MULTILINE | re.DOTALL,
    )
    others = [
        f"hasty-compact-encoder-{goal.replace(' ', '-')}-output-stream.vcd" for goal in goals[1:]
    ]
    assert tables == list(zip(goals, ["hasty.vcd", *others], strict=True))
    for _, file in tables:
        assert_is_waveform(file)


def test_another_design_in_the_same_run_has_its_own_waveform(folder, monkeypatch):
    break_design(monkeypatch, "byte taken that was not offered")
    result = run("prove", *ONE, "input-stream", "--vcd", "two.vcd")
    assert result.status == 1
    files = re.findall(r"^waveform: (.*)$", result.out, re.MULTILINE)
    assert files == ["two.vcd", "two-decoder_other.vcd"]
    assert Path(files[0]).read_bytes() != Path(files[1]).read_bytes()
    for file in files:
        assert_is_waveform(file)


def test_what_is_not_reached_is_said(folder, monkeypatch):
    silent = altered("decoder", [("o.valid.eq(will_stall | both_full | comes)", "o.valid.eq(0)")])
    replace_design(monkeypatch, "decoder", silent)
    result = run("prove", *ONE, "output-stream")
    assert (result.status, result.err) == (1, "")
    _, _, line, verdict, unreached = squeezed(result.out)
    assert line.startswith("decoder unicode output-stream VACUOUS ")
    assert verdict.startswith("VACUOUS: decoder, unicode, output-stream: An offered ")
    assert unreached == "not reached: an output that waits, and is taken then"
    assert names(folder) == {"text.txt"}


@pytest.mark.long
def test_all_properties_of_a_component_on_all_cores(folder, tmp_path_factory):
    """One of them fails in a worker process."""
    patch = tmp_path_factory.mktemp("patch")
    (patch / "sitecustomize.py").write_text(SURROGATES_IN_VERILOG)
    arguments = "--component", "encoder", "--compact", "--profile", "ucs2"
    path = os.pathsep.join([str(patch), os.environ.get("PYTHONPATH", "")])
    with Process("prove", *arguments, PYTHONPATH=path) as running:
        status, out, err = running.end()
    assert (status, err) == (1, "")
    lines = re.findall(r"^compact encoder +ucs2 +(\S+) +(\w+) ", out, re.MULTILINE)
    own = [what.name for what in proofs_of(DesignSpec("encoder", compact=True))]
    assert sorted(lines) == sorted(
        (name, "FAILED" if name == "verilog" else "proved") for name in own
    )
    assert "FAILED: compact encoder, ucs2, verilog: " in out
    assert f"waveform: {VCD}" in out.splitlines()
    assert_is_waveform(VCD)


# An encoder's Verilog is that of one that accepts surrogates.
SURROGATES_IN_VERILOG = """\
from dataclasses import replace
from utf8_flow.formal import streams
from utf8_hdl import CompactEncoder

generate = streams.generate


def altered(design):
    if isinstance(design, CompactEncoder):
        design = CompactEncoder(replace(design.profile, accept_surrogates=True))
    return generate(design)


streams.generate = altered
"""


def test_the_inputs_that_contradict_a_lemma_are_shown(folder, monkeypatch):
    monkeypatch.setattr(specification, "TABLE_3_7", "00..7F")
    result = run("prove", *ONE, "well-formed-passes")
    assert (result.status, result.err) == (1, "")
    assert re.search(r"^ +cycle +offered +byte +last$", result.out, re.MULTILINE)
    assert re.search(r"^ +0 +1 +[C-F]. +0$", result.out, re.MULTILINE)
    assert re.search(r"^> +1 +1 +[89AB]. +0$", result.out, re.MULTILINE)
    assert names(folder) == {"text.txt"}


# --- interrupts ---------------------------------------------------------------------------------


SINGLE = ["--component", "decoder", "--property", "self-synchronisation"]


@pytest.mark.sample(2)
@needs_proc
@pytest.mark.parametrize(
    ("arguments", "group"),
    [([], True), (SINGLE, True), ([], False)],
    ids=["from a terminal", "without workers", "to the process alone"],
)
def test_control_c_ends_the_workers_and_their_programs(folder, tmp_path_factory, arguments, group):
    scratch = tmp_path_factory.mktemp("scratch")
    with Process("prove", "--profile", "extended", *arguments, TMPDIR=str(scratch)) as running:
        if not arguments:
            running.wait_for_workers()
            *_, result = (running.process.stdout.readline() for _ in range(3))
            assert " proved " in result
        running.find("yosys-abc")
        running.interrupt(group)
        status, out, err = running.end()
    assert (status, err) == (130, "utf8-hdl: interrupted\n")
    assert "proved, " not in out
    assert names(folder) == {"text.txt"}
    assert names(scratch) == set()
