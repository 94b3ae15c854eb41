"""Repeated parts of a concatenation, as the body of a loop."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from .cells import Expression, joined

FEWEST = 4
"""Minimum number of repetitions."""

_VARIABLE = "@"
"""Stands for the loop variable, whose name must differ from those of signals."""

_INDEX = re.compile(r"\[(\d+)(?::(\d+))?\]")


class Loop(NamedTuple):
    """Values that differ only in indexes: Verilog with a placeholder for the loop variable."""

    turns: int
    value: str

    def assignment(self, target: str, width: int, operator: str, variable: str) -> str:
        """The assignment to a part of a vector; ``variable`` is the name of the loop variable."""
        size = width // self.turns
        place = f"{size}*{variable} +: {size}" if size > 1 else variable
        return f"{target}[{place}] {operator} {self.in_turn(variable)};"

    def in_turn(self, variable: str) -> str:
        """The value in a turn of a loop; ``variable`` is the name of the loop variable."""
        return self.value.replace(_VARIABLE, variable)


def loop_of(parts: Sequence[Expression], widths: Sequence[int]) -> Loop | None:
    """The loop for the parts of a concatenation, given lowest first with their widths.

    The result is None if no group of parts repeats so that only indexes differ, by a constant.
    """
    for size in range(1, len(parts) // FEWEST + 1):
        groups = [parts[n : n + size] for n in range(0, len(parts), size)]
        if len(parts) % size or len({*zip(*[iter(widths)] * size, strict=True)}) > 1:
            continue
        value = _common([joined([*group]).text for group in groups])
        if value is not None and _VARIABLE in value:
            return Loop(len(groups), value)
    return None


def _common(texts: Sequence[str]) -> str | None:
    """The text of which these are the values in turns 0, 1 and so on."""
    pieces = [_INDEX.split(text) for text in texts]
    if len({tuple(each[0::3]) for each in pieces}) > 1:
        return None
    first, *_ = pieces
    value = first[0]
    for place in range(1, len(first), 3):
        index = _index(
            [int(each[place]) for each in pieces],
            [int(each[place + 1] or each[place]) for each in pieces],
        )
        if index is None:
            return None
        value += index + first[place + 2]
    return value


def _index(highs: list[int], lows: list[int]) -> str | None:
    """The index whose bounds have these values in turns 0, 1 and so on."""
    steps = {after - before for before, after in pairwise(lows)}
    sizes = {high - low + 1 for high, low in zip(highs, lows, strict=True)}
    if len(steps) > 1 or len(sizes) > 1:
        return None
    [step], [size], low = steps, sizes, lows[0]
    if step == 0:
        return f"[{highs[0]}:{low}]" if size > 1 else f"[{low}]"
    if step > 0:
        base = ("@" if step == 1 else f"{step}*@") + (f" + {low}" if low else "")
    else:
        base = f"{low} - " + ("@" if step == -1 else f"{-step}*@")
    return f"[{base} +: {size}]" if size > 1 else f"[{base}]"
