"""The command `utf8-hdl`, run for a test: in this process or in one of its own."""

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from vcd.reader import tokenize

from utf8_flow import cli

COMMAND = str(Path(sys.executable).with_name("utf8-hdl"))


class Run(NamedTuple):
    status: int
    out: str
    err: str


class BinaryRun(NamedTuple):
    status: int
    out: bytes
    err: str


def run(*arguments: object) -> Run:
    """The command, in this process."""
    status, out, err = run_for_bytes(*arguments)
    return Run(status, out.decode(), err)


def run_for_bytes(*arguments: object) -> BinaryRun:
    """The command, in this process, and the bytes of its standard output, text or not."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline=""), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = cli.main([str(argument) for argument in arguments])
    out.flush()
    return BinaryRun(status, out.buffer.getvalue(), err.getvalue())


def run_process(*arguments: object, **options) -> subprocess.CompletedProcess:
    """The command, in a process of its own."""
    command = [COMMAND, *map(str, arguments)]
    return subprocess.run(command, stderr=subprocess.PIPE, timeout=60, check=False, **options)


def start_process(*arguments: object) -> subprocess.Popen:
    """The command, running, both its outputs in pipes."""
    command = [COMMAND, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def squeezed(text: str) -> list[str]:
    """Its lines, with one blank where there are more."""
    return [" ".join(line.split()) for line in text.splitlines()]


def assert_refused(result: Run, named: str) -> None:
    """Exit status 2, one line that says what is wrong, and nothing else."""
    assert result.status == 2
    assert result.out == ""
    assert result.err.startswith("utf8-hdl: ")
    assert result.err.endswith("\n")
    assert result.err.count("\n") == 1
    assert named in result.err


def assert_no_traceback(err: bytes) -> None:
    assert b"Traceback" not in err
    assert b"Exception" not in err


def assert_is_waveform(path: str) -> None:
    with open(path, "rb") as file:
        assert list(tokenize(file))
