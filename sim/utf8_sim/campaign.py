"""The built-in campaign of ``utf8-hdl compare``, and the coverage it must reach.

What is worth trying follows from a profile's boundaries: code points at the edge of a form, of the
surrogates, of the noncharacters and of the profile's range. They also cut the 256 bytes into
classes, so that all bytes of a class do the same wherever they come.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from utf8_hdl import Kind, Profile
from utf8_hdl.profile import NONCHARACTERS, SURROGATES

from .lockstep import bytes_accepted, tokens_taken
from .model import TextModel, encode, form_maximum
from .stimulus import Piece

LONGEST_FORM = 8
HOSTILE_BYTES = 4096


def boundary_encodings(profile: Profile) -> list[bytes]:
    """Every value at a boundary, with its neighbours, in every form that can carry it."""
    edges = {0, profile.highest, *NONCHARACTERS, SURROGATES[0], SURROGATES[-1]}
    edges |= {form_maximum(length) for length in range(1, LONGEST_FORM + 1)}
    values = {edge + offset for edge in edges for offset in (-1, 0, 1)}
    return [
        encode(value, length)
        for value in sorted(values)
        for length in range(1, LONGEST_FORM + 1)
        if 0 <= value <= form_maximum(length)
    ]


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
    pieces : callable
        Gives the texts, from the beginning at every call.
    """

    name: str
    pieces: Callable[[], Iterator[Piece]]


def _part(name: str, texts: list[bytes]) -> Part:
    return Part(name, lambda: ((text, True) for text in texts))


def campaign(profile: Profile, seed: int) -> list[Part]:
    """All parts of the built-in campaign.

    Parameters
    ----------
    profile : Profile
        Whose boundaries are tried.
    seed : int
        What the random bytes depend on.
    """
    classes = byte_classes(profile)
    edges = sorted({byte for members in classes for byte in (members[0], members[-1])})
    encodings = boundary_encodings(profile)
    pairs = [bytes(pair) for pair in product(edges, repeat=2)]
    return [
        _part("boundary code points", [*encodings, b"A".join(encodings)]),
        _part("every class after every beginning", [
            start + bytes([byte]) + tail
            for start in beginnings(profile) for byte in edges for tail in (b"", b"A")
        ]),
        _part("every pair of classes", [*pairs, b"".join(pairs)]),
        _part("random hostile bytes", _hostile_texts(classes, encodings, seed)),
    ]  # fmt: skip


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

    Parameters
    ----------
    profile : Profile
        Whose classes of bytes are counted.
    state_names : list of str
        The states of the design's machine.

    Attributes
    ----------
    classes : list of range
        The classes of bytes.
    cells : numpy.ndarray
        How often a byte of a class (row) was accepted in a state (column).
    tokens : numpy.ndarray
        How many tokens of a kind (row) and a length (column) were taken.
    waiting_bytes, waiting_tokens : int
        In how many cycles a byte, or a token, was not taken.
    """

    def __init__(self, profile: Profile, state_names: list[str]) -> None:
        self.profile = profile
        self.state_names = state_names
        self.classes = byte_classes(profile)
        self.cells = np.zeros((len(self.classes), len(state_names)), dtype=np.int64)
        self.tokens = np.zeros((len(Kind), LONGEST_FORM + 1), dtype=np.int64)
        self.waiting_bytes = self.waiting_tokens = 0
        sizes = [len(members) for members in self.classes]
        self._class_of = np.repeat(np.arange(len(sizes)), sizes)

    def add(self, window: np.ndarray) -> None:
        """Count what a window of a trace shows."""
        accepted, taken = bytes_accepted(window), tokens_taken(window)
        np.add.at(self.cells, (self._class_of[accepted["i.data"]], accepted["state"]), 1)
        np.add.at(self.tokens, (taken["o.kind"], taken["o.length"]), 1)
        self.waiting_bytes += int(window["i.valid"].sum()) - len(accepted)
        self.waiting_tokens += int(window["o.valid"].sum()) - len(taken)

    def gaps(self) -> list[str]:
        """The state and the class of every pair that never met."""
        return [
            f"{self.state_names[column]} x {class_name(self.classes[row])}"
            for row, column in np.argwhere(self.cells == 0)
        ]
