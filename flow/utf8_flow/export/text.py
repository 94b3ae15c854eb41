"""Text of Verilog: sections under headings, blocks, comments, lines that are not too long."""

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

LINE = 100
"""Maximum line length in characters."""

MANY, SHORT = 24, 24
"""A part of a concatenation has a line if there are at most so many, or a longer one."""


def constant(levels: str) -> str:
    """A constant from its bits, given lowest first; unknown bits become 0."""
    digits = levels[::-1].replace("x", "0") or "0"
    return f"{len(digits)}'b{digits}" if len(digits) < 4 else f"{len(digits)}'h{int(digits, 2):X}"


def flat(name: str) -> str:
    """A name reduced to letters, digits and single underscores."""
    return re.sub(r"[\W_]+", "_", name).strip("_")


def in_order(name: str) -> str:
    """Sort key of names: numbers in them sort by value."""
    return re.sub(r"\d+", lambda number: number[0].zfill(9), name)


def snake_case(name: str) -> str:
    """The name of a class as that of a type: ``ErrorKind`` is ``error_kind``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def comment(text: str, indent: str = "", line_end: str = "") -> str:
    """A text as lines of a comment. ``line_end`` is behind all lines but the last one."""
    width = LINE - len(f"// {indent}{line_end}")
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return f"{line_end}\n".join(f"// {indent}{line}" for line in lines)


def indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def block(head: str, statements: Sequence[str]) -> list[str]:
    """Statements under a condition."""
    line = f"{head} {statements[0]}"
    if len(statements) == 1 and not statements[0].startswith("if ") and len(line) < LINE - 12:
        return [line]
    return [f"{head} begin", *indented(statements), "end"]


def filled(parts: Iterable[str], width: int, indent: str = "") -> list[str]:
    """Fill lines with parts up to a width, and indent all lines except the first."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) < width:
            lines[-1] += f" {part}"
        else:
            lines.append(indent * bool(lines) + part)
    return lines


def section(heading: str, lines: Iterable[str]) -> str:
    """Lines under a heading; nothing without lines."""
    lines = list(lines)
    headed = [f"// {heading}"] if heading and lines else []
    return "".join(f"{part}\n" for line in indented([*headed, *lines]) for part in folded(line))


def folded(line: str) -> list[str]:
    """Break a line that is too long at the outermost nesting level, and there at commas first."""
    indent = len(line) - len(line.lstrip())
    if line[indent:].startswith("// "):
        words = textwrap.wrap(line[indent + 3 :], LINE - indent - 3)
        return [f"{line[:indent]}// {each}" for each in words]
    breaks = defaultdict(list)
    depth = 0
    for place, (before, symbol) in enumerate(pairwise(line), start=1):
        depth += (before in "({") - (before in ")}")
        is_after_operator = before in ",|&^:" and line[place - 2 : place] != "+:"
        if symbol == " " and is_after_operator and place > indent:
            breaks[depth, before != ","].append(place + 1)
    if len(line) <= LINE or not breaks:
        return [line]
    (_, fill), places = min(breaks.items())
    parts = [line[begin:end].rstrip() for begin, end in pairwise([0, *places, len(line)])]
    few = len(parts) <= MANY and any(len(part) > SHORT for part in parts[1:])
    lines = filled(parts, LINE if fill or not few else 0, " " * (indent + 4))
    return [piece for line in lines for piece in folded(line)]
