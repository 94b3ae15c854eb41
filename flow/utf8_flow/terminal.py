"""Terminal output of the commands: consoles, progress and lines of reports."""

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, TextIO

from utf8_sim.tools.interrupts import defer_interrupts

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, Task
    from rich.text import Text

FIRST_LINE = 5.0
"""Seconds before the first progress line, without a terminal."""

NEXT_LINE = 60.0
"""Seconds between later progress lines."""

DEFAULT_WIDTH = 80

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


class VerificationFailed(Exception):
    """The hardware failed verification. The report is already printed."""


class Interrupted(Exception):
    """A run was interrupted. Its progress is already printed."""


def visible(text: str) -> str:
    """Escape non-printable characters: the result is one line and cannot control a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def console(file: TextIO) -> "Console":
    """A console on a stream. At a width of 0 (`COLUMNS=0`), Rich would print nothing."""
    from rich.console import Console  # noqa: PLC0415 - help and errors need no Rich

    made = Console(file=file, highlight=False)
    if not made.width:
        made.width = DEFAULT_WIDTH
    return made


def report_console(outputs: dict[str, str | None] | None = None) -> "Console":
    """The console of the report: standard output, or standard error if data is written there."""
    return console(sys.stderr if outputs and "-" in outputs.values() else sys.stdout)


@contextmanager
def progress_bar() -> Iterator["Progress"]:
    """A progress bar on standard error; without a terminal, progress lines if work takes long."""
    from rich import progress as rich  # noqa: PLC0415 - slow, and not always needed

    show = console(sys.stderr)
    bar = show.is_interactive
    description = rich.TextColumn("{task.description}", markup=False)
    columns = description, rich.BarColumn(), rich.TaskProgressColumn(), rich.TimeRemainingColumn()
    progress = rich.Progress(*columns, console=show, transient=True, disable=not bar)
    with ExitStack() as stack:
        with defer_interrupts():  # a thread whose start is interrupted could not be stopped
            stack.enter_context(progress)
            if not bar:
                stack.enter_context(_lines(progress))
        yield progress


@contextmanager
def _lines(progress: "Progress") -> Iterator[None]:
    """Print progress lines for the tasks of a hidden progress bar."""
    over = threading.Event()

    def print_progress() -> None:
        pause = FIRST_LINE
        while not over.wait(pause):
            for task in progress.tasks:
                say(progress.console, f"utf8-hdl: working: {_state(task)}")
            pause = NEXT_LINE

    thread = threading.Thread(target=print_progress, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _state(task: "Task") -> str:
    """The description of a task, with its percentage and its remaining time if known."""
    words = [task.description]
    if task.total is not None:
        words.append(f"{task.percentage:.0f}%")
        if task.time_remaining:
            words.append(f"about {timedelta(seconds=round(task.time_remaining))} left")
    return ", ".join(words)


def say(show: "Console", line: str, style: str = "") -> None:
    show.print(visible(line), style=style, soft_wrap=True, markup=False, emoji=False)


def print_lines(show: "Console", lines: list["Text"]) -> None:
    for line in lines:
        show.print(line, soft_wrap=True)
