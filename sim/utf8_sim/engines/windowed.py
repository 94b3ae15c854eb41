"""Engines that simulate a window of cycles at a time: fast, with the stimulus in arrays."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager
from importlib import resources
from typing import Protocol

import numpy as np

from utf8_hdl import Decoder, Encoder

from ..stimulus import Stimulus
from ..trace import Trace
from .engine import WATCHDOG, Ending, HangError, interface_of

NATIVE = resources.files(__package__) / "native"
"""What is compiled or interpreted together with a design."""

BLOCK = 32
"""A window divides into blocks of so many cycles. No run ends while each accepts an input."""

assert 2 * BLOCK <= WATCHDOG


class Simulation(Protocol):
    """A design under simulation, at some cycle of its life."""

    def window(
        self, values: np.ndarray, lasts: np.ndarray, gaps: np.ndarray, stalls: np.ndarray
    ) -> Trace:
        """Simulate the next cycles.

        Parameters
        ----------
        values, lasts : numpy.ndarray
            The inputs that may be offered, those offered and not accepted before among them.
        gaps, stalls : numpy.ndarray
            For each cycle whether the producer and whether the consumer pauses.
        """
        ...


class WindowedEngine(ABC):
    """What such engines have in common; an :class:`~utf8_sim.engines.engine.Engine`.

    Parameters
    ----------
    design : Decoder or Encoder
        What is simulated.
    """

    name: str
    window: int
    """Cycles in one window."""

    def __init__(self, design: Decoder | Encoder) -> None:
        self.interface = interface_of(design)
        self.profile = design.profile
        self.state_names = {state.value: state.name for state in design.State}

    @abstractmethod
    def start(self) -> AbstractContextManager[Simulation]:
        """A simulation at its first cycle after reset."""

    def run(self, stimulus: Stimulus) -> Generator[Trace, None, None]:
        item_type = self.interface.item_type
        inputs = _Inputs(stimulus.items(item_type), item_type)
        gaps = stimulus.input_stalls.windows(self.window)
        stalls = stimulus.output_stalls.windows(self.window)
        ending = Ending()
        with self.start() as simulation:
            while not ending.over:
                values, lasts = inputs.upcoming(self.window)
                trace = simulation.window(values, lasts, next(gaps), next(stalls))
                is_accepted = trace.is_accepted
                inputs.drop(int(np.count_nonzero(is_accepted)))
                more = len(inputs.upcoming(1)[0]) > 0
                first = 0
                accepts = np.append(is_accepted.reshape(-1, BLOCK).any(axis=1), False)
                moving = int(accepts.argmin())  # blocks before the first that accepts nothing
                if moving and ending.stuck <= BLOCK:
                    # Nothing ends in them, and what counts after them began in the last of them.
                    ending, first = Ending(), (moving - 1) * BLOCK
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

    def __init__(self, items: Iterator[tuple[np.ndarray, np.ndarray]], item_type: type) -> None:
        self._items = items
        self._values: np.ndarray = np.zeros(0, dtype=item_type)
        self._lasts = np.zeros(0, dtype=np.uint8)

    def upcoming(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The next so many values, and whether each ends a text; fewer if there are no more."""
        parts = [(self._values, self._lasts)]
        size = len(self._values)
        while size < count and (part := next(self._items, None)):
            parts.append(part)
            size += len(part[0])
        if len(parts) > 1:
            self._values, self._lasts = map(np.concatenate, zip(*parts, strict=True))
        return self._values[:count], self._lasts[:count]

    def drop(self, count: int) -> None:
        self._values, self._lasts = self._values[count:], self._lasts[count:]
