"""What is proved of the validator."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from .bench import Bench, accepts, input_of
from .lanes import EVERY_LANED, LANED, LEMMAS, in_windows
from .streams import properties_of
from .timing import CreditTiming
from .windows import BEGIN, FirstErrorSpecification, Judgement

FOUND_IN, TOLD_IN = 9, 11
"""The stage in which it is known where the first error of a beat is, and the one in which its kind
is known."""


def told_first_error(b: Bench, design: Any) -> Value:
    """What is known of a beat's first error in the latter stage: bits that say lengths do, and
    :func:`told_error`."""
    found: Any = design.probes.found
    begin = Signal(BEGIN)
    unfinished, own = -1 - sum(found.unfinished_more), found.lane - sum(found.more)
    b.m.d.comb += begin.eq(Mux(found.unfinished, unfinished, own))
    lengths = Mux(found.unfinished, found.unfinished_more, found.more)
    place = Cat(found.unfinished | found.error, ~(lengths[1:] & ~lengths[:-1]).any(), begin)
    place = b.before(place, TOLD_IN - FOUND_IN)
    return Cat(~place[0] | place[1], told_error(place[0], found.kind, place[2:]))


def told_error(wrong: Value, kind: Any, begin: Value) -> Value:
    """What is to be said of an error; zero if there is none."""
    return Mux(wrong, Cat(Const(1), kind, begin), 0)


class VerdictTiming(CreditTiming):
    """Of the validator: a beat is known in the second stage, its verdict in the last one."""

    stages = 12
    told_in = TOLD_IN

    told = staticmethod(told_first_error)

    @staticmethod
    def expected(b: Bench, design: Any) -> tuple[Any, Value]:
        """A specification, and what is to be known of the beat that it takes."""
        beat = FirstErrorSpecification(b.model, b.profile, design.lanes)
        return beat, Cat(Const(1), told_error(beat.wrong, beat.kind, beat.begin))

    @classmethod
    def stored(cls, b: Bench, design: Any) -> list[tuple[Value, int]]:
        """What goes to the memory, and from which stage."""
        return [
            (b.before(input_of(design), 2), 2),
            (Value.cast(design.probes.arriving), cls.stages),
        ]


def verdict(b: Bench, name: str) -> None:
    """After a cycle of reset, whatever the registers hold, the verdict of a text is that of the
    first errors of its beats, whatever these are: with `last` whether there is one, the kind of the
    first one, and how many bytes of the text come before it, or the highest offset if that is too
    low."""
    heeds = b.since(Const(1))
    validator = b.design(name, any_start=True, reset=~heeds)
    _judges(b, validator, lambda judgement: Const(1), heeds)


def self_synchronisation(b: Bench, name: str) -> None:
    """Whatever the registers hold: once a beat with `last` is accepted, the verdicts of the texts
    behind it are those of the first errors of their beats."""
    validator = b.design(name, any_start=True)
    _judges(b, validator, lambda judgement: b.since(judgement.accept & judgement.last), Const(1))


def judged(
    b: Bench,
    design: Any,
    judgement: Judgement,
    known: Callable[[Judgement], Value],
    heeds: Value,
) -> Value:
    """Whether there is a beat whose verdict is known, if what is known of first errors is free."""
    b.cut.append(Value.cast(design.probes.found))
    told = told_first_error(b, design)
    b.m.d.comb += [
        judgement.accept.eq(b.before(heeds & accepts(design), TOLD_IN)),
        judgement.last.eq(b.before(design.i.p.last, TOLD_IN)),
        judgement.wrong.eq(told[1]),
        Cat(judgement.kind, judgement.begin).eq(told[2:]),
    ]
    # A length that is no number, or a place before the text, is none that there can be.
    is_known = known(judgement)
    possible = told[0] & ~judgement.impossible
    possible &= ~b.since(~possible & is_known)
    return judgement.accept & possible & is_known


def _judges(b: Bench, validator: Any, known: Callable[[Judgement], Value], heeds: Value) -> None:
    """Verdicts are those of the first errors of beats, as far as they are known."""
    judgement = Judgement(b.model, validator.lanes, validator.offset_width)
    is_judged = judged(b, validator, judgement, known, heeds)
    left = b.timing.stages - TOLD_IN
    arrives, expected = b.before(is_judged, left), b.before(judgement.verdict, left)
    b.never(arrives & ((validator.probes.arriving != expected) | ~validator.probes.arrives))
    b.reaches("an error", arrives & expected[0])


_DESIGN = {
    "first-error": in_windows,
    "verdict": verdict,
    "self-synchronisation": self_synchronisation,
} | LANED

PROPERTIES = {False: properties_of("validator", VerdictTiming, _DESIGN, LEMMAS, EVERY_LANED)}
"""What is proved of it."""
