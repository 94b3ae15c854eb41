"""Proofs of a pipeline with a skid buffer that passes items unchanged."""

from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8_flow.formal.bench import Bench, waits
from utf8_flow.formal.prover import prove
from utf8_flow.formal.timing import ElasticTiming, Passing
from utf8_hdl import UNICODE
from utf8_hdl.flow_control import pipeline

pytest.importorskip("pyosys", reason="pyosys is not installed")

TAG = data.StructLayout({"tag": 2})


class Pipeline(wiring.Component):
    """A pipeline with a given number of stages."""

    i: Any
    o: Any

    def __init__(self, stages: int) -> None:
        super().__init__({"i": In(stream.Signature(TAG)), "o": Out(stream.Signature(TAG))})
        self._stages = stages
        self.probes = SimpleNamespace(skid_taken=Signal())

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        flow = pipeline.Pipeline(m, self.o)
        stage = flow.take(self.i, self.probes.skid_taken)
        for number in range(1, self._stages):
            before = stage
            stage = flow.stage(f"pass_{number}", "unchanged", before.valid)
            stage.carry("tag")
        flow.deliver(stage)
        return m


def verdict(stages: int, expected: int, any_start: bool = False) -> str:
    """The verdict on a pipeline, compared with the timing of an ``expected`` number of stages.

    With ``any_start``, registers have any initial value, and items after the first cycle are
    compared.
    """
    b = Bench(UNICODE, {"pipeline": lambda _: Pipeline(stages)})
    design = b.design("pipeline", any_start=any_start)
    timing = type("Timing", (ElasticTiming,), {"stages": expected})
    later = b.since(Const(1))
    made = timing(b, design, Passing(TAG), later if any_start else None)
    b.never(made.wrong & (later if any_start else 1))
    b.reaches("an item that waits", waits(design) & made.known & made.valid)
    b.reaches("an item that waits for another one", made.backlog & design.i.valid)
    return prove(b).verdict


@pytest.mark.parametrize("any_start", [False, True], ids=["from reset", "from any registers"])
@pytest.mark.parametrize("stages", [2, pytest.param(5, marks=pytest.mark.long)])
def test_pipeline_has_documented_timing(stages, any_start):
    assert verdict(stages, stages, any_start) == "proved"


def test_another_number_of_stages_is_refuted():
    assert verdict(3, 4) == "FAILED"
