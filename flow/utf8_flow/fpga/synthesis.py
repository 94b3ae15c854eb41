"""How large a design is on a device: through Yosys to the device's own lookup tables."""

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

from utf8_sim.tools.rtlil import to_rtlil
from utf8_sim.tools.yowasp import YOSYS, run_yowasp

from ..export.netlist import POWER_UP
from .families import Device

INSIDE = "component"
"""What the design is called inside its harness."""


CLOCK = "clk"
"""The clock of a design in its harness."""

MAX_PINS = 128
"""How many pins a design is placed with. More would pull it apart, if a package has them at all."""

OUTPUT = "harness_output"
"""The attribute of what is at an output of a design in its harness."""


class Harness(Elaboratable):
    """A design and its pins, with a register between the two or without.

    With registers at all ports, the reset too, every path of the design begins and ends at a
    register, wherever the pins are. They are one bit for each pin but the clock. Without them,
    the design is there and nothing else. Fields of the output's payload that are not chosen have no
    pins, so that synthesis removes what only they need.

    If these are more than :data:`MAX_PINS`, shift registers take the place of pins: one gives the
    inputs, another one takes the outputs, each added to what comes from the one before. They have
    a clock of their own, so that no path of theirs counts. Without ``pins`` there are none of these
    registers, however many the ports are.
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
    """A design in its harness, as cells of a device, from what Yosys writes as JSON."""

    def __init__(self, device: Device, text: str) -> None:
        self.device = device
        self.text = text
        module = json.loads(text)["modules"]["top"]
        nets = module["netnames"].values()
        outputs = {bit for net in nets if OUTPUT in net["attributes"] for bit in net["bits"]}
        self._outputs = outputs - set("01x")  # one may be constant
        self._cells = {
            name: (
                cell["type"],
                {port: bits[0] for port, bits in cell["connections"].items() if bits},
            )
            for name, cell in module["cells"].items()
            if cell["connections"]
        }
        #: Data and output of each register.
        self._registers = {
            name: (wires[device.family.data], wires["Q"])
            for name, (kind, wires) in self._cells.items()
            if kind.startswith(device.family.register)
        }
        #: Of each bit the name of the narrowest signal in the source that has it.
        self._names: dict[int, str] = {}
        known = {*(kind for kind, _ in self._cells.values()), *(device.family.pads or ())}
        kinds = "|".join(map(re.escape, known))
        after_cells = re.compile(f"_({kinds})_")  # of the tools, some of which name so in the end
        named = [
            (len(net["bits"]), len(name), name)
            for name, net in module["netnames"].items()
            if not net["hide_name"] and not after_cells.search(name)
        ]
        for width, _, name in sorted(named, reverse=True):
            readable = name.removeprefix(f"{INSIDE}.").replace("__", ".").partition("$")[0]
            for place, bit in enumerate(module["netnames"][name]["bits"]):
                self._names[bit] = f"{readable}[{place}]" if width > 1 else readable

    @property
    def registers(self) -> int:
        """How many there are, the harness's too."""
        return len(self._registers)

    @property
    def lookup_tables(self) -> int:
        """How many of four inputs there are."""
        counts = self.device.family.lookup_tables
        return sum(counts.get(kind, 0) for kind, _ in self._cells.values())

    def source_name(self, placed: str) -> str:
        """What the source calls a register or memory that is in the cell of this name in nextpnr.

        A register of the harness has the name of its port, ``(pin)`` after it at an output.
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
            # It has the name of the lookup table before the register.
            output = next(q for data, q in self._registers.values() if data == wires["O"])
        # A register of an iCE40 begins with 0. One that has to begin with 1 is kept inverted.
        name = self._names.get(output, "inverted register")
        return f"{name} (pin)" if output in self._outputs else name


def synthesize(
    component: Component, device: Device, fields: Collection[str], registered: bool = False
) -> Netlist:
    """A design in its harness, synthesised for a device."""
    pads = device.family.pads
    harness = Harness(component, fields, registered, pins=pads is None)
    design = to_rtlil(harness, harness.ports)
    # All of the pass but its last step, which names each cell after its neighbours.
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
    """A netlist with no pin, or only with that of its clock: all else is left open."""
    design = json.loads(text)
    top = design["modules"]["top"]
    outside = {bit for port in top["ports"].values() for bit in port["bits"]}
    top["ports"] = {name: port for name, port in top["ports"].items() if clocked and name == CLOCK}
    kept = {bit for port in top["ports"].values() for bit in port["bits"]}
    inside: dict[int, int] = {}  # of each pin what its cell leads to, which has its names then
    for name, cell in [*top["cells"].items()]:
        if cell["type"] not in pads:
            continue
        one, other = (bits[0] for bits in cell["connections"].values())
        if kept.isdisjoint({one, other}):
            inside |= {one: other} if one in outside else {other: one}
            del top["cells"][name]
    for net in top["netnames"].values():
        net["bits"] = [inside.get(bit, bit) for bit in net["bits"]]
    return json.dumps(design)
