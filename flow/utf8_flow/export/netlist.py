"""Yosys netlists as Verilog for human review: registers by stage, logic as expressions.

The Verilog has only registers and memories, in ``initial`` and ``always @(posedge clk)``, and
continuous assignments. So every tool interprets it in the same way in every language mode.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from .hierarchy import Bit, Submodule

LINE = 100
"""Maximum line length in characters."""

MANY = 24
"""Maximum number of parts of a concatenation with one part per line; more parts share lines."""

SHORT = 64
"""Maximum length of an expression that is repeated at each use, in characters.

A longer expression becomes a wire.
"""

STAGE = "stage"
"""Attribute with the heading that a register is under. Numbers in headings sort by value."""

POWER_UP = "power_up"
"""Attribute of a register that must have no initial value."""

UNMERGED = "unmerged"
"""Attribute of a register that must not be merged with registers of the same next value."""

_UNMERGED = '(* keep = "true", dont_merge *) '
"""Equivalent attributes for Vivado (and Yosys), and for Quartus."""

Bits = tuple[Bit, ...]

Control = tuple[Bit, bool] | None
"""Clock enable or reset of a register: a bit, and its active value."""

RESULTS = "Y", "Q", "RD_DATA"
"""Output pins of operators, registers and memories."""

MEMORY = "$mem_v2"
MEMORY_PORT = r"__(addr|data|en)(\$\d+)?$"
"""Matches the end of Amaranth's names for the signals of memory ports."""

MEMORY_PARAMETERS = {
    "RD_PORTS": 1, "RD_CLK_ENABLE": 0, "WR_PORTS": 1, "WR_CLK_ENABLE": 1, "WR_CLK_POLARITY": 1,
    "OFFSET": 0, "INIT": 0,
}  # fmt: skip
"""Required parameters of a memory: initially zero, a write port, an asynchronous read port."""

REGISTERS = "$dff", "$dffe", "$sdff", "$sdffe", "$sdffce"
BITWISE = {"$and": "&", "$or": "|", "$xor": "^"}
REDUCTIONS = {"$reduce_and": "&", "$reduce_or": "|", "$reduce_bool": "|", "$reduce_xor": "^"}
ORDERS = {"$lt": "<", "$le": "<=", "$gt": ">", "$ge": ">="}
COMPARISONS = {"$eq": "==", "$ne": "!=", **ORDERS}
ARITHMETIC = {"$add": "+", "$sub": "-"}


class Expression(NamedTuple):
    """Verilog for a value, and its operator if it needs parentheses beside any other operator."""

    text: str
    operator: str = ""

    def beside(self, operator: str) -> str:
        """The text as an operand of ``operator``."""
        return self.text if self.operator in ("", operator) else f"({self.text})"

    def behind(self) -> str:
        """The text as the operand of a prefix operator; two of these must not be adjacent."""
        return f"({self.text})" if self.operator or self.text.startswith("~") else self.text


@dataclass(frozen=True, eq=False)
class Vector:
    """A port, a register or a wire."""

    name: str
    bits: Bits

    @property
    def declaration(self) -> str:
        """The range, if the vector has several bits, and the name."""
        return f"[{len(self.bits) - 1}:0] {self.name}" if len(self.bits) > 1 else self.name

    def part(self, low: int, high: int) -> str:
        """The Verilog for a range of its bits."""
        if high - low == len(self.bits) - 1:
            return self.name
        return f"{self.name}[{high}:{low}]" if high > low else f"{self.name}[{low}]"


