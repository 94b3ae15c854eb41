"""Options that may have no effect, input that cannot be read, and unexpected errors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command import assert_refused, names, run
from utf8_flow.cli import texts
from utf8_flow.verify import waves


@pytest.mark.parametrize(
    "line",
    [
        "simulate text.txt --stall-input 0 --seed 7",  # scripts vary the rate only
        "compare text.txt --seed 7",
        f"simulate {os.devnull} --tokens {os.devnull}",  # not a regular file: nothing is lost
    ],
)
def test_option_with_possible_effect_is_accepted(folder, line):
    assert run(*line.split()).status == 0


def test_unreadable_save_file_is_refused_before_the_run(folder, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    Path("out.gtkw").touch()
    monkeypatch.setattr(waves.Path, "read_bytes", refuse)
    assert_refused(run("simulate", "text.txt", "--vcd", "out.vcd"), "cannot read 'out.gtkw': Perm")
    assert names(folder) == {"text.txt", "out.gtkw"}


def test_truncated_input_is_refused(folder, monkeypatch):
    def pieces(stream):
        yield stream.read(1), False
        yield b"", True

    monkeypatch.setattr(texts, "file_pieces", pieces)
    result = run("compare", "text.txt")
    assert result.status == 2
    assert "cannot read 'text.txt': truncated to 1 of 3 bytes" in result.err
    assert "in all" not in result.out


def test_endless_stream_is_refused(folder, monkeypatch):
    monkeypatch.setattr(texts, "MAX_COPY", 2)
    with open("text.txt") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert_refused(run("simulate", "-"), "cannot read '-': more than 2 bytes")


def test_closed_standard_input_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert_refused(run("compare", "-"), "cannot read '-': standard input is closed")


def fail(*_: object, **__: object) -> None:
    raise RuntimeError("no\nsuch luck")


def test_unexpected_error_has_its_own_status(folder, monkeypatch):
    monkeypatch.setattr("utf8_flow.verify.engine_choice.prepare_engine", fail)
    failed = run("simulate", "text.txt")
    assert (failed.status, failed.out) == (70, "")
    assert failed.err.startswith("utf8-hdl: unexpected error: RuntimeError: no such luck")
    assert failed.err.endswith(" (set UTF8_HDL_TRACEBACK=1 to see where, and please report it)\n")
    assert failed.err.count("\n") == 1
    monkeypatch.setenv("UTF8_HDL_TRACEBACK", "1")
    failed = run("simulate", "text.txt")
    assert failed.status == 70
    assert "Traceback (most recent call last):\n" in failed.err
    assert "in fail\n" in failed.err


@pytest.mark.parametrize(
    ("module", "line", "status", "message"),
    [
        ("fcntl", "--version", 2, "this program needs Linux or macOS; on Windows, use WSL\n"),
        ("numpy", "simulate --text A", 70, "unexpected error: ModuleNotFoundError: "),
    ],
    ids=["windows", "missing dependency"],
)
def test_missing_module_is_reported(module, line, status, message):
    program = (
        "import sys\n"
        f"sys.modules[{module!r}] = None\n"
        "from utf8_flow.__main__ import main\n"
        "sys.exit(main())"
    )
    command = [sys.executable, "-c", program, *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(f"utf8-hdl: {message}")
    assert done.stderr.count("\n") == 1


def test_name_of_a_signal_is_no_module_name(folder):
    assert_refused(run("generate", "--module", "will_stall", "-o", "x.v"), "'will_stall' is")
    assert names(folder) == {"text.txt"}
