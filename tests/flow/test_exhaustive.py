"""`compare --exhaustive`: every text of some length, on all cores, with interruptions."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from command import (
    Process,
    assert_is_waveform,
    assert_no_traceback,
    assert_refused,
    break_design,
    needs_proc,
    run,
    run_process,
    wait_until,
)
from needs import each_engine, needs_compiler
from utf8_flow.verify.exhaustive import Plan, State
from utf8_hdl import UNICODE, Decoder
from utf8_sim.engines.engine import interface_of

STATE = "utf8-hdl-exhaustive.json"


ED_B0_IS_NO_SURROGATE = """\
from utf8_hdl import Kind, tables

refusals = tables.refusals
surrogates = dict.fromkeys(range(0xA0, 0xB0), Kind.SURROGATE)
tables.refusals = lambda profile: refusals(profile) | {0xED: surrogates}
"""
"""B0..BF after ED are taken for the beginning of a character."""


def plan(length: int, engine: str = "cxxrtl", stalls: tuple[float, float] = (0.0, 0.0)) -> Plan:
    return Plan(length, UNICODE, engine, stalls, 0)


# --- the stimulus -------------------------------------------------------------------------------


def texts(length: int, shard: int) -> np.ndarray:
    """The texts of a shard as numbers, the first byte the highest."""
    numbers = []
    for items in plan(length).stimulus(shard).items(interface_of(Decoder())):
        values, lasts = items["i.data"], items["i.last"]
        assert (np.flatnonzero(lasts) == np.arange(length - 1, len(values), length)).all()
        columns = values.reshape(-1, length).astype(np.int64).T
        numbers.append(sum(column << 8 * place for place, column in enumerate(columns[::-1])))
    return np.concatenate(numbers)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_every_text_is_driven_once_and_in_order(length):
    shards = [texts(length, shard) for shard in range(plan(length).shards)]
    assert (np.concatenate(shards) == np.arange(256**length)).all()


def test_the_shards_of_four_bytes_cover_every_text():
    shards, size = plan(4).shards, len(texts(4, 0))
    assert shards * size == 256**4
    for shard in (0, 1, shards - 1):
        assert (texts(4, shard) == np.arange(shard * size, (shard + 1) * size)).all()


# --- in one process -----------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "after"), [([], 8 + 8), (["--compact"], 1 + 2)])
def test_every_text_of_one_byte(folder, options, after):
    result = run("compare", "--exhaustive", 1, *options)
    assert (result.status, result.err) == (0, "")
    assert "256 texts, every one of 1 byte: " in result.out
    # A token comes eight cycles after its byte, and eight cycles without any are the end; compact
    # it comes one cycle after it, and two are the end.
    assert f"agree on every output pin in all {256 + after} cycles" in result.out
    assert [path.name for path in folder.iterdir()] == ["text.txt"]


@needs_compiler
def test_every_text_of_two_bytes(folder):
    result = run("compare", "--exhaustive", 2)
    assert (result.status, result.err) == (0, "")
    assert "65536 texts, every one of 2 bytes: " in result.out
    assert "engine cxxrtl" in result.out
    assert f"agree on every output pin in all {2 * 65536 + 16} cycles" in result.out
    assert [path.name for path in folder.iterdir()] == ["text.txt"]


@needs_compiler
@pytest.mark.parametrize("option", ["--stall-input", "--stall-output"])
def test_every_text_with_pauses(folder, option):
    result = run("compare", "--exhaustive", 2, option, 0.3)
    assert result.status == 0
    cycles = int(re.search(r"agree .* all (\d+) cycles", result.out)[1])
    # With stalls in three of ten cycles; the skid register and the output buffer make up for some.
    assert 0.9 < cycles / (2 * 65536 / 0.7) < 1.02


@pytest.mark.parametrize("profile", ["ucs2", "extended"])
def test_every_byte_in_other_profiles(folder, profile):
    result = run("compare", "--exhaustive", 1, "--profile", profile)
    assert result.status == 0
    assert f"profile {profile}" in result.out


@each_engine("amaranth", "icarus")
def test_a_real_process_says_nothing_on_standard_error(folder, engine):
    result = run_process("compare", "--exhaustive", 1, "--engine", engine, stdout=subprocess.PIPE)
    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("0", "not 0"),
        ("5", "not 5"),
        ("-1", "not -1"),
        ("x", "--exhaustive"),
        ("1 text.txt", "--exhaustive"),
        ("1 --tokens out.jsonl", "--exhaustive"),
        ("1 --component encoder", "--exhaustive"),
        ("1 --stall-input 1", "--stall-input"),
        ("1 --engine warp", "'warp'"),
        ("1 --vcd none/out.vcd", "'none/out.vcd'"),
    ],
)
def test_wrong_usage_is_refused(folder, arguments, named):
    assert_refused(run("compare", "--exhaustive", *arguments.split()), named)
    assert [path.name for path in folder.iterdir()] == ["text.txt"]


@pytest.mark.parametrize("state", ["none/state.json", "text.txt/state.json", "", "-", "."])
def test_a_state_that_cannot_be_kept_is_refused_at_once(folder, state):
    result = run("compare", "--exhaustive", 1, "--state", state)
    assert result.status == 2
    assert "agree" not in result.out
    assert result.err.count("\n") == 1
    assert repr(state) in result.err or "--state" in result.err


def test_a_state_is_not_kept_in_another_output(folder):
    result = run("compare", "--exhaustive", 1, "--state", "out", "--vcd", "out")
    assert_refused(result, "--state")


# The text F5 is accepted in cycle 245: its error is out of range, whatever follows.
F5 = "pin o.kind: expected 5 (out-of-range), actual 6 (truncated)"
# B0 of the text ED B0 is accepted in cycle 2 * 0xEDB0 + 1, and cuts ED short.
ED_B0 = "pin o.valid: expected 1, actual 0"
ED_B0_COMPACT = "pin o.kind: expected 4 (surrogate), actual 6 (truncated)"


@pytest.mark.sample(2)
@needs_compiler
@pytest.mark.parametrize(
    ("fault", "difference", "text"),
    [
        ("range: F5 is in range", f"cycle 253, {F5}", "F5"),
        ("compact: range: F5 is in range", f"cycle 246, {F5}", "F5"),
        ("range: ED BF is no surrogate", f"cycle 121704, {ED_B0}", "ED B0"),
        ("compact: range: ED BF is no surrogate", f"cycle 121698, {ED_B0_COMPACT}", "ED B0"),
    ],
)
def test_a_difference_is_found(folder, monkeypatch, fault, difference, text):
    length = len(bytes.fromhex(text))
    options = break_design(monkeypatch, fault)
    result = run("compare", *options, "--exhaustive", length)
    assert result.status == 1
    assert f"DIFFERENCE: {difference}" in result.out.splitlines()
    assert f"the texts from {'0' * 2 * length} on" in result.out
    assert f"text {text}" in result.out.splitlines()
    assert "agree" not in result.out
    assert_is_waveform("utf8-hdl-difference.vcd")
    assert Path("utf8-hdl-difference.gtkw").exists()
    assert not Path(STATE).exists()


# --- the state file -----------------------------------------------------------------------------


def state_of(length: int, **options) -> dict:
    """The content of a state file in which nothing is done."""
    State(plan(length, **options), "state.json").save()
    return json.loads(Path("state.json").read_text())


@pytest.fixture
def damaged_states(folder) -> dict[str, bytes]:
    good = state_of(1, engine="amaranth")
    altered = {
        "cycles that are no number": {"cycles": "many"},
        "infinitely many cycles": {"cycles": float("inf")},
        "fewer cycles than none": {"cycles": -5},
        "no shards": {"done": ""},
        "too many shards": {"done": "00"},
        "shards that are no number": {"done": "xy"},
        "no list of shards": {"done": None},
        "another identity": {"identity": "0" * 64},
        "no identity": {"identity": None},
    }
    return {name: json.dumps(good | change).encode() for name, change in altered.items()} | {
        "empty": b"",
        "no JSON": b"good\n",
        "no UTF-8": b"\xff\xfe",
        "no object": b"[]",
        "an empty object": b"{}",
        "cut off": json.dumps(good).encode()[:-9],
        "deeply nested": b"[" * 100_000,
    }


DAMAGES = [
    *("cycles that are no number", "infinitely many cycles", "fewer cycles than none"),
    *("no shards", "too many shards", "shards that are no number", "no list of shards"),
    *("another identity", "no identity"),
    *("empty", "no JSON", "no UTF-8", "no object", "an empty object", "cut off", "deeply nested"),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_state_is_refused_and_untouched(folder, damaged_states, damage):
    Path("state.json").write_bytes(damaged_states[damage])
    assert_refused(run("compare", "--exhaustive", 1, "--state", "state.json"), "'state.json'")
    assert Path("state.json").read_bytes() == damaged_states[damage]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "options",
    [
        ["--exhaustive", 2, "--engine", "amaranth"],
        ["--exhaustive", 1, "--stall-input", 0.3],
        ["--exhaustive", 1, "--stall-input", 0, "--seed", 1],
        ["--exhaustive", 1, "--profile", "ucs4"],
        ["--exhaustive", 1, "--surrogates", "accept"],
        ["--exhaustive", 1, "--compact"],
    ],
)
def test_the_state_of_another_comparison_is_refused_and_untouched(folder, options):
    state_of(1, engine="amaranth")
    before = Path("state.json").read_bytes()
    result = run("compare", *options, "--state", "state.json")
    assert_refused(result, "'state.json' is the state of another comparison")
    assert Path("state.json").read_bytes() == before


def test_the_state_of_another_design_is_refused(folder, monkeypatch):
    state_of(1, engine="amaranth")
    break_design(monkeypatch, "range: F5 is in range")
    result = run("compare", "--exhaustive", 1, "--state", "state.json")
    assert_refused(result, "'state.json' is the state of another comparison")


def test_a_folder_is_no_state(folder):
    Path("state.json").mkdir()
    assert_refused(run("compare", "--exhaustive", 1, "--state", "state.json"), "'state.json'")


@needs_compiler
def test_what_is_done_is_not_run_again(folder):
    state = state_of(3)  # of 64 shards, only the last is left
    state |= {"cycles": 1000, "done": "1" * 63 + "0"}
    Path("state.json").write_text(json.dumps(state))
    result = run("compare", "--exhaustive", 3, "--state", "state.json")
    assert result.status == 0
    assert "16777216 texts, every one of 3 bytes, 1.6% of them left: " in result.out
    cycles = 1000 + 3 * 2**24 // 64 + 16
    assert f"agree on every output pin in all {cycles} cycles" in result.out
    assert not Path("state.json").exists()


def test_if_all_is_done_that_is_the_verdict(folder):
    state = state_of(1, engine="amaranth") | {"cycles": 1234, "done": "1"}
    Path("state.json").write_text(json.dumps(state))
    result = run("compare", "--exhaustive", 1, "--state", "state.json")
    assert result.status == 0
    assert "agree on every output pin in all 1234 cycles" in result.out
    assert not Path("state.json").exists()


# --- on all cores -------------------------------------------------------------------------------


@pytest.mark.long
@needs_compiler
@needs_proc
def test_an_interrupted_comparison_goes_on_where_it_stopped(folder):
    with Process("compare", "--exhaustive", 3) as first:
        first.wait_for_workers()
        time.sleep(3)
        os.killpg(first.process.pid, signal.SIGINT)
        status, out, err = first.end()
    assert (status, err) == (130, "")
    done = float(re.search(rf"([\d.]+)% done: the same command goes on .*\({STATE}\)", out)[1])
    assert 0 < done < 100
    assert re.search(r"^interrupted after [1-9]\d* cycles, which agree$", out, re.MULTILINE)
    assert "in all" not in out
    assert {path.name for path in folder.iterdir()} == {"text.txt", STATE}

    with Process("compare", "--exhaustive", 3) as second:
        status, out, err = second.end()
    assert (status, err) == (0, "")
    left = float(re.search(r"16777216 texts, every one of 3 bytes, ([\d.]+)% of them left", out)[1])
    assert done + left == pytest.approx(100, abs=0.11)
    # Each of the 64 shards ends as the texts of two bytes do.
    assert f"agree on every output pin in all {3 * 2**24 + 64 * 16} cycles" in out
    assert [path.name for path in folder.iterdir()] == ["text.txt"]


@pytest.mark.sample(1)
@needs_compiler
@needs_proc
@pytest.mark.parametrize("pause", [0.01, 0.1])
def test_impatience_ends_the_workers_too(folder, pause):
    with Process("compare", "--exhaustive", 4) as running:
        running.wait_for_workers()
        for _ in range(2):
            os.killpg(running.process.pid, signal.SIGINT)
            time.sleep(pause)
        wait_until(lambda: not running.alive(), seconds=5)
        status, out, err = running.end()
    assert status in (130, -signal.SIGINT)
    assert_no_traceback(err.encode())
    assert "in all" not in out


@needs_compiler
@needs_proc
def test_an_interrupt_while_the_workers_start_is_no_error_of_theirs(folder):
    with Process("compare", "--exhaustive", 4) as running:
        wait_until(running.workers)
        time.sleep(0.2)
        os.killpg(running.process.pid, signal.SIGINT)
        status, out, err = running.end()
    assert (status, err) == (130, "")
    assert "interrupted after 0 cycles" in out


@needs_compiler
@needs_proc
def test_a_killed_worker_is_said_and_the_state_kept(folder):
    with Process("compare", "--exhaustive", 4) as running:
        os.kill(running.wait_for_workers()[-1], signal.SIGKILL)
        status, out, err = running.end()
    assert status == 2
    assert re.fullmatch("utf8-hdl: a worker process died .*: run the same command again.*\n", err)
    assert "agree" not in out
    assert {path.name for path in folder.iterdir()} == {"text.txt", STATE}


@needs_compiler
@needs_proc
def test_workers_do_not_outlive_a_killed_parent(folder):
    with Process("compare", "--exhaustive", 4) as running:
        running.wait_for_workers()
        running.process.kill()
        running.process.wait()
        wait_until(lambda: not running.alive(), seconds=10)


@needs_compiler
@needs_proc
def test_a_difference_is_found_by_workers(folder, tmp_path_factory):
    patch = tmp_path_factory.mktemp("patch")
    (patch / "sitecustomize.py").write_text(ED_B0_IS_NO_SURROGATE)
    with Process("compare", "--exhaustive", 3, PYTHONPATH=str(patch)) as running:
        status, out, err = running.end()
    assert status == 1
    assert_no_traceback(err.encode())
    # In every shard, B0 of the first text that ends in ED B0 cuts ED short.
    cycle = 3 * 0x00EDB0 + 2 + 7
    assert f"DIFFERENCE: cycle {cycle}, pin o.valid: expected 1, actual 0" in out.splitlines()
    assert re.search(r"the texts from [\dA-F]{2}0000 on", out)
    assert "agree" not in out
    assert_is_waveform("utf8-hdl-difference.vcd")
