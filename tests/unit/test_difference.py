"""What is said about a difference: tokens, bytes, cycles, and a command that shows it again."""

import re
from dataclasses import replace
from itertools import takewhile

import numpy as np
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
from rtl import BREAKS_OF_OTHER_RULES
from utf8_flow.cli.choices import Rules
from utf8_flow.verify import difference, engines, sources
from utf8_hdl import PROFILES, Decoder
from utf8_sim import minimise
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.engine import HangError
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import FixedStalls, Stimulus
from utf8_sim.tools.cores import Cores


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """However slow the machine is, the search for a shorter input comes to its end."""
    for module in (minimise, difference):
        monkeypatch.setattr(module, "PATIENCE", 600.0)


TEXT = "41 E2 82 AC ED BF BF C2 A9 F0 80 80 42"


# --- the command --------------------------------------------------------------------------------


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "name",
    [
        "wrong kind",
        "interrupting byte swallowed",
        "missed last: text goes on",
        "stale bits in the value",
        "payload changes under stall",
        "valid waits for ready",
        "buffer: the second token is forgotten",
        "skid: byte lost in it",
        "never ready",
        "range: DFFF is no surrogate",
        "last forgotten",
        "byte changes under stall",
        "compact: last forgotten",
        "compact: range: ED BF is no surrogate",
        "compact: byte changes under stall",
    ],
)
def test_the_printed_command_shows_it_again(folder, monkeypatch, name):
    options = break_design(monkeypatch, name)
    arguments = assert_shown_again(run("compare", *options, "--engine", "amaranth"))
    assert ("--compact" in arguments) == ("--compact" in options)
    inputs = arguments[arguments.index("--hex" if "decoder" in options else "--code-points") + 1]
    assert len(inputs.replace("/", " ").split()) <= 4


@pytest.mark.sample(2)
@each_engine("amaranth", "cxxrtl", "icarus")
@both_commands
def test_every_engine_and_command_shows_it_again(folder, monkeypatch, command, engine):
    break_design(monkeypatch, "payload changes under stall")
    stalls = ["--stall-output", 0.5, "--stall-input", 0.2]
    arguments = assert_shown_again(run(command, "--hex", TEXT, *stalls, "--engine", engine))
    assert arguments[1:3] == ["--engine", engine]
    assert "--stall-output-cycles" in arguments


@pytest.mark.parametrize("name", ["noncharacter: FFFF is one no more", "whole sequence: truncated"])
def test_the_profile_is_in_the_command(folder, monkeypatch, name):
    break_design(monkeypatch, name)
    profile = BREAKS_OF_OTHER_RULES[name][0]
    span = profile.error_span.value
    result = run("compare", "--profile", "ucs4", "--error-span", span, "--engine", "amaranth")
    arguments = assert_shown_again(result)
    assert arguments[1:3] == ["--profile", "ucs4"]
    usual = PROFILES["ucs4"].error_span is profile.error_span
    assert ("--error-span" in arguments) != usual


def test_every_override_is_in_the_command(folder, monkeypatch):
    rules = Rules("ucs2", "accept", "accept", "whole-sequence").chosen()
    engine = WrongAtTheEnd(Decoder(rules))
    stalls = FixedStalls((True, False, True, True)), FixedStalls((True,))
    nothing = dict.fromkeys(("i.data", "i.last"), np.zeros(99, dtype=np.uint8))
    stimulus = Stimulus([(b"A", True), (b"BC", True)], *stalls, idle=nothing)
    lockstep = Lockstep(engine, stimulus)
    difference_at_end = lockstep.run()
    found = minimise.Found(difference_at_end, lockstep.history.trace())
    command = difference.simulation(engine, engine.name, *difference.as_text(engine, found))
    assert command.startswith(
        "utf8-hdl simulate --profile ucs2 --surrogates accept --noncharacters accept "
        "--error-span whole-sequence --engine amaranth --hex '41 / 42 43' "
        "--stall-input-cycles 2-3"
    )
    assert " --stall-output-cycles 0" in command


class WrongAtTheEnd(AmaranthEngine):
    """A simulator that is wrong as soon as the last byte, a C, is at the output."""

    def run(self, stimulus):
        for trace in super().run(stimulus):
            is_c = (trace["o.code_point"] == ord("C")) & (trace["o.valid"] == 1)
            trace["o.kind"][is_c] ^= 1
            yield trace


