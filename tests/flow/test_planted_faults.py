"""Each planted fault is found as its table says, and nothing is found in the unaltered designs."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from altered import Altered
from planted_faults import (
    CAMPAIGN,
    CAMPAIGN_CYCLES,
    CLASSES,
    FAULTS,
    FEW,
    LONG,
    LONGEST,
    RANDOM,
    RANDOM_CYCLES,
    Fault,
)
from refuted import is_refuted
from rtl import quick_engine
from utf8_flow.components.entry import variants
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.engine import DesignError, Engine
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import ChangingStalls, FixedStalls, RandomStalls, Stimulus

NEVER = FixedStalls()

UNIT = 1 << 20
"""Random cycles of one unit."""

RATES = 0.0, 0.0, 0.05, 0.3, 0.7, 0.99
RESET_RATES = 0.0, 0.0, 0.0003, 0.003, 0.03


def few_random(engine: Engine) -> Iterator[Stimulus]:
    """Short random units, each with stalls and resets of its own."""
    rates = [(0.3, 0.3, 0.02), (0, 0, 0), (0, 0.9, 0.003), (0.05, 0, 0.02), (0.7, 0.05, 0.02)]
    for unit, each in enumerate(rates):
        sides = (RandomStalls(rate, (unit, side)) for side, rate in enumerate(each))
        yield random_unit(engine, unit, 1000, *sides)


def many_random(engine: Engine) -> Iterator[Stimulus]:
    """Long random units, in which the probabilities of stalls and resets change."""
    for unit in range(RANDOM_CYCLES // UNIT):
        sides = [RATES, RATES, RESET_RATES]
        changing = (ChangingStalls(rates, (unit, side)) for side, rates in enumerate(sides))
        yield random_unit(engine, unit, UNIT, *changing)


def random_unit(engine: Engine, unit: int, cycles: int, i: Any, o: Any, resets: Any) -> Stimulus:
    pieces = engine.component.hostile(engine.design, np.random.default_rng((0, unit, 0)))
    return Stimulus(pieces, i, o, cycles, resets)


def campaign(engine: Engine) -> Iterator[Stimulus]:
    """The parts of the built-in campaign, at full rate and with stalls and resets."""
    i, o, resets = (RandomStalls(rate, side) for side, rate in enumerate((0.25, 0.25, 0.02)))
    parts = engine.component.campaign(engine.design, 0)
    for part in sorted(parts, key=lambda part: part.size):
        yield Stimulus(part.pieces(), NEVER, NEVER)
        yield Stimulus(part.pieces(), i, o, resets=resets)


CARRIES = 120, 128, 512, 1_920, 2_048, 16_384, 30_848, 32_768
"""Bytes after which a counter of bytes or beats carries, or would if a part of it were wrong."""

HIGHEST_CARRY = 524_288


def long_texts(*sizes: int) -> Callable[[Engine], Iterator[Stimulus]]:
    """Texts of letters with an error at their end; to a transcoder, a byte order mark."""

    def stimuli(engine: Engine) -> Iterator[Stimulus]:
        letter, end = b"A", b"\xff"
        if form := getattr(engine.design, "from_form", None):
            letter, end = (unit.encode(f"{form.value}-le") for unit in "A\ufeff")
        pieces = [(letter * (size // len(letter)) + end, True) for size in sizes]
        yield Stimulus(pieces, NEVER, NEVER)

    return stimuli


STIMULI = {
    FEW: (AmaranthEngine, few_random, inf),
    CAMPAIGN: (AmaranthEngine, campaign, CAMPAIGN_CYCLES),
    LONG: (AmaranthEngine, long_texts(*CARRIES), inf),
    LONGEST: (quick_engine, long_texts(HIGHEST_CARRY), inf),
    RANDOM: (quick_engine, many_random, inf),
}
"""The engine that is quickest in total, the stimuli, and after how many cycles it is enough."""


def first_difference(design: Any, found_by: str) -> str:
    """What is wrong with a design, if anything is."""
    make_engine, stimuli, left = STIMULI[found_by]
    engine = make_engine(design)
    for stimulus in stimuli(engine):
        lockstep = Lockstep(engine, replace(stimulus, cycles=min(stimulus.cycles, left)))
        try:
            if difference := lockstep.run():
                return str(difference)
        except DesignError as error:
            return str(error)
        left -= lockstep.cycles
        if left <= 0:
            break
    return ""


def identifier(fault: Fault) -> str:
    return f"{fault.variant.label}: {fault.name}"


QUICK = {fault.variant.component: fault for fault in FAULTS if fault.found_by == FEW}
"""One of each component is no long test."""


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=() if fault in QUICK.values() else pytest.mark.long)
        for fault in FAULTS
    ],
    ids=map(identifier, FAULTS),
)
def test_a_planted_fault_is_found(fault):
    altered = Altered((fault.old, fault.new), within=[fault.module])

    def made(profile):
        return altered.like(fault.variant.make(profile))

    if fault.found_by in STIMULI:
        assert first_difference(made(fault.profile), fault.found_by)
    else:
        [what] = (what for what in fault.variant.proofs if what.name == fault.found_by)
        assert is_refuted(what.bench(fault.profile, {fault.variant.component: made}))


@pytest.mark.long
@pytest.mark.parametrize(
    ("variant", "profile", "found_by"),
    {
        (fault.variant, fault.profile, fault.found_by): None
        for fault in FAULTS
        if fault.found_by in STIMULI
    },
    ids=lambda value: getattr(value, "label", None) or getattr(value, "name", value),
)
def test_nothing_is_found_in_an_unaltered_design(variant, profile, found_by):
    assert first_difference(variant.make(profile), found_by) == ""


def test_faults_are_of_every_class_and_component_and_none_is_there_twice():
    assert {fault.fault_class for fault in FAULTS} == set(CLASSES)
    assert {fault.variant.component for fault in FAULTS} == {each.component for each in variants()}
    assert len({identifier(fault) for fault in FAULTS}) == len(FAULTS) >= 64
