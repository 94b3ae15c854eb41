"""Data sheets of generated modules in Markdown.

The header of the Verilog file, the measured results and a simulation are the only sources.
"""

import inspect
import json
import math
import re
import textwrap
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

import utf8_hdl
from utf8_hdl import PROFILES, Profile
from utf8_sim.tools.yowasp import versions_line

from ..designs import DesignSpec
from ..fpga.families import DEVICES
from ..markdown import table
from .header import Header
from .module import Port, ports_of
from .text import LINE, filled
from .timing import timing_diagram
from .vhdl import component as vhdl_component
from .vhdl import with_module_name

MEASURED = Path(__file__).parents[3] / "docs"
"""The folder of a clone with the measured results, ``synthesis*.json``."""

BYTE = 8

EXAMPLE_MHZ = 100
"""Frequency in the constraints of a design that was not measured."""

SEEDS = 3
"""Number of seeds in the command that measures a design that was not measured."""

ROLES = {
    "tvalid": "a transfer is offered",
    "tready": "ready to accept a transfer",
    "tlast": "the last transfer of a text",
}
"""Meanings of ports that the header does not describe."""

_SHEET = """\
# {module}

{what}

{origin}

## Ports

{ports}

{promises}

## Timing

A simulation from reset. Each column is a clock cycle. A transfer happens in a cycle in which
`tvalid` and `tready` are both high; the consumer stalls in cycle {stalled}. A dot is a don't care.
Numbers are hexadecimal. A letter is a transfer with the content below the diagram.

```text
{diagram}
```

## Area and frequency

{measured}

## Instantiation

```verilog
{verilog}
```

```vhdl
-- declaration
{vhdl}

-- instance
{vhdl_instance}
```

```python
{amaranth}
```

## Constraints

```tcl
# XDC and SDC: {period}
{constraint}
```

Every port, `{reset}` included, is synchronous to `{clock}`, the only clock: no exceptions are
needed. To cross clock domains, put an asynchronous FIFO for AXI4-Stream before or after the
module. The constraint is for a design in which this module is the top; replace the period by that
of your clock.
"""

_ESTIMATES = """\
Estimates by Yosys and nextpnr with registers at every port: median and range of the frequency over
some seeds. Nothing was measured on a chip. Usable is the median, or the limit of the clock network
if that is lower.

{table}

Tools: {tools}. To measure again, or with another `--device`:"""


def data_sheet(component: Any, verilog: str, module: str) -> str:
    """The data sheet of a component, from its Verilog; `ValueError` if VHDL refuses its name."""
    spec, header, ports = DesignSpec.of(component), Header.of(verilog), ports_of(verilog)
    declaration = with_module_name(textwrap.dedent(vhdl_component(ports)), module)
    instance, clock = f"{spec.component}_1", ports[0].name
    measured = measured_designs(spec)
    mhz, reason = _target(measured)
    diagram = timing_diagram(component)
    version, _, command = header.origin.partition(": ")
    return _SHEET.format(
        module=module,
        what=f"{header.what}.",
        origin=f"{version}: `{command}`" if command else version,
        ports="\n".join(table(_port_rows(ports, header))),
        promises="\n".join(f"- {text}" for text in header.promises),
        stalled=diagram.stalled,
        diagram="\n".join([*diagram.rows, "", *diagram.legend]).rstrip("\n"),
        measured=_measured(spec, measured),
        verilog=_instance(f"{module} {instance} (", ports, ".{0}({0})"),
        vhdl=declaration,
        vhdl_instance=_instance(f"{instance} : {module} port map (", ports, "{0} => {0}"),
        amaranth=_amaranth(component, spec.component),
        period=reason,
        constraint=f"create_clock -name {clock} -period {_period(mhz):.3f} [get_ports {clock}]",
        clock=clock,
        reset=ports[1].name,
    )


def _port_rows(ports: list[Port], header: Header) -> Iterator[tuple[str, ...]]:
    yield "port", "width", "direction", "meaning"
    widths = {port.name: port.width for port in ports}
    bus = ""
    for direction, name, width in ports:
        stream, _, role = name.rpartition("_")
        whole = f"{stream}_*"
        if stream and bus != stream and whole in header.ports:
            yield f"`{whole}`", "", "", header.ports[whole]
        bus = stream
        # An output that the header does not describe is like its input, if that is as wide.
        given = f"s_axis_{role}"
        like_input = header.ports.get(given) if widths.get(given) == width else None
        meaning = header.ports.get(name) or ROLES.get(role) or like_input
        yield f"`{name}`", str(width), direction, meaning or "a byte" * (width == BYTE)


