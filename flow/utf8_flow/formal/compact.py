"""What is proved of the compact decoder, whose timing is other than that of the pipelined one."""

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value

from utf8_hdl import Kind, token_layout

from .bench import Bench, accepts, output_of, waits
from .specification import DecoderSpecification, is_continuation


class ExpectedCompactTokens(Elaboratable):
    """What the specification and the documented timing say of a compact decoder's pins.

    The output register takes a token in every cycle in which the output does not wait: the one that
    is queued, or else the first of those that the specification has for the byte that is accepted.
    If there is one more, it is queued.

    Parameters
    ----------
    b : Bench
        Where.
    decoder : CompactDecoder
        Whose pins.
    heeds : Value or None
        From which byte on anything is known, for a decoder whose registers may hold anything. None
        for one that begins in its initial state. Of the former its state says whether something
        comes out before the first token that is known, which its pins do not show.

    Attributes
    ----------
    specification : DecoderSpecification
        What takes the bytes.
    known : Signal
        Whether ``valid`` and ``token`` are known.
    valid, token : Signal
        What must be at the output.
    queued : Signal
        A token waits behind it.
    wrong : Value
        The pins are something else.
    """

    def __init__(self, b: Bench, decoder: Any, heeds: Value | None = None) -> None:
        self._decoder = decoder
        self._heeds = Value.cast(1) if heeds is None else heeds
        self._follows = Signal(init=heeds is None)  # a byte that is known
        self.known = Signal(init=heeds is None)
        self.specification = DecoderSpecification(b.profile)
        self.valid, self.queued = Signal(), Signal()
        self.token: Any = Signal(token_layout(b.profile))
        o = decoder.o
        self.wrong = decoder.i.ready != (~o.valid | o.ready)
        self.wrong |= self.known & (o.valid != self.valid)
        self.wrong |= self.known & self.valid & (output_of(decoder) != Value.cast(self.token))
        b.m.submodules += self

    def elaborate(self, platform: Any) -> Module:
        m, decoder, queued = Module(), self._decoder, self.queued
        m.submodules.specification = specification = self.specification
        heeded = accepts(decoder) & self._heeds
        m.d.comb += [
            specification.accept.eq(heeded),
            specification.byte.eq(decoder.i.p.data),
            specification.last.eq(decoder.i.p.last),
        ]
        # Bytes before the first one that is known have a token in front of it, except in START.
        # What is above HELD has no name and is like HELD.
        state = Value.cast(decoder.state)
        needs = [state.value for state in decoder.State if state.name.startswith("NEED")]
        behind = ~self._follows & (state.matches(*needs) | (state >= decoder.State.HELD))
        queued_token: Any = Signal.like(self.token)
        own, cut = specification.ends, specification.cuts
        first = Mux(cut, specification.cut, specification.end)
        with m.If(~waits(decoder)):
            m.d.sync += [
                self._follows.eq(self._follows | heeded),
                self.known.eq(self._follows | (heeded & ~behind)),
                self.valid.eq(queued | cut | own),
                self.token.eq(Mux(queued, queued_token, first)),
                queued.eq(own & (queued | cut | behind)),
                queued_token.eq(specification.end),
            ]
        return m


def tokens(b: Bench, name: str) -> None:
    """The tokens are those of the specification: value, error, kind, length and `last`, none
    missing, none more, for all bytes and all stalls; each pin in each cycle as the documented
    timing has it."""
    decoder = b.design(name)
    expected = ExpectedCompactTokens(b, decoder)
    b.never(expected.wrong)
    b.reaches("a token that waits", waits(decoder) & expected.valid)
    b.reaches("a byte that is held, and another", expected.queued & accepts(decoder))


def line_rate(b: Bench, name: str) -> None:
    """While the consumer is ready the decoder takes a byte in every cycle."""
    decoder = b.design(name)
    b.never(decoder.o.ready & ~decoder.i.ready)
    b.reaches("a byte that cannot be taken", decoder.i.valid & ~decoder.i.ready)


def latency(b: Bench, name: str) -> None:
    """A token is at the output 1 cycle after the byte that decides it, its last one or the one that
    cuts it; the own token of a byte that cuts, right behind that."""
    decoder = b.design(name)
    expected = ExpectedCompactTokens(b, decoder)
    specification = expected.specification
    b.never(decoder.o.valid != expected.valid)
    decided = b.before(accepts(decoder) & (specification.ends | specification.cuts))
    b.never(decided & ~decoder.o.valid)
    b.reaches("a character in 1", decided & decoder.o.valid & ~decoder.o.p.error)
    b.reaches("a token cut short in 1", decided & (decoder.o.p.kind == Kind.TRUNCATED))


def self_synchronisation(b: Bench, name: str) -> None:
    """Whatever the registers held: once one byte fewer than the longest form has, or a byte outside
    80..BF, are accepted, the following tokens are right (from that byte on, if there is one)."""
    decoder, m = b.design(name, any_start=True), b.m
    begins = accepts(decoder) & ~is_continuation(decoder.i.p.data)
    bytes_seen, right = Signal(3), Signal()
    with m.If(accepts(decoder)):
        m.d.sync += bytes_seen.eq(bytes_seen + 1)
        with m.If(begins | (bytes_seen + 1 == b.profile.longest_form - 1)):
            m.d.sync += right.eq(1)
    expected = ExpectedCompactTokens(b, decoder, heeds=right | begins)
    b.never(right & expected.wrong)
    b.reaches("a token", right & expected.known & expected.valid)
