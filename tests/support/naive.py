"""Naive decoder for any profile, by search: an independent definition of the tokens.

A sequence is well-formed if it equals the encoding of its value. Bytes are a prefix of a
well-formed sequence if some completion is well-formed. Error kinds follow the contract's table.
This module only uses `Profile` from the project.
"""

from functools import cache, lru_cache

from reference import RefToken
from utf8_hdl import ErrorSpan, Profile

LEADS = [
    "0xxxxxxx",
    "110xxxxx",
    "1110xxxx",
    "11110xxx",
    "111110xx",
    "1111110x",
    "11111110",
    "11111111",
]
FORMS = {n: " ".join([lead] + ["10xxxxxx"] * (n - 1)) for n, lead in enumerate(LEADS, start=1)}
"""The bits of a sequence, by its length in bytes; `x` is a bit of the value."""

CONTINUATIONS = range(0x80, 0xC0)
OVERLONG_LEADS = (0xC0, 0xC1)
OVERLONG_SECONDS = {
    0xE0: range(0x80, 0xA0),
    0xF0: range(0x80, 0x90),
    0xF8: range(0x80, 0x88),
    0xFC: range(0x80, 0x84),
    0xFE: range(0x80, 0x82),
    0xFF: range(0x80, 0x81),
}


@lru_cache(maxsize=1 << 16)
def encoding(value: int, form: int | None = None) -> bytes:
    """The encoding of a value, in the shortest form by default."""
    digits = f"{value:b}"
    form = form or next(n for n, marks in FORMS.items() if marks.count("x") >= len(digits))
    bits = iter(digits.zfill(FORMS[form].count("x")))
    filled = "".join(next(bits) if mark == "x" else mark for mark in FORMS[form])
    return bytes(int(byte, 2) for byte in filled.split())


def matches(marks: str, bits: str) -> bool:
    return len(marks) == len(bits) and all(m in ("x", b) for m, b in zip(marks, bits, strict=True))


@cache
def announced(lead: int) -> int:
    """Length of the sequence that a lead byte begins; 1 for a continuation byte."""
    return next((n for n, marks in enumerate(LEADS, 1) if matches(marks, f"{lead:08b}")), 1)


@lru_cache(maxsize=1 << 18)
def value_of(sequence: bytes) -> int | None:
    """The value of a sequence; None if it is not the shortest encoding of a value."""
    marks = FORMS[announced(sequence[0])]
    bits = " ".join(f"{byte:08b}" for byte in sequence)
    if not matches(marks, bits):
        return None
    value = int("".join(b for m, b in zip(marks, bits, strict=True) if m == "x"), 2)
    return value if encoding(value) == sequence else None


def well_formed(sequence: bytes, profile: Profile) -> bool:
    """True for a value of the profile, and for U+FFFE and U+FFFF, which are rejected later."""
    value = value_of(sequence)
    if value is None or value > profile.highest:
        return False
    return profile.accept_surrogates or not 0xD800 <= value <= 0xDFFF


@lru_cache(maxsize=1 << 18)
def begins(beginning: bytes, profile: Profile) -> bool:
    """True if a completion is well-formed: with any next byte, then only 80 or only BF.

    Other completions need no check: a profile rejects nothing after the second byte.
    """
    missing = announced(beginning[0]) - len(beginning)
    if missing <= 0 or any(byte not in CONTINUATIONS for byte in beginning[1:]):
        return well_formed(beginning, profile)
    return any(
        well_formed(beginning + bytes([following] + [rest] * (missing - 1)), profile)
        for following in CONTINUATIONS
        for rest in (0x80, 0xBF)
    )


def error_length(ahead: bytes, profile: Profile) -> int:
    """Length of the error at the beginning of these bytes."""
    length = 1
    if profile.error_span is ErrorSpan.MAXIMAL_SUBPART:
        while length < len(ahead) and begins(ahead[: length + 1], profile):
            length += 1
    elif announced(ahead[0]) <= profile.longest_form:
        while length < min(len(ahead), announced(ahead[0])) and ahead[length] in CONTINUATIONS:
            length += 1
    return length


def error_kind(ahead: bytes, profile: Profile) -> str:
    """The first matching row of the table of error kinds."""
    lead, second = ahead[0], ahead[1] if len(ahead) > 1 else None
    highest_lead, highest_second = encoding(profile.highest)[:2]
    if lead in CONTINUATIONS:
        return "unexpected-continuation"
    if lead in OVERLONG_LEADS:
        return "overlong"
    if lead > highest_lead:
        return "invalid-byte" if lead in (0xFE, 0xFF) else "out-of-range"
    if second in OVERLONG_SECONDS.get(lead, ()):
        return "overlong"
    if lead == 0xED and second in range(0xA0, 0xC0) and not profile.accept_surrogates:
        return "surrogate"
    if lead == highest_lead and second in range(highest_second + 1, 0xC0):
        return "out-of-range"
    return "truncated"


def first_token(ahead: bytes, offset: int, profile: Profile) -> RefToken:
    """The token at the beginning of these bytes, with its offset in the text."""
    sequence = ahead[: announced(ahead[0])]
    if well_formed(sequence, profile):
        value = value_of(sequence)
        if value in (0xFFFE, 0xFFFF) and not profile.accept_noncharacters:
            return RefToken(offset, len(sequence), 0xFFFD, "noncharacter")
        return RefToken(offset, len(sequence), value, None)
    return RefToken(offset, error_length(ahead, profile), 0xFFFD, error_kind(ahead, profile))


def naive_tokens(data: bytes, profile: Profile) -> list[RefToken]:
    """The tokens of a text."""
    tokens, offset = [], 0
    while offset < len(data):
        tokens.append(first_token(data[offset : offset + 8], offset, profile))
        offset += tokens[-1].length
    return tokens
