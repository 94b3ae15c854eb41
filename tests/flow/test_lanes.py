"""Components with lanes, from the command line: which there are, verdicts, tables, differences."""

import random
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from command import (
    assert_shown_again,
    each_design,
    in_hex,
    replace_design,
    run,
    squeezed,
    told,
)
from hostile import HOSTILE, chunks
from reference import ref_tokens
from utf8_flow.cli.choices import Designs
from utf8_flow.components.entry import Variant, variants
from utf8_flow.components.validator import ValidatorReport
from utf8_flow.components.wide_decoder import SlotsReport
from utf8_flow.verify.cycles import cycle_table
from utf8_hdl import UNICODE, Decoder, Validator
from utf8_sim import simulate
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.lockstep import Window
from utf8_sim.trace import Trace

VALIDATOR = "--component", "validator"


# --- which there are ----------------------------------------------------------------------------


def test_without_options_each_component_is_there_with_eight_lanes():
    assert [variant.label for variant in variants()] == [
        *("decoder", "compact decoder", "decoder, 8 lanes"),
        *("encoder", "compact encoder"),
        "validator, 8 lanes",
    ]
    assert Designs().variants() == variants()


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (Designs(lanes="4"), ["decoder, 4 lanes", "validator, 4 lanes"]),
        (Designs(lanes="1"), ["decoder", "validator, 1 lane"]),
        (Designs(lanes="1", compact=True), ["compact decoder"]),
        (Designs(compact=True), ["compact decoder", "compact encoder"]),
        (Designs("validator"), ["validator, 8 lanes"]),
        (Designs("decoder"), ["decoder"]),
    ],
)
def test_options_choose_lanes(options, chosen):
    assert [variant.label for variant in options.variants()] == chosen


@pytest.mark.parametrize(
    "variant",
    [
        *variants(),
        Variant("decoder", lanes=64),
        Variant("validator"),
        Variant("validator", lanes=2),
    ],
    ids=lambda variant: variant.label,
)
def test_a_variant_is_that_of_its_design(variant):
    assert Variant.of(variant.make(UNICODE)) == variant


# --- verdicts -----------------------------------------------------------------------------------


def expected_verdict(text: bytes) -> dict[str, Any]:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        kind = next(token.error for token in ref_tokens(text) if token.error)
        found = {"valid": False, "error": kind, "error_offset": error.start}
    else:
        found = {"valid": True, "error": None, "error_offset": None}
    return {"length": len(text)} | found


@pytest.mark.parametrize("lanes", [1, 4, 64])
@settings(max_examples=5, deadline=None)
@given(texts=st.lists(st.binary(max_size=9), min_size=1, max_size=20))
@example(texts=[b"", b"\xe2\x82", b"\xac", b"A" * 64 + b"\xf4\x90", b"B" * 64, *HOSTILE])
def test_verdicts_are_what_cpython_decodes(lanes, texts):
    verdicts = told(*VALIDATOR, "--lanes", lanes, "--hex", in_hex(texts))
    assert verdicts == list(map(expected_verdict, texts))


def test_a_verdict_is_one_json_object_a_line(folder):
    Path("empty.txt").touch()
    result = run("simulate", *VALIDATOR, "--hex", "41 E2 82 AC 42 / 41 ED A0 80", "--tokens", "-")
    assert result.out == (
        '{"length": 5, "valid": true, "error": null, "error_offset": null}\n'
        '{"length": 4, "valid": false, "error": "surrogate", "error_offset": 1}\n'
    )
    assert told(*VALIDATOR, "empty.txt") == [expected_verdict(b"")]


def test_the_report_says_which_texts_are_not_well_formed():
    result = run("simulate", *VALIDATOR, "--hex", "41 FF / 80 / 42 / C0 80 / 43 44 45 C0")
    assert squeezed(result.out)[-9:-2] == [
        "texts 5",
        "bytes 10 in 5 beats",
        "cycles 20 (2.00 per byte)",
        "ill-formed 4",
        "unexpected-continuation 1 at byte 0 of text 1",
        "invalid-byte 1 at byte 1 of text 0",
        "overlong 2 at byte 0 of text 3, 3 of text 4",
    ]


