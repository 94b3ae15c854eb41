"""The command `utf8-hdl` with `--component encoder`, as its users meet it."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vcd.reader import TokenKind, tokenize

from command import (
    COMMAND,
    Run,
    assert_is_waveform,
    assert_refused,
    break_design,
    run,
    run_for_bytes,
    run_process,
    squeezed,
    start_process,
)
from reference import ref_tokens
from rtl import verilog_ports
from utf8_flow.cli import texts
from utf8_sim import stimulus

ENCODER = ["--component", "encoder"]
COMPACT = [*ENCODER, "--compact"]

both_encoders = pytest.mark.parametrize("options", [[], ["--compact"]], ids=["", "compact"])

SURROGATE = b"\xed\xa0\x80"
REPLACEMENT = b"\xef\xbf\xbd"

TEXTS = [
    pytest.param("Hello, world!\r\n\x00\x7f", id="ASCII"),
    pytest.param("Aé≠😀 naïve שלום नमस्ते 你好 한국어 \ufeff", id="scripts"),
    pytest.param("\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff", id="all lengths"),
]

LIST = "U+41, D800 20AC 110000 ffffffff 10FFFF"
LIST_ENCODED = bytes.fromhex("41 EFBFBD E282AC EFBFBD EFBFBD F48FBFBF")
LIST_REFUSED = "refused 3, U+FFFD instead, at code point 1, 3, 4"


def simulate(*arguments: object) -> tuple[bytes, list[str]]:
    """The bytes that the encoder gives, and the lines of the report."""
    status, out, err = run_for_bytes("simulate", *ENCODER, *arguments, "--bytes", "-")
    assert status == 0
    assert "agree" in err
    return out, squeezed(err)


def simulate_tokens(*arguments: object) -> list[dict]:
    """What `--tokens` tells about the encoder's bytes."""
    result = run("simulate", *ENCODER, *arguments, "--tokens", "-")
    assert result.status == 0
    return [json.loads(line) for line in result.out.splitlines()]


# --- bytes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("source", ["FILE", "--text"])
def test_a_text_is_encoded_as_in_cpython(folder, text, source):
    data = text.encode()
    Path("text.txt").write_bytes(data)
    arguments = ["text.txt"] if source == "FILE" else ["--text", text]
    encoded, report = simulate(*arguments)
    assert encoded == data
    assert f"code points {len(text)}" in report
    assert f"bytes {len(data)}" in report
    assert "refused 0" in report


