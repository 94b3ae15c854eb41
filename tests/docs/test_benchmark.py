"""The benchmark against software: its texts, its arithmetic, and the page that shows the results.

Nothing here is timed.
"""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import transcoding
from bench import FailedError

DOCS = Path(__file__).parents[2] / "docs"
KEPT = json.loads((DOCS / "transcoding.json").read_text(encoding="utf-8"))
TEXTS = transcoding.make_texts()
WELL_FORMED = [*transcoding.WORDS, *transcoding.CHARACTERS, "JSON in all of these"]
DESIGN = {
    "component": "transcoder",
    "lanes": 8,
    "device": "ecp5-85f",
    "usable_mhz": 150,
    "bytes_per_second": 1_200_000_000,
}


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_are_long_and_of_their_kind(kind):
    for text in TEXTS[kind]:
        assert 0.9 * transcoding.SIZE < len(text) <= transcoding.SIZE
        assert (text.decode(errors="ignore").encode() == text) == (kind in WELL_FORMED)


def test_texts_are_the_same_each_time():
    assert transcoding.make_texts() == TEXTS


def test_each_result_is_compared():
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


def test_who_is_refused_pays_twice():
    times = {"cpython": [1.0, 2.0], "simdutf": [0.5, 0.25]}
    accepted = transcoding.rates(6, [False, False], **times)
    assert accepted == {"cpython": 2, "simdutf": 8, "simdutf_else_cpython": 8}
    refused = transcoding.rates(11, [False, True], **times)
    assert refused == {"cpython": 4, "simdutf": None, "simdutf_else_cpython": 4}


def test_hardware_is_what_was_placed_and_routed(tmp_path):
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
    return [
        text.text for text in ElementTree.fromstring(drawing).iter() if text.tag[-5:] == "}text"
    ]


def test_page_and_picture_show_the_results_that_are_kept():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    page = (DOCS / "benchmark.md").read_text(encoding="utf-8")
    marks = r"<!-- from make bench-transcoding -->\n(.*)\n<!-- end -->"
    assert re.search(marks, page, re.S)[1].splitlines() == transcoding.summary(KEPT)
    assert [text["name"] for text in KEPT["texts"]] == list(TEXTS)
    drawing = (DOCS / "transcoding.svg").read_text(encoding="utf-8")
    assert labels(drawing) == labels(transcoding.chart(KEPT))
    assert set(TEXTS) <= set(labels(drawing))


def test_the_hardware_on_the_page_is_what_is_measured_now():
    assert KEPT["hardware"] == transcoding.hardware()


def test_the_picture_has_a_line_for_each_design():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    drawing = transcoding.chart(KEPT | {"hardware": [DESIGN, DESIGN | {"lanes": 64}]})
    assert {"8 lanes", "64 lanes"} <= set(labels(drawing))
