"""What the operating system refuses is said in one line that names it, and nothing is blamed on
standard output that is not its fault."""

import errno
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from command import COMMAND, assert_refused, break_design, run, run_process
from needs import needs_full_disk
from utf8_flow.terminal import visible

IN_A_DELETED_FOLDER = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'


def test_a_deleted_working_folder_is_named(folder):
    shell = ["sh", "-c", IN_A_DELETED_FOLDER, "sh", COMMAND, "generate"]
    result = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == ("utf8-hdl: cannot use the current folder: No such file or directory\n")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ((errno.ENOSPC, "Full"), "cannot go on: Full (temporary files are in '/"),
        ((errno.ENOENT, "Not there", "/none"), "cannot use '/none': Not there"),
    ],
)
def test_what_the_system_refuses_is_named(monkeypatch, error, said):
    def refuse(*_arguments):
        raise OSError(*error)

    monkeypatch.setattr("utf8_flow.export.verilog.generate", refuse)
    assert_refused(run("generate"), said)


def test_a_temporary_folder_that_does_not_exist_does_no_harm(folder, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert run("generate", "-o", "out.v") == (0, "", "")


@needs_full_disk
@pytest.mark.parametrize(
    "arguments",
    ["--help", "compare many", "generate", "simulate --component encoder --text A --bytes -"],
)
def test_standard_output_is_blamed_for_what_is_its_own(folder, arguments):
    Path("many").write_bytes(b"A" * 3000)
    with open("/dev/full", "wb") as full:
        result = run_process(*arguments.split(), stdout=full)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == (
        b"utf8-hdl: cannot write standard output: No space left on device"
    )


@pytest.mark.parametrize(
    "arguments", ["--version", "simulate --text A", "generate", "simulate --text A --tokens -"]
)
def test_standard_output_that_is_closed_is_refused(folder, arguments):
    command = ["sh", "-c", f"exec {COMMAND} {arguments} >&-"]
    result = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr) == (
        2,
        "utf8-hdl: cannot write standard output: Bad file descriptor\n",
    )


@pytest.mark.parametrize(
    "line",
    [
        "simulate --text ok --tokens -",
        "simulate --component encoder --text ok --bytes -",
        "simulate --text ok --vcd -",
    ],
)
def test_closed_standard_error_leaves_the_data_alone(folder, line):
    shell = f"{COMMAND} {line} > open 2> messages; exec {COMMAND} {line} > closed 2>&-"
    assert subprocess.run(["sh", "-c", shell], check=False).returncode == 0
    assert Path("closed").read_bytes() == Path("open").read_bytes()


def test_closed_standard_error_hides_only_the_message(folder):
    shell = f"exec {COMMAND} generate --module 3 2>&- > out.v"
    assert subprocess.run(["sh", "-c", shell], check=False).returncode == 2
    assert Path("out.v").read_text() == ""


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
@pytest.mark.parametrize("name", ["/dev/stdout", "data", "link"])
def test_standard_output_is_known_by_any_name(folder, name):
    """The report would overwrite the data, or the data the report."""
    Path("data").write_text("before\n")
    Path("link").symlink_to("data")
    shell = f"exec {COMMAND} simulate text.txt --tokens {name} >> data"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    before, *tokens = Path("data").read_text().splitlines()
    assert (before, [json.loads(line)["offset"] for line in tokens]) == ("before", [0, 1])
    assert "agree" in done.stderr


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd")
@pytest.mark.parametrize(
    ("name", "to"), [("/dev/stdout", ">>"), ("/dev/stderr", "2>>"), ("/dev/fd/3", "3>>")]
)
def test_what_a_descriptor_appends_to_is_not_truncated(folder, name, to):
    Path("out.v").write_text("before\n")
    shell = f"exec {COMMAND} generate -o {name} {to} out.v"
    assert subprocess.run(["sh", "-c", shell], check=False).returncode == 0
    assert Path("out.v").read_text() == "before\n" + run("generate").out


def test_a_terminal_that_reports_no_width_gets_the_report(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "0")
    assert "agree" in run("simulate", "text.txt").out


@needs_full_disk
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_standard_error_that_cannot_be_written_changes_no_exit_status(folder, unbuffered):
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "wb") as full:
        command = [COMMAND, "simulate", "nonexistent"]
        run = subprocess.run(command, stderr=full, check=False, env=environment)
    assert run.returncode == 2


ESCAPE = "a\x1b[31m\nred\x07\u202e.txt"
SHOWN = r"a\x1b[31m\nred\x07\u202e.txt"


def test_what_cannot_be_printed_is_visible():
    assert visible(ESCAPE) == SHOWN
    assert visible("A©≠😀 b") == "A©≠😀 b"
    assert visible(os.fsdecode(b"\xff\x1b")) == r"\udcff\x1b"


def test_no_message_has_an_escape_in_it(folder):
    for arguments in (
        ["simulate", ESCAPE],
        ["simulate", "--text", "A", "--vcd", f"none/{ESCAPE}"],
        ["simulate", "--engine", ESCAPE],
        [f"--{ESCAPE}"],
        ["generate", "--module", ESCAPE],
        ["simulate", "--seed", ESCAPE],
        [ESCAPE],
    ):
        result = run(*arguments)
        assert result.status == 2
        assert set(result.err) & set("\x1b\x07\u202e") == set()
        assert result.err.count("\n") == 1


def test_no_report_has_an_escape_in_it(folder, monkeypatch):
    Path(ESCAPE).write_bytes(b"A\xed\xbf\xbf")
    break_design(monkeypatch, "range: ED BF is no surrogate")
    result = run("compare", ESCAPE, "--vcd", f"{ESCAPE}.vcd")
    assert result.status == 1
    assert "\x1b" not in result.out
    assert f"stimulus: {SHOWN}" in result.out
    assert f"waveform around it: {SHOWN}.vcd" in result.out
