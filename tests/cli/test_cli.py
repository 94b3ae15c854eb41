"""`utf8-hdl simulate`, `compare` and `generate`: inputs, outputs, coverage and differences."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from command import (
    COMMAND,
    ENCODER,
    assert_is_waveform,
    assert_no_traceback,
    both_commands,
    break_design,
    edit_component,
    in_shell,
    names,
    output_of,
    run,
    run_for_bytes,
    squeezed,
)
from utf8_flow.cli import texts
from utf8_hdl import __version__
from utf8_sim.campaign import Part

# --- compare ------------------------------------------------------------------------------------


CAMPAIGNS = [
    ("--component decoder --compact", {"00..7F", "FE..FF", "START", "NEED_3", "HELD"}),
    ("--component encoder --compact", {"00..7F", "D800..DFFF", "110000..FFFFFFFF"}),
    ("--component decoder", {"00..7F", "FE..FF", "START", "NEED_3"}),
    ("--component compactor --lanes 2", set()),
]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("options", "classes"), CAMPAIGNS)
def test_compare_covers_every_class(options, classes):
    out = output_of("compare", *options.split())
    words = set(out.split())
    assert classes <= words
    assert ("HELD" in words) == ("HELD" in classes)
    assert re.search("^every class occurred with every (state|output|lane|number)", out, re.M)
    assert "NEVER" not in words
    assert "agree" in words


@pytest.mark.sample(1)
@pytest.mark.usefixtures("shared_engines")
@pytest.mark.xdist_group("lanes")
@pytest.mark.parametrize(
    ("component", "counted"),
    [
        ("decoder", {"00..7F", "FE..FF"}),
        ("validator", {"overlong", "well-formed"}),
        ("compactor", set()),
        ("transcoder", {"00..7F", "FE..FF"}),
    ],
)
def test_compare_with_lanes(component, counted):
    texts = "--hex", "C0 AF / 6E 61 C3 AF 76 65"
    out = output_of("compare", "--component", component, "--lanes", 4, *texts, "--seed", 3)
    assert "hardware and golden model agree on every output pin" in out
    assert counted <= {*out.split()}


def test_compare_counts_code_points_of_files(folder):
    Path("more.bin").write_bytes(b"AB\xed\xa0\x80")
    out = output_of("compare", *ENCODER, "--compact", "text.txt", "more.bin")
    assert "8 runs: 2 stimuli" in out
    assert "agree" in out
    rows = [line.split() for line in out.splitlines() if ".." in line.split(" ")[0]]
    counts = {name: sum(map(int, cells)) for name, *cells in rows if cells}
    assert {name: count for name, count in counts.items() if count} == {
        "00..7F": 12,
        "80..7FF": 4,
        "D800..DFFF": 4,
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["text.txt", "text.txt"], "8 runs: 2 stimuli"),
        (["--hex", "E2 82 / AC"], "4 runs: 1 stimulus, each at full rate, stalls in 0 out 0.25, "),
        (["--text", "AB", "--stall-output-cycles", "8-9"], "full rate, stalls in 0 out cycles 8-9"),
        (["--text", "AB", "--stall-output-cycles", "8-9"], "output in 2 cycles"),
        (["--text", "AB", "--stall-input", "0", "--stall-output", "0"], "each at full rate\n"),
    ],
)
@pytest.mark.usefixtures("shared_engines")
def test_compare_reports_stimuli_and_stalls(folder, arguments, expected):
    out = output_of("compare", *arguments, "--vcd", "out.vcd")
    assert expected in out
    assert "agree" in out
    assert "not covered" not in out
    assert "every class met" not in out
    assert not Path("out.vcd").exists()


def test_compare_reports_gaps_of_the_campaign_only(folder, monkeypatch):
    out = output_of("compare", "text.txt")
    assert {"00..7F 4", "E0"} <= set(squeezed(out))
    assert "NEVER" not in out
    part = Part("one", 1, lambda: iter([(b"A", True)]))
    edit_component(monkeypatch, "decoder", campaign=lambda *_: [part])
    out = output_of("compare", status=1)
    assert "00..7F 5 NEVER NEVER NEVER" in squeezed(out)
    assert "reset in state x NEED_1" in out
    assert "agree" not in out
    assert "not covered: " in out


# --- standard input and pipes -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["-", "/dev/fd/{}"])
def test_compare_rereads_a_pipe(tmp_path, monkeypatch, name):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    reader, writer = os.pipe()
    os.write(writer, b"A\xc2\xa9")
    os.close(writer)
    with open(reader) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        result = run("compare", "--compact", name.format(reader), "--tokens", "-")
    assert result.status == 0
    values = [list(json.loads(line).values()) for line in result.out.splitlines()]
    assert values == [[0, 1, 65, None], [1, 2, 169, None]] * 4
    assert "agree" in result.err
    assert names(tmp_path) == set()


@pytest.mark.long
def test_report_on_ascii_terminal(folder):
    Path("[").mkdir()
    Path("[/b]").write_bytes("©".encode())
    result = in_shell("FORCE_COLOR=1 PYTHONIOENCODING=ascii utf8-hdl simulate '[/b]'")
    assert_no_traceback(result.stderr)
    assert "agree" in result.stdout


# --- outputs are complete or absent -------------------------------------------------------------


@pytest.mark.usefixtures("header_only")
def test_generate_writes_the_same_to_file_and_stdout(folder):
    assert run("generate", "--compact", "-o", "decoder.v") == (0, "", "")
    assert run("generate", "--compact") == (0, Path("decoder.v").read_text(), "")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("arguments", "outputs"),
    [
        ("simulate --component encoder --compact", ["--bytes", "--tokens"]),
        ("compare --compact", ["--tokens"]),
    ],
)
def test_failed_read_leaves_output_files_unchanged(folder, monkeypatch, arguments, outputs):
    def pieces(stream):
        yield b"A" * 4200, False  # more than a window of tokens
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(texts, "file_pieces", pieces)
    Path("--tokens").write_text("old\n")
    written = [word for option in outputs for word in (option, f"./{option}")]
    result = run(*arguments.split(), "text.txt", *written)
    assert (result.status, result.err.count("\n")) == (2, 1)
    assert "cannot read 'text.txt': Input/output error" in result.err
    assert Path("--tokens").read_text() == "old\n"
    assert names(folder) == {"text.txt", "--tokens"}


@pytest.mark.long
def test_closed_stdout_ends_simulate_quietly(folder):
    """The tokens exceed the buffers of the pipe and of the reader."""
    Path("big.txt").write_bytes(b"A" * 8000)
    command = [COMMAND, "simulate", "--compact", "big.txt", "--vcd", "out.vcd", "--tokens", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(1)
        process.stdout.close()
        err = re.sub(b"(?m)^utf8-hdl: working: .*\n", b"", process.stderr.read())
    assert (process.returncode, err) == (141, b"")
    assert not Path("out.vcd").exists()


# --- differences --------------------------------------------------------------------------------


DIFFERENCE = "DIFFERENCE: cycle 3, pin o.valid: expected 1, actual 0"


@pytest.fixture
def run_broken(folder, monkeypatch):
    """Run a command with a decoder that differs in a text."""
    options = break_design(monkeypatch, "compact: range: ED BF is no surrogate")
    return lambda command, *words: run(command, *options, "--hex", "ED BF BF", *words)


@pytest.mark.sample(1)
@both_commands
def test_vcd_option_names_the_waveform_of_a_difference(run_broken, command):
    result = run_broken(command, "--vcd", "kept.vcd")
    assert result.status == 1
    assert DIFFERENCE in result.out
    assert_is_waveform("kept.vcd")
    assert not Path("utf8-hdl-difference.vcd").exists()
    result = run_broken(command, "--vcd", "-")
    assert result.status == 1
    assert result.out.startswith("$timescale 1 ns $end\n$version utf8-hdl $end\n")
    assert DIFFERENCE not in result.out
    assert DIFFERENCE in result.err


def test_difference_counts_without_a_waveform(run_broken):
    Path("utf8-hdl-difference.vcd").mkdir()
    result = run_broken("simulate")
    assert result.status == 1
    assert DIFFERENCE in result.out


def test_difference_with_bytes_on_stdout(folder, monkeypatch):
    options = break_design(monkeypatch, "range: DFFF is no surrogate")
    result = run_for_bytes("simulate", *options, "--hex", "41 ED BF BF", "--bytes", "-")
    assert (result.status, result.out) == (1, b"A\xed")
    assert "DIFFERENCE" in result.err
    assert_is_waveform("utf8-hdl-difference.vcd")


def test_version():
    assert run("--version") == (0, f"utf8-hdl {__version__}\n", "")
