"""The decoder, for the tools: what its report says."""

import json
from typing import TextIO

import numpy as np
from rich.text import Text

from utf8_hdl import Kind
from utf8_sim.components import DECODER
from utf8_sim.components.decoder import DecoderCoverage
from utf8_sim.golden.timing import Timing
from utf8_sim.shown import character
from utf8_sim.trace import Columns

from ..verify.report import LENGTHS, PREVIEW, Places, Report, json_lines
from .entry import Entry, register


class DecoderReport(Report):
    """Tokens, numbered by the first byte that they cover."""

    def __init__(self, file: TextIO | None) -> None:
        super().__init__(file)
        self._offset = 0
        self._errors = {kind: Places() for kind in Kind}
        self._preview = ""

    def _count(self, tokens: Columns) -> None:
        lengths, kinds = tokens["o.length"], tokens["o.kind"]
        is_error = tokens["o.error"].view(bool)
        offsets = self._offset + np.cumsum(lengths, dtype=np.int64) - lengths
        self._offset += int(lengths.sum())
        if self._file:
            errors = _LABELS.take(np.where(is_error, kinds, len(Kind)))
            code_points = tokens["o.code_point"]
            self._file.write(json_lines(_TOKEN, offsets, lengths, code_points, errors))
        self._lengths += np.bincount(lengths[~is_error], minlength=LENGTHS)
        wrong, kinds = offsets[is_error], kinds[is_error]
        for kind, places in self._errors.items():
            places.add(wrong[kinds == kind.value])
        begin = tokens["o.code_point"][: max(0, PREVIEW - len(self._preview))]
        for code_point in begin.tolist():
            self._preview += character(code_point) or ("␤" if code_point == 0x0A else "·")

    def lines(self) -> list[Text]:
        lines = [
            Text(f"begins      {self._preview}".rstrip()),
            Text(f"bytes       {self.inputs}"),
            self._pace(self.inputs),
            self._characters(),
            Text(f"errors      {sum(places.count for places in self._errors.values())}"),
        ]
        for kind, places in self._errors.items():
            if places.count:
                line = f"  {kind.label:<24}{places.count:>6}  at byte {places}"
                lines.append(Text(line, style="red"))
        return lines


_TOKEN = '{"offset": %d, "length": %d, "code_point": %d, "error": %s}\n'
_LABELS = np.array([*(json.dumps(kind.label) for kind in Kind), "null"], dtype=object)


def token_counts(coverage: DecoderCoverage) -> list[Text]:
    """How many tokens of each kind and length there were."""
    lengths = range(1, coverage.engine.profile.longest_form + 1)
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


_KINDS = "\n".join(f"//                  {kind.value} {kind.label}" for kind in Kind)

PORTS = f"""\
// s_axis_*         bytes in, AXI4-Stream. tlast marks the last byte of a text.
// m_axis_*         tokens out, AXI4-Stream. A token is a character or an error, and covers one or
//                  more consecutive bytes; tokens cover every byte once, in order.
//   tdata          code point, zero-extended (UTF-32); U+FFFD in an error
//   tlast          the token covers the last byte of its text
//   tuser[0]       error
//   tuser[3:1]     kind of error:
{_KINDS}
//   tuser[7:4]     length: how many bytes the token covers
//
// While m_axis_tvalid is low, m_axis_tdata, m_axis_tuser and m_axis_tlast are don't care."""


def promises(timing: Timing) -> str:
    """Throughput and latency, as a comment."""
    if timing.latency == timing.latency_of_cut:
        latency = """\
// Latency: a token is at the output 1 cycle after its last byte was taken, or after the byte that
// cuts it short. Behind a token cut short it is 2 cycles, for bytes that follow without a gap,
// until one of them begins a sequence."""
    else:
        latency = f"""\
// Latency: a token is at the output {timing.latency} cycles after its last byte was taken, or \
{timing.latency_of_cut} after the byte
// that cuts it short; one more while bytes follow reset, or a token that waited, without a gap."""
    return f"""\
// Line rate: s_axis_tready is high whenever m_axis_tready is.
{latency}
// Cycles in which m_axis_tvalid is high and m_axis_tready low are not counted."""


ENTRY = register(
    Entry(
        component=DECODER,
        report=DecoderReport,
        options=frozenset({"--error-span", "--exhaustive", "--compact"}),
        coverage_lines=token_counts,
        ports=PORTS,
        promises=promises,
        formal="utf8_flow.formal.decoder",
    )
)
