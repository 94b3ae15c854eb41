"""Shared parts of the components with lanes: campaign, coverage, and display of beats."""

from collections.abc import Iterable, Iterator
from itertools import count, groupby, product, takewhile
from typing import Any

import numpy as np

from utf8_hdl import ErrorKind, Profile

from ..campaign import (
    Part,
    beginnings,
    boundary_encodings,
    byte_classes,
    class_name,
    edges_of,
    hostile_texts,
    toggled_values,
)
from ..coverage import MAX_IDLE, Bins, Coverage
from ..format import token_label
from ..fuzz import bytes_of, texts
from ..golden.decoder import decode, form_maximum, is_continuation
from ..golden.encoder import encode_as
from ..stimulus import LAST, Piece, beats
from ..trace import Columns, Interface, Trace, as_list, expand_lane_mask
from .component import Component, Levels
from .headers import beat_promises

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

WIDE = 16
"""Maximum number of lanes at which every lane is shown, empty lanes included."""

MAX_COLUMNS = 8
"""Maximum number of columns of lanes in coverage. With more lanes, the middle ones share one."""

FAR = 0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 257, 300
"""Numbers of beats before an event in a text: around every carry of a beat counter."""

BEATS = Bins((0, 1, 2, 4, 8, 16, 32, 64, 128, 255, 256, 257))
"""Bins of coverage for the number of beats before an event in a text."""

KEEPS = "of no lane", "of all lanes", "of the first lanes", "with holes"
"""Kinds of ``keep``; with few lanes, only the first ones exist."""

WORST = 512
"""Number of beats that break every rule, at the start of fuzzing; engines reuse them as idle
values."""

SIDES = 3
"""Number of lanes at each end that always have their own columns in coverage."""


def campaign(design: Any, seed: int) -> list[Part]:
    """The byte decoder's campaign in every lane, texts of all lengths, and broken rules."""
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


def powers_of_two(bits: Iterable[int]) -> Bins:
    """A bin for zero, and bins that begin with powers of two."""
    return Bins((0, *(1 << bit for bit in bits)))


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
    made = list(beats(pieces, Interface.of(name, design)))
    items = {pin: np.concatenate([some[pin] for some in made]) for pin in made[0]}
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
        shape = (2, lanes) if lanes > 1 else 2
        yield {
            "i.data": two.reshape(shape),
            "i.keep": np.stack([keep, generator.permutation(keep)]).reshape(shape),
            LAST: generator.integers(0, 2, 2, dtype=np.uint8),
        }
        for right in good:
            yield right, True


def valid_lanes(items: Columns) -> np.ndarray:
    """Mask of the valid values in ``i.data``."""
    return expand_lane_mask(items["i.keep"] != 0, items["i.data"])


def columns_of(count: int) -> tuple[list[str], np.ndarray]:
    """Names of the columns for the numbers below ``count``, and the column of each number.

    Beyond `MAX_COLUMNS`, the numbers in the middle share a column.
    """
    columns, column_of = list(map(str, range(count))), np.arange(count)
    if count > MAX_COLUMNS:
        columns[SIDES:-SIDES] = [f"{SIDES}..{count - SIDES - 1}"]
        middle = column_of[SIDES:-SIDES]
        column_of[-SIDES:] -= len(middle) - 1
        middle[:] = SIDES
    return columns, column_of


