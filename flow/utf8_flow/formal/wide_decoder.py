"""What is proved of the decoder with lanes."""

from typing import Any

from amaranth.hdl import Cat, Const, Value

from .bench import Bench
from .lanes import EVERY_LANED, LANED, LEMMAS, in_windows
from .streams import properties_of
from .timing import CreditTiming
from .windows import SlotsSpecification


class SlotsTiming(CreditTiming):
    """Of the decoder with lanes: slots are known in the last stage, and `last` in the second."""

    stages = told_in = 7

    @staticmethod
    def told(b: Bench, design: Any) -> Value:
        """What is known in that stage."""
        return Cat(design.probes.arrives, design.probes.arriving)

    @staticmethod
    def expected(b: Bench, design: Any) -> tuple[Any, Value]:
        """A specification, and what is to be known of the beat that it takes."""
        specification = SlotsSpecification(b.model, b.profile, design.lanes)
        return specification, Cat(Const(1), *specification.slots)

    @classmethod
    def stored(cls, b: Bench, design: Any) -> list[tuple[Value, int]]:
        """What goes to the memory, and from which stage."""
        return [(Value.cast(design.probes.arriving), cls.stages), (b.before(design.i.p.last, 2), 2)]


PROPERTIES = {
    False: properties_of("decoder", SlotsTiming, {"slots": in_windows} | LANED, LEMMAS, EVERY_LANED)
}
"""What is proved of it."""
