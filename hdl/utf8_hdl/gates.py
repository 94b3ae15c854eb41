"""Expressions that synthesis is to take as they are written."""

from collections.abc import Iterable
from functools import reduce
from operator import or_

from amaranth.hdl import Const, Module, Signal, Value


def select(condition: Value, then: Value, otherwise: Value) -> Value:
    """A choice in plain gates, for all bits or, if there are more conditions, for each.

    Synthesis makes an enable or a reset of a choice that keeps or clears a register. Where that
    would be slower than a gate, it is written so.
    """
    mask = condition.replicate(len(then)) if len(condition) == 1 else condition
    return (then & mask) | (otherwise & ~mask)


def unmerged(value: Value, register: Value) -> Value:
    """What a register is to take, so that synthesis does not make one of those that take the same.

    What it holds has a part in that, and makes no difference.
    """
    return value | (value & register)


def running(m: Module) -> Signal:
    """A register that is low during reset and in the first cycle after it."""
    register = Signal(name="running")
    m.d.sync += register.eq(1)
    return register


def any_of(terms: Iterable[Value]) -> Value:
    """Whether one of some bits is set."""
    return reduce(or_, terms, Const(0, 1))
