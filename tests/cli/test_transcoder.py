"""The transcoder, from the command line: what CPython makes of a text, what is told of it."""

import json
import random
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import (
    assert_refused,
    assert_shown_again,
    in_hex,
    replace_design,
    run,
    run_for_bytes,
    squeezed,
)
from hostile import HOSTILE, chunks
from reference import ref_errors, ref_transcoded
from utf8_hdl import EncodingScheme, Transcoder
from utf8_sim import simulate
from utf8_sim.components.transcoder_report import TranscoderReport
from utf8_sim.trace import Trace

TRANSCODER = "--component", "transcoder"
NARROW = *TRANSCODER, "--lanes", "4"
"""Half as wide as by default, which is much quicker to make."""
FORMS = "utf-8", "utf-16", "utf-32"
LITTLE = {"utf-8": "utf-8", "utf-16": "utf-16le", "utf-32": "utf-32le"}
BIG = {"utf-8": "utf-8", "utf-16": "utf-16be", "utf-32": "utf-32be"}


def transcoded(texts: list[bytes], *options: object) -> list[tuple[bytes, bool]]:
    """What becomes of some texts, and whether each had an error, as the command tells it."""
    which = TRANSCODER if "--lanes" in options else NARROW
    files = "--bytes", "out.bin", "--tokens", "-"
    result = run("simulate", *which, *options, "--hex", in_hex(texts), *files)
    assert result.status == 0
    assert "agree" in result.err
    told = [json.loads(line) for line in result.out.splitlines()]
    assert [one["length"] for one in told] == list(map(len, texts))
    data, found = Path("out.bin").read_bytes(), []
    for one in told:
        found.append((data[: one["bytes"]], one["error"]))
        data = data[one["bytes"] :]
    assert data == b""
    return found


UNITS = [0x41, 0xE9, 0x20AC, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFEFF, 0xFFFF]
WORDS = [*UNITS, 0x10000, 0x10FFFF, 0x110000, 0xFFFFFFFF]
PARTS = {
    "utf-8": st.sampled_from([b"A", "é".encode(), "€".encode(), "😀".encode(), b"\xf0\x9f\x98"]),
    "utf-16": st.sampled_from(UNITS).map(lambda unit: unit.to_bytes(2, "little")),
    "utf-32": st.sampled_from(WORDS).map(lambda word: word.to_bytes(4, "little")),
}


def texts_in(form: str) -> st.SearchStrategy[list[bytes]]:
    """Some of anything, and some that are nearly right."""
    parts = st.one_of(PARTS[form], PARTS[form], PARTS[form], st.binary(max_size=3))
    return st.lists(st.lists(parts, max_size=9).map(b"".join), min_size=12, max_size=24)


@pytest.mark.sample
@pytest.mark.parametrize(("taken", "given_form"), list(product(FORMS, FORMS[1:] + FORMS[:1])))
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_bytes_are_what_cpython_makes(folder, taken, given_form, lanes):
    """Twice, the first time with only the simplest texts behind the hostile ones."""

    @settings(max_examples=2, deadline=None)
    @given(others=texts_in(taken))
    def check(others):
        texts = [b"", *(text[:100] for text in HOSTILE), b"", b"A", b"", *others]
        options = "--from", taken, "--to", given_form, "--lanes", lanes
        assert transcoded(texts, *options) == [
            ref_transcoded(text, LITTLE[taken], LITTLE[given_form]) for text in texts
        ]

    check()


@pytest.mark.parametrize("taken", FORMS)
@pytest.mark.parametrize("lanes", [4, 16])
def test_errors_are_those_of_cpython(folder, taken, lanes):
    @settings(max_examples=2, deadline=None)
    @given(others=texts_in(taken))
    def check(others):
        texts = [b"", *(text[:100] for text in HOSTILE), b"", b"A", b"", *others]
        expected = []
        for text in texts:
            errors = ref_errors(text, LITTLE[taken])
            first = errors[0] if errors else (None, None)
            expected.append((bool(errors), *first, len(errors)))
        options = "--from", taken, "--errors", "--lanes", lanes
        result = run("simulate", *TRANSCODER, *options, "--hex", in_hex(texts), "--tokens", "-")
        assert (result.status, "agree" in result.err) == (0, True)
        told = map(json.loads, result.out.splitlines())
        names = "error", "offset", "kind", "count"
        assert [tuple(map(one.__getitem__, names)) for one in told] == expected

    check()


@pytest.mark.parametrize(("taken", "given_form"), [("utf-8", "utf-16"), ("utf-32", "utf-16")])
def test_the_order_of_bytes_may_be_big(folder, taken, given_form):
    texts = [text.encode(BIG[taken], "surrogatepass") for text in ("naïve 😀", "\ud800", "")]
    options = "--from", taken, "--to", given_form, "--byte-order", "big"
    assert transcoded(texts, *options) == [
        ref_transcoded(text, BIG[taken], BIG[given_form]) for text in texts
    ]


