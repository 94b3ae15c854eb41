"""Properties of the decoder with lanes."""

from typing import Any

from amaranth.hdl import Cat, Const, Value

from .bench import Bench
from .lanes import EVERY_LANED, LANED, LEMMAS, in_windows
from .streams import properties_of
from .timing import CreditTiming
from .windows import SlotsSpecification


class SlotsTiming(CreditTiming):
    """The timing of the decoder with lanes: slots in the last stage, and `last` in stage 2."""

    stages = reported_in = 7

    @staticmethod
    def reported(b: Bench, design: Any) -> Value:
        """A valid bit and the slots, in stage ``reported_in``."""
        return Cat(design.probes.arrives, design.probes.arriving)

    @staticmethod
    def expected(b: Bench, design: Any) -> tuple[Any, Value]:
        """A specification, and the expected result of the beat that it accepts."""
        specification = SlotsSpecification(b.model, b.profile, design.lanes)
        return specification, Cat(Const(1), *specification.slots)

    @classmethod
    def stored(cls, b: Bench, design: Any) -> list[tuple[Value, int]]:
        """The values stored in the memory, and the stage of each."""
        return [(Value.cast(design.probes.arriving), cls.stages), (b.before(design.i.p.last, 2), 2)]


PROPERTIES = {
    False: properties_of("decoder", SlotsTiming, {"slots": in_windows} | LANED, LEMMAS, EVERY_LANED)
}
"""Properties of the decoder with lanes."""
