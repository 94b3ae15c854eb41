"""All engines produce the same trace, and report errors of designs and tools."""

import os
import subprocess
from functools import cache
from itertools import zip_longest

import numpy as np
import pytest

from needs import ENGINES, each_engine, needs_icarus, needs_verilator
from rtl import DESIGNS, NO_STALLS, STALLS, broken, random_part
from utf8_hdl import EXTENDED, PROFILES, Decoder, Encoder
from utf8_sim import compare
from utf8_sim.engines import icarus
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.compiled import CxxrtlEngine, VerilatorEngine
from utf8_sim.engines.engine import Engine, HangError, UndefinedError
from utf8_sim.engines.icarus import IcarusEngine
from utf8_sim.lockstep import Difference, Lockstep
from utf8_sim.stimulus import FixedStalls, Piece, RandomStalls, Stimulus
from utf8_sim.tools.errors import ToolError
from utf8_sim.trace import RESET, Trace
from verilog_cache import verilog_of

OF_VERILOG = {"icarus": IcarusEngine, "verilator": VerilatorEngine}


@cache
def design_of(name: str) -> Decoder | Encoder:
    """A design by profile and component, such as ``unicode decoder``, or by its flaw."""
    profile, _, design = name.partition(" ")
    return DESIGNS[design](PROFILES[profile]) if profile in PROFILES else broken(name)


@cache
def verilog_of_name(name: str) -> str:
    return verilog_of(design_of(name))


def make(engine: str, name: str) -> Engine:
    design = design_of(name)
    if engine == "amaranth":
        return AmaranthEngine(design)
    if engine == "cxxrtl":
        return CxxrtlEngine(design)
    return OF_VERILOG[engine](design, verilog_of_name(name))


def table(engine: Engine, stimulus: Stimulus) -> np.ndarray:
    return Trace.join(list(engine.run(stimulus))).table()


def assert_same(actual: np.ndarray, expected: np.ndarray, what: str = "") -> None:
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected, err_msg=what)


def pieces(name: str, size: int) -> list[Piece]:
    """Random texts of the built-in campaign with about ``size`` values in total."""
    texts = [list(text) for text, _ in random_part(make("amaranth", name)).pieces()]
    ends = np.cumsum([len(text) for text in texts])
    return [(text, True) for text in texts[: int(np.searchsorted(ends, size)) + 1]]


BLOCK = 32
"""Number of cycles in a short window."""

LIMIT = 12 * BLOCK
"""Maximum number of cycles of runs with a limit."""


@cache
def scenarios(name: str) -> dict[str, Stimulus]:
    """Stimuli by name."""
    sizes = (2200, 300, 40) if "decoder" in name else (800, 100, 20)
    many, some, few = (pieces(name, size) for size in sizes)
    values = [value for text, _ in some for value in text]
    ends = np.arange(len(values)) % 7 == 3
    long = FixedStalls((True,) * 150)
    in_turns = FixedStalls((True, False) * 99), FixedStalls((False, False, True) * 99)
    very_slow = RandomStalls(0.9, 5), RandomStalls(0.9, 6)
    resets = FixedStalls((False,) * 20 + (True,) * 30 + (False,) * 9 + (True,) * 2)
    return {
        **{stalls: Stimulus(some, *STALLS[stalls]) for stalls in STALLS},
        "several windows": Stimulus(many, *STALLS["full rate"]),
        "both very slow": Stimulus(few, *very_slow),
        "producer comes late": Stimulus(few, long, NO_STALLS),
        "consumer comes late": Stimulus(few, NO_STALLS, long),
        "in turns": Stimulus(some, *in_turns),
        "rare resets": Stimulus(some, *STALLS["both slow"], LIMIT, RandomStalls(0.01, 3)),
        "frequent resets": Stimulus(some, *STALLS["both slow"], LIMIT, RandomStalls(0.2, 3)),
        "resets in a row": Stimulus(some, *STALLS["full rate"], resets=resets),
        "no pieces": Stimulus([], *very_slow),
        "empty texts": Stimulus([(b"", True), ([], True), (b"", False)]),
        "one value without an end": Stimulus([(b"\xc3", False)], *very_slow),
        "value by value": Stimulus([([value], False) for value in values] + [([], True)]),
        "ends in an array": Stimulus([(np.array(values, dtype=np.uint64), ends)]),
        # Runs that end near the end of a window, or whose text does.
        **{f"{n} values": Stimulus([(b"\xf4" * n, True)]) for n in (1, *range(24, 34))},
    }


@cache
def reference(name: str, scenario: str) -> np.ndarray:
    return table(make("amaranth", name), scenarios(name)[scenario])


def cases(*names: tuple[str, str]) -> pytest.MarkDecorator:
    """Run a test with engines, each with the name of a design."""
    params = [pytest.param(engine, name, marks=ENGINES[engine]) for engine, name in names]
    return pytest.mark.parametrize(("engine", "name"), params)


