"""`--engine`: the choice of `auto`, and missing tools."""

import shutil
import sys
from pathlib import Path

import pytest

from command import Run, assert_refused, run
from needs import ENGINES, needs_compiler, needs_verilator
from utf8_flow.verify import engine_choice, engines

WORTH = 512
"""Number of inputs at which `auto` compiles the design in these tests."""


def engine_line(result: Run) -> str:
    """The line of the report that names the engine."""
    assert result.status == 0
    assert "agree" in result.out
    (line,) = (line for line in result.out.splitlines() if line.startswith("engine"))
    return " ".join(line.split())


@pytest.fixture(autouse=True)
def low_threshold(monkeypatch):
    monkeypatch.setattr(engine_choice, "WORTH_COMPILING", WORTH)


def test_engines_of_tests_and_help():
    assert list(ENGINES) == list(engines.ENGINES)
    assert "|".join(["auto", *ENGINES]) in "".join(run("simulate", "--help").out.split())


@needs_compiler
@pytest.mark.parametrize(
    ("arguments", "size"),
    [
        ("simulate -", WORTH),
        ("simulate text.txt --stall-input 0.9", WORTH),
        ("compare text.txt", WORTH // 4),  # four runs: at full rate and with stalls
        ("compare text.txt --stall-output 0.9", WORTH // 2),
    ],
)
def test_auto_compiles_for_long_inputs(folder, monkeypatch, arguments, size):
    for length, engine in ((size, "cxxrtl"), (size // 2, "amaranth")):
        Path("text.txt").write_bytes(b"A" * length)
        with open("text.txt", encoding="utf-8") as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            assert engine_line(run(*arguments.split(), "--compact")) == f"engine {engine}"


@needs_compiler
def test_auto_counts_inputs_of_options():
    for command in ("simulate", "compare"):
        result = run(command, "--compact", "--hex", "41 /" * WORTH)
        assert engine_line(result) == "engine cxxrtl"


def test_failing_compiler(tmp_path, monkeypatch):
    script = tmp_path / "failing-c++"
    script.write_text('#!/bin/sh\n[ "$1" = --version ] || { echo "error: no room" >&2; exit 3; }\n')
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    failure = "failing-c++ failed (exit status 3): error: no room"
    text = "--compact", "--text", "A" * WORTH
    assert engine_line(run("simulate", *text)) == f"engine amaranth, which is slow ({failure})"
    assert_refused(run("simulate", *text, "--engine", "cxxrtl"), failure)


@needs_verilator
def test_verilator_needs_a_compiler(folder, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/verilator").symlink_to(shutil.which("verilator"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CXX", raising=False)
    arguments = "text.txt", "--engine", "verilator"
    missing = "no C++ compiler is installed: install g++ or clang++"
    assert_refused(run("simulate", "--compact", *arguments), missing)
