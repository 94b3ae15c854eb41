"""The engine that interprets the generated Verilog with Icarus Verilog."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from utf8_hdl.axi import module_name

from ..stimulus import LAST
from ..tools.cache import built
from ..tools.errors import ToolError
from ..tools.programs import need, run_tool, started
from ..trace import RESET, Columns, Interface, Trace
from .engine import NATIVE, Engine, Plan, UndefinedError
from .isolated import window_limit
from .ports import Place, axi_places
from .sources import Sources

WINDOW = 2048
"""Number of cycles in a window: simulated in about a tenth of a second."""

FIELD = 64
"""Bits for each field of an item in the data sent to the simulator."""

STATE = "state"

MARK = "utf8-hdl:"
"""Begins a line of levels; a core may print others."""


class IcarusEngine(Engine):
    """Verilog with AXI4-Stream ports, interpreted; the only engine that simulates X and Z."""

    name = "icarus"
    window = WINDOW

    def __init__(self, design: Any, verilog: str, sources: Sources | None = None) -> None:
        super().__init__(design)
        iverilog = need("iverilog", "Icarus Verilog")
        self._vvp = need("vvp", "Icarus Verilog")
        self._bench = _Bench(design, self.interface, is_ours=sources is None)
        ports = self._bench.ports_vh(sources.module if sources else module_name(design))
        item_bits = FIELD * len(self._bench.driven)
        settings = [f"-DWINDOW={WINDOW}", f"-DITEM_BITS={item_bits}"]
        language = "-g2001"
        if sources:
            language = "-g2012" if sources.is_system_verilog else "-g2005"
        options = [language, "-s", "bench", "-I", ".", *settings]

        def build(folder: Path) -> Path:
            (folder / "design.v").write_text(verilog)
            (folder / "ports.vh").write_text(ports)
            with resources.as_file(NATIVE) as native:
                files = ["-o", "design.vvp", str(native / "icarus.v"), "design.v"]
                files += sources.write(folder) if sources else []
                run_tool([iverilog, *options, *files], folder=folder)
            return folder / "design.vvp"

        bench = (NATIVE / "icarus.v").read_bytes()
        version = run_tool([iverilog, "-V"])
        key: list[str | bytes] = [bench, *("icarus", verilog, ports, *options, iverilog, version)]
        key += sources.key if sources else []
        self._program = built(key, ".vvp", build)

    @contextmanager
    def start(self) -> Iterator["_Interpreted"]:
        command = [self._vvp, "-n", str(self._program)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        # Another core may read files of the current folder.
        folder = self._program.parent if self._bench.is_ours else Path.cwd()
        with started(command, folder, **pipes) as process:
            yield _Interpreted(process, self._bench)


class _Bench:
    """The test bench around a module: the pins that it drives and prints in each cycle."""

    def __init__(self, design: Any, interface: Interface, *, is_ours: bool) -> None:
        self._interface = interface
        self.is_ours = is_ours
        self.printed = axi_places(design, interface)
        self.driven = [place for place in self.printed if place.pin in interface.inputs]
        # The pins that are don't cares while no output is valid, and the index of `o.valid`.
        self.offered = {place for place in self.printed if place.pin in interface.outputs}
        [self.valid] = (n for n, p in enumerate(self.printed) if p.pin.name == "o.valid")

    def ports_vh(self, module: str) -> str:
        """The Verilog that ``native/icarus.v`` uses to access a module's ports."""
        names = {"s_axis_tvalid": "valid", "m_axis_tready": "ready", "s_axis_tready": "s_tready"}
        widths = {place.port: place.lowest + place.width for place in self.printed}
        wires = [port for port in widths if port not in names and port != STATE]
        lines = [f"wire [{widths[port] - 1}:0] {port};" for port in wires]
        for number, place in enumerate(self.driven):
            low = FIELD * (len(self.driven) - 1 - number)
            lines.append(f"assign {_bits(place)} = fields[{low} +: {place.width}];")
        connected = [f".{port}({names.get(port, port)})" for port in ["clk", "rst", *wires, *names]]
        lines.append(f"{module} dut ({', '.join(connected)});")
        shown = [
            _bits(place) if place.port in wires else names.get(place.port, f"dut.{place.port}")
            for place in self.printed
        ]
        form = " ".join([MARK, *["%h"] * len(shown)])
        lines.append(f'task show; $display("{form}", {", ".join(shown)}); endtask')
        return "\n".join([*lines, ""])

    def trace(self, cycles: list[list[bytes]], resets: np.ndarray) -> Trace:
        """The printed levels as a trace."""
        columns = self._interface.columns(len(cycles))
        for place, levels in zip(self.printed, zip(*cycles, strict=True), strict=True):
            column = columns[place.pin.name].reshape(len(cycles), -1)
            column[:, place.number] = [int(level, 16) for level in levels]
        return Trace(self._interface, {RESET: resets.astype(np.uint8), **columns})


