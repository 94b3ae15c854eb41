"""A component from outside, registered in a test, gets everything that the project's own get."""

import io
import re

import numpy as np
import pytest
from amaranth.lib import data, enum

from beats import Beats
from command import changed_entry
from needs import each_engine
from rtl import STALLS
from toys import registered, verilog_of
from upper import UPPER, Upper
from utf8_hdl import Decoder
from utf8_sim.command_line import CommandLine, OwnOption
from utf8_sim.components import DECODER, component_of, register
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.compiled import CxxrtlEngine, VerilatorEngine
from utf8_sim.engines.engine import Engine
from utf8_sim.engines.icarus import IcarusEngine
from utf8_sim.lockstep import Difference, Lockstep
from utf8_sim.stimulus import Stimulus
from utf8_sim.trace import Trace, pins_of
from utf8_sim.waves.diagram import timing_diagram
from utf8_sim.waves.vcd import WaveWriter, save_file

engines = each_engine("amaranth", "cxxrtl", "verilator", "icarus")


@pytest.fixture(autouse=True)
def toys():
    with registered():
        yield


def make(engine: str, design: Upper) -> Engine:
    if engine in ("amaranth", "cxxrtl"):
        return {"amaranth": AmaranthEngine, "cxxrtl": CxxrtlEngine}[engine](design)
    return {"verilator": VerilatorEngine, "icarus": IcarusEngine}[engine](
        design, verilog_of(design)
    )


@pytest.mark.sample
@engines
@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
def test_it_agrees_with_its_golden_model(engine, stalls):
    simulator = make(engine, Upper())
    coverage = simulator.component.coverage(simulator)
    for part in UPPER.campaign(simulator.design, 1):
        lockstep = Lockstep(simulator, Stimulus(part.pieces(), *stalls))
        for trace in lockstep:
            coverage.add(trace)
        assert lockstep.difference is None
    assert coverage.cells.sum() == 256 + 500
    trace = Trace.join(list(simulator.run(Stimulus([(b"Abc{\xe4z", True)]))))
    assert bytes(trace.taken()["o.data"].tolist()) == b"ABC{\xe4Z"
    assert trace.taken()["o.last"].tolist() == [0, 0, 0, 0, 0, 1]
    assert "state" not in trace.columns


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
    with pytest.raises(ValueError, match="must be its class's in lower case: 'Upper'"):
        register(changed_entry(UPPER, name="Upper"))


@pytest.mark.sample
@engines
@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
def test_lanes_and_wide_fields_have_columns_of_two_axes(engine, stalls):
    random = np.random.default_rng(1)
    beats = {
        "i.data": random.integers(0, 256, (50, 4), dtype=np.uint8),
        "i.keep": random.integers(0, 2, (50, 4), dtype=np.uint8),
        "i.stamp": random.integers(0, 1 << 36, (50, 2), dtype=np.uint64),
        "i.last": np.arange(50) % 9 == 8,
    }
    lockstep = Lockstep(make(engine, Beats()), Stimulus([beats], *stalls))
    taken = Trace.join(list(lockstep)).taken()
    assert lockstep.difference is None
    assert (taken["o.data"] == np.roll(beats["i.data"], -1, axis=1)).all()
    assert (taken["o.keep"] == np.roll(beats["i.keep"], -1, axis=1)).all()
    assert (taken["o.stamp"] == beats["i.stamp"]).all()


def test_an_option_of_its_own_is_no_other_components():
    for own in OwnOption("width", 1, "letters"), OwnOption("size", 1, "letters", "--width"):
        changed = changed_entry(UPPER, name="wide", command_line=CommandLine(own=(own,)))
        with pytest.raises(ValueError, match="--width of 'wide' must have another name: --width"):
            register(changed)


@pytest.mark.parametrize("member", ["name", "make", "coverage"])
def test_a_component_that_lacks_a_member_is_refused(member):
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(type(UPPER), member)
        with pytest.raises(TypeError, match=f"UpperComponent must have a member '{member}'"):
            register(changed_entry(UPPER))


def test_a_component_names_the_numbers_of_its_own_enumerations():
    class Case(enum.Enum, shape=1):
        SMALL = 0
        NO_LETTER = 1

    _, case = pins_of("o", data.StructLayout({"data": 8, "kind": Case}))
    difference = Difference(3, case.name, expected=1, actual=0, labels=case.labels)
    assert str(difference).endswith("pin o.kind: expected 1 (no-letter), actual 0 (small)")


class OneLaneWrong(AmaranthEngine):
    """In one cycle one byte is another one."""

    def run(self, stimulus):
        for trace in super().run(stimulus):
            trace["o.data"][3, 2] ^= 1
            yield trace


def test_a_difference_in_one_lane_is_found():
    shapes = {"i.data": (9, 4), "i.keep": (9, 4), "i.stamp": (9, 2), "i.last": 9}
    beats = {name: np.zeros(shape, int) for name, shape in shapes.items()}
    difference = Lockstep(OneLaneWrong(Beats()), Stimulus([beats])).run()
    assert difference == Difference(cycle=3, pin="o.data[2]", expected=0, actual=1)
