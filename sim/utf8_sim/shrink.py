"""Shorter inputs that show a difference too: by halves, then one by one."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .components import Component
from .engines.engine import DesignError, Engine
from .lockstep import Difference, Lockstep, Window
from .stimulus import FixedStalls, Piece, Stimulus

FIRST_SPAN, SPAN_FACTOR = 32, 4
"""How many cycles before a difference are tried first, and how many times as many then."""

PATIENCE = 8.0
"""Seconds after which the shortest input found is good enough."""


@dataclass(frozen=True)
class Case:
    """Everything that decides a run, in a form that can be cut.

    For each text that ends, how many ``values`` are before its end; behind the last value one ends
    in any case. For each cycle, whether nothing is offered (``gaps``) or taken (``stalls``). What
    is not given is false.
    """

    values: tuple[int, ...]
    ends: tuple[int, ...] = ()
    gaps: tuple[bool, ...] = ()
    stalls: tuple[bool, ...] = ()

    def stimulus(self) -> Stimulus:
        pieces: list[Piece] = [(text, True) for text in self.texts()]
        return Stimulus(pieces, FixedStalls(self.gaps), FixedStalls(self.stalls))

    def texts(self) -> Iterator[tuple[int, ...]]:
        """The values of each text."""
        all_of_them = len(self.values)
        last = () if all_of_them in self.ends else (all_of_them,)
        for begin, end in pairwise((0, *self.ends, *last)):
            yield self.values[begin:end]

    def without(self, begin: int, end: int, cycles: Iterable[int] = ()) -> "Case":
        """Without some values, and without some cycles of the stalls."""
        gone = set(cycles)
        return Case(
            self.values[:begin] + self.values[end:],
            tuple(place - max(0, min(place, end) - begin) for place in self.ends),
            tuple(level for cycle, level in enumerate(self.gaps) if cycle not in gone),
            tuple(level for cycle, level in enumerate(self.stalls) if cycle not in gone),
        )

    def until(self, cycle: int, accepted: Sequence[int]) -> "Case":
        """Without what comes too late to matter in a cycle.

        The input on offer in it is followed by another one, which is not, unless it ends its text.
        """
        on_offer = next((when for when in accepted if when >= cycle), cycle)
        offered = sum(when <= on_offer for when in accepted)
        count = offered if offered in self.ends else offered + 1
        return Case(
            self.values[:count],
            tuple(place for place in self.ends if place <= count),
            _without_tail(self.gaps[: cycle + 1]),
            _without_tail(self.stalls[: cycle + 1]),
        )


def _without_tail(pattern: tuple[bool, ...]) -> tuple[bool, ...]:
    """Without the cycles after the last stall."""
    stalls = np.flatnonzero(pattern)
    return pattern[: stalls[-1] + 1] if stalls.size else ()


class Shown(NamedTuple):
    """A difference has shown itself: in which cycle, and when the values before were accepted."""

    cycle: int
    accepted: Sequence[int]


Attempt = Callable[[Case], Shown | None]
"""Runs a case; gives nothing if it does not show what is looked for."""


def attempts(engine: Engine, pin: str) -> Attempt:
    """Runs that look for a difference on the same side as one.

    A lost byte may show itself at any pin of the output; which one is a matter of what follows.
    """
    side = pin.partition(".")[0]

    def attempt(case: Case) -> Shown | None:
        lockstep = Lockstep(engine, case.stimulus())
        try:
            difference = lockstep.run()
        except DesignError:
            return None
        if difference is None or difference.pin.partition(".")[0] != side:
            return None
        inputs = lockstep.recording().inputs(engine.component)
        return Shown(difference.cycle, inputs.cycles.tolist())

    return attempt


def shortest(
    recording: Window, component: Component, difference: Difference, attempt: Attempt
) -> Iterator[Case]:
    """Ever shorter inputs that show a difference, from reset on.

    There is none if the cycles recorded do not show it alone.
    """
    end = time.monotonic() + PATIENCE
    for case in _endings(recording, component, difference.cycle):
        shown = attempt(case)
        if shown:
            yield from shrunk(case, shown, attempt, lambda: time.monotonic() < end)
            return


def _endings(recording: Window, component: Component, cycle: int) -> Iterator[Case]:
    """The last cycles before a difference, from few to all; first at once, then after an idle one.

    The idle one makes up for the cycle after reset, in which a pipeline is not enabled yet.
    """
    values, ends, cycles = recording.inputs(component)
    span = FIRST_SPAN
    while True:
        begin = max(cycle - span, recording.first_cycle)
        part = recording.part(begin, cycle + 1).actual
        first = int(np.searchsorted(cycles, begin))
        case = Case(
            tuple(values[first:].tolist()),
            tuple((ends[ends > first] - first).tolist()),
            tuple((part["i.valid"] == 0).tolist()),
            tuple((part["o.ready"] == 0).tolist()),
        ).until(cycle - begin, (cycles[first:] - begin).tolist())
        yield case
        if begin == recording.first_cycle:
            return
        yield replace(case, gaps=(True, *case.gaps), stalls=(False, *case.stalls))
        span *= SPAN_FACTOR


def shrunk(
    case: Case, shown: Shown, attempt: Attempt, go_on: Callable[[], bool] = lambda: True
) -> Iterator[Case]:
    """Ever shorter cases, from one that shows what is looked for, while there is time.

    In the end, each input and each stall in it is needed.
    """
    search = _Search(case, shown, attempt, go_on)
    yield search.case
    before = None
    while search.case != before and go_on():
        before = search.case
        for name in ("gaps", "stalls", "values", "ends"):
            search.leave_out(name)
            yield search.case


class _Search:
    """The shortest case so far, and what was tried."""

    def __init__(
        self, case: Case, shown: Shown, attempt: Attempt, go_on: Callable[[], bool]
    ) -> None:
        self._attempt = attempt
        self._go_on = go_on
        self._take(case, shown)

    def _take(self, case: Case, shown: Shown) -> None:
        self.case = case.until(*shown)
        self._accepted = shown.accepted

    def _try(self, case: Case) -> bool:
        shown = self._attempt(case) if self._go_on() else None
        if shown:
            self._take(case, shown)
        return bool(shown)

    def leave_out(self, name: str) -> None:
        """Without values, ends of texts, or stalls of one side: by halves, then one by one."""
        size = len(self._places(name))
        while size:
            begin = 0
            while self._go_on() and (places := self._places(name)[begin : begin + size]):
                if not any(map(self._try, self._without(name, places))):
                    begin += size
            size = 1 << (size - 1).bit_length() >> 1  # a power of two, as lanes are

    def _places(self, name: str) -> Sequence[int]:
        """Where there is something to leave out."""
        marks = getattr(self.case, name)
        if name in ("values", "ends"):
            return range(len(marks))
        return np.flatnonzero(marks).tolist()

    def _without(self, name: str, places: Sequence[int]) -> Iterator[Case]:
        """The case without those; at best also without the cycles in which inputs were accepted."""
        if name == "values":
            begin, end = places[0], places[-1] + 1
            cycles = self._accepted[begin:end]
            if any(cycle < max(len(self.case.gaps), len(self.case.stalls)) for cycle in cycles):
                yield self.case.without(begin, end, cycles)
            yield self.case.without(begin, end)
            return
        marks = enumerate(getattr(self.case, name))
        if name == "ends":
            left = (mark for place, mark in marks if place not in places)
        else:
            left = (mark and place not in places for place, mark in marks)
        yield replace(self.case, **{name: tuple(left)})
