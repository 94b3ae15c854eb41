"""Which engine simulates a design: the one that the user names, or the one that fits the work."""

import ctypes
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from amaranth.hdl import Value

from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.compiled import CxxrtlEngine, VerilatorEngine
from utf8_sim.engines.engine import Engine, ModelError
from utf8_sim.engines.gates import GateLevelEngine
from utf8_sim.engines.icarus import IcarusEngine
from utf8_sim.golden.kernels import expect, is_compiled_after
from utf8_sim.lockstep import Golden
from utf8_sim.tools.errors import ToolError
from utf8_sim.tools.yowasp import YOSYS
from utf8_sim.trace import Trace

from ..fpga.families import FAMILIES
from ..terminal import progress_bar

AUTO = "auto"

WORTH_COMPILING = 1 << 13
"""Inputs that take Amaranth's simulator about as long as a compiler takes for a design."""

WIDE = 256
"""Bits of an output from which on a compiler takes minutes for what CXXRTL makes of the design."""


def _verilog(design: Any) -> str:
    from ..export.verilog import generate  # noqa: PLC0415 - most runs need none

    return generate(design)


def _gate_level(family: str, design: Any) -> Engine:
    """The engine for the netlist of a family of devices."""
    name, cells = f"gates-{family}", FAMILIES[family]
    return GateLevelEngine(name, design, _verilog(design), cells.synthesis, cells.models)


ENGINES: dict[str, Callable[[Any], Engine]] = {
    AmaranthEngine.name: AmaranthEngine,
    CxxrtlEngine.name: CxxrtlEngine,
    VerilatorEngine.name: lambda design: VerilatorEngine(design, _verilog(design)),
    IcarusEngine.name: lambda design: IcarusEngine(design, _verilog(design)),
    **{f"gates-{family}": partial(_gate_level, family) for family in FAMILIES},
}
"""The engines by name; each takes a design."""


def engine(name: str, design: Any) -> Engine:
    """A simulator with a design in it, for :func:`utf8_sim.simulate` and :func:`utf8_sim.compare`.

    Parameters
    ----------
    name : str
        As the command line calls it: ``amaranth``; ``cxxrtl`` and ``verilator``, compiled;
        ``icarus``; ``gates-`` and the name of a device family, the netlist after synthesis.
    design : wiring.Component
        What is simulated.

    Returns
    -------
    Engine
        The simulator, ready to be used any number of times.

    Raises
    ------
    ValueError
        If there is no such engine.
    ToolError
        If a package or a program that it needs is not installed, or fails.

    Examples
    --------
    >>> from utf8_flow import engine
    >>> from utf8_hdl import Decoder
    >>> from utf8_sim import compare
    >>> simulator = engine("amaranth", Decoder())
    >>> [compare(simulator, text) for text in (b"one", b"two")]
    [None, None]
    """
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}: choose from {', '.join(ENGINES)}")
    return ENGINES[name](design)


def tools_of(name: str) -> list[str]:
    """The packages and programs that make an engine, besides those that all need."""
    if name.startswith("gates-"):
        return [YOSYS, VerilatorEngine.name]
    return {VerilatorEngine.name: ["verilator"], IcarusEngine.name: ["iverilog"]}.get(name, [])


def prepare_engine(name: str, design: Any, inputs: int) -> tuple[Engine, str]:
    """An engine for about so many inputs, and a line that says which.

    For many inputs ``auto`` takes ``cxxrtl``, if a C++ compiler is there; for a wide design
    ``verilator``, if that is there too.
    """
    keep_freed_memory()
    if name == AUTO and inputs < WORTH_COMPILING:
        name = AmaranthEngine.name
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
    for compiled in [VerilatorEngine.name] * is_wide + [CxxrtlEngine.name]:
        try:
            return ENGINES[compiled](design), compiled
        except ToolError as error:
            missing.append(error)
    return AmaranthEngine(design), f"{AmaranthEngine.name}, which is slow ({missing[-1]})"


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
