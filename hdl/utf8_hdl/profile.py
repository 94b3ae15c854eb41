"""UTF-8 profiles: the rules that gateware and golden model share.

A profile holds rules only. Their consequences (lead bytes, ranges of second bytes, shortest
forms) are derived twice, once in the gateware and once in the golden model, in different ways, so
that one mistake cannot hide in both.
"""

import enum
import re
from dataclasses import dataclass
from typing import Any

from .checks import checked_integer, checked_type

SURROGATES = range(0xD800, 0xE000)
"""The surrogate code points (Unicode D71 to D75)."""

NONCHARACTERS = (0xFFFE, 0xFFFF)
"""The two noncharacters that ISO 10646-1 Annex D and X/Open exclude from UTF-8."""

REPLACEMENT = 0xFFFD
"""The code point of an error token: U+FFFD REPLACEMENT CHARACTER."""

FORM_BITS = {1: 7, 2: 11, 3: 16, 4: 21, 5: 26, 6: 31, 7: 36, 8: 42}
"""Number of code point bits that a form carries, by its length in bytes."""


def form_of_bit(bit: int) -> int:
    """The shortest form that carries a bit of the code point."""
    return next(form for form, width in FORM_BITS.items() if bit < width)


class ErrorSpan(enum.Enum):
    """Span of an error: how many bytes one error covers."""

    #: The longest prefix of a well-formed sequence, or one byte (Unicode section 3.9, WHATWG).
    MAXIMAL_SUBPART = "maximal-subpart"
    #: The lead byte and the continuation bytes that it announces and that follow.
    WHOLE_SEQUENCE = "whole-sequence"


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One definition of UTF-8. Immutable; use :func:`dataclasses.replace` to override a rule.

    Parameters
    ----------
    name : str
        The name in messages and generated files: letters, digits, ``-`` and ``_``.
    longest_form : int
        The longest sequence in bytes, 3 to 8.
    highest : int
        The highest code point. It must need the longest form, and be the highest one with its first
        two bytes, because a decoder refuses higher values at the second byte.
    accept_surrogates : bool
        Accept U+D800 to U+DFFF as characters.
    accept_noncharacters : bool
        Accept U+FFFE and U+FFFF as characters.
    error_span : ErrorSpan
        How many bytes one error covers.

    Raises
    ------
    TypeError
        If a rule is not of its type.
    ValueError
        If the name cannot be used in generated files, or the rules contradict each other.
    """

    name: str
    longest_form: int
    highest: int
    accept_surrogates: bool = False
    accept_noncharacters: bool = False
    error_span: ErrorSpan = ErrorSpan.MAXIMAL_SUBPART

    def __post_init__(self) -> None:
        object.__setattr__(self, "error_span", ErrorSpan(self.error_span))
        checked_type("name", self.name, str)
        for rule in ("accept_surrogates", "accept_noncharacters"):
            checked_type(rule, getattr(self, rule), bool)
        for number in ("longest_form", "highest"):
            object.__setattr__(self, number, checked_integer(number, getattr(self, number)))
        if not re.fullmatch(r"[\w-]+", self.name, re.ASCII):
            raise ValueError(f"name must be letters, digits, '-' and '_', not {self.name!r}")
        if self.longest_form not in range(3, 9):
            raise ValueError(
                f"longest_form must be 3 to 8 bytes, so that U+FFFD fits, not {self.longest_form!r}"
            )
        most = (1 << FORM_BITS[self.longest_form]) - 1
        least = 1 << FORM_BITS[self.longest_form - 1]
        if not least <= self.highest <= most:
            raise ValueError(
                f"highest must be {least:X} to {most:X}, the values that need "
                f"{self.longest_form} bytes, not {self.highest:X}"
            )
        second_byte_step = 1 << 6 * (self.longest_form - 2)
        if (self.highest + 1) % second_byte_step or self.highest < max(NONCHARACTERS):
            raise ValueError(
                f"highest must be FFFF or above, and one less than a multiple of "
                f"{second_byte_step:X}, so that the second byte decides, not {self.highest:X}"
            )

    @property
    def code_point_width(self) -> int:
        """Width of the highest code point."""
        return self.highest.bit_length()

    @property
    def utf32_width(self) -> int:
        """Width of a code point on a bus: 32 bits, or 64 bits if 32 are too few."""
        return 32 if self.code_point_width <= 32 else 64

    def describe(self) -> str:
        """All rules on one line, for messages and headers of generated files."""
        return (
            f"{self.name}: 1 to {self.longest_form} bytes, up to U+{self.highest:04X}, "
            f"surrogates {_verdict(self.accept_surrogates)}, "
            f"U+FFFE and U+FFFF {_verdict(self.accept_noncharacters)}, "
            f"error span {self.error_span.value}"
        )


def checked_profile(profile: Any) -> Profile:
    """Return a profile; raise `TypeError` for anything else."""
    checked: Profile = checked_type("profile", profile, Profile, "UNICODE")
    return checked


def _verdict(accepted: bool) -> str:
    return "accepted" if accepted else "rejected"


UNICODE = Profile(name="unicode", longest_form=4, highest=0x10FFFF, accept_noncharacters=True)
"""RFC 3629, Unicode Table 3-7, WHATWG Encoding Standard."""

UCS2 = Profile(name="ucs2", longest_form=3, highest=0xFFFF)
"""X/Open's subset for UCS-2."""

UCS4 = Profile(name="ucs4", longest_form=6, highest=0x7FFF_FFFF)
"""ISO 10646-1 Annex D and RFC 2279, with the safety rules of Kuhn's decoder tests."""

EXTENDED = Profile(name="extended", longest_form=8, highest=0x3FF_FFFF_FFFF)
"""All lead bytes, FE and FF included."""

PROFILES = {profile.name: profile for profile in (UNICODE, UCS2, UCS4, EXTENDED)}
"""The named profiles."""
