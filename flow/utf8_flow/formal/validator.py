"""What is proved of the validator."""

from typing import Any

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from .bench import Bench, accepts, input_of
from .lanes import EVERY_LANED, drains, gaps, in_windows, passes, timing
from .streams import properties_of
from .timing import CreditTiming
from .windows import BEGIN, FirstErrorSpecification, Judgement


class VerdictTiming(CreditTiming):
    """Of the validator: a beat is known in the second stage, its verdict in the last one."""

    stages = 12
    found_in, told_in = 8, 10
    """In which stage it is known where the first error of a beat is, and in which what it is."""

    @classmethod
    def told(cls, b: Bench, design: Any) -> Value:
        """What is known of the first error then: bits that say lengths do, and see `_error`."""
        found, begin = design.found, Signal(BEGIN)
        unfinished, own = -1 - sum(found.unfinished_more), found.lane - sum(found.more)
        b.m.d.comb += begin.eq(Mux(found.unfinished, unfinished, own))
        lengths = Mux(found.unfinished, found.unfinished_more, found.more)
        place = Cat(found.unfinished | found.error, ~(lengths[1:] & ~lengths[:-1]).any(), begin)
        wrong, sound, *begin = b.before(place, cls.told_in - cls.found_in)
        return Cat(~wrong | sound, _error(wrong, found.kind, Cat(begin)))

    @classmethod
    def stored(cls, b: Bench, design: Any) -> list[tuple[Value, int]]:
        """What goes to the memory, and from which stage."""
        return [(b.before(input_of(design), 2), 2), (Value.cast(design.arriving), cls.stages)]


def _error(wrong: Value, kind: Any, begin: Value) -> Value:
    """What is to be said of an error; zero if there is none."""
    return Mux(wrong, Cat(Const(1), kind, begin), 0)


def first_error(b: Bench, name: str) -> None:
    """The first error of a beat, its kind and the lane in which it begins are those of the first
    slot with an error, if the beats that windows reach over are accepted in a row; from any
    register contents."""
    validator = b.design(name, any_start=True)
    specification = FirstErrorSpecification(b.model, b.profile, validator.lanes)
    expected = _error(specification.wrong, specification.kind, specification.begin)
    in_windows(b, validator, specification, b.timing.told(b, validator), Cat(Const(1), expected))


def verdict(b: Bench, name: str) -> None:
    """The verdict of a text is that of the first errors of its beats, whatever these are: with
    `last` whether there is one, the kind of the first one, and how many bytes of the text come
    before it, or the highest offset if that is too low."""
    validator = b.design(name)
    b.cut.append(Value.cast(validator.found))
    judgement = Judgement(b.model, validator.lanes)
    sound, wrong, *rest = b.timing.told(b, validator)
    b.m.d.comb += [
        judgement.accept.eq(b.before(accepts(validator), b.timing.told_in)),
        judgement.last.eq(b.before(validator.i.p.last, b.timing.told_in)),
        judgement.wrong.eq(wrong),
        Cat(judgement.kind, judgement.begin).eq(Cat(rest)),
    ]
    left = b.timing.stages - b.timing.told_in
    arrives, expected = b.before(judgement.accept, left), b.before(judgement.verdict, left)
    possible = sound & ~judgement.impossible
    known = possible & ~b.since(~possible)
    b.never(validator.arrives != arrives, b.before(known, left) & arrives & (validator.arriving != expected))
    b.reaches("an error", b.before(known, left) & arrives & expected[0])


_DESIGN = {
    "first-error": first_error,
    "gaps": gaps,
    "verdict": verdict,
    "timing": timing,
    "passes": passes,
    "drains": drains,
}
_LEMMAS: dict[str, Any] = {}

PROPERTIES = {False: properties_of("validator", VerdictTiming, _DESIGN, _LEMMAS, EVERY_LANED)}
"""What is proved of it."""
