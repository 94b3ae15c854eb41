"""The golden model of decoders: bytes to tokens, one byte at a time, and beats to slots of tokens.

Compare it with the Unicode Standard, not with the gateware. The gateware recognises bit patterns
with a state machine. This model computes the range of values that a sequence can still have.
:mod:`utf8_sim.golden.timing` computes the cycle in which an output is valid.
"""

from collections.abc import Iterable
from reprlib import repr as shortened
from typing import Any, NamedTuple

import numpy as np

from utf8_hdl import UNICODE, ErrorKind, ErrorSpan, Profile
from utf8_hdl.checks import checked_integer
from utf8_hdl.profile import NONCHARACTERS, REPLACEMENT, SURROGATES, checked_profile

from ..trace import Columns
from .kernels import integers, kernel
from .model import Outputs, feed_all, one_for_one

NONE = int(ErrorKind.NONE.value)
UNEXPECTED_CONTINUATION = int(ErrorKind.UNEXPECTED_CONTINUATION.value)
INVALID_BYTE = int(ErrorKind.INVALID_BYTE.value)
OVERLONG = int(ErrorKind.OVERLONG.value)
SURROGATE = int(ErrorKind.SURROGATE.value)
OUT_OF_RANGE = int(ErrorKind.OUT_OF_RANGE.value)
TRUNCATED = int(ErrorKind.TRUNCATED.value)
NONCHARACTER = int(ErrorKind.NONCHARACTER.value)

FIRST_SURROGATE, LAST_SURROGATE = SURROGATES[0], SURROGATES[-1]
FFFE, FFFF = NONCHARACTERS


class Rules(NamedTuple):
    """The rules of a profile as numbers."""

    longest_form: int
    highest: int
    accept_surrogates: int
    accept_noncharacters: int
    whole_sequence: int

    @classmethod
    def of(cls, profile: Profile) -> "Rules":
        return cls(
            profile.longest_form,
            profile.highest,
            int(profile.accept_surrogates),
            int(profile.accept_noncharacters),
            int(profile.error_span is ErrorSpan.WHOLE_SEQUENCE),
        )


@kernel
def is_continuation(byte):  # type: ignore[no-untyped-def]
    """True if a byte is 80..BF."""
    return 0x80 <= byte <= 0xBF


@kernel
def sequence_length(lead):  # type: ignore[no-untyped-def]
    """Length of the sequence that begins with ``lead``; 1 for a continuation byte."""
    if lead < 0xC0:
        return 1
    length = 2
    while length < 8 and lead & 0x80 >> length:
        length += 1
    return length


@kernel
def first_bits(lead):  # type: ignore[no-untyped-def]
    """The payload bits in the first byte of a sequence."""
    return lead & (0x7F if lead < 0xC0 else 0x7F >> sequence_length(lead))


@kernel
def form_maximum(length):  # type: ignore[no-untyped-def]
    """The highest value that fits into ``length`` bytes."""
    lead_bits = 7 if length == 1 else max(0, 7 - length)
    return (1 << lead_bits + 6 * (length - 1)) - 1


@kernel
def fault(lead, length, value, rules):  # type: ignore[no-untyped-def]
    """The error of a lead byte and the continuation bytes after it; NONE if they begin a character.

    Together they are ``length`` bytes, and their payload bits are ``value``. A sequence is an error
    as soon as no continuation can give it an allowed value.
    """
    if is_continuation(lead):
        return UNEXPECTED_CONTINUATION
    whole = sequence_length(lead)
    if whole > rules.longest_form:
        return INVALID_BYTE if lead >= 0xFE else OUT_OF_RANGE
    missing_bits = 6 * (whole - length)
    lowest, highest = value << missing_bits, (value + 1 << missing_bits) - 1
    if whole > 1 and highest <= form_maximum(whole - 1):
        return OVERLONG
    if not rules.accept_surrogates and lowest >= FIRST_SURROGATE and highest <= LAST_SURROGATE:
        return SURROGATE
    if lowest > rules.highest:
        return OUT_OF_RANGE
    if not rules.accept_noncharacters and lowest == highest and FFFE <= lowest <= FFFF:
        return NONCHARACTER
    return NONE


