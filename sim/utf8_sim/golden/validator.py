"""The golden model of the validator: beats to the same beats, with a verdict on each text."""

import numpy as np

from utf8_hdl import Profile

from ..trace import Columns
from .decoder import (
    CUT,
    KIND,
    LENGTH,
    NONE,
    OWN,
    PENDING,
    STATE_SIZE,
    TWO_TOKENS,
    Rules,
    decode_byte,
)
from .kernels import integers, kernel
from .model import Outputs, one_for_one

BYTES_BEFORE, FIRST_KIND, FIRST_OFFSET = range(3)
"""What is known of a text: lanes of the beats before, and its first error."""


@kernel
def validate(rules, state, two, text, lanes, highest, begins, data, keep, last, kind, offset):  # type: ignore[no-untyped-def]
    """Fill in the kind and the offset of the first error of each text, at its last beat.

    A lane without ``keep`` is as in :func:`utf8_sim.golden.decoder.decode_beats`.
    """
    for beat in range(len(last)):
        if begins[beat]:
            state[PENDING] = text[BYTES_BEFORE] = text[FIRST_KIND] = text[FIRST_OFFSET] = 0
        for lane in range(lanes + last[beat]):
            at = beat * lanes + lane
            kept = lane < lanes and keep[at]
            decode_byte(state, data[at] if kept else 0, 0, rules, two)
            if text[FIRST_KIND] == NONE and two[CUT + LENGTH] and two[CUT + KIND] != NONE:
                text[FIRST_KIND] = two[CUT + KIND]
                text[FIRST_OFFSET] = text[BYTES_BEFORE] + lane - two[CUT + LENGTH]
            if text[FIRST_KIND] == NONE and kept and two[OWN + LENGTH] and two[OWN + KIND] != NONE:
                text[FIRST_KIND] = two[OWN + KIND]
                text[FIRST_OFFSET] = text[BYTES_BEFORE] + lane + 1 - two[OWN + LENGTH]
        text[BYTES_BEFORE] += lanes
        kind[beat] = offset[beat] = 0
        if last[beat]:
            kind[beat] = text[FIRST_KIND]
            offset[beat] = min(text[FIRST_OFFSET], highest)
            text[BYTES_BEFORE] = text[FIRST_KIND] = text[FIRST_OFFSET] = 0


class ValidatorModel:
    """Beats to the same beats, with a verdict where a text ends."""

    def __init__(self, profile: Profile, lanes: int, offset_width: int = 32) -> None:
        self._rules = Rules.of(profile)
        self._lanes = lanes
        self._highest_offset = 2**offset_width - 1
        self._offsets = np.uint8 if offset_width <= 8 else np.uint32
        self._state = tuple(np.zeros(size, dtype=np.int64) for size in (STATE_SIZE, TWO_TOKENS, 3))

    def feed(self, items: Columns, begins: np.ndarray) -> Outputs:
        beats = len(begins)
        kind, offset = np.empty((2, beats), dtype=np.int64)
        given = [integers(items[name]) for name in ("i.data", "i.keep", "i.last")]
        validate.run(
            beats * self._lanes,
            *(self._rules, *self._state, self._lanes, self._highest_offset),
            *(integers(begins), *given, kind, offset),
        )
        return one_for_one(
            {
                **{f"o.{name}": items[f"i.{name}"] for name in ("data", "keep", "last")},
                "o.error": (kind != NONE).astype(np.uint8),
                "o.kind": kind.astype(np.uint8),
                "o.offset": offset.astype(self._offsets),
            }
        )
