"""The transcoder's coverage."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from utf8_hdl import ErrorKind, Profile

from ..campaign import class_name
from ..coverage import Bins, Coverage
from ..golden.transcoder import (
    BIG_ENDIAN,
    BOM,
    FIRST_OF_PAIRS,
    HIGH,
    LOW,
    UNIT_BYTES,
    UTF_8,
    UTF_16,
)
from ..trace import Columns, Trace
from .beat_campaign import far_bits
from .beat_coverage import BEATS, BeatCoverage, powers_of_two
from .transcoder_campaign import Units

OUT_BEATS = Bins((1, 2, 4, 8, 16, 32, 64, 128))
"""Bins of coverage for the number of beats of an output text."""


class TranscoderCoverage(BeatCoverage):
    """Units by class and by index in the beat; in UTF-8, bytes by class and by lane.

    ``errors`` counts texts with and without an error. ``rests`` counts texts by the number of units
    in their last output beat. ``written`` counts output units by class.
    """

    def __init__(self, engine: Any) -> None:
        design = engine.design
        units = Units(design)
        self._size = units.size
        orders = (scheme in BIG_ENDIAN for scheme in (design.source, design.target))
        self._source_order, self._target_order = (">" if is_big else "<" for is_big in orders)
        if self._size == 1:
            super().__init__(engine)
        else:
            super().__init__(engine, units.classes, design.lanes // self._size)
            self.column = self.title = "unit index"
        self._out_size = UNIT_BYTES[design.target]
        self.errors = self.points("text", ["without an error", "with an error"])
        self._reports = design.errors
        labels = (kind.label if kind in units.kinds else "" for kind in ErrorKind)
        self._kinds = self._of_reports("first error", labels)
        bits = min(far_bits(design) + 1, design.report_width)
        unit_bits = self._size.bit_length() - 1
        self._offsets = powers_of_two(range(unit_bits, bits))
        self._numbers = powers_of_two(range(bits - unit_bits if units.errors else 1))
        self._first_at = self._of_reports("first error at byte", self._offsets.labels)
        self._many = self._of_reports("errors in a text", self._numbers.labels)
        rests = range(design.out_lanes // self._out_size + 1)
        self.rests = self.points("last output", (f"{count} units" for count in rests))
        self.written_classes = _written(self._out_size, design.profile)
        self.written = self.points("output", map(class_name, self.written_classes))
        mark = np.frombuffer(units.text(BOM), dtype=np.uint8)
        self._mark = mark if len(mark) <= design.lanes else None
        self._marks = self.points(
            "byte order mark after beats", BEATS.labels if self._mark is not None else []
        )
        self._errors_after = self.points("error in a text of beats", OUT_BEATS.labels)
        self._first_written = np.array([members.start for members in self.written_classes])

    in_flight = Coverage.in_flight

    def accepted(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        if self._size == 1:
            return super().accepted(items)
        units, is_whole = self._units_in(items)
        return self.rows(units[is_whole]), np.count_nonzero(is_whole, axis=1)

    def met(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        if self._size == 1:
            return super().met(trace)
        items = trace.accepted()
        _, is_whole = self._units_in(items)
        indices = np.nonzero(is_whole)[1]
        return self.accepted(items)[0], self._column_of_lane.take(indices)

    def _units_in(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        return _units(items["i.data"], items["i.keep"], f"{self._source_order}u{self._size}")

    def count_between_resets(self, trace: Trace) -> None:
        super().count_between_resets(trace)
        taken = trace.taken()
        unit = f"{self._target_order}u{self._out_size}"
        units, is_complete = _units(taken["o.data"], taken["o.keep"], unit)
        rows = np.searchsorted(self._first_written, units[is_complete], "right") - 1
        self.written += np.bincount(rows, minlength=len(self.written))
        is_last = taken["o.last"] != 0
        self.errors += np.bincount(taken["o.error"][is_last], minlength=2)
        if self._reports:
            self._count_reports(taken, is_last)
        counts = np.count_nonzero(is_complete[is_last], axis=1)
        self.rests += np.bincount(counts, minlength=len(self.rests))

        numbers = self._output_beats.numbers(is_last)
        with_error = numbers[is_last & (taken["o.error"] != 0)] + 1
        self._errors_after += OUT_BEATS.counts(with_error)

    def _of_reports(self, name: str, labels: Iterable[str]) -> np.ndarray:
        """Add cover points, if the transcoder reports errors."""
        return self.points(name, labels if self._reports else ())

    def _count_reports(self, taken: Columns, is_last: np.ndarray) -> None:
        errors = taken["o.error"] != 0
        self._kinds += np.bincount(taken["o.kind"][errors], minlength=len(self._kinds))
        self._first_at += self._offsets.counts(taken["o.offset"][errors])
        self._many += self._numbers.counts(taken["o.count"][is_last])

    def count_beats(self, items: Columns, numbers: np.ndarray) -> None:
        if self._mark is not None:
            data, kept = (items[pin][:, : len(self._mark)] for pin in ("i.data", "i.keep"))
            is_mark = np.logical_and.reduce((data == self._mark) & (kept != 0), axis=1)
            self._marks += BEATS.counts(numbers[is_mark])


def _units(data: np.ndarray, keep: np.ndarray, unit: str) -> tuple[np.ndarray, np.ndarray]:
    """Units by beat and index, with the numpy type ``unit``, and a mask of the complete units."""
    size = np.dtype(unit).itemsize
    shape = len(data), data.shape[1] // size
    units = np.ascontiguousarray(data).ravel().view(unit)
    return units.reshape(shape), np.logical_and.reduce(keep.reshape(*shape, size), axis=2)


def _written(size: int, profile: Profile) -> list[range]:
    """The possible output units of ``size`` bytes, divided where their meaning changes."""
    highest = profile.highest
    if size == UTF_8:
        classes = [range(0x80), range(0x80, 0xC0), range(0xC2, 0xE0), range(0xE0, 0xF0)]
        return classes + [range(0xF0, 0xF5)] * (highest >= FIRST_OF_PAIRS)
    if size == UTF_16:
        surrogates = [HIGH, LOW] * (highest >= FIRST_OF_PAIRS or profile.accept_surrogates)
        return [range(HIGH.start), *surrogates, range(LOW.stop, FIRST_OF_PAIRS)]
    return [range(FIRST_OF_PAIRS), range(FIRST_OF_PAIRS, highest + 1)][: 1 + (highest > 0xFFFF)]
