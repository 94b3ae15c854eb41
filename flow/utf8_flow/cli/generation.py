"""``generate``: Verilog, and what other languages and tools need to use it."""

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

RESET_POLARITIES = {"high": False, "low": True}
"""Whether the reset is active low, by the names of ``generate``'s option."""

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
        str, options.option("FILE", "Where to write; - is stdout.", "-o", "--output")
    ] = "-",
    design: Design,
    module: Annotated[
        str | None, options.option("NAME", "Name of the module, instead of utf8_COMPONENT.")
    ] = None,
    reset_polarity: Annotated[
        str,
        options.Choice(
            RESET_POLARITIES,
            "high: ports clk and rst; low: aclk and aresetn, as AXI has them.",
        ),
    ] = "high",
    fusesoc: Annotated[
        bool, typer.Option("--fusesoc", help="Write FILE.core too, for FILE.v: a FuseSoC core.")
    ] = False,
    vhdl_component: Annotated[
        bool,
        typer.Option(
            "--vhdl-component", help="Write FILE.vhd too, for FILE.v: its component in VHDL."
        ),
    ] = False,
    vivado: Annotated[
        bool, typer.Option("--vivado", help="Write FILE_ip.tcl too, for FILE.v: IP for Vivado.")
    ] = False,
    quartus: Annotated[
        bool,
        typer.Option(
            "--quartus", help="Write FILE_hw.tcl too, for FILE.v: for Quartus's Platform Designer."
        ),
    ] = False,
) -> None:
    """Write Verilog with AXI4-Stream ports, for an FPGA."""
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
    """Name of the file that an option asks for beside a Verilog file.

    Tools that read that file have to find the Verilog file by its name.
    """
    path = Path(verilog)
    if not re.fullmatch(r"\w[\w.-]*\.v", path.name, re.ASCII):
        raise Refused(
            f"{option} needs -o NAME.v, NAME of letters, digits and '_', '.', '-', not {verilog!r}"
        )
    return str(path.with_name(path.stem + end))
