"""The code points of a beat: the interface between reading one encoding and writing another.

The bytes of a beat form code units. Slot k, from 1 on, has the code point that ends with unit
k - 1. Slot 0 has the sequence that the previous beat left unfinished, if this beat cuts it.

The ``read`` of an encoding is a pipeline of seven stages. Registers of the last stage, *make*, are
vectors with a bit for each slot: ``token``, the slot has a code point; ``code_point_0`` and so on,
its bits; ``bytes_2`` to ``bytes_4``, it has at least 2, 3 or 4 bytes in UTF-8. ``errors`` has a bit
for each four slots: at least one of them has an error, which is replaced by U+FFFD.

The ``write`` of an encoding returns the units of the code points. A slot has one unit, or several
in order if its code point may have more units than it was read from.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Value

from ..encoding_scheme import EncodingScheme
from ..flow_control.credit import Credit
from ..flow_control.stage import Stage
from ..layouts import ErrorKind, elements
from ..logic import any_of
from ..profile import REPLACEMENT

STAGES = 7

MAX_BYTES = 4
"""Bytes of the longest form of UTF-8 up to U+10FFFF."""


class Unit(NamedTuple):
    """A unit of each slot: vectors of its bits, and of its valid bit, with a bit for each slot.

    The bits of an invalid unit are zero, except for units read from UTF-32.
    """

    bits: list[Value]
    kept: Value


class Reading(NamedTuple):
    """The last stages of a reader, and the errors of a beat."""

    made: Stage
    """The last stage."""
    found: Stage
    """The stage before, which computes the following vectors, with a bit for each slot."""
    error: Value
    """An error ends in the slot."""
    kind: list[Value]
    """The bits of the kind of that error."""
    at_least: list[Value]
    """It covers at least two units, at least three, and so on."""


KINDS = tuple(f"error_kind_{bit}" for bit in range(3))
"""Registers with the bits of the kind of an error."""


def register_errors(stage: Stage, errors: dict[ErrorKind, Value]) -> None:
    """Register ``error``, and the bits of its kind. A slot has at most one kind of error."""
    stage.register("error", any_of(errors.values()))
    for bit, name in enumerate(KINDS):
        stage.register(name, any_of(of for kind, of in errors.items() if kind.value >> bit & 1))


def make_code_points(
    credit: Credit,
    found: Stage,
    token: Value,
    code_points: list[Value],
    longer: list[Value],
    at_least: list[Value],
) -> Reading:
    """Add the last stage: code points. An error is replaced by U+FFFD, which has three bytes.

    ``found``, the stage before, has ``error`` and its kind for each slot. In an error, the given
    bits are zero or those of U+FFFD, and ``longer`` is zero. For ``at_least`` see :class:`Reading`.
    """
    error = found["error"]
    made = credit.stage("make", "the code points").carry("last")
    made.register("token", token)
    made.register("errors", any_of_fours(error))
    for bit, plane in enumerate(code_points):
        made.register(f"code_point_{bit}", plane | error if REPLACEMENT >> bit & 1 else plane)
    longer = longer + [Const(0, len(token))] * (MAX_BYTES - 1 - len(longer))
    for count, plane in enumerate(longer, start=2):
        made.register(f"bytes_{count}", plane | error if count < MAX_BYTES else plane)
    return Reading(made, found, error, [found[name] for name in KINDS], at_least)


def any_of_fours(bits: Value) -> Value:
    """For each four bits, True if one is set: one lookup table each, because slots are far
    apart."""
    return Cat(bits[begin : begin + 4].any() for begin in range(0, len(bits), 4))


def read_units(credit: Credit, i: Any, scheme: EncodingScheme) -> Stage:
    """Stage 1: the bits of the units as vectors.

    ``there``: the unit is complete. ``part``: only some of its bytes are valid.
    """
    step = credit.stage("units", "units, assembled from bytes")
    size = scheme.unit_bytes
    data, keep = elements(i.p, "data"), elements(i.p, "keep")
    firsts = range(0, len(keep), size)
    keeps = [Cat(keep[first : first + size]) for first in firsts]
    units = [[data[first + byte] for byte in scheme.byte_order] for first in firsts]
    for bit in range(8 * size):
        step.register(f"unit_{bit}", Cat(unit[bit // 8][bit % 8] for unit in units))
    step.register("there", Cat(keep.all() for keep in keeps))
    step.register("part", Cat(keep.any() & ~keep.all() for keep in keeps))
    step.register("last", i.p.last)
    return step


def numbers_of(units: Stage, width: int) -> list[Value]:
    """The units of stage 1 as numbers."""
    planes = [units[f"unit_{bit}"] for bit in range(width)]
    return [Cat(plane[place] for plane in planes) for place in range(len(units["there"]))]


def wait(credit: Credit, *names: str) -> Stage:
    """Add stages that only carry registers, up to stage 6, as all readers have seven stages."""
    while credit.stages < STAGES - 1:
        step = credit.stage(f"wait_{credit.stages + 1}", "a delay of one cycle").carry(*names)
    return step


def in_slots(mask: Value) -> Value:
    """A vector with a bit for each unit, extended to slots: the bit of slot 0 is zero."""
    return Cat(Const(0, 1), mask)


def constant(values: Sequence[Value] | Value, level: bool) -> Value:
    """A vector with a bit for each value, all zeros or all ones."""
    return Const(level, 1).replicate(len(values))
