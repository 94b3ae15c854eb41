"""The encoder, for the tools: what its report says."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TextIO

import numpy as np
from rich.text import Text

from utf8_hdl import EXTENDED, Decoder
from utf8_sim.components import ENCODER
from utf8_sim.engines.engine import interface_of
from utf8_sim.golden.decoder import DecoderModel, form
from utf8_sim.golden.model import feed_all
from utf8_sim.golden.timing import Timing
from utf8_sim.stimulus import LAST, Piece, one_by_one
from utf8_sim.trace import Columns

from ..verify.report import BOOLEANS, LENGTHS, Beginning, Places, Report, json_lines
from .entry import RULES, Entry, register


class EncoderReport(Report):
    """Bytes, numbered from the first."""

    def __init__(self, file: TextIO | None) -> None:
        super().__init__(file)
        self._bytes = Beginning()
        self._refused = Places()

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


_FORMS = np.array([form(byte) for byte in range(256)])
_BYTE = '{"offset": %d, "byte": %d, "error": %s, "last": %s}\n'


ANYTHING = replace(EXTENDED, accept_surrogates=True, accept_noncharacters=True)
INPUTS = {32: replace(ANYTHING, longest_form=7, highest=0xFFFF_FFFF), 64: ANYTHING}
"""How a text is read, by the width of the input: all that fits may be offered to an encoder."""


def code_points_of(text: Iterator[Piece], design: Any) -> Iterator[Piece]:
    """The code points of a text."""
    model = DecoderModel(INPUTS[design.profile.utf32_width])
    for items in one_by_one(text, interface_of(Decoder())):
        code_points = feed_all(model, items)["o.code_point"]
        yield code_points, bool(items[LAST][-1:].any())


def encoded_by_cpython(values: Any, design: Any) -> str:
    """What CPython's encoder makes of code points."""
    shown = []
    for value in values.tolist():
        try:
            shown.append(chr(value).encode().hex(" ").upper())
        except (UnicodeEncodeError, ValueError, OverflowError):
            shown.append("refused")
    return ", ".join(shown)


PORTS = """\
// s_axis_*         code points in, AXI4-Stream.
//   tdata          UTF-32; a value that the profile refuses gives the bytes of U+FFFD
//   tlast          the last code point of a text
// m_axis_*         bytes out, AXI4-Stream.
//   tlast          the last byte of a text
//   tuser          error: the byte belongs to U+FFFD in place of a refused value
//
// While m_axis_tvalid is low, m_axis_tdata, m_axis_tuser and m_axis_tlast are don't care."""


def promises(timing: Timing) -> str:
    """Throughput and latency, as a comment."""
    cycles, sent = "1 cycle", ""
    if timing.latency > 1:
        cycles = f"{timing.latency} cycles"
        sent = ", and those in which continuation bytes\n// of earlier code points are sent"
    return f"""\
// Throughput: one byte in every cycle while the consumer is ready and code points are offered.
// Latency: the first byte is at the output {cycles} after its code point was taken. Not counted are
// cycles in which m_axis_tvalid is high and m_axis_tready low{sent}."""


ENTRY = register(
    Entry(
        component=ENCODER,
        report=EncoderReport,
        list_option="--code-points",
        options=RULES | {"--code-points", "--bytes", "--compact"},
        from_bytes=code_points_of,
        opinion=encoded_by_cpython,
        ports=lambda design: PORTS,
        promises=promises,
        formal="utf8_flow.formal.encoder",
    )
)
