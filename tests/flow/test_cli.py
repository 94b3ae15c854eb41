"""The command `utf8-hdl`, as its users meet it: what it prints, writes, refuses and returns."""

import io
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vcd.reader import TokenKind, tokenize

from command import (
    COMMAND,
    Run,
    assert_is_waveform,
    assert_no_traceback,
    assert_refused,
    break_design,
    run,
    run_process,
    squeezed,
    start_process,
)
from reference import ref_tokens
from rtl import verilog_ports
from utf8_flow.cli import simulation, texts
from utf8_flow.verify import engines
from utf8_hdl import __version__
from utf8_sim.campaign import Part
from utf8_sim.engines.engine import AmaranthEngine, HangError

SURROGATE = b"\xed\xa0\x80"
EVERY_BYTE = bytes(range(256))
RANDOM_BYTES = random.Random(0).randbytes(1000)

STATES = ["START", "NEED_1", "NEED_2", "NEED_3"]

CLASSES = [
    "00..7F",
    *("80..8F", "90..9F", "A0..BF"),
    *("C0..C1", "C2..DF"),
    *("E0", "E1..EC", "ED", "EE..EF"),
    *("F0", "F1..F3", "F4", "F5..F7", "F8..FD", "FE..FF"),
]
"""Bytes that do the same wherever they come, after Unicode Table 3-7."""

both_decoders = pytest.mark.parametrize("options", [[], ["--compact"]], ids=["", "compact"])

COMMON_OPTIONS = [
    *("--profile", "--surrogates", "--noncharacters", "--error-span"),
    *("--engine", "--seed", "--stall-input", "--stall-output", "--tokens", "--vcd"),
]

LINUX = pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="needs /dev/stdin")

VCD_BEGINS = "$timescale 1 ns $end\n$version utf8-hdl $end\n"


def decoded(data: bytes, *options: str) -> list[tuple[int, int, str | None]]:
    """(length, code point, error) of every token that the command prints."""
    result = run("simulate", "--text", os.fsdecode(data), "--tokens", "-", *options)
    assert result.status == 0
    return [tuple(token.values())[1:] for token in map(json.loads, result.out.splitlines())]


def kinds(data: bytes, *options: str) -> list[tuple[int, str | None]]:
    """(length, error) of every token that the command prints."""
    return [(length, error) for length, _, error in decoded(data, *options)]


@pytest.fixture
def big_file(tmp_path) -> Path:
    """A text that takes minutes."""
    path = tmp_path / "big.txt"
    path.write_bytes(b"A" * 1_000_000)
    return path


# --- simulate: tokens ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"Hello, world!\n\x00\x7f", id="ASCII"),
        pytest.param("Aé≠😀 naïve שלום नमस्ते 你好 \U0010ffff\ufeff".encode(), id="scripts"),
        pytest.param(EVERY_BYTE, id="every byte"),
        pytest.param(EVERY_BYTE[::-1], id="every byte, backwards"),
        pytest.param(b"".join(bytes([0xE1, byte]) for byte in EVERY_BYTE), id="every interruption"),
        pytest.param("😀".encode()[:3] * 20, id="nothing but beginnings"),
        pytest.param(RANDOM_BYTES, id="random"),
    ],
)
def test_tokens_are_what_cpython_decodes(folder, data):
    Path("text.txt").write_bytes(data)
    result = run("simulate", "text.txt", "--tokens", "-")
    assert result.status == 0
    assert_tokens_are_cpythons(result.out, data)


