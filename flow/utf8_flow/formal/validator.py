"""Properties of the validator."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from .bench import Bench, accepts, input_of
from .lanes import EVERY_LANED, LANED, LEMMAS, in_windows
from .streams import properties_of
from .timing import CreditTiming
from .windows import BEGIN, FirstErrorSpecification, Judgement

FOUND_IN, REPORTED_IN = 9, 11
"""The stages in which the position and the kind of a beat's first error are known."""


def reported_first_error(b: Bench, design: Any) -> Value:
    """The first error of a beat in stage `REPORTED_IN`: a flag, low if its length is invalid, and
    :func:`reported_error`."""
    found: Any = design.probes.found
    begin = Signal(BEGIN)
    unfinished, own = -1 - sum(found.unfinished_more), found.lane - sum(found.more)
    b.m.d.comb += begin.eq(Mux(found.unfinished, unfinished, own))
    lengths = Mux(found.unfinished, found.unfinished_more, found.more)
    place = Cat(found.unfinished | found.error, ~(lengths[1:] & ~lengths[:-1]).any(), begin)
    place = b.before(place, REPORTED_IN - FOUND_IN)
    return Cat(~place[0] | place[1], reported_error(place[0], found.kind, place[2:]))


def reported_error(wrong: Value, kind: Any, begin: Value) -> Value:
    """An error: a flag, its kind and the lane in which it begins; or zero."""
    return Mux(wrong, Cat(Const(1), kind, begin), 0)


class VerdictTiming(CreditTiming):
    """The timing of the validator: a beat is known in stage 2, its verdict in the last stage."""

    stages = 12
    reported_in = REPORTED_IN

    reported = staticmethod(reported_first_error)

    @staticmethod
    def expected(b: Bench, design: Any) -> tuple[Any, Value]:
        """A specification, and the expected result of the beat that it accepts."""
        beat = FirstErrorSpecification(b.model, b.profile, design.lanes)
        return beat, Cat(Const(1), reported_error(beat.wrong, beat.kind, beat.begin))

    @classmethod
    def stored(cls, b: Bench, design: Any) -> list[tuple[Value, int]]:
        """The values stored in the memory, and the stage of each."""
        return [
            (b.before(input_of(design), 2), 2),
            (Value.cast(design.probes.arriving), cls.stages),
        ]


def verdict(b: Bench, name: str) -> None:
    """After a cycle of reset, from any register contents, the verdict of a text follows from the
    first errors of its beats, whatever these are. With `last` it has the error flag, the kind of
    the first error, and the number of bytes of the text before it, or the highest offset if that
    number is higher."""
    heeds = b.since(Const(1))
    validator = b.design(name, any_start=True, reset=~heeds)
    _judges(b, validator, lambda judgement: Const(1), heeds)


def self_synchronisation(b: Bench, name: str) -> None:
    """From any register contents, once a beat with `last` is accepted, the verdicts of the
    following texts follow from the first errors of their beats."""
    validator = b.design(name, any_start=True)
    _judges(b, validator, lambda judgement: b.since(judgement.accept & judgement.last), Const(1))


def judged(
    b: Bench,
    design: Any,
    judgement: Judgement,
    known: Callable[[Judgement], Value],
    heeds: Value,
) -> Value:
    """True for a beat with a known verdict; first errors are free, except impossible errors."""
    b.cut.append(Value.cast(design.probes.found))
    reported = reported_first_error(b, design)
    b.m.d.comb += [
        judgement.accept.eq(b.before(heeds & accepts(design), REPORTED_IN)),
        judgement.last.eq(b.before(design.i.p.last, REPORTED_IN)),
        judgement.wrong.eq(reported[1]),
        Cat(judgement.kind, judgement.begin).eq(reported[2:]),
    ]
    # Excluded: an invalid length, and an error that begins before the text.
    is_known = known(judgement)
    possible = reported[0] & ~judgement.impossible
    possible &= ~b.since(~possible & is_known)
    return judgement.accept & possible & is_known


def _judges(b: Bench, validator: Any, known: Callable[[Judgement], Value], heeds: Value) -> None:
    """Require that known verdicts follow from the first errors of the beats."""
    judgement = Judgement(b.model, validator.lanes, validator.offset_width)
    is_judged = judged(b, validator, judgement, known, heeds)
    left = b.timing.stages - REPORTED_IN
    arrives, expected = b.before(is_judged, left), b.before(judgement.verdict, left)
    b.never(arrives & ((validator.probes.arriving != expected) | ~validator.probes.arrives))
    b.reaches("an error", arrives & expected[0])


_DESIGN = {
    "first-error": in_windows,
    "verdict": verdict,
    "self-synchronisation": self_synchronisation,
} | LANED

PROPERTIES = {False: properties_of("validator", VerdictTiming, _DESIGN, LEMMAS, EVERY_LANED)}
"""Properties of the validator."""
