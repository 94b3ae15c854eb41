"""``generate``: Verilog, and files that describe it to other languages and tools."""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from utf8_sim.tools.errors import Refused
from utf8_sim.tools.files import open_output

from ..export.blocks import platform_designer_script, vivado_script
from ..export.fusesoc import core_file
from ..export.verilog import generate as generate_verilog
from ..export.vhdl import vhdl_package
from . import options
from .choices import Design, refuse_idle
from .output import check_outputs

VERILOG, TOOLS = "Verilog", "Files for other tools"
"""Panels of the help."""

RESET_POLARITIES = {"high": False, "low": True}
"""True for an active-low reset, by the values of ``--reset-polarity``."""

app = typer.Typer()


@options.command(
    app,
    "utf8-hdl generate -o utf8_decoder.v",
    "utf8-hdl generate --component encoder --reset-polarity low -o utf8_encoder.v",
    "utf8-hdl generate --profile ucs4 --module wide_decoder -o wide_decoder.v --fusesoc",
    "utf8-hdl generate -o utf8_decoder.v --vhdl-component",
)
def generate(
    context: typer.Context,
    *,
    output: Annotated[
        str,
        options.output(
            "FILE", "Verilog file. - is standard output.", "-o", "--output", panel=VERILOG
        ),
    ] = "-",
    design: Design,
    module: Annotated[
        str | None,
        options.option("NAME", "Name of the module. Default: utf8_COMPONENT.", panel=VERILOG),
    ] = None,
    reset_polarity: Annotated[
        str,
        options.Choice(
            RESET_POLARITIES,
            "Reset polarity. high: ports clk and rst; low: ports aclk and aresetn, as in AXI.",
            panel=VERILOG,
        ),
    ] = "high",
    fusesoc: Annotated[
        bool,
        options.flag("--fusesoc", "Also write FILE.core, a FuseSoC core, beside FILE.v.", TOOLS),
    ] = False,
    vhdl_component: Annotated[
        bool,
        options.flag(
            "--vhdl-component", "Also write FILE.vhd, a VHDL component, beside FILE.v.", TOOLS
        ),
    ] = False,
    vivado: Annotated[
        bool,
        options.flag("--vivado", "Also write FILE_ip.tcl, which makes Vivado IP of FILE.v.", TOOLS),
    ] = False,
    quartus: Annotated[
        bool,
        options.flag(
            "--quartus",
            "Also write FILE_hw.tcl, for Quartus Platform Designer, beside FILE.v.",
            TOOLS,
        ),
    ] = False,
) -> None:
    """Generate Verilog with AXI4-Stream ports."""
    refuse_idle(context, design.variants())
    made = design.made()
    module = f"utf8_{design.component}" if module is None else module
    core = _name_beside(output, ".core", "--fusesoc") if fusesoc else None
    package = _name_beside(output, ".vhd", "--vhdl-component") if vhdl_component else None
    ip = _name_beside(output, "_ip.tcl", "--vivado") if vivado else None
    block = _name_beside(output, "_hw.tcl", "--quartus") if quartus else None
    check_outputs(
        [],
        {
            "--output": output,
            "--fusesoc": core,
            "--vhdl-component": package,
            "--vivado": ip,
            "--quartus": block,
        },
    )
    files = {output: generate_verilog(made, module, RESET_POLARITIES[reset_polarity])}
    if core:
        files[core] = core_file(made, module, output)
    if package:
        files[package] = vhdl_package(files[output], module)
    if ip:
        files[ip] = vivado_script(made, module, files[output], output)
    if block:
        files[block] = platform_designer_script(made, module, files[output], output)
    with ExitStack() as opened:
        for name, content in files.items():
            opened.enter_context(open_output(name)).write(content)


def _name_beside(verilog: str, end: str, option: str) -> str:
    """The name of the file that an option adds beside a Verilog file.

    Tools that read the added file find the Verilog file by its name.
    """
    path = Path(verilog)
    if not re.fullmatch(r"\w[\w.-]*\.v", path.name, re.ASCII):
        raise Refused(
            f"{option} needs -o NAME.v, NAME of letters, digits and '_', '.', '-', not {verilog!r}"
        )
    return str(path.with_name(path.stem + end))
