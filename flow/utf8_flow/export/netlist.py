"""One module of a design as a Yosys netlist: what drives each bit, and which name it has."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from utf8_sim.tools.rtlil import POWER_UP

from .cells import MEMORY_PORT, RESULTS, Bits, Cell, Vector, variable, with_reset
from .constants import Bit
from .hierarchy import Submodule
from .loops import FEWEST
from .text import flat, in_order, snake_case

STAGE = "stage"
"""Attribute with the heading that a register is under. Numbers in headings sort by value."""

UNMERGED = "unmerged"
"""Attribute of a register that must not be merged with registers of the same next value."""


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
                inputs[flat(port)] = pins[port]
            else:
                outputs[flat(port)] = Vector(flat(port), pins[port])
        return cls(flat(name), submodule.module, inputs, outputs)


class Net(NamedTuple):
    """A named signal, and its attributes."""

    bits: Bits
    attributes: dict[str, str]

    @property
    def values(self) -> dict[str, str]:
        """The names of its values if it is an enumeration."""
        prefix = snake_case(self.attributes.get("enum_base_type", "")).upper()
        return {
            name.removeprefix("enum_value_"): f"{prefix}_{value}"
            for name, value in self.attributes.items()
            if name.startswith("enum_value_") and len(name) == len("enum_value_") + len(self.bits)
        }


class Memories(NamedTuple):
    """A memory, or memories that share their addresses: their words are parts of one vector."""

    #: In the order of their names.
    cells: dict[str, Cell]
    word: Vector

    @classmethod
    def of(cls, cells: dict[str, Cell]) -> "Memories":
        """Name the words: those of ``a_0_b`` and ``a_1_b`` are ``a_b_word``."""
        name = next(iter(cells))
        if len(cells) > 1:
            name = re.sub(r"(.*)_0(?=_|$)", r"\1", name)
        bits = tuple(bit for cell in cells.values() for bit in cell.result)
        return cls(cells, Vector(f"{name}_word", bits))

    @property
    def name(self) -> str:
        return self.word.name.removesuffix("_word")

    @property
    def cell(self) -> Cell:
        """One of them."""
        return next(iter(self.cells.values()))


class Netlist:
    """One module, as Yosys outputs it after ``proc``, ``flatten`` and ``opt``.

    The names of signals lose the prefix ``scope``. Registers are declared in the order of the
    signal names in ``order``. ``submodules`` are those of which the module may have an instance, by
    the types of their cells and in the order of the instances. A module with a ``scope`` is the top
    module, whose outputs are wires; those of a submodule may be registers.
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
        self._add_cells(cells, scope)
        self._ports = [Vector(flat(name), tuple(module["ports"][name]["bits"])) for name in ports]
        directions = [module["ports"][name]["direction"] for name in ports]
        self._inputs = [p for p, way in zip(self._ports, directions, strict=True) if way == "input"]
        self._outputs = [port for port in self._ports if port not in self._inputs]
        nets = {
            name.removeprefix(f"{scope}."): Net(tuple(net["bits"]), net["attributes"])
            for name, net in module["netnames"].items()
            if not (net["hide_name"] or re.search(MEMORY_PORT, name))
        }
        self._names = {flat(name) for name in nets}
        self._rename_outputs(nets)
        self._passed: list[Vector] = []
        if not scope:
            self._pass_outputs()
        self._uses = self._count_uses(cells)
        structures_first = sorted(nets, key=lambda name: name.count("."))
        self._read_attributes([(name, nets[name]) for name in structures_first], order)
        self._stored_outputs: list[Vector] = []
        if not scope:
            self._find_stored_outputs()
        self._places: dict[Bit, tuple[Vector, int]] = {}
        self._name_bits(
            {name: nets[name] for name in reversed(structures_first)}, set(ports), not scope
        )

    def _add_cells(self, cells: list[Cell], scope: str) -> None:
        for cell in cells:
            cell.check()
        choices = {cell.result: cell for cell in cells if cell.type == "$mux"}
        cells = [with_reset(cell, choices) for cell in cells]
        self._registers = [cell for cell in cells if cell.is_register]
        self._stored = {bit for cell in self._registers for bit in cell.result}
        self._memories = _grouped(
            {
                flat(cell.parameters["MEMID"].removeprefix(f"\\{scope}.")): cell
                for cell in cells
                if cell.is_memory
            }
        )
        self._drivers = {bit: (cell, n) for cell in cells for n, bit in enumerate(cell.result)}

    def _rename_outputs(self, nets: Mapping[str, Net]) -> None:
        """Put the name of its instance before that of an output if something else has that name."""
        own = {flat(name): net.bits for name, net in nets.items()}
        counts = Counter(
            wire.name for instance in self._instances for wire in instance.outputs.values()
        )
        for instance in self._instances:
            for port, wire in instance.outputs.items():
                if counts[wire.name] > 1 or own.get(wire.name, wire.bits) != wire.bits:
                    name = f"{instance.name}_{wire.name}"
                    instance.outputs[port] = Vector(name, wire.bits)
                    self._names.add(name)

    def _pass_outputs(self) -> None:
        """Let instances drive the outputs to which they are connected, without wires between."""
        ports = {port.bits: port for port in self._outputs}
        for instance in self._instances:
            for name, wire in instance.outputs.items():
                if port := ports.get(wire.bits):
                    instance.outputs[name] = port
                    self._passed.append(port)

    def _count_uses(self, cells: list[Cell]) -> Counter[Bit]:
        """How many cells, instances and outputs use each bit."""
        uses = Counter(bit for port in self._outputs for bit in set(port.bits))
        for cell in cells:
            for pin, bits in cell.pins.items():
                uses.update(set(bits) if pin not in RESULTS else ())
        for instance in self._instances:
            for bits in instance.inputs.values():
                uses.update(set(bits))
        return uses

    def _read_attributes(self, nets: list[tuple[str, Net]], order: Sequence[str]) -> None:
        """The heading, the rank and the initial level of each bit, and what must not be done."""
        self._origins: dict[Bit, tuple[str, int, int]] = {}
        self._levels: dict[Bit, str] = {}
        self._without_level: set[Bit] = set()
        self._unmerged: set[Bit] = set()
        self._enumerations: dict[Bits, dict[str, str]] = {}
        for name, net in sorted(nets, key=lambda item: STAGE not in item[1].attributes):
            rank = order.index(name) if name in order else len(order)
            for place, bit in enumerate(net.bits):
                self._origins.setdefault(bit, (net.attributes.get(STAGE, ""), rank, place))
            levels = reversed(net.attributes.get("init", ""))
            self._levels |= dict(zip(net.bits, levels, strict=False))
            if POWER_UP in net.attributes:
                self._without_level.update(net.bits)
            if UNMERGED in net.attributes:
                self._unmerged.update(net.bits)
            if net.values:
                self._enumerations[net.bits] = net.values

    def _find_stored_outputs(self) -> None:
        free = set(self._stored)
        for port in self._outputs:
            if free.issuperset(port.bits) and len(set(port.bits)) == len(port.bits):
                self._stored_outputs.append(port)
                free.difference_update(port.bits)

    def _name_bits(self, nets: dict[str, Net], ports: set[str], inside: bool) -> None:
        """Choose the vector that names each bit: a field rather than its structure.

        ``inside`` is True in a submodule, in which a register may have the name of an output. One
        that is only a part of it has a suffix as well.
        """
        outputs = {port.name for port in self._outputs if port not in self._stored_outputs}
        vectors = {}
        for name, net in nets.items():
            vector = Vector(flat(name), self._up_to_used(net.bits))
            if name not in ports:
                vectors[name] = vector
            elif (
                inside and vector.name in outputs and self._stored.issuperset(variable(vector.bits))
            ):
                vectors[name] = Vector(f"{vector.name}_register", vector.bits)

        def repeats(name: str) -> bool:
            """True for a wire that only repeats registers, and for a field of one."""
            whole = name.partition(".")[0]
            return whole in nets and "init" not in nets[whole].attributes

        # The name of a register has priority over that of a wire that only repeats it.
        repeats_last = sorted(vectors, key=repeats)
        stored, computed = self._stored, set(self._drivers) - self._stored
        aliases = {port.bits for port in self._outputs}
        for vector in [
            *self._inputs,
            *(wire for instance in self._instances for wire in instance.outputs.values()),
            *self._stored_outputs,
            *(
                vectors[name]
                for name in repeats_last
                if stored.issuperset(variable(vectors[name].bits))
            ),
            *(memories.word for memories in self._memories),
            *(port for port in self._outputs if computed.issuperset(port.bits)),
            *(
                signal
                for signal in vectors.values()
                if computed.issuperset(signal.bits) and signal.bits not in aliases
            ),
        ]:
            all_unnamed = self._places.keys().isdisjoint(vector.bits)
            all_differ = len(set(vector.bits)) == len(vector.bits)
            if stored.intersection(vector.bits) or (all_unnamed and all_differ):
                for place, bit in enumerate(vector.bits):
                    if isinstance(bit, int):
                        self._places.setdefault(bit, (vector, place))

    def _up_to_used(self, bits: Bits) -> Bits:
        """The bits up to the highest bit that is used and not constant."""
        used = (bits.index(bit) + 1 for bit in variable(bits) if self._uses[bit])
        return bits[: max(used, default=0)]


def _grouped(cells: dict[str, Cell]) -> list[Memories]:
    """Memories in groups of those that differ only in what is written, and in which cycles."""
    groups: dict[Any, dict[str, Cell]] = defaultdict(dict)
    for name in sorted(cells, key=in_order):
        cell = cells[name]
        shared = (cell.pins[pin] for pin in ("WR_ADDR", "RD_ADDR", "WR_CLK"))
        groups[(*shared, len(cell.result), cell.parameters["SIZE"])][name] = cell
    several = [group for group in groups.values() if len(group) >= FEWEST]
    alone = [{name: cells[name]} for name in sorted(cells, key=in_order)]
    grouped = {name for group in several for name in group}
    return [Memories.of(each) for each in several] + [
        Memories.of(each) for each in alone if grouped.isdisjoint(each)
    ]
