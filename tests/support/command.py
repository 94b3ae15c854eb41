"""The command `utf8-hdl`, run for a test: in this process or in one of its own."""

import copy
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from vcd.reader import tokenize

from rtl import BREAKS, BREAKS_OF_OTHER_RULES, broken
from utf8_flow.cli import session as cli
from utf8_sim.components import COMPONENTS, Component

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="needs /proc to look for processes"
)

COMMAND = str(Path(sys.executable).with_name("utf8-hdl"))


ENCODER = ["--component", "encoder"]
DESIGNS = {
    "decoder": ["--component", "decoder"],
    "compact decoder": ["--component", "decoder", "--compact"],
    "encoder": ENCODER,
    "compact encoder": [*ENCODER, "--compact"],
    "decoder, 4 lanes": ["--component", "decoder", "--lanes", "4"],
    "validator": ["--component", "validator"],
}
"""The options that choose each design."""


def each_design(*names: str) -> pytest.MarkDecorator:
    """Run a test with the options of each of some designs, of all if none is named."""
    chosen = names or tuple(DESIGNS)
    return pytest.mark.parametrize("options", [DESIGNS[name] for name in chosen], ids=chosen)


both_commands = pytest.mark.parametrize("command", ["simulate", "compare"])


class Run(NamedTuple):
    status: int
    out: Any  # text, or bytes
    err: str


def run(*arguments: object) -> Run:
    """The command, in this process."""
    result = run_for_bytes(*arguments)
    return result._replace(out=result.out.decode())


def run_for_bytes(*arguments: object) -> Run:
    """The command, in this process, and the bytes of its standard output, text or not."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline=""), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = cli.main([str(argument) for argument in arguments])
    out.flush()
    return Run(status, out.buffer.getvalue(), err.getvalue())


def in_hex(texts: list[bytes]) -> str:
    """Texts, as `--hex` takes them."""
    return " / ".join(text.hex(" ") for text in texts)


def told(*arguments: object) -> list[dict]:
    """What the command tells of every token or byte."""
    result = run("simulate", *arguments, "--tokens", "-")
    assert result.status == 0
    assert "agree" in result.err
    return [json.loads(line) for line in result.out.splitlines()]


def run_process(*arguments: object, **options) -> subprocess.CompletedProcess:
    """The command, in a process of its own."""
    command = [COMMAND, *map(str, arguments)]
    return subprocess.run(command, stderr=subprocess.PIPE, timeout=300, check=False, **options)


def in_shell(line: str, **options) -> subprocess.CompletedProcess:
    """A line of a shell that finds the command of this environment; it must succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        env={**os.environ, "PATH": path}, check=False, capture_output=True, **options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def printed_command(result: Run) -> list[str]:
    [line] = [line for line in result.out.splitlines() if line.startswith("utf8-hdl ")]
    name, *arguments = shlex.split(line)
    assert name == "utf8-hdl"
    return arguments


def assert_shown_again(result: Run) -> list[str]:
    """What is printed is run, and shows a difference on the same side; so does the stimulus.

    Its difference is the very one that was printed last.
    """
    assert result.status == 1
    arguments = printed_command(result)
    design = arguments[1 : arguments.index("--engine") + 2]
    replayed = run("simulate", *design, "--stimulus", "difference.json")
    difference = r"(?:DIFFERENCE|in the shortest input): (.*)"
    assert re.search(difference, replayed.out)[1] == re.findall(difference, result.out)[-1]
    again = run(*arguments)
    assert again.status == 1
    side = r"DIFFERENCE: cycle \d+, pin ([io])\."
    assert re.search(side, again.out)[1] == re.search(side, result.out)[1]
    if "--stimulus" not in arguments:  # a replay looks for nothing shorter
        assert len(printed_command(again)) <= len(arguments)
    return arguments


def paste(line: str) -> None:
    """Try an example: in this process, unless it is more than a command."""
    program, *arguments = shlex.split(line)
    if "|" in line:
        in_shell(line)
    else:
        assert program == "utf8-hdl"
        assert run(*arguments).status == 0


