"""Encoding forms of Unicode, and the order of their bytes."""

import enum


class Form(enum.Enum):
    """How code points are written."""

    UTF_8 = "utf-8"
    UTF_16 = "utf-16"
    UTF_32 = "utf-32"


class ByteOrder(enum.Enum):
    """Which byte of a unit comes first."""

    LITTLE = "little"
    BIG = "big"
