"""Splits the beats of a transcoder into units."""

from typing import Any

from amaranth.hdl import Array, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from utf8_hdl.layouts import TEXT_STATUS, beat_layout


class UnitSplitter(wiring.Component):
    """Splits beats into units.

    Parameters
    ----------
    lanes : int
        Bytes of an input beat.
    unit_bytes : int
        Bytes of a unit, low byte first.

    Members
    -------
    i : ``In(stream.Signature(beat_layout(lanes, user=TEXT_STATUS)))``
        Beats. A beat is accepted together with its last unit, or at once if it is empty.
    o : ``Out(stream.Signature(8 * unit_bytes))``
        The units, in order.
    """

    i: Any
    o: Any

    def __init__(self, lanes: int, unit_bytes: int) -> None:
        self.lanes, self.unit_bytes = lanes, unit_bytes
        super().__init__(
            {
                "i": In(stream.Signature(beat_layout(lanes, user=TEXT_STATUS))),
                "o": Out(stream.Signature(8 * unit_bytes)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        size, count = self.unit_bytes, self.lanes // self.unit_bytes
        place = Signal(range(count))
        data, kept = Value.cast(self.i.p.data), Value.cast(self.i.p.keep)[::size]
        is_unit = Signal()
        is_last = Signal()
        m.d.comb += [
            is_unit.eq(kept.bit_select(place, 1)),
            is_last.eq(Array([*~kept[1:], 1])[place]),
            self.o.valid.eq(self.i.valid & is_unit),
            self.o.payload.eq(data.word_select(place, 8 * size)),
            self.i.ready.eq(~is_unit | (self.o.ready & is_last)),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += place.eq(place + 1)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += place.eq(0)
        return m
