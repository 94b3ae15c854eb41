"""The golden model of the validator: beats to the same beats, with a verdict on each text."""

import numpy as np

from utf8_hdl import Profile

from ..trace import Columns
from .decoder import CUT, KIND, LENGTH, NONE, OWN, PENDING, Reader, decode_lane
from .kernels import integers, kernel
from .model import Outputs, one_for_one

BYTES_BEFORE, FIRST_KIND, FIRST_OFFSET = range(3)
"""Indices of the state of a text: lanes in earlier beats; kind and offset of its first error."""


@kernel
def validate(rules, state, two, text, lanes, highest, begins, data, keep, last, kind, offset):  # type: ignore[no-untyped-def]
    """Fill in the kind and the offset of the first error of each text, in its last beat.

    The last lane of a text is followed by an extra lane without ``keep``.
    """
    for beat in range(len(last)):
        if begins[beat]:
            state[PENDING] = text[BYTES_BEFORE] = text[FIRST_KIND] = text[FIRST_OFFSET] = 0
        for lane in range(lanes + last[beat]):
            at = beat * lanes + lane
            kept = lane < lanes and keep[at]
            decode_lane(state, data[at] if kept else 0, kept, rules, two)
            for end, token in ((lane, CUT), (lane + 1, OWN)):
                is_error = two[token + LENGTH] and two[token + KIND] != NONE
                if is_error and text[FIRST_KIND] == NONE:
                    text[FIRST_KIND] = two[token + KIND]
                    text[FIRST_OFFSET] = text[BYTES_BEFORE] + end - two[token + LENGTH]
        text[BYTES_BEFORE] += lanes
        kind[beat] = offset[beat] = 0
        if last[beat]:
            kind[beat] = text[FIRST_KIND]
            offset[beat] = min(text[FIRST_OFFSET], highest)
            text[BYTES_BEFORE] = text[FIRST_KIND] = text[FIRST_OFFSET] = 0


class ValidatorModel(Reader):
    """Beats to the same beats, with a verdict at the end of each text."""

    def __init__(self, profile: Profile, lanes: int, offset_width: int = 32) -> None:
        super().__init__(profile)
        self._lanes = lanes
        self._highest_offset = 2**offset_width - 1
        self._offsets = np.uint8 if offset_width <= 8 else np.uint32
        self._text = np.zeros(3, dtype=np.int64)

    def feed(self, items: Columns, begins: np.ndarray) -> Outputs:
        beats = len(begins)
        kind, offset = np.empty((2, beats), dtype=np.int64)
        given = [integers(items[name]) for name in ("i.data", "i.keep", "i.last")]
        validate.run(
            beats * self._lanes,
            *(self._rules, self._state, self._two, self._text, self._lanes, self._highest_offset),
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
