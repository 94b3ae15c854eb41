"""The decoder's entry: golden model, campaign, coverage and display."""

from collections.abc import Iterator
from itertools import product
from typing import Any, ClassVar

import numpy as np

from utf8_hdl import UNICODE, CompactDecoder, Decoder, ErrorKind, Profile, WideDecoder

from ..campaign import (
    LONGEST_FORM,
    Part,
    beginnings,
    boundary_encodings,
    byte_classes,
    edges_of,
    hostile_texts,
    toggled_values,
)
from ..command_line import COMMAND_LINES
from ..coverage import Coverage, count
from ..format import byte_label, show_token, token_label, token_text
from ..fuzz import bytes_of, texts
from ..golden.decoder import DecoderModel, is_continuation
from ..golden.encoder import encode_as
from ..golden.model import MET
from ..golden.timing import NOTHING, Compact, Elastic, Timing
from ..stimulus import Piece
from ..trace import Columns, Trace
from . import headers
from .component import Component, Levels, Row, register
from .tokens import TokenReport, token_counts
from .wide_decoder import WIDE_DECODER

PIPELINED = Elastic(latency=7, latency_of_state=4)
COMPACT = Compact(spare=1, starts_late=True)


def decoder_campaign(design: Any, seed: int) -> list[Part]:
    """Boundary values, every payload bit, byte classes, ends of texts, random hostile bytes."""
    profile = design.profile
    edges = edges_of(byte_classes(profile))
    encodings = boundary_encodings(profile)
    toggled = [encode_as(value) for value in toggled_values(profile)]
    starts = beginnings(profile)
    after_beginnings = [
        start + bytes([byte]) + tail for start in starts for byte in edges for tail in (b"", b"A")
    ]
    continuations = [byte for byte in edges if is_continuation(byte)]
    after_texts = [
        text for start in starts[1:] for byte in continuations for text in (start, bytes([byte]))
    ]
    pairs = [bytes(pair) for pair in product(edges, repeat=2)]
    return [
        Part.of("boundary code points", [*encodings, b"A".join(encodings)]),
        Part.of("every bit of a value", [*toggled, b"".join(toggled)]),
        Part.of("every class after every beginning", after_beginnings),
        Part.of("continuation bytes after a text that ends too early", after_texts),
        Part.of("every pair of classes", [*pairs, b"".join(pairs)]),
        Part.of("random hostile bytes", hostile_texts(profile, seed)),
    ]


class DecoderCoverage(Coverage):
    """Bytes by class and by the state in which the decoder receives them.

    ``tokens`` counts tokens by kind (row) and length (column).
    """

    column = "state"
    title = "state of the machine"

    def __init__(self, engine: Any) -> None:
        super().__init__(engine, byte_classes(engine.profile), list(engine.state_names.values()))
        self.tokens = self.counter("tokens", len(ErrorKind), LONGEST_FORM + 1)
        self._rows_of_bytes = self.rows(np.arange(256))
        self._column_of_state = np.zeros(256, dtype=np.intp)
        self._column_of_state[list(engine.state_names)] = np.arange(len(self.columns))

    def reset(self) -> None:
        super().reset()
        self._rows_in_flight = np.zeros(0, dtype=np.intp)

    def count_between_resets(self, trace: Trace) -> None:
        super().count_between_resets(trace)
        is_taken = trace.is_taken
        kinds, lengths = (trace[pin].compress(is_taken) for pin in ("o.kind", "o.length"))
        count(self.tokens, kinds, lengths)

    def in_flight(self, trace: Trace, before: int) -> int:
        accepted = np.count_nonzero(trace.is_accepted)
        return before + int(accepted) - int(trace.taken()["o.length"].sum(dtype=np.int64))

    def accepted(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        data = items["i.data"]
        return self._rows_of_bytes.take(data), np.ones(len(data), dtype=np.intp)

    def met(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        accepted = self._rows_of_bytes.take(trace["i.data"].compress(trace.is_accepted))
        rows = np.concatenate([self._rows_in_flight, accepted])
        cycles = np.flatnonzero(trace[MET] != NOTHING)
        self._rows_in_flight = rows[len(cycles) :]
        return rows[: len(cycles)], self._column_of_state.take(trace["state"].take(cycles))


PORTS = """\
// s_axis_*         bytes in, AXI4-Stream. tlast marks the last byte of a text.
// m_axis_*         tokens out, AXI4-Stream. A token is a character or an error, and covers one or
//                  more consecutive bytes; tokens cover every byte once, in order.
//   tdata          code point, zero-extended (UTF-32); U+FFFD in an error
//   tlast          the token covers the last byte of its text
//   tuser[0]       error
//   tuser[3:1]     kind of error:
{kinds}
//   tuser[7:4]     length: how many bytes the token covers
//
// While m_axis_tvalid is low, m_axis_tdata, m_axis_tuser and m_axis_tlast are don't care."""


class DecoderComponent(Component):
    """The byte decoder. `laned` is the entry of the decoder with lanes."""

    name = "decoder"
    laned = WIDE_DECODER
    formal = "utf8_flow.formal.decoder"
    command_line = COMMAND_LINES["decoder"]
    live: ClassVar = {
        "decoder": {},
        "compact-decoder": {"compact": True},
        "decoder-8": {"lanes": 8},
    }
    result = "token"
    coverage = DecoderCoverage
    report = TokenReport
    show_result = staticmethod(show_token)
    text = staticmethod(token_text)
    rows = (Row("token", token_label), Row("o.length", lambda token: str(token["o.length"])))
    campaign = staticmethod(decoder_campaign)
    coverage_lines = staticmethod(token_counts)

    @staticmethod
    def make(profile: Profile = UNICODE, *, compact: bool = False, lanes: int = 1) -> Any:
        """The decoder with these options."""
        if lanes > 1:
            if compact:
                raise ValueError(f"a compact decoder has one lane, not {lanes}")
            return WideDecoder(profile, lanes=lanes)
        return CompactDecoder(profile) if compact else Decoder(profile)

    def model(self, design: Any) -> DecoderModel:
        return DecoderModel(design.profile)

    def timing(self, design: Any) -> Compact | Elastic:
        return COMPACT if getattr(design, "compact", False) else PIPELINED

    def fuzz(self, design: Any, generator: np.random.Generator) -> Iterator[Piece]:
        return texts(bytes_of(design.profile), generator)

    def show_item(self, item: Levels, /) -> str:
        return byte_label(item["i.data"])

    def ports(self, design: Any) -> str:
        return PORTS.format(kinds=headers.kinds(design.profile))

    def promises(self, timing: Timing) -> list[str]:
        if isinstance(timing, Elastic):
            rate = (
                "s_axis_tready is a register: it may be low two cycles after a stalled output, and "
                "is high in all other cycles."
            )
            latency = (
                f"a token is at the output {timing.latency} cycles after its last byte was "
                f"accepted, or {timing.latency_of_cut} after the byte that cuts it short; one more "
                "if that byte was accepted in the cycle after a stalled output."
            )
        else:
            rate = (
                "s_axis_tready depends on m_axis_tready within the cycle. It is low during reset "
                "and in the first cycle after it."
            )
            latency = (
                "a token is at the output 1 cycle after its last byte was accepted, or after the "
                "byte that cuts it short. After a token cut short, the latency is 2 cycles for "
                "bytes that follow without a gap, until one of them begins a sequence."
            )
        return [
            f"Throughput: one byte in every cycle while m_axis_tready is high. {rate}",
            f"Latency: {latency} {headers.NOT_COUNTED}.",
        ]


register(DecoderComponent())