@pytest.mark.sample(2)
@cases(
    ("verilator", "unicode decoder"),
    ("cxxrtl", "unicode decoder"),
    ("cxxrtl", "extended encoder"),
    ("icarus", "unicode compact encoder"),
    ("verilator", "ucs4 compact decoder"),
    ("verilator", "unicode encoder"),
    ("icarus", "ucs2 decoder"),
)
def test_engine_matches_amaranth(engine, name):
    simulator, amaranth = make(engine, name), make("amaranth", name)
    assert simulator.name == engine
    assert simulator.interface == amaranth.interface
    assert simulator.profile == amaranth.profile
    assert simulator.state_names == amaranth.state_names
    for scenario, stimulus in scenarios(name).items():
        assert_same(table(simulator, stimulus), reference(name, scenario), scenario)


def test_scenarios_cover_states_and_stalls():
    name = "unicode decoder"
    trace = reference(name, "several windows")
    assert set(trace["state"]) == set(make("amaranth", name).state_names)
    assert len(trace) > icarus.WINDOW
    trace = reference(name, "frequent resets")
    assert len(trace) == LIMIT
    assert 0 < trace[RESET].sum() < LIMIT / 2
    trace = reference(name, "both slow")
    for valid, ready in (("i.valid", "i.ready"), ("o.valid", "o.ready")):
        assert len(set(zip(trace[valid].tolist(), trace[ready].tolist(), strict=True))) == 4


@pytest.mark.long
@each_engine("icarus", "cxxrtl", "verilator")
@pytest.mark.parametrize(
    ("blocks", "name"), [(1, "unicode compact encoder"), (3, "unicode decoder")]
)
def test_trace_is_independent_of_window(engine, blocks, name, monkeypatch):
    simulator = make(engine, name)
    monkeypatch.setattr(type(simulator), "window", blocks * BLOCK)
    for scenario, stimulus in scenarios(name).items():
        windows = list(simulator.run(stimulus))
        assert {len(window) for window in windows[:-1]} <= {blocks * BLOCK}
        assert_same(Trace.join(windows).table(), reference(name, scenario), scenario)


@pytest.mark.long
@needs_verilator
def test_compiled_designs_are_independent(monkeypatch):
    names = ["unicode decoder", "unicode encoder"]
    monkeypatch.setattr(CxxrtlEngine, "window", BLOCK)
    monkeypatch.setattr(VerilatorEngine, "window", 2 * BLOCK)
    simulators = [(engine, name) for name in names for engine in ("cxxrtl", "verilator")]
    simulators += simulators[:2]  # and the same library twice
    runs = [make(*simulator).run(scenarios(simulator[1])["both slow"]) for simulator in simulators]
    rounds = zip_longest(*runs)
    for simulator, windows in zip(simulators, zip(*rounds, strict=True), strict=True):
        trace = Trace.join([window for window in windows if window]).table()
        assert_same(trace, reference(simulator[1], "both slow"), str(simulator))


@pytest.mark.long
@each_engine("icarus", "cxxrtl", "verilator")
def test_run_after_difference(engine, monkeypatch):
    good, bad = (make(engine, name) for name in ("unicode decoder", "range: ED BF is no surrogate"))
    monkeypatch.setattr(type(good), "window", 2 * BLOCK)
    text = b"A" * 500 + b"\xed\xb0\x80"
    for _ in range(5):  # the thread that closes a run is not always the one that began it
        lockstep = Lockstep(bad, Stimulus([(text, True)]))
        assert lockstep.run() == Difference(508, "o.valid", expected=1, actual=0)
        assert lockstep.cycles == 509
        assert compare(good, text) is None


@pytest.mark.long
@cases(
    ("icarus", "payload changes under stall"),
    ("cxxrtl", "last with every byte"),
    ("verilator", "compact: refused value sent"),
)
def test_engines_report_same_difference(engine, name):
    stimulus = Stimulus(pieces(name, 1000), *STALLS["both slow"])
    expected = Lockstep(make("amaranth", name), stimulus).run()
    assert expected is not None
    assert Lockstep(make(engine, name), stimulus).run() == expected


def edited(name: str, good: str, bad: str) -> str:
    """The Verilog of a design, with an edit."""
    text = verilog_of_name(name)
    assert text.count(good) == 1
    return text.replace(good, bad)


def windows_until(error: type[Exception], message: str, engine: Engine, data: bytes) -> list[Trace]:
    """The windows before a run fails."""
    windows = []
    with pytest.raises(error, match=message):
        windows.extend(engine.run(Stimulus([(data, True)])))
    return windows


@needs_icarus
def test_endless_output_is_a_hang():
    endless = edited("unicode decoder", "tvalid = o_valid;", "tvalid = 1'b1;")
    simulator = IcarusEngine(Decoder(), endless)
    windows = windows_until(HangError, "output is still produced 96 cycles", simulator, b"A")
    assert len(Trace.join(windows)) == 99


def closed(first: int, end: int) -> str:
    """A decoder that accepts no input from cycle ``first`` to ``end``."""
    ports, body = edited(
        "unicode decoder", "assign s_axis_tready = ", "assign s_axis_tready = !closed & "
    ).split("\n);\n", maxsplit=1)
    gate = (
        "  reg [15:0] cycle = 0;\n  always @(posedge clk) cycle <= cycle + 1;\n"
        f"  wire closed = cycle >= {first} && cycle < {end};\n"
        "  wire offered = s_axis_tvalid & !closed;\n"
    )
    return f"{ports}\n);\n{gate}{body.replace('s_axis_tvalid', 'offered')}"


