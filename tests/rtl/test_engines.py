"""All engines see the same in every cycle, and say what is wrong with design or tool."""

import os
import subprocess
from functools import cache
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pytest

from needs import ENGINES, each_engine, needs_icarus, needs_verilator
from rtl import DESIGNS, NO_STALLS, STALLS, broken, random_part
from utf8_flow.export.verilog import generate
from utf8_hdl import EXTENDED, PROFILES, Decoder, Encoder
from utf8_sim.engines import icarus
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.compiled import CxxrtlEngine, VerilatorEngine
from utf8_sim.engines.engine import BLOCK, Engine, HangError, UndefinedError
from utf8_sim.engines.icarus import IcarusEngine
from utf8_sim.lockstep import Difference, Lockstep
from utf8_sim.stimulus import FixedStalls, Piece, RandomStalls, Stimulus
from utf8_sim.tools.errors import ToolError
from utf8_sim.trace import Trace

engines = each_engine("cxxrtl", "verilator", "icarus")
verilog_engines = pytest.mark.parametrize(
    "engine",
    [
        pytest.param(VerilatorEngine, marks=needs_verilator, id="verilator"),
        pytest.param(IcarusEngine, marks=needs_icarus, id="icarus"),
    ],
)
NAMES = [f"{profile} {design}" for profile in PROFILES for design in DESIGNS]


@cache
def design_of(name: str) -> Decoder | Encoder:
    """``unicode decoder``, or a design broken on purpose."""
    profile, _, design = name.partition(" ")
    return DESIGNS[design](PROFILES[profile]) if profile in PROFILES else broken(name)


@cache
def verilog_of(name: str) -> str:
    return generate(design_of(name))


def make(engine: str, name: str) -> Engine:
    design = design_of(name)
    if engine == "amaranth":
        return AmaranthEngine(design)
    if engine == "cxxrtl":
        return CxxrtlEngine(design)
    of_verilog = VerilatorEngine if engine == "verilator" else IcarusEngine
    return of_verilog(design, verilog_of(name))


def table(engine: Engine, stimulus: Stimulus) -> np.ndarray:
    return Trace.join(list(engine.run(stimulus))).table()


def assert_same(actual: np.ndarray, expected: np.ndarray, what: str = "") -> None:
    assert actual.dtype == expected.dtype
    common = min(len(actual), len(expected))
    for cycle in np.flatnonzero(actual[:common] != expected[:common])[:1]:
        assert actual[cycle] == expected[cycle], f"{what}: cycle {cycle}"
    assert len(actual) == len(expected), what


@cache
def hostile(name: str) -> list[list[int]]:
    """Texts of the built-in campaign."""
    return [list(text) for text, _ in random_part(make("amaranth", name)).pieces()]


def pieces(name: str, size: int) -> list[Piece]:
    """Hostile texts that have about so many values."""
    ends = np.cumsum([len(text) for text in hostile(name)])
    return [(text, True) for text in hostile(name)[: int(np.searchsorted(ends, size)) + 1]]


@cache
def scenarios(name: str) -> dict[str, Stimulus]:
    """What is driven, and how."""
    sizes = (2200, 300, 40) if "decoder" in name else (800, 100, 20)
    many, some, few = (pieces(name, size) for size in sizes)
    values = [value for text, _ in some for value in text]
    ends = np.arange(len(values)) % 7 == 3
    long = FixedStalls((True,) * 150)
    in_turns = FixedStalls((True, False) * 99), FixedStalls((False, False, True) * 99)
    very_slow = RandomStalls(0.9, 5), RandomStalls(0.9, 6)
    return {
        **{stalls: Stimulus(some, *STALLS[stalls]) for stalls in STALLS},
        "several windows": Stimulus(many, *STALLS["full rate"]),
        "both very slow": Stimulus(few, *very_slow),
        "consumer very slow": Stimulus(few, NO_STALLS, RandomStalls(0.97, 7)),
        "producer comes late": Stimulus(few, long, NO_STALLS),
        "consumer comes late": Stimulus(few, NO_STALLS, long),
        "in turns": Stimulus(some, *in_turns),
        "no pieces": Stimulus([]),
        "no pieces, very slowly": Stimulus([], *very_slow),
        "empty texts": Stimulus([(b"", True), ([], True), (b"", False)]),
        "one value": Stimulus([(b"A", True)]),
        "one value without an end": Stimulus([(b"\xc3", False)], *very_slow),
        "value by value": Stimulus([([value], False) for value in values] + [([], True)]),
        "ends in an array": Stimulus([(np.array(values, dtype=np.uint64), ends)]),
        # Runs that end near the end of a window, or whose text does.
        **{
            f"{n} values": Stimulus([(b"\xf4" * n, True)])
            for n in (2, *range(24, 34), *range(56, 66))
        },
    }


