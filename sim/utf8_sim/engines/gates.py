"""The gate-level engine: a design as cells of a device, simulated with Yosys's cell models."""

from pathlib import Path
from typing import Any

from utf8_hdl.axi import module_name

from ..tools.cache import built
from ..tools.yowasp import YOSYS, need_packages, package_versions, run_yowasp
from .compiled import VerilatorEngine

# Synthesis may store a register inverted, or remove unused bits. A trace shows the state, so its
# register is an output during synthesis: an output keeps the levels of the source. (The attribute
# `keep` does not ensure that, as of Yosys 0.70.)
_SYNTHESIZE = """\
read_verilog input.v
expose w:state
{synthesis} -top {module}
delete -output w:state
write_verilog -noattr output.v
"""

# A model is elaborated only if a cell needs it (-defer), which saves a minute. One file includes
# another twice, with its models (-nooverwrite). A cell without a model is an error (-check).
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

    ``synthesis`` is Yosys's pass for a device family, ``models`` its file with the models of the
    family's cells. Registers start with the values that the device loads.
    """

    def __init__(self, name: str, design: Any, verilog: str, synthesis: str, models: str) -> None:
        self.name = name
        need_packages(f"engine {name}", [YOSYS], "fpga")
        super().__init__(design, with_models(design, netlist(design, verilog, synthesis), models))


def netlist(design: Any, verilog: str, synthesis: str) -> str:
    """Synthesise a design to Verilog that connects cells.

    The state register keeps its name and its levels, which may cost some lookup tables.
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
        # No warnings of tri-states: they are in models of pins, which are read but not needed.
        run_yowasp(YOSYS, "-q", "-w", "tri-state", "script.ys", folder=folder)
        return folder / "output.v"

    key = [verilog, commands, *package_versions([YOSYS]).values()]
    return built(key, ".v", build).read_text()
