"""The validator: beats of bytes pass through, and their texts are judged."""

from types import SimpleNamespace
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from .. import rules
from ..byte_class import ByteClasses
from ..checks import DEFAULT_LANES, checked_lanes
from ..design import Design
from ..flow_control.credit import Credit
from ..flow_control.stage import Stage
from ..layouts import OFFSET_WIDTH, Kind, beat_layout, verdict_layout
from ..logic import any_of, minus, saturating_counter, select, up
from ..profile import UNICODE, ErrorSpan, Profile, checked_profile
from .detection import SequenceDetector, bit_of_count

UNIT_BITS = 3
"""A text is counted in units of eight bytes, or of a beat, if that has more.

So an error that is found in a unit begins in it, or in the one before.
"""

STAGES_OF_SEARCH = 9
"""The last of the stages in which the first error of a beat is found."""


class Candidate(NamedTuple):
    """What may be the first error of a beat: whether there is one, its lane, and all else."""

    error: Value
    lane: Value
    rest: Value


class Validator(Design):
    """Says with the last beat of a text whether the text is well-formed UTF-8.

    The logic of :class:`~utf8_hdl.parallel.detection.SequenceDetector`, and behind it: *search* for
    the first error in the lanes, in several stages; *locate* where it begins, in units of the text;
    *count* the units, in which the error is the first of its text; and *tally* them, for the
    verdict at its end. That is a pipeline of twelve stages for any number of lanes, with the flow
    control of :mod:`utf8_hdl.flow_control.credit`.

    What it promises:

    1. Line rate: one beat in every cycle but the first after reset, on any input, while the
       consumer is ready. A stalled cycle costs one cycle: after any stalls there is a beat at the
       output in every cycle, as long as one is offered in every cycle.
    2. Latency: a beat is at the output 13 cycles after it was accepted. Cycles in which the output
       waits are not counted.
    3. Beats come out as they went in. With ``last``, ``error`` says that the text is not
       well-formed, ``kind`` and ``offset`` are those of the first error token that a decoder gives.
       The offset saturates at all ones. Without ``last``, and of a text that is well-formed, they
       are zero.
    4. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle. While ``o.valid`` is low the payload is a don't
       care.
    5. A lane without ``keep`` has no byte. Where that breaks the rules of the input, in front of a
       byte of the same text, it ends the sequence before it, as the end of a text does; the offset
       counts it.
    6. Self-synchronisation: from any register contents, once a beat with ``last`` was accepted, the
       verdicts of later texts are right. Without input and with a ready consumer, it is empty and
       ready after 51 cycles, in which at most 44 beats that never came are taken.

    Parameters
    ----------
    profile : Profile
        Which UTF-8 is spoken.
    lanes : int
        How many bytes a beat may have: a power of two up to 128.
    offset_width : int
        Bits of ``offset``: 4 to 32 for up to 8 lanes, from 5 for 16, from 6 for 32, and so on.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If the number of lanes or the width is out of range.

    Attributes
    ----------
    profile, lanes, offset_width
        As given.
    probes : SimpleNamespace
        Signals for proofs. ``arrives``, ``arriving``: a beat is in the last stage, and its verdict.
        ``found``, of the beat in stage 9: True if the sequence that the beat before left
        ``unfinished`` is an error, and a bit for each of its bytes except one; True if there is an
        ``error`` in the lanes, the ``lane`` in which the first one ends, and a bit for each of its
        ``more`` bytes. Of the beat in stage 11: the ``kind`` of the first of these errors.

    Members
    -------
    i : ``In(stream.Signature(beat_layout(lanes)))``
        Beats.
    o : ``Out(stream.Signature(beat_layout(lanes, user=verdict_layout(lanes, offset_width))))``
        The same beats. ``user`` is the verdict on their text.
    """

    i: Any
    o: Any
    component_name = "validator"
    #: Cycles from a beat to the same beat with its verdict, without stalls.
    latency = 13

    def __init__(
        self,
        profile: Profile = UNICODE,
        *,
        lanes: int = DEFAULT_LANES,
        offset_width: int = OFFSET_WIDTH,
    ) -> None:
        self.profile = checked_profile(profile)
        self.lanes = lanes = checked_lanes(lanes)
        verdict = verdict_layout(lanes, offset_width)
        beat, judged = beat_layout(lanes), beat_layout(lanes, user=verdict)
        self.offset_width = int(offset_width)
        self._whole_sequence = profile.error_span is ErrorSpan.WHOLE_SEQUENCE
        super().__init__(
            {
                "i": In(stream.Signature(beat)),
                "o": Out(stream.Signature(judged)),
            }
        )
        more = len(self._of_length)
        found = {
            "unfinished": 1,
            "unfinished_more": more,
            "error": 1,
            "lane": lanes.bit_length() - 1,
            "more": more,
            "kind": Kind,
        }
        self.probes = SimpleNamespace(
            arrives=Signal(name="arrives"),
            arriving=Signal(verdict.size, name="arriving"),
            found=Signal(data.StructLayout(found), name="found"),
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        credit = Credit(m, self.i, self.o)
        lanes = SequenceDetector(credit, self.i, self.profile)
        tallied, verdict = self._judge(credit, self._search(credit, lanes))
        payload = Cat(
            credit.store(lanes.paired, lanes.paired["beat"]),
            credit.store(tallied, verdict),
        )
        m.d.comb += [
            Value.cast(self.o.p).eq(payload),
            self.probes.arrives.eq(tallied.valid),
            self.probes.arriving.eq(verdict),
        ]
        credit.finish()
        return m

    def _search(self, credit: Credit, lanes: SequenceDetector) -> Stage:
        """Up to stage 9: the first error in the lanes, among ever fewer candidates."""
        step = lanes.named() if self._whole_sequence else lanes.ended
        names = [*self._of_kind, *self._of_length]
        known = [
            lanes.slots(lanes.places(step, name)) if name.startswith("data") else step[name]
            for name in names
        ]
        unfinished, *found = (
            Candidate(step[self._error][slot], Const(0, 0), Cat(fact[slot] for fact in known))
            for slot in range(self.lanes + 1)
        )
        stages = range(credit.stages, STAGES_OF_SEARCH)
        levels = self.lanes.bit_length() - 1
        for stage in stages:
            step = credit.stage(f"search_{stage}", "the first error of more lanes").carry("last")
            if stage == stages.start:
                step.register("unfinished", Cat(unfinished.error, unfinished.rest))
            else:
                step.carry("unfinished")
            for _ in range(stage - stages.start, levels, len(stages)):
                found = [_first(*pair) for pair in zip(found[::2], found[1::2], strict=True)]
            errors, places, rest = (Cat(part) for part in zip(*found, strict=True))
            kept = [
                step.register("found_error", errors),
                step.register("found_lane", places),
                step.register("found_rest", rest),
            ]
            found = [
                Candidate(*(_part(whole, n, len(found)) for whole in kept))
                for n in range(len(found))
            ]
        return step

    @property
    def _error(self) -> str:
        """Whether there is an error in a slot: what :class:`SequenceDetector` calls it."""
        return "error" if self._whole_sequence else "bad"

    @property
    def _of_kind(self) -> list[str]:
        """What tells the kind of an error: the kind, or the byte that it is."""
        if self._whole_sequence:
            return [f"error_kind_{bit}" for bit in range(3)]
        return ["noncharacter", "cut", "beyond_next", *(f"data_{bit}" for bit in range(7))]

    @property
    def _of_length(self) -> list[str]:
        """What tells its length. A maximal subpart has not all bytes, but for a noncharacter."""
        longest = self.profile.longest_form
        longest = longest if self._whole_sequence else max(longest - 1, 3)
        return [f"at_least_{count}" for count in range(2, longest + 1)]

    def _locate(self, credit: Credit, found: Stage) -> Stage:
        """Stage 10: where the beat's first error begins.

        What the beat before left unfinished comes before all lanes, and begins before lane 0.
        """
        locate = credit.stage("locate", "where the beat's first error begins")
        unfinished, rest_of_it = found["unfinished"][0], found["unfinished"][1:]
        rest = select(unfinished, rest_of_it, found["found_rest"])
        lane = found["found_lane"]
        # How many bytes before its place an error begins, a bit for each. In the lanes, that is the
        # place of its last byte; if it was left unfinished, lane 0, which is a byte more.
        in_lanes = Cat(found["found_rest"][len(self._of_kind) :], Const(0, 1))
        in_unfinished = Cat(Const(1, 1), rest_of_it[len(self._of_kind) :])
        back = select(unfinished, in_unfinished, in_lanes)

        probe = self.probes.found
        locate.m.d.comb += [
            probe.unfinished.eq(unfinished),
            probe.unfinished_more.eq(rest_of_it[len(self._of_kind) :]),
            probe.error.eq(found["found_error"]),
            probe.lane.eq(lane),
            probe.more.eq(found["found_rest"][len(self._of_kind) :]),
        ]
        last, begins = found["last"], locate.signal("text_begins", init=1)
        phase = locate.signal("phase", max(0, UNIT_BITS - len(lane)))
        phase_now = phase & ~begins.replicate(len(phase))
        with locate.m.If(found.valid):
            locate.m.d.sync += [begins.eq(last), phase.eq(up(phase_now))]
        front, place = Cat(Const(0, len(lane)), phase_now), Cat(lane, phase_now)
        locate.register("begins", begins)
        locate.register("ends_unit", phase_now.all())
        locate.register("wrong", found.valid & (unfinished | found["found_error"]))
        locate.register(
            "before_unit",
            select(unfinished, _is_less(front, in_unfinished), _is_less(place, in_lanes)),
        )
        locate.register("place", select(unfinished, front, place))
        locate.register("back", back)
        locate.register("of_kind", rest[: len(self._of_kind)])
        return locate.carry("last")

    def _count(self, credit: Credit, located: Stage) -> Stage:
        """Stage 11: whether a unit of the text is over, and whether it is the text's first error.

        A unit that is over is *due*. It is counted with the last beat of the next one, or with the
        first error, unless that begins before.
        """
        count = credit.stage("count", "whether a unit is over, and whether the error is the first")
        begins, ends_unit, wrong = located["begins"], located["ends_unit"], located["wrong"]
        last = located["last"]
        due, seen = count.signal("due"), count.signal("seen")
        due_now, seen_now = due & ~begins, seen & ~begins
        # In a text's first beat nothing is due: so `seen` may be left over from the text before.
        counts = select(wrong, ~located["before_unit"], ends_unit) & due_now & ~seen
        with count.m.If(located.valid):
            count.m.d.sync += [
                due.eq(ends_unit | (due_now & ~counts)),
                seen.eq(seen_now | wrong),
            ]
        count.register("clears", located.valid & begins)
        count.register("counts", located.valid & counts)
        count.register("is_first", wrong & ~seen_now)
        count.register("fails", last & (seen_now | wrong))
        back, place = located["back"], located["place"]
        bits = [back[n] for n in range(len(back))]
        steps = Cat(bit_of_count(bits, n) for n in range(len(back).bit_length()))
        low = place[:UNIT_BITS]
        count.register("low", minus(low, steps)[:UNIT_BITS])
        count.register("borrow", _is_less(low, back))
        count.register("high", place[UNIT_BITS:])
        return count.carry("of_kind")

    def _judge(self, credit: Credit, found: Stage) -> tuple[Stage, Value]:
        """Stages 10 to 12, and the verdict: the first error of the text, at its end."""
        located = self._locate(credit, found)
        counted = self._count(credit, located)
        kind = self._kind(located, counted)
        credit.m.d.comb += Value.cast(self.probes.found.kind).eq(kind)
        tally = credit.stage("tally", "the first error of the text, and the units before it")
        position = Cat(
            counted["low"], minus(counted["high"], counted["borrow"])[: len(counted["high"])]
        )
        width = self.offset_width - len(position)
        units, over = saturating_counter(
            tally, "units", width, counted["clears"], counted["counts"]
        )
        first = tally.signal("first", 3 + len(position), reset_less=True)
        with tally.m.If(counted["is_first"]):
            tally.m.d.sync += first.eq(Cat(kind, position))
        highest = Cat(Const(0, 3), over.replicate(len(position)))
        verdict = Cat(Const(1, 1), first | highest, units)
        return tally, Mux(tally.carry("fails")["fails"], verdict, 0)

    def _kind(self, located: Stage, counted: Stage) -> Value:
        """The kind of the beat's first error, for stage 12."""
        if self._whole_sequence:
            return counted["of_kind"]
        noncharacter, cut, beyond = (counted["of_kind"][n] for n in range(3))
        sets = ByteClasses(counted, Cat(located["of_kind"][3:], Const(1, 1)))
        bits = []
        for bit in range(3):
            of_byte = sets.among(rules.with_kind_bit(self.profile, bit))
            of_byte = select(beyond, Const(Kind.OUT_OF_RANGE.value >> bit & 1, 1), of_byte)
            found = select(cut, Const(Kind.TRUNCATED.value >> bit & 1, 1), of_byte)
            bits.append(found | noncharacter)
        return Cat(bits)


def _is_less(place: Value, steps: Value) -> Value:
    """Whether a place is less than a number, of which bit n says whether it is more than n."""
    width = (len(steps) - 1).bit_length()
    less = (
        steps[n] & any_of(place[:width] == lower for lower in range(n + 1))
        for n in range(len(steps))
    )
    return ~place[width:].any() & any_of(less)


def _part(whole: Value, number: int, parts: int) -> Value:
    """One of some equal parts of a vector."""
    width = len(whole) // parts
    return whole[number * width : (number + 1) * width]


def _first(one: Candidate, other: Candidate) -> Candidate:
    """The first error among the lanes of two candidates."""
    lane = Cat(select(one.error, one.lane, other.lane), ~one.error)
    return Candidate(one.error | other.error, lane, select(one.error, one.rest, other.rest))
