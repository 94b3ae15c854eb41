"""The encoder's entry: its golden model, its campaign, its coverage, how it is shown."""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np

from utf8_hdl import Encoder, Profile
from utf8_hdl.profile import NONCHARACTERS, SURROGATES

from ..campaign import Coverage, Part, boundary_values, edges_of
from ..golden.arrays import ArrayEncoder
from ..golden.text import EncoderTransducer, form_maximum
from ..golden.timing import Compact, Serial
from ..hostile import Fragment, Fragments, alone, texts, values_of
from ..shown import named, shown_byte
from ..stimulus import Piece
from .component import Component, Lane, Levels, register

RANDOM_VALUES = 1024

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


def encoder_campaign(design: Any, seed: int) -> list[Part]:
    """Boundaries, values with stray high bits, pairs of classes and random values."""
    profile = design.profile
    width = profile.utf32_width
    values = [value for value in boundary_values(profile) if value < 1 << width]
    stray = [0x41 | 1 << bit for bit in range(7, width)]
    pairs = list(product(edges_of(value_classes(profile)), repeat=2))
    generator = np.random.default_rng((seed, 0))
    shifts = generator.integers(0, width, RANDOM_VALUES)
    words = generator.integers((1 << width) - 1, size=RANDOM_VALUES, dtype=np.uint64)
    random = [int(word) >> int(shift) for word, shift in zip(words, shifts, strict=True)]
    return [
        Part.of("boundary code points", [*([value] for value in values), values]),
        Part.of("values with one bit too many", [stray]),
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


def show_byte(byte: Levels) -> str:
    """A byte, and whether it belongs to an error."""
    return f"{byte['o.data']:02X}" + (" error" if byte["o.error"] else "")


ENCODER = register(
    Component(
        name="encoder",
        make=Encoder,
        transducer=lambda design: EncoderTransducer(design.profile),
        array_transducer=lambda design: ArrayEncoder(design.profile),
        timing=lambda design: COMPACT if getattr(design, "compact", False) else PIPELINED,
        campaign=encoder_campaign,
        hostile=hostile,
        coverage=lambda engine: Coverage(engine, value_classes(engine.profile)),
        item="code point",
        result="byte",
        show_item=lambda item: named(item["i.code_point"]),
        show_result=show_byte,
        lanes=(Lane("o.data", lambda byte: shown_byte(byte["o.data"])),),
        levels=("o.error", "o.last"),
    )
)
