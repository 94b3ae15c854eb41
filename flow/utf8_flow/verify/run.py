"""Simulation of one stimulus next to the golden model, until a difference or a failure."""

from collections.abc import Iterator

from rich.console import Console

from utf8_sim.engines.engine import DesignError, Engine
from utf8_sim.lockstep import Lockstep, Window
from utf8_sim.stimulus import Stimulus, Table

from ..terminal import say


class Run:
    """A simulation, which ``lockstep`` compares with the golden model."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        #: Number of cycles compared.
        self.cycles = 0
        self.lockstep: Lockstep | None = None
        #: The error that ended the simulation.
        self.failure: DesignError | None = None

    @property
    def wrong(self) -> str:
        """Describe the difference or the failure; empty if there is none."""
        if self.failure:
            return f"{self.failure.label}: {self.failure}"
        if self.lockstep and self.lockstep.difference:
            return str(self.lockstep.difference)
        return ""

    def simulate(self, stimulus: Stimulus | Table) -> Iterator[Window]:
        """Simulate to the end or to the first difference; yield the cycles."""
        self.lockstep = Lockstep(self.engine, stimulus)
        try:
            for trace in self.lockstep:
                self.cycles += len(trace)
                yield self.lockstep.recent[-1].part(0, self.lockstep.cycles)
        except DesignError as error:
            self.failure = error


def report_match(show: Console, cycles: int) -> None:
    """Print the verdict of a comparison without a difference."""
    verdict = f"hardware and golden model agree on every output pin in all {cycles} cycles"
    say(show, verdict, "green")