@dataclass(frozen=True, eq=False)
class Cell:
    """An operator, a register or a memory."""

    type: str
    parameters: dict[str, str]
    attributes: dict[str, str]
    pins: dict[str, Bits]

    @property
    def is_register(self) -> bool:
        return self.type in REGISTERS

    @property
    def is_memory(self) -> bool:
        return self.type == MEMORY

    @property
    def result(self) -> Bits:
        return next(self.pins[pin] for pin in RESULTS if pin in self.pins)

    def check(self) -> None:
        """Reject a cell for which this module has no Verilog."""
        is_signed = self.type in ORDERS and any(map(self._is_signed, "AB"))
        is_falling = "1" not in self.parameters.get("CLK_POLARITY", "1")
        is_odd = self.is_memory and (
            any(int(self.parameters[name], 2) != level for name, level in MEMORY_PARAMETERS.items())
            or len(set(self.pins["WR_EN"])) > 1
        )
        if is_signed or is_falling or is_odd or self.pins.keys().isdisjoint(RESULTS):
            raise NotImplementedError(f"a cell {self.type} in Verilog")

    def operand(self, pin: str, low: int, high: int) -> Bits:
        """A range of bits of an operand, extended by its sign or by zeros."""
        bits = self.pins[pin]
        sign = bits[-1] if self._is_signed(pin) else "0"
        return tuple(bits[n] if n < len(bits) else sign for n in range(low, high + 1))

    def _is_signed(self, pin: str) -> bool:
        return "1" in self.parameters.get(f"{pin}_SIGNED", "")

    def control(self, pin: str) -> Control:
        """The clock enable or the reset of a register."""
        polarity = self.parameters.get(f"{pin}_POLARITY", "1")
        return (self.pins[pin][0], "1" in polarity) if pin in self.pins else None


def _with_reset(cell: Cell, choices: Mapping[Bits, Cell]) -> Cell:
    """Restore the reset of a register that is 1 unless it is reset.

    Yosys turned the reset into a multiplexer. With that, unlike every other register, it would be
    unknown in simulation while the reset is unknown. Other cells are returned unchanged.
    """
    choice = choices.get(cell.pins["D"]) if cell.type == "$dff" else None
    if choice is None or {choice.pins["A"], choice.pins["B"]} != {("0",), ("1",)}:
        return cell
    polarity = "1" if choice.pins["B"] == ("0",) else "0"
    parameters = cell.parameters | {"SRST_POLARITY": polarity, "SRST_VALUE": "0"}
    pins = cell.pins | {"D": ("1",), "SRST": choice.pins["S"]}
    return replace(cell, type="$sdff", parameters=parameters, pins=pins)


class Instance(NamedTuple):
    """A submodule in a netlist. What it drives has the names of its ports."""

    name: str
    module: str
    inputs: dict[str, Bits]
    outputs: dict[str, Vector]

    @classmethod
    def of(cls, name: str, submodule: Submodule, pins: Mapping[str, Bits]) -> "Instance":
        inputs, outputs = {}, {}
        for port, direction in submodule.ports.items():
            if direction == "input":
                inputs[_flat(port)] = pins[port]
            else:
                outputs[_flat(port)] = Vector(_flat(port), pins[port])
        return cls(_flat(name), submodule.module, inputs, outputs)


class Run(NamedTuple):
    """Adjacent bits of a vector or of a cell's result; constant bits; or one repeated bit."""

    source: Vector | Cell | None
    low: int
    bits: Bits

    @property
    def is_repeated(self) -> bool:
        return len(self.bits) > 1 and self.bits[0] == self.bits[1]

    @property
    def high(self) -> int:
        return self.low if self.is_repeated else self.low + len(self.bits) - 1

    def takes(self, bit: Bit, source: Vector | Cell | None, place: int) -> bool:
        """True if a bit extends the run at its upper end."""
        if source is None or self.source is None:
            return source is self.source
        if bit == self.bits[0]:
            return len(self.bits) == 1 or self.is_repeated
        return source is self.source and place == self.high + 1 and not self.is_repeated


Source = Callable[[Bit], tuple[Vector | Cell, int]]
"""Maps a bit to the vector or cell that has it, and to its index there."""


