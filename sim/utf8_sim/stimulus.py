"""What is driven into a design: texts, as bytes or as code points, and when each side stalls."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol

import numpy as np

from .trace import Columns, Interface

Piece = tuple[Sequence[int] | np.ndarray, bool | np.ndarray] | Columns
"""Bytes or code points of a text, and whether the text ends with them; or inputs, all fields.

Where many short texts are one piece, the second is an array: whether a text ends, with each input.
Columns have the names of the input's pins.
"""

PIECE_SIZE = 1 << 16

LAST = "i.last"


def file_pieces(stream: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """One text, read piece by piece; an empty file is a text without bytes."""
    piece = stream.read(PIECE_SIZE)
    while piece:
        following = stream.read(PIECE_SIZE)
        yield piece, not following
        piece = following


class Stalls(Protocol):
    """In which cycles one side stalls."""

    def windows(self, size: int) -> Iterator[np.ndarray]:
        """Endless booleans, true to stall, ``size`` cycles at a time; the same on every call."""
        ...


@dataclass(frozen=True)
class RandomStalls:
    """Stalls in each cycle with a probability.

    Parameters
    ----------
    probability : float
        From 0 to below 1: at 1 nothing would ever move.
    seed : int or sequence of int
        The random seed.

    Raises
    ------
    ValueError
        If the probability is outside its range.

    Examples
    --------
    >>> from utf8_sim import RandomStalls
    >>> next(RandomStalls(0.5, seed=1).windows(4))
    array([ True, False, False, False])
    """

    probability: float = 0.0
    seed: int | tuple[int, ...] = 0

    def __post_init__(self) -> None:
        if not 0 <= self.probability < 1:
            raise ValueError(
                f"probability must be at least 0 and below 1, not {self.probability:g}"
            )

    def windows(self, size: int) -> Iterator[np.ndarray]:
        generator = np.random.default_rng(self.seed)
        while not self.probability:
            yield np.zeros(size, dtype=bool)
        # Single precision is twice as fast; rounded up to 1, nothing would ever move.
        threshold = min(np.float32(self.probability), np.nextafter(np.float32(1), np.float32(0)))
        while True:
            yield generator.random(size, dtype=np.float32) < threshold


@dataclass(frozen=True)
class FixedStalls:
    """Stalls in the given cycles, and never after them.

    Parameters
    ----------
    pattern : tuple of bool
        True to stall, one for each cycle from the first.

    Examples
    --------
    >>> from utf8_sim import FixedStalls
    >>> next(FixedStalls((True, False, True)).windows(4))
    array([ True, False,  True, False])
    """

    pattern: tuple[bool, ...] = ()

    def windows(self, size: int) -> Iterator[np.ndarray]:
        for begin in range(0, len(self.pattern), size):
            part = np.array(self.pattern[begin : begin + size], dtype=bool)
            yield np.append(part, np.zeros(size - len(part), dtype=bool))
        while True:
            yield np.zeros(size, dtype=bool)


Mode = tuple[str, tuple[Stalls, Stalls]]
"""A name, and how the two sides stall."""


@dataclass(frozen=True)
class Stimulus:
    """Everything that decides a simulation: texts without a gap between them, and stalls."""

    pieces: Iterable[Piece]
    input_stalls: Stalls = field(default_factory=RandomStalls)
    output_stalls: Stalls = field(default_factory=RandomStalls)


def one_by_one(pieces: Iterable[Piece], interface: Interface) -> Iterator[Columns]:
    """The inputs for pieces of texts: a value in each, in its first field, and ``i.last``."""
    for piece in pieces:
        yield piece if isinstance(piece, dict) else _columns(interface.inputs[0].name, *piece)


def _columns(pin: str, values: Any, ends: bool | np.ndarray) -> Columns:
    """Values and where texts end, as columns."""
    if isinstance(values, bytes | bytearray):
        values = np.frombuffer(values, dtype=np.uint8)
    if isinstance(ends, np.ndarray):
        lasts = ends.astype(np.uint8)
    else:
        lasts = np.zeros(len(values), dtype=np.uint8)
        lasts[-1:] = ends
    return {pin: values, LAST: lasts}
