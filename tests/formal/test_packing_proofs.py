"""Proofs of the compactor, with few lanes and bits, and faults that its properties refute."""

from typing import Any

import pytest
from amaranth.hdl import Array

from altered import Altered, edits_in
from refuted import assert_each_has_a_fault, assert_proved, bench_of, is_refuted, property_of
from utf8_flow.designs import DesignSpec
from utf8_flow.formal import compactor as formal_compactor
from utf8_flow.formal.bench import Bench
from utf8_flow.formal.compactor import STAGES, Slot, network_levels
from utf8_flow.formal.prover import prove
from utf8_hdl import UNICODE, Compactor

pytest.importorskip("pyosys", reason="pyosys is not installed")

SPEC = DesignSpec("compactor", lanes=2)


def small_bench(name: str, made: Any = Compactor, lanes: int = 2, width: int = 2) -> Bench:
    return bench_of(SPEC, name, lambda profile: made(lanes=lanes, shape=width, user=2))


PROVED = (
    *("room", "counted", "given", "sums", "routes", "places", "begins", "self-synchronisation"),
    *("reads", "passes", "timing", "verilog"),
)


# `make prove` proves `credit` and `drains`, which take a minute.
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", PROVED)
def test_property_is_proved(name):
    assert_proved(small_bench(name))


@pytest.mark.long
def test_copies_of_the_number_are_proved():
    """At this size each value has its own memory, with a copy of the entry's number."""
    assert_proved(small_bench("reads", lanes=8, width=128))


# --- faulty designs -----------------------------------------------------------------------------

FAULTS = edits_in("""
    counted: a gap counts
      - select(before.valid, sums[-1], top)
      + sums[-1]
    given: the values of the text before are kept
      - kept=reached & ~give["was_empty_at_end"].replicate(self.lanes)
      + kept=reached
    sums: a pair is swapped the wrong way
      - swaps.append(~(reached ^
      + swaps.append((reached ^
    routes: a lane is not swapped
      - select(swaps[pair], lanes[lane ^ half], lanes[lane])
      + select(swaps[pair] & (lane != 1), lanes[lane ^ half], lanes[lane])
    places: lanes with a value are overwritten
      - _if_held_{chunk}", comes & fills & following)
      + _if_held_{chunk}", comes & following)
    begins: reset does not clear a beat that waits
      - stage.signal("empty", init=1)
      + stage.signal("empty", init=1, reset_less=True)
    self-synchronisation: a text continues in the next one
      - with stage.m.If(before["clears"]):
      + with stage.m.If(before["clears"] & 0):
    timing: a beat at the output is lost in a stall
      - self._taken = o.valid & o.ready
      + self._taken = o.valid
    credit: too much credit
      - (outstanding == most - 3) & ~ready
      + (outstanding == most - 3)
    drains: credit does not return
      - given.eq(last["newest"] - accepted)
      + given.eq(given)
    passes: two numbers share an entry
      - write.addr.eq(place)
      + write.addr.eq(select(place.all(), Const(0, len(place)), place))
    reads: the even bank's address is constant
      - "even": next_places(number)[0]
      + "even": first.get("even")
    """)
"""The property that refutes a fault, and the fault; and the edit."""


@pytest.mark.long
@pytest.mark.parametrize(("name", "fault"), list(FAULTS))
def test_fault_is_refuted(name, fault):
    assert is_refuted(small_bench(name, Altered(FAULTS[name, fault]).Compactor))


def test_every_property_of_compactor_has_a_fault():
    """The fault for `verilog` is in `test_properties`."""
    names = {name for name, _ in FAULTS} | {"verilog", "room"}
    assert_each_has_a_fault([SPEC], [property_of(SPEC, name) for name in names])


# --- faulty models ------------------------------------------------------------------------------


def test_more_credit_leaves_no_room(monkeypatch):
    monkeypatch.setattr(formal_compactor.PackingTiming, "ahead", lambda: 0)
    assert is_refuted(small_bench("room"))


# --- sums, routes and entries together ----------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("lanes", [1, 4])
def test_value_is_written_to_its_entry(lanes):
    b = Bench(UNICODE, {"compactor": DesignSpec("compactor", lanes=lanes).make})
    design = b.design("compactor", any_start=True)
    slot = Slot(b, design)
    lane = b.free(range(lanes), "lane")
    into = Array(slot.goes_to)[lane][: network_levels(design)]
    here = slot.agreed & Array(slot.keep)[lane]
    b.never(here & ~slot.stored.writes[into].any())
    b.never(here & (slot.stored.value[into] != slot.beat.data[lane]))
    b.cycles = STAGES + 2
    assert prove(b).verdict == "proved"
