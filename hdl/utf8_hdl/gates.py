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


def unmerged(value: Value, register: Signal) -> Value:
    """The next value of a register that synthesis must not merge with others that take the same.

    The value that it has is part of the expression, without a difference, so that Yosys sees none
    to merge. The Verilog has attributes for Vivado and Quartus, which may see through that.
    """
    register.attrs["unmerged"] = 1
    return value | (value & register)


def named(m: Module, name: str, value: Value) -> Signal:
    """A signal with a value. Amaranth writes an expression out again wherever it is used."""
    signal = Signal(len(value), name=name)
    m.d.comb += signal.eq(value)
    return signal


def running(m: Module) -> Signal:
    """A register that is low during reset and in the first cycle after it."""
    register = Signal(name="running")
    m.d.sync += register.eq(1)
    return register


def any_of(terms: Iterable[Value]) -> Value:
    """Whether one of some bits is set."""
    return reduce(or_, terms, Const(0, 1))
