"""Report of a difference: token, text, table of cycles, and a command that reproduces it."""

import re
from itertools import chain, dropwhile, repeat, takewhile

import pytest
from rich.cells import cell_len

from command import (
    Run,
    assert_shown_again,
    both_commands,
    break_design,
    printed_command,
    run,
    squeezed,
)
from needs import each_engine
from utf8_flow.verify import difference, engines
from utf8_sim import minimise
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.engine import HangError


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Remove the time limit of the search for a shorter input."""
    for module in (minimise, difference):
        monkeypatch.setattr(module, "PATIENCE", 600.0)


TEXT = "41 E2 82 AC ED BF BF C2 A9 F0 80 80 42"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "name",
    [
        "last forgotten",
        "wrong kind",
        "skid: byte lost in it",
        "never ready",
        "range: DFFF is no surrogate",
        "compact: byte changes under stall",
    ],
)
def test_printed_command_reproduces_difference(folder, monkeypatch, name):
    options = break_design(monkeypatch, name)
    arguments = assert_shown_again(run("compare", *options, "--engine", "amaranth"))
    assert ("--compact" in arguments) == ("--compact" in options)
    inputs = arguments[arguments.index("--hex" if "decoder" in options else "--code-points") + 1]
    assert len(inputs.replace("/", " ").split()) <= 4


@pytest.mark.long
@each_engine("cxxrtl", "icarus")
def test_printed_command_of_engine(folder, monkeypatch, engine):
    break_design(monkeypatch, "payload changes under stall")
    stalls = ["--stall-output", 0.5, "--stall-input", 0.2]
    arguments = assert_shown_again(run("simulate", "--hex", TEXT, *stalls, "--engine", engine))
    assert arguments[1:3] == ["--engine", engine]
    assert "--stall-output-cycles" in arguments


@pytest.fixture
def invert(monkeypatch):
    """Return a function that makes the simulator invert a pin in some cycles of each trace.

    By default it is the last cycle, which is idle.
    """

    def install(pin, cycles=lambda _trace: -1):
        class Inverting(AmaranthEngine):
            def run(self, stimulus):
                for trace in super().run(stimulus):
                    trace[pin][cycles(trace)] ^= 1
                    yield trace

        monkeypatch.setitem(engines.ENGINES, "amaranth", Inverting)

    return install


def test_printed_command_has_overrides(folder, invert):
    invert("o.kind", lambda trace: (trace["o.code_point"] == ord("C")) & (trace["o.valid"] == 1))
    rules = "--profile ucs2 --surrogates accept --noncharacters accept --error-span whole-sequence"
    arguments = assert_shown_again(run("simulate", *rules.split(), "--hex", "41 / 42 43"))
    assert arguments == ["simulate", *rules.split(), "--engine", "amaranth", "--hex", "43"]


@pytest.mark.long
def test_printed_command_of_exhaustive_comparison(folder, monkeypatch):
    break_design(monkeypatch, "range: F5 is in range")
    result = run("compare", "--exhaustive", 1)
    assert assert_shown_again(result)[-1] == "F5"


@pytest.mark.long
def test_incomplete_search_is_reported(folder, monkeypatch):
    def interrupted(*arguments):
        yield from minimise.minimised(*arguments)
        raise KeyboardInterrupt

    break_design(monkeypatch, "range: ED BF is no surrogate")
    with monkeypatch.context() as patch:
        patch.setattr(difference, "PATIENCE", 0.0)
        assert "shortest input found in 0 seconds: " in run("simulate", "--hex", TEXT).out
    monkeypatch.setattr(difference, "minimised", interrupted)
    result = run("simulate", "--hex", TEXT)
    assert result.status == 1
    assert "shortest input found until interrupted: 2 bytes" in result.out
    assert printed_command(result)[-1] == "ED BF"


@both_commands
def test_irreproducible_difference_is_reported(folder, invert, command):
    cycles = chain([-1], repeat(slice(0)))  # only in the first trace
    invert("i.ready", lambda _trace: next(cycles))
    result = run(command, "--hex", TEXT)
    assert result.status == 1
    assert "not reproducible" in result.out
    assert "agree" not in result.out


def table(result: Run) -> list[str]:
    """The lines of the table, including its heading."""
    rest = dropwhile(lambda line: "i.valid" not in line or ":" in line, result.out.splitlines())
    return list(takewhile(lambda line: line[:1] in " >", rest))


def test_report_of_difference(folder, monkeypatch):
    break_design(monkeypatch, "range: ED BF is no surrogate")
    result = run("simulate", "--hex", TEXT)
    facts = squeezed(result.out)
    at = facts.index("DIFFERENCE: cycle 12, pin o.valid: expected 1, actual 0")
    assert facts[at + 1] == "token expected error surrogate (1 byte), actual none"
    assert facts[at + 2] == "text 41 E2 82 AC ED BF BF C2 A9 F0 80 80 42 from offset 0"
    assert "stopped after 13 cycles: the results are incomplete" in facts
    rows = squeezed("\n".join(table(result)))
    [marked] = [row for row in rows if row.startswith("> ")]
    assert re.fullmatch("> 12 .*0 1 <- o.valid 0, golden 1", marked)
    assert any("BF NEED_2 -> NEED_1" in row for row in rows)


@pytest.mark.parametrize(
    ("name", "inputs", "facts"),
    [
        (
            "wrong kind",
            ["--hex", "05 ED B0 80"],
            [
                "text 05 ED B0 80 from offset 0",
                "token expected error surrogate (1 byte), actual error truncated (1 byte)",
                "<- o.kind 6 (truncated), golden 4 (surrogate)",
            ],
        ),
        (
            "compact: last forgotten",
            ["--code-points", "41 / E9 / 42"],
            [
                "byte expected A9 last, actual A9",
                "text 0041 / 00E9 / 0042 from offset 0",
                "> 4 1 1 U+0042 B last START 1 1 A9 <- o.last 0, golden 1",
            ],
        ),
    ],
)
def test_report_of_payload_pin(folder, monkeypatch, name, inputs, facts):
    options = break_design(monkeypatch, name)
    said = "\n".join(squeezed(run("simulate", *options, *inputs).out))
    assert all(fact in said for fact in facts)


@pytest.mark.long
def test_report_of_long_text(folder, monkeypatch):
    monkeypatch.setattr(AmaranthEngine, "window", 512)  # many of them
    break_design(monkeypatch, "range: ED BF is no surrogate")
    result = run("simulate", "--hex", "41" * 9000 + "ED BF" + "42" * 20, "--engine", "amaranth")
    before, behind = " ".join(["41"] * 9), " ".join(["42"] * 9)
    assert f"text ... {before} ED BF {behind} from offset 8991" in squeezed(result.out)
    assert table(result)[2].split()[0] == "8992"


@pytest.mark.parametrize("component", ["decoder", "encoder"])
def test_table_columns_are_aligned(component):
    text = "a≠漢😀é" + "A" * 9
    stalls = ["--stall-output", 0.4]
    result = run("simulate", "--component", component, "--text", text, *stalls)
    heading, *rows = re.search(r".*cycle  (?s:.*?)(?=\n\n)", result.out)[0].splitlines()
    assert len(rows) > 20
    for row in rows:
        before = re.match(r".*?(?=START|NEED|SEND)", row)[0]
        assert cell_len(before) == heading.index("state")


def test_table_shows_state_beside_byte():
    stalls = ["--stall-input", 0.4, "--stall-output", 0.4, "--seed", 5]
    rows = squeezed(run("simulate", "--hex", "F0 9F 98 80 41 C2", *stalls).out)
    assert re.findall(r"(\w\w)(?: \S)? (\w+) -> (\w+)", "\n".join(rows)) == [
        *(("F0", "START", "NEED_3"), ("9F", "NEED_3", "NEED_2"), ("98", "NEED_2", "NEED_1")),
        *(("80", "NEED_1", "START"), ("41", "START", "START")),
        ("C2", "START", "START"),  # the last byte of the text ends the sequence
    ]


def test_table_includes_last_cycle(folder, invert):
    invert("i.ready")
    result = run("simulate", "--text", "A")
    [cycle] = re.findall(r"DIFFERENCE: cycle (\d+)", result.out)
    marked = table(result)[-1]
    assert squeezed(marked) == [f"> {cycle} 0 0 START 0 1 <- i.ready 0, golden 1"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("digits", ["42 / 41", ""])
def test_report_of_surplus_token(folder, invert, digits):
    invert("o.valid")
    facts = squeezed(run("simulate", "--hex", digits).out)
    assert any(fact.startswith("token expected none, actual U+") for fact in facts)


def test_report_of_hang(folder, monkeypatch):
    class Hangs(AmaranthEngine):
        def run(self, stimulus):
            yield from super().run(stimulus)
            raise HangError("nothing moves")

    monkeypatch.setitem(engines.ENGINES, "amaranth", Hangs)
    result = run("compare", "--text", "AB")
    assert result.status == 1
    assert "agree" not in result.out
    assert "9 0 1 START 1 1 U+0042 B (1 byte) last" in squeezed(result.out)
    assert "waveform around it: utf8-hdl-difference.vcd" in result.out
    assert result.out.endswith("HANG: nothing moves\n")


@pytest.mark.parametrize("options", [("--text", ""), ("--hex", " / ")])
def test_empty_input_is_reported(options, folder):
    assert "the input is empty" in run("compare", *options).out
    assert "the input is empty" not in run("compare", "--hex", "41").out
