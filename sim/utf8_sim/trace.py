"""What a simulation saw: every pin in every cycle."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np


@dataclass(frozen=True)
class Interface:
    """The pins of a component, by the names that traces and reports use.

    Parameters
    ----------
    component : str
        What the command line calls it.
    item : str
        The field of the input's payload that carries a value.
    item_type : type
        Of the values offered, as arrays hold them.
    result : tuple of str
        The fields of the output's payload.
    """

    component: str
    item: str
    item_type: type
    result: tuple[str, ...]

    @property
    def driven(self) -> tuple[str, ...]:
        """The pins that a test bench drives."""
        return "i.valid", f"i.{self.item}", "i.last", "o.ready"

    @property
    def observed(self) -> tuple[str, ...]:
        """The pins that the design drives."""
        return "i.ready", "o.valid", *(f"o.{field}" for field in self.result)


DECODER = Interface("decoder", "data", np.uint8, ("code_point", "error", "kind", "length", "last"))
ENCODER = Interface("encoder", "code_point", np.uint64, ("data", "error", "last"))

OBSERVED_BITS = {
    "o.code_point": (0, 48),
    "o.data": (0, 8),
    "o.error": (48, 1),
    "o.kind": (49, 3),
    "o.length": (52, 4),
    "o.last": (56, 1),
    "o.valid": (57, 1),
    "i.ready": (58, 1),
}
"""Where a pin that the design drives stands in a word of a trace: its lowest bit and its width.

The same for both components, in the order of the Verilog module: ``tdata``, ``tuser``, ``tlast``.
"""


def bits(pin: str, levels: np.ndarray | int) -> np.ndarray:
    """Levels of a pin that the design drives, at their place in the words of a trace."""
    return np.asarray(levels, dtype=np.uint64) << np.uint64(OBSERVED_BITS[pin][0])


def field(words: np.ndarray, pin: str) -> np.ndarray:
    """Levels of a pin that the design drives, from the words of a trace."""
    lowest, width = OBSERVED_BITS[pin]
    if width > 8:
        return words >> np.uint64(lowest) & np.uint64((1 << width) - 1)
    return (words >> np.uint64(lowest)).astype(np.uint8) & np.uint8((1 << width) - 1)


def meaningful(words: np.ndarray) -> np.ndarray:
    """Words without the payload where ``o.valid`` is low, and the payload means nothing."""
    valid = words >> np.uint64(OBSERVED_BITS["o.valid"][0]) & np.uint64(1)
    control = np.uint64(sum(1 << OBSERVED_BITS[pin][0] for pin in ("o.valid", "i.ready")))
    # All ones where it is valid: minus one wraps around.
    return words & (control | (np.uint64(0) - valid))


@dataclass(frozen=True)
class Trace:
    """Cycles of a simulation. A name of a pin gives its levels, a slice or a mask fewer cycles.

    The pins that the design drives are kept in one word a cycle, so that comparing all of them is
    one operation.

    Parameters
    ----------
    interface : Interface
        The pins.
    i_valid, item, i_last, o_ready : numpy.ndarray
        Levels of the pins driven.
    words : numpy.ndarray
        Levels of the pins observed, by :data:`OBSERVED_BITS`.
    state : numpy.ndarray
        The state register.
    """

    interface: Interface
    i_valid: np.ndarray
    item: np.ndarray
    i_last: np.ndarray
    o_ready: np.ndarray
    words: np.ndarray
    state: np.ndarray

    def __len__(self) -> int:
        return len(self.words)

    @property
    def _columns(self) -> tuple[np.ndarray, ...]:
        return self.i_valid, self.item, self.i_last, self.o_ready, self.words, self.state

    @overload
    def __getitem__(self, key: str) -> np.ndarray: ...

    @overload
    def __getitem__(self, key: slice | np.ndarray) -> "Trace": ...

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return Trace(self.interface, *(column[key] for column in self._columns))
        if key == "state":
            return self.state
        if key in self.interface.driven:
            return self._columns[self.interface.driven.index(key)]
        return field(self.words, key)

    @property
    def is_accepted(self) -> np.ndarray:
        """In which cycles an input was accepted, as a mask."""
        return self.i_valid.view(bool) & self["i.ready"].view(bool)

    @property
    def is_taken(self) -> np.ndarray:
        """In which cycles an output was taken, as a mask."""
        return self["o.valid"].view(bool) & self.o_ready.view(bool)

    def table(self) -> np.ndarray:
        """The same as one array with a field for each pin, handy for a look at single cycles."""
        pins = (*self.interface.driven, *self.interface.observed, "state")
        columns = [self[pin] for pin in pins]
        names = ((pin, column.dtype) for pin, column in zip(pins, columns, strict=True))
        table = np.empty(len(self), dtype=list(names))
        for pin, column in zip(pins, columns, strict=True):
            table[pin] = column
        return table

    @classmethod
    def empty(cls, interface: Interface) -> "Trace":
        """A trace without cycles."""
        none = np.zeros(0, dtype=np.uint8)
        items: np.ndarray
        items, words = none.astype(interface.item_type), none.astype(np.uint64)
        return cls(interface, none, items, none, none, words, none)

    @classmethod
    def join(cls, traces: Sequence["Trace"]) -> "Trace":
        """Traces of the same interface, one after the other."""
        columns = zip(*(trace._columns for trace in traces), strict=True)
        return cls(traces[0].interface, *map(np.concatenate, columns))
