"""Format bytes, code points and tokens for reports."""

import unicodedata
from collections.abc import Mapping
from typing import Any

from utf8_hdl import ErrorKind

from .trace import as_list

LONG = 12
"""Characters kept at each end of a shortened text."""


def character(code_point: int) -> str:
    """A code point as a character; empty if it is not printable."""
    if code_point > 0x10FFFF:
        return ""
    text = chr(code_point)
    category = unicodedata.category(text)
    if category[0] == "M":
        return f"\N{DOTTED CIRCLE}{text}"
    return "" if category[0] in "CZ" and text != " " else text


def code_point_label(code_point: int) -> str:
    """A code point in U+ notation, and the character if it is printable."""
    return f"U+{code_point:04X} {character(code_point)}".rstrip()


def byte_label(byte: int) -> str:
    """A byte in hexadecimal, and as a printable character if it is ASCII."""
    return f"{byte:02X} {character(byte) if byte < 0x80 else ''}".rstrip()


def token_text(token: Mapping[str, Any]) -> str:
    """A token in one word: its kind of error, or its code point."""
    return (
        ErrorKind(token["o.kind"]).label if token["o.error"] else f"U+{token['o.code_point']:04X}"
    )


def token_label(token: Mapping[str, Any]) -> str:
    """A token in one or two words: its kind of error, or its code point and the character."""
    return token_text(token) if token["o.error"] else code_point_label(token["o.code_point"])


def show_token(token: Mapping[str, Any]) -> str:
    """A token, and the number of bytes it covers."""
    length = token["o.length"]
    size = "1 byte" if length == 1 else f"{length} bytes"
    return f"{'error ' if token['o.error'] else ''}{token_label(token)} ({size})"


def has_error(output: Mapping[str, Any]) -> bool:
    """True if an output, or one of the tokens in it, is an error."""
    return any(as_list(output.get("o.error", 0)))


def shortened(text: str) -> str:
    """A text; the middle of a long text is left out."""
    return text if len(text) <= 2 * LONG else f"{text[:LONG].rstrip()} … {text[-LONG:].lstrip()}"
