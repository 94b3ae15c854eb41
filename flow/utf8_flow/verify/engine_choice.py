"""The engine for a run: the one that the user names, or for `auto` the fastest for the work."""

import ctypes
from contextlib import suppress
from typing import Any

from amaranth.hdl import Value

from utf8_sim.engines.engine import Engine, ModelError
from utf8_sim.golden.kernels import expect, is_compiled_after
from utf8_sim.lockstep import Golden
from utf8_sim.tools.errors import ToolError
from utf8_sim.trace import Trace

from ..terminal import progress_bar
from .engines import ENGINES

AUTO = "auto"

WORTH_COMPILING = 1 << 13
"""Inputs that take Amaranth's simulator about as long as a compiler takes for a design."""

WIDE = 256
"""Bits of an output from which on a compiler takes minutes for what CXXRTL makes of the design."""


def prepare_engine(name: str, design: Any, inputs: int) -> tuple[Engine, str]:
    """An engine for about so many inputs, and a line that says which.

    For many inputs ``auto`` takes ``cxxrtl``, if a C++ compiler is there; for a wide design
    ``verilator``, if that is there too.
    """
    keep_freed_memory()
    if name == AUTO and inputs < WORTH_COMPILING:
        name = "amaranth"
    with progress_bar() as progress:
        progress.add_task("preparing the engine", total=None)
        made, line = _made(name, design)
        if is_compiled_after(inputs):
            progress.add_task("compiling the golden model", total=None)
            _compile_model(made, inputs)
    return made, line


def _made(name: str, design: Any) -> tuple[Engine, str]:
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
    """Compile the golden model, or read it from the cache, before anything is compared."""
    expect(inputs)
    with suppress(ModelError):  # the run reports it
        Golden(engine).expected(Trace(engine.interface, engine.interface.columns(0)))


def keep_freed_memory() -> None:
    """Tell the C library to keep memory that numpy frees, for the next array.

    Given back to the system after each window, it costs a page fault for every 4 kB when it is
    needed again, which is a third of the time of a comparison. Only glibc has these knobs.
    """
    trim_threshold, mmap_threshold = -1, -3
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        for knob in (trim_threshold, mmap_threshold):
            library.mallopt(knob, 1 << 28)
