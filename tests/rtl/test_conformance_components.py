"""`utf8-hdl conform`: the ready files of every component pass, and wrong ones break their rules."""

import re
import shlex
from pathlib import Path

import pytest

from command import conform, failed
from needs import needs_icarus, needs_verilator
from utf8_sim.conformance import runner
from utf8_sim.conformance.rules import SHARED_RULES

FOLDER = Path(__file__).parents[2] / "verilog"
FILES = sorted(FOLDER.glob("*.v"))
WRONG = Path(__file__).with_name("wrong_stream.v")
LONG = pytest.mark.long

COMPONENTS = "utf8_encoder", "utf8_validator_8", "utf8_decoder_8", "utf8_transcoder_8"
"""The files around which wrong cores are built, one of each component."""

SHARED = [rule.name for rule in SHARED_RULES]

FAULTS = {rule: number for number, rule in enumerate(SHARED, 1)}
"""The fault of wrong_stream.v that breaks each shared rule."""

NO_LAST = len(FAULTS) + 1
"""The fault that breaks every rule about results: no output ends a text."""

ALSO = {"rate-well-formed": {"rate-hostile"}}
"""Other rules that the fault of a rule breaks in a validator."""


def options_in_header(file):
    """The options that choose the component, from the command that generates a ready file."""
    header = file.read_text(encoding="utf-8").partition("\nmodule ")[0].replace("\\\n//  ", "")
    [command] = re.findall(r"^//   utf8-hdl generate (.*)$", header, re.M)
    words = iter(shlex.split(command))
    return [word for word in words if word != "--compact" and not (word in OUTPUT and next(words))]


OUTPUT = "-o", "--module"
"""Options of generate that do not choose the component, each with a value."""


@LONG
@needs_verilator
@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_ready_file_passes_every_rule(folder, file):
    words = options_in_header(file)
    words += ["--every-text", 3] * (file.stem in ("utf8_decoder", "utf8_compact_decoder"))
    result, rows = conform(file, "--top", file.stem, *words)
    assert result.status == 0, result.out
    not_tried = {name for name, row in rows.items() if row["verdict"] == "n/a"}
    assert not_tried <= {"defined", "noncharacter"}


def wrong_core(name):
    """The words of a command for wrong_stream.v around a ready file."""
    file = FOLDER / f"{name}.v"
    ports = file.read_text(encoding="utf-8").partition("\n);")[0]
    macros = {"CORE": name}
    for port, bits in re.findall(r"\w+put wire (?:\[(\d+):0\] )?(\w+_axis_\w+)", ports):
        side, field = bits.split("_axis_t")
        macros[f"{'I' if side == 's' else 'O'}_{field.upper()}"] = str(int(port or 0) + 1)
    text = "".join(f"`define {macro} {value}\n" for macro, value in macros.items())
    Path("wrong.v").write_text(text + WRONG.read_text())
    return ["wrong.v", file, "--top", "wrong_stream", *options_in_header(file)]


@needs_verilator
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", COMPONENTS)
@pytest.mark.parametrize("rule", [rule for rule in SHARED if rule != "defined"])
def test_fault_breaks_its_rule(folder, name, rule):
    """For the validator, no other rule is broken."""
    words, also = wrong_core(name), ALSO.get(rule, set())
    Path("bug").write_text(str(FAULTS[rule]))
    if "validator" not in name:
        words, also = [*words, "--rule", rule], set()
    _, rows = conform(*words, "--engine", "verilator")
    assert failed(rows) == {rule} | also


@LONG
@needs_verilator
@pytest.mark.parametrize("name", COMPONENTS)
def test_wrong_outputs_break_every_rule_about_results(folder, name):
    words = wrong_core(name)
    Path("bug").write_text(str(NO_LAST))
    _, rows = conform(*words, "--engine", "verilator")
    assert failed(rows) >= {*rows} - {*SHARED}


@LONG
@needs_icarus
@pytest.mark.parametrize("name", COMPONENTS)
def test_undefined_output_breaks_its_rule(folder, name, monkeypatch):
    """Icarus Verilog starts again after each failure; most texts are left out."""
    monkeypatch.setattr(runner, "STEADY", 1)
    words = wrong_core(name)
    Path("map.toml").write_text(f"[parameters]\nBUG = {FAULTS['defined']}\n")
    words += ["--engine", "icarus", "--rule", "defined", "--ports", "map.toml"]
    result, rows = conform(*words)
    assert failed(rows) == {"defined"}
    assert "m_axis_tlast is x" in rows["defined"]["note"], result.out
