"""``generate``: Verilog, and files that describe it to other languages and tools."""

import re
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import typer

from utf8_sim.tools.errors import UsageError

from .choices import Design, Rules, reject_inapplicable
from .options import choice, command, option, output_file
from .output import check_outputs

app = typer.Typer()


@dataclass
class Verilog:
    """Options for the Verilog."""

    panel = "Verilog"

    output: str = output_file(
        "FILE", "Verilog file. - is standard output.", "-o", "--output", default="-"
    )
    module: str | None = option(
        None, "Name of the module. Default: utf8_COMPONENT.", metavar="NAME"
    )
    reset_polarity: str = choice(
        "high",
        ("high", "low"),
        "Reset polarity. high: ports clk and rst; low: ports aclk and aresetn, as in AXI.",
    )
    no_initial_values: bool = option(
        False, "Omit the initial values of registers, for an ASIC. Without lanes only."
    )


@dataclass
class AddedFiles:
    """Options for files beside the Verilog."""

    panel = "Files for other tools"

    fusesoc: bool = option(False, "Also write FILE.core, a FuseSoC core, beside FILE.v.")
    vhdl_component: bool = option(False, "Also write FILE.vhd, a VHDL component, beside FILE.v.")
    vhdl_wrapper: bool = option(
        False, "Also write FILE_wrapper.vhd, a VHDL entity with record ports, beside FILE.v."
    )
    data_sheet: bool = option(False, "Also write FILE.md, a data sheet, beside FILE.v.")
    properties: bool = option(
        False,
        "Also write FILE_properties.sv, a SystemVerilog checker to bind, and FILE.sby, which runs "
        "SBY with it. It compares every token of a decoder with one lane and every byte of an "
        "encoder with the input. With lanes, it checks less; docs/verify.md lists the rules.",
    )


SBY_FILE = "the SBY file of --properties"

ENDS = {
    "--fusesoc": {"--fusesoc": ".core"},
    "--vhdl-component": {"--vhdl-component": ".vhd"},
    "--vhdl-wrapper": {"--vhdl-wrapper": "_wrapper.vhd"},
    "--data-sheet": {"--data-sheet": ".md"},
    "--properties": {"--properties": "_properties.sv", SBY_FILE: ".sby"},
}
"""The options of :class:`AddedFiles`, in order; for each, the source and suffix of added files."""


@command(
    app,
    "utf8-hdl generate -o utf8_decoder.v",
    "utf8-hdl generate --component encoder --reset-polarity low -o utf8_encoder.v",
    "utf8-hdl generate --profile ucs4 --module wide_decoder -o wide_decoder.v --fusesoc",
    "utf8-hdl generate -o utf8_decoder.v --vhdl-component --vhdl-wrapper --data-sheet --properties",
)
def generate(
    context: typer.Context, *, verilog: Verilog, design: Design, rules: Rules, added: AddedFiles
) -> None:
    """Generate Verilog with AXI4-Stream ports."""
    from utf8_hdl.axi import module_name
    from utf8_sim.tools.files import open_output

    from ..export import fusesoc, properties, vhdl, vhdl_wrapper
    from ..export.verilog import generate

    spec = design.spec(rules.chosen())
    reject_inapplicable(context, [spec])
    made = spec.make()
    module = module_name(made) if verilog.module is None else verilog.module
    names = {
        source: _name_beside(verilog.output, end, option)
        for (option, ends), is_wanted in zip(ENDS.items(), astuple(added), strict=True)
        if is_wanted
        for source, end in ends.items()
    }
    check_outputs([], {"--output": verilog.output, **names})
    text = generate(made, module, verilog.reset_polarity == "low", not verilog.no_initial_values)
    contents = {
        "--fusesoc": lambda: fusesoc.core_file(made, module, verilog.output),
        "--vhdl-component": lambda: vhdl.vhdl_package(text, module),
        "--vhdl-wrapper": lambda: vhdl_wrapper.vhdl_wrapper(made, text, module),
        "--data-sheet": lambda: _data_sheet(made, text, module),
        "--properties": lambda: properties.property_file(made, module, text),
        SBY_FILE: lambda: properties.sby_file(made, module, text, verilog.output),
    }
    files = {verilog.output: text, **{file: contents[source]() for source, file in names.items()}}
    with ExitStack() as opened:
        for file, content in files.items():
            opened.enter_context(open_output(file)).write(content)


def _data_sheet(design: Any, verilog: str, module: str) -> str:
    """The data sheet. Its modules are imported only if it is needed."""
    from ..export.data_sheet import data_sheet

    return data_sheet(design, verilog, module)


def _name_beside(verilog: str, end: str, option: str) -> str:
    """The name of the file that an option adds beside a Verilog file.

    Tools that read the added file find the Verilog file by its name.
    """
    path = Path(verilog)
    if not re.fullmatch(r"\w[\w.-]*\.v", path.name, re.ASCII):
        raise UsageError(
            f"{option} needs -o NAME.v, NAME of letters, digits and '_', '.', '-', not {verilog!r}"
        )
    return str(path.with_name(path.stem + end))
