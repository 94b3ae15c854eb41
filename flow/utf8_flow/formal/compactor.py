"""What is proved of the compactor: from slot to dense beat.

A *slot* is a cycle at the input, with a beat that is accepted in it or without one. How many values
wait for more behind each slot is what the *tops* say, and that is the only memory that the pipeline
has. So what is proved of one slot, whatever the registers hold but for the tops, is an induction
over all slots of any run: `begins` is where it begins, and `values` its step.
"""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value

from .bench import Bench, accepts
from .streams import properties_of
from .timing import CreditTiming

STAGES = 11
"""In the last one it is known what is written to the memory."""

TOLD_IN = {"bit_0": 3, "bit_1": 4}
"""The stages in front of which tops say what waits; all others do in front of the sixth."""

WHOLE = 5


class PackingTiming(CreditTiming):
    """Of the compactor: other beats are given than are accepted."""

    stages = STAGES


class Waiting:
    """What the tops say in front of a slot of how many values wait.

    Parameters
    ----------
    b : Bench
        Where.
    design : Component
        The compactor.
    age : int
        How many cycles ago the slot was that in which a beat may have been accepted.

    Attributes
    ----------
    count : Value
        How many.
    agreed : Value
        They agree about it.
    """

    def __init__(self, b: Bench, design: Any, age: int) -> None:
        tops: Any = {
            what: b.before(Value.cast(design.tops[what]), age - TOLD_IN.get(what, WHOLE))
            for what in design.tops.shape().members
        }
        lane, empty = tops["lane"], tops["empty"]
        self.count = Mux(empty, 0, lane + 1)
        at_end = ~tops["empty_at_end"] & (tops["lane_at_end"] == lane)
        # None wait if the top is the highest lane, as if it were below the lowest.
        self.agreed = Mux(empty, lane.all(), at_end)
        for n, bit in enumerate(lane[:2]):
            self.agreed &= tops[f"bit_{n}"] == bit


def counts(keep: Value) -> list[Value]:
    """How many values there are before each lane, and in all: those of halves, and so on."""
    if len(keep) == 1:
        return [Const(0), keep]
    half = len(keep) // 2
    low, high = counts(keep[:half]), counts(keep[half:])
    return [*low, *(low[-1] + each for each in high[1:])]


class Slot:
    """A slot of any run, the one behind it, and what must be so of them.

    The registers hold anything, but for the tops, which agree about how many values wait.

    Parameters
    ----------
    b : Bench
        Where.
    design : Component
        The compactor, with any start.
    """

    def __init__(self, b: Bench, design: Any) -> None:
        self._b, self._lanes = b, design.lanes
        beat = self.at(Value.cast(design.i.p), 0)
        self.beat = design.i.p.shape()(beat)
        self.comes = self.at(accepts(design), 0)
        self.last = self.comes & self.beat.last
        self.ended_before = self.at(design.stored.last & design.stored.gives, STAGES)
        self.before = Waiting(b, design, STAGES + 1)
        self.behind = Waiting(b, design, STAGES)
        # All of it is there, and the first slot is not one of those in front of the run.
        self.agreed = self.at(Const(1), 0) & self.before.agreed
        keep = Value.cast(self.beat.keep) & self.comes.replicate(self._lanes)
        before = [self.before.count + count for count in counts(keep)]
        self.keep, self.goes_to, self.total = keep, before[:-1], before[-1]
        self.fills = self.total > self._lanes
        self.rest = Mux(self.fills, self.total - self._lanes, self.total)

    def at(self, value: Value, stage: int) -> Value:
        """What something is when the slot is in a stage."""
        return self._b.before(Value.cast(value), STAGES + 1 - stage)


def counted(b: Bench, name: str) -> None:
    """In any slot, whatever the registers hold: if the tops agree about how many values wait, then
    behind it they agree about as many and those of the beat, but a whole beat less if one is full
    and a value is behind it, and about none if the beat has `last`."""
    design = b.design(name, any_start=True)
    slot = Slot(b, design)
    right = slot.behind.agreed & (slot.behind.count == Mux(slot.last, 0, slot.rest))
    b.never(slot.agreed & ~right)
    b.reaches("a full beat", slot.agreed & slot.fills)
    b.reaches("a slot without a beat", slot.agreed & ~slot.comes & (slot.before.count > 0))
    b.cycles = STAGES + 2


def begins(b: Bench, name: str) -> None:
    """Behind a cycle of reset, whatever the registers hold, the tops agree that no values wait, and
    no dense beat of a slot before that comes out."""
    first = ~b.since(Const(1))
    design = b.design(name, any_start=True, reset=first)
    slot = Slot(b, design)
    behind_reset = b.before(first, STAGES + 2)
    b.never(behind_reset & ~(slot.before.agreed & (slot.before.count == 0)))
    in_stages = b.since(first) & ~b.since(b.before(first, STAGES + 1))
    b.never(in_stages & design.stored.gives)
    b.reaches("a beat behind it", b.since(first) & accepts(design))
    b.reaches("values that waited at reset", first & ~design.tops.empty)
    b.cycles = STAGES + 3


_OWN = {"counted": counted, "begins": begins}

PROPERTIES = {False: properties_of("compactor", PackingTiming, _OWN, {}, {})}
"""What is proved of it."""
