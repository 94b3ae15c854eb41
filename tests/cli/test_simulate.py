"""`utf8-hdl simulate`: what the hardware makes of a text, and how it is told."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from vcd.reader import TokenKind, tokenize

from command import ENCODER, changed_entry, each_design, in_hex, run, run_for_bytes, squeezed, told
from hostile import HOSTILE, TEXTS
from reference import ref_tokens
from utf8_sim import stimulus
from utf8_sim.components import COMPONENTS, DECODER
from utf8_sim.golden import kernels

SURROGATE = b"\xed\xa0\x80"
REPLACEMENT = b"\xef\xbf\xbd"


def encoded(*arguments: object) -> tuple[bytes, list[str]]:
    """The bytes that an encoder gives, and the lines of the report."""
    status, out, err = run_for_bytes("simulate", *ENCODER, *arguments, "--bytes", "-")
    assert status == 0
    assert "agree" in err
    return out, squeezed(err)


# --- tokens and bytes are CPython's -------------------------------------------------------------


@each_design("decoder", "compact decoder", "decoder, 4 lanes")
@settings(max_examples=5, deadline=None)
@given(texts=st.lists(st.binary(min_size=1, max_size=40), max_size=20))
@example(texts=HOSTILE)
def test_tokens_are_what_cpython_decodes(options, texts):
    expected, offset = [], 0
    for text in texts:
        expected += [token._replace(offset=token.offset + offset) for token in ref_tokens(text)]
        offset += len(text)
    tokens = told(*options, "--hex", in_hex(texts))
    assert [tuple(token.values()) for token in tokens] == expected


@each_design("encoder", "compact encoder")
@settings(max_examples=5, deadline=None)
@given(
    texts=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40), max_size=20
    )
)
@example(texts=TEXTS)
def test_bytes_are_what_cpython_encodes(options, texts):
    code_points = " / ".join(" ".join(f"{ord(c):X}" for c in text) for text in texts)
    tokens = told(*options, "--code-points", code_points)
    assert [(token["byte"], token["error"], token["last"]) for token in tokens] == [
        (byte, False, index == len(text.encode()))
        for text in texts
        for index, byte in enumerate(text.encode(), 1)
    ]


@settings(max_examples=5, deadline=None)
@given(texts=st.lists(st.binary(min_size=1, max_size=40), max_size=20))
@example(texts=HOSTILE[:2])
def test_any_bytes_become_well_formed(texts):
    data, _ = encoded("--hex", in_hex(texts))
    assert (data.decode() == "") == (texts == [])


# --- which UTF-8 is spoken ----------------------------------------------------------------------

COMMON = {
    "0": "00",
    "7F": "7F",
    "80": "C2 80",
    "7FF": "DF BF",
    "800": "E0 A0 80",
    "D7FF": "ED 9F BF",
    "E000": "EE 80 80",
    "FFFD": "EF BF BD",
}
SURROGATES = {"D800": "ED A0 80", "DFFF": "ED BF BF"}
NONCHARACTERS = {"FFFE": "EF BF BE", "FFFF": "EF BF BF"}
FOUR = {"10000": "F0 90 80 80", "10FFFF": "F4 8F BF BF"}
BEYOND = {"110000": "F4 90 80 80", "1FFFFF": "F7 BF BF BF"}
FIVE_AND_SIX = {
    "200000": "F8 88 80 80 80",
    "3FFFFFF": "FB BF BF BF BF",
    "4000000": "FC 84 80 80 80 80",
    "7FFFFFFF": "FD BF BF BF BF BF",
}
SEVEN_AND_EIGHT = {
    "80000000": "FE 82 80 80 80 80 80",
    "FFFFFFFFF": "FE BF BF BF BF BF BF",
    "1000000000": "FF 81 80 80 80 80 80 80",
    "3FFFFFFFFFF": "FF BF BF BF BF BF BF BF",
}
ALL = COMMON | SURROGATES | NONCHARACTERS | FOUR | BEYOND | FIVE_AND_SIX | SEVEN_AND_EIGHT

SPOKEN = {
    "--profile unicode": COMMON | NONCHARACTERS | FOUR,
    "--profile ucs2": COMMON,
    "--profile ucs4": COMMON | FOUR | BEYOND | FIVE_AND_SIX,
    "--profile extended": COMMON | FOUR | BEYOND | FIVE_AND_SIX | SEVEN_AND_EIGHT,
    "--surrogates accept": COMMON | SURROGATES | NONCHARACTERS | FOUR,
    "--surrogates reject --noncharacters accept": COMMON | NONCHARACTERS | FOUR,
    "--noncharacters reject": COMMON | FOUR,
    "--profile ucs2 --surrogates accept": COMMON | SURROGATES,
    "--profile ucs4 --noncharacters accept": (
        COMMON | NONCHARACTERS | FOUR | BEYOND | FIVE_AND_SIX
    ),
}
"""Values and their encodings, by the options with which they are well-formed."""


@pytest.mark.parametrize("options", SPOKEN)
def test_options_choose_which_characters_a_decoder_takes(options):
    tokens = told(*options.split(), "--hex", " / ".join(ALL.values()))
    taken = {(token["code_point"], token["length"]) for token in tokens if not token["error"]}
    spoken = SPOKEN[options].items()
    assert taken == {(int(value, 16), len(bytes.fromhex(data))) for value, data in spoken}


@pytest.mark.parametrize("options", SPOKEN)
def test_options_choose_which_values_an_encoder_takes(options):
    widest = "FFFFFFFFFFFFFFFF" if "extended" in options else "FFFFFFFF"
    values = [value for value in ALL if int(value, 16) <= int(widest, 16)]
    values.append(widest)
    tokens = told(*ENCODER, *options.split(), "--code-points", ",".join(values))
    assert [(token["byte"], token["error"]) for token in tokens] == [
        (byte, value not in SPOKEN[options])
        for value in values
        for byte in bytes.fromhex(SPOKEN[options].get(value, "EF BF BD"))
    ]


UNEXPECTED = (1, "unexpected-continuation")
OVERLONG, TRUNCATED, OUT_OF_RANGE = (1, "overlong"), (1, "truncated"), (1, "out-of-range")
ERRORS = {
    "": {
        "80": [UNEXPECTED],
        "BF 41": [UNEXPECTED, (1, None)],
        "FE": [(1, "invalid-byte")],
        "FF": [(1, "invalid-byte")],
        "C0": [OVERLONG],
        "C1 BF": [OVERLONG, UNEXPECTED],
        "E0 80 80": [OVERLONG, UNEXPECTED, UNEXPECTED],
        "F0 8F": [OVERLONG, UNEXPECTED],
        "ED A0 80": [(1, "surrogate"), UNEXPECTED, UNEXPECTED],
        "F4 90": [OUT_OF_RANGE, UNEXPECTED],
        "F5": [OUT_OF_RANGE],
        "F8 FD": [OUT_OF_RANGE, OUT_OF_RANGE],
        "C2 41": [TRUNCATED, (1, None)],
        "E2 82": [(2, "truncated")],
        "F0 90 80 41": [(3, "truncated"), (1, None)],
        "ED C2 A9": [TRUNCATED, (2, None)],
    },
    "--profile ucs2": {
        "F0 9F": [OUT_OF_RANGE, UNEXPECTED],
        "EF BF BF": [(3, "noncharacter")],
    },
    "--profile extended": {"FF 80": [OVERLONG, UNEXPECTED]},
    "--error-span whole-sequence": {
        "E0 80 80": [(3, "overlong")],
        "ED A0 80": [(3, "surrogate")],
        "F8 80 41": [OUT_OF_RANGE, UNEXPECTED, (1, None)],
    },
    "--profile ucs4 --error-span whole-sequence": {
        "F8 80 80 80 41": [(4, "overlong"), (1, None)],
    },
}


@each_design("decoder", "compact decoder", "decoder, 4 lanes")
@pytest.mark.parametrize("rules", ERRORS)
def test_every_error_has_its_kind(rules, options):
    tokens = told(*options, *rules.split(), "--hex", " / ".join(ERRORS[rules]))
    expected = [token for each in ERRORS[rules].values() for token in each]
    assert [(token["length"], token["error"]) for token in tokens] == expected
    assert all(token["code_point"] == 0xFFFD for token in tokens if token["error"])


# --- texts for an encoder that hold what is no character ------------------------------------------


@pytest.mark.parametrize(
    ("rules", "data", "replaced", "refused"),
    [
        ("", "41 EDA080 EDBFBF 42", "41 EFBFBD EFBFBD 42", 2),
        ("", "F4908080 F888808080 FDBFBFBFBFBF FE83BFBFBFBFBF", "EFBFBD" * 4, 4),
        ("--surrogates accept", "EDA080", "", 0),
        ("--profile ucs4", "F7BFBFBF F888808080 FDBFBFBFBFBF", "", 0),
        ("--profile extended", "FE828080808080 FFBFBFBFBFBFBFBF", "", 0),
    ],
)
def test_any_value_that_fits_the_input_is_offered(folder, rules, data, replaced, refused):
    text = bytes.fromhex(data)
    Path("text.bin").write_bytes(text)
    for source in (["text.bin"], ["--hex", data], ["--text", os.fsdecode(text)]):
        found, report = encoded(*source, *rules.split())
        assert found == bytes.fromhex(replaced or data)
        assert any(line.startswith(f"refused {refused}") for line in report)


MALFORMED = [
    *(b"A\x80B", b"\xc0\xaf", b"\xe0\x80\xaf", b"\xe2\x82A"),
    *(b"\xf0\x90\x80", b"\xfe\xff", b"\xc3"),
]


@pytest.mark.parametrize("profile", ["unicode", "ucs2", "ucs4"])
def test_malformed_bytes_are_read_as_replacements(profile):
    found, report = encoded("--hex", in_hex(MALFORMED), "--profile", profile)
    assert found == b"".join(data.decode(errors="replace").encode() for data in MALFORMED)
    assert "refused 0" in report


@pytest.mark.parametrize("size", [1, 3, 4])
def test_where_a_file_is_cut_for_reading_makes_no_difference(folder, monkeypatch, size):
    data = "Aé≠😀é≠".encode() + b"A\xf0\x9f\x98"
    Path("text.txt").write_bytes(data)
    monkeypatch.setattr(stimulus, "PIECE_SIZE", size)
    tokens = told(*ENCODER, "text.txt")
    expected = data.decode(errors="replace").encode()
    assert bytes(token["byte"] for token in tokens) == expected
    assert [token["last"] for token in tokens] == [False] * (len(expected) - 1) + [True]


def test_a_text_longer_than_a_window_of_the_simulation_is_whole(folder):
    data = "€".encode() * 1400 + SURROGATE + b"A"
    Path("text.txt").write_bytes(data)
    found, report = encoded("text.txt", "--tokens", "out.jsonl")
    assert found == data.replace(SURROGATE, REPLACEMENT)
    assert "refused 1, U+FFFD instead, at code point 1400" in report
    tokens = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [token["offset"] for token in tokens] == list(range(4204))
    assert [token["offset"] for token in tokens if token["error"]] == [4200, 4201, 4202]


# --- what is typed ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        *(["--hex", digits] for digits in ("E2 82 AC 41", "e282ac41", "E282 AC 41 / / ")),
        ["--hex", " E2\t82 AC\n41 "],
        ["--text", "€A"],
    ],
)
def test_bytes_are_written_in_many_ways(source):
    tokens = [(token["code_point"], token["length"]) for token in told(*source)]
    assert tokens == [(0x20AC, 3), (0x41, 1)]


@pytest.mark.parametrize(
    "words", ["41 20ac", "41,20AC", "U+41, u+20ac /", " 0041\n0x20AC,", "41\t20AC"]
)
def test_code_points_are_written_in_many_ways(words):
    assert encoded("--code-points", words)[0] == "A€".encode()
    assert encoded("--code-points", " , /")[0] == b""


def test_a_slash_is_between_two_texts():
    tokens = told("--hex", "E2 82 / AC")
    errors = [(token["offset"], token["length"], token["error"]) for token in tokens]
    assert errors == [(0, 2, "truncated"), (2, 1, "unexpected-continuation")]


@each_design("decoder", "encoder")
@pytest.mark.parametrize("source", ["--text=", "--hex=", "--hex= /", "empty.txt"])
def test_an_empty_text_has_no_tokens(folder, options, source):
    Path("empty.txt").touch()
    result = run("simulate", *options, source, "--vcd", "out.vcd", "--tokens", "-")
    assert (result.status, result.out) == (0, "")
    assert "characters  0" in result.err or "code points 0" in result.err


# --- stalls -------------------------------------------------------------------------------------


@each_design()
def test_stalls_do_not_change_what_comes_out(options):
    data = in_hex(["A©≠😀".encode() * 5, SURROGATE + b"\xe2\x82\xc0\xff\xf0\x9f"])
    stalls = ["--stall-input", "0.3", "--stall-output", "0.7", "--seed", "5"]
    assert told(*options, "--hex", data, *stalls) == told(*options, "--hex", data)


def test_the_seed_decides_the_stalls():
    reports = [
        run("simulate", "--text", "A" * 20, "--stall-input", 0.5, "--seed", seed).out
        for seed in (1, 1, 2)
    ]
    assert reports[0] == reports[1] != reports[2]


def test_stalls_are_where_they_are_wanted():
    result = run(
        "simulate", "--hex", "41 42 43 44",
        "--stall-input-cycles", " 2, 4-5", "--stall-output-cycles", "9-10,8",
    )  # fmt: skip
    rows = result.out.partition("\n\n")[0].splitlines()
    column = rows[0].index("byte in")
    offered = [row.split()[0] for row in rows[1:] if row[column : column + 2].strip()]
    assert offered == ["0", "1", "3", "6", "7"]  # the first byte in two cycles
    waits = [row.split()[0] for row in rows if row.endswith("waits")]
    assert waits == ["8", "9", "10"]


# --- the report ---------------------------------------------------------------------------------


def test_tokens_of_a_decoder_are_one_json_object_a_line(folder):
    result = run("simulate", "text.txt", "--tokens", "out.jsonl")
    assert (result.status, result.err) == (0, "")
    assert {"bytes 3", "characters 2: 1 of 1 byte, 1 of 2 bytes"} <= set(squeezed(result.out))
    assert Path("out.jsonl").read_text() == (
        '{"offset": 0, "length": 1, "code_point": 65, "error": null}\n'
        '{"offset": 1, "length": 2, "code_point": 169, "error": null}\n'
    )


@each_design("encoder", "compact encoder")
def test_tokens_of_an_encoder_are_one_json_object_a_byte(folder, options):
    arguments = [*options, "--code-points", "41 D800 A9", "--bytes", "out.bin", "--tokens", "-"]
    result = run("simulate", *arguments)
    assert result.out == (
        '{"offset": 0, "byte": 65, "error": false, "last": false}\n'
        '{"offset": 1, "byte": 239, "error": true, "last": false}\n'
        '{"offset": 2, "byte": 191, "error": true, "last": false}\n'
        '{"offset": 3, "byte": 189, "error": true, "last": false}\n'
        '{"offset": 4, "byte": 194, "error": false, "last": false}\n'
        '{"offset": 5, "byte": 169, "error": false, "last": true}\n'
    )
    assert Path("out.bin").read_bytes() == b"A\xef\xbf\xbd\xc2\xa9"
    assert {"code points 3", "bytes 6"} <= set(squeezed(result.err))
    assert "refused 1, U+FFFD instead, at code point 1" in squeezed(result.err)


def test_a_replacement_that_was_asked_for_is_no_error():
    errors = [token["error"] for token in told(*ENCODER, "--code-points", "FFFD D800")]
    assert errors == [False] * 3 + [True] * 3


def test_the_table_of_a_compact_decoder_shows_each_cycle():
    report = run("simulate", "--compact", "--hex", "41 C2 A9 E2 42").out
    assert squeezed(report)[:10] == [
        "cycle byte in state token out",
        "0 41 A waits START",
        "1 41 A START",
        "2 C2 START U+0041 A (1 byte)",
        "3 A9 NEED_1",
        "4 E2 START U+00A9 © (2 bytes)",
        "5 42 B last NEED_2",
        "6 HELD error truncated (1 byte)",
        "7 START U+0042 B (1 byte) last",
        "",
    ]


def test_the_table_of_a_pipeline_shows_what_its_state_machine_does():
    report = run("simulate", "--text", "A©").out
    assert squeezed(report)[:13] == [
        "cycle byte in byte meets state token out",
        "0 41 A waits START",
        "1 41 A START",
        "2 C2 START",
        "3 A9 last START",
        "4 START",
        "5 41 A START -> START",
        "6 C2 START -> NEED_1",
        "7 A9 NEED_1 -> START",
        "8 START U+0041 A (1 byte)",
        "9 START",
        "10 START U+00A9 © (2 bytes) last",
        "",
    ]


def test_a_code_point_is_beside_the_state_that_it_meets():
    arguments = [*ENCODER, "--code-points", "41 20AC 42 D800", "--stall-output-cycles", "9"]
    rows = squeezed(run("simulate", *arguments).out)
    assert [row for row in rows if " -> " in row] == [
        "4 U+D800 last U+0041 A START -> START",
        "5 U+20AC € START -> SEND_2",
        "8 U+0042 B START -> START 41",
        "9 U+D800 START -> SEND_2 E2 waits",
    ]


def test_the_table_shows_that_a_byte_waits():
    arguments = [*ENCODER, "--compact", "--text", "A" * 20, "--stall-output", 0.5]
    rows = [row.partition(" ")[2] for row in squeezed(run("simulate", *arguments).out)]
    assert "U+0041 A waits START 41 waits" in rows
    assert "START 41 last" in rows


def test_the_table_has_room_for_the_widest_values():
    options = [*ENCODER, "--compact", "--profile", "extended"]
    report = run("simulate", *options, "--code-points", "FFFFFFFFFFFFFFFF 3FFFFFFFFFF").out
    assert "1 U+FFFFFFFFFFFFFFFF START" in squeezed(report)
    assert "2 U+3FFFFFFFFFF last waits SEND_2 EF error" in squeezed(report)


def test_a_long_text_for_a_decoder_is_summed_up():
    data = b"A" * 70 + b"\x80" * 7 + "é≠≠😀".encode() + b"\xc0"
    report = run("simulate", "--text", os.fsdecode(data)).out
    assert "state" not in report
    assert {
        "bytes 90",
        "characters 74: 70 of 1 byte, 1 of 2 bytes, 2 of 3 bytes, 1 of 4 bytes",
        "errors 8",
        "unexpected-continuation 7 at byte 70, 71, 72, 73, 74, ...",
        "overlong 1 at byte 89",
    } <= set(squeezed(report))


def test_a_long_text_for_an_encoder_is_summed_up():
    text = "A" * 60 + "é≠≠😀" + os.fsdecode(SURROGATE) * 7
    report = run("simulate", *ENCODER, "--compact", "--text", text).out
    assert "START" not in report
    assert {
        f"begins {'41 ' * 20}...",
        "code points 71",
        "bytes 93",
        "cycles 95 (1.02 per byte)",
        "characters 71: 60 of 1 byte, 1 of 2 bytes, 9 of 3 bytes, 1 of 4 bytes",
        "refused 7, U+FFFD instead, at code point 64, 65, 66, 67, 68, ...",
    } <= set(squeezed(report))


@each_design("decoder", "encoder")
def test_what_would_harm_a_terminal_is_not_shown(options):
    harmful = "\x1b\x07\x9b\u202e\u2066\U000e0041"
    report = run("simulate", *options, "--text", harmful).out
    assert not set(harmful) & set(report)


# --- waveforms ----------------------------------------------------------------------------------


@each_design("decoder", "compact decoder", "encoder", "compact encoder")
def test_the_waveform_is_vcd_with_names_of_states_and_tokens(folder, options):
    values = "C2A9 E282AC F09F9880 FFBFBFBFBFBFBFBF ED 41"
    arguments = [*options, "--profile", "extended", "--hex", values, "--vcd", "out.vcd"]
    assert run("simulate", *arguments).status == 0
    with open("out.vcd", "rb") as file:
        tokens = list(tokenize(file))
    scopes = [token.scope.ident for token in tokens if token.kind is TokenKind.SCOPE]
    assert scopes == [options[1], "golden"]
    shown = {token.string_change.value for token in tokens if token.kind is TokenKind.CHANGE_STRING}
    state = {"decoder": "NEED", "encoder": "SEND"}[options[1]]
    assert {"START", *(f"{state}_{count}" for count in range(1, 8))} <= shown
    assert options[1] == "encoder" or {"U+0041", "U+00A9", "truncated"} <= shown


def test_the_waveform_is_the_same_on_every_run(folder):
    stalled = ["simulate", "text.txt", "--stall-output", 0.5, "--vcd"]
    assert run(*stalled, "file.vcd").status == 0
    result = run(*stalled, "-")
    assert result.status == 0
    assert Path("file.vcd").read_text() == result.out
    assert "agree" in result.err


class Failing:
    """A golden model with a mistake."""

    def feed(self, items, begins):
        raise ZeroDivisionError("by nothing")


@pytest.mark.parametrize("steps", [kernels.INTERPRETED, 0], ids=["short run", "long run"])
def test_a_golden_model_that_fails_is_reported(steps, folder, monkeypatch):
    monkeypatch.setattr(kernels, "INTERPRETED", steps)
    changed = changed_entry(DECODER, model=lambda design: Failing())
    monkeypatch.setitem(COMPONENTS, "decoder", changed)
    result = run("simulate", "--text", "A", "--engine", "amaranth")
    assert result.status == 1
    assert "GOLDEN MODEL: it failed with ZeroDivisionError: by nothing" in result.out
    assert "Traceback" not in result.out + result.err
