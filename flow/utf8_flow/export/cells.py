"""Parts of a Yosys netlist, and Verilog expressions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from .constants import Bit

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
    """Verilog for a value, and its operator if it needs parentheses beside any other operator.

    ``inverse`` is the text for its complement if that has an operator of its own.
    """

    text: str
    operator: str = ""
    inverse: str = ""

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


def with_reset(cell: Cell, choices: Mapping[Bits, Cell]) -> Cell:
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


def joined(parts: list[Expression]) -> Expression:
    """The concatenation of expressions, given lowest first."""
    if len(parts) == 1:
        return parts[0]
    return Expression(f"{{{', '.join(part.text for part in reversed(parts))}}}")


def runs(bits: Bits, source: Source) -> list[Run]:
    runs: list[Run] = []
    for bit in bits:
        origin, place = (None, 0) if isinstance(bit, str) else source(bit)
        if runs and runs[-1].takes(bit, origin, place):
            runs[-1] = runs[-1]._replace(bits=(*runs[-1].bits, bit))
        else:
            runs.append(Run(origin, place, (bit,)))
    return runs


def variable(bits: Bits) -> Bits:
    return tuple(bit for bit in bits if isinstance(bit, int))
