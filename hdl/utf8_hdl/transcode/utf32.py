"""UTF-32, read and written."""

from typing import Any

from amaranth.hdl import Cat

from .. import rules
from ..encoding_scheme import EncodingScheme
from ..flow_control.credit import Credit
from ..flow_control.stage import Stage
from ..layouts import ErrorKind
from ..profile import Profile
from .code_points import (
    KINDS,
    Reading,
    Unit,
    constant,
    in_slots,
    make_code_points,
    numbers_of,
    read_units,
    register_errors,
    wait,
)


def read(credit: Credit, i: Any, profile: Profile, scheme: EncodingScheme) -> Reading:
    """Read UTF-32 (Unicode D90): each unit is a code point, or an error if the profile refuses it.

    An incomplete unit at the end of a text is one error.
    """
    units = read_units(credit, i, scheme)
    refuse = credit.stage("refuse", "which units are no code points")
    width = profile.code_point_width
    values = numbers_of(units, 32)
    refuse.register("too_high", Cat(value > profile.highest for value in values))
    surrogate = (rules.surrogate(value) for value in values)
    refuse.register("surrogate", Cat(surrogate) & constant(values, not profile.accept_surrogates))
    noncharacter = (rules.noncharacter(value) for value in values)
    refuse.register(
        "noncharacter", Cat(noncharacter) & constant(values, not profile.accept_noncharacters)
    )
    for count, begin in (2, 7), (3, 11), (4, 16):
        refuse.register(f"longer_{count}", Cat(value[begin:width].any() for value in values))
    longer = [f"longer_{count}" for count in (2, 3, 4)]
    kept = ["there", "last", *(f"unit_{bit}" for bit in range(width))]
    refuse.carry("part", *kept)

    named = credit.stage("name", "why a unit is an error").carry(*kept, *longer)
    there, part = refuse["there"], refuse["part"]
    errors = {
        ErrorKind.OUT_OF_RANGE: there & refuse["too_high"],
        ErrorKind.SURROGATE: there & refuse["surrogate"],
        ErrorKind.NONCHARACTER: there & refuse["noncharacter"],
        ErrorKind.TRUNCATED: part,
    }
    register_errors(named, {kind: in_slots(places) for kind, places in errors.items()})
    named.register("token", in_slots(there | part))

    step = wait(credit, "token", "error", *KINDS, *kept, *longer)
    right = ~step["error"]
    code_points = [in_slots(step[f"unit_{bit}"]) & right for bit in range(width)]
    at_least = [in_slots(step[name] & step["there"]) & right for name in longer]
    return make_code_points(credit, step, step["token"], code_points, at_least, [])


def write(step: Stage, width: int) -> list[Unit]:
    """Write UTF-32: a code point is one unit. Bits that are always zero are left out."""
    return [Unit([step[f"code_point_{bit}"] for bit in range(width)], step["token"])]