@settings(max_examples=25, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_text_is_encoded_as_in_cpython(text):
    assert simulate("--text", text)[0] == text.encode()


def test_a_dash_is_standard_input_and_standard_output():
    data = "A\r\n©≠😀".encode()
    result = run_process(
        "simulate", *ENCODER, "-", "--bytes", "-", input=data, stdout=subprocess.PIPE
    )
    assert (result.returncode, result.stdout) == (0, data)
    assert b"agree" in result.stderr


def test_bytes_in_a_file_leave_the_report_on_standard_output(folder):
    data = "Aé≠😀".encode() * 30
    Path("text.txt").write_bytes(data)
    result = run("simulate", *ENCODER, "text.txt", "--bytes", "out.bin")
    assert (result.status, result.err) == (0, "")
    assert Path("out.bin").read_bytes() == data
    assert "bytes       300\n" in result.out
    assert "agree" in result.out
    assert {path.name for path in folder.iterdir()} == {"text.txt", "out.bin"}


def test_bytes_and_tokens_tell_the_same(folder):
    tokens = simulate_tokens("text.txt", "--bytes", "out.bin")
    assert Path("out.bin").read_bytes() == bytes(token["byte"] for token in tokens)


def test_a_decoder_takes_what_an_encoder_gives(folder):
    data = "Aé≠😀 naïve שלום नमस्ते 你好\n".encode()
    Path("text.txt").write_bytes(data)
    command = shlex.quote(COMMAND)
    result = subprocess.run(
        f"{command} simulate --component encoder text.txt --bytes - |"
        f"{command} simulate - --tokens -",
        shell=True,
        capture_output=True,
        timeout=60,
        check=True,
    )
    tokens = [tuple(json.loads(line).values()) for line in result.stdout.splitlines()]
    assert tokens == ref_tokens(data)
    assert result.stderr.count(b"agree") == 2


def test_a_text_longer_than_a_window_of_the_simulation_is_whole(folder):
    data = "€".encode() * 1400 + SURROGATE + b"A"
    Path("text.txt").write_bytes(data)
    encoded, report = simulate("text.txt", "--tokens", "out.jsonl")
    assert encoded == data.replace(SURROGATE, REPLACEMENT)
    assert "refused 1, U+FFFD instead, at code point 1400" in report
    tokens = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [token["offset"] for token in tokens] == list(range(4204))
    assert [token["offset"] for token in tokens if token["error"]] == [4200, 4201, 4202]


@pytest.mark.parametrize("size", [1, 3, 4])
@pytest.mark.parametrize("data", ["Aé≠😀é≠".encode(), b"A\xf0\x9f\x98", b"\xe2\x82\xacA\xc3"])
def test_where_a_file_is_cut_for_reading_makes_no_difference(folder, monkeypatch, data, size):
    Path("text.txt").write_bytes(data)
    monkeypatch.setattr(stimulus, "PIECE_SIZE", size)
    tokens = simulate_tokens("text.txt")
    expected = data.decode(errors="replace").encode()
    assert bytes(token["byte"] for token in tokens) == expected
    assert [token["last"] for token in tokens] == [False] * (len(expected) - 1) + [True]


@pytest.mark.parametrize(
    "options",
    ["--stall-input 0.5", "--stall-output 0.5", "--stall-input 0.3 --stall-output 0.7 --seed 5"],
)
@pytest.mark.parametrize("profile", ["unicode", "extended"])
def test_stalls_do_not_change_the_bytes(folder, options, profile):
    arguments = ["--code-points", "41 A9 D800 2260 1F600 7FFFFFFF", "--profile", profile]
    at_full_rate = simulate_tokens(*arguments)
    stalled = simulate_tokens(*arguments, *options.split(), "--bytes", "out.bin")
    assert stalled == at_full_rate
    assert Path("out.bin").read_bytes() == bytes(token["byte"] for token in at_full_rate)


@pytest.mark.parametrize(
    "arguments", [["--code-points", ""], ["--code-points", " , "], ["--text", ""], ["empty.txt"]]
)
@pytest.mark.parametrize("options", [[], ["--vcd", "out.vcd"], ["--tokens", "out.jsonl"]])
def test_an_empty_text_has_no_bytes(folder, arguments, options):
    Path("empty.txt").touch()
    encoded, report = simulate(*arguments, *options)
    assert encoded == b""
    assert "code points 0" in report
    assert "bytes 0" in report
    assert "refused 0" in report


# --- code points --------------------------------------------------------------------------------


@both_encoders
def test_a_list_of_code_points_is_encoded_and_the_refused_are_named(options):
    encoded, report = simulate("--code-points", LIST, *options)
    assert encoded == LIST_ENCODED
    assert "code points 6" in report
    assert "bytes 17" in report
    assert "characters 6: 1 of 1 byte, 4 of 3 bytes, 1 of 4 bytes" in report
    assert LIST_REFUSED in report


@pytest.mark.parametrize(
    "words", ["41 20ac", "41,20AC", "U+41, u+20ac", " 0041\n0x20AC,", "41\t20AC"]
)
def test_code_points_are_written_in_many_ways(words):
    assert simulate("--code-points", words)[0] == "A€".encode()


@both_encoders
def test_tokens_are_one_json_object_a_byte(options):
    result = run("simulate", *ENCODER, *options, "--code-points", "41 D800 A9", "--tokens", "-")
    assert result.out == (
        '{"offset": 0, "byte": 65, "error": false, "last": false}\n'
        '{"offset": 1, "byte": 239, "error": true, "last": false}\n'
        '{"offset": 2, "byte": 191, "error": true, "last": false}\n'
        '{"offset": 3, "byte": 189, "error": true, "last": false}\n'
        '{"offset": 4, "byte": 194, "error": false, "last": false}\n'
        '{"offset": 5, "byte": 169, "error": false, "last": true}\n'
    )
    assert "refused     1" in result.err
    assert "agree" in result.err


def test_a_replacement_that_was_asked_for_is_no_error():
    tokens = simulate_tokens("--code-points", "FFFD D800")
    assert bytes(token["byte"] for token in tokens) == REPLACEMENT * 2
    assert [token["error"] for token in tokens] == [False] * 3 + [True] * 3
    assert [token["last"] for token in tokens] == [False] * 5 + [True]


def test_only_the_first_refused_are_named():
    _, report = simulate("--code-points", "A " + "D800 " * 7)
    assert "refused 7, U+FFFD instead, at code point 1, 2, 3, 4, 5, ..." in report


REFUSED = None
COMMON = [
    ("0", "00"),
    ("7F", "7F"),
    ("80", "C2 80"),
    ("7FF", "DF BF"),
    ("800", "E0 A0 80"),
    ("D7FF", "ED 9F BF"),
    ("D800", REFUSED),
    ("DFFF", REFUSED),
    ("E000", "EE 80 80"),
    ("FFFD", "EF BF BD"),
]
WITH_NONCHARACTERS = [("FFFE", "EF BF BE"), ("FFFF", "EF BF BF")]
WITHOUT_NONCHARACTERS = [("FFFE", REFUSED), ("FFFF", REFUSED)]
WITH_SURROGATES = [("D7FF", "ED 9F BF"), ("D800", "ED A0 80"), ("DFFF", "ED BF BF")]
FIVE_AND_SIX = [
    ("10000", "F0 90 80 80"),
    ("110000", "F4 90 80 80"),
    ("1FFFFF", "F7 BF BF BF"),
    ("200000", "F8 88 80 80 80"),
    ("3FFFFFF", "FB BF BF BF BF"),
    ("4000000", "FC 84 80 80 80 80"),
    ("7FFFFFFF", "FD BF BF BF BF BF"),
]
OF_OPTIONS = {
    "--profile unicode": [
        *COMMON,
        *WITH_NONCHARACTERS,
        ("10000", "F0 90 80 80"),
        ("10FFFF", "F4 8F BF BF"),
        ("110000", REFUSED),
        ("1FFFFF", REFUSED),
        ("200041", REFUSED),
        ("FFFFFFFF", REFUSED),
    ],
    "--profile ucs2": [
        *COMMON,
        *WITHOUT_NONCHARACTERS,
        ("10000", REFUSED),
        ("10041", REFUSED),
        ("FFFFFFFF", REFUSED),
    ],
    "--profile ucs4": [
        *COMMON,
        *WITHOUT_NONCHARACTERS,
        *FIVE_AND_SIX,
        ("80000000", REFUSED),
        ("80000041", REFUSED),
        ("FFFFFFFF", REFUSED),
    ],
    "--profile extended": [
        *COMMON,
        *WITHOUT_NONCHARACTERS,
        *FIVE_AND_SIX,
        ("80000000", "FE 82 80 80 80 80 80"),
        ("FFFFFFFFF", "FE BF BF BF BF BF BF"),
        ("1000000000", "FF 81 80 80 80 80 80 80"),
        ("3FFFFFFFFFF", "FF BF BF BF BF BF BF BF"),
        ("40000000000", REFUSED),
        ("8000000000000041", REFUSED),
        ("FFFFFFFFFFFFFFFF", REFUSED),
    ],
    "--surrogates accept": WITH_SURROGATES,
    "--surrogates reject": [("D800", REFUSED)],
    "--profile ucs2 --surrogates accept": [*WITH_SURROGATES, *WITHOUT_NONCHARACTERS],
    "--profile extended --surrogates accept": WITH_SURROGATES,
    "--noncharacters reject": [
        ("FFFD", "EF BF BD"),
        *WITHOUT_NONCHARACTERS,
        ("10000", "F0 90 80 80"),
        ("1FFFE", "F0 9F BF BE"),
    ],
    "--noncharacters accept": WITH_NONCHARACTERS,
    "--profile ucs4 --noncharacters accept": WITH_NONCHARACTERS,
}


@pytest.mark.parametrize("options", OF_OPTIONS)
def test_options_choose_which_utf8_is_spoken(options):
    rows = OF_OPTIONS[options]
    values = ",".join(value for value, _ in rows)
    tokens = simulate_tokens("--code-points", values, *options.split())
    assert [(token["byte"], token["error"]) for token in tokens] == [
        (byte, encoding is REFUSED)
        for _, encoding in rows
        for byte in bytes.fromhex(encoding or "EF BF BD")
    ]


# --- texts that hold what is no character -------------------------------------------------------


def test_surrogates_in_a_text_are_offered_and_refused(folder):
    Path("text.txt").write_bytes(b"A" + SURROGATE + b"\xed\xbf\xbfB")
    encoded, report = simulate("text.txt", "--compact")
    assert encoded == b"A" + REPLACEMENT * 2 + b"B"
    assert "1 U+D800 START 41" in report
    assert "code points 4" in report
    assert "refused 2, U+FFFD instead, at code point 1, 2" in report


@pytest.mark.parametrize("arguments", [["text.bin"], ["--text", os.fsdecode(SURROGATE)]])
def test_surrogates_in_a_text_come_through_where_they_are_accepted(folder, arguments):
    Path("text.bin").write_bytes(SURROGATE)
    encoded, report = simulate(*arguments, "--surrogates", "accept")
    assert encoded == SURROGATE
    assert "refused 0" in report


@pytest.mark.parametrize(
    ("profile", "data"),
    [
        ("ucs4", "F7BFBFBF F888808080 FDBFBFBFBFBF"),
        ("extended", "FE828080808080 FEBFBFBFBFBFBF FF81808080808080 FFBFBFBFBFBFBFBF"),
    ],
)
def test_long_forms_in_a_text_come_through_where_they_are_spoken(folder, profile, data):
    Path("text.txt").write_bytes(bytes.fromhex(data))
    encoded, report = simulate("text.txt", "--profile", profile)
    assert encoded == bytes.fromhex(data)
    assert "refused 0" in report


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("F4908080", id="U+110000"),
        pytest.param("F888808080", id="U+200000"),
        pytest.param("FDBFBFBFBFBF", id="U+7FFFFFFF"),
        pytest.param("FE828080808080", id="U+80000000"),
        pytest.param("FE83BFBFBFBFBF", id="U+FFFFFFFF"),
    ],
)
def test_any_value_that_fits_the_input_is_offered_and_refused(folder, data):
    Path("text.txt").write_bytes(bytes.fromhex(data))
    encoded, report = simulate("text.txt")
    assert encoded == REPLACEMENT
    assert "refused 1, U+FFFD instead, at code point 0" in report


