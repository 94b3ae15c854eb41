"""Ctrl-C and worse at any time: nothing is claimed that was not compared, and nothing is left."""

import os
import re
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from command import (
    COMMAND,
    Process,
    assert_is_waveform,
    assert_no_traceback,
    both_commands,
    break_design,
    names,
    needs_proc,
    run,
    wait_until,
)
from needs import needs_compiler, needs_icarus
from utf8_flow.verify import difference, runner
from utf8_sim import campaign
from utf8_sim.components.tokens import TokenReport
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.tools.cores import Cores

MEBIBYTE = 1 << 20


def zeros(size: int) -> str:
    """A file of zero bytes that takes no room."""
    Path("zeros.bin").touch()
    os.truncate("zeros.bin", size)
    return "zeros.bin"


def interrupting(function):
    """A function that does its work, and then Ctrl-C is pressed."""

    def interrupted(*arguments):
        function(*arguments)
        raise KeyboardInterrupt

    return interrupted


# --- in the middle of a run ---------------------------------------------------------------------


@needs_proc
@pytest.mark.parametrize(
    ("command", "engine"),
    [
        ("compare", "amaranth"),
        pytest.param("simulate", "cxxrtl", marks=needs_compiler),
        pytest.param("simulate", "icarus", marks=needs_icarus),
    ],
)
def test_control_c_ends_a_run(folder, command, engine):
    file = zeros(1024 * MEBIBYTE)
    outputs = ["--tokens", "out.jsonl", "--vcd", "out.vcd"]
    with Process(command, file, "--engine", engine, *outputs) as running:
        wait_until(lambda: any(path.stat().st_size > 1000 for path in folder.glob(".utf8-hdl-*")))
        running.interrupt()
        status, out, err = running.end()
    assert (status, err) == (130, "")
    assert re.search(r"^interrupted after [1-9]\d* cycles, which agree$", out, re.MULTILINE)
    assert "in all" not in out
    assert names(folder) == {"text.txt", "zeros.bin"}


TWICE = """\
import os, signal, time
from utf8_sim.engines.amaranth import AmaranthEngine

run = AmaranthEngine.run


def run_and_interrupt(self, stimulus):
    for window in run(self, stimulus):
        yield window
        for _ in range(2):  # the second while the first is dealt with
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)


AmaranthEngine.run = run_and_interrupt
"""

IN_A_FINALISER = """\
import os, signal
from utf8_sim.lockstep import Lockstep

count = Lockstep.__iter__


class Finalised:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)


def count_and_finalise(self):
    once = [Finalised()]
    for window in count(self):
        once.clear()
        yield window


Lockstep.__iter__ = count_and_finalise
"""

WHILE_A_THREAD_STARTS = """\
import os, signal, threading
from utf8_sim import lockstep

pool, start = lockstep.ThreadPoolExecutor, threading.Thread.start


def start_and_interrupt(thread):
    start(thread)
    os.kill(os.getpid(), signal.SIGINT)


def make_pool(size):
    threading.Thread.start = start_and_interrupt
    return pool(size)


lockstep.ThreadPoolExecutor = make_pool
"""


@pytest.mark.parametrize(
    ("command", "patch"),
    [
        pytest.param("simulate", TWICE, id="twice"),
        pytest.param("compare", IN_A_FINALISER, id="in a finaliser"),
        pytest.param("simulate", WHILE_A_THREAD_STARTS, id="while a thread starts"),
    ],
)
def test_no_interrupt_is_lost(folder, tmp_path_factory, command, patch):
    place = tmp_path_factory.mktemp("patch")
    (place / "sitecustomize.py").write_text(patch)
    path = os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")])
    arguments = [zeros(MEBIBYTE), "--engine", "amaranth", "--tokens", "out.jsonl"]
    with Process(command, *arguments, PYTHONPATH=path) as running:
        status, out, err = running.end()
    assert status == 130 or (patch == TWICE and status == -signal.SIGINT)
    assert_no_traceback(err.encode())
    assert "in all" not in out
    assert patch == TWICE or (err == "" and "cycles, which agree" in out)
    assert names(folder) == {"text.txt", "zeros.bin"}


@pytest.mark.parametrize("windows", [0, 2])
@pytest.mark.parametrize(
    ("command", "said"), [("simulate", "bytes       {}\n"), ("compare", "E1..EC")]
)
def test_what_was_compared_until_then_is_said(folder, monkeypatch, command, said, windows):
    def run_and_interrupt(engine, stimulus, run=AmaranthEngine.run):
        yield from islice(run(engine, stimulus), windows)
        raise KeyboardInterrupt

    monkeypatch.setattr(AmaranthEngine, "run", run_and_interrupt)
    outputs = ["--engine", "amaranth", "--tokens", "out.jsonl", "--vcd", "out.vcd"]
    result = run(command, zeros(20_000), *outputs)
    assert result.status == 130
    assert f"interrupted after {4096 * windows} cycles, which agree" in result.out.splitlines()
    accepted = max(4096 * windows - 1, 0)  # none in the first cycle
    assert said.format(accepted) in result.out
    assert "in all" not in result.out
    assert names(folder) == {"text.txt", "zeros.bin"}


