"""Checks find each planted fault, and no fault in the unaltered design."""

from functools import cache
from typing import Any

import pytest

from altered import Altered
from planted_faults import CAMPAIGN, FAULTS, RANDOM, RESETS, Fault
from refuted import bench_of, is_refuted
from rtl import quick_engine
from utf8_flow.designs import DesignSpec, designs
from utf8_flow.verify.run import Run
from utf8_flow.verify.sources import Campaign, Plan, RandomUnits
from utf8_sim.campaign import campaign_modes
from utf8_sim.components import component_of
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.engine import Engine
from utf8_sim.golden import kernels

SEED = 0


def engine_of(design: Any, fault: Fault) -> Engine:
    """A simulator; a compiled one if the fault only has an effect after many cycles."""
    is_late = fault.found_by == CAMPAIGN and fault.fault_class == "far offset"
    return quick_engine(design) if is_late or fault.found_by == RANDOM else AmaranthEngine(design)


@cache
def plan_of(spec: DesignSpec, found_by: str) -> tuple[Plan, int]:
    """The plan of ``utf8-hdl compare`` or ``compare --cycles``, and a number of units.

    The campaign's short parts come first.
    """
    if found_by == RANDOM:
        return RandomUnits(spec, "amaranth", SEED), 2
    design = spec.make()
    parts = sorted(component_of(design).campaign(design, SEED), key=lambda part: part.size)
    modes = [mode for mode in campaign_modes(SEED) if found_by == CAMPAIGN or mode.reset_rate]
    plan = Campaign(spec, "amaranth", SEED, modes, parts)
    return plan, plan.units


def differs(engine: Engine, plan: Plan, unit: int) -> bool:
    """True if the design differs from the golden model in a unit of a plan."""
    run = Run(engine, plan.with_simulator(engine).stimulus(unit))
    for _window in run.windows():
        pass
    return bool(run.wrong)


@cache
def differs_unaltered(spec: DesignSpec, found_by: str, unit: int) -> bool:
    return differs(unaltered_engine(spec), plan_of(spec, found_by)[0], unit)


@cache
def unaltered_engine(spec: DesignSpec) -> Engine:
    return AmaranthEngine(spec.make())


def identifier(fault: Fault) -> str:
    return f"{fault.spec.label}: {fault.name}"


QUICK = {fault.spec.component: fault for fault in reversed(FAULTS) if fault.found_by == RESETS}
del QUICK["transcoder"]  # its stimuli take seconds
"""One fault of each other component."""


def case(fault: Fault):
    """A fault as a parameter; the faults of a design share its stimuli."""
    marks = [pytest.mark.xdist_group(fault.spec.label)]
    marks += [pytest.mark.long] * (fault not in QUICK.values())
    return pytest.param(fault, marks=marks, id=identifier(fault))


@pytest.mark.parametrize("fault", [case(fault) for fault in FAULTS])
def test_check_finds_planted_fault(fault, monkeypatch):
    spec, found_by = fault.spec, fault.found_by
    # Compiling a kernel of the golden model takes longer than a short test; compiling those of the
    # transcoder takes longer than each of its tests.
    monkeypatch.setitem(kernels._counted, "steps", 0)
    if spec.component == "transcoder":
        monkeypatch.setenv(kernels.COMPILED, "never")
    make = Altered(fault.edit, within=[fault.module]).maker(spec)
    if found_by in (RESETS, CAMPAIGN, RANDOM):
        engine = engine_of(make(spec.profile), fault)
        plan, units = plan_of(spec, found_by)
        found = next((unit for unit in range(units) if differs(engine, plan, unit)), None)
        assert found is not None
        if isinstance(engine, AmaranthEngine):  # others take too long for each design
            assert not differs_unaltered(spec, found_by, found)
    else:
        assert is_refuted(bench_of(spec, found_by, make))


def test_planted_faults_apply_to_the_source():
    for fault in FAULTS:
        Altered(fault.edit, within=[fault.module])


def test_planted_faults_cover_all_components():
    assert {fault.spec.component for fault in FAULTS} == {each.component for each in designs()}
    assert len({identifier(fault) for fault in FAULTS}) == len(FAULTS) >= 121
