"""The built-in campaigns of ``utf8-hdl compare``, and the coverage they must reach.

What is worth trying follows from a profile's boundaries: code points at the edge of a form, of the
surrogates, of the noncharacters and of the profile's range. They also cut the 256 bytes into
classes, so that all bytes of a class do the same wherever they come.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from utf8_hdl import Kind, Profile
from utf8_hdl.profile import NONCHARACTERS, SURROGATES

from .engines.engine import Engine
from .golden.arrays import Progress
from .golden.model import TextModel, encode, form_maximum, is_continuation
from .stimulus import Piece
from .trace import DECODER, Trace, field

LONGEST_FORM = 8
RUNS_TO_THE_STATE = 4
"""In the cycle after so many in which the decoder runs a byte meets the state machine."""
HOSTILE_BYTES = 4096
RANDOM_VALUES = 1024


def boundary_values(profile: Profile) -> list[int]:
    """Every value at a boundary of any profile or of this one, with its neighbours."""
    edges = {0, profile.highest, *NONCHARACTERS, SURROGATES[0], SURROGATES[-1]}
    edges |= {form_maximum(length) for length in range(1, LONGEST_FORM + 1)}
    return sorted({edge + offset for edge in edges for offset in (-1, 0, 1)} - {-1})


def boundary_encodings(profile: Profile) -> list[bytes]:
    """Every boundary value in every form that can carry it."""
    return [
        encode(value, length)
        for value in boundary_values(profile)
        for length in range(1, LONGEST_FORM + 1)
        if value <= form_maximum(length)
    ]


def toggled_values(profile: Profile) -> list[int]:
    """The lowest and the highest value of each form, with each of its bits turned round.

    The classes of bytes know which bytes decide about a character, not which only carry bits.
    """
    values = set()
    for length in range(1, profile.longest_form + 1):
        lowest = form_maximum(length - 1) + 1 if length > 1 else 0
        highest = min(form_maximum(length), profile.highest)
        for bit in range(highest.bit_length()):
            values |= {lowest ^ 1 << bit, highest ^ 1 << bit}
    return sorted(value for value in values if value <= profile.highest)


def byte_classes(profile: Profile) -> list[range]:
    """The 256 bytes, cut where their meaning changes.

    Between two neighbouring values of one form, of which only one is a character, the encodings
    part at some byte: a class begins there. The bytes before it, which both share, are classes of
    their own.
    """
    longest = profile.longest_form
    firsts = [(form_maximum(length - 1) + 1, length) for length in range(2, longest + 1)]
    if not profile.accept_surrogates:
        firsts += [(SURROGATES.start, 3), (SURROGATES.stop, 3)]
    if not profile.accept_noncharacters:
        firsts += [(NONCHARACTERS[0], 3)]
    if profile.highest < form_maximum(longest):
        firsts += [(profile.highest + 1, longest)]

    leads = [0xFF << 8 - length & 0xFF for length in range(2, min(longest + 1, LONGEST_FORM) + 1)]
    cuts = {0x00, 0x80, 0xC0, 0xFE, *leads}
    for first, length in firsts:
        for before, after in zip(encode(first - 1, length), encode(first, length), strict=True):
            cuts.add(after)
            if before != after:
                break
            cuts.add(after + 1)
    edges = [*sorted(cuts - {0x100}), 0x100]
    return [range(*pair) for pair in pairwise(edges)]


def beginnings(profile: Profile) -> list[bytes]:
    """What can be pending before a byte at a boundary; first of all, nothing."""
    longest_runs = [
        bytes([members[0]]).ljust(LONGEST_FORM, b"\xbf") for members in byte_classes(profile)
    ]
    starts = {
        sequence[:length]
        for sequence in boundary_encodings(profile) + longest_runs
        for length in range(len(sequence))
    }
    return sorted(start for start in starts if _pending(profile, start) == start)


def _pending(profile: Profile, data: bytes) -> bytes:
    model = TextModel(profile)
    for byte in data:
        model.feed(byte)
    return model.pending


def class_name(members: range) -> str:
    """``E1..EC``, or ``ED`` for a class of one byte."""
    first, last = members[0], members[-1]
    return f"{first:02X}" if first == last else f"{first:02X}..{last:02X}"


@dataclass(frozen=True)
class Part:
    """One part of a comparison: texts that try the same thing.

    Parameters
    ----------
    name : str
        What reports call it.
    size : int
        How many inputs they have, about.
    pieces : callable
        Gives the texts, from the beginning at every call.
    """

    name: str
    size: int
    pieces: Callable[[], Iterator[Piece]]


def _part(name: str, texts: Sequence[Sequence[int]]) -> Part:
    return Part(name, sum(map(len, texts)), lambda: ((text, True) for text in texts))


def campaign(engine: Engine, seed: int) -> list[Part]:
    """All parts of the built-in campaign for a design.

    Parameters
    ----------
    engine : Engine
        What simulates the design: its pins and its profile decide what is tried.
    seed : int
        What the random bytes or values depend on.
    """
    parts = decoder_campaign if engine.interface == DECODER else encoder_campaign
    return parts(engine.profile, seed)


def decoder_campaign(profile: Profile, seed: int) -> list[Part]:
    """Boundaries, every bit of a value, classes of bytes, ends of texts, random hostile bytes."""
    classes = byte_classes(profile)
    edges = _edges(classes)
    encodings = boundary_encodings(profile)
    toggled = [encode(value) for value in toggled_values(profile)]
    starts = beginnings(profile)
    after_beginnings = [
        start + bytes([byte]) + tail for start in starts for byte in edges for tail in (b"", b"A")
    ]
    continuations = [byte for byte in edges if is_continuation(byte)]
    after_texts = [
        text for start in starts[1:] for byte in continuations for text in (start, bytes([byte]))
    ]
    pairs = [bytes(pair) for pair in product(edges, repeat=2)]
    return [
        _part("boundary code points", [*encodings, b"A".join(encodings)]),
        _part("every bit of a value", [*toggled, b"".join(toggled)]),
        _part("every class after every beginning", after_beginnings),
        _part("continuation bytes after a text that ends too early", after_texts),
        _part("every pair of classes", [*pairs, b"".join(pairs)]),
        _part("random hostile bytes", _hostile_texts(classes, encodings, seed)),
    ]


def encoder_campaign(profile: Profile, seed: int) -> list[Part]:
    """Boundaries, values with stray high bits, pairs of classes and random values."""
    width = profile.utf32_width
    values = [value for value in boundary_values(profile) if value < 1 << width]
    stray = [0x41 | 1 << bit for bit in range(7, width)]
    pairs = list(product(_edges(value_classes(profile)), repeat=2))
    generator = np.random.default_rng((seed, 0))
    shifts = generator.integers(0, width, RANDOM_VALUES)
    words = generator.integers((1 << width) - 1, size=RANDOM_VALUES, dtype=np.uint64)
    random = [int(word) >> int(shift) for word, shift in zip(words, shifts, strict=True)]
    return [
        _part("boundary code points", [*([value] for value in values), values]),
        _part("values with one bit too many", [stray]),
        _part("every pair of classes", [*pairs, [value for pair in pairs for value in pair]]),
        _part("random values", [random[i : i + 7] for i in range(0, len(random), 7)]),
    ]


def _edges(classes: Sequence[range]) -> list[int]:
    """First and last member of each class."""
    return sorted({member for members in classes for member in (members[0], members[-1])})


def value_classes(profile: Profile) -> list[range]:
    """All values an encoder may be offered, cut where what it makes of them changes."""
    cuts = {form_maximum(length) + 1 for length in range(1, profile.longest_form)}
    cuts |= {0, profile.highest + 1, 1 << profile.utf32_width}
    if not profile.accept_surrogates:
        cuts |= {SURROGATES.start, SURROGATES.stop}
    if not profile.accept_noncharacters:
        cuts |= {NONCHARACTERS[0], NONCHARACTERS[-1] + 1}
    return [range(*pair) for pair in pairwise(sorted(cuts))]


def _hostile_texts(classes: list[range], encodings: list[bytes], seed: int) -> list[bytes]:
    """Texts of one to 64 bytes: half bytes of random classes, half cut and joined encodings."""
    generator = np.random.default_rng((seed, 0))
    texts = []
    size = 0
    while size < HOSTILE_BYTES:
        text = bytearray()
        for _ in range(generator.integers(1, 17)):
            if generator.random() < 0.5:
                text.append(generator.choice(classes[generator.integers(len(classes))]))
            else:
                encoding = encodings[generator.integers(len(encodings))]
                text += encoding[: generator.integers(1, len(encoding) + 1)]
        texts.append(bytes(text[:64]))
        size += len(texts[-1])
    return texts


class Coverage:
    """What a comparison exercised.

    Of a decoder, it counts the bytes accepted by class and by state of its machine, and the tokens
    by kind and length. Of an encoder, which accepts only in one state, it counts the code points
    by class and by what happens at the output at the time.

    Parameters
    ----------
    engine : Engine
        Whose design is exercised.

    Attributes
    ----------
    profile : Profile
        Which UTF-8 the design speaks.
    classes : list of range
        The classes of bytes or code points.
    columns : list of str
        The states, or what happens at the output.
    cells : numpy.ndarray
        How often an input of a class (row) was accepted in a column.
    tokens : numpy.ndarray
        How many tokens of a kind (row) and a length (column) a decoder gave.
    waiting_inputs, waiting_outputs : int
        In how many cycles an input, or an output, was not taken.
    """

    def __init__(self, engine: Engine) -> None:
        self.profile = engine.profile
        self.is_decoder = engine.interface == DECODER
        if self.is_decoder:
            self.classes = byte_classes(engine.profile)
            self.columns = list(engine.state_names.values())
            self._progress = Progress()
            self._rows_on_their_way = np.zeros(0, dtype=np.intp)
            self._meet_in = np.zeros(0, dtype=np.int64)
            self._column_of_state = np.zeros(256, dtype=np.intp)
            self._column_of_state[list(engine.state_names)] = np.arange(len(self.columns))
        else:
            self.classes = value_classes(engine.profile)
            self.columns = ["output idle", "output taken"]
        self.cells = np.zeros((len(self.classes), len(self.columns)), dtype=np.int64)
        self.tokens = np.zeros((len(Kind), LONGEST_FORM + 1), dtype=np.int64)
        self.waiting_inputs = self.waiting_outputs = 0
        self._firsts = np.array([members.start for members in self.classes], dtype=np.uint64)
        self._rows_of_bytes = self._rows(np.arange(256))

    def _rows(self, values: np.ndarray) -> np.ndarray:
        return np.searchsorted(self._firsts, values.astype(np.uint64), "right") - 1

    def add(self, trace: Trace) -> None:
        """Count what a window of a trace shows."""
        is_accepted, is_taken = trace.is_accepted, trace.is_taken
        on_offer = trace["o.valid"]
        if self.is_decoder:
            accepted = self._rows_of_bytes.take(trace.item.compress(is_accepted))
            rows, columns = self._met(trace, accepted)
            tokens = trace.words.compress(is_taken)
            _count(self.tokens, field(tokens, "o.kind"), field(tokens, "o.length"))
        else:
            rows, columns = self._rows(trace.item.compress(is_accepted)), on_offer[is_accepted]
        _count(self.cells, rows, columns)
        self.waiting_inputs += int(np.count_nonzero(trace.i_valid) - np.count_nonzero(is_accepted))
        self.waiting_outputs += int(np.count_nonzero(on_offer) - np.count_nonzero(is_taken))

    def _met(self, trace: Trace, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The classes of the bytes that met the state machine, and its states then."""
        pace = self._progress.add(trace)
        sets_out = pace.sets_out.compress(trace.is_accepted)
        rows = np.concatenate([self._rows_on_their_way, rows])
        meet_in = np.concatenate([self._meet_in, sets_out + RUNS_TO_THE_STATE])
        cycles = np.flatnonzero(pace.runs)
        here = meet_in < len(cycles)
        self._rows_on_their_way, self._meet_in = rows[~here], meet_in[~here] - len(cycles)
        states = trace.state.take(cycles.take(meet_in[here]))
        return rows[here], self._column_of_state.take(states)

    def gaps(self) -> list[str]:
        """The class and the column of every pair that never met."""
        return [
            f"{class_name(self.classes[row])} x {self.columns[column]}"
            for row, column in np.argwhere(self.cells == 0)
        ]


def _count(cells: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
    """Add one to each of the cells that are met, as often as they are."""
    places = rows * np.intp(cells.shape[1]) + columns
    cells += np.bincount(places, minlength=cells.size).reshape(cells.shape)
