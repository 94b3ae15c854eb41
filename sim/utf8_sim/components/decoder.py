"""The decoder's entry: its golden model, its campaign, its coverage, how it is shown."""

from itertools import product
from typing import Any

import numpy as np

from utf8_hdl import Decoder, Kind

from ..campaign import (
    LONGEST_FORM,
    Coverage,
    Part,
    beginnings,
    boundary_encodings,
    byte_classes,
    count,
    edges_of,
    hostile_texts,
    toggled_values,
)
from ..golden.decoder import DecoderModel, is_continuation
from ..golden.encoder import encode_as
from ..golden.model import MET
from ..golden.timing import NOTHING, Compact, Elastic
from ..hostile import bytes_of, texts
from ..shown import show_token, shown_byte, token_label, token_text
from ..trace import Columns, Trace
from .component import Component, Lane, register
from .wide_decoder import WIDE_DECODER

PIPELINED = Elastic(latency=7, latency_of_state=4)
COMPACT = Compact(spare=1)


def decoder_campaign(design: Any, seed: int) -> list[Part]:
    """Boundaries, every bit of a value, classes of bytes, ends of texts, random hostile bytes."""
    profile = design.profile
    classes = byte_classes(profile)
    edges = edges_of(classes)
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
        Part.of("random hostile bytes", hostile_texts(classes, encodings, seed)),
    ]


class DecoderCoverage(Coverage):
    """Bytes by class and by the state in which they meet the machine; tokens by kind and length.

    ``tokens`` counts those of a kind (row) and a length (column).
    """

    column = "state"
    title = "state of the machine"

    def __init__(self, engine: Any) -> None:
        super().__init__(engine, byte_classes(engine.profile), list(engine.state_names.values()))
        self.tokens = self.counter("tokens", len(Kind), LONGEST_FORM + 1)
        self._rows_of_bytes = self.rows(np.arange(256))
        self._column_of_state = np.zeros(256, dtype=np.intp)
        self._column_of_state[list(engine.state_names)] = np.arange(len(self.columns))

    def begin_again(self) -> None:
        super().begin_again()
        self._rows_in_flight = np.zeros(0, dtype=np.intp)

    def count_life(self, trace: Trace) -> None:
        super().count_life(trace)
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


DECODER = register(
    Component(
        name="decoder",
        make=Decoder,
        model=lambda design: DecoderModel(design.profile),
        timing=lambda design: COMPACT if getattr(design, "compact", False) else PIPELINED,
        campaign=decoder_campaign,
        hostile=lambda design, generator: texts(bytes_of(design.profile), generator),
        coverage=DecoderCoverage,
        item="byte",
        result="token",
        show_item=lambda item: shown_byte(item["i.data"]),
        show_result=show_token,
        lanes=(
            Lane("token", token_label),
            Lane("o.length", lambda token: str(token["o.length"])),
        ),
        text=token_text,
        laned=WIDE_DECODER,
    )
)
