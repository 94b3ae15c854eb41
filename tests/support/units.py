"""Units of work for the tests of a cluster: its workers import them from here."""

import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

from utf8_sim.tools.programs import started


def square(number: int) -> int:
    return number * number


def fail(number: int) -> None:
    raise ValueError(f"unit {number} is no good")


class Killing(NamedTuple):
    """At one item the worker is killed, until there are as many files that say so as ``times``."""

    folder: Path
    item: int
    times: int

    def do(self, number: int) -> int:
        if number == self.item:
            for time_ in range(self.times):
                try:
                    (self.folder / f"killed-{time_}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        return number


class KillingBesideProgram(NamedTuple):
    """As :class:`Killing`; the worker and a program that it has started write to a pipe."""

    pipe: Path
    killing: Killing

    def do(self, number: int) -> int:
        if self.pipe.exists():
            with self.pipe.open("wb") as pipe, started(["sleep", "300"], stdout=pipe):
                self.pipe.unlink()
                return self.killing.do(number)
        return number


class Meeting(NamedTuple):
    """Every item waits until so many processes have been at work."""

    folder: Path
    count: int

    def do(self, number: int) -> int:
        (self.folder / f"process-{os.getpid()}").touch()
        while len(list(self.folder.glob("process-*"))) < self.count:
            time.sleep(0.05)
        return number