@settings(max_examples=25, deadline=None)
@given(data=st.binary(max_size=40))
def test_tokens_of_any_bytes_are_what_cpython_decodes(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "text.bin"
    path.write_bytes(data)
    assert_tokens_are_cpythons(run("simulate", path, "--tokens", "-").out, data)


def assert_tokens_are_cpythons(lines: str, data: bytes) -> None:
    tokens = [json.loads(line) for line in lines.splitlines()]
    assert all(list(token) == ["offset", "length", "code_point", "error"] for token in tokens)
    assert [tuple(token.values()) for token in tokens] == ref_tokens(data)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x80", [(1, "unexpected-continuation")]),
        (b"\xbfA", [(1, "unexpected-continuation"), (1, None)]),
        (b"\xfe", [(1, "invalid-byte")]),
        (b"\xff", [(1, "invalid-byte")]),
        (b"\xc0", [(1, "overlong")]),
        (b"\xc1\xbf", [(1, "overlong"), (1, "unexpected-continuation")]),
        (b"\xe0\x80", [(1, "overlong"), (1, "unexpected-continuation")]),
        (b"\xf0\x8f", [(1, "overlong"), (1, "unexpected-continuation")]),
        (SURROGATE, [(1, "surrogate")] + [(1, "unexpected-continuation")] * 2),
        (b"\xf4\x90", [(1, "out-of-range"), (1, "unexpected-continuation")]),
        (b"\xf5", [(1, "out-of-range")]),
        (b"\xf8\xfd", [(1, "out-of-range"), (1, "out-of-range")]),
        (b"\xc2A", [(1, "truncated"), (1, None)]),
        (b"\xe2\x82", [(2, "truncated")]),
        (b"\xf0\x90\x80A", [(3, "truncated"), (1, None)]),
        (b"\xed\xc2\xa9", [(1, "truncated"), (2, None)]),
    ],
)
@both_decoders
def test_every_error_has_its_kind(data, expected, options):
    assert kinds(data, *options) == expected


UNEXPECTED = (1, 0xFFFD, "unexpected-continuation")


@pytest.mark.parametrize(
    ("options", "data", "expected"),
    [
        ("", b"\xf8\x88", [(1, 0xFFFD, "out-of-range"), UNEXPECTED]),
        ("--profile ucs4", b"\xf8\x88\x80\x80\x80", [(5, 0x200000, None)]),
        ("--profile ucs4", b"\xfd\xbf\xbf\xbf\xbf\xbf", [(6, 0x7FFFFFFF, None)]),
        ("--profile ucs4", b"\xfe", [(1, 0xFFFD, "invalid-byte")]),
        ("--profile extended", b"\xfe\x82" + b"\x80" * 5, [(7, 0x80000000, None)]),
        ("--profile extended", b"\xff\x81" + b"\x80" * 6, [(8, 0x10_0000_0000, None)]),
        ("--profile extended", b"\xff" + b"\xbf" * 7, [(8, 0x3FF_FFFF_FFFF, None)]),
        ("--profile extended", b"\xff\x80", [(1, 0xFFFD, "overlong"), UNEXPECTED]),
        ("--profile ucs2", b"\xef\xbf\xbd", [(3, 0xFFFD, None)]),
        ("--profile ucs2", b"\xf0\x9f", [(1, 0xFFFD, "out-of-range"), UNEXPECTED]),
        ("--surrogates accept", SURROGATE, [(3, 0xD800, None)]),
        ("--surrogates reject", SURROGATE, [(1, 0xFFFD, "surrogate"), UNEXPECTED, UNEXPECTED]),
        ("--profile ucs4 --surrogates accept", SURROGATE, [(3, 0xD800, None)]),
        ("", b"\xef\xbf\xbf", [(3, 0xFFFF, None)]),
        ("--noncharacters reject", b"\xef\xbf\xbf", [(3, 0xFFFD, "noncharacter")]),
        ("--profile ucs4", b"\xef\xbf\xbe", [(3, 0xFFFD, "noncharacter")]),
        ("--profile ucs4 --noncharacters accept", b"\xef\xbf\xbe", [(3, 0xFFFE, None)]),
        ("", b"\xe0\x80\x80", [(1, 0xFFFD, "overlong"), UNEXPECTED, UNEXPECTED]),
        ("--error-span whole-sequence", b"\xe0\x80\x80", [(3, 0xFFFD, "overlong")]),
        ("--error-span whole-sequence", SURROGATE, [(3, 0xFFFD, "surrogate")]),
        (
            "--profile ucs4 --error-span whole-sequence",
            b"\xf8\x80\x80\x80A",
            [(4, 0xFFFD, "overlong"), (1, 0x41, None)],
        ),
        (
            "--error-span whole-sequence",
            b"\xf8\x80A",
            [(1, 0xFFFD, "out-of-range"), UNEXPECTED, (1, 0x41, None)],
        ),
    ],
)
def test_options_choose_which_utf8_is_spoken(options, data, expected):
    assert decoded(data, *options.split()) == expected


