"""The golden model of the encoder: code points to bytes."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from utf8_hdl import UNICODE, Profile
from utf8_hdl.profile import REPLACEMENT, checked_profile

from ..trace import Columns
from .decoder import (
    FFFE,
    FFFF,
    FIRST_SURROGATE,
    LAST_SURROGATE,
    NONCHARACTER,
    NONE,
    OUT_OF_RANGE,
    SURROGATE,
    Rules,
    checked_values,
    form_maximum,
)
from .kernels import integers, kernel
from .model import Outputs

LONGEST = 8
"""Length in bytes of the longest sequence."""


@kernel
def kind_of(value, rules):  # type: ignore[no-untyped-def]
    """The error of a value; NONE for a character. Large 64-bit values are negative here."""
    if value < 0 or value > rules.highest:
        return OUT_OF_RANGE
    if FIRST_SURROGATE <= value <= LAST_SURROGATE:
        return NONE if rules.accept_surrogates else SURROGATE
    if FFFE <= value <= FFFF and not rules.accept_noncharacters:
        return NONCHARACTER
    return NONE


@kernel
def shortest_form(value):  # type: ignore[no-untyped-def]
    """Number of bytes in the shortest form of a value."""
    length = 1
    while value > form_maximum(length):
        length += 1
    return length


@kernel
def byte_of(value, length, index):  # type: ignore[no-untyped-def]
    """Byte ``index`` of a value encoded in ``length`` bytes, which may be overlong."""
    if length == 1:
        return value
    bits = value >> 6 * (length - 1 - index) & 0x3F
    if index:
        return 0x80 | bits
    return 0xFF << 8 - length & 0xFF | bits


class Encoded(NamedTuple):
    """Bytes: each array has an element for each byte."""

    data: np.ndarray
    error: np.ndarray
    last: np.ndarray
    brought_by: np.ndarray


@kernel
def encode_values(rules, values, last, encoded):  # type: ignore[no-untyped-def]
    """Fill in the bytes of the values; return the number of bytes."""
    count = 0
    for item in range(len(values)):
        refused = kind_of(values[item], rules) != NONE
        value = REPLACEMENT if refused else values[item]
        length = shortest_form(value)
        for index in range(length):
            encoded.data[count] = byte_of(value, length, index)
            encoded.error[count] = 1 if refused else 0
            encoded.last[count] = last[item] if index == length - 1 else 0
            encoded.brought_by[count] = item
            count += 1
    return count


class EncoderModel:
    """Code points to bytes."""

    def __init__(self, profile: Profile) -> None:
        self._rules = Rules.of(profile)

    def feed(self, items: Columns, begins: np.ndarray) -> Outputs:
        most = len(begins) * LONGEST
        encoded = Encoded(*np.empty((len(Encoded._fields), most), dtype=np.int64))
        given = integers(items["i.code_point"]), integers(items["i.last"])
        count = encode_values.run(len(begins), self._rules, *given, encoded)
        encoded = Encoded(*(column[:count] for column in encoded))
        fields = {"data": encoded.data, "error": encoded.error, "last": encoded.last}
        columns = {f"o.{name}": column.astype(np.uint8) for name, column in fields.items()}
        return Outputs(columns, encoded.brought_by, np.zeros(count, dtype=np.int64))


def encode_as(value: int, length: int | None = None) -> bytes:
    """Encode a value in ``length`` bytes, possibly overlong; by default, in its shortest form."""
    length = length or shortest_form(value)
    return bytes(byte_of(value, length, index) for index in range(length))


def encode(text: Iterable[int], profile: Profile = UNICODE) -> bytes:
    """Encode a whole text with the golden model.

    Parameters
    ----------
    text : iterable of int
        Its code points. A value that the profile does not allow is replaced with U+FFFD.
    profile : Profile
        The UTF-8 profile.

    Returns
    -------
    bytes
        Each character in its shortest form.

    Raises
    ------
    TypeError
        If ``text`` is a str or not an iterable of integers, or ``profile`` is not a profile.
    ValueError
        If a value is below 0.

    Examples
    --------
    >>> from utf8_sim import encode
    >>> encode([0x20AC, 0xD800]).hex(" ")
    'e2 82 ac ef bf bd'
    """
    rules = Rules.of(checked_profile(profile))
    values = checked_values("code point", text)
    characters = (value if kind_of(value, rules) == NONE else REPLACEMENT for value in values)
    return b"".join(map(encode_as, characters))
