"""``synthesize`` and ``bitstream``: the components on FPGAs."""

import json
from typing import Annotated

import typer

from utf8_sim.tools.errors import Refused
from utf8_sim.tools.files import open_output
from utf8_sim.tools.yowasp import need_packages

from ..fpga.boards import BAUD, BOARDS, write_bitstream
from ..fpga.chart import chart
from ..fpga.families import DEVICES
from ..fpga.placement import SEEDS, choose_jobs, measure, packages_for
from ..fpga.results import document, summary
from ..terminal import report_console, say
from . import options
from .choices import AllRules, DemoDesign, Designs, Where, refuse_idle
from .output import check_outputs

PLACEMENT, OUTPUTS, BOARD = "Place and route", "Output files", "Board"
"""Panels of the help."""

app = typer.Typer()


@options.command(
    app,
    "utf8-hdl synthesize --component decoder --profile unicode --device ecp5-25f",
    "utf8-hdl synthesize --seeds 0 --json cells.json",
)
def synthesize(
    context: typer.Context,
    *,
    designs: Designs,
    rules: AllRules,
    device: Annotated[
        str | None,
        options.Choices(
            DEVICES,
            "FPGA device, or several separated by commas. Default: the first two.",
            panel=PLACEMENT,
        ),
    ] = None,
    fields: Annotated[
        str | None,
        options.option(
            "LIST",
            "Output fields that have pins, such as code_point,error. Default: all.",
            panel=PLACEMENT,
        ),
    ] = None,
    seeds: Annotated[
        int,
        options.number(
            "Number of seeds: each design is placed and routed once per seed. 0: only count cells.",
            panel=PLACEMENT,
        ),
    ] = 5,
    seed: Annotated[int, options.number("The first seed.", panel=PLACEMENT)] = 0,
    json_file: Annotated[
        str | None,
        options.output(
            "OUT.json",
            "Write all results as JSON. - is standard output.",
            "--json",
            panel=OUTPUTS,
        ),
    ] = None,
    plot: Annotated[
        str | None,
        options.output(
            "OUT.svg",
            "Write a chart of frequency and area; with several lane counts, of both over lanes.",
            panel=OUTPUTS,
        ),
    ] = None,
    where: Where,
) -> None:
    """Estimate area and clock frequency on FPGA devices.

    Open-source tools synthesise, place and route each design for each device. Without --profile,
    every profile is measured, and unicode with each of its rules inverted. Components with lanes
    are measured only if --lanes or --component names them.
    """
    if seed + seeds > SEEDS:
        raise Refused(f"--seed and --seeds must be together at most {SEEDS}")
    chosen = designs.variants(with_lanes=False)
    refuse_idle(context, chosen, seed=not seeds and "with --seeds 0")
    if plot is not None:
        if not seeds:
            raise Refused("--plot shows frequencies: it needs --seeds 1 or more")
        need_packages("--plot", ["matplotlib"], "fpga")
    outputs = {"--json": json_file, "--plot": plot}
    check_outputs([], outputs)
    usual = [name for name, each in DEVICES.items() if each.is_usual]
    devices = device.split(",") if device else usual
    jobs = choose_jobs(chosen, rules.profiles(), devices, fields)
    show = report_console(outputs)
    with where.workers(*packages_for(devices)) as workers:
        results = document(measure(jobs, range(seed, seed + seeds), workers))
    for line in summary(results):
        say(show, line)
    if json_file is not None:
        with open_output(json_file) as file:
            file.write(json.dumps(results, indent=2) + "\n")
    if plot is not None:
        with open_output(plot) as file:
            file.write(chart(results))


@options.command(
    app,
    "utf8-hdl bitstream --board icebreaker",
    "utf8-hdl bitstream --board ulx3s --baud 9600 --profile ucs2 -o demo.bit",
    "utf8-hdl bitstream --board tangnano9k --component transcoder --to utf-8 -o repair.fs",
)
def bitstream(
    context: typer.Context,
    *,
    board: Annotated[str, options.Choice(BOARDS, "Board.", panel=BOARD)],
    output: Annotated[
        str | None,
        options.output(
            "FILE",
            "Bitstream. - is standard output. Default: utf8_demo_BOARD with the ending .bin, .bit "
            "or .fs.",
            "-o",
            "--output",
            panel=BOARD,
        ),
    ] = None,
    baud: Annotated[int, options.number("Bit rate of the UART.", 1, panel=BOARD)] = BAUD,
    design: DemoDesign,
) -> None:
    """Build the demo of a board as a bitstream.

    The demo receives bytes on the board's UART. It sends code points and errors as text, or with a
    transcoder the text in UTF-16 or UTF-8.
    """
    refuse_idle(context, [design.variant])
    write_bitstream(board, design.variant, design.chosen(), baud, output)
