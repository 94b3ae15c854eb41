"""Draw the block diagrams of docs/figures: the stages are those of the headings in verilog/."""

import re
import sys
from collections.abc import Callable
from html import escape
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from utf8_hdl import CompactDecoder, CompactEncoder, Decoder, Encoder, Validator, WideDecoder
from utf8_sim.tools.files import open_output

VERILOG = Path(__file__).parents[1] / "verilog"

WIDTH = 380
"""Width of a drawing: that of a telephone, so that text is not scaled down there."""

LEFT, RIGHT = 24, 324
"""Ends of a box. To the right of it is room for two lines of control."""

MIDDLE = (LEFT + RIGHT) // 2

LINE, GAP, IN_LINE = 16, 18, 45
"""Height of a line of text, length of an arrow, and characters in a line of text."""

STYLE = """
svg { color: #1f2328; background: #fff; font: 12px system-ui, sans-serif; }
text { fill: currentColor; }
.title { font-size: 15px; font-weight: bold; }
.name { font-size: 13px; font-weight: bold; }
.box { fill: #ddf4ff; stroke: currentColor; }
.store { fill: #fff8c5; }
.part { fill: none; stroke: #656d76; stroke-dasharray: 4 3; }
.data { fill: none; stroke: currentColor; marker-end: url(#head); }
.control { fill: none; stroke: #cf222e; marker-end: url(#control); }
.note { fill: #cf222e; }
.head { fill: currentColor; }
@media (prefers-color-scheme: dark) {
  svg { color: #e6edf3; background: #121212; }
  .box { fill: #0c2d48; }
  .store { fill: #4a3b00; }
  .part { stroke: #9198a1; }
  .control { stroke: #ff8182; }
  .note { fill: #ff8182; }
}
"""


class Heading(NamedTuple):
    """The heading of a stage in the generated Verilog; ``part`` is its module."""

    part: str
    number: int
    name: str
    what: str


def headings(module: str) -> list[Heading]:
    """The stages of a file in ``verilog/``."""
    text, found, part = (VERILOG / f"{module}.v").read_text(encoding="utf-8"), [], ""
    for name, number, stage, what in re.findall(
        r"^module (\w+)|^  // Stage (\d+), (\w+): (.*)", text, re.M
    ):
        if name:
            part = name if name != module else ""
        else:
            found.append(Heading(part, int(number), stage, what))
    return found


