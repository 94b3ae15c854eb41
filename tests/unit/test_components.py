"""External components: registration, lockstep, refusals."""

import numpy as np
import pytest
from amaranth.lib import data, enum

import utf8_flow
from beats import Beats
from command import changed_entry
from needs import each_engine
from rtl import STALLS
from toys import registered
from upper import UPPER, Upper
from utf8_hdl import Decoder
from utf8_sim.command_line import CommandLine, ComponentOption
from utf8_sim.components import COMPONENTS, component_of, register
from utf8_sim.lockstep import Difference, Lockstep
from utf8_sim.stimulus import Stimulus
from utf8_sim.trace import Trace, pins_of

engines = each_engine("amaranth", "cxxrtl", "verilator", "icarus")


@pytest.fixture(autouse=True)
def toys():
    with registered():
        yield


@pytest.mark.sample(1)
@engines
def test_component_matches_golden_model(engine):
    simulator = utf8_flow.engine(engine, Upper())
    coverage = simulator.component.coverage(simulator)
    for part in UPPER.campaign(simulator.design, 1):
        lockstep = Lockstep(simulator, Stimulus(part.pieces(), *STALLS["both slow"]))
        for trace in lockstep:
            coverage.add(trace)
        assert lockstep.difference is None
    assert coverage.cells.sum() == 256 + 500
    trace = Trace.join(list(simulator.run(Stimulus([(b"Abc{\xe4z", True)]))))
    assert bytes(trace.taken()["o.data"].tolist()) == b"ABC{\xe4Z"
    assert trace.taken()["o.last"].tolist() == [0, 0, 0, 0, 0, 1]
    assert "state" not in trace.columns


def test_component_of_subclass():
    class Special(Decoder):
        pass

    assert component_of(Special()) is COMPONENTS["decoder"]
    with pytest.raises(LookupError, match="no component is registered for 'object'"):
        component_of(object())


def test_invalid_name_is_refused():
    with pytest.raises(ValueError, match="a component 'upper' is already registered"):
        register(UPPER)
    with pytest.raises(ValueError, match="must be its class's in lower case: 'Upper'"):
        register(changed_entry(UPPER, name="Upper"))


@pytest.mark.sample(1)
@engines
def test_columns_of_lanes_and_wide_fields(engine):
    random = np.random.default_rng(1)
    beats = {
        "i.data": random.integers(0, 256, (50, 4), dtype=np.uint8),
        "i.keep": random.integers(0, 2, (50, 4), dtype=np.uint8),
        "i.stamp": random.integers(0, 1 << 36, (50, 2), dtype=np.uint64),
        "i.last": np.arange(50) % 9 == 8,
    }
    stimulus = Stimulus([beats], *STALLS["both slow"])
    lockstep = Lockstep(utf8_flow.engine(engine, Beats()), stimulus)
    taken = Trace.join(list(lockstep)).taken()
    assert lockstep.difference is None
    for field in "data", "keep":
        assert (taken[f"o.{field}"] == np.roll(beats[f"i.{field}"], -1, axis=1)).all()
    assert (taken["o.stamp"] == beats["i.stamp"]).all()


def test_conflicting_option_is_refused():
    for option in ("width", 1, "letters"), ("size", 1, "letters", "--width"):
        line = CommandLine(own=(ComponentOption(*option),))
        changed = changed_entry(UPPER, name="wide", command_line=line)
        with pytest.raises(ValueError, match="--width of 'wide' must have another name: --width"):
            register(changed)


@pytest.mark.parametrize("member", ["name", "make", "coverage"])
def test_missing_member_is_refused(member):
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(type(UPPER), member)
        with pytest.raises(TypeError, match=f"UpperComponent must have a member '{member}'"):
            register(changed_entry(UPPER))


def test_enumeration_labels_in_difference():
    class Case(enum.Enum, shape=1):
        SMALL = 0
        NO_LETTER = 1

    _, case = pins_of("o", data.StructLayout({"data": 8, "kind": Case}))
    difference = Difference(3, case.name, expected=1, actual=0, labels=case.labels)
    assert str(difference).endswith("pin o.kind: expected 1 (no-letter), actual 0 (small)")
