"""Errors of the operating system, closed or full standard streams, and escapes in messages."""

import errno
import json
import os
import tempfile
from pathlib import Path

import pytest

from command import assert_refused, break_design, in_shell, output_of, run, run_in_shell
from needs import needs_full_disk
from utf8_flow.terminal import visible


def test_deleted_working_folder_is_named(folder):
    result = run_in_shell("mkdir gone && cd gone && rmdir ../gone && exec utf8-hdl generate")
    assert_refused(result, "cannot use the current folder: No such file or directory\n")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ((errno.ENOSPC, "Full"), "cannot continue: Full (temporary files are in '/"),
        ((errno.ENOENT, "Not there", "/none"), "cannot use '/none': Not there"),
    ],
)
def test_system_error_is_named(monkeypatch, error, message):
    def refuse(*_arguments):
        raise OSError(*error)

    monkeypatch.setattr("utf8_flow.export.verilog.generate", refuse)
    assert_refused(run("generate"), message)


def test_missing_temporary_folder_is_replaced(folder, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert run("generate", "-o", "out.v") == (0, "", "")


FULL = ["--help", "simulate --component encoder --text A --bytes -", "compare many"]
CLOSED = ["--version", "simulate --text A --tokens -"]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("arguments", "redirection", "reason"),
    [
        *(
            pytest.param(line, "> /dev/full", "No space left", marks=needs_full_disk)
            for line in FULL
        ),
        *((line, ">&-", "Bad file descriptor\n") for line in CLOSED),
    ],
)
def test_unwritable_standard_output_is_named(folder, arguments, redirection, reason):
    Path("many").write_bytes(b"A" * 3000)
    result = run_in_shell(f"utf8-hdl {arguments} {redirection}")
    assert result.status == 2
    *report, message = result.err.splitlines(keepends=True)
    assert message.startswith(f"utf8-hdl: cannot write standard output: {reason}")
    assert report == [] or redirection != ">&-"


@pytest.mark.long
def test_closed_standard_error_leaves_the_data(folder):
    arguments = "simulate --text ok --tokens -"
    assert in_shell(f"utf8-hdl {arguments} 2>&-").stdout == run(*arguments.split()).out


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("redirection", "unbuffered"),
    [
        ("2>&-", ""),
        pytest.param("2> /dev/full", "", marks=needs_full_disk),
        pytest.param("2> /dev/full", "1", marks=needs_full_disk),
    ],
)
def test_unwritable_standard_error_keeps_the_status(monkeypatch, redirection, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    assert run_in_shell(f"utf8-hdl generate --module 3 {redirection}") == (2, "", "")


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["/dev/stdout", "link"])
def test_standard_output_is_recognised_by_any_name(folder, name):
    """The report would overwrite the data, or the data the report."""
    Path("data").write_text("before\n")
    Path("link").symlink_to("data")
    report = in_shell(f"utf8-hdl simulate text.txt --tokens {name} >> data").stderr
    before, *tokens = Path("data").read_text().splitlines()
    assert (before, [json.loads(line)["offset"] for line in tokens]) == ("before", [0, 1])
    assert "agree" in report


@pytest.mark.long
@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd")
def test_descriptor_is_appended_to(folder):
    Path("out.v").write_text("before\n")
    in_shell("utf8-hdl generate -o /dev/fd/3 3>> out.v")
    assert Path("out.v").read_text() == "before\n" + run("generate").out


def test_terminal_without_a_width(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "0")
    assert "agree" in run("simulate", "text.txt").out


ESCAPE = "a\x1b[31m\nred\x07\u202e.txt"
SHOWN = r"a\x1b[31m\nred\x07\u202e.txt"


def test_visible_escapes_control_characters():
    assert visible(ESCAPE) == SHOWN
    assert visible("A©≠😀 b") == "A©≠😀 b"
    assert visible(os.fsdecode(b"\xff\x1b")) == r"\udcff\x1b"


def test_messages_contain_no_escape(folder):
    for words in ["simulate", ESCAPE], ["simulate", "--seed", ESCAPE], [f"--{ESCAPE}"], [ESCAPE]:
        result = run(*words)
        assert result.status == 2
        assert set(result.err) & set("\x1b\x07\u202e") == set()
        assert result.err.count("\n") == 1


@pytest.mark.long
def test_reports_contain_no_escape(folder, monkeypatch):
    Path(ESCAPE).write_bytes(b"A\xed\xbf\xbf")
    break_design(monkeypatch, "range: ED BF is no surrogate")
    out = output_of("compare", ESCAPE, "--vcd", f"{ESCAPE}.vcd", status=1)
    assert "\x1b" not in out
    assert f"stimulus: {SHOWN}" in out
    assert f"waveform around it: {SHOWN}.vcd" in out
