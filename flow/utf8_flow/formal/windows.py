"""A decoder's tokens as functions of windows of bytes, for the proofs.

A sequence has at most ``longest_form`` bytes, and begins with a byte that continues no sequence. So
the token that ends with a byte depends on that byte, on the ``longest_form - 1`` bytes before it,
and on the byte after it, which may cut the token. A component with lanes has such a window for each
lane. A lemma proves that the windows equal the decoder's specification.

A *place* holds a byte or none: a lane without ``keep`` has no byte, and no byte follows the end of
a text. The specifications of decoder and validator with lanes consist only of windows.
"""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from utf8_hdl import ErrorKind, Profile
from utf8_hdl.layouts import beat_layout, slots_layout

from .specification import announced, is_continuation, may_follow, reason, tell_token

PLACE = data.StructLayout({"byte": 8, "there": 1})
"""A byte of a stream, and a flag that it is present."""

BEGIN = signed(9)
"""The lane in which a token begins; negative for an earlier beat."""


class Window:
    """The token that ends with a byte.

    - ``places``: the byte and the ``longest_form - 1`` bytes before it, in order.
    - ``behind``: the byte after it.
    - ``complete``: true if a character or an error ends with the byte, whatever byte follows.
    - ``cut``: true if a sequence ends with the byte because no byte follows that continues it.
    - ``token``: the token in both cases, else zero. It has the fields of a slot.
    """

    def __init__(self, m: Module, profile: Profile, places: list[Any], behind: Any) -> None:
        self.complete, self.cut = Signal(), Signal()
        self.token: Any = Signal(slot_layout(profile))
        inside = Module()
        m.submodules += inside
        self._describe(inside, profile, places, behind)

    def _describe(self, m: Module, profile: Profile, places: list[Any], behind: Any) -> None:
        # The sequence: the byte alone, or with the bytes before it, back to its lead byte.
        length, most = Signal(4), Signal(4)
        sequence = [Signal(8, name=f"byte_{n}") for n in range(len(places))]
        m.d.comb += [length.eq(1), sequence[0].eq(places[-1].byte)]
        for count in range(2, len(places) + 1):
            first, *others = places[-count:]
            continue_it = Cat(is_continuation(place.byte) for place in others).all()
            are_there = Cat(place.there for place in places[-count:]).all()
            begins = may_follow(profile, first.byte, others[0].byte)
            joined = are_there & continue_it & begins & (announced(profile, first.byte) >= count)
            with m.If(joined):
                m.d.comb += length.eq(count)
                m.d.comb += [
                    byte.eq(place.byte)
                    for byte, place in zip(sequence, places[-count:], strict=False)
                ]

        # True if the next byte continues the sequence.
        goes_on = Mux(
            length == 1,
            may_follow(profile, sequence[0], behind.byte),
            is_continuation(behind.byte),
        )
        there = places[-1].there
        m.d.comb += [
            most.eq(announced(profile, sequence[0])),
            self.complete.eq(there & (length == most)),
            self.cut.eq(there & (length != most) & ~(behind.there & goes_on)),
        ]

        # The token.
        second = Mux(length > 1, sequence[1], Mux(behind.there, behind.byte, 0))
        wrong = reason(profile, sequence[0], second)
        with m.If(self.complete | self.cut):
            tell_token(m, profile, self.token, sequence, length, wrong, self.complete)


class SlotsSpecification:
    """The slots of a beat, in the cycle in which it is accepted.

    - ``accept``, ``item``: to be driven: a beat is accepted in this cycle, and the beat.
    - ``slots``: the token of each slot.
    - ``cuts``, ``ends``, ``results``: as in :mod:`.timing`. Each beat has one result.
    """

    def __init__(self, m: Module, profile: Profile, lanes: int) -> None:
        self.i_layout, self.o_layout = beat_layout(lanes), slots_layout(profile, lanes)
        self.accept, self.item = Signal(), Signal(self.i_layout.size)
        beat: Any = data.View(self.i_layout, self.item)
        longest = profile.longest_form
        before: list[Any] = [Signal(PLACE, name=f"before_{n}") for n in range(longest)]
        lane: list[Any] = [Signal(PLACE, name=f"lane_{n}") for n in range(lanes)]
        m.d.comb += [place.eq(Cat(beat.data[n], beat.keep[n])) for n, place in enumerate(lane)]
        with m.If(self.accept):
            for place, later in zip(before, [*before, *lane][lanes:], strict=False):
                m.d.sync += [place.byte.eq(later.byte), place.there.eq(later.there & ~beat.last)]

        places = [*before, *lane, Signal(PLACE, name="none")]
        windows = [
            Window(m, profile, places[n : n + longest], places[n + longest])
            for n in range(lanes + 1)
        ]
        # A token that ends with a beat is in slot 0 of the next beat if that cuts it.
        first, *others, last = windows
        given = [first.cut, *(Const(1) for _ in others), last.complete | beat.last]
        self.slots = [
            data.View(window.token.shape(), Mux(gives, window.token, 0))
            for gives, window in zip(given, windows, strict=True)
        ]
        self.cuts, self.ends = Const(0), self.accept
        self.results = (Cat(*map(Value.cast, self.slots), beat.last),) * 2