@pytest.mark.parametrize(
    "options",
    ["--stall-input 0.5", "--stall-output 0.5", "--stall-input 0.3 --stall-output 0.7 --seed 5"],
)
def test_stalls_do_not_change_the_tokens(options):
    data = EVERY_BYTE + "A©≠😀".encode() * 10
    assert decoded(data, *options.split()) == decoded(data)


def test_the_seed_decides_the_stalls():
    reports = [
        run("simulate", "--text", "A" * 20, "--stall-input", 0.5, "--seed", seed).out
        for seed in (1, 1, 2)
    ]
    assert reports[0] == reports[1] != reports[2]


def test_tokens_on_standard_output_leave_the_summary_to_standard_error(folder):
    result = run("simulate", "text.txt", "--tokens", "-")
    assert result.out == (
        '{"offset": 0, "length": 1, "code_point": 65, "error": null}\n'
        '{"offset": 1, "length": 2, "code_point": 169, "error": null}\n'
    )
    assert "characters  2" in result.err
    assert "agree" in result.err


@both_decoders
def test_tokens_in_a_file_leave_the_report_on_standard_output(folder, options):
    result = run("simulate", "text.txt", "--tokens", "out.jsonl", *options)
    assert result.status == 0
    assert result.err == ""
    assert "characters  2" in result.out
    assert "agree" in result.out
    assert_tokens_are_cpythons(Path("out.jsonl").read_text(), b"A\xc2\xa9")


# --- bytes in hexadecimal, stalls by number -----------------------------------------------------


@pytest.mark.parametrize(
    "digits", ["E2 82 AC 41", "e282ac41", " E2\t82 A\nC41 ", "E282 AC 41 / / "]
)
def test_bytes_are_written_in_hexadecimal(digits):
    result = run("simulate", "--hex", digits, "--tokens", "-")
    assert result.out == run("simulate", "--text", "€A", "--tokens", "-").out


def test_a_slash_is_between_two_texts():
    result = run("simulate", "--hex", "E2 82 / AC", "--tokens", "-")
    tokens = [json.loads(line) for line in result.out.splitlines()]
    errors = [(token["offset"], token["length"], token["error"]) for token in tokens]
    assert errors == [(0, 2, "truncated"), (2, 1, "unexpected-continuation")]


@pytest.mark.parametrize("digits", ["", "/", " "])
def test_no_bytes_are_an_empty_text(digits):
    assert "bytes       0\n" in run("simulate", "--hex", digits).out


@pytest.mark.parametrize("option", [["--hex", "E2 82 / AC"], ["--text", "€A"]])
def test_compare_takes_what_is_typed(option):
    result = run("compare", *option, "--engine", "amaranth")
    assert result.status == 0
    assert "4 runs: 1 stimulus, each at full rate" in result.out
    assert "never met" not in result.out
    assert "every class met" not in result.out


def test_stalls_are_where_they_are_wanted():
    result = run(
        "simulate", "--hex", "41 42 43 44",
        "--stall-input-cycles", " 1, 3-4", "--stall-output-cycles", "9-10,8",
    )  # fmt: skip
    rows = result.out.partition("\n\n")[0].splitlines()[1:]
    column = rows[0].index("byte in")
    offered = [row.split()[0] for row in rows[1:] if row[column : column + 2].strip()]
    assert offered == ["0", "2", "5", "6"]
    waits = [row.split()[0] for row in rows if row.endswith("waits")]
    assert waits == ["8", "9", "10"]


def test_compare_stalls_where_it_is_wanted():
    result = run("compare", "--text", "AB", "--stall-output-cycles", "8-9")
    assert result.status == 0
    assert "2 runs: 1 stimulus, each at full rate, stalls in 0 out cycles 8-9" in result.out
    assert "output in 2 cycles" in result.out


def test_compare_runs_at_full_rate_once():
    result = run("compare", "--text", "AB", "--stall-input", "0", "--stall-output", "0")
    assert result.status == 0
    assert "1 run: 1 stimulus, each at full rate\n" in result.out


# --- simulate: the report -----------------------------------------------------------------------


def test_a_short_text_is_shown_cycle_by_cycle():
    report = run("simulate", "--compact", "--hex", "41 C2 A9 E2 42").out
    assert squeezed(report)[:9] == [
        "cycle byte in state token out",
        "0 41 A START",
        "1 C2 START U+0041 A (1 byte)",
        "2 A9 NEED_1",
        "3 E2 START U+00A9 © (2 bytes)",
        "4 42 B last NEED_2",
        "5 HELD error truncated (1 byte)",
        "6 START U+0042 B (1 byte) last",
        "",
    ]


