"""Hold a trace against the golden model, every output pin in every cycle."""

import dataclasses
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from utf8_hdl import Kind, Profile

from .engines.engine import Engine
from .golden.arrays import Progress, bulk_cycles
from .golden.model import CycleModel
from .stimulus import Stimulus
from .tools.interrupts import interrupts_later
from .trace import Trace, bits, meaningful


class Difference(NamedTuple):
    """The first place where design and golden model say different things."""

    cycle: int
    pin: str
    expected: int
    actual: int

    def __str__(self) -> str:
        expected, actual = (shown_level(self.pin, level) for level in (self.expected, self.actual))
        return f"cycle {self.cycle}, pin {self.pin}: expected {expected}, actual {actual}"


def shown_level(pin: str, level: int) -> str:
    """A level of a pin, for a person."""
    if pin in ("o.code_point", "o.data"):
        return f"{level:X}"
    if pin == "o.kind":
        return f"{level} ({Kind(level).label})"
    return str(level)


@dataclass(frozen=True)
class Before:
    """What came before some cycles of a run.

    Parameters
    ----------
    of_text : int
        How many inputs were accepted of a text that has not ended.
    in_flight : int
        How many bytes a decoder accepted that no token covers which was taken.
    progress : Progress
        Whether a decoder runs in the first of the cycles.
    """

    of_text: int = 0
    in_flight: int = 0
    progress: Progress = dataclasses.field(default_factory=Progress)


class Inputs(NamedTuple):
    """What was offered: values, whether each ends a text, and in which cycle each was accepted.

    The last one may not have been accepted; its cycle is the one after the last.
    """

    values: np.ndarray
    lasts: np.ndarray
    cycles: np.ndarray


class Window:
    """Cycles of a trace, as they were and as the readable golden model expects them.

    Parameters
    ----------
    first_cycle : int
        The number of the first cycle.
    actual : Trace
        The cycles as they were.
    expect : callable
        Gives the cycles as they should have been. It is called once, when they are asked for.
    before : Before
        What came before them; without it, reset.
    """

    def __init__(
        self,
        first_cycle: int,
        actual: Trace,
        expect: Callable[[], Trace],
        before: Before | None = None,
    ) -> None:
        self.first_cycle = first_cycle
        self.actual = actual
        self.before = before or Before()
        self._expect = expect

    @cached_property
    def expected(self) -> Trace:
        """The cycles as they should have been, given the pins that were driven."""
        return self._expect()

    @property
    def end(self) -> int:
        """The number of the cycle after the last."""
        return self.first_cycle + len(self.actual)

    def inputs(self) -> Inputs:
        """The inputs that were accepted, and the one that was on offer at last."""
        trace = self.actual
        is_shown = trace.is_accepted
        cycles = np.arange(self.first_cycle, self.end)
        if len(trace) and trace.i_valid[-1] and not is_shown[-1]:
            is_shown[-1] = True
            cycles[-1] += 1
        return Inputs(trace.item[is_shown], trace.i_last[is_shown].astype(bool), cycles[is_shown])

    def part(self, begin: int, end: int) -> "Window":
        """The cycles from number ``begin`` up to ``end``, as far as they are here."""
        first = max(begin, self.first_cycle)
        cut = slice(first - self.first_cycle, max(end, first) - self.first_cycle)
        return Window(first, self.actual[cut], lambda: self.expected[cut])

    def difference(self) -> Difference | None:
        """The first output pin that is not as expected."""
        actual = replace(self.actual, words=meaningful(self.actual.words))
        wrong = actual.words != self.expected.words
        if not wrong.any():
            return None
        at = int(wrong.argmax())
        for pin in actual.interface.observed:
            levels = int(self.expected[pin][at]), int(actual[pin][at])
            if levels[0] != levels[1]:
                return Difference(self.first_cycle + at, pin, *levels)
        raise AssertionError("words differ only where there is no pin")


class Lockstep:
    """A simulation, compared cycle by cycle while it runs.

    Iterate over it for the windows of the trace. It stops with the window that holds the first
    difference, cut after the differing cycle.

    Parameters
    ----------
    engine : Engine
        What simulates the design.
    stimulus : Stimulus
        What to drive.

    Attributes
    ----------
    cycles : int
        How many cycles were compared.
    difference : Difference or None
        The first difference, once it is found.
    recent : list of Window
        The last two windows, uncut, for a look at what happened around the difference.
    """

    _of_text = 0
    """Inputs accepted of a text that has not ended."""

    def __init__(self, engine: Engine, stimulus: Stimulus) -> None:
        self._engine = engine
        self._stimulus = stimulus
        self.cycles = 0
        self.difference: Difference | None = None
        self.recent: list[Window] = []

    def __iter__(self) -> Iterator[Trace]:
        model = bulk_cycles(self._engine.interface, self._engine.profile)
        for trace in _ahead(self._engine.run(self._stimulus)):
            expect = partial(_expected, model.readable(), trace)
            before = Before(self._of_text, model.in_flight(), model.progress())
            window = Window(self.cycles, trace, expect, before)
            self._count_inputs(trace)
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

    def _count_inputs(self, trace: Trace) -> None:
        lasts = trace.i_last.compress(trace.is_accepted)
        ends = np.flatnonzero(lasts)
        self._of_text = len(lasts) - 1 - int(ends[-1]) if len(ends) else self._of_text + len(lasts)

    def recording(self) -> Window:
        """The recent windows as one."""
        windows = self.recent
        actual = Trace.join([window.actual for window in windows])

        def expect() -> Trace:
            return Trace.join([window.expected for window in windows])

        return Window(windows[0].first_cycle, actual, expect, windows[0].before)

    def run(self) -> Difference | None:
        """Simulate to the end, or to the first difference, which is returned."""
        for _trace in self:
            pass
        return self.difference


def expectation(profile: Profile, trace: Trace) -> Trace:
    """What the golden model says to the pins that were driven, from reset on."""
    return _expected(bulk_cycles(trace.interface, profile).readable(), trace)


def _expected(model: CycleModel, trace: Trace) -> Trace:
    """What the golden model says to the pins that were driven, from where it stands."""
    interface = trace.interface
    driven = zip(*(trace[pin].tolist() for pin in interface.driven), strict=True)
    outputs = [model.cycle(*levels) for levels in driven]
    words = np.zeros(len(trace), dtype=np.uint64)
    for pin, levels in zip(interface.observed, zip(*outputs, strict=True), strict=True):
        words |= bits(pin, np.array(levels, dtype=np.uint64))
    return replace(trace, words=words)


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
