"""Endless random stimuli for fuzzing; each piece has its own mixture of fragments.

A *fragment* is, for example, a character, some of its bytes, or a run of continuation bytes. The
fragments of a kind are a table of ranges, one for each value, so that numpy draws millions of
values at once. The values depend on the random generator only.
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
"""Approximate number of values that are drawn at once."""

LONGEST_TEXT = 16
"""Binary logarithm of the maximum length of texts within a piece."""

LONG_PIECES = 5
"""Binary logarithm of the maximum number of pieces of a long text: 2097152 values."""

LONG = 1 / 16
"""Probability that a piece begins a long text, if it is not already part of one."""

FEW_ERRORS = 1 / 8
"""Probability that a piece has few errors, if it is not part of a long text."""

RAREST = 20
"""The lowest error rate in a piece with few errors is one in 2 ** `RAREST` fragments."""

LONG_RUN = 48
"""Fragments in a run: more values than a pipeline and its buffers hold."""

CONTINUATION = range(0x80, 0xC0)

Fragment = Sequence[range]
"""For each value, the range from which it is drawn."""


class Fragments:
    """Values drawn at random from fragments of several kinds.

    - ``kinds``: the fragments of each kind. All kinds are equally likely, and so are the fragments
      of one.
    - ``well_formed``: number of kinds without errors; these come first.
    """

    def __init__(self, kinds: Iterable[list[Fragment]], dtype: type, well_formed: int = 0) -> None:
        self._kinds = [*kinds]
        self._well_formed = well_formed
        fragments = [fragment for kind in self._kinds for fragment in kind]
        values = [values for fragment in fragments for values in fragment]
        self._dtype = dtype
        # This type holds the size of every range, except that of all 64-bit integers.
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
        """Draw about `PIECE` values: a mixture in which some kinds are frequent.

        With a rarity, one in 2 ** rarity fragments is an error.
        """
        share = generator.random(len(self._kinds))
        for _ in range(3):
            share *= share  # not a power, whose last bit differs between machines
        if self._well_formed and rarity:
            well_formed, wrong = share[: self._well_formed], share[self._well_formed :]
            wrong *= 0.5**rarity * well_formed.sum() / wrong.sum()
        share /= share.sum()
        count = 1 + int(PIECE / (share @ self._mean_lengths))
        kinds = np.searchsorted(np.cumsum(share)[:-1], generator.random(count), "right")
        number = (generator.random(count) * self._counts.take(kinds)).astype(np.int64)
        number += self._first.take(kinds)
        lengths = self._lengths.take(number)
        shift = self._begins.take(number) - (np.cumsum(lengths) - lengths)
        index = np.repeat(shift, lengths)
        index += np.arange(len(index))
        random = generator.integers(0, self._most, len(index), dtype=self._wide, endpoint=True)
        random = random % self._sizes.take(index) + self._lowest.take(index)
        return random.astype(self._dtype)


def text_ends(size: int, generator: np.random.Generator) -> np.ndarray:
    """Flags for the ends of texts, of all lengths up to a maximum that differs between pieces."""
    highest = generator.integers(LONGEST_TEXT, endpoint=True)
    ends = np.zeros(size, dtype=bool)
    index = -1
    while index < size:
        powers = 1 << generator.integers(highest, size=1 + (size >> highest), endpoint=True)
        lengths = 1 + (generator.random(len(powers)) * powers).astype(np.int64)
        indices = index + np.cumsum(lengths)
        ends[indices[indices < size]] = True
        index = int(indices[-1])
    return ends


@cache
def bytes_of(profile: Profile, *more: bytes) -> Fragments:
    """Fragments of bytes for fuzzing.

    They are characters of each length with random bits, single and in runs; encodings of values at
    boundaries, whole and cut; lead bytes with any continuation bytes; bytes of random classes;
    random bytes; runs of bytes of one class; and ``more`` texts.
    """
    classes = byte_classes(profile)
    characters = _characters(profile)
    cut = {text[:size] for text in boundary_encodings(profile) for size in range(1, len(text) + 1)}
    continued: list[Fragment] = [
        [single_value(lead), *[CONTINUATION] * (sequence_length(lead) - 1)]
        for lead in range(0xC0, 0x100)
    ]
    kinds: list[list[Fragment]] = [
        *characters,
        *runs_of(*characters),
        *([fixed_values(text)] for text in more),
        list(map(fixed_values, sorted(cut))),
        continued,
        [some[:size] for some in continued for size in range(1, len(some))],
        *values_of(classes),
        [[range(0x100)]],
    ]
    return Fragments(kinds, np.uint8, well_formed=2 * len(characters) + len(more))


def values_of(classes: Sequence[range]) -> list[list[Fragment]]:
    """Kinds: a value of a random class; a run of values of a class; a run of one edge value."""
    one: list[Fragment] = [[members] for members in classes]
    return [one, *runs_of(one, [[single_value(edge)] for edge in edges_of(classes)])]


def single_value(value: int) -> range:
    """The range with a single value."""
    return range(value, value + 1)


def fixed_values(values: Iterable[int]) -> Fragment:
    """The fragment with fixed values."""
    return list(map(single_value, values))


def runs_of(*kinds: list[Fragment]) -> Iterator[list[Fragment]]:
    """Yield, for each kind, a kind with runs of its fragments."""
    for kind in kinds:
        yield [list(fragment) * LONG_RUN for fragment in kind]


def _characters(profile: Profile) -> list[list[Fragment]]:
    """All characters, by their length in bytes: fragments with the ranges of their bytes."""
    kinds: list[list[Fragment]] = [[[range(0x80)]]]
    for length in range(2, min(profile.longest_form, LONGEST_FORM) + 1):
        leads = [byte for byte in range(0x100) if sequence_length(byte) == length]
        kinds.append(
            [
                [single_value(lead), seconds, *[CONTINUATION] * (length - 2)]
                for lead in leads
                if fault_of(bytes([lead]), profile) is ErrorKind.NONE
                for seconds in _seconds(lead, profile)
            ]
        )
    return kinds


def _seconds(lead: int, profile: Profile) -> Iterator[range]:
    """The second bytes that may follow a lead byte."""
    for is_well_formed, group in groupby(
        CONTINUATION, lambda byte: fault_of(bytes([lead, byte]), profile) is ErrorKind.NONE
    ):
        members = list(group)
        if is_well_formed:
            yield range(members[0], members[-1] + 1)


def texts(
    fragments: Fragments, generator: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pieces of texts, with flags for the ends; occasionally a text of many pieces."""
    while True:
        is_long = generator.random() < LONG
        pieces = 1 + is_long * int(1 << generator.integers(LONG_PIECES, endpoint=True))
        has_few_errors = is_long or generator.random() < FEW_ERRORS
        rarity = has_few_errors * int(generator.integers(4, RAREST, endpoint=True))
        for number in range(pieces, 0, -1):
            values = fragments.draw(generator, rarity)
            ends = text_ends(len(values), generator)
            if number > 1:
                ends[:] = False
            yield values, ends


def any_inputs(design: Any, generator: np.random.Generator) -> Iterator[Piece]:
    """Inputs with random fields: the default for a component."""
    pins = Interface.of("", design).inputs
    while True:
        columns = {
            pin.name: random_column(pin, PIECE // len(pins[0].parts), generator) for pin in pins
        }
        yield columns | {LAST: text_ends(len(columns[LAST]), generator).view(np.uint8)}
