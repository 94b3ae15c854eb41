"""Run work on all cores, in processes that end with this one."""

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol, TypeVar

from .cache import prepare_cache
from .errors import ToolError
from .files import temporary_folder
from .interrupts import defer_interrupts, interrupts_not_inherited
from .programs import stay_in_group

Item = TypeVar("Item")
Result = TypeVar("Result")

PRELOAD: set[str] = set()
"""Modules that each new process imports first; they register components."""

SAFE_PATH = "PYTHONSAFEPATH"
"""If set, Python 3.11 or newer imports nothing from the current folder."""


class Workers(Protocol):
    """The workers: all cores of this machine, or the workers of a cluster."""

    def __str__(self) -> str:
        """The number of workers."""
        ...

    def do(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[Item, Result]]:
        """Apply ``work`` to each item once; yield each result when it is ready.

        ``items`` may be a ``range`` that is practically endless.
        """
        ...


class Cores:
    """The cores of this machine: :func:`on_all_cores`."""

    def __str__(self) -> str:
        return f"{cores()} core{'s' * (cores() != 1)}"

    def do(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[Item, Result]]:
        """See :meth:`Workers.do`."""
        return on_all_cores(work, items)


def cores() -> int:
    """The number of processes that can run at the same time."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def on_all_cores(
    work: Callable[[Item], Result], items: Sequence[Item]
) -> Iterator[tuple[Item, Result]]:
    """Apply ``work`` to each item, on all cores; yield each result when it is ready.

    A single item is processed in this process. Programs that ``work`` runs in the process group of
    its process end with that process. If a process dies, `ToolError` is raised.
    """
    workers = cores()
    if len(items) == 1:
        yield items[0], work(items[0])
        return
    context = get_context("spawn")  # not forked: this process has threads
    prepare_cache()  # for all of them
    alive, hold_alive = context.Pipe(duplex=False)
    stack = ExitStack()  # removes the temporary files of processes that were killed
    first = alive, os.getcwd(), stack.enter_context(temporary_folder()), PRELOAD, work, items
    with _starting():
        pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=first)
    try:
        waiting = iter(range(len(items)))
        running: dict[Future[Result], Item] = {}
        while True:
            with _starting():
                for number in islice(waiting, 2 * workers - len(running)):
                    running[pool.submit(_do, number)] = items[number]
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                result = future.result()
                yield running.pop(future), result
    except BrokenProcessPool as error:
        raise ToolError(
            "a worker process died (killed, or not enough memory): run the same command again"
        ) from error
    finally:
        with defer_interrupts():
            hold_alive.close()
            pool.shutdown(cancel_futures=True)
            alive.close()
            stack.close()


@contextmanager
def _starting() -> Iterator[None]:
    """In the block, started processes ignore signals, and do not import from the current folder."""
    with interrupts_not_inherited():
        if sys.version_info < (3, 11) or sys.flags.ignore_environment:
            with _in_root_folder():
                yield
            return
        before = os.environ.get(SAFE_PATH)
        os.environ[SAFE_PATH] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ[SAFE_PATH]
            else:
                os.environ[SAFE_PATH] = before


@contextmanager
def _in_root_folder() -> Iterator[None]:
    """Change the current folder in the block, for all threads, where `SAFE_PATH` has no effect."""
    here = os.open(".", os.O_RDONLY)
    os.chdir("/")
    try:
        yield
    finally:
        os.fchdir(here)
        os.close(here)


def _begin(
    alive: Connection,
    folder: str,
    scratch: Path,
    modules: Iterable[str],
    work: Callable[..., Any],
    items: Sequence[Any],
) -> None:
    """Initialise a new process.

    It receives all items now, and later only their numbers: CPython before 3.11.5 hangs if a
    process dies while it is sent more data than fit into a pipe.
    """
    _Worker.work, _Worker.items = work, items
    os.setsid()  # a new group, for this process and its programs
    stay_in_group()
    os.chdir(folder)
    tempfile.tempdir = str(scratch)
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
    for module in modules:
        import_module(module)


class _Worker:
    """The state of a worker process."""

    work: Callable[..., Any]
    items: Sequence[Any]


def _do(number: int) -> Any:
    return _Worker.work(_Worker.items[number])


def _end_with(alive: Connection) -> None:
    """End at once when the parent closes its end of the pipe, or is killed."""
    with suppress(EOFError, OSError):
        alive.recv()
    os.killpg(0, signal.SIGKILL)
