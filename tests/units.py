"""Units of work for the tests of a cluster: its workers import them from here."""

import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

from utf8_sim.tools.cache import built


def square(number: int) -> int:
    return number * number


def fail(number: int) -> None:
    raise ValueError(f"unit {number} is no good")


def process_group(_number: int) -> int:
    return os.getpgid(0)


class Killing(NamedTuple):
    """At one item something is killed: as often as there is no file that says that it was."""

    folder: Path
    item: int
    times: int
    #: The worker, or else the crew.
    worker: bool

    def do(self, number: int) -> int:
        if number == self.item:
            for time_ in range(self.times):
                try:
                    (self.folder / f"killed-{time_}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                os.kill(os.getppid() if self.worker else os.getpid(), signal.SIGKILL)
                time.sleep(60)
        return number


def end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Meeting(NamedTuple):
    """Every item waits until so many processes have been at work."""

    folder: Path
    count: int

    def do(self, number: int) -> int:
        (self.folder / f"process-{os.getpid()}").touch()
        while len(list(self.folder.glob("process-*"))) < self.count:
            time.sleep(0.05)
        return number


class Built(NamedTuple):
    """Needs a file that is built; each time it is built is noted. Every worker gets an item."""

    folder: Path
    workers: int

    def prepare(self) -> None:
        def build(folder: Path) -> Path:
            (self.folder / f"built-by-{os.getpid()}").touch()
            (folder / "product").write_text("built")
            return folder / "product"

        built([str(self.folder)], ".txt", build)

    def do(self, number: int) -> int:
        self.prepare()
        return Meeting(self.folder, self.workers).do(number)
