"""The first error of each text: its kind and its offset, valid with the text's last beat.

These stages follow the one that finds the errors of a beat, and end with stage 12. *Search* takes
several stages and finds the first error of the beat; *locate* computes where it begins, in units of
the text; *count* detects the units that end, and the first error of the text; *tally* counts the
units.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Mux, Value
from amaranth.lib import data

from ..flow_control.stage import Stage
from ..layouts import ErrorKind
from ..logic import any_of, minus, one_of, saturating_counter, select, up
from .detection import bit_of_count

UNIT_BITS = 3
"""The offset is counted in units of 8 lanes, or of a beat if that has more lanes.

So an error that is found in a unit begins in that unit or in the one before.
"""

LAST_OF_SEARCH = 9
"""The last stage of the search for the first error of a beat."""


def probe_layout(lanes: int, lengths: int) -> data.StructLayout:
    """Layout of the probe of a first error, for proofs.

    For the beat in stage 9: ``unfinished``, the sequence that the previous beat left unfinished is
    an error; ``error``, a lane has an error; ``lane``, the lane in which the first one ends. Of
    these two errors, ``unfinished_more`` and ``more`` are the number of lanes that they cover, less
    1, as thermometer codes. For the beat in stage 11: ``kind``, the kind of the first of them.
    """
    return data.StructLayout(
        {
            "unfinished": 1,
            "unfinished_more": lengths,
            "error": 1,
            "lane": lanes.bit_length() - 1,
            "more": lengths,
            "kind": ErrorKind,
        }
    )


class Candidate(NamedTuple):
    """A candidate for the first error of a beat: its valid bit, its lane, and its other fields."""

    error: Value
    lane: Value
    rest: Value


class FirstError:
    """The stages that find the first error of each text.

    A lane holds a byte, or a wider code unit.

    Parameters
    ----------
    new_stage : Callable
        Adds a stage and returns it. Its arguments are the name and a description of the stage.
    number, step : int, Stage
        Number of the stage that finds the errors of a beat, and that stage. It has ``last``.
    errors : Value
        Slots in which an error ends. Slot 0 is the sequence that the previous beat left unfinished.
    of_kind : list of Value
        Bits from which the kind of an error follows: vectors with a bit for each slot.
    of_length : list of Value
        The length of the error in a slot as a thermometer code: at least two lanes, at least three,
        and so on.
    probe : View
        For proofs, with the layout of :func:`probe_layout`. All fields except ``kind`` are
        assigned.

    Attributes
    ----------
    located, counted : Stage
        Stages 10 and 11. Their ``of_kind`` is that of the first error of the beat.
    """

    def __init__(
        self,
        new_stage: Callable[[str, str], Stage],
        number: int,
        step: Stage,
        errors: Value,
        of_kind: list[Value],
        of_length: list[Value],
        probe: Any,
    ) -> None:
        self._new_stage = new_stage
        self._kinds = len(of_kind)
        self._probe = probe
        facts = [*of_kind, *of_length]
        slots = [
            Candidate(errors[slot], Const(0, 0), Cat(fact[slot] for fact in facts))
            for slot in range(len(errors))
        ]
        self.located = self._locate(self._search(number, slots))
        self.counted = self._count(self.located)

    def _search(self, number: int, slots: list[Candidate]) -> Stage:
        """Up to stage 9: the first error in the lanes, by a binary tree of selections."""
        unfinished, *found = slots
        stages = range(number, LAST_OF_SEARCH)
        levels = len(found).bit_length() - 1
        for stage in stages:
            step = self._new_stage(f"search_{stage}", "the first error of more lanes").carry("last")
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

    def _locate(self, found: Stage) -> Stage:
        """Stage 10: where the beat's first error begins.

        A sequence that the previous beat left unfinished precedes all lanes, and begins before
        lane 0.
        """
        locate = self._new_stage("locate", "where the beat's first error begins")
        unfinished, rest_of_it = found["unfinished"][0], found["unfinished"][1:]
        rest = select(unfinished, rest_of_it, found["found_rest"])
        lane = found["found_lane"]
        # How many lanes before its position an error begins, a bit for each. The position of an
        # error is that of its last byte; of an unfinished sequence it is lane 0, one lane later.
        in_lanes = Cat(found["found_rest"][self._kinds :], Const(0, 1))
        in_unfinished = Cat(Const(1, 1), rest_of_it[self._kinds :])
        back = select(unfinished, in_unfinished, in_lanes)

        probe = self._probe
        locate.m.d.comb += [
            probe.unfinished.eq(unfinished),
            probe.unfinished_more.eq(rest_of_it[self._kinds :]),
            probe.error.eq(found["found_error"]),
            probe.lane.eq(lane),
            probe.more.eq(found["found_rest"][self._kinds :]),
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
        locate.register("of_kind", rest[: self._kinds])
        return locate.carry("last")

    def _count(self, located: Stage) -> Stage:
        """Stage 11: the units to be counted, and the first error of the text.

        A unit that has ended is *due*. It is counted with the last beat of the next unit, or with
        the beat of the first error, unless that error begins in the due unit.
        """
        count = self._new_stage("count", "a unit that is over; the first error of the text")
        begins, ends_unit, wrong = located["begins"], located["ends_unit"], located["wrong"]
        last = located["last"]
        due, seen = count.signal("due"), count.signal("seen")
        due_now, seen_now = due & ~begins, seen & ~begins
        # In a text's first beat no unit is due, so `seen` may still be that of the previous text.
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

    def tally(self, kind: Value, offset_width: int, lane_bits: int = 0) -> tuple[Stage, Value]:
        """Add stage 12; return it, and the verdict on a text, valid with its last beat.

        The verdict is zero if the text has no error. Otherwise it is a 1, the kind of the first
        error, and its offset in bytes, which saturates. A lane has ``1 << lane_bits`` bytes.
        """
        counted = self.counted
        tally = self._new_stage("tally", "the first error of the text, and the units before it")
        position = Cat(
            counted["low"], minus(counted["high"], counted["borrow"])[: len(counted["high"])]
        )
        width = offset_width - lane_bits - len(position)
        units, over = saturating_counter(
            tally, "units", width, counted["clears"], counted["counts"]
        )
        first = tally.signal("first", 3 + len(position), reset_less=True)
        with tally.m.If(counted["is_first"]):
            tally.m.d.sync += first.eq(Cat(kind, position))
        highest = over.replicate(len(position))
        offset = Cat(over.replicate(lane_bits), first[3:] | highest, units)
        found = Cat(Const(1, 1), first[:3], offset)
        return tally, Mux(tally.carry("fails")["fails"], found, 0)


def _is_less(place: Value, steps: Value) -> Value:
    """True if a position is less than a number in thermometer code: bit n, it is more than n."""
    width = (len(steps) - 1).bit_length()
    less = (steps[n] & one_of(place[:width], range(n + 1)) for n in range(len(steps)))
    return ~place[width:].any() & any_of(less)


def _part(whole: Value, number: int, parts: int) -> Value:
    """One of some equal parts of a vector."""
    width = len(whole) // parts
    return whole[number * width : (number + 1) * width]


def _first(one: Candidate, other: Candidate) -> Candidate:
    """The first error among the lanes of two candidates."""
    lane = Cat(select(one.error, one.lane, other.lane), ~one.error)
    return Candidate(one.error | other.error, lane, select(one.error, one.rest, other.rest))
