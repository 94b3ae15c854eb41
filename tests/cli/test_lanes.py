"""Components with lanes, from the command line: which there are, verdicts, tables, differences."""

import random
from dataclasses import replace
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer
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
from needs import needs_icarus
from reference import ref_tokens
from utf8_flow.cli import options as declarations
from utf8_flow.cli.choices import Design, Designs
from utf8_flow.designs import DesignSpec, designs, possible
from utf8_flow.verify.cycles import cycle_table
from utf8_hdl import UCS4, UNICODE, Validator, WideDecoder
from utf8_sim import simulate
from utf8_sim.components.validator import ValidatorReport
from utf8_sim.components.wide_decoder import SlotsReport
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.lockstep import Window
from utf8_sim.tools.errors import UsageError
from utf8_sim.trace import Trace

VALIDATOR = "--component", "validator"


# --- which there are ----------------------------------------------------------------------------


def test_without_options_each_component_is_there_with_eight_lanes():
    assert [variant.label for variant in designs()] == [
        *("decoder", "compact decoder", "decoder, 8 lanes"),
        *("encoder", "compact encoder"),
        "validator, 8 lanes",
        "compactor, 8 lanes",
        "transcoder from UTF-8 to UTF-16, 8 lanes",
        "transcoder from UTF-8 to UTF-32, 8 lanes",
        "transcoder from UTF-16 to UTF-8, 8 lanes",
        "transcoder from UTF-32 to UTF-8, 8 lanes",
        "transcoder from UTF-8 to UTF-8, 8 lanes",
    ]
    assert Designs().specs() == designs()


OF_FOUR_LANES = "compactor, 4 lanes", "transcoder from UTF-8 to UTF-16, 4 lanes"


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (Designs(lanes="4"), [*("decoder, 4 lanes", "validator, 4 lanes"), *OF_FOUR_LANES]),
        (Designs(lanes="4", own={"width": 12}), ["compactor width 12, 4 lanes"]),
        (Designs(own={"offset_width": 12}), ["validator offset width 12, 8 lanes"]),
        (Designs(lanes="1", compact=True), ["compact decoder"]),
        (Designs(compact=True), ["compact decoder", "compact encoder"]),
        (Designs("validator"), ["validator, 8 lanes"]),
        (Designs("decoder"), ["decoder"]),
        (Designs("compactor"), ["compactor, 8 lanes"]),
        (
            Designs("transcoder", own={"source": "utf-32"}),
            ["transcoder from UTF-32 to UTF-16, 8 lanes"],
        ),
        (
            Designs(byte_order="big", own={"strip_bom": True}),
            ["transcoder from UTF-8 to UTF-16BE with --strip-bom, 8 lanes"],
        ),
    ],
)
def test_options_choose_lanes(options, chosen):
    assert [spec.label for spec in options.specs()] == chosen


def chosen_by(*words: str) -> DesignSpec:
    """The design that some options name."""
    app, chosen = typer.Typer(), []

    @declarations.command(app)
    def command(*, design: Design) -> None:
        chosen.append(design.spec(UNICODE))

    app(list(words), standalone_mode=False)
    return chosen[0]


@pytest.mark.parametrize(
    "spec",
    [
        *designs(),
        DesignSpec("decoder", lanes=64),
        DesignSpec("validator"),
        DesignSpec("validator", lanes=2),
        DesignSpec("validator", lanes=2, own={"offset_width": 12}),
        DesignSpec("compactor", lanes=64, own={"width": 40}),
        DesignSpec("transcoder", lanes=4, own={"source": "utf-32be"}),
        DesignSpec("transcoder", lanes=4, own={"target": "utf-32le", "strip_bom": True}),
    ],
    ids=lambda spec: spec.label,
)
def test_a_design_is_named_by_what_it_is_and_by_its_options(spec):
    assert DesignSpec.of(spec.make()) == spec
    assert chosen_by(*spec.options) == spec


