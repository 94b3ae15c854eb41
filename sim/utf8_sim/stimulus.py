"""Stimuli for a design: texts, as bytes or as code points, and the stalls of each side."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Real
from reprlib import repr as shortened
from typing import Any, BinaryIO, Protocol, TextIO

import numpy as np

from utf8_hdl.checks import checked_integer

from .trace import RESET, Columns, Interface, Pin, Trace, as_array

Piece = tuple[Sequence[int] | np.ndarray, bool | np.ndarray] | Columns
"""Bytes or code points of a text, and True if the text ends with them; or columns of inputs.

In a piece of many short texts, the flag is an array: for each value, True if a text ends with it.
Columns have all fields, by the names of the input's pins.
"""

PIECE_SIZE = 1 << 16

LAST = "i.last"

STRETCH = 2048
"""Cycles for which :class:`ChangingStalls` keep one probability."""


def file_pieces(stream: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """One text, read piece by piece; an empty file is a text without bytes."""
    piece, last = stream.read(PIECE_SIZE), False
    while not last:
        following = stream.read(PIECE_SIZE)
        last = not following
        yield piece, last
        piece = following


class Stalls(Protocol):
    """The cycles in which one side stalls."""

    def windows(self, size: int) -> Iterator[np.ndarray]:
        """Yield arrays of ``size`` booleans, True to stall, without end; every call is the same."""
        ...


def _check_seed(seed: Any) -> None:
    """Raise an error if numpy does not accept the seed."""
    for number in seed if isinstance(seed, tuple | list) else [seed]:
        checked_integer("seed", number)


@dataclass(frozen=True)
class RandomStalls:
    """Random stalls, with the same probability in each cycle.

    Parameters
    ----------
    probability : float
        At least 0 and below 1. With 1, the side would stall forever.
    seed : int or sequence of int
        The random seed.

    Raises
    ------
    TypeError
        If the probability is not a number, or the seed is not an integer or several integers.
    ValueError
        If the probability is outside its range, or the seed is negative.

    Examples
    --------
    >>> from utf8_sim import RandomStalls
    >>> next(RandomStalls(0.5, seed=1).windows(4))
    array([ True, False, False, False])
    """

    probability: float = 0.0
    seed: int | tuple[int, ...] = 0

    def __post_init__(self) -> None:
        if isinstance(self.probability, bool) or not isinstance(self.probability, Real):
            raise TypeError(f"probability must be a number, not {shortened(self.probability)}")
        if not 0 <= self.probability < 1:
            raise ValueError(
                f"probability must be at least 0 and below 1, not {self.probability:g}"
            )
        _check_seed(self.seed)

    def windows(self, size: int) -> Iterator[np.ndarray]:
        generator = np.random.default_rng(self.seed)
        while not self.probability:
            yield np.zeros(size, dtype=bool)
        # Single precision is twice as fast, but must not round up to 1: a stall forever.
        threshold = min(np.float32(self.probability), np.nextafter(np.float32(1), np.float32(0)))
        while True:
            yield generator.random(size, dtype=np.float32) < threshold


@dataclass(frozen=True)
class ChangingStalls:
    """Random stalls with a probability that changes every `STRETCH` cycles."""

    #: The probabilities, each at least 0 and below 1. All are equally likely.
    rates: tuple[float, ...]
    seed: int | tuple[int, ...] = 0

    def __post_init__(self) -> None:
        _check_seed(self.seed)

    def windows(self, size: int) -> Iterator[np.ndarray]:
        choosing, stalling = map(np.random.default_rng, np.random.SeedSequence(self.seed).spawn(2))
        rates = np.array(self.rates, dtype=np.float32)
        probability = rates[:0]
        while True:
            stretches = choosing.random(-(-(size - len(probability)) // STRETCH))
            chosen = rates[(stretches * len(rates)).astype(np.int64)]
            probability = np.append(probability, np.repeat(chosen, STRETCH))
            yield stalling.random(size, dtype=np.float32) < probability[:size]
            probability = probability[size:]


@dataclass(frozen=True)
class FixedStalls:
    """Stalls in the given cycles, and none after them.

    Parameters
    ----------
    pattern : tuple of bool
        For each cycle from the first, True to stall.

    Raises
    ------
    TypeError
        If the pattern is not a tuple of bool.

    Examples
    --------
    >>> from utf8_sim import FixedStalls
    >>> next(FixedStalls((True, False, True)).windows(4))
    array([ True, False,  True, False])
    """

    pattern: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        kinds = set(map(type, self.pattern)) if isinstance(self.pattern, tuple) else {None}
        if not kinds <= {bool, np.bool_}:
            raise TypeError(f"pattern must be a tuple of bool, not {shortened(self.pattern)}")

    def windows(self, size: int) -> Iterator[np.ndarray]:
        for begin in range(0, len(self.pattern), size):
            part = np.array(self.pattern[begin : begin + size], dtype=bool)
            yield np.append(part, np.zeros(size - len(part), dtype=bool))
        while True:
            yield np.zeros(size, dtype=bool)


@dataclass(frozen=True)
class Stimulus:
    """Everything that determines a simulation: inputs, stalls of each side, and resets.

    An input is offered when the producer does not stall, and held until it is accepted. An
    input offered while reset is active is offered again after reset. The run ends after ``cycles``
    at the latest, even if inputs are left.
    """

    pieces: Iterable[Piece]
    input_stalls: Stalls = field(default_factory=RandomStalls)
    output_stalls: Stalls = field(default_factory=RandomStalls)
    cycles: float = math.inf
    resets: Stalls = field(default_factory=FixedStalls)
    idle: Columns | None = None
    """Payloads for cycles in which nothing is offered: one for each cycle of the run, from the
    first on. The engine chooses all others."""
    idle_seed: int | tuple[int, ...] = 0
    """Seed for the engine's choice."""


