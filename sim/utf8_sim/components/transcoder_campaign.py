"""The transcoder's campaign, and random texts for fuzzing."""

from collections.abc import Iterable, Iterator
from itertools import pairwise, product
from typing import Any, Literal

import numpy as np

from utf8_hdl import ErrorKind, Profile
from utf8_hdl.profile import NONCHARACTERS

from ..campaign import Part, boundary_values, edges_of, toggled_values
from ..fuzz import Fragment, Fragments, fixed_values, runs_of, single_value, texts, values_of
from ..golden.encoder import encode_as
from ..golden.transcoder import (
    BIG_ENDIAN,
    BOM,
    FIRST_OF_PAIRS,
    HIGH,
    LOW,
    UNIT_BYTES,
    UTF_8,
    UTF_16,
    UTF_32,
)
from ..stimulus import Piece
from . import beat_campaign
from .beat_campaign import (
    CLOSE_BITS,
    InLanes,
    beats_of,
    broken_rules,
    error_kinds,
    every_length,
    far_bits,
    far_texts,
    first_errors,
    join_texts,
    make_part,
)

HOSTILE_UNITS = 2048

SWAPPED = {UTF_16: 0xFFFE, UTF_32: 0xFFFE_0000}
"""A byte order mark in the opposite byte order, as a unit, by unit size in bytes."""


class Units:
    """Creates parts of texts in the encoding scheme of the input."""

    def __init__(self, design: Any) -> None:
        self.size = UNIT_BYTES[design.source]
        self.profile: Profile = design.profile
        self.order: Literal["little", "big"] = "big" if design.source in BIG_ENDIAN else "little"

    def unit(self, value: int) -> bytes:
        """A unit of any value."""
        return value.to_bytes(self.size, self.order)

    def text(self, value: int) -> bytes:
        """The encoding of a value, which need not be a character."""
        if self.size == UTF_8:
            return encode_as(value)
        if self.size == UTF_32 or value < FIRST_OF_PAIRS:
            return self.unit(value)
        high, low = divmod(value - FIRST_OF_PAIRS, len(LOW))
        return self.unit(HIGH.start + high) + self.unit(LOW.start + low)

    def fragment(self, text: bytes) -> Fragment:
        """The units of a text."""
        begins = range(0, len(text), self.size)
        units = (text[begin : begin + self.size] for begin in begins)
        return fixed_values(int.from_bytes(unit, self.order) for unit in units)

    def cut(self, values: Any, ends: Any, generator: np.random.Generator) -> Piece:
        """The bytes of units; in some of the texts, the last unit is incomplete."""
        size = self.size
        data = values.astype(f"{'<' if self.order == 'little' else '>'}u{size}").view(np.uint8)
        (last,) = np.nonzero(ends)
        rate = generator.choice(beat_campaign.RATES)
        missing = generator.integers(size, size=len(last)) * (generator.random(len(last)) < rate)
        keep = np.ones((len(values), size), dtype=bool)
        keep[last] = np.arange(size) < size - missing[:, np.newaxis]
        ends = np.zeros((len(values), size), dtype=bool)
        ends[last, size - missing - 1] = True
        return data[keep.ravel()], ends[keep]

    @property
    def highest(self) -> int:
        """The highest value that can occur in a text."""
        return 0xFFFF_FFFF if self.size == UTF_32 else 0x10FFFF

    @property
    def classes(self) -> list[range]:
        """All units, divided where their meaning changes."""
        highest = min(self.highest, (1 << 8 * self.size) - 1)
        cuts = {0, 0x80, 0x800, HIGH.start, LOW.start, LOW.stop, NONCHARACTERS[0]}
        cuts |= {FIRST_OF_PAIRS, self.profile.highest + 1, 0x110000, highest + 1}
        return [range(*pair) for pair in pairwise(sorted(n for n in cuts if n <= highest + 1))]

    @property
    def edges(self) -> list[bytes]:
        """First and last unit of each class."""
        return [self.unit(value) for value in edges_of(self.classes)]

    @property
    def boundaries(self) -> list[bytes]:
        """The encodings of all boundary values."""
        values = {*boundary_values(self.profile), BOM, 0x10FFFE, 0x10FFFF, 0x110000, self.highest}
        return [self.text(value) for value in sorted(values) if value <= self.highest]

    @property
    def toggled(self) -> list[bytes]:
        """Encodings of values with one bit inverted; in UTF-32 also of values above the range."""
        values = {*toggled_values(self.profile)}
        if self.size == UTF_32:
            values |= {0x41 | 1 << bit for bit in range(7, 32)}
        return [self.text(value) for value in sorted(values)]

    @property
    def pairs(self) -> bool:
        """True if the profile has code points above U+FFFF."""
        return self.profile.highest >= FIRST_OF_PAIRS

    @property
    def errors(self) -> list[bytes]:
        """Units that are errors on their own and when repeated; UTF-16 may have none."""
        if self.size == UTF_8:
            return [b"\xe1", b"\xff"]
        values = [HIGH[0], LOW[0]] * (not self.profile.accept_surrogates)
        values += [NONCHARACTERS[1]] * (not self.profile.accept_noncharacters)
        values += [self.highest] * (self.size == UTF_32)
        return list(map(self.unit, values))

    @property
    def kinds(self) -> set[ErrorKind]:
        """The kinds of errors that can occur."""
        if self.size == UTF_8:
            return error_kinds(self.profile)
        is_possible = {
            ErrorKind.TRUNCATED: True,
            ErrorKind.SURROGATE: not self.profile.accept_surrogates,
            ErrorKind.NONCHARACTER: not self.profile.accept_noncharacters,
            ErrorKind.OUT_OF_RANGE: self.profile.highest < self.highest,
        }
        return {kind for kind, possible in is_possible.items() if possible}

    @property
    def starts(self) -> list[bytes]:
        """Sequences that can be pending before a unit: none, and in UTF-16 a high surrogate."""
        high = [HIGH[0], HIGH[-1]] if self.size == UTF_16 else []
        return [b"", *map(self.unit, high)]


