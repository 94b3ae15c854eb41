"""``synthesize`` and ``bitstream``: the designs on FPGAs."""

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
        options.Choices(DEVICES, "Or several, with commas; without it the first two."),
    ] = None,
    fields: Annotated[
        str | None, options.option("LIST", "Outputs that are used, such as code_point,error.")
    ] = None,
    seeds: Annotated[
        int, options.number("How often each is placed and routed; 0: only count cells.")
    ] = 5,
    seed: Annotated[int, options.number("The first of the seeds.")] = 0,
    json_file: Annotated[
        str | None, options.option("OUT.json", "Write all results; - is stdout.", "--json")
    ] = None,
    plot: Annotated[
        str | None,
        options.option("OUT.svg", "Draw frequency and area, or both over lanes."),
    ] = None,
    where: Where,
) -> None:
    """Measure area and clock frequency on real devices.

    The designs are synthesised, placed and routed. Without --profile, in all of them, and in
    unicode with each of its rules inverted. Components with lanes are measured if one says --lanes
    or --component.
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
    board: Annotated[str, options.Choice(BOARDS, "Which board.")],
    output: Annotated[
        str | None,
        options.option(
            "FILE",
            "Where to write; - is stdout. Without it utf8_demo_BOARD.bin, .bit or .fs.",
            "-o",
            "--output",
        ),
    ] = None,
    baud: Annotated[int, options.number("Bits per second.", 1)] = BAUD,
    design: DemoDesign,
) -> None:
    """Build the demo for a board, as a bitstream.

    It takes bytes on the board's UART and gives code points and errors, as text; or units of
    UTF-16; or the text, repaired.
    """
    refuse_idle(context, [design.variant])
    write_bitstream(board, design.variant, design.chosen(), baud, output)
