"""Minimise a stimulus that shows a difference: remove events by halves, then one by one."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .engines.engine import WATCHDOG, DesignError, Engine
from .lockstep import Difference, Lockstep
from .stimulus import FixedStalls, Stimulus, Table
from .trace import RESET, Interface, Trace, expand_lane_mask

FIRST_SPAN, SPAN_FACTOR = 32, 4
"""Number of cycles before a difference in the first attempt, and its growth factor."""

PATIENCE = 8.0
"""Seconds after which the search ends with the shortest stimulus found."""

KEEP = "i.keep"

SIMPLE = 0x41
"""Replaces each value on which the difference does not depend."""


class Found(NamedTuple):
    """A difference, and the inputs and handshakes of each cycle up to it."""

    difference: Difference
    trace: Trace

    @property
    def table(self) -> Table:
        """The stimulus."""
        return Table.of(self.trace)


class NotReproducible(Exception):
    """The same stimulus had a different outcome."""


def attempt(engine: Engine, stimulus: Stimulus | Table, side: str) -> Found | None:
    """Run a stimulus; return None unless its first difference is on the given side of the design.

    The pin itself may change: a lost byte shows at different output pins, depending on the bytes
    after it.
    """
    lockstep = Lockstep(engine, stimulus)
    try:
        difference = lockstep.run()
    except DesignError:
        return None
    if difference is None or difference.pin.partition(".")[0] != side:
        return None
    return Found(difference, lockstep.history.trace())


def minimised(engine: Engine, lockstep: Lockstep) -> Iterator[Found]:
    """Yield ever shorter stimuli, from reset on, that show a run's difference, until time is up.

    The first is the run's own stimulus, if its history is complete; if that does not show the same
    difference, :class:`NotReproducible` is raised. If only the last cycles are known and they do
    not show the difference on their own, nothing is yielded.
    """
    until, difference = time.monotonic() + PATIENCE, lockstep.difference
    assert difference
    side = difference.pin.partition(".")[0]
    history = lockstep.history.trace()
    if lockstep.history.is_whole:
        found = attempt(engine, Table.of(history), side)
        if found is None or found.difference != difference:
            raise NotReproducible
        yield found
    for stimulus in _endings(history):
        if found := attempt(engine, stimulus, side):
            break
        if time.monotonic() > until:
            return
    else:
        return
    yield from _Search(engine, found, until).steps()


def _endings(history: Trace) -> Iterator[Stimulus]:
    """Stimuli from the last cycles, from few to all.

    All except the longest are also tried after an idle cycle. It compensates for the first cycle
    after reset, in which a pipeline is not enabled yet.
    """
    span, size = FIRST_SPAN, len(history)
    while True:
        part = history[max(0, size - span) :]
        yield driven(part)
        if span >= size:
            return
        yield driven(part, idle_before=1)
        span *= SPAN_FACTOR


def driven(trace: Trace, idle_before: int = 0) -> Stimulus:
    """A stimulus for the cycles of a trace; the producer offers each input until it is accepted.

    An input may be accepted in a different cycle than in the trace, but none is lost.
    """
    sides = trace["i.valid"] == 0, trace["o.ready"] == 0, trace[RESET] != 0
    gaps, stalls, resets = (
        FixedStalls((is_gap,) * idle_before + tuple(side.tolist()))
        for is_gap, side in zip((True, False, False), sides, strict=True)
    )
    idle = trace[np.arange(-idle_before, len(trace)).clip(0)]
    items, payloads = trace.inputs(is_item(trace)), idle.inputs(np.ones(len(idle), dtype=bool))
    return Stimulus([items], gaps, stalls, len(idle) + WATCHDOG, resets, payloads)


@dataclass(frozen=True)
class Event:
    """An event in a stimulus that may be unnecessary: a value of a pin other than ``simple``.

    If ``accepted`` is True, it counts only in cycles in which an input is accepted (or, in the last
    cycle, offered); if False, only in cycles in which none is offered. If ``kept`` is True, it
    counts only in lanes with ``keep``; if False, only in the other lanes. Without a pin, the event
    is the cycle itself with the input that is accepted in it; the cycle with the difference is
    never an event.
    """

    pin: str = ""
    simple: int = 0
    accepted: bool | None = None
    kept: bool | None = None

    def occurrences(self, trace: Trace) -> np.ndarray:
        """The occurrences as indices into the column, one row each."""
        if not self.pin:
            return np.arange(len(trace) - 1)[:, np.newaxis]
        marks = trace[self.pin] != self.simple
        if self.accepted is not None:
            marks[~(is_item(trace) if self.accepted else trace["i.valid"] == 0)] = False
        if self.kept is not None:
            has_keep = KEEP in trace.columns
            marks &= self.kept == (expand_lane_mask(trace[KEEP] != 0, marks) if has_keep else True)
        return np.argwhere(marks)

    def without(self, trace: Trace, occurrences: np.ndarray) -> Trace:
        """The trace without some occurrences of the event."""
        if not self.pin:
            return trace[np.delete(np.arange(len(trace)), occurrences[:, 0])]
        column = trace[self.pin].copy()
        column[tuple(occurrences.T)] = self.simple
        return Trace(trace.interface, {**trace.columns, self.pin: column})


def events(interface: Interface) -> list[Event]:
    """Events that may be unnecessary: idle values, resets, cycles, inputs, stalls, accepted values.

    Events that are seldom needed come first: one attempt then removes them all.
    """
    values, *others = (pin.name for pin in interface.inputs)
    simpler = [Event(name, 0, accepted=True) for name in others if name != KEEP]
    lanes = [Event(values, 0, True, kept=False), Event(values, SIMPLE, True, kept=True)]
    idle = [Event(name, 0, accepted=False) for name in (values, *others)]
    cycles = Event(), Event("i.valid"), Event("o.ready", 1)
    return [*idle, Event(RESET), *cycles, *lanes, *simpler]


def is_item(trace: Trace) -> np.ndarray:
    """Mask of the cycles in which an input is accepted or, in the last cycle, offered."""
    marks = trace.is_accepted
    marks[-1:] |= trace["i.valid"][-1:].view(bool)
    return marks


class _Search:
    """Search for the shortest stimulus, starting from one that shows the difference."""

    def __init__(self, engine: Engine, found: Found, until: float) -> None:
        self._engine, self._until = engine, until
        self._side = found.difference.pin.partition(".")[0]
        self._events = events(engine.interface)
        self.found = found

    def steps(self) -> Iterator[Found]:
        """Yield ever shorter stimuli. Given enough time, the last one needs each of its events."""
        before = None
        while (size := self._size()) != before and self._has_time():
            before = size
            for event in self._events:
                self._leave_out(event)
                yield self.found

    def _has_time(self) -> bool:
        return time.monotonic() < self._until

    def _size(self) -> list[int]:
        return [len(event.occurrences(self.found.trace)) for event in self._events]

    def _leave_out(self, event: Event) -> None:
        """Leave out occurrences of an event: by halves, then one by one."""
        size = len(event.occurrences(self.found.trace))
        while size:
            begin = 0
            while self._has_time():
                occurrences = event.occurrences(self.found.trace)
                some = occurrences[begin : begin + size]
                if not len(some):
                    break
                shorter = event.without(self.found.trace, some)
                found = attempt(self._engine, driven(shorter), self._side)
                if found and len(event.occurrences(found.trace)) < len(occurrences):
                    self.found = found
                else:
                    begin += size
            size = 1 << (size - 1).bit_length() >> 1  # a power of two, like the number of lanes
