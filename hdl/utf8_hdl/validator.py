"""The validator: beats of bytes pass through, and their texts are judged."""

from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .credit import Credit, Step
from .gates import select
from .lanes import Lanes
from .layouts import OFFSET_WIDTH, Kind, beat_layout, checked_lanes, verdict_layout
from .profile import UNICODE, Profile

VERDICT_WIDTH = 1 + Shape.cast(Kind).width + OFFSET_WIDTH
"""Bits of what a validator adds to a beat: ``error``, ``kind`` and ``offset``, lowest first."""

SEARCHES = 3
"""Stages in which the first error of a beat is found."""


class Candidate(NamedTuple):
    """What may be the first error of a beat: whether there is one, its lane, and all else."""

    error: Value
    lane: Value
    rest: Value


class Validator(wiring.Component):
    """Says with the last beat of a text whether the text is well-formed UTF-8.

    The logic of :class:`~utf8_hdl.lanes.Lanes`, and behind that six stages more: three that *search*
    for the first error of the beat, *locate* where in the beat it begins, *count* the bytes of the
    text before it, and *judge* the text: its first error. With the flow control of
    :mod:`utf8_hdl.credit` the latency is 14 cycles, for any number of lanes.

    What it promises:

    1. Line rate: with a ready consumer, one beat in every cycle on any input.
    2. Latency: a beat is at the output 14 cycles after it was accepted. Cycles in which the output
       waits are not counted.
    3. Beats come out as they went in. With ``last``, ``error`` says that the text is not
       well-formed, ``kind`` and ``offset`` are those of the first error token that a decoder gives.
       Without ``last``, and of a text that is well-formed, they are zero.
    4. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle. While ``o.valid`` is low the payload is a don't
       care.
    5. A lane without ``keep`` has no byte. Where that breaks the rules of the input, in front of a
       byte of the same text, it ends the sequence before it, as the end of a text does; the offset
       counts it.
    6. Self-synchronisation: from any register contents, once the beats that are in it are out and a
       beat with ``last`` was accepted, later texts are judged right.

    Parameters
    ----------
    profile : Profile
        Which UTF-8 is spoken.
    lanes : int
        How many bytes a beat may have: a power of two up to 128.

    Raises
    ------
    ValueError
        If there is none with so many lanes.

    Attributes
    ----------
    profile, lanes
        As given.
    arrives, arriving : Signal
        Whether there is a beat in the last stage, and what is known of its text, for proofs.
    located : View
        Of the beat two stages before, for proofs: whether it is ``wrong``, and then the ``kind`` of
        its first error and the lane in which that begins.

    Members
    -------
    i : ``In(stream.Signature(beat_layout(lanes)))``
        Beats.
    o : ``Out(stream.Signature(verdict_layout(lanes)))``
        The same beats, and what is known of their texts.
    """

    i: Any
    o: Any

    def __init__(self, profile: Profile = UNICODE, lanes: int = 8) -> None:
        self.profile = profile
        self.lanes = checked_lanes(lanes)
        super().__init__(
            {
                "i": In(stream.Signature(beat_layout(lanes))),
                "o": Out(stream.Signature(verdict_layout(lanes))),
            }
        )
        self.arrives, self.arriving = Signal(), Signal(VERDICT_WIDTH)
        self.located = Signal(data.StructLayout({"wrong": 1, "kind": Kind, "begin": signed(9)}))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        credit = Credit(m, self.i, self.o)
        lanes = Lanes(credit, self.i, self.profile)
        located = self._locate(credit, self._search(credit, lanes.last))
        judged = self._judge(credit, self._count(credit, located))
        payload = Cat(
            credit.store(lanes.first, lanes.first["beat"]), credit.store(judged, judged["verdict"])
        )
        m.d.comb += [
            Value.cast(self.o.p).eq(payload),
            self.arrives.eq(judged.valid),
            self.arriving.eq(judged["verdict"]),
            self.located.wrong.eq(located["wrong"]),
            self.located.kind.eq(located["kind"]),
            self.located.begin.eq(located["begin"].as_signed()),
        ]
        credit.finish()
        return m

    def _search(self, credit: Credit, step: Step) -> Step:
        """Stages 7 to 9: the first error in the lanes, among ever fewer candidates."""
        rest = [step[name] for name in self._rest]
        found = [
            Candidate(step["error"][slot], Const(0, 0), Cat(bits[slot] for bits in rest))
            for slot in range(1, self.lanes + 1)
        ]
        levels = self.lanes.bit_length() - 1
        for number in range(SEARCHES):
            step = credit.step(f"search_{number}", "the first error of more lanes")
            for _ in range(number, levels, SEARCHES):
                found = [_first(*pair) for pair in zip(found[::2], found[1::2], strict=True)]
            parts = zip(*found, strict=True)
            kept = [step.keep(name, Cat(part)) for name, part in zip(_PARTS, parts, strict=True)]
            found = [
                Candidate(*(_part(whole, n, len(found)) for whole in kept))
                for n in range(len(found))
            ]
        return step

    @property
    def _rest(self) -> list[str]:
        """What is known of an error, beside where it is: its kind, and how many bytes it has."""
        more = (self.profile.longest_form - 1).bit_length()
        kind = [f"error_kind_{bit}" for bit in range(3)]
        return [*kind, *(f"more_{bit}" for bit in range(more))]

    def _locate(self, credit: Credit, found: Step) -> Step:
        """Stage 10: where the first error begins, as a lane; before lane 0, if it is negative.

        What the beat before left unfinished comes before what is in the lanes.
        """
        locate = credit.step("locate", "where the beat's first error begins")
        unfinished = found["error"][0]
        rest = Mux(unfinished, Cat(found[name][0] for name in self._rest), found["found_rest"])
        lane = Mux(unfinished, Const(-1), Cat(found["found_lane"], Const(0, 1)).as_signed())
        locate.keep("begin", lane - rest[3:])
        locate.keep("kind", rest[:3])
        locate.keep("wrong", found.valid & (unfinished | found["found_error"]))
        return locate

    def _count(self, credit: Credit, located: Step) -> Step:
        """Stage 11: where it begins in the text."""
        count = credit.step("count", "how many bytes of the text come before the error")
        # Two bits more: it may go on beyond the highest offset, and what is counted before that
        # may be reported behind it.
        passed = count.register("passed", OFFSET_WIDTH + 2)
        last, beyond = located["last"], passed[-1]
        with count.m.If(located.valid):
            with count.m.If(last):
                count.m.d.sync += passed.eq(0)
            with count.m.Elif(~beyond):
                count.m.d.sync += passed.eq(passed + self.lanes)
        offset = (passed + located["begin"].as_signed())[: len(passed)]
        count.keep("offset", offset[:OFFSET_WIDTH])
        count.keep("too_high", offset[OFFSET_WIDTH:].any())
        return count

    def _judge(self, credit: Credit, counted: Step) -> Step:
        """Stage 12: what is wrong with the text, at its end."""
        judge = credit.step("judge", "the first error of the text")
        m, wrong, last = judge.m, counted["wrong"], counted["last"]
        highest = counted["too_high"].replicate(OFFSET_WIDTH)
        error = Cat(counted["kind"], counted["offset"] | highest)
        first = judge.register("first", len(error), reset_less=True)
        seen = judge.register("seen")
        with m.If(~seen):  # with anything, until an error comes
            m.d.sync += first.eq(error)
        with m.If(counted.valid):
            m.d.sync += seen.eq(~last & (seen | wrong))
        verdict = Cat(Const(1, 1), Mux(seen, first, error))
        judge.keep("verdict", Mux(last & (seen | wrong), verdict, 0))
        return judge


_PARTS = "found_error", "found_lane", "found_rest"


def _part(whole: Value, number: int, parts: int) -> Value:
    """One of some equal parts of a vector."""
    width = len(whole) // parts
    return whole[number * width : (number + 1) * width]


def _first(one: Candidate, other: Candidate) -> Candidate:
    """The first error among the lanes of two candidates."""
    lane = Cat(select(one.error, one.lane, other.lane), ~one.error)
    return Candidate(one.error | other.error, lane, select(one.error, one.rest, other.rest))
