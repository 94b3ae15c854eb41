"""Payload layouts of the streams: bytes, beats, tokens, code points; and the error codes."""

from typing import Any

from amaranth.hdl import Shape, ShapeLike, Value
from amaranth.lib import data, enum
from amaranth.utils import bits_for

from .checks import checked_integer
from .profile import Profile


class ErrorKind(enum.Enum, shape=3):
    """Reason for an error. External test benches and software rely on the codes."""

    #: A character.
    NONE = 0
    #: A byte 80..BF where a character must begin.
    UNEXPECTED_CONTINUATION = 1
    #: FE or FF in a profile without the forms of seven and eight bytes.
    INVALID_BYTE = 2
    #: Not the shortest form.
    OVERLONG = 3
    #: A code point D800..DFFF where surrogates are rejected.
    SURROGATE = 4
    #: Above the profile's highest value.
    OUT_OF_RANGE = 5
    #: A valid prefix cut by a byte that cannot continue it, or by the end of the text.
    TRUNCATED = 6
    #: A well-formed U+FFFE or U+FFFF where these are rejected.
    NONCHARACTER = 7

    @property
    def label(self) -> str:
        """The name on the command line and in documents, such as ``unexpected-continuation``."""
        return self.name.lower().replace("_", "-")


BYTE_LAYOUT = data.StructLayout({"data": 8, "last": 1})
"""A byte of text. ``last`` marks the last byte of a text; the next byte begins a new one."""


def token_layout(profile: Profile) -> data.StructLayout:
    """Layout of a decoder's output: one character or one error.

    Tokens are in order and cover every byte of the input exactly once.

    Parameters
    ----------
    profile : Profile
        Determines the widths.

    Returns
    -------
    data.StructLayout
        ``code_point`` (21 bits in ``unicode``) is the value, U+FFFD in an error; ``error`` (1) is
        set in an error; ``kind`` (:class:`ErrorKind`, 3) is its kind; ``length`` (3 in
        ``unicode``) counts the bytes covered; ``last`` (1) is set if they include the last byte of
        the text.
    """
    return data.StructLayout(
        {
            "code_point": profile.code_point_width,
            "error": 1,
            "kind": ErrorKind,
            "length": bits_for(profile.longest_form),
            "last": 1,
        }
    )


def code_point_layout(profile: Profile) -> data.StructLayout:
    """Layout of an encoder's input.

    Parameters
    ----------
    profile : Profile
        Determines the width.

    Returns
    -------
    data.StructLayout
        ``code_point`` is as wide as in UTF-32 (32 bits, or 64 where the profile needs them), so
        that a value that is too high can be refused; ``last`` (1) marks the last code point of a
        text.
    """
    return data.StructLayout({"code_point": profile.utf32_width, "last": 1})


ENCODED_LAYOUT = data.StructLayout({"data": 8, "last": 1, "user": data.StructLayout({"error": 1})})
"""A byte of an encoder's output. ``user.error`` is set in the bytes of the U+FFFD that replaces a
refused code point."""

OFFSET_WIDTH = 32
"""Default and maximum width of an offset in a text."""

MIN_OFFSET_WIDTH = 4
"""Minimum width of an offset, for up to eight lanes.

A validator counts in units of eight bytes, or of a beat if that has more: at least one bit of the
offset is that count.
"""


def beat_layout(lanes: int, shape: Any = 8, user: Any = 0) -> data.StructLayout:
    """Layout of a beat: several values of a text in one cycle, bytes by default.

    Parameters
    ----------
    lanes : int
        Maximum number of values in a beat.
    shape : ShapeLike
        Shape of a value.
    user : ShapeLike
        Shape of the sideband field ``user``; with 0 bits there is no such field.

    Returns
    -------
    data.StructLayout
        ``data`` is an array of values, the first of them in lane 0. ``keep`` is an array of bits:
        a lane has a value if its bit is set. ``last`` (1) marks the last beat of a text. Components
        require ``keep`` to be all ones. With ``last`` it may have zeros above its ones, and may be
        zero. A compactor accepts any ``keep``. The producer defines the meaning of ``user``.

    Raises
    ------
    TypeError
        If ``shape`` or ``user`` is not a shape.
    ValueError
        If values have no bits, or ``user`` is negative.
    """
    fields: dict[str, Any] = {
        "data": data.ArrayLayout(_checked_shape("shape", shape, 1), lanes),
        "keep": data.ArrayLayout(1, lanes),
        "last": 1,
    }
    user = _checked_shape("user", user, 0)
    return data.StructLayout(fields | ({"user": user} if Shape.cast(user).width else {}))


