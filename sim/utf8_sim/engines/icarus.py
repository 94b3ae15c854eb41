"""The engine that interprets the generated Verilog with Icarus Verilog."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path

import numpy as np

from utf8_hdl import Decoder, Encoder

from ..tools.cache import built
from ..tools.errors import ToolError
from ..tools.programs import need, run_tool, started
from ..trace import DECODER, OBSERVED_BITS, Interface, Trace, bits
from .engine import UndefinedError
from .windowed import NATIVE, WindowedEngine

WINDOW = 2048
"""Cycles in one window: a tenth of a second."""

COLUMNS = (
    *("s_axis_tvalid", "s_axis_tdata", "s_axis_tlast", "m_axis_tready", "s_axis_tready"),
    *("m_axis_tvalid", "m_axis_tdata", "m_axis_tuser", "m_axis_tlast", "the state register"),
)
"""What ``native/icarus.v`` prints in each cycle."""

TDATA_HIGHEST = np.uint64((1 << OBSERVED_BITS["o.code_point"][1]) - 1)


class IcarusEngine(WindowedEngine):
    """The generated Verilog, interpreted; the only engine that knows undefined levels (x).

    Parameters
    ----------
    design : Decoder or Encoder
        What the Verilog describes.
    verilog : str
        Its module ``utf8_decoder`` or ``utf8_encoder``.
    language : str
        In which language it is read: ``2001``, ``2005``, ``2005-sv``, ``2009`` or ``2012``.

    Raises
    ------
    ToolError
        If Icarus Verilog is not installed, or does not take the Verilog.
    """

    name = "icarus"
    window = WINDOW

    def __init__(self, design: Decoder | Encoder, verilog: str, language: str = "2001") -> None:
        super().__init__(design)
        iverilog = need("iverilog", "Icarus Verilog")
        self._vvp = need("vvp", "Icarus Verilog")
        component = self.interface.component
        is_decoder = self.interface == DECODER
        width = design.profile.utf32_width
        macros = {
            "DESIGN": f"utf8_{component}",
            "WINDOW": WINDOW,
            "VALUE_BITS": 8 if is_decoder else width,
            "TDATA_BITS": width if is_decoder else 8,
            "TUSER_BITS": 8 if is_decoder else 1,
        }
        settings = [f"-D{name}={value}" for name, value in macros.items()]
        options = [f"-g{language}", "-s", "bench", *settings]

        def build(folder: Path) -> Path:
            (folder / "design.v").write_text(verilog)
            with resources.as_file(NATIVE) as native:
                files = ["-o", "design.vvp", str(native / "icarus.v"), "design.v"]
                run_tool([iverilog, *options, *files], folder=folder)
            return folder / "design.vvp"

        bench = (NATIVE / "icarus.v").read_bytes()
        version = run_tool([iverilog, "-V"])
        key: list[str | bytes] = [bench, *("icarus", verilog, *options, iverilog, version)]
        self._program = built(key, ".vvp", build)

    @contextmanager
    def start(self) -> Iterator["_Interpreted"]:
        command = [self._vvp, "-n", str(self._program)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with started(command, self._program.parent, **pipes) as process:
            yield _Interpreted(process, self.interface)


class _Interpreted:
    """A design in a process of its own; see ``native/icarus.v``."""

    def __init__(self, process: subprocess.Popen[bytes], interface: Interface) -> None:
        self._process = process
        self._interface = interface
        self._cycles = 0

    def window(
        self, values: np.ndarray, lasts: np.ndarray, gaps: np.ndarray, stalls: np.ndarray
    ) -> Trace:
        items = np.empty(len(values), dtype=[("last", "u1"), ("value", ">u8")])
        items["last"], items["value"] = lasts, values
        plan = gaps.astype(np.uint8) | stalls.astype(np.uint8) << 1
        header = np.array([len(plan), len(items)], dtype=">u4")
        output, stdin = self._process.stdout, self._process.stdin
        assert output
        assert stdin
        with suppress(BrokenPipeError):  # it has gone, as its output will show
            stdin.write(header.tobytes() + plan.tobytes() + items.tobytes())
            stdin.flush()
        cycles = [output.readline().split() for _ in range(len(plan))]
        for cycle, levels in enumerate(cycles, start=self._cycles):
            self._check(cycle, levels)
        self._cycles += len(cycles)
        return self._trace(cycles)

    def _check(self, cycle: int, levels: list[bytes]) -> None:
        if len(levels) != len(COLUMNS):
            said = b" ".join(levels).decode(errors="replace") or "nothing"
            raise ToolError(f"vvp stopped in cycle {cycle} and said {said}")
        for pin, level in zip(COLUMNS, levels, strict=True):
            if set(level.lower()) & set(b"xz"):
                raise UndefinedError(f"cycle {cycle}, {pin} is {level.decode()}")

    def _trace(self, cycles: list[list[bytes]]) -> Trace:
        columns = np.array([[int(level, 16) for level in levels] for levels in cycles], np.uint64)
        i_valid, value, last, ready, s_tready, m_tvalid, tdata, tuser, tlast, state = columns.T
        words = (
            np.minimum(tdata, TDATA_HIGHEST)
            | bits("o.error", tuser)  # and above it kind and length
            | bits("o.last", tlast)
            | bits("o.valid", m_tvalid)
            | bits("i.ready", s_tready)
        )
        item = value.astype(self._interface.item_type)
        i_valid, last, ready, state = (
            column.astype(np.uint8) for column in (i_valid, last, ready, state)
        )
        return Trace(self._interface, i_valid, item, last, ready, words, state)
