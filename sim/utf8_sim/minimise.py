"""The shortest stimulus that still shows a difference: by halves, then one by one."""

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
"""How many cycles before a difference are tried first, and how many times as many then."""

PATIENCE = 8.0
"""Seconds after which the shortest stimulus found is good enough."""

KEEP = "i.keep"

SIMPLE = 0x41
"""The value that others are replaced with where they do not matter."""


class Found(NamedTuple):
    """A difference, and the inputs and handshakes of each cycle up to it."""

    difference: Difference
    trace: Trace

    @property
    def table(self) -> Table:
        """The stimulus."""
        return Table.of(self.trace)


class NotReproducible(Exception):
    """The very same stimulus showed another outcome."""


def attempt(engine: Engine, stimulus: Stimulus | Table, side: str) -> Found | None:
    """Run a stimulus; give nothing if it shows no difference on a side of the design.

    A lost byte may show itself at any pin of the output; which one is a matter of what follows.
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
    """Ever shorter stimuli that show the difference of a run, from reset on, while there is time.

    First of all its very own, if all of it is known; if that does not show the same difference, it
    is :class:`NotReproducible`. If only its last cycles are known and they do not show it alone,
    there is none.
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
    """The last cycles, from few to all; first at once, then after an idle one.

    The idle one makes up for the cycle after reset, in which a pipeline is not enabled yet.
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
    """What drives the cycles of a trace, with a producer that keeps each input on offer.

    In another run an input may be accepted in another cycle; no input is lost because of that.
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
    """Something in a stimulus that may not matter: a level of a pin that is not ``simple``.

    If ``accepted`` is true, only the cycles count in which an input is accepted (or, in the last
    one, offered); if it is false, those in which none is offered. If ``kept`` is true, only the
    lanes with ``keep`` count; if it is false, the others. Without a pin, the event is the cycle
    itself with the input that is accepted in it; the cycle with the difference is never one.
    """

    pin: str = ""
    simple: int = 0
    accepted: bool | None = None
    kept: bool | None = None

    def places(self, trace: Trace) -> np.ndarray:
        """Where it is, as indices into the column, a row for each."""
        if not self.pin:
            return np.arange(len(trace) - 1)[:, np.newaxis]
        marks = trace[self.pin] != self.simple
        if self.accepted is not None:
            marks[~(is_item(trace) if self.accepted else trace["i.valid"] == 0)] = False
        if self.kept is not None:
            has_keep = KEEP in trace.columns
            marks &= self.kept == (expand_lane_mask(trace[KEEP] != 0, marks) if has_keep else True)
        return np.argwhere(marks)

    def without(self, trace: Trace, places: np.ndarray) -> Trace:
        """The same without it in some places."""
        if not self.pin:
            return trace[np.delete(np.arange(len(trace)), places[:, 0])]
        column = trace[self.pin].copy()
        column[tuple(places.T)] = self.simple
        return Trace(trace.interface, {**trace.columns, self.pin: column})


def events(interface: Interface) -> list[Event]:
    """What may not matter: idle values, resets, cycles, inputs, stalls, accepted values.

    First what is seldom needed, and is gone with one attempt then.
    """
    values, *others = (pin.name for pin in interface.inputs)
    simpler = [Event(name, 0, accepted=True) for name in others if name != KEEP]
    lanes = [Event(values, 0, True, kept=False), Event(values, SIMPLE, True, kept=True)]
    idle = [Event(name, 0, accepted=False) for name in (values, *others)]
    cycles = Event(), Event("i.valid"), Event("o.ready", 1)
    return [*idle, Event(RESET), *cycles, *lanes, *simpler]


def is_item(trace: Trace) -> np.ndarray:
    """The cycles in which an input is accepted; or offered, in the last one."""
    marks = trace.is_accepted
    marks[-1:] |= trace["i.valid"][-1:].view(bool)
    return marks


class _Search:
    """The shortest stimulus so far, from one that shows what is looked for."""

    def __init__(self, engine: Engine, found: Found, until: float) -> None:
        self._engine, self._until = engine, until
        self._side = found.difference.pin.partition(".")[0]
        self._events = events(engine.interface)
        self.found = found

    def steps(self) -> Iterator[Found]:
        """Ever shorter stimuli. In the end each event in the last one is needed."""
        before = None
        while (size := self._size()) != before and self._has_time():
            before = size
            for event in self._events:
                self._leave_out(event)
                yield self.found

    def _has_time(self) -> bool:
        return time.monotonic() < self._until

    def _size(self) -> list[int]:
        return [len(event.places(self.found.trace)) for event in self._events]

    def _leave_out(self, event: Event) -> None:
        """By halves, then one by one."""
        size = len(event.places(self.found.trace))
        while size:
            begin = 0
            while self._has_time():
                places = event.places(self.found.trace)
                some = places[begin : begin + size]
                if not len(some):
                    break
                shorter = event.without(self.found.trace, some)
                found = attempt(self._engine, driven(shorter), self._side)
                if found and len(event.places(found.trace)) < len(places):
                    self.found = found
                else:
                    begin += size
            size = 1 << (size - 1).bit_length() >> 1  # a power of two, as lanes are