@pytest.mark.parametrize(
    "data",
    [b"A\x80B", b"\xc0\xaf", b"\xe0\x80\xaf", b"\xe2\x82A", b"\xf0\x90\x80", b"\xfe\xff", b"\xc3"],
)
@pytest.mark.parametrize("profile", ["unicode", "ucs2", "ucs4"])
def test_malformed_bytes_are_read_as_replacements(folder, profile, data):
    Path("text.txt").write_bytes(data)
    encoded, report = simulate("text.txt", "--profile", profile)
    assert encoded == data.decode(errors="replace").encode()
    assert "refused 0" in report


@settings(max_examples=25, deadline=None)
@given(data=st.binary(max_size=40), profile=st.sampled_from(["unicode", "ucs2"]))
def test_any_bytes_become_well_formed(tmp_path_factory, data, profile):
    path = tmp_path_factory.mktemp("any") / "text.bin"
    path.write_bytes(data)
    encoded, _ = simulate(path, "--profile", profile)
    assert (encoded.decode() == "") == (data == b"")


def simulate_encoded(*arguments: str) -> list[dict]:
    result = run("simulate", *ENCODER, *arguments, "--tokens", "-")
    assert result.status == 0
    return list(map(json.loads, result.out.splitlines()))


def test_a_slash_is_between_two_texts_of_code_points():
    encoded = simulate_encoded("--code-points", "20AC 41 / E9 /")
    assert [byte["byte"] for byte in encoded] == list("€Aé".encode())
    assert [byte["last"] for byte in encoded] == [False] * 3 + [True, False, True]


