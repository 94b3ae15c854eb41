"""Timing diagrams in SVG: lanes, boxes, labels, hostile characters."""

import re
import sys
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest

from rtl import STALLS
from utf8_hdl import EXTENDED, Decoder, Encoder
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.stimulus import FixedStalls, Stimulus
from utf8_sim.tools.errors import ToolError
from utf8_sim.trace import Trace
from utf8_sim.waves.diagram import timing_diagram

SVG = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"

COLUMN = 40
"""Width of a cycle in pixels, before scaling."""

STATE, INPUT, RESULT, ERROR = "2", "3", "5", "9"

ENGINES = {"decoder": AmaranthEngine(Decoder()), "encoder": AmaranthEngine(Encoder())}


class Box(NamedTuple):
    """A labelled part of a lane."""

    label: str
    colour: str
    first: int
    cycles: int


class Diagram:
    """A parsed diagram. Its lanes consist of bricks; each cycle has several."""

    def __init__(self, svg: str) -> None:
        self._lanes = {
            text_of(group.find(f"{SVG}text")): group.find(f"{SVG}g")
            for group in ElementTree.fromstring(svg).iter(f"{SVG}g")
            if re.fullmatch(r"wavelane_\d+_0", group.get("id", ""))
        }
        self.names = list(self._lanes)
        clock = self._bricks("clk")
        self._bricks_per_cycle = len(clock) // clock.count("pclk")
        self.cycle_width = self._bricks_per_cycle // 2 * COLUMN

    def _bricks(self, name: str) -> list[str]:
        return [use.get(HREF)[1:] for use in self._lanes[name].iter(f"{SVG}use")]

    def _cycles(self, name: str) -> list[list[str]]:
        bricks, size = self._bricks(name), self._bricks_per_cycle
        assert len(bricks) % size == 0
        return [bricks[at : at + size] for at in range(0, len(bricks), size)]

    def levels(self, name: str) -> list[str]:
        """For each cycle 0, 1, x, or the colour of the box."""
        return [bricks[-1][-1] for bricks in self._cycles(name)]

    def boxes(self, name: str) -> list[Box]:
        texts = [text_of(text) for text in self._lanes[name].iter(f"{SVG}text")]
        found: list[tuple[str, int, int]] = []
        for number, bricks in enumerate(self._cycles(name)):
            colour = bricks[-1][-1]
            if "m" in bricks[0] and colour != "x":
                found.append((colour, number, 1))
            elif colour != "x":
                assert found[-1][0] == colour
                found[-1] = (*found[-1][:2], found[-1][2] + 1)
        return [Box(label, *box) for label, box in zip(texts, found, strict=True)]

    def labels(self, name: str) -> list[str]:
        return [box.label for box in self.boxes(name)]


def text_of(element: ElementTree.Element) -> str:
    return "".join(element.itertext())


def run(engine: AmaranthEngine, items: Sequence[int], *stalls) -> Trace:
    return Trace.join(list(engine.run(Stimulus([(items, True)], *stalls))))


def draw(component: str, items: Sequence[int], *stalls) -> tuple[Diagram, Trace]:
    engine = ENGINES[component]
    trace = run(engine, items, *stalls)
    return Diagram(timing_diagram(trace, engine)), trace


def test_decoder_diagram():
    diagram, _trace = draw("decoder", b"\xe2\x82\xacA\xe0\x80")
    lanes = "clk i.valid i.ready i.data i.last state o.valid o.ready token o.length o.last"
    assert diagram.names == lanes.split()
    assert diagram.boxes("i.data") == [
        Box("E2", INPUT, 0, 2),  # nothing is accepted in the first cycle
        *(Box("82", INPUT, 2, 1), Box("AC", INPUT, 3, 1), Box("41 A", INPUT, 4, 1)),
        *(Box("E0", INPUT, 5, 1), Box("80", INPUT, 6, 1)),
    ]
    assert diagram.boxes("state") == [
        *(Box("START", STATE, 0, 6), Box("NEED_2", STATE, 6, 1), Box("NEED_1", STATE, 7, 1)),
        *(Box("START", STATE, 8, 2), Box("NEED_2", STATE, 10, 1), Box("START", STATE, 11, 11)),
    ]
    assert diagram.boxes("token") == [
        Box("U+20AC €", RESULT, 10, 1),
        Box("U+0041 A", RESULT, 11, 1),
        Box("overlong", ERROR, 12, 1),
        Box("unexpected-continuation", ERROR, 13, 1),
    ]
    assert diagram.labels("o.length") == ["3", "1", "1", "1"]


def test_encoder_diagram():
    diagram, _trace = draw("encoder", [0x20AC, 0xD800, 0x41])
    lanes = "clk i.valid i.ready i.code_point i.last state o.valid o.ready o.data o.error o.last"
    assert diagram.names == lanes.split()
    assert diagram.boxes("o.data") == [
        *(Box("E2", RESULT, 8, 1), Box("82", RESULT, 9, 1), Box("AC", RESULT, 10, 1)),
        *(Box("EF", ERROR, 11, 1), Box("BF", ERROR, 12, 1), Box("BD", ERROR, 13, 1)),
        Box("41 A", RESULT, 14, 1),
    ]