# --- when a difference was found ----------------------------------------------------------------

# BF is accepted in cycle 2 and cuts ED short: in cycle 9 an error must be on offer.
DIFFERENCE = "DIFFERENCE: cycle 9, pin o.valid: expected 1, actual 0"


@pytest.fixture
def wrong_decoder(folder, monkeypatch):
    """A design with a mistake, which the file `wrong.bin` brings to light."""
    break_design(monkeypatch, "range: ED BF is no surrogate")
    Path("wrong.bin").write_bytes(b"A\xed\xbf\xbf")


@pytest.mark.usefixtures("wrong_decoder")
@pytest.mark.parametrize(
    ("command", "place", "name"),
    [
        ("simulate", TokenReport, "add"),
        ("compare", campaign.Coverage, "add"),
        ("simulate", TokenReport, "lines"),
    ],
)
def test_a_difference_found_before_an_interrupt_is_reported(monkeypatch, command, place, name):
    monkeypatch.setattr(place, name, interrupting(getattr(place, name)))
    result = run(command, "wrong.bin")
    assert DIFFERENCE in result.out
    assert result.status == 1
    assert_is_waveform("utf8-hdl-difference.vcd")


@pytest.mark.usefixtures("wrong_decoder")
@both_commands
def test_an_interrupt_while_the_waveform_is_kept_does_not_hide_the_difference(
    folder, monkeypatch, command
):
    def interrupt(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(difference, "write_wave", interrupt)
    result = run(command, "wrong.bin")
    assert DIFFERENCE in result.out
    assert "agree" not in result.out
    assert result.status in (1, 130)
    assert names(folder) == {"text.txt", "wrong.bin"}


@pytest.mark.usefixtures("wrong_decoder")
def test_an_interrupt_while_a_shard_is_run_again_does_not_hide_that_it_is_wrong(monkeypatch):
    def do(_, work, units):
        yield 0, work(0)
        monkeypatch.setattr(runner.Run, "simulate", interrupting(runner.Run.simulate))

    break_design(monkeypatch, "range: F5 is in range")
    monkeypatch.setattr(Cores, "do", do)
    result = run("compare", "--exhaustive", 1)
    assert result.status in (1, 130)
    assert "agree" not in result.out
    assert "the texts from 00 on" in result.out


# --- while the engine is made -------------------------------------------------------------------


@needs_proc
def test_control_c_ends_the_compiler_too(folder, tmp_path_factory):
    script = tmp_path_factory.mktemp("bin") / "slow-c++"
    script.write_text('#!/bin/sh\n[ "$1" = --version ] || { sleep 300; exit 1; }\n')
    script.chmod(0o755)
    arguments = ["simulate", "text.txt", "--engine", "cxxrtl", "--tokens", "out.jsonl"]
    with Process(*arguments, CXX=str(script)) as running:
        running.find("sleep\x00300")
        running.interrupt()
        ended = running.end()
    assert ended == (130, "", "utf8-hdl: interrupted\n")
    assert names(folder) == {"text.txt"}


# --- a simulator that dies ----------------------------------------------------------------------


@needs_icarus
@needs_proc
def test_a_killed_simulator_is_said_in_one_line(folder):
    outputs = ["--tokens", "out.jsonl", "--vcd", "out.vcd"]
    file = zeros(MEBIBYTE)
    with Process("simulate", file, "--engine", "icarus", *outputs) as running:
        simulator = running.find("vvp\x00-n")
        wait_until(lambda: any(path.stat().st_size > 1000 for path in folder.glob(".utf8-hdl-*")))
        os.kill(simulator, signal.SIGKILL)
        status, out, err = running.end()
    assert status == 2
    assert "agree" not in out
    assert re.fullmatch(r"utf8-hdl: vvp stopped in cycle \d+ and said .*\n", err)
    assert names(folder) == {"text.txt", "zeros.bin"}


@needs_icarus
@needs_proc
def test_a_simulator_does_not_outlive_the_command(folder):
    with Process("simulate", zeros(MEBIBYTE), "--engine", "icarus") as running:
        running.find("vvp\x00-n")
        running.process.kill()
        running.process.wait()
        wait_until(lambda: not running.alive(), seconds=5)


# --- memory -------------------------------------------------------------------------------------


# A process begins with the memory of the one that starts it, so a small one must start it.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(size: int) -> int:
    """Mebibytes at most resident while a file is simulated."""
    command = [COMMAND, "simulate", zeros(size), "--engine", "cxxrtl"]
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, *command], check=True, capture_output=True
    )
    return int(measured.stdout) // 1024


@pytest.mark.long
@needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
def test_memory_does_not_grow_with_the_text(folder):
    small, large = peak_memory(8 * MEBIBYTE), peak_memory(40 * MEBIBYTE)
    assert large < 500
    assert large - small < 16
