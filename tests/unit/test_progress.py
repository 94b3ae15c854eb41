"""Tests of the progress of long commands: a bar on a terminal, lines elsewhere."""

import io
import threading
from contextlib import redirect_stderr
from itertools import count

import pytest
from rich.progress import Progress

from command import both_commands, run
from utf8_flow import terminal
from utf8_flow.verify import engines, proofs
from utf8_sim.engines.amaranth import AmaranthEngine


class Lines:
    """The progress lines; events let tests wait for them."""

    def __init__(self) -> None:
        self._printed: dict[str, threading.Event] = {}

    def event(self, line: str) -> threading.Event:
        return self._printed.setdefault(line, threading.Event())

    def wait_for(self, text: str) -> None:
        self.event(f"utf8-hdl: working: {text}").wait()


@pytest.fixture
def lines(monkeypatch) -> Lines:
    """The progress lines of commands, which print a line every millisecond."""
    printed, say = Lines(), terminal.say

    def say_and_note(show, line, style=""):
        say(show, line, style)
        printed.event(line).set()

    monkeypatch.setattr(terminal, "say", say_and_note)
    monkeypatch.setattr(terminal, "FIRST_LINE", 0.0)
    monkeypatch.setattr(terminal, "NEXT_LINE", 0.001)
    return printed


def test_lines_show_task_and_percentage(lines):
    with redirect_stderr(io.StringIO()) as err:
        threads = set(threading.enumerate())
        with terminal.progress_bar() as progress:
            task = progress.add_task("tools", total=None)
            lines.wait_for("tools")
            progress.update(task, description="[synthesis]", total=4)
            lines.wait_for("[synthesis], 0%")
            progress.advance(task, 3)
            lines.wait_for("[synthesis], 75%")
        assert set(threading.enumerate()) <= threads
    tasks = {line.partition(",")[0] for line in err.getvalue().splitlines()}
    assert tasks == {f"utf8-hdl: working: {task}" for task in ("tools", "[synthesis]")}


def test_line_shows_remaining_time():
    seconds = count()
    progress = Progress(disable=True, get_time=lambda: float(next(seconds)))
    task = progress.add_task("proving", total=1000)
    for _ in range(10):
        progress.advance(task)
    assert terminal._state(progress.tasks[0]) == "proving, 1%, about 0:16:30 left"


def test_terminal_has_a_bar_and_no_lines(lines, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(terminal, "_lines", lambda _: pytest.fail("lines on a terminal"))
    with redirect_stderr(io.StringIO()), terminal.progress_bar() as progress:
        assert not progress.disable


@both_commands
def test_simulation_reports_progress_on_standard_error(folder, lines, monkeypatch, command):
    line = "text.txt, full rate, 0%"

    class SlowEngine(AmaranthEngine):
        def run(self, stimulus):
            lines.wait_for(line)
            yield from super().run(stimulus)

    monkeypatch.setitem(engines.ENGINES, "amaranth", SlowEngine)
    result = run(command, "text.txt", "--engine", "amaranth")
    assert result.status == 0
    assert f"utf8-hdl: working: {line}\n" in result.err
    assert "working" not in result.out
    assert all(row.startswith("utf8-hdl: working: ") for row in result.err.splitlines())


def test_proof_reports_progress(lines, monkeypatch):
    pytest.importorskip("pyosys", reason="pyosys is not installed")

    def attempt(goal, attempt=proofs.attempt, **options):
        lines.wait_for("proving, 0%")
        return attempt(goal, **options)

    monkeypatch.setattr(proofs, "attempt", attempt)
    only = ["--component", "encoder", "--profile", "ucs2", "--property", "rate"]
    assert run("prove", *only).status == 0
