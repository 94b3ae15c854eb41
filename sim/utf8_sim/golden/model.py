"""The golden model: what the hardware must say, and in which cycle it must say it.

Two layers, to be read with the Unicode Standard at hand and without the gateware.
:class:`TextModel` turns bytes into tokens and :func:`encode_character` code points into bytes;
:class:`DecoderCycles` and :class:`EncoderCycles` predict every output pin in every cycle. They
know nothing of how the gateware works: where that recognises bit patterns and steps through states,
this asks which values a sequence can still reach.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from utf8_hdl import UNICODE, ErrorSpan, Kind, Profile
from utf8_hdl.profile import NONCHARACTERS, REPLACEMENT, SURROGATES


class Token(NamedTuple):
    """One character or one error, and how many bytes it covers."""

    code_point: int
    kind: Kind
    length: int
    last: bool

    @property
    def error(self) -> bool:
        return self.kind is not Kind.NONE


def form(lead: int) -> int:
    """How many bytes the sequence has that begins with ``lead``; 1 for a continuation byte."""
    leading_ones = 8 - (~lead & 0xFF).bit_length()
    return max(1, leading_ones)


def form_maximum(length: int) -> int:
    """The highest value that fits into ``length`` bytes."""
    lead_bits = 7 if length == 1 else max(0, 7 - length)
    return (1 << lead_bits + 6 * (length - 1)) - 1


def reachable(sequence: bytes) -> tuple[int, int]:
    """Lowest and highest value of the sequences of the lead byte's form that begin like this."""
    length = form(sequence[0])
    value = sequence[0] & (0x7F if length == 1 else 0x7F >> length)
    for byte in sequence[1:]:
        value = value << 6 | byte & 0x3F
    missing_bits = 6 * (length - len(sequence))
    return value << missing_bits, ((value + 1) << missing_bits) - 1


def is_continuation(byte: int) -> bool:
    return 0x80 <= byte <= 0xBF


def fault(sequence: bytes, profile: Profile) -> Kind:
    """Why a lead byte and the continuation bytes after it begin no character; NONE if they do.

    A sequence is at fault as soon as no value that it can still reach is allowed.
    """
    if is_continuation(sequence[0]):
        return Kind.UNEXPECTED_CONTINUATION
    length = form(sequence[0])
    lowest, highest = reachable(sequence)
    if length > profile.longest_form:
        return Kind.INVALID_BYTE if sequence[0] >= 0xFE else Kind.OUT_OF_RANGE
    if length > 1 and highest <= form_maximum(length - 1):
        return Kind.OVERLONG
    if not profile.accept_surrogates and SURROGATES[0] <= lowest and highest <= SURROGATES[-1]:
        return Kind.SURROGATE
    if lowest > profile.highest:
        return Kind.OUT_OF_RANGE
    if not profile.accept_noncharacters and lowest == highest and lowest in NONCHARACTERS:
        return Kind.NONCHARACTER
    return Kind.NONE


