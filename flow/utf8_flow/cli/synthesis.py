"""``synthesize`` and ``bitstream``: the components on FPGAs."""

import json
from dataclasses import MISSING, dataclass

import typer

from utf8_sim.tools.errors import UsageError

from .choices import AllRules, Demo, Designs, Machines, Rules, reject_inapplicable
from .options import choice, command, option, output_file
from .output import check_outputs

app = typer.Typer()


def _known_devices() -> list[str]:
    from ..fpga.families import DEVICES

    return list(DEVICES)


@dataclass
class Placement:
    """Options for place and route."""

    panel = "Place and route"

    device: str | None = option(
        None,
        "FPGA device, or several separated by commas. Default: the first two.",
        autocompletion=_known_devices,
    )
    fields: str | None = option(
        None,
        "Output fields connected to pins, such as code_point,error. Default: all.",
        metavar="LIST",
    )
    seeds: int = option(
        5,
        "Number of seeds: each design is placed and routed once per seed. 0: only count cells.",
        metavar="N",
        min=0,
    )
    seed: int = option(0, "The first seed.", metavar="N", min=0)


@dataclass
class Results:
    """Options for the output files of a synthesis."""

    panel = "Output files"

    json_file: str | None = output_file(
        "OUT.json", "Write all results as JSON. - is standard output.", "--json"
    )
    csv_file: str | None = output_file(
        "OUT.csv", "Write one line per design as CSV. - is standard output.", "--csv"
    )
    plot: str | None = output_file(
        "OUT.svg",
        "Write a chart of frequency and area; over lanes, if there are several lane counts.",
    )


@command(
    app,
    "utf8-hdl synthesize --component decoder --profile unicode --device ecp5-25f",
    "utf8-hdl synthesize --seeds 0 --json cells.json",
)
def synthesize(
    context: typer.Context,
    *,
    designs: Designs,
    rules: AllRules,
    placement: Placement,
    output: Results,
    machines: Machines,
) -> None:
    """Estimate area and clock frequency on FPGA devices.

    Open-source tools synthesise, place and route each design for each device. Without --profile,
    every profile is measured, and unicode with each of its rules inverted. Components with lanes
    are measured only if --lanes or --component names them.
    """
    from utf8_sim.tools.files import open_output
    from utf8_sim.tools.yowasp import need_packages

    from ..fpga.chart import chart
    from ..fpga.placement import SEEDS, choose_jobs, measure, packages_for
    from ..fpga.results import csv_text, document, summary
    from ..terminal import report_console, say

    seed, seeds = placement.seed, placement.seeds
    devices = _devices(placement.device)
    if seed + seeds > SEEDS:
        raise UsageError(f"--seed and --seeds must be together at most {SEEDS}")
    chosen = designs.specs(with_lanes=False)
    reject_inapplicable(context, chosen, seed=not seeds and "with --seeds 0")
    if output.plot is not None:
        if not seeds:
            raise UsageError("--plot shows frequencies: it needs --seeds 1 or more")
        need_packages("--plot", ["matplotlib"], "fpga")
    outputs = {"--json": output.json_file, "--csv": output.csv_file, "--plot": output.plot}
    check_outputs([], outputs)
    jobs = choose_jobs(chosen, rules.profiles(), devices, placement.fields)
    show = report_console(outputs)
    with machines.workers(*packages_for(devices)) as workers:
        results = document(measure(jobs, range(seed, seed + seeds), workers))
    for line in summary(results):
        say(show, line)
    if output.json_file is not None:
        with open_output(output.json_file) as file:
            file.write(json.dumps(results, indent=2) + "\n")
    if output.csv_file is not None:
        with open_output(output.csv_file) as file:
            file.write(csv_text(results))
    if output.plot is not None:
        with open_output(output.plot) as file:
            file.write(chart(results))


def _devices(names: str | None) -> list[str]:
    """The devices in a list of names; the default devices if no list is given."""
    from ..fpga.families import DEVICES

    if names is None:
        return [name for name, each in DEVICES.items() if each.is_usual]
    chosen = names.split(",")
    for name in chosen:
        if name not in DEVICES:
            raise UsageError(f"unknown --device {name!r}: choose from {', '.join(DEVICES)}")
        if chosen.count(name) > 1:
            raise UsageError(f"--device names {name!r} more than once")
    return chosen


@dataclass
class Board:
    """Options for the board of a demo."""

    panel = "Board"

    board: str = choice(MISSING, "utf8_flow.fpga.boards:BOARDS", "Board.")
    output: str | None = output_file(
        "FILE",
        "Bitstream. - is standard output. Default: utf8_demo_BOARD with the suffix .bin, .bit or "
        ".fs.",
        "-o",
        "--output",
    )
    # All terminal programs support this rate, and the boards' clocks reach it within 0.2 %.
    baud: int = option(115_200, "Bit rate of the UART.", metavar="N", min=1)


@command(
    app,
    "utf8-hdl bitstream --board icebreaker",
    "utf8-hdl bitstream --board ulx3s --baud 9600 --profile ucs2 -o demo.bit",
    "utf8-hdl bitstream --board tangnano9k --component transcoder --to utf-8 -o repair.fs",
)
def bitstream(context: typer.Context, *, board: Board, design: Demo, rules: Rules) -> None:
    """Build the demo of a board as a bitstream.

    The demo receives bytes on the board's UART. It sends code points and errors as text, or with a
    transcoder the text in UTF-16 or UTF-8.
    """
    from ..fpga.boards import write_bitstream

    spec = design.spec(rules.chosen())
    reject_inapplicable(context, [spec])
    write_bitstream(board.board, spec, board.baud, board.output)
