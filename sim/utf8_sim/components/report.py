"""The report of a run: a summary, and lines of JSON."""

import json
from typing import TextIO

import numpy as np
from rich.text import Text

from utf8_hdl import ErrorKind

from ..tools.words import plural
from ..trace import Columns, Trace

FIRST_ERRORS = 5
"""Maximum number of offsets in a summary, for each kind of error."""

PREVIEW = 60
"""Maximum number of characters of a text in a summary."""

LENGTHS = 16
"""Number of counters by length in bytes; no character is longer than 15 bytes."""

KEEP = "i.keep"
"""The pin that marks the valid bytes of a beat."""

BOOLEANS = np.array(["false", "true"], dtype=object)
LABELS = np.array([*(json.dumps(kind.label) for kind in ErrorKind), "null"], dtype=object)
"""The kinds of errors in JSON, and null for no error."""


def json_lines(form: str, *columns: np.ndarray) -> str:
    """A line of the format ``form`` for each row of the columns."""
    return "".join(map(form.__mod__, zip(*map(np.ndarray.tolist, columns), strict=True)))


def bytes_of(taken: Columns) -> np.ndarray:
    """The bytes of the outputs; only the valid bytes of beats."""
    data = taken["o.data"]
    return data[taken["o.keep"] != 0] if "o.keep" in taken else data


def active_cycles(trace: Trace) -> int:
    """The number of cycles up to the last one in which an input or an output is valid."""
    active = np.flatnonzero(trace["i.valid"] | trace["o.valid"])
    return int(active[-1]) + 1 if active.size else 0


def count_accepted(trace: Trace) -> int:
    """The number of values accepted; only the valid values of beats."""
    accepted = trace.is_accepted
    return int(np.count_nonzero(trace[KEEP][accepted] if KEEP in trace.columns else accepted))


class FirstBytes:
    """The first bytes in hexadecimal, and the number of all bytes."""

    def __init__(self) -> None:
        self.count = 0
        self._first = b""

    def add(self, data: np.ndarray) -> None:
        self.count += len(data)
        self._first += data[: PREVIEW // 3 - len(self._first)].tobytes()

    def __str__(self) -> str:
        more = " ..." if self.count > len(self._first) else ""
        return f"{self._first.hex(' ').upper()}{more}"


class TextSizes:
    """Counts the values of each text, for texts that arrive in parts."""

    def __init__(self) -> None:
        self._begun = 0
        """Number of values of the unfinished text."""

    def ended(self, keep: np.ndarray, lasts: np.ndarray) -> np.ndarray:
        """The sizes of the texts that end in these beats."""
        ends = self._begun + np.cumsum(count_lanes(keep), dtype=np.int64)
        sizes = np.diff(ends[lasts != 0], prepend=0)
        self._begun = int(ends[-1] - sizes.sum()) if len(ends) else self._begun
        return sizes


def count_lanes(keep: np.ndarray) -> np.ndarray:
    """The number of values in each beat."""
    return keep if keep.ndim == 1 else keep.sum(axis=1)


class Positions:
    """Counts positions, and formats the first ones with ``form``."""

    def __init__(self, form: str = "%d") -> None:
        self.count = 0
        self._form = form
        self._first: list[str] = []

    def add(self, *numbers: np.ndarray) -> None:
        self.count += len(numbers[0])
        first = (each[: FIRST_ERRORS - len(self._first)].tolist() for each in numbers)
        self._first += map(self._form.__mod__, zip(*first, strict=True))

    def __str__(self) -> str:
        return ", ".join(self._first) + ", ..." * (self.count > len(self._first))


class ErrorPositions:
    """Counts errors by kind, and formats the positions of the first errors."""

    def __init__(self, form: str = "%d") -> None:
        self._by_kind = {kind: Positions(form) for kind in ErrorKind}

    @property
    def count(self) -> int:
        """The total number of errors."""
        return sum(positions.count for positions in self._by_kind.values())

    def add(self, kinds: np.ndarray, *numbers: np.ndarray) -> None:
        """Add errors: their kinds, and the numbers of their positions."""
        for kind, positions in self._by_kind.items():
            positions.add(*(each[kinds == kind.value] for each in numbers))

    def lines(self) -> list[Text]:
        """A line for each kind that occurred."""
        return [
            Text(f"  {kind.label:<24}{positions.count:>6}  at byte {positions}", style="red")
            for kind, positions in self._by_kind.items()
            if positions.count
        ]


def labels_or_null(is_error: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """The kinds of errors in JSON; null if there is no error."""
    return LABELS.take(np.where(is_error, kinds, len(ErrorKind)))


def offsets_or_null(is_error: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The offsets of errors in JSON; null if there is no error."""
    return np.where(is_error, offsets.astype(object), "null")


class Report:
    """Counts the hardware's outputs, and writes them as lines of JSON to a file, if any."""

    def __init__(self, file: TextIO | None) -> None:
        #: Number of bytes or code points accepted; number of beats, if inputs are beats.
        self.inputs = self._beats = 0
        self._file = file
        #: Cycles up to the last one with a valid input or output; all cycles.
        self._cycles = self._seen = 0
        #: Number of characters by length in bytes.
        self._lengths = np.zeros(LENGTHS, dtype=np.int64)

    def add(self, trace: Trace) -> None:
        """Process the next cycles of a trace."""
        if KEEP in trace.columns:
            self._beats += int(np.count_nonzero(trace.is_accepted))
        self.inputs += count_accepted(trace)
        if active := active_cycles(trace):
            self._cycles = self._seen + active
        self._seen += len(trace)
        self._count(trace.taken())

    def _count(self, taken: Columns) -> None:
        """Count outputs, and write them: by default, their fields."""
        if self._file:
            names = [name.partition(".")[2] for name in taken]
            rows = zip(*map(np.ndarray.tolist, taken.values()), strict=True)
            rows_by_name = (dict(zip(names, row, strict=True)) for row in rows)
            self._file.writelines(f"{json.dumps(row)}\n" for row in rows_by_name)

    def lines(self) -> list[Text]:
        """The lines of the summary."""
        return [self._accepted(), self._pace(self.inputs)]

    def _pace(self, count: int) -> Text:
        count, what = (self._beats, "beat") if self._beats else (count, "byte")
        pace = f" ({self._cycles / count:.2f} per {what})" if count else ""
        return Text(f"cycles      {self._cycles}{pace}")

    def _accepted(self) -> Text:
        beats = f" in {plural(self._beats, 'beat')}" if self._beats else ""
        return Text(f"bytes       {self.inputs}{beats}")

    def _characters(self) -> Text:
        counts = ", ".join(
            f"{count} of {plural(length, 'byte')}"
            for length, count in enumerate(self._lengths.tolist())
            if count
        )
        return Text(f"characters  {int(self._lengths.sum())}" + (f": {counts}" if counts else ""))
