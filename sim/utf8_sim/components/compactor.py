"""The compactor's entry: golden model, campaign, coverage and display."""

import re
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any, ClassVar, TextIO

import numpy as np
from rich.text import Text

from utf8_hdl import Compactor, Profile

from ..campaign import Part
from ..command_line import COMMAND_LINES
from ..coverage import Coverage
from ..fuzz import PIECE, text_ends
from ..golden.compactor import CompactorModel
from ..golden.timing import Packing, Timing
from ..stimulus import LAST, Piece, random_column
from ..tools.errors import UsageError
from ..tools.words import plural
from ..trace import LARGEST_PART, Columns, Interface, Trace
from .beat_campaign import FAR, MEMORY_ENTRIES, beats_of, make_part
from .beat_coverage import BEATS, TextBeats, columns_of, count_keeps, kinds_of_keep, valid_lanes
from .beats import BeatComponent, show_beat
from .component import Levels, OptionValues, hex_words, register
from .headers import DONT_CARES, NOT_COUNTED, THROUGHPUT
from .report import BOOLEANS, Report, json_lines

TIMING = Packing(stages=11, counted=7)

MAX_LANES = 8
"""Maximum number of lanes at which all patterns of lanes are tried."""

DENSITIES = 0.03, 0.2, 0.5, 0.8, 0.97
"""Probabilities that a lane has a value."""

RANDOM_BEATS = 256

MAX_ALIKE = 6
"""Binary logarithm of the maximum number of consecutive beats with the same density."""

MAX_EMPTY = 20
"""Consecutive beats without a value: more than the pipeline has stages."""


EMPTY = "--"
"""An empty lane on the command line."""


class _Beats:
    """Beats with random values in given lanes."""

    def __init__(self, design: Any, generator: np.random.Generator) -> None:
        self.lanes = design.lanes
        self.generator = generator
        self._interface = Interface.of("compactor", design)

    def of(self, keeps: Any, last: int | np.ndarray = 0) -> Columns:
        """Beats with values in the lanes ``keeps``; ``last`` is for the last beat, or for each."""
        keep = np.asarray(keeps, dtype=np.uint8).reshape(-1, self.lanes)
        columns = {
            pin.name: random_column(pin, len(keep), self.generator)
            for pin in self._interface.inputs
        }
        columns["i.keep"] = keep.reshape(columns["i.keep"].shape)
        columns[LAST] = np.zeros(len(keep), dtype=np.uint8)
        if isinstance(last, np.ndarray):
            columns[LAST][:] = last
        else:
            columns[LAST][-1:] = last
        return columns

    def of_count(self, count: int) -> np.ndarray:
        """Mask of ``count`` random lanes."""
        return self.generator.permutation(self.lanes) < count


def campaign(design: Any, seed: int) -> list[Part]:
    """All patterns of lanes after any number of values, texts of all lengths, random beats."""
    beats = _Beats(design, np.random.default_rng((seed, 0)))
    pieces = {
        "patterns of lanes": _patterns(beats),
        "every pattern in a text": _single(beats),
        "full beats": _full(beats),
        "beats without a value": _empty(beats),
        "texts of every length up to three beats": _every_length(beats),
        "every bit of a value in every lane and memory entry": _every_bit(design, beats),
        "random lanes": _random(beats),
        "no value after many beats": _empty_after_many(beats),
    }
    return [make_part(name, design, some) for name, some in pieces.items()]


def _some_patterns(beats: _Beats) -> np.ndarray:
    """Patterns with a value in lane 0. Their complements are the other half of the patterns."""
    lanes = np.arange(beats.lanes)
    if beats.lanes <= MAX_LANES:
        numbers = np.arange(1, 1 << beats.lanes, 2)
        return numbers[:, np.newaxis] >> lanes & 1
    one, before = np.eye(beats.lanes, dtype=np.int64), np.tri(beats.lanes, dtype=np.int64)
    periods = [lanes >> bit & 1 for bit in range(beats.lanes.bit_length() - 1)]
    random = beats.generator.integers(0, 2, (RANDOM_BEATS, beats.lanes))
    patterns = np.concatenate([one, before, periods, random])
    return np.where(patterns[:, :1] != 0, patterns, 1 - patterns)


