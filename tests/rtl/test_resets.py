"""Resets in any cycle: hardware and golden model say the same."""

import numpy as np
import pytest

from modelled import DESIGNS
from needs import ENGINES
from utf8_flow.export.verilog import generate
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.compiled import CxxrtlEngine, VerilatorEngine
from utf8_sim.engines.engine import Engine
from utf8_sim.engines.icarus import IcarusEngine
from utf8_sim.lockstep import HANDSHAKE, Lockstep
from utf8_sim.stimulus import FixedStalls, RandomStalls, Stimulus, Table
from utf8_sim.trace import RESET, Trace

RESETS = {
    "rare": RandomStalls(0.01, 3),
    "frequent": RandomStalls(0.2, 3),
    "in a row": FixedStalls((True,) * 3 + (False,) * 20 + (True,) * 30),
}
CYCLES = 1500


def make(engine: str, name: str) -> Engine:
    design = DESIGNS[name]()
    if engine in ("verilator", "icarus"):
        of_verilog = VerilatorEngine if engine == "verilator" else IcarusEngine
        return of_verilog(design, generate(design))
    return (AmaranthEngine if engine == "amaranth" else CxxrtlEngine)(design)


def agree(hardware: Engine) -> None:
    """A design is as its model says, with hostile inputs, stalls and resets."""
    for resets in RESETS.values():
        pieces = hardware.component.hostile(hardware.design, np.random.default_rng(1))
        sides = RandomStalls(0.2, 1), RandomStalls(0.2, 2)
        lockstep = Lockstep(hardware, Stimulus(pieces, *sides, CYCLES, resets))
        trace = Trace.join(list(lockstep))
        assert lockstep.difference is None
        assert len(trace) == CYCLES
        assert trace[RESET].any()


# Each design on two engines: one of the Amaranth source, one of the Verilog.
@pytest.mark.sample
@pytest.mark.parametrize(
    ("engine", "name"),
    [
        pytest.param(engine, name, marks=ENGINES[engine])
        for number, name in enumerate(DESIGNS)
        for engine in (("amaranth", "icarus"), ("cxxrtl", "verilator"))[number // 2 % 2]
    ],
)
def test_hardware_and_golden_model_agree(engine, name):
    agree(make(engine, name))


@pytest.mark.parametrize("name", ["decoder", "compact encoder", "compactor", "transcoder"])
def test_after_reset_all_is_as_at_first(name):
    engine = make("amaranth", name)
    pieces = list(engine.component.campaign(engine.design, 1)[0].pieces())[:40]
    count = 60
    first = Trace.join(list(engine.run(Stimulus(pieces, cycles=count))))
    late = FixedStalls((False,) * (count - 1) + (True,))
    both = Trace.join(list(engine.run(Stimulus(pieces * 2, cycles=count, resets=late))))
    columns = {pin: np.concatenate([both[pin], first[pin]]) for pin in both.columns}
    trace = Trace.join(list(engine.run(Table(engine.interface, columns))))
    again, valid = trace[count:], first["o.valid"].astype(bool)
    for pin in HANDSHAKE:
        assert (again[pin] == first[pin]).all(), pin
    for pin in engine.interface.outputs:
        assert (again[pin.name][valid] == first[pin.name][valid]).all(), pin.name
