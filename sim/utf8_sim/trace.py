"""The trace of a simulation: every pin in every cycle, in named columns."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import EnumMeta
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, overload

import numpy as np
from amaranth.hdl import Shape
from amaranth.lib import data

Columns = dict[str, np.ndarray]
"""Levels of pins by name, a row for each cycle or for each item."""

Fields = dict[str, Any]
"""Levels of the fields of one payload by name: numbers, and lists of them for arrays."""

RESET = "reset"
"""The column of the reset signal."""

LARGEST_PART = 64
"""Bits of the widest integer that numpy has."""


class Pin(NamedTuple):
    """A pin: a handshake signal, a field of a payload, or the state register.

    Each part is a pair: its lowest bit in the payload, and its width. A number has one part. An
    array, and a number too wide for numpy, have several, lowest bits first; their columns have two
    axes. An enumeration has ``labels`` for its numbers, from 0 on.
    """

    name: str
    parts: tuple[tuple[int, int], ...] = ((0, 1),)
    labels: tuple[str, ...] = ()

    @property
    def field(self) -> str:
        """The name of the field in its payload."""
        return self.name.partition(".")[2]

    @property
    def width(self) -> int:
        """Bits of all parts."""
        return sum(width for _, width in self.parts)

    @property
    def dtype(self) -> type:
        """Type of its column: 8 bits, or at least 32, which also hold an AXI port's padding."""
        widest = max(width for _, width in self.parts)
        return np.uint8 if widest <= 8 else np.uint32 if widest <= 32 else np.uint64

    def column(self, rows: int) -> np.ndarray:
        """An uninitialised column with a number of rows."""
        shape = (rows, len(self.parts)) if len(self.parts) > 1 else rows
        return np.empty(shape, dtype=self.dtype)

    def of_integers(self, levels: Sequence[int], payload_width: int) -> np.ndarray:
        """The column from the levels of the whole payload."""
        whole = np.array(levels, dtype=np.uint64 if payload_width <= LARGEST_PART else object)
        column = self.column(len(levels))
        by_part = column.reshape(len(levels), len(self.parts))
        for number, (lowest, width) in enumerate(self.parts):
            mask = whole.dtype.type((1 << width) - 1)
            by_part[:, number] = whole >> whole.dtype.type(lowest) & mask
        return column

    def number(self, level: Any) -> int:
        """A level, as in ``column.tolist()``, as one number."""
        return int(level) if len(self.parts) == 1 else self.alone.integer(level)

    def checked(self, levels: Any) -> np.ndarray:
        """The column of some levels; an error unless each is an integer that fits."""
        array = as_array(levels)
        by_part = array.reshape(len(array), len(self.parts))
        for column, (_, width) in zip(by_part.T, self.parts, strict=True):
            rule = f"{self.field or self.name} must be unsigned {width}-bit integers"
            try:
                too_high = np.bitwise_or.reduce(column, keepdims=True) >> width
            except TypeError as error:
                wrong = next(level for level in column.tolist() if not isinstance(level, int))
                raise TypeError(f"{rule}, not {wrong!r}") from error
            if too_high.any():
                wrong = next(level for level in column.tolist() if level >> width)
                raise ValueError(f"{rule}, not {wrong}")
        return array.astype(self.dtype, copy=False)

    @property
    def alone(self) -> "Pin":
        """A pin with the same name and widths of parts, alone in its payload."""
        ends = list(accumulate(width for _, width in self.parts))
        parts = zip([0, *ends], (width for _, width in self.parts), strict=False)
        return Pin(self.name, tuple(parts))

    def integer(self, level: Any) -> int:
        """A level, as in ``column.tolist()``, at its bits in an integer for the payload."""
        levels = level if len(self.parts) > 1 else (level,)
        return sum(
            int(part) << lowest for part, (lowest, _) in zip(levels, self.parts, strict=True)
        )


def as_array(levels: Any) -> np.ndarray:
    """An array of integers; of Python integers if no numpy type can hold all of them."""
    array = np.asarray(levels)
    return array if array.dtype.kind in "biu" else np.asarray(levels, dtype=object)


def as_list(levels: Any) -> Sequence[int]:
    """The levels of an array as a sequence; a number, for a single lane, becomes a list."""
    return levels if isinstance(levels, Sequence) else [levels]


