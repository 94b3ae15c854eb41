"""Synthesise a design with Yosys to the cells of a device, and count the cells."""

import json
import re
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from amaranth.hdl import (
    Cat,
    ClockDomain,
    ClockSignal,
    Const,
    Elaboratable,
    Module,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib.wiring import Component, In

from utf8_sim.tools.rtlil import POWER_UP, to_rtlil
from utf8_sim.tools.yowasp import YOSYS, run_yowasp

from .families import Device

INSIDE = "component"
"""Name of the design inside its harness."""


CLOCK = "clk"
"""Name of the clock of a design in its harness."""

MAX_PINS = 128
"""Maximum number of pins of a placed design. With more pins, cells would be far apart."""

OUTPUT = "harness_output"
"""Attribute of the signals at the outputs of a design in its harness."""


class Harness(Elaboratable):
    """A design and its pins, with or without registers between them.

    With registers, each pin except the clock has a register bit, the reset included. Every path of
    the design then begins and ends at a register, independent of the location of the pins. Without
    registers, the harness adds no logic. Output payload fields that are not chosen have no pins, so
    synthesis removes logic that only drives them.

    With registers and more than :data:`MAX_PINS` pins, shift registers replace all pins except
    clock and reset. One drives the inputs. The other collects the outputs: each bit is loaded with
    the XOR of an output and the previous bit. They have a separate clock, so their paths do not
    count. Without ``pins``, no shift register is used.
    """

    def __init__(
        self, component: Component, fields: Collection[str], registered: bool, pins: bool = True
    ) -> None:
        self._component = component
        self._registered = registered
        self._clk, self._rst = Signal(name=CLOCK), Signal(name="rst")
        self._inputs: list[tuple[Signal, Value]] = []
        self._outputs: list[tuple[Signal, Value]] = []
        for path, member, port in component.signature.flatten(component):
            name = ".".join(path)
            if member.flow is In:
                value = Value.cast(port)
                self._inputs.append((Signal(len(value), name=f"{name}.pin"), value))
                continue
            parts = {name: port}
            if name == "o.payload":
                parts = {f"{name}.{field}": port[field] for field in fields}
            for part, bits in parts.items():
                value = Value.cast(bits)
                self._outputs.append((Signal(len(value), name=part, attrs={OUTPUT: "1"}), value))
        self.ports = [self._clk, self._rst, *(pin for pin, _ in self._inputs + self._outputs)]
        self._shifted = pins and registered and sum(map(len, self.ports)) > MAX_PINS
        if self._shifted:
            self._shift = [Signal(name=name) for name in ("shift_clock", "shift_in", "shift_out")]
            self.ports = [self._clk, self._rst, *self._shift]

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.sync = ClockDomain()
        m.domains.harness = ClockDomain(reset_less=True)
        m.d.comb += [ClockSignal(domain).eq(self._clk) for domain in ("sync", "harness")]
        between = m.d["harness" if self._registered else "comb"]
        between += ResetSignal().eq(self._rst)
        m.submodules[INSIDE] = self._component
        for pin, port in self._inputs:
            inner = Signal(len(pin), name=pin.name.removesuffix(".pin"))
            between += inner.eq(pin)
            m.d.comb += port.eq(inner)
        for pin, port in self._outputs:
            between += pin.eq(port)
        if self._shifted:
            self._add_shift_registers(m)
        return m

    def _add_shift_registers(self, m: Module) -> None:
        clock, first, last = self._shift
        inputs, outputs = (Cat(pin for pin, _ in side) for side in (self._inputs, self._outputs))
        sums = Signal(len(outputs))
        m.domains.shift = ClockDomain(reset_less=True)
        m.d.comb += [ClockSignal("shift").eq(clock), last.eq(sums[-1])]
        m.d.shift += [inputs.eq(Cat(first, inputs)), sums.eq(Cat(Const(0, 1), sums) ^ outputs)]


class Netlist:
    """A design in its harness, as cells of a device, from Yosys's JSON."""

    def __init__(self, device: Device, text: str) -> None:
        self.device = device
        self.text = text
        module = json.loads(text)["modules"]["top"]
        nets = module["netnames"].values()
        outputs = {bit for net in nets if OUTPUT in net["attributes"] for bit in net["bits"]}
        self._outputs = outputs - set("01x")  # constant outputs
        self._cells = {
            name: (
                cell["type"],
                {port: bits[0] for port, bits in cell["connections"].items() if bits},
            )
            for name, cell in module["cells"].items()
            if cell["connections"]
        }
        #: Data input and output of each register.
        self._registers = {
            name: (wires[device.family.data], wires["Q"])
            for name, (kind, wires) in self._cells.items()
            if kind.startswith(device.family.register)
        }
        #: For each bit, the name of the narrowest source signal that contains it.
        self._names: dict[int, str] = {}
        known = {*(kind for kind, _ in self._cells.values()), *(device.family.pads or ())}
        kinds = "|".join(map(re.escape, known))
        after_cells = re.compile(f"_({kinds})_")  # names that tools derive from cells
        named = [
            (len(net["bits"]), len(name), name)
            for name, net in module["netnames"].items()
            if not net["hide_name"] and not after_cells.search(name)
        ]
        for width, _, name in sorted(named, reverse=True):
            readable = name.removeprefix(f"{INSIDE}.").replace("__", ".").partition("$")[0]
            for index, bit in enumerate(module["netnames"][name]["bits"]):
                self._names[bit] = f"{readable}[{index}]" if width > 1 else readable

    @property
    def registers(self) -> int:
        """Number of registers, including the harness."""
        return len(self._registers)

    @property
    def lookup_tables(self) -> int:
        """Number of four-input lookup tables."""
        counts = self.device.family.lookup_tables
        return sum(counts.get(kind, 0) for kind, _ in self._cells.values())

    def source_name(self, placed: str) -> str:
        """Source name of the register or memory in the cell with this name in nextpnr.

        A register of the harness has the name of its port, followed by ``(pin)`` at an output.
        """
        cell = placed
        for suffix in self.device.family.suffixes:
            cell = cell.removesuffix(suffix)
        if cell in self._registers:
            _, output = self._registers[cell]
        else:
            _, wires = self._cells[cell]
            if "O" not in wires:  # a memory
                return cell.removeprefix(f"{INSIDE}.").partition(".")[0]
            # A cell is named after the lookup table before the register.
            output = next(q for data, q in self._registers.values() if data == wires["O"])
        # Registers of an iCE40 are initially 0. A register with initial value 1 is stored inverted.
        name = self._names.get(output, "inverted register")
        return f"{name} (pin)" if output in self._outputs else name


def synthesize(
    component: Component, device: Device, fields: Collection[str], registered: bool = False
) -> Netlist:
    """Synthesise a design in its harness for a device."""
    pads = device.family.pads
    harness = Harness(component, fields, registered, pins=pads is None)
    design = to_rtlil(harness, harness.ports)
    # The whole pass except its last step, which would rename each cell after its neighbours.
    script = (
        f"read_rtlil design.il; setattr -unset init a:{POWER_UP}; "
        f"{device.family.synthesis} -top top -run begin:check; "
        "blackbox =A:whitebox; write_json design.json"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "design.il").write_text(design)
        run_yowasp(YOSYS, "-q", "-p", script, folder=folder)
        text = (folder / "design.json").read_text()
    return Netlist(device, text if pads is None else _without_pins(text, pads, registered))


def _without_pins(text: str, pads: Collection[str], clocked: bool) -> str:
    """A netlist without pins, or with the clock pin only; all other ports are left open."""
    design = json.loads(text)
    top = design["modules"]["top"]
    outside = {bit for port in top["ports"].values() for bit in port["bits"]}
    top["ports"] = {name: port for name, port in top["ports"].items() if clocked and name == CLOCK}
    remaining = {bit for port in top["ports"].values() for bit in port["bits"]}
    inside: dict[int, int] = {}  # for each pin, the other bit of its cell, which gets its names
    for name, cell in [*top["cells"].items()]:
        if cell["type"] not in pads:
            continue
        one, other = (bits[0] for bits in cell["connections"].values())
        if remaining.isdisjoint({one, other}):
            inside |= {one: other} if one in outside else {other: one}
            del top["cells"][name]
    for net in top["netnames"].values():
        net["bits"] = [inside.get(bit, bit) for bit in net["bits"]]
    return json.dumps(design)