def campaign(design: Any, seed: int) -> list[Part]:
    """The campaign of all components with lanes, or its equivalent in UTF-16 and UTF-32.

    In addition: output texts of every length, byte order marks, and error reports.
    """
    units = Units(design)
    pieces: dict[str, Iterable[Piece]] = {
        "output of every length up to three beats": _every_output(design, units),
        "byte order marks": _byte_order_marks(design, units),
    }
    if units.size == UTF_8:
        parts = beat_campaign.campaign(design, seed)
    else:
        parts = []
        pieces = _unit_texts(design, units, seed) | pieces
    pieces["a byte order mark in every beat"] = _mark_in_every_beat(design, units)
    stock = b"".join([*units.edges, *units.boundaries])
    parts += [make_part(name, design, some, stock) for name, some in pieces.items()]
    return [*parts, *_reports(design, units)] if design.errors else parts


def _reports(design: Any, units: Units) -> list[Part]:
    """Texts with a first error at various offsets, and texts with various numbers of errors."""
    letter = units.unit(0x41)
    characters = b"".join(map(units.text, (0x7F, 0x80, 0x800, FIRST_OF_PAIRS)[: 3 + units.pairs]))
    wrong = b"\xff" + letter if units.size == UTF_8 else letter[:1]

    def repeated(bits: Iterable[int], around: Iterable[int]) -> Iterator[Piece]:
        for bit, more, error in product(bits, around, units.errors):
            yield error * ((1 << bit) + more), True
            yield letter + error, True  # reveals a count that is not cleared

    far = range(CLOSE_BITS + 1, far_bits(design) - units.size.bit_length() + 2)
    return [
        *first_errors(design, characters, letter, wrong),
        make_part("errors by number", design, repeated(range(CLOSE_BITS + 1), (-1, 0, 1))),
        make_part("very many errors", design, repeated(far, (0,)), is_long=True),
    ]


