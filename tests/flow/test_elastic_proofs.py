"""The elastic pipeline, with nothing in its stages, has the documented timing in every cycle."""

import inspect
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8_flow.formal.bench import Bench, waits
from utf8_flow.formal.prover import WRONG, _unreached, decide, to_circuit
from utf8_flow.formal.timing import ElasticTiming, Passing
from utf8_hdl import UNICODE, elastic

pytest.importorskip("pyosys", reason="pyosys is not installed")

TAG = data.StructLayout({"tag": 2})
STAGES = [2, 3, 5]

FLAWS = {
    "skid register: never taken": ("i.valid & i.ready & (skid_taken | ~enable)", "0"),
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

    def __init__(self, stages: int, flow: Any = elastic) -> None:
        super().__init__({"i": In(stream.Signature(TAG)), "o": Out(stream.Signature(TAG))})
        self._stages, self._flow = stages, flow
        self.skid_taken = Signal()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pipeline = self._flow.Pipeline(m, self.o)
        stage = pipeline.take(self.i, self.skid_taken)
        for number in range(1, self._stages):
            before = stage
            stage = pipeline.stage(f"pass_{number}", "unchanged", before.valid, TAG)
            stage.load(tag=before.p.tag)
        pipeline.deliver(stage)
        return m


def verdict(stages: int, *, any_start: bool = False, flow: Any = elastic) -> str:
    b = Bench(UNICODE, {"pipeline": lambda _: Pipeline(stages, flow)})
    design = b.design("pipeline", any_start=any_start)
    heeds = b.since(Value.cast(1)) if any_start else None
    expected = ElasticTiming(b, design, Passing(TAG), heeds, stages=stages)
    b.never(expected.wrong & (b.since(Value.cast(1)) if any_start else 1))
    b.reaches("an item that waits", waits(design) & expected.known & expected.valid)
    b.reaches("an item behind another one", expected.backlog & design.i.valid & design.i.ready)
    circuit = to_circuit(b)
    found, _ = decide(circuit.only(WRONG))
    return "VACUOUS" if found == "proved" and _unreached(b, circuit) else found


@pytest.mark.parametrize("stages", STAGES)
def test_every_pin_in_every_cycle_is_that_of_the_timing(stages):
    assert verdict(stages) == "proved"


@pytest.mark.parametrize("stages", STAGES)
def test_from_any_register_contents_it_is_so_for_what_comes_after_the_first_cycle(stages):
    assert verdict(stages, any_start=True) == "proved"


@pytest.mark.parametrize(("good", "bad"), FLAWS.values(), ids=FLAWS)
def test_a_pipeline_with_a_flaw_is_found_out(good, bad):
    source = inspect.getsource(elastic)
    assert source.count(good) == 1
    broken: dict[str, Any] = {"__name__": "utf8_hdl.broken", "__package__": "utf8_hdl"}
    exec(source.replace(good, bad), broken)
    assert verdict(3, flow=SimpleNamespace(**broken)) == "FAILED"


def test_a_stage_more_is_found_out():
    b = Bench(UNICODE, {"pipeline": lambda _: Pipeline(3)})
    b.never(ElasticTiming(b, b.design("pipeline"), Passing(TAG), stages=4).wrong)
    assert decide(to_circuit(b).only(WRONG))[0] == "FAILED"
