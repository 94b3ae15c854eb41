"""The campaign of the components with lanes, and random beats for fuzzing."""

from collections.abc import Iterable, Iterator
from itertools import groupby, product
from typing import Any

import numpy as np

from utf8_hdl import ErrorKind, Profile

from ..campaign import (
    Part,
    beginnings,
    boundary_encodings,
    byte_classes,
    edges_of,
    hostile_texts,
    toggled_values,
)
from ..fuzz import bytes_of, texts
from ..golden.decoder import decode, form_maximum, is_continuation
from ..golden.encoder import encode_as
from ..stimulus import LAST, Piece, beats
from ..trace import Columns, Interface

MAX_TEXTS = 2048
"""Approximate maximum number of texts of :meth:`InLanes.one_by_one`; more texts are sampled."""

RANDOM_KEEPS = 256

RATES = 0.0, 0.01, 0.2, 0.7
"""Probabilities of irregularities in random texts."""

RARE = 1 / 4096
"""An additional probability, so low that most texts are regular for many beats."""

BROKEN = 0.25
"""Probability that a piece of hostile texts breaks the rules of ``keep``."""

MEMORY_ENTRIES = 16
"""Entries of the output memory, or of each of its banks."""

FAR = 0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 257, 300
"""Numbers of beats before an event in a text: around every carry of a beat counter."""

WORST = 512
"""Number of beats that break every rule, at the start of fuzzing; engines reuse them as idle
values."""