class Netlist:
    """One module, as Yosys outputs it after ``proc``, ``flatten`` and ``opt``.

    The names of signals lose the prefix ``scope``. Registers are declared in the order of the
    signal names in ``order``. ``submodules`` are those of which the module may have an instance, by
    the types of their cells and in the order of the instances.
    """

    def __init__(
        self,
        module: dict[str, Any],
        ports: Sequence[str],
        order: Sequence[str],
        submodules: Mapping[str, Submodule],
        scope: str = "",
    ) -> None:
        cells, instances = [], {}
        for name, cell in module["cells"].items():
            pins = {pin: tuple(bits) for pin, bits in cell["connections"].items()}
            if submodule := submodules.get(cell["type"]):
                own_name = name.removeprefix(f"{scope}.")
                instances[cell["type"]] = Instance.of(own_name, submodule, pins)
            elif pins:
                cells.append(Cell(cell["type"], cell["parameters"], cell["attributes"], pins))
        self._instances = [instances[kind] for kind in submodules if kind in instances]
        for cell in cells:
            cell.check()
        choices = {cell.result: cell for cell in cells if cell.type == "$mux"}
        cells = [_with_reset(cell, choices) for cell in cells]
        self._registers = [cell for cell in cells if cell.is_register]
        self._memories = {
            _flat(cell.parameters["MEMID"].removeprefix(f"\\{scope}.")): cell
            for cell in cells
            if cell.is_memory
        }
        self._drivers = {bit: (cell, n) for cell in cells for n, bit in enumerate(cell.result)}
        self._ports = [Vector(_flat(name), tuple(module["ports"][name]["bits"])) for name in ports]
        directions = [module["ports"][name]["direction"] for name in ports]
        self._inputs = [p for p, way in zip(self._ports, directions, strict=True) if way == "input"]
        self._outputs = [port for port in self._ports if port not in self._inputs]
        self._uses = Counter(bit for port in self._outputs for bit in set(port.bits))
        for cell in cells:
            for pin, bits in cell.pins.items():
                self._uses.update(set(bits) if pin not in RESULTS else ())
        for instance in self._instances:
            for bits in instance.inputs.values():
                self._uses.update(set(bits))
        nets = {
            name.removeprefix(f"{scope}."): (tuple(net["bits"]), net["attributes"])
            for name, net in module["netnames"].items()
            if not (net["hide_name"] or re.search(MEMORY_PORT, name))
        }
        structures_first = sorted(nets, key=lambda name: name.count("."))
        self._origins: dict[Bit, tuple[str, int, int]] = {}
        self._levels: dict[Bit, str] = {}
        self._without_level: set[Bit] = set()
        self._unmerged: set[Bit] = set()
        for name in structures_first:
            bits, attributes = nets[name]
            rank = order.index(name) if name in order else len(order)
            for place, bit in enumerate(bits):
                self._origins.setdefault(bit, (attributes.get(STAGE, ""), rank, place))
            self._levels |= dict(zip(bits, reversed(attributes.get("init", "")), strict=False))
            if POWER_UP in attributes:
                self._without_level.update(bits)
            if UNMERGED in attributes:
                self._unmerged.update(bits)
        stored = {bit for cell in self._registers for bit in cell.result}
        # Registers that are outputs; those of a component are not, so that its ports are wires.
        self._stored_outputs: list[Vector] = []
        free = set(stored) if not scope else set()
        for port in self._outputs:
            if free.issuperset(port.bits) and len(set(port.bits)) == len(port.bits):
                self._stored_outputs.append(port)
                free.difference_update(port.bits)
        self._places: dict[Bit, tuple[Vector, int]] = {}
        # The name of a register has priority over that of a wire that only repeats it.
        # An output that has other bits as well cannot be declared as a register.
        partly = {
            port.name
            for port in self._outputs
            if port not in self._stored_outputs and not stored.isdisjoint(port.bits)
        }
        names = [
            name
            for name in reversed(structures_first)
            if name not in ports or (name in partly and not scope)
        ]
        repeats_last = sorted(
            names, key=lambda name: "." not in name and "init" not in nets[name][1]
        )
        self._name_bits(
            *(
                [
                    Vector(
                        _flat(name) + "_stored" * (name in partly),
                        self._up_to_used(nets[name][0]),
                    )
                    for name in each
                ]
                for each in (repeats_last, names)
            )
        )
        self._assigned: set[Vector] = set()
        self._wires: list[str] = []
        self._unnamed = 0

    def _name_bits(self, of_registers: list[Vector], signals: list[Vector]) -> None:
        """Choose the vector that names each bit: a field rather than its structure."""
        stored = {bit for cell in self._registers for bit in cell.result}
        computed = set(self._drivers) - stored
        aliases = {port.bits for port in self._outputs}
        for vector in [
            *self._inputs,
            *(wire for instance in self._instances for wire in instance.outputs.values()),
            *self._stored_outputs,
            *(each for each in of_registers if stored.issuperset(_variable(each.bits))),
            *(Vector(f"{name}_word", cell.result) for name, cell in self._memories.items()),
            *(port for port in self._outputs if computed.issuperset(port.bits)),
            *(s for s in signals if computed.issuperset(s.bits) and s.bits not in aliases),
        ]:
            all_unnamed = self._places.keys().isdisjoint(vector.bits)
            all_differ = len(set(vector.bits)) == len(vector.bits)
            if stored.intersection(vector.bits) or (all_unnamed and all_differ):
                for place, bit in enumerate(vector.bits):
                    if isinstance(bit, int):
                        self._places.setdefault(bit, (vector, place))

    def _up_to_used(self, bits: Bits) -> Bits:
        """The bits up to the highest bit that is used and not constant."""
        used = (bits.index(bit) + 1 for bit in _variable(bits) if self._uses[bit])
        return bits[: max(used, default=0)]

    # --- statements -----------------------------------------------------------------------------

    def verilog(self, name: str) -> str:
        """The Verilog of the module, with this name."""
        stored = (bit for cell in self._registers for bit in cell.result if bit in self._places)
        states = {self._places[bit][0]: None for bit in stored}
        by_stage = groupby(sorted(states, key=self._order), lambda state: self._origin(state)[0])
        groups = [(stage, list(group)) for stage, group in by_stage]
        memories: dict[str, list[str]] = defaultdict(list)
        for memory, cell in self._memories.items():
            heading = cell.attributes.get(STAGE)
            memories[heading if heading in dict(groups) else groups[-1][0]].append(memory)
        sections = [
            _section(f"Outputs of {instance.name}", self._output_wires(instance))
            for instance in self._instances
        ]
        sections += [
            _section(
                stage, [*self._declarations(group), *self._memory_declarations(memories[stage])]
            )
            for stage, group in groups
        ]
        for stage, group in groups:
            self._wires = []
            always = [*self._writes(memories[stage]), *self._always(group)]
            sections.append(_section(stage, [*self._wires, *always]))
        for instance in self._instances:
            self._wires = []
            connections = self._connections(instance)
            sections.append(_section("", [*self._wires, *connections]))
        self._wires = []
        driven = {*self._assigned, *self._stored_outputs}
        outputs = [self._assignment(port) for port in self._outputs if port not in driven]
        sections += [_section("Outputs", [*self._wires, *outputs])] * bool(outputs)
        head = ",\n".join(f"  {self._port(port)}" for port in self._ports)
        wires = (wire for instance in self._instances for wire in instance.outputs.values())
        names = [vector.name for vector in {*self._ports, *states, *self._assigned, *wires}]
        names += self._memories
        assert len(names) == len(set(names)), "two signals have one name"
        return f"module {name} (\n{head}\n);\n\n" + "\n".join(sections) + "endmodule\n"

    def _port(self, port: Vector) -> str:
        """The declaration of a port."""
        kind = "reg" if port in self._stored_outputs else "wire"
        return f"{'input' if port in self._inputs else 'output'} {kind} {port.declaration}"

    def _output_wires(self, instance: Instance) -> list[str]:
        """Declarations of the wires that an instance drives."""
        return [f"wire {wire.declaration};" for wire in instance.outputs.values()]

    def _connections(self, instance: Instance) -> list[str]:
        """An instance, with its ports connected by name."""
        values = {port: self._expression(bits).text for port, bits in instance.inputs.items()}
        values |= {port: wire.name for port, wire in instance.outputs.items()}
        ports = [f"  .{port}({value})," for port, value in values.items()]
        ports[-1] = ports[-1].removesuffix(",")
        return [f"{instance.module} {instance.name} (", *ports, ");"]

    def _origin(self, vector: Vector) -> tuple[str, int, int]:
        """Origin of a vector: heading, rank of the signal, and bit index in the signal."""
        return self._origins[vector.bits[0]]

    def _order(self, state: Vector) -> tuple[str, int, int]:
        """Sort key of registers; Stage 10 follows Stage 9."""
        heading, rank, place = self._origin(state)
        return re.sub(r"\d+", lambda number: number[0].zfill(9), heading), rank, place

    def _declarations(self, registers: list[Vector]) -> list[str]:
        """Declarations of registers; initial values are separate, because linters demand that."""
        initial = [
            f"{state.name} = {self._initial(state.bits)};"
            for state in registers
            if self._without_level.isdisjoint(state.bits)
        ]
        levels = ["initial begin", *_indented(_filled(initial, LINE - 4)), "end"] if initial else []
        copies = [state for state in registers if not self._unmerged.isdisjoint(state.bits)]
        comment = ["// With attributes: copies near their loads, which must not be merged."]
        return [
            *(comment if copies else []),
            *(
                f"{_UNMERGED * (state in copies)}reg {state.declaration};"
                for state in registers
                if state not in self._stored_outputs
            ),
            *levels,
        ]

    def _memory_declarations(self, names: list[str]) -> Iterator[str]:
        """Declarations of memories, initialised to zero."""
        for name in names:
            cell = self._memories[name]
            word = Vector(name, cell.result).declaration
            highest = int(cell.parameters["SIZE"], 2) - 1
            yield f"reg {word} [0:{highest}];"
            yield f"initial begin : {name}_zeros"
            yield "  integer n;"
            yield f"  for (n = 0; n <= {highest}; n = n + 1) {name}[n] = 0;"
            yield "end"

    def _writes(self, names: list[str]) -> Iterator[str]:
        """The statements that write to memories."""
        for name in names:
            pins = self._memories[name].pins
            address, value = self._index(pins["WR_ADDR"]), self._expression(pins["WR_DATA"]).text
            clock = self._expression(pins["WR_CLK"]).text
            yield f"always @(posedge {clock}) begin"
            write = self._if((pins["WR_EN"][0], True), [f"{name}[{address}] <= {value};"])
            yield from [*_indented(write), "end"]

    def _initial(self, bits: Bits) -> str:
        levels = (bit if isinstance(bit, str) else self._levels.get(bit, "0") for bit in bits)
        return _constant("".join(levels))

    def _assignment(self, vector: Vector) -> str:
        """The assignment to a wire or an output, which then counts as assigned."""
        self._assigned.add(vector)
        if self._places.get(vector.bits[0], (None, 0))[0] is not vector:
            return f"assign {vector.name} = {self._expression(vector.bits).text};"
        runs = _runs(vector.bits, self._drivers.__getitem__)
        value = _joined([self._run(run, self._part_of) for run in runs]).text
        if vector in self._outputs:
            return f"assign {vector.name} = {value};"
        return f"wire {vector.declaration} = {value};"

    def _always(self, states: list[Vector]) -> list[str]:
        """The ``always`` block of registers, grouped by enable and reset."""
        chains: dict[tuple[Control, Control, bool], list[tuple[str, str, str]]] = defaultdict(list)
        clocks: set[Bits] = set()
        for state in states:
            for target, cell, low, high in self._stored(state):
                key = cell.control("EN"), cell.control("SRST"), cell.type == "$sdffce"
                value = self._expression(cell.operand("D", low, high)).text
                level = cell.parameters.get("SRST_VALUE", "")[::-1][low : high + 1]
                chains[key].append((target, value, _constant(level)))
                clocks.add(cell.pins["CLK"])
        [clock] = clocks
        lines = [f"always @(posedge {self._expression(clock).text}) begin"]
        for (enable, reset, enable_first), loads in chains.items():
            load = [f"{target} <= {value};" for target, value, _ in loads]
            clear = [f"{target} <= {initial};" for target, _, initial in loads]
            if enable_first:
                lines += _indented(self._if(enable, self._if(reset, clear, load)))
            else:
                lines += _indented(self._if(reset, clear, self._if(enable, load)))
        return [*lines, "end"]

    def _stored(self, state: Vector) -> Iterator[tuple[str, Cell, int, int]]:
        """The parts of a vector that registers drive: part, register, lowest and highest bit."""
        place = 0
        for run in _runs(state.bits, self._drivers.__getitem__):
            part = state.part(place, place + len(run.bits) - 1)
            place += len(run.bits)
            if isinstance(run.source, Cell) and run.source.is_register:
                yield part, run.source, run.low, run.high

    def _if(self, control: Control, then: list[str], otherwise: Sequence[str] = ()) -> list[str]:
        """An ``if`` statement; without a condition, ``otherwise``, or ``then`` if that is empty."""
        if control is None:
            return [*otherwise] or then
        condition = self._expression((control[0],))
        text = condition.text if control[1] else f"!{condition.behind()}"
        lines = _block(f"if ({text})", then)
        if not otherwise:
            return lines
        more = [f"else {otherwise[0]}", *otherwise[1:]]
        if not otherwise[0].startswith("if "):
            more = _block("else", otherwise)
        return [*lines[:-1], f"end {more[0]}", *more[1:]] if lines[-1] == "end" else lines + more

    # --- expressions ----------------------------------------------------------------------------

    def _expression(self, bits: Bits) -> Expression:
        """The expression for some bits, by their names where they have names."""
        return _joined([self._run(run, self._logic) for run in self._runs(bits)])

    def _runs(self, bits: Bits) -> list[Run]:
        return _runs(bits, lambda bit: self._places.get(bit) or self._drivers[bit])

    def _run(self, run: Run, logic: Callable[[Cell, int, int], Expression]) -> Expression:
        if run.source is None:
            return Expression(_constant("".join(map(str, run.bits))))
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
            wire = self._assignment(vector)
            self._wires.append(wire)
        return Expression(vector.part(low, high))

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
        runs = self._runs(bits)
        if len(runs) == 1 and isinstance(runs[0].source, Cell):
            return self._named(runs[0].source, runs[0].low, runs[0].high).text
        return self._expression(bits).text

    def _memory_name(self, cell: Cell) -> str:
        return next(name for name, memory in self._memories.items() if memory is cell)

    def _operation(self, cell: Cell, low: int, high: int) -> Expression:
        def operand(pin: str, operator: str, width: int = 0) -> str:
            first, last = (0, width - 1) if width else (low, high)
            return self._expression(cell.operand(pin, first, last)).beside(operator)

        if cell.is_memory:
            return Expression(f"{self._memory_name(cell)}[{self._index(cell.pins['RD_ADDR'])}]")
        if operator := BITWISE.get(cell.type):
            return Expression(
                f"{operand('A', operator)} {operator} {operand('B', operator)}", operator
            )
        if operator := ARITHMETIC.get(cell.type):
            return Expression(f"{operand('A', '')} {operator} {operand('B', '')}", "arithmetic")
        if cell.type == "$not":
            return Expression(f"~{self._expression(cell.operand('A', low, high)).behind()}")
        if cell.type == "$mux":
            return self._choice(cell, low, high)
        if cell.type == "$pmux":
            return self._priority(cell, low, high)
        if len(cell.result) == 1 and (operator := REDUCTIONS.get(cell.type)):
            return self._reduction(cell, operator)
        if len(cell.result) == 1 and (operator := COMPARISONS.get(cell.type)):
            width = max(len(cell.pins["A"]), len(cell.pins["B"]))
            sides = (operand(pin, "", width) for pin in "AB")
            return Expression(f" {operator} ".join(sides), "comparison")
        if len(cell.result) == 1 and cell.type == "$logic_not":
            zero = _constant("0" * len(cell.pins["A"]))
            return Expression(
                f"{self._expression(cell.pins['A']).beside('')} == {zero}", "comparison"
            )
        raise NotImplementedError(f"a cell {cell.type} in Verilog")

    def _reduction(self, cell: Cell, operator: str) -> Expression:
        """The reduction of all bits of an operand by an operator."""
        runs = self._runs(cell.pins["A"])
        parts = [self._run(run, self._logic) for run in runs]
        if len(runs) == 1:
            return Expression(operator + parts[0].behind(), "in front")
        terms = [
            part.beside(operator) if len(run.bits) == 1 else f"({operator}{part.behind()})"
            for run, part in zip(runs, parts, strict=True)
        ]
        return Expression(f" {operator} ".join(reversed(terms)), operator)

    def _choice(self, cell: Cell, low: int, high: int) -> Expression:
        """A choice of two values; the simpler value is written first."""
        chosen = self._expression(cell.pins["S"])
        then, otherwise = (self._expression(cell.operand(pin, low, high)) for pin in "BA")
        condition = chosen.beside("")
        if then.operator == "?" != otherwise.operator:
            condition, then, otherwise = f"!{chosen.behind()}", otherwise, then
        return Expression(f"{condition} ? {then.beside('')} : {otherwise.beside('?')}", "?")

    def _priority(self, cell: Cell, low: int, high: int) -> Expression:
        """The first of several values whose condition holds."""
        width = len(cell.result)
        text = ""
        for n, condition in enumerate(cell.pins["S"]):
            value = self._expression(cell.operand("B", n * width + low, n * width + high))
            text += f"{self._expression((condition,)).beside('')} ? {value.beside('')} : "
        otherwise = self._expression(cell.operand("A", low, high)).beside("?")
        return Expression(text + otherwise, "?")


