"""Run a compiled external core in its own process, because it may crash, exit or hang."""

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..tools.errors import ToolError
from ..tools.programs import started, time_limit
from ..trace import RESET, Columns, Interface, Trace
from . import isolated_server
from .engine import Plan

SECONDS = 60.0
"""Time limit of a window in seconds; only an endless loop in the core exceeds it."""


def window_limit(process: subprocess.Popen[bytes], cycles: int) -> AbstractContextManager[None]:
    """The time limit of a window of some cycles in a process."""
    return time_limit(process, SECONDS, f"an endless or combinational loop? {cycles} cycles")


@contextmanager
def isolated(library: Path, interface: Interface) -> Iterator["Isolated"]:
    """A simulation of a design in a shared library, at its first cycle after reset."""
    command = [sys.executable, "-I", "-S", isolated_server.__file__, str(library)]
    with tempfile.TemporaryFile(buffering=0) as printed:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": printed}
        # A core may read files of the current folder.
        with started(command, Path.cwd(), **pipes) as process:
            yield Isolated(process, printed, interface)


class Isolated:
    """A design in its own process; see :mod:`.isolated_server`."""

    def __init__(
        self, process: subprocess.Popen[bytes], printed: Any, interface: Interface
    ) -> None:
        self._process, self._printed, self._interface = process, printed, interface
        self.restart()

    def restart(self) -> None:
        """Begin a new simulation."""
        self._send(None)

    def _send(self, request: Any) -> None:
        assert self._process.stdin
        with suppress(BrokenPipeError):  # it has ended, which the reply will show
            pickle.dump(request, self._process.stdin)
            self._process.stdin.flush()

    def window(self, plan: Plan) -> Trace:
        """Simulate the cycles of a plan that is not exact."""
        columns = self._interface.columns(len(plan.gaps))
        levels = [of.tobytes() for of in (plan.gaps, plan.stalls, plan.resets)]
        request = (
            len(plan.gaps),
            levels,
            self._payloads(plan.items),
            plan.item_count,
            self._payloads(plan.idle),
            plan.idle_rows.tobytes(),
            [column.nbytes for column in columns.values()],
        )
        output = self._process.stdout
        assert output
        with window_limit(self._process, len(plan.gaps)):
            self._send(request)
            replies = self._reply(output)
        for column, reply in zip(columns.values(), replies, strict=True):
            column[...] = np.frombuffer(reply, column.dtype).reshape(column.shape)
        return Trace(self._interface, {RESET: plan.resets.view(np.uint8), **columns})

    def _payloads(self, columns: Columns) -> list[bytes]:
        return [columns[pin.name].tobytes() for pin in self._interface.inputs]

    def _reply(self, output: IO[bytes]) -> list[bytes]:
        try:
            replies: list[bytes] = pickle.load(output)
        except EOFError:
            raise ToolError(f"the core ended its simulation: {self._end_message()}") from None
        return replies

    def _end_message(self) -> str:
        """The error that the process printed, or its exit status."""
        self._process.communicate()  # waits, and closes the pipes
        self._printed.seek(0, os.SEEK_SET)
        lines = self._printed.read().decode(errors="replace").splitlines()
        errors = [line for line in lines if "rror" in line]
        return (errors or lines[-1:] or [f"exit status {self._process.returncode}"])[0]
