"""A design as and-gates and registers: the AIGER format, which provers read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Circuit:
    """An AIGER file (Biere, "The AIGER And-Inverter Graph (AIG) Format", 2007).

    Signals are numbered: 0 is the constant, then come the inputs, the registers, which begin with
    0, and the gates. A literal is twice a signal's number, plus one if it is inverted.

    Parameters
    ----------
    inputs : tuple of str
        The name of each input, the first if it has several.
    registers : tuple of int
        For each register, the literal that it takes in the next cycle.
    outputs : dict of str to int
        The literal of each output.
    gates : tuple of (int, int)
        The two literals of which each gate is the conjunction, the higher one first.
    levels : tuple of (int, int)
        Inputs, by number, that the prover ties to a level.
    """

    inputs: tuple[str, ...]
    registers: tuple[int, ...]
    outputs: dict[str, int]
    gates: tuple[tuple[int, int], ...]
    levels: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Circuit":
        """What a file in ASCII says, as Yosys writes it: without initial levels or constraints."""
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
        )

    def only(self, *outputs: str) -> "Circuit":
        """The same with fewer outputs, in that order."""
        return replace(self, outputs={name: self.outputs[name] for name in outputs})

    def cut(self, *names: str) -> "Circuit":
        """The same, but the signals that are outputs with these names are free in every cycle."""
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
        """The same, but some inputs have always the level of others, if there are both."""
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
        """The file in binary, without names."""
        first_gate = len(self.inputs) + len(self.registers) + 1
        counts = (self.inputs, self.registers, self.outputs, self.gates)
        numbers = [first_gate - 1 + len(self.gates), *map(len, counts)]
        lines = [" ".join(["aig", *map(str, numbers)])]
        lines += [str(literal) for literal in [*self.registers, *self.outputs.values()]]
        deltas = bytearray()
        for gate, (first, second) in enumerate(self.gates, start=first_gate):
            deltas += _delta(2 * gate - first) + _delta(first - second)
        return "\n".join([*lines, ""]).encode() + deltas

    def simulate(self, stimulus: Sequence[Sequence[int]]) -> list[dict[str, int]]:
        """The outputs in each cycle, as :func:`words`; the stimulus has each cycle's inputs."""
        trace = []
        state = [0] * len(self.registers)
        for levels in stimulus:
            signals = [0, *levels, *state]
            for first, second in self.gates:
                signals.append(_look_up(signals, first) & _look_up(signals, second))
            state = [_look_up(signals, literal) for literal in self.registers]
            shown = [_look_up(signals, literal) for literal in self.outputs.values()]
            trace.append(words(self.outputs, shown))
        return trace

    def certain(self, levels: Sequence[np.ndarray]) -> list[np.ndarray]:
        """For each literal, in which cases it is high whatever the unknown signals are.

        A case is a bit of the arrays. The levels have two arrays for each input, then for each
        register: where it is known to be high, and where it is known to be low.
        """
        never = np.zeros_like(levels[0])
        known = [never, ~never, *levels]
        for first, second in self.gates:
            known.append(known[first] & known[second])
            known.append(known[first ^ 1] | known[second ^ 1])
        return known


def words(names: Iterable[str], levels: Iterable[int]) -> dict[str, int]:
    """The levels of signals whose bits have such names: that of the signal, and ``[bit]``."""
    numbers: dict[str, int] = {}
    for name, level in zip(names, levels, strict=True):
        signal, bit = signal_bit(name)
        numbers[signal] = numbers.get(signal, 0) | level << bit
    return numbers


def signal_bit(name: str) -> tuple[str, int]:
    """The signal and the number of a bit that has such a name."""
    signal, _, bit = name.removesuffix("]").rpartition("[")
    return (signal, int(bit)) if bit.isdigit() and name.endswith("]") else (name, 0)


def _look_up(signals: list[int], literal: int) -> int:
    """A level, or a literal of another circuit, in place of a literal."""
    return signals[literal >> 1] ^ (literal & 1)


def _delta(number: int) -> bytes:
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])
