"""Run a core in a simulator, and compare its outputs, but not its timing, with the golden model."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np

from ..engines.engine import DesignError, Engine, Plan, Simulation
from ..engines.icarus import IcarusEngine
from ..engines.isolated import Isolated
from ..golden.model import Transducer
from ..stimulus import LAST
from ..trace import Columns, Trace
from .texts import joined, len_of, part

WATCHDOG = 256
"""Cycles without progress, while the consumer is ready, after which a run is over."""

RESET_CYCLES, QUIET_CYCLES = 4, 8
"""Cycles of a reset, and cycles without an input after it."""

MAX_CYCLES = 1000
"""Maximum number of cycles per input, on average; then a run ends."""

MAX_SURPLUS = 1 << 10
"""Maximum number of unexpected outputs; then a run ends."""

FIRST_WINDOW, LAST_WINDOW = 64, 1 << 16
"""Cycles in the first and in the longest window; each is twice as long as the previous one."""

Mask = Callable[[Columns, Columns], Columns]
"""Replaces don't cares in the expected outputs with the levels of the actual outputs."""


@dataclass(frozen=True)
class Drive:
    """How the pins are driven in a run."""

    #: Probability of a cycle in which the producer, and the consumer, stalls.
    gaps: float = 0.0
    stalls: float = 0.0
    seed: int = 0
    #: Inputs that the core accepts first, and must forget because of a reset.
    before: Columns | None = None
    #: True to offer these inputs a second time with a consumer that is not ready.
    before_held: bool = False
    #: Number of cycles at the start in which the consumer is not ready.
    held: int = 0


@dataclass
class Outcome:
    """The result of a run."""

    #: How the pins were driven.
    drive: Drive = field(default_factory=Drive)
    #: The inputs, and the outputs up to the end of the run.
    inputs: Columns = field(default_factory=dict)
    expected: Columns = field(default_factory=dict)
    actual: Columns = field(default_factory=dict)
    #: The number of the first output that differs.
    wrong: int | None = None
    #: The input to which that output belongs.
    item: int = 0
    #: ``hang`` or ``undefined`` if the run ended early, and the problem in words.
    problem: str = ""
    message: str = ""
    #: Accepted inputs, and the cycles from the first to the last of them.
    accepted: int = 0
    cycles: int = 0
    #: Cycles from the last input to the last output.
    lag: int = 0
    #: Cycles in which an output changed before it was taken.
    unstable: int = 0
    #: Cycles with a valid output while the consumer was held, or after a reset before any input.
    early: int = 0
    #: True if the same run ends in the same way: it began in a new process, and ended at an X.
    is_repeatable: bool = False

    @property
    def failed(self) -> bool:
        """True if an output is wrong, or the run ended early."""
        return self.wrong is not None or bool(self.problem)


class Bench:
    """A core in a simulator.

    ``model`` creates the golden model of a run; ``mask`` replaces don't cares.
    """

    def __init__(self, engine: Engine, model: Callable[[], Transducer], mask: Mask) -> None:
        self.engine, self.model, self.mask = engine, model, mask
        self.has = engine.design.has
        #: The output pins that are compared.
        self.compared: list[str] = engine.design.compared
        #: Cycles without progress after which a run is over.
        self.patience = WATCHDOG
        self.no_items = {pin.name: pin.column(0) for pin in engine.interface.inputs}
        self.no_outputs = {pin.name: pin.column(0) for pin in engine.interface.outputs}
        self._process = ExitStack()
        self._simulation: Simulation | None = None

    def close(self) -> None:
        """End the simulator."""
        self._process.close()
        self._simulation = None

    def run(self, items: Columns, drive: Drive | None = None, *, to_end: bool = False) -> Outcome:
        """Run the core after a reset until it is silent, or until an output is wrong.

        With ``to_end``, the run continues after a wrong output.
        """
        outcome = Outcome(drive or Drive(), items)
        is_new = self._simulation is None
        run = _Run(self, self._started(), outcome)
        try:
            run.reset()
            run.feed(items, to_end)
        except DesignError as error:
            outcome.problem, outcome.message = "undefined", str(error)
            outcome.is_repeatable = is_new
            self.close()
        return outcome

    def _started(self) -> Simulation:
        """The simulation. Icarus Verilog starts slowly: a core with a reset keeps its process."""
        if isinstance(self._simulation, Isolated):
            self._simulation.restart()
            return self._simulation
        if self._simulation is None or not (
            isinstance(self.engine, IcarusEngine) and "rst" in self.has
        ):
            self.close()
            self._simulation = self._process.enter_context(self.engine.start())
        return self._simulation