STATE_SIZE = 4
LEAD, PENDING, VALUE, FAULT = range(STATE_SIZE)
"""Indices of the state: the first pending byte, the number of pending bytes, their payload bits,
and their first error. Pending bytes are not yet covered by a token."""

TOKEN_SIZE = 3
CODE_POINT, KIND, LENGTH = range(TOKEN_SIZE)
"""Fields of a token."""

CUT, OWN = 0, TOKEN_SIZE
"""Offsets of the token that ends before a byte, and of the token that ends with it."""

TWO_TOKENS = 2 * TOKEN_SIZE


@kernel
def decode_byte(state, byte, last, rules, tokens):  # type: ignore[no-untyped-def]
    """Fill in the tokens that end before ``byte`` and with it; length 0 means no token.

    The byte after a byte with ``last`` begins a new text.
    """
    tokens[CUT + LENGTH] = tokens[OWN + LENGTH] = 0
    if state[PENDING]:
        obstacle = _obstacle(state, byte, rules)
        if obstacle != NONE:
            _end_token(state, obstacle, tokens, CUT)

    if state[PENDING]:
        state[VALUE] = state[VALUE] << 6 | byte & 0x3F
    else:
        state[LEAD], state[FAULT] = byte, NONE
        state[VALUE] = first_bits(byte)
    state[PENDING] += 1
    if state[FAULT] == NONE:
        state[FAULT] = fault(state[LEAD], state[PENDING], state[VALUE], rules)

    if state[PENDING] == _span(state, rules):
        _end_token(state, state[FAULT], tokens, OWN)
    elif last:
        _end_token(state, _cut_short(state), tokens, OWN)


@kernel
def decode_lane(state, byte, kept, rules, tokens):  # type: ignore[no-untyped-def]
    """Decode a lane of a beat; ``byte`` is 00 if the lane is not ``kept``.

    A lane without ``keep`` has no byte. Like the end of a text, it ends the sequence before it. The
    byte 00 has the same effect; its own token is removed.
    """
    decode_byte(state, byte, 0, rules, tokens)
    if not kept:
        tokens[OWN + LENGTH] = 0


@kernel
def _obstacle(state, byte, rules):  # type: ignore[no-untyped-def]
    """The error of the pending bytes if ``byte`` does not continue their token, else NONE."""
    if not is_continuation(byte):
        return _cut_short(state)
    if rules.whole_sequence:
        return NONE
    value = state[VALUE] << 6 | byte & 0x3F
    found = fault(state[LEAD], state[PENDING] + 1, value, rules)
    return NONE if found == NONCHARACTER else found


@kernel
def _cut_short(state):  # type: ignore[no-untyped-def]
    """The error of the pending bytes if no byte continues their token."""
    return TRUNCATED if state[FAULT] == NONE else state[FAULT]


@kernel
def _span(state, rules):  # type: ignore[no-untyped-def]
    """Length of the token that the pending bytes begin, if it is not truncated."""
    whole = sequence_length(state[LEAD])
    if whole > rules.longest_form:
        return 1
    if state[FAULT] == NONE or rules.whole_sequence:
        return whole
    return state[PENDING]


@kernel
def _end_token(state, kind, tokens, at):  # type: ignore[no-untyped-def]
    tokens[at + CODE_POINT] = state[VALUE] if kind == NONE else REPLACEMENT
    tokens[at + KIND] = kind
    tokens[at + LENGTH] = state[PENDING]
    state[PENDING] = 0


class Tokens(NamedTuple):
    """Tokens: each array has an element for each token."""

    code_point: np.ndarray
    kind: np.ndarray
    length: np.ndarray
    last: np.ndarray
    brought_by: np.ndarray
    cut: np.ndarray


