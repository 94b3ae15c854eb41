"""Compile designs to WebAssembly, with the C++ and the driver of the engine ``cxxrtl``."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from utf8_sim.engines.compiled import design_code, driver
from utf8_sim.engines.engine import NATIVE
from utf8_sim.golden.timing import longest_gap
from utf8_sim.subject import Subject, interface_of
from utf8_sim.tools.cache import built, contents
from utf8_sim.tools.yowasp import need_packages, package_versions, run_python_tool
from utf8_sim.trace import Interface, Pin

from .ports import axi_ports
from .stages import described as described_stages
from .stages import registers_of

COMPILER = "ziglang"
"""PyPI package of the compiler, which includes a C++ library for WebAssembly."""

TRAPS = Path(__file__).with_name("traps.cc")

EXPORTS = "model_create", "model_destroy", "model_run", "malloc", "free"

# A reactor has no `main`. With -Os, modules are larger than with -O2, because less C++ is optimised
# away. CXXRTL's functions must not be inlined before their loops are unrolled: for a wide design,
# unrolling one function with thousands of loops takes minutes, and only doubles the speed.
OPTIONS = (
    *("-target", "wasm32-wasi", "-mexec-model=reactor"),
    *("-std=c++17", "-O2", "-DNDEBUG", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-s"),
    "-D__always_inline__=",
    *(f"-Wl,--export={name}" for name in EXPORTS),
)


def webassembly(design: Any) -> Path:
    """Compile a design to a WebAssembly module without imports. The module is cached.

    Parameters
    ----------
    design : wiring.Component
        The design.

    Returns
    -------
    Path
        The module in the cache. Copy it: the cache may remove it later.

    Raises
    ------
    ToolError
        If the compiler is not installed, or fails.
    """
    need_packages("live", [COMPILER], "live")
    code = design_code(design, whole_interface(design))

    def build(folder: Path) -> Path:
        code.write(folder)
        with driver("cxxrtl.cc") as source:
            output = ["-I", str(folder), "-o", "design.wasm"]
            arguments = [*OPTIONS, *source, str(TRAPS), *code.arguments, *output]
            run_python_tool("-m", COMPILER, "c++", *arguments, folder=folder)
        return folder / "design.wasm"

    key = [*code.key, *contents(NATIVE), TRAPS.read_bytes(), *OPTIONS]
    return built([*key, *package_versions([COMPILER]).values()], ".wasm", build)


def description(design: Any) -> dict[str, Any]:
    """Description of a design for JavaScript, as a JSON object.

    Pins are in the order of the columns that the driver writes; pins with ``item``, in the order of
    the columns that it reads. An array has a width for each lane. ``bytes`` is the size of an
    element of the column. ``names`` has the names of states and enumeration members, by number;
    ``axi`` is the port of the Verilog module, see :func:`.ports.axi_ports`.
    ``longest_gap`` is defined in :mod:`utf8_sim.golden.timing`: if the consumer is ready and no
    output is valid for this number of cycles, all output of the accepted inputs has been taken. The
    registers of the stages (see :mod:`.stages`) follow as additional pins.

    Parameters
    ----------
    design : wiring.Component
        The design.
    """
    interface = whole_interface(design)
    states = design.State if interface.state_width else ()

    def described(pin: Pin) -> dict[str, Any]:
        labels = [(state.value, state.name) for state in states] if pin.name == "state" else ()
        return {
            "name": pin.name,
            "driven": pin.name in interface.driven,
            "item": pin in interface.inputs,
            "widths": [width for _, width in pin.parts],
            "bytes": np.dtype(pin.dtype).itemsize,
            "names": dict(labels or enumerate(pin.labels)),
            **({"axi": ports[pin.name]} if pin.name in ports else {}),
        }

    ports = axi_ports(design)

    return {
        "longest_gap": longest_gap(Subject(design).timing),
        "pins": [described(pin) for pin in interface.pins],
        "stages": described_stages(registers_of(design)),
    }


def whole_interface(design: Any) -> Interface:
    """The pins of a design, and its registers."""
    interface = interface_of(design)
    registers = (register.pin for register in registers_of(design))
    return replace(interface, registers=tuple(r for r in registers if r not in interface.pins))


def write_page_module(design: Any, folder: Path, name: str) -> None:
    """Write a design into a folder of a page: first the module, then its description.

    A file is never visible in part.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {"wasm": webassembly(design).read_bytes()}
    files["json"] = f"{json.dumps(description(design))}\n".encode()
    for suffix, content in files.items():
        part = folder / f"{name}.part"
        part.write_bytes(content)
        part.replace(folder / f"{name}.{suffix}")
