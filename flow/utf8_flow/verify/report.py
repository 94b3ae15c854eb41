"""What a person reads: tables of cycles, summaries, coverage."""

import json
from typing import Protocol, TextIO

import numpy as np
from rich.text import Text

from utf8_hdl import PROFILES, ErrorSpan, Kind, Profile
from utf8_sim.campaign import Coverage, class_name
from utf8_sim.engines.engine import Engine
from utf8_sim.golden.model import form
from utf8_sim.trace import DECODER, Trace, field
from utf8_sim.waves.diagram import character

from ..terminal import plural

FIRST_ERRORS = 5
"""How many offsets a summary gives for each kind of error."""

PREVIEW = 60
"""How many characters of a text a summary shows."""

LENGTHS = 16
"""More than any character has bytes."""


def short_name(profile: Profile) -> str:
    """A profile by its name and the rules in which it differs from the one of that name."""
    usual = PROFILES[profile.name]
    words = [profile.name]
    if profile.accept_surrogates != usual.accept_surrogates:
        words.append(f"surrogates {'accepted' if profile.accept_surrogates else 'rejected'}")
    if profile.accept_noncharacters != usual.accept_noncharacters:
        verdict = "accepted" if profile.accept_noncharacters else "rejected"
        words.append(f"noncharacters {verdict}")
    if profile.error_span is ErrorSpan.WHOLE_SEQUENCE:
        words.append(profile.error_span.value)
    return " ".join(words)


def active_cycles(trace: Trace) -> int:
    """How many cycles pass until nothing is offered on either side any more."""
    active = np.flatnonzero(trace.i_valid | trace["o.valid"])
    return int(active[-1]) + 1 if active.size else 0


class Report(Protocol):
    """What the hardware said: written as lines of JSON, if asked, and counted for a summary.

    Attributes
    ----------
    inputs : int
        How many bytes or code points were accepted.
    """

    inputs: int

    def add(self, trace: Trace) -> None:
        """Take in the next cycles of a trace."""

    def lines(self) -> list[Text]:
        """The summary, one fact a line."""


def report(engine: Engine, file: TextIO | None = None) -> Report:
    """The report that fits what an engine simulates.

    Parameters
    ----------
    engine : Engine
        What simulates the design.
    file : text file, optional
        Where the lines of JSON go.
    """
    return (DecoderReport if engine.interface == DECODER else EncoderReport)(file)


class _Pace:
    """Cycles until nothing is offered any more."""

    def __init__(self) -> None:
        self.cycles = self._idle = 0

    def add(self, trace: Trace) -> None:
        active = active_cycles(trace)
        if active:
            self.cycles += self._idle + active
            self._idle = 0
        self._idle += len(trace) - active

    def line(self, count: int, noun: str) -> Text:
        pace = f" ({self.cycles / count:.2f} per {noun})" if count else ""
        return Text(f"cycles      {self.cycles}{pace}")


class DecoderReport:
    """Tokens, numbered by the first byte that they cover; a :class:`Report`."""

    def __init__(self, file: TextIO | None) -> None:
        self.inputs = 0
        self._file = file
        self._pace = _Pace()
        self._offset = 0
        self._lengths = np.zeros(LENGTHS, dtype=np.int64)
        self._errors: dict[Kind, int] = {}
        self._first_errors: dict[Kind, list[int]] = {}
        self._preview = ""

    def add(self, trace: Trace) -> None:
        tokens = trace.words.compress(trace.is_taken)
        lengths = field(tokens, "o.length")
        ends = self._offset + np.cumsum(lengths, dtype=np.int64)
        if len(tokens):
            self._offset = int(ends[-1])
        if self._file:
            self._file.write(_token_lines(ends - lengths, tokens))
        self.inputs += int(np.count_nonzero(trace.is_accepted))
        self._pace.add(trace)
        self._count(tokens, ends - lengths)

    def _count(self, tokens: np.ndarray, offsets: np.ndarray) -> None:
        lengths, kinds = field(tokens, "o.length"), field(tokens, "o.kind")
        is_error = field(tokens, "o.error").view(bool)
        self._lengths += np.bincount(lengths[~is_error], minlength=LENGTHS)
        counts = np.bincount(kinds[is_error], minlength=len(Kind)).tolist()
        for kind in Kind:
            count = counts[kind.value]
            if not count:
                continue
            self._errors[kind] = self._errors.get(kind, 0) + count
            first = self._first_errors.setdefault(kind, [])
            if len(first) < FIRST_ERRORS:
                found = np.flatnonzero(is_error & (kinds == kind.value))
                first += offsets[found[: FIRST_ERRORS - len(first)]].tolist()
        begin = tokens[: max(0, PREVIEW - len(self._preview))]
        for code_point in field(begin, "o.code_point").tolist():
            self._preview += character(code_point) or ("␤" if code_point == 0x0A else "·")

    def lines(self) -> list[Text]:
        lines = [
            Text(f"begins      {self._preview}".rstrip()),
            Text(f"bytes       {self.inputs}"),
            self._pace.line(self.inputs, "byte"),
            _characters_line(self._lengths),
            Text(f"errors      {sum(self._errors.values())}"),
        ]
        for kind in sorted(self._errors, key=lambda kind: kind.value):
            count = self._errors[kind]
            places = _places(count, self._first_errors[kind])
            lines.append(Text(f"  {kind.label:<24}{count:>6}  at byte {places}", style="red"))
        return lines