@cache
def reference(name: str, scenario: str) -> np.ndarray:
    return table(make("amaranth", name), scenarios(name)[scenario])


def engines_in_turns(names: list[str]) -> pytest.MarkDecorator:
    """Run a test with each name, on one of the engines."""
    engines = ("cxxrtl", "verilator", "icarus") * len(names)
    cases = [
        pytest.param(engine, name, marks=ENGINES[engine])
        for engine, name in zip(engines, names, strict=False)
    ]
    return pytest.mark.parametrize(("engine", "name"), cases)


# Every engine runs every design, and every profile.
@pytest.mark.sample(3)
@engines_in_turns(NAMES)
def test_every_pin_and_the_state_as_in_amaranth(engine, name):
    simulator, amaranth = make(engine, name), make("amaranth", name)
    assert simulator.name == engine
    assert simulator.interface == amaranth.interface
    assert simulator.profile == amaranth.profile
    assert simulator.state_names == amaranth.state_names
    for scenario, stimulus in scenarios(name).items():
        assert_same(table(simulator, stimulus), reference(name, scenario), scenario)


def test_scenarios_show_every_state_and_stall():
    name = "unicode decoder"
    trace = reference(name, "several windows")
    assert set(trace["state"]) == set(make("amaranth", name).state_names)
    assert len(trace) > icarus.WINDOW
    trace = reference(name, "both slow")
    for valid, ready in (("i.valid", "i.ready"), ("o.valid", "o.ready")):
        assert len(set(zip(trace[valid].tolist(), trace[ready].tolist(), strict=True))) == 4


@pytest.mark.sample
@engines
@pytest.mark.parametrize("blocks", [1, 2, 3])
@pytest.mark.parametrize("name", ["unicode decoder", "unicode compact decoder", "ucs4 encoder"])
def test_size_of_the_windows_changes_nothing(engine, blocks, name, monkeypatch):
    simulator = make(engine, name)
    monkeypatch.setattr(type(simulator), "window", blocks * BLOCK)
    for scenario, stimulus in scenarios(name).items():
        windows = list(simulator.run(stimulus))
        assert {len(window) for window in windows[:-1]} <= {blocks * BLOCK}
        assert_same(Trace.join(windows).table(), reference(name, scenario), scenario)


@engines
def test_every_run_begins_with_reset(engine, monkeypatch):
    simulator = make(engine, "unicode decoder")
    monkeypatch.setattr(type(simulator), "window", BLOCK)
    abandoned = simulator.run(Stimulus([(b"\xe2\x82\xac" * 100, True)]))
    assert len(set(next(abandoned)["state"])) > 1
    for _ in range(2):
        stimulus = scenarios("unicode decoder")["full rate"]
        assert_same(table(simulator, stimulus), reference("unicode decoder", "full rate"))
    abandoned.close()


@pytest.mark.long
@needs_verilator
def test_compiled_designs_do_not_disturb_each_other(monkeypatch):
    names = ["unicode decoder", "ucs4 encoder"]
    monkeypatch.setattr(CxxrtlEngine, "window", BLOCK)
    monkeypatch.setattr(VerilatorEngine, "window", 2 * BLOCK)
    simulators = [(engine, name) for name in names for engine in ("cxxrtl", "verilator")]
    simulators += simulators[:2]  # and the same library twice
    runs = [make(*simulator).run(scenarios(simulator[1])["both slow"]) for simulator in simulators]
    rounds = zip_longest(*runs)
    for simulator, windows in zip(simulators, zip(*rounds, strict=True), strict=True):
        trace = Trace.join([window for window in windows if window]).table()
        assert_same(trace, reference(simulator[1], "both slow"), str(simulator))