@pytest.mark.parametrize(
    ("component", "items"), [("decoder", b"A\xe2\x82\xac\xff" * 3), ("encoder", [0xE9, 0xD800] * 4)]
)
def test_one_bit_pins_are_masked_while_invalid(component, items):
    diagram, trace = draw(component, items, *STALLS["both slow"])
    pins = [name for name in diagram.names if re.match(r"[io]\.(valid|ready|last|error)", name)]
    assert len(pins) == 6 + (component == "encoder")
    for pin in pins:
        means = np.ones(len(trace)) if pin[2:] in ("valid", "ready") else trace[f"{pin[0]}.valid"]
        expected = np.where(means, trace[pin].astype(str), "x")
        assert diagram.levels(pin) == expected.tolist()


def test_stalled_item_is_one_box():
    pause = FixedStalls((False,) * 8 + (True, True))
    diagram, _trace = draw("decoder", b"A" * 11, FixedStalls(), pause)
    assert diagram.boxes("token") == [
        Box("U+0041 A", RESULT, 8, 3),
        *(Box("U+0041 A", RESULT, cycle, 1) for cycle in range(11, 21)),
    ]
    assert diagram.boxes("i.data") == [
        Box("41 A", INPUT, 0, 2),
        *(Box("41 A", INPUT, cycle, 1) for cycle in range(2, 10)),
        Box("41 A", INPUT, 10, 3),
        Box("41 A", INPUT, 13, 1),
    ]


def test_illegal_state_and_unstable_output():
    engine = ENGINES["decoder"]
    trace = run(engine, b"A", FixedStalls(), FixedStalls((False,) * 8 + (True, True)))
    trace["o.code_point"][9:11] ^= ord("A") ^ ord("B")
    trace["state"][:] = 99
    diagram = Diagram(timing_diagram(trace, engine))
    assert diagram.labels("state") == ["illegal 99"]
    assert diagram.boxes("token") == [Box("U+0041 A", RESULT, 8, 1), Box("U+0042 B", RESULT, 9, 2)]


def test_title_groups_and_cycle_numbers():
    engine = AmaranthEngine(Encoder(EXTENDED))
    trace = run(engine, [1 << 41])
    root = ElementTree.fromstring(timing_diagram(trace, engine, 1000))
    texts = [text_of(text) for text in root.iter(f"{SVG}text")]
    assert {*texts} >= {"utf8-hdl encoder, profile extended", "code points in", "bytes out"}
    numbers = [text for text in texts if re.fullmatch("1[0-9]{3}", text)]
    assert numbers == [str(number) for number in range(1000, 1000 + len(trace) + 1)]


def test_short_diagrams():
    engine = ENGINES["encoder"]
    for cycles in 0, 1, 2:
        trace = run(engine, b"A")[:cycles]
        diagram = Diagram(timing_diagram(trace, engine))
        assert diagram.levels("i.valid") == trace["i.valid"].astype(str).tolist()
        assert diagram.levels("o.valid") == trace["o.valid"].astype(str).tolist()


# Maximum width of a letter of 11 pixels; the average is about half of its height.
LETTER = 6.1


@pytest.mark.parametrize(
    ("items", "widest"),
    [(b"A\xc0A", 2), (b"A\x80A", 4)],
    ids=["overlong", "unexpected-continuation"],
)
def test_labels_fit_into_boxes(items, widest):
    diagram, _trace = draw("decoder", items)
    for box in diagram.boxes("token"):
        assert len(box.label) * LETTER < box.cycles * diagram.cycle_width
    assert diagram.cycle_width <= widest * COLUMN


HOSTILE = "<&>\"'\\ \0\x08\t\n\x1b\x7f\x85\xa0\xad"
HOSTILE += "\u0301\u05d0\u200f\u202e\u2028\ue000\ufeff\ufffe\uffff😀"


def test_hostile_code_points():
    diagram, _trace = draw("encoder", [*map(ord, HOSTILE), 0xDC00, 0x110000, 0xFFFFFFFF])
    assert diagram.labels("i.code_point") == [
        *("U+003C <", "U+0026 &", "U+003E >", 'U+0022 "', "U+0027 '", "U+005C \\", "U+0020"),
        *("U+0000", "U+0008", "U+0009", "U+000A", "U+001B", "U+007F", "U+0085", "U+00A0", "U+00AD"),
        *("U+0301 \u25cc\u0301", "U+05D0 א", "U+200F", "U+202E", "U+2028", "U+E000", "U+FEFF"),
        *("U+FFFE", "U+FFFF", "U+1F600 😀", "U+DC00", "U+110000", "U+FFFFFFFF"),
    ]


def test_diagram_is_self_contained():
    engine = ENGINES["decoder"]
    svg = timing_diagram(run(engine, b"\xe2\x82\xacA\xff<"), engine)
    assert svg.endswith("</svg>\n")
    assert set(re.findall(r'href="(.)', svg)) == {"#"}
    assert not re.search(r"url\(|@import|<script|<image", svg)


def test_without_wavedrom(monkeypatch):
    engine = ENGINES["decoder"]
    trace = run(engine, b"A")
    monkeypatch.setitem(sys.modules, "wavedrom", None)
    with pytest.raises(ToolError, match=r"^drawing needs wavedrom: "):
        timing_diagram(trace, engine)
