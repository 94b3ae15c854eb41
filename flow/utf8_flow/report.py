"""What a person reads: tables of cycles, summaries, coverage."""

import json
import unicodedata
from typing import TextIO

import numpy as np
from rich.text import Text

from utf8_hdl import Kind
from utf8_sim.campaign import Coverage, class_name
from utf8_sim.engine import state_name
from utf8_sim.lockstep import bytes_accepted, tokens_taken

FIRST_ERRORS = 5
"""How many offsets a summary gives for each kind of error."""

PREVIEW = 60
"""How many characters of a text a summary shows."""


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


def cycle_table(trace: np.ndarray, state_names: list[str]) -> list[Text]:
    """One line for each cycle: the byte offered, the state that it meets, the token on offer.

    Idle cycles at the end are left out.
    """
    trace = trace[: active_cycles(trace)]
    lines = [Text(f"{'cycle':>5}  {'byte in':<14}{'state':<10}token out", style="bold")]
    for number, cycle in enumerate(trace):
        state = state_name(state_names, int(cycle["state"]))
        line = Text(f"{number:>5}  {_byte_cell(cycle):<14}{state:<10}")
        line.append(_token_cell(cycle), style="red" if cycle["o.error"] else "")
        line.rstrip()
        lines.append(line)
    return lines


def active_cycles(trace: np.ndarray) -> int:
    """How many cycles pass until nothing is offered on either side any more."""
    active = np.flatnonzero(trace["i.valid"] | trace["o.valid"])
    return int(active[-1]) + 1 if active.size else 0


def _byte_cell(cycle: np.void) -> str:
    if not cycle["i.valid"]:
        return ""
    byte = int(cycle["i.data"])
    shown = f"{byte:02X} {character(byte)}" if byte < 0x80 else f"{byte:02X}"
    return _with_remarks(f"{shown:<4}", last=cycle["i.last"], waits=not cycle["i.ready"])


def _token_cell(cycle: np.void) -> str:
    if not cycle["o.valid"]:
        return ""
    code_point = int(cycle["o.code_point"])
    if cycle["o.error"]:
        shown = f"error {Kind(int(cycle['o.kind'])).label}"
    else:
        shown = f"U+{code_point:04X} {character(code_point)}".rstrip()
    shown = f"{shown} ({plural(int(cycle['o.length']), 'byte')})"
    return _with_remarks(shown, last=cycle["o.last"], waits=not cycle["o.ready"])


def _with_remarks(shown: str, last: bool, waits: bool) -> str:
    remarks = [name for name, holds in (("last", last), ("waits", waits)) if holds]
    return " ".join([shown, *remarks]).rstrip() if remarks else shown.rstrip()


class TokenLog:
    """Numbers the bytes that tokens cover, and writes tokens as lines of JSON.

    Parameters
    ----------
    file : text file or None
        Where the lines go.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file
        self._offset = 0

    def add(self, trace: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cycles in which a token was taken, and the offset of each token's first byte."""
        taken = tokens_taken(trace)
        ends = self._offset + np.cumsum(taken["o.length"], dtype=np.int64)
        offsets = ends - taken["o.length"]
        if len(taken):
            self._offset = int(ends[-1])
        if self._file:
            for offset, token in zip(offsets.tolist(), taken, strict=True):
                self._file.write(_token_line(offset, token))
        return taken, offsets


def _token_line(offset: int, token: np.void) -> str:
    record = {
        "offset": offset,
        "length": int(token["o.length"]),
        "code_point": int(token["o.code_point"]),
        "error": Kind(int(token["o.kind"])).label if token["o.error"] else None,
    }
    return json.dumps(record) + "\n"


class Summary:
    """What the hardware made of a text.

    Attributes
    ----------
    bytes : int
        How many bytes were accepted.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._cycles = self._idle_cycles = 0
        self._lengths = np.zeros(16, dtype=np.int64)
        self._errors: dict[Kind, int] = {}
        self._first_errors: dict[Kind, list[int]] = {}
        self._preview = ""

    def add(self, trace: np.ndarray, taken: np.ndarray, offsets: np.ndarray) -> None:
        """Count a window of the trace, and the tokens taken in it."""
        active = active_cycles(trace)
        if active:
            self._cycles += self._idle_cycles + active
            self._idle_cycles = 0
        self._idle_cycles += len(trace) - active
        self.bytes += len(bytes_accepted(trace))
        is_error = taken["o.error"].astype(bool)
        self._lengths += np.bincount(taken["o.length"][~is_error], minlength=16)
        for code in np.unique(taken["o.kind"][is_error]):
            kind, found = Kind(int(code)), offsets[is_error & (taken["o.kind"] == code)]
            self._errors[kind] = self._errors.get(kind, 0) + len(found)
            first = self._first_errors.setdefault(kind, [])
            first += found[: FIRST_ERRORS - len(first)].tolist()
        for token in taken[: max(0, PREVIEW - len(self._preview))]:
            code_point = int(token["o.code_point"])
            self._preview += character(code_point) or ("␤" if code_point == 0x0A else "·")

    def lines(self) -> list[Text]:
        """The summary, one fact a line."""
        characters = int(self._lengths.sum())
        lengths = ", ".join(
            f"{count} of {plural(length, 'byte')}"
            for length, count in enumerate(self._lengths.tolist())
            if count
        )
        errors = sum(self._errors.values())
        pace = f" ({self._cycles / self.bytes:.2f} per byte)" if self.bytes else ""
        lines = [
            Text(f"begins      {self._preview}".rstrip()),
            Text(f"bytes       {self.bytes}"),
            Text(f"cycles      {self._cycles}{pace}"),
            Text(f"characters  {characters}" + (f": {lengths}" if lengths else "")),
            Text(f"errors      {errors}"),
        ]
        for kind in sorted(self._errors, key=lambda kind: kind.value):
            count, first = self._errors[kind], self._first_errors[kind]
            places = ", ".join(map(str, first)) + (", ..." if count > len(first) else "")
            lines.append(Text(f"  {kind.label:<24}{count:>6}  at byte {places}", style="red"))
        return lines


def coverage_table(coverage: Coverage) -> list[Text]:
    """How often each class of bytes met each state, and what came out."""
    width = max(map(len, coverage.state_names)) + 2
    lines = [
        Text("bytes accepted, by class and state of the machine", style="bold"),
        Text(" " * 8 + "".join(f"{name:>{width}}" for name in coverage.state_names)),
    ]
    for members, counts in zip(coverage.classes, coverage.cells.tolist(), strict=True):
        line = Text(f"{class_name(members):<8}")
        for count in counts:
            line.append(f"{count or 'NEVER':>{width}}", style="" if count else "bold red")
        lines.append(line)
    lines.append(Text("tokens taken, by kind and length in bytes", style="bold"))
    lengths = range(1, coverage.profile.longest_form + 1)
    lines.append(Text(" " * 24 + "".join(f"{length:>8}" for length in lengths)))
    for kind in Kind:
        counts = coverage.tokens[kind.value].tolist()
        if any(counts):
            label = "character" if kind is Kind.NONE else kind.label
            cells = "".join(f"{counts[length] or '':>8}" for length in lengths)
            lines.append(Text(f"{label:<24}{cells}".rstrip()))
    lines.append(
        Text(
            f"a byte waited in {plural(coverage.waiting_bytes, 'cycle')}, "
            f"a token in {plural(coverage.waiting_tokens, 'cycle')}"
        )
    )
    return lines