def campaign(design: Any, seed: int) -> list[Part]:
    """The byte decoder's campaign in every lane, texts of all lengths, and broken rules."""
    profile, lanes = design.profile, design.lanes
    encodings, starts = boundary_encodings(profile), beginnings(profile)
    edges = edges_of(byte_classes(profile))
    toggled = [encode_as(value) for value in toggled_values(profile)]
    after_beginnings = [start + bytes([byte]) for start in starts for byte in edges]
    continuations = [bytes([byte]) for byte in edges if is_continuation(byte)]
    hostile = hostile_texts(profile, seed)
    short = [b"", b"A", starts[-1][:1], continuations[0]]
    lane = InLanes(lanes)
    cut = [
        text
        for n, start in enumerate(lane.one_by_one(starts[1:]))
        for text in (start, continuations[n % len(continuations)])
    ]
    texts = {
        "boundary code points in every lane": lane.joined(encodings),
        "every bit of a value in every lane and memory entry": lane.in_every_entry(
            lane.joined(toggled)
        ),
        "every class after every beginning, in every lane": lane.joined(after_beginnings),
        "one boundary code point in a text": lane.one_by_one(encodings, lanes * len(encodings)),
        "one class after one beginning in a text": lane.one_by_one(after_beginnings),
        "continuation bytes after a text that ends too early": cut,
        "short texts": [text for three in product(short, repeat=3) for text in three],
        "random hostile bytes": [*hostile, *lane.joined(hostile[: len(hostile) // 4])],
    }
    pieces: dict[str, Iterable[Piece]] = {name: join_texts(some) for name, some in texts.items()}
    longest = profile.longest_form
    characters = b"".join(encode_as(form_maximum(n) + 1) for n in range(1, longest))
    pieces["texts of every length up to three beats"] = every_length(design, b"A", characters, 4)
    good = [b"A", b"A\xc3\xa9"]
    pieces["broken rules of keep"] = broken_rules(design, b"".join(encodings), good, seed)
    pieces |= far_texts(design, characters, b"A", [b"\xff", starts[-1]])
    stock = b"".join([bytes(edges), *encodings])
    return [make_part(name, design, some, stock) for name, some in pieces.items()]


def far_texts(
    design: Any, characters: bytes, letter: bytes, wrong: list[bytes]
) -> dict[str, Iterator[Piece]]:
    """Long texts with a late event, for beat counters.

    The events are the errors ``wrong``, each after many beats, and beats that break the rules. One
    text has an error in every beat.
    """
    lanes, size = design.lanes, len(letter)

    def with_error(beats_before: int, lane: int) -> bytes:
        before = well_formed_text(beats_before * lanes + lane * size % lanes, characters, letter)
        return before + wrong[lane % len(wrong)] + letter * (lanes // size)

    def errors() -> Iterator[Piece]:
        for number, many in enumerate(FAR):
            yield with_error(many, number), True
        unit = max(lanes // size, 1)
        yield (
            b"".join(
                letter * (n % unit) + wrong[0] + letter * (unit - 1 - n % unit)
                for n in range(FAR[-1])
            ),
            True,
        )

    def broken() -> Iterator[Piece]:
        holes = np.arange(lanes) % 2 == 1
        first = np.arange(lanes) < lanes // 2
        for number, (many, is_empty) in enumerate(product(FAR, (True, False))):
            keep = first * 0 if is_empty else (holes, first)[number // 2 % 2]
            text = well_formed_text(many * lanes, characters, letter)
            yield text, False
            data = np.frombuffer((wrong[0] + letter * lanes)[:lanes], np.uint8)
            yield beats_of(data[np.newaxis], keep[np.newaxis])
            yield (with_error(0, number) if number % 3 else letter), True
            yield letter, True

    return {"errors after many beats": errors(), "broken rules after many beats": broken()}


def well_formed_text(size: int, characters: bytes, letter: bytes) -> bytes:
    """``size`` bytes of well-formed text."""
    many, rest = divmod(size, len(characters))
    return characters * many + letter * (rest // len(letter))


def error_kinds(profile: Profile) -> set[ErrorKind]:
    """The kinds of errors that can occur in UTF-8."""
    texts = [*boundary_encodings(profile), *beginnings(profile)]
    return {token.kind for text in texts for token in decode(text, profile)} - {ErrorKind.NONE}


CLOSE_BITS = 10
"""Largest exponent for offsets next to each power of two, in every mode."""

MIDDLE_BITS = 16
"""Largest exponent for offsets half-way to the next power of two."""


def far_bits(design: Any) -> int:
    """Largest exponent for offsets at powers of two, in the first mode only."""
    return 20 if design.lanes >= 4 else 19


def first_errors(design: Any, characters: bytes, letter: bytes, wrong: bytes) -> list[Part]:
    """Texts of ``characters`` and letters up to an offset, then the first error, ``wrong``."""

    def wrong_at(offset: int) -> Piece:
        return well_formed_text(offset, characters, letter) + wrong, True

    # A short text after each far error reveals an offset that is not cleared.
    far = (
        wrong_at(size)
        for bit in range(CLOSE_BITS + 1, far_bits(design) + 1)
        for size in (1 << bit, *[3 << bit - 1] * (bit <= MIDDLE_BITS), 0)
    )
    close = (wrong_at((1 << bit) + n) for bit in range(CLOSE_BITS + 1) for n in (-1, 0, 1))
    return [
        make_part("first errors around powers of two", design, close),
        make_part("first errors far away", design, far, is_long=True),
    ]


def beats_of(data: np.ndarray, keep: np.ndarray, last: int = 0) -> Columns:
    """Make beats from their lanes; ``last`` is the flag of the last beat."""
    shape = data.shape if data.shape[1] > 1 else len(data)
    lasts = np.zeros(len(data), dtype=np.uint8)
    lasts[-1:] = last
    columns = {"i.data": data.reshape(shape), "i.keep": keep.astype(np.uint8).reshape(shape)}
    return columns | {LAST: lasts}


def fuzz(design: Any, generator: np.random.Generator, *more: bytes) -> Iterator[Piece]:
    """Beats for fuzzing, with fragments of ``more`` texts; see :func:`in_beats`."""
    edges = bytes(edges_of(byte_classes(design.profile)))
    stock = b"".join([edges, *boundary_encodings(design.profile), *more])
    drawn = texts(bytes_of(design.profile, *more), generator)
    return in_beats(design, drawn, generator, stock)


def in_beats(
    design: Any, pieces: Iterable[Piece], generator: np.random.Generator, stock: bytes
) -> Iterator[Columns]:
    """Pack texts into beats; some texts end in an empty beat, and some beats break the rules.

    The first beats break every rule. For ``stock`` see :func:`fill_empty_lanes`.
    """
    yield _all_rules_broken(design, generator, stock)
    for some in beats(pieces, Interface.of("", design)):
        columns = _with_empty_beats(design.lanes, some, generator)
        if generator.random() < BROKEN:
            _break_rules(columns, generator)
        fill_empty_lanes(columns, stock, int(generator.integers(len(stock))))
        yield columns


def _all_rules_broken(design: Any, generator: np.random.Generator, stock: bytes) -> Columns:
    """Beats of ``stock`` with random ``keep``: no lane, all lanes, the first lanes, or holes."""
    lanes = np.arange(design.lanes)
    size = generator.integers(-design.lanes, 2 * design.lanes, (WORST, 1))
    holes = generator.integers(2, size=(WORST, 1)) & generator.integers(2, size=(WORST, lanes.size))
    columns = beats_of(_rows_of(stock, WORST, lanes.size), (lanes < size) & (holes == 0))
    columns[LAST] = generator.integers(2, size=WORST, dtype=np.uint8)
    return columns


def _rows_of(stock: bytes, rows: int, lanes: int, first: int = 0) -> np.ndarray:
    """Consecutive parts of ``stock``, from part ``first`` on, which overlap if lanes exceed 4."""
    begins = (np.arange(rows) + first) * min(lanes, 4)
    return np.frombuffer(stock, np.uint8).take(
        begins[:, np.newaxis] + np.arange(lanes), mode="wrap"
    )


def fill_empty_lanes(columns: Columns, stock: bytes, first: int = 0) -> None:
    """Put bytes of ``stock``, such as lead bytes, into the empty lanes of partial beats.

    Only every second partial beat is changed. A design must ignore these lanes.
    """
    keep = columns["i.keep"].reshape(len(columns[LAST]), -1)
    (rows,) = np.nonzero(~np.logical_and.reduce(keep, axis=1))
    rows = rows[::2]
    data = columns["i.data"].reshape(keep.shape)
    hidden = _rows_of(stock, len(rows), keep.shape[1], first)
    columns["i.data"] = data = data.copy()
    data[rows] = np.where(keep[rows] != 0, data[rows], hidden)
    if keep.shape[1] == 1:
        columns["i.data"] = data[:, 0]


def _with_empty_beats(lanes: int, some: Columns, generator: np.random.Generator) -> Columns:
    """Insert empty beats after some texts: as the last beat of the text, or as an empty text."""
    rate = generator.choice(RATES)
    chosen = np.flatnonzero((some[LAST] != 0) & (generator.random(len(some[LAST])) < rate))
    where = np.insert(np.arange(len(some[LAST])), chosen + 1, chosen)
    columns = {pin: column[where] for pin, column in some.items()}
    empty = chosen + np.arange(len(chosen)) + 1
    columns["i.keep"][empty] = 0
    is_full = np.logical_and.reduce(columns["i.keep"].reshape(-1, lanes), axis=1)
    moved = is_full.take(empty - 1) & (generator.random(len(empty)) < 0.5)
    columns[LAST][empty.compress(moved) - 1] = 0
    return columns


def _break_rules(columns: Columns, generator: np.random.Generator) -> None:
    """Clear random ``keep`` bits, ``last`` flags and whole ``keep`` fields."""
    for pin in ("i.keep", LAST):
        column, rate = columns[pin], generator.choice((*RATES, RARE))
        column[generator.random(column.shape) < rate] = 0
    empty = generator.random(len(columns[LAST])) < generator.choice((*RATES, RARE))
    columns["i.keep"][empty] = 0


class InLanes:
    """Shift texts so that they begin in every lane, or every lane in which a unit can begin.

    - ``filler``: a unit that is repeated before a text, so that the text begins in a given lane.
    """

    def __init__(self, lanes: int, filler: bytes = b"A") -> None:
        self._lanes = lanes
        self._starts = range(lanes // len(filler))
        self._filler = filler

    def joined(self, texts: list[bytes]) -> list[bytes]:
        """Join the texts, with a filler between them; the result begins in every lane."""
        text = self._filler.join(texts)
        return [self._filler * start + text for start in self._starts]

    def in_every_entry(self, texts: list[bytes]) -> list[bytes]:
        """Repeat the texts so that each beat is stored in every entry of the output memory."""
        length = sum(-(-len(text) // self._lanes) for text in texts)
        return [*texts, *[self._filler] * ((1 - length) % MEMORY_ENTRIES)] * MEMORY_ENTRIES

    def one_by_one(self, texts: list[bytes], most: int = MAX_TEXTS) -> list[bytes]:
        """Each text alone, in every lane; a sample of about ``most`` if there are more."""
        step = -(-len(self._starts) * len(texts) // most)
        shifted = product(self._starts, enumerate(texts))
        return [
            self._filler * start + text for start, (n, text) in shifted if (start + n) % step == 0
        ]


def join_texts(texts: list[bytes]) -> Iterator[Piece]:
    """Join consecutive texts into one piece; an empty text is a piece of its own."""
    for has_bytes, group in groupby(texts, key=bool):
        some = list(group)
        if has_bytes:
            ends = np.zeros(sum(map(len, some)), dtype=bool)
            ends[np.cumsum(list(map(len, some))) - 1] = True
            yield b"".join(some), ends
        else:
            yield from ((text, True) for text in some)


def make_part(
    name: str, design: Any, pieces: Iterable[Piece], stock: bytes = b"", is_long: bool = False
) -> Part:
    """Create a part whose inputs are computed only once; ``stock`` fills its empty lanes."""
    packed = list(beats(pieces, Interface.of(name, design)))
    items = {pin: np.concatenate([some[pin] for some in packed]) for pin in packed[0]}
    if stock:
        fill_empty_lanes(items, stock)
    return Part(name, len(items[LAST]), lambda: iter([items]), is_long)


def every_length(design: Any, letter: bytes, characters: bytes, shifts: int) -> Iterator[Piece]:
    """Texts of up to three beats: ``characters``, after fewer than ``shifts`` letters.

    They are cut at any byte. A full last beat also occurs with an empty beat after it.
    """
    for length, shift in product(range(3 * design.lanes + 1), range(shifts)):
        text = (letter * shift + characters * length)[:length]
        yield text, True
        if length % design.lanes == 0:
            yield text, False
            yield b"", True


def broken_rules(design: Any, text: bytes, good: list[bytes], seed: int) -> Iterator[Piece]:
    """Beats with holes, and partial beats in mid-text; well-formed texts after each."""
    generator, lanes = np.random.default_rng((seed, 1)), design.lanes
    one_lane, random = np.eye(lanes), generator.integers(0, 2, (RANDOM_KEEPS, lanes))
    keeps = np.concatenate([one_lane, 1 - one_lane, np.tri(lanes), random]).astype(np.uint8)
    data = np.frombuffer(text, dtype=np.uint8)
    for keep in keeps:
        begin = generator.integers(len(data))
        two = np.take(data, np.arange(begin, begin + 2 * lanes), mode="wrap")
        keep_of_two = np.stack([keep, generator.permutation(keep)])
        columns = beats_of(two.reshape(2, lanes), keep_of_two)
        yield columns | {LAST: generator.integers(0, 2, 2, dtype=np.uint8)}
        for right in good:
            yield right, True