def slot_layout(profile: Profile) -> Any:
    """The layout of a slot."""
    return slots_layout(profile, 2)["slots"].shape.elem_shape


class FirstErrorSpecification(SlotsSpecification):
    """The first error of a beat, in the cycle in which it is accepted.

    - ``wrong``, ``kind``, ``begin``: true if a token of the beat is an error; the kind of the first
      error; and the lane in which it begins, negative for an earlier beat.
    """

    def __init__(self, m: Module, profile: Profile, lanes: int) -> None:
        super().__init__(m, profile, lanes)
        self.wrong, self.kind = Signal(), Signal(ErrorKind)
        self.begin = Signal(BEGIN)
        for slot, token in reversed(list(enumerate(self.slots))):
            with m.If(token.error):
                m.d.comb += [
                    self.wrong.eq(1),
                    self.kind.eq(token.kind),
                    self.begin.eq(slot - token.length),
                ]


UNIT = 8
"""Lanes of a unit. No token is longer, so it begins in the unit of its end or the unit before."""


class Judgement:
    """The verdict with each beat, computed from the first errors of all beats.

    The lanes of a text are counted in units of eight lanes, or of a beat if that has more: with a
    count of single lanes, the prover finds no relation to the counters of a design.

    - ``accept``, ``last``, ``wrong``, ``kind``, ``begin``: to be driven: a beat is accepted in this
      cycle, it is the last one of its text, and its first error.
    - ``impossible``: true if the error would begin before the text.
    - ``verdict``: error flag, kind and offset; zero except with the last beat of a text that has an
      error.
    - ``lanes``, ``offset_width``: as in the design.
    - ``lane_bits``: low bits of an offset that are zero: a lane has ``1 << lane_bits`` bytes.
    """

    def __init__(self, m: Module, lanes: int, offset_width: int, lane_bits: int = 0) -> None:
        self.accept, self.last, self.wrong = Signal(), Signal(), Signal()
        self.kind, self.begin = Signal(ErrorKind), Signal(BEGIN)
        beats = max(1, UNIT // lanes)  # in a unit
        in_unit = (beats * lanes).bit_length() - 1
        # Of the previous beat: its index in its unit, that unit, and the unit before that.
        begins, phase = Signal(init=1), Signal(range(beats))
        unit, previous = (
            Signal(offset_width + 1 - lane_bits - in_unit, name=name)
            for name in ("unit", "previous")
        )

        # Of this beat. Counting stops when all offsets saturate.
        over = phase == beats - 1
        phase_now, unit_now, previous_now = Signal.like(phase), Signal.like(unit), Signal.like(unit)
        with m.If(~begins):
            m.d.comb += [
                phase_now.eq(phase + 1),
                unit_now.eq(unit + (over & ~unit[-1])),
                previous_now.eq(Mux(over, unit, previous)),
            ]
        place = Signal(BEGIN)
        m.d.comb += place.eq(phase_now * lanes + self.begin)
        in_previous = place < 0
        self.impossible = self.accept & self.wrong & in_previous & (unit_now == 0)
        offset = Cat(place[:in_unit], Mux(in_previous, previous_now, unit_now))
        offset = Cat(Const(0, lane_bits), offset)
        offset = Mux(offset[-1], (1 << offset_width) - 1, offset[:-1])

        own, seen = Cat(self.kind, offset), Signal()
        first = Signal.like(own)
        seen_now = seen & ~begins
        with m.If(self.accept):
            m.d.sync += [
                begins.eq(self.last),
                phase.eq(phase_now),
                unit.eq(unit_now),
                previous.eq(previous_now),
                seen.eq(seen_now | self.wrong),
            ]
            with m.If(~seen_now):
                m.d.sync += first.eq(own)
        verdict = Cat(Const(1, 1), Mux(seen_now, first, own))
        self.verdict = Mux(self.last & (seen_now | self.wrong), verdict, 0)
