"""What is proved of the decoder with lanes."""

from typing import Any

from amaranth.hdl import Cat, Const, Value

from .bench import Bench
from .lanes import EVERY_LANED, drains, gaps, in_windows, passes, timing
from .streams import properties_of
from .timing import CreditTiming
from .windows import SlotsSpecification


class SlotsTiming(CreditTiming):
    """Of the decoder with lanes: slots are known in the last stage, and `last` in the second."""

    stages = told_in = 7

    @staticmethod
    def told(b: Bench, design: Any) -> Value:
        """What is known in that stage."""
        return Cat(design.arrives, design.arriving)

    @classmethod
    def stored(cls, b: Bench, design: Any) -> list[tuple[Value, int]]:
        """What goes to the memory, and from which stage."""
        return [(Value.cast(design.arriving), cls.stages), (b.before(design.i.p.last, 2), 2)]


def slots(b: Bench, name: str) -> None:
    """Each slot of a beat is that function of its window which the lemma `windows` is about, if the
    beats that the window reaches over are accepted in a row; from any register contents."""
    decoder = b.design(name, any_start=True)
    specification = SlotsSpecification(b.model, b.profile, decoder.lanes)
    told, expected = b.timing.told(b, decoder), Cat(Const(1), *specification.slots)
    in_windows(b, decoder, specification, told, expected)


_DESIGN = {"slots": slots, "gaps": gaps, "timing": timing, "passes": passes, "drains": drains}
_LEMMAS: dict[str, Any] = {}

PROPERTIES = {False: properties_of("decoder", SlotsTiming, _DESIGN, _LEMMAS, EVERY_LANED)}
"""What is proved of it."""