def _joined(parts: list[Expression]) -> Expression:
    """The concatenation of expressions, given lowest first."""
    if len(parts) == 1:
        return parts[0]
    return Expression(f"{{{', '.join(part.text for part in reversed(parts))}}}")


def _runs(bits: Bits, source: Source) -> list[Run]:
    runs: list[Run] = []
    for bit in bits:
        origin, place = (None, 0) if isinstance(bit, str) else source(bit)
        if runs and runs[-1].takes(bit, origin, place):
            runs[-1] = runs[-1]._replace(bits=(*runs[-1].bits, bit))
        else:
            runs.append(Run(origin, place, (bit,)))
    return runs


def _constant(levels: str) -> str:
    """A constant from its bits, given lowest first; unknown bits become 0."""
    digits = levels[::-1].replace("x", "0") or "0"
    return f"{len(digits)}'b{digits}" if len(digits) < 4 else f"{len(digits)}'h{int(digits, 2):X}"


def _variable(bits: Bits) -> Bits:
    return tuple(bit for bit in bits if isinstance(bit, int))


def _flat(name: str) -> str:
    """A name reduced to letters, digits and single underscores."""
    return re.sub(r"[\W_]+", "_", name).strip("_")


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _block(head: str, statements: Sequence[str]) -> list[str]:
    """Statements under a condition."""
    line = f"{head} {statements[0]}"
    if len(statements) == 1 and not statements[0].startswith("if ") and len(line) < LINE - 12:
        return [line]
    return [f"{head} begin", *_indented(statements), "end"]