def test_the_table_of_a_pipeline_shows_what_its_state_machine_does():
    report = run("simulate", "--text", "A©").out
    assert squeezed(report)[:14] == [
        "in the state machine",
        "cycle byte in byte state token out",
        "0 41 A START",
        "1 C2 START",
        "2 A9 last START",
        "3 START",
        "4 START",
        "5 41 A START -> START",
        "6 C2 START -> NEED_1",
        "7 A9 NEED_1 -> START",
        "8 START U+0041 A (1 byte)",
        "9 START",
        "10 START U+00A9 © (2 bytes) last",
        "",
    ]


def test_the_table_shows_errors_by_name():
    assert "error surrogate (1 byte)" in run("simulate", "--text", os.fsdecode(SURROGATE)).out


def test_a_long_text_is_summed_up():
    data = b"A" * 70 + b"\x80" * 7 + "é≠≠😀".encode() + b"\xc0"
    report = run("simulate", "--text", os.fsdecode(data)).out
    assert "state" not in report
    facts = squeezed(report)
    assert "bytes 90" in facts
    assert "characters 74: 70 of 1 byte, 1 of 2 bytes, 2 of 3 bytes, 1 of 4 bytes" in facts
    assert "errors 8" in facts
    assert "unexpected-continuation 7 at byte 70, 71, 72, 73, 74, ..." in facts
    assert "overlong 1 at byte 89" in facts


def test_what_would_harm_a_terminal_is_not_shown():
    harmful = "\x1b\x07\x9b\u202e\u2066\U000e0041"
    report = run("simulate", "--text", harmful).out
    assert not set(harmful) & set(report)


@pytest.mark.parametrize("arguments", [["--text", ""], ["empty.txt"]])
@pytest.mark.parametrize("options", [[], ["--vcd", "out.vcd"]])
def test_an_empty_text_has_no_tokens(folder, arguments, options):
    Path("empty.txt").touch()
    result = run("simulate", *arguments, *options, "--tokens", "-")
    assert (result.status, result.out) == (0, "")
    assert "characters  0" in result.err


@pytest.mark.parametrize("data", [b"", b"A\xc2", RANDOM_BYTES[:200]])
def test_a_dash_is_standard_input(data):
    result = run_process("simulate", "-", "--tokens", "-", input=data, stdout=subprocess.PIPE)
    assert result.returncode == 0
    assert_tokens_are_cpythons(result.stdout.decode(), data)


def test_a_terminal_that_lacks_a_character_is_no_reason_to_fail():
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    result = run_process("simulate", "--text", "©", env=environment, stdout=subprocess.PIPE)
    assert result.returncode == 0
    assert_no_traceback(result.stderr)
    assert b"agree" in result.stdout


# --- simulate: waveforms ------------------------------------------------------------------------


@both_decoders
def test_the_waveform_is_vcd_with_names_of_states_and_tokens(folder, options):
    Path("text.txt").write_bytes(b"A\xc2\xa9\xedA")
    assert run("simulate", "text.txt", "--vcd", "out.vcd", *options).status == 0
    assert Path("out.vcd").read_text().startswith(VCD_BEGINS)
    with open("out.vcd", "rb") as file:
        shown = {
            token.string_change.value
            for token in tokenize(file)
            if token.kind is TokenKind.CHANGE_STRING
        }
    assert {"START", "NEED_1", "NEED_2", "U+0041", "U+00A9", "truncated"} <= shown


def test_the_waveform_is_the_same_on_every_run(folder):
    for name in ("first.vcd", "second.vcd"):
        assert run("simulate", "text.txt", "--stall-output", 0.5, "--vcd", name).status == 0
    assert Path("first.vcd").read_bytes() == Path("second.vcd").read_bytes()


def test_a_waveform_on_standard_output_is_alone_there(folder):
    result = run("simulate", "text.txt", "--vcd", "-")
    assert result.status == 0
    assert list(tokenize(io.BytesIO(result.out.encode())))
    assert "agree" in result.err


