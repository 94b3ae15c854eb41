"""Hook that runs first in each Python process of a command that a test starts (`command.Process`).

All descendants inherit a pipe; when it is closed, all of them have ended. The hook sends signals to
the command at chosen events: an audit event of Python, the start of a program, or the start of
Python. An interrupt is sent to the whole process group, as from a terminal.
"""

import _posixsubprocess
import math
import os
import re
import signal
import sys
from pathlib import Path

_HERE = os.path.dirname(__file__)
_PIPE = int(os.environ["TEST_PIPE"])
_COMMAND = int(os.environ.setdefault("TEST_COMMAND", str(os.getpid())))
_SIGNALS = Path(os.environ["TEST_SIGNALS"])
_fork_exec = _posixsubprocess.fork_exec


class _Signal:
    """A signal that one of the processes sends to the command, after the signals before it."""

    def __init__(self, file: Path, before: "list[_Signal]") -> None:
        number, self.event, pattern = file.read_text().split(" ", 2)
        self.number, self._pattern = int(number), re.compile(pattern)
        self.target = -_COMMAND if self.number == signal.SIGINT else _COMMAND
        self._file, self._before = file, before

    def is_due(self, subject: str) -> bool:
        """True once, at the event. The process that removes the file sends the signal."""
        if not self._pattern.search(subject) or any(each._file.exists() for each in self._before):
            return False
        try:
            self._file.unlink()
        except FileNotFoundError:
            return False
        return True


def _signals() -> "list[_Signal]":
    found: list[_Signal] = []
    for file in sorted(_SIGNALS.iterdir()):
        try:
            found.append(_Signal(file, found[:]))
        except FileNotFoundError:  # it has just been sent
            continue
    return found


def _audit(event: str, arguments: tuple) -> None:
    if os.getpid() == _COMMAND and (interrupts := sys.modules.get("utf8_sim.tools.interrupts")):
        interrupts.PATIENCE = math.inf  # cleanup may take long on a loaded machine
    for each in audited:
        if event == each.event and each.is_due(str(arguments[0])):
            os.kill(each.target, each.number)


def _start(command, programs, close, descriptors, *rest):
    """Start a program, or replace it by one that sends the signal and then never ends."""
    line = " ".join(map(os.fsdecode, command))
    for each in started:
        if each.is_due(line):
            script = f"kill -{each.number} {each.target} || exit; tail -f /dev/null & wait"
            command, programs = ["sh", "-c", script], [b"/bin/sh"]
    return _fork_exec(command, programs, close, tuple(sorted({*descriptors, _PIPE})), *rest)


_posixsubprocess.fork_exec = _start
if "subprocess" in sys.modules:
    sys.modules["subprocess"]._fork_exec = _start
all_signals = _signals()
started = [each for each in all_signals if each.event == "program"]
if audited := [each for each in all_signals if each.event not in ("program", "python")]:
    sys.addaudithook(_audit)
for each in all_signals:
    if each.event == "python" and each.is_due(" ".join(sys.orig_argv)):
        os.kill(each.target, each.number)

for folder in sys.path:  # a test may have one, too
    other = Path(folder, "sitecustomize.py")
    if folder and folder != _HERE and other.is_file():
        exec(compile(other.read_text(), other, "exec"), {"__name__": "sitecustomize"})
        break
