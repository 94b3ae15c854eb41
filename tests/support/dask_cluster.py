"""A Dask scheduler and workers on the loopback address, as a user starts them."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path

import psutil
from distributed import Client, Security, Worker

from command import wait_until

PAGE = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text()


def documented(program: str) -> list[str]:
    """The options on the page, for one machine and free ports."""
    [options] = re.findall(rf"^dask {program} (?:tcp://\S+ )?(.*)$", PAGE, re.M)
    options = re.sub("ADDRESS|OWN", "127.0.0.1", options)
    return re.sub(r"(?<=--port )\d+|(?<=:)\d+", "0", options).split()


class DaskCluster:
    """A scheduler; ``address`` is where it is. Workers come when they are started."""

    def __init__(
        self, folder: Path, stack: ExitStack, options: tuple[str, ...], security: Security | None
    ) -> None:
        self.folder = folder
        self._stack = stack
        place = folder / "scheduler.json"
        where = *documented("scheduler"), "--no-dashboard", "--scheduler-file", str(place)
        self.scheduler = self._start("scheduler", *where, *options, **TESTS)
        wait_until(place.exists, seconds=120)
        self.address = json.loads(place.read_text())["address"]
        self.client = stack.enter_context(
            Client(self.address, security=security, set_as_default=False)
        )

    def _start(self, *arguments: str, **environment: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("dask")), *arguments],
            env=os.environ | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.terminate)
        return process

    def start_workers(self, *environments: dict[str, str]) -> list[subprocess.Popen]:
        """One more worker in each of some environments, once they are there."""
        wanted = len(self.client.nthreads()) + len(environments)
        one = "--nworkers", "1", "--no-dashboard", "--local-directory", str(self.folder)
        where = *documented("worker"), *one
        started = [self._start("worker", self.address, *where, **each) for each in environments]
        wait_until(lambda: len(self.client.nthreads()) == wanted, seconds=120)
        return started

    def listens_on(self) -> set[str]:
        """The addresses on which the scheduler and the workers listen, with their nannies."""
        of_workers = [self.client.run(_listens_on, nanny=nanny) for nanny in (False, True)]
        of_scheduler = self.client.run_on_scheduler(_listens_on)
        return of_scheduler.union(*chain(*(each.values() for each in of_workers)))

    def is_clean(self) -> bool:
        """True if neither the scheduler nor a worker has a task."""
        if self.client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            return False
        tasks = self.client.run(_tasks, on_error="return").values()
        return all(count == 0 for count in tasks)  # an error, where a worker is just ending

    def wait_until_clean(self) -> None:
        """Wait for that."""
        wait_until(self.is_clean, seconds=120)


def _tasks(dask_worker: Worker) -> int:
    return len(dask_worker.state.tasks)


def _listens_on() -> set[str]:
    connections = psutil.Process().net_connections("inet")
    return {each.laddr.ip for each in connections if each.status == psutil.CONN_LISTEN}


TESTS = {"PYTHONPATH": str(Path(__file__).parent)}
"""The environment of a worker that has the units of work of our tests."""


@contextmanager
def dask_cluster(
    folder: Path, workers: int, *options: str, security: Security | None = None
) -> Iterator[DaskCluster]:
    """A scheduler with some workers."""
    with ExitStack() as stack:
        cluster = DaskCluster(folder, stack, options, security)
        cluster.start_workers(*[TESTS] * workers)
        yield cluster
