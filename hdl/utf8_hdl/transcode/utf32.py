"""UTF-32, read and written."""

from typing import Any

from amaranth.hdl import Cat

from .. import rules
from ..encoding_scheme import EncodingScheme
from ..flow_control.credit import Credit
from ..flow_control.stage import Stage
from ..logic import any_of
from ..profile import Profile
from .code_points import Unit, constant, in_slots, make_code_points, numbers_of, read_units, wait


def read(credit: Credit, i: Any, profile: Profile, scheme: EncodingScheme) -> Stage:
    """Of UTF-32 (Unicode D90): each unit is a code point, or an error if the profile refuses it.

    So are one to three bytes that are left over at the end of a text.
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
    kept = ["there", "part", "last", *(f"unit_{bit}" for bit in range(width))]
    refuse.carry(*kept)

    reasons, longer_than = ["too_high", "surrogate", "noncharacter"], (2, 3, 4)
    step = wait(credit, *reasons, *kept, *(f"longer_{count}" for count in longer_than))
    refused = any_of(step[reason] for reason in reasons)
    token, error = step["there"] | step["part"], refused | step["part"]
    code_points = [in_slots(step[f"unit_{bit}"] & ~error) for bit in range(width)]
    longer = [in_slots(step[f"longer_{count}"] & step["there"] & ~error) for count in longer_than]
    return make_code_points(credit, in_slots(token), in_slots(token & error), code_points, longer)


def write(step: Stage, width: int) -> list[Unit]:
    """In UTF-32 a code point is one unit. Those of its bits are left out that are always zero."""
    return [Unit([step[f"code_point_{bit}"] for bit in range(width)], step["token"])]
