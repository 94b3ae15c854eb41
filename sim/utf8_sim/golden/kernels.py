"""Loops of the golden model, compiled by numba if it is installed and a run is long.

A kernel is a function that loops over integers. When interpreted, it receives lists, which Python
reads faster than arrays. When compiled, it receives arrays of 64-bit signed integers. The same
source serves both cases.
"""

import hashlib
import importlib.util
import os
import types
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ..tools.cache import KERNELS, contents, prepare_cache

INTERPRETED = 100_000
"""Number of steps that a process interprets before it compiles the kernels."""

COMPILED = "UTF8_HDL_COMPILED"
"""Environment variable for compilation: ``never`` or ``always``."""

# Kernels allocate no arrays, so numba does not need its runtime with reference counts (`_nrt`).
# Without it, and with `forceinline`, the transcoder's model is several times faster.
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "forceinline": True, "_nrt": False}
"""Options of numba."""


class Kernel:
    """A function that numba can compile; a call interprets it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def run(self, steps: int, *arguments: Any) -> Any:
        """Call the kernel with arrays, which it may change, for about ``steps`` steps.

        A kernel whose source is not in a file is never compiled, because it could not be cached.
        """
        count_steps(steps)
        is_compiled = is_compiled_after(_counted["steps"])
        if is_compiled and Path(self.function.__code__.co_filename).is_file():
            return _compiled(self)(*arguments)
        lists = tuple(map(_as_lists, arguments))
        result = self.function(*lists)
        for array, changed in zip(arguments, lists, strict=True):
            _copy_back(array, changed)
        return result


kernel = Kernel


@cache
def numba_version() -> str:
    """The version of numba; empty if it is not installed."""
    return metadata.version("numba") if importlib.util.find_spec("numba") else ""


_counted = {"steps": 0}


def count_steps(steps: int) -> None:
    """Count steps that this process is about to run."""
    _counted["steps"] += steps


def is_compiled_after(steps: int) -> bool:
    """True if kernels are compiled after this number of steps in this process."""
    wish = os.environ.get(COMPILED, "")
    is_long = steps > INTERPRETED or wish == "always"
    return is_long and wish != "never" and bool(numba_version())


def execution_mode(steps: int) -> str:
    """How the golden model runs this number of steps, for a report."""
    if is_compiled_after(steps):
        return f"compiled by numba {numba_version()}"
    if steps > INTERPRETED and not numba_version():
        return (
            "interpreted, which is slow (numba is not installed: in a clone, pip install '.[fast]')"
        )
    return "interpreted"


@cache
def _compiled(a_kernel: Kernel) -> Callable[..., Any]:
    """The compiled function. Its first call loads it from the cache, or compiles it."""
    import numba  # noqa: PLC0415  # slow to import, and optional

    numba.config.CACHE_DIR = str(_cache_folder())  # type: ignore[attr-defined]
    function = a_kernel.function
    used = {
        name: _compiled(value)
        for name, value in function.__globals__.items()
        if isinstance(value, Kernel) and name in function.__code__.co_names
    }
    copied = types.FunctionType(
        function.__code__, function.__globals__ | used, function.__name__, function.__defaults__
    )
    copied.__qualname__ = function.__qualname__
    return numba.njit(copied, **OPTIONS)


@cache
def _cache_folder() -> Path:
    """The folder of the compiled kernels.

    Its name contains a digest of numba's version, its bounds check setting, and the sources of all
    kernels. numba itself only checks one source file.
    """
    digest = hashlib.sha256(numba_version().encode())
    digest.update(os.environ.get("NUMBA_BOUNDSCHECK", "").encode())
    for content in contents(Path(__file__).parent):
        digest.update(content)
    folder = prepare_cache() / f"{KERNELS}{digest.hexdigest()[:16]}"
    folder.mkdir(exist_ok=True)
    os.utime(folder)  # last use, for eviction
    return folder


def _as_lists(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return argument.tolist()
    if isinstance(argument, tuple):
        return type(argument)(*map(_as_lists, argument))
    return argument


def _copy_back(array: Any, changed: Any) -> None:
    if isinstance(array, np.ndarray):
        array[:] = changed
    elif isinstance(array, tuple):
        for each, each_changed in zip(array, changed, strict=True):
            _copy_back(each, each_changed)


def integers(column: np.ndarray) -> np.ndarray:
    """A column as a flat array of 64-bit integers, for kernels."""
    flat = column.reshape(-1)
    return flat.view(np.int64) if flat.dtype == np.uint64 else flat.astype(np.int64)
