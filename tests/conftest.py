"""Where every tool is installed, a skipped test is a failure."""

import os

import pytest


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("UTF8_HDL_FAIL_ON_SKIP") and reporter and reporter.stats.get("skipped"):
        reporter.ensure_newline()
        reporter.write_line("skipped tests count as failures here", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
