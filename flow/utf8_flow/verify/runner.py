"""The main loop of a comparison: runs the units of a plan, in this process or in workers."""

import io
import math
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import numpy as np
from rich.console import Console
from rich.progress import Progress

from utf8_sim.components.report import count_accepted
from utf8_sim.coverage import Sequences
from utf8_sim.lockstep import Window
from utf8_sim.tools.cores import Workers
from utf8_sim.tools.errors import UsageError
from utf8_sim.tools.files import open_output, remove_file

from ..terminal import Interrupted, VerificationFailed, print_lines, progress_bar, say
from .difference import report_match, report_verdict
from .run import Run
from .sources import ENDLESS, Campaign, Counted, Plan
from .state import SEQUENCES, Outcome, State, coverage_lines, coverage_of, sequences_seen

if TYPE_CHECKING:
    from .simulation import Recording

HOUR = 3600.0

Outcomes = Generator[tuple[int, Outcome], None, None]
"""Pairs of a unit's number and its outcome."""


class Budget(NamedTuple):
    """The limit of a run: cycles, earlier runs included; hours; or a single unit."""

    cycles: int | None = None
    hours: float | None = None
    unit: int | None = None

    def units(self, plan: Plan, first: int) -> range:
        """The units to run, from ``first`` on."""
        if self.unit is not None:
            return range(first, first + 1)
        stop = plan.units if self.cycles is None else -(-self.cycles // plan.cycles)
        return range(first, max(first, stop))

    @property
    def seconds(self) -> float:
        return math.inf if self.hours is None else self.hours * HOUR


class Runner:
    """A comparison: runs the units of a plan in order, until all are done or a unit is wrong.

    Without ``workers``, the units run in this process. ``tokens`` is a file for the hardware's
    output. ``recording`` receives the windows that are simulated in this process.
    """

    def __init__(
        self,
        show: Console,
        plan: Plan,
        *,
        workers: Workers | None = None,
        budget: Budget | None = None,
        state_file: str | None = None,
        tokens: str | None = None,
        recording: "Recording | None" = None,
    ) -> None:
        self._show, self._plan, self._workers = show, plan, workers
        self._tokens, self._recording = tokens, recording
        self._budget = budget or Budget()
        self.state = State(plan, state_file, self._budget.unit or 0)
        #: The next unit; if a unit is wrong, this unit.
        self._unit = self.state.next
        #: The last simulation in this process.
        self.run: Run | None = None
        #: The difference or failure that a worker reported for the unit.
        self._elsewhere = ""

    def compare(self, vcd: str, wave: str | None, *, keeps_state: bool = False) -> None:
        """Run the units, and print heading, coverage and verdict."""
        if self._units:
            say(self._show, self._plan.heading(self._unit))
        else:
            say(self._show, f"units 0-{self._unit - 1} were compared earlier ({self.state.path})")
        self.run_units()
        if self._wrong:
            self._explain(vcd, wave)
        print_lines(self._show, coverage_lines(self._plan, self.state))
        if self.state.path and not keeps_state:
            remove_file(self.state.path)
        is_built_in = isinstance(self._plan, Campaign) and self._plan.is_campaign
        if is_built_in and coverage_of(self._plan, self.state).gaps():
            say(self._show, "no difference, but some cover points were not hit", "red")
            raise VerificationFailed
        report_match(self._show, self.state.total.cycles)

    @property
    def _wrong(self) -> str:
        return (self.run and self.run.wrong) or self._elsewhere

    @property
    def _units(self) -> range:
        return self._budget.units(self._plan, self.state.next)

    def run_units(self) -> None:
        """Run the units until a unit is wrong or the budget is used up."""
        begin, units = time.monotonic(), self._units
        with self.reported(), ExitStack() as files:
            lines = files.enter_context(open_output(self._tokens)) if self._tokens else None
            if self._recording:
                self._recording.open(files)
            progress = files.enter_context(progress_bar())
            if self._workers:
                outcomes = self._by_workers(self._workers, units, progress, begin)
            else:
                outcomes = self._here(units, lines, progress)
            for self._unit, outcome in files.enter_context(closing(outcomes)):
                if lines:
                    lines.write(outcome.lines)
                if outcome.wrong:
                    self._elsewhere = outcome.wrong
                    return
                self.state.add(outcome)
                if time.monotonic() - begin >= self._budget.seconds:
                    return

    def _here(self, units: range, lines: TextIO | None, progress: Progress) -> Outcomes:
        """Run units in this process, up to a wrong unit; yield their outcomes."""
        task = progress.add_task("", total=self._plan.inputs or 1)
        for self._unit in units:
            progress.update(task, description=self._plan.name(self._unit))
            outcome = Outcome()
            self.run = Run(self._plan.simulator, self._plan.stimulus(self._unit))
            try:
                for window in simulate_unit(self.run, self._plan, outcome, lines):
                    if self._recording:
                        self._recording.add(window)
                    progress.advance(task, int(np.count_nonzero(window.actual.is_accepted)))
            except KeyboardInterrupt:
                self.state.add(outcome, is_whole=False)
                raise
            if self.run.wrong:
                return
            yield self._unit, outcome

    def _by_workers(
        self, workers: Workers, units: range, progress: Progress, begin: float
    ) -> Outcomes:
        """Run units in other processes; yield their outcomes in order."""
        is_timed = units.stop == ENDLESS
        task = progress.add_task(
            f"{self._plan.heading(units.start)}, on {workers}",
            total=self._budget.seconds if is_timed else len(units),
        )
        work = partial(outcome_of, self._plan, self._tokens is not None)
        total, before = self.state.total, self.state.total.cycles
        for unit, outcome in in_order(workers.do(work, units), units.start):
            yield unit, outcome
            passed = time.monotonic() - begin
            rate = (total.cycles - before) / max(passed, 1e-9) / 1e6
            seen = f", {sequences_seen(total)}" if SEQUENCES in total.counts else ""
            progress.update(
                task,
                completed=passed if is_timed else unit + 1 - units.start,
                description=f"{total.cycles} cycles, {rate:.1f} million a second{seen}",
            )

    @contextmanager
    def reported(self) -> Iterator[None]:
        """On an interrupt, report the comparison so far, and end the command.

        A difference or a failure that was already found is reported even if another error follows.
        """
        try:
            yield
        except UsageError as error:
            if not self._wrong:
                raise
            say(self._show, str(error))
        except KeyboardInterrupt:
            if not self._wrong:
                self._give_up()
        finally:
            self.state.save(if_newer=True)

    def _give_up(self) -> None:
        state = self.state
        state.save()
        print_lines(self._show, coverage_lines(self._plan, state, is_whole=False))
        if self._recording:
            print_lines(self._show, self._recording.lines())
        if state.path:
            share = state.next / self._plan.units
            done = f"{share:.1%} done: " if self._plan.units < ENDLESS else ""
            say(self._show, f"{done}the same command resumes at unit {state.next} ({state.path})")
        say(self._show, f"interrupted after {state.total.cycles} cycles, which agree")
        raise Interrupted

    def _explain(self, vcd: str, wave: str | None) -> None:
        """Show the difference. A unit that was wrong in a worker is run again in this process."""
        if self._elsewhere:
            say(self._show, "hardware and golden model differ")
        say(self._show, f"stimulus: {self._plan.name(self._unit)}, seed {self._plan.seed}")
        if self._elsewhere:
            self.run = Run(self._plan.simulator, self._plan.stimulus(self._unit))
            for _ in self.run.windows():
                pass
        if not (self.run and self.run.wrong):
            again = "the same stimulus, run once more, shows nothing wrong"
            say(self._show, f"not reproducible: {self._elsewhere}; {again}")
            raise VerificationFailed
        report_verdict(self._show, self.run, vcd, wave)


def simulate_unit(run: Run, plan: Plan, outcome: Outcome, lines: TextIO | None) -> Iterator[Window]:
    """Simulate a unit, count its cycles and coverage in ``outcome``, and write its output."""
    engine = plan.simulator
    coverage = engine.component.coverage(engine)
    sequences = Sequences(coverage)
    counters: list[Any] = [coverage, sequences][: plan.counted]
    if plan.counted >= Counted.COVERAGE:
        outcome.counts = coverage.counts
    if plan.counted >= Counted.SEQUENCES:
        outcome.counts[SEQUENCES] = sequences.seen
    if lines:
        counters.append(engine.component.report(lines))
    for window in run.windows():
        outcome.cycles += len(window.actual)
        outcome.values += count_accepted(window.actual)
        for counter in counters:
            counter.add(window.actual)
        yield window
    outcome.wrong = run.wrong


def outcome_of(plan: Plan, has_lines: bool, unit: int) -> Outcome:
    """Run a unit in a worker process, and return its outcome."""
    outcome, lines = Outcome(), io.StringIO()
    run, wanted = Run(plan.simulator, plan.stimulus(unit)), lines if has_lines else None
    for _ in simulate_unit(run, plan, outcome, wanted):
        pass
    outcome.lines = lines.getvalue()
    return outcome


def in_order(results: Iterable[tuple[int, Outcome]], first: int) -> Outcomes:
    """Yield outcomes in the order of their units, from ``first`` on; they arrive in any order."""
    early: dict[int, Outcome] = {}
    for number, result in results:
        early[number] = result
        while first in early:
            yield first, early.pop(first)
            first += 1
