"""What a person reads: tables of cycles, summaries, coverage."""

import json
import unicodedata
from typing import Protocol, TextIO

import numpy as np
from rich.text import Text

from utf8_hdl import Kind
from utf8_sim.campaign import Coverage, class_name
from utf8_sim.engine import DECODER, Engine, state_name
from utf8_sim.lockstep import accepted, taken
from utf8_sim.model import form

FIRST_ERRORS = 5
"""How many offsets a summary gives for each kind of error."""

PREVIEW = 60
"""How many characters of a text a summary shows."""

LENGTHS = 16
"""More than any character has bytes."""


def character(code_point: int) -> str:
    """A code point as a terminal may show it; nothing if it is invisible or would do harm."""
    if code_point > 0x10FFFF:
        return ""
    text = chr(code_point)
    category = unicodedata.category(text)
    if category[0] == "M":
        return f"\N{DOTTED CIRCLE}{text}"
    return "" if category[0] in "CZ" and text != " " else text


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def cycle_table(trace: np.ndarray, engine: Engine) -> list[Text]:
    """One line for each cycle: what is offered, the state that it meets, what comes out.

    Idle cycles at the end are left out.
    """
    if engine.interface is DECODER:
        width, heads, cells = 14, ("byte in", "token out"), (_byte_cell, _token_cell)
    else:
        width = engine.profile.utf32_width // 4 + 15
        heads, cells = ("code point in", "byte out"), (_code_point_cell, _encoded_cell)
    lines = [Text(f"{'cycle':>5}  {heads[0]:<{width}}{'state':<10}{heads[1]}", style="bold")]
    for number, cycle in enumerate(trace[: active_cycles(trace)]):
        offered, result = "", ""
        if cycle["i.valid"]:
            offered = _with_remarks(cells[0](cycle), cycle["i.last"], not cycle["i.ready"])
        if cycle["o.valid"]:
            result = _with_remarks(cells[1](cycle), cycle["o.last"], not cycle["o.ready"])
        state = state_name(engine.state_names, int(cycle["state"]))
        line = Text(f"{number:>5}  {offered:<{width}}{state:<10}")
        line.append(result, style="red" if cycle["o.error"] else "")
        line.rstrip()
        lines.append(line)
    return lines


def active_cycles(trace: np.ndarray) -> int:
    """How many cycles pass until nothing is offered on either side any more."""
    active = np.flatnonzero(trace["i.valid"] | trace["o.valid"])
    return int(active[-1]) + 1 if active.size else 0


def _byte_cell(cycle: np.void) -> str:
    byte = int(cycle["i.data"])
    return f"{byte:02X} {character(byte) if byte < 0x80 else '':<1}"


def _code_point_cell(cycle: np.void) -> str:
    return _named(int(cycle["i.code_point"]))


def _token_cell(cycle: np.void) -> str:
    if cycle["o.error"]:
        shown = f"error {Kind(int(cycle['o.kind'])).label}"
    else:
        shown = _named(int(cycle["o.code_point"]))
    return f"{shown} ({plural(int(cycle['o.length']), 'byte')})"


def _encoded_cell(cycle: np.void) -> str:
    return f"{int(cycle['o.data']):02X}" + (" error" if cycle["o.error"] else "")


def _named(code_point: int) -> str:
    return f"U+{code_point:04X} {character(code_point)}".rstrip()


def _with_remarks(shown: str, last: bool, waits: bool) -> str:
    remarks = [name for name, holds in (("last", last), ("waits", waits)) if holds]
    return " ".join([shown, *remarks]).rstrip()


class Report(Protocol):
    """What the hardware said: written as lines of JSON, if asked, and counted for a summary.

    Attributes
    ----------
    inputs : int
        How many bytes or code points were accepted.
    """

    inputs: int

    def add(self, trace: np.ndarray) -> None:
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
    return (DecoderReport if engine.interface is DECODER else EncoderReport)(file)


class _Pace:
    """Cycles until nothing is offered any more."""

    def __init__(self) -> None:
        self.cycles = self._idle = 0

    def add(self, trace: np.ndarray) -> None:
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

    def add(self, trace: np.ndarray) -> None:
        tokens = taken(trace)
        ends = self._offset + np.cumsum(tokens["o.length"], dtype=np.int64)
        offsets = ends - tokens["o.length"]
        if len(tokens):
            self._offset = int(ends[-1])
        if self._file:
            for offset, token in zip(offsets.tolist(), tokens, strict=True):
                self._file.write(_token_line(offset, token))
        self.inputs += len(accepted(trace))
        self._pace.add(trace)
        self._count(tokens, offsets)

    def _count(self, tokens: np.ndarray, offsets: np.ndarray) -> None:
        is_error = tokens["o.error"].astype(bool)
        self._lengths += np.bincount(tokens["o.length"][~is_error], minlength=LENGTHS)
        for code in np.unique(tokens["o.kind"][is_error]):
            kind, found = Kind(int(code)), offsets[is_error & (tokens["o.kind"] == code)]
            self._errors[kind] = self._errors.get(kind, 0) + len(found)
            first = self._first_errors.setdefault(kind, [])
            first += found[: FIRST_ERRORS - len(first)].tolist()
        for token in tokens[: max(0, PREVIEW - len(self._preview))]:
            code_point = int(token["o.code_point"])
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


def _token_line(offset: int, token: np.void) -> str:
    record = {
        "offset": offset,
        "length": int(token["o.length"]),
        "code_point": int(token["o.code_point"]),
        "error": Kind(int(token["o.kind"])).label if token["o.error"] else None,
    }
    return json.dumps(record) + "\n"


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

    def add(self, trace: np.ndarray) -> None:
        encoded = taken(trace)
        if self._file:
            for offset, byte in enumerate(encoded, start=self._bytes):
                self._file.write(_byte_line(offset, byte))
        self._bytes += len(encoded)
        self._preview += bytes(encoded["o.data"][: PREVIEW // 3 - len(self._preview)].tolist())
        leads = encoded[(encoded["o.data"] & 0xC0) != 0x80]
        refused = np.flatnonzero(leads["o.error"]) + int(self._lengths.sum())
        self._first_refused += refused[: FIRST_ERRORS - len(self._first_refused)].tolist()
        self._refused += len(refused)
        lengths = [form(lead) for lead in leads["o.data"].tolist()]
        self._lengths += np.bincount(np.array(lengths, dtype=np.int64), minlength=LENGTHS)
        self.inputs += len(accepted(trace))
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


def _byte_line(offset: int, byte: np.void) -> str:
    record = {
        "offset": offset,
        "byte": int(byte["o.data"]),
        "error": bool(byte["o.error"]),
        "last": bool(byte["o.last"]),
    }
    return json.dumps(record) + "\n"


def _characters_line(lengths: np.ndarray) -> Text:
    counts = ", ".join(
        f"{count} of {plural(length, 'byte')}"
        for length, count in enumerate(lengths.tolist())
        if count
    )
    return Text(f"characters  {int(lengths.sum())}" + (f": {counts}" if counts else ""))


def _places(count: int, first: list[int]) -> str:
    return ", ".join(map(str, first)) + (", ..." if count > len(first) else "")


def coverage_table(coverage: Coverage) -> list[Text]:
    """How often each class met each state, and what came out."""
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
            line.append(f"{count or 'NEVER':>{width}}", style="" if count else "bold red")
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
