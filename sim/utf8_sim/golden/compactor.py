"""The golden model of the compactor, which packs values from any lanes into dense beats.

A full beat is output only when another value follows it, or when the text ends. The last beat of a
text is therefore empty only if the text is empty. In this model, a lane without a value is 0; at
the output it is a don't care.
"""

from typing import NamedTuple

import numpy as np

from ..trace import Columns
from .kernels import integers, kernel
from .model import Outputs


class Dense(NamedTuple):
    """Dense beats, one after the other."""

    data: np.ndarray
    """The integers of all values, in the order of beats and lanes."""
    keep: np.ndarray
    last: np.ndarray
    brought_by: np.ndarray
    """For each beat, the index of the input that produces it."""
    cut: np.ndarray
    kind: np.ndarray
    """For a transcoder, in the last beat of a text: ``kind`` of its first error, or 0; ``offset``
    of that error; number of ``errors``."""
    offset: np.ndarray
    errors: np.ndarray

    @classmethod
    def of(cls, beats: int, lanes: int, parts: int = 1) -> "Dense":
        """Allocate arrays for a number of beats."""
        sizes = beats * lanes * parts, beats * lanes, *[beats] * 6
        return cls(*(np.zeros(size, dtype=np.int64) for size in sizes))


@kernel
def emit(buffer, filled, lanes, parts, dense, count):  # type: ignore[no-untyped-def]
    """Move up to ``lanes`` values from a buffer into a beat; return the number left in it."""
    size = min(filled, lanes)
    for number in range(size * parts):
        dense.data[count * lanes * parts + number] = buffer[number]
    for lane in range(size):
        dense.keep[count * lanes + lane] = 1
    for number in range((filled - size) * parts):
        buffer[number] = buffer[size * parts + number]
    return filled - size


@kernel
def compact_beats(lanes, parts, buffer, state, begins, data, keep, last, dense):  # type: ignore[no-untyped-def]
    """Fill in the dense beats; return their number. ``state`` has the number of buffered values."""
    count, filled = 0, state[0]
    for beat in range(len(last)):
        if begins[beat]:
            filled = 0
        for lane in range(beat * lanes, (beat + 1) * lanes):
            if keep[lane]:
                for part in range(parts):
                    buffer[filled * parts + part] = data[lane * parts + part]
                filled += 1
        if filled > lanes:
            filled = emit(buffer, filled, lanes, parts, dense, count)
            dense.brought_by[count] = beat
            count += 1
        if last[beat]:
            filled = emit(buffer, filled, lanes, parts, dense, count)
            dense.brought_by[count], dense.last[count] = beat, 1
            count += 1
    state[0] = filled
    return count


class CompactorModel:
    """Sparse beats to dense beats. A value consists of ``parts`` integers."""

    def __init__(self, lanes: int, parts: int = 1) -> None:
        self._lanes, self._parts = lanes, parts
        self._buffer = np.zeros(2 * lanes * parts, dtype=np.int64)
        self._state = np.zeros(1, dtype=np.int64)

    def feed(self, items: Columns, begins: np.ndarray) -> Outputs:
        beats, lanes, parts = len(begins), self._lanes, self._parts
        dense = Dense.of(2 * beats, lanes, parts)
        given = [integers(items[name]) for name in ("i.data", "i.keep", "i.last")]
        count = compact_beats.run(
            beats * lanes,
            *(lanes, parts, self._buffer, self._state, integers(begins), *given, dense),
        )
        columns = dense_columns(dense, count, (lanes * parts, lanes), items["i.data"].dtype)
        if "i.user" in items:
            user = items["i.user"].take(dense.brought_by[:count], axis=0)
            user[dense.last[:count] == 0] = 0
            columns["o.user"] = user
        return Outputs(columns, dense.brought_by[:count], dense.cut[:count])


def dense_columns(dense: Dense, count: int, widths: tuple[int, int], dtype: np.dtype) -> Columns:
    """Columns of data, keep and ``last`` for the first ``count`` beats.

    ``widths`` are the numbers of elements of data and keep in a beat.
    """
    columns = {"o.last": dense.last[:count].astype(np.uint8)}
    types = dtype, np.dtype(np.uint8)
    for name, width, kind in zip(("data", "keep"), widths, types, strict=True):
        column = getattr(dense, name)[: count * width].astype(kind)
        columns[f"o.{name}"] = column.reshape(count, width) if width > 1 else column
    return columns
