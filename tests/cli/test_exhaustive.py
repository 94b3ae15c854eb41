"""`compare --exhaustive`: every text of some length, on all cores, with interruptions."""

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
    names,
    needs_proc,
    run,
    run_process,
    wait_until,
)
from needs import needs_compiler, needs_icarus
from utf8_flow.designs import DesignSpec
from utf8_flow.verify import sources
from utf8_flow.verify.sources import SHARD, Exhaustive
from utf8_hdl import Decoder
from utf8_sim.stimulus import one_by_one
from utf8_sim.subject import interface_of
from utf8_sim.tools.cores import Cores
from utf8_sim.tools.errors import ToolError

STATE = "utf8-hdl-compare.json"


ED_B0_IS_NO_SURROGATE = """\
from utf8_hdl import ErrorKind, rules

refusals = rules.refusals
surrogates = dict.fromkeys(range(0xA0, 0xB0), ErrorKind.SURROGATE)
rules.refusals = lambda profile: refusals(profile) | {0xED: surrogates}
"""
"""B0..BF after ED are taken for the beginning of a character."""


# --- the stimulus -------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_every_text_is_driven_once_and_in_order(length):
    every = Exhaustive(spec=DesignSpec("decoder"), engine="amaranth", seed=0, length=length)
    for shard in {0, every.units // 3, every.units - 1}:
        [items] = one_by_one(every.stimulus(shard).pieces, interface_of(Decoder()))
        values, lasts = items["i.data"], items["i.last"]
        assert (np.flatnonzero(lasts) == np.arange(length - 1, len(values), length)).all()
        columns = values.reshape(-1, length).astype(np.int64).T
        texts = sum(column << 8 * place for place, column in enumerate(columns[::-1]))
        begin = shard * SHARD
        assert (texts == np.arange(begin, min(begin + SHARD, 256**length))).all()
    assert every.units == max(1, 256**length // SHARD)


# --- in one process -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "after"), [([], 8 + 8), (["--compact"], 2 + 2), (["--profile", "extended"], 8 + 8)]
)
def test_every_text_of_one_byte(folder, options, after):
    result = run("compare", "--exhaustive", 1, *options)
    assert (result.status, result.err) == (0, "")
    assert "256 texts, every one of 1 byte" in result.out.splitlines()
    # The first byte is accepted in cycle 1. A token comes seven cycles after its byte, and eight
    # cycles without any are the end; compact it comes one cycle after it, and two are the end.
    assert f"agree on every output pin in all {256 + after} cycles" in result.out
    assert names(folder) == {"text.txt"}


@needs_compiler
def test_every_text_of_two_bytes(folder):
    result = run("compare", "--exhaustive", 2)
    assert (result.status, result.err) == (0, "")
    assert "65536 texts, every one of 2 bytes" in result.out.splitlines()
    assert "engine cxxrtl" in result.out
    assert f"agree on every output pin in all {2 * 65536 + 16} cycles" in result.out
    for option in ("--stall-input", "--stall-output"):
        stalled = run("compare", "--exhaustive", 2, option, 0.3)
        cycles = int(re.search(r"agree .* all (\d+) cycles", stalled.out)[1])
        # Stalls in three of ten cycles; skid register and output buffer make up for some.
        assert 0.9 < cycles / (2 * 65536 / 0.7) < 1.02
    assert names(folder) == {"text.txt"}


@needs_icarus
def test_a_real_process_says_nothing_on_standard_error(folder):
    result = run_process("compare", "--exhaustive", 1, "--engine", "icarus", stdout=subprocess.PIPE)
    assert (result.returncode, result.stderr) == (0, b"")


def test_wrong_usage_is_refused(folder):
    for arguments, named in (
        ("0", "'--exhaustive': Input should be greater than or equal to 1"),
        ("5", "'--exhaustive': Input should be less than or equal to 4"),
        ("1 --component encoder", "--exhaustive"),
        ("1 --state out --vcd out", "--state"),
        ("1 --state none/state.json", "'none/state.json'"),
        ("1 --state -", "--state"),
        ("1 --state=", "--state"),
    ):
        assert_refused(run("compare", "--exhaustive", *arguments.split()), named)
    assert names(folder) == {"text.txt"}


# The text F5 is accepted in cycle 246: its error is out of range, whatever follows.
@pytest.mark.parametrize(
    ("flaw", "cycle"), [("range: F5 is in range", 253), ("compact: range: F5 is in range", 247)]
)
def test_a_difference_is_found(folder, monkeypatch, flaw, cycle):
    result = run("compare", *break_design(monkeypatch, flaw), "--exhaustive", 1)
    assert result.status == 1
    pin = "pin o.kind: expected 5 (out-of-range), actual 6 (truncated)"
    assert f"DIFFERENCE: cycle {cycle}, {pin}" in result.out.splitlines()
    assert "the texts from 00 on" in result.out
    assert "agree" not in result.out
    assert_is_waveform("utf8-hdl-difference.vcd")
    waveform = {"utf8-hdl-difference.gtkw", "utf8-hdl-difference.vcd"}
    assert names(folder) == {"text.txt", "difference.json", *waveform}


# --- the state file -----------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("budget", ["--exhaustive 1", "--unit 0", "--cycles 1"])
def test_a_design_is_elaborated_once(folder, monkeypatch, budget):
    elaborated, elaborate = [], Decoder.elaborate
    monkeypatch.setattr(Decoder, "elaborate", lambda *a: [elaborated.append(a), elaborate(*a)][1])
    assert run("compare", *budget.split(), "--engine", "cxxrtl").status == 0
    assert len(elaborated) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, ToolError("a worker process died")])
