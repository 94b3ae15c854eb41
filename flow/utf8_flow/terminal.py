"""What the commands print: where it goes, progress, the verdict."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from utf8_sim.engine import DesignError

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


class GivenUp(Exception):
    """An interrupted run has said how far it came."""


def report_console(outputs: dict[str, str | None]) -> Console:
    """Where the report goes: standard output, unless that carries data."""
    return Console(file=sys.stderr if "-" in outputs.values() else sys.stdout, highlight=False)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress bar on standard error, if a person is looking."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),  # it may hold the name of a file
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        yield progress


def say(show: Console, line: str, style: str = "") -> None:
    show.print(Text(line, style=style), soft_wrap=True)


def print_lines(show: Console, lines: list[Text]) -> None:
    for line in lines:
        show.print(line, soft_wrap=True)


def give_up(show: Console, cycles: int) -> None:
    """The end of an interrupted run that has found no difference."""
    say(show, f"interrupted after {cycles} cycles, which agree")
    raise GivenUp


def conclude(show: Console, difference: bool, failure: DesignError | None, cycles: int) -> None:
    """The verdict, in words and as exit status."""
    if failure:
        say(show, f"{failure.label}: {failure}", "bold red")
    if failure or difference:
        raise typer.Exit(1)
    say(
        show, f"hardware and golden model agree on every output pin in all {cycles} cycles", "green"
    )