def test_the_report_of_slots_is_that_of_tokens():
    texts = in_hex([*HOSTILE, b"\xe2"])
    one, more = (run("simulate", "--hex", texts, "--lanes", lanes).out for lanes in (1, 8))
    first, second = (squeezed(report) for report in (one, more))
    assert first[0] == second[0] != ""
    assert first[3:-2] == second[3:-2]
    beats = sum(-(-len(text) // 8) for text in [*HOSTILE, b"\xe2"])
    assert second[1] == f"{first[1]} in {beats} beats"


@pytest.mark.parametrize(
    ("design", "report"),
    [(Validator(lanes=1), ValidatorReport), (Validator(lanes=4), ValidatorReport),
     (Decoder(lanes=4), SlotsReport)],
    ids=["validator, 1 lane", "validator, 4 lanes", "decoder, 4 lanes"],
)  # fmt: skip
def test_a_report_does_not_depend_on_windows(design, report):
    trace = simulate(design, *HOSTILE)

    def reported(parts: list[Trace]) -> tuple[str, list[str]]:
        file = StringIO()
        told = report(file)
        for part in parts:
            told.add(part)
        return file.getvalue(), list(map(str, told.lines()))

    parts = [trace[part] for part in chunks(len(trace), random.Random(1))]
    assert len(parts) > 3
    assert reported(parts) == reported([trace])


# --- tables -------------------------------------------------------------------------------------


def test_a_table_is_legible_at_any_width():
    text = bytes(range(0x41, 0x5A)) * 3
    narrow, wide = (
        run("simulate", *VALIDATOR, "--lanes", lanes, "--text", text.decode()).out.splitlines()
        for lanes in (16, 64)
    )
    lines = [text[begin : begin + 16].hex(" ").upper() for begin in range(0, len(text), 16)]
    assert [line[7:].rstrip() for line in narrow[2:6]] == lines[:4]
    assert [line[7:].rstrip() for line in wide[5:9]] == lines[:4]
    assert [line[:5] for line in wide[5:10]] == ["    1", "     ", "     ", "     ", "    2"]
    assert f"{lines[4]} {'-- ' * 5}".rstrip() in wide[9]
    assert wide[12].endswith(f"{'-- ' * 16}last")


def test_a_line_does_not_name_every_lane_that_is_wrong():
    design = Validator(lanes=64)
    trace = simulate(design, bytes(64))
    expected = Trace(trace.interface, {**trace.columns, "o.data": trace["o.data"] + 1})
    window = Window(0, trace, expected)
    assert str(window.difference()).endswith("pin o.data[0]: expected 1, actual 0")
    *_, line = cycle_table(window, AmaranthEngine(design), pins=True)
    assert "<- o.data[0] 0, golden 1; o.data[1] 0, golden 1; " in line.plain
    assert line.plain.endswith("o.data[7] 0, golden 1; ...")


# --- differences --------------------------------------------------------------------------------


class Lenient(Validator):
    """One that accepts surrogates, and says that it does not."""

    def elaborate(self, platform: Any) -> Any:
        strict, self.profile = self.profile, replace(self.profile, accept_surrogates=True)
        module = super().elaborate(platform)
        self.profile = strict
        return module


def test_the_printed_command_names_the_lanes(folder, monkeypatch):
    replace_design(monkeypatch, "validator", Lenient)
    text = "41 42 43 ED A0 80 / 44"
    result = run("compare", *VALIDATOR, "--lanes", 4, "--hex", text, "--engine", "amaranth")
    assert "pin o.error: expected 1, actual 0" in result.out
    arguments = assert_shown_again(result)
    assert arguments[1:5] == [*VALIDATOR, "--lanes", "4"]


# --- every text ---------------------------------------------------------------------------------


@each_design("decoder, 8 lanes", "validator")
def test_every_text_of_one_byte(folder, options):
    result = run("compare", "--exhaustive", 1, *options)
    assert (result.status, result.err) == (0, "")
    assert "256 texts, every one of 1 byte, on " in result.out
    assert "agree on every output pin" in result.out