@pytest.mark.parametrize("option", [["--hex", "41 ED A0 80"], ["--text", "A\udced\udca0\udc80"]])
def test_bytes_are_read_as_laxly_as_a_file(folder, option):
    Path("wrong.bin").write_bytes(b"A\xed\xa0\x80")
    assert simulate(*option)[0] == simulate("wrong.bin")[0]
    assert run("compare", *ENCODER, *option).status == 0


# --- the report ---------------------------------------------------------------------------------


def test_a_short_text_is_shown_cycle_by_cycle():
    report = run("simulate", *COMPACT, "--code-points", "20AC 41 D800").out
    assert squeezed(report)[:10] == [
        "cycle code point in state byte out",
        "0 U+20AC € START",
        "1 U+0041 A waits SEND_2 E2",
        "2 U+0041 A waits SEND_1 82",
        "3 U+0041 A START AC",
        "4 U+D800 last START 41",
        "5 SEND_2 EF error",
        "6 SEND_1 BF error",
        "7 START BD error last",
        "",
    ]


def test_the_table_shows_that_a_byte_waits():
    report = run("simulate", *COMPACT, "--text", "A" * 20, "--stall-output", 0.5).out
    rows = [row.partition(" ")[2] for row in squeezed(report)]
    assert "U+0041 A waits START 41 waits" in rows
    assert "START 41 last" in rows


