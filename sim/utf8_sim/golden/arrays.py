"""The golden model for long runs: the same answers as the readable one, by whole arrays.

What takes the readable one a microsecond a byte takes numpy some nanoseconds. The price is a
page that reads less easily, so tests hold it to the readable one, pin by pin, and what is wrong
with one or two bytes it asks :func:`utf8_sim.golden.text.fault`.
"""

from functools import cache
from typing import NamedTuple, Protocol

import numpy as np

from utf8_hdl import ErrorSpan, Kind, Profile
from utf8_hdl.profile import NONCHARACTERS, REPLACEMENT, SURROGATES

from ..trace import Columns
from .text import fault, form, form_maximum, is_continuation

BYTES = range(256)


class Outputs(NamedTuple):
    """What some inputs bring about."""

    columns: Columns
    """The fields of the outputs, in order."""
    brought_by: np.ndarray
    """For each the index of the input that brings it about."""
    cut: np.ndarray
    """Whether it ends before the input that brings it about."""


class ArrayTransducer(Protocol):
    """Many inputs to many outputs."""

    def feed(self, items: Columns) -> Outputs: ...


@cache
def _kinds(profile: Profile) -> tuple[list[Kind], np.ndarray]:
    """For every byte, and for every lead byte with a second one, what is wrong with it.

    Asking for each takes longer than a short run.
    """
    first = [fault(bytes([byte]), profile) for byte in BYTES]
    second = np.zeros((256, 256), dtype=np.uint8)
    for lead in BYTES:
        if 1 < form(lead) <= profile.longest_form and first[lead] is Kind.NONE:
            for byte in filter(is_continuation, BYTES):
                second[lead, byte] = fault(bytes([lead, byte]), profile).value
    return first, second.ravel()


