"""Each planted fault is found as its table says, and nothing is found in the unaltered designs."""

from functools import cache
from typing import Any

import pytest

from altered import Altered
from planted_faults import CAMPAIGN, CLASSES, FAULTS, RANDOM, RESET, RESETS, Fault
from refuted import is_refuted
from rtl import quick_engine
from utf8_flow.designs import DesignSpec, designs
from utf8_flow.formal.properties import proofs_of
from utf8_flow.verify.run import Run
from utf8_flow.verify.sources import Campaign, Plan, RandomUnits
from utf8_sim.campaign import Part, campaign_modes
from utf8_sim.components import component_of
from utf8_sim.engines.amaranth import AmaranthEngine

SEED = 0

STIMULI = {RESETS: AmaranthEngine, CAMPAIGN: quick_engine, RANDOM: quick_engine}
"""The engine that takes the least time in total, including a compiler's."""


@cache
def parts_of(spec: DesignSpec) -> list[Part]:
    """The parts of the campaign, which take a second to build."""
    design = spec.make()
    return component_of(design).campaign(design, SEED)


def plan_of(spec: DesignSpec, engine: str, found_by: str) -> tuple[Plan, int]:
    """The plan of ``utf8-hdl compare`` or ``compare --cycles``, and a number of units."""
    of = spec, engine, SEED
    if found_by == RANDOM:
        return RandomUnits(*of), 2
    modes = campaign_modes(SEED)
    modes = [mode for mode in modes if found_by == CAMPAIGN or mode.reset_rate]
    plan = Campaign(*of, modes, parts_of(spec))
    return plan, plan.units


def first_difference(design: Any, spec: DesignSpec, found_by: str) -> str:
    """The first difference from the golden model, or an empty string."""
    engine = STIMULI[found_by](design)
    plan, units = plan_of(spec, engine.name, found_by)
    plan, run = plan.on(engine), Run(engine)
    for unit in range(units):
        for _window in run.simulate(plan.stimulus(unit)):
            pass
        if run.wrong:
            return f"{plan.name(unit)}: {run.wrong}"
    return ""


def identifier(fault: Fault) -> str:
    return f"{fault.spec.label}: {fault.name}"


def altered_by(fault: Fault) -> Altered:
    """The gateware with a fault."""
    return Altered((fault.old, fault.new), within=[fault.module])


QUICK = {fault.spec.component: fault for fault in FAULTS if fault.fault_class == RESET}
"""One fault of each component, which is found within two seconds, is no long test."""


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=() if fault in QUICK.values() else pytest.mark.long)
        for fault in FAULTS
    ],
    ids=map(identifier, FAULTS),
)
def test_a_planted_fault_is_found(fault):
    altered = altered_by(fault)

    def made(profile):
        return altered.like(fault.spec.make(profile))

    if fault.found_by in STIMULI:
        design = made(fault.profile)
        assert first_difference(design, fault.spec, fault.found_by)
    else:
        [what] = (what for what in proofs_of(fault.spec) if what.name == fault.found_by)
        assert is_refuted(what.bench(fault.profile, {fault.spec.component: made}))


@pytest.mark.long
@pytest.mark.parametrize(
    ("spec", "found_by"),
    {(fault.spec, fault.found_by): None for fault in FAULTS if fault.found_by in STIMULI},
    ids=lambda value: getattr(value, "label", value),
)
def test_nothing_is_found_in_an_unaltered_design(spec, found_by):
    assert first_difference(spec.make(), spec, found_by) == ""


def test_the_text_that_each_fault_replaces_is_in_the_source():
    for fault in FAULTS:
        altered_by(fault)


def test_faults_are_of_every_class_and_component_and_none_is_there_twice():
    assert {fault.fault_class for fault in FAULTS} == set(CLASSES)
    assert {fault.spec.component for fault in FAULTS} == {each.component for each in designs()}
    assert len({identifier(fault) for fault in FAULTS}) == len(FAULTS) >= 64
