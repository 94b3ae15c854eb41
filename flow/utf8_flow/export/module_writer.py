"""A module of a design as Verilog for human review: registers by stage, logic as expressions.

The Verilog has registers and memories, in ``initial`` and ``always @(posedge clk)``, continuous
assignments, and functions of one argument. So every tool interprets it in the same way in every
language mode.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from .cells import Bits, Cell, Control, Vector, runs
from .expressions import Expressions, Table
from .loops import Loop, loop_of
from .netlist import STAGE, Instance, Memories
from .text import LINE, block, constant, filled, in_order, indented, section

_UNMERGED = '(* keep = "true", dont_merge *) '
"""Equivalent attributes for Vivado (and Yosys), and for Quartus."""


_EARLY = "Registers that an earlier stage reads"
"""The heading of their declarations. Others are declared in the section of their stage."""


class StageParts(NamedTuple):
    """The registers and the memories under a heading."""

    heading: str
    registers: list[Vector]
    memories: list[Memories]


class Load(NamedTuple):
    """Statements that load a register, and the one that resets it.

    If ``turns`` is not 0, they are the body of a loop with so many turns.
    """

    load: list[str]
    clear: str
    turns: int = 0


class ModuleWriter(Expressions):
    """Writes a module as Verilog, with the initial values of registers and memories or without."""

    def __init__(self, *arguments: Any) -> None:
        *of_netlist, self._with_levels = arguments
        super().__init__(*of_netlist)

    def verilog(self, name: str, attributes: Mapping[str, list[str]] | None = None) -> str:
        """The Verilog of the module, with this name and with attributes of its ports."""
        stages = self._stages()
        sections = [
            *(
                section(f"Outputs of {one.name}", self._output_wires(one))
                for one in self._instances
            ),
            *self._stage_sections(stages),
            *(section("", self._with_wires(self._connections, each)) for each in self._instances),
            section("Outputs", self._with_wires(self._output_assignments)),
        ]
        self._check_names([register for stage in stages for register in stage.registers])
        ports = ([*(attributes or {}).get(port.name, []), self._port(port)] for port in self._ports)
        head = ",\n".join("\n".join(indented(lines)) for lines in ports)
        # Only now is it known which names of values are used.
        body = "\n".join(filter(None, [section("", self._local_parameters()), *sections]))
        return f"module {name} (\n{head}\n);\n\n{body}endmodule\n"

    def _stages(self) -> list[StageParts]:
        """The registers and memories, by their headings."""
        stored = (bit for cell in self._registers for bit in cell.result if bit in self._places)
        registers = sorted({self._places[bit][0]: None for bit in stored}, key=self._order)
        stages = {
            heading: StageParts(heading, list(group), [])
            for heading, group in groupby(registers, lambda register: self._origin(register)[0])
        }
        for memories in self._memories:
            heading = memories.cell.attributes.get(STAGE, "")
            if heading not in stages:
                heading = [heading, *stages][-1]
            stages.setdefault(heading, StageParts(heading, [], [])).memories.append(memories)
        return [*stages.values()]

    def _stage_sections(self, stages: list[StageParts]) -> Iterator[str]:
        """The sections of the stages: declarations, then logic.

        A register that an earlier stage reads must be declared before that.
        """
        logic: list[list[str]] = []
        read: set[str] = set()
        early: list[Vector] = []
        for stage in stages:
            early += [register for register in stage.registers if register.name in read]
            logic.append(self._with_wires(self._always, stage))
            read.update(re.findall(r"\w+", "\n".join(logic[-1])))
        yield section(_EARLY, self._declarations(early))
        for stage, lines in zip(stages, logic, strict=True):
            own = [register for register in stage.registers if register not in early]
            declared = [*self._declarations(own), *self._memory_declarations(stage.memories)]
            yield section(stage.heading, declared)
            yield section("" if declared else stage.heading, lines)

    def _with_wires(self, lines_of: Callable[..., list[str]], *arguments: Any) -> list[str]:
        """The lines that a method returns, after the wires that they are the first to use."""
        self._wires = []
        lines = lines_of(*arguments)
        return [*self._wires, *lines]

    def _output_assignments(self) -> list[str]:
        driven = {*self._assigned, *self._stored_outputs, *self._passed}
        missing = [port for port in self._outputs if port not in driven]
        return [line for port in missing for line in self._assignment(port)]

    def _check_names(self, registers: list[Vector]) -> None:
        """Check that no two signals have one name, now that all wires are known."""
        wires = (wire for instance in self._instances for wire in instance.outputs.values())
        vectors = {*self._ports, *registers, *self._assigned, *wires}
        names = Counter([*(vector.name for vector in vectors), *self._other_names])
        several = [name for name, count in names.items() if count > 1]
        assert not several, f"two signals have one name: {several}"

    def _local_parameters(self) -> list[str]:
        """Definitions of the names of values, and of the loop variable, that were used."""
        genvar = [f"genvar {self._genvar};"] if self._has_genvar else []
        return genvar + [
            f"localparam {Vector(name, tuple(levels)).declaration} = {constant(levels)};"
            for used in self._named_values.values()
            for name, levels in sorted(used.items(), key=lambda item: item[1][::-1])
        ]

    def _port(self, port: Vector) -> str:
        """The declaration of a port."""
        if port in self._stored_outputs:
            return f"{self._attributes_of(port)}output reg {port.declaration}"
        return f"{'input' if port in self._inputs else 'output'} wire {port.declaration}"

    def _attributes_of(self, register: Vector) -> str:
        """Attributes of a register that must not be merged with others of the same next value."""
        return "" if self._unmerged.isdisjoint(register.bits) else _UNMERGED

    def _output_wires(self, instance: Instance) -> list[str]:
        """Declarations of the wires that an instance drives."""
        wires = (wire for wire in instance.outputs.values() if wire not in self._passed)
        return [f"wire {wire.declaration};" for wire in wires]

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
        return in_order(heading), rank, place

    def _declarations(self, registers: list[Vector]) -> list[str]:
        """Declarations of registers; initial values are separate, because linters demand that."""
        initial = [
            f"{state.name} = {self._initial(state.bits)};"
            for state in registers
            if self._with_levels and self._without_level.isdisjoint(state.bits)
        ]
        levels = ["initial begin", *indented(filled(initial, LINE - 4)), "end"] if initial else []
        declared = [state for state in registers if state not in self._stored_outputs]
        comment = [
            "// Registers with attributes are copies near their loads. The attributes keep Vivado",
            "// and Quartus from merging them; a redundant term in their next value, Yosys.",
        ]
        return [
            *(comment if any(map(self._attributes_of, declared)) else []),
            *(line for state in declared for line in self._declaration(state)),
            *levels,
        ]

    def _declaration(self, register: Vector) -> list[str]:
        """The declaration of a register, with the states that it has a bit for."""
        names = self._values_of(register.bits)
        line = f"{self._attributes_of(register)}reg {register.declaration};"
        if not names or any(value.count("1") != 1 for value in names):
            return [line]
        states = ", ".join(names[value] for value in sorted(names))
        return [f"// Bits of {register.name}, from bit 0 on: {states}", line]

    def _memory_declarations(self, groups: list[Memories]) -> Iterator[str]:
        """Declarations of memories that are alone."""
        if groups:
            yield "// Memory is read without a clock, at a registered address: distributed RAM, or"
            yield "// block RAM that contains the address register."
        for memories in groups:
            if len(memories.cells) == 1:
                yield from self._storage(self._noted(memories.name), memories.cell)

    def _storage(self, name: str, cell: Cell) -> list[str]:
        """The declaration of a memory, and its initial values, zero."""
        highest, n = int(cell.parameters["SIZE"], 2) - 1, self._variable
        declaration = f"reg {Vector(name, cell.result).declaration} [0:{highest}];"
        if not self._with_levels:
            return [declaration]
        zero = constant("0" * len(cell.result))
        return [
            declaration,
            f"initial begin : {name}_zeros",
            f"  integer {n};",
            f"  for ({n} = 0; {n} <= {highest}; {n} = {n} + 1) {name}[{n}] = {zero};",
            "end",
        ]

    def _memory(self, memories: Memories) -> list[str]:
        """What writes to a memory; or memories that repeat, in a loop, with what reads them."""
        cells, pins = memories.cells.values(), memories.cell.pins
        enables = [self._expression(cell.pins["WR_EN"][:1]) for cell in cells]
        values = [self._expression(cell.pins["WR_DATA"]) for cell in cells]
        place, clock = self._index(pins["WR_ADDR"]), self._expression(pins["WR_CLK"]).text

        def write(name: str, enable: str, value: str) -> list[str]:
            written = block(f"if ({enable})", [f"{name}[{place}] <= {value};"])
            return [f"always @(posedge {clock}) begin", *indented(written), "end"]

        if len(cells) == 1:
            return write(memories.name, enables[0].text, values[0].text)
        word, name, i = memories.word, self._free("words"), self._genvar
        enable = loop_of(enables, [1] * len(cells))
        value = loop_of(values, [len(cell.result) for cell in cells])
        if enable is None or value is None:
            raise NotImplementedError("memories with equal addresses in Verilog")
        self._assigned.add(word)
        read = Loop(len(cells), f"{name}[{self._index(pins['RD_ADDR'])}]")
        body = [
            *self._storage(name, memories.cell),
            *write(name, enable.in_turn(i), value.in_turn(i)),
            f"assign {read.assignment(word.name, len(word.bits), '=', i)}",
        ]
        return [f"wire {word.declaration};", *self._repeated(memories.name, len(cells), body)]

    def _initial(self, bits: Bits) -> str:
        levels = (bit if isinstance(bit, str) else self._levels.get(bit, "0") for bit in bits)
        with self._enumerated(self._values_of(bits)):
            return self._constant("".join(levels))

    def _always(self, stage: StageParts) -> list[str]:
        """The ``always`` blocks of a stage: of memories, and of registers by what controls them."""
        writes = [line for memories in stage.memories for line in self._memory(memories)]
        if not stage.registers:
            return writes
        clocks: set[Bits] = set()
        groups: dict[tuple[Control, bool], dict[Control, list[Load]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for state in stage.registers:
            for target, cell, low, high in self._stored_parts(state):
                enable, reset = cell.control("EN"), cell.control("SRST")
                enable_first = cell.type == "$sdffce" or reset is None
                outer, inner = (enable, reset) if enable_first else (reset, enable)
                groups[outer, enable_first][inner].append(
                    self._load(state, target, cell, low, high)
                )
                clocks.add(cell.pins["CLK"])
        lines = []
        for (outer, enable_first), group in groups.items():
            if enable_first:
                lines += self._if(outer, self._loaded(group))
            else:
                clear = [load.clear for loads in group.values() for load in loads]
                each = [self._if(enable, self._all(loads)) for enable, loads in group.items()]
                lines += self._if(outer, clear, [line for some in each for line in some])
        [clock] = clocks
        begin = f"always @(posedge {self._expression(clock).text}) begin"
        every = (load for group in groups.values() for loads in group.values() for load in loads)
        if any(load.turns for load in every):
            begin += f" : {self._noted(f'{stage.registers[0].name}_loops')}"
            lines = [f"integer {self._variable};", *lines]
        return [*writes, begin, *indented(lines), "end"]

    def _loaded(self, group: dict[Control, list[Load]]) -> list[str]:
        """The loads of registers with one enable, by their resets."""
        each = (
            self._if(reset, [load.clear for load in loads], self._all(loads))
            for reset, loads in group.items()
        )
        return [line for some in each for line in some]

    def _load(self, state: Vector, target: str, cell: Cell, low: int, high: int) -> Load:
        """What a part of a register is loaded with."""
        is_whole = target == state.name
        bits = cell.operand("D", low, high)
        level = cell.parameters.get("SRST_VALUE", "")[::-1][low : high + 1]
        with self._enumerated(self._values_of(state.bits) if is_whole else {}):
            clear = f"{target} <= {self._constant(level)};"
            if is_whole and (table := self._next_state(state, bits)):
                return Load(self._case(table, table.subject.name, f"{target} <="), clear)
            value = self._expression(bits).text
            loop = self._loop(self._runs(bits), self._logic) if is_whole else None
            if loop is None:
                return Load([f"{target} <= {value};"], clear)
            assignment = loop.assignment(target, len(bits), "<=", self._variable)
            return Load([assignment], clear, loop.turns)

    def _all(self, loads: list[Load]) -> list[str]:
        """The statements of several loads; those in loops with as many turns share one loop."""
        lines, n = [line for each in loads if not each.turns for line in each.load], self._variable
        for turns in sorted({each.turns for each in loads} - {0}):
            body = [line for each in loads if each.turns == turns for line in each.load]
            head = f"for ({n} = 0; {n} < {turns}; {n} = {n} + 1) begin"
            lines += [head, *indented(body), "end"]
        return lines

    def _next_state(self, state: Vector, bits: Bits) -> Table | None:
        """The table for the next value of a register, if that is used for nothing else."""
        cell = self._drivers[bits[0]][0] if bits[0] in self._drivers else None
        if cell is None or cell.result != bits or any(self._uses[bit] > 1 for bit in bits):
            return None
        return self._table(state, cell)

    def _stored_parts(self, state: Vector) -> Iterator[tuple[str, Cell, int, int]]:
        """The parts of a vector that registers drive: part, register, lowest and highest bit."""
        place = 0
        for run in runs(state.bits, self._drivers.__getitem__):
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
        lines = block(f"if ({text})", then)
        if not otherwise:
            return lines
        more = block("else", otherwise)
        if otherwise[0].startswith("if ") and _is_one_statement(otherwise):
            more = [f"else {otherwise[0]}", *otherwise[1:]]
        return [*lines[:-1], f"end {more[0]}", *more[1:]] if lines[-1] == "end" else lines + more


def _is_one_statement(lines: Sequence[str]) -> bool:
    """True if all lines after the first one continue its statement."""
    return all(line.startswith(("  ", "end", "else")) for line in lines[1:])
