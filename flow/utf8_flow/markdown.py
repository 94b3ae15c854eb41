"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def table(rows: Iterable[Sequence[str]]) -> list[str]:
    """A table with the headings in the first row. Cells are not padded, because some are long."""
    head, *others = rows
    return [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *others)]


def aligned_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table with padded cells, readable as plain text."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * width for width in widths]
    lines = [
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in (rows[0], rule, *rows[1:])
    ]
    return [f"| {line} |" for line in lines]
