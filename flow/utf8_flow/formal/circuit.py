"""A design as and-gates and registers: the AIGER format, which provers read."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Circuit:
    """A binary AIGER file (Biere, "The AIGER And-Inverter Graph (AIG) Format", 2007).

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
        The two literals of which each gate is the conjunction.
    """

    inputs: tuple[str, ...]
    registers: tuple[int, ...]
    outputs: dict[str, int]
    gates: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, file: bytes) -> "Circuit":
        """What a file says; a `ValueError` if it has what is not known here, as constraints."""
        head, _, rest = file.partition(b"\n")
        words = head.split()
        if len(words) != 6 or words[0] != b"aig":
            raise ValueError(f"not the header of a binary AIGER file: {head!r}")
        inputs, registers, outputs, gates = map(int, words[2:])
        lines = rest.split(b"\n", registers + outputs)
        literals = [int(line) for line in lines[:-1]]  # a register with an initial level has two
        delta = iter(lines[-1])
        pairs = []
        for gate in range(inputs + registers + 1, inputs + registers + gates + 1):
            first = 2 * gate - _number(delta)
            pairs.append((first, first - _number(delta)))
        names = _names(bytes(delta))
        return cls(
            tuple(names.get(f"i{n}", [f"i{n}"])[0] for n in range(inputs)),
            tuple(literals[:registers]),
            {
                name: literal
                for n, literal in enumerate(literals[registers:])
                for name in names.get(f"o{n}", [f"o{n}"])
            },
            tuple(pairs),
        )

    def only(self, *outputs: str) -> "Circuit":
        """The same with fewer outputs, in that order."""
        return replace(self, outputs={name: self.outputs[name] for name in outputs})

    def tied(self, levels: dict[int, int]) -> "Circuit":
        """The same with some inputs, by number, at a level, without the gates that this decides."""
        kept = 1 + len(self.inputs) + len(self.registers)
        literals = [2 * signal for signal in range(kept)]
        for number, level in levels.items():
            literals[1 + number] = level
        gates: list[tuple[int, int]] = []
        for first, second in self.gates:
            low, high = sorted((_look_up(literals, first), _look_up(literals, second)))
            if low == 0 or low ^ 1 == high:
                literals.append(0)
            elif low in (1, high):
                literals.append(high)
            else:
                literals.append(2 * (kept + len(gates)))
                gates.append((high, low))
        return Circuit(
            self.inputs,
            tuple(_look_up(literals, literal) for literal in self.registers),
            {name: _look_up(literals, literal) for name, literal in self.outputs.items()},
            tuple(gates),
        )

    def file(self) -> bytes:
        """The file, with no names but those of the outputs."""
        first_gate = len(self.inputs) + len(self.registers) + 1
        counts = (self.inputs, self.registers, self.outputs, self.gates)
        numbers = [first_gate - 1 + len(self.gates), *map(len, counts)]
        lines = [" ".join(["aig", *map(str, numbers)])]
        lines += [str(literal) for literal in [*self.registers, *self.outputs.values()]]
        deltas = bytearray()
        for gate, (first, second) in enumerate(self.gates, start=first_gate):
            deltas += _delta(2 * gate - first) + _delta(first - second)
        symbols = "".join(f"o{n} {name}\n" for n, name in enumerate(self.outputs))
        return "\n".join([*lines, ""]).encode() + deltas + symbols.encode()

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


def words(names: Iterable[str], levels: Iterable[int]) -> dict[str, int]:
    """The levels of signals whose bits have such names: that of the signal, and ``[bit]``."""
    numbers: dict[str, int] = {}
    for name, level in zip(names, levels, strict=True):
        signal, bit = signal_bit(name)
        numbers[signal] = numbers.get(signal, 0) | level << bit
    return numbers


def signal_bit(name: str) -> tuple[str, int]:
    """The signal and the number of a bit that has such a name."""
    signal, _, bit = name.removesuffix("]").partition("[")
    return signal, int(bit or 0)


def _look_up(signals: list[int], literal: int) -> int:
    """A level, or a literal of another circuit, in place of a literal."""
    return signals[literal >> 1] ^ (literal & 1)


def _number(data: Iterator[int]) -> int:
    """A number of seven bits a byte, the lowest first."""
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number
        shift += 7
    raise ValueError("an AIGER file that ends too early")


def _delta(number: int) -> bytes:
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _names(symbols: bytes) -> dict[str, list[str]]:
    """The names of each input, register and output, by its number in the file."""
    table = {}
    for line in symbols.decode().split("\n"):
        if line in ("", "c"):  # the end, or comments
            break
        number, *names = line.split()
        table[number] = names
    return table