class ArrayDecoder:
    """Bytes to tokens; an :class:`ArrayTransducer`.

    A byte outside 80..BF begins a sequence whatever came before, so all sequences of a text can be
    followed at the same time: first the second bytes of all, then the third bytes, and so on.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._whole_sequence = profile.error_span is ErrorSpan.WHOLE_SEQUENCE
        kinds, self._second_kind = _kinds(profile)
        # Most bytes that the token may cover which a byte begins; 1 if it decides it at once.
        self._announced = np.array(list(map(self._most, BYTES, kinds)), dtype=np.uint8)
        self._first_kind = np.array([kind.value for kind in kinds], dtype=np.uint8)
        bits_of_lead = [byte & (0x7F if form(byte) == 1 else 0x7F >> form(byte)) for byte in BYTES]
        value_type = np.uint32 if profile.code_point_width <= 32 else np.uint64
        self._first_bits: np.ndarray = np.array(bits_of_lead, dtype=value_type)
        self._alone = _code_points(self._first_bits, self._first_kind)
        self.pending = np.zeros(0, dtype=np.uint8)

    def _most(self, byte: int, kind: Kind) -> int:
        at_once = kind is not Kind.NONE and not self._whole_sequence
        return 1 if at_once or form(byte) > self._profile.longest_form else form(byte)

    def feed(self, items: Columns) -> Outputs:
        before = len(self.pending)
        data = np.concatenate([self.pending, items["i.data"]])
        block = _Block(data, before, items["i.last"], self._alone, self._first_kind)
        self._follow_leads(block)
        self.pending = data[block.begin_of_rest :]
        begins = np.flatnonzero(~block.covered[: block.begin_of_rest])
        kind, length = block.kind.take(begins), block.length.take(begins)
        ends = begins + length - 1
        cut = block.cut.take(begins)
        columns = {
            "o.code_point": block.code_point.take(begins),
            "o.error": (kind != 0).view(np.uint8),
            "o.kind": kind,
            "o.length": length,
            "o.last": block.ends_text.take(ends).view(np.uint8),
        }
        return Outputs(columns, ends + cut - before, cut)

    def _follow_leads(self, block: "_Block") -> None:
        """The tokens that begin at lead bytes which announce more bytes."""
        announced: np.ndarray = self._announced.take(block.data[: block.size])
        leads: np.ndarray = np.flatnonzero(announced > 1)
        first, announced = block.data.take(leads), announced.take(leads)
        value: np.ndarray = self._first_bits.take(first)
        kind: np.ndarray = self._first_kind.take(first)
        for length in range(1, self._profile.longest_form):
            if not leads.size:
                return
            # Each of the sequences has so many bytes now; does the next byte join them?
            following = leads + length
            if following[-1] == block.size and not block.ends_text[block.size - 1]:
                block.begin_of_rest = int(leads[-1])  # more may come
                leads, announced, following, value, kind = (
                    x[:-1] for x in (leads, announced, following, value, kind)
                )
            over = block.ends_text.take(following - 1)
            joins = block.continuation.take(following) & ~over
            if length == 1:
                pair = block.data.take(leads).astype(np.uint16) << 8 | block.data.take(following)
                second_kind = np.where(joins, self._second_kind.take(pair), np.uint8(0))
                kind = np.where(kind == 0, second_kind, kind)
                if not self._whole_sequence:
                    joins &= kind == 0
            if not joins.all():
                cut = ~joins
                cut_kind = kind.compress(cut)
                cut_kind = np.where(cut_kind == 0, np.uint8(Kind.TRUNCATED.value), cut_kind)
                where = leads.compress(cut)
                block.tokens(where, value.compress(cut), cut_kind, length)
                block.cut[where] = ~over.compress(cut)
                leads, announced, following, value, kind = (
                    x.compress(joins) for x in (leads, announced, following, value, kind)
                )
            block.covered[following] = True
            value = value << value.dtype.type(6) | block.data.take(following) & np.uint8(0x3F)
            whole = announced == length + 1
            whole_kind = self._kind_of_whole(
                value.compress(whole), kind.compress(whole), length + 1
            )
            block.tokens(leads.compress(whole), value.compress(whole), whole_kind, length + 1)
            leads, announced, value, kind = (
                x.compress(~whole) for x in (leads, announced, value, kind)
            )

    def _kind_of_whole(self, value: np.ndarray, kind: np.ndarray, length: int) -> np.ndarray:
        """What is wrong with sequences of which all bytes are there."""
        if self._profile.accept_noncharacters or length != form(0xEF):
            return kind
        is_refused = (kind == 0) & ((value == NONCHARACTERS[0]) | (value == NONCHARACTERS[1]))
        return np.where(is_refused, np.uint8(Kind.NONCHARACTER.value), kind)


class _Block:
    """Bytes of a text, and the tokens that begin with each; at first every byte is one alone."""

    def __init__(
        self, data: np.ndarray, before: int, lasts: np.ndarray, alone: np.ndarray, kinds: np.ndarray
    ) -> None:
        self.size = len(data)
        # With a byte behind the end that continues nothing, so that there is always a next one.
        self.data = np.append(data, np.uint8(0))
        self.ends_text = np.zeros(self.size + 1, dtype=bool)
        self.ends_text[before:-1] = lasts
        self.continuation = (self.data & 0xC0) == 0x80
        self.covered = np.zeros(self.size + 1, dtype=bool)
        self.begin_of_rest = self.size
        self.code_point, self.kind = alone.take(data), kinds.take(data)
        self.length = np.ones(self.size, dtype=np.uint8)
        self.cut = np.zeros(self.size, dtype=bool)

    def tokens(self, begin: np.ndarray, value: np.ndarray, kind: np.ndarray, length: int) -> None:
        """Tokens of one length, by their first bytes."""
        self.code_point[begin] = _code_points(value, kind)
        self.kind[begin] = kind
        self.length[begin] = length


def _code_points(values: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """The code points of tokens of some kinds."""
    error = kinds != 0
    return np.where(error, values.dtype.type(REPLACEMENT), values) if error.any() else values


class ArrayEncoder:
    """Code points to bytes; an :class:`ArrayTransducer`."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def feed(self, items: Columns) -> Outputs:
        values = items["i.code_point"].astype(np.uint64)
        refused = is_refused(values, self._profile)
        values = np.where(refused, np.uint64(REPLACEMENT), values)
        lengths = np.ones(len(values), dtype=np.int64)
        for shorter in range(1, self._profile.longest_form):
            lengths += values > np.uint64(form_maximum(shorter))

        brought_by = np.repeat(np.arange(len(values)), lengths)
        ends = np.cumsum(lengths)
        to_follow = ends[brought_by] - 1 - np.arange(len(brought_by))
        length = lengths[brought_by]
        top = values[brought_by] >> (6 * to_follow).astype(np.uint64)
        lead_marker = np.where(length == 1, 0, 0xFF << 8 - length & 0xFF).astype(np.uint64)
        is_lead = to_follow == length - 1
        encoded = np.where(is_lead, lead_marker | top, 0x80 | top & np.uint64(0x3F))
        columns = {
            "o.data": encoded.astype(np.uint8),
            "o.error": refused[brought_by].view(np.uint8),
            "o.last": items["i.last"][brought_by] & (to_follow == 0),
        }
        return Outputs(columns, brought_by, np.zeros(len(brought_by), dtype=bool))


def is_refused(values: np.ndarray, profile: Profile) -> np.ndarray:
    """Which values are no characters of a profile."""
    number = values.dtype.type
    refused = values > number(profile.highest)
    if not profile.accept_surrogates:
        refused |= (values >= number(SURROGATES.start)) & (values < number(SURROGATES.stop))
    if not profile.accept_noncharacters:
        refused |= (values == number(NONCHARACTERS[0])) | (values == number(NONCHARACTERS[1]))
    return refused
