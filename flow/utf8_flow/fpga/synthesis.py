"""How large a design is on a device: through Yosys to the device's own lookup tables."""

import json
import re
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, ClockSignal, Elaboratable, Module, ResetSignal, Signal, Value
from amaranth.lib.wiring import Component, In

from utf8_sim.tools.yowasp import YOSYS, run_yowasp

from .families import Device

INSIDE = "component"
"""What the design is called inside its harness."""


class Harness(Elaboratable):
    """A design and its pins, with a register between the two or without.

    With registers at all ports, the reset too, every path of the design begins and ends at a
    register, wherever the pins are. They are one bit for each pin but the clock. Without them,
    the design is there and nothing else. Fields of the output's payload that are not chosen have no
    pins, so that synthesis removes what only they need.
    """

    def __init__(self, component: Component, fields: Collection[str], registered: bool) -> None:
        self._component = component
        self._registered = registered
        self._clk, self._rst = Signal(name="clk"), Signal(name="rst")
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
                self._outputs.append((Signal(len(value), name=part), value))
        self.ports = [self._clk, self._rst, *(pin for pin, _ in self._inputs + self._outputs)]

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
        return m


class Netlist:
    """A design in its harness, as cells of a device, from what Yosys writes as JSON.

    ``fields`` names bits of structures by their fields: ``spare.kind[0]`` for ``spare[22]``.
    ``ones`` are the bits of signals that begin with 1.
    """

    def __init__(self, device: Device, text: str, fields: dict[str, str], ones: set[str]) -> None:
        self.device = device
        self.text = text
        self._fields = fields
        module = json.loads(text)["modules"]["top"]
        pins = {bit for port in module["ports"].values() for bit in port["bits"]}
        self._pins = pins - set("01x")  # an output may be constant
        self._cells = {
            name: (cell["type"], {port: bits[0] for port, bits in cell["connections"].items()})
            for name, cell in module["cells"].items()
            if cell["connections"]
        }
        #: Data and output of each register.
        self._registers = {
            name: (wires[device.family.data], wires["Q"])
            for name, (kind, wires) in self._cells.items()
            if kind.startswith(device.family.register)
        }
        #: Of each bit its names, whether they are the tools' own, and how long they are.
        self._names: dict[int, list[tuple[int, int, str]]] = {}
        bits: dict[str, Any] = {}
        for name, net in module["netnames"].items():
            for place, bit in enumerate(net["bits"]):
                indexed = _bit(name, place, len(net["bits"]))
                known = self._readable(indexed)
                self._names.setdefault(bit, []).append((net["hide_name"], len(known), known))
                bits[indexed] = bit
        # A register of an iCE40 begins with 0. One that has to begin with 1 is kept inverted, and
        # its name goes to the inverter behind it, or is lost with that in other logic.
        outputs = {output for _, output in self._registers.values()}
        unnamed = [output for output in outputs if min(self._names[output])[0]]
        inverted = [name for name in ones if bits.get(name) not in outputs]
        if len(unnamed) == len(inverted) == 1:
            name = self._readable(inverted[0])
            self._names[unnamed[0]].append((0, len(name), name))

    @property
    def registers(self) -> int:
        """How many there are, the harness's too."""
        return len(self._registers)

    @property
    def lookup_tables(self) -> int:
        """How many of four inputs there are."""
        counts = self.device.family.lookup_tables
        return sum(counts.get(kind, 0) for kind, _ in self._cells.values())

    def register_name(self, placed: str) -> str:
        """What the source calls a register, of which nextpnr names the cell that holds it.

        A register of the harness has the name of its port, ``(pin)`` after it at an output.
        """
        family = self.device.family
        cell = placed.removesuffix(family.alone).removesuffix(family.with_table or "")
        if cell in self._registers:
            _, output = self._registers[cell]
        else:  # it has the name of the lookup table before the register
            _, wires = self._cells[cell]
            output = next(q for data, q in self._registers.values() if data == wires["O"])
        _, _, name = min(self._names[output])  # the shortest of those in the source
        return f"{name} (pin)" if output in self._pins else name

    def _readable(self, name: str) -> str:
        name = self._fields.get(name, name).removeprefix(f"{INSIDE}.")
        return re.sub(r"\$\d+", "", name).replace("__", ".")


def synthesize(
    component: Component, device: Device, fields: Collection[str], registered: bool = False
) -> Netlist:
    """A design in its harness, synthesised for a device."""
    harness = Harness(component, fields, registered)
    design = rtlil.convert(harness, name="top", ports=harness.ports, emit_src=False)
    # All of the pass but its last step, which names each cell after its neighbours.
    script = (
        f"read_rtlil design.il; {device.family.synthesis} -top top -run begin:check; "
        "blackbox =A:whitebox; write_json design.json"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "design.il").write_text(design)
        run_yowasp(YOSYS, "-q", "-p", script, folder=folder)
        return Netlist(device, (folder / "design.json").read_text(), *_bits(design))


def _bit(name: str, place: int, width: int) -> str:
    """What a bit of a signal is called; a signal of one bit has the name alone."""
    return f"{name}[{place}]" if width > 1 else name


def _bits(design: str) -> tuple[dict[str, str], set[str]]:
    """Bits that have names of fields in RTLIL, and bits that begin with 1, see :class:`Netlist`."""
    names, ones = {}, set()
    init = ""
    scope = ""
    for line in design.splitlines():
        if module := re.match(r"module \\top\.?(\S*)", line):
            scope = f"{module[1]}." if module[1] else ""
        elif field := re.match(r"connect \\(\S+)\.(\w+) \\\1 \[(\d+)(?::(\d+))?\]", line):
            signal, high, low = scope + field[1], int(field[3]), int(field[4] or field[3])
            for place in range(low, high + 1):
                bit = _bit(f"{signal}.{field[2]}", place - low, high - low + 1)
                names[f"{signal}[{place}]"] = bit
        elif attribute := re.match(r"\s*attribute \\init \d+'([01]+)", line):
            init = attribute[1]
        elif wire := re.match(r"\s*wire .*\\(\S+)$", line):
            name, levels = scope + wire[1], init[::-1]
            ones |= {_bit(name, n, len(levels)) for n, one in enumerate(levels) if one == "1"}
            init = ""
    return names, ones