@pytest.mark.parametrize(
    ("value", "row"),
    [
        ("7FFFFFFF", "1 U+7FFFFFFF last waits SEND_5 FD"),
        ("3FFFFFFFFFF", "1 U+3FFFFFFFFFF last waits SEND_7 FF"),
        ("FFFFFFFFFFFFFFFF", "1 U+FFFFFFFFFFFFFFFF last waits SEND_2 EF error"),
    ],
)
def test_the_table_has_room_for_the_widest_values(value, row):
    arguments = ["--profile", "extended", "--code-points", f"{value} {value}"]
    assert row in squeezed(run("simulate", *COMPACT, *arguments).out)


def test_a_long_text_is_summed_up():
    text = "A" * 60 + "é≠≠😀"
    surrogate = os.fsdecode(SURROGATE)
    report = run("simulate", *COMPACT, "--text", text + surrogate).out
    assert "START" not in report
    facts = squeezed(report)
    assert f"begins {'41 ' * 20}..." in facts
    assert "code points 65" in facts
    assert "bytes 75" in facts
    assert "cycles 76 (1.01 per byte)" in facts
    assert "characters 65: 60 of 1 byte, 1 of 2 bytes, 3 of 3 bytes, 1 of 4 bytes" in facts
    assert "refused 1, U+FFFD instead, at code point 64" in facts


def test_what_would_harm_a_terminal_is_not_shown():
    harmful = "\x1b\x07\x9b\u202e\u2066\U000e0041"
    report = run("simulate", *ENCODER, "--text", harmful).out
    assert not set(harmful) & set(report)


