"""Writers of texts: the units of code points, in slots.

A slot has one unit, or several in order if its code point may have more units than it came from. Of
each of them a writer tells for all slots the bits, and whether there is one. Where there is none
the bits are zero, but in UTF-32. What is known of code points is that of :mod:`utf8_hdl.readers`.
"""

from collections.abc import Callable
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Value

from .credit import Step
from .logic import any_of

SURROGATE_BITS = 0b11011
"""The five highest bits of a surrogate. The next one says whether it is a low one."""


class Unit(NamedTuple):
    """One unit of each slot: vectors, with a bit for each slot, of its bits; and where it is."""

    bits: list[Value]
    kept: Value


def write_utf32(step: Step, width: int) -> list[Unit]:
    """In UTF-32 a code point is one unit. Those of its bits are left out that are always zero."""
    return [Unit([step[f"code_point_{bit}"] for bit in range(width)], step["token"])]


def write_utf16(step: Step, width: int) -> list[Unit]:
    """In UTF-16, with a high surrogate in the slot before that of its code point.

    None ends there, as one that needs a pair came from more than one unit. What is in slot 0
    belongs to the last place of the beat before.
    """
    high, other = write_pairs(step, width)
    none = Const(0, 1)
    bits = [own | Cat(levels[1:], none) for own, levels in zip(other.bits, high.bits, strict=True)]
    return [Unit(bits, other.kept | Cat(high.kept[1:], none))]


def write_pairs(step: Step, width: int) -> list[Unit]:
    """In UTF-16, with both surrogates of a pair in one slot (Unicode Table 3-5)."""
    token, paired = step["token"], step["bytes_4"]
    none = Const(0, len(token))
    bits = [step[f"code_point_{bit}"] if bit < width else none for bit in range(21)]
    marks = [paired if SURROGATE_BITS >> bit & 1 else none for bit in range(5)]
    ten = [*bits[10:16], *_one_less(bits[16:])]
    high = [*(levels & paired for levels in ten), none, *marks]
    top = [
        (levels & ~paired) | mark
        for levels, mark in zip(bits[10:16], [paired, *marks], strict=True)
    ]
    return [Unit(high, paired), Unit([*bits[:10], *top], token)]


def write_utf8(step: Step, width: int) -> list[Unit]:
    """In UTF-8 a code point is up to four bytes (RFC 3629, section 3)."""
    token = step["token"]
    at_least = [token, *(step[f"bytes_{count}"] for count in (2, 3, 4))]
    none = Const(0, len(token))
    exactly = [one & ~more for one, more in zip(at_least, [*at_least[1:], none], strict=True)]
    bits = [step[f"code_point_{bit}"] if bit < width else none for bit in range(24)]

    def byte(number: int) -> Unit:
        """A byte of the sequence, counted from 0: of each form what it has there."""
        planes: list[list[Value]] = [[] for _ in range(8)]
        for length in range(number + 1, 5):
            lowest = 6 * (length - 1 - number)
            payload = 7 if length == 1 else 6 if number else 7 - length
            marker = 0 if length == 1 else 0x80 if number else 0xFF << 8 - length & 0xFF
            for bit, plane in enumerate(planes):
                if bit < payload:
                    plane.append(bits[lowest + bit] & exactly[length - 1])
                elif marker >> bit & 1:
                    plane.append(exactly[length - 1])
        return Unit([any_of(plane) if plane else none for plane in planes], at_least[number])

    return [byte(number) for number in range(4)]


def _one_less(planes: list[Value]) -> list[Value]:
    """The numbers before some, of which the bits are vectors; without the highest bit."""
    flips: Value = ~Const(0, len(planes[0]))
    result = []
    for levels in planes[:-1]:
        result.append(levels ^ flips)
        flips = flips & ~levels
    return result


Writer = Callable[[Step, int], list[Unit]]

WRITERS: dict[int, Writer] = {1: write_utf8, 2: write_utf16, 4: write_utf32}
"""The writers, by the bytes of a code unit."""
