"""The gate-level engine: simulates the synthesised netlist with Yosys's models of its cells."""

from pathlib import Path
from typing import Any

from utf8_hdl.axi import module_name

from ..tools.cache import built
from ..tools.yowasp import YOSYS, need_packages, package_versions, run_yowasp
from .compiled import VerilatorEngine

# Synthesis may invert a register or remove unused bits. A trace shows the state, so the state
# register is an output during synthesis: outputs keep their values. (In Yosys 0.70, the attribute
# `keep` does not ensure that.)
_SYNTHESIZE = """\
read_verilog input.v
expose w:state
{synthesis} -top {module}
delete -output w:state
write_verilog -noattr output.v
"""

# -defer elaborates only the models that cells need, which saves a minute. -nooverwrite: a file of
# models includes another file twice. -check: a cell without a model is an error.
_REPLACE = """\
read_verilog input.v
read_verilog -defer -nooverwrite {models}
hierarchy -check -top {module}
proc
flatten
write_verilog -noattr output.v
"""


class GateLevelEngine(VerilatorEngine):
    """Yosys's netlist of the generated Verilog, compiled with Verilator.

    ``synthesis`` is Yosys's pass for a device family, and ``models`` Yosys's file with models of
    the family's cells. Registers start with the values that the device loads.
    """

    def __init__(self, name: str, design: Any, verilog: str, synthesis: str, models: str) -> None:
        self.name = name
        need_packages(f"engine {name}", [YOSYS], "fpga")
        super().__init__(design, with_models(design, netlist(design, verilog, synthesis), models))


def netlist(design: Any, verilog: str, synthesis: str) -> str:
    """Synthesise a design to a netlist in Verilog.

    The state register keeps its name and its encoding, which may cost some lookup tables.
    """
    return _run(_SYNTHESIZE, verilog, design, synthesis=synthesis)


def with_models(design: Any, netlist: str, models: str) -> str:
    """Replace each cell of a netlist of a design with its model."""
    return _run(_REPLACE, netlist, design, models=models)


def _run(script: str, verilog: str, design: Any, **settings: str) -> str:
    """Run a Yosys script on Verilog; its output is cached."""
    commands = script.format(module=module_name(design), **settings)

    def build(folder: Path) -> Path:
        (folder / "input.v").write_text(verilog)
        (folder / "script.ys").write_text(commands)
        # Tri-states occur only in models of device pins, which are read but not used: no warning.
        run_yowasp(YOSYS, "-q", "-w", "tri-state", "script.ys", folder=folder)
        return folder / "output.v"

    key = [verilog, commands, *package_versions([YOSYS]).values()]
    return built(key, ".v", build).read_text()