class TextModel:
    """Bytes to tokens, one byte at a time.

    Parameters
    ----------
    profile : Profile
        Which UTF-8 is spoken.

    Attributes
    ----------
    pending : bytes
        The bytes that no token covers yet.
    """

    def __init__(self, profile: Profile = UNICODE) -> None:
        self.profile = profile
        self.pending = b""
        self._fault = Kind.NONE  # the first thing wrong with the pending bytes

    def feed(self, byte: int, last: bool = False) -> list[Token]:
        """The tokens that end with or before ``byte``: none, one or two.

        Parameters
        ----------
        byte : int
            The next byte of the text.
        last : bool
            Whether it is the text's last. The byte after it begins a new text.
        """
        tokens = []
        if self.pending:
            obstacle = self._obstacle(byte)
            if obstacle is not Kind.NONE:
                tokens.append(self._token(obstacle))
        self.pending += bytes([byte])
        if self._fault is Kind.NONE:
            self._fault = fault(self.pending, self.profile)
        if len(self.pending) == self._span():
            tokens.append(self._token(self._fault, last))
        elif last:
            tokens.append(self._token(self._cut_short(), last))
        return tokens

    def _obstacle(self, byte: int) -> Kind:
        """The error that the pending bytes are if ``byte`` does not join them, else NONE."""
        if not is_continuation(byte):
            return self._cut_short()
        if self.profile.error_span is ErrorSpan.WHOLE_SEQUENCE:
            return Kind.NONE
        found = fault(self.pending + bytes([byte]), self.profile)
        return found if found is not Kind.NONCHARACTER else Kind.NONE

    def _cut_short(self) -> Kind:
        """The error that the pending bytes are if nothing more joins them."""
        return Kind.TRUNCATED if self._fault is Kind.NONE else self._fault

    def _span(self) -> int:
        """How many bytes the token gets that the pending bytes begin, if all are there."""
        length = form(self.pending[0])
        if length > self.profile.longest_form:
            return 1
        if self._fault is Kind.NONE or self.profile.error_span is ErrorSpan.WHOLE_SEQUENCE:
            return length
        return len(self.pending)

    def _token(self, kind: Kind, last: bool = False) -> Token:
        value = reachable(self.pending)[0] if kind is Kind.NONE else REPLACEMENT
        token = Token(value, kind, len(self.pending), last)
        self.pending, self._fault = b"", Kind.NONE
        return token


def decode(text: Iterable[int], profile: Profile = UNICODE) -> list[Token]:
    """The tokens of a whole text.

    Parameters
    ----------
    text : iterable of int
        Its bytes. An empty text has no tokens.
    profile : Profile
        Which UTF-8 is spoken.
    """
    data = bytes(text)
    model = TextModel(profile)
    return [
        token
        for index, byte in enumerate(data)
        for token in model.feed(byte, index == len(data) - 1)
    ]


def encode(value: int, length: int | None = None) -> bytes:
    """A value in the form of ``length`` bytes, overlong if asked; without, in its shortest form."""
    if length is None:
        length = next(n for n in range(1, 9) if value <= form_maximum(n))
    if length == 1:
        return bytes([value])
    lead = (0xFF << 8 - length) & 0xFF
    top, *rest = (value >> 6 * n & 0x3F for n in range(length - 1, -1, -1))
    return bytes([lead | top] + [0x80 | bits for bits in rest])


def encode_character(value: int, profile: Profile = UNICODE) -> tuple[bytes, bool]:
    """The bytes an encoder gives for a value, and whether they stand for U+FFFD in its place."""
    refused = (
        value > profile.highest
        or (not profile.accept_surrogates and value in SURROGATES)
        or (not profile.accept_noncharacters and value in NONCHARACTERS)
    )
    return encode(REPLACEMENT if refused else value), refused


Payload = tuple[int, ...]
"""Fields of an output's payload, in the order of its layout."""


class CycleModel(Protocol):
    """Every output pin in every cycle, given the pins driven."""

    def cycle(self, i_valid: int, value: int, last: int, o_ready: int) -> Payload:
        """The output pins in this cycle; then the clock ticks.

        Parameters
        ----------
        i_valid, value, last, o_ready : int
            The pins driven in this cycle.

        Returns
        -------
        tuple of int
            ``i.ready``, ``o.valid``, and the fields of the output's payload, which mean nothing
            and are zero while ``o.valid`` is.
        """
        ...


RUNS_TO_THE_OUTPUT = 7
"""In so many cycles a byte's token passes through the decoder, if no output waits in them."""


