"""Engines that simulate a window of cycles at a time: fast, with the stimulus in arrays."""

from abc import abstractmethod
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager
from importlib import resources
from typing import Protocol

import numpy as np

from ..stimulus import Stimulus
from ..trace import Columns, Interface, Trace
from .engine import WATCHDOG, Ending, Engine, HangError

NATIVE = resources.files(__package__) / "native"
"""What is compiled or interpreted together with a design."""

BLOCK = 32
"""A window divides into blocks of so many cycles. No run ends while each accepts an input."""

assert 2 * BLOCK <= WATCHDOG


class Simulation(Protocol):
    """A design under simulation, at some cycle of its life."""

    def window(self, items: Columns, gaps: np.ndarray, stalls: np.ndarray) -> Trace:
        """Simulate as many cycles as there are ``gaps``, in which the producer stalls or not.

        ``items`` are the inputs that may be offered, first those that were and are not accepted.
        """
        ...


class WindowedEngine(Engine):
    """What such engines have in common."""

    window: int
    """Cycles in one window."""

    @abstractmethod
    def start(self) -> AbstractContextManager[Simulation]:
        """A simulation at its first cycle after reset."""

    def run(self, stimulus: Stimulus) -> Generator[Trace, None, None]:
        inputs = _Inputs(self.items(stimulus), self.interface)
        gaps = stimulus.input_stalls.windows(self.window)
        stalls = stimulus.output_stalls.windows(self.window)
        ending = Ending(self.timing)
        with self.start() as simulation:
            while not ending.over:
                items = inputs.upcoming(self.window)
                trace = simulation.window(items, next(gaps), next(stalls))
                is_accepted = trace.is_accepted
                inputs.drop(int(np.count_nonzero(is_accepted)))
                more = any(map(len, inputs.upcoming(1).values()))
                first = 0
                accepts = np.append(is_accepted.reshape(-1, BLOCK).any(axis=1), False)
                moving = int(accepts.argmin())  # blocks before the first that accepts nothing
                if moving and ending.stuck <= BLOCK:
                    # Nothing ends in them, and what counts after them began in the last of them.
                    ending, first = Ending(self.timing), (moving - 1) * BLOCK
                yield trace[: self._end(ending, trace, more, first)]
        if ending.hang:
            raise HangError(ending.hang)

    @staticmethod
    def _end(ending: Ending, trace: Trace, more: bool, first: int) -> int:
        """How many of the cycles belong to the run; it does not end before the first given."""
        pins = (trace[pin][first:].tolist() for pin in ("i.valid", "i.ready", "o.valid", "o.ready"))
        last_accepted = np.flatnonzero(trace.is_accepted)[-1:].tolist()
        # If nothing is left, the last input was accepted in this window or before it.
        none_left_from = len(trace) if more else (last_accepted or [0])[0]
        for cycle, (i_valid, i_ready, o_valid, o_ready) in enumerate(
            zip(*pins, strict=True), start=first
        ):
            ending.note(i_valid, i_ready, o_valid, o_ready, cycle < none_left_from)
            if ending.over:
                return cycle + 1
        return len(trace)


class _Inputs:
    """The inputs that were not accepted yet, read as they are needed."""

    def __init__(self, items: Iterator[Columns], interface: Interface) -> None:
        self._items = items
        self._columns = {pin.name: pin.column(0) for pin in interface.inputs}
        self._size = 0

    def upcoming(self, count: int) -> Columns:
        """The next so many inputs; fewer if there are no more."""
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
