"""Run the command `utf8-hdl` in this process or in a separate one."""

import copy
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest
from vcd.reader import tokenize

from rtl import BREAKS, BREAKS_OF_OTHER_RULES, broken
from utf8_flow.cli import session as cli
from utf8_sim.components import COMPONENTS, Component

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
    """Run a test with the options of each design; by default, of all designs."""
    chosen = names or tuple(DESIGNS)
    return pytest.mark.parametrize("options", [DESIGNS[name] for name in chosen], ids=chosen)


both_commands = pytest.mark.parametrize("command", ["simulate", "compare"])


class Run(NamedTuple):
    status: int
    out: Any  # text, or bytes
    err: str


def run(*arguments: object) -> Run:
    """Run the command in this process."""
    result = run_for_bytes(*arguments)
    return result._replace(out=result.out.decode())


def run_for_bytes(*arguments: object) -> Run:
    """Run the command in this process; its standard output is returned as bytes."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline=""), io.StringIO()
    with signals_of_pytest(), redirect_stdout(out), redirect_stderr(err):
        status = cli.main([str(argument) for argument in arguments])
    out.flush()
    return Run(status, out.buffer.getvalue(), err.getvalue())


def output_of(*arguments: object, status: int = 0) -> str:
    """Standard output of the command; it ends with this status and prints no message."""
    result = run(*arguments)
    assert (result.status, result.err) == (status, "")
    return result.out


@contextmanager
def signals_of_pytest() -> Iterator[None]:
    """Make signals end pytest, not only a command in this process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def interrupt(number: int, _frame: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with mock.patch.object(cli, "one_interrupt", nullcontext):
            yield
    finally:
        signal.signal(signal.SIGINT, before)
    if received:
        raise KeyboardInterrupt


def in_hex(texts: list[bytes]) -> str:
    """Texts in the format of `--hex`."""
    return " / ".join(text.hex(" ") for text in texts)


def told(*arguments: object) -> list[dict]:
    """The tokens or bytes that the command writes."""
    result = run("simulate", *arguments, "--tokens", "-")
    assert result.status == 0
    assert "agree" in result.err
    return [json.loads(line) for line in result.out.splitlines()]


def conform(*words: object) -> tuple[Run, dict[str, dict]]:
    """The result of the command, and the scorecard's rows by rule."""
    result = run("conform", *words, "--json", "card.json")
    card = json.loads(Path("card.json").read_text())
    assert card["passed"] == (result.status == 0)
    return result, {row["rule"]: row for row in card["rules"]}


def failed(rows: dict[str, dict]) -> set[str]:
    """The rules that a core breaks."""
    return {name for name, row in rows.items() if row["verdict"] == "fail"}


def in_shell(
    line: str, *, check: bool = True, encoding: str = "utf-8", **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a shell command with the command of this environment in PATH; it must succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        env={**os.environ, "PATH": path}, check=False, capture_output=True,
        encoding=encoding, errors="surrogateescape", **options,
    )  # fmt: skip
    assert done.returncode == 0 or not check, done.stderr
    return done


def run_in_shell(line: str) -> Run:
    """Run a shell command as `in_shell` does, with any exit status."""
    done = in_shell(line, check=False)
    return Run(done.returncode, done.stdout, done.stderr)


def printed_command(result: Run) -> list[str]:
    [line] = [line for line in result.out.splitlines() if line.startswith("utf8-hdl ")]
    name, *arguments = shlex.split(line)
    assert name == "utf8-hdl"
    return arguments


def assert_shown_again(result: Run) -> list[str]:
    """The printed command and the stimulus reproduce the difference.

    The stimulus shows the difference that was printed last. The command shows a difference on the
    same side of the design.
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
    """Run an example: in this process, unless it is a pipeline."""
    program, *arguments = shlex.split(line)
    if "|" in line:
        in_shell(line)
    else:
        assert program == "utf8-hdl"
        assert run(*arguments).status == 0


def narrow(line: str, most: int) -> str:
    """An example with at most ``most`` lanes: wider designs take minutes without testing more."""
    return re.sub(r"--lanes (\d+)", lambda lanes: f"--lanes {min(int(lanes[1]), most)}", line)


def names(folder: Path) -> set[str]:
    """The names of a folder's entries."""
    return {path.name for path in folder.iterdir()}


def squeezed(text: str) -> list[str]:
    """The lines of a text, with runs of spaces reduced to one."""
    return [" ".join(line.split()) for line in text.splitlines()]


def assert_refused(result: Run, named: str) -> None:
    """Exit status 2 and one line on standard error, which contains ``named``; nothing else."""
    assert result.status == 2
    assert result.out == ""
    assert result.err.startswith("utf8-hdl: ")
    assert result.err.endswith("\n")
    assert result.err.count("\n") == 1
    assert named in result.err


def assert_no_traceback(err: str) -> None:
    assert "Traceback" not in err
    assert "Exception" not in err


def assert_is_waveform(path: str) -> None:
    with open(path, "rb") as file:
        assert list(tokenize(file))


HOOKS = Path(__file__).parent / "hooks"


class Process:
    """The command in its own process group, as a terminal would start it.

    Each of ``signals`` is sent to it at an event: its number, the name of an audit event, and a
    pattern for the event's first argument. The event ``python`` is the start of a Python process,
    and ``program`` is the start of any program, both with a pattern for the command line. The
    program is replaced by one that never ends.
    """

    def __init__(
        self, *arguments: object, signals: Iterable[tuple[int, str, str]] = (), **environment: str
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        for number, (signal_number, event, pattern) in enumerate(signals):
            file = Path(self._folder.name, str(number))
            file.write_text(f"{int(signal_number)} {event} {pattern}")
        others = environment.get("PYTHONPATH") or os.environ.get("PYTHONPATH")
        self._pipe, inherited = os.pipe()
        own = {
            "PYTHONPATH": os.pathsep.join(filter(None, [str(HOOKS), others])),
            "TEST_PIPE": str(inherited),
            "TEST_SIGNALS": self._folder.name,
        }
        self.process = subprocess.Popen(
            [COMMAND, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            pass_fds=[inherited],
            env=os.environ | environment | own,
        )
        os.close(inherited)

    def send(self, number: int) -> None:
        """Send a signal: an interrupt to the process group, as a terminal does."""
        os.kill(-self.process.pid if number == signal.SIGINT else self.process.pid, number)

    def end(self) -> tuple[int, str, str]:
        """Its exit status and outputs, when it and all its descendants have ended.

        Progress lines are left out: they depend on the speed of the machine.
        """
        out, err = self.process.communicate()
        assert names(Path(self._folder.name)) == set(), "no such event"
        self.wait_for_descendants()
        return self.process.returncode, out, re.sub("^utf8-hdl: working: .*\n", "", err, flags=re.M)

    def wait_for_descendants(self) -> None:
        assert os.read(self._pipe, 1) == b""

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()
        os.close(self._pipe)
        self._folder.cleanup()


def changed_entry(component: Component, **members: Any) -> Component:
    """A copy of a component's entry with changed members."""
    changed = copy.copy(component)
    vars(changed).update(members)
    return changed


def edit_component(monkeypatch: Any, component: str, **members: Any) -> None:
    """Edit members of a component's entry, such as its design, for the rest of a test."""
    changed = changed_entry(COMPONENTS[component], **members)
    monkeypatch.setitem(COMPONENTS, component, changed)


def break_design(monkeypatch: Any, name: str) -> list[str]:
    """Break a design for the rest of a test; return the options that select it."""
    plain = name.removeprefix("compact: ")
    component = "decoder" if plain in BREAKS | BREAKS_OF_OTHER_RULES else "encoder"
    edit_component(monkeypatch, component, make=lambda *_, **__: broken(name))
    return ["--component", component, *(["--compact"] if plain != name else [])]
