"""Hold a trace against the golden model, every output pin in every cycle."""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .components import Component
from .engines.engine import Engine, ModelError
from .golden.model import MET, Model
from .stimulus import LAST, Stimulus, Table
from .subject import Subject
from .tools.interrupts import interrupts_later
from .trace import RESET, Trace, shown_number


class Difference(NamedTuple):
    """The first place where design and golden model say different things.

    Parameters
    ----------
    cycle : int
        The cycle, from 0, the first one after reset.
    pin : str
        The pin, ``o.code_point`` say; of an array with its place in it, ``o.data[3]``.
    expected, actual : int
        What the golden model says, and the design.
    labels : tuple of str
        What the numbers mean, from 0 on, if the pin is an enumeration.

    Examples
    --------
    >>> from utf8_sim import Difference
    >>> print(Difference(cycle=9, pin="o.code_point", expected=0x41, actual=0x61))
    cycle 9, pin o.code_point: expected 41, actual 61
    """

    cycle: int
    pin: str
    expected: int
    actual: int
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        expected = shown_number(self.expected, self.labels)
        actual = shown_number(self.actual, self.labels)
        return f"cycle {self.cycle}, pin {self.pin}: expected {expected}, actual {actual}"


class Inputs(NamedTuple):
    """What was offered: the values of texts, and in which cycle the input of each was accepted.

    Of each text that ends ``ends`` says how many of the values are before its end. The last input
    may not have been accepted; its cycle is the one after the last.
    """

    values: np.ndarray
    ends: np.ndarray
    cycles: np.ndarray


@dataclass(frozen=True)
class Window:
    """Cycles of a trace as they were and as the golden model expects them.

    Before them ``of_text`` values were accepted of a text that has not ended.
    """

    first_cycle: int
    actual: Trace
    expected: Trace
    of_text: int = 0

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
        """The cycles from number ``begin`` up to ``end``, as far as they are here.

        What was before them is only known if they are the first ones here.
        """
        first = max(begin, self.first_cycle)
        cut = slice(first - self.first_cycle, max(end, first) - self.first_cycle)
        part = Window(first, self.actual[cut], self.expected[cut])
        is_beginning = first == self.first_cycle  # what was before the first cycle is the same
        return replace(part, of_text=self.of_text) if is_beginning else part

    def difference(self) -> Difference | None:
        """The first output pin that is not as expected."""
        is_valid = self.actual["o.valid"].view(bool)
        places = {}
        for pin in self.actual.interface.observed:
            differs = self.actual[pin] != self.expected[pin]
            wrong = differs.any(axis=1) if differs.ndim > 1 else differs
            if pin not in HANDSHAKE:
                wrong &= is_valid
            if wrong.any():
                places[pin] = int(wrong.argmax())
        if not places:
            return None
        name = min(places, key=places.__getitem__)
        return next(self.differences(name, places[name]))

    def differences(self, name: str, place: int) -> Iterator[Difference]:
        """Where a pin is not as expected, in the cycle that has a place: of an array each part."""
        labels = self.actual.interface.pin(name).labels
        expected, actual = (self.expected[name][place], self.actual[name][place])
        for part in map(tuple, np.argwhere(expected != actual)):
            of_part = name + "".join(f"[{number}]" for number in part)
            levels = int(expected[part]), int(actual[part])
            yield Difference(self.first_cycle + place, of_part, *levels, labels)


HANDSHAKE = "i.ready", "o.valid"

OUTPUT_LAST = "o.last"

MAX_HISTORY = 1 << 26
"""Bytes of the cycles that are kept, to be driven again: those of millions of bytes of a text."""


class Lockstep:
    """A simulation, compared cycle by cycle while it runs.

    Iterate over it for the windows of the trace. It stops with the window that holds the first
    ``difference``, cut after the differing cycle. ``cycles`` were compared. ``recent`` are the last
    two windows, uncut, for a look at what happened around the difference.
    """

    def __init__(self, engine: Engine, stimulus: Stimulus | Table) -> None:
        self._engine = engine
        self._stimulus = stimulus
        #: True if the stimulus is a table, which is driven as it is.
        self.is_replay = isinstance(stimulus, Table)
        self.cycles = 0
        self.difference: Difference | None = None
        self.recent: list[Window] = []
        self.history = History()
        self._of_text = 0  # values accepted of a text that has not ended

    def __iter__(self) -> Iterator[Trace]:
        model = Golden(self._engine)
        for trace in _ahead(self._engine.run(self._stimulus)):
            expected = self._as_far_as_it_matters(model.expected(trace), trace)
            trace.columns[MET] = expected[MET]
            window = Window(self.cycles, trace, expected, self._of_text)
            self._count_values(trace)
            self.recent = [*self.recent[-1:], window]
            self.difference = window.difference()
            end = self.difference.cycle + 1 if self.difference else window.end
            compared, self.cycles = trace[: end - self.cycles], end
            self.history.add(compared)
            yield compared
            if self.difference:
                return

    def _as_far_as_it_matters(self, expected: Trace, actual: Trace) -> Trace:
        component = self._engine.component
        columns = component.mask_dont_cares(expected.columns, actual.columns)
        return Trace(expected.interface, columns)

    def _count_values(self, trace: Trace) -> None:
        *_, life = trace.lives()
        if len(life) < len(trace):
            self._of_text = 0
        items = life.accepted()
        _, counts = self._engine.component.values(items)
        ends = np.flatnonzero(items[LAST])
        begin = int(ends[-1]) + 1 if len(ends) else 0
        self._of_text = int(counts[begin:].sum()) + (0 if begin else self._of_text)

    def recording(self) -> Window:
        """The recent windows as one."""
        windows = self.recent
        actual, expected = (
            Trace.join([getattr(window, side) for window in windows])
            for side in ("actual", "expected")
        )
        return replace(windows[0], actual=actual, expected=expected)

    def run(self) -> Difference | None:
        """Simulate to the end, or to the first difference, which is returned."""
        for _trace in self:
            pass
        return self.difference


class Golden:
    """The golden model of a subject, at some cycle of its life."""

    def __init__(self, subject: Subject) -> None:
        transducer = subject.component.model(subject.design)
        self._model = Model(subject.interface, transducer, subject.timing)

    def expected(self, trace: Trace) -> Trace:
        """The next cycles as they must be. If the model fails, that is a :class:`ModelError`."""
        try:
            return self._model.expected(trace)
        except Exception as error:  # whatever is wrong with a model
            raise ModelError(f"it failed with {type(error).__name__}: {error}") from error


class History:
    """Inputs, handshakes and ends of texts of every cycle so far; of a long run, the last ones."""

    def __init__(self) -> None:
        self._parts: list[Trace] = []
        self._bytes = self._first_cycle = 0

    def add(self, trace: Trace) -> None:
        """Take in the next cycles."""
        names = RESET, *trace.interface.driven, *HANDSHAKE, OUTPUT_LAST
        columns = {name: trace[name] for name in names if name in trace.columns}
        self._parts.append(Trace(trace.interface, columns))
        self._bytes += self._parts[-1].nbytes
        while self._bytes > MAX_HISTORY and self._parts[1:]:
            gone = self._parts.pop(0)
            self._bytes -= gone.nbytes
            self._first_cycle += len(gone)

    @property
    def is_whole(self) -> bool:
        """Whether it begins with the first cycle."""
        return self._first_cycle == 0

    def trace(self) -> Trace:
        """All of it."""
        return Trace.join(self._parts)


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
