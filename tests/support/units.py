"""Units of work for the tests of a cluster, whose workers import this module."""

import os
import signal
from multiprocessing.connection import Client
from pathlib import Path
from typing import NamedTuple

from utf8_sim.tools.programs import started


def square(number: int) -> int:
    return number * number


def fail(number: int) -> None:
    raise ValueError(f"unit {number} is no good")


class Killing(NamedTuple):
    """Kills the worker at one item, until ``times`` files in the folder record it."""

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
    """Like :class:`Killing`, but the worker has started a program, and both write to a pipe."""

    pipe: Path
    killing: Killing

    def do(self, number: int) -> int:
        if number == self.killing.item and self.pipe.exists():
            command = ["tail", "-f", "/dev/null"]
            with self.pipe.open("wb") as pipe, started(command, stdout=pipe):
                self.pipe.unlink()
                return self.killing.do(number)
        return number


class Meeting(NamedTuple):
    """For each item, sends the process's number to a server, and waits for the reply."""

    address: str

    def do(self, number: int) -> int:
        with Client(self.address) as connection:
            connection.send(os.getpid())
            connection.recv()
        return number
