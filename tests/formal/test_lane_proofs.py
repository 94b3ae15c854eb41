"""Proofs of lanes: flaws anywhere are found out, and flow control has its timing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from altered import edited
from refuted import is_refuted
from rtl import COUNTER_FLAWS, altered_lanes, moves_with_the_slots
from utf8_flow.designs import DesignSpec
from utf8_flow.export.verilog import generate
from utf8_flow.formal import lanes as formal_lanes
from utf8_flow.formal import specification, streams
from utf8_flow.formal.bench import Bench, accepts, waits
from utf8_flow.formal.properties import proofs_of
from utf8_flow.formal.prover import prove
from utf8_flow.formal.timing import CreditTiming, Passing
from utf8_hdl import UNICODE, Validator, WideDecoder
from utf8_hdl.flow_control import credit

pytest.importorskip("pyosys", reason="pyosys is not installed")


def bench_of(
    component: str, name: str, made: Callable[..., Any], lanes: int = 4, **own: int
) -> Bench:
    [what] = (w for w in proofs_of(DesignSpec(component, lanes=lanes, own=own)) if w.name == name)
    return what.bench(UNICODE, {component: lambda profile: made(profile, lanes=lanes, **own)})


CLASSES = {"decoder": WideDecoder, "validator": Validator}

LOST_IN_A_GAP = "what is carried is lost in a gap"
REFUSED = "what is carried is lost when a beat is refused"


def clears_what_is_carried(event: str) -> tuple[str, str]:
    """An edit that clears the carried bytes of each stage in the slot of an event at the pins.

    The event moves from stage to stage with the slots, as the valid bit does.
    """
    return (
        "            self._carried[stage, name] = Cat(carried, fact)",
        f"{moves_with_the_slots(event)}"
        "            with stage.m.If(stage['event'] & ~stage.valid):\n"
        "                stage.m.d.sync += carried.eq(0)\n"
        "            self._carried[stage, name] = Cat(carried, fact)",
    )


# Component, property that refutes the flaw, and the flaw; and the edit.
FLAWS: dict[tuple[str, str, str], tuple[str, str]] = {
    ("decoder", "slots", "a single lane"): (
        'end.register("ends", there & ~goes_on & reported)',
        'end.register("ends", there & ~goes_on & reported & Const(0b11011, 5))',
    ),
    ("decoder", "slots", "a bit of the value in a single slot"): (
        "value &= step[f",
        "value = value ^ (bit == 9) << 3 & step[f",
    ),
    ("decoder", "slots", "nothing is carried between beats"): (
        'Mux(stage["last"], 0, Cat(carried, fact)[-self._most :])',
        "Const(0, self._most)",
    ),
    ("decoder", "slots", "a text goes on in the next one"): (
        'Mux(stage["last"], 0, Cat(carried, fact)[-self._most :])',
        "Cat(carried, fact)[-self._most :]",
    ),
    ("decoder", "slots", "a text's end does not cut"): (
        'needs[-1] & ~join["last"]',
        "needs[-1]",
    ),
    ("decoder", "slots", "keep is not heeded"): (
        'split.register("there", Value.cast(i.p.keep))',
        'split.register("there", Const(-1, len(i.p.keep)))',
    ),
    ("decoder", "gaps", LOST_IN_A_GAP): (
        "with stage.m.If(stage.valid):",
        "with stage.m.If(1):",
    ),
    ("validator", "first-error", "a single lane"): (
        'in_slots("high") & ~goes_on',
        'Const(0b10111, 5) & in_slots("high") & ~goes_on',
    ),
    ("validator", "first-error", "the later one first"): (
        "select(one.error, one.rest, other.rest)",
        "select(other.error, other.rest, one.rest)",
    ),
    ("validator", "gaps", LOST_IN_A_GAP): (
        "with stage.m.If(stage.valid):",
        "with stage.m.If(1):",
    ),
    ("validator", "verdict", "the last error"): ("wrong & ~seen_now)", "wrong)"),
    ("validator", "verdict", "one unit too many"): (
        'select(wrong, ~located["before_unit"], ends_unit)',
        "ends_unit",
    ),
    ("validator", "self-synchronisation", "texts are counted on"): (
        'count.register("clears", located.valid & begins)',
        'count.register("clears", Const(0))',
    ),
    ("validator", "self-synchronisation", "an error that began before its text stays"): (
        'count.register("fails", last & (seen_now | wrong))',
        'stays = count.signal("stays")\n'
        "        with count.m.If(located.valid & last):\n"
        '            count.m.d.sync += stays.eq(wrong & located["before_unit"] & begins)\n'
        '        count.register("fails", last & (seen_now | wrong) & ~stays)',
    ),
    ("decoder", "begins", "what is carried survives a reset"): (
        'carried = stage.signal(f"before_{name}", self._most)',
        'carried = stage.signal(f"before_{name}", self._most, reset_less=True)',
    ),
    ("decoder", "timing", "too much credit"): (
        "(outstanding == most - 3) & ~ready",
        "(outstanding == most - 3)",
    ),
    ("decoder", "drains", "credit that does not come back"): (
        "self._number(stage, numbering)",
        'self._number(stage, Numbering(stage["newest"], valid))',
    ),
    ("decoder", "passes", "the place of the beat before"): (
        'copy("place", number[:PLACE_WIDTH])',
        'copy("place", stage["newest"][:PLACE_WIDTH])',
    ),
    ("decoder", "gaps", REFUSED): clears_what_is_carried("i.valid & ~i.ready"),
    ("validator", "gaps", REFUSED): clears_what_is_carried("i.valid & ~i.ready"),
    ("decoder", "gaps", "what is carried is lost in a gap while the output stalls"): (
        clears_what_is_carried("~i.valid & o.valid & ~o.ready")
    ),
    ("validator", "gaps", "what is carried is lost when both sides stall"): (
        clears_what_is_carried("i.valid & ~i.ready & o.valid & ~o.ready")
    ),
    ("decoder", "gaps", "what is carried is lost in the second gap in a row"): (
        clears_what_is_carried("~first.valid & ~(i.valid & i.ready)")
    ),
    ("decoder", "slots", "a beat accepted while the output stalls loses what is carried"): (
        "            with stage.m.If(stage.valid):",
        moves_with_the_slots("o.valid & ~o.ready")
        + "            with stage.m.If(stage.valid & ~stage['event']):",
    ),
    ("decoder", "slots", "what is carried is lost while the output waits"): (
        "with stage.m.If(stage.valid):",
        "with stage.m.If(stage.valid & (~self._credit._o.valid | self._credit._o.ready)):",
    ),
    ("validator", "first-error", "what is carried is lost while the output waits"): (
        "with stage.m.If(stage.valid):",
        "with stage.m.If(stage.valid & (~self._credit._o.valid | self._credit._o.ready)):",
    ),
    ("validator", "first-error", "keep is not heeded in a continuation byte"): (
        "among(rules.CONTINUATION_BYTES) & there",
        "among(rules.CONTINUATION_BYTES)",
    ),
    ("validator", "begins", "what is carried survives a reset"): (
        'carried = stage.signal(f"before_{name}", self._most)',
        'carried = stage.signal(f"before_{name}", self._most, reset_less=True)',
    ),
    ("validator", "verdict", "the beginning of a text survives a reset"): (
        'locate.signal("text_begins", init=1)',
        'locate.signal("begins", init=1, reset_less=True)',
    ),
    ("validator", "verdict", "no error that the beat before left unfinished"): (
        'found.valid & (unfinished | found["found_error"])',
        'found.valid & found["found_error"]',
    ),
    ("validator", "verdict", "an error before the text has ended"): (
        'count.register("fails", last & (seen_now | wrong))',
        'count.register("fails", seen_now | wrong)',
    ),
    ("validator", "verdict", "a beat is not counted while the output waits"): (
        "with count.m.If(located.valid):",
        "o = self._new_stage.__self__._o\n"
        "        with count.m.If(located.valid & (~o.valid | o.ready)):",
    ),
    ("validator", "verdict", "units continue in the next text"): (
        "phase_now = phase & ~begins.replicate(len(phase))",
        "phase_now = phase",
    ),
    ("validator", "timing", "too much credit"): (
        "(outstanding == most - 3) & ~ready",
        "(outstanding == most - 3)",
    ),
    ("validator", "timing", "a register of the flow control without a reset"): (
        'signal(f"flips_if_ready{copy}", width)',
        'signal(f"flips_if_ready{copy}", width, reset_less=True)',
    ),
    ("decoder", "timing", "what counts beats survives a reset"): (
        'Signal(name="accepts")',
        'Signal(name="accepts", reset_less=True)',
    ),
    ("decoder", "timing", "the next number survives a reset"): (
        'signal(f"next{copy}", width, init=1)',
        'signal(f"next{copy}", width, init=1, reset_less=True)',
    ),
    ("decoder", "timing", "a beat comes out late"): (
        "(1, 0, -1, -2, -3)",
        "(0, -1, -2, -3, -4)",
    ),
    ("validator", "drains", "credit that does not come back"): (
        "self._number(stage, numbering)",
        'self._number(stage, Numbering(stage["newest"], valid))',
    ),
    ("validator", "passes", "the place of the beat before"): (
        'copy("place", number[:PLACE_WIDTH])',
        'copy("place", stage["newest"][:PLACE_WIDTH])',
    ),
    ("decoder", "slots", "slot 0 reports a sequence that is complete"): (
        "reported = Cat(needs[0], ",
        "reported = Cat(Const(1, 1), ",
    ),
    ("decoder", "slots", "slot 0 is empty"): (
        "reported = Cat(needs[0], ",
        "reported = Cat(Const(0, 1), ",
    ),
    ("decoder", "slots", "keep is ignored in a lead byte"): (
        "among(leads) & there",
        "among(leads)",
    ),
    ("decoder", "slots", "keep is ignored in a byte above 7F"): (
        "among(range(0x80, 0x100)) & there",
        "among(range(0x80, 0x100))",
    ),
    ("decoder", "passes", "`last` of the next beat"): (
        'credit.store(lanes.paired, lanes.paired["last"])',
        'credit.store(lanes.paired, lanes.paired._previous["last"])',
    ),
    ("decoder", "passes", "the memory's address stays when the output is taken"): (
        "followed(own, now, flips, self._ready)",
        "select(flips, own, now)",
    ),
    ("decoder", "timing", "`ready` survives a reset"): (
        'control.signal("ready")',
        'control.signal("ready", reset_less=True)',
    ),
    ("decoder", "begins", "the valid bit of a stage survives a reset"): (
        'self.signal("valid")',
        'self.signal("valid", reset_less=True)',
    ),
    ("validator", "verdict", "a unit of the text before is due"): (
        "due & ~begins, seen & ~begins",
        "due, seen & ~begins",
    ),
    ("validator", "verdict", "an error of the text before is the first one"): (
        "due & ~begins, seen & ~begins",
        "due & ~begins, seen",
    ),
    ("validator", "first-error", "what the beat before left unfinished is no error"): (
        'step.register("unfinished", Cat(unfinished.error, unfinished.rest))',
        'step.register("unfinished", Cat(Const(0, 1), unfinished.rest))',
    ),
    ("validator", "first-error", "a text goes on in the next one"): (
        'Mux(stage["last"], 0, Cat(carried, fact)[-self._most :])',
        "Cat(carried, fact)[-self._most :]",
    ),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize(("component", "name", "flaw"), list(FLAWS))
def test_a_flaw_is_found_out(component, name, flaw):
    made = getattr(altered_lanes(FLAWS[component, name, flaw]), CLASSES[component].__name__)
    assert is_refuted(bench_of(component, name, made))


# In a wider offset the shortest counterexample is too long for the prover.
@pytest.mark.parametrize(
    "flaw", [flaw for flaw, (_, bits, _) in COUNTER_FLAWS.items() if bits <= 8]
)
def test_a_wrong_carry_or_saturation_is_found_out_in_a_narrow_offset(flaw):
    lanes, offset_width, edit = COUNTER_FLAWS[flaw]
    made = altered_lanes(edit).Validator
    assert is_refuted(bench_of("validator", "verdict", made, lanes, offset_width=offset_width))


@pytest.mark.parametrize("name", ["verdict", "self-synchronisation"])
@pytest.mark.parametrize(("lanes", "offset_width"), [(4, 6), (8, 12)])
def test_a_narrow_offset_is_proved(name, lanes, offset_width):
    bench = bench_of("validator", name, Validator, lanes, offset_width=offset_width)
    assert prove(bench).verdict == "proved"


@pytest.mark.parametrize("component", ["decoder", "validator"])
def test_for_every_property_there_is_a_flaw(component):
    named = {what.name for what in proofs_of(DesignSpec(component, lanes=4)) if not what.is_lemma}
    assert named == {name for which, name, _ in FLAWS if which == component} | {"verilog"}


@pytest.mark.long
@pytest.mark.parametrize("component", ["decoder", "validator"])
def test_other_verilog_is_found_out(monkeypatch, component):
    made = getattr(
        altered_lanes(FLAWS[component, "gaps", LOST_IN_A_GAP]), CLASSES[component].__name__
    )
    monkeypatch.setattr(streams, "generate", lambda _: generate(made(UNICODE, lanes=2)))
    assert is_refuted(bench_of(component, "verilog", CLASSES[component], lanes=2))


def test_with_too_much_credit_what_waits_is_overwritten():
    [what] = (w for w in proofs_of(DesignSpec("decoder", lanes=4)) if w.name == "output-stream")
    generous = type("Generous", (what.timing,), {"room": 17})
    assert prove(replace(what, timing=generous).bench(UNICODE, {})).verdict == "FAILED"


@pytest.mark.parametrize(
    "edit", [("wrong), pending", "wrong), 1"), ("complete | self.last)", "complete)")]
)
def test_a_specification_with_a_flaw_is_no_function_of_windows(monkeypatch, edit):
    wrong = edited(specification, edit)
    monkeypatch.setattr(formal_lanes, "DecoderSpecification", wrong.DecoderSpecification)
    assert prove(bench_of("decoder", "windows", WideDecoder)).verdict == "FAILED"


def test_source_that_is_not_edited_has_the_properties():
    made = altered_lanes()
    assert prove(bench_of("decoder", "slots", made.WideDecoder)).verdict == "proved"
    assert prove(bench_of("validator", "first-error", made.Validator)).verdict == "proved"


# --- flow control on its own --------------------------------------------------------------------

PAIR = data.StructLayout({"early": 1, "late": 1})


class Pipeline(wiring.Component):
    """Items pass through some stages; a bit of them is stored in the first, one in the last."""

    i: Any
    o: Any

    def __init__(self, stages: int, flow: Any) -> None:
        super().__init__({"i": In(stream.Signature(PAIR)), "o": Out(stream.Signature(PAIR))})
        self._stages, self._flow = stages, flow

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        flow = self._flow.Credit(m, self.i, self.o)
        first, *others = (flow.stage(f"s{n}", "") for n in range(self._stages))
        first.load(early=self.i.p.early, late=self.i.p.late)
        for stage in others:
            stage.carry("late")
        m.d.comb += [
            self.o.p.early.eq(flow.store(first, first["early"])),
            self.o.p.late.eq(flow.store(others[-1], others[-1]["late"])),
        ]
        flow.finish()
        return m


def verdict(stages: int, flow: Any = credit, expected: int = 0) -> str:
    b = Bench(UNICODE, {"pipeline": lambda _: Pipeline(stages, flow)})
    design = b.design("pipeline")
    timing = type("Timing", (CreditTiming,), {"stages": expected or stages})
    made = timing(b, design, Passing(PAIR))
    b.never(made.wrong)
    b.reaches("an item that waits", waits(design) & made.valid)
    b.reaches("an item behind another one", b.since(waits(design)) & accepts(design))
    return prove(b).verdict


@pytest.mark.parametrize("stages", [5, 7, 12])
def test_every_pin_in_every_cycle_is_that_of_the_timing(stages):
    assert verdict(stages) == "proved"


def test_a_stage_more_is_found_out():
    assert verdict(5, expected=6) == "FAILED"
