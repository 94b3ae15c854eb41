"""The encoder's entry: its golden model, its campaign, its coverage, how it is shown."""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np

from utf8_hdl import Encoder, Profile
from utf8_hdl.profile import NONCHARACTERS, SURROGATES

from ..campaign import Coverage, Part, boundary_values, edges_of
from ..golden.decoder import form_maximum
from ..golden.encoder import EncoderModel
from ..golden.timing import Compact, Serial
from ..hostile import Fragment, Fragments, alone, texts, values_of
from ..shown import named, shown_byte
from ..stimulus import Piece
from ..trace import Trace
from .component import Component, Lane, Levels, register

RANDOM_VALUES = 1024

LOW_HALVES = 0, 1, 0xD800, 0xDFFF, 0xFDD0, 0xFFFE, 0xFFFF
"""What the 16 low bits of a value are in each plane."""

PIPELINED = Serial(before=3, after=2)
COMPACT = Compact(spare=0)


def value_classes(profile: Profile) -> list[range]:
    """All values an encoder may be offered, cut where what it makes of them changes."""
    cuts = {form_maximum(length) + 1 for length in range(1, profile.longest_form)}
    cuts |= {0, profile.highest + 1, 1 << profile.utf32_width}
    if not profile.accept_surrogates:
        cuts |= {SURROGATES.start, SURROGATES.stop}
    if not profile.accept_noncharacters:
        cuts |= {NONCHARACTERS[0], NONCHARACTERS[-1] + 1}
    return [range(*pair) for pair in pairwise(sorted(cuts))]


def planes(profile: Profile) -> list[int]:
    """The planes 0 to 16, those with one bit, and the highest, as far as the input has them."""
    width = profile.utf32_width - 16
    chosen = {*range(17), *(1 << bit for bit in range(width)), profile.highest >> 16}
    return sorted(plane for plane in chosen if plane < 1 << width)


def encoder_campaign(design: Any, seed: int) -> list[Part]:
    """Boundaries, every bit alone, all planes, pairs of classes and random values."""
    profile = design.profile
    width = profile.utf32_width
    values = [value for value in boundary_values(profile) if value < 1 << width]
    bits = [1 << bit for bit in range(width)]
    stray = [0x41 | bit for bit in bits[7:]]
    lows = sorted({*LOW_HALVES, *bits[:16]})
    in_planes = [plane << 16 | low for plane in planes(profile) for low in lows]
    pairs = list(product(edges_of(value_classes(profile)), repeat=2))
    generator = np.random.default_rng((seed, 0))
    shifts = generator.integers(0, width, RANDOM_VALUES)
    words = generator.integers((1 << width) - 1, size=RANDOM_VALUES, dtype=np.uint64)
    random = [int(word) >> int(shift) for word, shift in zip(words, shifts, strict=True)]
    return [
        Part.of("boundary code points", [*([value] for value in values), values]),
        Part.of("values with one bit too many", [stray]),
        Part.of("every bit alone", [*([bit] for bit in bits), bits]),
        Part.of("boundaries with one bit inverted", [[v ^ bit for v in values] for bit in bits]),
        Part.of("every plane with every low half", [in_planes]),
        Part.of("every pair of classes", [*pairs, [value for pair in pairs for value in pair]]),
        Part.of("random values", [random[i : i + 7] for i in range(0, len(random), 7)]),
    ]


def hostile(design: Any, generator: np.random.Generator) -> Iterator[Piece]:
    """Values at boundaries, with stray bits, of all classes and sizes, and with any bits."""
    profile, width = design.profile, design.profile.utf32_width
    boundaries = [value for value in boundary_values(profile) if value < 1 << width]
    kinds: list[list[Fragment]] = [
        *values_of(value_classes(profile)),
        [[alone(value)] for value in boundaries],
        [[alone(0x41 | 1 << bit)] for bit in range(7, width)],
        [[range(1 << bits)] for bits in range(1, width + 1)],
        [[range(1 << width)]],
    ]
    return texts(Fragments(kinds, np.uint32 if width <= 32 else np.uint64), generator)


class ValueCoverage(Coverage):
    """Also values with a single bit, and in each plane those with some low halves."""

    def __init__(self, engine: Any) -> None:
        super().__init__(engine, value_classes(engine.profile))
        width, some = engine.profile.utf32_width, planes(engine.profile)
        points = {"value with one bit": {str(bit): 1 << bit for bit in range(width)}}
        for low in LOW_HALVES:
            points[f"low half {low:X} in plane"] = {f"{n:X}": n << 16 | low for n in some}
        values = {value for labels in points.values() for value in labels.values()}
        self._values = np.array(sorted(values), dtype=np.uint64)
        self._points = {}
        for name, labels in points.items():
            self.points(name, labels)
            self._points[name] = np.searchsorted(self._values, list(labels.values()))

    def in_flight(self, trace: Trace, before: int) -> int:
        begun = np.count_nonzero(trace.taken()["o.data"] & 0xC0 != 0x80)
        return before + int(np.count_nonzero(trace.is_accepted)) - int(begun)

    def count_life(self, trace: Trace) -> None:
        super().count_life(trace)
        values = trace.accepted()["i.code_point"]
        found = np.searchsorted(self._values, values).clip(max=len(self._values) - 1)
        counts = np.bincount(found[self._values[found] == values], minlength=len(self._values))
        for name, numbers in self._points.items():
            self.counts[name] += counts[numbers]


def show_byte(byte: Levels) -> str:
    """A byte, and whether it belongs to an error."""
    return f"{byte['o.data']:02X}" + (" error" if byte["o.error"] else "")


ENCODER = register(
    Component(
        name="encoder",
        make=Encoder,
        model=lambda design: EncoderModel(design.profile),
        timing=lambda design: COMPACT if getattr(design, "compact", False) else PIPELINED,
        campaign=encoder_campaign,
        hostile=hostile,
        coverage=ValueCoverage,
        item="code point",
        result="byte",
        show_item=lambda item: named(item["i.code_point"]),
        show_result=show_byte,
        lanes=(Lane("o.data", lambda byte: shown_byte(byte["o.data"])),),
        levels=("o.error", "o.last"),
    )
)
