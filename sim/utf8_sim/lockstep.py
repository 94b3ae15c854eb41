"""Compare a trace with the golden model, every output pin in every cycle."""

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
from .tools.interrupts import defer_interrupts
from .trace import RESET, Trace, shown_number


class Difference(NamedTuple):
    """The first difference between the design and the golden model.

    Parameters
    ----------
    cycle : int
        The cycle; cycle 0 is the first after reset.
    pin : str
        The pin, such as ``o.code_point``; for an array with the index, ``o.data[3]``.
    expected, actual : int
        The value of the pin in the golden model, and in the design.
    labels : tuple of str
        Names of the numbers, from 0 on, if the pin is an enumeration.

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
    """Inputs that were offered: the values of texts, and the cycles in which they were accepted.

    ``cycles`` has an element for each value. ``ends`` has, for each text that ends, the number of
    values before its end. If the last input was not accepted, its cycle is the one after the last.
    """

    values: np.ndarray
    ends: np.ndarray
    cycles: np.ndarray


@dataclass(frozen=True)
class Window:
    """Cycles of a trace, as simulated and as expected by the golden model.

    ``of_text`` is the number of values of an unfinished text that were accepted before the window.
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
        """The inputs that were accepted, and the input that was still offered in the last cycle."""
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
        """The cycles of the window from ``begin`` up to but not including ``end``.

        ``of_text`` is only known for a part that begins with the window.
        """
        first = max(begin, self.first_cycle)
        cut = slice(first - self.first_cycle, max(end, first) - self.first_cycle)
        part = Window(first, self.actual[cut], self.expected[cut])
        is_beginning = first == self.first_cycle
        return replace(part, of_text=self.of_text) if is_beginning else part

    def difference(self) -> Difference | None:
        """The first difference at an output pin."""
        is_valid = self.actual["o.valid"].view(bool)
        first_rows = {}
        for pin in self.actual.interface.observed:
            differs = self.actual[pin] != self.expected[pin]
            wrong = differs.any(axis=1) if differs.ndim > 1 else differs
            if pin not in HANDSHAKE:
                wrong &= is_valid
            if wrong.any():
                first_rows[pin] = int(wrong.argmax())
        if not first_rows:
            return None
        name = min(first_rows, key=first_rows.__getitem__)
        return next(self.differences(name, first_rows[name]))

    def differences(self, name: str, row: int) -> Iterator[Difference]:
        """The differences of a pin in the cycle with index ``row``, one for each wrong part."""
        labels = self.actual.interface.pin(name).labels
        expected, actual = (self.expected[name][row], self.actual[name][row])
        for part in map(tuple, np.argwhere(expected != actual)):
            of_part = name + "".join(f"[{number}]" for number in part)
            levels = int(expected[part]), int(actual[part])
            yield Difference(self.first_cycle + row, of_part, *levels, labels)


HANDSHAKE = "i.ready", "o.valid"

OUTPUT_LAST = "o.last"

MAX_HISTORY = 1 << 26
"""Memory limit, in bytes, of the cycles kept for replay: enough for millions of bytes of text."""


class Lockstep:
    """A simulation, compared cycle by cycle while it runs.

    Iterate over it for the windows of the trace. It stops with the window that holds the first
    ``difference``, cut after the differing cycle. ``cycles`` is the number of cycles compared.
    ``recent`` has the last two windows, uncut, to show the cycles around the difference.
    """

    def __init__(self, engine: Engine, stimulus: Stimulus | Table) -> None:
        self._engine = engine
        self._stimulus = stimulus
        #: True if the stimulus is a table, which is driven unchanged.
        self.is_replay = isinstance(stimulus, Table)
        self.cycles = 0
        self.difference: Difference | None = None
        self.recent: list[Window] = []
        self.history = History()
        self._of_text = 0  # values accepted of a text that has not ended

    def __iter__(self) -> Iterator[Trace]:
        model, component = Golden(self._engine), self._engine.component
        for trace in _prefetched(self._engine.run(self._stimulus)):
            expected = model.expected(trace)
            masked = component.mask_dont_cares(expected.columns, trace.columns)
            expected = Trace(expected.interface, masked)
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

    def _count_values(self, trace: Trace) -> None:
        *_, segment = trace.split_at_resets()
        if len(segment) < len(trace):
            self._of_text = 0
        items = segment.accepted()
        _, counts = self._engine.component.values(items)
        ends = np.flatnonzero(items[LAST])
        begin = int(ends[-1]) + 1 if len(ends) else 0
        self._of_text = int(counts[begin:].sum()) + (0 if begin else self._of_text)

    def recording(self) -> Window:
        """The recent windows, joined."""
        windows = self.recent
        actual, expected = (
            Trace.join([getattr(window, side) for window in windows])
            for side in ("actual", "expected")
        )
        return replace(windows[0], actual=actual, expected=expected)

    def run(self) -> Difference | None:
        """Simulate to the end or to the first difference, and return the difference."""
        for _trace in self:
            pass
        return self.difference


class Golden:
    """The golden model of a subject during a run."""

    def __init__(self, subject: Subject) -> None:
        transducer = subject.component.model(subject.design)
        self._model = Model(subject.interface, transducer, subject.timing)

    def expected(self, trace: Trace) -> Trace:
        """The expected trace of the next cycles; a :class:`ModelError` if the model fails."""
        try:
            return self._model.expected(trace)
        except Exception as error:  # a model may raise anything
            raise ModelError(f"it failed with {type(error).__name__}: {error}") from error


class History:
    """Inputs, handshakes and ends of texts in each cycle; of a long run, in its last cycles."""

    def __init__(self) -> None:
        self._parts: list[Trace] = []
        self._bytes = self._first_cycle = 0

    def add(self, trace: Trace) -> None:
        """Append the next cycles."""
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
        """True if it begins with the first cycle."""
        return self._first_cycle == 0

    def trace(self) -> Trace:
        """All cycles of the history."""
        return Trace.join(self._parts)


def _prefetched(windows: Generator[Trace, None, None]) -> Iterator[Trace]:
    """Yield the windows, each simulated while the window before it is processed."""
    worker = ThreadPoolExecutor(1)
    try:
        with defer_interrupts():  # else shutdown() might miss a thread that has just started
            following = worker.submit(next, windows, None)
        while (window := following.result()) is not None:
            following = worker.submit(next, windows, None)
            yield window
    finally:
        worker.shutdown()  # a window may be in simulation
        windows.close()
