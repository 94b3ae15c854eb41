"""Test the benchmark against software: its texts, its arithmetic and its page."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import transcoding
from bench import FailedError

DOCS = Path(__file__).parents[2] / "docs"
KEPT = json.loads((DOCS / "transcoding.json").read_text(encoding="utf-8"))
WELL_FORMED = [*transcoding.WORDS, *transcoding.CHARACTERS, "JSON in all of these"]
DESIGN = {
    "component": "transcoder",
    "lanes": 8,
    "device": "ecp5-85f",
    "usable_mhz": 150,
    "bytes_per_second": 1_200_000_000,
}


@pytest.mark.long
def test_texts_have_their_size_and_kind():
    texts_of = transcoding.make_texts()
    assert transcoding.make_texts() == texts_of
    assert list(texts_of) == [text["name"] for text in KEPT["texts"]]
    for kind, texts in texts_of.items():
        for text in texts:
            assert 0.9 * transcoding.SIZE < len(text) <= transcoding.SIZE, kind
            assert (text.decode(errors="ignore").encode() == text) == (kind in WELL_FORMED), kind


def test_results_are_compared():
    data = "é".encode()
    digest = transcoding.digest(transcoding.replaced(data))
    other = transcoding.digest(b"e\0")
    transcoding.check(data, {"hash": digest, "whatwg": digest}, None)
    transcoding.check(b"\xff", {"hash": None, "whatwg": transcoding.digest(b"\xfd\xff")}, None)
    for answer in (
        {"hash": other, "whatwg": digest},
        {"hash": None, "whatwg": digest},
        {"hash": digest, "whatwg": other},
    ):
        with pytest.raises(FailedError, match="not all have the same result"):
            transcoding.check(data, answer, None)


def test_rate_with_fallback_counts_both_times():
    times = {"cpython": [1.0, 2.0], "simdutf": [0.5, 0.25]}
    accepted = transcoding.rates(6, [False, False], **times)
    assert accepted == {"cpython": 2, "simdutf": 8, "simdutf_else_cpython": 8}
    refused = transcoding.rates(11, [False, True], **times)
    assert refused == {"cpython": 4, "simdutf": None, "simdutf_else_cpython": 4}


def test_hardware_from_placed_designs(tmp_path):
    assert transcoding.hardware() == KEPT["hardware"]
    file = tmp_path / "synthesis.json"
    assert transcoding.hardware(file) == []
    others = [
        DESIGN | {"component": "decoder"},
        DESIGN | {"lanes": 2},
        DESIGN | {"source": "utf-16le", "target": "utf-8"},
        {name: value for name, value in DESIGN.items() if name != "usable_mhz"},
    ]
    file.write_text(json.dumps({"designs": [*others, DESIGN]}))
    [found] = transcoding.hardware(file)
    assert found.items() < DESIGN.items()
    assert "| 8 lanes  | ECP5-85F, speed grade 6 | 150        | 1.2            |" in (
        transcoding.hardware_lines([found])
    )


def labels(drawing: str) -> list[str | None]:
    elements = ElementTree.fromstring(drawing).iter()
    return [each.text for each in elements if each.tag.endswith("}text")]


def test_page_and_drawing_show_the_results():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    page = (DOCS / "benchmark.md").read_text(encoding="utf-8")
    marks = r"<!-- from make bench-transcoding -->\n(.*)\n<!-- end -->"
    assert re.search(marks, page, re.S)[1].splitlines() == transcoding.summary(KEPT)
    drawing = (DOCS / "transcoding.svg").read_text(encoding="utf-8")
    assert labels(drawing) == labels(transcoding.chart(KEPT))
    assert {text["name"] for text in KEPT["texts"]} <= set(labels(drawing))


def test_alternatives_show_the_results():
    page = (DOCS / "alternatives.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]*?) \| (\S+)(?: GB/s)? \| (\S+) GB/s \| 13 GB/s \|$", page, re.M)
    assert len(rows) == 4
    summary = [re.split(r" *\| *", line.strip("| ")) for line in transcoding.summary(KEPT)]
    measured = {cells[0]: (cells[3], cells[1]) for cells in summary if len(cells) == 5}
    assert {name: figures for name, *figures in rows} == {
        name: [*measured[name]] for name, *_ in rows
    }
    assert ["64 lanes", "ECP5-85F, speed grade 6", "207", "13"] in summary