def test_an_exhaustive_comparison_tells_how_to_show_a_difference_again(folder, monkeypatch):
    break_design(monkeypatch, "range: F5 is in range")
    result = run("compare", "--exhaustive", 1)
    assert assert_shown_again(result)[-1] == "F5"


def test_a_search_that_does_not_come_to_its_end_says_so(folder, monkeypatch):
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


# --- what does not come again -------------------------------------------------------------------


class OnceWrong(AmaranthEngine):
    """A simulator that is wrong in its first run only."""

    runs = 0

    def run(self, stimulus):
        OnceWrong.runs += 1
        wrong = OnceWrong.runs == 1
        for trace in super().run(stimulus):
            if wrong:
                trace["i.ready"][-1] ^= 1
            yield trace


@both_commands
def test_what_does_not_come_again_is_a_difference_all_the_same(folder, monkeypatch, command):
    monkeypatch.setattr(OnceWrong, "runs", 0)
    monkeypatch.setitem(engines.ENGINES, "amaranth", OnceWrong)
    result = run(command, "--hex", TEXT)
    assert result.status == 1
    assert "not reproducible" in result.out
    assert "agree" not in result.out


def test_a_worker_that_saw_a_difference_is_believed(folder, monkeypatch):
    seen, left = "cycle 9, pin o.valid: expected 1, actual 0", []

    def shards(cores, work, numbers):
        left.append([*numbers])
        yield from ((n, replace(work(n), wrong=seen * n)) for n in numbers)

    monkeypatch.setattr(sources, "SHARD", 128)
    monkeypatch.setattr(Cores, "do", shards)
    for _ in range(2):
        result = run("compare", "--exhaustive", 1)
        assert result.status == 1
        assert "the texts from 80 on" in result.out
        assert f"not reproducible: {seen}" in result.out
        assert "agree" not in result.out
    assert left == [[0, 1], [1]]  # the first shard is done, the other is not


# --- the table ----------------------------------------------------------------------------------


def table(result: Run) -> list[str]:
    """The lines of the table, the headings among them."""
    lines = result.out.splitlines()
    begin = next(
        number for number, line in enumerate(lines) if "i.valid" in line and ":" not in line
    )
    return list(takewhile(lambda line: line[:1] in " >", lines[begin:]))


def test_a_difference_is_explained(folder, monkeypatch):
    break_design(monkeypatch, "range: ED BF is no surrogate")
    result = run("simulate", "--hex", TEXT)
    facts = squeezed(result.out)
    at = facts.index("DIFFERENCE: cycle 12, pin o.valid: expected 1, actual 0")
    assert facts[at + 1] == "token expected error surrogate (1 byte), actual none"
    assert facts[at + 2] == "text 41 E2 82 AC ED BF BF C2 A9 F0 80 80 42 from offset 0"
    assert "stopped after 13 cycles: what follows is only a part" in facts
    rows = squeezed("\n".join(table(result)))
    [marked] = [row for row in rows if row.startswith("> ")]
    assert marked.startswith("> 12 ")
    assert marked.endswith("0 1 <- o.valid 0, golden 1")
    assert any("BF NEED_2 -> NEED_1" in row for row in rows)


