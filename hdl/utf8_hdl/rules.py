"""The rules of a profile: bytes that begin a character, refused second bytes and code points.

For ``unicode`` these are Table 3-7 of the Unicode Standard (RFC 3629, section 4): which bytes begin
a character, how many follow, and the second bytes that E0, ED, F0 and F4 refuse. Only the gateware
uses this module. The golden model derives its own tables from the profile.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from amaranth.hdl import Const, Value

from .layouts import ErrorKind
from .logic import any_of
from .profile import SURROGATES, ErrorSpan, Profile

BYTES = range(0x100)
CONTINUATION_BYTES = range(0x80, 0xC0)


def sequence_length(lead: int) -> int:
    """Length of the sequence of a lead byte: its number of leading ones (RFC 3629, section 3)."""
    return f"{lead:08b}0".index("0")


def first_lead(length: int) -> int:
    """The lowest lead byte of a form."""
    return 0xFF00 >> length & 0xFF


def highest_start(profile: Profile) -> tuple[int, int]:
    """The lead byte and the second byte of the profile's highest value: F4 8F in ``unicode``."""
    length = profile.longest_form
    top_bits = profile.highest >> 6 * (length - 2)
    return first_lead(length) | top_bits >> 6, 0x80 | top_bits & 0x3F


def first_fault(profile: Profile, byte: int) -> ErrorKind:
    """The error of a byte where a character must begin, or NONE if it begins a character."""
    length = sequence_length(byte)
    if length == 1:
        return ErrorKind.UNEXPECTED_CONTINUATION
    if length > profile.longest_form:
        return ErrorKind.OUT_OF_RANGE if length <= 6 else ErrorKind.INVALID_BYTE
    if byte in (0xC0, 0xC1):
        return ErrorKind.OVERLONG
    return ErrorKind.OUT_OF_RANGE if byte > highest_start(profile)[0] else ErrorKind.NONE


def announced(profile: Profile, byte: int) -> int:
    """How many continuation bytes a byte announces where a character must begin.

    With ``whole-sequence`` errors, a faulty lead byte announces them, too.
    """
    length = sequence_length(byte)
    may_be_wrong = profile.error_span is ErrorSpan.WHOLE_SEQUENCE
    wrong = first_fault(profile, byte) is not ErrorKind.NONE
    if length > profile.longest_form or (wrong and not may_be_wrong):
        return 0
    return max(0, length - 1)


def announcing(profile: Profile, *counts: int) -> list[int]:
    """Lead bytes that announce one of the given numbers of continuation bytes."""
    return [byte for byte in BYTES if announced(profile, byte) in counts]


def faulty(profile: Profile) -> list[int]:
    """The bytes that cannot begin a character."""
    return [byte for byte in BYTES if first_fault(profile, byte) is not ErrorKind.NONE]


def refusals(profile: Profile) -> dict[int, dict[int, ErrorKind]]:
    """Second bytes that lead bytes refuse, each with the kind of error that it reveals.

    A sequence of three or more bytes is overlong if the bits that it has beyond those of the next
    shorter form are zero: five bits, or six in the form of eight bytes. These are all payload bits
    of the lead byte and the top ``length - 2`` payload bits of the second byte.
    """
    refused: dict[int, dict[int, ErrorKind]] = defaultdict(dict)
    for length in range(3, profile.longest_form + 1):
        for second in range(0x80, 0x80 + (1 << 8 - length)):
            refused[first_lead(length)][second] = ErrorKind.OVERLONG
    if not profile.accept_surrogates:
        refused[0xED] = dict.fromkeys(range(0xA0, 0xC0), ErrorKind.SURROGATE)
    lead, highest_second = highest_start(profile)
    for second in range(highest_second + 1, 0xC0):
        refused[lead][second] = ErrorKind.OUT_OF_RANGE
    return refused


def with_kind_bit(profile: Profile, bit: int) -> list[int]:
    """The bytes whose error kind, as in :func:`kinds`, has this bit set in its code."""
    return [byte for byte, kind in enumerate(kinds(profile)) if kind.value >> bit & 1]


def kinds(profile: Profile) -> list[ErrorKind]:
    """For each byte, its error kind, or that of its sequence if the second byte is refused.

    For any other byte the kind is a don't care: that of the byte below takes the fewest gates.
    """
    of_pairs = refusals(profile)
    found = [ErrorKind.NONE]
    for byte in BYTES[1:]:
        kind = first_fault(profile, byte)
        if byte in of_pairs:
            kind = next(iter(of_pairs[byte].values()))
        found.append(found[-1] if kind is ErrorKind.NONE else kind)
    return found


class SecondBytes(NamedTuple):
    """Properties of bytes that depend only on the byte and the one or two bytes before it."""

    #: Vectors, one of which is True where the lead byte before refuses the byte. Each depends on at
    #: most two lead bytes, so that it fits into a lookup table.
    refused: list[Value]
    #: True where the lead byte before refuses the byte because the value is out of range, for lead
    #: bytes that refuse other bytes for another reason.
    beyond: Value
    #: True where the byte completes a noncharacter that the profile rejects.
    noncharacter: Value


def second_bytes(
    profile: Profile,
    after: Callable[..., Value],
    among: Callable[[Iterable[int]], Value],
    *,
    any_top_bits: bool = False,
) -> SecondBytes:
    """Apply :func:`refusals`, and U+FFFE and U+FFFF (EF BF BE, EF BF BF), to bytes.

    - ``after``: ``after(lead)`` is true where ``lead`` is the byte before, and ``after(first,
      second)`` where these are the two bytes before.
    - ``among``: ``among(bytes)`` is true where the byte is one of ``bytes``.
    - ``any_top_bits``: true if ``refused`` may ignore the two highest bits of a byte, which takes
      fewer gates.
    """
    pairs = refusals(profile)
    follows = {lead: after(lead) for lead in pairs}
    refused = [
        follows[lead] & among(_with_any_top_bits(seconds) if any_top_bits else seconds)
        for lead, seconds in pairs.items()
    ]
    beyond = [
        follows[lead]
        & among(second for second, kind in seconds.items() if kind is ErrorKind.OUT_OF_RANGE)
        for lead, seconds in pairs.items()
        if len(set(seconds.values())) > 1
    ]
    noncharacter: Value = Const(0, 1)
    if not profile.accept_noncharacters:
        noncharacter = after(0xEF, 0xBF) & among([0xBE, 0xBF])
    in_twos = [any_of(refused[n : n + 2]) for n in range(0, len(refused), 2)]
    return SecondBytes(in_twos, any_of(beyond), noncharacter)


def _with_any_top_bits(seconds: Iterable[int]) -> list[int]:
    """All bytes that equal some continuation bytes except for the two highest bits."""
    return [top | second & 0x3F for top in (0x00, 0x40, 0x80, 0xC0) for second in seconds]


def surrogate(code_point: Value) -> Value:
    """True if a code point is a surrogate: U+D800 to U+DFFF (Unicode D71, D73)."""
    return code_point[11:] == SURROGATES.start >> 11


def noncharacter(code_point: Value) -> Value:
    """True if a code point is U+FFFE or U+FFFF."""
    return code_point[1:] == 0xFFFE >> 1


def rejected(profile: Profile, code_point: Value) -> Value:
    """True if a code point of 16 bits is a surrogate or noncharacter that the profile rejects."""
    tests = []
    if not profile.accept_surrogates:
        tests.append(surrogate(code_point))
    if not profile.accept_noncharacters:
        tests.append(noncharacter(code_point))
    return any_of(tests)