class Drawing:
    """Boxes from top to bottom with arrows between them, and lines of control to the right."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.y = 30
        self._shapes = [f'<text class="title" x="{LEFT}" y="20">{escape(title)}</text>']

    def _text(self, x: int, y: int, text: str, kind: str = "") -> None:
        self._shapes.append(f'<text class="{kind}" x="{x}" y="{y}">{escape(text)}</text>')

    def _line(self, path: str, kind: str) -> None:
        self._shapes.append(f'<path class="{kind}" d="{path}"/>')

    def arrow(self, label: str = "", x: int = MIDDLE) -> None:
        """An arrow down to the next box, with a label to its left."""
        length = LINE + GAP if label else GAP
        self._line(f"M{x} {self.y} v{length - 6}", "data")
        if label:
            self._text(LEFT, self.y + LINE, label)
        self.y += length

    def output(self, label: str) -> None:
        """The label of the output, below the last arrow."""
        self._text(LEFT, self.y + LINE - 2, f"m_axis: {label}")
        self.y += LINE

    def box(self, name: str, what: str, kind: str = "", right: int = RIGHT) -> int:
        """A box with a name and a description; returns the height of its middle."""
        lines = wrap(what, IN_LINE * (right - LEFT) // (RIGHT - LEFT))
        height = LINE * len(lines) + 26
        self._shapes.append(
            f'<rect class="box {kind}" x="{LEFT}" y="{self.y}" width="{right - LEFT}" '
            f'height="{height}" rx="4"/>'
        )
        self._text(LEFT + 8, self.y + 17, name, "name")
        for number, line in enumerate(lines):
            self._text(LEFT + 8, self.y + 34 + LINE * number, line)
        self.y += height
        return self.y - height // 2

    def bypassed(self, name: str, what: str) -> None:
        """A narrow box, and an arrow past it to the next box."""
        top, right = self.y, 214
        self.box(name, what, "store", right)
        self._line(f"M{MIDDLE} {top - GAP} H270 V{self.y + GAP - 6}", "data")
        self.arrow(x=(LEFT + right) // 2)

    def stages(self, found: list[Heading]) -> dict[str, int]:
        """Boxes for stages, with a frame around each module; returns the middle of each box."""
        middles = {}
        for part, group in groupby(found, lambda heading: heading.part):
            top = self.y - 4
            if part:
                self._text(LEFT - 4, self.y + LINE - 4, f"module {part}")
                self.y += LINE + 4
            for heading in group:
                number = heading.number - found[0].number + 1
                title = f"{number}  {heading.name}"
                middles[heading.name] = self.box(title, heading.what)
                self.arrow()
            if part:
                size = f'width="{RIGHT - LEFT + 24}" height="{self.y - GAP + 6 - top}"'
                self._shapes.append(f'<rect class="part" x="{LEFT - 12}" y="{top}" {size} rx="6"/>')
                self.y += 12
        return middles

    def control(self, start: int, label: str, end: int = 38) -> None:
        """A line of control from one height up to another, by default to the input; its label."""
        x, to = 352, MIDDLE + 7 if end == 38 else RIGHT + 5
        self._line(f"M{RIGHT} {start} H{x} V{end} H{to}", "control")
        self._shapes.append(
            f'<text class="note" text-anchor="middle" transform="translate({x + 14} '
            f'{(start + end) // 2}) rotate(-90)">{escape(label)}</text>'
        )

    def svg(self) -> str:
        """The drawing as SVG."""
        heads = "".join(
            f'<marker id="{name}" viewBox="0 0 8 8" refX="2" refY="4" markerWidth="8" '
            f'markerHeight="8" orient="auto"><path class="{kind}" d="M0 0 L8 4 L0 8 z"/></marker>'
            for name, kind in (("head", "head"), ("control", "note"))
        )
        size = f'width="{WIDTH}" height="{self.y + 12}" viewBox="0 0 {WIDTH} {self.y + 12}"'
        start = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>'
        head = f"<title>{escape(self.title)}</title><style>{STYLE}</style><defs>{heads}</defs>"
        return "\n".join([start, head, *self._shapes, "</svg>"]) + "\n"


SKID = "an item that was accepted while stalled; then s_axis_tready is low"


def decoder() -> Drawing:
    """The decoder with one byte per cycle."""
    drawing = Drawing("decoder: a pipeline that stalls")
    drawing.arrow("s_axis: 1 byte")
    drawing.bypassed("skid register", SKID)
    first, *_, last = drawing.stages(headings("utf8_decoder")).values()
    drawing.control(last, "stalled, one cycle later: stages 1 to 6 hold", first)
    drawing.output(f"1 token; latency {Decoder.latency} cycles")
    return drawing


def encoder() -> Drawing:
    """The encoder with one byte per cycle."""
    drawing = Drawing("encoder: two clock enables")
    drawing.arrow("s_axis: 1 code point")
    middles = drawing.stages(headings("utf8_encoder"))
    drawing.control(middles["send"], "advance = s_axis_tready: stages 1 to 4")
    drawing.control(middles["deliver"], "stalled, one cycle later", middles["choose"])
    drawing.output(f"1 byte; latency {Encoder.latency} cycles")
    return drawing


READY = "tready, combinational"


def compact_decoder() -> Drawing:
    """The compact decoder."""
    drawing = Drawing("compact decoder: one register stage")
    drawing.arrow("s_axis: 1 byte")
    drawing.bypassed("before", "register: the byte before, and its error kind")
    drawing.box("state machine", "state: START, NEED_1 to NEED_3, HELD; the token, if one ends")
    drawing.arrow()
    out = drawing.box("output register", "the token at the output, or the sequence so far", "store")
    drawing.control(out, READY)
    drawing.arrow()
    drawing.output(f"1 token; latency {CompactDecoder.latency} cycle")
    return drawing


def compact_encoder() -> Drawing:
    """The compact encoder."""
    drawing = Drawing("compact encoder: one register stage")
    drawing.arrow("s_axis: 1 code point")
    drawing.bypassed("state, bits, last", "registers: the continuation bytes to be sent")
    out = drawing.box(
        "output register",
        "a lead byte directly from s_axis, a continuation byte from the registers",
        "store",
    )
    drawing.control(out, READY)
    drawing.arrow()
    drawing.output(f"1 byte; latency {CompactEncoder.latency} cycle")
    return drawing


def of_lanes(title: str, into: str, found: list[Heading], memory: str, out: str) -> Drawing:
    """A component with lanes: a pipeline that never stalls, a memory, and credit."""
    drawing = Drawing(title)
    drawing.arrow(f"s_axis: {into}")
    drawing.stages(found)
    middle = drawing.box("memory", memory, "store")
    drawing.control(middle, "credit: s_axis_tready is high if an entry is free")
    drawing.arrow()
    drawing.output(out)
    return drawing


ONE_BANK = "16 entries;"
TWO_BANKS = "two banks of 16 entries, for even and for odd beats; each lane writes its own values"


def wide_decoder() -> Drawing:
    """The decoder with lanes."""
    memory = f"{ONE_BANK} tokens from stage 7, last from stage 2"
    out = f"9 token slots; latency {WideDecoder.latency} cycles"
    return of_lanes("decoder, 8 lanes: credit", "8 bytes", headings("utf8_decoder_8"), memory, out)


def validator() -> Drawing:
    """The validator."""
    memory = f"{ONE_BANK} beats from stage 2, verdicts from stage 12"
    out = f"8 bytes, with tlast a verdict; latency {Validator.latency} cycles"
    return of_lanes(
        "validator, 8 lanes: credit", "8 bytes", headings("utf8_validator_8"), memory, out
    )


def transcoder() -> Drawing:
    """The transcoder from UTF-8 to UTF-16."""
    found = headings("utf8_transcoder_8")
    title = "transcoder, UTF-8 to UTF-16, 8 lanes"
    return of_lanes(title, "8 bytes", found, TWO_BANKS, "8 dense units")


def compactor() -> Drawing:
    """The compactor, whose stages are the last ones of a transcoder."""
    packing = [each for each in headings("utf8_transcoder_8") if each.part.endswith("packing")]
    found = [heading._replace(part="utf8_compactor_8_packing") for heading in packing]
    into, out = "8 sparse values", "8 dense values"
    return of_lanes("compactor, 8 lanes", into, found, TWO_BANKS, out)


def stalling() -> Drawing:
    """The flow control of one byte per cycle."""
    drawing = Drawing("A pipeline that stalls")
    drawing.arrow("s_axis")
    drawing.bypassed("skid register", SKID)
    top = drawing.box("stages 1 to N", "one clock enable for all; it is a register")
    drawing.arrow()
    out = drawing.box("output buffer", "two entries: one for the item that still moves", "store")
    drawing.control(out, "clock enable", top)
    drawing.arrow()
    drawing.output("latency N + 1 cycles")
    return drawing


def crediting() -> Drawing:
    """The flow control of components with lanes."""
    drawing = Drawing("A pipeline that never stalls, and credit")
    drawing.arrow("s_axis")
    drawing.box("stages 1 to S", "no clock enable: beats advance in every cycle")
    drawing.arrow()
    out = drawing.box("memory", "an entry for each beat outstanding; read asynchronously", "store")
    drawing.control(out, "credit: s_axis_tready")
    drawing.arrow()
    drawing.output("latency S + 1 cycles, S + 2 with two banks")
    return drawing


FIGURES: dict[str, Callable[[], Drawing]] = {
    "decoder-stages": decoder,
    "encoder-stages": encoder,
    "compact-decoder": compact_decoder,
    "compact-encoder": compact_encoder,
    "wide-decoder-stages": wide_decoder,
    "validator-stages": validator,
    "transcoder-stages": transcoder,
    "compactor-stages": compactor,
    "flow-control-stall": stalling,
    "flow-control-credit": crediting,
}


def main() -> None:
    """Write all figures into the folder that the argument names."""
    for name, draw in FIGURES.items():
        with open_output(str(Path(sys.argv[1], f"{name}.svg"))) as file:
            file.write(draw().svg())


if __name__ == "__main__":
    main()
