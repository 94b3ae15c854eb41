"""Membership of bytes in sets, in one lookup table and a register for each set of nibbles."""

from collections import defaultdict
from collections.abc import Iterable

from amaranth.hdl import Cat, Const, Signal, Value

from .flow_control.stage import Stage
from .logic import any_of, one_of


class ByteClasses:
    """Membership of bytes in sets, one stage after the bytes.

    A set of bytes is a union of products, some high nibbles times some low nibbles. A register for
    each of these sets of nibbles is one lookup table, and bytes of many kinds share them. The
    registers are in ``stage``, one stage after the bytes, and have a bit for each byte.
    """

    def __init__(self, stage: Stage, *of: Value) -> None:
        self._stage = stage
        self._nibbles = {"low": [byte[:4] for byte in of], "high": [byte[4:] for byte in of]}
        self._all = Const((1 << len(of)) - 1, len(of))
        self._known: dict[tuple[str, frozenset[int]], Signal] = {}

    def among(self, members: Iterable[int]) -> Value:
        """A bit for each byte: it is one of ``members``."""
        lows = defaultdict(set)
        for member in members:
            lows[member >> 4].add(member & 0xF)
        highs = defaultdict(set)
        for high, low in lows.items():
            highs[frozenset(low)].add(high)
        return any_of(
            self._one_of("high", frozenset(high)) & self._one_of("low", low)
            for low, high in highs.items()
        )

    def _one_of(self, which: str, values: frozenset[int]) -> Value:
        others = frozenset(range(16)) - values
        if not others:
            return self._all
        if (which, others) in self._known:
            return ~self._known[which, others]
        if (which, values) not in self._known:
            digits = "".join(f"{value:X}" for value in sorted(values))
            few = min(values, others, key=len)
            nibbles = self._nibbles[which]
            found = Cat(one_of(nibble, few) for nibble in nibbles)
            found = found if few is values else ~found
            self._known[which, values] = self._stage.register(f"{which}_{digits}", found)
        return self._known[which, values]
