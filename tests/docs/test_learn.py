"""Test the table of docs/learn.md against the decoder's golden model."""

import re
from pathlib import Path

from utf8_sim import decode

PAGE = (Path(__file__).parents[2] / "docs/learn.md").read_text(encoding="utf-8")


def bytes_of(cell: str) -> range:
    """The bytes of a cell such as ``80..BF``; an empty cell has none."""
    ends = [int(end, 16) for end in cell.replace("*", "").strip().split("..") if end]
    return range(ends[0], ends[-1] + 1) if ends else range(0)


def test_table_matches_the_golden_model():
    rows = re.findall(r"^\| ([0-9A-F]{2}(?:\.\.[0-9A-F]{2})?) \|(.*)\|(.*)\|(.*)\|$", PAGE, re.M)
    assert len(rows) == 9
    following = {
        first: [column for column in map(bytes_of, rest) if column]
        for cell, *rest in rows
        for first in bytes_of(cell)
    }
    ends = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
    for first in range(0x100):
        columns = following.get(first)
        for second in ends:
            data = bytes([first, second, 0x80, 0x80][: 1 + len(columns)] if columns else [first])
            is_character = decode(data)[0].error == 0 and decode(data)[0].length == len(data)
            in_table = columns is not None and (not columns or second in columns[0])
            assert is_character == in_table, data.hex(" ")