def _bits(place: Place) -> str:
    return f"{place.port}[{place.lowest + place.width - 1}:{place.lowest}]"


class _Interpreted:
    """A design in a separate process; see ``native/icarus.v``."""

    def __init__(self, process: subprocess.Popen[bytes], bench: _Bench) -> None:
        self._process = process
        self._bench = bench
        self._cycles = 0
        self._printed = b""  # the last line without levels

    def window(self, plan: Plan) -> Trace:
        flags = plan.gaps | plan.stalls << 1 | plan.resets << 2 | (plan.idle_rows < 0) << 3
        header = np.array([len(plan.gaps), plan.item_count | plan.exact << 31], dtype=">u4")
        sent = [header, flags.astype(np.uint8), self._fields(plan.idle)[plan.idle_rows]]
        sent.append(self._fields(plan.items))
        count = len(plan.gaps)
        with nullcontext() if self._bench.is_ours else window_limit(self._process, count):
            self._send(b"".join(part.tobytes() for part in sent))
            cycles = [self._levels() for _ in range(count)]
            resets = plan.resets.tolist()
            for number, levels in enumerate(cycles):
                self._define(self._cycles + number, levels, resets[number])
        self._cycles += len(cycles)
        return self._bench.trace(cycles, plan.resets)

    def _send(self, data: bytes) -> None:
        stdin = self._process.stdin
        assert stdin
        with suppress(BrokenPipeError):  # it has ended, which its output will show
            stdin.write(data)
            stdin.flush()

    def _levels(self) -> list[bytes]:
        """The levels of the next cycle, or the last line of a process that has ended."""
        output = self._process.stdout
        assert output
        while line := output.readline():
            _, mark, levels = line.rpartition(MARK.encode())
            if mark:
                return levels.split()
            self._printed = line
        return self._printed.split()

    def _fields(self, columns: Columns) -> np.ndarray:
        """Payloads in the format of ``native/icarus.v``."""
        driven = self._bench.driven
        rows = len(columns[LAST])
        fields = np.empty((rows, len(driven)), dtype=">u8")
        for column, (pin, number, *_) in enumerate(driven):
            fields[:, column] = columns[pin.name].reshape(rows, len(pin.parts))[:, number]
        return fields

    def _define(self, cycle: int, levels: list[bytes], in_reset: bool) -> None:
        """Raise an error for X and Z; replace them with zero in don't cares."""
        printed = self._bench.printed
        if len(levels) != len(printed):
            message = b" ".join(levels).decode(errors="replace") or "none"
            raise ToolError(f"vvp stopped in cycle {cycle}; its output: {message}")
        is_idle = levels[self._bench.valid] == b"0"
        for number, (place, level) in enumerate(zip(printed, levels, strict=True)):
            if set(level.lower()) & set(b"xz"):
                # Other cores may need a reset before their outputs have levels.
                is_exempt = in_reset and not self._bench.is_ours
                if is_exempt or (is_idle and place in self._bench.offered):
                    levels[number] = b"0"
                    continue
                name = "the state register" if place.pin.name == STATE else place.port
                raise UndefinedError(f"cycle {cycle}, {name} is {level.decode()}")
