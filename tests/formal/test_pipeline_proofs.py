"""The elastic pipeline, with nothing in its stages, has the documented timing in every cycle."""

from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from altered import edited
from utf8_flow.formal.bench import Bench, waits
from utf8_flow.formal.prover import prove
from utf8_flow.formal.timing import ElasticTiming, Passing
from utf8_hdl import UNICODE
from utf8_hdl.flow_control import pipeline

pytest.importorskip("pyosys", reason="pyosys is not installed")

TAG = data.StructLayout({"tag": 2})

FLAWS = {
    "skid register: never taken": ("accepts = i.valid & i.ready", "accepts = 0"),
    "output buffer: both full forgotten": (
        "both_full.eq(will_stall & (both_full | comes))",
        "both_full.eq(0)",
    ),
    "output buffer: the newer one first": ("load_next ^ both_full", "load_next"),
    "never stalled": ("self.will_stall.eq(o.valid & ~o.ready)", "self.will_stall.eq(0)"),
}


class Pipeline(wiring.Component):
    """Items pass through some stages."""

    i: Any
    o: Any

    def __init__(self, stages: int, flow: Any = pipeline) -> None:
        super().__init__({"i": In(stream.Signature(TAG)), "o": Out(stream.Signature(TAG))})
        self._stages, self._flow = stages, flow
        self.probes = SimpleNamespace(skid_taken=Signal())

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pipeline = self._flow.Pipeline(m, self.o)
        stage = pipeline.take(self.i, self.probes.skid_taken)
        for number in range(1, self._stages):
            before = stage
            stage = pipeline.stage(f"pass_{number}", "unchanged", before.valid)
            stage.carry("tag")
        pipeline.deliver(stage)
        return m


def verdict(
    stages: int, *, any_start: bool = False, flow: Any = pipeline, expected: Any = 0
) -> str:
    b = Bench(UNICODE, {"pipeline": lambda _: Pipeline(stages, flow)})
    design = b.design("pipeline", any_start=any_start)
    timing = type("Timing", (ElasticTiming,), {"stages": expected or stages})
    later = b.since(Const(1))
    made = timing(b, design, Passing(TAG), later if any_start else None)
    b.never(made.wrong & (later if any_start else 1))
    b.reaches("an item that waits", waits(design) & made.known & made.valid)
    b.reaches("an item that waits for another one", made.backlog & design.i.valid)
    return prove(b).verdict


@pytest.mark.parametrize("stages", [2, 3, 5])
def test_every_pin_in_every_cycle_is_that_of_the_timing(stages):
    """From any register contents it is so for what comes after the first cycle."""
    assert verdict(stages) == "proved"
    assert verdict(stages, any_start=True) == "proved"


@pytest.mark.parametrize("edit", FLAWS.values(), ids=FLAWS)
def test_a_pipeline_with_a_flaw_is_found_out(edit):
    assert verdict(3, flow=edited(pipeline, edit)) == "FAILED"


def test_a_stage_more_is_found_out():
    assert verdict(3, expected=4) == "FAILED"
