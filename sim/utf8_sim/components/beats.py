"""What components with lanes have in common: their campaign, coverage, and how a beat is shown."""

from collections.abc import Iterable, Iterator
from itertools import count, groupby, product, takewhile
from typing import Any

import numpy as np

from utf8_hdl import ErrorKind, Profile

from ..campaign import (
    MAX_IDLE,
    Bins,
    Coverage,
    Part,
    beginnings,
    boundary_encodings,
    byte_classes,
    class_name,
    edges_of,
    hostile_texts,
    toggled_values,
)
from ..golden.decoder import decode, form_maximum, is_continuation
from ..golden.encoder import encode_as
from ..hostile import bytes_of, texts
from ..shown import token_label
from ..stimulus import LAST, Piece, beats
from ..trace import Columns, Interface, Trace, as_list, expand_lane_mask
from .component import Component, Levels
from .headers import beat_promises

MAX_TEXTS = 2048
"""Of those that try things one by one in every lane; if there were more, some are left out."""

RANDOM_KEEPS = 256

RATES = 0.0, 0.01, 0.2, 0.7
"""How often something happens that is not usual."""

RARE = 1 / 4096
"""A rate at which texts are right for many beats."""

BROKEN = 0.25
"""How many pieces of hostile texts break the rules of ``keep``."""

PLACES = 16
"""Beats that may be outstanding: as many values may be kept somewhere."""

WIDE = 16
"""Lanes up to which those without a byte are shown one by one."""

MAX_COLUMNS = 8
"""With more lanes, coverage counts those in the middle together."""

FAR = 0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 257, 300
"""Beats of a text before something happens in it: around every carry of a counter of beats."""

BEATS = Bins((0, 1, 2, 4, 8, 16, 32, 64, 128, 255, 256, 257))
"""Beats before something happens in a text, as coverage counts them."""

KEEPS = "of no lane", "of all lanes", "of the first lanes", "with holes"
"""What ``keep`` may be. A beat of one lane has the first two, one of two lanes has no more."""

WORST = 512
"""Beats of hostile stimuli that break every rule: an engine shows them on an idle bus."""

SIDES = 3
"""Lanes at each side that it counts one by one even then."""


def campaign(design: Any, seed: int) -> list[Part]:
    """What the byte decoder's campaign has, in every lane; texts of all lengths; broken rules."""
    profile, lanes = design.profile, design.lanes
    encodings, starts = boundary_encodings(profile), beginnings(profile)
    classes = byte_classes(profile)
    edges = edges_of(classes)
    toggled = [encode_as(value) for value in toggled_values(profile)]
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
    characters = b"".join(encode_as(form_maximum(n) + 1) for n in range(1, profile.longest_form))
    pieces |= far_texts(design, characters, b"A", [b"\xff", starts[-1]])
    stock = b"".join([bytes(edges), *encodings])
    return [made_part(name, design, some, stock) for name, some in pieces.items()]


def far_texts(
    design: Any, characters: bytes, letter: bytes, wrong: list[bytes]
) -> dict[str, Iterator[Piece]]:
    """Long texts in which something happens late, for counters of beats.

    ``wrong`` are errors. Each comes in the last of many beats, alone and after beats that break the
    rules; and in every beat of one text.
    """
    lanes, size = design.lanes, len(letter)

    def with_error(beats_before: int, lane: int) -> bytes:
        before = right_text(beats_before * lanes + lane * size % lanes, characters, letter)
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
            text = right_text(many * lanes, characters, letter)
            yield text, False
            data = np.frombuffer((wrong[0] + letter * lanes)[:lanes], np.uint8)
            yield beats_of(data[np.newaxis], keep[np.newaxis])
            yield (with_error(0, number) if number % 3 else letter), True
            yield letter, True

    return {"errors after many beats": errors(), "broken rules after many beats": broken()}


