"""What the commands print: where it goes, progress, the verdict."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from utf8_sim.engine import DesignError, Engine
from utf8_sim.lockstep import Lockstep

from .output import Refused, visible
from .waves import draw_difference, write_wave_around_difference

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


class GivenUp(Exception):
    """An interrupted run has said how far it came."""


def report_console(outputs: dict[str, str | None]) -> Console:
    """Where the report goes: standard output, unless that carries data."""
    return Console(file=sys.stderr if "-" in outputs.values() else sys.stdout, highlight=False)


class _Description(ProgressColumn):
    """What is done; it may hold the name of a file."""

    def render(self, task: Task) -> Text:
        return Text(visible(task.description))


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress bar on standard error, if a person is looking."""
    console = Console(stderr=True)
    columns = (
        _Description(),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        yield progress


def say(show: Console, line: str, style: str = "") -> None:
    show.print(Text(visible(line), style=style), soft_wrap=True)


def print_lines(show: Console, lines: list[Text]) -> None:
    for line in lines:
        show.print(line, soft_wrap=True)


def report_difference(
    show: Console, lockstep: Lockstep, engine: Engine, vcd: str | None, wave: str | None
) -> None:
    """Say where hardware and golden model part, and keep the waveform around it."""
    say(show, f"DIFFERENCE: {lockstep.difference}", "bold red")
    writers = (
        ("waveform", vcd, write_wave_around_difference),
        ("timing diagram", wave, draw_difference),
    )
    for what, name, write in writers:
        if name is None:
            continue
        try:
            write(name, lockstep, engine)
            say(show, f"{what} around it: {name}")
        except Refused as error:  # the difference is the news, and decides the exit status
            say(show, f"no {what}: {error}")


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
