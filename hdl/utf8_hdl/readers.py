"""Readers of texts: for each beat, the code points that it brings about, in slots.

A beat has a *place* for each unit that its bytes make. Slot k, from 1 on, has the code point that
ends in place k - 1; slot 0 has what the beat before left unfinished, if this beat cuts it.

A reader is a pipeline of seven stages. In the last one is known, as vectors with a bit for each
slot, whether there is a code point (``token``), its bits (``code_point_0`` and so on), and whether
it has so many bytes in UTF-8 (``bytes_2`` to ``bytes_4``). Of some slots together, ``errors`` says
whether U+FFFD is in the place of an error.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_
from typing import Any

from amaranth.hdl import Cat, Const, Value

from .credit import Credit, Step
from .encoding_scheme import EncodingScheme
from .lanes import Lanes
from .layouts import elements
from .logic import any_of, select
from .profile import REPLACEMENT, SURROGATES, Profile

STAGES = 7

FIRST_OF_PAIRS = 0x10000
"""The lowest code point that is a pair of surrogates in UTF-16."""

MOST_BYTES = 4
"""Bytes of the longest form in UTF-8, as far as UTF-16 knows it."""


def read_utf8(credit: Credit, i: Any, profile: Profile, scheme: EncodingScheme) -> Step:
    """Of UTF-8, where each byte is a unit: the logic of :class:`~utf8_hdl.lanes.Lanes`."""
    lanes = Lanes(credit, i, profile)
    named = lanes.named()
    token, error, code_points = named["ends"], named["error"], lanes.code_points()
    longer = [
        token & named[f"at_least_{count}"] & ~error
        for count in range(2, min(profile.longest_form, MOST_BYTES) + 1)
    ]
    return _made(credit, token, error, code_points, longer)


def read_utf16(credit: Credit, i: Any, profile: Profile, scheme: EncodingScheme) -> Step:
    """Of UTF-16 (Unicode D91): a pair of surrogates, or any other unit, is a code point.

    A surrogate alone is an error, unless the profile accepts surrogates. So is a byte that is left
    over at the end of a text; behind a high surrogate alone it is part of the same error, as
    it is to WHATWG's decoder and CPython's.
    """
    units = _units(credit, i, scheme)
    there = units["there"]
    classify = credit.step("classify", "what a unit is by itself")
    surrogate = there & _all(units, 15, 14, 12, 11) & ~units["unit_13"]
    classify.keep("high", surrogate & ~units["unit_10"])
    classify.keep("low", surrogate & units["unit_10"])
    noncharacter = _all(units, *range(1, 16)) & there
    classify.keep("refused", noncharacter & ~_like(there, profile.accept_noncharacters))
    # A high surrogate has the ten highest bits of its code point, less those of 10000.
    most = profile.highest - FIRST_OF_PAIRS >> 10
    ten = (Cat(units[f"unit_{bit}"][place] for bit in range(10)) for place in range(len(there)))
    classify.keep("beyond", Cat(high > most if most >= 0 else Const(1, 1) for high in ten))
    for count, begin in (2, 7), (3, 11):
        classify.keep(f"longer_{count}", any_of(units[f"unit_{bit}"] for bit in range(begin, 16)))

    pair = credit.step("pair", "which surrogates make a pair, and which are alone")
    low, part, last = classify["low"], classify["part"], classify["last"]
    high, no_high = _with_before(classify, "high"), Const(0, 1)
    beyond = _with_before(classify, "beyond")
    # Alone because of what is behind it; behind the last place, that is known if a text ends.
    alone = high & Cat(~(low if profile.accept_surrogates else low | part), last)
    behind_high = Cat(no_high, high[:-1])
    paired, lone_low = _slots(low) & behind_high, _slots(low) & ~behind_high
    error = _slots(classify["refused"] | part) | (paired & Cat(no_high, beyond[:-1]))
    if not profile.accept_surrogates:
        error |= alone | lone_low
    pair.keep("token", (_slots(classify["there"]) & ~high) | _slots(part) | alone)
    pair.keep("error", error)
    pair.keep("paired", paired)

    step = _wait(credit, pair)
    own = [_with_before(step, f"unit_{bit}") for bit in range(16)]
    paired, error = step["paired"], step["error"]
    ten_of_high = [Cat(no_high, levels[:-1]) for levels in own[:10]]
    code_points = own[:10]
    code_points += [select(paired, *pair) for pair in zip(ten_of_high[:6], own[10:], strict=True)]
    # The four highest bits of the ten are one less than those of the code point above bit 15.
    top = [levels & paired for levels in _up(ten_of_high[6:])]
    right = step["token"] & ~error
    code_points = [levels & right for levels in (code_points + top)[: profile.code_point_width]]
    longer = [paired | Cat(Const(1, 1), step[f"longer_{count}"]) for count in (2, 3)]
    longer = [levels & right for levels in [*longer, paired]]
    return _made(credit, step["token"], error, code_points, longer)


def read_utf32(credit: Credit, i: Any, profile: Profile, scheme: EncodingScheme) -> Step:
    """Of UTF-32 (Unicode D90): each unit is a code point, or an error if the profile refuses it.

    So are one to three bytes that are left over at the end of a text.
    """
    units = _units(credit, i, scheme)
    refuse = credit.step("refuse", "which units are no code points")
    width = profile.code_point_width
    there = units["there"]
    values = [Cat(units[f"unit_{bit}"][place] for bit in range(32)) for place in range(len(there))]
    refuse.keep("too_high", Cat(value > profile.highest for value in values))
    surrogate = (value[11:] == SURROGATES.start >> 11 for value in values)
    refuse.keep("surrogate", Cat(surrogate) & ~_like(values, profile.accept_surrogates))
    noncharacter = (value[1:] == 0xFFFE >> 1 for value in values)
    refuse.keep("noncharacter", Cat(noncharacter) & ~_like(values, profile.accept_noncharacters))
    for count, begin in (2, 7), (3, 11), (4, 16):
        refuse.keep(f"longer_{count}", Cat(value[begin:width].any() for value in values))

    step = _wait(credit, refuse)
    refused = step["too_high"] | step["surrogate"] | step["noncharacter"]
    token, error = step["there"] | step["part"], refused | step["part"]
    code_points = [_slots(step[f"unit_{bit}"] & ~error) for bit in range(width)]
    longer = [_slots(step[f"longer_{count}"] & step["there"] & ~error) for count in (2, 3, 4)]
    return _made(credit, _slots(token), _slots(token & error), code_points, longer)


def _units(credit: Credit, i: Any, scheme: EncodingScheme) -> Step:
    """Stage 1: the bits of units, of each place; whether it is there, or only a part of it."""
    step = credit.step("units", "the units that bytes make")
    size = scheme.unit_bytes
    data, keep = elements(i.p, "data"), elements(i.p, "keep")
    firsts = range(0, len(keep), size)
    keeps = [Cat(keep[first : first + size]) for first in firsts]
    units = [[data[first + byte] for byte in scheme.byte_order] for first in firsts]
    for bit in range(8 * size):
        step.keep(f"unit_{bit}", Cat(unit[bit // 8][bit % 8] for unit in units))
    step.keep("there", Cat(keep.all() for keep in keeps))
    step.keep("part", Cat(keep.any() & ~keep.all() for keep in keeps))
    step.keep("last", i.p.last)
    return step


def _wait(credit: Credit, step: Step) -> Step:
    """The stage before the last one: all readers have as many."""
    while credit.stages < STAGES - 1:
        step = credit.step(f"wait_{credit.stages + 1}", "nothing")
    return step


def _made(
    credit: Credit, token: Value, error: Value, code_points: list[Value], longer: list[Value]
) -> Step:
    """The last stage: of code points, and U+FFFD, which has three bytes, in place of errors.

    In an error the bits are zero, and it is no longer than a byte.
    """
    make = credit.step("make", "the code points")
    make.keep("token", token)
    make.keep("errors", any_of_fours(error))
    for bit, levels in enumerate(code_points):
        make.keep(f"code_point_{bit}", levels | error if REPLACEMENT >> bit & 1 else levels)
    longer += [Const(0, len(token))] * (MOST_BYTES - 1 - len(longer))
    for count, levels in enumerate(longer, start=2):
        make.keep(f"bytes_{count}", levels | error if count < MOST_BYTES else levels)
    return make


def any_of_fours(bits: Value) -> Value:
    """Of each four bits, whether one is set: a lookup table each, as they are far apart."""
    return Cat(bits[begin : begin + 4].any() for begin in range(0, len(bits), 4))


def _slots(fact: Value) -> Value:
    """What is known of places, of slots: nothing of slot 0."""
    return Cat(Const(0, 1), fact)


def _with_before(step: Step, name: str) -> Value:
    """What is known of places, and in front of them of the last one of the beat before.

    That is kept until the next beat comes. There is none before the first of a text.
    """
    fact, last = step[name], step["last"]
    carried = step.register(f"before_{name}")
    with step.m.If(step.comes):
        step.m.d.sync += carried.eq(fact[-1] & ~last)
    return Cat(carried, fact)


def _all(step: Step, *bits: int) -> Value:
    """Where some bits of a unit are set."""
    return reduce(and_, (step[f"unit_{bit}"] for bit in bits))


def _like(values: Sequence[Value] | Value, level: bool) -> Value:
    """The same bit for each."""
    return Const(level, 1).replicate(len(values))


def _up(planes: list[Value]) -> list[Value]:
    """The numbers after some, of which the bits are vectors; with a bit more."""
    flips = _like(planes[0], True)
    result = []
    for levels in planes:
        result.append(levels ^ flips)
        flips = flips & levels
    return [*result, flips]


READERS: dict[int, Callable[[Credit, Any, Profile, EncodingScheme], Step]] = {
    1: read_utf8,
    2: read_utf16,
    4: read_utf32,
}
"""The readers, by the bytes of a code unit."""
