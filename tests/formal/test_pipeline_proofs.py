"""Proofs of flow control alone, in components that pass items unchanged."""

from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8_flow.formal.bench import Bench, accepts, waits
from utf8_flow.formal.prover import prove
from utf8_flow.formal.timing import CreditTiming, ElasticTiming, Passing
from utf8_hdl import UNICODE
from utf8_hdl.flow_control import credit, pipeline

pytest.importorskip("pyosys", reason="pyosys is not installed")

PAIR = data.StructLayout({"early": 1, "late": 1})


class Passes(wiring.Component):
    """A component with a given number of stages."""

    i: Any
    o: Any

    def __init__(self, stages: int) -> None:
        super().__init__({"i": In(stream.Signature(PAIR)), "o": Out(stream.Signature(PAIR))})
        self._stages = stages
        self.probes = SimpleNamespace(skid_taken=Signal())


class Pipeline(Passes):
    """A pipeline with a skid buffer."""

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        flow = pipeline.Pipeline(m, self.o)
        stage = flow.take(self.i, self.probes.skid_taken)
        for number in range(1, self._stages):
            before = stage
            stage = flow.stage(f"pass_{number}", "unchanged", before.valid)
            stage.carry("early", "late")
        flow.deliver(stage)
        return m


class Credited(Passes):
    """A pipeline with credit that stores one bit in its first stage, and one in its last."""

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        flow = credit.Credit(m, self.i, self.o)
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


def verdict(stages: int, expected: int, any_start: bool = False) -> str:
    """The verdict on a pipeline, compared with the timing of an ``expected`` number of stages.

    With ``any_start``, registers have any initial value, and items after the first cycle are
    compared.
    """
    b = Bench(UNICODE, {"pipeline": lambda _: Pipeline(stages)})
    design = b.design("pipeline", any_start=any_start)
    timing = type("Timing", (ElasticTiming,), {"stages": expected})
    later = b.since(Const(1))
    made = timing(b, design, Passing(PAIR), later if any_start else None)
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


@pytest.mark.long
def test_credit_has_documented_timing():
    b = Bench(UNICODE, {"pipeline": lambda _: Credited(5)})
    design = b.design("pipeline")
    made = type("Timing", (CreditTiming,), {"stages": 5})(b, design, Passing(PAIR))
    b.never(made.wrong)
    b.reaches("an item that waits", waits(design) & made.valid)
    b.reaches("an item behind another one", b.since(waits(design)) & accepts(design))
    assert prove(b).verdict == "proved"