class _Run:
    """A run of a bench."""

    def __init__(self, bench: Bench, simulation: Simulation, outcome: Outcome) -> None:
        self._engine, self._simulation, self._drive = bench.engine, simulation, outcome.drive
        self._patience, self._outcome = bench.patience, outcome
        self._comparison = _Comparison(bench, outcome)
        self._random = np.random.default_rng(self._drive.seed)
        self._no_items = bench.no_items
        self._driven = 0  # cycles since the simulation started
        self._cycles = self._silent = 0  # since the first input was offered; since any progress
        self._first: int | None = None  # cycle of the first accepted input

    def reset(self) -> None:
        """Reset the core; before that, feed the inputs that it must forget."""
        if self._drive.before is not None:
            self._window(RESET_CYCLES, self._no_items, reset=True)
            left = self._drive.before
            for _ in range(8):
                trace = self._window(16, left, stalled=False)
                left = part(left, slice(np.count_nonzero(trace.is_accepted), None))
                if not len_of(left):
                    break
            if self._drive.before_held:  # again, with outputs that are not taken
                self._window(16, self._drive.before, stalled=True)
        is_held = self._drive.before_held
        resets = np.arange(RESET_CYCLES + QUIET_CYCLES) < RESET_CYCLES
        active, quiet = self._levels(RESET_CYCLES, stalled=is_held), self._levels(QUIET_CYCLES)
        gaps, stalls = map(np.concatenate, zip(active, quiet, strict=True))
        trace = self._simulate(gaps, stalls, resets, self._no_items)
        self._outcome.early = int(np.count_nonzero(trace["o.valid"][RESET_CYCLES:]))

    def feed(self, items: Columns, to_end: bool) -> None:
        """Feed inputs, and compare the outputs."""
        outcome, drive = self._outcome, self._drive
        total = len_of(items)
        if drive.held:
            trace = self._window(drive.held, part(items, slice(drive.held)), stalled=True)
            outcome.early = int(np.count_nonzero(trace["o.valid"]))
            self._note(trace)
        max_silent = self._patience / (1 - max(drive.gaps, drive.stalls))
        max_cycles = MAX_CYCLES * (total + self._patience)
        size, is_over = FIRST_WINDOW, False
        while not is_over and self._silent < max_silent and self._cycles <= max_cycles:
            first = outcome.accepted
            self._note(self._window(size, part(items, slice(first, first + size))))
            is_endless = self._comparison.surplus > MAX_SURPLUS
            is_over = outcome.wrong is not None and (not to_end or is_endless)
            size = min(2 * size, LAST_WINDOW, self._engine.window)
        if not is_over:
            self._comparison.finish()
            if outcome.accepted < total:
                outcome.problem = "hang"
                outcome.message = (
                    f"input {outcome.accepted} was not accepted in {self._silent} cycles"
                )
        self._comparison.store()

    def _window(
        self, cycles: int, items: Columns, *, reset: bool = False, stalled: bool | None = None
    ) -> Trace:
        """Simulate some cycles; ``stalled`` overrides the consumer's random stalls."""
        return self._simulate(*self._levels(cycles, stalled), np.full(cycles, reset), items)

    def _levels(self, cycles: int, stalled: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The cycles in which the producer, and the consumer, stalls."""
        gaps, stalls = np.zeros(cycles, dtype=bool), np.zeros(cycles, dtype=bool)
        if self._drive.gaps or self._drive.stalls:
            gaps = self._random.random(cycles) < self._drive.gaps
            stalls = self._random.random(cycles) < self._drive.stalls
        if stalled is not None:
            stalls[:] = stalled
        return gaps, stalls

    def _simulate(
        self, gaps: np.ndarray, stalls: np.ndarray, resets: np.ndarray, items: Columns
    ) -> Trace:
        """Simulate the cycles in which the pins have these levels."""
        cycles = len(gaps)
        if self._drive.gaps:
            order = self._engine.idle_order(self._drive.seed)
            idle, rows = self._engine.idle_at(None, order, self._driven, cycles)
        else:  # the bus keeps its levels
            idle, rows = self._engine.idle_payloads, np.full(cycles, -1, dtype=np.int32)
        self._driven += cycles
        return self._simulation.window(Plan(gaps, stalls, resets, items, idle, rows))

    def _note(self, trace: Trace) -> None:
        """Count and compare the transfers of some cycles."""
        outcome = self._outcome
        accepted = np.flatnonzero(trace.is_accepted)
        if len(accepted):
            if self._first is None:
                self._first = self._cycles + int(accepted[0])
            outcome.cycles = self._cycles + int(accepted[-1]) + 1 - self._first
        outcome.accepted += len(accepted)
        self._cycles += len(trace)
        active = np.flatnonzero(trace.is_accepted | trace.is_taken)
        self._silent = len(trace) - 1 - active[-1] if len(active) else self._silent + len(trace)
        if len(active) and self._first is not None:
            outcome.lag = self._cycles - self._silent - self._first - outcome.cycles
        if self._drive.stalls:
            outcome.unstable += _unstable(trace)
        self._comparison.add(trace)


def _unstable(trace: Trace) -> int:
    """Number of cycles in which an output changed or vanished although it was not taken."""
    waits = (trace["o.valid"][:-1] & ~trace["o.ready"][:-1] & 1).astype(bool)
    same = trace["o.valid"][1:].astype(bool)
    for pin in trace.interface.outputs:
        column = trace[pin.name].reshape(len(trace), -1)
        same &= (column[1:] == column[:-1]).all(axis=1)
    return int(np.count_nonzero(waits & ~same))


class _Comparison:
    """Compares the outputs of each window with the golden model's."""

    def __init__(self, bench: Bench, outcome: Outcome) -> None:
        self._bench, self._outcome = bench, outcome
        self._model = bench.model()
        self._fed = self._matched = 0
        self._items: list[np.ndarray] = []  # for each expected output, its input
        self._due = self._surplus = bench.no_outputs
        self._expected, self._actual = [bench.no_outputs], [bench.no_outputs]

    def add(self, trace: Trace) -> None:
        """Compare the outputs of a window with the outputs expected so far."""
        items, taken = trace.accepted(), trace.taken()
        if "s_axis_tlast" not in self._bench.has:
            items = items | {LAST: np.zeros_like(items[LAST])}
        outputs = self._model.feed(items, np.zeros(len_of(items), dtype=bool))
        self._expected.append(outputs.columns)
        self._actual.append(taken)
        self._items.append(outputs.brought_by + self._fed)
        self._fed += len_of(items)
        due, actual = joined([self._due, outputs.columns]), joined([self._surplus, taken])
        both = min(len_of(due), len_of(actual))
        self._due, self._surplus = part(due, slice(both, None)), part(actual, slice(both, None))
        if self._outcome.wrong is None:
            differs = self._differs(part(due, slice(both)), part(actual, slice(both)))
            if differs.any():
                self._fail(self._matched + int(np.argmax(differs)))
            elif len_of(self._surplus):  # no output comes before its input
                self._fail(self._matched + both)
        self._matched += both

    def _differs(self, expected: Columns, actual: Columns) -> np.ndarray:
        """True for each output that differs."""
        differs = np.zeros(len_of(expected), dtype=bool)
        expected = self._bench.mask(expected, actual)
        for name in self._bench.compared:
            of_pin = expected[name] != actual[name]
            differs |= of_pin if of_pin.ndim == 1 else of_pin.any(axis=1)
        return differs

    def _fail(self, number: int) -> None:
        self._outcome.wrong = number
        items = np.concatenate(self._items)
        self._outcome.item = int(items[number]) if number < len(items) else max(0, self._fed - 1)

    @property
    def surplus(self) -> int:
        """The number of outputs that were not expected so far."""
        return len_of(self._surplus)

    def finish(self) -> None:
        """Check at the end of a run that no output is missing."""
        if self._outcome.wrong is None and len_of(self._due):
            self._fail(self._matched)

    def store(self) -> None:
        """Store all outputs in the outcome."""
        self._outcome.expected = joined(self._expected)
        self._outcome.actual = joined(self._actual)
