"""Versions of everything that results depend on, to compare workers with this machine."""

import hashlib
import importlib.util
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata
from itertools import chain
from pathlib import Path

from .cache import contents
from .errors import ToolError
from .programs import find, run_tool


def versions(packages: Sequence[str], modules: Sequence[str]) -> dict[str, str]:
    """The versions of Python, packages and programs, and digests of the sources of modules."""
    python = ".".join(platform.python_version_tuple()[:2])
    found = {"Python": python} | {each: _digest(each) for each in modules}
    return found | {each: _version(each) for each in packages}


@cache  # a process uses its imported modules, even if the files have changed since
def _digest(module: str) -> str:
    spec = importlib.util.find_spec(module)
    if spec is None:
        return "none"
    folders = [contents(Path(each)) for each in spec.submodule_search_locations or ()]
    digest = hashlib.sha256()
    for content in chain(*folders) if folders else [Path(spec.origin or "").read_bytes()]:
        digest.update(content)
    return digest.hexdigest()[:8]


@cache
def _version(name: str) -> str:
    """The version of a package, or of a program if no such package is installed."""
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(name)
    program, option = find(name), "-V" if name == "iverilog" else "--version"
    return run_tool([program, option]).splitlines()[0] if program else "none"


def check_versions(names: tuple[Sequence[str], Sequence[str]], expected: Mapping[str, str]) -> None:
    """On a worker: raise `ToolError` if its versions of packages or modules differ."""
    for name, version in versions(*names).items():
        if version != expected[name]:
            raise ToolError(
                f"a worker on {platform.node()} has {name} {version}, but this machine has "
                f"{expected[name]}: install the same version there, then restart the worker"
            )
