"""The report of the decoders, and their counts of tokens."""

from typing import Any, TextIO

import numpy as np
from rich.text import Text

from utf8_hdl import ErrorKind

from ..format import character
from ..trace import Columns
from .report import LENGTHS, PREVIEW, ErrorPositions, Report, json_lines, labels_or_null


class TokenReport(Report):
    """Tokens, each with the offset of the first byte that it covers."""

    def __init__(self, file: TextIO | None) -> None:
        super().__init__(file)
        self._offset = 0
        self._errors = ErrorPositions()
        self._preview = ""

    def _count(self, tokens: Columns) -> None:
        lengths, kinds = tokens["o.length"], tokens["o.kind"]
        is_error = tokens["o.error"].view(bool)
        offsets = self._offset + np.cumsum(lengths, dtype=np.int64) - lengths
        self._offset += int(lengths.sum())
        if self._file:
            errors = labels_or_null(is_error, kinds)
            code_points = tokens["o.code_point"]
            self._file.write(json_lines(_TOKEN, offsets, lengths, code_points, errors))
        self._lengths += np.bincount(lengths[~is_error], minlength=LENGTHS)
        self._errors.add(kinds[is_error], offsets[is_error])
        begin = tokens["o.code_point"][: max(0, PREVIEW - len(self._preview))]
        for code_point in begin.tolist():
            self._preview += character(code_point) or ("␤" if code_point == 0x0A else "·")

    def lines(self) -> list[Text]:
        return [
            Text(f"begins      {self._preview}".rstrip()),
            self._accepted(),
            self._pace(self.inputs),
            self._characters(),
            Text(f"errors      {self._errors.count}"),
            *self._errors.lines(),
        ]


_TOKEN = '{"offset": %d, "length": %d, "code_point": %d, "error": %s}\n'


def token_counts(coverage: Any) -> list[Text]:
    """The number of tokens of each kind and length."""
    lengths = range(1, coverage.engine.profile.longest_form + 1)
    width = max(8, len(str(coverage.tokens.max())) + 2)
    lines = [
        Text("tokens taken, by kind and length in bytes", style="bold"),
        Text(" " * 24 + "".join(f"{length:>{width}}" for length in lengths)),
    ]
    for kind in ErrorKind:
        counts = coverage.tokens[kind.value].tolist()
        if any(counts):
            label = "character" if kind is ErrorKind.NONE else kind.label
            cells = "".join(f"{counts[length] or '':>{width}}" for length in lengths)
            lines.append(Text(f"{label:<24}{cells}".rstrip()))
    return lines
