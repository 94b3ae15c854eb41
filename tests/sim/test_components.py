"""A component from outside, registered in a test, gets everything that the project's own get."""

import io
import re

import pytest

from needs import each_engine
from rtl import STALLS
from upper import UPPER, Upper, verilog_of
from utf8_hdl import Decoder
from utf8_sim.campaign import campaign
from utf8_sim.components import COMPONENTS, DECODER, component_of, register
from utf8_sim.engines.compiled import CxxrtlEngine, VerilatorEngine
from utf8_sim.engines.engine import AmaranthEngine, Engine
from utf8_sim.engines.icarus import IcarusEngine
from utf8_sim.lockstep import Difference, Lockstep
from utf8_sim.shrink import attempts, shortest
from utf8_sim.stimulus import Stimulus
from utf8_sim.trace import Trace
from utf8_sim.waves.diagram import timing_diagram
from utf8_sim.waves.vcd import WaveWriter, save_file

engines = each_engine("amaranth", "cxxrtl", "verilator", "icarus")


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.delitem(COMPONENTS, "upper", raising=False)
    register(UPPER)
    yield
    COMPONENTS.pop("upper", None)


def make(engine: str, design: Upper) -> Engine:
    if engine in ("amaranth", "cxxrtl"):
        return {"amaranth": AmaranthEngine, "cxxrtl": CxxrtlEngine}[engine](design)
    return {"verilator": VerilatorEngine, "icarus": IcarusEngine}[engine](
        design, verilog_of(design)
    )


@engines
@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
def test_it_agrees_with_its_golden_model(engine, stalls):
    simulator = make(engine, Upper())
    coverage = simulator.component.coverage(simulator)
    for part in campaign(simulator, seed=1):
        lockstep = Lockstep(simulator, Stimulus(part.pieces(), *stalls))
        for trace in lockstep:
            coverage.add(trace)
        assert lockstep.difference is None
    assert coverage.cells.sum() == 256 + 500


@engines
def test_it_does_what_it_should(engine):
    trace = Trace.join(list(make(engine, Upper()).run(Stimulus([(b"Abc{\xe4z", True)]))))
    assert bytes(trace.taken()["o.data"].tolist()) == b"ABC{\xe4Z"
    assert trace.taken()["o.last"].tolist() == [0, 0, 0, 0, 0, 1]
    assert "state" not in trace.columns


@engines
def test_its_flaw_is_found_and_shown_by_one_byte(engine):
    simulator = make(engine, Upper(flaw="q"))
    lockstep = Lockstep(simulator, Stimulus([(b"xyzq" * 9, True)], *STALLS["slow consumer"]))
    difference = lockstep.run()
    assert (difference.pin, difference.expected, difference.actual) == ("o.data", 0x51, 0x71)
    *_, case = shortest(lockstep.recording(), difference, attempts(simulator, difference.pin))
    assert case.values == (0x71,)


def test_it_is_in_waveforms_and_diagrams():
    engine = AmaranthEngine(Upper())
    lockstep, file = Lockstep(engine, Stimulus([(b"az", True)])), io.StringIO()
    with WaveWriter(file, engine) as wave:
        for trace in lockstep:
            wave.write(lockstep.recent[-1])
            svg = timing_diagram(trace, engine)
    names = re.findall(r"\$var \w+ \d+ \S+ (\w+)", file.getvalue())
    assert {"i_data", "i_last", "o_data", "o_ready"} < set(names)
    assert "state" not in names
    assert "upper.o_data[7:0]" in save_file(engine, "wave.vcd")
    assert all(f">{text}<" in svg for text in ("bytes in", "bytes out", "61", "5A"))


def test_a_design_is_found_by_its_class_and_those_that_it_is_derived_from():
    class Special(Decoder):
        pass

    assert component_of(Special()) is DECODER
    with pytest.raises(LookupError, match="no component is registered for 'object'"):
        component_of(object())


def test_a_name_is_registered_once():
    with pytest.raises(ValueError, match="there is a component 'upper' already"):
        register(UPPER)


@engines
def test_a_difference_is_equal_on_all_engines(engine):
    simulator = make(engine, Upper(flaw="b"))
    expected = Difference(cycle=2, pin="o.data", expected=0x42, actual=0x62)
    assert Lockstep(simulator, Stimulus([(b"ab", True)])).run() == expected
