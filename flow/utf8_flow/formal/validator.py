"""What is proved of the validator."""

from typing import Any

from amaranth.hdl import Cat, Mux, Value

from .bench import Bench, accepts, input_of
from .lanes import gaps, in_windows, passes, timing
from .streams import properties_of
from .timing import CreditTiming
from .windows import FirstErrorSpecification, Judgement


class VerdictTiming(CreditTiming):
    """Of the validator: a beat is known from the first stage on, its verdict in the last one."""

    stages = 12
    told_in = 10
    """The stage in which the first error of a beat is known."""

    @staticmethod
    def told(design: Any) -> Value:
        """What is known in that stage: whether a beat is wrong, and if so how and where."""
        return Cat(design.located.wrong, Mux(design.located.wrong, design.located, 0))

    @classmethod
    def stored(cls, b: Bench, design: Any) -> list[tuple[Value, int]]:
        """What goes to the memory, and from which stage."""
        return [(b.before(input_of(design)), 1), (Value.cast(design.arriving), cls.stages)]


def first_error(b: Bench, name: str) -> None:
    """The first error of a beat, its kind and the lane in which it begins are those of the first
    slot with an error, if the beats that windows reach over are accepted in a row; from any
    register contents."""
    validator = b.design(name, any_start=True)
    found, specification = validator.located, FirstErrorSpecification(b.model, b.profile, validator.lanes)
    expected = Mux(specification.wrong, Cat(1, specification.kind, specification.begin), 0)
    told = Mux(found.wrong, Cat(1, found.kind, found.begin.as_signed()), 0)
    in_windows(b, validator, specification, told, expected)


def verdict(b: Bench, name: str) -> None:
    """The verdict of a text is that of the first errors of its beats, whatever these are: with
    `last` whether there is one, the kind of the first one, and how many bytes of the text come
    before it, or the highest offset if that is too low."""
    validator = b.design(name)
    b.cut.append(Value.cast(validator.located))
    judgement = Judgement(b.model, validator.lanes)
    b.m.d.comb += [
        judgement.accept.eq(b.before(accepts(validator), b.timing.told_in)),
        judgement.last.eq(b.before(validator.i.p.last, b.timing.told_in)),
        judgement.wrong.eq(validator.located.wrong),
        judgement.kind.eq(validator.located.kind),
        judgement.begin.eq(validator.located.begin),
    ]
    left = b.timing.stages - b.timing.told_in
    arrives, expected = b.before(judgement.accept, left), b.before(judgement.verdict, left)
    b.never(validator.arrives != arrives, arrives & (validator.arriving != expected))
    b.reaches("an error", arrives & expected[0])


_DESIGN = {
    "first-error": first_error,
    "gaps": gaps,
    "verdict": verdict,
    "timing": timing,
    "passes": passes,
}
_LEMMAS: dict[str, Any] = {}

PROPERTIES = {False: properties_of("validator", VerdictTiming, _DESIGN, _LEMMAS)}
"""What is proved of it."""