def narrow(line: str, most: int) -> str:
    """An example with at most so many lanes: wide designs take minutes, and show nothing more."""
    return re.sub(r"--lanes (\d+)", lambda lanes: f"--lanes {min(int(lanes[1]), most)}", line)


def names(folder: Path) -> set[str]:
    """What is in a folder."""
    return {path.name for path in folder.iterdir()}


def squeezed(text: str) -> list[str]:
    """Its lines, with one blank where there are more."""
    return [" ".join(line.split()) for line in text.splitlines()]


def assert_refused(result: Run, named: str) -> None:
    """Exit status 2, one line that says what is wrong, and nothing else."""
    assert result.status == 2
    assert result.out == ""
    assert result.err.startswith("utf8-hdl: ")
    assert result.err.endswith("\n")
    assert result.err.count("\n") == 1
    assert named in result.err


def assert_no_traceback(err: bytes) -> None:
    assert b"Traceback" not in err
    assert b"Exception" not in err


def assert_is_waveform(path: str) -> None:
    with open(path, "rb") as file:
        assert list(tokenize(file))


class Process:
    """The command in a process group of its own, as a terminal would start it."""

    def __init__(self, *arguments: object, **environment: str) -> None:
        self._mark = f"{os.getpid()}-{time.monotonic_ns()}"
        self.process = subprocess.Popen(
            [COMMAND, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | environment | {"UTF8_HDL_TEST": self._mark},
        )

    def alive(self) -> dict[int, bytes]:
        """The process and all that descend from it, with their commands."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if self._mark.encode() in (folder / "environ").read_bytes():
                    found[int(folder.name)] = (folder / "cmdline").read_bytes()
            except OSError:  # it is somebody else's, or has just ended
                continue
        return found

    def find(self, program: str) -> int:
        """The process that runs a program, once it does."""
        name = program.encode()
        found: list[int] = []

        def runs() -> bool:
            found.extend(pid for pid, command in self.alive().items() if name in command)
            return bool(found)

        wait_until(runs)
        return found[0]

    def workers(self) -> list[int]:
        return [pid for pid, command in self.alive().items() if b"spawn_main" in command]

    def wait_for_workers(self) -> list[int]:
        """All of them, at work: they leave interrupts to their parent."""
        cores = len(os.sched_getaffinity(0))
        wait_until(lambda: sum(map(_blocks_interrupts, self.workers())) == cores)
        return self.workers()

    def interrupt(self, group: bool = True) -> None:
        if group:
            os.killpg(self.process.pid, signal.SIGINT)
        else:
            self.process.send_signal(signal.SIGINT)

    def end(self) -> tuple[int, str, str]:
        """Its exit status and outputs, once it has ended by itself and left no process.

        How far it has come is not among them: that depends on how fast the machine is.
        """
        out, err = self.process.communicate(timeout=60)
        wait_until(lambda: not self.alive(), seconds=10)
        return self.process.returncode, out, re.sub("^utf8-hdl: working: .*\n", "", err, flags=re.M)

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_error: object) -> None:
        for pid in self.alive():
            os.kill(pid, signal.SIGKILL)
        self.process.communicate()


def wait_until(holds, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def _blocks_interrupts(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    mask = int(re.search(r"SigBlk:\s*(\w+)", status)[1], 16)
    return bool(mask >> (signal.SIGINT - 1) & 1)


def changed_entry(component: Component, **members: Any) -> Component:
    """An entry with other members."""
    changed = copy.copy(component)
    vars(changed).update(members)
    return changed


def replace_design(monkeypatch: Any, component: str, make: Callable[..., Any]) -> None:
    """Let a component be something else, for the rest of a test."""
    changed = changed_entry(COMPONENTS[component], make=make)
    monkeypatch.setitem(COMPONENTS, component, changed)


def break_design(monkeypatch: Any, name: str) -> list[str]:
    """Break a design, for the rest of a test; the options that choose it."""
    plain = name.removeprefix("compact: ")
    component = "decoder" if plain in BREAKS | BREAKS_OF_OTHER_RULES else "encoder"
    replace_design(monkeypatch, component, lambda *_, **__: broken(name))
    return ["--component", component, *(["--compact"] if plain != name else [])]
