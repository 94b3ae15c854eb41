"""The validator's entry: its golden model, its campaign, its coverage, how it is shown."""

from typing import Any

import numpy as np

from utf8_hdl import Kind, Validator

from ..campaign import Bins, Part, beginnings, boundary_encodings
from ..golden.decoder import decode, form_maximum
from ..golden.encoder import encode_as
from ..golden.timing import Credit
from ..golden.validator import ValidatorModel
from ..stimulus import Piece
from ..trace import Trace
from .beats import (
    BEATS,
    BeatComponent,
    BeatCoverage,
    campaign,
    made_part,
    right_text,
    show_beat,
    show_verdict,
    verdict,
)
from .component import Lane, register

TIMING = Credit(stages=12)

CLOSE_BITS = 10
"""Up to two to the power of this, offsets around every power of two are tried in every mode."""


MIDDLE_BITS = 16
"""Up to two to the power of this, offsets half-way to the next power are tried, too."""


def far_bits(design: Any) -> int:
    """Up to two to the power of this, the campaign has an error after every power of two."""
    return 20 if design.lanes >= 4 else 19


def validator_campaign(design: Any, seed: int) -> list[Part]:
    """What all components with lanes have, and texts that are right up to a far offset."""
    longest = design.profile.longest_form
    characters = b"".join(encode_as(form_maximum(n) + 1) for n in range(1, longest))

    def wrong_at(offset: int) -> Piece:
        return right_text(offset, characters, b"A") + b"\xffA", True

    # A short text after each far one: an offset that is not cleared shows itself there.
    far = (
        wrong_at(size)
        for bit in range(CLOSE_BITS + 1, far_bits(design) + 1)
        for size in (1 << bit, *[3 << bit - 1] * (bit <= MIDDLE_BITS), 0)
    )
    close = (wrong_at((1 << bit) + n) for bit in range(CLOSE_BITS + 1) for n in (-1, 0, 1))
    return [
        *campaign(design, seed),
        made_part("first errors around powers of two", design, close),
        made_part("first errors far away", design, far, is_long=True),
    ]


class VerdictCoverage(BeatCoverage):
    """Also texts: in ``verdicts`` by kind, those with an error by its lane in ``wrong``."""

    def __init__(self, engine: Any) -> None:
        super().__init__(engine)
        texts = [*boundary_encodings(engine.profile), *beginnings(engine.profile)]
        kinds = {token.kind for text in texts for token in decode(text, engine.profile)}
        kinds |= {Kind.NONE}
        self.verdicts = self.points("verdict", (k.label if k in kinds else "" for k in Kind))
        self.wrong = self.points("first error", (f"lane {lane}" for lane in range(self.lanes)))
        width = engine.interface.pin("o.offset").width
        far = far_bits(engine.design)
        self._offsets = Bins((0, *(1 << n for n in range(min(width, far + 1)))))
        self._errors_at = self.points("first error at byte", self._offsets.labels)
        self._highest = (1 << width) - 1
        self._saturated = self.points("offset", ["that is the highest"] if width <= far else [])
        self._beats = Bins(tuple(n for n in BEATS.cuts if n * self.lanes <= self._highest))
        self._errors_after = self.points("first error after beats", self._beats.labels)
        empty = "well-formed", "ill-formed"
        self._after_empty = self.points("no byte in mid-text, and the text is", empty)

    def begin_again(self) -> None:
        super().begin_again()
        self._empty_beats = 0  # of the text that has not ended, at the output

    def in_flight(self, trace: Trace, before: int) -> int:
        accepted, taken = map(np.count_nonzero, (trace.is_accepted, trace.is_taken))
        return before + int(accepted) - int(taken)

    def count_life(self, trace: Trace) -> None:
        super().count_life(trace)
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


def _parameters(design: Any) -> tuple[Any, int, int]:
    return design.profile, design.lanes, design.offset_width


VALIDATOR = register(
    BeatComponent(
        name="validator",
        make=Validator,
        model=lambda design: ValidatorModel(*_parameters(design)),
        timing=lambda design: TIMING,
        campaign=validator_campaign,
        coverage=VerdictCoverage,
        show_result=show_verdict,
        lanes=(
            Lane("o.data", lambda beat: show_beat(beat, "o")),
            Lane("verdict", verdict),
        ),
        text=verdict,
    )
)
