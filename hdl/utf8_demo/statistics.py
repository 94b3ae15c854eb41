"""Counters of received bytes, characters and errors, kept as decimal digits in a memory."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from utf8_hdl.layouts import ErrorKind

COUNTS = (
    "bytes",
    "characters",
    *(f"error {kind.label}" for kind in ErrorKind if kind is not ErrorKind.NONE),
    "overruns",
    "framing-errors",
)
"""Names of the counters in the report; an index in this list is the number of a counter."""

BYTES, CHARACTERS, OVERRUNS, FRAMING_ERRORS = (
    COUNTS.index(name) for name in ("bytes", "characters", "overruns", "framing-errors")
)
"""Numbers of counters. The counter of an error kind is ``CHARACTERS`` plus the code of the kind."""

DIGITS = 16
"""Decimal digits of a counter: enough for 900 years at the highest rate of the boards."""

PLACE_LAYOUT = data.StructLayout({"digit": bits_for(DIGITS - 1), "count": bits_for(len(COUNTS))})
"""Address of a digit: digit 0 is the lowest digit of its counter."""


class Statistics(wiring.Component):
    """Decimal counters, so that the report needs no conversion.

    An increment takes two cycles, and one more for each carry. A reset does not clear the counters:
    they count from the configuration of the FPGA on.

    Members
    -------
    i : ``In(stream.Signature(4))``
        Number of the counter to increment.
    place : ``In(PLACE_LAYOUT)``
        Read address. It is used in a cycle in which ``i.ready`` is high and ``i.valid`` low.
    digit : ``Out(4)``
        The digit at the read address of the previous cycle.
    """

    i: In(stream.Signature(PLACE_LAYOUT["count"].width))
    place: In(PLACE_LAYOUT)
    digit: Out(4)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        depth = 1 << PLACE_LAYOUT.size
        m.submodules.memory = memory = Memory(shape=4, depth=depth, init=[])
        read, write = memory.read_port(), memory.write_port()
        now = Signal(PLACE_LAYOUT)
        following = Signal(PLACE_LAYOUT)
        carries = read.data == 9
        m.d.comb += [
            read.addr.eq(following),
            write.addr.eq(now),
            write.data.eq(Mux(carries, 0, read.data + 1)),
            self.digit.eq(read.data),
        ]
        m.d.sync += now.eq(following)
        with m.FSM():
            with m.State("REST"):
                m.d.comb += self.i.ready.eq(1)
                m.d.comb += following.eq(self.place)
                with m.If(self.i.valid):
                    m.d.comb += [following.count.eq(self.i.payload), following.digit.eq(0)]
                    m.next = "COUNT"
            with m.State("COUNT"):
                m.d.comb += write.en.eq(1)
                m.d.comb += [following.count.eq(now.count), following.digit.eq(now.digit + 1)]
                with m.If(~carries | now.digit.all()):
                    m.next = "REST"
        return m
