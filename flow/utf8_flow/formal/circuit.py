"""A design as and-gates and registers: the AIGER format, which provers read."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np


class Start(NamedTuple):
    """The input that sets a bit of a register in the first cycle."""

    input: str
    register: str
    #: The index of the bit in the register.
    bit: int
    #: The level of the bit after reset.
    level: int
    #: The index of the circuit's register that holds the bit from the second cycle on.
    number: int


@dataclass(frozen=True)
class Circuit:
    """An AIGER file (Biere, "The AIGER And-Inverter Graph (AIG) Format", 2007).

    Signals are numbered: 0 is the constant, then come the inputs, the registers and the gates.
    Registers are 0 in the first cycle. A literal is twice a signal's number, plus one if it is
    inverted.
    """

    #: The name of each input, the first if it has several.
    inputs: tuple[str, ...]
    #: For each register, the literal of its next value.
    registers: tuple[int, ...]
    #: The literal of each output.
    outputs: dict[str, int]
    #: The two literals whose conjunction each gate is, the higher literal first.
    gates: tuple[tuple[int, int], ...]
    #: The inputs that the prover ties to a constant, by index, and the constants.
    levels: tuple[tuple[int, int], ...] = ()
    #: The name of each register.
    names: tuple[str, ...] = ()
    #: The inputs that set registers in the first cycle.
    starts: tuple[Start, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Circuit":
        """Parse an ASCII file as Yosys writes it: without initial levels or constraints."""
        head, *lines = text.splitlines()
        counts = list(map(int, head.split()[2:]))
        numbers = [list(map(int, line.split())) for line in lines[: sum(counts)]]
        inputs, registers, outputs, gates = (
            numbers[sum(counts[:n]) : sum(counts[: n + 1])] for n in range(len(counts))
        )
        names = {number: own for number, *own in map(str.split, lines[sum(counts) :])}
        return cls(
            tuple(names[f"i{n}"][0] for n in range(len(inputs))),
            tuple(following for _, following in registers),
            {name: literal for n, [literal] in enumerate(outputs) for name in names[f"o{n}"]},
            tuple((max(pair), min(pair)) for _, *pair in gates),
            names=tuple(
                min(names.get(f"l{n}", [f"register{n}"]), key=_how_little_it_says)
                for n in range(len(registers))
            ),
        )

    def only(self, *outputs: str) -> "Circuit":
        """The circuit with only these outputs, in this order."""
        return replace(self, outputs={name: self.outputs[name] for name in outputs})

    def cut(self, *names: str) -> "Circuit":
        """The circuit, with the signals at the outputs of these names free in every cycle."""
        literals = {
            name: literal
            for name, literal in self.outputs.items()
            if signal_bit(name)[0] in names and literal >> 1 > len(self.inputs)
        }
        inputs = (*self.inputs, *(f"cut:{name}" for name in literals))
        first, more = len(self.inputs), len(literals)
        numbers = {n: n if n <= first else n + more for n in range(self._signals)}
        numbers |= {literal >> 1: first + 1 + n for n, literal in enumerate(literals.values())}
        return self._renumbered(inputs, numbers)

    def same(self, inputs: dict[str, str]) -> "Circuit":
        """The circuit, with some inputs replaced by others, if both exist."""
        places = {name: n for n, name in enumerate(self.inputs, start=1)}
        numbers = {n: n for n in range(self._signals)}
        numbers |= {places[n]: places[m] for n, m in inputs.items() if places.keys() >= {n, m}}
        return self._renumbered(self.inputs, numbers)

    @property
    def _signals(self) -> int:
        return 1 + len(self.inputs) + len(self.registers) + len(self.gates)

    def _renumbered(self, inputs: tuple[str, ...], numbers: dict[int, int]) -> "Circuit":
        def changed(literal: int) -> int:
            return numbers[literal >> 1] << 1 | literal & 1

        return replace(
            self,
            inputs=inputs,
            registers=tuple(map(changed, self.registers)),
            outputs={name: changed(literal) for name, literal in self.outputs.items()},
            gates=tuple(
                (max(pair), min(pair))
                for pair in ((changed(one), changed(other)) for one, other in self.gates)
            ),
        )

    def file(self) -> bytes:
        """The binary file, without names."""
        first_gate = len(self.inputs) + len(self.registers) + 1
        counts = (self.inputs, self.registers, self.outputs, self.gates)
        numbers = [first_gate - 1 + len(self.gates), *map(len, counts)]
        lines = [" ".join(["aig", *map(str, numbers)])]
        lines += [str(literal) for literal in [*self.registers, *self.outputs.values()]]
        deltas = bytearray()
        for gate, (first, second) in enumerate(self.gates, start=first_gate):
            deltas += _delta(2 * gate - first) + _delta(first - second)
        return "\n".join([*lines, ""]).encode() + deltas

    def text(self, *comment: str) -> str:
        """The ASCII file, with all names and the lines of a comment."""
        counts = (self.inputs, self.registers, self.outputs, self.gates)
        literals = iter(range(2, 2 * self._signals, 2))
        lines = [" ".join(map(str, ["aag", self._signals - 1, *map(len, counts)]))]
        lines += [f"{next(literals)}" for _ in self.inputs]
        lines += [f"{next(literals)} {following}" for following in self.registers]
        lines += [f"{literal}" for literal in self.outputs.values()]
        lines += [f"{next(literals)} {one} {other}" for one, other in self.gates]
        for kind, names in ("i", self.inputs), ("l", self.names), ("o", self.outputs):
            lines += [f"{kind}{number} {name}" for number, name in enumerate(names)]
        return "\n".join([*lines, "c", *comment, ""])

    def simulate(self, stimulus: Sequence[Sequence[int]]) -> list[dict[str, int]]:
        """The outputs in each cycle, as :func:`words`; the stimulus is the inputs of each cycle."""
        return [
            words(self.outputs, (_look_up(signals, each) & 1 for each in self.outputs.values()))
            for signals in self.run(stimulus)
        ]

    def run(self, stimulus: Iterable[Sequence[int]]) -> Iterator[list[int]]:
        """The levels of all signals, by number, in each cycle.

        Each level is an integer of any size, in which each bit belongs to a separate run.
        """
        state = [0] * len(self.registers)
        for levels in stimulus:
            signals = [0, *levels, *state]
            for first, second in self.gates:
                signals.append(_look_up(signals, first) & _look_up(signals, second))
            state = [_look_up(signals, literal) for literal in self.registers]
            yield signals

    def certain(self, levels: Sequence[np.ndarray]) -> list[np.ndarray]:
        """For each literal, the cases in which it is high whatever the unknown levels are.

        A case is a bit of the arrays. ``levels`` has two arrays for each input, then for each
        register: the cases in which it is known to be high, and those in which it is known to be
        low.
        """
        never = np.zeros_like(levels[0])
        known = [never, ~never, *levels]
        for first, second in self.gates:
            known.append(known[first] & known[second])
            known.append(known[first ^ 1] | known[second ^ 1])
        return known


def words(names: Iterable[str], levels: Iterable[int]) -> dict[str, int]:
    """The values of signals from the levels of their bits, which are named ``signal[bit]``."""
    numbers: dict[str, int] = {}
    for name, level in zip(names, levels, strict=True):
        signal, bit = signal_bit(name)
        numbers[signal] = numbers.get(signal, 0) | level << bit
    return numbers


def signal_bit(name: str) -> tuple[str, int]:
    """The signal and the bit index in the name of a bit."""
    signal, _, bit = name.removesuffix("]").rpartition("[")
    return (signal, int(bit)) if bit.isdigit() and name.endswith("]") else (name, 0)


def _how_little_it_says(name: str) -> tuple[bool, bool, int, str]:
    """Sort key of a register's names: the name that best describes its position is first."""
    return "$" in name, not name.startswith("bench."), len(name), name


def _look_up(signals: list[int], literal: int) -> int:
    """The level of a literal."""
    return signals[literal >> 1] ^ -(literal & 1)


def _delta(number: int) -> bytes:
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])
