"""The counts of a comparison so far: their report, and the file from which it resumes."""

import base64
import io
import json
import math
import os
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from utf8_sim.coverage import IN_A_ROW, Coverage
from utf8_sim.tools.errors import WrongValue
from utf8_sim.tools.files import open_output
from utf8_sim.tools.interrupts import defer_interrupts
from utf8_sim.tools.words import plural
from utf8_sim.trace import Columns

from .coverage import coverage_table
from .sources import Counted, Plan

FORMAT = "utf8-hdl state 1"

SEQUENCES = "sequences"
"""The name of the counter of :class:`~utf8_sim.coverage.Sequences`."""

SAVED_EVERY = 1.0
"""Minimum number of seconds between two writes of a state."""


@dataclass
class Outcome:
    """Counts of one or more units."""

    cycles: int = 0
    #: Number of values accepted.
    values: int = 0
    #: Description of the first difference or failure.
    wrong: str = ""
    #: The hardware's output as lines of JSON.
    lines: str = ""
    #: Coverage by name: counters, or booleans that are true if a case occurred.
    counts: Columns = field(default_factory=dict)

    def add(self, other: "Outcome") -> None:
        self.cycles += other.cycles
        self.values += other.values
        for name, numbers in other.counts.items():
            before = self.counts.get(name, np.zeros_like(numbers))
            self.counts[name] = before + numbers  # of booleans: their disjunction

    def __getstate__(self) -> dict[str, Any]:
        """The state in a compact format, for other processes and files."""
        counts = io.BytesIO()
        np.savez_compressed(counts, **self.counts)  # type: ignore[arg-type]
        return {**vars(self), "counts": base64.b64encode(counts.getvalue()).decode()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        counts = io.BytesIO(base64.b64decode(state["counts"]))
        vars(self).update(state, counts=dict(np.load(counts, allow_pickle=False)))


class State:
    """The counts of the units from ``first`` up to but not including ``next``.

    These units had no difference. If ``path`` is given, the counts are kept in this file. A file
    with the state of a different plan, or with other content, is refused.
    """

    def __init__(self, plan: Plan, path: str | None, first: int = 0) -> None:
        self.path, self.first, self.next, self.total = path, first, first, Outcome()
        self._identity: dict[str, Any] = {}
        if path:
            self._identity = {"format": FORMAT, "plan": plan.identity(), "seed": plan.seed}
        self._saved, self._is_newer = -math.inf, False
        if path and os.path.exists(path):
            self._read(path)

    def _read(self, path: str) -> None:
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if isinstance(content, list):
                raise ValueError("a file of an earlier version")
            if not isinstance(content, dict) or content.get("format") != FORMAT:
                raise ValueError("another kind of file")
            if content.pop("checksum", None) != _checksum(content):
                raise ValueError("damaged")
            if {name: content[name] for name in self._identity} != self._identity:
                raise ValueError("other options, or another version")
        except (OSError, ValueError, RecursionError) as error:
            raise WrongValue(
                f"state {path!r} is not from this comparison ({error}): remove it, or choose "
                "another"
            ) from error
        self.next = content["units"]
        self.total.__setstate__(content["total"])

    def add(self, outcome: Outcome, *, is_whole: bool = True) -> None:
        """Add the next unit, which has no difference; a part of a unit is counted but not saved."""
        with defer_interrupts():
            self.total.add(outcome)
            self.next += is_whole
            self._is_newer |= is_whole
        if is_whole and time.monotonic() > self._saved + SAVED_EVERY:
            self.save()

    def save(self, *, if_newer: bool = False) -> None:
        """Write the file."""
        if not self.path or (if_newer and not self._is_newer):
            return
        content = {**self._identity, "units": self.next, "total": self.total.__getstate__()}
        with open_output(self.path) as file:
            file.write(json.dumps({**content, "checksum": _checksum(content)}) + "\n")
        self._saved, self._is_newer = time.monotonic(), False


def _checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content).encode())


def sequences_seen(total: Outcome) -> str:
    """Number of sequences that occurred."""
    seen = total.counts[SEQUENCES]
    return f"{np.count_nonzero(seen)} of {len(seen)} sequences"


def coverage_of(plan: Plan, state: State) -> Coverage:
    """The coverage so far."""
    counts, coverage = state.total.counts, plan.simulator.component.coverage(plan.simulator)
    coverage.merge({name: counts[name] for name in coverage.counts.keys() & counts})
    return coverage


def coverage_lines(plan: Plan, state: State, *, is_whole: bool = True) -> list[Text]:
    """The coverage, and, after a complete campaign, the gaps."""
    if plan.counted < Counted.COVERAGE:
        return []
    engine, total, coverage = plan.simulator, state.total, coverage_of(plan, state)
    more = engine.component.coverage_lines(coverage)
    lines = coverage_table(coverage, more, "NEVER" if is_whole and plan.is_campaign else "")
    if is_whole and plan.is_campaign:
        gaps = coverage.gaps()
        met = f"every class occurred with every {coverage.column}"
        lines.append(Text(f"not covered: {', '.join(gaps)}" if gaps else met))
    elif is_whole and not coverage.cells.any():
        lines.append(Text("the input is empty: only idle cycles were compared"))
    if SEQUENCES in total.counts:
        numbers = sorted({state.first, max(state.first, state.next - 1)})
        units = f"{'units' if numbers[1:] else 'unit'} {'-'.join(map(str, numbers))}"
        accepted = plural(total.values, engine.component.value)
        cycles = plural(total.cycles, "cycle")
        lines += [
            Text(f"{IN_A_ROW} classes or ends of texts in a row: {sequences_seen(total)}"),
            Text(f"{units} of seed {plan.seed}: {accepted} accepted in {cycles}"),
        ]
    return lines
