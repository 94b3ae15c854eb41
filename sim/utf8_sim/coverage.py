"""The coverage of a comparison: classes of inputs, cover points, and sequences of inputs."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .campaign import class_name
from .golden.timing import Compact, Credit, Elastic, Serial, Timing
from .stimulus import LAST
from .trace import RESET, Columns, Trace

IN_A_ROW = 4
"""Number of consecutive inputs in a sequence."""

MAX_IDLE = 1024
"""Maximum number of idle cycles of a window whose values are counted; fewer with lanes."""


class Bins(NamedTuple):
    """Bins of numbers, each from one of the ``cuts`` up to the next."""

    cuts: tuple[int, ...]

    @property
    def labels(self) -> list[str]:
        """A label for each bin: its numbers."""
        inner = [f"{a}..{b - 1}" if b > a + 1 else str(a) for a, b in pairwise(self.cuts)]
        return [*inner, f"{self.cuts[-1]} or more"]

    def counts(self, numbers: np.ndarray) -> np.ndarray:
        """Count the numbers in each bin."""
        cuts = np.array(self.cuts, dtype=np.int64)
        found = np.searchsorted(cuts, numbers.astype(np.int64), "right") - 1
        return np.bincount(found, minlength=len(cuts))


class Coverage:
    """Coverage of a comparison: how often an input of each class was accepted in each case.

    In this class there are two cases: an output was valid in the same cycle, or not. Components
    with a visible state machine override them. ``cells`` has a row for each class and a column for
    each case. ``column`` names a case in reports, and ``title`` describes the cases.
    ``waiting_inputs`` and ``waiting_outputs`` are the numbers of cycles in which an input or an
    output was stalled.

    ``counts`` has all counters by name; :meth:`merge` adds the counters of another object. Counters
    in ``labels`` are cover points, with a label for each number.
    """

    column = "output"
    title = "what happened at the output"

    def __init__(self, engine: Any, classes: list[range], columns: Sequence[str] = ()) -> None:
        self.engine = engine
        self.classes = classes
        self.columns = list(columns or ("output idle", "output taken"))
        self.counts: dict[str, np.ndarray] = {}
        self.labels: dict[str, list[str]] = {}
        self.cells = self.counter("cells", len(self.classes), len(self.columns))
        self._waiting = self.counter("waiting", 2)
        self._firsts = np.array([members.start for members in classes], dtype=np.uint64)
        self._fill = self.points("reset with in flight", in_flight_labels(engine.timing))
        self._at_reset = self.points("reset with", [f"{i}, {o}" for i in IS_INPUT for o in OUTPUT])
        states = engine.state_names
        self._state_at_reset = self.points("reset in state", states.values())
        self._number_of_state = {state: number for number, state in enumerate(states)}
        self._idle = self.points("value on the idle bus", map(class_name, classes))
        self._idle_change = self.points("idle bus", ["unchanged", "changed"])
        self.reset()

    def reset(self) -> None:
        """Reset was active: forget the inputs in flight."""
        self._in_flight = 0

    def points(self, name: str, labels: Iterable[str]) -> np.ndarray:
        """Add a counter of cover points, with a number for each label; return it."""
        self.labels[name] = list(labels)
        return self.counter(name, len(self.labels[name]))

    def counter(self, name: str, *shape: int) -> np.ndarray:
        """Add a counter, an array of zeros; return it."""
        self.counts[name] = np.zeros(shape, dtype=np.int64)
        return self.counts[name]

    def merge(self, counts: Mapping[str, np.ndarray]) -> None:
        """Add the counts of another object of the same class."""
        for name, numbers in counts.items():
            self.counts[name] += numbers

    @property
    def waiting_inputs(self) -> int:
        return int(self._waiting[0])

    @property
    def waiting_outputs(self) -> int:
        return int(self._waiting[1])

    def rows(self, values: np.ndarray) -> np.ndarray:
        """The row of each value: its class."""
        return np.searchsorted(self._firsts, values.astype(np.uint64), "right") - 1

    def accepted(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        """The row of each value in the inputs, and the number of values in each input."""
        values, counts = self.engine.component.values(items)
        return self.rows(values), counts

    def met(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        """The rows and columns of the inputs accepted in a window of a trace."""
        rows, counts = self.accepted(trace.accepted())
        return rows, np.repeat(trace["o.valid"].compress(trace.is_accepted), counts)

    def add(self, trace: Trace) -> None:
        """Count a window of a trace."""
        for segment in trace.split_at_resets():
            if len(segment):
                self.count_between_resets(segment)
                if segment[RESET][-1]:
                    self.reset()

    def count_between_resets(self, trace: Trace) -> None:
        """Count cycles in which reset is active in the last cycle at most."""
        count(self.cells, *self.met(trace))
        self._count_idle(trace)
        self._count_reset(trace)
        for number, side in enumerate("io"):
            stalled = trace[f"{side}.valid"] & ~trace[f"{side}.ready"]
            self._waiting[number] += np.count_nonzero(stalled)

    def _count_idle(self, trace: Trace) -> None:
        """Count the values on the input bus in idle cycles."""
        pins = self.engine.interface.inputs
        valid = trace["i.valid"]
        idle = np.flatnonzero(valid[1:] == 0)[: MAX_IDLE // len(pins[0].parts)] + 1
        if not len(idle):
            return
        items = {pin.name: trace[pin.name].take(idle, axis=0) for pin in pins}
        self.count_idle_values(items)
        is_same = valid.take(idle - 1) != 0
        for name, column in items.items():
            same = column == trace[name].take(idle - 1, axis=0)
            is_same &= same if same.ndim == 1 else np.logical_and.reduce(same, axis=1)
        same_count = np.count_nonzero(is_same)
        self._idle_change += same_count, len(idle) - same_count

    def in_flight(self, trace: Trace, before: int) -> int:
        """Number of inputs in flight after the trace: accepted, with an output not yet taken.

        This method counts the inputs accepted since the last output was taken. Components whose
        outputs show the exact number override it.
        """
        is_accepted, is_taken = trace.is_accepted, trace.is_taken
        since = len(trace) - int(is_taken[::-1].argmax()) if is_taken.any() else 0
        return int(np.count_nonzero(is_accepted[since:])) + before * (not since)

    def count_idle_values(self, items: Columns) -> None:
        """Count the values on the bus in idle cycles."""
        self._idle += np.bincount(self.accepted(items)[0], minlength=len(self._idle))

    def _count_reset(self, trace: Trace) -> None:
        """Update the number of inputs in flight, and count the last cycle if reset is active."""
        self._in_flight = self.in_flight(trace, self._in_flight)
        if trace[RESET][-1]:
            i_valid, o_valid, o_ready = (
                trace[pin][-1] for pin in ("i.valid", "o.valid", "o.ready")
            )
            self._fill[np.clip(self._in_flight, 0, len(self._fill) - 1)] += 1
            self._at_reset[len(OUTPUT) * i_valid + o_valid * (2 - o_ready)] += 1
            if "state" in trace.columns:
                state = int(trace["state"][-1])
                if state in self._number_of_state:
                    self._state_at_reset[self._number_of_state[state]] += 1

    def gaps(self) -> list[str]:
        """Class and case of every cell never reached, and the cover points never reached."""
        pairs = [
            f"{class_name(self.classes[row])} x {self.columns[column]}"
            for row, column in np.argwhere(self.cells == 0)
        ]
        return pairs + [
            f"{name} x {label}"
            for name, labels in self.labels.items()
            for label, met in zip(labels, self.counts[name].tolist(), strict=True)
            if label and not met
        ]


IS_INPUT = "no input", "an input"

OUTPUT = "no output", "an output taken", "a stalled output"


def in_flight_labels(timing: Timing) -> list[str]:
    """Labels for the number of inputs in flight, up to about the capacity, then open-ended."""
    if isinstance(timing, Elastic):
        most = timing.latency + 1
    elif isinstance(timing, Compact):
        most = timing.spare + 1
    elif isinstance(timing, Serial):
        most = timing.before + timing.after + 1
    else:
        most = 15 if isinstance(timing, Credit) else 8
    return [*map(str, range(most)), f"{most} or more"]


class Sequences:
    """The sequences that occurred: `IN_A_ROW` consecutive inputs, by class, or ends of texts.

    Sequences also differ if an output was stalled when the last input was accepted. ``seen`` has a
    bin for each sequence. Not every sequence can occur: half of them cannot if the design accepts
    no input while an output is stalled.
    """

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage
        self._base = len(coverage.classes) + 1
        self.seen = np.zeros(2 * self._base**IN_A_ROW, dtype=bool)
        self._digits = np.zeros(IN_A_ROW - 1, dtype=np.int32)
        """The last digits: 0 for the end of a text, other numbers for the classes."""

    def add(self, trace: Trace) -> None:
        """Record a window of a trace."""
        is_accepted = trace.is_accepted
        items = trace.inputs(is_accepted)
        waits = (trace["o.valid"] & ~trace["o.ready"]).compress(is_accepted)
        is_last = items[LAST] != 0
        rows, counts = self._coverage.accepted(items)
        ends = np.cumsum(counts).compress(is_last)
        digits = np.insert(rows.astype(np.int32) + np.int32(1), ends, 0)
        digits = np.append(self._digits, digits)
        stalled = np.insert(np.repeat(waits, counts), ends, waits.compress(is_last))
        sequence = stalled.astype(np.int32)
        for first in range(IN_A_ROW):
            sequence = sequence * np.int32(self._base) + digits[first : len(sequence) + first]
        self.seen[sequence] = True
        self._digits = digits[1 - IN_A_ROW :]

    def merge(self, seen: np.ndarray) -> None:
        """Add the sequences that another object has seen."""
        self.seen |= seen


def count(cells: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
    """Add 1 to a cell for each pair of a row and a column."""
    cell = rows * np.intp(cells.shape[1]) + columns
    cells += np.bincount(cell, minlength=cells.size).reshape(cells.shape)
