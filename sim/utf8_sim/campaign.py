"""What the campaigns of ``utf8-hdl compare`` are made of, and the coverage they must reach.

What is worth trying follows from a profile's boundaries: code points at the edge of a form, of the
surrogates, of the noncharacters and of the profile's range. They also cut the 256 bytes into
classes, so that all bytes of a class do the same wherever they come. Each component has its own
campaign.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from utf8_hdl import Profile
from utf8_hdl.profile import NONCHARACTERS, SURROGATES

from .golden.text import TextModel, encode, form_maximum
from .stimulus import LAST, Piece
from .trace import Columns, Trace

LONGEST_FORM = 8

HOSTILE_BYTES = 4096

IN_A_ROW = 4
"""Inputs whose classes make up a sequence."""


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


def toggled_values(profile: Profile) -> list[int]:
    """The lowest and the highest value of each form, with each of its bits inverted.

    The classes of bytes know which bytes decide about a character, not which only carry bits.
    """
    values = set()
    for length in range(1, profile.longest_form + 1):
        lowest = form_maximum(length - 1) + 1 if length > 1 else 0
        highest = min(form_maximum(length), profile.highest)
        for bit in range(highest.bit_length()):
            values |= {lowest ^ 1 << bit, highest ^ 1 << bit}
    return sorted(value for value in values if value <= profile.highest)


def byte_classes(profile: Profile) -> list[range]:
    """The 256 bytes, cut where their meaning changes.

    Between two neighbouring values of one form, of which only one is a character, the encodings
    part at some byte: a class begins there. The bytes before it, which both share, are classes of
    their own.
    """
    longest = profile.longest_form
    firsts = [(form_maximum(length - 1) + 1, length) for length in range(2, longest + 1)]
    if not profile.accept_surrogates:
        firsts += [(SURROGATES.start, 3), (SURROGATES.stop, 3)]
    if not profile.accept_noncharacters:
        firsts += [(NONCHARACTERS[0], 3)]
    if profile.highest < form_maximum(longest):
        firsts += [(profile.highest + 1, longest)]

    leads = [0xFF << 8 - length & 0xFF for length in range(2, min(longest + 1, LONGEST_FORM) + 1)]
    cuts = {0x00, 0x80, 0xC0, 0xFE, *leads}
    for first, length in firsts:
        for before, after in zip(encode(first - 1, length), encode(first, length), strict=True):
            cuts.add(after)
            if before != after:
                break
            cuts.add(after + 1)
    edges = [*sorted(cuts - {0x100}), 0x100]
    return [range(*pair) for pair in pairwise(edges)]


def beginnings(profile: Profile) -> list[bytes]:
    """What can be pending before a byte at a boundary; first of all, nothing."""
    longest_runs = [
        bytes([members[0]]).ljust(LONGEST_FORM, b"\xbf") for members in byte_classes(profile)
    ]
    starts = {
        sequence[:length]
        for sequence in boundary_encodings(profile) + longest_runs
        for length in range(len(sequence))
    }
    return sorted(start for start in starts if _pending(profile, start) == start)


def _pending(profile: Profile, data: bytes) -> bytes:
    model = TextModel(profile)
    for byte in data:
        model.feed(byte)
    return model.pending


def hostile_texts(classes: list[range], encodings: list[bytes], seed: int) -> list[bytes]:
    """Texts of one to 64 bytes: half bytes of random classes, half cut and joined encodings."""
    generator = np.random.default_rng((seed, 0))
    texts = []
    size = 0
    while size < HOSTILE_BYTES:
        text = bytearray()
        for _ in range(generator.integers(1, 17)):
            if generator.random() < 0.5:
                text.append(generator.choice(classes[generator.integers(len(classes))]))
            else:
                encoding = encodings[generator.integers(len(encodings))]
                text += encoding[: generator.integers(1, len(encoding) + 1)]
        texts.append(bytes(text[:64]))
        size += len(texts[-1])
    return texts


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

    ``counts`` are all numbers that are counted, by name. Those of another one can be added.
    """

    column = "output"
    title = "what happened at the output"

    def __init__(self, engine: Any, classes: list[range], columns: Sequence[str] = ()) -> None:
        self.engine = engine
        self.classes = classes
        self.columns = list(columns or ("output idle", "output taken"))
        self.counts: dict[str, np.ndarray] = {}
        self.cells = self.counter("cells", len(self.classes), len(self.columns))
        self._waiting = self.counter("waiting", 2)
        self._firsts = np.array([members.start for members in classes], dtype=np.uint64)

    def counter(self, name: str, *shape: int) -> np.ndarray:
        """Numbers to be counted, which are 0 at first."""
        self.counts[name] = np.zeros(shape, dtype=np.int64)
        return self.counts[name]

    def merge(self, counts: Mapping[str, np.ndarray]) -> None:
        """Add what another one of the same kind counted."""
        for name, numbers in counts.items():
            self.counts[name] += numbers

    @property
    def waiting_inputs(self) -> int:
        return int(self._waiting[0])

    @property
    def waiting_outputs(self) -> int:
        return int(self._waiting[1])

    def rows(self, values: np.ndarray) -> np.ndarray:
        """The classes of some values."""
        return np.searchsorted(self._firsts, values.astype(np.uint64), "right") - 1

    def accepted(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        """The rows of what some inputs bring, and how many of these each of them has."""
        values, counts = self.engine.component.values(items)
        return self.rows(values), counts

    def met(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        """The rows and columns of the inputs that a window of a trace shows."""
        rows, counts = self.accepted(trace.accepted())
        return rows, np.repeat(trace["o.valid"].compress(trace.is_accepted), counts)

    def add(self, trace: Trace) -> None:
        """Count what a window of a trace shows."""
        count(self.cells, *self.met(trace))
        for number, side in enumerate("io"):
            stalled = trace[f"{side}.valid"] & ~trace[f"{side}.ready"]
            self._waiting[number] += np.count_nonzero(stalled)

    def gaps(self) -> list[str]:
        """The class and the case of every pair that never met."""
        return [
            f"{class_name(self.classes[row])} x {self.columns[column]}"
            for row, column in np.argwhere(self.cells == 0)
        ]


class Sequences:
    """Which inputs followed each other, by class: four in a row, of which ends of texts are some.

    And whether an output waited when the last of them was accepted. ``seen`` has a bin for each.
    Not every one can occur: where no input is accepted while an output waits, half of them cannot.
    """

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage
        self._base = len(coverage.classes) + 1
        self.seen = np.zeros(2 * self._base**IN_A_ROW, dtype=bool)
        self._digits = np.zeros(IN_A_ROW - 1, dtype=np.int32)
        """The last ones: 0 for the end of a text, others for the classes."""

    def add(self, trace: Trace) -> None:
        """Note what a window of a trace shows."""
        is_accepted = trace.is_accepted
        items = trace.inputs(is_accepted)
        waits = (trace["o.valid"] & ~trace["o.ready"]).compress(is_accepted)
        is_last = items[LAST] != 0
        rows, counts = self._coverage.accepted(items)
        ends = np.cumsum(counts).compress(is_last)
        digits = np.insert(rows.astype(np.int32) + np.int32(1), ends, 0)
        digits = np.append(self._digits, digits)
        number = np.insert(np.repeat(waits, counts), ends, waits.compress(is_last)).astype(np.int32)
        for place in range(IN_A_ROW):
            number = number * np.int32(self._base) + digits[place : len(number) + place]
        self.seen[number] = True
        self._digits = digits[1 - IN_A_ROW :]

    def merge(self, seen: np.ndarray) -> None:
        """Note what another one has seen."""
        self.seen |= seen


def count(cells: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
    """Add one to each of the cells that are met, as often as they are."""
    places = rows * np.intp(cells.shape[1]) + columns
    cells += np.bincount(places, minlength=cells.size).reshape(cells.shape)