def _unit_texts(design: Any, units: Units, seed: int) -> dict[str, Iterable[Piece]]:
    """Boundaries at every unit index, alone and joined; unfinished sequences at ends of texts."""
    letter = units.unit(0x41)
    lanes = InLanes(design.lanes, letter)
    boundaries, edges, starts = units.boundaries, units.edges, units.starts
    pairs = [first + second for first, second in product([*edges, *starts[1:]], edges)]
    size = len(letter)
    left_over = [
        start + edge[:count]
        for start in (*starts, letter, *edges)
        for edge in edges
        for count in range(1, size)
    ]
    cut = [text for start in (*starts[1:], *edges) for edge in edges for text in (start, edge)]
    short = [b"", letter, letter[:1], (starts[-1] or letter)[: size - 1], starts[-1], edges[-1]]
    hostile = _hostile(units, seed)
    texts = {
        "boundary code points at every unit index": lanes.joined(boundaries),
        "every bit of a value at every unit index and memory entry": lanes.in_every_entry(
            lanes.joined(units.toggled)
        ),
        "every pair of classes at every unit index": lanes.joined(pairs),
        "one boundary code point in a text": lanes.one_by_one(boundaries),
        "one pair of classes in a text": lanes.one_by_one(pairs),
        "bytes left over": lanes.one_by_one(left_over),
        "texts that end too early": cut,
        "short texts": [text for three in product(short, repeat=3) for text in three],
        "random hostile units": [*hostile, *lanes.joined(hostile[: len(hostile) // 4])],
    }
    pieces: dict[str, Iterable[Piece]] = {name: join_texts(some) for name, some in texts.items()}
    pair = units.text(0x10FFFF)
    pieces["texts of every length up to three beats"] = every_length(design, letter, pair, 2)
    good = [letter, units.text(0xE9) + units.text(0x1F600)]
    data = b"".join(boundaries + pairs)
    pieces["broken rules of keep"] = broken_rules(design, data, good, seed)
    pieces["missing units"] = _holes(design, data, good, seed)
    wrong = [units.text(0xDC00), units.text(0xD800)]
    pieces |= far_texts(design, letter + units.text(0xE9), letter, wrong)
    return pieces


def _hostile(units: Units, seed: int) -> list[bytes]:
    """Texts of units of random classes, of boundary values, and of random bytes."""
    generator = np.random.default_rng((seed, 0))
    classes, boundaries, texts, size = units.classes, units.boundaries, [], 0
    while size < HOSTILE_UNITS:
        text = b""
        for _ in range(generator.integers(1, 17)):
            kind = generator.random()
            if kind < 0.5:
                members = classes[generator.integers(len(classes))]
                text += units.unit(int(generator.integers(members.start, members.stop)))
            elif kind < 0.9:
                text += boundaries[generator.integers(len(boundaries))]
            else:
                text += generator.bytes(units.size)
        rest = int(generator.integers(units.size))
        texts.append(text[: len(text) - rest])
        size += len(text) // units.size
    return texts


def fuzz(design: Any, generator: np.random.Generator) -> Iterator[Piece]:
    """Texts of characters, units of random classes, boundary values and random units.

    They are cut at any byte. Many begin with a byte order mark, or consist of it.
    """
    units = Units(design)
    if units.size == UTF_8:
        return beat_campaign.fuzz(design, generator, units.text(BOM))
    right: list[list[Fragment]] = [[[range(HIGH.start)]], [[single_value(BOM)]]]
    right += [[[HIGH, LOW]]] * (units.size == UTF_16)
    kinds: list[list[Fragment]] = [
        *right,
        *values_of(units.classes),
        [units.fragment(text) for text in units.boundaries],
        [[range(1 << bits)] for bits in range(1, 8 * units.size + 1)],
        [[range(1 << 8 * units.size)]],
        [[single_value(SWAPPED[units.size])]],
    ]
    if units.size == UTF_16:
        kinds += [*runs_of([[HIGH, LOW]], [[HIGH]], [[LOW]])]
    drawn = texts(Fragments(kinds, np.uint32, len(right)), generator)
    pieces = (units.cut(*some, generator) for some in drawn)
    return beat_campaign.in_beats(
        design, pieces, generator, b"".join([*units.edges, *units.boundaries])
    )


def _holes(design: Any, text: bytes, good: list[bytes], seed: int) -> Iterator[Piece]:
    """Like :func:`.broken_rules`, but ``keep`` has all bytes of a unit or none."""
    size = len(good[0])
    for piece in broken_rules(design, text, good, seed + 1):
        if isinstance(piece, dict):
            keep = piece["i.keep"]
            keep = np.repeat(keep.reshape(-1, size)[:, 0], size).reshape(keep.shape)
            yield {**piece, "i.keep": keep}
        else:
            yield piece


def _every_output(design: Any, units: Units) -> Iterator[Piece]:
    """Texts for every output length: letters, with and without a longer character at the end."""
    most = 3 * design.out_lanes // UNIT_BYTES[design.target]
    letter = units.unit(0x41)
    values = [value for value in (0xE9, 0x20AC, 0x1F600) if value <= design.profile.highest]
    for length in range(most + 1):
        yield letter * length, True
        if length % 4 == 0:
            yield letter * length, False
            yield b"", True
    for length, value in product(range(most // 3 + 1), values):
        yield letter * length + units.text(value), True


def _byte_order_marks(design: Any, units: Units) -> Iterator[Piece]:
    """Marks at the beginning of texts: alone, twice, cut, and in the opposite byte order.

    Also marks after a letter. For marks in later beats, see `_mark_in_every_beat`.
    """
    mark, letter = units.text(BOM), units.unit(0x41)
    texts = [mark, mark * 2, letter + mark, mark + letter, mark * 3 + letter * design.lanes]
    texts += [mark[:count] for count in range(1, len(mark))]
    texts += [mark[:count] + mark for count in range(1, len(mark))]
    texts += [mark[:-1] + b"\x00" + letter, mark + mark[:1], mark + units.text(0xD7FF)]
    if units.size in SWAPPED:
        texts.append(units.unit(SWAPPED[units.size]) + letter)
    if units.size == UTF_8:
        texts.append(encode_as(BOM, 4) + letter)
    for text, end in product(texts, (b"", letter)):
        yield text + end, True
        yield text + end, False
        yield b"", True
    for hole in range(design.lanes):
        yield from _mark_after_empty_lanes(design, mark, hole)


def _mark_in_every_beat(design: Any, units: Units) -> Iterator[Piece]:
    """A byte order mark at the beginning of each beat of a long text.

    The text is so long that a counter of beats could wrap around to its first value.
    """
    mark, letter = units.text(BOM), units.unit(0x41)
    size = -(-len(mark) // design.lanes) * design.lanes
    yield letter + mark * 2 + (mark + letter * ((size - len(mark)) // len(letter))) * 8, True
    beat = mark + letter * ((size - len(mark)) // len(letter))
    yield beat * beat_campaign.FAR[-1], True


def _mark_after_empty_lanes(design: Any, mark: bytes, hole: int) -> Iterator[Piece]:
    """A byte order mark with empty lanes before it, or with an empty lane in it."""
    lanes = design.lanes
    for before in range(2):
        data = np.zeros(-(-(len(mark) + hole + 1) // lanes) * lanes, dtype=np.uint8)
        keep = np.zeros_like(data)
        lanes_of_mark = np.arange(len(mark)) + hole * before
        lanes_of_mark[min(hole, len(mark)) :] += not before
        data[lanes_of_mark], keep[lanes_of_mark] = list(mark), 1
        yield beats_of(data.reshape(-1, lanes), keep.reshape(-1, lanes), last=1)