@both_encoders
@pytest.mark.parametrize(
    ("profile", "states"),
    [
        ("unicode", ["START", "SEND_1", "SEND_2", "SEND_3"]),
        ("extended", ["START", *(f"SEND_{count}" for count in range(1, 8))]),
    ],
)
def test_the_waveform_is_vcd_with_names_of_states(folder, profile, states, options):
    values = "41 A9 20AC 1F600 D800 3FFFFFFF" + " 3FFFFFFFFFF" * (profile == "extended")
    arguments = ["--profile", profile, "--code-points", values, *options]
    assert run("simulate", *ENCODER, *arguments, "--vcd", "out.vcd").status == 0
    with open("out.vcd", "rb") as file:
        tokens = list(tokenize(file))
    scopes = [token.scope.ident for token in tokens if token.kind is TokenKind.SCOPE]
    assert scopes == ["encoder", "golden"]
    shown = {token.string_change.value for token in tokens if token.kind is TokenKind.CHANGE_STRING}
    assert set(states) <= shown


# --- compare ------------------------------------------------------------------------------------


CLASSES = {
    "": [
        *("00..7F", "80..7FF", "800..D7FF", "D800..DFFF", "E000..FFFF"),
        *("10000..10FFFF", "110000..FFFFFFFF"),
    ],
    "--surrogates accept": [
        *("00..7F", "80..7FF", "800..FFFF", "10000..10FFFF", "110000..FFFFFFFF"),
    ],
    "--profile ucs2": [
        *("00..7F", "80..7FF", "800..D7FF", "D800..DFFF", "E000..FFFD", "FFFE..FFFF"),
        "10000..FFFFFFFF",
    ],
    "--profile ucs4": [
        *("00..7F", "80..7FF", "800..D7FF", "D800..DFFF", "E000..FFFD", "FFFE..FFFF"),
        *("10000..1FFFFF", "200000..3FFFFFF", "4000000..7FFFFFFF", "80000000..FFFFFFFF"),
    ],
    "--profile extended": [
        *("00..7F", "80..7FF", "800..D7FF", "D800..DFFF", "E000..FFFD", "FFFE..FFFF"),
        *("10000..1FFFFF", "200000..3FFFFFF", "4000000..7FFFFFFF", "80000000..FFFFFFFFF"),
        *("1000000000..3FFFFFFFFFF", "40000000000..FFFFFFFFFFFFFFFF"),
    ],
}
"""Code points that are encoded alike, by the options that decide it."""


def counts(report: str) -> dict[str, int]:
    """How many code points of each class were accepted, from the table of `compare`."""
    rows = [line.split() for line in report.splitlines() if ".." in line.split(" ")[0]]
    return {name: sum(int(cell) for cell in cells if cell != "NEVER") for name, *cells in rows}


@both_encoders
def test_the_campaign_meets_every_class_with_every_output(options):
    result = run("compare", *ENCODER, *options)
    assert (result.status, result.err) == (0, "")
    assert list(counts(result.out)) == CLASSES[""]
    assert "NEVER" not in result.out
    assert "every class met every output" in result.out
    assert "agree" in result.out


@pytest.mark.parametrize("options", CLASSES)
def test_compare_takes_files_and_counts_their_code_points(folder, options):
    Path("more.bin").write_bytes(b"AB" + SURROGATE)
    result = run("compare", *ENCODER, "text.txt", "more.bin", *options.split())
    assert (result.status, result.err) == (0, "")
    assert "8 runs: 2 stimuli" in result.out
    assert "agree" in result.out
    found = counts(result.out)
    assert list(found) == CLASSES[options]
    surrogates = "800..FFFF" if "accept" in options else "D800..DFFF"
    assert {name: count for name, count in found.items() if count} == {
        "00..7F": 12,
        "80..7FF": 4,
        surrogates: 4,
    }


def test_compare_tells_whether_the_output_was_idle(folder):
    Path("text.txt").write_bytes(b"A")
    assert "00..7F 4" in squeezed(run("compare", *ENCODER, "text.txt").out)


