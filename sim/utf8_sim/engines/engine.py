"""The base class of the simulation engines, which run a stimulus and record a trace."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from importlib import resources
from typing import NamedTuple, Protocol

import numpy as np

from ..golden.timing import Timing, longest_gap
from ..stimulus import LAST, Stimulus, Table, random_column
from ..subject import Subject
from ..trace import RESET, Columns, Interface, Trace

WATCHDOG = 96
"""Cycles without progress, while the consumer is ready, after which a design counts as hung."""

MIN_WINDOW = 1024
"""Minimum number of cycles in a window, if the engine's windows are longer."""

IDLE_ROWS = 512
"""Maximum number of payloads for idle cycles of each kind: random and hostile."""

IDLE_ORDER = 4099
"""Period of the idle payloads in cycles: a prime, so that it is no multiple of another period."""

NATIVE = resources.files(__package__) / "native"
"""The sources that are compiled or interpreted together with a design."""


class DesignError(Exception):
    """The design broke the stream protocol, so its simulation cannot continue.

    It accepts no input for a long time while the consumer is ready, it produces outputs without
    end, or it drives X or Z.

    Attributes
    ----------
    label : str
        A word for the failure, for reports.
    """

    label = ""


class HangError(DesignError):
    label = "HANG"


class UndefinedError(DesignError):
    label = "UNDEFINED"


class ModelError(DesignError):
    """The golden model failed, so there is nothing to compare the design with."""

    label = "GOLDEN MODEL"


class EndDetector:
    """Detects the end of a run: all input is accepted and all output taken, or the design hangs.

    All output has been taken if none is valid for the longest possible gap while the consumer is
    ready. If the run is ``over`` because the design hangs, ``hang`` is the reason.
    """

    def __init__(self, timing: Timing) -> None:
        self._longest_gap = longest_gap(timing)
        # Cycles with a ready consumer: since an output was valid, and since an input was accepted.
        self._quiet = self._stuck = 0
        self.over = False
        self.hang: str | None = None

    def length(self, trace: Trace, more: bool) -> int:
        """The number of cycles of a window that belong to the run; ``more`` if inputs are left."""
        is_accepted, o_valid = trace.is_accepted, trace["o.valid"].view(bool)
        last_accepted = np.flatnonzero(is_accepted)[-1:].tolist()
        inputs_end = len(trace) if more else (last_accepted or [0])[0]
        is_offered = trace["i.valid"].view(bool).copy()
        is_offered[inputs_end:] = True
        restarts = is_accepted | trace[RESET].view(bool)
        counts = trace["o.ready"].view(bool) & is_offered & ~restarts
        stuck = _counts_since(restarts, counts, self._stuck)
        is_end = np.zeros_like(restarts)
        if not more:
            quiet = _counts_since(restarts | (o_valid & counts), counts, self._quiet)
            is_end[inputs_end:] = quiet[inputs_end:] >= self._longest_gap
            self._quiet = int(quiet[-1])
        self._stuck = int(stuck[-1])
        is_over = is_end | (stuck > WATCHDOG)
        cycle = int(is_over.argmax())
        self.over = bool(is_over[cycle])
        if self.over and not is_end[cycle]:
            self.hang = (
                f"no input was accepted in {WATCHDOG} cycles with a ready consumer"
                if cycle < inputs_end
                else f"output is still produced {WATCHDOG} cycles after the last input"
            )
        return cycle + 1 if self.over else len(trace)


def _counts_since(events: np.ndarray, counts: np.ndarray, before: int) -> np.ndarray:
    """For each cycle, how many cycles count since the last event; ``before`` if none precede."""
    total = np.cumsum(counts, dtype=np.int32)
    return total - np.maximum.accumulate(np.where(events, total, np.int32(-before)))


class Plan(NamedTuple):
    """The stimulus of a simulation for ``len(gaps)`` cycles.

    The producer stalls in cycles in which ``gaps`` is true, the consumer in cycles in which
    ``stalls`` is true; reset is active in cycles in which ``resets`` is true. ``items`` are the
    inputs to offer, beginning with the first one not yet accepted. In an idle cycle, the payload is
    the row of ``idle`` whose number is in ``idle_rows``; if the number is negative, the payload
    does not change.

    If the plan is ``exact``, each cycle has its own item, even if it is not offered or accepted.
    """

    gaps: np.ndarray
    stalls: np.ndarray
    resets: np.ndarray
    items: Columns
    idle: Columns
    idle_rows: np.ndarray
    exact: bool = False

    @property
    def item_count(self) -> int:
        """The number of items."""
        return len(self.items[LAST])


class Simulation(Protocol):
    """A simulated design, with a producer at its input and a consumer at its output.

    An input is offered unless the producer stalls. Once offered, it is held until it is accepted.
    """

    def window(self, plan: Plan) -> Trace:
        """Simulate the cycles of a plan; fewer if the run ends earlier."""
        ...


