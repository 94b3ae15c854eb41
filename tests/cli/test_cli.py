"""`utf8-hdl simulate`, `compare` and `generate`: outputs, differences, interrupts, closed pipes."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from command import (
    COMMAND,
    DESIGNS,
    ENCODER,
    assert_is_waveform,
    assert_no_traceback,
    both_commands,
    break_design,
    changed_entry,
    each_design,
    names,
    run,
    run_for_bytes,
    run_process,
    squeezed,
)
from reference import ref_tokens
from utf8_flow.cli import texts
from utf8_hdl import __version__
from utf8_sim.campaign import Part
from utf8_sim.components import COMPONENTS, DECODER

VCD_BEGINS = "$timescale 1 ns $end\n$version utf8-hdl $end\n"


# --- compare ------------------------------------------------------------------------------------


BYTES = {"00..7F", "ED", "FE..FF"}
STATES = {"START", "NEED_1", "NEED_2", "NEED_3"}
CODE_POINTS = {"00..7F", "80..7FF", "D800..DFFF", "110000..FFFFFFFF"}
LANED = BYTES | {"overlong", "character"}, BYTES | {"overlong", "well-formed"}
SHOWN = BYTES | STATES, BYTES | STATES | {"HELD"}, CODE_POINTS, CODE_POINTS, *LANED


@pytest.mark.parametrize(
    ("options", "shown"), [*zip(DESIGNS.values(), SHOWN, strict=True)], ids=DESIGNS
)
def test_the_campaign_meets_every_class(options, shown):
    result = run("compare", *options)
    assert (result.status, result.err) == (0, "")
    words = set(result.out.split())
    assert shown <= words
    assert ("HELD" in words) == ("HELD" in shown)
    assert re.search("^every class met every (state|output|lane)$", result.out, re.MULTILINE)
    assert "NEVER" not in words
    assert "agree" in words


def test_compare_takes_files_and_counts_their_code_points(folder):
    Path("more.bin").write_bytes(b"AB\xed\xa0\x80")
    result = run("compare", *ENCODER, "text.txt", "more.bin")
    assert (result.status, result.err) == (0, "")
    assert "8 runs: 2 stimuli" in result.out
    assert "agree" in result.out
    rows = [line.split() for line in result.out.splitlines() if ".." in line.split(" ")[0]]
    counts = {name: sum(map(int, cells)) for name, *cells in rows if cells}
    assert {name: count for name, count in counts.items() if count} == {
        "00..7F": 12,
        "80..7FF": 4,
        "D800..DFFF": 4,
    }


@pytest.mark.parametrize(
    ("arguments", "runs"),
    [
        (["text.txt", "text.txt"], "8 runs: 2 stimuli"),
        (["--hex", "E2 82 / AC"], "4 runs: 1 stimulus, each at full rate, stalls in 0 out 0.25, "),
        (["--text", "€A"], "4 runs: 1 stimulus"),
        ([*ENCODER, "--hex", "41 ED A0 80"], "4 runs: 1 stimulus"),
        (["--text", "AB", "--stall-output-cycles", "8-9"], "full rate, stalls in 0 out cycles 8-9"),
        (["--text", "AB", "--stall-input", "0", "--stall-output", "0"], "each at full rate\n"),
    ],
)
def test_compare_says_what_is_compared(folder, arguments, runs):
    result = run("compare", *arguments, "--vcd", "out.vcd")
    assert result.status == 0
    assert runs in result.out
    assert "agree" in result.out
    assert "never met" not in result.out
    assert "every class met" not in result.out
    assert not Path("out.vcd").exists()


def test_compare_counts_stalls():
    arguments = ["--text", "AB", "--stall-output-cycles", "8-9"]
    assert "output in 2 cycles" in run("compare", *arguments).out


def test_compare_says_never_only_of_what_the_campaign_has_to_meet(folder, monkeypatch):
    result = run("compare", "text.txt")
    assert result.status == 0
    assert {"00..7F 4", "E0"} <= set(squeezed(result.out))
    assert "NEVER" not in result.out
    part = Part("one", 1, lambda: iter([(b"A", True)]))
    changed = changed_entry(DECODER, campaign=lambda *_: [part])
    monkeypatch.setitem(COMPONENTS, "decoder", changed)
    result = run("compare")
    assert result.status == 1
    assert "00..7F 5 NEVER NEVER NEVER" in squeezed(result.out)
    assert "reset in state x NEED_1" in result.out
    assert "agree" not in result.out
    assert "never met: " in result.out


@each_design("decoder", "encoder")
def test_tokens_on_standard_output_leave_the_report_to_standard_error(folder, options):
    result = run("compare", *options, "text.txt", "--tokens", "-")
    assert result.status == 0
    values = [list(json.loads(line).values()) for line in result.out.splitlines()]
    tokens = {
        "decoder": [[0, 1, 65, None], [1, 2, 169, None]],
        "encoder": [[0, 0x41, False, False], [1, 0xC2, False, False], [2, 0xA9, False, True]],
    }
    assert values == tokens[options[1]] * 4
    assert "agree" in result.err


# --- standard input and pipes -------------------------------------------------------------------


@pytest.fixture
def scratch(tmp_path, monkeypatch) -> Path:
    """Where temporary files go."""
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return place


@pytest.mark.parametrize("name", ["-", "/dev/fd/{}"])
def test_compare_reads_a_pipe_as_often_as_it_must(scratch, monkeypatch, name):
    reader, writer = os.pipe()
    os.write(writer, b"A")
    os.close(writer)
    with open(reader) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        result = run("compare", name.format(reader), "--tokens", "-")
    assert (result.status, len(result.out.splitlines())) == (0, 4)
    assert not list(scratch.iterdir())


def test_a_decoder_takes_what_an_encoder_gives():
    data = "A\r\né≠😀 naïve שלום नमस्ते 你好\n".encode()
    command = shlex.quote(COMMAND)
    result = subprocess.run(
        f"{command} simulate --component encoder - --bytes - |{command} simulate - --tokens -",
        input=data, shell=True, capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    tokens = [tuple(json.loads(line).values()) for line in result.stdout.splitlines()]
    assert tokens == ref_tokens(data)
    assert result.stderr.count(b"agree") == 2


def test_a_terminal_shows_any_name_and_any_character(folder):
    Path("[").mkdir()
    Path("[/b]").write_bytes("©".encode())
    environment = os.environ | {"FORCE_COLOR": "1", "PYTHONIOENCODING": "ascii"}
    result = run_process("simulate", "[/b]", env=environment, stdout=subprocess.PIPE)
    assert result.returncode == 0
    assert_no_traceback(result.stderr)
    assert b"agree" in result.stdout


# --- outputs are whole or not there -------------------------------------------------------------


def test_verilog_is_the_same_wherever_it_goes(folder):
    assert run("generate", "-o", "decoder.v") == (0, "", "")
    assert run("generate") == (0, Path("decoder.v").read_text(), "")


@pytest.mark.parametrize(
    ("arguments", "outputs"),
    [
        ("simulate", ["--tokens", "--vcd"]),
        ("simulate --component encoder", ["--bytes", "--tokens"]),
        ("compare", ["--tokens"]),
    ],
)
def test_a_read_that_fails_leaves_files_as_they_were(folder, monkeypatch, arguments, outputs):
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


@pytest.mark.parametrize(
    "options", [["--vcd", "out.vcd", "--tokens", "-"], [*ENCODER, "--bytes", "-"]]
)
def test_a_reader_that_goes_away_ends_the_command_quietly(folder, options):
    Path("big.txt").write_bytes(b"A" * 1_000_000)
    command = [COMMAND, "simulate", "big.txt", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(1)
        process.stdout.close()
        err = re.sub(b"(?m)^utf8-hdl: working: .*\n", b"", process.stderr.read())
    assert (process.returncode, err) == (141, b"")
    assert not Path("out.vcd").exists()


# --- a design that is wrong ---------------------------------------------------------------------


# The second byte is accepted in cycle 1, and is wrong; the token comes 7 cycles later, compact 1.
# U+DFFF is accepted in cycle 2, compact in cycle 1; the first byte of U+FFFD comes 7 or 1 later.
DIFFERENCES = {
    "range: ED BF is no surrogate": (
        b"\xed\xbf\xbf",
        "DIFFERENCE: cycle 8, pin o.valid: expected 1, actual 0",
    ),
    "compact: range: ED BF is no surrogate": (
        b"\xed\xbf\xbf",
        "DIFFERENCE: cycle 3, pin o.valid: expected 1, actual 0",
    ),
    "range: DFFF is no surrogate": (
        b"A\xed\xbf\xbf",
        "DIFFERENCE: cycle 9, pin o.data: expected EF, actual ED",
    ),
    "compact: range: DFFF is no surrogate": (
        b"A\xed\xbf\xbf",
        "DIFFERENCE: cycle 3, pin o.data: expected EF, actual ED",
    ),
}


@pytest.fixture(params=DIFFERENCES)
def wrong(request, folder, monkeypatch):
    """A design with a mistake, which the file `surrogate.bin` brings to light: how, and options."""
    text, difference = DIFFERENCES[request.param]
    Path("surrogate.bin").write_bytes(text)
    return difference, break_design(monkeypatch, request.param)


@both_commands
def test_a_difference_is_shown_and_its_waveform_kept(wrong, command):
    difference, options = wrong
    result = run(command, *options, "surrogate.bin")
    assert result.status == 1
    assert difference in result.out
    assert "agree" not in result.out
    assert "utf8-hdl-difference.vcd" in result.out
    assert_is_waveform("utf8-hdl-difference.vcd")


def test_a_design_is_right_as_long_as_its_mistake_is_not_met(wrong):
    assert run("simulate", *wrong[1], "text.txt").status == 0


@pytest.fixture
def wrong_decoder(folder, monkeypatch) -> str:
    """The first of them: what is said of it."""
    name, (text, difference) = next(iter(DIFFERENCES.items()))
    Path("surrogate.bin").write_bytes(text)
    break_design(monkeypatch, name)
    return difference


@both_commands
def test_vcd_names_the_waveform_of_a_difference(wrong_decoder, command):
    result = run(command, "surrogate.bin", "--vcd", "kept.vcd")
    assert result.status == 1
    assert wrong_decoder in result.out
    assert_is_waveform("kept.vcd")
    assert not Path("utf8-hdl-difference.vcd").exists()


@both_commands
def test_a_difference_does_not_disturb_a_waveform_on_standard_output(wrong_decoder, command):
    result = run(command, "surrogate.bin", "--vcd", "-")
    assert result.status == 1
    assert result.out.startswith(VCD_BEGINS)
    assert wrong_decoder not in result.out
    assert wrong_decoder in result.err


@both_commands
def test_a_difference_counts_even_if_its_waveform_cannot_be_kept(wrong_decoder, command):
    Path("utf8-hdl-difference.vcd").mkdir()
    result = run(command, "surrogate.bin")
    assert result.status == 1
    assert wrong_decoder in result.out


def test_a_difference_does_not_disturb_bytes_on_standard_output(folder, monkeypatch):
    options = break_design(monkeypatch, "range: DFFF is no surrogate")
    result = run_for_bytes("simulate", *options, "--hex", "41 ED BF BF", "--bytes", "-")
    assert (result.status, result.out) == (1, b"A\xed")
    assert "DIFFERENCE" in result.err
    assert_is_waveform("utf8-hdl-difference.vcd")


def test_the_campaign_finds_the_difference(folder, monkeypatch):
    options = break_design(monkeypatch, "compact: range: DFFF is no surrogate")
    result = run("compare", *options, "--vcd", "kept.vcd")
    assert result.status == 1
    assert "pin o.data: expected EF, actual ED" in result.out
    assert "stimulus: boundary code points, full rate, seed 0" in result.out
    assert_is_waveform("kept.vcd")
    assert not Path("utf8-hdl-difference.vcd").exists()


def test_version_is_the_packages():
    assert run("--version") == (0, f"utf8-hdl {__version__}\n", "")
