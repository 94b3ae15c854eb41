"""The parts of the campaigns of ``utf8-hdl compare``, and the modes in which they run.

The stimuli are derived from a profile's boundaries: the first and the last code point of each
sequence length, of the surrogates, of the noncharacters and of the profile's range. The boundaries
also divide the 256 bytes into classes: bytes of the same class have the same effect in any
position. Each component has its own campaign.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import inf
from typing import NamedTuple
from zlib import crc32

import numpy as np

from utf8_hdl import Profile
from utf8_hdl.profile import NONCHARACTERS, SURROGATES

from .golden.decoder import form_maximum, pending
from .golden.encoder import encode_as
from .stimulus import Piece, RandomStalls, Stalls, Stimulus

LONGEST_FORM = 8

HOSTILE_BYTES = 4096

STALL = 0.25
"""Stall probability of a side that stalls, in the campaign modes without resets."""

WITH_RESETS = 4096
"""Maximum number of cycles of a part in the mode with resets."""


def boundary_values(profile: Profile) -> list[int]:
    """Boundary values common to all profiles, and the profile's highest, each with neighbours."""
    edges = {0, profile.highest, *NONCHARACTERS, SURROGATES[0], SURROGATES[-1]}
    edges |= {form_maximum(length) for length in range(1, LONGEST_FORM + 1)}
    return sorted({edge + offset for edge in edges for offset in (-1, 0, 1)} - {-1})


def boundary_encodings(profile: Profile) -> list[bytes]:
    """Encodings of each boundary value, in every sequence length that can hold it."""
    return [
        encode_as(value, length)
        for value in boundary_values(profile)
        for length in range(1, LONGEST_FORM + 1)
        if value <= form_maximum(length)
    ]


def class_name(members: range) -> str:
    """``E1..EC``, or ``ED`` for a class of one byte."""
    first, last = members[0], members[-1]
    return f"{first:02X}" if first == last else f"{first:02X}..{last:02X}"


def edges_of(classes: Sequence[range]) -> list[int]:
    """First and last member of each class."""
    return sorted({member for members in classes for member in (members[0], members[-1])})


def toggled_values(profile: Profile) -> list[int]:
    """The lowest and the highest value of each sequence length, with one bit inverted at a time.

    They toggle every payload bit, which the byte classes do not.
    """
    values = set()
    for length in range(1, profile.longest_form + 1):
        lowest = form_maximum(length - 1) + 1 if length > 1 else 0
        highest = min(form_maximum(length), profile.highest)
        for bit in range(highest.bit_length()):
            values |= {lowest ^ 1 << bit, highest ^ 1 << bit}
    return sorted(value for value in values if value <= profile.highest)


def byte_classes(profile: Profile) -> list[range]:
    """The 256 bytes, divided where their meaning changes.

    Take two neighbouring values of the same sequence length, of which only one is a character. A
    class begins at the first byte in which their encodings differ. Each byte before it, which both
    share, is a class of its own.
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
        for before, after in zip(
            encode_as(first - 1, length), encode_as(first, length), strict=True
        ):
            cuts.add(after)
            if before != after:
                break
            cuts.add(after + 1)
    edges = [*sorted(cuts - {0x100}), 0x100]
    return [range(*pair) for pair in pairwise(edges)]


def beginnings(profile: Profile) -> list[bytes]:
    """Incomplete sequences that can be pending before a boundary byte; the first is empty."""
    longest_runs = [
        bytes([members[0]]).ljust(LONGEST_FORM, b"\xbf") for members in byte_classes(profile)
    ]
    starts = {
        sequence[:length]
        for sequence in boundary_encodings(profile) + longest_runs
        for length in range(len(sequence))
    }
    return sorted(start for start in starts if pending(start, profile) == start)


def hostile_texts(profile: Profile, seed: int) -> list[bytes]:
    """Texts of 1 to 64 bytes: bytes of random classes, mixed with whole and cut encodings."""
    classes, encodings = byte_classes(profile), boundary_encodings(profile)
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


@dataclass(frozen=True)
class Part:
    """A part of a campaign: texts with a common purpose.

    ``size`` is the approximate number of inputs. Each call of ``pieces`` starts from the beginning.
    A part with ``is_long`` set runs in the first mode only.
    """

    name: str
    size: int
    pieces: Callable[[], Iterator[Piece]]
    is_long: bool = False

    @classmethod
    def of(cls, name: str, texts: Sequence[Sequence[int]]) -> "Part":
        """Create a part from its texts."""
        return cls(name, sum(map(len, texts)), lambda: ((text, True) for text in texts))


class Mode(NamedTuple):
    """A mode in which parts run: its name, the stalls of both sides, and the rate of resets.

    With resets, only the first cycles of a part are run.
    """

    name: str
    input_stalls: Stalls
    output_stalls: Stalls
    reset_rate: float = 0.0

    def stimulus(self, part: Part) -> Stimulus:
        """The stimulus of a part in this mode."""
        cycles = WITH_RESETS if self.reset_rate else inf
        resets = RandomStalls(self.reset_rate, crc32(part.name.encode()))
        return Stimulus(part.pieces(), self.input_stalls, self.output_stalls, cycles, resets)


def campaign_modes(seed: int) -> list[Mode]:
    """The modes of a campaign: without stalls, with stalls on either side and both, with resets.

    The mode with resets is the same for all seeds, so that it reaches every cover point. In it, the
    consumer stalls so often that buffers fill.
    """
    modes = []
    for rates in product((0.0, STALL), repeat=2):
        i, o = (RandomStalls(rate, (seed, n)) for n, rate in enumerate(rates, 1))
        name = f"stalls in {rates[0]:g} out {rates[1]:g}" if any(rates) else "full rate"
        modes.append(Mode(name, i, o))
    i, o = (RandomStalls(rate, n) for n, rate in enumerate((0.4, 0.6), 1))
    return [*modes, Mode("stalls and resets", i, o, reset_rate=1 / 32)]


def runs(parts: Sequence[Part], modes: Sequence[Mode]) -> list[tuple[Part, Mode]]:
    """Each part in each mode; long parts in the first mode only."""
    return [
        (part, mode) for part, mode in product(parts, modes) if mode is modes[0] or not part.is_long
    ]