def measured_designs(spec: DesignSpec) -> list[dict[str, Any]]:
    """The measured results of a design, for the first device of each family that was measured.

    Each result also has the ``tools`` of its measurement.
    """
    rows = {}
    for file in sorted(MEASURED.glob("synthesis*.json")):
        results = json.loads(file.read_text(encoding="utf-8"))
        for row in results["designs"]:
            measured = DesignSpec.of_row(row).row(), row["profile"]
            if row["runs"] and measured == (spec.row(), spec.rules):
                rows[row["device"]] = row | {"tools": results["tools"]}
    families: dict[str, dict[str, Any]] = {}
    for name, device in DEVICES.items():
        if name in rows:
            families.setdefault(device.family.placer, rows[name])
    return list(families.values())


def _measured(spec: DesignSpec, measured: list[dict[str, Any]]) -> str:
    """The table of a design's area and frequency, and the command for other devices."""
    words = ["utf8-hdl", "synthesize", *spec.words]
    words[2:2] = ["--component", spec.component] * ("--component" not in words)
    if "--profile" in spec.used_options and "--profile" not in words:
        words += ["--profile", spec.profile.name]
    device = "ecp5-85f" if spec.lanes > 1 else "ecp5-25f"
    seeds = next((len(row["runs"]) for row in measured if row["device"] == device), SEEDS)
    command = f"```sh\n{' '.join(words)} --device {device} --seeds {seeds}\n```"
    if not MEASURED.joinpath("synthesis.json").exists():
        return (
            f"The measured results are only in a clone of the repository. To measure:\n\n{command}"
        )
    if not measured:
        return f"Not measured. To measure it:\n\n{command}"
    tools: dict[str, str] = {}
    for row in measured:
        tools |= row["tools"]
    estimates = _ESTIMATES.format(
        table="\n".join(table(_area_rows(measured))),
        tools=versions_line(tools),
    )
    return f"{estimates}\n\n{command}"


def _area_rows(measured: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    yield "device", "LUT4s", "registers", "RAM blocks", "seeds", "MHz", "range", "usable MHz"
    for row in measured:
        mhz = [run["mhz"] for run in row["runs"]]
        yield (
            DEVICES[row["device"]].label,
            *(str(row[name]) for name in ("lookup_tables", "registers", "memory_blocks")),
            str(len(mhz)),
            f"{row['median']['mhz']:.0f}",
            f"{min(mhz):.0f} to {max(mhz):.0f}",
            f"{row['usable_mhz']:.0f}",
        )


def _target(measured: list[dict[str, Any]]) -> tuple[float, str]:
    """The frequency in the constraints, in MHz, and the reason for it."""
    if not measured:
        return EXAMPLE_MHZ, f"{EXAMPLE_MHZ} MHz, as an example"
    slowest = min(measured, key=lambda row: row["usable_mhz"])
    label = DEVICES[slowest["device"]].label
    return slowest["usable_mhz"], f"the lowest usable frequency in the table, that of {label}"


def _period(mhz: float) -> float:
    """The period in nanoseconds, rounded up to picoseconds."""
    return math.ceil(1e6 / mhz) / 1e3


def _instance(head: str, ports: list[Port], form: str) -> str:
    """An instance whose ports are connected to signals of their names."""
    connections = ", ".join(form.format(port.name) for port in ports)
    lines = filled(re.split(r"(?<=,) ", connections), 92)
    return "\n".join([head, *(f"    {line}" for line in lines), ");"])


def _amaranth(component: Any, name: str) -> str:
    """Statements that add the component to an Amaranth module ``m``."""
    design_class = type(component)
    arguments, names = [], {design_class.__name__}
    for parameter in inspect.signature(design_class).parameters.values():
        value = getattr(component, parameter.name, parameter.default)
        if value != parameter.default or parameter.name == "lanes":
            text = _python(value)
            arguments.append(f"{parameter.name}={text}")
            names |= set(re.findall(r"\b[A-Z]\w+", text)) & set(utf8_hdl.__all__)
    source = "utf8_hdl" if hasattr(utf8_hdl, design_class.__name__) else design_class.__module__
    lines = ["from dataclasses import replace"] * any("replace(" in each for each in arguments)
    lines += [f"from {source} import {', '.join(sorted(names))}", ""]
    head, call = f"m.submodules.{name} = {name} = {design_class.__name__}(", ", ".join(arguments)
    is_long = len(f"{head}{call})") > LINE
    return "\n".join([*lines, *([head, f"    {call}", ")"] if is_long else [f"{head}{call})"])])


def _python(value: Any) -> str:
    """The expression for a parameter's value."""
    if isinstance(value, Enum):
        return str(value)
    if not isinstance(value, Profile):
        return repr(value)
    usual = PROFILES[value.name]
    changed = [
        f", {field.name}={_python(each)}"
        for field in fields(value)
        if (each := getattr(value, field.name)) != getattr(usual, field.name)
    ]
    name = usual.name.upper()
    return f"replace({name}{''.join(changed)})" if changed else name
