"""`utf8-hdl simulate`: inputs, tokens, reports and tables of the byte components."""

import json
import os
from pathlib import Path

import pytest

from command import ENCODER, each_design, edit_component, in_hex, run, run_for_bytes, squeezed, told
from hostile import HOSTILE, TEXTS
from reference import ref_tokens
from utf8_sim import stimulus
from utf8_sim.golden import kernels

SURROGATE = b"\xed\xa0\x80"
REPLACEMENT = b"\xef\xbf\xbd"
COMPACT_ENCODER = *ENCODER, "--compact"

pytestmark = pytest.mark.usefixtures("shared_engines")


def encoded(*arguments: object) -> tuple[bytes, list[str]]:
    """The bytes from an encoder, and the lines of the report."""
    status, out, err = run_for_bytes("simulate", *COMPACT_ENCODER, *arguments, "--bytes", "-")
    assert status == 0
    assert "agree" in err
    return out, squeezed(err)


# --- tokens and bytes ---------------------------------------------------------------------------


@pytest.mark.sample(1)
@each_design("compact decoder", "decoder, 4 lanes")
def test_decoder_tokens_equal_cpython(options):
    expected, offset = [], 0
    for text in HOSTILE:
        expected += [token._replace(offset=token.offset + offset) for token in ref_tokens(text)]
        offset += len(text)
    tokens = told(*options, "--hex", in_hex(HOSTILE))
    assert [tuple(token.values()) for token in tokens] == expected


def test_encoder_bytes_equal_cpython():
    code_points = " / ".join(" ".join(f"{ord(c):X}" for c in text) for text in TEXTS)
    tokens = told(*COMPACT_ENCODER, "--code-points", code_points)
    assert [(token["byte"], token["error"], token["last"]) for token in tokens] == [
        (byte, False, index == len(text.encode()))
        for text in TEXTS
        for index, byte in enumerate(text.encode(), 1)
    ]


# --- UTF-8 rules --------------------------------------------------------------------------------

VALUES = {
    0xDFFF: "ED BF BF",
    0xFFFD: "EF BF BD",
    0xFFFF: "EF BF BF",
    0x10FFFF: "F4 8F BF BF",
    0x110000: "F4 90 80 80",
    0x7FFFFFFF: "FD BF BF BF BF BF",
    0x80000000: "FE 82 80 80 80 80 80",
    0x3FFFFFFFFFF: "FF BF BF BF BF BF BF BF",
}
"""Values and their encodings."""


@pytest.mark.parametrize(
    ("options", "accepted"),
    [
        ("--profile extended", {0x10FFFF, 0x110000, 0x7FFFFFFF, 0x80000000, 0x3FFFFFFFFFF}),
        ("--surrogates reject --noncharacters accept", {0xFFFF, 0x10FFFF}),
        ("--profile ucs2 --surrogates accept", {0xDFFF}),
        ("--profile ucs4 --noncharacters accept", {0xFFFF, 0x10FFFF, 0x110000, 0x7FFFFFFF}),
    ],
)
def test_rules_of_decoder_and_encoder(options, accepted):
    accepted = accepted | {0xFFFD}  # it stands for rejected values, and is a value itself
    tokens = told("--compact", *options.split(), "--hex", " / ".join(VALUES.values()))
    found = {token["code_point"] for token in tokens if not token["error"]}
    assert found == accepted
    values = [value for value in VALUES if value < 1 << 32 or "extended" in options]
    words = " ".join(f"{value:X}" for value in values)
    tokens = told(*COMPACT_ENCODER, *options.split(), "--code-points", words)
    assert [(token["byte"], token["error"]) for token in tokens] == [
        (byte, value not in accepted)
        for value in values
        for byte in bytes.fromhex(VALUES[value] if value in accepted else "EF BF BD")
    ]


@pytest.mark.parametrize(
    ("rules", "text", "length", "error"),
    [
        ("--profile ucs2", "EF BF BF", 3, "noncharacter"),
        ("--error-span whole-sequence", "E0 80 80", 3, "overlong"),
    ],
)
def test_decoder_names_errors_of_other_rules(rules, text, length, error):
    [token] = told("--compact", *rules.split(), "--hex", text)
    assert token == {"offset": 0, "length": length, "code_point": 0xFFFD, "error": error}


# --- ill-formed texts for an encoder ------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "data", "replaced", "refused"),
    [
        ("", "F4908080 F888808080 FDBFBFBFBFBF FE83BFBFBFBFBF", "EFBFBD" * 4, 4),
        ("--profile extended", "FE828080808080 FFBFBFBFBFBFBFBF", "", 0),
    ],
)
def test_encoder_input_has_values_beyond_the_profile(rules, data, replaced, refused):
    found, report = encoded("--hex", data, *rules.split())
    assert found == bytes.fromhex(replaced or data)
    assert any(line.startswith(f"refused {refused}") for line in report)


def test_ill_formed_encoder_input_from_file_and_text(folder):
    """Surrogates are values; other ill-formed bytes are replaced as in CPython."""
    others = b"\xc0\xaf\xe2\x82A\xf0\x90\x80\xfe\xff"
    text = b"A\xed\xa0\x80\xed\xbf\xbfB" + others
    Path("text.bin").write_bytes(text)
    for source in ["text.bin"], ["--hex", text.hex()], ["--text", os.fsdecode(text)]:
        found, report = encoded(*source)
        expected = b"A" + REPLACEMENT * 2 + b"B" + others.decode(errors="replace").encode()
        assert found == expected
        assert any(line.startswith("refused 2") for line in report)


