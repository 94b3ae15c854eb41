"""What the campaigns of ``utf8-hdl compare`` are made of, and the coverage they must reach.

What is worth trying follows from a profile's boundaries: code points at the edge of a form, of the
surrogates, of the noncharacters and of the profile's range. Each component has its own campaign.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from utf8_hdl import Profile
from utf8_hdl.profile import NONCHARACTERS, SURROGATES

from .golden.text import encode, form_maximum
from .stimulus import Piece
from .trace import Trace

LONGEST_FORM = 8


def boundary_values(profile: Profile) -> list[int]:
    """Every value at a boundary of any profile or of this one, with its neighbours."""
    edges = {0, profile.highest, *NONCHARACTERS, SURROGATES[0], SURROGATES[-1]}
    edges |= {form_maximum(length) for length in range(1, LONGEST_FORM + 1)}
    return sorted({edge + offset for edge in edges for offset in (-1, 0, 1)} - {-1})


def boundary_encodings(profile: Profile) -> list[bytes]:
    """Every boundary value in every form that can carry it."""
    return [
        encode(value, length)
        for value in boundary_values(profile)
        for length in range(1, LONGEST_FORM + 1)
        if value <= form_maximum(length)
    ]


def class_name(members: range) -> str:
    """``E1..EC``, or ``ED`` for a class of one byte."""
    first, last = members[0], members[-1]
    return f"{first:02X}" if first == last else f"{first:02X}..{last:02X}"


def edges_of(classes: Sequence[range]) -> list[int]:
    """First and last member of each class."""
    return sorted({member for members in classes for member in (members[0], members[-1])})


@dataclass(frozen=True)
class Part:
    """One part of a comparison: texts that try the same thing.

    They have about ``size`` inputs. ``pieces`` gives them, from the beginning at every call.
    """

    name: str
    size: int
    pieces: Callable[[], Iterator[Piece]]

    @classmethod
    def of(cls, name: str, texts: Sequence[Sequence[int]]) -> "Part":
        """A part from its texts."""
        return cls(name, sum(map(len, texts)), lambda: ((text, True) for text in texts))


class Coverage:
    """What a comparison exercised: how often an input of a class was accepted, and in which case.

    Here the case is whether an output was at the pins at the time; what has a state machine to be
    seen overrides that. ``cells`` has a row for each class and a column for each case, which is a
    ``column`` in a word; ``title`` is what the cases are. In ``waiting_inputs`` and
    ``waiting_outputs`` cycles one was stalled.
    """

    column = "output"
    title = "what happened at the output"

    def __init__(self, engine: Any, classes: list[range], columns: Sequence[str] = ()) -> None:
        self.engine = engine
        self.classes = classes
        self.columns = list(columns or ("output idle", "output taken"))
        self.cells = np.zeros((len(self.classes), len(self.columns)), dtype=np.int64)
        self.waiting_inputs = self.waiting_outputs = 0
        self._firsts = np.array([members.start for members in classes], dtype=np.uint64)

    def rows(self, values: np.ndarray) -> np.ndarray:
        """The classes of some values."""
        return np.searchsorted(self._firsts, values.astype(np.uint64), "right") - 1

    def met(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        """The rows and columns of the inputs that a window of a trace shows."""
        values, counts = self.engine.component.values(trace.accepted())
        return self.rows(values), np.repeat(trace["o.valid"].compress(trace.is_accepted), counts)

    def add(self, trace: Trace) -> None:
        """Count what a window of a trace shows."""
        count(self.cells, *self.met(trace))
        self.waiting_inputs += int(np.count_nonzero(trace["i.valid"] & ~trace["i.ready"]))
        self.waiting_outputs += int(np.count_nonzero(trace["o.valid"] & ~trace["o.ready"]))

    def gaps(self) -> list[str]:
        """The class and the case of every pair that never met."""
        return [
            f"{class_name(self.classes[row])} x {self.columns[column]}"
            for row, column in np.argwhere(self.cells == 0)
        ]


def count(cells: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
    """Add one to each of the cells that are met, as often as they are."""
    places = rows * np.intp(cells.shape[1]) + columns
    cells += np.bincount(places, minlength=cells.size).reshape(cells.shape)