@kernel
def decode_bytes(rules, state, two, begins, data, last, tokens):  # type: ignore[no-untyped-def]
    """Fill in the tokens of the bytes; return the number of tokens."""
    count = 0
    for item in range(len(data)):
        if begins[item]:
            state[PENDING] = 0
        decode_byte(state, data[item], last[item], rules, two)
        for at in (CUT, OWN):
            if two[at + LENGTH]:
                tokens.code_point[count] = two[at + CODE_POINT]
                tokens.kind[count] = two[at + KIND]
                tokens.length[count] = two[at + LENGTH]
                tokens.last[count] = 1 if at == OWN and last[item] else 0
                tokens.brought_by[count] = item
                tokens.cut[count] = 1 if at == CUT else 0
                count += 1
    return count


class Reader:
    """Base class of the models that read UTF-8."""

    def __init__(self, profile: Profile) -> None:
        self._rules = Rules.of(profile)
        self._code_points = np.uint32 if profile.code_point_width <= 32 else np.uint64
        self._state = np.zeros(STATE_SIZE, dtype=np.int64)
        self._two = np.zeros(TWO_TOKENS, dtype=np.int64)


class DecoderModel(Reader):
    """Bytes to tokens."""

    @property
    def pending(self) -> int:
        """Number of bytes that no token covers yet."""
        return int(self._state[PENDING])

    def feed(self, items: Columns, begins: np.ndarray) -> Outputs:
        size = len(begins)
        tokens = Tokens(*np.empty((len(Tokens._fields), size + self.pending), dtype=np.int64))
        given = integers(begins), integers(items["i.data"]), integers(items["i.last"])
        count = decode_bytes.run(size, self._rules, self._state, self._two, *given, tokens)
        tokens = Tokens(*(column[:count] for column in tokens))
        columns = {
            "o.code_point": tokens.code_point.astype(self._code_points),
            "o.error": (tokens.kind != NONE).astype(np.uint8),
            "o.kind": tokens.kind.astype(np.uint8),
            "o.length": tokens.length.astype(np.uint8),
            "o.last": tokens.last.astype(np.uint8),
        }
        return Outputs(columns, tokens.brought_by, tokens.cut)


@kernel
def decode_beats(rules, state, two, lanes, begins, data, keep, last, slots):  # type: ignore[no-untyped-def]
    """Fill in the slots of the beats, a row of `TOKEN_SIZE` for each slot.

    The last lane of a text is followed by an extra lane without ``keep``. A token belongs to the
    beat with the lane that completes it: the lane of its last byte, or the next lane if the token
    is cut. Its *slot* is the number of the lane with its last byte, counted from 1; it is 0 if that
    byte was in the previous beat.
    """
    for beat in range(len(last)):
        if begins[beat]:
            state[PENDING] = 0
        for lane in range(lanes + last[beat]):
            at = beat * lanes + lane
            kept = lane < lanes and keep[at]
            decode_lane(state, data[at] if kept else 0, kept, rules, two)
            for slot, token in ((lane, CUT), (lane + 1, OWN)):
                if two[token + LENGTH]:
                    for field in range(TOKEN_SIZE):
                        row = beat * (lanes + 1) + slot
                        slots[row * TOKEN_SIZE + field] = two[token + field]


