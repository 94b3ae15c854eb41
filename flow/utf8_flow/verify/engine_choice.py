"""Choose the engine for a run: by name, or for `auto` the fastest installed one for the work."""

import ctypes
from contextlib import suppress
from typing import Any

from amaranth.hdl import Value

from utf8_sim.engines.engine import Engine, ModelError
from utf8_sim.golden.kernels import count_steps, is_compiled_after
from utf8_sim.lockstep import Golden
from utf8_sim.tools.errors import ToolError
from utf8_sim.trace import Trace

from ..terminal import progress_bar
from .engines import ENGINES

AUTO = "auto"

WORTH_COMPILING = 1 << 13
"""Number of inputs that Amaranth's simulator processes in the time it takes to compile a design."""

WIDE = 256
"""Output width in bits above which compiling CXXRTL's code takes minutes."""


def prepare_engine(name: str, design: Any, inputs: int) -> tuple[Engine, str]:
    """Prepare an engine for about ``inputs`` inputs; return it and its name for the report.

    For many inputs, ``auto`` selects ``cxxrtl`` if a C++ compiler is installed. For a wide design,
    it prefers ``verilator`` if that is installed, too.
    """
    keep_freed_memory()
    if name == AUTO and inputs < WORTH_COMPILING:
        name = "amaranth"
    with progress_bar() as progress:
        progress.add_task("preparing the engine", total=None)
        engine, line = _create(name, design)
        if is_compiled_after(inputs):
            progress.add_task("compiling the golden model", total=None)
            _compile_model(engine, inputs)
    return engine, line


def _create(name: str, design: Any) -> tuple[Engine, str]:
    if name != AUTO:
        return ENGINES[name](design), name
    is_wide = len(Value.cast(design.o.payload)) > WIDE
    missing: list[ToolError] = []
    for compiled in ["verilator"] * is_wide + ["cxxrtl"]:
        try:
            return ENGINES[compiled](design), compiled
        except ToolError as error:
            missing.append(error)
    return ENGINES["amaranth"](design), f"amaranth, which is slow ({missing[-1]})"


def _compile_model(engine: Engine, inputs: int) -> None:
    """Compile the golden model, or load it from the cache, before the comparison starts."""
    count_steps(inputs)
    with suppress(ModelError):  # the run reports it
        Golden(engine).expected(Trace(engine.interface, engine.interface.columns(0)))


def keep_freed_memory() -> None:
    """Make the C library keep memory that numpy frees, for the next array.

    If it returned the memory to the system after each window, reusing it would cost a page fault
    for every 4 kB: a third of the time of a comparison. Only glibc has these parameters.
    """
    trim_threshold, mmap_threshold = -1, -3
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        for parameter in (trim_threshold, mmap_threshold):
            library.mallopt(parameter, 1 << 28)