@pytest.mark.parametrize(
    ("name", "inputs", "facts"),
    [
        (
            "wrong kind",
            ["--hex", "ED B0 80"],
            [
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
def test_a_pin_of_the_payload_is_contradicted(folder, monkeypatch, name, inputs, facts):
    options = break_design(monkeypatch, name)
    said = "\n".join(squeezed(run("simulate", *options, *inputs).out))
    assert all(fact in said for fact in facts)


def test_what_is_shown_of_a_text_begins_shortly_before_the_difference(folder, monkeypatch):
    monkeypatch.setattr(AmaranthEngine, "window", 512)  # many of them
    break_design(monkeypatch, "range: ED BF is no surrogate")
    result = run("simulate", "--hex", "41" * 9000 + "ED BF" + "42" * 20, "--engine", "amaranth")
    before, behind = " ".join(["41"] * 9), " ".join(["42"] * 9)
    assert f"text ... {before} ED BF {behind} from offset 8991" in squeezed(result.out)
    assert table(result)[2].split()[0] == "8992"


@pytest.mark.parametrize("component", ["decoder", "encoder"])
def test_columns_are_aligned(component):
    text = "a≠漢😀é" + "A" * 9
    stalls = ["--stall-output", 0.4]
    result = run("simulate", "--component", component, "--text", text, *stalls)
    lines = result.out.partition("\n\n")[0].splitlines()
    heading = next(number for number, line in enumerate(lines) if "cycle  " in line)
    rows = lines[heading + 1 :]
    state = lines[heading].index("state")
    assert len(rows) > 20
    for row in rows:
        before = re.match(r".*?(?=START|NEED|SEND)", row)[0]
        assert cell_len(before) == state


def test_a_byte_is_beside_the_state_that_it_meets_under_stalls():
    stalls = ["--stall-input", 0.4, "--stall-output", 0.4, "--seed", 5]
    rows = squeezed(run("simulate", "--hex", "E2 82 AC F0 9F 98 80 41 C2", *stalls).out)
    met = [
        match.groups()
        for row in rows
        if (match := re.search(r"(\w\w)(?: \S)? (\w+) -> (\w+)", row))
    ]
    assert met == [
        ("E2", "START", "NEED_2"),
        ("82", "NEED_2", "NEED_1"),
        ("AC", "NEED_1", "START"),
        ("F0", "START", "NEED_3"),
        ("9F", "NEED_3", "NEED_2"),
        ("98", "NEED_2", "NEED_1"),
        ("80", "NEED_1", "START"),
        ("41", "START", "START"),
        ("C2", "START", "START"),  # with the last byte of the text nothing more is needed
    ]


def wrong_at_the_end(pin: str) -> type[AmaranthEngine]:
    """A design that drives a pin wrongly in the last cycle, in which nothing else happens."""

    class Engine(AmaranthEngine):
        def run(self, stimulus):
            for trace in super().run(stimulus):
                trace[pin][-1] ^= 1
                yield trace

    return Engine


def test_the_last_cycle_is_in_the_table(folder, monkeypatch):
    monkeypatch.setitem(engines.ENGINES, "amaranth", wrong_at_the_end("i.ready"))
    result = run("simulate", "--text", "A")
    [cycle] = re.findall(r"DIFFERENCE: cycle (\d+)", result.out)
    marked = table(result)[-1]
    assert squeezed(marked) == [f"> {cycle} 0 0 START 0 1 <- i.ready 0, golden 1"]


@pytest.mark.parametrize("digits", ["42 / 41", ""])
def test_a_token_after_the_last_byte_is_not_expected(folder, monkeypatch, digits):
    monkeypatch.setitem(engines.ENGINES, "amaranth", wrong_at_the_end("o.valid"))
    facts = squeezed(run("simulate", "--hex", digits).out)
    assert any(fact.startswith("token expected none, actual U+") for fact in facts)


@both_commands
def test_a_hang_is_shown_where_it_began(folder, monkeypatch, command):
    class Hangs(AmaranthEngine):
        def run(self, stimulus):
            yield from super().run(stimulus)
            raise HangError("nothing moves")

    monkeypatch.setitem(engines.ENGINES, "amaranth", Hangs)
    result = run(*command.split(), "--text", "AB")
    assert result.status == 1
    assert "agree" not in result.out
    assert "9 0 1 START 1 1 U+0042 B (1 byte) last" in squeezed(result.out)
    assert "waveform around it: utf8-hdl-difference.vcd" in result.out
    assert result.out.endswith("HANG: nothing moves\n")


# --- standard output ----------------------------------------------------------------------------


@pytest.mark.parametrize("options", [("--text", ""), ("--hex", " / ")])
def test_an_empty_input_is_called_so(options, folder):
    assert "the input is empty" in run("compare", *options).out
    assert "the input is empty" not in run("compare", "--hex", "41").out


def test_standard_output_stays_clean(folder, monkeypatch):
    break_design(monkeypatch, "range: ED BF is no surrogate")
    result = run("simulate", "--hex", TEXT, "--tokens", "-")
    assert result.status == 1
    assert all(line.startswith("{") for line in result.out.splitlines())
    assert "utf8-hdl simulate" in result.err
