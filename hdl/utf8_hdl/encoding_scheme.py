"""The encoding schemes of Unicode that a transcoder reads and writes."""

import enum


class EncodingScheme(enum.Enum):
    """An encoding scheme (Unicode D94): an encoding form, and the byte order of its units.

    The value of a member is its name on the command line, and a name of Python's codec. No scheme
    adds or removes a byte order mark.
    """

    #: One to four bytes per code point.
    UTF_8 = "utf-8"
    #: Units of two bytes, low byte first. A code point above U+FFFF is a pair of surrogates.
    UTF_16LE = "utf-16le"
    #: Units of two bytes, high byte first.
    UTF_16BE = "utf-16be"
    #: Units of four bytes, low byte first; one unit per code point.
    UTF_32LE = "utf-32le"
    #: Units of four bytes, high byte first.
    UTF_32BE = "utf-32be"

    @property
    def unit_bytes(self) -> int:
        """Bytes in a code unit: 1, 2 or 4."""
        return int(self.value[4:6].rstrip("lb")) // 8

    @property
    def byte_order(self) -> range:
        """The bytes of a unit in transmission order, numbered from the lowest one."""
        size = self.unit_bytes
        return range(size)[::-1] if self.value.endswith("be") else range(size)
