"""Runs a core on texts, and compares its outputs with the golden model's, without clocks."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np

from ..engines.engine import DesignError, Engine, Plan, Simulation
from ..engines.icarus import IcarusEngine
from ..golden.model import Transducer
from ..stimulus import LAST
from ..trace import Columns, Trace
from .texts import joined, len_of, part

WATCHDOG = 256
"""Cycles without any progress, while the consumer is ready, after which a run is over."""

RESET_CYCLES = 4

MOST_CYCLES = 1000
"""Cycles for an input, on average, after which a run is ended."""

FIRST_WINDOW, LAST_WINDOW = 64, 1 << 16
"""Cycles of the windows of a run, which become longer."""

Mask = Callable[[Columns, Columns], Columns]
"""The expected columns, with the actual levels where these do not matter."""


@dataclass
class Manner:
    """How a run is driven: the rates of gaps and stalls, their seed, and what happens around it.

    Attributes
    ----------
    gaps, stalls : float
        The probability of a cycle without an offer, and of one in which nothing is taken.
    seed : int
        Of both.
    before : dict of str to numpy.ndarray
        Inputs that are accepted, and then discarded by a reset.
    held : int
        Cycles in which the consumer is not ready at first.
    """

    gaps: float = 0.0
    stalls: float = 0.0
    seed: int = 0
    before: Columns | None = None
    held: int = 0


@dataclass
class Outcome:
    """What a core did.

    Attributes
    ----------
    inputs : dict of str to numpy.ndarray
        The inputs.
    expected, actual : dict of str to numpy.ndarray
        The outputs, as far as they were compared.
    wrong : int or None
        The number of the first output that differs.
    item : int
        The input to which that output belongs.
    problem : str
        Why the run ended early: ``hang``, ``undefined``, or an empty string.
    message : str
        The problem in words.
    accepted, cycles : int
        Inputs that were accepted, and the cycles from the first to the last of them.
    lag : int
        Cycles from the last input to the last output.
    unstable : int
        Cycles in which an output changed before it was taken.
    early : int
        Outputs that were valid while the consumer was held, or after a reset before any input.
    """

    inputs: Columns = field(default_factory=dict)
    expected: Columns = field(default_factory=dict)
    actual: Columns = field(default_factory=dict)
    wrong: int | None = None
    item: int = 0
    problem: str = ""
    message: str = ""
    accepted: int = 0
    cycles: int = 0
    lag: int = 0
    unstable: int = 0
    early: int = 0

    @property
    def failed(self) -> bool:
        return self.wrong is not None or bool(self.problem)


class Bench:
    """A core in a simulator.

    Parameters
    ----------
    engine : Engine
        The simulator, whose design is a :class:`.Core`.
    model : callable
        Makes the golden model of a run.
    """

    def __init__(self, engine: Engine, model: Callable[[], Transducer]) -> None:
        self.engine, self.model = engine, model
        self.compared: list[str] = []
        self.mask: Mask = lambda expected, _actual: expected
        self.has = engine.design.has
        #: Cycles of silence after which a run is over.
        self.patience = WATCHDOG
        self._kept: tuple[ExitStack, Simulation] | None = None

    def close(self) -> None:
        """End the simulator."""
        if self._kept:
            self._kept[0].close()
            self._kept = None

    def _simulation(self, stack: ExitStack) -> Simulation:
        """A simulation; a process is used again if the core has a reset."""
        if not isinstance(self.engine, IcarusEngine) or "rst" not in self.has:
            return stack.enter_context(self.engine.start())
        if self._kept is None:
            kept = ExitStack()
            self._kept = kept, kept.enter_context(self.engine.start())
        return self._kept[1]

    def run(
        self, items: Columns, manner: Manner | None = None, *, all_of_it: bool = False
    ) -> Outcome:
        """Run the core after a reset until it is silent, or until an output is wrong.

        ``all_of_it`` continues after a wrong output.
        """
        manner = manner or Manner()
        outcome = Outcome(items)
        with ExitStack() as stack:
            run = _Run(self, self._simulation(stack), manner, outcome)
            try:
                run.begin()
                run.feed(items, all_of_it)
            except DesignError as error:
                outcome.problem, outcome.message = "undefined", str(error)
                self.close()
        return outcome


class _Run:
    """One run of a bench."""

    def __init__(
        self, bench: Bench, simulation: Simulation, manner: Manner, outcome: Outcome
    ) -> None:
        self._bench, self._simulation = bench, simulation
        self._manner, self._outcome = manner, outcome
        self._random = np.random.default_rng(manner.seed)
        self._order = bench.engine.idle_order(manner.seed)
        self._cycle = 0
        self._nothing = {
            pin.name: np.zeros_like(pin.column(1))[:0] for pin in bench.engine.interface.inputs
        }

    def begin(self) -> None:
        """Reset the core; before it, feed the inputs that it must forget."""
        if self._manner.before is not None:
            self._window(RESET_CYCLES, self._nothing, reset=True)
            before = self._manner.before
            for _ in range(8):
                trace = self._window(16, before, stall=False)
                done = int(np.count_nonzero(trace.is_accepted))
                before = part(before, slice(done, None))
                if not len(before[LAST]):
                    break
        self._window(RESET_CYCLES, self._nothing, reset=True)
        quiet = self._window(8, self._nothing)
        self._outcome.early = int(np.count_nonzero(quiet["o.valid"]))

    def _window(
        self, cycles: int, items: Columns, *, reset: bool = False, stall: bool | None = None
    ) -> Trace:
        engine, manner = self._bench.engine, self._manner
        gaps = self._random.random(cycles) < manner.gaps
        stalls = self._random.random(cycles) < manner.stalls
        if stall is not None:
            stalls[:] = stall
        resets = np.full(cycles, reset)
        if manner.gaps:
            idle, rows = engine.idle_at(None, self._order, self._cycle, cycles)
        else:  # the bus keeps its levels
            idle, rows = engine.idle_payloads, np.full(cycles, -1, dtype=np.int32)
        self._cycle += cycles
        return self._simulation.window(Plan(gaps, stalls, resets, items, idle, rows))

    def feed(self, items: Columns, all_of_it: bool) -> None:
        outcome, bench = self._outcome, self._bench
        compared = _Comparison(bench, outcome)
        done, size, silence, begin, cycle = 0, FIRST_WINDOW, 0, None, 0
        total = len(items[LAST])
        most = MOST_CYCLES * (total + bench.patience)  # a core may produce outputs without end
        slowness = 1 / (1 - max(self._manner.gaps, self._manner.stalls))
        if self._manner.held:
            upcoming = part(items, slice(self._manner.held))
            trace = self._window(self._manner.held, upcoming, stall=True)
            outcome.early = int(np.count_nonzero(trace["o.valid"]))
            compared.add(trace)
            done = int(np.count_nonzero(trace.is_accepted))
        while True:
            upcoming = part(items, slice(done, done + size))
            trace = self._window(size, upcoming)
            accepted = np.flatnonzero(trace.is_accepted)
            if len(accepted):
                begin = cycle + int(accepted[0]) if begin is None else begin
                outcome.cycles = cycle + int(accepted[-1]) + 1 - begin
            done += len(accepted)
            outcome.accepted = done
            active = np.flatnonzero(trace.is_accepted | trace.is_taken)
            silence = size - 1 - int(active[-1]) if len(active) else silence + size
            cycle += size
            if len(active) and begin is not None:
                outcome.lag = cycle - silence - begin - outcome.cycles
            if self._manner.stalls:
                outcome.unstable += _unstable(trace)
            compared.add(trace)
            is_over = outcome.wrong is not None and not all_of_it
            if is_over or silence >= bench.patience * slowness or cycle > most:
                break
            size = min(2 * size, LAST_WINDOW, bench.engine.window)
        if not is_over:
            compared.finish()
            if done < total:
                outcome.problem = "hang"
                outcome.message = f"input {done} was not accepted in {silence} cycles"
        compared.keep()


def _unstable(trace: Trace) -> int:
    """Number of cycles in which an output changed or vanished although it was not taken."""
    waits = (trace["o.valid"][:-1] & ~trace["o.ready"][:-1] & 1).astype(bool)
    same = trace["o.valid"][1:].astype(bool)
    for pin in trace.interface.outputs:
        column = trace[pin.name].reshape(len(trace), -1)
        same &= (column[1:] == column[:-1]).all(axis=1)
    return int(np.count_nonzero(waits & ~same))


class _Comparison:
    """Compares outputs with the golden model's, window by window."""

    def __init__(self, bench: Bench, outcome: Outcome) -> None:
        self._bench, self._outcome = bench, outcome
        self._model = bench.model()
        self._fed = self._matched = 0
        self._brought = np.zeros(0, dtype=np.int64)
        nothing = {pin.name: pin.column(0) for pin in bench.engine.interface.outputs}
        self._due, self._over = nothing, nothing
        self._expected, self._actual = [nothing], [nothing]

    def add(self, trace: Trace) -> None:
        """Compare the outputs of some cycles, as far as the golden model has them."""
        items = trace.accepted()
        if "s_axis_tlast" not in self._bench.has:
            items = items | {LAST: np.zeros_like(items[LAST])}
        outputs = self._model.feed(items, np.zeros(len(items[LAST]), dtype=bool))
        taken = trace.taken()
        self._expected.append(outputs.columns)
        self._actual.append(taken)
        self._brought = np.append(self._brought, outputs.brought_by + self._fed)
        self._fed += len(items[LAST])
        due, over = joined([self._due, outputs.columns]), joined([self._over, taken])
        both = min(len_of(due), len_of(over))
        self._due, self._over = part(due, slice(both, None)), part(over, slice(both, None))
        if self._outcome.wrong is None:
            differs = self._differs(part(due, slice(both)), part(over, slice(both)))
            if differs.any():
                self._fail(self._matched + int(np.argmax(differs)))
            elif len_of(self._over):  # no output comes before its input
                self._fail(self._matched + both)
        self._matched += both

    def _differs(self, expected: Columns, actual: Columns) -> np.ndarray:
        size = len_of(expected)
        expected = self._bench.mask(expected, actual)
        differs = np.zeros(size, dtype=bool)
        for name in self._bench.compared:
            pair = expected[name] != actual[name]
            differs |= pair if pair.ndim == 1 else pair.any(axis=1)
        return differs

    def _fail(self, number: int) -> None:
        self._outcome.wrong = number
        is_known = number < len(self._brought)
        self._outcome.item = int(self._brought[number]) if is_known else max(0, self._fed - 1)

    def finish(self) -> None:
        """The run is over: no output may be missing."""
        if self._outcome.wrong is None and len_of(self._due):
            self._fail(self._matched)

    def keep(self) -> None:
        """Put all outputs into the outcome."""
        self._outcome.expected = joined(self._expected)
        self._outcome.actual = joined(self._actual)
