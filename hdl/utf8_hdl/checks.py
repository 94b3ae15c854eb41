"""Argument checks, with one-line error messages."""

import operator
from reprlib import repr as shortened
from typing import Any

LANES = (1, 2, 4, 8, 16, 32, 64, 128)
"""The supported numbers of lanes."""

DEFAULT_LANES = 8
"""The default number of lanes."""


def checked_integer(name: str, value: Any, least: int = 0, most: int | None = None) -> int:
    """Return a Python or NumPy integer as an ``int``; `ValueError` if it is outside a range.

    `TypeError` if it is not an integer, or is a bool.
    """
    rule = f"{least} or more" if most is None else f"{least} to {most}"
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{name} must be an integer, {rule}, not {shortened(value)}")
    if number < least or (most is not None and number > most):
        raise ValueError(f"{name} must be {rule}, not {number}")
    return number


def checked_type(name: str, value: Any, kind: type, such_as: str = "") -> Any:
    """Return a value if it is of a type; otherwise raise `TypeError`."""
    if not isinstance(value, kind):
        example = f", such as {such_as}" if such_as else ""
        raise TypeError(f"{name} must be a {kind.__name__}{example}, not {shortened(value)}")
    return value


def checked_lanes(lanes: int, least: int = 1) -> int:
    """Return a number of lanes if it is supported; otherwise raise `ValueError`."""
    number = checked_integer("lanes", lanes)
    if number not in LANES or number < least:
        raise ValueError(f"lanes must be a power of two from {least} to {LANES[-1]}, not {lanes!r}")
    return number
