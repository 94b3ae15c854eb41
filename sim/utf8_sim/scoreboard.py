"""A scoreboard for test benches: checks outputs against the golden model."""

from collections import deque
from collections.abc import Mapping
from enum import Enum
from reprlib import repr as shortened
from typing import Any

import numpy as np
from amaranth.hdl import Const, Fragment
from amaranth.lib import data

from .components import component_of
from .golden.model import feed_all
from .trace import Fields, Interface, Pin


class Mismatch(AssertionError):
    """An output is wrong, unexpected or missing; the message names it, and the fields that differ.

    Examples
    --------
    >>> from utf8_hdl import Encoder
    >>> from utf8_sim import Mismatch, Scoreboard
    >>> scoreboard = Scoreboard(Encoder())
    >>> scoreboard.accept({"code_point": 0x41, "last": 1})
    >>> try:
    ...     scoreboard.take({"data": 0x42, "error": 0, "last": 1})
    ... except Mismatch as mismatch:
    ...     print(mismatch)
    byte 0, 41: expected data=65, actual data=66
    """


class Scoreboard:
    """Compares outputs with the golden model, for a test bench that drives the pins itself.

    The test bench can use cocotb, Amaranth or any other framework for Python. It reports each input
    that the design accepts, and each output that it takes from the design; if both happen in the
    same cycle, the input comes first. The scoreboard has no clock and does not check timing. After
    a reset, create a new one.

    An input or an output is a mapping of all fields of its payload by name, or a payload as
    Amaranth's simulator samples it.

    Parameters
    ----------
    design : wiring.Component
        An instance of a component in the registry. It defines the expected outputs; it is not
        simulated.

    Raises
    ------
    LookupError
        If its component is not in the registry.
    TypeError
        If it is not a component.

    Examples
    --------
    >>> from utf8_hdl import Decoder
    >>> from utf8_sim import Scoreboard
    >>> scoreboard = Scoreboard(Decoder())
    >>> scoreboard.accept({"data": 0x41, "last": 0})
    >>> scoreboard.accept({"data": 0xFF, "last": 1})
    >>> scoreboard.expected()
    {'code_point': 65, 'error': 0, 'kind': 0, 'length': 1, 'last': 0}
    >>> scoreboard.take({"code_point": 65, "error": 0, "kind": 0, "length": 1, "last": 0})
    >>> scoreboard.finish()
    Traceback (most recent call last):
    utf8_sim.scoreboard.Mismatch: token 1, error invalid-byte (1 byte): missing
    """

    def __init__(self, design: Any) -> None:
        if not (hasattr(design, "i") and hasattr(design, "o")):
            raise TypeError(
                f"design must be a component, such as Decoder(), not {shortened(design)}"
            )
        self._component = component_of(design)
        self._interface = Interface.of(self._component.name, design)
        self._model = self._component.model(design)
        self._due: deque[Fields] = deque()
        self._taken = 0
        Fragment.get(design, None)  # else Amaranth warns that the design is never used

    def accept(self, item: Any) -> None:
        """Report an input that the design accepted.

        Parameters
        ----------
        item : mapping of str to int, or data.Const
            An input.

        Raises
        ------
        TypeError
            If it is not a mapping, or a field is not an integer, or the field of an array is not a
            list of integers. The input is then not recorded.
        ValueError
            If a field is missing, or does not fit into its bits. The input is then not recorded.
        """
        inputs, outputs = self._interface.inputs, self._interface.outputs
        accepted = _levels("an input", inputs, item)
        items = {pin.name: pin.checked([accepted[pin.field]]) for pin in inputs}
        columns = feed_all(self._model, items)
        names = [pin.field for pin in outputs]
        for levels in zip(*(columns[pin.name].tolist() for pin in outputs), strict=True):
            self._due.append(dict(zip(names, levels, strict=True)))

    def take(self, output: Any) -> None:
        """Check an output that was taken from the design.

        Parameters
        ----------
        output : mapping of str to int, or data.Const
            An output.

        Raises
        ------
        Mismatch
            If it is not the expected output, or no output is expected.
        TypeError
            If it is not a mapping, or a field is not an integer, or the field of an array is not a
            list of integers.
        ValueError
            If a field is missing.
        """
        actual = _levels("an output", self._interface.outputs, output)
        if not self._due:
            raise Mismatch(f"{self._name()}: no output is expected, actual {_shown(actual)}")
        expected = self._mask_dont_cares(self._due[0], actual)
        wrong = [field for field, level in expected.items() if actual[field] != level]
        if wrong:
            expected, actual = (
                {field: side[field] for field in wrong} for side in (expected, actual)
            )
            raise Mismatch(f"{self._name()}: expected {_shown(expected)}, actual {_shown(actual)}")
        self._due.popleft()
        self._taken += 1

    def expected(self) -> Fields | None:
        """The next output, if the inputs accepted so far produce one."""
        return dict(self._due[0]) if self._due else None

    def finish(self) -> None:
        """Check that no output is missing, at the end of a test.

        Raises
        ------
        Mismatch
            If an output is missing.
        """
        if self._due:
            more = f", and {len(self._due) - 1} after it" if len(self._due) > 1 else ""
            raise Mismatch(f"{self._name()}: missing{more}")

    def _mask_dont_cares(self, expected: Fields, actual: Fields) -> Fields:
        rows = (
            {f"o.{field}": np.array([level]) for field, level in side.items()}
            for side in (expected, actual)
        )
        row = self._component.mask_dont_cares(*rows)
        return {field: row[f"o.{field}"][0].tolist() for field in expected}

    def _name(self) -> str:
        """Name of the next output: its number, and its expected value."""
        name = f"{self._component.result} {self._taken}"
        if not self._due:
            return name
        levels = {f"o.{field}": level for field, level in self._due[0].items()}
        return f"{name}, {self._component.show_result(levels)}"


def _levels(what: str, pins: tuple[Pin, ...], item: Any) -> Fields:
    """The fields of an input or an output."""
    if isinstance(item, data.Const):
        bits = Const.cast(item)
        columns = {pin.field: pin.of_integers([bits.value], len(bits)) for pin in pins}
        return {field: column[0].tolist() for field, column in columns.items()}
    fields = ", ".join(pin.field for pin in pins)
    if not isinstance(item, Mapping):
        raise TypeError(f"{what} must be a mapping with the fields {fields}, not {item!r}")
    if any(pin.field not in item for pin in pins):
        raise ValueError(f"{what} must have the fields {fields}, not {item!r}")
    return {pin.field: _level(item[pin.field], pin) for pin in pins}


def _level(level: Any, pin: Pin) -> Any:
    """The level of a field, if it has the right shape."""
    level = level.tolist() if isinstance(level, np.ndarray) else level
    parts = len(pin.parts)
    if parts == 1:
        return _integer(level, pin)
    if not isinstance(level, list | tuple) or len(level) != parts:
        rule = f"a list of {parts} integers"
        raise TypeError(f"{pin.field} must be {rule}, not {shortened(level)}")
    return [_integer(part, pin) for part in level]


def _integer(level: Any, pin: Pin) -> int:
    """A level as an integer. A bool is accepted for a single bit only."""
    level = level.value if isinstance(level, Enum) else level
    is_other = isinstance(level, bool) and pin.width > len(pin.parts)
    try:
        number = None if is_other else int(level)
    except (TypeError, ValueError):
        number = None
    if number is None or number != level:
        raise TypeError(f"{pin.field} must be an integer, not {shortened(level)}")
    return number


def _shown(levels: Fields) -> str:
    return ", ".join(f"{field}={level}" for field, level in levels.items())
