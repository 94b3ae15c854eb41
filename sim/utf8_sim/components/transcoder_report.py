"""The transcoder's report, how a text for it is typed, and the header of its Verilog."""

import os
from typing import Any, TextIO

import numpy as np
from rich.text import Text

from utf8_hdl import EncodingScheme

from ..golden.timing import Timing
from ..stimulus import LAST
from ..tools.words import plural
from ..trace import Columns, Trace
from .headers import BEATS, THROUGHPUT
from .report import (
    BOOLEANS,
    KEEP,
    Beginning,
    Places,
    Report,
    Sizes,
    bytes_of,
    json_lines,
)


class TranscoderReport(Report):
    """Texts, numbered from the first: their bytes before and after, and whether one was wrong."""

    def __init__(self, file: TextIO | None) -> None:
        super().__init__(file)
        self._texts = self._beats_out = 0
        self._sizes, self._sizes_out = Sizes(), Sizes()
        self._lengths_in = np.zeros(0, dtype=np.int64)
        """Of the texts that have ended at the input and not yet at the output."""
        self._bytes = Beginning()
        self._wrong = Places()

    def add(self, trace: Trace) -> None:
        accepted = trace.accepted()
        lengths = self._sizes.ended(accepted[KEEP], accepted[LAST])
        self._lengths_in = np.append(self._lengths_in, lengths)
        super().add(trace)

    def _count(self, taken: Columns) -> None:
        is_last = taken["o.last"] != 0
        sizes, errors = self._sizes_out.ended(taken["o.keep"], is_last), taken["o.error"][is_last]
        lengths, self._lengths_in = np.split(self._lengths_in, [len(sizes)])
        if self._file:
            ended = slice(len(lengths))  # a design that is wrong may end more texts than there are
            flags = BOOLEANS.take(errors[ended])
            self._file.write(json_lines(_TEXT, lengths, sizes[ended], flags))
        self._wrong.add(self._texts + np.flatnonzero(errors))
        self._texts += len(sizes)
        self._beats_out += len(is_last)
        self._bytes.add(bytes_of(taken))

    def lines(self) -> list[Text]:
        errors = Text(f"errors      {self._wrong.count}")
        if self._wrong.count:
            errors.append(f", U+FFFD instead, in text {self._wrong}", "red")
        return [
            Text(f"begins      {self._bytes}".rstrip()),
            Text(f"texts       {self._texts}"),
            Text(f"bytes in    {self.inputs} in {plural(self._beats, 'beat')}"),
            Text(f"bytes out   {self._bytes.count} in {plural(self._beats_out, 'beat')}"),
            self._pace(self.inputs),
            errors,
        ]


_TEXT = '{"length": %d, "bytes": %d, "error": %s}\n'


def encode(text: str, design: Any) -> bytes:
    """A text from the command line, in the encoding scheme of the input."""
    if design.source is EncodingScheme.UTF_8:
        return os.fsencode(text)
    return text.encode(design.source.value, "surrogatepass")


def ports(design: Any) -> str:
    """What is at the ports."""
    source, target = (scheme.value.upper() for scheme in (design.source, design.target))
    mark = " A U+FEFF at its beginning is left out." if design.strip_bom else ""
    return f"""\
{BEATS}
//                  The text is {source}.{mark}
//                  Only tlast flushes: without it the newest beat waits for the next one.
// m_axis_*         the text in {target}: dense beats
//   tdata          bytes, the first one lowest
//   tkeep          a bit for each byte: all, or with tlast the first ones, perhaps none
//   tuser          error, with tlast: there is U+FFFD in place of what was not well-formed
//
// While m_axis_tvalid is low, the other outputs but s_axis_tready are don't care. So is what
// m_axis_tdata has where m_axis_tkeep is low."""


def promises(timing: Timing) -> str:
    """Throughput and latency, as a comment."""
    return f"""\
{THROUGHPUT}
// Latency: the last beat of a text is at the output {timing.latency} cycles after its last beat \
was taken, any
// other one before that. Cycles in which m_axis_tvalid is high and m_axis_tready low are not
// counted."""


def transcoded_by_cpython(values: np.ndarray, design: Any) -> str:
    """What CPython's codecs make of bytes."""
    text = values.astype(np.uint8).tobytes().decode(design.source.value, "replace")
    if design.strip_bom:
        text = text.removeprefix("\ufeff")
    return text.encode(design.target.value).hex(" ").upper()
