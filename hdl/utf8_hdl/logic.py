"""Logic that synthesis should map as written: choices, and arithmetic without carry chains."""

from collections.abc import Iterable
from functools import cache, reduce
from itertools import pairwise
from operator import or_
from typing import TYPE_CHECKING

from amaranth.hdl import Cat, Const, Module, Signal, Value

if TYPE_CHECKING:
    from .flow_control.stage import Stage

LOW = 3
"""The low bits of a number that is compared; the others are its high bits."""

PART = 4
"""Bits of a counter that fit into one lookup table."""


def select(condition: Value, then: Value, otherwise: Value) -> Value:
    """Select in plain gates: one condition for all bits, or one for each bit.

    Synthesis turns a multiplexer that holds or clears a register into a clock enable or a reset.
    Use this where that would be slower than a gate.
    """
    mask = condition.replicate(len(then)) if len(condition) == 1 else condition
    return (then & mask) | (otherwise & ~mask)


def unmerged(value: Value, register: Signal) -> Value:
    """Next value of a register that synthesis must not merge with equal registers.

    A redundant term of the expression has the register itself, so that Yosys finds no equal ones.
    Vivado and Quartus may see through that; the Verilog has attributes for them.
    """
    register.attrs["unmerged"] = 1
    return value | (value & register)


def named(m: Module, name: str, value: Value) -> Signal:
    """Name an intermediate value. Amaranth repeats an unnamed expression wherever it is used."""
    signal = Signal(len(value), name=name)
    m.d.comb += signal.eq(value)
    return signal


def running(m: Module) -> Signal:
    """A register that is low during reset and in the first cycle after it."""
    heading = "Whether a cycle has passed since reset"  # as of a `Stage`
    register = Signal(name="running", attrs={"stage": heading})
    m.d.sync += register.eq(1)
    return register


def any_of(terms: Iterable[Value]) -> Value:
    """True if any of the bits is set."""
    return reduce(or_, terms, Const(0, 1))


def patterns(values: Iterable[int], width: int) -> list[str]:
    """Patterns of bits for some numbers, each matched by one pattern; ``-`` is any bit.

    They are few, not always the fewest.
    """
    missing, every = set(values), range(1 << width)
    blocks = {}
    for free in every:  # the bits that may be any
        steps = [step for step in every if not step & ~free]
        for number in (each for each in missing if not each & free):
            block = frozenset(number | step for step in steps)
            if block <= missing:
                digits = zip(f"{number:0{width}b}", f"{free:0{width}b}", strict=True)
                blocks[block] = "".join("-" if any_bit == "1" else bit for bit, any_bit in digits)
    found = []
    while missing:
        best = max((block for block in blocks if block <= missing), key=len)
        found.append((min(best), blocks[best]))
        missing -= best
    return [pattern for _, pattern in sorted(found)]


def matches(value: Value, pattern: str) -> Value:
    """True if the bits of a value, the highest one first, are those of a pattern."""
    places = [place for place, bit in enumerate(reversed(pattern)) if bit != "-"]
    bits = "".join(pattern[::-1][place] for place in reversed(places))
    return Cat(value[place] for place in places) == int(bits, 2) if places else Const(1, 1)


def one_of(value: Value, numbers: Iterable[int]) -> Value:
    """True if a value is one of some numbers."""
    if not len(value):
        return Const(0 in set(numbers), 1)
    return any_of(matches(value, pattern) for pattern in patterns(numbers, len(value)))


def flips(number: Value) -> Value:
    """The bits that change if a number is incremented: each whose lower bits are all ones."""
    return Cat(number[:bit].all() for bit in range(len(number)))


def up(number: Value) -> Value:
    """A number plus 1, without a carry chain."""
    return number ^ flips(number)


def sum_and(one: Value, other: Value, a: Value, b: Value) -> Value:
    """The sum of two numbers of equal width, plus 1 if ``a`` and ``b`` are set, in that width.

    This is one carry chain; synthesis would make two of ``one + other + (a & b)``. The lowest bit
    of the chain adds ``a`` and ``b``, so no gate precedes the chain.
    """
    return (Cat(a, one) + Cat(b, other))[1 : 1 + len(one)]


