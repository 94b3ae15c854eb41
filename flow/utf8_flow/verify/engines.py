"""The engines by name. They are imported on use, so help and usage errors appear at once."""

from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from utf8_sim.tools.yowasp import YOSYS

from ..fpga.families import FAMILIES

if TYPE_CHECKING:
    from utf8_sim.engines.engine import Engine


def _verilog(design: Any) -> str:
    from ..export.verilog import generate  # noqa: PLC0415 - most runs need none

    return generate(design)


def _from_design(kind: str, design: Any) -> "Engine":
    """An engine that runs the Amaranth design."""
    return resolve_name(f"utf8_sim.engines.{kind}")(design)


def _from_verilog(kind: str, design: Any) -> "Engine":
    """An engine that runs the generated Verilog."""
    return resolve_name(f"utf8_sim.engines.{kind}")(design, _verilog(design))


def _gate_level(family: str, design: Any) -> "Engine":
    """The engine for the netlist of a family of devices."""
    from utf8_sim.engines.gates import GateLevelEngine  # noqa: PLC0415 - few runs need it

    name, cells = f"gates-{family}", FAMILIES[family]
    return GateLevelEngine(name, design, _verilog(design), cells.synthesis, cells.models)


ENGINES: "dict[str, Callable[[Any], Engine]]" = {
    "amaranth": partial(_from_design, "amaranth:AmaranthEngine"),
    "cxxrtl": partial(_from_design, "compiled:CxxrtlEngine"),
    "verilator": partial(_from_verilog, "compiled:VerilatorEngine"),
    "icarus": partial(_from_verilog, "icarus:IcarusEngine"),
    **{f"gates-{family}": partial(_gate_level, family) for family in FAMILIES},
}
"""Functions that create the engines, by name; the argument is the design."""


def engine(name: str, design: Any) -> "Engine":
    """A simulator of a design, for :func:`utf8_sim.simulate` and :func:`utf8_sim.compare`.

    Parameters
    ----------
    name : str
        The name on the command line: ``amaranth``; ``cxxrtl`` or ``verilator``, compiled engines;
        ``icarus``; or, for the netlist after synthesis, ``gates-`` and a device family.
    design : wiring.Component
        The design.

    Returns
    -------
    Engine
        The simulator. It can be used any number of times.

    Raises
    ------
    ValueError
        If no such engine exists.
    ToolError
        If a required package or program is not installed, or fails.

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
    """The packages and programs that an engine needs in addition to the common ones."""
    if name.startswith("gates-"):
        return [YOSYS, "verilator"]
    return {"verilator": ["verilator"], "icarus": ["iverilog"]}.get(name, [])
