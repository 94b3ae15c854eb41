"""Tools that come as packages from PyPI: whether they are there, which, and how they are run."""

import importlib.util
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from utf8_sim.build import run_tool
from utf8_sim.engine import EngineError

from .output import Refused


def need_packages(who: str, packages: Iterable[str], extra: str) -> None:
    """Refuse to begin what packages are missing for.

    Parameters
    ----------
    who : str
        The command or option that needs them.
    packages : iterable of str
        What PyPI calls them.
    extra : str
        The extra of this project that has them.

    Raises
    ------
    Refused
        If one is not installed.
    """
    for package in packages:
        if importlib.util.find_spec(_module(package)) is None:
            raise Refused(f"{who} needs {package}: pip install 'utf8-hdl[{extra}]'")


def package_versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of installed packages, by their names."""
    return {package: metadata.version(package) for package in packages}


def versions_line(versions: dict[str, str]) -> str:
    """Names and versions on one line."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def run_yowasp(
    package: str, *arguments: str, tool: str | None = None, folder: Path | None = None
) -> None:
    """Run a tool of the YoWASP project.

    Parameters
    ----------
    package : str
        The PyPI package that it is in.
    *arguments : str
        For the tool.
    tool : str or None
        Its name, if it is not the one that the package is named after.
    folder : Path or None
        Where it runs. It sees nothing outside.

    Raises
    ------
    EngineError
        If it fails.
    """
    module = _module(package)
    function = f"run_{_module(tool or package.removeprefix('yowasp-'))}"
    call = f"import sys, {module}; sys.exit({module}.{function}(sys.argv[1:]))"
    try:
        run_tool([sys.executable, "-c", call, *arguments], folder)
    except EngineError as error:
        raise EngineError(f"{tool or package}: {error}") from error


def _module(name: str) -> str:
    """How Python spells a name with hyphens."""
    return name.replace("-", "_")
