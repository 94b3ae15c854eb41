"""The encoder's entry: golden model, campaign, coverage and display."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from typing import Any, ClassVar, TextIO

import numpy as np
from rich.text import Text

from utf8_hdl import EXTENDED, UNICODE, CompactEncoder, Decoder, Encoder, Profile
from utf8_hdl.profile import NONCHARACTERS, SURROGATES

from ..campaign import Part, boundary_values, edges_of
from ..command_line import COMMAND_LINES
from ..coverage import Coverage
from ..format import byte_label, code_point_label
from ..fuzz import Fragment, Fragments, single_value, texts, values_of
from ..golden.decoder import DecoderModel, form_maximum, sequence_length
from ..golden.encoder import EncoderModel
from ..golden.model import feed_all
from ..golden.timing import Compact, Serial, Timing
from ..stimulus import LAST, Piece, one_by_one
from ..trace import Columns, Interface, Trace
from .component import Component, Levels, Row, register
from .headers import NOT_COUNTED
from .report import BOOLEANS, LENGTHS, FirstBytes, Positions, Report, json_lines

RANDOM_VALUES = 1024

LOW_HALVES = 0, 1, 0xD800, 0xDFFF, 0xFDD0, 0xFFFE, 0xFFFF
"""The lower 16 bits of the values that are tried in each plane."""

PIPELINED = Serial(before=3, after=2)
COMPACT = Compact(spare=0, starts_late=True)


def value_classes(profile: Profile) -> list[range]:
    """All values of an encoder's input, divided where their treatment changes."""
    cuts = {form_maximum(length) + 1 for length in range(1, profile.longest_form)}
    cuts |= {0, profile.highest + 1, 1 << profile.utf32_width}
    if not profile.accept_surrogates:
        cuts |= {SURROGATES.start, SURROGATES.stop}
    if not profile.accept_noncharacters:
        cuts |= {NONCHARACTERS[0], NONCHARACTERS[-1] + 1}
    return [range(*pair) for pair in pairwise(sorted(cuts))]


def planes(profile: Profile) -> list[int]:
    """Planes 0 to 16, planes with one bit set, and the highest plane, if they fit the input."""
    width = profile.utf32_width - 16
    chosen = {*range(17), *(1 << bit for bit in range(width)), profile.highest >> 16}
    return sorted(plane for plane in chosen if plane < 1 << width)


def encoder_campaign(design: Any, seed: int) -> list[Part]:
    """Boundary values, single bits, planes, pairs of classes, and random values."""
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


def fuzz(design: Any, generator: np.random.Generator) -> Iterator[Piece]:
    """Boundary values, values with stray bits, of all classes, of all sizes, and random values."""
    profile, width = design.profile, design.profile.utf32_width
    boundaries = [value for value in boundary_values(profile) if value < 1 << width]
    kinds: list[list[Fragment]] = [
        *values_of(value_classes(profile)),
        [[single_value(value)] for value in boundaries],
        [[single_value(0x41 | 1 << bit)] for bit in range(7, width)],
        [[range(1 << bits)] for bits in range(1, width + 1)],
        [[range(1 << width)]],
    ]
    return texts(Fragments(kinds, np.uint32 if width <= 32 else np.uint64), generator)


class ValueCoverage(Coverage):
    """Also counts values with a single bit set, and the `LOW_HALVES` in each of the `planes`."""

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

    def count_between_resets(self, trace: Trace) -> None:
        super().count_between_resets(trace)
        values = trace.accepted()["i.code_point"]
        found = np.searchsorted(self._values, values).clip(max=len(self._values) - 1)
        counts = np.bincount(found[self._values[found] == values], minlength=len(self._values))
        for name, numbers in self._points.items():
            self.counts[name] += counts[numbers]


def show_byte(byte: Levels) -> str:
    """Show a byte, marked if it belongs to an error."""
    return f"{byte['o.data']:02X}" + (" error" if byte["o.error"] else "")


