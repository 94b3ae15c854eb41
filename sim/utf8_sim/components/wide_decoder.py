"""The entry of the decoder with lanes, which is not registered but part of the decoder's."""

from typing import Any

import numpy as np

from utf8_hdl import Decoder, Kind

from ..campaign import LONGEST_FORM, count
from ..golden.decoder import WideDecoderModel
from ..golden.timing import Credit
from ..trace import Trace
from .beats import BEATS, BeatComponent, BeatCoverage, show_slots
from .component import Lane

TIMING = Credit(stages=7)


class SlotsCoverage(BeatCoverage):
    """Also tokens, by slot in ``slots``, and in ``tokens`` by kind (row) and length (column)."""

    def __init__(self, engine: Any) -> None:
        super().__init__(engine)
        self.tokens = self.counter("tokens", len(Kind), LONGEST_FORM + 1)
        self.slots = self.points("token in", (f"slot {n}" for n in range(self.lanes + 1)))
        self._errors_after = self.points("error after beats", BEATS.labels)

    def in_flight(self, trace: Trace, before: int) -> int:
        accepted, taken = map(np.count_nonzero, (trace.is_accepted, trace.is_taken))
        return before + int(accepted) - int(taken)

    def count_life(self, trace: Trace) -> None:
        super().count_life(trace)
        taken = trace.taken()
        is_token = taken["o.length"] != 0
        count(self.tokens, taken["o.kind"][is_token], taken["o.length"][is_token])
        self.slots += np.add.reduce(is_token, axis=0)
        numbers = self._output_beats.numbers(taken["o.last"] != 0)
        is_wrong = np.logical_or.reduce(taken["o.error"], axis=1)
        self._errors_after += BEATS.counts(numbers[is_wrong])


WIDE_DECODER = BeatComponent(
    name="decoder",
    make=Decoder,
    model=lambda design: WideDecoderModel(design.profile, design.lanes),
    timing=lambda design: TIMING,
    coverage=SlotsCoverage,
    show_result=show_slots,
    lanes=(Lane("tokens", show_slots),),
    text=show_slots,
)
