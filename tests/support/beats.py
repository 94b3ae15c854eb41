"""A toy component with features that the project lacks: four lanes, a field too wide for numpy."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8_hdl import UNICODE, Profile
from utf8_sim.campaign import Part
from utf8_sim.components import Component, register
from utf8_sim.components.component import Levels
from utf8_sim.coverage import Coverage
from utf8_sim.golden.model import Outputs, one_for_one
from utf8_sim.golden.timing import Compact
from utf8_sim.stimulus import Piece
from utf8_sim.trace import Columns, Interface

LANE = data.StructLayout({"data": 8, "keep": 1})
BEAT = data.StructLayout({"lanes": data.ArrayLayout(LANE, 4), "stamp": 100, "last": 1})
"""Four lanes, and a number too wide for numpy."""


class Beats(wiring.Component):
    """A register stage that rotates the lanes of a beat.

    ``flaw`` is a letter that is replaced by another one in the third lane. If ``holds`` is false, a
    stalled beat is lost.
    """

    i: In(stream.Signature(BEAT))
    o: Out(stream.Signature(BEAT))

    def __init__(self, profile: Profile = UNICODE, flaw: str = "", holds: bool = True) -> None:
        super().__init__()
        self.profile = profile
        self._flaw = flaw
        self._holds = holds

    def elaborate(self, platform: Any) -> Module:
        m, i, o = Module(), self.i, self.o
        m.d.comb += i.ready.eq(~o.valid | o.ready if self._holds else 1)
        with m.If(i.ready):
            m.d.sync += [o.valid.eq(i.valid), o.p.eq(i.p)]
            m.d.sync += o.p.lanes.eq(i.p.lanes.as_value().rotate_right(LANE.size))
            if self._flaw:
                with m.If(i.p.lanes[2].data == ord(self._flaw)):
                    m.d.sync += o.p.lanes[1].data[0].eq(~i.p.lanes[2].data[0])
        return m


class BeatsModel:
    def feed(self, items: Columns, begins: np.ndarray) -> Outputs:
        columns = {name.replace("i.", "o."): column for name, column in items.items()}
        for name in "o.data", "o.keep":
            columns[name] = np.roll(columns[name], -1, axis=1)
        return one_for_one(columns)


def beats_of(pieces: Iterable[Piece], interface: Interface) -> Iterator[Columns]:
    """The beats of texts; only the last one may have fewer than four bytes."""
    for piece in pieces:
        if isinstance(piece, dict):
            yield piece
            continue
        text = bytes(piece[0])
        rows = max(1, -(-len(text) // 4))
        yield {
            "i.data": np.frombuffer(text.ljust(4 * rows, b"?"), np.uint8).reshape(rows, 4),
            "i.keep": (np.arange(4 * rows) < len(text)).astype(np.uint8).reshape(rows, 4),
            "i.stamp": np.full((rows, 2), len(text), np.uint64),
            "i.last": (np.arange(rows) == rows - 1).astype(np.uint8),
        }


def shown_lanes(beat: Levels, side: str) -> str:
    lanes = zip(beat[f"{side}.data"], beat[f"{side}.keep"], strict=True)
    return " ".join(f"{byte:02X}" if keep else "--" for byte, keep in lanes)


class BeatsComponent(Component):
    name = "beats"
    make = Beats
    item = result = "beat"
    value = "byte"
    pack = staticmethod(beats_of)

    def model(self, design: Any) -> BeatsModel:
        return BeatsModel()

    def timing(self, design: Any) -> Compact:
        return Compact(spare=0)

    def campaign(self, design: Any, seed: int) -> list[Part]:
        return [Part.of("every byte", [bytes(range(256))])]

    def coverage(self, engine: Any) -> Coverage:
        return Coverage(engine, [range(0x61), range(0x61, 0x7B), range(0x7B, 0x100)])

    def values(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        is_kept = items["i.keep"] != 0
        return items["i.data"][is_kept], is_kept.sum(axis=1)

    def show_item(self, beat: Levels) -> str:
        return shown_lanes(beat, "i")

    def show_result(self, beat: Levels) -> str:
        return shown_lanes(beat, "o")


BEATS = register(BeatsComponent())
