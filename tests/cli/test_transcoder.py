"""The transcoder on the command line: outputs, reports, Verilog headers."""

from pathlib import Path

import pytest

from command import in_hex, run, run_for_bytes, squeezed, told
from hostile import HOSTILE
from reference import ref_errors, ref_transcoded

TRANSCODER = "--component", "transcoder"
TRANSCODER_4 = *TRANSCODER, "--lanes", "4"

pytestmark = [pytest.mark.usefixtures("shared_engines"), pytest.mark.xdist_group("lanes")]


def transcoded(texts: list[bytes], *options: object) -> list[tuple[bytes, bool]]:
    """The output of each text, and True if it had an error."""
    records = told(*TRANSCODER_4, *options, "--hex", in_hex(texts), "--bytes", "out.bin")
    assert [record["length"] for record in records] == list(map(len, texts))
    data, found = Path("out.bin").read_bytes(), []
    for record in records:
        found.append((data[: record["bytes"]], record["error"]))
        data = data[record["bytes"] :]
    assert data == b""
    return found


UNITS = [0x41, 0xE9, 0x20AC, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFEFF, 0xFFFF]
WORDS = [*UNITS, 0x10000, 0x10FFFF, 0x110000, 0xFFFFFFFF]
TEXTS = [
    *(b"", b"A", b"", "Aé€😀".encode() * 3, b"\xf0\x9f\x98"),
    b"".join(unit.to_bytes(2, "little") for unit in UNITS) + b"A",
    b"".join(word.to_bytes(4, "little") for word in WORDS) + b"AB",
    *(text[:100] for text in HOSTILE),
]
"""Texts with errors in each encoding form."""


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("source", "target"), [("utf-16", "utf-8"), ("utf-8", "utf-16"), ("utf-32", "utf-16")]
)
def test_outputs_equal_cpython(folder, source, target):
    schemes = [form + "le" * (form != "utf-8") for form in (source, target)]
    assert transcoded(TEXTS, "--from", source, "--to", target) == [
        ref_transcoded(text, *schemes) for text in TEXTS
    ]


@pytest.mark.long
def test_errors_equal_cpython():
    expected = []
    for text in TEXTS:
        errors = ref_errors(text, "utf-8")
        first = errors[0] if errors else (None, None)
        expected.append((bool(errors), *first, len(errors)))
    records = told(*TRANSCODER_4, "--from", "utf-8", "--errors", "--hex", in_hex(TEXTS))
    fields = "error", "offset", "kind", "count"
    assert [tuple(map(record.__getitem__, fields)) for record in records] == expected


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("options", "source", "target"),
    [
        ("--from utf-16 --to utf-8 --byte-order big", "utf-16be", "utf-8"),
        ("--from utf-32be --to utf-16le", "utf-32be", "utf-16le"),
        ("--from utf-16 --to utf-8 --strip-bom", "utf-16le", "utf-8"),
    ],
)
def test_byte_order_and_its_mark(folder, options, source, target):
    given = "naïve 😀", "\ud800", "", "\ufeff\ufeffA"
    texts = [text.encode(source, "surrogatepass") for text in given]
    strip_bom = "--strip-bom" in options
    expected = [ref_transcoded(text, source, target, strip_bom=strip_bom) for text in texts]
    assert transcoded(texts, *options.split()) == expected


# --- inputs -------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "target"),
    [
        ("--from utf-8 --to utf-16", "utf-16le"),
        ("--from utf-16 --to utf-8 --byte-order big", "utf-8"),
        ("--from utf-32be --to utf-16le", "utf-16le"),
    ],
)
def test_text_option_is_converted_to_the_source(options, target):
    # CPython passes bytes of an argument that are ill-formed as surrogates.
    arguments = *TRANSCODER_4, *options.split(), "--text", "A\udce2€😀", "--bytes", "-"
    assert run_for_bytes("simulate", *arguments).out == "A\ufffd€😀".encode(target)


# --- reports ------------------------------------------------------------------------------------


def test_report_counts_texts_bytes_and_errors():
    texts = "41 E2 82 AC / 41 80 / / 41 42 43 44 45 46 47 48 FF"
    report = squeezed(run("simulate", *TRANSCODER_4, "--hex", texts).out)
    begin = report.index("texts 4")
    output = "41 00 AC 20 41 00 FD FF 41 00 42 00 43 00 44 00 45 00 46 00 ..."
    assert report[begin - 1] == f"begins {output}"
    assert report[begin + 1 : begin + 3] == ["bytes in 15 in 6 beats", "bytes out 26 in 6 beats"]
    assert report[begin + 3].startswith("cycles ")
    assert report[begin + 4] == "errors 2, U+FFFD instead, in text 1, 3"


@pytest.mark.long
def test_report_locates_first_errors():
    texts = "41 80 FF / 42 / ED A0 80 / 43 44 45 46 47 F0"
    report = squeezed(run("simulate", *TRANSCODER_4, "--errors", "--hex", texts).out)
    begin = report.index("errors 6, U+FFFD instead, in 3 texts: 0, 2, 3; first errors")
    assert report[begin + 1 : begin + 4] == [
        "unexpected-continuation 1 at byte 1 of text 0",
        "surrogate 1 at byte 0 of text 2",
        "truncated 1 at byte 5 of text 3",
    ]


# --- Verilog ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("header_only")
def test_header_describes_options(folder):
    forms = "--from", "utf-16", "--to", "utf-8", "--byte-order", "big"
    options = *forms, "--strip-bom", "--errors", "--lanes", 2
    assert run("generate", *TRANSCODER, *options, "-o", "out.v", "--fusesoc")[0] == 0
    text = Path("out.v").read_text()
    named = "UTF-8 transcoder from UTF-16BE to UTF-8 with --strip-bom with --errors, 2 lanes"
    assert f"// utf8_transcoder_2: {named}," in text.replace("\n// ", " ")
    assert (
        "The text is UTF-16BE. U+FEFF at its beginning is left out.\n"
        "//                  "
        "Only tlast flushes: without it, a beat is kept until the next one.\n"
        "// m_axis_*         the text in UTF-8: dense"
    ) in text
    assert "//   tuser[67:36]   count: the number of errors" in text
    assert f'"{named}, profile unicode' in Path("out.core").read_text()