class Engine(Subject, ABC):
    """Simulates a design."""

    name: str

    window: int
    """Maximum number of cycles in a window of a trace; fewer with lanes, or in a short run."""

    @abstractmethod
    def start(self) -> AbstractContextManager[Simulation]:
        """A simulation in its first cycle after reset."""

    def run(self, stimulus: Stimulus | Table) -> Generator[Trace, None, None]:
        """Simulate from reset until all input is accepted and all output is taken.

        If the stimulus limits the number of cycles, the run ends there at the latest. Of a table,
        all cycles are simulated. If the design hangs or drives X or Z, `DesignError` is raised
        after the last window.
        """
        with self.start() as simulation:
            if isinstance(stimulus, Table):
                yield from self._replayed(simulation, stimulus)
            else:
                yield from self._driven(simulation, stimulus)

    def _replayed(self, simulation: Simulation, table: Table) -> Iterator[Trace]:
        """Simulate the cycles of a table."""
        for begin in range(0, len(table), self.window):
            rows = slice(begin, begin + self.window)
            columns = {name: column[rows] for name, column in table.columns.items()}
            items = {pin.name: columns[pin.name] for pin in self.interface.inputs}
            gaps, stalls = (columns[name] == 0 for name in ("i.valid", "o.ready"))
            numbers = np.arange(len(gaps), dtype=np.int32)
            resets = columns[RESET].astype(bool)
            yield simulation.window(Plan(gaps, stalls, resets, items, items, numbers, exact=True))

    def _driven(self, simulation: Simulation, stimulus: Stimulus) -> Iterator[Trace]:
        inputs = _Inputs(self.items(stimulus), self.interface)
        size = self._window_for(inputs)
        sides = stimulus.input_stalls, stimulus.output_stalls, stimulus.resets
        levels = zip(*(side.windows(size) for side in sides), strict=True)
        order = self.idle_order(stimulus.idle_seed)
        ending, cycle = EndDetector(self.timing), 0
        while not ending.over and cycle < stimulus.cycles:
            cycles = int(min(size, stimulus.cycles - cycle))
            gaps, stalls, resets = (side[:cycles] for side in next(levels))
            items = inputs.upcoming(cycles)
            idle = self.idle_at(stimulus.idle, order, cycle, cycles)
            trace = simulation.window(Plan(gaps, stalls, resets, items, *idle))
            cycle += cycles
            inputs.drop(int(np.count_nonzero(trace.is_accepted)))
            more = any(map(len, inputs.upcoming(1).values()))
            yield trace[: ending.length(trace, more)]
        if ending.hang:
            raise HangError(ending.hang)

    def idle_order(self, seed: int | tuple[int, ...]) -> np.ndarray:
        """The row of the idle payload for each cycle; -1, in a third of them, for no change."""
        count = len(self.idle_payloads[LAST])
        order = np.random.default_rng(seed).integers(-count // 2, count, IDLE_ORDER)
        return order.clip(-1).astype(np.int32)

    def idle_at(
        self, given: Columns | None, order: np.ndarray, first: int, cycles: int
    ) -> tuple[Columns, np.ndarray]:
        """Payloads for idle cycles, and the row for each of ``cycles`` cycles from ``first`` on."""
        idle = self.idle_payloads
        numbers = np.resize(np.roll(order, -first), cycles)
        if given is None or first >= len(given[LAST]):
            return idle, numbers
        of_run = {name: column[first : first + cycles] for name, column in given.items()}
        count = len(of_run[LAST])
        numbers = np.where(numbers < 0, numbers, numbers + count)
        numbers[:count] = np.arange(count)
        return {name: np.concatenate([of_run[name], idle[name]]) for name in of_run}, numbers

    @cached_property
    def idle_payloads(self) -> Columns:
        """Payloads for idle cycles: half of them inputs for fuzzing, half random bits.

        Many look like valid inputs; a design must ignore them all.
        """
        generator = np.random.default_rng(0)
        pieces = self.component.fuzz(self.design, generator)
        hostile = next(items for items in self.items(Stimulus(pieces)) if len(items[LAST]))
        return {
            pin.name: np.concatenate(
                [hostile[pin.name][:IDLE_ROWS], random_column(pin, IDLE_ROWS, generator)]
            )
            for pin in self.interface.inputs
        }

    def _window_for(self, inputs: "_Inputs") -> int:
        """Number of cycles in a window of a run with these inputs."""
        most = max(self.window // len(self.interface.inputs[0].parts), MIN_WINDOW)
        few = len(inputs.upcoming(most)[LAST])
        return min(self.window, most, max(2 * few, MIN_WINDOW))


class _Inputs:
    """The inputs not accepted yet, read on demand."""

    def __init__(self, items: Iterator[Columns], interface: Interface) -> None:
        self._items = items
        self._columns = {pin.name: pin.column(0) for pin in interface.inputs}
        self._size = 0

    def upcoming(self, count: int) -> Columns:
        """The next ``count`` inputs, or fewer at the end."""
        parts = [self._columns]
        while self._size < count and (part := next(self._items, None)):
            parts.append(part)
            self._size += len(next(iter(part.values())))
        if len(parts) > 1:
            joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            self._columns = joined
        return {name: column[:count] for name, column in self._columns.items()}

    def drop(self, count: int) -> None:
        self._columns = {name: column[count:] for name, column in self._columns.items()}
        self._size -= count