# --- compare ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "states"), [([], STATES), (["--compact"], [*STATES, "HELD"])])
def test_the_campaign_meets_every_class_in_every_state(options, states):
    result = run("compare", *options)
    assert result.status == 0
    assert result.err == ""
    words = result.out.split()
    for name in states + CLASSES:
        assert name in words
    assert "NEVER" not in words
    assert "every class met every state" in result.out
    assert "agree" in result.out


def test_compare_takes_files(folder):
    Path("hostile.bin").write_bytes(EVERY_BYTE)
    result = run("compare", "text.txt", "hostile.bin")
    assert result.status == 0
    assert "agree" in result.out
    assert "8 runs: 2 stimuli" in result.out


def test_compare_keeps_no_waveform_without_a_difference(folder):
    assert run("compare", "text.txt", "--vcd", "out.vcd").status == 0
    assert not Path("out.vcd").exists()


def test_compare_with_tokens_on_standard_output_leaves_the_report_to_standard_error(folder):
    result = run("compare", "text.txt", "--tokens", "-")
    assert result.status == 0
    assert [json.loads(line)["code_point"] for line in result.out.splitlines()] == [65, 169] * 4
    assert "agree" in result.err


@pytest.fixture
def scratch(tmp_path, monkeypatch) -> Path:
    """Where temporary files go."""
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return place


def test_compare_reads_a_pipe_as_often_as_it_must(scratch):
    reader, writer = os.pipe()
    os.write(writer, b"A")
    os.close(writer)
    result = run("compare", f"/dev/fd/{reader}", "--tokens", "-")
    os.close(reader)
    assert (result.status, len(result.out.splitlines())) == (0, 4)
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("options", [[], ["--component", "encoder"]])
def test_compare_reads_standard_input_as_often_as_it_must(scratch, folder, options):
    command = ["compare", "-", "text.txt", "--tokens", "tokens", *options]
    result = run_process(*command, input=b"A\xc2\xa9", stdout=subprocess.PIPE)
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"8 runs: 2 stimuli" in result.stdout
    lines = Path("tokens").read_text().splitlines()
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]
    assert not list(scratch.iterdir())


def test_standard_input_is_given_once(folder):
    assert_refused(run("compare", "-", "-"), "only once")


def test_compare_says_never_only_of_what_the_campaign_has_to_meet(folder):
    result = run("compare", "text.txt")
    assert result.status == 0
    assert "00..7F 4" in squeezed(result.out)
    assert "E0" in squeezed(result.out)
    assert "NEVER" not in result.out


def test_a_campaign_that_misses_something_says_never(folder, monkeypatch):
    part = Part("one", 1, lambda: iter([(b"A", True)]))
    monkeypatch.setattr(simulation, "campaign", lambda *_: [part])
    result = run("compare")
    assert "00..7F 4 NEVER NEVER NEVER" in squeezed(result.out)
    assert "never met: " in result.out


def test_compare_takes_a_file_of_any_name_on_a_terminal(folder):
    Path("[").mkdir()
    Path("[/b]").write_bytes(b"A")
    environment = os.environ | {"FORCE_COLOR": "1"}
    result = run_process("compare", "[/b]", env=environment, stdout=subprocess.PIPE)
    assert result.returncode == 0
    assert_no_traceback(result.stderr)


# --- generate -----------------------------------------------------------------------------------


def test_verilog_is_the_same_on_every_run_and_wherever_it_goes(folder):
    on_stdout = run("generate")
    in_file = run("generate", "-o", "decoder.v")
    assert (on_stdout.status, on_stdout.err) == (0, "")
    assert in_file == (0, "", "")
    assert Path("decoder.v").read_text() == on_stdout.out


@both_decoders
@pytest.mark.parametrize("profile", ["unicode", "extended"])
def test_the_ports_stand_in_the_order_of_the_contract(profile, options):
    verilog = run("generate", "--profile", profile, *options).out
    assert " ".join(verilog_ports(verilog)) == (
        "clk rst s_axis_tdata s_axis_tvalid s_axis_tready s_axis_tlast "
        "m_axis_tdata m_axis_tvalid m_axis_tready m_axis_tlast m_axis_tuser"
    )


