"""The validator, for the tools: what its report says."""

from typing import Any, TextIO

import numpy as np
from rich.text import Text

from utf8_hdl import Kind
from utf8_hdl.layouts import OFFSET_WIDTH
from utf8_sim.components import VALIDATOR
from utf8_sim.components.validator import VerdictCoverage
from utf8_sim.trace import Columns

from ..verify.report import BOOLEANS, LABELS, Places, Report, Sizes, json_lines
from .entry import RULES, Entry, Own, register
from .headers import BEATS, KINDS, beat_promises


class ValidatorReport(Report):
    """Verdicts about texts, which are numbered from the first."""

    def __init__(self, file: TextIO | None) -> None:
        super().__init__(file)
        self._texts = 0
        self._sizes = Sizes()
        self._errors = {kind: Places("%d of text %d") for kind in Kind}

    def _count(self, beats: Columns) -> None:
        is_last = beats["o.last"].view(bool)
        error, kinds, offsets = (beats[pin][is_last] for pin in ("o.error", "o.kind", "o.offset"))
        lengths = self._sizes.ended(beats["o.keep"], is_last)
        is_error = error.view(bool)
        if self._file:
            errors = LABELS.take(np.where(is_error, kinds, len(Kind)))
            where = np.where(is_error, offsets.astype(object), "null")
            verdicts = BOOLEANS.take(1 - error)
            self._file.write(json_lines(_VERDICT, lengths, verdicts, errors, where))
        numbers = self._texts + np.arange(len(lengths))
        self._texts += len(lengths)
        for kind, places in self._errors.items():
            of_kind = is_error & (kinds == kind.value)
            places.add(offsets[of_kind], numbers[of_kind])

    def lines(self) -> list[Text]:
        wrong = sum(places.count for places in self._errors.values())
        return [
            Text(f"texts       {self._texts}"),
            self._accepted(),
            self._pace(self.inputs),
            Text(f"ill-formed  {wrong}"),
            *self._error_lines(self._errors),
        ]


_VERDICT = '{"length": %d, "valid": %s, "error": %s, "error_offset": %s}\n'


def verdict_counts(coverage: VerdictCoverage) -> list[Text]:
    """How many texts were well-formed, and how many had a first error of each kind."""
    return [
        Text("verdicts", style="bold"),
        *(
            Text(f"{'well-formed' if kind is Kind.NONE else kind.label:<24}{count:>8}")
            for kind, count in zip(Kind, coverage.verdicts.tolist(), strict=True)
            if count
        ),
    ]


def ports(design: Any) -> str:
    """What is at the ports."""
    offset = f"tuser[{design.offset_width + 3}:4]"
    return f"""\
{BEATS}
// m_axis_*         the same beats out, and with tlast a verdict about their text
//   tuser[0]       error: the text is not well-formed
//   tuser[3:1]     kind of its first error:
{KINDS}
//   {offset:<14} offset: how many bytes of the text are before it; all ones if they are more
//
// Without tlast, tuser is zero. While m_axis_tvalid is low, the other outputs but s_axis_tready
// are don't care."""


ENTRY = register(
    Entry(
        component=VALIDATOR,
        report=ValidatorReport,
        options=RULES | {"--error-span", "--exhaustive", "--lanes", "--offset-width"},
        own=(Own("offset_width", "--offset-width", OFFSET_WIDTH),),
        coverage_lines=verdict_counts,
        ports=ports,
        promises=beat_promises,
        formal="utf8_flow.formal.validator",
        lanes=8,
    )
)