@pytest.mark.parametrize(
    ("source", "target"),
    [("utf-16le", "utf-16be"), ("utf-32be", "utf-16le"), ("utf-8", "utf-32be")],
)
def test_byte_orders_of_input_and_output_are_independent(folder, source, target):
    texts = [text.encode(source, "surrogatepass") for text in ("naïve 😀", "\ud800", "")]
    expected = [ref_transcoded(text, source, target) for text in texts]
    assert transcoded(texts, "--from", source, "--to", target) == expected


@pytest.mark.parametrize("taken", FORMS)
def test_a_bom_may_be_left_out(folder, taken):
    texts = [text.encode(LITTLE[taken]) for text in ("\ufeff", "\ufeff\ufeffA", "A\ufeff", "")]
    texts.append(texts[0][:-1])
    for strip in (True, False):
        options = ["--from", taken, "--to", "utf-8", *["--strip-bom"] * strip]
        assert transcoded(texts, *options) == [
            ref_transcoded(text, LITTLE[taken], "utf-8", strip_bom=strip) for text in texts
        ]


@pytest.mark.parametrize(
    ("rules", "text", "expected"),
    [
        ("--surrogates accept", "ED A0 80", "00 D8"),
        ("--profile ucs2", "F0 9F 98 80", "FD FF FD FF FD FF FD FF"),
        ("--noncharacters reject", "EF BF BE", "FD FF"),
        ("--error-span whole-sequence", "E0 80 80", "FD FF"),
        ("--from utf-16 --to utf-16 --profile ucs2", "3D D8 00 DE", "FD FF"),
        ("--from utf-16 --to utf-8 --surrogates accept", "3D D8", "ED A0 BD"),
    ],
)
def test_rules_decide_what_is_an_error(folder, rules, text, expected):
    [(found, _)] = transcoded([bytes.fromhex(text)], *rules.split())
    assert found == bytes.fromhex(expected)


# --- what is typed ------------------------------------------------------------------------------


@pytest.mark.parametrize(("taken", "order"), list(product(FORMS, ["little", "big"])))
def test_a_text_is_typed_in_the_form_that_is_taken(folder, taken, order):
    # An argument has bytes that are no character as surrogates: so CPython gives it.
    text, replaced = ("A\udce2€😀", "A\ufffd€😀")
    options = ["--from", taken, "--to", "utf-32"]
    options += ["--byte-order", order] * (order != "little")
    found = run_for_bytes("simulate", *NARROW, *options, "--text", text, "--bytes", "-").out
    assert found == replaced.encode(f"utf-32-{order[0]}e")


def test_a_file_is_taken_as_it_is(folder):
    Path("utf16.bin").write_bytes("A😀".encode("utf-16-le"))
    options = "--from", "utf-16", "--to", "utf-8"
    result = run_for_bytes("simulate", *NARROW, *options, "utf16.bin", "--bytes", "-")
    assert (result.status, result.out) == (0, "A😀".encode())


# --- what is told -------------------------------------------------------------------------------


def test_a_text_is_one_json_object_a_line():
    result = run("simulate", *NARROW, "--hex", "41 E2 82 AC / 41 80 / ", "--tokens", "-")
    assert result.out == (
        '{"length": 4, "bytes": 4, "error": false}\n'
        '{"length": 2, "bytes": 4, "error": true}\n'
        '{"length": 0, "bytes": 0, "error": false}\n'
    )


def test_the_report_sums_up():
    texts = "41 E2 82 AC / 41 80 / / 41 42 43 44 45 46 47 48 FF"
    report = squeezed(run("simulate", *TRANSCODER, "--hex", texts).out)
    begin = report.index("texts 4")
    assert (
        report[begin - 1]
        == "begins 41 00 AC 20 41 00 FD FF 41 00 42 00 43 00 44 00 45 00 46 00 ..."
    )
    assert report[begin + 1 : begin + 3] == ["bytes in 15 in 5 beats", "bytes out 26 in 5 beats"]
    assert report[begin + 3].startswith("cycles ")
    assert report[begin + 4] == "errors 2, U+FFFD instead, in text 1, 3"


def test_the_report_names_the_first_error_of_each_text():
    texts = "41 80 FF / 42 / ED A0 80 / 43 44 45 46 47 F0"
    report = squeezed(run("simulate", *NARROW, "--errors", "--hex", texts).out)
    begin = report.index("errors 6, U+FFFD instead, in 3 texts: 0, 2, 3; first errors")
    assert report[begin + 1 : begin + 4] == [
        "unexpected-continuation 1 at byte 1 of text 0",
        "surrogate 1 at byte 0 of text 2",
        "truncated 1 at byte 5 of text 3",
    ]


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_report_does_not_depend_on_windows(lanes):
    trace = simulate(Transcoder(lanes=lanes, errors=lanes > 1), b"", *HOSTILE)

    def reported(parts: list[Trace]) -> tuple[str, list[str]]:
        file = StringIO()
        told = TranscoderReport(file)
        for part in parts:
            told.add(part)
        return file.getvalue(), list(map(str, told.lines()))

    parts = [trace[part] for part in chunks(len(trace), random.Random(1))]
    assert len(parts) > 3
    assert reported(parts) == reported([trace])