class WideDecoderModel(Reader):
    """Beats to slots of tokens."""

    def __init__(self, profile: Profile, lanes: int) -> None:
        super().__init__(profile)
        self._lanes = lanes

    def feed(self, items: Columns, begins: np.ndarray) -> Outputs:
        beats, lanes = len(begins), self._lanes
        slots = np.zeros(beats * (lanes + 1) * TOKEN_SIZE, dtype=np.int64)
        given = [integers(items[name]) for name in ("i.data", "i.keep", "i.last")]
        decode_beats.run(
            beats * lanes,
            *(self._rules, self._state, self._two, lanes, integers(begins)),
            *(*given, slots),
        )
        code_point, kind, length = np.moveaxis(slots.reshape(beats, lanes + 1, TOKEN_SIZE), 2, 0)
        columns = {
            "o.code_point": code_point.astype(self._code_points),
            "o.error": (kind != NONE).astype(np.uint8),
            "o.kind": kind.astype(np.uint8),
            "o.length": length.astype(np.uint8),
            "o.last": items["i.last"],
        }
        return one_for_one(columns)


class Token(NamedTuple):
    """A character or an error, and the number of bytes it covers.

    Parameters
    ----------
    code_point : int
        The value; U+FFFD in an error.
    kind : ErrorKind
        The kind of error, or ``ErrorKind.NONE``.
    length : int
        Number of bytes it covers.
    last : bool
        True if it covers the last byte of the text.

    Examples
    --------
    >>> from utf8_sim import decode
    >>> token = decode(b"\\xff")[0]
    >>> token.error, token.kind.label
    (True, 'invalid-byte')
    """

    code_point: int
    kind: ErrorKind
    length: int
    last: bool

    @property
    def error(self) -> bool:
        return self.kind is not ErrorKind.NONE


def checked_values(what: str, text: Any, most: int | None = None) -> list[int]:
    """Check that the values of a text are non-negative integers (Python or numpy); return them."""
    # A numpy array without an axis is a number, although it has `__iter__`.
    if isinstance(text, str) or not isinstance(text, Iterable) or getattr(text, "ndim", 1) == 0:
        raise TypeError(f"a text must be {what}s, not {shortened(text)}")
    if isinstance(text, bytes | bytearray):
        return list(text)
    return [checked_integer(f"a {what} of a text", value, 0, most) for value in text]


def decode(text: Iterable[int], profile: Profile = UNICODE) -> list[Token]:
    """Decode a whole text with the golden model.

    Parameters
    ----------
    text : iterable of int
        Its bytes. An empty text has no tokens.
    profile : Profile
        The UTF-8 profile.

    Returns
    -------
    list of Token
        They cover every byte once, in order.

    Raises
    ------
    TypeError
        If ``text`` is a str or not an iterable of integers, or ``profile`` is not a profile.
    ValueError
        If a value is not 0 to 255.

    Examples
    --------
    >>> from utf8_sim import decode
    >>> [(hex(token.code_point), token.length) for token in decode("a€".encode())]
    [('0x61', 1), ('0x20ac', 3)]
    """
    data = bytes(checked_values("byte", text, 255))
    model = DecoderModel(checked_profile(profile))
    columns = _fed(model, data, is_whole=True)
    names = "o.code_point", "o.kind", "o.length", "o.last"
    fields = zip(*(columns[name].tolist() for name in names), strict=True)
    return [
        Token(value, ErrorKind(kind), length, bool(last)) for value, kind, length, last in fields
    ]


def pending(text: bytes, profile: Profile) -> bytes:
    """The bytes at the end of an unfinished text that no token covers yet."""
    model = DecoderModel(profile)
    _fed(model, text, is_whole=False)
    return text[len(text) - model.pending :]


def _fed(model: DecoderModel, data: bytes, is_whole: bool) -> Columns:
    last = np.zeros(len(data), dtype=np.uint8)
    last[-1:] = is_whole
    items = {"i.data": np.frombuffer(data, dtype=np.uint8), "i.last": last}
    return feed_all(model, items)


def fault_of(sequence: bytes, profile: Profile) -> ErrorKind:
    """The error of a lead byte and its continuation bytes; NONE if they begin a character."""
    lead = sequence[0]
    value = first_bits(lead)
    for byte in sequence[1:]:
        value = value << 6 | byte & 0x3F
    return ErrorKind(fault(lead, len(sequence), value, Rules.of(profile)))
