"""Simulations next to the golden model, until something is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from utf8_sim.engines.engine import DesignError, Engine
from utf8_sim.lockstep import Lockstep, Window
from utf8_sim.stimulus import Stimulus
from utf8_sim.tools.errors import Refused

from ..terminal import GivenUp, print_lines, say


class Run:
    """One stimulus after the other; ``lockstep`` is the last simulation."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        #: Cycles that were compared.
        self.cycles = 0
        self.lockstep: Lockstep | None = None
        #: Why the design could not be simulated to the end.
        self.failure: DesignError | None = None

    @property
    def wrong(self) -> str:
        """What is wrong, if anything is."""
        if self.failure:
            return f"{self.failure.label}: {self.failure}"
        if self.lockstep and self.lockstep.difference:
            return str(self.lockstep.difference)
        return ""

    def simulate(self, stimulus: Stimulus) -> Iterator[Window]:
        """The cycles up to the end, or to what is wrong."""
        self.lockstep = Lockstep(self.engine, stimulus)
        try:
            for trace in self.lockstep:
                self.cycles += len(trace)
                yield self.lockstep.recent[-1].part(0, self.lockstep.cycles)
        except DesignError as error:
            self.failure = error

    def all_of(self, stimulus: Stimulus) -> "Run":
        """This run, with a stimulus simulated."""
        for _ in self.simulate(stimulus):
            pass
        return self

    def so_far(self) -> list[Text]:
        """What is said of a run that is interrupted."""
        return []

    @contextmanager
    def reported(self, show: Console) -> Iterator[None]:
        """Let an interrupt end a run with what came of it so far.

        Once something is wrong with the hardware, that is the news, whatever else goes wrong.
        """
        try:
            yield
        except Refused as error:
            if not self.wrong:
                raise
            say(show, str(error))
        except KeyboardInterrupt:
            if not self.wrong:
                print_lines(show, self.so_far())
                give_up(show, self.cycles)


def give_up(show: Console, cycles: int) -> None:
    """The end of an interrupted run that has found no difference."""
    say(show, f"interrupted after {cycles} cycles, which agree")
    raise GivenUp


def agree(show: Console, cycles: int) -> None:
    """The verdict that everybody hopes for."""
    verdict = f"hardware and golden model agree on every output pin in all {cycles} cycles"
    say(show, verdict, "green")
