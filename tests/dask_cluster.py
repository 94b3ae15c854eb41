"""A Dask scheduler and workers on the loopback address, as a user starts them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
from distributed import Client, Security

from command import wait_until

LOOPBACK = "--host", "127.0.0.1", "--no-dashboard"


class DaskCluster:
    """A scheduler; ``address`` is where it is. Workers come when they are started."""

    def __init__(
        self, folder: Path, stack: ExitStack, options: tuple[str, ...], security: Security | None
    ) -> None:
        self.folder = folder
        self._stack = stack
        place = folder / "scheduler.json"
        where = *LOOPBACK, "--port", "0", "--scheduler-file", str(place)
        self.scheduler = self._start("scheduler", *where, *options)
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
        where = *LOOPBACK, "--nthreads", "1", "--local-directory", str(self.folder)
        started = [self._start("worker", self.address, *where, **each) for each in environments]
        wait_until(lambda: len(self.client.nthreads()) == wanted, seconds=120)
        return started

    def is_clean(self) -> bool:
        """Whether there is no task, and no worker has a process for one."""
        if self.client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            return False
        children = self.client.run(_children, on_error="return").values()
        return all(count == 0 for count in children)  # an error, where a worker is just ending

    def wait_until_clean(self) -> None:
        """Wait for that."""
        wait_until(self.is_clean, seconds=120)


def _children() -> int:
    return len(psutil.Process().children())


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