def _patterns(beats: _Beats) -> Iterator[Piece]:
    """Each pattern and its complement, after any number of values.

    The two fill a beat. With up to eight lanes, every pattern therefore occurs after every number
    of values.
    """
    lanes, patterns = beats.lanes, _some_patterns(beats)
    counts = list(range(1, lanes + 1))
    both = np.stack([patterns, 1 - patterns], axis=1)
    if lanes > MAX_LANES:
        counts = sorted({1, 2, 3, lanes // 2 + 1, lanes - 2, lanes - 1, lanes})
        both = np.concatenate([both, both[: 2 * lanes : lanes // 2, ::-1]])
    for count in counts:
        yield beats.of(beats.of_count(count))
        yield beats.of(both)
        yield beats.of([beats.of_count(0), beats.of_count(lanes), beats.of_count(count)], last=1)


def _single(beats: _Beats) -> Iterator[Piece]:
    patterns = _some_patterns(beats)
    for pattern in np.concatenate([patterns, 1 - patterns]):
        yield beats.of(pattern, last=1)


def _full(beats: _Beats) -> Iterator[Piece]:
    """Full beats after and before any number of values."""
    for count in range(beats.lanes + 1):
        keeps = [count, *[beats.lanes] * 3, beats.lanes - count]
        yield beats.of([beats.of_count(each) for each in keeps], last=1)


def _empty(beats: _Beats) -> Iterator[Piece]:
    """Beats without a value: in texts, between texts, and as texts."""
    counts = 0, 1, beats.lanes
    for empty, before, after in product((1, 2, MAX_EMPTY), counts, counts):
        yield beats.of([beats.of_count(n) for n in (before, *[0] * empty, after)], last=1)
    yield beats.of(np.zeros((MAX_EMPTY, beats.lanes)), last=np.ones(MAX_EMPTY))
    yield beats.of(beats.of_count(1), last=1)


def _every_length(beats: _Beats) -> Iterator[Piece]:
    """Values in adjacent and in random lanes; the last beat with and without values."""
    lanes = beats.lanes
    for length in range(3 * lanes + 1):
        whole, rest = divmod(length, lanes)
        dense = [*[lanes] * whole, *[rest] * (rest > 0 or not length)]
        in_order = np.arange(lanes) < np.array(dense)[:, np.newaxis]
        yield beats.of(in_order, last=1)
        sparse = np.zeros((4, lanes))
        sparse.ravel()[beats.generator.permutation(4 * lanes)[:length]] = 1
        yield beats.of(sparse, last=1)
        yield beats.of([*in_order, beats.of_count(0)], last=1)


def _every_bit(design: Any, beats: _Beats) -> Iterator[Piece]:
    """Values with one bit set, and with one bit clear, in every memory entry."""
    whole = (1 << design.width) - 1
    bits = [1 << bit for bit in range(design.width)]
    values = [*bits, *(whole ^ bit for bit in bits), whole]
    beat = beats.of(np.ones((len(values), beats.lanes)))
    sizes = [min(LARGEST_PART, design.width - at) for at in range(0, design.width, LARGEST_PART)]
    parts = [
        [value >> LARGEST_PART * n & (1 << size) - 1 for n, size in enumerate(sizes)]
        for value in values
    ]
    data = beat["i.data"]
    of_lane = np.array(parts, dtype=data.dtype)
    beat["i.data"] = np.tile(of_lane, beats.lanes).reshape(data.shape)
    for _ in range(MEMORY_ENTRIES):
        yield beat
    yield beats.of(beats.of_count(1), last=1)


def _random(beats: _Beats) -> Iterator[Piece]:
    shape = RANDOM_BEATS, beats.lanes
    for density, ends in product(DENSITIES, (0.02, 0.3)):
        keeps = beats.generator.random(shape) < density
        yield beats.of(keeps, last=beats.generator.random(RANDOM_BEATS) < ends)
    mixed = beats.generator.random((RANDOM_BEATS, 1))
    keeps = beats.generator.random(shape) < mixed
    yield beats.of(keeps, last=beats.generator.random(RANDOM_BEATS) < 0.1)


def _empty_after_many(beats: _Beats) -> Iterator[Piece]:
    """Long texts of full or partial beats, with beats without a value near the end."""
    for number, many in enumerate(FAR):
        count = beats.lanes - number % 2 * (beats.lanes // 2)
        yield beats.of(np.broadcast_to(beats.of_count(count), (many, beats.lanes)))
        yield beats.of(np.zeros((1 + number % 3, beats.lanes)))
        yield beats.of(beats.of_count(beats.lanes), last=1)


def fuzz(design: Any, generator: np.random.Generator) -> Iterator[Piece]:
    """Random beats; in each group of one or more consecutive beats, the density is the same."""
    beats = _Beats(design, generator)
    count = -(-PIECE // design.lanes)
    while True:
        side_by_side = 1 << int(generator.integers(MAX_ALIKE, endpoint=True))
        density = np.repeat(generator.choice((0, *DENSITIES, 1), count), side_by_side)[:count]
        keeps = generator.random((count, design.lanes)) < density[:, np.newaxis]
        yield beats.of(keeps, last=text_ends(count, generator))


def _count_classes(lanes: int) -> list[range]:
    """Classes of the number of values in a beat."""
    if lanes <= MAX_LANES:
        return [range(count, count + 1) for count in range(lanes + 1)]
    cuts = 0, 1, 2, lanes - 1, lanes, lanes + 1
    return [range(*pair) for pair in pairwise(cuts)]


class CompactorCoverage(Coverage):
    """Beats by their number of values, and by the number of values pending in a dense beat.

    ``ends`` counts texts by the number of values in their last input beat, ``rests`` by the number
    in their last output beat.
    """

    column = "number of values before it"
    title = "pending values before it"

    def __init__(self, engine: Any) -> None:
        self.lanes = engine.design.lanes
        columns, self._column_of_count = columns_of(self.lanes + 1)
        super().__init__(engine, _count_classes(self.lanes), columns)
        values = [f"{count} values" for count in range(self.lanes + 1)]
        self.ends = self.points("end of a text", values)
        self.rests = self.points("last output", values)
        self._idle_keeps = self.points("keep on the idle bus", kinds_of_keep(self.lanes))
        self._empty = self.points("no value in mid-text after beats", BEATS.labels)
        self._bits = self.points("bit alone in a value", map(str, range(engine.design.width)))

    def reset(self) -> None:
        super().reset()
        self._of_text = 0  # values of the unfinished text
        self._input_beats = TextBeats()

    def count_between_resets(self, trace: Trace) -> None:
        super().count_between_resets(trace)
        items, taken = trace.accepted(), trace.taken()
        counts, last = self._counts(items["i.keep"]), items[LAST] != 0
        numbers = self._input_beats.numbers(last)
        self._empty += BEATS.counts(numbers[(counts == 0) & ~last])
        self._count_bits(items)
        rests = self._counts(taken["o.keep"])[taken["o.last"] != 0]
        self.ends += np.bincount(counts[last], minlength=self.lanes + 1)
        self.rests += np.bincount(rests, minlength=self.lanes + 1)

    def _counts(self, keep: np.ndarray) -> np.ndarray:
        return np.count_nonzero(keep.reshape(len(keep), self.lanes), axis=1)

    def accepted(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        """The row of each beat, by its number of values."""
        counts = self._counts(items["i.keep"])
        return self.rows(counts), np.ones(len(counts), dtype=np.intp)

    def met(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        items = trace.accepted()
        counts, is_last = self._counts(items["i.keep"]), items[LAST] != 0
        so_far = np.append(0, np.cumsum(counts)) + self._of_text
        text = np.cumsum(is_last) - is_last
        begins = np.append(0, so_far[1:].compress(is_last))
        before = so_far[:-1] - begins.take(text)
        self._of_text = int(so_far[-1] - begins[-1])
        waiting = np.where(before == 0, 0, (before - 1) % self.lanes + 1)
        return self.rows(counts), self._column_of_count.take(waiting)

    def _count_bits(self, items: Columns) -> None:
        """Count values with exactly one bit set."""
        width = len(self._bits)
        values = items["i.data"].reshape(-1, -(-width // LARGEST_PART))
        is_part = values != 0
        is_alone = np.add.reduce(is_part, axis=1) == 1
        is_power = np.logical_and.reduce((values & (values - (values != 0))) == 0, axis=1)
        alone = values[is_alone & is_power & valid_lanes(items).reshape(values.shape)[:, 0]]
        rows, parts = np.nonzero(alone)
        bits = np.log2(alone[rows, parts].astype(np.float64)).astype(np.intp)
        self._bits += np.bincount(bits + LARGEST_PART * parts, minlength=width)

    def count_idle_values(self, items: Columns) -> None:
        super().count_idle_values(items)
        self._idle_keeps += count_keeps(items["i.keep"], self.lanes)


def _show(side: str, beat: Levels) -> str:
    user = f", user {beat[f'{side}.user']}" if beat.get(f"{side}.user") else ""
    return show_beat(beat, side, "values") + user


class CompactorReport(Report):
    """Dense beats, each with its values."""

    def __init__(self, file: TextIO | None) -> None:
        super().__init__(file)
        self._texts = self._beats_out = 0

    def _count(self, taken: Columns) -> None:
        lasts = taken["o.last"]
        self._texts += int(np.count_nonzero(lasts))
        self._beats_out += len(lasts)
        if self._file:
            lanes = (taken[pin].reshape(len(lasts) or 1, -1) for pin in ("o.data", "o.keep"))
            values = np.empty(len(lasts), dtype=object)
            values[:] = [data[keep != 0].tolist() for data, keep in zip(*lanes, strict=True)]
            self._file.write(json_lines(_BEAT, values, BOOLEANS.take(lasts)))

    def lines(self) -> list[Text]:
        return [
            Text(f"texts       {self._texts}"),
            Text(f"values      {self.inputs} in {plural(self._beats, 'beat')}"),
            Text(f"beats out   {self._beats_out}"),
            self._pace(self.inputs),
        ]


_BEAT = '{"values": %s, "last": %s}\n'


def values_in_hex(text: str, design: Any) -> Piece:
    """The beats of a text from a list with a value, or an empty lane, for each lane."""
    words = hex_words(text)
    lanes = max(1, -(-len(words) // design.lanes)) * design.lanes
    data, keep = np.zeros(lanes, dtype=np.uint64), np.zeros(lanes, dtype=np.uint8)
    for lane, word in enumerate(words):
        if word == EMPTY:
            continue
        if not re.fullmatch("[0-9A-Fa-f]+", word) or int(word, 16) >> design.width:
            raise UsageError(
                f"--hex expects hexadecimal values of {plural(design.width, 'bit')}, {EMPTY} for "
                f"an empty lane, and / between texts, not {word!r}"
            )
        data[lane], keep[lane] = int(word, 16), 1
    columns = beats_of(data.reshape(-1, design.lanes), keep.reshape(-1, design.lanes), last=1)
    if design.user_width:
        columns["i.user"] = np.zeros_like(columns[LAST])
    return columns


class CompactorComponent(BeatComponent):
    """The compactor."""

    name = "compactor"
    formal = "utf8_flow.formal.compactor"
    command_line = COMMAND_LINES["compactor"]
    value = "value"
    coverage = CompactorCoverage
    report = CompactorReport
    dont_care_unless: ClassVar = {"o.data": "o.keep"}
    campaign = staticmethod(campaign)
    fuzz = staticmethod(fuzz)
    from_hex = staticmethod(values_in_hex)

    @staticmethod
    def make(profile: Profile, *, width: int = 8, **options: Any) -> Compactor:
        """A compactor; it does not depend on the profile."""
        return Compactor(shape=width, **options)

    def model(self, design: Any) -> CompactorModel:
        return CompactorModel(design.lanes, -(-design.width // LARGEST_PART))

    def timing(self, design: Any) -> Packing:
        return TIMING

    def bits_per_lane(self, own: OptionValues) -> int:
        width: int = own["width"]
        return width

    def show_item(self, item: Levels, /) -> str:
        return _show("i", item)

    def show_result(self, result: Levels, /) -> str:
        return _show("o", result)

    def cpython_result(self, values: np.ndarray, design: Any) -> str:
        return ""

    def from_bytes(self, text: Iterator[Piece], design: Any) -> Iterator[Piece]:
        """The bytes of texts as values; a `UsageError` if a byte does not fit."""
        for piece in text:
            if not isinstance(piece, dict) and max(piece[0], default=0) >> design.width:
                bits = plural(design.width, "bit")
                raise UsageError(f"values of {bits} are too narrow for these bytes: use --hex")
            yield piece

    def example(self, design: Any) -> Piece:
        """Three beats, in which every third lane is empty."""
        mask = (1 << design.width) - 1
        words = (f"{n & mask:X}" if n % 3 else EMPTY for n in range(1, 3 * design.lanes + 1))
        return values_in_hex(" ".join(words), design)

    def ports(self, design: Any) -> str:
        user = """\
//   tuser          with tlast, tuser of the text's last beat in; else zero
"""
        return f"""\
// s_axis_*         beats in, AXI4-Stream. A text begins in a new beat; tlast marks its last one.
//   tdata          values of {plural(design.width, "bit")}, lane 0 lowest
//   tkeep          a bit for each lane: the lane has a value. Any bits may be set
// m_axis_*         the same values, in order, in dense beats
//   tkeep          a bit for each lane: all are set, or with tlast the first ones, or none
{user if design.user_width else ""}\
{DONT_CARES}"""

    def promises(self, timing: Timing) -> list[str]:
        return [
            THROUGHPUT,
            f"Latency: a full beat is at the output {timing.latency - 1} cycles after the beat "
            f"with the next value was accepted, the last one of a text {timing.latency} cycles "
            f"after its last beat was accepted. {NOT_COUNTED}.",
        ]


register(CompactorComponent())
