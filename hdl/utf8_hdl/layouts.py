"""What goes in and out: bytes, tokens and code points, their layouts and the codes of errors."""

from amaranth.lib import data, enum
from amaranth.utils import bits_for

from .profile import Profile


class Kind(enum.Enum, shape=3):
    """Why a token is an error. The codes are relied on by test benches and software outside."""

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
    #: A valid beginning cut by a byte that cannot continue it, or by the end of the text.
    TRUNCATED = 6
    #: A well-formed U+FFFE or U+FFFF where these are rejected.
    NONCHARACTER = 7

    @property
    def label(self) -> str:
        """The name as command line and documents spell it, ``unexpected-continuation``."""
        return self.name.lower().replace("_", "-")


BYTE_LAYOUT = data.StructLayout({"data": 8, "last": 1})
"""A byte of text. ``last`` marks the last byte of a text; the next byte begins a new one."""


def token_layout(profile: Profile) -> data.StructLayout:
    """Layout of a decoder's output: one character or one error.

    Tokens come in order and cover every byte of the input exactly once.

    Parameters
    ----------
    profile : Profile
        Decides the widths.

    Returns
    -------
    data.StructLayout
        ``code_point`` (21 bits in ``unicode``) is the value, U+FFFD in an error; ``error`` (1) is
        set in an error; ``kind`` (:class:`Kind`, 3) says why; ``length`` (3 in ``unicode``) counts
        the bytes covered; ``last`` (1) is set if they include the last byte of the text.
    """
    return data.StructLayout(
        {
            "code_point": profile.code_point_width,
            "error": 1,
            "kind": Kind,
            "length": bits_for(profile.longest_form),
            "last": 1,
        }
    )


def code_point_layout(profile: Profile) -> data.StructLayout:
    """Layout of an encoder's input.

    Parameters
    ----------
    profile : Profile
        Decides the width.

    Returns
    -------
    data.StructLayout
        ``code_point`` is as wide as in UTF-32 (32 bits, or 64 where the profile needs them), so
        that a value that is too high can be refused; ``last`` (1) marks the last of a text.
    """
    return data.StructLayout({"code_point": profile.utf32_width, "last": 1})


ENCODED_LAYOUT = data.StructLayout({"data": 8, "error": 1, "last": 1})
"""An encoder's output. ``error``: the byte belongs to U+FFFD in place of a refused code point."""