@engines
def test_run_that_a_difference_ends_leaves_the_next_ones_alone(engine, monkeypatch):
    good, bad = (make(engine, name) for name in ("unicode decoder", "range: ED BF is no surrogate"))
    monkeypatch.setattr(type(good), "window", 2 * BLOCK)
    stimulus = Stimulus([(b"A" * 500 + b"\xed\xb0\x80", True)])
    for _ in range(5):  # the thread that closes a run is not always the one that began it
        lockstep = Lockstep(bad, stimulus)
        assert lockstep.run() == Difference(508, "o.valid", expected=1, actual=0)
        assert lockstep.cycles == 509
        assert Lockstep(good, stimulus).run() is None


BROKEN = [
    "range: ED BF is no surrogate",
    "interrupted sequence dropped",
    "payload changes under stall",
    "refused value sent",
    "last with every byte",
    "compact: a held byte again",
    "compact: refused value sent",
]


@pytest.mark.sample(1)
@engines_in_turns(BROKEN)
def test_broken_design_shows_in_the_same_cycle(engine, name):
    stimulus = Stimulus(pieces(name, 1000), *STALLS["both slow"])
    expected = Lockstep(make("amaranth", name), stimulus).run()
    assert expected is not None
    assert Lockstep(make(engine, name), stimulus).run() == expected


def edited(name: str, good: str, bad: str) -> str:
    """The Verilog of a design, with an edit."""
    text = verilog_of(name)
    assert text.count(good) == 1, f"{good!r} is not there once"
    return text.replace(good, bad)


def windows_until(error: type[Exception], message: str, engine: Engine, data: bytes) -> list[Trace]:
    """What comes before a run fails."""
    windows = []
    with pytest.raises(error, match=message):
        windows.extend(engine.run(Stimulus([(data, True)])))
    return windows


@needs_icarus
def test_design_that_never_ends_hangs():
    endless = edited("unicode decoder", "tvalid = o_valid;", "tvalid = 1'b1;")
    simulator = IcarusEngine(Decoder(), endless)
    windows = windows_until(HangError, "output still came 96 cycles", simulator, b"A")
    assert len(Trace.join(windows)) == 99


def closed(first: int, end: int) -> str:
    """A decoder that takes nothing in some cycles."""
    ports, body = edited(
        "unicode decoder", "assign s_axis_tready = ", "assign s_axis_tready = !closed & "
    ).split("\n);\n", maxsplit=1)
    gate = (
        "  reg [15:0] cycle = 0;\n  always @(posedge clk) cycle <= cycle + 1;\n"
        f"  wire closed = cycle >= {first} && cycle < {end};\n"
        "  wire offered = s_axis_tvalid & !closed;\n"
    )
    return f"{ports}\n);\n{gate}{body.replace('s_axis_tvalid', 'offered')}"


@pytest.mark.sample
@needs_icarus
@pytest.mark.parametrize("first", [0, 2, 31, 32, 90, 100, 120, 127, 128, 129, 200])
@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_hang_is_found_wherever_it_begins(first, blocks, monkeypatch):
    monkeypatch.setattr(IcarusEngine, "window", blocks * BLOCK)
    data = b"A" * 400
    simulator = IcarusEngine(Decoder(), closed(first, first + 96))
    not_ready = 96 + (first > 0)  # nothing is accepted in the first cycle after reset
    assert len(table(simulator, Stimulus([(data, True)]))) == 400 + not_ready + 7 + 8
    simulator = IcarusEngine(Decoder(), closed(first, first + 97))
    windows = windows_until(HangError, "no input was accepted in 96 cycles", simulator, data)
    assert len(Trace.join(windows)) == first + 97


VALUE = "o_payload_code_point};"
VALUE_OF_ERROR = "o_payload_error ? {} : o_payload_code_point}};"