def minus(number: Value, other: Value) -> Value:
    """A difference without a carry chain. Its highest bit is set if ``other`` is higher."""
    bits: list[Value] = []
    borrow: Value = Const(0, 1)
    for n in range(len(number)):
        bit = number[n]
        taken = other[n] if n < len(other) else Const(0, 1)
        bits.append(bit ^ taken ^ borrow)
        borrow = (~bit & taken) | (borrow & (~bit | taken))
    return Cat(bits, borrow)


def plus(number: Value, other: Value) -> Value:
    """A sum without a carry chain, one bit wider than the wider addend.

    Carries do not ripple: each is computed from the carries of two parts of the bits below it.
    """
    width = max(len(number), len(other))
    one, more = (
        [each[n] if n < len(each) else Const(0, 1) for n in range(width)]
        for each in (number, other)
    )

    @cache
    def carries(begin: int, end: int) -> tuple[Value, Value]:
        """Carry out of some bits: without a carry in, and with one."""
        if end - begin == 1:
            return one[begin] & more[begin], one[begin] | more[begin]
        middle = begin + (1 << (end - begin - 1).bit_length() - 1)
        (low, low_passed), (high, high_passed) = carries(begin, middle), carries(middle, end)
        return high | (high_passed & low), high | (high_passed & low_passed)

    return number ^ other ^ Cat(Const(0, 1), (carries(0, n)[0] for n in range(1, width + 1)))


def moved(number: Value, by: int, more: Value) -> Value:
    """A number plus a constant from -4 to 1, plus 1 if ``more`` is set, two lookup tables deep.

    The first lookup table computes the two lowest bits, and decides if the others change by one.
    """
    low, high = number[:2], number[2:]

    def low_moved(by: int) -> Value:
        sums = [old + by for old in range(4)]
        return Cat(
            one_of(low, (old for old in range(4) if sums[old] & 1)),
            one_of(low, (old for old in range(4) if sums[old] & 2)),
            one_of(low, (old for old in range(4) if not 0 <= sums[old] < 4)),
        )

    sums = select(more, low_moved(by + 1), low_moved(by))
    bits = high if by >= 0 else ~high
    return Cat(sums[:2], (high[n] ^ (sums[2] & bits[:n].all()) for n in range(len(high))))


def majority(one: Value, other: Value, third: Value) -> Value:
    """True if at least two of three bits are set."""
    return (one & other) | (third & (one | other))


def thermometer(number: Value) -> Value:
    """The thermometer code of a number: it is at least 1, at least 2, and so on."""
    code = Const(0, 0)
    for bit in number:
        above = bit.replicate(len(code))
        code = Cat(code | above, bit, code & above) if len(code) else Cat(bit)
    return code


def compared(number: Value) -> tuple[Value, Value]:
    """A number's low bits and its high bits as thermometer codes, for :func:`at_least`."""
    return thermometer(number[:LOW]), thermometer(number[LOW:])


def at_least(low: Value, high: Value) -> Value:
    """The thermometer code of a number, from :func:`compared`: at least 0, at least 1, and so
    on."""
    lows, highs = Cat(Const(1, 1), low), [Const(1, 1), *iter(high), Const(0, 1)]
    return Cat(
        above.replicate(len(lows)) | (lows & same_or_above.replicate(len(lows)))
        for same_or_above, above in pairwise(highs)
    )


def saturating_counter(
    stage: "Stage", name: str, width: int, clear: Value, step: Value
) -> tuple[Value, Signal]:
    """A counter of steps that stays at all ones, and its overflow flag: a step beyond that.

    It has no reset, to save long wires: clear it before use.

    The counter is split into parts. The lowest part counts every step. The higher parts change so
    rarely that registers tell some cycles ahead if the parts between them and the lowest are full.
    """
    m = stage.m

    def register(part: str, bits: int = 1) -> Signal:
        return stage.signal(f"{name}_{part}", bits, reset_less=True)

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