def _filled(parts: Iterable[str], width: int, indent: str = "") -> list[str]:
    """Fill lines with parts up to a width, and indent all lines except the first."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) < width:
            lines[-1] += f" {part}"
        else:
            lines.append(indent * bool(lines) + part)
    return lines


def _section(heading: str, lines: Iterable[str]) -> str:
    """Lines under a heading."""
    headed = [f"// {heading}"] if heading else []
    return "".join(f"{part}\n" for line in _indented([*headed, *lines]) for part in _folded(line))


def _folded(line: str) -> list[str]:
    """Break a line that is too long at the outermost nesting level, and there at commas first."""
    indent = len(line) - len(line.lstrip())
    breaks = defaultdict(list)
    depth = 0
    for place, (before, symbol) in enumerate(pairwise(line), start=1):
        depth += (before in "({") - (before in ")}")
        if symbol == " " and before in ",|&^:" and place > indent:
            breaks[depth, before != ","].append(place + 1)
    if len(line) <= LINE or not breaks:
        return [line]
    (_, fill), places = min(breaks.items())
    parts = [line[begin:end].rstrip() for begin, end in pairwise([0, *places, len(line)])]
    folded = _filled(parts, LINE if fill or len(parts) > MANY else 0, " " * (indent + 4))
    return [piece for part in folded for piece in _folded(part)]
