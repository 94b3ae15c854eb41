"""A core with the ports of one of our components, for any Verilog simulator."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from utf8_hdl.axi import AxiStream

from ..components import component_of
from ..engines.compiled import VerilatorEngine
from ..engines.engine import Engine
from ..engines.icarus import IcarusEngine
from ..engines.ports import Place, axi_places
from ..engines.sources import Sources
from ..engines.yosys import YosysEngine
from ..subject import interface_of
from ..tools.errors import ToolError, UsageError
from .connections import BOTH, NAME, SHORT, Connections

MODULE = "utf8_conform"
"""The wrapper module with our ports, which contains the core."""

NO_PORT = r"(?:Pin not found: '|port ``|does not have a port named ')(\w+)'"
"""A simulator's message about a port that the core does not have."""

REQUIRED = "s_axis_tdata", "s_axis_tvalid", "m_axis_tvalid"
"""Ports that every core must have."""

ENGINES: dict[str, Any] = {
    "verilator": VerilatorEngine,
    "cxxrtl": YosysEngine,
    "icarus": IcarusEngine,
}
"""The Verilog simulators, the fastest first."""


class Core:
    """A core that replaces one of our designs, with the ports of that design.

    ``has`` are our ports, and the names of output fields, that the core has; ``compared`` are the
    output pins that can be compared. A `UsageError` is raised if a file cannot be read, or
    ``connections`` names an unknown port or leaves out a required one.
    """

    def __init__(
        self, design: Any, files: Sequence[str], top: str, connections: Connections
    ) -> None:
        if not re.fullmatch(NAME, top):
            raise UsageError(f"--top must be the name of a module, not {top!r}")
        self.design, self._connections = design, connections
        self.component_name = component_of(design).name
        interface = interface_of(design)
        self._widths: dict[str, int] = {"clk": 1, "rst": 1}
        self._fields: dict[str, list[Place]] = {}
        for place in axi_places(design, interface):
            if place.port != "state":
                width = place.lowest + place.width
                self._widths[place.port] = max(width, self._widths.get(place.port, 0))
            if place.pin in interface.outputs:
                self._fields.setdefault(place.pin.field, []).append(place)
        self._check(connections)
        # Our ports that the core splits into a port for each field; other fields are missing.
        own = self._own_fields()
        self._split = {self._fields[name][0].port for name in own}
        absent = self._split | connections.without
        lost = {name for name, [place, *_] in self._fields.items() if place.port in absent}
        missing = connections.without | (lost - {*own})
        self.has = frozenset({*self._widths, *self._fields} - missing)
        self.compared = sorted(f"o.{name}" for name in self._fields if name in self.has)
        self.sources = Sources(files, top, MODULE)

    def _check(self, connections: Connections) -> None:
        known = [*self._fields, *self._widths]
        for option, names, more in (
            ("--without", connections.without, [*BOTH, *SHORT]),
            ("--ports", {*connections.ports}, [*SHORT]),
        ):
            if odd := sorted(names - {*known}):
                words = ", ".join(dict.fromkeys([*more, *known]))
                raise UsageError(f"unknown port {odd[0]!r} of {option}: choose from {words}")
        if lost := [port for port in REQUIRED if port in connections.without]:
            raise UsageError(f"--without must not have {lost[0]!r}: every core needs it")

    def __getattr__(self, name: str) -> Any:
        """Other attributes are the design's; a core has no visible state register."""
        if name in ("state", "State") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.design, name)

    def engine(self, name: str) -> Engine:
        """The core in a simulator, which is named as in :data:`ENGINES`."""
        try:
            return ENGINES[name](self, self.verilog(), self.sources)
        except ToolError as error:
            if missing := re.search(NO_PORT, str(error)):
                raise UsageError(
                    f"the core has no port {missing[1]!r}: name it in --ports, or list it in "
                    "--without"
                ) from error
            raise

    def verilog(self) -> str:
        """The wrapper module with our ports."""
        outputs = {*AxiStream(self.design).outputs}
        wires, assigns, connected = [], [], []

        def connect_output(name: str, width: int) -> None:
            sign, port = self._connections.core_port(name)
            bits = f"[{width - 1}:0]"
            wires.append(f"wire {bits} core_{name}; wire {bits} our_{name} = {sign}core_{name};")
            connected.append(f".{port}(core_{name})")

        for port, width in self._widths.items():
            if port in self._split:
                assigns.append(f"assign {port} = {self._joined_fields(port)};")
            elif not self._has_any_of(port):
                level = int(port == "s_axis_tready")
                assigns += [f"assign {port} = {level};"] * (port in outputs)
            elif port in outputs:
                connect_output(port, width)
                assigns.append(f"assign {port} = our_{port};")
            else:
                sign, name = self._connections.core_port(port)
                connected.append(f".{name}({sign}{port})")
        for name in self._own_fields():
            connect_output(name, sum(place.width for place in self._fields[name]))
        connected += _named(self._connections.constants)
        values = ", ".join(_named(self._connections.parameters))
        parameters = f" #({values})" if values else ""
        core = f"{self.sources.top}{parameters} core ({', '.join(connected)});"
        # CXXRTL needs a register on the clock, which a core may lack.
        register = "(* keep *) reg toggles = 0; always @(posedge clk) toggles <= ~toggles;"
        declared = ", ".join(
            f"{'output' if port in outputs else 'input'} wire [{width - 1}:0] {port}"
            for port, width in self._widths.items()
        )
        body = "\n".join(f"  {line}" for line in [*wires, *assigns, core, register])
        return f"module {MODULE} ({declared});\n{body}\nendmodule\n"

    def _own_fields(self) -> list[str]:
        """The fields that have a port of their own."""
        return [name for name in self._fields if name in self._connections.ports]

    def _has_any_of(self, port: str) -> bool:
        """True if the core has a port; for a port of output fields, at least one field."""
        fields = [name for name, [place, *_] in self._fields.items() if place.port == port]
        return port in self.has and (not fields or any(name in self.has for name in fields))

    def _joined_fields(self, port: str) -> str:
        """The value of one of our ports that the core splits into a port for each field."""
        parts = []
        for name, places in self._fields.items():
            low = 0
            for place in places:
                if place.port == port:
                    level = f"our_{name}[{low + place.width - 1}:{low}]"
                    is_own = name in self._connections.ports
                    parts.append((place.lowest, level if is_own else f"{place.width}'d0"))
                low += place.width
        return f"{{{', '.join(level for _, level in sorted(parts, reverse=True))}}}"


def _named(values: Mapping[str, Any]) -> list[str]:
    """Connections by name in Verilog."""
    return [f".{name}({value})" for name, value in values.items()]
