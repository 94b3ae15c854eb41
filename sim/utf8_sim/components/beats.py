"""What components with lanes have in common: their campaign, coverage, and how a beat is shown."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count, groupby, product, takewhile
from typing import Any

import numpy as np

from utf8_hdl import Kind

from ..campaign import (
    Coverage,
    Part,
    beginnings,
    boundary_encodings,
    byte_classes,
    edges_of,
    hostile_texts,
    toggled_values,
)
from ..golden.text import encode, form_maximum, is_continuation
from ..hostile import bytes_of, texts
from ..shown import token_label
from ..stimulus import LAST, Piece, beats
from ..trace import Columns, Interface, Trace, by_parts, levels_of
from .component import Component, Levels

MOST_TEXTS = 2048
"""Of those that try things one by one in every lane; if there were more, some are left out."""

RANDOM_KEEPS = 256

RATES = 0.0, 0.01, 0.2, 0.7
"""How often something happens that is not usual."""

BROKEN = 0.25
"""How many pieces of hostile texts break the rules of ``keep``."""

PLACES = 16
"""Beats that may be outstanding: as many values may be kept somewhere."""

WIDE = 16
"""Lanes up to which those without a byte are shown one by one."""

MOST_COLUMNS = 8
"""With more lanes, coverage counts those in the middle together."""

SIDES = 3
"""Lanes at each side that it counts one by one even then."""


def campaign(design: Any, seed: int) -> list[Part]:
    """What the byte decoder's campaign has, in every lane; texts of all lengths; broken rules."""
    profile, lanes = design.profile, design.lanes
    encodings, starts = boundary_encodings(profile), beginnings(profile)
    classes = byte_classes(profile)
    edges = edges_of(classes)
    toggled = [encode(value) for value in toggled_values(profile)]
    after_beginnings = [start + bytes([byte]) for start in starts for byte in edges]
    continuations = [bytes([byte]) for byte in edges if is_continuation(byte)]
    hostile = hostile_texts(classes, encodings, seed)
    short = [b"", b"A", starts[-1][:1], continuations[0]]
    lane = InLanes(lanes)
    cut = [
        text
        for n, start in enumerate(lane.one_by_one(starts[1:]))
        for text in (start, continuations[n % len(continuations)])
    ]
    texts = {
        "boundary code points in every lane": lane.joined(encodings),
        "every bit of a value in every lane and place": lane.in_every_place(lane.joined(toggled)),
        "every class after every beginning, in every lane": lane.joined(after_beginnings),
        "one boundary code point in a text": lane.one_by_one(encodings, lanes * len(encodings)),
        "one class after one beginning in a text": lane.one_by_one(after_beginnings),
        "continuation bytes after a text that ends too early": cut,
        "short texts": [text for three in product(short, repeat=3) for text in three],
        "random hostile bytes": [*hostile, *lane.joined(hostile[: len(hostile) // 4])],
    }
    pieces: dict[str, Iterable[Piece]] = {name: together(some) for name, some in texts.items()}
    pieces["texts of every length up to three beats"] = _every_length(design)
    good = [b"A", b"A\xc3\xa9"]
    pieces["broken rules of keep"] = broken_rules(design, b"".join(encodings), good, seed)
    return [made_part(name, design, some) for name, some in pieces.items()]


def hostile(design: Any, generator: np.random.Generator, *more: bytes) -> Iterator[Piece]:
    """Hostile bytes, and ``more`` texts; see :func:`in_beats`."""
    return in_beats(design, texts(bytes_of(design.profile, *more), generator), generator)


def in_beats(
    design: Any, pieces: Iterable[Piece], generator: np.random.Generator
) -> Iterator[Columns]:
    """Texts in beats; some texts end in a beat without a value, and some beats break the rules."""
    for some in beats(pieces, Interface.of("", design)):
        columns = _with_empty_beats(design.lanes, some, generator)
        if generator.random() < BROKEN:
            _break_rules(columns, generator)
        yield columns


def _with_empty_beats(lanes: int, some: Columns, generator: np.random.Generator) -> Columns:
    """The same with beats without a value behind ends of texts: for the end, or a text alone."""
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
    """Leave out values and ends of texts, so that there are holes and beats cut short."""
    for pin in ("i.keep", LAST):
        column, rate = columns[pin], generator.choice(RATES)
        column[generator.random(column.shape) < rate] = 0


class InLanes:
    """Texts in every lane, or in every one in which a unit can begin.

    Parameters
    ----------
    lanes : int
        How many there are.
    filler : bytes
        A unit: so many of them before a text as it needs to begin in some lane.
    """

    def __init__(self, lanes: int, filler: bytes = b"A") -> None:
        self._lanes = lanes
        self._starts = range(lanes // len(filler))
        self._filler = filler

    def joined(self, texts: list[bytes]) -> list[bytes]:
        """All as one, with a filler between them, in every lane."""
        text = self._filler.join(texts)
        return [self._filler * start + text for start in self._starts]

    def in_every_place(self, texts: list[bytes]) -> list[bytes]:
        """The same texts once for each place: their beats are one more than a multiple of these."""
        length = sum(-(-len(text) // self._lanes) for text in texts)
        return [*texts, *[self._filler] * ((1 - length) % PLACES)] * PLACES

    def one_by_one(self, texts: list[bytes], most: int = MOST_TEXTS) -> list[bytes]:
        """Each alone in every lane; about ``most`` of them."""
        step = -(-len(self._starts) * len(texts) // most)
        places = product(self._starts, enumerate(texts))
        return [
            self._filler * start + text for start, (n, text) in places if (start + n) % step == 0
        ]


def together(texts: list[bytes]) -> Iterator[Piece]:
    """Texts as few pieces: those side by side that are not empty are one."""
    for has_bytes, group in groupby(texts, key=bool):
        some = list(group)
        if has_bytes:
            ends = np.zeros(sum(map(len, some)), dtype=bool)
            ends[np.cumsum(list(map(len, some))) - 1] = True
            yield b"".join(some), ends
        else:
            yield from ((text, True) for text in some)


def made_part(name: str, design: Any, pieces: Iterable[Piece]) -> Part:
    """A part whose inputs are made once, and not again for each run."""
    made = list(beats(pieces, Interface.of(name, design)))
    items = {pin: np.concatenate([some[pin] for some in made]) for pin in made[0]}
    return Part(name, len(items[LAST]), lambda: iter([items]))


def _every_length(design: Any) -> Iterator[Piece]:
    """Characters of all lengths, cut anywhere; if they fill a beat, also with an empty one."""
    longest = design.profile.longest_form
    characters = b"".join(encode(form_maximum(n) + 1) for n in range(1, longest))
    for length, others in product(range(3 * design.lanes + 1), range(4)):
        text = (b"A" * others + characters * length)[:length]
        yield text, True
        if length % design.lanes == 0:
            yield text, False
            yield b"", True


def broken_rules(design: Any, text: bytes, good: list[bytes], seed: int) -> Iterator[Piece]:
    """Beats with holes, and such that are not full although their text goes on; then good texts."""
    generator, lanes = np.random.default_rng((seed, 1)), design.lanes
    one_lane, random = np.eye(lanes), generator.integers(0, 2, (RANDOM_KEEPS, lanes))
    keeps = np.concatenate([one_lane, 1 - one_lane, np.tri(lanes), random]).astype(np.uint8)
    data = np.frombuffer(text, dtype=np.uint8)
    for keep in keeps:
        begin = generator.integers(len(data))
        two = np.take(data, np.arange(begin, begin + 2 * lanes), mode="wrap")
        shape = (2, lanes) if lanes > 1 else 2
        yield {
            "i.data": two.reshape(shape),
            "i.keep": np.stack([keep, generator.permutation(keep)]).reshape(shape),
            LAST: generator.integers(0, 2, 2, dtype=np.uint8),
        }
        for right in good:
            yield right, True


def kept(items: Columns) -> np.ndarray:
    """Where there are bytes, or other values, in some beats."""
    return by_parts(items["i.keep"] != 0, items["i.data"])


def columns_of(count: int) -> tuple[list[str], np.ndarray]:
    """The names of columns for numbers up to one, if need be those in the middle as one.

    And the column of each number.
    """
    columns, column_of = list(map(str, range(count))), np.arange(count)
    if count > MOST_COLUMNS:
        columns[SIDES:-SIDES] = [f"{SIDES}..{count - SIDES - 1}"]
        middle = column_of[SIDES:-SIDES]
        column_of[-SIDES:] -= len(middle) - 1
        middle[:] = SIDES
    return columns, column_of


class BeatCoverage(Coverage):
    """Bytes by class and by lane; ``ends`` of texts by how many bytes of a beat they are in."""

    column = "lane"
    title = "lane"

    def __init__(self, engine: Any, classes: list[range] | None = None, places: int = 0) -> None:
        self.lanes = engine.design.lanes
        columns, self._column_of_lane = columns_of(places or self.lanes)
        super().__init__(engine, classes or byte_classes(engine.profile), columns)
        self.ends = self.counter("ends", self.lanes + 1)

    def add(self, trace: Trace) -> None:
        super().add(trace)
        items = trace.accepted()
        _, counts = self.engine.component.values(items)
        self.ends += np.bincount(counts[items[LAST] != 0], minlength=len(self.ends))

    def met(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        items = trace.accepted()
        values, _ = self.engine.component.values(items)
        lane = np.nonzero(kept(items).reshape(-1, self.lanes))[1]
        return self.rows(values), self._column_of_lane.take(lane)

    def gaps(self) -> list[str]:
        never = np.flatnonzero(self.ends == 0)
        return super().gaps() + [f"end of a text x {count} bytes of a beat" for count in never]


def show_beat(beat: Levels, side: str = "i", values: str = "bytes") -> str:
    """The bytes of a beat. If it is wide, the lanes behind the last byte are only counted."""
    keeps, parts = levels_of(beat[f"{side}.keep"]), levels_of(beat[f"{side}.data"])
    size = len(parts) // len(keeps)
    lanes = zip((parts[n : n + size] for n in range(0, len(parts), size)), keeps, strict=True)
    shown = [" ".join(f"{part:02X}" for part in lane) if keep else "--" for lane, keep in lanes]
    if len(shown) <= WIDE or keeps[-1]:
        return " ".join(shown)
    while shown and shown[-1] == "--":
        shown.pop()
    return " ".join([*shown, f"({sum(keeps)} of {len(keeps)} {values})"])


def show_slots(slots: Levels) -> str:
    """The tokens in slots, by number; ASCII characters side by side as text."""
    lengths, shown = slots["o.length"], []
    letters = {
        number: chr(code_point)
        for number, code_point in enumerate(slots["o.code_point"])
        if lengths[number] and 0x20 <= code_point < 0x7F
    }
    for number in np.flatnonzero(lengths).tolist():
        if {number - 1, number} <= letters.keys():
            continue  # it is in the text that began before
        text = "".join(map(letters.__getitem__, takewhile(letters.__contains__, count(number))))
        if len(text) > 1:
            shown.append(f'{number}..{number + len(text) - 1} "{text}"')
            continue
        token = {name: slots[name][number] for name in ("o.code_point", "o.error", "o.kind")}
        where = f"lane {number - 1}" if number else "the beat before"
        shown.append(f"{number} {token_label(token)}" + f" ({where})" * token["o.error"])
    return ", ".join(shown) or "no tokens"


def verdict(output: Levels) -> str:
    """What is said of a text with its last beat; nothing in any other."""
    if not output["o.last"]:
        return ""
    error, kind = output["o.error"], Kind(output["o.kind"])
    return f"{kind.label} at {output['o.offset']}" if error else "well-formed"


def show_verdict(output: Levels) -> str:
    """A beat, and what is said of its text."""
    return ": ".join(filter(None, [show_beat(output, "o"), verdict(output)]))


BeatComponent = partial(
    Component,
    campaign=campaign,
    hostile=hostile,
    item="beat",
    result="beat",
    show_item=show_beat,
    pack=beats,
    kept=kept,
)
"""What all entries of components with lanes say."""