# --- wrong usage --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("simulate missing.txt", "'missing.txt'"),
        ("simulate .", "'.'"),
        ("simulate text.txt/x", "'text.txt/x'"),
        ("simulate", "FILE"),
        ("simulate text.txt --text A", "--text"),
        ("simulate - --text A", "--text"),
        ("simulate text.txt other.txt", "other.txt"),
        ("simulate text.txt --profile utf8", "'utf8'"),
        ("simulate text.txt --surrogates maybe", "'maybe'"),
        ("simulate text.txt --noncharacters maybe", "'maybe'"),
        ("simulate text.txt --error-span long", "'long'"),
        ("simulate text.txt --engine warp", "'warp'"),
        ("simulate text.txt --stall-input 1", "--stall-input"),
        ("simulate text.txt --stall-input -0.1", "-0.1"),
        ("simulate text.txt --stall-output 1.5", "1.5"),
        ("simulate text.txt --stall-output nan", "nan"),
        ("simulate text.txt --stall-output x", "--stall-output"),
        ("simulate text.txt --seed -1", "-1"),
        ("simulate text.txt --seed x", "--seed"),
        ("simulate text.txt --tokens none/out.jsonl", "'none/out.jsonl'"),
        ("simulate text.txt --tokens .", "'.'"),
        ("simulate text.txt --tokens=", "--tokens"),
        ("simulate text.txt --vcd none/out.vcd", "'none/out.vcd'"),
        ("simulate text.txt --vcd=", "--vcd"),
        ("simulate text.txt --tokens text.txt", "'text.txt'"),
        ("simulate text.txt --vcd ./text.txt", "'text.txt'"),
        ("simulate text.txt --tokens link.txt", "'text.txt'"),
        ("simulate text.txt --tokens out --vcd ./out", "'out'"),
        ("simulate text.txt --tokens - --vcd -", "'-'"),
        ("simulate text.txt --wrong", "--wrong"),
        ("simulate text.txt --tokens", "--tokens"),
        ("simulate --hex 4", "two digits"),
        ("simulate --hex 41/4", "two digits"),
        ("simulate --hex 4x", "'x'"),
        ("simulate --hex 41,42", "','"),
        ("simulate --hex 41 --text A", "--hex"),
        ("simulate text.txt --hex 41", "--hex"),
        ("simulate - --hex 41", "--hex"),
        ("simulate", "--hex"),
        ("compare text.txt --hex 41", "--hex"),
        ("compare text.txt --text A", "--text"),
        ("compare --text A --hex 41", "--hex"),
        ("compare --hex xy", "'x'"),
        ("compare --exhaustive 1 --hex 41", "--exhaustive"),
        ("compare --exhaustive 1 --stall-input-cycles 4", "--exhaustive"),
        ("simulate text.txt --stall-input-cycles x", "'x'"),
        ("simulate text.txt --stall-input-cycles=", "--stall-input-cycles"),
        ("simulate text.txt --stall-input-cycles 5-3", "'5-3'"),
        ("simulate text.txt --stall-output-cycles 1,,2", "--stall-output-cycles"),
        ("simulate text.txt --stall-output-cycles 1048576", "'1048576'"),
        ("simulate text.txt --stall-output-cycles 0-999999999999", "up to 1048575"),
        ("simulate text.txt --stall-output-cycles 1 --stall-output 0.1", "not both"),
        ("compare text.txt --stall-input-cycles 1 --stall-input 0", "not both"),
        ("compare missing.txt", "'missing.txt'"),
        ("compare text.txt missing.txt", "'missing.txt'"),
        ("compare .", "'.'"),
        ("compare text.txt --profile utf8", "'utf8'"),
        ("compare text.txt --engine warp", "'warp'"),
        ("compare text.txt --stall-input 1", "--stall-input"),
        ("compare text.txt --seed -1", "-1"),
        ("compare text.txt --tokens none/out.jsonl", "'none/out.jsonl'"),
        ("compare text.txt --tokens text.txt", "'text.txt'"),
        ("compare text.txt --tokens out --vcd out", "'out'"),
        ("generate --profile utf8", "'utf8'"),
        ("generate --error-span long", "'long'"),
        ("generate -o none/decoder.v", "'none/decoder.v'"),
        ("generate -o .", "'.'"),
        ("generate text.txt", "text.txt"),
        ("decode", "'decode'"),
        ("--wrong", "--wrong"),
    ],
)
def test_wrong_usage_is_refused_in_one_line(folder, arguments, named):
    Path("link.txt").symlink_to("text.txt")
    assert_refused(run(*arguments.split()), named)
    assert {path.name for path in folder.iterdir()} == {"text.txt", "link.txt"}
    assert Path("text.txt").read_bytes() == b"A\xc2\xa9"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("simulate - --tokens text.txt < text.txt", "--tokens would overwrite the input '-'"),
        ("simulate - --vcd ./text.txt < text.txt", "--vcd would overwrite the input '-'"),
        ("compare - --tokens text.txt < text.txt", "--tokens would overwrite the input '-'"),
        ("simulate hard.txt --tokens text.txt", "'hard.txt'"),
        ("simulate text.txt --tokens hard.txt", "'text.txt'"),
        ("simulate text.txt --tokens - >> text.txt", "--tokens would overwrite the input"),
        pytest.param("simulate /dev/stdin --tokens hard.txt < text.txt", "/dev/stdin", marks=LINUX),
        pytest.param("simulate - --tokens /dev/stdout <text.txt >>text.txt", "'-'", marks=LINUX),
    ],
)
def test_an_input_is_known_again_under_any_name(folder, command, named):
    Path("hard.txt").hardlink_to("text.txt")
    done = subprocess.run(
        ["sh", "-c", f"exec {COMMAND} {command}"], capture_output=True, text=True, check=False
    )
    assert_refused(Run(done.returncode, done.stdout, done.stderr), named)
    assert Path("text.txt").read_bytes() == b"A\xc2\xa9"
    assert sorted(path.name for path in folder.iterdir()) == ["hard.txt", "text.txt"]


