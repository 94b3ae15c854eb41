"""The transcoder's entry: golden model, campaign, coverage and display."""

from collections.abc import Iterable, Iterator
from itertools import pairwise, product
from typing import Any, ClassVar, Literal

import numpy as np

from utf8_hdl import EncodingScheme, ErrorKind, Profile, Transcoder
from utf8_hdl.profile import NONCHARACTERS

from ..campaign import Part, boundary_values, class_name, edges_of, toggled_values
from ..command_line import COMMAND_LINES
from ..coverage import Bins, Coverage
from ..fuzz import Fragment, Fragments, alone, alone_in_order, many, texts, values_of
from ..golden.encoder import encode_as
from ..golden.timing import Packing
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
    TranscoderModel,
)
from ..stimulus import LAST, Piece
from ..tools.words import plural
from ..trace import Columns, Trace
from . import beats
from .beats import (
    BEATS,
    CLOSE_BITS,
    BeatComponent,
    BeatCoverage,
    InLanes,
    broken_rules,
    error_kinds,
    every_length,
    far_bits,
    far_texts,
    first_errors,
    join_texts,
    make_part,
    powers_of_two,
    show_beat,
    verdict,
)
from .component import EXAMPLE, Levels, OwnValues, Row, register
from .transcoder_report import (
    TranscoderReport,
    encode,
    ports,
    promises,
    transcoded_by_cpython,
)

TIMING = Packing(stages=20, counted=16, waits=True)

HOSTILE_UNITS = 2048