def test_file_is_read_in_pieces(folder, monkeypatch):
    data = "Aé≠😀é≠".encode() + b"A\xf0\x9f\x98"
    Path("text.txt").write_bytes(data)
    monkeypatch.setattr(stimulus, "PIECE_SIZE", 1)
    tokens = told(*COMPACT_ENCODER, "text.txt")
    expected = data.decode(errors="replace").encode()
    assert bytes(token["byte"] for token in tokens) == expected
    assert [token["last"] for token in tokens] == [False] * (len(expected) - 1) + [True]


def test_text_longer_than_a_window(folder):
    data = "€".encode() * 1400 + SURROGATE + b"A"
    Path("text.txt").write_bytes(data)
    found, report = encoded("text.txt", "--tokens", "out.jsonl")
    assert found == data.replace(SURROGATE, REPLACEMENT)
    assert "refused 1, U+FFFD instead, at code point 1400" in report
    tokens = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [token["offset"] for token in tokens] == list(range(4204))
    assert [token["offset"] for token in tokens if token["error"]] == [4200, 4201, 4202]


# --- notation of inputs -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "digits",
    ["e282ac41", " E2\t82 AC\n41 / / ", "0xE2 0x82 0xAC41", "E2,82,AC,41", r"\xE2\x82\xAC\x41"],
)
def test_hex_notation(digits):
    tokens = [(token["code_point"], token["length"]) for token in told("--hex", digits)]
    assert tokens == [(0x20AC, 3), (0x41, 1)]


@pytest.mark.parametrize("words", ["41,20AC", "U+41, u+20ac /", " 0041\n0x20AC,", "41\t20AC"])
def test_code_point_notation(words):
    assert encoded("--code-points", words)[0] == "A€".encode()


@pytest.mark.parametrize(
    ("component", "source"),
    [("decoder", "--hex= /"), ("decoder", "empty.txt"), ("encoder", "--code-points= , /")],
)
def test_empty_text_has_no_tokens(folder, component, source):
    Path("empty.txt").touch()
    arguments = "--component", component, source, "--vcd", "out.vcd", "--tokens", "-"
    result = run("simulate", *arguments)
    assert (result.status, result.out) == (0, "")
    assert "characters  0" in result.err or "code points 0" in result.err


# --- stalls -------------------------------------------------------------------------------------


def test_seed_decides_stalls():
    reports = [
        run("simulate", "--text", "A" * 20, "--stall-input", 0.5, "--seed", seed).out
        for seed in (1, 1, 2)
    ]
    assert reports[0] == reports[1] != reports[2]


def test_stalls_in_chosen_cycles():
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


def test_encoder_tokens_are_json_lines(folder):
    source, files = ("--code-points", "41 D800"), ("--bytes", "out.bin", "--tokens", "-")
    result = run("simulate", *COMPACT_ENCODER, *source, *files)
    assert result.out == (
        '{"offset": 0, "byte": 65, "error": false, "last": false}\n'
        '{"offset": 1, "byte": 239, "error": true, "last": false}\n'
        '{"offset": 2, "byte": 191, "error": true, "last": false}\n'
        '{"offset": 3, "byte": 189, "error": true, "last": true}\n'
    )
    assert Path("out.bin").read_bytes() == b"A\xef\xbf\xbd"
    assert {"code points 2", "bytes 4"} <= set(squeezed(result.err))
    assert "refused 1, U+FFFD instead, at code point 1" in squeezed(result.err)


def test_table_of_pipelined_encoder():
    arguments = [*ENCODER, "--code-points", "41 20AC 42 D800", "--stall-output-cycles", "9"]
    rows = squeezed(run("simulate", *arguments).out)
    assert [row for row in rows if " -> " in row] == [
        "4 U+D800 last U+0041 A START -> START",
        "5 U+20AC € START -> SEND_2",
        "8 U+0042 B START -> START 41",
        "9 U+D800 START -> SEND_2 E2 waits",
    ]


def test_table_with_the_widest_values():
    options = [*ENCODER, "--compact", "--profile", "extended"]
    report = run("simulate", *options, "--code-points", "FFFFFFFFFFFFFFFF 3FFFFFFFFFF").out
    assert "1 U+FFFFFFFFFFFFFFFF START" in squeezed(report)
    assert "2 U+3FFFFFFFFFF last waits SEND_2 EF error" in squeezed(report)


def test_summary_of_long_text_for_decoder():
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


def test_summary_of_long_text_for_encoder():
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
def test_report_has_no_control_characters(options):
    harmful = "\x1b\x07\x9b\u202e\u2066\U000e0041"
    report = run("simulate", *options, "--text", harmful).out
    assert not set(harmful) & set(report)


# --- a failing golden model ---------------------------------------------------------------------


class Failing:
    """A golden model that fails."""

    def feed(self, items, begins):
        raise ZeroDivisionError("by nothing")


@pytest.mark.parametrize("steps", [kernels.INTERPRETED, 0], ids=["short run", "long run"])
def test_failure_of_golden_model_is_reported(steps, folder, monkeypatch):
    monkeypatch.setattr(kernels, "INTERPRETED", steps)
    edit_component(monkeypatch, "decoder", model=lambda design: Failing())
    result = run("simulate", "--text", "A", "--engine", "amaranth")
    assert result.status == 1
    assert "GOLDEN MODEL: it failed with ZeroDivisionError: by nothing" in result.out
    assert "Traceback" not in result.out + result.err
