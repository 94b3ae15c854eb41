"""Hold a trace against the golden model, every output pin in every cycle."""

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from utf8_hdl import Kind

from .components import Component
from .engines.engine import Engine
from .golden.arrays import ArrayCycles, StateMeetings
from .golden.timing import CycleModel
from .stimulus import LAST, Stimulus
from .tools.interrupts import interrupts_later
from .trace import Trace


class Difference(NamedTuple):
    """The first place where design and golden model say different things.

    Parameters
    ----------
    cycle : int
        The cycle, from 0, the first one after reset.
    pin : str
        The pin, ``o.code_point`` say.
    expected, actual : int
        What the golden model says, and the design.

    Examples
    --------
    >>> from utf8_sim import Difference
    >>> print(Difference(cycle=9, pin="o.kind", expected=3, actual=6))
    cycle 9, pin o.kind: expected 3 (overlong), actual 6 (truncated)
    """

    cycle: int
    pin: str
    expected: int
    actual: int

    def __str__(self) -> str:
        expected, actual = (shown_level(self.pin, level) for level in (self.expected, self.actual))
        return f"cycle {self.cycle}, pin {self.pin}: expected {expected}, actual {actual}"


DECIMAL = "o.kind", "o.length"
"""Numbers that are read as such; all others are in hexadecimal."""


def shown_level(pin: str, level: int) -> str:
    """A level of a pin, for a person."""
    if pin == "o.kind" and level < len(Kind):
        return f"{level} ({Kind(level).label})"
    return str(level) if pin in DECIMAL else f"{level:X}"


class Inputs(NamedTuple):
    """What was offered: the values of texts, and in which cycle the input of each was accepted.

    Of each text that ends ``ends`` says how many of the values are before its end. The last input
    may not have been accepted; its cycle is the one after the last.
    """

    values: np.ndarray
    ends: np.ndarray
    cycles: np.ndarray


class Window:
    """Cycles of a trace, as they were and as the readable golden model expects them.

    ``expect`` gives the latter, when they are asked for; ``meetings`` says when the inputs meet the
    state machine, if that is not counted from reset.
    """

    def __init__(
        self,
        first_cycle: int,
        actual: Trace,
        expect: Callable[[], Trace],
        meetings: StateMeetings | None = None,
    ) -> None:
        self.first_cycle = first_cycle
        self.actual = actual
        self.meetings = meetings
        self._expect = expect

    @cached_property
    def expected(self) -> Trace:
        """The cycles as they should have been, given the pins that were driven."""
        return self._expect()

    @property
    def end(self) -> int:
        """The number of the cycle after the last."""
        return self.first_cycle + len(self.actual)

    def inputs(self, component: Component) -> Inputs:
        """The inputs that were accepted, and the one that was on offer at last."""
        trace = self.actual
        is_shown = trace.is_accepted
        cycles = np.arange(self.first_cycle, self.end)
        if len(trace) and trace["i.valid"][-1] and not is_shown[-1]:
            is_shown[-1] = True
            cycles[-1] += 1
        items = trace.inputs(is_shown)
        values, counts = component.values(items)
        ends = np.cumsum(counts)[items[LAST].view(bool)]
        return Inputs(values, ends, np.repeat(cycles[is_shown], counts))

    def part(self, begin: int, end: int) -> "Window":
        """The cycles from number ``begin`` up to ``end``, as far as they are here."""
        first = max(begin, self.first_cycle)
        cut = slice(first - self.first_cycle, max(end, first) - self.first_cycle)
        return Window(first, self.actual[cut], lambda: self.expected[cut])

    def difference(self) -> Difference | None:
        """The first output pin that is not as expected."""
        is_valid = self.actual["o.valid"].astype(bool)
        wrong = {
            pin: _differs(self.actual[pin], self.expected[pin])
            & (True if pin in HANDSHAKE else is_valid)
            for pin in self.actual.interface.observed
        }
        cycles = np.flatnonzero(np.logical_or.reduce(list(wrong.values())))
        if not len(cycles):
            return None
        at = int(cycles[0])
        pin = next(pin for pin, where in wrong.items() if where[at])
        number = self.actual.interface.pin(pin).number
        levels = (number(trace[pin][at].tolist()) for trace in (self.expected, self.actual))
        return Difference(self.first_cycle + at, pin, *levels)


HANDSHAKE = "i.ready", "o.valid"


def _differs(levels: np.ndarray, others: np.ndarray) -> np.ndarray:
    return (levels != others).reshape(len(levels), -1).any(axis=1)


class Lockstep:
    """A simulation, compared cycle by cycle while it runs.

    Iterate over it for the windows of the trace. It stops with the window that holds the first
    ``difference``, cut after the differing cycle. ``cycles`` were compared. ``recent`` are the last
    two windows, uncut, for a look at what happened around the difference.
    """

    def __init__(self, engine: Engine, stimulus: Stimulus) -> None:
        self._engine = engine
        self._stimulus = stimulus
        self.cycles = 0
        self.difference: Difference | None = None
        self.recent: list[Window] = []

    def __iter__(self) -> Iterator[Trace]:
        model = _golden(self._engine)
        for trace in _ahead(self._engine.run(self._stimulus)):
            expect = partial(_expected, model.readable(), trace)
            window = Window(self.cycles, trace, expect, model.meetings())
            self.recent = [*self.recent[-1:], window]
            wrong = model.first_difference(trace)
            if wrong is None:
                self.cycles += len(trace)
                yield trace
                continue
            self.difference = window.difference()
            if not self.difference or self.difference.cycle != self.cycles + wrong:
                raise AssertionError("the two golden models contradict each other")
            self.cycles += wrong + 1
            yield trace[: wrong + 1]
            return

    def recording(self) -> Window:
        """The recent windows as one."""
        windows = self.recent
        actual = Trace.join([window.actual for window in windows])

        def expect() -> Trace:
            return Trace.join([window.expected for window in windows])

        return Window(windows[0].first_cycle, actual, expect, windows[0].meetings)

    def run(self) -> Difference | None:
        """Simulate to the end, or to the first difference, which is returned."""
        for _trace in self:
            pass
        return self.difference


def expectation(engine: Engine, trace: Trace) -> Trace:
    """What the golden model says to the pins that were driven, from reset on."""
    return _expected(_golden(engine).readable(), trace)


def _golden(engine: Engine) -> ArrayCycles:
    """The golden model of what an engine simulates, at its first cycle after reset."""
    transducer = engine.component.array_transducer(engine.design)
    return ArrayCycles(engine.interface, transducer, engine.timing)


def _expected(model: CycleModel, trace: Trace) -> Trace:
    """What the golden model says to the pins that were driven, from where it is."""
    interface = trace.interface
    driven = zip(*(trace[pin].tolist() for pin in interface.driven), strict=True)
    outputs = [model.cycle(*levels) for levels in driven]
    columns = {}
    for number, pin in enumerate(interface.observed):
        column = columns[pin] = np.zeros_like(trace[pin])
        for cycle, output in enumerate(outputs):
            column[cycle] = output[number]
    return Trace(interface, trace.columns | columns)


def _ahead(windows: Generator[Trace, None, None]) -> Iterator[Trace]:
    """The same windows, each of them simulated while the one before it is looked at."""
    worker = ThreadPoolExecutor(1)
    try:
        with interrupts_later():  # a thread that has started and is not in the pool yet is lost
            following = worker.submit(next, windows, None)
        while (window := following.result()) is not None:
            following = worker.submit(next, windows, None)
            yield window
    finally:
        worker.shutdown()  # a window may be under way
        windows.close()
