"""Proofs of decoder and validator with lanes, and faults that their properties refute."""

from dataclasses import replace

import pytest

from altered import Altered, edited, edits_in
from refuted import assert_each_has_a_fault, assert_proved, bench_of, is_refuted, property_of
from utf8_flow.designs import DesignSpec
from utf8_flow.formal import lanes as formal_lanes
from utf8_flow.formal import specification
from utf8_hdl import UNICODE

pytest.importorskip("pyosys", reason="pyosys is not installed")


def spec_of(component: str, lanes: int, **own: int) -> DesignSpec:
    return DesignSpec(component, lanes=lanes, own=own)


# `make prove` proves the other properties, which take minutes.
PROOFS = [
    (spec_of("decoder", 2), ["output-stream", "slots", "begins", "gaps", "windows"]),
    (spec_of("validator", 2), ["first-error", "gaps", "drains"]),
    (spec_of("validator", 8, offset_width=12), ["verdict", "self-synchronisation"]),
]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("spec", "name"),
    [
        pytest.param(spec, name, id=f"{spec.label}: {name}")
        for spec, names in PROOFS
        for name in names
    ],
)
def test_property_is_proved(spec, name):
    assert_proved(bench_of(spec, name))


def test_decoder_drains_with_8_lanes():
    assert_proved(bench_of(spec_of("decoder", 8), "drains"))


# --- faulty designs -----------------------------------------------------------------------------


FAULTS = edits_in("""
    decoder: slots: a bit of the value in a single slot
      - value &= step[f
      + value = value ^ (bit == 9) << 3 & step[f
    decoder: begins: reset does not clear the carried bytes
      - carried = stage.signal(f"before_{name}", self._most)
      + carried = stage.signal(f"before_{name}", self._most, reset_less=True)
    decoder: timing: a beat is late
      - (1, 0, -1, -2, -3)
      + (0, -1, -2, -3, -4)
    decoder: drains: credit does not return
      - self._number(stage, numbering)
      + self._number(stage, Numbering(stage["newest"], valid))
    decoder: gaps: the second gap in a row clears the carried bytes
      - self._carried[stage, name] = Cat(carried, mask)
      + first, *others = self._credit._stages
      +             i, o = self._credit._i, self._credit._o
      +             if "gap" not in first._registers:
      +                 first.register("gap", ~first.valid & ~(i.valid & i.ready))
      +             for each in others:
      +                 if "gap" not in each._registers:
      +                     each.carry("gap")
      +             with stage.m.If(stage["gap"] & ~stage.valid):
      +                 stage.m.d.sync += carried.eq(0)
      +             self._carried[stage, name] = Cat(carried, mask)
    decoder: passes: the entry of the previous beat
      - copy("place", number[:PLACE_WIDTH])
      + copy("place", stage["newest"][:PLACE_WIDTH])
    validator: verdict: units continue in the next text
      - phase_now = phase & ~begins.replicate(len(phase))
      + phase_now = phase
    validator: self-synchronisation: an error that began before its text persists
      - count.register("fails", last & (seen_now | wrong))
      + stays = count.signal("stays")
      +         with count.m.If(located.valid & last):
      +             count.m.d.sync += stays.eq(wrong & located["before_unit"] & begins)
      +         count.register("fails", last & (seen_now | wrong) & ~stays)
    """)
"""A component, the property that refutes a fault, and the fault; and the edit."""

LANES = 2


@pytest.mark.long
@pytest.mark.parametrize(("component", "name", "fault"), list(FAULTS))
def test_fault_is_refuted(component, name, fault):
    spec = spec_of(component, LANES)
    assert is_refuted(bench_of(spec, name, Altered(FAULTS[component, name, fault]).maker(spec)))


@pytest.mark.long
def test_too_much_credit_overwrites_a_beat():
    what = property_of(spec_of("decoder", LANES), "output-stream")
    generous = type("Generous", (what.timing,), {"room": 17})
    assert is_refuted(replace(what, timing=generous).bench(UNICODE, {}))


@pytest.mark.long
def test_faulty_specification_is_no_function_of_windows(monkeypatch):
    wrong = edited(specification, ("wrong), pending", "wrong), 1"))
    monkeypatch.setattr(formal_lanes, "DecoderSpecification", wrong.DecoderSpecification)
    assert is_refuted(bench_of(spec_of("decoder", LANES), "windows"))


def test_every_property_with_lanes_has_a_fault():
    """The fault for `verilog` is in `test_properties`."""
    specs = {component: spec_of(component, LANES) for component in ("decoder", "validator")}
    keys = {(component, name) for component, name, _ in FAULTS}
    keys |= {("decoder", name) for name in ("verilog", "output-stream", "windows")}
    killers = [property_of(specs[component], name) for component, name in keys]
    assert_each_has_a_fault(specs.values(), killers)


@pytest.mark.long
def test_unedited_copy_is_proved():
    spec = spec_of("validator", LANES)
    assert_proved(bench_of(spec, "first-error", Altered().maker(spec)))
