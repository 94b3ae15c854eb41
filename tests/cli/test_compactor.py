"""The compactor on the command line: notation of lanes, dense beats, Verilog header."""

import random
import re
from pathlib import Path

import pytest

from command import assert_shown_again, run, squeezed, told
from utf8_flow.export import verilog
from utf8_flow.verify.engines import ENGINES
from utf8_hdl import Compactor
from utf8_sim.engines.amaranth import AmaranthEngine

COMPACTOR = "--component", "compactor"

Lanes = list[int | None]

pytestmark = [pytest.mark.usefixtures("shared_engines"), pytest.mark.xdist_group("lanes")]


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