# --- differences --------------------------------------------------------------------------------


class Lenient(Transcoder):
    """One that puts the other byte first, and says that it does not."""

    def elaborate(self, platform: Any) -> Any:
        target, self.target = self.target, EncodingScheme.UTF_32BE
        module = super().elaborate(platform)
        self.target = target
        return module


def test_the_printed_command_names_all_options(folder, monkeypatch):
    replace_design(monkeypatch, "transcoder", Lenient)
    options = "--from", "utf-8", "--to", "utf-32", "--strip-bom", "--lanes", "4"
    arguments = [*TRANSCODER, *options, "--hex", "41 / 42", "--engine", "amaranth"]
    result = run("compare", *arguments)
    assert "pin o.data[0]: expected 41, actual 0" in result.out
    assert assert_shown_again(result)[1:10] == [*TRANSCODER, *options]


# --- every text, Verilog ------------------------------------------------------------------------


@pytest.mark.parametrize(("taken", "given_form"), [("utf-8", "utf-16"), ("utf-16", "utf-8")])
def test_every_text_of_one_byte(folder, taken, given_form):
    result = run("compare", *NARROW, "--from", taken, "--to", given_form, "--exhaustive", 1)
    assert (result.status, result.err) == (0, "")
    assert "256 texts, every one of 1 byte" in result.out.splitlines()
    assert "agree on every output pin" in result.out


def test_the_header_says_what_is_taken_and_given(folder):
    options = "--from", "utf-16", "--to", "utf-8", "--byte-order", "big"
    assert run("generate", *NARROW, *options, "-o", "out.v", "--fusesoc")[0] == 0
    text = Path("out.v").read_text()
    named = "UTF-8 transcoder from UTF-16BE to UTF-8, 4 lanes"
    assert text.startswith(f"// utf8_transcoder_4: {named}; generated by")
    assert (
        "The text is UTF-16BE.\n"
        "//                  "
        "Only tlast flushes: without it the newest beat waits for the next one.\n"
        "// m_axis_*         the text in UTF-8: dense"
    ) in text
    assert f'"{named}, profile unicode' in Path("out.core").read_text()


def test_the_header_says_that_a_byte_order_mark_is_left_out(folder):
    assert run("generate", *NARROW, "--strip-bom", "-o", "out.v")[0] == 0
    assert (
        "The text is UTF-8. A U+FEFF at its beginning is left out.\n" in Path("out.v").read_text()
    )


def test_the_header_says_what_is_reported(folder):
    assert run("generate", *NARROW, "--errors", "-o", "out.v")[0] == 0
    text = Path("out.v").read_text()
    assert "output wire [67:0] m_axis_tuser" in text
    assert "//   tuser[35:4]    offset: bytes of the input text before it" in text
    assert "//   tuser[67:36]   count: the number of errors" in text


# --- wrong usage --------------------------------------------------------------------------------


COMMANDS = ["simulate text.txt", "compare", "generate", "prove", "synthesize", "mutate"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--profile ucs4", "a transcoder needs a profile up to U+10FFFF"),
        ("--from utf-16 --lanes 1", "lanes"),
        ("--from utf-32 --lanes 2", "lanes"),
        ("--to utf-8 --lanes 64", "from utf-8 to utf-8 there may be up to 32 lanes, not 64\n"),
        (
            "--from latin-1",
            "unknown --from 'latin-1': choose from utf-16, utf-32, utf-8, utf-16le, utf-16be, "
            "utf-32le, utf-32be\n",
        ),
        ("--byte-order middle", "unknown --byte-order 'middle': choose from little, big\n"),
        ("--compact", "--compact has no effect with --component transcoder\n"),
        ("--width 8", "--width has no effect with --component transcoder\n"),
        (
            "--to utf-8 --byte-order big",
            "--byte-order has no effect with --from utf-8 --to utf-8\n",
        ),
        (
            "--from utf-16be --byte-order little --to utf-8",
            "--byte-order has no effect with --from utf-16be --to utf-8\n",
        ),
        (
            "--from utf-16 --error-span whole-sequence",
            "--error-span has no effect with --component transcoder --from utf-16",
        ),
    ],
)
def test_what_cannot_be_is_refused(folder, command, options, named):
    assert_refused(run(*command.split(), *TRANSCODER, *options.split()), named)


@pytest.mark.parametrize(
    "option", ["--from utf-8", "--to utf-8", "--byte-order big", "--strip-bom"]
)
def test_options_have_no_effect_on_another_component(folder, option):
    name = option.split()[0]
    refused = run("simulate", "text.txt", *option.split())
    assert_refused(refused, f"{name} has no effect without --component transcoder\n")