@pytest.mark.sample(1)
@needs_icarus
@pytest.mark.parametrize(("first", "blocks"), [(100, 2), (0, 1), (32, 1), (127, 4)])
def test_stuck_input_is_a_hang(first, blocks, monkeypatch):
    monkeypatch.setattr(IcarusEngine, "window", blocks * BLOCK)
    data = b"A" * 400
    simulator = IcarusEngine(Decoder(), closed(first, first + 96))
    not_ready = 96 + (first > 0)  # nothing is accepted in the first cycle after reset
    assert len(table(simulator, Stimulus([(data, True)]))) == 400 + not_ready + 7 + 8
    simulator = IcarusEngine(Decoder(), closed(first, first + 97))
    windows = windows_until(HangError, "no input was accepted in 96 cycles", simulator, data)
    assert len(Trace.join(windows)) == first + 97


ONE_BIT = "o_payload_error ? 21'b01x01 : o_payload_code_point};"

UNDEFINED = {
    "register without reset": (" o_valid = 1'b0;", "", 0, "m_axis_tvalid"),
    "state without reset": (" state = STATE_START;", "", 0, "the state register"),
    "one bit": ("o_payload_code_point};", ONE_BIT, 10, "m_axis_tdata"),
    "not connected": ("assign m_axis_tlast =", "wire nowhere =", 8, "m_axis_tlast"),
}


@pytest.mark.sample(2)
@needs_icarus
@pytest.mark.parametrize("fault", UNDEFINED)
def test_undefined_level_names_cycle_and_pin(fault):
    good, bad, cycle, pin = UNDEFINED[fault]
    simulator = IcarusEngine(Decoder(), edited("unicode decoder", good, bad))
    message = r"^cycle {}, {} is \w*[xXzZ]"
    windows_until(UndefinedError, message.format(cycle, pin), simulator, b"AB\xffCD")
    if fault == "one bit":  # also far into a run
        data = b"A" * 5000 + b"\xff"
        windows = windows_until(UndefinedError, message.format(5008, pin), simulator, data)
        assert len(Trace.join(windows)) == 5008 // icarus.WINDOW * icarus.WINDOW


@pytest.mark.long
@each_engine("icarus", "verilator")
def test_unused_bits_of_code_point_are_compared(engine):
    bit = 63
    text = edited("extended decoder", "tdata = {22'h0,", f"tdata = {{22'h{1 << bit - 42:X},")
    difference = compare(OF_VERILOG[engine](Decoder(EXTENDED), text), b"A")
    assert difference == Difference(8, "o.code_point", expected=0x41, actual=0x41 | 1 << bit)


@pytest.mark.sample(1)
@each_engine("icarus", "verilator")
def test_wrong_verilog_is_a_tool_error(engine):
    tool = "iverilog" if engine == "icarus" else engine
    with pytest.raises(ToolError, match=f"^{tool} failed .*rror"):
        OF_VERILOG[engine](Decoder(), edited("unicode decoder", "endmodule", ""))
    with pytest.raises(ToolError, match=r"failed \(exit status \d+\)"):
        OF_VERILOG[engine](Decoder(), verilog_of_name("unicode encoder"))


@needs_icarus
@pytest.mark.parametrize("is_killed", [False, True], ids=["abandoned", "killed"])
def test_unfinished_run_leaves_no_process(is_killed, monkeypatch):
    simulator, popen, processes = make("icarus", "unicode decoder"), subprocess.Popen, []

    def recorded(*arguments, **options):
        processes.append(popen(*arguments, **options))
        return processes[-1]

    monkeypatch.setattr(subprocess, "Popen", recorded)
    run = simulator.run(Stimulus([(b"A" * 10000, True)]))
    next(run)
    process = processes[-1]
    assert process.poll() is None
    if is_killed:
        process.kill()
        with pytest.raises(ToolError, match=f"stopped in cycle {icarus.WINDOW}; its output: none"):
            next(run)
        assert process.stdout.closed
    run.close()
    assert process.poll() is not None


@needs_icarus
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("printf 'utf8-hdl: 0 ff 1 1 1\\n0 ff'; kill -9 $$", "cycle 0; its output: 0 ff 1 1 1"),
        ("echo 'bad magic'; exit 1", "cycle 0; its output: bad magic"),
        ("echo utf8-hdl: 0 ff 1 1 1 0 00 0 0 0 0 0; echo 1; kill -9 $$", "cycle 1; its output: 1"),
    ],
    ids=["dies in a line", "complains", "dies after a cycle"],
)
def test_failing_vvp_is_a_tool_error(script, message, tmp_path, monkeypatch):
    fake = tmp_path / "vvp"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    simulator = make("icarus", "unicode decoder")
    assert windows_until(ToolError, f"vvp stopped in {message}$", simulator, b"A" * 9000) == []
