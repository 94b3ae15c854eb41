"""Components with lanes on the command line: designs, verdicts, beats, reports, tables."""

import random
import re
from dataclasses import replace
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer

from command import assert_shown_again, in_hex, run, squeezed, told
from hostile import HOSTILE, chunks
from needs import needs_icarus
from reference import ref_tokens
from utf8_flow.cli import options as declarations
from utf8_flow.cli.choices import Design, Designs
from utf8_flow.designs import DesignSpec, designs, possible
from utf8_flow.export import verilog
from utf8_flow.verify.cycles import cycle_table
from utf8_flow.verify.engines import ENGINES
from utf8_hdl import UCS4, UNICODE, Compactor, Transcoder, Validator, WideDecoder
from utf8_sim import simulate
from utf8_sim.components.compactor import CompactorReport
from utf8_sim.components.transcoder_report import TranscoderReport
from utf8_sim.components.validator import ValidatorReport
from utf8_sim.components.wide_decoder import SlotsReport
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.lockstep import Window
from utf8_sim.tools.errors import UsageError
from utf8_sim.trace import Trace

VALIDATOR = "--component", "validator"
VALIDATOR_4 = *VALIDATOR, "--lanes", "4"
COMPACTOR = "--component", "compactor"

Lanes = list[int | None]

pytestmark = [pytest.mark.usefixtures("shared_engines"), pytest.mark.xdist_group("lanes")]


# --- designs ------------------------------------------------------------------------------------


def test_default_designs():
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
    ("options", "labels"),
    [
        (Designs(lanes="4"), [*("decoder, 4 lanes", "validator, 4 lanes"), *OF_FOUR_LANES]),
        (Designs(lanes="4", own={"width": 12}), ["compactor width 12, 4 lanes"]),
        (Designs(compact=True), ["compact decoder", "compact encoder"]),
        (Designs("validator"), ["validator, 8 lanes"]),
        (
            Designs(byte_order="big", own={"strip_bom": True}),
            ["transcoder from UTF-8 to UTF-16BE with --strip-bom, 8 lanes"],
        ),
    ],
)
def test_options_choose_designs(options, labels):
    assert [spec.label for spec in options.specs()] == labels


def chosen_by(*words: str) -> DesignSpec:
    """The design selected by command-line options."""
    app, chosen = typer.Typer(), []

    @declarations.command(app)
    def command(*, design: Design) -> None:
        chosen.append(design.spec(UNICODE))

    app(list(words), standalone_mode=False)
    return chosen[0]


@pytest.mark.parametrize(
    "spec",
    [
        DesignSpec("encoder", compact=True),
        DesignSpec("decoder", lanes=64),
        DesignSpec("validator", lanes=2, own={"offset_width": 12}),
        DesignSpec("compactor", lanes=64, own={"width": 40}),
        DesignSpec("transcoder", lanes=4, own={"target": "utf-32le", "strip_bom": True}),
    ],
    ids=lambda spec: spec.label,
)
def test_design_spec_round_trip(spec):
    assert DesignSpec.of(spec.make()) == spec
    assert chosen_by(*spec.options) == spec


def test_design_spec_ignores_other_options():
    one = DesignSpec("transcoder", own={"target": "utf-8", "strip_bom": None, "other": 1})
    assert one == DesignSpec("transcoder", own={"target": "utf-8"})
    assert one == DesignSpec("transcoder", own=one.own)
    same = DesignSpec("transcoder"), DesignSpec("transcoder", own={"strip_bom": False})
    assert len({one, *same}) == 2


def test_impossible_designs_are_left_out():
    both = DesignSpec("decoder", lanes=8), DesignSpec("transcoder", lanes=8)
    found = possible(spec.under(profile) for spec, profile in product(both, [UNICODE, UCS4]))
    assert found == [both[0], replace(both[0], profile=UCS4), both[1]]
    with pytest.raises(UsageError, match="a transcoder needs a profile up to"):
        possible([both[1].under(UCS4)])
    assert possible([]) == []


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


def test_verdicts_equal_cpython():
    texts = [b"", b"\xe2\x82", b"\xac", b"A" * 64 + b"\xf4\x90", b"B" * 64, *HOSTILE]
    verdicts = told(*VALIDATOR_4, "--hex", in_hex(texts))
    assert verdicts == list(map(expected_verdict, texts))