def test_an_input_that_is_no_file_may_be_the_output(folder):
    assert run("simulate", os.devnull, "--tokens", os.devnull).status == 0


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_an_unreadable_file_is_refused(command):
    assert_refused(run(command, "/proc/self/mem"), "'/proc/self/mem'")


def test_a_name_with_a_line_break_is_refused_in_one_line():
    assert_refused(run("simulate", "no\nfile"), r"'no\nfile'")


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_closed_standard_input_is_refused(monkeypatch, command):
    monkeypatch.setattr(sys, "stdin", None)
    assert_refused(run(command, "-"), "cannot read '-': standard input is closed")


# --- outputs are whole or not there -------------------------------------------------------------


@pytest.fixture
def failing_read(monkeypatch):
    """Input that breaks off after the first window of tokens."""

    def pieces(stream):
        yield b"A" * 4200, False
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(texts, "file_pieces", pieces)


@pytest.mark.usefixtures("failing_read")
def test_a_read_that_fails_leaves_no_new_file(folder):
    result = run("simulate", "text.txt", "--tokens", "out.jsonl", "--vcd", "out.vcd")
    assert_refused(result, "cannot read 'text.txt': Input/output error")
    assert [path.name for path in folder.iterdir()] == ["text.txt"]


@pytest.mark.usefixtures("failing_read")
@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_a_read_that_fails_leaves_an_old_file_as_it_was(folder, command):
    Path("out.jsonl").write_text("old\n")
    result = run(command, "text.txt", "--tokens", "out.jsonl")
    assert (result.status, result.err.count("\n")) == (2, 1)
    assert Path("out.jsonl").read_text() == "old\n"
    assert {path.name for path in folder.iterdir()} == {"text.txt", "out.jsonl"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
@pytest.mark.parametrize("arguments", ["simulate --text A", "generate"])
def test_a_full_disk_behind_standard_output_is_said_in_one_line(arguments):
    with open("/dev/full", "wb") as full:
        result = run_process(*arguments.split(), stdout=full)
    assert_refused(Run(result.returncode, "", result.stderr.decode()), "No space left on device")


# --- interrupts and closed pipes ----------------------------------------------------------------


def engine_that_raises(error: BaseException) -> type[AmaranthEngine]:
    """An engine that simulates one window."""

    class Engine(AmaranthEngine):
        def run(self, stimulus):
            yield from islice(super().run(stimulus), 1)
            raise error

    return Engine


def test_an_interrupt_prints_the_summary_so_far_and_leaves_no_file(folder, monkeypatch):
    monkeypatch.setitem(engines.ENGINES, "amaranth", engine_that_raises(KeyboardInterrupt()))
    Path("text.txt").write_bytes(b"A" * 5000)
    result = run("simulate", "text.txt", "--tokens", "out.jsonl", "--vcd", "out.vcd")
    assert result.status == 130
    assert "bytes       4096\n" in result.out
    assert "interrupted after 4096 cycles" in result.out
    assert [path.name for path in folder.iterdir()] == ["text.txt"]


def test_an_interrupted_comparison_prints_the_coverage_so_far(folder, monkeypatch):
    monkeypatch.setitem(engines.ENGINES, "amaranth", engine_that_raises(KeyboardInterrupt()))
    result = run("compare", "text.txt", "--tokens", "out.jsonl")
    assert result.status == 130
    assert "E1..EC" in result.out
    assert "interrupted after" in result.out
    assert [path.name for path in folder.iterdir()] == ["text.txt"]


def test_control_c_ends_a_real_process_cleanly(big_file):
    with start_process("simulate", big_file, "--tokens", "-") as process:
        assert json.loads(process.stdout.readline())["offset"] == 0
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert_no_traceback(err)
    assert b"interrupted after" in err


@pytest.mark.sample(1)
@pytest.mark.parametrize("options", [[], ["--vcd", "out.vcd"]])
def test_a_reader_that_goes_away_ends_the_command_quietly(folder, big_file, options):
    with start_process("simulate", big_file, "--tokens", "-", *options) as process:
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (141, b"")
    assert not Path("out.vcd").exists()


# --- a design that is wrong ---------------------------------------------------------------------


# The second byte is accepted in cycle 1, and is wrong; the token comes 7 cycles later, compact 1.
DIFFERENCES = {
    "range: ED BF is no surrogate": "DIFFERENCE: cycle 8, pin o.valid: expected 1, actual 0",
    "compact: range: ED BF is no surrogate": (
        "DIFFERENCE: cycle 2, pin o.valid: expected 1, actual 0"
    ),
}


@pytest.fixture(params=DIFFERENCES)
def wrong(request, folder, monkeypatch):
    """A design with a mistake, which the file `surrogate.bin` brings to light: how, and options."""
    Path("surrogate.bin").write_bytes(b"\xed\xbf\xbf")
    return DIFFERENCES[request.param], break_design(monkeypatch, request.param)


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_a_difference_is_shown_and_its_waveform_kept(wrong, command):
    difference, options = wrong
    result = run(command, *options, "surrogate.bin")
    assert result.status == 1
    assert difference in result.out
    assert "agree" not in result.out
    assert "utf8-hdl-difference.vcd" in result.out
    assert_is_waveform("utf8-hdl-difference.vcd")


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_vcd_names_the_waveform_of_a_difference(wrong, command):
    difference, options = wrong
    result = run(command, *options, "surrogate.bin", "--vcd", "kept.vcd")
    assert result.status == 1
    assert difference in result.out
    assert_is_waveform("kept.vcd")
    assert not Path("utf8-hdl-difference.vcd").exists()


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_a_difference_does_not_disturb_a_waveform_on_standard_output(wrong, command):
    difference, options = wrong
    result = run(command, *options, "surrogate.bin", "--vcd", "-")
    assert result.status == 1
    assert result.out.startswith(VCD_BEGINS)
    assert difference not in result.out
    assert difference in result.err


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_a_difference_counts_even_if_its_waveform_cannot_be_kept(wrong, command):
    difference, options = wrong
    Path("utf8-hdl-difference.vcd").mkdir()
    result = run(command, *options, "surrogate.bin")
    assert result.status == 1
    assert difference in result.out


def test_a_design_is_right_as_long_as_its_mistake_is_not_met(wrong):
    assert run("simulate", *wrong[1], "text.txt").status == 0


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_a_design_that_hangs_is_said_to_hang(folder, monkeypatch, command):
    monkeypatch.setitem(engines.ENGINES, "amaranth", engine_that_raises(HangError("nothing moves")))
    result = run(command, "text.txt", "--tokens", "out.jsonl")
    assert result.status == 1
    assert "HANG: nothing moves" in result.out
    assert "agree" not in result.out


# --- help ---------------------------------------------------------------------------------------


def test_version_is_the_packages():
    assert run("--version") == (0, f"utf8-hdl {__version__}\n", "")


def test_help_names_every_command():
    result = run("--help")
    assert result.status == 0
    for command in ("simulate", "compare", "generate"):
        assert command in result.out


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_help_names_every_common_option(command):
    result = run(command, "--help")
    assert result.status == 0
    for option in COMMON_OPTIONS:
        assert f"{option} " in result.out
