"""The compactor, from the command line: lanes as they are typed, and what comes of them."""

import random
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from command import assert_refused, assert_shown_again, replace_design, run, squeezed, told
from hostile import HOSTILE, chunks
from utf8_flow.export.verilog import generate
from utf8_hdl import Compactor
from utf8_sim import simulate
from utf8_sim.components.compactor import CompactorReport
from utf8_sim.trace import Trace

COMPACTOR = "--component", "compactor"

Lanes = list[int | None]


def typed(texts: list[Lanes]) -> str:
    words = ([f"{value:X}" if value is not None else "--" for value in text] for text in texts)
    return " / ".join(map(" ".join, words))


def dense(text: Lanes, lanes: int) -> list[dict]:
    """The beats that have the values of a text."""
    values = [value for value in text if value is not None]
    begins = range(0, max(1, len(values)), lanes)
    last = begins[-1]
    return [{"values": values[n : n + lanes], "last": n == last} for n in begins]


@pytest.mark.parametrize(("lanes", "width"), [(1, 8), (2, 3), (8, 8), (16, 40)])
def test_values_come_out_in_order(lanes, width):
    values = st.integers(0, (1 << width) - 1)

    @settings(max_examples=5, deadline=None)
    @given(texts=st.lists(st.lists(st.none() | values, max_size=4 * lanes), min_size=1, max_size=9))
    @example(texts=[[], [None] * lanes, [1] * lanes, [None] * (3 * lanes) + [1] * lanes, [1]])
    def check(texts):
        options = ["--lanes", lanes, *["--width", width] * (width != 8), "--hex", typed(texts)]
        found = told(*COMPACTOR, *options)
        assert found == [beat for text in texts for beat in dense(text, lanes)]

    check()


def test_lanes_are_written_in_many_ways():
    beats = told(*COMPACTOR, "--lanes", 2, "--hex", " e2 --\tAC\n-- -- 41 / 0")
    assert beats == [
        {"values": [0xE2, 0xAC], "last": False},
        {"values": [0x41], "last": True},
        {"values": [0], "last": True},
    ]


@pytest.mark.parametrize("source", [["--text", "naïve café"], ["text.bin"]])
def test_bytes_are_values(folder, source):
    data = "naïve café".encode()
    Path("text.bin").write_bytes(data)
    assert told(*COMPACTOR, *source, "--width", 12) == dense(list(data), 8)


def test_the_report_counts_beats():
    report = squeezed(run("simulate", *COMPACTOR, "--lanes", 2, "--hex", "1 -- -- 2 3 / / 4").out)
    begin = report.index("texts 3")
    assert report[begin + 1 : begin + 3] == ["values 4 in 5 beats", "beats out 4"]
    assert report[begin + 3].startswith("cycles ")
    assert not any("profile" in line for line in report)


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_report_does_not_depend_on_windows(lanes):
    trace = simulate(Compactor(lanes=lanes), b"", *HOSTILE)

    def reported(parts: list[Trace]) -> tuple[str, list[str]]:
        file = StringIO()
        told = CompactorReport(file)
        for part in parts:
            told.add(part)
        return file.getvalue(), list(map(str, told.lines()))

    parts = [trace[part] for part in chunks(len(trace), random.Random(1))]
    assert len(parts) > 3
    assert reported(parts) == reported([trace])


class Mixed(Compactor):
    """One that takes two lanes for each other, and says that it does not."""

    def elaborate(self, platform: Any) -> Any:
        own = self.i
        self.i = own.signature.flip().create()
        module = super().elaborate(platform)
        data = self.i.p.data
        module.d.comb += [
            self.i.valid.eq(own.valid),
            own.ready.eq(self.i.ready),
            self.i.p.eq(own.p),
            data[0].eq(own.p.data[1]),
        ]
        self.i = own
        return module


def test_the_printed_command_names_the_width(folder, monkeypatch):
    replace_design(
        monkeypatch, "compactor", lambda profile, width, **options: Mixed(shape=width, **options)
    )
    options = "--width", "12", "--lanes", "2"
    result = run("compare", *COMPACTOR, *options, "--hex", "ABC -- 123 4", "--engine", "amaranth")
    assert "pin o.data[0]: expected ABC, actual 0" in result.out
    arguments = assert_shown_again(result)
    assert arguments[1:7] == [*COMPACTOR, *options]
    assert re.fullmatch("[0-9A-F]{3}( [0-9A-F]{3})*", arguments[arguments.index("--hex") + 1])


# --- wrong usage, Verilog -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--hex 1FF", "--hex takes hexadecimal values of 8 bits, -- for an empty lane, and /"),
        ("--hex 41-", "not '41-'"),
        (
            "--hex 4 --width 2",
            "values of 2 bits, -- for an empty lane, and / between texts, not '4'",
        ),
        ("--text A --width 6", "values of 6 bits are too narrow for these bytes"),
        ("--text A --width 0", "'--width': Input should be greater than or equal to 1"),
        ("--text A --profile ucs2", "--profile has no effect with --component compactor\n"),
        ("--text A --surrogates accept", "--surrogates has no effect with --component compactor\n"),
        ("--text A --compact", "--compact has no effect with --component compactor\n"),
        ("--text A --to utf-8", "--to has no effect with --component compactor\n"),
        ("--text A --bytes o", "--bytes has no effect with --component compactor\n"),
    ],
)
def test_what_cannot_be_is_refused(folder, arguments, named):
    assert_refused(run("simulate", *COMPACTOR, *arguments.split()), named)


def test_width_has_no_effect_on_another_component(folder):
    refused = run("simulate", "text.txt", "--width", 8)
    assert_refused(refused, "--width has no effect without --component compactor\n")


def test_the_header_says_what_a_value_is(folder):
    assert run("generate", *COMPACTOR, "--width", 12, "-o", "out.v", "--fusesoc")[0] == 0
    text = Path("out.v").read_text()
    assert text.startswith("// utf8_compactor_8: UTF-8 compactor width 12, 8 lanes; generated by")
    assert "tdata          values of 12 bits, lane 0 lowest" in text
    assert "Profile" not in text
    assert 'description: "UTF-8 compactor width 12, 8 lanes"' in Path("out.core").read_text()


@pytest.mark.parametrize("user", [0, 1, 5])
def test_there_is_tuser_if_there_is_something_in_it(user):
    text = generate(Compactor(lanes=4, shape=8, user=user))
    assert bool(re.search("^//   tuser", text, re.M)) == bool(user)
    assert ("m_axis_tuser" in text) == bool(user)
