"""The validator's entry: golden model, campaign, coverage and display."""

from typing import Any, ClassVar, TextIO

import numpy as np
from rich.text import Text

from utf8_hdl import ErrorKind, Validator

from ..campaign import Part
from ..command_line import COMMAND_LINES
from ..coverage import Bins
from ..golden.decoder import form_maximum
from ..golden.encoder import encode_as
from ..golden.timing import Credit
from ..golden.validator import ValidatorModel
from ..trace import Columns, Trace
from . import headers
from .beat_campaign import campaign, error_kinds, far_bits, first_errors
from .beat_coverage import BEATS, BeatCoverage, powers_of_two
from .beats import BeatComponent, show_beat, show_verdict, verdict
from .component import Row, register
from .report import (
    BOOLEANS,
    ErrorPositions,
    Report,
    TextSizes,
    json_lines,
    labels_or_null,
    offsets_or_null,
)

TIMING = Credit(stages=12)


def validator_campaign(design: Any, seed: int) -> list[Part]:
    """The campaign of all components with lanes, and first errors at small and large offsets."""
    longest = design.profile.longest_form
    characters = b"".join(encode_as(form_maximum(n) + 1) for n in range(1, longest))
    return [*campaign(design, seed), *first_errors(design, characters, b"A", b"\xffA")]


class VerdictCoverage(BeatCoverage):
    """Also counts texts: in ``verdicts`` by kind, in ``wrong`` by the lane of the first error."""

    def __init__(self, engine: Any) -> None:
        super().__init__(engine)
        kinds = error_kinds(engine.profile) | {ErrorKind.NONE}
        self.verdicts = self.points("verdict", (k.label if k in kinds else "" for k in ErrorKind))
        self.wrong = self.points("first error", (f"lane {lane}" for lane in range(self.lanes)))
        width = engine.interface.pin("o.offset").width
        far = far_bits(engine.design)
        self._offsets = powers_of_two(range(min(width, far + 1)))
        self._errors_at = self.points("first error at byte", self._offsets.labels)
        self._highest = (1 << width) - 1
        self._saturated = self.points("offset", ["that is the highest"] if width <= far else [])
        self._beats = Bins(tuple(n for n in BEATS.cuts if n * self.lanes <= self._highest))
        self._errors_after = self.points("first error after beats", self._beats.labels)
        empty = "well-formed", "ill-formed"
        self._after_empty = self.points("no byte in mid-text, and the text is", empty)

    def reset(self) -> None:
        super().reset()
        self._empty_beats = 0  # in the unfinished text at the output

    def count_between_resets(self, trace: Trace) -> None:
        super().count_between_resets(trace)
        taken = trace.taken()
        last, error = taken["o.last"] != 0, taken["o.error"] != 0
        kinds = taken["o.kind"][last]
        self.verdicts += np.bincount(kinds, minlength=len(self.verdicts))
        offsets = taken["o.offset"][error]
        self.wrong += np.bincount(offsets % self.lanes, minlength=self.lanes)
        self._errors_at += self._offsets.counts(offsets)
        self._saturated += np.count_nonzero(offsets == self._highest)
        self._errors_after += self._beats.counts(offsets // self.lanes)
        is_empty = ~np.logical_or.reduce(taken["o.keep"].reshape(-1, self.lanes), axis=1) & ~last
        so_far = np.append(self._empty_beats, is_empty).cumsum()
        at_ends = so_far[1:][last]
        has_empty = np.diff(at_ends, prepend=0) != 0
        self._empty_beats = int(so_far[-1] - (at_ends[-1] if len(at_ends) else 0))
        self._after_empty += np.bincount(error[last][has_empty], minlength=2)


class ValidatorReport(Report):
    """Verdicts on texts, which are numbered from 0."""

    def __init__(self, file: TextIO | None) -> None:
        super().__init__(file)
        self._texts = 0
        self._sizes = TextSizes()
        self._errors = ErrorPositions("%d of text %d")

    def _count(self, beats: Columns) -> None:
        is_last = beats["o.last"].view(bool)
        error, kinds, offsets = (beats[pin][is_last] for pin in ("o.error", "o.kind", "o.offset"))
        lengths = self._sizes.ended(beats["o.keep"], is_last)
        is_error = error.view(bool)
        if self._file:
            errors = labels_or_null(is_error, kinds)
            where = offsets_or_null(is_error, offsets)
            verdicts = BOOLEANS.take(1 - error)
            self._file.write(json_lines(_VERDICT, lengths, verdicts, errors, where))
        numbers = self._texts + np.arange(len(lengths))
        self._texts += len(lengths)
        self._errors.add(kinds[is_error], offsets[is_error], numbers[is_error])

    def lines(self) -> list[Text]:
        return [
            Text(f"texts       {self._texts}"),
            self._accepted(),
            self._pace(self.inputs),
            Text(f"ill-formed  {self._errors.count}"),
            *self._errors.lines(),
        ]


_VERDICT = '{"length": %d, "valid": %s, "error": %s, "error_offset": %s}\n'


def verdict_counts(coverage: VerdictCoverage) -> list[Text]:
    """The number of well-formed texts, and of texts with a first error of each kind."""
    return [
        Text("verdicts", style="bold"),
        *(
            Text(f"{'well-formed' if kind is ErrorKind.NONE else kind.label:<24}{count:>8}")
            for kind, count in zip(ErrorKind, coverage.verdicts.tolist(), strict=True)
            if count
        ),
    ]


class ValidatorComponent(BeatComponent):
    """The validator."""

    name = "validator"
    make = Validator
    formal = "utf8_flow.formal.validator"
    command_line = COMMAND_LINES["validator"]
    live: ClassVar = {"validator-8": {"lanes": 8}, "validator-16": {"lanes": 16}}
    coverage = VerdictCoverage
    report = ValidatorReport
    show_result = staticmethod(show_verdict)
    text = staticmethod(verdict)
    rows = (Row("o.data", lambda beat: show_beat(beat, "o")), Row("verdict", verdict))
    campaign = staticmethod(validator_campaign)
    coverage_lines = staticmethod(verdict_counts)

    def model(self, design: Any) -> ValidatorModel:
        return ValidatorModel(design.profile, design.lanes, design.offset_width)

    def timing(self, design: Any) -> Credit:
        return TIMING

    def ports(self, design: Any) -> str:
        offset = f"tuser[{design.offset_width + 3}:4]"
        return f"""\
{headers.BEATS}
// m_axis_*         the same beats out, and with tlast a verdict about their text
//   tuser[0]       error: the text is not well-formed
//   tuser[3:1]     kind of its first error:
{headers.kinds(design.profile)}
//   {offset:<14} offset: bytes of the text before it; saturates at all ones
//
// Without tlast, tuser is zero. While m_axis_tvalid is low, the other m_axis outputs are don't
// care."""


register(ValidatorComponent())
