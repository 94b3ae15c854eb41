"""UTF-16, read and written."""

from typing import Any

from amaranth.hdl import Cat, Const, Value

from .. import rules
from ..encoding_scheme import EncodingScheme
from ..flow_control.credit import Credit
from ..flow_control.stage import Stage
from ..layouts import ErrorKind
from ..logic import any_of, select
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

FIRST_OF_PAIRS = 0x10000
"""The lowest code point that is a pair of surrogates in UTF-16."""

SURROGATE_BITS = 0b11011
"""The five highest bits of a surrogate. The next one is set in a low surrogate."""


def read(credit: Credit, i: Any, profile: Profile, scheme: EncodingScheme) -> Reading:
    """Read UTF-16 (Unicode D91): a pair of surrogates, or any other unit, is a code point.

    An unpaired surrogate is an error, unless the profile accepts surrogates. So is an odd byte at
    the end of a text; after an unpaired high surrogate it is part of the same error, as in the
    decoders of WHATWG and CPython.
    """
    units = read_units(credit, i, scheme)
    there = units["there"]
    classify = credit.stage("classify", "the class of each unit")
    values = numbers_of(units, 16)
    surrogate = there & Cat(rules.surrogate(value) for value in values)
    classify.register("high", surrogate & ~units["unit_10"])
    classify.register("low", surrogate & units["unit_10"])
    noncharacter = there & Cat(rules.noncharacter(value) for value in values)
    classify.register("refused", noncharacter & constant(there, not profile.accept_noncharacters))
    # The low ten bits of a high surrogate are bits 10 to 19 of its code point less 10000.
    most = profile.highest - FIRST_OF_PAIRS >> 10
    ten = (value[:10] for value in values)
    classify.register("beyond", Cat(high > most if most >= 0 else Const(1, 1) for high in ten))
    for count, begin in (2, 7), (3, 11):
        classify.register(
            f"longer_{count}", any_of(units[f"unit_{bit}"] for bit in range(begin, 16))
        )
    unit = [f"unit_{bit}" for bit in range(16)]
    classify.carry("there", "part", "last", *unit)

    pair = credit.stage("pair", "surrogate pairs, and unpaired surrogates")
    low, part, last = classify["low"], classify["part"], classify["last"]
    high, no_high = _with_before(classify, "high"), Const(0, 1)
    beyond = _with_before(classify, "beyond")
    # Unpaired because of the next unit. For a beat's last unit this is certain if the text ends.
    alone = high & Cat(~(low if profile.accept_surrogates else low | part), last)
    behind_high = Cat(no_high, high[:-1])
    paired, lone_low = in_slots(low) & behind_high, in_slots(low) & ~behind_high
    errors = {
        ErrorKind.NONCHARACTER: in_slots(classify["refused"]),
        ErrorKind.TRUNCATED: in_slots(part),
        ErrorKind.OUT_OF_RANGE: paired & Cat(no_high, beyond[:-1]),
    }
    two_units = paired
    if not profile.accept_surrogates:
        errors[ErrorKind.SURROGATE] = alone | lone_low
        two_units |= in_slots(part) & behind_high
    pair.register("token", (in_slots(classify["there"]) & ~high) | in_slots(part) | alone)
    register_errors(pair, errors)
    pair.load(paired=paired, two_units=two_units)
    pair.carry("last", "longer_2", "longer_3", *unit)

    carried = "token", "error", "paired", "two_units", "last", "longer_2", "longer_3"
    step = wait(credit, *carried, *KINDS, *unit)
    own = [_with_before(step, f"unit_{bit}") for bit in range(16)]
    paired, error = step["paired"], step["error"]
    ten_of_high = [Cat(no_high, plane[:-1]) for plane in own[:10]]
    code_points = own[:10]
    code_points += [select(paired, *pair) for pair in zip(ten_of_high[:6], own[10:], strict=True)]
    # The four highest of the ten bits are the code point's bits above bit 15, less 1.
    top = [plane & paired for plane in _one_more(ten_of_high[6:])]
    right = step["token"] & ~error
    code_points = [plane & right for plane in (code_points + top)[: profile.code_point_width]]
    longer = [paired | Cat(Const(1, 1), step[f"longer_{count}"]) for count in (2, 3)]
    longer = [plane & right for plane in [*longer, paired]]
    return make_code_points(credit, step, step["token"], code_points, longer, [step["two_units"]])


def _with_before(step: Stage, name: str) -> Value:
    """A register with a bit for each unit, preceded by the bit of the previous beat's last unit.

    That bit is kept until the next beat arrives. It is zero at the beginning of a text.
    """
    mask, last = step[name], step["last"]
    carried = step.signal(f"before_{name}")
    with step.m.If(step.valid):
        step.m.d.sync += carried.eq(mask[-1] & ~last)
    return Cat(carried, mask)


def write(step: Stage, width: int) -> list[Unit]:
    """Write UTF-16, with a high surrogate in the slot before that of its code point.

    No code point ends in that slot: one that needs a pair was read from more than one unit. Slot 0
    belongs to the last lane of the previous beat.
    """
    high, other = write_pairs(step, width)
    none = Const(0, 1)
    bits = [own | Cat(plane[1:], none) for own, plane in zip(other.bits, high.bits, strict=True)]
    return [Unit(bits, other.kept | Cat(high.kept[1:], none))]


def write_pairs(step: Stage, width: int) -> list[Unit]:
    """Write UTF-16, with both surrogates of a pair in one slot (Unicode Table 3-5)."""
    token, paired = step["token"], step["bytes_4"]
    none = Const(0, len(token))
    bits = [step[f"code_point_{bit}"] if bit < width else none for bit in range(21)]
    marks = [paired if SURROGATE_BITS >> bit & 1 else none for bit in range(5)]
    ten = [*bits[10:16], *_one_less(bits[16:])]
    high = [*(plane & paired for plane in ten), none, *marks]
    top = [
        (plane & ~paired) | mark for plane, mark in zip(bits[10:16], [paired, *marks], strict=True)
    ]
    return [Unit(high, paired), Unit([*bits[:10], *top], token)]


def _one_more(planes: list[Value]) -> list[Value]:
    """Increment numbers that are given as bit planes. The result has one more plane."""
    flips: Value = ~Const(0, len(planes[0]))
    result = []
    for plane in planes:
        result.append(plane ^ flips)
        flips = flips & plane
    return [*result, flips]


def _one_less(planes: list[Value]) -> list[Value]:
    """Decrement numbers that are given as bit planes. The result lacks the highest plane."""
    flips: Value = ~Const(0, len(planes[0]))
    result = []
    for plane in planes[:-1]:
        result.append(plane ^ flips)
        flips = flips & ~plane
    return result