def right_text(size: int, characters: bytes, letter: bytes) -> bytes:
    """So many bytes of characters, none of them cut."""
    many, rest = divmod(size, len(characters))
    return characters * many + letter * (rest // len(letter))


def error_kinds(profile: Profile) -> set[ErrorKind]:
    """The kinds of errors that there are in UTF-8."""
    texts = [*boundary_encodings(profile), *beginnings(profile)]
    return {token.kind for text in texts for token in decode(text, profile)} - {ErrorKind.NONE}


CLOSE_BITS = 10
"""Up to two to the power of this, offsets around every power of two are tried in every mode."""

MIDDLE_BITS = 16
"""Up to two to the power of this, offsets half-way to the next power are tried, too."""


def far_bits(design: Any) -> int:
    """Up to two to the power of this, a long campaign has an error after every power of two."""
    return 20 if design.lanes >= 4 else 19


def powers_of_two(bits: Iterable[int]) -> Bins:
    """A bin for zero, and bins that begin with powers of two."""
    return Bins((0, *(1 << bit for bit in bits)))


def first_errors(design: Any, characters: bytes, letter: bytes, wrong: bytes) -> list[Part]:
    """Texts that are right up to an offset, made of ``characters`` and letters, then ``wrong``."""

    def wrong_at(offset: int) -> Piece:
        return right_text(offset, characters, letter) + wrong, True

    # A short text after each far one: an offset that is not cleared shows itself there.
    far = (
        wrong_at(size)
        for bit in range(CLOSE_BITS + 1, far_bits(design) + 1)
        for size in (1 << bit, *[3 << bit - 1] * (bit <= MIDDLE_BITS), 0)
    )
    close = (wrong_at((1 << bit) + n) for bit in range(CLOSE_BITS + 1) for n in (-1, 0, 1))
    return [
        made_part("first errors around powers of two", design, close),
        made_part("first errors far away", design, far, is_long=True),
    ]


def beats_of(data: np.ndarray, keep: np.ndarray, last: int = 0) -> Columns:
    """Beats by their lanes; ``last`` is for the last one."""
    shape = data.shape if data.shape[1] > 1 else len(data)
    lasts = np.zeros(len(data), dtype=np.uint8)
    lasts[-1:] = last
    columns = {"i.data": data.reshape(shape), "i.keep": keep.astype(np.uint8).reshape(shape)}
    return columns | {LAST: lasts}


def hostile(design: Any, generator: np.random.Generator, *more: bytes) -> Iterator[Piece]:
    """Hostile bytes, and ``more`` texts; see :func:`in_beats`."""
    edges = bytes(edges_of(byte_classes(design.profile)))
    stock = b"".join([edges, *boundary_encodings(design.profile), *more])
    drawn = texts(bytes_of(design.profile, *more), generator)
    return in_beats(design, drawn, generator, stock)


def in_beats(
    design: Any, pieces: Iterable[Piece], generator: np.random.Generator, stock: bytes
) -> Iterator[Columns]:
    """Texts in beats; some texts end in a beat without a value, and some beats break the rules.

    The first beats break every rule. For ``stock`` see :func:`hide`.
    """
    yield _worst(design, generator, stock)
    for some in beats(pieces, Interface.of("", design)):
        columns = _with_empty_beats(design.lanes, some, generator)
        if generator.random() < BROKEN:
            _break_rules(columns, generator)
        hide(columns, stock, int(generator.integers(len(stock))))
        yield columns


def _worst(design: Any, generator: np.random.Generator, stock: bytes) -> Columns:
    """Beats of the stock, with any ``keep``: none, all, the first lanes, or holes."""
    lanes = np.arange(design.lanes)
    size = generator.integers(-design.lanes, 2 * design.lanes, (WORST, 1))
    holes = generator.integers(2, size=(WORST, 1)) & generator.integers(2, size=(WORST, lanes.size))
    columns = beats_of(_rows_of(stock, WORST, lanes.size), (lanes < size) & (holes == 0))
    columns[LAST] = generator.integers(2, size=WORST, dtype=np.uint8)
    return columns


def _rows_of(stock: bytes, rows: int, lanes: int, first: int = 0) -> np.ndarray:
    """Parts of the stock, side by side or so that they overlap; from one of them on."""
    begins = (np.arange(rows) + first) * min(lanes, 4)
    return np.frombuffer(stock, np.uint8).take(
        begins[:, np.newaxis] + np.arange(lanes), mode="wrap"
    )


def hide(columns: Columns, stock: bytes, first: int = 0) -> None:
    """Put bytes of the stock, lead bytes among them, into the lanes without a value.

    Every other incomplete beat gets them. A design must not look at those lanes.
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
    """Leave out values, ends of texts, and all values of a beat; some rates are so low that a long
    right text comes before."""
    for pin in ("i.keep", LAST):
        column, rate = columns[pin], generator.choice((*RATES, RARE))
        column[generator.random(column.shape) < rate] = 0
    empty = generator.random(len(columns[LAST])) < generator.choice((*RATES, RARE))
    columns["i.keep"][empty] = 0


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

    def one_by_one(self, texts: list[bytes], most: int = MAX_TEXTS) -> list[bytes]:
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


def made_part(
    name: str, design: Any, pieces: Iterable[Piece], stock: bytes = b"", is_long: bool = False
) -> Part:
    """A part whose inputs are made once, and not again for each run. For ``stock`` see `hide`."""
    made = list(beats(pieces, Interface.of(name, design)))
    items = {pin: np.concatenate([some[pin] for some in made]) for pin in made[0]}
    if stock:
        hide(items, stock)
    return Part(name, len(items[LAST]), lambda: iter([items]), is_long)


def _every_length(design: Any) -> Iterator[Piece]:
    """Characters of all lengths, cut anywhere; if they fill a beat, also with an empty one."""
    longest = design.profile.longest_form
    characters = b"".join(encode_as(form_maximum(n) + 1) for n in range(1, longest))
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
    return expand_lane_mask(items["i.keep"] != 0, items["i.data"])


def columns_of(count: int) -> tuple[list[str], np.ndarray]:
    """The names of columns for numbers up to one, if need be those in the middle as one.

    And the column of each number.
    """
    columns, column_of = list(map(str, range(count))), np.arange(count)
    if count > MAX_COLUMNS:
        columns[SIDES:-SIDES] = [f"{SIDES}..{count - SIDES - 1}"]
        middle = column_of[SIDES:-SIDES]
        column_of[-SIDES:] -= len(middle) - 1
        middle[:] = SIDES
    return columns, column_of


class BeatCoverage(Coverage):
    """Bytes by class and by lane; ``ends`` of texts by how many bytes of a beat they are in.

    Also what is in lanes without a byte, and after how many beats a text first breaks the rules.
    """

    column = "lane"
    title = "lane"

    def __init__(self, engine: Any, classes: list[range] | None = None, places: int = 0) -> None:
        self.lanes = engine.design.lanes
        columns, self._column_of_lane = columns_of(places or self.lanes)
        super().__init__(engine, classes or byte_classes(engine.profile), columns)
        self.ends = self.points("end of a text", bytes_of_a_beat(self.lanes))
        self._kept_idle = self.points("keep on the idle bus", KEEPS[: 1 + min(self.lanes, 3)])
        self._hidden = self.points("lane without a byte has", map(class_name, self.classes))
        self._broken = self.points("first broken rule after beats", BEATS.labels)
        self._empty = self.points("no byte in mid-text after beats", BEATS.labels)

    def begin_again(self) -> None:
        super().begin_again()
        self._input_beats, self._output_beats = TextBeats(), TextBeats()
        self._is_broken = False

    def count_idle_values(self, items: Columns) -> None:
        super().count_idle_values(items)
        kinds = keep_kinds(items["i.keep"].reshape(-1, self.lanes))
        self._kept_idle += np.bincount(kinds, minlength=4)[: len(self._kept_idle)]

    def count_life(self, trace: Trace) -> None:
        super().count_life(trace)
        items = trace.accepted()
        keep, last = items["i.keep"].reshape(-1, self.lanes), items[LAST] != 0
        counts = np.add.reduce(keep, axis=1, dtype=np.intp)
        self.ends += np.bincount(counts[last], minlength=len(self.ends))
        numbers = self._input_beats.numbers(last)
        self.count_beats(items, numbers)
        (partial,) = np.nonzero(counts < self.lanes)
        kinds = keep_kinds(keep[partial])
        is_wrong = (kinds == KEEPS.index("with holes")) | ~last[partial]
        self._empty += BEATS.counts(numbers[partial[(kinds == 0) & ~last[partial]]])
        self._count_broken(partial[is_wrong], numbers, last)
        some = partial[:MAX_IDLE]
        of_some = {pin: column[some] for pin, column in items.items()}
        rows, _ = self.accepted(of_some | {"i.keep": 1 - of_some["i.keep"]})
        self._hidden += np.bincount(rows, minlength=len(self._hidden))

    def _count_broken(self, wrong: np.ndarray, numbers: np.ndarray, last: np.ndarray) -> None:
        """The first beats of their texts among some that break the rules."""
        text = np.append(0, np.cumsum(last))
        first = np.diff(text[wrong], prepend=0 if self._is_broken else -1) != 0
        self._broken += BEATS.counts(numbers[wrong[first]])
        ended = bool(last.any())
        in_last = len(wrong) > 0 and text[wrong[-1]] == text[-1]
        self._is_broken = bool(in_last or (self._is_broken and not ended))

    def count_beats(self, items: Columns, numbers: np.ndarray) -> None:
        """Count more of some inputs, which have these numbers in their texts."""

    def met(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        items = trace.accepted()
        values, _ = self.engine.component.values(items)
        lane = np.nonzero(kept(items).reshape(-1, self.lanes))[1]
        return self.rows(values), self._column_of_lane.take(lane)


def bytes_of_a_beat(lanes: int) -> list[str]:
    """Labels for so many bytes of a beat."""
    return [f"{count} bytes of a beat" for count in range(lanes + 1)]


def keep_kinds(keep: np.ndarray) -> np.ndarray:
    """What each ``keep`` is, as a number of `KEEPS`."""
    lanes = keep.shape[1]
    counts = np.add.reduce(keep, axis=1, dtype=np.intp)
    is_first = np.logical_or.reduce(keep[:, 1:] > keep[:, :-1], axis=1)
    return np.select([counts == 0, counts == lanes, ~is_first], [0, 1, 2], 3)


class TextBeats:
    """Numbers of beats in their texts, which come in parts."""

    def __init__(self) -> None:
        self._before = 0
        """Beats of a text that has not ended."""

    def numbers(self, last: np.ndarray) -> np.ndarray:
        """For each beat how many of its text are before it."""
        (ends,) = np.nonzero(last)
        begins = np.concatenate([[-self._before], ends + 1])
        sizes = np.diff(np.concatenate([[0], ends + 1, [len(last)]]))
        self._before = len(last) - int(begins[-1])
        return np.arange(len(last)) - np.repeat(begins, sizes)


def show_beat(beat: Levels, side: str = "i", values: str = "bytes") -> str:
    """The bytes of a beat. If it is wide, the lanes behind the last byte are only counted."""
    keeps, parts = as_list(beat[f"{side}.keep"]), as_list(beat[f"{side}.data"])
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
    error, kind = output["o.error"], ErrorKind(output["o.kind"])
    return f"{kind.label} at {output['o.offset']}" if error else "well-formed"


def show_verdict(output: Levels) -> str:
    """A beat, and what is said of its text."""
    return ": ".join(filter(None, [show_beat(output, "o"), verdict(output)]))


class BeatComponent(Component):
    """What all components with lanes have in common."""

    item = result = "beat"
    value = "byte"
    campaign = staticmethod(campaign)
    pack = staticmethod(beats)
    promises = staticmethod(beat_promises)

    def hostile(self, design: Any, generator: np.random.Generator) -> Iterator[Piece]:
        return hostile(design, generator)

    def show_item(self, item: Levels, /) -> str:
        return show_beat(item)

    def values(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        is_kept = kept(items)
        counts = np.add.reduce(is_kept, axis=tuple(range(1, is_kept.ndim)), dtype=np.intp)
        return items["i.data"][is_kept], counts
