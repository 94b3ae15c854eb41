"""Simulation of one stimulus next to the golden model, until a difference or a failure."""

from collections.abc import Iterator

from utf8_sim.engines.engine import DesignError, Engine
from utf8_sim.lockstep import Lockstep, Window
from utf8_sim.stimulus import Stimulus, Table


class Run(Lockstep):
    """A comparison that also records an error that ends the simulation, as its ``failure``."""

    def __init__(self, engine: Engine, stimulus: Stimulus | Table) -> None:
        super().__init__(engine, stimulus)
        self.engine = engine
        self.failure: DesignError | None = None

    @property
    def wrong(self) -> str:
        """Describe the difference or the failure; empty if there is none."""
        if self.failure:
            return f"{self.failure.label}: {self.failure}"
        return str(self.difference or "")

    def windows(self) -> Iterator[Window]:
        """Simulate to the end or to the first difference; yield the cycles."""
        try:
            for _ in self:
                yield self.recent[-1].part(0, self.cycles)
        except DesignError as error:
            self.failure = error