class EncoderReport(Report):
    """Bytes, numbered from the first."""

    def __init__(self, file: TextIO | None) -> None:
        super().__init__(file)
        self._bytes = FirstBytes()
        self._refused = Positions()

    def _count(self, encoded: Columns) -> None:
        data = encoded["o.data"]
        if self._file:
            offsets = self._bytes.count + np.arange(len(data))
            flags = (BOOLEANS.take(encoded[pin]) for pin in ("o.error", "o.last"))
            self._file.write(json_lines(_BYTE, offsets, data, *flags))
        self._bytes.add(data)
        leads = (data & 0xC0) != 0x80
        self._refused.add(np.flatnonzero(encoded["o.error"][leads]) + int(self._lengths.sum()))
        self._lengths += np.bincount(_FORMS.take(data[leads]), minlength=LENGTHS)

    def lines(self) -> list[Text]:
        lines = [
            Text(f"begins      {self._bytes}".rstrip()),
            Text(f"code points {self.inputs}"),
            Text(f"bytes       {self._bytes.count}"),
            self._pace(self._bytes.count),
            self._characters(),
        ]
        refused = Text(f"refused     {self._refused.count}")
        if self._refused.count:
            refused.append(f", U+FFFD instead, at code point {self._refused}", "red")
        return [*lines, refused]


_FORMS = np.array([sequence_length(byte) for byte in range(256)])
_BYTE = '{"offset": %d, "byte": %d, "error": %s, "last": %s}\n'


ANYTHING = replace(EXTENDED, accept_surrogates=True, accept_noncharacters=True)
INPUTS = {32: replace(ANYTHING, longest_form=7, highest=0xFFFF_FFFF), 64: ANYTHING}
"""Profiles to decode the input text of an encoder, by input width: they accept all values."""


def encoded_by_cpython(values: np.ndarray) -> str:
    """The bytes that CPython's encoder produces for code points."""
    shown = []
    for value in values.tolist():
        try:
            shown.append(chr(value).encode().hex(" ").upper())
        except (UnicodeEncodeError, ValueError, OverflowError):
            shown.append("refused")
    return ", ".join(shown)


PORTS = """\
// s_axis_*         code points in, AXI4-Stream.
//   tdata          UTF-32; a value that the profile does not allow is encoded as U+FFFD
//   tlast          the last code point of a text
// m_axis_*         bytes out, AXI4-Stream.
//   tlast          the last byte of a text
//   tuser          error: the byte belongs to the U+FFFD that replaces a refused value
//
// While m_axis_tvalid is low, m_axis_tdata, m_axis_tuser and m_axis_tlast are don't care."""


class EncoderComponent(Component):
    """The encoder."""

    name = "encoder"
    formal = "utf8_flow.formal.encoder"
    command_line = COMMAND_LINES["encoder"]
    list_option = "--code-points"
    live: ClassVar = {"encoder": {}, "compact-encoder": {"compact": True}}
    item = "code point"
    coverage = ValueCoverage
    report = EncoderReport
    show_result = staticmethod(show_byte)
    rows = (Row("o.data", lambda byte: byte_label(byte["o.data"])),)
    levels = ("o.error", "o.last")
    campaign = staticmethod(encoder_campaign)
    fuzz = staticmethod(fuzz)

    @staticmethod
    def make(profile: Profile = UNICODE, *, compact: bool = False) -> Any:
        """The encoder with these options."""
        return CompactEncoder(profile) if compact else Encoder(profile)

    def model(self, design: Any) -> EncoderModel:
        return EncoderModel(design.profile)

    def timing(self, design: Any) -> Compact | Serial:
        return COMPACT if getattr(design, "compact", False) else PIPELINED

    def show_item(self, item: Levels, /) -> str:
        return code_point_label(item["i.code_point"])

    def from_bytes(self, text: Iterator[Piece], design: Any) -> Iterator[Piece]:
        """The code points of a text."""
        model = DecoderModel(INPUTS[design.profile.utf32_width])
        for items in one_by_one(text, Interface.of("decoder", Decoder())):
            code_points = feed_all(model, items)["o.code_point"]
            yield code_points, bool(items[LAST][-1:].any())

    def example(self, design: Any) -> Piece:
        """Characters of all lengths, and a surrogate."""
        return "é€😀A\ud800B".encode(errors="surrogatepass"), True

    def cpython_result(self, values: np.ndarray, design: Any) -> str:
        return encoded_by_cpython(values)

    def ports(self, design: Any) -> str:
        return PORTS

    def promises(self, timing: Timing) -> list[str]:
        cycles, sent = "1 cycle", ""
        if timing.latency > 1:
            cycles = f"{timing.latency} cycles"
            sent = ", nor those in which continuation bytes of earlier code points are sent"
        return [
            "Throughput: one byte in every cycle while the consumer is ready and code points are "
            "offered.",
            f"Latency: the first byte is at the output {cycles} after its code point was accepted. "
            f"{NOT_COUNTED}{sent}.",
        ]


register(EncoderComponent())
