"""The golden model's rules: what comes out for what goes in, with no clock in it.

To be read with the Unicode Standard at hand and without the gateware. Where that recognises bit
patterns and steps through states, this asks which values a sequence can still reach. *When* an
output is at the pins is for :mod:`utf8_sim.golden.timing` to say.
"""

from collections.abc import Iterable
from reprlib import repr as shortened
from typing import Any, NamedTuple, Protocol

from utf8_hdl import UNICODE, ErrorSpan, Kind, Profile
from utf8_hdl.checks import checked_integer
from utf8_hdl.profile import NONCHARACTERS, REPLACEMENT, SURROGATES, checked_profile


class Output(NamedTuple):
    """What an input brings about: the fields of an output's payload, in the order of its layout.

    It is ``cut`` if it ends before the input, which only reveals it.
    """

    payload: tuple[Any, ...]
    cut: bool = False


class Transducer(Protocol):
    """Inputs to outputs, without clocks; an input's fields are those of its payload."""

    def feed(self, *item: Any) -> list[Output]: ...


class Token(NamedTuple):
    """One character or one error, and how many bytes it covers.

    Parameters
    ----------
    code_point : int
        The value; U+FFFD in an error.
    kind : Kind
        Why it is an error, or ``Kind.NONE``.
    length : int
        How many bytes it covers.
    last : bool
        Whether it covers the last byte of the text.

    Examples
    --------
    >>> from utf8_sim import decode
    >>> token = decode(b"\\xff")[0]
    >>> token.error, token.kind.label
    (True, 'invalid-byte')
    """

    code_point: int
    kind: Kind
    length: int
    last: bool

    @property
    def error(self) -> bool:
        return self.kind is not Kind.NONE


def form(lead: int) -> int:
    """How many bytes the sequence has that begins with ``lead``; 1 for a continuation byte."""
    return max(1, 8 - (~lead & 0xFF).bit_length())


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
    """Bytes to tokens, one byte at a time. No token covers the ``pending`` bytes yet."""

    def __init__(self, profile: Profile = UNICODE) -> None:
        self.profile = profile
        self.pending = b""
        self._fault = Kind.NONE  # the first thing wrong with the pending bytes

    def feed(self, byte: int, last: bool = False) -> list[Token]:
        """The tokens that end with or before ``byte``: none, one or two.

        The byte after the ``last`` one of a text begins a new text.
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


def checked_values(what: str, text: Any, most: int | None = None) -> list[int]:
    """The values of a text, each an integer of Python or numpy from 0 on."""
    # An array of numpy without an axis is a number, although it has a method to iterate.
    if isinstance(text, str) or not isinstance(text, Iterable) or getattr(text, "ndim", 1) == 0:
        raise TypeError(f"a text must be {what}s, not {shortened(text)}")
    if isinstance(text, bytes | bytearray):
        return list(text)
    return [checked_integer(f"a {what} of a text", value, 0, most) for value in text]


def decode(text: Iterable[int], profile: Profile = UNICODE) -> list[Token]:
    """The tokens of a whole text, by the golden model.

    Parameters
    ----------
    text : iterable of int
        Its bytes. An empty text has no tokens.
    profile : Profile
        Which UTF-8 is spoken.

    Returns
    -------
    list of Token
        They cover every byte once, in order.

    Raises
    ------
    TypeError
        If it has no bytes in it.
    ValueError
        If one of them is not 0 to 255.

    Examples
    --------
    >>> from utf8_sim import decode
    >>> [(hex(token.code_point), token.length) for token in decode("a€".encode())]
    [('0x61', 1), ('0x20ac', 3)]
    """
    data = bytes(checked_values("byte", text, 255))
    model = TextModel(checked_profile(profile))
    return [
        token
        for index, byte in enumerate(data)
        for token in model.feed(byte, index == len(data) - 1)
    ]


class DecoderTransducer:
    """Bytes to tokens; a :class:`Transducer`."""

    def __init__(self, profile: Profile) -> None:
        self._text = TextModel(profile)

    def feed(self, *item: Any) -> list[Output]:
        byte, last = item
        tokens = self._text.feed(byte, bool(last))
        return [
            Output(
                (token.code_point, token.error, token.kind.value, token.length, token.last),
                cut=token is not tokens[-1] or bool(self._text.pending),
            )
            for token in tokens
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


def is_refused(value: int, profile: Profile) -> bool:
    """Whether a value is no character of a profile."""
    return (
        value > profile.highest
        or (not profile.accept_surrogates and value in SURROGATES)
        or (not profile.accept_noncharacters and value in NONCHARACTERS)
    )


def encode_character(value: int, profile: Profile = UNICODE) -> tuple[bytes, bool]:
    """The bytes an encoder gives for a value, and whether they are those of U+FFFD."""
    refused = is_refused(value, profile)
    return encode(REPLACEMENT if refused else value), refused


class EncoderTransducer:
    """Code points to bytes; a :class:`Transducer`."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def feed(self, *item: Any) -> list[Output]:
        value, last = item
        encoded, refused = encode_character(value, self._profile)
        return [
            Output((byte, refused, last if left == 0 else 0))
            for left, byte in zip(range(len(encoded) - 1, -1, -1), encoded, strict=True)
        ]
