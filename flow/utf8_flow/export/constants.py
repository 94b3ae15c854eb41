"""Constant ports, and ports that carry the same vector, found across the modules of a design.

Yosys optimizes each module by itself. Only whole vectors are replaced: where a part of a vector is
constant, logic for the whole of it is easier to read.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Bit = int | str
"""A bit of a netlist: its number, or its value if it is constant."""

Bits = Mapping[Bit, Bit]
"""Bits, and the constants or other bits that replace them."""

_CONSTANT = "0", "1"


def share(netlists: dict[str, Any], instances: Sequence[tuple[str, tuple[str, Any]]]) -> None:
    """Replace vectors that are constant or equal to others, wherever they are read.

    ``netlists`` are modules by their types, as in Yosys's JSON; ``instances`` has for each
    submodule its parent and the cell there.
    """
    levels = {path: _initial_levels(module) for path, module in netlists.items()}
    changed = True
    while changed:
        changed = False
        for path, module in netlists.items():
            changed |= _replace(module, _folded(module, levels[path]))
        for path, (parent, instance) in instances:
            inner = {name: port["bits"] for name, port in netlists[path]["ports"].items()}
            outer, inputs = instance["connections"], ports_of(netlists[path], "input")
            outputs = ports_of(netlists[path], "output")
            changed |= _replace(netlists[parent], _same(inner, outer, outputs))
            changed |= _replace(netlists[path], _same(outer, inner, inputs))


def ports_of(module: Any, direction: str) -> dict[str, list[Bit]]:
    """The bits of the ports of one direction."""
    ports = module["ports"].items()
    return {name: port["bits"] for name, port in ports if port["direction"] == direction}


def _same(driving: Any, driven: Any, ports: Iterable[str]) -> Bits:
    """The bits of ports that are constant or equal to another port."""
    found: dict[Bit, Bit] = {}
    first: dict[tuple[Bit, ...], list[Bit]] = {}
    for port in ports:
        bits, own = tuple(driving[port]), driven[port]
        other = [*bits] if _is_constant(bits) else first.setdefault(bits, own)
        found |= {bit: same for bit, same in zip(own, other, strict=True) if bit != same}
    return found


def _replace(module: Any, bits: Bits) -> bool:
    """Replace bits where they are read. The result is False if none of them are."""
    cells = module["cells"].values()
    readers = [(port, "bits") for port in module["ports"].values() if port["direction"] == "output"]
    readers += [
        (cell["connections"], pin)
        for cell in cells
        for pin, direction in cell["port_directions"].items()
        if direction == "input"
    ]
    read = [(of, name) for of, name in readers if not bits.keys().isdisjoint(of[name])]
    inputs = ports_of(module, "input")
    named = [(net, "bits") for name, net in module["netnames"].items() if name not in inputs]
    for of, name in [*read, *(named if read else [])]:
        of[name] = [bits.get(bit, bit) for bit in of[name]]
    return bool(read)


def _initial_levels(module: Any) -> Bits:
    """The initial levels of registers."""
    return {
        bit: level
        for net in module["netnames"].values()
        for bit, level in zip(
            net["bits"], reversed(net["attributes"].get("init", "")), strict=False
        )
    }


def _folded(module: Any, initial: Bits) -> Bits:
    """The bits of results of cells that are constant or equal to an operand."""
    found: dict[Bit, Bit] = {}
    for cell in module["cells"].values():
        pins, kind = cell["connections"], cell["type"]
        if kind in _OPERATORS and "1" not in cell["parameters"].get("A_SIGNED", ""):
            operands = [_extended(pins[pin], len(pins["Y"])) for pin in "AB"]
            results = [_bitwise(kind, *pair) for pair in zip(*operands, strict=True)]
            if None not in results:
                found |= dict(zip(pins["Y"], results, strict=True))
        elif kind == "$mux" and _is_constant(pins["S"]):
            found |= dict(zip(pins["Y"], pins["AB"[int(pins["S"][0])]], strict=True))
        elif "Q" in pins and _is_constant(pins["D"]):
            levels = [
                reversed(cell["parameters"].get("SRST_VALUE", "x" * len(pins["Q"]))),
                (initial.get(bit, "x") for bit in pins["Q"]),
            ]
            if all({*of} <= {bit, "x"} for bit, *of in zip(pins["D"], *levels, strict=True)):
                found |= dict(zip(pins["Q"], pins["D"], strict=True))
    return found


def _is_constant(bits: Iterable[Bit]) -> bool:
    return all(bit in _CONSTANT for bit in bits)


_OPERATORS = {"$and": "0", "$or": "1", "$xor": ""}
"""Operators, and the level of an operand that decides the result."""


def _extended(bits: Sequence[Bit], width: int) -> list[Bit]:
    return [*bits, *("0",) * (width - len(bits))][:width]


def _bitwise(kind: str, one: Bit, other: Bit) -> Bit | None:
    """The result of an operator, if it is constant or equal to an operand."""
    decides = _OPERATORS[kind]
    if decides in (one, other):
        return decides
    if kind == "$xor":
        return one if other == "0" else other if one == "0" else None
    neutral = "10"[int(decides)]
    return one if other in (neutral, one) else other if one == neutral else None