UNDEFINED = {
    "register without reset": (" o_valid = 1'b0;", "", 0, "m_axis_tvalid"),
    "state without reset": (" state = 4'h1;", "", 0, "the state register"),
    "value of an error": (VALUE, VALUE_OF_ERROR.format("21'bx"), 10, "m_axis_tdata"),
    "one bit": (VALUE, VALUE_OF_ERROR.format("21'b01x01"), 10, "m_axis_tdata"),
    "not connected": ("assign m_axis_tlast =", "wire nowhere =", 8, "m_axis_tlast"),
    "z": ("entry_1_last : entry_0_last;", "1'bz : entry_0_last;", 9, "m_axis_tlast"),
}


@needs_icarus
@pytest.mark.parametrize("fault", UNDEFINED)
def test_undefined_level_is_reported_by_cycle_and_pin(fault):
    good, bad, cycle, pin = UNDEFINED[fault]
    simulator = IcarusEngine(Decoder(), edited("unicode decoder", good, bad))
    message = r"^cycle {}, {} is \w*[xXzZ]"
    windows_until(UndefinedError, message.format(cycle, pin), simulator, b"AB\xffCD")
    if fault == "value of an error":  # also far into a run
        data = b"A" * 5000 + b"\xff"
        windows = windows_until(UndefinedError, message.format(5008, pin), simulator, data)
        assert len(Trace.join(windows)) == 5008 // icarus.WINDOW * icarus.WINDOW


@verilog_engines
def test_too_high_a_code_point_is_not_cut_to_fit(engine):
    bit = 63
    text = edited("extended decoder", "tdata = {22'h0,", f"tdata = {{22'h{1 << bit - 42:X},")
    difference = Lockstep(engine(Decoder(EXTENDED), text), Stimulus([(b"A", True)])).run()
    assert difference == Difference(8, "o.code_point", expected=0x41, actual=0x41 | 1 << bit)


@verilog_engines
def test_verilog_that_does_not_compile_or_lacks_the_module(engine):
    tool = "verilator" if engine is VerilatorEngine else "iverilog"
    with pytest.raises(ToolError, match=f"^{tool} failed .*rror"):
        engine(Decoder(), edited("unicode decoder", "endmodule", ""))
    with pytest.raises(ToolError, match=r"failed \(exit status \d+\)"):
        engine(Decoder(), verilog_of("unicode encoder"))


@pytest.fixture
def processes(monkeypatch):
    """The processes that are started."""
    started = []

    class Recorded(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return started


@needs_icarus
@pytest.mark.parametrize("is_killed", [False, True], ids=["abandoned", "killed"])
def test_run_that_ends_in_the_middle_leaves_no_process(is_killed, processes):
    run = make("icarus", "unicode decoder").run(Stimulus([(b"A" * 10000, True)]))
    next(run)
    assert processes[-1].poll() is None
    if is_killed:
        processes[-1].kill()
        with pytest.raises(ToolError, match=f"stopped in cycle {icarus.WINDOW} and said nothing"):
            next(run)
        assert processes[-1].stdout.closed
    run.close()
    assert processes[-1].poll() is not None


FAKE_VVP = {
    "dies in a line": ("printf '0 ff 1 1 1\\n0 ff'; kill -9 $$", "cycle 0 and said 0 ff 1 1 1"),
    "complains": ("echo 'bad magic'; exit 1", "cycle 0 and said bad magic"),
    "ends at once": ("exit 0", "cycle 0 and said nothing"),
    "dies after a cycle": (
        "echo 0 ff 1 1 1 0 00 0 0 0 0 0; echo 1; kill -9 $$",
        "cycle 1 and said 1",
    ),
}


@needs_icarus
@pytest.mark.parametrize("fault", FAKE_VVP)
def test_vvp_that_fails(fault, tmp_path: Path, monkeypatch):
    script, message = FAKE_VVP[fault]
    fake = tmp_path / "vvp"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    simulator = make("icarus", "unicode decoder")
    assert windows_until(ToolError, f"vvp stopped in {message}$", simulator, b"A" * 9000) == []