def test_compare_with_tokens_on_standard_output_leaves_the_report_to_standard_error(folder):
    result = run("compare", *ENCODER, "text.txt", "--tokens", "-")
    assert result.status == 0
    tokens = [tuple(json.loads(line).values()) for line in result.out.splitlines()]
    assert tokens == [(0, 0x41, False, False), (1, 0xC2, False, False), (2, 0xA9, False, True)] * 4
    assert "agree" in result.err


# --- generate -----------------------------------------------------------------------------------


@both_encoders
@pytest.mark.parametrize("profile", ["unicode", "extended"])
def test_the_ports_stand_in_the_order_of_the_contract(profile, options):
    result = run("generate", *ENCODER, *options, "--profile", profile)
    assert (result.status, result.err) == (0, "")
    assert " ".join(verilog_ports(result.out)) == (
        "clk rst s_axis_tdata s_axis_tvalid s_axis_tready s_axis_tlast "
        "m_axis_tdata m_axis_tvalid m_axis_tready m_axis_tlast m_axis_tuser"
    )


def test_verilog_is_the_same_wherever_it_goes(folder):
    assert run("generate", *ENCODER, "-o", "encoder.v") == (0, "", "")
    assert Path("encoder.v").read_text() == run("generate", *ENCODER).out


# --- wrong usage --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("simulate --code-points 41", "--code-points"),
        ("simulate text.txt --code-points 41", "--code-points"),
        ("simulate text.txt --bytes -", "--bytes"),
        ("simulate text.txt --component decoder --bytes out.bin", "--bytes"),
        ("simulate --component encoder", "FILE"),
        ("simulate text.txt --component coder", "'coder'"),
        ("simulate text.txt --component=", "--component"),
        ("simulate text.txt --component", "--component"),
        ("simulate --component encoder text.txt --code-points 41", "--code-points"),
        ("simulate --component encoder --text A --code-points 41", "--code-points"),
        ("simulate --component encoder - --code-points 41", "--code-points"),
        ("simulate --component encoder text.txt --text A", "--text"),
        ("simulate --component encoder --code-points", "--code-points"),
        ("simulate --component encoder --code-points xyz", "'xyz'"),
        ("simulate --component encoder --code-points 41,xyz", "'xyz'"),
        ("simulate --component encoder --code-points U+", "'U+'"),
        ("simulate --component encoder --code-points U+U+41", "'U+U+41'"),
        ("simulate --component encoder --code-points 41;42", "'41;42'"),
        ("simulate --component encoder --code-points 41_42", "'41_42'"),
        ("simulate --component encoder --code-points -1", "'-1'"),
        ("simulate --component encoder --code-points 1FFFFFFFF", "'1FFFFFFFF'"),
        ("simulate --component encoder --code-points 100000000", "'100000000'"),
        (
            "simulate --component encoder --profile extended --code-points 10000000000000000",
            "'10000000000000000'",
        ),
        ("simulate --component encoder missing.txt", "'missing.txt'"),
        ("simulate --component encoder .", "'.'"),
        ("simulate --component encoder text.txt --bytes out --tokens ./out", "'./out'"),
        ("simulate --component encoder text.txt --bytes - --tokens -", "'-'"),
        ("simulate --component encoder text.txt --bytes out --vcd out", "'out'"),
        ("simulate --component encoder text.txt --bytes text.txt", "'text.txt'"),
        ("simulate --component encoder text.txt --bytes link.txt", "'text.txt'"),
        ("simulate --component encoder text.txt --bytes none/out.bin", "'none/out.bin'"),
        ("simulate --component encoder text.txt --bytes .", "'.'"),
        ("simulate --component encoder text.txt --bytes=", "--bytes"),
        ("simulate --component encoder text.txt --bytes", "--bytes"),
        ("simulate --component encoder text.txt --profile utf8", "'utf8'"),
        ("compare --component coder", "'coder'"),
        ("compare --component encoder missing.txt", "'missing.txt'"),
        ("compare --component encoder text.txt --tokens text.txt", "'text.txt'"),
        ("compare text.txt --code-points 41", "--component decoder"),
        ("compare --component encoder text.txt --code-points 41", "--code-points"),
        ("compare --component encoder --text A --code-points 41", "--code-points"),
        ("compare --component encoder --code-points 41/xyz", "'xyz'"),
        ("compare --component encoder text.txt --bytes out.bin", "--bytes"),
        ("generate --component coder", "'coder'"),
    ],
)
def test_wrong_usage_is_refused_in_one_line(folder, arguments, named):
    Path("link.txt").symlink_to("text.txt")
    assert_refused(run(*arguments.split()), named)
    assert {path.name for path in folder.iterdir()} == {"text.txt", "link.txt"}
    assert Path("text.txt").read_bytes() == b"A\xc2\xa9"


