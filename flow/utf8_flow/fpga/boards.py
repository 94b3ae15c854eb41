"""Build bitstreams of the demo with Amaranth's platforms and tools from PyPI."""

import importlib
import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from amaranth.build.run import BuildPlan
from amaranth.hdl import Const, Elaboratable, Module
from amaranth.lib import io

from utf8_demo.demo import Demo
from utf8_demo.uart import cycles_per_bit
from utf8_hdl import EncodingScheme
from utf8_sim.tools.errors import UsageError, WrongValue
from utf8_sim.tools.files import check_output, open_binary_output
from utf8_sim.tools.yowasp import (
    YOSYS,
    need_packages,
    package_versions,
    run_yowasp,
    versions_line,
)

from ..designs import DesignSpec
from ..terminal import progress_bar, report_console, say
from .families import FAMILIES, Family

_NAME = "utf8_demo"
"""Name of the design and of its files."""

_REPORT = "report.json"


class Board(NamedTuple):
    """A board for which the demo can be built."""

    family: Family
    #: Module and class of Amaranth's platform.
    module: str
    platform_name: str
    #: Pins to drive high, as resource and signal.
    high: tuple[tuple[str, str], ...] = ()

    @property
    def packages(self) -> tuple[str, ...]:
        """The PyPI packages that build a bitstream for the board."""
        return tuple(
            dict.fromkeys(("amaranth-boards", YOSYS, self.family.placer, self.family.packer))
        )

    def platform(self) -> Any:
        """A new instance of Amaranth's platform; an instance can build only once."""
        platform = getattr(importlib.import_module(self.module), self.platform_name)
        if self.family.commands:
            platform = type(
                self.platform_name, (platform,), {"command_templates": list(self.family.commands)}
            )
        return platform()


def _ulx3s(size: str) -> Board:
    # If this is low, the ESP32's factory firmware takes control of the FPGA after some seconds.
    return Board(
        *(FAMILIES["ecp5"], "amaranth_boards.ulx3s", f"ULX3S_{size}_Platform"),
        high=(("esp32", "gpio0"),),
    )


BOARDS = {
    "icebreaker": Board(FAMILIES["ice40"], "amaranth_boards.icebreaker", "ICEBreakerPlatform"),
    "ulx3s": _ulx3s("85F"),
    **{f"ulx3s-{size.lower()}": _ulx3s(size) for size in ("12F", "25F", "45F", "85F")},
    "tangnano9k": Board(FAMILIES["gowin"], "amaranth_boards.tang_nano_9k", "TangNano9kPlatform"),
    "tangnano20k": Board(FAMILIES["gowin"], "utf8_flow.fpga.tang_nano_20k", "TangNano20kPlatform"),
}
"""Boards by their command-line names; ``ulx3s`` is the ULX3S with the largest FPGA."""


class BoardDemo(Elaboratable):
    """The demo, connected to a board's UART; its first LED shows ``busy``."""

    def __init__(self, board: Board, demo: Demo) -> None:
        self._board = board
        self._demo = demo

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.demo = demo = self._demo
        uart = platform.request("uart", dir="-")
        rx: Any = io.Buffer("i", uart.rx)
        m.submodules.rx = rx
        m.d.comb += demo.rx.eq(rx.i)
        outputs = [(uart.tx, demo.tx), (platform.request("led", dir="-"), demo.busy)]
        for resource, signal in self._board.high:
            outputs.append((getattr(platform.request(resource, dir="-"), signal), Const(1)))
        for port, value in outputs:
            buffer: Any = io.Buffer("o", port)
            m.submodules += buffer
            m.d.comb += buffer.o.eq(value)
        return m


def write_bitstream(name: str, spec: DesignSpec, baud: float, output: str | None) -> None:
    """Build the demo of a decoder or transcoder for a board, write the bitstream, print a report.

    With the same tools, the bitstream is the same on every run.
    """
    board = BOARDS[name]
    output = f"{_NAME}_{name}{board.family.suffix}" if output is None else output
    check_output(output)
    need_packages("bitstream", board.packages, "fpga")
    platform = board.platform()
    clock_hz = platform.default_clk_frequency
    try:
        cycles_per_bit(clock_hz, baud)
    except ValueError as error:
        raise WrongValue(str(error)) from error
    spec.make()  # rejects a design that does not exist
    own = dict(spec.own)
    demo = Demo(
        spec.profile,
        clock_hz=clock_hz,
        baud=baud,
        compact=spec.compact,
        target=EncodingScheme(own["target"]) if "target" in own else None,
        strip_bom=own.get("strip_bom", False),
    )
    # Source locations are omitted because they depend on the installation path. nextpnr must not
    # fail if timing is not met: the error that is created from its report is clearer.
    options = ["--report", _REPORT, "--timing-allow-fail"]
    design = BoardDemo(board, demo)
    plan = platform.prepare(
        *(design, _NAME),
        emit_src=False,
        synth_opts=list(board.family.board_synthesis),
        nextpnr_opts=options,
    )
    content, report, log = _carry_out(plan, board)
    needed = clock_hz / 1e6
    reached = reached_frequency(report["fmax"], needed)
    used, available = board.family.logic_cells(report, log)
    memory = report["utilization"][board.family.memory]
    with open_binary_output(output) as file:
        file.write(content)
    lines = [
        f"shows   {spec.name}",
        f"profile {spec.profile.describe()}",
        f"UART    {baud} baud, 8 data bits, no parity, 1 stop bit",
        f"device  {board.family.part.format(platform)}",
        f"uses    {used} of {available} logic cells, {memory['used']} of {memory['available']} "
        "memories",
        f"clock   {needed:g} MHz needed, {reached:.1f} MHz reached",
        f"tools   {versions_line(package_versions(board.packages))}",
        f"wrote   {output} ({len(content)} bytes)",
    ]
    show = report_console({"--output": output})
    for line in lines:
        say(show, line)


def _carry_out(plan: BuildPlan, board: Board) -> tuple[bytes, Any, str]:
    """Run Amaranth's build plan; return the bitstream, and place and route's report and log."""
    commands = json.loads(plan.files[f"build_{_NAME}.json"])["commands"]
    packages = YOSYS, board.family.placer, board.family.packer
    with tempfile.TemporaryDirectory() as name, progress_bar() as progress:
        folder = Path(name)
        plan.extract(name)
        steps = zip(packages, commands, strict=True)
        for package, (tool, *arguments) in progress.track(
            steps, total=len(commands), description="bitstream"
        ):
            run_yowasp(package, *arguments, tool=tool, folder=folder)
        content = (folder / _NAME).with_suffix(board.family.suffix).read_bytes()
        log = (folder / _NAME).with_suffix(".tim").read_text()
        return content, json.loads((folder / _REPORT).read_text()), log


def reached_frequency(clocks: dict[str, dict[str, float]], needed: float) -> float:
    """Frequency of the design's only clock in nextpnr's report; ``UsageError`` if it is too low."""
    ((name, clock),) = clocks.items()
    if clock["achieved"] < needed:
        raise UsageError(
            f"timing is not met: clock {name} reaches {clock['achieved']:.1f} MHz, "
            f"and the board's has {needed:g} MHz"
        )
    return clock["achieved"]
