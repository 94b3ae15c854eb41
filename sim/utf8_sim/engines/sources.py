"""The source files of an external core, for any simulator."""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from ..tools.cache import built
from ..tools.errors import NotInstalled, UsageError
from ..tools.files import refusing
from ..tools.programs import need, run_tool

INCLUDED = ".v", ".sv", ".vh", ".svh", ".h", ".inc", ".mem", ".hex"
"""Suffixes of the files in its folder that a source file may include."""

VHDL = ".vhd", ".vhdl"

SYSTEM_VERILOG = rb"\b(logic|always_ff|always_comb|typedef|package|import|enum|struct)\b"
"""Keywords that show that a ``.v`` file is SystemVerilog; Verilog may use others as names."""


class Sources:
    """Files in Verilog or SystemVerilog, or in VHDL, which GHDL translates.

    - ``top``: the core's module, or its entity in VHDL.
    - ``module``: the module that the test bench instantiates.
    - ``key``: everything that a build depends on: the files, and those that they may include.
    """

    def __init__(self, files: Sequence[str], top: str, module: str) -> None:
        self.top, self.module = top, module
        self._paths = [Path(name) for name in files]
        # A tool may have no access to other folders, so the sources are copied to its folder.
        self._copies: dict[str, bytes] = {}
        self._compiled: list[str] = []
        folders = {path.parent: f"source{n}" for n, path in enumerate(self._paths)}
        for path in self._paths:
            self._compiled.append(f"{folders[path.parent]}/{path.name}")
            with refusing(f"read {str(path)!r}"):
                self._copies[self._compiled[-1]] = path.read_bytes()
        for folder, name in folders.items():
            with refusing(f"read {str(folder)!r}"):
                listed = sorted(folder.iterdir())
            for near in listed:
                if near.suffix in INCLUDED and near.is_file():
                    with suppress(OSError):  # if it is needed, the compiler reports it
                        self._copies.setdefault(f"{name}/{near.name}", near.read_bytes())
        self._includes = [f"-I{folder}" for folder in folders.values()]
        is_vhdl = [path.suffix.lower() in VHDL for path in self._paths]
        if any(is_vhdl) and not all(is_vhdl):
            raise UsageError("give files in Verilog or in VHDL, not both")
        #: True if the language is SystemVerilog.
        self.is_system_verilog = any(
            name.endswith(".sv") or re.search(SYSTEM_VERILOG, self._copies[name])
            for name in self._compiled
        )
        if any(is_vhdl):
            self.is_system_verilog = False
            self._translate()

    @cached_property
    def key(self) -> list[str | bytes]:
        return [self.module, *self._compiled, *self._copies, *self._copies.values()]

    def write(self, folder: Path) -> list[str]:
        """Copy the files into a folder; return the arguments of a compiler that runs there."""
        for name, content in self._copies.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        return [*self._includes, *self._compiled]

    def _translate(self) -> None:
        """Replace files in VHDL by a file in Verilog, from GHDL's synthesis."""
        ghdl = need("ghdl", "GHDL, which translates VHDL")

        def build(folder: Path) -> Path:
            self.write(folder)
            options = ["--std=08", "--workdir=.", "-frelaxed"]
            run_tool([ghdl, "-a", *options, *self._compiled], folder=folder)
            verilog = run_tool(
                [ghdl, "--synth", *options, "--out=verilog", self.top], folder=folder
            )
            refuse_old_ghdl(verilog)
            (folder / "core.v").write_text(verilog)
            return folder / "core.v"

        translated = built(["ghdl", self.top, *self.key], ".v", build)
        del self.key
        self._copies = {"core.v": translated.read_bytes()}
        self._compiled, self._includes = ["core.v"], []


def refuse_old_ghdl(verilog: str) -> None:
    """Raise `NotInstalled` if GHDL translated a core wrongly, as versions before 3 do.

    They lose the choice ``others`` of a case, and write a constant of many bits as a string. Only
    the case of a multiplexer, which has every choice, needs no default.
    """
    cases = re.findall(r"\bcase \(.*?\bendcase", verilog, re.DOTALL)
    has_lost_choice = any("default:" not in case and "'b00:" not in case for case in cases)
    if has_lost_choice or re.search('"[01XZ]{33,}"', verilog):
        raise NotInstalled("this GHDL translates the core wrongly: install GHDL 3 or newer")
