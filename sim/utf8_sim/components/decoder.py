"""The decoder's entry: its golden model, its campaign, its coverage, how it is shown.

A profile's boundaries also cut the 256 bytes into classes, so that all bytes of a class do the same
wherever they come.
"""

from itertools import pairwise, product
from typing import Any

import numpy as np

from utf8_hdl import Decoder, Kind, Profile
from utf8_hdl.profile import NONCHARACTERS, SURROGATES

from ..campaign import LONGEST_FORM, Coverage, Part, boundary_encodings, count, edges_of
from ..golden.arrays import ArrayDecoder, array_timing
from ..golden.text import DecoderTransducer, TextModel, encode, form_maximum, is_continuation
from ..golden.timing import Compact, Elastic
from ..shown import named, shown_byte
from ..trace import Trace
from .component import Component, Lane, Levels, register

HOSTILE_BYTES = 4096

PIPELINED = Elastic(latency=7, latency_of_state=4)
COMPACT = Compact(spare=1)


def toggled_values(profile: Profile) -> list[int]:
    """The lowest and the highest value of each form, with each of its bits inverted.

    The classes of bytes know which bytes decide about a character, not which only carry bits.
    """
    values = set()
    for length in range(1, profile.longest_form + 1):
        lowest = form_maximum(length - 1) + 1 if length > 1 else 0
        highest = min(form_maximum(length), profile.highest)
        for bit in range(highest.bit_length()):
            values |= {lowest ^ 1 << bit, highest ^ 1 << bit}
    return sorted(value for value in values if value <= profile.highest)


def byte_classes(profile: Profile) -> list[range]:
    """The 256 bytes, cut where their meaning changes.

    Between two neighbouring values of one form, of which only one is a character, the encodings
    part at some byte: a class begins there. The bytes before it, which both share, are classes of
    their own.
    """
    longest = profile.longest_form
    firsts = [(form_maximum(length - 1) + 1, length) for length in range(2, longest + 1)]
    if not profile.accept_surrogates:
        firsts += [(SURROGATES.start, 3), (SURROGATES.stop, 3)]
    if not profile.accept_noncharacters:
        firsts += [(NONCHARACTERS[0], 3)]
    if profile.highest < form_maximum(longest):
        firsts += [(profile.highest + 1, longest)]

    leads = [0xFF << 8 - length & 0xFF for length in range(2, min(longest + 1, LONGEST_FORM) + 1)]
    cuts = {0x00, 0x80, 0xC0, 0xFE, *leads}
    for first, length in firsts:
        for before, after in zip(encode(first - 1, length), encode(first, length), strict=True):
            cuts.add(after)
            if before != after:
                break
            cuts.add(after + 1)
    edges = [*sorted(cuts - {0x100}), 0x100]
    return [range(*pair) for pair in pairwise(edges)]


def beginnings(profile: Profile) -> list[bytes]:
    """What can be pending before a byte at a boundary; first of all, nothing."""
    longest_runs = [
        bytes([members[0]]).ljust(LONGEST_FORM, b"\xbf") for members in byte_classes(profile)
    ]
    starts = {
        sequence[:length]
        for sequence in boundary_encodings(profile) + longest_runs
        for length in range(len(sequence))
    }
    return sorted(start for start in starts if _pending(profile, start) == start)


def _pending(profile: Profile, data: bytes) -> bytes:
    model = TextModel(profile)
    for byte in data:
        model.feed(byte)
    return model.pending


def decoder_campaign(profile: Profile, seed: int) -> list[Part]:
    """Boundaries, every bit of a value, classes of bytes, ends of texts, random hostile bytes."""
    classes = byte_classes(profile)
    edges = edges_of(classes)
    encodings = boundary_encodings(profile)
    toggled = [encode(value) for value in toggled_values(profile)]
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
        Part.of("random hostile bytes", _hostile_texts(classes, encodings, seed)),
    ]


def _hostile_texts(classes: list[range], encodings: list[bytes], seed: int) -> list[bytes]:
    """Texts of one to 64 bytes: half bytes of random classes, half cut and joined encodings."""
    generator = np.random.default_rng((seed, 0))
    texts = []
    size = 0
    while size < HOSTILE_BYTES:
        text = bytearray()
        for _ in range(generator.integers(1, 17)):
            if generator.random() < 0.5:
                text.append(generator.choice(classes[generator.integers(len(classes))]))
            else:
                encoding = encodings[generator.integers(len(encodings))]
                text += encoding[: generator.integers(1, len(encoding) + 1)]
        texts.append(bytes(text[:64]))
        size += len(texts[-1])
    return texts


class DecoderCoverage(Coverage):
    """Bytes by class and by the state in which they meet the machine; tokens by kind and length.

    ``tokens`` counts those of a kind (row) and a length (column).
    """

    column = "state"
    title = "state of the machine"

    def __init__(self, engine: Any) -> None:
        super().__init__(engine, byte_classes(engine.profile), list(engine.state_names.values()))
        self.tokens = np.zeros((len(Kind), LONGEST_FORM + 1), dtype=np.int64)
        self._timing = array_timing(engine.timing)
        self._rows_in_flight = np.zeros(0, dtype=np.intp)
        self._rows_of_bytes = self.rows(np.arange(256))
        self._column_of_state = np.zeros(256, dtype=np.intp)
        self._column_of_state[list(engine.state_names)] = np.arange(len(self.columns))

    def add(self, trace: Trace) -> None:
        super().add(trace)
        is_taken = trace.is_taken
        kinds, lengths = (trace[pin].compress(is_taken) for pin in ("o.kind", "o.length"))
        count(self.tokens, kinds, lengths)

    def met(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        accepted = self._rows_of_bytes.take(trace["i.data"].compress(trace.is_accepted))
        rows = np.concatenate([self._rows_in_flight, accepted])
        cycles = self._timing.meetings(trace)
        self._rows_in_flight = rows[len(cycles) :]
        return rows[: len(cycles)], self._column_of_state.take(trace["state"].take(cycles))


def token_text(token: Levels) -> str:
    """A token in a word."""
    return Kind(token["o.kind"]).label if token["o.error"] else f"U+{token['o.code_point']:04X}"


def _token_label(token: Levels) -> str:
    return token_text(token) if token["o.error"] else named(token["o.code_point"])


def show_token(token: Levels) -> str:
    """A token, and how many bytes it covers."""
    length = token["o.length"]
    size = "1 byte" if length == 1 else f"{length} bytes"
    return f"{'error ' if token['o.error'] else ''}{_token_label(token)} ({size})"


DECODER = register(
    Component(
        name="decoder",
        make=Decoder,
        transducer=lambda design: DecoderTransducer(design.profile),
        array_transducer=lambda design: ArrayDecoder(design.profile),
        timing=lambda design: COMPACT if getattr(design, "compact", False) else PIPELINED,
        campaign=decoder_campaign,
        coverage=DecoderCoverage,
        item="byte",
        result="token",
        show_item=lambda item: shown_byte(item["i.data"]),
        show_result=show_token,
        lanes=(
            Lane("token", _token_label),
            Lane("o.length", lambda token: str(token["o.length"])),
        ),
        text=token_text,
    )
)
