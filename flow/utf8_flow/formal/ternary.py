"""Ternary simulation of a bench, in many cases at once, with inputs that may be unknown.

Levels that are still known in the result do not depend on the unknown inputs.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, count

import numpy as np
from amaranth.hdl import Value

from .bench import Bench
from .prover import to_circuit

Bits = dict[int, int]
"""The literals of some bits of a number, by bit index."""


class Asked:
    """Numbers on a bench.

    - ``values``: for each number, its bits, by index.
    - ``numbers``: the literals of these bits.
    """

    def __init__(self, bench: Bench, values: Sequence[Mapping[int, Value]]) -> None:
        for number, bit in enumerate(chain(*(bits.values() for bits in values))):
            bench.reaches(f"{number}", bit)
        self._circuit = to_circuit(bench)
        literals = (self._circuit.outputs[f"reached{n}"] for n in count())
        self.numbers: list[Bits] = [{at: next(literals) for at in bits} for bits in values]

    def following(self, registers: Bits) -> Bits:
        """The literals of the next values of registers."""
        first = 1 + len(self._circuit.inputs)
        end = first + len(self._circuit.registers)
        if not {*registers.values()} <= {*range(2 * first, 2 * end, 2)}:
            raise RuntimeError("these are not the registers of the circuit")
        return {at: self._circuit.registers[bit // 2 - first] for at, bit in registers.items()}

    def answers(
        self, inputs: Mapping[str, np.ndarray], registers: Mapping[int, np.ndarray] | None = None
    ) -> "Answers":
        """Simulate with the levels of some inputs, by name, and registers, by literal.

        The others are unknown. Each level is an array with an element, 0 or 1, for each case.
        """
        circuit = self._circuit
        rows = len(next(iter(inputs.values())))
        numbered = enumerate(circuit.inputs, start=1)
        known = {number: inputs[name] for number, name in numbered if name in inputs}
        known |= {literal // 2: level for literal, level in (registers or {}).items()}
        unknown = np.zeros((rows + 7) // 8, dtype=np.uint8)
        levels = []
        for number in range(1, 1 + len(circuit.inputs) + len(circuit.registers)):
            high = np.packbits(known[number]) if number in known else unknown
            levels += [high, ~high if number in known else unknown]
        return Answers(circuit.certain(levels), rows)


class Answers:
    """The known levels in some cases."""

    def __init__(self, certain: list[np.ndarray], rows: int) -> None:
        self._certain = certain
        self._rows = rows

    def high(self, literal: int) -> np.ndarray:
        """The cases in which a bit is known to be high."""
        return self._unpacked(self._certain[literal]) != 0

    def known(self, bits: Bits) -> np.ndarray:
        """The cases in which all of some bits are known."""
        known = [self._certain[literal] | self._certain[literal ^ 1] for literal in bits.values()]
        return self._unpacked(np.bitwise_and.reduce(known)) != 0

    def numbers(self, bits: Bits) -> np.ndarray:
        """The numbers that some bits form; an unknown bit counts as low."""
        parts = np.zeros((8, self._rows), dtype=np.uint8)
        for at, literal in bits.items():
            parts[at // 8] |= self._unpacked(self._certain[literal]) << np.uint8(at % 8)
        return np.ascontiguousarray(parts.T).view("<u8").ravel()

    def _unpacked(self, levels: np.ndarray) -> np.ndarray:
        return np.unpackbits(levels, count=self._rows)
