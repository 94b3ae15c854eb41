"""Signs of life: what long work prints where no person looks at a terminal."""

import io
import sys
import threading
from contextlib import redirect_stderr
from itertools import count

import pytest
from rich.progress import Progress

from command import both_commands, run, wait_until
from utf8_flow import terminal
from utf8_flow.verify import engines, proofs
from utf8_sim.engines.amaranth import AmaranthEngine


@pytest.fixture
def slow_machine(monkeypatch):
    """All takes long."""
    monkeypatch.setattr(terminal, "FIRST_LINE", 0.0)
    monkeypatch.setattr(terminal, "NEXT_LINE", 0.001)


def wait_for_line(line: str) -> None:
    wait_until(lambda: f"utf8-hdl: working: {line}\n" in sys.stderr.getvalue())


@pytest.mark.usefixtures("slow_machine")
def test_lines_say_how_far_the_work_has_come():
    with redirect_stderr(io.StringIO()) as err:
        threads = set(threading.enumerate())
        with terminal.progress_bar() as progress:
            task = progress.add_task("tools", total=None)
            wait_for_line("tools")
            progress.update(task, description="[synthesis]", total=4)
            wait_for_line("[synthesis], 0%")
            progress.advance(task, 3)
            wait_for_line("[synthesis], 75%")
        assert set(threading.enumerate()) <= threads
    assert {line.partition(",")[0] for line in err.getvalue().splitlines()} == {
        "utf8-hdl: working: tools",
        "utf8-hdl: working: [synthesis]",
    }


def test_a_line_says_how_long_the_rest_will_take():
    seconds = count()
    progress = Progress(disable=True, get_time=lambda: float(next(seconds)))
    task = progress.add_task("proving", total=1000)
    for _ in range(10):
        progress.advance(task)
    assert terminal._state(progress.tasks[0]) == "proving, 1%, about 0:16:30 left"


@pytest.mark.usefixtures("slow_machine")
def test_a_terminal_has_a_bar_and_no_lines(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(terminal, "_lines", lambda _: pytest.fail("lines on a terminal"))
    with redirect_stderr(io.StringIO()), terminal.progress_bar() as progress:
        assert not progress.disable


class SlowEngine(AmaranthEngine):
    """Does not go on before the command has said what it does."""

    line = ""

    def run(self, stimulus):
        wait_for_line(self.line)
        yield from super().run(stimulus)


@pytest.mark.usefixtures("slow_machine")
@both_commands
def test_a_long_simulation_shows_life_on_standard_error_only(folder, monkeypatch, command):
    line = "text.txt, full rate, 0%"
    monkeypatch.setattr(SlowEngine, "line", line)
    monkeypatch.setitem(engines.ENGINES, "amaranth", SlowEngine)
    result = run(command, "text.txt", "--engine", "amaranth")
    assert result.status == 0
    assert f"utf8-hdl: working: {line}\n" in result.err
    assert "working" not in result.out
    assert all(row.startswith("utf8-hdl: working: ") for row in result.err.splitlines())


@pytest.mark.usefixtures("slow_machine")
def test_a_long_proof_shows_life(monkeypatch):
    pytest.importorskip("pyosys", reason="pyosys is not installed")

    def attempt(goal, attempt=proofs.attempt, **options):
        wait_for_line("proving, 0%")
        return attempt(goal, **options)

    monkeypatch.setattr(proofs, "attempt", attempt)
    only = ["--component", "encoder", "--profile", "ucs2", "--property", "rate"]
    assert run("prove", *only).status == 0
