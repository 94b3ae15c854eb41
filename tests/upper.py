"""A toy component that the project does not know: ASCII upper-casing, with one register stage."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from amaranth.back import verilog
from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8_hdl import UNICODE, AxiStream, Profile
from utf8_sim.campaign import Coverage, Part
from utf8_sim.components import Component
from utf8_sim.components.component import Lane, Levels
from utf8_sim.golden.model import Outputs, one_for_one
from utf8_sim.golden.timing import Compact
from utf8_sim.stimulus import Piece
from utf8_sim.trace import Columns, Interface

LAYOUT = data.StructLayout({"data": 8, "last": 1})


class Upper(wiring.Component):
    """Bytes in, bytes out, with ``a`` to ``z`` as ``A`` to ``Z``.

    Parameters
    ----------
    profile : Profile
        Changes nothing.
    flaw : str
        The letter that stays as it is.
    """

    i: In(stream.Signature(LAYOUT))
    o: Out(stream.Signature(LAYOUT))

    def __init__(self, profile: Profile = UNICODE, flaw: str = "") -> None:
        super().__init__()
        self.profile = profile
        self._flaw = flaw

    def elaborate(self, platform: Any) -> Module:
        m, i, o = Module(), self.i, self.o
        letter = (i.p.data >= ord("a")) & (i.p.data <= ord("z"))
        if self._flaw:
            letter &= i.p.data != ord(self._flaw)
        m.d.comb += i.ready.eq(~o.valid | o.ready)
        with m.If(i.ready):
            m.d.sync += [o.valid.eq(i.valid), o.p.eq(i.p)]
            with m.If(letter):
                m.d.sync += o.p.data.eq(i.p.data - 0x20)
        return m


class UpperModel:
    """The golden model."""

    def feed(self, items: Columns, begins: np.ndarray) -> Outputs:
        upper = np.frombuffer(items["i.data"].tobytes().upper(), np.uint8)
        return one_for_one({"o.data": upper, "o.last": items["i.last"]})


def campaign(design: Any, seed: int) -> list[Part]:
    random = np.random.default_rng(seed).bytes(500)
    return [Part.of("every byte", [bytes(range(256))]), Part.of("random bytes", [random])]


UPPER = Component(
    name="upper",
    make=Upper,
    model=lambda design: UpperModel(),
    timing=lambda design: Compact(spare=0),
    campaign=campaign,
    coverage=lambda engine: Coverage(engine, [range(0x61), range(0x61, 0x7B), range(0x7B, 0x100)]),
    item="byte",
    result="byte",
    show_item=lambda item: f"{item['i.data']:02X}",
    show_result=lambda output: f"{output['o.data']:02X}",
    lanes=(Lane("o.data", lambda output: f"{output['o.data']:02X}"),),
)


LANE = data.StructLayout({"data": 8, "keep": 1})
BEAT = data.StructLayout({"lanes": data.ArrayLayout(LANE, 4), "stamp": 100, "last": 1})
"""Four lanes, and a number too wide for numpy."""


class Beats(wiring.Component):
    """A register stage for beats, of which the first lane is put last.

    Parameters
    ----------
    profile : Profile
        Changes nothing.
    flaw : str
        The letter that becomes another one in the third lane.
    holds : bool
        Whether a beat stays at the output until it is taken.
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
    """The golden model of it."""

    def feed(self, items: Columns, begins: np.ndarray) -> Outputs:
        columns = {name.replace("i.", "o."): column for name, column in items.items()}
        for name in "o.data", "o.keep":
            columns[name] = np.roll(columns[name], -1, axis=1)
        return one_for_one(columns)


def beats_of(pieces: Iterable[Piece], interface: Interface) -> Iterator[Columns]:
    """Whole texts as beats, of which only the last one may have fewer than four bytes."""
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


BEATS = replace(
    UPPER,
    name="beats",
    make=Beats,
    model=lambda design: BeatsModel(),
    pack=beats_of,
    kept=lambda items: items["i.keep"] != 0,
    item="beat",
    result="beat",
    show_item=lambda beat: shown_lanes(beat, "i"),
    show_result=lambda beat: shown_lanes(beat, "o"),
    lanes=(Lane("o.data", lambda beat: shown_lanes(beat, "o")),),
)


def verilog_of(design: Any) -> str:
    """A module with AXI4-Stream ports."""
    axi = AxiStream(design)
    return verilog.convert(axi, name=f"utf8_{axi.name}", ports=axi.ports, emit_src=False)
