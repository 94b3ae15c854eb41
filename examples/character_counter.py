"""Counts the characters of a text in simulated hardware, as `wc -m` does in software.

python examples/character_counter.py 'any text'
python examples/character_counter.py < examples/stress.txt
"""

import os
import sys
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from utf8_hdl import BYTE_LAYOUT, Decoder

COUNTS = data.StructLayout({"characters": 32, "errors": 32})


class CharacterCounter(wiring.Component):
    """A decoder and two counters; one result for each text.

    Takes one byte a cycle. While a result waits to be taken, the decoder waits too.

    Members
    -------
    i : ``In(stream.Signature(BYTE_LAYOUT))``
        Bytes. ``last`` ends a text.
    o : ``Out(stream.Signature(COUNTS))``
        How many characters and how many errors the text had.
    """

    i: In(stream.Signature(BYTE_LAYOUT))
    o: Out(stream.Signature(COUNTS))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.decoder = decoder = Decoder()
        wiring.connect(m, wiring.flipped(self.i), decoder.i)

        token = decoder.o.p
        so_far = Signal(COUNTS)
        counts = Signal(COUNTS)  # with this token
        m.d.comb += [
            decoder.o.ready.eq(~self.o.valid | self.o.ready),
            counts.characters.eq(so_far.characters + ~token.error),
            counts.errors.eq(so_far.errors + token.error),
        ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(decoder.o.valid & decoder.o.ready):
            m.d.sync += so_far.eq(counts)
            with m.If(token.last):
                m.d.sync += [self.o.p.eq(counts), self.o.valid.eq(1), so_far.eq(0)]
        return m


def count(text: bytes) -> tuple[int, int]:
    """Characters and errors of a text of at least one byte, as the hardware counts them."""
    counter = CharacterCounter()
    counted = []

    async def send(ctx: Any) -> None:
        for index, byte in enumerate(text):
            ctx.set(counter.i.payload, {"data": byte, "last": index == len(text) - 1})
            ctx.set(counter.i.valid, 1)
            await ctx.tick().until(counter.i.ready)
        ctx.set(counter.i.valid, 0)

    async def receive(ctx: Any) -> None:
        ctx.set(counter.o.ready, 1)
        (counts,) = await ctx.tick().sample(counter.o.payload).until(counter.o.valid)
        counted.append((counts.characters, counts.errors))

    simulator = Simulator(counter)
    simulator.add_clock(1e-8)
    simulator.add_testbench(send)
    simulator.add_testbench(receive)
    simulator.run()
    return counted[0]


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(f"usage: {sys.argv[0]} ['any text'], or the text on standard input", file=sys.stderr)
        sys.exit(2)
    given = os.fsencode(sys.argv[1]) if len(sys.argv) > 1 else sys.stdin.buffer.read()
    characters, errors = count(given) if given else (0, 0)  # no byte could be the last one
    print(f"{characters} characters, {errors} errors")
