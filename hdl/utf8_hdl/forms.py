"""The forms of encoding that a transcoder reads and writes, and the order of bytes in a unit."""

import enum


class Form(enum.Enum):
    """A form of encoding of Unicode text. Its value is its name on the command line."""

    #: One to four bytes a code point.
    UTF_8 = "utf-8"
    #: Units of two bytes; above U+FFFF a code point is a pair of them, two surrogates.
    UTF_16 = "utf-16"
    #: Units of four bytes, one for each code point.
    UTF_32 = "utf-32"

    @property
    def unit_bytes(self) -> int:
        """How many bytes a unit has: 1, 2 or 4."""
        return {Form.UTF_8: 1, Form.UTF_16: 2, Form.UTF_32: 4}[self]


class ByteOrder(enum.Enum):
    """Which byte of a unit comes first, where it has several."""

    #: The lowest one.
    LITTLE = "little"
    #: The highest one.
    BIG = "big"
