"""The transcoder's report."""

from typing import TextIO

import numpy as np
from rich.text import Text

from ..stimulus import LAST
from ..tools.words import plural
from ..trace import Columns, Trace
from .report import (
    BOOLEANS,
    KEEP,
    ErrorPositions,
    FirstBytes,
    Positions,
    Report,
    TextSizes,
    bytes_of,
    json_lines,
    labels_or_null,
    offsets_or_null,
)


class TranscoderReport(Report):
    """Texts, numbered from the first: their bytes at input and output, and their errors."""

    def __init__(self, file: TextIO | None) -> None:
        super().__init__(file)
        self._texts = self._beats_out = 0
        self._sizes, self._sizes_out = TextSizes(), TextSizes()
        self._lengths_in = np.zeros(0, dtype=np.int64)
        """Lengths of the texts that have ended at the input but not yet at the output."""
        self._bytes = FirstBytes()
        self._wrong = Positions()
        #: The number of errors, and first errors by kind, if the transcoder reports errors.
        self._errors = 0
        self._first = ErrorPositions("%d of text %d")

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
            ended = slice(len(lengths))  # a faulty design may end more texts than were accepted
            texts = {name: column[is_last][ended] for name, column in taken.items()}
            self._file.write(_lines_of(texts, lengths, sizes[ended]))
        wrong = self._texts + np.flatnonzero(errors)
        self._wrong.add(wrong)
        if "o.count" in taken:
            is_wrong = is_last & (taken["o.error"] != 0)
            self._errors += int(taken["o.count"][is_wrong].sum(dtype=np.int64))
            self._first.add(taken["o.kind"][is_wrong], taken["o.offset"][is_wrong], wrong)
        self._texts += len(sizes)
        self._beats_out += len(is_last)
        self._bytes.add(bytes_of(taken))

    def lines(self) -> list[Text]:
        errors = Text(f"errors      {self._errors or self._wrong.count}")
        if self._errors:
            where = plural(self._wrong.count, "text")
            errors.append(f", U+FFFD instead, in {where}: {self._wrong}; first errors", "red")
        elif self._wrong.count:
            errors.append(f", U+FFFD instead, in text {self._wrong}", "red")
        return [
            Text(f"begins      {self._bytes}".rstrip()),
            Text(f"texts       {self._texts}"),
            Text(f"bytes in    {self.inputs} in {plural(self._beats, 'beat')}"),
            Text(f"bytes out   {self._bytes.count} in {plural(self._beats_out, 'beat')}"),
            self._pace(self.inputs),
            errors,
            *self._first.lines(),
        ]


_TEXT = '{"length": %d, "bytes": %d, "error": %s}\n'
_REPORT = '{"length": %d, "bytes": %d, "error": %s, "kind": %s, "offset": %s, "count": %d}\n'


def _lines_of(texts: Columns, lengths: np.ndarray, sizes: np.ndarray) -> str:
    """Texts as lines of JSON, from their last beats."""
    errors = texts["o.error"]
    flags = BOOLEANS.take(errors)
    if "o.count" not in texts:
        return json_lines(_TEXT, lengths, sizes, flags)
    kinds = labels_or_null(errors, texts["o.kind"])
    offsets = offsets_or_null(errors, texts["o.offset"])
    return json_lines(_REPORT, lengths, sizes, flags, kinds, offsets, texts["o.count"])
