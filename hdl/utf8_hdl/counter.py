"""Arithmetic for high clock frequencies: in plain gates, without carry chains."""

from functools import cache

from amaranth.hdl import Cat, Const, Signal, Value

from .elastic import Section
from .gates import any_of, select

LOW = 3
"""Of numbers that are compared, so many bits are a part of their own: the lowest ones."""

PART = 4
"""Bits of the counter that a lookup table takes."""


def flips(number: Value) -> Value:
    """Which bits of a number change if it is counted up: those below which all are ones."""
    return Cat(number[:bit].all() for bit in range(len(number)))


def flips_next(lowest: Value, odd: Value, number: Value) -> Value:
    """Which bits change with a step in the next cycle, whether there is one in this cycle or not.

    ``lowest`` says whether the lowest bit does. ``odd`` says whether the number is odd in the next
    cycle; only then does each other bit change below which all are ones. The bits from the second
    one on may be read in this cycle: a step to an odd number changes the lowest one only.
    """
    return Cat(lowest, (odd & number[1:bit].all() for bit in range(1, len(number))))


def up(number: Value) -> Value:
    """The number after one, in plain gates."""
    return number ^ flips(number)


def minus(number: Value, other: Value) -> Value:
    """A difference in plain gates, and above it whether the other one is higher."""
    bits: list[Value] = []
    borrow: Value = Const(0, 1)
    for n in range(len(number)):
        bit = number[n]
        taken = other[n] if n < len(other) else Const(0, 1)
        bits.append(bit ^ taken ^ borrow)
        borrow = (~bit & (taken | borrow)) | (taken & borrow)
    return Cat(bits, borrow)


def plus(number: Value, other: Value) -> Value:
    """A sum in plain gates, with a bit more than the longer one has.

    Carries do not ripple: each is known from those of two parts of the bits below it.
    """
    width = max(len(number), len(other))
    one, more = (Cat(each, Const(0, width))[:width] for each in (number, other))

    @cache
    def carries(begin: int, end: int) -> tuple[Value, Value]:
        """Whether some bits carry by themselves, and whether they do if there is a carry below."""
        if end - begin == 1:
            return one[begin] & more[begin], one[begin] | more[begin]
        middle = begin + (1 << (end - begin - 1).bit_length() - 1)
        (low, low_passed), (high, high_passed) = carries(begin, middle), carries(middle, end)
        return high | (high_passed & low), high | (high_passed & low_passed)

    return one ^ more ^ Cat(Const(0, 1), (carries(0, n)[0] for n in range(1, width + 1)))


def moved(number: Value, by: int, more: Value) -> Value:
    """A number and a constant, from -4 to 1, and one if ``more`` is set, behind two lookup tables.

    The first one is for the lowest two bits, and finds whether the others are moved by one.
    """
    low, high = number[:2], number[2:]

    def low_moved(by: int) -> Value:
        sums = [old + by for old in range(4)]
        return Cat(
            any_of(low == old for old in range(4) if sums[old] & 1),
            any_of(low == old for old in range(4) if sums[old] & 2),
            any_of(low == old for old in range(4) if not 0 <= sums[old] < 4),
        )

    sums = select(more, low_moved(by + 1), low_moved(by))
    bits = high if by >= 0 else ~high
    return Cat(sums[:2], (high[n] ^ (sums[2] & bits[:n].all()) for n in range(len(high))))


def majority(one: Value, other: Value, third: Value) -> Value:
    """Whether at least two of three bits are set."""
    return (one & other) | (third & (one | other))


def compared(number: Value) -> tuple[Value, Value, Value]:
    """How a number compares with all that have so many bits, in two parts.

    Of each number that the bits above the lowest :data:`LOW` may be: whether they are higher, and
    whether they are the same. Of each one that the lowest may be: whether they are not lower.
    """
    low, high = number[:LOW], number[LOW:]
    lows, highs = range(1 << len(low)), range(1 << len(high))
    return (
        Cat(any_of(high == n for n in highs[least + 1 :]) for least in highs),
        Cat(high == n for n in highs),
        Cat(any_of(low == n for n in lows[least:]) for least in lows),
    )


def at_least(higher: Value, same: Value, not_lower: Value) -> Value:
    """Of each number with so many bits, whether a number that was :func:`compared` is not lower."""
    return Cat(
        higher[high] | (same[high] & not_lower[low])
        for high in range(len(same))
        for low in range(len(not_lower))
    )


def saturating_counter(
    section: Section, name: str, width: int, clear: Value, step: Value
) -> tuple[Value, Signal]:
    """How many steps there were, and whether there were too many; then it saturates at all ones.

    It has to be cleared before it is used: it has no reset, which would come a long way.

    The lowest part counts every step. Those above it change so seldom that it is known some cycles
    before whether all below them, but for the lowest, are full.
    """
    m = section.m

    def register(part: str, bits: int = 1) -> Signal:
        return section.register(f"{name}_{part}", bits, reset_less=True)

    parts = [register(str(low), min(PART, width - low)) for low in range(0, width, PART)]
    lowest, *others = parts
    lowest_full, over = register("lowest_full"), register("over")
    # For each part and for the whole: whether the parts between it and the lowest are full.
    full = [register(f"full_{n}") for n in range(len(others))]
    below = [None, *full][: len(others)]
    all_full = full[-1] if full else Const(1)
    with m.If(clear):
        m.d.sync += [each.eq(0) for each in (*parts, lowest_full, over, *full)]
    with m.Else():
        m.d.sync += [
            is_full.eq(part.all() if is_below is None else part.all() & is_below)
            for part, is_full, is_below in zip(others, full, below, strict=True)
        ]
        with m.If(step & lowest_full & all_full):
            m.d.sync += over.eq(1)
        with m.Elif(step):
            m.d.sync += [lowest.eq(up(lowest)), lowest_full.eq(~lowest[0] & lowest[1:].all())]
            for part, is_below in zip(others, below, strict=True):
                counts = lowest_full if is_below is None else lowest_full & is_below
                with m.If(counts):
                    m.d.sync += part.eq(up(part))
    return Cat(parts), over
