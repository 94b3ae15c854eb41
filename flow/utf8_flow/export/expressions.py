"""Verilog expressions for the bits of a netlist."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, NamedTuple

from utf8_hdl.logic import patterns

from .cells import (
    ARITHMETIC,
    BITWISE,
    COMPARISONS,
    REDUCTIONS,
    Bits,
    Cell,
    Expression,
    Run,
    Vector,
    joined,
    runs,
)
from .constants import Bit
from .loops import Loop, loop_of
from .netlist import Netlist
from .text import LINE, constant, indented

SHORT = 64
"""Maximum length of an expression that is repeated at each use, in characters.

A longer expression becomes a wire.
"""

WIDEST = 8
"""Maximum width of the subject of a ``case``."""


Logic = Callable[[Cell, int, int], Expression]
"""Writes a range of bits of an operator's result."""


class Arm(NamedTuple):
    """A part of a ``case``: values of its subject, and the result for them."""

    values: frozenset[int]
    result: Expression


class Table(NamedTuple):
    """A choice by the values of a vector; the last arm is the default."""

    subject: Vector
    arms: list[Arm]


class Expressions(Netlist):
    """Verilog for the bits of a netlist. A wire is declared when it is first used."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._assigned: set[Vector] = set()
        self._wires: list[str] = []
        self._unnamed = 0
        # Names of loop variables, blocks and functions.
        self._other_names: list[str] = []
        # Loop variables: of statements, and of generate blocks.
        self._variable, self._genvar = self._free("n"), self._free("i")
        self._has_genvar = False
        # Names of the values that an expression may have; all that were used, by enumerations.
        self._values: Mapping[str, str] = {}
        self._named_values: dict[str, dict[str, str]] = {}

    def _free(self, name: str) -> str:
        """A name that no signal has."""
        return self._free(f"{name}_") if name in self._names else name

    def _repeated(self, name: str, turns: int, body: list[str]) -> list[str]:
        """A generate block of that name."""
        self._has_genvar = True
        i = self._genvar
        head = f"for ({i} = 0; {i} < {turns}; {i} = {i} + 1) begin : {self._noted(name)}"
        return ["generate", f"  {head}", *indented(indented(body)), "  end", "endgenerate"]

    def _parts(self, vector: Vector, loop: Loop) -> list[str]:
        """Continuous assignments to the parts of a vector."""
        assignment = loop.assignment(vector.name, len(vector.bits), "=", self._genvar)
        return self._repeated(f"{vector.name}_parts", loop.turns, [f"assign {assignment}"])

    def _noted(self, name: str) -> str:
        """Note a name that is not that of a signal, so that it is checked to be unique."""
        self._other_names.append(name)
        return name

    @contextmanager
    def _enumerated(self, values: Mapping[str, str]) -> Iterator[None]:
        """Use names for constants that are results of an expression."""
        before, self._values = self._values, values
        try:
            yield
        finally:
            self._values = before

    def _values_of(self, bits: Bits) -> Mapping[str, str]:
        """The names of the values of some bits, if they are an enumeration."""
        return self._enumerations.get(bits, {})

    def _constant(self, levels: str) -> str:
        """A constant from its bits, given lowest first."""
        name = self._values.get(levels[::-1])
        if name is None:
            return constant(levels)
        self._named_values.setdefault(min(self._values.values()), {})[name] = levels
        return name

    def _result(self, vector: Vector, bits: Bits) -> Expression:
        """The expression for the next value, or the value, of a vector."""
        with self._enumerated(self._values_of(vector.bits)):
            return self._expression(bits)

    def _expression(self, bits: Bits) -> Expression:
        """The expression for some bits, by their names where they have names."""
        return joined([self._run(run, self._logic) for run in self._runs(bits)])

    def _loop(self, parts: list[Run], logic: Logic) -> Loop | None:
        """The loop for a concatenation, or for bitwise logic of long concatenations."""
        values = [self._run(part, logic) for part in parts]
        if loop := loop_of(values, [len(part.bits) for part in parts]):
            return loop
        width = sum(len(part.bits) for part in parts)
        is_bitwise = all(
            isinstance(part.source, Cell) and part.source.type in (*BITWISE, "$not")
            for part in parts
        )
        if joined(values).text.count(",") < width - 1 or not is_bitwise:
            return None
        bits = [
            Run(part.source, min(part.low + place, part.high), (bit,))
            for part in parts
            for place, bit in enumerate(part.bits)
        ]
        return loop_of([self._run(bit, logic) for bit in bits], [1] * width)

    def _condition(self, bits: Bits) -> Expression:
        """The expression for bits that are no result, but decide it."""
        with self._enumerated({}):
            return self._expression(bits)

    def _runs(self, bits: Bits) -> list[Run]:
        return runs(bits, lambda bit: self._places.get(bit) or self._drivers[bit])

    def _run(self, run: Run, logic: Logic) -> Expression:
        if run.source is None:
            return Expression(self._constant("".join(map(str, run.bits))))
        if isinstance(run.source, Vector):
            one = self._part(run.source, run.low, run.high)
        else:
            one = logic(run.source, run.low, run.high)
        return Expression(f"{{{len(run.bits)}{{{one.text}}}}}") if run.is_repeated else one

    def _part(self, vector: Vector, low: int, high: int) -> Expression:
        """Some bits of a vector. If it is no port or register, its first use declares a wire."""
        driver = self._drivers.get(vector.bits[0])
        is_wire = vector not in self._outputs and driver and not driver[0].is_register
        if is_wire and vector not in self._assigned:
            lines = self._assignment(vector)
            self._wires += lines
        return Expression(vector.part(low, high))

    def _assignment(self, vector: Vector) -> list[str]:
        """The assignment to a wire or an output, which then counts as assigned."""
        self._assigned.add(vector)
        if self._places.get(vector.bits[0], (None, 0))[0] is not vector:
            return [f"assign {vector.name} = {self._result(vector, vector.bits).text};"]
        if vector not in self._outputs and (lines := self._function(vector)):
            return lines
        parts = runs(vector.bits, self._drivers.__getitem__)
        with self._enumerated(self._values_of(vector.bits)):
            value = joined([self._run(run, self._part_of) for run in parts]).text
            loop = self._loop(parts, self._part_of)
        if vector in self._outputs:
            return self._parts(vector, loop) if loop else [f"assign {vector.name} = {value};"]
        if loop:
            return [f"wire {vector.declaration};", *self._parts(vector, loop)]
        return [f"wire {vector.declaration} = {value};"]

    # --- tables ---------------------------------------------------------------------------------

    def _function(self, vector: Vector) -> list[str]:
        """A function for a wire that is a table of constants, and its use; empty for others.

        A continuous assignment is evaluated at time 0; ``always @*`` would not be.
        """
        cell, place = self._drivers[vector.bits[0]]
        table = self._table(vector, cell) if vector.bits == cell.result and not place else None
        if table is None or any(isinstance(bit, int) for pin in "AB" for bit in cell.pins[pin]):
            return []
        name, subject = self._noted(f"{vector.name}_of"), table.subject
        width = vector.declaration.removesuffix(vector.name)
        argument = Vector(self._free("value"), subject.bits)
        return [
            f"function automatic {width}{name};",
            f"  input {argument.declaration};",
            *indented(self._case(table, argument.name, f"{name} =")),
            "endfunction",
            f"wire {vector.declaration} = {name}({subject.name});",
        ]

    def _case(self, table: Table, subject: str, target: str) -> list[str]:
        """The ``case`` for a table. ``target`` is what is assigned, with the operator."""
        *arms, _default = table.arms
        names, width = self._values_of(table.subject.bits), len(table.subject.bits)
        labels = [self._labels(arm.values, width, names) for arm in arms]
        kind = "casez" if any("?" in label for label in labels) else "case"
        lines = []
        for label, arm in zip([*labels, "default"], table.arms, strict=True):
            begin, end = f"{label}:", f"{target} {arm.result.text};"
            fits = len(begin) + len(end) < LINE - 12
            lines += [f"{begin} {end}"] if fits else [begin, f"  {end}"]
        return [f"{kind} ({subject})", *indented(lines), "endcase"]

    def _labels(self, values: frozenset[int], width: int, names: Mapping[str, str]) -> str:
        """The values of an arm: names, or numbers, or patterns in which ``?`` is any bit."""
        digits = [f"{value:0{width}b}" for value in sorted(values)]
        if names.keys() >= {*digits}:
            with self._enumerated(names):
                return ", ".join(self._constant(levels[::-1]) for levels in digits)
        return ", ".join(
            f"{width}'b{pattern.replace('-', '?')}" if "-" in pattern else constant(pattern[::-1])
            for pattern in patterns(values, width)
        )

    def _table(self, vector: Vector, cell: Cell) -> Table | None:
        """The table of a multiplexer if all of its conditions are about one short vector."""
        if cell.type != "$pmux":
            return None
        conditions = self._all_hold(cell.pins["S"])
        if conditions is None:
            return None
        (subject, sets), width = conditions, len(cell.result)
        rest = frozenset(range(1 << len(subject.bits)))
        default = self._result(vector, cell.pins["A"])
        found: dict[Expression, frozenset[int]] = {}
        for n, values in enumerate(sets):
            result = self._result(vector, cell.pins["B"][n * width : (n + 1) * width])
            found[result] = found.get(result, frozenset()) | (values & rest)
            rest -= values
        if not rest:  # the default is never chosen
            default = max(found, key=lambda result: len(found[result]))
        arms = [Arm(values, result) for result, values in found.items() if values]
        return Table(subject, [*(arm for arm in arms if arm.result != default), Arm(rest, default)])

    def _holds(self, bit: Bit) -> tuple[Vector, frozenset[int]] | None:
        """The short vector that a bit depends on, and the values for which it is 1."""
        if bit not in self._drivers or self._drivers[bit][0].is_register:
            if bit not in self._places or len(self._places[bit][0].bits) > WIDEST:
                return None
            vector, place = self._places[bit]
            values = range(1 << len(vector.bits))
            return vector, frozenset(value for value in values if value >> place & 1)
        cell, place = self._drivers[bit]
        if cell.type in ("$not", "$and", "$or"):
            pins = [cell.operand(pin, place, place)[0] for pin in "AB" if pin in cell.pins]
        elif cell.type in ("$eq", "$logic_not", "$reduce_or", "$reduce_bool", "$reduce_and"):
            pins = [*cell.pins["A"]]
        else:
            return None
        if cell.type == "$eq" and not _is_constant(cell.pins["B"], len(pins)):
            return None
        operands = self._all_hold(pins)
        if operands is None:
            return None
        vector, sets = operands
        every = frozenset(range(1 << len(vector.bits)))
        if cell.type == "$eq":
            pairs = zip(sets, cell.operand("B", 0, len(sets) - 1), strict=True)
            sets = [each if level == "1" else every - each for each, level in pairs]
        union: frozenset[int] = reduce(frozenset.union, sets)
        if cell.type in ("$not", "$logic_not"):
            return vector, every - union
        if cell.type in ("$and", "$eq", "$reduce_and"):
            return vector, reduce(frozenset.intersection, sets)
        return vector, union

    def _all_hold(self, bits: Sequence[Bit]) -> tuple[Vector, list[frozenset[int]]] | None:
        """The same for several bits, if all of them depend on one vector."""
        found = [self._holds(bit) for bit in bits]
        known = [each for each in found if each]
        if len(known) < len(found) or len({vector for vector, _ in known}) != 1:
            return None
        return known[0][0], [values for _, values in known]

    # --- operators ------------------------------------------------------------------------------

    def _logic(self, cell: Cell, low: int, high: int) -> Expression:
        """Some bits of an operator's result, named if it is long and used more than once."""
        expression = self._part_of(cell, low, high)
        shared = any(self._uses[bit] > 1 for bit in cell.result[low : high + 1])
        if shared and len(expression.text) > SHORT:
            return self._named(cell, low, high)
        return expression

    def _part_of(self, cell: Cell, low: int, high: int) -> Expression:
        """Some bits of an operator's result, named if they depend on its other bits."""
        whole = high - low + 1 == len(cell.result)
        if whole or cell.type in (*BITWISE, "$not", "$mux", "$pmux"):
            return self._operation(cell, low, high)
        return self._named(cell, low, high)

    def _named(self, cell: Cell, low: int, high: int) -> Expression:
        stored = [register for register in self._registers if register.pins["D"] == cell.result]
        if stored:
            name = f"{self._places[stored[0].result[0]][0].name}_next"
        else:
            self._unnamed += 1
            name = f"logic_{self._unnamed}"
        vector = Vector(name, cell.result)
        self._places |= {bit: (vector, place) for place, bit in enumerate(vector.bits)}
        return self._part(vector, low, high)

    def _index(self, bits: Bits) -> str:
        """An index. A result gets a name: Icarus Verilog does not truncate a sum in an index."""
        parts = self._runs(bits)
        if len(parts) == 1 and isinstance(parts[0].source, Cell):
            return self._named(parts[0].source, parts[0].low, parts[0].high).text
        return self._expression(bits).text

    def _memory_name(self, cell: Cell) -> str:
        return next(each.name for each in self._memories if cell in each.cells.values())

    def _operation(self, cell: Cell, low: int, high: int) -> Expression:
        if cell.type == "$mux":
            return self._choice(cell, low, high)
        if cell.type == "$pmux":
            return self._priority(cell, low, high)
        with self._enumerated({}):
            if cell.is_memory:
                return Expression(f"{self._memory_name(cell)}[{self._index(cell.pins['RD_ADDR'])}]")
            if cell.type in BITWISE:
                return self._bitwise(cell.type, *(cell.operand(pin, low, high) for pin in "AB"))
            if operator := ARITHMETIC.get(cell.type):
                sides = (self._expression(cell.operand(pin, low, high)).beside("") for pin in "AB")
                return Expression(f" {operator} ".join(sides), "arithmetic")
            if cell.type == "$not":
                return _inverted(self._expression(cell.operand("A", low, high)))
            if len(cell.result) == 1:
                return self._one_bit(cell)
        raise NotImplementedError(f"a cell {cell.type} in Verilog")

    def _bitwise(self, kind: str, one: Bits, other: Bits) -> Expression:
        """A bitwise operation; nothing remains of it if an operand is all zeros or all ones."""
        if one == other and kind != "$xor":
            return self._expression(one)
        for bits, rest in ((one, other), (other, one)):
            if set(bits) == {"0"}:
                return self._expression(bits if kind == "$and" else rest)
            if set(bits) == {"1"}:
                value = self._expression(bits if kind == "$or" else rest)
                return _inverted(value) if kind == "$xor" else value
        operator = BITWISE[kind]
        sides = (self._expression(bits).beside(operator) for bits in (one, other))
        return Expression(f" {operator} ".join(sides), operator)

    def _one_bit(self, cell: Cell) -> Expression:
        """A reduction or a comparison."""
        if operator := REDUCTIONS.get(cell.type):
            return self._reduction(cell, operator)
        if cell.type == "$logic_not":
            return self._comparison("==", cell.pins["A"], ("0",) * len(cell.pins["A"]))
        if operator := COMPARISONS.get(cell.type):
            width = max(len(cell.pins["A"]), len(cell.pins["B"]))
            one, other = (cell.operand(pin, 0, width - 1) for pin in "AB")
            return self._comparison(operator, one, other)
        raise NotImplementedError(f"a cell {cell.type} in Verilog")

    def _comparison(self, operator: str, one: Bits, other: Bits) -> Expression:
        if len(one) == 1 and operator == "==" and isinstance(other[0], str):
            value = self._expression(one)
            return value if other == ("1",) else _inverted(value)
        with self._enumerated(self._values_of(one)):
            sides = [self._expression(bits).beside("") for bits in (one, other)]
        inverse = " != ".join(sides) if operator == "==" else ""
        return Expression(f" {operator} ".join(sides), "comparison", inverse)

    def _reduction(self, cell: Cell, operator: str) -> Expression:
        """The reduction of all bits of an operand by an operator."""
        neutral = "1" if operator == "&" else "0"
        bits = tuple(bit for bit in cell.pins["A"] if bit != neutral)
        if len(bits) == 1:
            return self._expression(bits)
        parts = self._runs(bits or cell.pins["A"])
        values = [self._run(run, self._logic) for run in parts]
        if len(parts) == 1:
            return Expression(operator + values[0].behind(), "in front")
        terms = [
            value.beside(operator) if len(run.bits) == 1 else f"({operator}{value.behind()})"
            for run, value in zip(parts, values, strict=True)
        ]
        return Expression(f" {operator} ".join(reversed(terms)), operator)

    def _choice(self, cell: Cell, low: int, high: int) -> Expression:
        """A choice of two values; the simpler value is written first."""
        chosen = self._condition(cell.pins["S"])
        otherwise, then = (cell.operand(pin, low, high) for pin in "AB")
        if low == high and not self._values:
            for bits, rest, is_then in ((then, otherwise, True), (otherwise, then, False)):
                if isinstance(bits[0], str):
                    return self._gate(chosen, bits[0] == "1", self._expression(rest), is_then)
        return _choose(chosen, self._expression(then), self._expression(otherwise))

    @staticmethod
    def _gate(chosen: Expression, level: bool, rest: Expression, is_then: bool) -> Expression:
        """A bit that is ``level`` if a condition is ``is_then``, and else ``rest``."""
        condition = chosen if is_then == level else _inverted(chosen)
        if rest.text in ("1'b0", "1'b1"):
            return condition if (rest.text == "1'b0") == level else rest
        operator = "|" if level else "&"
        sides = condition.beside(operator), rest.beside(operator)
        return Expression(f" {operator} ".join(sides), operator)

    def _priority(self, cell: Cell, low: int, high: int) -> Expression:
        """The first of several values whose condition holds."""
        width = len(cell.result)
        result = self._expression(cell.operand("A", low, high))
        for n, condition in reversed([*enumerate(cell.pins["S"])]):
            value = self._expression(cell.operand("B", n * width + low, n * width + high))
            result = _choose(self._condition((condition,)), value, result, swap=False)
        return result


def _is_constant(bits: Bits, width: int) -> bool:
    """True if an operand is a constant, no wider than the other operand."""
    return len(bits) <= width and all(isinstance(bit, str) for bit in bits)


def _choose(
    chosen: Expression, then: Expression, otherwise: Expression, swap: bool = True
) -> Expression:
    """A choice of two expressions."""
    if then == otherwise:
        return then
    if swap and then.operator == "?" != otherwise.operator:
        chosen, then, otherwise = Expression(f"!{chosen.behind()}"), otherwise, then
    return Expression(f"{chosen.beside('')} ? {then.beside('')} : {otherwise.beside('?')}", "?")


def _inverted(value: Expression) -> Expression:
    """The complement of a value."""
    if value.text.startswith("~") and not value.operator:
        return Expression(value.text[1:])
    if value.inverse:
        return Expression(value.inverse, value.operator)
    return Expression(f"~{value.behind()}")
