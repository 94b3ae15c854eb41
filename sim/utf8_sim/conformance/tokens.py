"""Tokens as mappings of their fields, which a core may lack."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from utf8_hdl import ErrorKind
from utf8_hdl.profile import REPLACEMENT

from ..format import code_point_label
from ..tools.words import plural
from ..trace import Columns

Fields = Mapping[str, Any]
"""The fields of a token that a core has."""

ERROR = -1
"""Stands for an error in a list of code points."""


def rows_of(outputs: Columns) -> list[dict[str, int]]:
    """The tokens in some columns."""
    names = [name.removeprefix("o.") for name in outputs]
    rows = zip(*(column.tolist() for column in outputs.values()), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def values_of(tokens: Sequence[Fields]) -> list[int]:
    """The code points of tokens, and :data:`ERROR`; without a field ``error``, that is U+FFFD."""
    return [
        ERROR
        if token.get("error", token["code_point"] == REPLACEMENT)
        else int(token["code_point"])
        for token in tokens
    ]


def show_fields(token: Fields, compared: Collection[str]) -> str:
    """Format some fields of a token for a report."""
    value = token["code_point"]
    if "error" in compared and token["error"]:
        kind = f" {ErrorKind(token['kind']).label}" if "kind" in compared else ""
        words = f"error{kind}" + (f" with U+{value:04X}" if value != REPLACEMENT else "")
    else:
        words = code_point_label(value)
        if "error" not in compared and "kind" in compared and token["kind"]:
            words += f" {ErrorKind(token['kind']).label}"
    if "length" in compared:
        words += f" ({plural(token['length'], 'byte')})"
    return words + " last" * ("last" in compared and token["last"])