def test_what_is_said_of_an_option_is_taken_from_any_mapping():
    one = DesignSpec("transcoder", own={"target": "utf-8", "strip_bom": None, "other": 1})
    assert one == DesignSpec("transcoder", own={"target": "utf-8"})
    assert one == DesignSpec("transcoder", own=one.own)
    same = DesignSpec("transcoder"), DesignSpec("transcoder", own={"strip_bom": False})
    assert len({one, *same}) == 2


def test_designs_that_cannot_be_are_left_out():
    both = DesignSpec("decoder", lanes=8), DesignSpec("transcoder", lanes=8)
    found = possible(spec.under(profile) for spec, profile in product(both, [UNICODE, UCS4]))
    assert found == [both[0], replace(both[0], profile=UCS4), both[1]]
    with pytest.raises(UsageError, match="a transcoder needs a profile up to"):
        possible([both[1].under(UCS4)])
    assert possible([]) == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--lanes", "2"], "UTF-8 decoder, 2 lanes"),
        (VALIDATOR, "UTF-8 validator, 8 lanes"),
        ([*VALIDATOR, "--offset-width", "6"], "UTF-8 validator offset width 6, 8 lanes"),
    ],
)
def test_the_generated_files_name_the_lanes(folder, options, named):
    assert run("generate", *options, "-o", "lanes.v", "--fusesoc") == (0, "", "")
    assert f": {named}; generated by" in Path("lanes.v").read_text()
    assert f'"{named}, profile unicode' in Path("lanes.core").read_text()


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


@needs_icarus
@pytest.mark.parametrize("component", ["decoder", "validator"])
def test_what_the_memory_gives_before_the_first_beat_may_be_undefined(component):
    """The address of the memory has no initial level."""
    options = ["--component", component, "--lanes", 4, "--engine", "icarus"]
    assert run("simulate", *options, "--text", "naïve").status == 0


def test_the_report_says_which_texts_are_not_well_formed():
    result = run("simulate", *VALIDATOR, "--hex", "41 FF / 80 / 42 / C0 80 / 43 44 45 C0")
    assert squeezed(result.out)[-9:-2] == [
        "texts 5",
        "bytes 10 in 5 beats",
        "cycles 19 (3.80 per beat)",
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
     (WideDecoder(lanes=4), SlotsReport)],
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


def column(name: str, *arguments: object) -> list[list[str]]:
    """Of each cycle in which there is something in a column of the table, the lines of that."""
    head, *rows = run("simulate", *arguments).out.partition("\n\n")[0].splitlines()
    begin, end = head.index(name), max(head.index("beat out") - head.index(name), 0) or None
    cycles: list[list[str]] = []
    for row in rows:
        if row[: head.index("beat in")].strip():
            cycles.append([])
        cycles[-1].append(row[begin:][:end].rstrip())
    return [lines for lines in cycles if lines[0]]


def test_a_table_is_legible_at_any_width():
    text = bytes(range(0x41, 0x5B)) * 4
    lines = [text[begin : begin + 16].hex(" ").upper() for begin in range(0, len(text), 16)]
    narrow, wide = (
        column("beat in", *VALIDATOR, "--lanes", lanes, "--text", text.decode())
        for lanes in (16, 64)
    )
    assert [line for [line] in narrow[1:7]] == lines[:6]
    assert wide[1:] == [lines[:4], [*lines[4:6], f"{lines[6]} (40 of 64 bytes) last"]]


def test_tokens_are_not_torn_apart():
    text = ("É" * 3 + "unexpected").encode() + b"\x80" * 3
    [lines] = column("beat out", "--lanes", 32, "--hex", in_hex([text]))
    assert lines == [
        "2 U+00C9 É, 4 U+00C9 É, 6 U+00C9 É,",
        '7..16 "unexpected",',
        "17 unexpected-continuation (lane 16),",
        "18 unexpected-continuation (lane 17),",
        "19 unexpected-continuation (lane 18) last",
    ]


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


@each_design("decoder, 4 lanes", "validator")
def test_every_text_of_one_byte(folder, options):
    result = run("compare", "--exhaustive", 1, *options)
    assert (result.status, result.err) == (0, "")
    assert "256 texts, every one of 1 byte" in result.out.splitlines()
    assert "agree on every output pin" in result.out
