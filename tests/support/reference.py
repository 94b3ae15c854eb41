"""Reference results from CPython's codecs; error kinds follow the table of the contract.

This module imports nothing from the project.
"""

import codecs
from typing import NamedTuple


class RefToken(NamedTuple):
    offset: int
    length: int
    code_point: int
    error: str | None


def ref_tokens(data: bytes) -> list[RefToken]:
    """Tokens of a text in the `unicode` profile."""
    tokens, begin = [], 0
    while begin < len(data):
        try:
            text, end, error = data[begin:].decode("utf-8"), len(data), None
        except UnicodeDecodeError as found:
            end = begin + found.start
            text, error = data[begin:end].decode("utf-8"), found
        offset = begin
        for character in text:
            length = len(character.encode("utf-8"))
            tokens.append(RefToken(offset, length, ord(character), None))
            offset += length
        begin = end
        if error:
            length = error.end - error.start
            kind = ref_kind(data[begin : begin + length], data[begin + length : begin + length + 1])
            tokens.append(RefToken(begin, length, 0xFFFD, kind))
            begin += length
    return tokens


def ref_kind(wrong: bytes, following: bytes) -> str:
    """Kind of an error, from its bytes and the byte after it, if any."""
    lead = wrong[0]
    if 0x80 <= lead <= 0xBF:
        return "unexpected-continuation"
    if lead in (0xC0, 0xC1):
        return "overlong"
    if 0xF5 <= lead <= 0xFD:
        return "out-of-range"
    if lead >= 0xFE:
        return "invalid-byte"
    if len(wrong) == 1 and following and 0x80 <= following[0] <= 0xBF:
        return {0xE0: "overlong", 0xED: "surrogate", 0xF0: "overlong", 0xF4: "out-of-range"}[lead]
    return "truncated"


BOUNDARY_BYTES = bytes.fromhex(
    "00 41 7F 80 8F 90 9F A0 BF C0 C1 C2 DF E0 E1 EC ED EE EF F0 F1 F3 F4 F5 F7 F8 FB FC FD FE FF"
)
"""First and last byte of every row and column of Unicode Table 3-7, and their neighbours."""


class RefError(NamedTuple):
    offset: int
    kind: str


def ref_errors(text: bytes, source: str) -> list[RefError]:
    """Errors of a text in an encoding, named as CPython's codec."""
    if source == "utf-8":
        return [RefError(token.offset, token.error) for token in ref_tokens(text) if token.error]
    found = []

    def note(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        cut = (error.end - error.start) % REF_UNIT[source[:6]]
        beyond = error.reason == "code point not in range(0x110000)"
        kind = "truncated" if cut else "out-of-range" if beyond else "surrogate"
        found.append(RefError(error.start, kind))
        return "\ufffd", error.end

    codecs.register_error("ref_errors", note)
    text.decode(source, "ref_errors")
    return found


REF_UNIT = {"utf-16": 2, "utf-32": 4}
"""Bytes of a unit."""


def ref_transcoded(
    text: bytes, source: str, target: str, strip_bom: bool = False
) -> tuple[bytes, bool]:
    """A transcoded text, and its error flag; encodings are named as CPython's codecs."""
    found = text.decode(source, "replace")
    error = found != text.decode(source, "ignore")
    return found.removeprefix("\ufeff" * strip_bom).encode(target), error
