"""The golden model of what makes beats dense: values in any of their lanes come out side by side.

A full beat comes late: only when another value is there that goes behind it, or when the text ends.
So a text's last beat is only empty if the text is. Where a lane has no value, it is 0 here; in an
output that is a don't care.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..trace import Columns, levels_of
from .arrays import Outputs
from .text import Output


class Packer:
    """Values to the dense beats that they fill."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._values: list[Any] = []

    def full(self, values: Iterable[Any]) -> list[list[Any]]:
        """Take the values of an input, no more than there are lanes: the full beat, if any."""
        self._values += values
        if len(self._values) <= self._lanes:
            return []
        full, self._values = self._values[: self._lanes], self._values[self._lanes :]
        return [full]

    def rest(self) -> list[Any]:
        """The last beat of a text. Another text begins."""
        rest, self._values = self._values, []
        return rest


def beat_of(values: Sequence[Any], lanes: int) -> tuple[list[Any], list[int]]:
    """Data and keep of a dense beat."""
    empty = lanes - len(values)
    return [*values, *[0] * empty], [1] * len(values) + [0] * empty


class CompactorTransducer:
    """Sparse beats to dense beats; a :class:`~utf8_sim.golden.text.Transducer`.

    A value is a tuple of its parts; it has several if it is too wide for numpy.
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._packer = Packer(lanes)

    def feed(self, *item: Any) -> list[Output]:
        data, keep, last, *user = item
        parts = levels_of(data)
        width = len(parts) // self._lanes
        values = [tuple(parts[at : at + width]) for at in range(0, len(parts), width)]
        kept = [value for value, is_kept in zip(values, levels_of(keep), strict=True) if is_kept]
        beats = [(beat, 0) for beat in self._packer.full(kept)]
        if last:
            beats.append((self._packer.rest(), 1))
        return [Output(self._payload(beat, width, is_last, user)) for beat, is_last in beats]

    def _payload(self, beat: list[Any], width: int, last: int, user: list[Any]) -> tuple[Any, ...]:
        values, keep = beat_of(beat, self._lanes)
        data = [part for value in values for part in value or [0] * width]
        return (
            _level(data),
            _level(keep),
            last,
            *(level if last else _zero(level) for level in user),
        )


def _level(levels: list[int]) -> Any:
    """The level of an array; of one with a single lane it is a number."""
    return levels if len(levels) > 1 else levels[0]


def _zero(level: Any) -> Any:
    return [0] * len(level) if isinstance(level, Sequence) else 0


class Dense(NamedTuple):
    """Dense beats."""

    data: np.ndarray
    """Values by beat and lane."""
    keep: np.ndarray
    last: np.ndarray
    brought_by: np.ndarray
    """For each the index of the input that brings it about."""


class ArrayPacker:
    """Values to the dense beats that they fill, by whole arrays."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._waiting: np.ndarray | None = None
        """Values of a text that has not ended: no more than there are lanes."""

    def feed(self, values: np.ndarray, counts: np.ndarray, lasts: np.ndarray) -> Dense:
        """What some inputs bring about, which have so many of the values each."""
        lanes, is_last = self._lanes, lasts != 0
        waiting = values[:0] if self._waiting is None else self._waiting
        nothing = np.zeros((lanes, *values.shape[1:]), dtype=values.dtype)
        values = np.concatenate([waiting, values, nothing])
        # Where the values of each input end, and where those of its text begin.
        stop = np.cumsum(counts, dtype=np.int64) + len(waiting)
        text = np.cumsum(is_last, dtype=np.int64) - is_last
        begin = np.append(0, stop.compress(is_last)).take(text)
        # How many full beats its text has had after it, and before it.
        full = np.maximum(stop - begin - 1, 0) // lanes
        full_before = np.append(0, full * ~is_last)[:-1]
        outputs = (full > full_before) + is_last.astype(np.int64)

        brought_by = np.repeat(np.arange(len(outputs)), outputs)
        last = np.zeros(len(brought_by), dtype=bool)
        last[np.cumsum(outputs).compress(is_last) - 1] = True
        number = np.where(last, full.take(brought_by), full_before.take(brought_by))
        first = begin.take(brought_by) + lanes * number
        size = np.where(last, stop.take(brought_by) - first, lanes)
        keep = np.arange(lanes) < size[:, np.newaxis]
        from_each = np.moveaxis(sliding_window_view(values, lanes, axis=0), -1, 1)
        data = from_each[first]
        data[~keep] = 0
        if len(stop):
            rest = stop[-1] if is_last[-1] else begin[-1] + lanes * full[-1]
            self._waiting = values[rest:-lanes]
        return Dense(data, keep.view(np.uint8), last.view(np.uint8), brought_by)


class ArrayCompactor:
    """Sparse beats to dense beats; an :class:`~utf8_sim.golden.arrays.ArrayTransducer`.

    Parameters
    ----------
    lanes : int
        How many values a beat may have.
    parts : int
        Of how many numbers a value consists.
    """

    def __init__(self, lanes: int, parts: int = 1) -> None:
        self._lanes, self._parts = lanes, parts
        self._packer = ArrayPacker(lanes)

    def feed(self, items: Columns) -> Outputs:
        beats = len(items["i.last"])
        data = items["i.data"].reshape(beats, self._lanes, self._parts)
        kept = items["i.keep"].reshape(beats, self._lanes) != 0
        counts = np.count_nonzero(kept, axis=1)
        dense = self._packer.feed(data[kept], counts, items["i.last"])
        columns = {
            "o.data": _column(dense.data.reshape(len(dense.last), self._lanes * self._parts)),
            "o.keep": _column(dense.keep),
            "o.last": dense.last,
        }
        if "i.user" in items:
            user = items["i.user"].take(dense.brought_by, axis=0)
            user[dense.last == 0] = 0
            columns["o.user"] = user
        return Outputs(columns, dense.brought_by, np.zeros(len(dense.last), dtype=bool))


def _column(levels: np.ndarray) -> np.ndarray:
    """The column of an array's levels; that of one with a single lane has one axis."""
    return levels[:, 0] if levels.shape[1] == 1 else levels