def expand_lane_mask(marks: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """A mask of lanes as a mask of levels; a lane may have several levels."""
    if marks.shape == levels.shape:
        return marks
    rows, parts = levels.shape
    lanes = marks.shape[1] if marks.ndim > 1 else 1
    return np.repeat(marks.reshape(rows, lanes), parts // lanes, axis=1)


def shown_number(number: int, labels: Sequence[str]) -> str:
    """A number of a pin for humans: in hexadecimal, with its label."""
    return f"{number:X} ({labels[number]})" if number < len(labels) else f"{number:X}"


def pins_of(side: str, layout: data.Layout) -> tuple[Pin, ...]:
    """A pin for each field of a payload, fields of nested structures included.

    Only the innermost name of a field counts. It is a `ValueError` if two fields have the same
    name, or if a field has the name of a handshake signal.
    """

    labels: dict[tuple[str, ...], tuple[str, ...]] = {}

    def fields(shape: Any, path: tuple[str, ...], lowest: int) -> Iterator[tuple[Any, int, int]]:
        if isinstance(shape, data.ArrayLayout):
            for _, field in shape:
                yield from fields(field.shape, path, lowest + field.offset)
        elif isinstance(shape, data.Layout):
            for key, field in shape:
                yield from fields(field.shape, (*path, str(key)), lowest + field.offset)
        else:
            width = Shape.cast(shape).width
            if isinstance(shape, EnumMeta):
                labels[path] = tuple(name.lower().replace("_", "-") for name in shape.__members__)
            for begin in range(0, width, LARGEST_PART):
                yield path, lowest + begin, min(width - begin, LARGEST_PART)

    parts: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for path, lowest, width in fields(layout, (), 0):
        parts.setdefault(path, []).append((lowest, width))
    names = ["valid", "ready", *(path[-1] for path in parts)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"the payload of {side} must not have another field {twice[0]!r}")
    return tuple(
        Pin(f"{side}.{path[-1]}", tuple(where), labels.get(path, ()))
        for path, where in parts.items()
    )


@dataclass(frozen=True)
class Interface:
    """The pins of a component, derived from the payloads of its streams ``i`` and ``o``.

    Inputs and outputs have a pin for each field. ``state_width`` is 0 without a visible state
    register. ``registers`` are other registers inside, to be shown like pins.
    """

    component: str
    inputs: tuple[Pin, ...]
    outputs: tuple[Pin, ...]
    state_width: int = 0
    registers: tuple[Pin, ...] = ()

    @classmethod
    def of(cls, component: str, design: Any) -> "Interface":
        state = len(design.state) if hasattr(design, "state") else 0
        payloads = {side: getattr(design, side).p.shape() for side in "io"}
        for side, layout in payloads.items():
            if not isinstance(layout, data.StructLayout):
                raise TypeError(f"the payload of {side} must be a structure, not {layout!r}")
        inputs, outputs = (pins_of(side, layout) for side, layout in payloads.items())
        return cls(component, inputs, outputs, state)

    @cached_property
    def driven(self) -> tuple[str, ...]:
        """Names of the pins that a test bench drives."""
        return "i.valid", *(pin.name for pin in self.inputs), "o.ready"

    @cached_property
    def observed(self) -> tuple[str, ...]:
        """Names of the pins that the design drives."""
        return "i.ready", "o.valid", *(pin.name for pin in self.outputs)

    @cached_property
    def pins(self) -> tuple[Pin, ...]:
        """All pins: driven and observed, the state register if it is visible, and ``registers``."""
        state = [Pin("state", ((0, self.state_width),))] if self.state_width else []
        offered, accepted = [Pin("i.valid"), *self.inputs], [Pin("o.ready"), Pin("i.ready")]
        return (*offered, *accepted, Pin("o.valid"), *self.outputs, *state, *self.registers)

    def pin(self, name: str) -> Pin:
        """The pin with a name, which may be ``reset``."""
        return next(pin for pin in (*self.pins, Pin(RESET)) if pin.name == name)

    def columns(self, rows: int) -> Columns:
        """Uninitialised columns for the pins."""
        return {pin.name: pin.column(rows) for pin in self.pins}


class Trace:
    """Cycles of a simulation. Index it by pin name for levels, by slice or mask for fewer cycles.

    Parameters
    ----------
    interface : Interface
        The pins.
    columns : dict of str to numpy.ndarray
        The levels of each pin by name, and of ``reset``; without it, reset is never active.

    Examples
    --------
    >>> from utf8_hdl import CompactDecoder
    >>> from utf8_sim import simulate
    >>> trace = simulate(CompactDecoder(), b"Hi")
    >>> trace["o.valid"][:4]
    array([0, 0, 1, 1], dtype=uint8)
    >>> trace.outputs()[1]
    {'code_point': 105, 'error': 0, 'kind': 0, 'length': 1, 'last': 1}
    """

    def __init__(self, interface: Interface, columns: Columns) -> None:
        self.interface = interface
        self.columns = columns
        if RESET not in columns:
            self.columns = {RESET: np.zeros(len(self), dtype=np.uint8), **columns}

    def __len__(self) -> int:
        return len(self.columns["o.valid"])

    @overload
    def __getitem__(self, key: str) -> np.ndarray: ...

    @overload
    def __getitem__(self, key: slice | np.ndarray) -> "Trace": ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.columns[key]
        return Trace(self.interface, {name: column[key] for name, column in self.columns.items()})

    @property
    def is_accepted(self) -> np.ndarray:
        """Mask of the cycles in which an input was accepted; never set in a cycle of reset."""
        return self._transfers("i")

    @property
    def is_taken(self) -> np.ndarray:
        """Mask of the cycles in which an output was taken; never set in a cycle of reset."""
        return self._transfers("o")

    def _transfers(self, side: str) -> np.ndarray:
        both = self[f"{side}.valid"] & self[f"{side}.ready"]
        return both.view(bool) & ~self[RESET].view(bool)

    def split_at_resets(self) -> Iterator["Trace"]:
        """The trace, divided after each cycle of reset."""
        ends = (np.flatnonzero(self[RESET]) + 1).tolist()
        for begin, end in pairwise([0, *ends, len(self)]):
            yield self[begin:end]

    @property
    def nbytes(self) -> int:
        """Memory of the levels, in bytes."""
        return sum(column.nbytes for column in self.columns.values())

    def accepted(self) -> Columns:
        """The inputs that were accepted, without the handshake."""
        return self.inputs(self.is_accepted)

    def inputs(self, mask: np.ndarray) -> Columns:
        """The payloads at the input's pins in the cycles of a mask."""
        return self._fields(self.interface.inputs, mask)

    def taken(self) -> Columns:
        """The outputs that were taken, without the handshake."""
        return self._fields(self.interface.outputs, self.is_taken)

    def _fields(self, pins: Iterable[Pin], mask: np.ndarray) -> Columns:
        return {pin.name: self[pin.name].compress(mask, axis=0) for pin in pins}

    def offered(self, side: str) -> Iterator[Fields]:
        """For each cycle, the fields offered at ``i`` or ``o``; empty if nothing is offered."""
        pins = self.interface.inputs if side == "i" else self.interface.outputs
        names = [pin.name for pin in pins]
        levels = zip(*(self[name].tolist() for name in names), strict=True)
        for is_valid, row in zip(self[f"{side}.valid"].tolist(), levels, strict=True):
            yield dict(zip(names, row, strict=True)) if is_valid else {}

    def outputs(self) -> list[Fields]:
        """The outputs that were taken, in order: their fields by name."""
        offered = self[self.is_taken].offered("o")
        return [{name.removeprefix("o."): row[name] for name in row} for row in offered]

    def table(self) -> np.ndarray:
        """The trace as one structured array with a field for each pin."""
        columns = self.columns.items()
        fields = [(name, column.dtype, column.shape[1:]) for name, column in columns]
        table = np.empty(len(self), dtype=fields)
        for name, column in columns:
            table[name] = column
        return table

    @classmethod
    def join(cls, traces: Sequence["Trace"]) -> "Trace":
        """Join traces of the same interface, one after the other."""
        names = traces[0].columns
        columns = {name: np.concatenate([trace[name] for trace in traces]) for name in names}
        return cls(traces[0].interface, columns)