@pytest.mark.long
@needs_icarus
def test_memory_may_be_undefined_before_the_first_beat():
    """The address of the output memory has no initial value."""
    options = *VALIDATOR, "--lanes", 2, "--engine", "icarus"
    assert run("simulate", *options, "--text", "naïve").status == 0


# --- reports ------------------------------------------------------------------------------------


def test_report_locates_errors():
    texts = "41 FF / 80 / 42 / C0 80 / 43 44 45 C0"
    result = run("simulate", *VALIDATOR_4, "--hex", texts)
    lines = squeezed(result.out)
    assert lines[-9:-7] == ["texts 5", "bytes 10 in 5 beats"]
    assert lines[-6:-2] == [
        "ill-formed 4",
        "unexpected-continuation 1 at byte 0 of text 1",
        "invalid-byte 1 at byte 1 of text 0",
        "overlong 2 at byte 0 of text 3, 3 of text 4",
    ]


@pytest.mark.long
def test_report_does_not_depend_on_lanes():
    texts = [*HOSTILE[2:], b"\xe2"]
    one, more = (
        squeezed(run("simulate", "--hex", in_hex(texts), "--lanes", lanes).out) for lanes in (1, 4)
    )
    assert one[0] == more[0] != ""
    assert one[3:-2] == more[3:-2]
    beats = sum(-(-len(text) // 4) for text in texts)
    assert more[1] == f"{one[1]} in {beats} beats"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("design", "report"),
    [
        (Validator(lanes=4), ValidatorReport),
        (WideDecoder(lanes=4), SlotsReport),
        (Compactor(lanes=4), CompactorReport),
        (Transcoder(lanes=4, errors=True), TranscoderReport),
        (Validator(lanes=1), ValidatorReport),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, type) else "",
)
def test_report_does_not_depend_on_windows(shared_engines, design, report):
    trace = simulate(shared_engines(design), b"", *HOSTILE[2:])

    def reported(parts: list[Trace]) -> tuple[str, list[str]]:
        file = StringIO()
        lines = report(file)
        for part in parts:
            lines.add(part)
        return file.getvalue(), list(map(str, lines.lines()))

    parts = [trace[part] for part in chunks(len(trace), random.Random(1))]
    assert len(parts) > 3
    assert reported(parts) == reported([trace])


# --- tables -------------------------------------------------------------------------------------


def table(*arguments: object) -> str:
    """The report of `simulate`, with runs of spaces reduced to one."""
    return "\n".join(squeezed(run("simulate", *arguments).out))


@pytest.mark.long
def test_table_wraps_wide_beats():
    text = bytes(range(0x41, 0x5B)) * 4
    lines = [text[begin : begin + 16].hex(" ").upper() for begin in range(0, len(text), 16)]
    shown = table(*VALIDATOR, "--lanes", 32, "--text", text.decode())
    assert f" {lines[0]}\n{lines[1]}\n" in shown
    assert f" {lines[6]} (8 of 32 bytes) last\n" in shown


@pytest.mark.long
def test_table_does_not_split_tokens():
    text = ("É" * 3 + "unexpec").encode() + b"\x80" * 3
    assert (
        " 2 U+00C9 É, 4 U+00C9 É, 6 U+00C9 É,\n"
        '7..13 "unexpec",\n'
        "14 unexpected-continuation (lane 13),\n"
        "15 unexpected-continuation (lane 14),\n"
        "16 unexpected-continuation (lane 15) last\n"
    ) in table("--lanes", 16, "--hex", in_hex([text]))


@pytest.mark.long
def test_table_names_eight_different_lanes_at_most():
    engine = AmaranthEngine(Validator(lanes=16))
    trace = simulate(engine, bytes(16))
    expected = Trace(trace.interface, {**trace.columns, "o.data": trace["o.data"] + 1})
    window = Window(0, trace, expected)
    assert str(window.difference()).endswith("pin o.data[0]: expected 1, actual 0")
    *_, line = cycle_table(window, engine, pins=True)
    assert "<- o.data[0] 0, golden 1; o.data[1] 0, golden 1; " in line.plain
    assert line.plain.endswith("o.data[7] 0, golden 1; ...")


# --- the compactor ------------------------------------------------------------------------------


def notation(texts: list[Lanes]) -> str:
    words = ([f"{value:X}" if value is not None else "--" for value in text] for text in texts)
    return " / ".join(map(" ".join, words))


def dense(text: Lanes, lanes: int) -> list[dict]:
    """The beats with the values of a text."""
    values = [value for value in text if value is not None]
    begins = range(0, max(1, len(values)), lanes)
    last = begins[-1]
    return [{"values": values[n : n + lanes], "last": n == last} for n in begins]


@pytest.mark.parametrize(("lanes", "width"), [(1, 8), (2, 40)])
def test_values_keep_their_order(lanes, width):
    rng = random.Random(lanes)
    texts = [[], [None] * lanes, [1] * lanes, [None] * (3 * lanes) + [1] * lanes, [1]]
    texts += [
        [rng.choice([None, rng.getrandbits(width)]) for _ in range(rng.randrange(4 * lanes))]
        for _ in range(9)
    ]
    options = ["--lanes", lanes, *["--width", width] * (width != 8), "--hex", notation(texts)]
    assert told(*COMPACTOR, *options) == [beat for text in texts for beat in dense(text, lanes)]


def test_hex_notation_of_lanes():
    beats = told(*COMPACTOR, "--lanes", 2, "--hex", " e2 --\tAC\n-- -- 41 / 0")
    assert beats == [
        {"values": [0xE2, 0xAC], "last": False},
        {"values": [0x41], "last": True},
        {"values": [0], "last": True},
    ]
    assert told(*COMPACTOR, "--lanes", 2, "--hex", r"0x41,\x42") == dense([0x41, 0x42], 2)


@pytest.mark.parametrize("source", [["--text", "naïve café"], ["text.bin"]])
def test_bytes_are_values(folder, source):
    data = "naïve café".encode()
    Path("text.bin").write_bytes(data)
    options = "--lanes", 2, "--width", 40
    assert told(*COMPACTOR, *source, *options) == dense(list(data), 2)


def test_report_counts_beats():
    report = squeezed(run("simulate", *COMPACTOR, "--lanes", 2, "--hex", "1 -- -- 2 3 / / 4").out)
    begin = report.index("texts 3")
    assert report[begin + 1 : begin + 3] == ["values 4 in 5 beats", "beats out 4"]
    assert report[begin + 3].startswith("cycles ")
    assert not any("profile" in line for line in report)


class WrongLane(AmaranthEngine):
    """A simulator that shows another value where the output has ABC in lane 0."""

    def run(self, stimulus):
        for trace in super().run(stimulus):
            lane = trace["o.data"][:, 0]
            lane[lane == 0xABC] = 0x123
            yield trace


@pytest.mark.long
def test_reproduction_names_the_width(folder, monkeypatch):
    monkeypatch.setitem(ENGINES, "amaranth", WrongLane)
    options = "--width", "12", "--lanes", "2"
    result = run("simulate", *COMPACTOR, *options, "--hex", "ABC 123", "--engine", "amaranth")
    assert "pin o.data[0]: expected ABC, actual 123" in result.out
    arguments = assert_shown_again(result)
    assert arguments[1:7] == [*COMPACTOR, *options]
    assert re.fullmatch("[0-9A-F]{3}( [0-9A-F]{3})*", arguments[arguments.index("--hex") + 1])


@pytest.mark.usefixtures("header_only")
def test_header_describes_values(folder):
    options = "--width", 12, "--lanes", 2
    assert run("generate", *COMPACTOR, *options, "-o", "out.v", "--fusesoc")[0] == 0
    text = Path("out.v").read_text()
    assert text.startswith("// utf8_compactor_2: UTF-8 compactor width 12, 2 lanes\n")
    assert "tdata          values of 12 bits, lane 0 lowest" in text
    assert "Profile" not in text
    assert "tuser" not in text
    assert "UTF-8 compactor width 12, 2 lanes" in Path("out.core").read_text()
    assert re.search("^//   tuser", verilog.generate(Compactor(lanes=2, user=5)), re.M)
