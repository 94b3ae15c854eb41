"""The coverage of the components with lanes."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..campaign import byte_classes, class_name
from ..coverage import MAX_IDLE, Bins, Coverage
from ..stimulus import LAST
from ..trace import Columns, Trace, expand_lane_mask

MAX_COLUMNS = 8
"""Maximum number of columns of lanes in coverage. With more lanes, the middle ones share one."""

BEATS = Bins((0, 1, 2, 4, 8, 16, 32, 64, 128, 255, 256, 257))
"""Bins of coverage for the number of beats before an event in a text."""

KEEPS = "of no lane", "of all lanes", "of the first lanes", "with holes"
"""Kinds of ``keep``; with few lanes, only the first ones exist."""

SIDES = 3
"""Number of lanes at each end that always have their own columns in coverage."""


def powers_of_two(bits: Iterable[int]) -> Bins:
    """A bin for zero, and bins that begin with powers of two."""
    return Bins((0, *(1 << bit for bit in bits)))


def valid_lanes(items: Columns) -> np.ndarray:
    """Mask of the valid values in ``i.data``."""
    return expand_lane_mask(items["i.keep"] != 0, items["i.data"])


def columns_of(count: int) -> tuple[list[str], np.ndarray]:
    """Names of the columns for the numbers below ``count``, and the column of each number.

    Beyond `MAX_COLUMNS`, the numbers in the middle share a column.
    """
    columns, column_of = list(map(str, range(count))), np.arange(count)
    if count > MAX_COLUMNS:
        columns[SIDES:-SIDES] = [f"{SIDES}..{count - SIDES - 1}"]
        middle = column_of[SIDES:-SIDES]
        column_of[-SIDES:] -= len(middle) - 1
        middle[:] = SIDES
    return columns, column_of


class BeatCoverage(Coverage):
    """Bytes by class and by lane; in ``ends``, texts by the number of bytes in their last beat.

    It also counts bytes in lanes without ``keep``, and the beats of a text before its first broken
    rule.
    """

    column = "lane"
    title = "lane"

    def __init__(self, engine: Any, classes: list[range] | None = None, units: int = 0) -> None:
        self.lanes = engine.design.lanes
        columns, self._column_of_lane = columns_of(units or self.lanes)
        super().__init__(engine, classes or byte_classes(engine.profile), columns)
        self.ends = self.points("end of a text", bytes_of_a_beat(self.lanes))
        self._idle_keeps = self.points("keep on the idle bus", kinds_of_keep(self.lanes))
        self._hidden = self.points("lane without a byte has", map(class_name, self.classes))
        self._broken = self.points("first broken rule after beats", BEATS.labels)
        self._empty = self.points("no byte in mid-text after beats", BEATS.labels)

    def reset(self) -> None:
        super().reset()
        self._input_beats, self._output_beats = TextBeats(), TextBeats()
        self._is_broken = False

    def in_flight(self, trace: Trace, before: int) -> int:
        """Number of beats in flight; by default, each input beat has one output beat."""
        accepted, taken = map(np.count_nonzero, (trace.is_accepted, trace.is_taken))
        return before + int(accepted) - int(taken)

    def count_idle_values(self, items: Columns) -> None:
        super().count_idle_values(items)
        self._idle_keeps += count_keeps(items["i.keep"], self.lanes)

    def count_between_resets(self, trace: Trace) -> None:
        super().count_between_resets(trace)
        items = trace.accepted()
        keep, last = items["i.keep"].reshape(-1, self.lanes), items[LAST] != 0
        counts = np.add.reduce(keep, axis=1, dtype=np.intp)
        self.ends += np.bincount(counts[last], minlength=len(self.ends))
        numbers = self._input_beats.numbers(last)
        self.count_beats(items, numbers)
        (partial,) = np.nonzero(counts < self.lanes)
        kinds = keep_kinds(keep[partial])
        is_wrong = (kinds == KEEPS.index("with holes")) | ~last[partial]
        self._empty += BEATS.counts(numbers[partial[(kinds == 0) & ~last[partial]]])
        self._count_broken(partial[is_wrong], numbers, last)
        some = partial[:MAX_IDLE]
        of_some = {pin: column[some] for pin, column in items.items()}
        rows, _ = self.accepted(of_some | {"i.keep": 1 - of_some["i.keep"]})
        self._hidden += np.bincount(rows, minlength=len(self._hidden))

    def _count_broken(self, wrong: np.ndarray, numbers: np.ndarray, last: np.ndarray) -> None:
        """Count, for each text, the first of its ``wrong`` beats, which break the rules."""
        text = np.append(0, np.cumsum(last))
        first = np.diff(text[wrong], prepend=0 if self._is_broken else -1) != 0
        self._broken += BEATS.counts(numbers[wrong[first]])
        ended = bool(last.any())
        in_last = len(wrong) > 0 and text[wrong[-1]] == text[-1]
        self._is_broken = bool(in_last or (self._is_broken and not ended))

    def count_beats(self, items: Columns, numbers: np.ndarray) -> None:
        """Count other properties of input beats, given their numbers in their texts."""

    def met(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        items = trace.accepted()
        values, _ = self.engine.component.values(items)
        lane = np.nonzero(valid_lanes(items).reshape(-1, self.lanes))[1]
        return self.rows(values), self._column_of_lane.take(lane)


def bytes_of_a_beat(lanes: int) -> list[str]:
    """Labels for the number of bytes in a beat."""
    return [f"{count} bytes of a beat" for count in range(lanes + 1)]


def keep_kinds(keep: np.ndarray) -> np.ndarray:
    """The kind of each ``keep``, as an index of `KEEPS`."""
    lanes = keep.shape[1]
    counts = np.add.reduce(keep, axis=1, dtype=np.intp)
    has_hole = np.logical_or.reduce(keep[:, 1:] > keep[:, :-1], axis=1)
    return np.select([counts == 0, counts == lanes, ~has_hole], [0, 1, 2], 3)


def kinds_of_keep(lanes: int) -> tuple[str, ...]:
    """The kinds of ``keep`` that exist with a number of lanes."""
    return KEEPS[: 1 + min(lanes, 3)]


def count_keeps(keep: np.ndarray, lanes: int) -> np.ndarray:
    """The number of beats with each kind of ``keep``."""
    kinds = keep_kinds(keep.reshape(-1, lanes))
    return np.bincount(kinds, minlength=len(KEEPS))[: len(kinds_of_keep(lanes))]


class TextBeats:
    """Numbers the beats of each text, for texts that arrive in parts."""

    def __init__(self) -> None:
        self._before = 0
        """Number of beats of the unfinished text."""

    def numbers(self, last: np.ndarray) -> np.ndarray:
        """For each beat, the number of earlier beats of its text."""
        (ends,) = np.nonzero(last)
        begins = np.concatenate([[-self._before], ends + 1])
        sizes = np.diff(np.concatenate([[0], ends + 1, [len(last)]]))
        self._before = len(last) - int(begins[-1])
        return np.arange(len(last)) - np.repeat(begins, sizes)
