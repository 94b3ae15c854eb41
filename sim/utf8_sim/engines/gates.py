"""The engine at the gate level: a design as cells of a device, with Yosys's own models of them."""

from pathlib import Path
from typing import Any

from utf8_hdl.axi import module_name

from ..tools.cache import built
from ..tools.yowasp import YOSYS, need_packages, package_versions, run_yowasp
from .compiled import VerilatorEngine

# Synthesis may store a register inverted, or leave out bits that nothing needs. A trace shows the
# state, so its register is an output until synthesis is done: an output has the levels that the
# source gives it. (The attribute `keep` does not make sure of that, as of Yosys 0.70.)
_SYNTHESIZE = """\
read_verilog input.v
expose w:state
{synthesis} -top {module}
delete -output w:state
write_verilog -noattr output.v
"""

# A model is elaborated only if a cell needs it (-defer), which saves a minute; one file includes
# another twice, and its models too (-nooverwrite). A cell without a model is an error (-check).
_REPLACE = """\
read_verilog input.v
read_verilog -defer -nooverwrite {models}
hierarchy -check -top {module}
proc
flatten
write_verilog -noattr output.v
"""


class GateLevelEngine(VerilatorEngine):
    """The netlist that Yosys makes of the generated Verilog, compiled by way of Verilator.

    ``synthesis`` is Yosys's pass for a family of devices, ``models`` its file of the family's
    cells, by which every cell is simulated. Registers begin with what the device loads into them.
    """

    def __init__(self, name: str, design: Any, verilog: str, synthesis: str, models: str) -> None:
        self.name = name
        need_packages(f"engine {name}", [YOSYS], "fpga")
        super().__init__(design, with_models(design, netlist(design, verilog, synthesis), models))


def netlist(design: Any, verilog: str, synthesis: str) -> str:
    """What synthesis makes of a design: Verilog that connects cells.

    The state register keeps its name and its levels, which may take some lookup tables.
    """
    return _run(_SYNTHESIZE, verilog, design, synthesis=synthesis)


def with_models(design: Any, netlist: str, models: str) -> str:
    """A netlist of a design with the model of each cell in the cell's place."""
    return _run(_REPLACE, netlist, design, models=models)


def _run(script: str, verilog: str, design: Any, **settings: str) -> str:
    """What a script of Yosys makes of Verilog; kept for the next time."""
    commands = script.format(module=module_name(design), **settings)

    def build(folder: Path) -> Path:
        (folder / "input.v").write_text(verilog)
        (folder / "script.ys").write_text(commands)
        # No warnings of tri-states: they are in models of pins, which are read and not needed.
        run_yowasp(YOSYS, "-q", "-w", "tri-state", "script.ys", folder=folder)
        return folder / "output.v"

    key = [verilog, commands, *package_versions([YOSYS]).values()]
    return built(key, ".v", build).read_text()
