"""The entry of the decoder with lanes. It belongs to the decoder's entry; it is not registered."""

from typing import Any

import numpy as np

from utf8_hdl import ErrorKind

from ..campaign import LONGEST_FORM
from ..command_line import RULES, CommandLine
from ..coverage import count
from ..golden.decoder import WideDecoderModel
from ..golden.timing import Credit
from ..trace import Columns, Trace
from . import headers
from .beat_coverage import BEATS, BeatCoverage
from .beats import BeatComponent, show_slots
from .component import Row
from .tokens import TokenReport, token_counts

TIMING = Credit(stages=7)


class SlotsCoverage(BeatCoverage):
    """Also counts tokens: in ``slots`` by slot, in ``tokens`` by kind (row) and length (column)."""

    def __init__(self, engine: Any) -> None:
        super().__init__(engine)
        self.tokens = self.counter("tokens", len(ErrorKind), LONGEST_FORM + 1)
        self.slots = self.points("token in", (f"slot {n}" for n in range(self.lanes + 1)))
        self._errors_after = self.points("error after beats", BEATS.labels)

    def count_between_resets(self, trace: Trace) -> None:
        super().count_between_resets(trace)
        taken = trace.taken()
        is_token = taken["o.length"] != 0
        count(self.tokens, taken["o.kind"][is_token], taken["o.length"][is_token])
        self.slots += np.add.reduce(is_token, axis=0)
        numbers = self._output_beats.numbers(taken["o.last"] != 0)
        is_wrong = np.logical_or.reduce(taken["o.error"], axis=1)
        self._errors_after += BEATS.counts(numbers[is_wrong])


class SlotsReport(TokenReport):
    """The tokens of all slots."""

    def _count(self, slots: Columns) -> None:
        has_token = slots["o.length"] != 0
        fields = ("o.code_point", "o.error", "o.kind", "o.length")
        super()._count({field: slots[field][has_token] for field in fields})


PORTS = f"""\
{headers.BEATS}
// m_axis_*         for each beat, a beat of token slots, AXI4-Stream. Slot k, from 1 on, has the
//                  token that ends with byte k of the beat, counted from 1, if one does. Slot 0 has
//                  a truncated sequence that ended with the beat before. A token is a character or
//                  an error, and covers one or more consecutive bytes; tokens cover every byte
//                  once, in order.
//   tdata          a code point in each slot, slot 0 lowest, zero-extended (UTF-32; to 64 bits if
//                  32 are too few); U+FFFD in an error
//   tkeep          a bit for each byte of tdata: the slot has a token
//   tlast          the beat is the last one of its text
//   tuser          8 bits for each slot, slot 0 lowest, all zero if there is no token:
//     bit 0        error
//     bits 3:1     kind of error:
{{kinds}}
//     bits 7:4     length: how many bytes the token covers
//
// While m_axis_tvalid is low, the other m_axis outputs are don't care."""


class WideDecoder(BeatComponent):
    """The decoder with lanes: tokens in slots."""

    name = "decoder"
    formal = "utf8_flow.formal.wide_decoder"
    command_line = CommandLine(RULES | {"--error-span", "--exhaustive", "--lanes"})
    coverage = SlotsCoverage
    report = SlotsReport
    show_result = staticmethod(show_slots)
    text = staticmethod(show_slots)
    rows = (Row("tokens", show_slots),)
    coverage_lines = staticmethod(token_counts)

    def model(self, design: Any) -> WideDecoderModel:
        return WideDecoderModel(design.profile, design.lanes)

    def timing(self, design: Any) -> Credit:
        return TIMING

    def ports(self, design: Any) -> str:
        return PORTS.format(kinds=headers.kinds(design.profile))


WIDE_DECODER = WideDecoder()