class DecoderCycles:
    """The decoder, cycle by cycle: code point, error, kind, length and last of its tokens.

    The promise it spells out: the decoder runs in every cycle but the first, and those after a
    cycle in which an output waited. A byte accepted while it runs sets out at once. One accepted
    while it does not waits in an extra place, and so does the next one, behind it, until none is
    accepted in a cycle. A byte is accepted if the output is ready, or if the decoder runs and the
    extra place is free. A token can be taken after 7 runs since its last byte set out, or if it is
    cut short 6 since the byte that cuts it did.

    Parameters
    ----------
    profile : Profile
        Which UTF-8 is spoken.
    pending : bytes
        The bytes accepted that no token covers yet. Without this and the following, as after reset.
    coming : iterable of (int, Payload)
        Tokens on their way, and in how many runs from now they can be taken.
    waiting : iterable of Payload
        Those that can be taken, the one on offer first.
    runs, extra : bool
        Whether it runs in this cycle, and whether the extra place is taken.
    """

    def __init__(
        self,
        profile: Profile = UNICODE,
        pending: bytes = b"",
        coming: Iterable[tuple[int, Payload]] = (),
        waiting: Iterable[Payload] = (),
        runs: bool = False,
        extra: bool = False,
    ) -> None:
        self._text = TextModel(profile)
        for byte in pending:
            self._text.feed(byte)
        self._coming = deque(coming)
        self._waiting = deque(waiting)
        self._runs = runs
        self._extra = extra
        self._runs_so_far = 0

    def cycle(self, i_valid: int, value: int, last: int, o_ready: int) -> Payload:
        o_valid = bool(self._waiting)
        i_ready = bool(o_ready) or (self._runs and not self._extra)
        payload = self._waiting[0] if o_valid else (0,) * 5
        if i_valid and i_ready:
            sets_out = self._runs_so_far + (self._runs and self._extra)
            self._coming.extend(self._tokens(value, bool(last), sets_out))
            self._extra = self._extra or not self._runs
        else:
            self._extra = False
        if o_valid and o_ready:
            self._waiting.popleft()
        if self._runs:
            self._runs_so_far += 1
            while self._coming and self._coming[0][0] == self._runs_so_far:
                self._waiting.append(self._coming.popleft()[1])
        self._runs = not (o_valid and not o_ready)
        return int(i_ready), int(o_valid), *payload

    def _tokens(self, byte: int, last: bool, sets_out: int) -> Iterator[tuple[int, Payload]]:
        """The tokens that a byte brings about, and after how many runs they can be taken."""
        tokens = self._text.feed(byte, last)
        for token in tokens:
            of_the_byte = token is tokens[-1] and not self._text.pending
            arrives = sets_out + RUNS_TO_THE_OUTPUT - (not of_the_byte)
            kind, length = token.kind.value, token.length
            payload = token.code_point, int(token.error), kind, length, int(token.last)
            yield arrives, payload


class EncoderCycles:
    """The encoder, cycle by cycle: data, error and last of its bytes.

    The promise it spells out: a byte can be taken from the cycle after its code point was accepted,
    in order, one a cycle. A code point is accepted in every cycle in which no byte is on offer, or
    the only one left is taken.

    Parameters
    ----------
    profile : Profile
        Which UTF-8 is spoken.
    waiting : iterable of Payload
        The bytes that wait, the one on offer first; none after reset.
    """

    def __init__(self, profile: Profile = UNICODE, waiting: Iterable[Payload] = ()) -> None:
        self._profile = profile
        self._waiting = deque(waiting)

    def cycle(self, i_valid: int, value: int, last: int, o_ready: int) -> Payload:
        o_valid = bool(self._waiting)
        i_ready = not o_valid or bool(o_ready and len(self._waiting) == 1)
        payload = self._waiting[0] if o_valid else (0,) * 3
        if o_valid and o_ready:
            self._waiting.popleft()
        if i_valid and i_ready:
            data, refused = encode_character(value, self._profile)
            for index, byte in enumerate(data):
                is_last = last and index == len(data) - 1
                self._waiting.append((byte, int(refused), int(is_last)))
        return int(i_ready), int(o_valid), *payload