_LABELS = [*(json.dumps(kind.label) for kind in Kind), "null"]


def _token_lines(offsets: np.ndarray, tokens: np.ndarray) -> str:
    """The tokens as JSON, one a line."""
    is_error = field(tokens, "o.error").view(bool)
    columns = (
        offsets,
        field(tokens, "o.length"),
        field(tokens, "o.code_point"),
        np.where(is_error, field(tokens, "o.kind"), len(Kind)),
    )
    return "".join(
        f'{{"offset": {offset}, "length": {length}, "code_point": {code_point}, '
        f'"error": {_LABELS[kind]}}}\n'
        for offset, length, code_point, kind in zip(*map(np.ndarray.tolist, columns), strict=True)
    )


class EncoderReport:
    """Bytes, numbered from the first; a :class:`Report`."""

    def __init__(self, file: TextIO | None) -> None:
        self.inputs = 0
        self._file = file
        self._pace = _Pace()
        self._bytes = 0
        self._lengths = np.zeros(LENGTHS, dtype=np.int64)
        self._refused = 0
        self._first_refused: list[int] = []
        self._preview = b""

    def add(self, trace: Trace) -> None:
        encoded = trace.words.compress(trace.is_taken)
        data = field(encoded, "o.data")
        if self._file:
            self._file.write(_byte_lines(self._bytes, encoded))
        self._bytes += len(encoded)
        self._preview += data[: PREVIEW // 3 - len(self._preview)].tobytes()
        leads = (data & 0xC0) != 0x80
        refused = np.flatnonzero(field(encoded[leads], "o.error")) + int(self._lengths.sum())
        self._first_refused += refused[: FIRST_ERRORS - len(self._first_refused)].tolist()
        self._refused += len(refused)
        self._lengths += np.bincount(_FORMS.take(data[leads]), minlength=LENGTHS)
        self.inputs += int(np.count_nonzero(trace.is_accepted))
        self._pace.add(trace)

    def lines(self) -> list[Text]:
        more = " ..." if self._bytes > len(self._preview) else ""
        lines = [
            Text(f"begins      {self._preview.hex(' ').upper()}{more}".rstrip()),
            Text(f"code points {self.inputs}"),
            Text(f"bytes       {self._bytes}"),
            self._pace.line(self._bytes, "byte"),
            _characters_line(self._lengths),
        ]
        if self._refused:
            places = _places(self._refused, self._first_refused)
            line = f"refused     {self._refused}, U+FFFD instead, at code point {places}"
            lines.append(Text(line, style="red"))
        else:
            lines.append(Text("refused     0"))
        return lines


_FORMS = np.array([form(byte) for byte in range(256)])
_BOOLEANS = "false", "true"


def _byte_lines(first: int, encoded: np.ndarray) -> str:
    """The bytes as JSON, one a line."""
    columns = (field(encoded, f"o.{name}").tolist() for name in ("data", "error", "last"))
    return "".join(
        f'{{"offset": {offset}, "byte": {byte}, '
        f'"error": {_BOOLEANS[error]}, "last": {_BOOLEANS[last]}}}\n'
        for offset, (byte, error, last) in enumerate(zip(*columns, strict=True), start=first)
    )


def _characters_line(lengths: np.ndarray) -> Text:
    counts = ", ".join(
        f"{count} of {plural(length, 'byte')}"
        for length, count in enumerate(lengths.tolist())
        if count
    )
    return Text(f"characters  {int(lengths.sum())}" + (f": {counts}" if counts else ""))


def _places(count: int, first: list[int]) -> str:
    return ", ".join(map(str, first)) + (", ..." if count > len(first) else "")


def coverage_table(coverage: Coverage, blank: str = "") -> list[Text]:
    """How often each class met each state, and what came out.

    Parameters
    ----------
    coverage : Coverage
        What was exercised.
    blank : str
        What stands in the place of what never happened.
    """
    names = [class_name(members) for members in coverage.classes]
    head, width = max(map(len, names)) + 2, max(map(len, coverage.columns)) + 2
    what = "bytes" if coverage.is_decoder else "code points"
    where = "state of the machine" if coverage.is_decoder else "what happened at the output"
    lines = [
        Text(f"{what} accepted, by class and {where}", style="bold"),
        Text(" " * head + "".join(f"{name:>{width}}" for name in coverage.columns)),
    ]
    for name, counts in zip(names, coverage.cells.tolist(), strict=True):
        line = Text(f"{name:<{head}}")
        for count in counts:
            line.append(f"{count or blank:>{width}}", style="" if count else "bold red")
        line.rstrip()
        lines.append(line)
    if coverage.is_decoder:
        lines += _token_counts(coverage)
    lines.append(
        Text(
            f"input waited in {plural(coverage.waiting_inputs, 'cycle')}, "
            f"output in {plural(coverage.waiting_outputs, 'cycle')}"
        )
    )
    return lines


def _token_counts(coverage: Coverage) -> list[Text]:
    lengths = range(1, coverage.profile.longest_form + 1)
    lines = [
        Text("tokens taken, by kind and length in bytes", style="bold"),
        Text(" " * 24 + "".join(f"{length:>8}" for length in lengths)),
    ]
    for kind in Kind:
        counts = coverage.tokens[kind.value].tolist()
        if any(counts):
            label = "character" if kind is Kind.NONE else kind.label
            cells = "".join(f"{counts[length] or '':>8}" for length in lengths)
            lines.append(Text(f"{label:<24}{cells}".rstrip()))
    return lines