OUT_BEATS = Bins((1, 2, 4, 8, 16, 32, 64, 128))
"""Bins of coverage for the number of beats of an output text."""

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
        return alone_in_order(int.from_bytes(unit, self.order) for unit in units)

    def cut(self, values: Any, ends: Any, generator: np.random.Generator) -> Piece:
        """The bytes of units; in some of the texts, the last unit is incomplete."""
        size = self.size
        data = values.astype(f"{'<' if self.order == 'little' else '>'}u{size}").view(np.uint8)
        (last,) = np.nonzero(ends)
        rate = generator.choice(beats.RATES)
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
        parts = beats.campaign(design, seed)
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

    def many(bits: Iterable[int], around: Iterable[int]) -> Iterator[Piece]:
        for bit, more, error in product(bits, around, units.errors):
            yield error * ((1 << bit) + more), True
            yield letter + error, True  # reveals a count that is not cleared

    far = range(CLOSE_BITS + 1, far_bits(design) - units.size.bit_length() + 2)
    return [
        *first_errors(design, characters, letter, wrong),
        make_part("errors by number", design, many(range(CLOSE_BITS + 1), (-1, 0, 1))),
        make_part("very many errors", design, many(far, (0,)), is_long=True),
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
        return beats.fuzz(design, generator, units.text(BOM))
    right: list[list[Fragment]] = [[[range(HIGH.start)]], [[alone(BOM)]]]
    right += [[[HIGH, LOW]]] * (units.size == UTF_16)
    kinds: list[list[Fragment]] = [
        *right,
        *values_of(units.classes),
        [units.fragment(text) for text in units.boundaries],
        [[range(1 << bits)] for bits in range(1, 8 * units.size + 1)],
        [[range(1 << 8 * units.size)]],
        [[alone(SWAPPED[units.size])]],
    ]
    if units.size == UTF_16:
        kinds += [*many([[HIGH, LOW]], [[HIGH]], [[LOW]])]
    drawn = texts(Fragments(kinds, np.uint32, len(right)), generator)
    pieces = (units.cut(*some, generator) for some in drawn)
    return beats.in_beats(design, pieces, generator, b"".join([*units.edges, *units.boundaries]))


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
    yield beat * beats.FAR[-1], True


def _mark_after_empty_lanes(design: Any, mark: bytes, hole: int) -> Iterator[Piece]:
    """A byte order mark with empty lanes before it, or with an empty lane in it."""
    lanes = design.lanes
    for before in range(2):
        data = np.zeros(-(-(len(mark) + hole + 1) // lanes) * lanes, dtype=np.uint8)
        keep = np.zeros_like(data)
        lanes_of_mark = np.arange(len(mark)) + hole * before
        lanes_of_mark[min(hole, len(mark)) :] += not before
        data[lanes_of_mark], keep[lanes_of_mark] = list(mark), 1
        shape = (-1, lanes) if lanes > 1 else -1
        last = np.zeros(len(data) // lanes, dtype=np.uint8)
        last[-1] = 1
        yield {"i.data": data.reshape(shape), "i.keep": keep.reshape(shape), LAST: last}


class TranscoderCoverage(BeatCoverage):
    """Units by class and by index in the beat; in UTF-8, bytes by class and by lane.

    ``errors`` counts texts with and without an error. ``rests`` counts texts by the number of units
    in their last output beat. ``written`` counts output units by class.
    """

    def __init__(self, engine: Any) -> None:
        design = engine.design
        units = Units(design)
        self._size = units.size
        orders = (scheme in BIG_ENDIAN for scheme in (design.source, design.target))
        self._source_order, self._target_order = (">" if is_big else "<" for is_big in orders)
        if self._size == 1:
            super().__init__(engine)
        else:
            super().__init__(engine, units.classes, design.lanes // self._size)
            self.column = self.title = "unit index"
        self._out_size = UNIT_BYTES[design.target]
        self.errors = self.points("text", ["without an error", "with an error"])
        self._reports = design.errors
        labels = (kind.label if kind in units.kinds else "" for kind in ErrorKind)
        self._kinds = self._of_reports("first error", labels)
        bits = min(far_bits(design) + 1, design.report_width)
        unit_bits = self._size.bit_length() - 1
        self._offsets = powers_of_two(range(unit_bits, bits))
        self._numbers = powers_of_two(range(bits - unit_bits if units.errors else 1))
        self._first_at = self._of_reports("first error at byte", self._offsets.labels)
        self._many = self._of_reports("errors in a text", self._numbers.labels)
        rests = range(design.out_lanes // self._out_size + 1)
        self.rests = self.points("last output", (f"{count} units" for count in rests))
        self.written_classes = _written(self._out_size, design.profile)
        self.written = self.points("output", map(class_name, self.written_classes))
        mark = np.frombuffer(units.text(BOM), dtype=np.uint8)
        self._mark = mark if len(mark) <= design.lanes else None
        self._marks = self.points(
            "byte order mark after beats", BEATS.labels if self._mark is not None else []
        )
        self._errors_after = self.points("error in a text of beats", OUT_BEATS.labels)
        self._first_written = np.array([members.start for members in self.written_classes])

    in_flight = Coverage.in_flight

    def accepted(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        if self._size == 1:
            return super().accepted(items)
        units, is_whole = self._units_in(items)
        return self.rows(units[is_whole]), np.count_nonzero(is_whole, axis=1)

    def met(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        if self._size == 1:
            return super().met(trace)
        items = trace.accepted()
        _, is_whole = self._units_in(items)
        indices = np.nonzero(is_whole)[1]
        return self.accepted(items)[0], self._column_of_lane.take(indices)

    def _units_in(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        return _units(items["i.data"], items["i.keep"], f"{self._source_order}u{self._size}")

    def count_between_resets(self, trace: Trace) -> None:
        super().count_between_resets(trace)
        taken = trace.taken()
        unit = f"{self._target_order}u{self._out_size}"
        units, is_complete = _units(taken["o.data"], taken["o.keep"], unit)
        rows = np.searchsorted(self._first_written, units[is_complete], "right") - 1
        self.written += np.bincount(rows, minlength=len(self.written))
        is_last = taken["o.last"] != 0
        self.errors += np.bincount(taken["o.error"][is_last], minlength=2)
        if self._reports:
            self._count_reports(taken, is_last)
        counts = np.count_nonzero(is_complete[is_last], axis=1)
        self.rests += np.bincount(counts, minlength=len(self.rests))

        numbers = self._output_beats.numbers(is_last)
        with_error = numbers[is_last & (taken["o.error"] != 0)] + 1
        self._errors_after += OUT_BEATS.counts(with_error)

    def _of_reports(self, name: str, labels: Iterable[str]) -> np.ndarray:
        """Add cover points, if the transcoder reports errors."""
        return self.points(name, labels if self._reports else ())

    def _count_reports(self, taken: Columns, is_last: np.ndarray) -> None:
        errors = taken["o.error"] != 0
        self._kinds += np.bincount(taken["o.kind"][errors], minlength=len(self._kinds))
        self._first_at += self._offsets.counts(taken["o.offset"][errors])
        self._many += self._numbers.counts(taken["o.count"][is_last])

    def count_beats(self, items: Columns, numbers: np.ndarray) -> None:
        if self._mark is not None:
            data, kept = (items[pin][:, : len(self._mark)] for pin in ("i.data", "i.keep"))
            is_mark = np.logical_and.reduce((data == self._mark) & (kept != 0), axis=1)
            self._marks += BEATS.counts(numbers[is_mark])


def _units(data: np.ndarray, keep: np.ndarray, unit: str) -> tuple[np.ndarray, np.ndarray]:
    """Units by beat and index, with the numpy type ``unit``, and a mask of the complete units."""
    size = np.dtype(unit).itemsize
    shape = len(data), data.shape[1] // size
    units = np.ascontiguousarray(data).ravel().view(unit)
    return units.reshape(shape), np.logical_and.reduce(keep.reshape(*shape, size), axis=2)


def _written(size: int, profile: Profile) -> list[range]:
    """The possible output units of ``size`` bytes, divided where their meaning changes."""
    highest = profile.highest
    if size == UTF_8:
        classes = [range(0x80), range(0x80, 0xC0), range(0xC2, 0xE0), range(0xE0, 0xF0)]
        return classes + [range(0xF0, 0xF5)] * (highest >= FIRST_OF_PAIRS)
    if size == UTF_16:
        surrogates = [HIGH, LOW] * (highest >= FIRST_OF_PAIRS or profile.accept_surrogates)
        return [range(HIGH.start), *surrogates, range(LOW.stop, FIRST_OF_PAIRS)]
    return [range(FIRST_OF_PAIRS), range(FIRST_OF_PAIRS, highest + 1)][: 1 + (highest > 0xFFFF)]


def show_text(beat: Levels) -> str:
    """Show the bytes of an output, and the report of its text."""
    shown = show_beat(beat, "o") + " error" * beat["o.error"]
    if beat["o.error"] and "o.count" in beat:
        shown += f": {verdict(beat)}, {plural(beat['o.count'], 'error')}"
    return shown


_TRIED = (
    (EncodingScheme.UTF_8, EncodingScheme.UTF_16LE),
    (EncodingScheme.UTF_8, EncodingScheme.UTF_32LE),
    (EncodingScheme.UTF_16LE, EncodingScheme.UTF_8),
    (EncodingScheme.UTF_32LE, EncodingScheme.UTF_8),
    (EncodingScheme.UTF_8, EncodingScheme.UTF_8),
)

_BIG_ENDIAN = (
    (EncodingScheme.UTF_8, EncodingScheme.UTF_16BE),
    (EncodingScheme.UTF_16BE, EncodingScheme.UTF_8),
    (EncodingScheme.UTF_32BE, EncodingScheme.UTF_16BE),
)


class TranscoderComponent(BeatComponent):
    """The transcoder."""

    name = "transcoder"
    make = Transcoder
    formal = "utf8_flow.formal.transcoder"
    command_line = COMMAND_LINES["transcoder"]
    tried = tuple({"source": source, "target": target} for source, target in _TRIED)
    proved_small = (
        *(
            {"source": source, "target": target}
            for source, target in product(EncodingScheme, repeat=2)
            if not {source, target} & {*BIG_ENDIAN}
        ),
        *(
            {"source": source, "target": target, "strip_bom": True}
            for source, target in _BIG_ENDIAN
        ),
        *(
            {"source": source, "errors": True}
            for source in (
                EncodingScheme.UTF_8,
                EncodingScheme.UTF_16LE,
                EncodingScheme.UTF_32LE,
            )
        ),
    )
    live: ClassVar = {
        **{f"transcoder-{lanes}": {"lanes": lanes} for lanes in (4, 8, 16)},
        "repair-4": {"lanes": 4, "target": EncodingScheme.UTF_8},
    }
    has_live_rules = False
    coverage = TranscoderCoverage
    report = TranscoderReport
    show_result = staticmethod(show_text)
    rows = (Row("o.data", lambda beat: show_beat(beat, "o")),)
    levels = ("o.error", "o.last")
    dont_care_unless: ClassVar = {"o.data": "o.keep"}
    campaign = staticmethod(campaign)
    fuzz = staticmethod(fuzz)
    encode = staticmethod(encode)
    cpython_result = staticmethod(transcoded_by_cpython)
    ports = staticmethod(ports)
    promises = staticmethod(promises)

    def model(self, design: Any) -> TranscoderModel:
        return TranscoderModel(design)

    def timing(self, design: Any) -> Packing:
        return TIMING

    def example(self, design: Any) -> Piece:
        if design.source is EncodingScheme.UTF_8:
            return super().example(design)
        text = EXAMPLE.encode(design.source.value, "surrogatepass")
        return self.fit_example(text, design), True

    def idle_options(self, own: OwnValues) -> frozenset[str]:
        is_utf8 = own["source"] == EncodingScheme.UTF_8.value
        return frozenset() if is_utf8 else frozenset({"--error-span"})


register(TranscoderComponent())
