"""The compactor, for the tools: what its report says, and how lanes are typed."""

import re
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np
from rich.text import Text

from utf8_sim.components import COMPACTOR
from utf8_sim.golden.timing import Timing
from utf8_sim.stimulus import LAST, Piece
from utf8_sim.tools.errors import Refused
from utf8_sim.trace import Columns

from ..terminal import plural
from ..verify.report import BOOLEANS, Report, json_lines
from .entry import Entry, Own, hex_words, register

EMPTY = "--"
"""A lane without a value, as it is typed."""


class CompactorReport(Report):
    """Dense beats, each with its values."""

    def __init__(self, file: TextIO | None) -> None:
        super().__init__(file)
        self._texts = self._beats_out = 0

    def _count(self, taken: Columns) -> None:
        lasts = taken["o.last"]
        self._texts += int(np.count_nonzero(lasts))
        self._beats_out += len(lasts)
        if self._file:
            lanes = (taken[pin].reshape(len(lasts) or 1, -1) for pin in ("o.data", "o.keep"))
            values = np.empty(len(lasts), dtype=object)
            values[:] = [data[keep != 0].tolist() for data, keep in zip(*lanes, strict=True)]
            self._file.write(json_lines(_BEAT, values, BOOLEANS.take(lasts)))

    def lines(self) -> list[Text]:
        return [
            Text(f"texts       {self._texts}"),
            Text(f"values      {self.inputs} in {plural(self._beats, 'beat')}"),
            Text(f"beats out   {self._beats_out}"),
            self._pace(self.inputs),
        ]


_BEAT = '{"values": %s, "last": %s}\n'


def values_in_hex(text: str, design: Any) -> Piece:
    """A text by its lanes, of which some may be empty, as beats."""
    words = hex_words(text)
    lanes = max(1, -(-len(words) // design.lanes)) * design.lanes
    data, keep = np.zeros(lanes, dtype=np.uint64), np.zeros(lanes, dtype=np.uint8)
    for lane, word in enumerate(words):
        if word == EMPTY:
            continue
        if not re.fullmatch("[0-9A-Fa-f]+", word) or int(word, 16) >> design.width:
            raise Refused(
                f"--hex takes hexadecimal values of {plural(design.width, 'bit')}, {EMPTY} for an "
                f"empty lane, and / between texts, not {word!r}"
            )
        data[lane], keep[lane] = int(word, 16), 1
    beats = lanes // design.lanes
    shape = (beats, design.lanes) if design.lanes > 1 else beats
    columns = {"i.data": data.reshape(shape), "i.keep": keep.reshape(shape)}
    columns[LAST] = (np.arange(beats) == beats - 1).astype(np.uint8)
    if design.user:
        columns["i.user"] = np.zeros(beats, dtype=np.uint8)
    return columns


def checked_bytes(text: Iterator[Piece], design: Any) -> Iterator[Piece]:
    """Bytes as values, if these are wide enough."""
    for piece in text:
        if not isinstance(piece, dict) and max(piece[0], default=0) >> design.width:
            bits = plural(design.width, "bit")
            raise Refused(f"values of {bits} are too narrow for these bytes: --hex takes others")
        yield piece


def ports(design: Any) -> str:
    """What is at the ports."""
    user = """\
//   tuser          with tlast what it was with the last beat in, else zero
"""
    return f"""\
// s_axis_*         beats in, AXI4-Stream. A text begins in a new beat; tlast marks its last one.
//   tdata          values of {plural(design.width, "bit")}, lane 0 lowest
//   tkeep          a bit for each lane, whether there is a value: in any of them
// m_axis_*         the same values, in order, in dense beats
//   tkeep          a bit for each lane: all, or with tlast the first ones, perhaps none
{user if design.user else ""}\
//
// While m_axis_tvalid is low, the other outputs but s_axis_tready are don't care. So is what
// m_axis_tdata has where m_axis_tkeep is low."""


def promises(timing: Timing) -> str:
    """Throughput and latency, as a comment."""
    return f"""\
// Throughput: one beat in every cycle if the consumer never stalls; after a stall some are refused.
// s_axis_tready is low in the first cycle after reset.
// Latency: a full beat is at the output {timing.latency - 1} cycles after the beat was taken that \
has the first
// value behind it, a text's last one {timing.latency} cycles after its last beat was taken. \
Cycles in which
// m_axis_tvalid is high and m_axis_tready low are not counted."""


OWN = (Own("width", "--width", 8),)


ENTRY = register(
    Entry(
        component=COMPACTOR,
        report=CompactorReport,
        options=frozenset({"--lanes", "--width"}),
        own=OWN,
        from_hex=values_in_hex,
        opinion=lambda values, design: "",
        from_bytes=checked_bytes,
        ports=ports,
        promises=promises,
        formal="utf8_flow.formal.compactor",
        lanes=8,
    )
)