def elements(payload: Any, field: str) -> list[Value]:
    """The elements of an array in a payload, as slices of the payload itself.

    Amaranth copies a slice of a slice bit by bit whenever it is used. With many lanes, most of the
    elaboration time would be spent on that.
    """
    array, bits = payload.shape()[field], Value.cast(payload)
    width = Shape.cast(array.shape.elem_shape).width
    begins = (array.offset + width * number for number in range(array.shape.length))
    return [bits[begin : begin + width] for begin in begins]


def _checked_shape(name: str, shape: Any, least: int) -> Any:
    """Return a shape if it has at least some bits. A number of bits is a shape, too."""
    if isinstance(shape, int) or not isinstance(shape, ShapeLike):
        return checked_integer(name, shape, least)
    checked_integer(f"the width of {name}", Shape.cast(shape).width, least)
    return shape


def slots_layout(profile: Profile, lanes: int) -> data.StructLayout:
    """Layout of the output of a decoder with lanes: the token slots of a beat.

    Parameters
    ----------
    profile : Profile
        Determines the widths.
    lanes : int
        Bytes of an input beat.

    Returns
    -------
    data.StructLayout
        ``slots`` is an array of ``lanes + 1`` structures with the fields of a token except
        ``last``. Slot k has the token whose last byte is in lane k - 1. Slot 0 has the sequence
        that the previous beat left unfinished, if this beat cuts it. A slot without a token has
        ``length`` 0. ``last`` (1) is that of the beat.
    """
    fields = dict(token_layout(profile).members)
    del fields["last"]
    slot = data.StructLayout(fields)
    return data.StructLayout({"slots": data.ArrayLayout(slot, lanes + 1), "last": 1})


TEXT_STATUS = data.StructLayout({"error": 1})
"""``user`` of a transcoder's output. ``error`` is set with ``last`` if the text had an error."""


def report_layout(width: int = OFFSET_WIDTH) -> data.StructLayout:
    """Layout of ``user`` in the output of a transcoder that reports errors.

    Parameters
    ----------
    width : int
        Bits of ``offset`` and of ``count``.

    Returns
    -------
    data.StructLayout
        All zero except with ``last``: ``error`` (1), the text had an error; ``kind``
        (:class:`ErrorKind`, 3) of its first error; ``offset``, the number of bytes of the text
        before that error; ``count``, the number of errors. Offset and count saturate at all ones.

    Raises
    ------
    TypeError
        If ``width`` is not an integer.
    ValueError
        If it is out of range.
    """
    width = checked_integer("width", width, MIN_OFFSET_WIDTH, OFFSET_WIDTH)
    return data.StructLayout({"error": 1, "kind": ErrorKind, "offset": width, "count": width})


def verdict_layout(lanes: int, offset_width: int = OFFSET_WIDTH) -> data.StructLayout:
    """Layout of ``user`` in a validator's output: the verdict on a text.

    Parameters
    ----------
    lanes : int
        Bytes in a beat.
    offset_width : int
        Width of ``offset``: 4 to 32 for up to 8 lanes; at least 5 for 16, 6 for 32, and so on.

    Returns
    -------
    data.StructLayout
        All zero except with ``last``: ``error`` (1), the text is not well-formed; ``kind``
        (:class:`ErrorKind`, 3) of its first error; ``offset``, the number of bytes of the text
        before the token of that error. The offset saturates at all ones.

    Raises
    ------
    TypeError
        If ``offset_width`` is not an integer.
    ValueError
        If it is out of range.
    """
    least = max(MIN_OFFSET_WIDTH, bits_for(lanes))
    width = checked_integer(f"offset_width (lanes={lanes})", offset_width, least, OFFSET_WIDTH)
    return data.StructLayout({"error": 1, "kind": ErrorKind, "offset": width})
