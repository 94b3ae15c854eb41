"""Run ABC, the prover, on circuits."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from importlib import resources
from pathlib import Path

from utf8_sim.tools.errors import ToolError
from utf8_sim.tools.programs import LONGEST_MESSAGE, run_tool, started

from .circuit import Circuit

PACKAGE = "pyosys"
"""The PyPI package that contains ABC and Yosys."""


HEAD_START = 5.0
"""Seconds after which a search begins. Most proofs are done by then."""

LOWER_PRIORITY = 10
"""Niceness of a search. On a busy machine, it takes a tenth of the core of the parallel proof."""


def ask_abc(
    circuit: Circuit,
    commands: str,
    result: str | None = None,
    seconds: float | None = None,
    is_over: Callable[[], bool] | None = None,
) -> tuple[str, bytes]:
    """Run ABC on a circuit, and return its output and the contents of the file ``result``.

    The contents are empty if ABC writes no such file. After ``seconds``, ABC is stopped and
    `OutOfTime` is raised. ABC is also stopped when ``is_over``, which is called repeatedly, returns
    true; the output is then empty.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        answer = run_tool(
            _call(circuit, commands, folder), folder, seconds=seconds, is_over=is_over
        )
        if "Error" in answer:
            raise ToolError(f"yosys-abc failed: {' '.join(answer.split())[:LONGEST_MESSAGE]}")
        written = folder / result if result else None
        return answer, written.read_bytes() if written and written.exists() else b""


def _call(circuit: Circuit, commands: str, folder: Path) -> list[str]:
    """Write a circuit to a folder; return the command line that runs ABC on it."""
    abc = Path(str(resources.files(PACKAGE))) / "yosys-abc"
    (folder / "circuit.aig").write_bytes(circuit.file())
    ties = [f"&cof -V {number} -C {level}; " for number, level in circuit.levels]
    return [str(abc), "-q", f"&r circuit.aig; {''.join(ties)}&put; strash; {commands}"]


class Search:
    """A search for a counterexample of growing length, parallel to a proof. A context manager.

    It runs in a separate process with lower priority, which starts after :data:`HEAD_START`.

    ``found`` is the counterexample, in the format of ABC; empty if none is found.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.found = b""
        self._circuit = circuit
        self._begin = time.monotonic() + HEAD_START
        self._stack = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Search":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def is_over(self) -> bool:
        """True if a counterexample is found.

        The first call after the head start starts the search.
        """
        if self._process is None:
            if time.monotonic() < self._begin:
                return False
            self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
            call = _call(self._circuit, "scorr; dc2; bmc3 -c; write_cex -a found", self._folder)
            silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
            self._process = self._stack.enter_context(started(call, self._folder, **silent))
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, LOWER_PRIORITY)
        file = self._folder / "found"
        if self._process.poll() == 0 and file.exists():
            self.found = file.read_bytes()
        return bool(self.found)