# --- outputs are whole or not there -------------------------------------------------------------


def test_a_read_that_fails_leaves_an_old_file_as_it_was(folder, monkeypatch):
    def pieces(stream):
        yield b"A", False
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(texts, "file_pieces", pieces)
    Path("old.bin").write_bytes(b"old")
    result = run("simulate", *ENCODER, "text.txt", "--bytes", "old.bin", "--tokens", "new.jsonl")
    assert_refused(result, "cannot read 'text.txt': Input/output error")
    assert Path("old.bin").read_bytes() == b"old"
    assert {path.name for path in folder.iterdir()} == {"text.txt", "old.bin"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_behind_standard_output_is_said_in_one_line():
    with open("/dev/full", "wb") as full:
        result = run_process("simulate", *ENCODER, "--text", "A", "--bytes", "-", stdout=full)
    assert_refused(Run(result.returncode, "", result.stderr.decode()), "No space left on device")


def test_a_reader_that_goes_away_ends_the_command_quietly():
    with start_process("simulate", *ENCODER, "--text", "A", "--bytes", "-") as process:
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (141, b"")


# --- a design that is wrong ---------------------------------------------------------------------


# U+DFFF is accepted in cycle 2, compact in cycle 1; the first byte of U+FFFD comes 7 or 1 later.
DIFFERENCES = {
    "range: DFFF is no surrogate": "DIFFERENCE: cycle 9, pin o.data: expected EF, actual ED",
    "compact: range: DFFF is no surrogate": (
        "DIFFERENCE: cycle 2, pin o.data: expected EF, actual ED"
    ),
}


@pytest.fixture(params=DIFFERENCES)
def wrong(request, folder, monkeypatch):
    """A design with a mistake, which the file `surrogate.bin` brings to light: how, and options."""
    Path("surrogate.bin").write_bytes(b"A\xed\xbf\xbf")
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


def test_a_difference_does_not_disturb_bytes_on_standard_output(wrong):
    difference, options = wrong
    result = run_for_bytes("simulate", *options, "surrogate.bin", "--bytes", "-")
    assert (result.status, result.out) == (1, b"A\xed")
    assert difference in result.err
    assert_is_waveform("utf8-hdl-difference.vcd")


def test_the_campaign_finds_the_difference(wrong):
    result = run("compare", *wrong[1], "--vcd", "kept.vcd")
    assert result.status == 1
    assert "pin o.data: expected EF, actual ED" in result.out
    assert "stimulus: boundary code points, full rate, seed 0" in result.out
    assert_is_waveform("kept.vcd")
    assert not Path("utf8-hdl-difference.vcd").exists()


def test_a_design_is_right_as_long_as_its_mistake_is_not_met(wrong):
    assert run("simulate", *wrong[1], "text.txt").status == 0


# --- help ---------------------------------------------------------------------------------------


def test_help_names_the_options_of_the_encoder():
    result = run("simulate", "--help")
    assert result.status == 0
    for option in ("--component", "--code-points", "--bytes"):
        assert f"{option} " in result.out


@pytest.mark.parametrize("command", ["simulate", "compare", "generate"])
def test_help_names_the_components(command):
    assert "decoder|encoder" in run(command, "--help").out
