"""A Dask scheduler and workers on the loopback address, started as documented."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import psutil
from distributed import Client, Scheduler, Security, Worker

PAGE = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text()

TESTS = {"PYTHONPATH": str(Path(__file__).parent)}
"""The environment of a worker that can import the units of the tests."""


def documented(program: str) -> list[str]:
    """The options from the documentation, for one machine and free ports."""
    [options] = re.findall(rf"^dask {program} (?:tcp://\S+ )?(.*)$", PAGE, re.M)
    options = re.sub("ADDRESS|OWN", "127.0.0.1", options)
    return re.sub(r"(?<=--port )\d+|(?<=:)\d+", "0", options).split()


class DaskCluster:
    """A scheduler and its workers; ``address`` is the scheduler's."""

    def __init__(
        self, folder: Path, stack: ExitStack, options: tuple[str, ...], security: Security | None
    ) -> None:
        self.folder = folder
        self._stack = stack
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        file = folder / "scheduler.json"
        options = "--no-dashboard", "--scheduler-file", str(file), *options
        self.scheduler = self._start("scheduler", *documented("scheduler"), *options, **TESTS)
        wait_until(file.exists, self.scheduler)
        client = Client(scheduler_file=str(file), security=security, set_as_default=False)
        self.client = stack.enter_context(client)
        self.address = self.client.scheduler.address

    def _start(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        command = [str(Path(sys.executable).with_name("dask")), *arguments]
        with (self.folder / "dask.log").open("a") as log:
            process = subprocess.Popen(
                command, env=os.environ | environment, stdout=log, stderr=log, cwd=self.folder
            )
        self._stack.callback(process.wait)
        self._stack.callback(process.terminate)
        return process

    def start_workers(self, *environments: dict[str, str]) -> list[str]:
        """Start a worker in each environment; return their names when they are ready."""
        options = "--nworkers", "1", "--no-dashboard", "--local-directory", str(self.folder)
        names = []
        for environment in environments:
            names.append(f"worker-{len(self._workers)}")
            command = "worker", self.address, *documented("worker"), *options, "--name", names[-1]
            self._workers[names[-1]] = self._start(*command, **environment)
        wait_until(lambda: self._names() >= {*names}, *(self._workers[name] for name in names))
        return names

    @contextmanager
    def worker(self, environment: dict[str, str]) -> Iterator[None]:
        """An additional worker, until the end of the block."""
        names = self.start_workers(environment)
        yield
        self.stop(names)

    def stop(self, names: list[str]) -> None:
        """Stop workers, even while they work; wait until the scheduler has removed them."""
        for name in names:
            self._workers[name].terminate()
            self._workers[name].wait()
        wait_until(lambda: not self._names() & {*names})

    def _names(self) -> set[str]:
        names: set[str] = self.client.run_on_scheduler(_names_of_workers)
        return names

    def listens_on(self) -> set[str]:
        """The addresses on which the scheduler and the workers listen, with their nannies."""
        of_workers = [self.client.run(_listens_on, nanny=nanny) for nanny in (False, True)]
        of_scheduler = self.client.run_on_scheduler(_listens_on)
        return of_scheduler.union(*chain(*(each.values() for each in of_workers)))

    def wait_until_clean(self) -> None:
        """Wait until neither the scheduler nor a worker has a task. Dask reports no such event."""
        wait_until(self._is_clean)

    def _is_clean(self) -> bool:
        if self.client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            return False
        tasks = self.client.run(_tasks, on_error="return").values()
        return all(count == 0 for count in tasks)  # an error, if a worker is just ending


def wait_until(holds: Callable[[], bool], *processes: subprocess.Popen[Any]) -> None:
    """Wait for a condition by polling, while processes run."""
    while not holds():
        for process in processes:
            assert process.poll() is None, f"{process.args} has ended"
        time.sleep(0.05)


def _names_of_workers(dask_scheduler: Scheduler) -> set[str]:
    return {str(worker.name) for worker in dask_scheduler.workers.values()}


def _tasks(dask_worker: Worker) -> int:
    return len(dask_worker.state.tasks)


def _listens_on() -> set[str]:
    connections = psutil.Process().net_connections("inet")
    return {each.laddr.ip for each in connections if each.status == psutil.CONN_LISTEN}


@contextmanager
def dask_cluster(
    folder: Path, workers: int, *options: str, security: Security | None = None
) -> Iterator[DaskCluster]:
    """A scheduler with some workers."""
    with ExitStack() as stack:
        cluster = DaskCluster(folder, stack, options, security)
        cluster.start_workers(*[TESTS] * workers)
        yield cluster