class BeatCoverage(Coverage):
    """Bytes by class and by lane; in ``ends``, texts by the number of bytes in their last beat.

    It also counts bytes in lanes without ``keep``, and the beats of a text before its first broken
    rule.
    """

    column = "lane"
    title = "lane"

    def __init__(self, engine: Any, classes: list[range] | None = None, units: int = 0) -> None:
        self.lanes = engine.design.lanes
        columns, self._column_of_lane = columns_of(units or self.lanes)
        super().__init__(engine, classes or byte_classes(engine.profile), columns)
        self.ends = self.points("end of a text", bytes_of_a_beat(self.lanes))
        self._idle_keeps = self.points("keep on the idle bus", kinds_of_keep(self.lanes))
        self._hidden = self.points("lane without a byte has", map(class_name, self.classes))
        self._broken = self.points("first broken rule after beats", BEATS.labels)
        self._empty = self.points("no byte in mid-text after beats", BEATS.labels)

    def reset(self) -> None:
        super().reset()
        self._input_beats, self._output_beats = TextBeats(), TextBeats()
        self._is_broken = False

    def in_flight(self, trace: Trace, before: int) -> int:
        """The number of input beats without their output beat, for components with one for each."""
        accepted, taken = map(np.count_nonzero, (trace.is_accepted, trace.is_taken))
        return before + int(accepted) - int(taken)

    def count_idle_values(self, items: Columns) -> None:
        super().count_idle_values(items)
        self._idle_keeps += count_keeps(items["i.keep"], self.lanes)

    def count_between_resets(self, trace: Trace) -> None:
        super().count_between_resets(trace)
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
        """Count, for each text, the first of its ``wrong`` beats, which break the rules."""
        text = np.append(0, np.cumsum(last))
        first = np.diff(text[wrong], prepend=0 if self._is_broken else -1) != 0
        self._broken += BEATS.counts(numbers[wrong[first]])
        ended = bool(last.any())
        in_last = len(wrong) > 0 and text[wrong[-1]] == text[-1]
        self._is_broken = bool(in_last or (self._is_broken and not ended))

    def count_beats(self, items: Columns, numbers: np.ndarray) -> None:
        """Count other properties of input beats, given their numbers in their texts."""

    def met(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        items = trace.accepted()
        values, _ = self.engine.component.values(items)
        lane = np.nonzero(valid_lanes(items).reshape(-1, self.lanes))[1]
        return self.rows(values), self._column_of_lane.take(lane)


def bytes_of_a_beat(lanes: int) -> list[str]:
    """Labels for the number of bytes in a beat."""
    return [f"{count} bytes of a beat" for count in range(lanes + 1)]


def keep_kinds(keep: np.ndarray) -> np.ndarray:
    """The kind of each ``keep``, as an index of `KEEPS`."""
    lanes = keep.shape[1]
    counts = np.add.reduce(keep, axis=1, dtype=np.intp)
    has_hole = np.logical_or.reduce(keep[:, 1:] > keep[:, :-1], axis=1)
    return np.select([counts == 0, counts == lanes, ~has_hole], [0, 1, 2], 3)


def kinds_of_keep(lanes: int) -> tuple[str, ...]:
    """The kinds of ``keep`` that exist with a number of lanes."""
    return KEEPS[: 1 + min(lanes, 3)]


def count_keeps(keep: np.ndarray, lanes: int) -> np.ndarray:
    """The number of beats with each kind of ``keep``."""
    kinds = keep_kinds(keep.reshape(-1, lanes))
    return np.bincount(kinds, minlength=len(KEEPS))[: len(kinds_of_keep(lanes))]


class TextBeats:
    """Numbers the beats of each text, for texts that arrive in parts."""

    def __init__(self) -> None:
        self._before = 0
        """Number of beats of the unfinished text."""

    def numbers(self, last: np.ndarray) -> np.ndarray:
        """For each beat, the number of earlier beats of its text."""
        (ends,) = np.nonzero(last)
        begins = np.concatenate([[-self._before], ends + 1])
        sizes = np.diff(np.concatenate([[0], ends + 1, [len(last)]]))
        self._before = len(last) - int(begins[-1])
        return np.arange(len(last)) - np.repeat(begins, sizes)


def show_beat(beat: Levels, side: str = "i", values: str = "bytes") -> str:
    """Show the bytes of a beat. In a wide beat, a count replaces the empty lanes at the end."""
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
    """Show the tokens by slot number; ASCII characters in adjacent slots as text."""
    lengths, shown = slots["o.length"], []
    letters = {
        number: chr(code_point)
        for number, code_point in enumerate(slots["o.code_point"])
        if lengths[number] and 0x20 <= code_point < 0x7F
    }
    for number in np.flatnonzero(lengths).tolist():
        if {number - 1, number} <= letters.keys():
            continue  # it is in the text of an earlier slot
        text = "".join(map(letters.__getitem__, takewhile(letters.__contains__, count(number))))
        if len(text) > 1:
            shown.append(f'{number}..{number + len(text) - 1} "{text}"')
            continue
        token = {name: slots[name][number] for name in ("o.code_point", "o.error", "o.kind")}
        where = f"lane {number - 1}" if number else "the beat before"
        shown.append(f"{number} {token_label(token)}" + f" ({where})" * token["o.error"])
    return ", ".join(shown) or "no tokens"


def verdict(output: Levels) -> str:
    """The verdict in the last beat of a text; empty in other beats."""
    if not output["o.last"]:
        return ""
    error, kind = output["o.error"], ErrorKind(output["o.kind"])
    return f"{kind.label} at {output['o.offset']}" if error else "well-formed"


def show_verdict(output: Levels) -> str:
    """Show a beat, and the verdict on its text."""
    return ": ".join(filter(None, [show_beat(output, "o"), verdict(output)]))


class BeatComponent(Component):
    """Base class of the components with lanes."""

    item = result = "beat"
    value = "byte"
    campaign = staticmethod(campaign)
    pack = staticmethod(beats)
    promises = staticmethod(beat_promises)

    def fuzz(self, design: Any, generator: np.random.Generator) -> Iterator[Piece]:
        return fuzz(design, generator)

    def show_item(self, item: Levels, /) -> str:
        return show_beat(item)

    def values(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        is_kept = valid_lanes(items)
        counts = np.add.reduce(is_kept, axis=tuple(range(1, is_kept.ndim)), dtype=np.intp)
        return items["i.data"][is_kept], counts