def test_what_is_done_is_kept_if_the_others_are_not(folder, monkeypatch, error):
    def shards(_, work, units):
        done.extend(units)
        yield 1, work(1)  # no more than what is done up to the first gap
        yield 0, work(0)
        yield 3, work(3)
        raise error

    done = []
    monkeypatch.setattr(sources, "SHARD", 64)
    with monkeypatch.context() as patch:
        patch.setattr(Cores, "do", shards)
        result = run("compare", "--exhaustive", 1)
    assert "in all" not in result.out
    if error is KeyboardInterrupt:
        assert result.status == 130
        assert f"50.0% done: the same command resumes at unit 2 ({STATE})" in result.out
        assert f"interrupted after {2 * (64 + 16)} cycles, which agree" in result.out
    else:
        assert (result.status, result.err) == (2, "utf8-hdl: a worker process died\n")
    assert names(folder) == {"text.txt", STATE}
    with monkeypatch.context() as patch:
        patch.setattr(Cores, "do", lambda _, work, units: ((n, work(n)) for n in units))
        result = run("compare", "--exhaustive", 1)
    assert "256 texts, every one of 1 byte, 50.0% of them left" in result.out.splitlines()
    assert f"agree on every output pin in all {4 * (64 + 16)} cycles" in result.out
    assert done == [0, 1, 2, 3]
    assert names(folder) == {"text.txt"}


# --- on all cores -------------------------------------------------------------------------------


@pytest.mark.long
@needs_compiler
@needs_proc
def test_an_interrupted_comparison_goes_on_where_it_stopped(folder):
    with Process("compare", "--exhaustive", 3) as first:
        wait_until(Path(STATE).exists)
        os.killpg(first.process.pid, signal.SIGINT)
        status, out, err = first.end()
    assert (status, err) == (130, "")
    done = float(re.search(rf"([\d.]+)% done: the same command resumes .*\({STATE}\)", out)[1])
    assert 0 < done < 100
    assert re.search(r"^interrupted after [1-9]\d* cycles, which agree$", out, re.MULTILINE)
    assert "in all" not in out
    assert names(folder) == {"text.txt", STATE}

    with Process("compare", "--exhaustive", 3) as second:
        status, out, err = second.end()
    assert (status, err) == (0, "")
    left = float(re.search(r"16777216 texts, every one of 3 bytes, ([\d.]+)% of them left", out)[1])
    assert done + left == pytest.approx(100, abs=0.11)
    # Each of the 64 shards ends as the texts of two bytes do.
    assert f"agree on every output pin in all {3 * 2**24 + 64 * 16} cycles" in out
    assert names(folder) == {"text.txt"}


@needs_compiler
@needs_proc
def test_impatience_ends_the_workers_too(folder):
    with Process("compare", "--exhaustive", 4) as running:
        running.wait_for_workers()
        for _ in range(2):
            os.killpg(running.process.pid, signal.SIGINT)
            time.sleep(0.01)
        wait_until(lambda: not running.alive())
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
def test_a_difference_is_found_by_workers(folder, tmp_path_factory):
    patch = tmp_path_factory.mktemp("patch")
    (patch / "sitecustomize.py").write_text(ED_B0_IS_NO_SURROGATE)
    path = f"{patch}:{os.environ.get('PYTHONPATH', '')}"
    with Process("compare", "--exhaustive", 3, PYTHONPATH=path) as running:
        status, out, err = running.end()
    assert status == 1
    assert_no_traceback(err.encode())
    # In every shard, B0 of the first text that ends in ED B0 cuts ED short.
    cycle = 3 * 0x00EDB0 + 2 + 7
    assert f"DIFFERENCE: cycle {cycle}, pin o.valid: expected 1, actual 0" in out.splitlines()
    assert re.search(r"the texts from [\dA-F]{2}0000 on", out)
    assert "agree" not in out
    assert_is_waveform("utf8-hdl-difference.vcd")