FORMAT = "utf8-hdl stimulus 1"
"""Format name in a file with a table."""


@dataclass(frozen=True)
class Table:
    """A stimulus as the levels of every input pin in every cycle, ``reset`` included."""

    interface: Interface
    #: The levels of ``reset`` and of each driven pin, by name, a row for each cycle.
    columns: Columns
    design: str = ""
    """The command-line options that create the design, if the file has them."""

    @classmethod
    def of(cls, trace: Trace) -> "Table":
        """The levels driven in the cycles of a trace."""
        names = RESET, *trace.interface.driven
        return cls(trace.interface, {name: trace[name] for name in names})

    def __len__(self) -> int:
        return len(self.columns[RESET])

    def write(self, file: TextIO) -> None:
        """Write it as JSON, a line for each cycle; :meth:`read` reads it."""
        rows = zip(*(column.tolist() for column in self.columns.values()), strict=True)
        head: dict[str, Any] = {"format": FORMAT, "component": self.interface.component}
        head |= {"design": self.design, "columns": list(self.columns)}
        lines = ",\n".join(map(json.dumps, rows))
        file.write(f'{json.dumps(head)[:-1]}, "rows": [\n{lines}\n]}}\n')

    @classmethod
    def read(cls, text: str, interface: Interface) -> "Table":
        """Read a table for a design with some pins; an invalid file is a `ValueError`."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            reason = str(error).partition(";")[0]
            raise ValueError(f"it is not JSON ({reason})") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"its format must be {FORMAT!r}")
        if content.get("component") != interface.component:
            raise ValueError(
                f"it is for component {content.get('component')!r}, not {interface.component!r}"
            )
        pins = {name: interface.pin(name) for name in (RESET, *interface.driven)}
        if content.get("columns") != list(pins):
            raise ValueError(f"its columns must be {', '.join(pins)}")
        rows = content.get("rows")
        if not isinstance(rows, list) or not all(
            isinstance(row, list) and len(row) == len(pins) for row in rows
        ):
            raise ValueError(f"its rows must be lists of {len(pins)} levels")
        levels = list(zip(*rows, strict=True)) if rows else [()] * len(pins)
        columns = {}
        for pin, column in zip(pins.values(), levels, strict=True):
            lanes = len(pin.parts)
            for level in column:
                parts = level if lanes > 1 else [level]
                is_list = isinstance(parts, list) and len(parts) == lanes
                if not is_list or any(type(part) is not int for part in parts):
                    rule = f"a list of {lanes} integers" if lanes > 1 else "an integer"
                    raise ValueError(
                        f"column {pin.name}: a level must be {rule}, not {shortened(level)}"
                    )
            try:
                checked = pin.checked(as_array(column).reshape(pin.column(len(column)).shape))
            except ValueError as error:
                raise ValueError(f"column {pin.name}: {error}") from error
            columns[pin.name] = checked
        return cls(interface, columns, str(content.get("design", "")))


def one_by_one(pieces: Iterable[Piece], interface: Interface) -> Iterator[Columns]:
    """Inputs for pieces of texts: one value in each, in its first field, and ``i.last``."""
    for piece in pieces:
        yield piece if isinstance(piece, dict) else _columns(interface.inputs[0].name, *piece)


def _columns(pin: str, values: Any, ends: bool | np.ndarray) -> Columns:
    """Values and the ends of texts, as columns."""
    if isinstance(ends, np.ndarray):
        lasts = ends.astype(np.uint8)
    else:
        lasts = np.zeros(len(values), dtype=np.uint8)
        lasts[-1:] = ends
    return {pin: _array(values), LAST: lasts}


def _array(values: Any) -> Any:
    """Bytes as an array; anything else by :func:`.trace.as_array`."""
    is_bytes = isinstance(values, bytes | bytearray)
    return np.frombuffer(values, np.uint8) if is_bytes else as_array(values)


class Beats:
    """Packs pieces of texts into beats: see :func:`beats`."""

    def __init__(self, interface: Interface) -> None:
        self._data, self._keep, _, *self._more = interface.inputs
        self._lanes = len(self._keep.parts)
        of_one_lane = self._data.parts[: len(self._data.parts) // self._lanes]
        self._value = Pin(self._data.name, of_one_lane).alone
        self._waiting = self._value.column(0)
        """Values of a text that has not ended, too few for a beat."""
        self._garbage = np.random.default_rng(0)

    def of_piece(self, values: Any, ends: bool | np.ndarray) -> Columns:
        """The beats that a piece completes: a beat is full, or has the end of a text."""
        added = np.reshape(_array(values), (-1, *self._waiting.shape[1:]))
        added = self._value.checked(added).reshape(added.shape)
        data = np.concatenate([self._waiting, added])
        if isinstance(ends, np.ndarray):
            last = np.flatnonzero(ends)
        else:
            last = np.full(int(ends), len(added) - 1)
        stops = np.append(last + len(self._waiting) + 1, len(data))
        sizes = np.diff(stops, prepend=0)  # of the texts; the last text has not ended
        whole = sizes // self._lanes
        beats = np.append(np.maximum(-(-sizes[:-1] // self._lanes), 1), whole[-1])
        rest = int(sizes[-1] - whole[-1] * self._lanes)
        self._waiting = data[len(data) - rest :]
        # From the index of a value without gaps between texts to its lane in the column.
        shift = (np.cumsum(beats) - beats) * self._lanes - (stops - sizes)
        lane = np.arange(len(data)) + np.repeat(shift, sizes)
        lasts = np.zeros(int(beats.sum()), dtype=np.uint8)
        lasts[np.cumsum(beats[:-1]) - 1] = 1
        return self._beats(data[: len(data) - rest], lane[: len(data) - rest], lasts)

    def rest(self) -> Columns:
        """The values left, as a partial beat without ``last``; no beat if none are left."""
        waiting, self._waiting = self._waiting, self._waiting[:0]
        lasts = np.zeros(min(1, len(waiting)), dtype=np.uint8)
        return self._beats(waiting, np.arange(len(waiting)), lasts)

    def _beats(self, data: np.ndarray, lane: np.ndarray, lasts: np.ndarray) -> Columns:
        """Beats with values in the given lanes.

        The other lanes, which a design must ignore, and the other fields are random.
        """
        beats = len(lasts)
        lanes = random_column(self._value, beats * self._lanes, self._garbage)
        keep = np.zeros(beats * self._lanes, dtype=np.uint8)
        lanes[lane], keep[lane] = data, 1
        return {
            self._data.name: lanes.reshape(self._data.column(beats).shape),
            self._keep.name: keep.reshape(self._keep.column(beats).shape),
            LAST: lasts,
            **{pin.name: random_column(pin, beats, self._garbage) for pin in self._more},
        }


def random_column(pin: Pin, rows: int, generator: np.random.Generator) -> np.ndarray:
    """A column of random levels."""
    column = pin.column(rows)
    by_part = column.reshape(rows, len(pin.parts))
    for number, (_, width) in enumerate(pin.parts):
        highest = (1 << width) - 1
        by_part[:, number] = generator.integers(0, highest, rows, dtype=pin.dtype, endpoint=True)
    return column


def beats(pieces: Iterable[Piece], interface: Interface) -> Iterator[Columns]:
    """Inputs for pieces of texts: full beats, except a beat with ``i.last``.

    A value is usually a byte. Values that do not fill a beat are kept for the next piece. If their
    text never ends, or if inputs with all fields come next, they form a partial beat.
    """
    packed = Beats(interface)
    for piece in pieces:
        if isinstance(piece, dict):
            yield packed.rest()
            yield piece
        else:
            yield packed.of_piece(*piece)
    yield packed.rest()
