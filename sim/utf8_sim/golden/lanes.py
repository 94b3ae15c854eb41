"""The golden model of components with lanes: that of one byte at a time, given beats of bytes.

A lane without ``keep`` is no byte. It ends the sequence before it, as the end of a text does: so a
byte 00 is put there, and behind the last lane of a text, and its own token is left out. The token
of a sequence belongs to the beat of the lane that decides it: that of its last byte, or if it is
cut, the one after that. Its *slot* is the number of the lane of its last byte, counted from 1; it
is 0 if that byte was in the beat before.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from utf8_hdl import Profile

from ..trace import Columns, levels_of
from .arrays import ArrayDecoder, Outputs
from .text import DecoderTransducer, Output

CODE_POINT, ERROR, KIND, LENGTH = range(4)
"""Fields of a slot."""

Slot = tuple[int, tuple[Any, ...]]
"""The number of a slot, and the fields of its token."""


class Lanes:
    """Beats to tokens."""

    def __init__(self, profile: Profile) -> None:
        self._bytes = DecoderTransducer(profile)

    def tokens(self, data: Any, keep: Any, last: int) -> Iterator[Slot]:
        """The tokens that a beat brings about, in order."""
        lanes = list(zip(levels_of(data), levels_of(keep), strict=True))
        end = [(0, 0)] if last else []
        for number, (byte, kept) in enumerate(lanes + end, start=1):
            for payload, cut in self._bytes.feed(byte if kept else 0, 0):
                if kept or cut:
                    yield number - cut, payload[:-1]


class SlotsTransducer:
    """Beats to slots of tokens; a :class:`~utf8_sim.golden.text.Transducer`."""

    def __init__(self, profile: Profile, lanes: int) -> None:
        self._lanes = Lanes(profile)
        self._empty: list[tuple[Any, ...]] = [(0, 0, 0, 0)] * (lanes + 1)

    def feed(self, *item: Any) -> list[Output]:
        slots = self._empty.copy()
        for number, fields in self._lanes.tokens(*item):
            slots[number] = fields
        return [Output((*map(list, zip(*slots, strict=True)), item[-1]))]


class VerdictTransducer:
    """Beats to the same beats, with a verdict where a text ends; a transducer."""

    def __init__(self, profile: Profile, lanes: int, offset_width: int = 32) -> None:
        self._lanes = Lanes(profile)
        self._lane_count = lanes
        self._highest_offset = 2**offset_width - 1
        self._begin_text()

    def _begin_text(self) -> None:
        self._lanes_before = 0
        self._verdict = 0, 0, 0

    def feed(self, *item: Any) -> list[Output]:
        for number, fields in self._lanes.tokens(*item):
            if fields[ERROR] and not self._verdict[0]:
                offset = self._lanes_before + number - fields[LENGTH]
                self._verdict = 1, fields[KIND], min(offset, self._highest_offset)
        self._lanes_before += self._lane_count
        if not item[-1]:
            return [Output((*item, 0, 0, 0))]
        verdict = self._verdict
        self._begin_text()
        return [Output((*item, *verdict))]


class ArrayLanes:
    """Many beats to tokens, by whole arrays."""

    def __init__(self, profile: Profile, lanes: int) -> None:
        self._bytes = ArrayDecoder(profile)
        self._lanes = lanes

    def tokens(self, items: Columns) -> tuple[np.ndarray, np.ndarray, Columns]:
        """For each token the beat that brings it about, its slot, and its fields."""
        kept = items["i.keep"].ravel() != 0
        lasts = np.zeros((len(items["i.last"]), self._lanes), dtype=np.uint8)
        lasts[:, -1] = items["i.last"]  # as good as a byte 00 behind it
        data = np.where(kept, items["i.data"].ravel(), np.uint8(0))
        fields, lane, cut = self._bytes.feed({"i.data": data, "i.last": lasts.ravel()})
        del fields["o.last"]
        real = cut | kept.take(lane)
        lane, cut = lane.compress(real), cut.compress(real)
        beat = lane // self._lanes
        slot = lane - beat * self._lanes + 1 - cut
        return beat, slot, {name: column.compress(real) for name, column in fields.items()}


class ArraySlots:
    """Beats to slots of tokens; an :class:`~utf8_sim.golden.arrays.ArrayTransducer`."""

    def __init__(self, profile: Profile, lanes: int) -> None:
        self._lanes = ArrayLanes(profile, lanes)
        self._slots = lanes + 1

    def feed(self, items: Columns) -> Outputs:
        beat, slot, fields = self._lanes.tokens(items)
        place, columns = beat * self._slots + slot, {}
        beats = len(items["i.last"])
        for name, column in fields.items():
            slots = np.zeros(beats * self._slots, dtype=column.dtype)
            slots[place] = column
            columns[name] = slots.reshape(beats, self._slots)
        return _one_for_one(columns | {"o.last": items["i.last"]}, beats)


class ArrayVerdicts:
    """Beats to the same beats, with verdicts; an array transducer."""

    def __init__(self, profile: Profile, lanes: int, offset_width: int = 32) -> None:
        self._lanes = ArrayLanes(profile, lanes)
        self._lane_count = lanes
        self._highest_offset = 2**offset_width - 1
        self._dtypes = {"kind": np.uint8, "offset": np.uint8 if offset_width <= 8 else np.uint32}
        self._lanes_before = 0
        """Lanes of the text that has not ended."""
        self._error = np.zeros((0, 2), dtype=np.int64)
        """The kind and the offset of its first error, if there is one."""

    def feed(self, items: Columns) -> Outputs:
        beats, (ends,) = len(items["i.last"]), np.nonzero(items["i.last"])
        begins = np.append(-self._lanes_before, (ends + 1) * self._lane_count)
        texts, errors = self._first_errors(items, ends, begins)
        self._lanes_before = beats * self._lane_count - int(begins[-1])
        self._error = errors[texts == len(ends)]

        columns = {name.replace("i.", "o."): column for name, column in items.items()}
        over = texts < len(ends)
        where = ends.take(texts.compress(over))
        levels_of_pins = errors.compress(over, axis=0).T
        for (name, dtype), levels in zip(self._dtypes.items(), levels_of_pins, strict=True):
            verdicts = np.zeros(beats, dtype=dtype)
            verdicts[where] = levels
            columns[f"o.{name}"] = verdicts
        columns["o.error"] = (columns["o.kind"] != 0).view(np.uint8)
        return _one_for_one(columns, beats)

    def _first_errors(
        self, items: Columns, ends: np.ndarray, begins: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which texts have an error, by their number, and its kind and offset."""
        beat, slot, fields = self._lanes.tokens(items)
        (wrong,) = np.nonzero(fields["o.kind"])
        beat, slot, kind, length = (
            column.take(wrong) for column in (beat, slot, fields["o.kind"], fields["o.length"])
        )
        text = np.searchsorted(ends, beat)
        offset = beat * self._lane_count + slot - length - begins.take(text)
        errors = np.column_stack([kind, np.minimum(offset, self._highest_offset)])
        text = np.append(np.zeros(len(self._error), dtype=text.dtype), text)
        texts, first = np.unique(text, return_index=True)
        return texts, np.concatenate([self._error, errors]).take(first, axis=0)


def _one_for_one(columns: Columns, beats: int) -> Outputs:
    return Outputs(columns, np.arange(beats), np.zeros(beats, dtype=bool))
