"""The engine for external cores: Yosys from PyPI reads the Verilog, CXXRTL compiles it."""

from pathlib import Path
from typing import Any

from ..tools.yowasp import YOSYS, need_packages, run_yowasp
from .compiled import WINDOW, cxxrtl_code, cxxrtl_library
from .engine import Engine
from .isolated import isolated
from .ports import axi_places
from .sources import Sources

_SCRIPT = """\
read_verilog {arguments}
hierarchy -check -top {module}
proc
flatten
opt_clean
rename {module} top
write_cxxrtl -O6 -g0 design.cxx
"""


class YosysEngine(Engine):
    """Verilog with AXI4-Stream ports, compiled with CXXRTL."""

    name = "cxxrtl"
    window = WINDOW

    def __init__(self, design: Any, verilog: str, sources: Sources) -> None:
        super().__init__(design)
        need_packages("engine cxxrtl", [YOSYS], "fpga")
        places = axi_places(design, self.interface)

        def write(folder: Path) -> str:
            (folder / "wrapper.v").write_text(verilog)
            options = ["-sv"] * sources.is_system_verilog
            files = [*sources.write(folder), "wrapper.v"]
            quoted = [name if name.startswith("-I") else f'"{name}"' for name in files]
            arguments = " ".join([*options, *quoted])
            script = _SCRIPT.format(arguments=arguments, module=sources.module)
            (folder / "script.ys").write_text(script)
            run_yowasp(YOSYS, "-q", "script.ys", folder=folder)
            return (folder / "design.cxx").read_text()

        parts = (each if isinstance(each, str) else each.decode("latin-1") for each in sources.key)
        key = [verilog, _SCRIPT, *parts]
        self.library = cxxrtl_library(
            cxxrtl_code(self.interface, places, YOSYS, key=key, write=write)
        )

    def start(self) -> Any:
        return isolated(self.library, self.interface)
