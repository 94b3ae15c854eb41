"""Bytes and code points as text for a person."""

import unicodedata
from collections.abc import Mapping
from typing import Any

from utf8_hdl import ErrorKind

from .trace import as_list

LONG = 12
"""Characters at both ends of a text that are left of it, if it is too long."""


def character(code_point: int) -> str:
    """A code point as people may see it; nothing if it is invisible or would do harm."""
    if code_point > 0x10FFFF:
        return ""
    text = chr(code_point)
    category = unicodedata.category(text)
    if category[0] == "M":
        return f"\N{DOTTED CIRCLE}{text}"
    return "" if category[0] in "CZ" and text != " " else text


def named(code_point: int) -> str:
    """A code point by number, and as people may see it."""
    return f"U+{code_point:04X} {character(code_point)}".rstrip()


def shown_byte(byte: int) -> str:
    """A byte in hexadecimal, and as people may see it if it is an ASCII character."""
    return f"{byte:02X} {character(byte) if byte < 0x80 else ''}".rstrip()


def token_text(token: Mapping[str, Any]) -> str:
    """A token in a word."""
    return (
        ErrorKind(token["o.kind"]).label if token["o.error"] else f"U+{token['o.code_point']:04X}"
    )


def token_label(token: Mapping[str, Any]) -> str:
    """A token in a word or two."""
    return token_text(token) if token["o.error"] else named(token["o.code_point"])


def show_token(token: Mapping[str, Any]) -> str:
    """A token, and how many bytes it covers."""
    length = token["o.length"]
    size = "1 byte" if length == 1 else f"{length} bytes"
    return f"{'error ' if token['o.error'] else ''}{token_label(token)} ({size})"


def has_error(output: Mapping[str, Any]) -> bool:
    """Whether an output, or one of the tokens in it, is an error."""
    return any(as_list(output.get("o.error", 0)))


def shortened(text: str) -> str:
    """A text without what is in its middle, if it is long."""
    return text if len(text) <= 2 * LONG else f"{text[:LONG].rstrip()} … {text[-LONG:].lstrip()}"
