"""Consecutive texts as columns of inputs."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..stimulus import LAST
from ..trace import Columns


class Texts:
    """Consecutive texts.

    - ``items``: all inputs, in columns.
    - ``begins``: the index of the first input of each text, and the number of all inputs.
    """

    def __init__(self, items: Columns, begins: np.ndarray) -> None:
        self.items, self.begins = items, begins

    @classmethod
    def of_bytes(cls, texts: Sequence[bytes]) -> "Texts":
        """Texts for a component that accepts a byte at a time."""
        data = np.frombuffer(b"".join(texts), dtype=np.uint8)
        begins = np.cumsum([0, *map(len, texts)])
        last = np.zeros(len(data), dtype=np.uint8)
        last[begins[begins > 0] - 1] = 1
        return cls({"i.data": data, LAST: last}, begins)

    @classmethod
    def of_items(cls, items: Columns) -> "Texts":
        """Inputs, divided after each ``last``."""
        begins = np.append(0, np.flatnonzero(items[LAST]) + 1)
        size = len(items[LAST])
        return cls(items, begins if begins[-1] == size else np.append(begins, size))

    def __len__(self) -> int:
        return len(self.begins) - 1

    def __iter__(self) -> Iterator[Columns]:
        for begin, end in zip(self.begins[:-1].tolist(), self.begins[1:].tolist(), strict=True):
            yield part(self.items, slice(begin, end))

    def __getitem__(self, numbers: slice) -> "Texts":
        first, stop, _ = numbers.indices(len(self))
        begins = self.begins[first : stop + 1]
        return Texts(part(self.items, slice(begins[0], begins[-1])), begins - begins[0])

    def number_at(self, item: int) -> int:
        """The index of the text that contains an input."""
        return int(np.searchsorted(self.begins, item, "right")) - 1

    def without_ends(self) -> "Texts":
        """The same inputs, none of which ends a text."""
        return Texts(self.items | {LAST: np.zeros_like(self.items[LAST])}, self.begins)


def part(items: Columns, rows: slice) -> Columns:
    """Some rows of columns."""
    return {name: column[rows] for name, column in items.items()}


def joined(parts: Sequence[Columns]) -> Columns:
    """Concatenate columns."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def len_of(items: Columns) -> int:
    """The number of rows of columns."""
    return len(next(iter(items.values())))


Cuts = Callable[[Columns], Sequence[int]]
"""Returns the indices at which a text may be cut, from 0 to its number of inputs."""


def shorter(texts: list[Columns], cuts: Cuts, *, inside: bool) -> Iterator[list[Columns]]:
    """Yield shorter variants: without a text, or without a part of a text, large parts first.

    The part is the beginning or the end of a text, or with ``inside`` any part.
    """
    if len(texts) > 1:
        for number in range(len(texts)):
            yield texts[:number] + texts[number + 1 :]
    for number, text in enumerate(texts):
        marks = cuts(text)
        size = (count := len(marks) - 1) // 2
        while size:
            for first in range(0, count, size) if inside else (0, count - size):
                left_out = slice(marks[first], marks[min(first + size, count)])
                yield [*texts[:number], _without(text, left_out), *texts[number + 1 :]]
            size //= 2


def _without(text: Columns, rows: slice) -> Columns:
    """A text without some inputs, with the same end."""
    rest = {name: np.delete(column, rows, axis=0) for name, column in text.items()}
    rest[LAST][-1] = text[LAST][-1]
    return rest
