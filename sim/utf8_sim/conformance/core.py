"""A core of anybody's behind the ports of one of our components, in any simulator."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utf8_hdl.axi import AxiStream

from ..components import component_of
from ..engines.compiled import CxxrtlEngine, VerilatorEngine, cxxrtl_code, cxxrtl_library
from ..engines.engine import Engine
from ..engines.icarus import IcarusEngine
from ..engines.ports import Place, axi_places
from ..engines.sources import Sources
from ..subject import interface_of
from ..tools.errors import UsageError
from ..tools.files import refusing
from ..tools.yowasp import YOSYS, need_packages, run_yowasp

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MODULE = "utf8_conform"
"""The module around the core, with our ports."""

BOTH = {"ready": ("s_axis_tready", "m_axis_tready"), "last": ("s_axis_tlast", "m_axis_tlast")}
"""Short names of two ports."""

SHORT = {"reset": "rst", "clock": "clk", "tuser": "m_axis_tuser"}

CONNECTION = r"(~?)\s*([A-Za-z_]\w*)"

TABLES = "ports", "parameters", "constants"

YOSYS_SCRIPT = """\
read_verilog {options} {files}
hierarchy -check -top {module}
proc
flatten
opt_clean
rename {module} top
write_cxxrtl -O6 -g0 design.cxx
"""


@dataclass(frozen=True)
class Connections:
    """How the ports of a core differ from ours.

    Attributes
    ----------
    without : frozenset of str
        Our ports and fields that the core does not have.
    ports : mapping of str to str
        The core's name for some of our ports or fields; after ``~`` if it is inverted.
    parameters, constants : mapping of str to int or str
        The core's parameters, and the levels of inputs that we do not have.
    """

    without: frozenset[str] = frozenset()
    ports: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, without: str, map_file: str | None) -> "Connections":
        """Read the values of ``--without`` and ``--ports``."""
        words = [word.strip() for word in without.split(",") if word.strip()]
        missing = [name for word in words for name in BOTH.get(word, (SHORT.get(word, word),))]
        tables: dict[str, Any] = {}
        if map_file is not None:
            with refusing(f"read {map_file!r}"):
                text = Path(map_file).read_bytes()
            try:
                tables = tomllib.loads(text.decode())
            except ValueError as error:
                raise UsageError(f"--ports {map_file!r} is not TOML: {error}") from error
            if odd := [name for name in tables if name not in TABLES]:
                raise UsageError(
                    f"--ports {map_file!r} has tables {', '.join(TABLES)}, not {odd[0]!r}"
                )
        ports = {SHORT.get(name, name): port for name, port in tables.pop("ports", {}).items()}
        for name, port in ports.items():
            if not isinstance(port, str) or not re.fullmatch(CONNECTION, port):
                raise UsageError(
                    f"--ports {map_file!r}: {name} must be the name of a port, after ~ if it is "
                    f"inverted, not {port!r}"
                )
        return cls(frozenset(missing), ports, **tables)


class Core:
    """A stand-in for one of our designs: it has the same ports, and a core behind them.

    Parameters
    ----------
    design : wiring.Component
        The design that the core replaces.
    files : sequence of str
        The core's files in Verilog, SystemVerilog or VHDL.
    top : str
        The core's module.
    connections : Connections
        How its ports differ.

    Raises
    ------
    UsageError
        If a file cannot be read, or a port that ``connections`` names does not exist.

    Attributes
    ----------
    design : wiring.Component
        The design that the core replaces.
    has : frozenset of str
        Our ports, and the names of output fields, that the core has.
    """

    def __init__(
        self, design: Any, files: Sequence[str], top: str, connections: Connections
    ) -> None:
        if not re.fullmatch(r"[A-Za-z_]\w*", top):
            raise UsageError(f"--top must be the name of a module, not {top!r}")
        self.design, self._connections = design, connections
        self.component_name = component_of(design).name
        places = axi_places(design, interface_of(design))
        self._widths: dict[str, int] = {"clk": 1, "rst": 1}
        for place in places:
            if place.port != "state":
                end = place.lowest + place.width
                self._widths[place.port] = max(end, self._widths.get(place.port, 0))
        self._fields: dict[str, list[Place]] = {}
        for place in places:
            if place.pin.name.startswith("o.") and place.port not in _HANDSHAKE:
                self._fields.setdefault(place.pin.field, []).append(place)
        known = {*self._widths, *self._fields}
        for option, names in (
            ("--without", connections.without),
            ("--ports", frozenset(connections.ports)),
        ):
            if odd := sorted(names - known):
                words = ", ".join([*BOTH, *SHORT, *self._fields, *self._widths])
                raise UsageError(f"unknown port {odd[0]!r} of {option}: choose from {words}")
        self.has = frozenset(known - connections.without)
        self.sources = Sources(files, top, MODULE)

    def __getattr__(self, name: str) -> Any:
        if name in ("state", "State") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.design, name)

    @property
    def compared(self) -> list[str]:
        """The output pins that can be compared."""
        mine = {place.pin.name for places in self._fields.values() for place in places}
        missing = set()
        for name, places in self._fields.items():
            if name not in self.has or (
                places[0].port not in self.has and name not in self._connections.ports
            ):
                missing.add(places[0].pin.name)
        return [name for name in sorted(mine) if name not in missing]

    def verilog(self) -> str:
        """The module with our ports around the core."""
        outputs = set(AxiStream(self.design).outputs)
        declared = ", ".join(
            f"{'output' if port in outputs else 'input'} wire [{width - 1}:0] {port}"
            for port, width in self._widths.items()
        )
        connected, lines = [], []
        renamed = self._connections.ports
        by_field = {name for name in self._fields if name in renamed}
        split = {self._fields[name][0].port for name in by_field}
        for port in self._widths:
            if port in split:
                lines.append(self._assembled(port, by_field))
            elif port in self.has and self._is_wanted(port):
                sign, name = _parsed(renamed.get(port, port))
                if not sign:
                    connected.append(f".{name}({port})")
                elif port in outputs:
                    lines.append(f"wire [{self._widths[port] - 1}:0] inverted_{port};")
                    lines.append(f"assign {port} = ~inverted_{port};")
                    connected.append(f".{name}(inverted_{port})")
                else:
                    connected.append(f".{name}(~{port})")
            elif port in outputs:
                lines.append(f"assign {port} = {int(port == 's_axis_tready')};")
        for name in sorted(by_field):
            sign, port = _parsed(renamed[name])
            width = sum(place.width for place in self._fields[name])
            lines.append(f"wire [{width - 1}:0] raw_{name};")
            lines.append(f"wire [{width - 1}:0] field_{name} = {sign}raw_{name};")
            connected.append(f".{port}(raw_{name})")
        connected += [f".{name}({level})" for name, level in self._connections.constants.items()]
        values = [f".{name}({value})" for name, value in self._connections.parameters.items()]
        parameters = f" #({', '.join(values)})" if values else ""
        core = f"{self.sources.top}{parameters} core ({', '.join(connected)});"
        # Declarations first; a register on the clock, because CXXRTL needs one.
        lines.sort(key=lambda line: not line.startswith("wire [") or "=" in line)
        clock = "(* keep *) reg toggles = 0; always @(posedge clk) toggles <= ~toggles;"
        body = "\n".join(f"  {line}" for line in [*lines, core, clock])
        return f"module {MODULE} ({declared});\n{body}\nendmodule\n"

    def _is_wanted(self, port: str) -> bool:
        """False for a port of output fields that are all missing."""
        fields = [name for name, places in self._fields.items() if places[0].port == port]
        return not fields or any(name in self.has for name in fields)

    def _assembled(self, port: str, by_field: set[str]) -> str:
        """A port of ours from the fields of the core that have ports of their own."""
        parts = []
        for name, places in self._fields.items():
            for place in places:
                if place.port == port and name in by_field:
                    low = sum(each.width for each in places[: places.index(place)])
                    value = f"field_{name}[{low + place.width - 1}:{low}]"
                    parts.append((place.lowest, place.width, value))
                elif place.port == port:
                    parts.append((place.lowest, place.width, f"{place.width}'d0"))
        ordered = [value for *_, value in sorted(parts, reverse=True)]
        return f"assign {port} = {{{', '.join(ordered)}}};"

    def engine(self, name: str) -> Engine:
        """A simulator with the core in it: ``verilator``, ``icarus`` or ``cxxrtl``."""
        return ENGINES[name](self, self.verilog(), self.sources)


_HANDSHAKE = {f"{side}_axis_t{signal}" for side in "sm" for signal in ("valid", "ready")}


def _parsed(connection: str) -> tuple[str, str]:
    found = re.fullmatch(CONNECTION, connection)
    assert found
    return found[1], found[2]


class VerilogCxxrtlEngine(CxxrtlEngine):
    """Verilog, read by Yosys from PyPI and compiled with CXXRTL."""

    def __init__(self, design: Any, verilog: str, sources: Sources) -> None:
        Engine.__init__(self, design)
        need_packages("engine cxxrtl", [YOSYS], "fpga")

        def write(folder: Path) -> str:
            (folder / "wrapper.v").write_text(verilog)
            files = " ".join([*sources.write(folder), "wrapper.v"])
            options = "-sv" if sources.is_system_verilog else ""
            script = YOSYS_SCRIPT.format(options=options, files=files, module=sources.module)
            (folder / "script.ys").write_text(script)
            run_yowasp(YOSYS, "-q", "script.ys", folder=folder)
            return (folder / "design.cxx").read_text()

        key = [verilog, YOSYS_SCRIPT, *map(_text, sources.key)]
        code = cxxrtl_code(
            self.interface, axi_places(design, self.interface), YOSYS, key=key, write=write
        )
        self.library = cxxrtl_library(code)


def _text(part: str | bytes) -> str:
    return part if isinstance(part, str) else part.decode("latin-1")


ENGINES: dict[str, Any] = {
    "verilator": VerilatorEngine,
    "cxxrtl": VerilogCxxrtlEngine,
    "icarus": IcarusEngine,
}
"""The simulators of Verilog, the fastest first."""
