"""Endless random stimuli that look for trouble: each piece of them has a mixture of its own.

What they are made of are *fragments*, such as a character, some of its bytes, or many continuation
bytes side by side. Fragments of one kind are a table of ranges, one for each value, so that numpy
draws millions of values at once. Everything follows from the random generator.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np

from utf8_hdl import ErrorKind, Profile

from .campaign import LONGEST_FORM, boundary_encodings, byte_classes, edges_of
from .golden.decoder import fault_of, sequence_length
from .stimulus import LAST, Piece, random_column
from .trace import Interface

PIECE = 1 << 16
"""About so many values are drawn at once."""

LONGEST_TEXT = 16
"""Texts in one piece have up to two to the power of this values."""

LONG_PIECES = 5
"""Long texts have up to two to the power of this pieces: 2097152 values."""

LONG = 1 / 16
"""How likely a long text begins with a piece, if it is not part of one."""

RIGHT = 1 / 8
"""How likely a piece consists of right values, with few errors."""

RAREST = 20
"""An error is one of up to two to the power of this fragments of such a piece."""

LONG_RUN = 48
"""Values of one kind side by side: more than a pipeline and its buffers hold."""

CONTINUATION = range(0x80, 0xC0)

Fragment = Sequence[range]
"""For each of its values where it is from."""


class Fragments:
    """Values drawn at random from fragments of several kinds.

    Parameters
    ----------
    kinds : iterable of list of Fragment
        The fragments of each kind. All kinds are as likely, and so are all fragments of one.
    dtype : type
        Of the values.
    right : int
        How many kinds, the first ones, have no errors in them.
    """

    def __init__(self, kinds: Iterable[list[Fragment]], dtype: type, right: int = 0) -> None:
        self._kinds = [*kinds]
        self._right = right
        fragments = [fragment for kind in self._kinds for fragment in kind]
        values = [values for fragment in fragments for values in fragment]
        self._dtype = dtype
        # In these the sizes of all ranges fit, but for that of all integers of 64 bits.
        wide: Any = np.uint64 if np.dtype(dtype).itemsize > 2 else np.uint32
        self._wide, self._most = wide, np.iinfo(wide).max
        self._lowest = np.array([each.start for each in values], dtype=wide)
        sizes = [min(each.stop - each.start, (1 << 64) - 1) for each in values]
        self._sizes = np.array(sizes, dtype=wide)
        self._lengths = np.array(list(map(len, fragments)))
        self._begins = np.cumsum(self._lengths) - self._lengths
        self._counts = np.array(list(map(len, self._kinds)))
        self._first = np.cumsum(self._counts) - self._counts
        lengths = np.add.reduceat(self._lengths, self._first)
        self._mean_lengths = lengths / self._counts

    def draw(self, generator: np.random.Generator, rarity: int = 0) -> np.ndarray:
        """About as many values as a piece has: a mixture in which some kinds are frequent.

        With a rarity, an error is one of two to the power of it fragments.
        """
        share = generator.random(len(self._kinds))
        for _ in range(3):
            share *= share  # not a power, of which not every machine has the last bit right
        if self._right and rarity:
            right, wrong = share[: self._right], share[self._right :]
            wrong *= 0.5**rarity * right.sum() / wrong.sum()
        share /= share.sum()
        count = 1 + int(PIECE / (share @ self._mean_lengths))
        kinds = np.searchsorted(np.cumsum(share)[:-1], generator.random(count), "right")
        number = (generator.random(count) * self._counts.take(kinds)).astype(np.int64)
        number += self._first.take(kinds)
        lengths = self._lengths.take(number)
        shift = self._begins.take(number) - (np.cumsum(lengths) - lengths)
        place = np.repeat(shift, lengths)
        place += np.arange(len(place))
        random = generator.integers(0, self._most, len(place), dtype=self._wide, endpoint=True)
        random = random % self._sizes.take(place) + self._lowest.take(place)
        return random.astype(self._dtype)


def text_ends(size: int, generator: np.random.Generator) -> np.ndarray:
    """Where texts end: of all lengths up to one that differs from piece to piece."""
    highest = generator.integers(LONGEST_TEXT, endpoint=True)
    ends = np.zeros(size, dtype=bool)
    place = -1
    while place < size:
        powers = 1 << generator.integers(highest, size=1 + (size >> highest), endpoint=True)
        lengths = 1 + (generator.random(len(powers)) * powers).astype(np.int64)
        places = place + np.cumsum(lengths)
        ends[places[places < size]] = True
        place = int(places[-1])
    return ends


@cache
def bytes_of(profile: Profile, *more: bytes) -> Fragments:
    """Of which hostile bytes are made.

    Characters of each length, all their bits at random, alone and many; encodings of values at
    boundaries, whole and cut; lead bytes with any continuation bytes; bytes of random classes;
    random bytes; and many bytes of one class. Also ``more`` texts.
    """
    classes = byte_classes(profile)
    characters = _characters(profile)
    cut = {text[:size] for text in boundary_encodings(profile) for size in range(1, len(text) + 1)}
    continued: list[Fragment] = [
        [alone(lead), *[CONTINUATION] * (sequence_length(lead) - 1)] for lead in range(0xC0, 0x100)
    ]
    kinds: list[list[Fragment]] = [
        *characters,
        *many(*characters),
        *([alone_in_order(text)] for text in more),
        list(map(alone_in_order, sorted(cut))),
        continued,
        [some[:size] for some in continued for size in range(1, len(some))],
        *values_of(classes),
        [[range(0x100)]],
    ]
    return Fragments(kinds, np.uint8, right=2 * len(characters) + len(more))


def values_of(classes: Sequence[range]) -> list[list[Fragment]]:
    """Values of random classes, and many side by side: any of one class, or one at its edge."""
    one: list[Fragment] = [[members] for members in classes]
    return [one, *many(one, [[alone(edge)] for edge in edges_of(classes)])]


def alone(value: int) -> range:
    """Nothing but a value."""
    return range(value, value + 1)


def alone_in_order(values: Iterable[int]) -> Fragment:
    """Nothing but some values."""
    return list(map(alone, values))


def many(*kinds: list[Fragment]) -> Iterator[list[Fragment]]:
    """For each kind another one: the same fragments, over and over."""
    for kind in kinds:
        yield [list(fragment) * LONG_RUN for fragment in kind]


def _characters(profile: Profile) -> list[list[Fragment]]:
    """All characters, by their length in bytes: for each byte where it may be from."""
    kinds: list[list[Fragment]] = [[[range(0x80)]]]
    for length in range(2, min(profile.longest_form, LONGEST_FORM) + 1):
        leads = [byte for byte in range(0x100) if sequence_length(byte) == length]
        kinds.append(
            [
                [alone(lead), seconds, *[CONTINUATION] * (length - 2)]
                for lead in leads
                if fault_of(bytes([lead]), profile) is ErrorKind.NONE
                for seconds in _seconds(lead, profile)
            ]
        )
    return kinds


def _seconds(lead: int, profile: Profile) -> Iterator[range]:
    """The second bytes that may follow a lead byte."""
    for is_right, group in groupby(
        CONTINUATION, lambda byte: fault_of(bytes([lead, byte]), profile) is ErrorKind.NONE
    ):
        members = list(group)
        if is_right:
            yield range(members[0], members[-1] + 1)


def texts(
    fragments: Fragments, generator: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Texts of fragments, which end anywhere; now and then one that has many pieces."""
    while True:
        is_long = generator.random() < LONG
        pieces = 1 + is_long * int(1 << generator.integers(LONG_PIECES, endpoint=True))
        is_right = is_long or generator.random() < RIGHT
        rarity = is_right * int(generator.integers(4, RAREST, endpoint=True))
        for number in range(pieces, 0, -1):
            values = fragments.draw(generator, rarity)
            ends = text_ends(len(values), generator)
            if number > 1:
                ends[:] = False
            yield values, ends


def any_inputs(design: Any, generator: np.random.Generator) -> Iterator[Piece]:
    """Inputs with anything in them: for a component that says nothing else."""
    pins = Interface.of("", design).inputs
    while True:
        columns = {
            pin.name: random_column(pin, PIECE // len(pins[0].parts), generator) for pin in pins
        }
        yield columns | {LAST: text_ends(len(columns[LAST]), generator).view(np.uint8)}
