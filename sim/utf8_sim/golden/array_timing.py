"""The golden model's timing for long runs: :mod:`utf8_sim.golden.timing` by whole arrays."""

from abc import ABC, abstractmethod
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from ..trace import Columns, Interface, Trace
from .arrays import ArrayTransducer, Outputs
from .timing import (
    MOST_IN_PACKING,
    MOST_OUTSTANDING,
    Compact,
    Credit,
    Elastic,
    Packing,
    Serial,
    Timing,
    Transcoding,
)


class ArrayTiming(ABC):
    """A timing at some cycle of a run; see :mod:`utf8_sim.golden.timing`.

    It is given all cycles in order, either by :meth:`flow` or by :meth:`meetings`.
    """

    def __init__(self, timing: Any) -> None:
        self._timing = timing
        self._due = np.zeros(0, dtype=np.int64)
        """In how many moves the last inputs meet the state machine."""

    def __copy__(self) -> "ArrayTiming":
        """A copy that shares nothing that changes."""
        return deepcopy(self)

    @abstractmethod
    def flow(
        self, trace: Trace, when: np.ndarray, outputs: Outputs, left: int, departed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """How many outputs could be taken up to a cycle, taken or not, and what ``i.ready`` is.

        ``when`` says in which of the trace's cycles each input was accepted; ``outputs`` are what
        these bring about, behind the ``left`` ones from before. ``departed`` counts the outputs
        that were taken before a cycle.
        """

    def _moves(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        """The cycles in which inputs move on, and with which of these moves each input enters."""
        return np.arange(len(trace)), np.flatnonzero(trace.is_accepted)

    def meetings(self, trace: Trace) -> np.ndarray:
        """In which of the next cycles the next of the inputs meet the state machine, in order."""
        moves, enters = self._moves(trace)
        due = np.concatenate([self._due, enters + self._timing.latency_of_state])
        count = int(np.searchsorted(due, len(moves)))
        self._due = due[count:] - len(moves)
        return moves.take(due[:count])


class Pace(NamedTuple):
    """A pipeline with a shared clock enable: an array with an element for each cycle."""

    enabled: np.ndarray
    skid: np.ndarray
    """Whether the skid register holds an input, if there is one."""
    enabled_before: np.ndarray
    """How many of the cycles before this one are enabled."""

    @property
    def enters(self) -> np.ndarray:
        """In which of the enabled cycles an input enters that is accepted in the cycle."""
        return self.enabled_before + (self.enabled & self.skid)


class _Paced(ArrayTiming):
    """What pipelines with a shared clock enable have in common."""

    def __init__(self, timing: Any) -> None:
        super().__init__(timing)
        self._enabled = self._skid = False  # in the next cycle
        self._arrives = np.zeros(0, dtype=np.int64)
        """In how many enabled cycles the last outputs are at the pins."""

    def _pace(self, trace: Trace) -> Pace:
        """The pace in the next cycles, as the pins tell."""
        stalled = trace["o.valid"].view(bool) & ~trace["o.ready"].view(bool)
        enabled = np.append(self._enabled, ~stalled)
        # The skid register is taken by an input that is accepted while the clock enable is low, and
        # stays so as long as an input is accepted in every cycle.
        accepted, cycles = trace.is_accepted, np.arange(len(trace))
        begun = np.where(accepted & ~enabled[:-1], cycles, -1 if self._skid else -2)
        ended = np.where(accepted, -2 if self._skid else -1, cycles)
        taken = np.maximum.accumulate(begun) > np.maximum.accumulate(ended)
        skid = np.append(self._skid, taken)
        self._enabled, self._skid = bool(enabled[-1]), bool(skid[-1])
        return Pace(enabled[:-1], skid[:-1], sums_before(enabled[:-1]))

    def _arrived(self, pace: Pace, arrives: np.ndarray, left: int) -> np.ndarray:
        """How many outputs are at the pins or behind them up to a cycle, of those left and more."""
        buffered = left - len(self._arrives)
        arrives = np.concatenate([self._arrives, arrives])
        enabled_cycles = int(np.count_nonzero(pace.enabled))
        arrived_by = np.cumsum(np.bincount(arrives, minlength=enabled_cycles + 1))
        self._arrives = arrives[arrives > enabled_cycles] - enabled_cycles
        return buffered + arrived_by.take(pace.enabled_before)


class ArrayElastic(_Paced):
    """The elastic pipeline."""

    def flow(
        self, trace: Trace, when: np.ndarray, outputs: Outputs, left: int, departed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        pace = self._pace(trace)
        latency = np.array([self._timing.latency, self._timing.latency_of_cut])
        arrives = pace.enters.take(when).take(outputs.brought_by)
        arrives += latency.take(outputs.cut.view(np.uint8))
        arrived = self._arrived(pace, arrives, left)
        return arrived, trace["o.ready"].view(bool) | (pace.enabled & ~pace.skid)

    def _moves(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        pace = self._pace(trace)
        return np.flatnonzero(pace.enabled), pace.enters.compress(trace.is_accepted)


class ArrayCompact(ArrayTiming):
    """The compact stage."""

    def flow(
        self, trace: Trace, when: np.ndarray, outputs: Outputs, left: int, departed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        come = np.bincount(when.take(outputs.brought_by), minlength=len(trace))
        arrived = left + sums_before(come)
        waiting = arrived - departed
        may_move = trace["o.ready"].view(bool) & (waiting <= 1 + self._timing.spare)
        return arrived, (waiting == 0) | may_move


class ArraySerial(_Paced):
    """A pipeline in which one stage sends several outputs.

    The outputs that are sent, or being sent, are those of which it is known when they arrive.
    """

    def __init__(self, timing: Serial) -> None:
        super().__init__(timing)
        self._counts = np.zeros(timing.before, dtype=np.int64)
        """How many outputs each of the stages before *send* will send, the last stage first."""
        self._advances = 0
        """In how many enabled cycles they advance."""

    def flow(
        self, trace: Trace, when: np.ndarray, outputs: Outputs, left: int, departed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        pace = self._pace(trace)
        left -= int(self._counts.sum())
        advance_cycles = np.flatnonzero(pace.enabled & trace["i.ready"].view(bool))
        advances = pace.enabled_before.take(advance_cycles)
        by_advance = np.searchsorted(advance_cycles, when).take(outputs.brought_by)
        counts = np.bincount(by_advance, minlength=len(advances))[: len(advances)]
        counts = np.concatenate([self._counts, counts])
        sent, self._counts = counts[: len(advances)], counts[len(advances) :]

        first = np.repeat(advances + self._timing.after + 2, sent)
        arrives = first + np.arange(len(first)) - np.repeat(sums_before(sent), sent)

        enabled_cycles = int(np.count_nonzero(pace.enabled))
        due = np.append(self._advances, advances + np.maximum(sent, 1))
        self._advances = int(due[-1]) - enabled_cycles
        ready = np.zeros(enabled_cycles + 1, dtype=bool)
        ready[due[due < enabled_cycles]] = True
        ready = pace.enabled & ready.take(pace.enabled_before)
        return self._arrived(pace, arrives, left), ready

    def _moves(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        moves = np.flatnonzero(trace["i.ready"])
        return moves, np.searchsorted(moves, np.flatnonzero(trace.is_accepted))


class ArrayCredit(ArrayTiming):
    """A pipeline that never stalls."""

    def __init__(self, timing: Credit) -> None:
        super().__init__(timing)
        self._arrives = np.zeros(0, dtype=np.int64)
        """In how many cycles the last outputs are at the pins."""
        self._ready = np.array([False, True])
        """What ``i.ready`` is in the next two cycles."""

    def flow(
        self, trace: Trace, when: np.ndarray, outputs: Outputs, left: int, departed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        cycles, buffered = len(trace), left - len(self._arrives)
        arrives = when.take(outputs.brought_by) + self._timing.latency
        arrives = np.concatenate([self._arrives, arrives])
        arrived = buffered + np.cumsum(np.bincount(arrives, minlength=cycles)[:cycles])
        self._arrives = arrives[arrives >= cycles] - cycles
        outstanding = left + sums_before(trace.is_accepted) - departed
        ready = np.append(self._ready, outstanding <= MOST_OUTSTANDING)
        self._ready = ready[cycles:]
        return arrived, ready[:cycles]


class ArrayPacking(ArrayTiming):
    """A pipeline that makes sparse beats dense.

    Inputs are numbered from 1, the first one that is accepted in the cycles that are given.
    """

    def __init__(self, timing: Packing) -> None:
        super().__init__(timing)
        self._arrives = np.zeros(0, dtype=np.int64)
        """In how many cycles the last outputs are at the pins."""
        self._numbers = np.zeros(0, dtype=np.int64)
        """The numbers of the outputs that were not taken yet."""
        self._ends = False
        """Whether the slot of the last of them is that of the next cycle."""
        self._accepted = np.zeros(timing.latency_of_full, dtype=np.int64)
        """The number of the input that was the newest after each of the last cycles."""
        self._ready = np.array([False, True])
        """What ``i.ready`` is in the next two cycles."""

    def flow(
        self, trace: Trace, when: np.ndarray, outputs: Outputs, left: int, departed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        slots = when.take(outputs.brought_by) + (outputs.columns["o.last"] != 0)
        arrived = self.arrived(slots, len(trace), left)
        taken = int(np.count_nonzero(trace.is_taken))
        return arrived, self.ready(trace.is_accepted, slots, arrived, departed, taken)

    def arrived(self, slots: np.ndarray, cycles: int, left: int) -> np.ndarray:
        """How many outputs could be taken up to a cycle, of those left and those of some slots."""
        buffered = left - len(self._arrives)
        arrives = np.concatenate([self._arrives, slots + self._timing.latency_of_full])
        self._arrives = arrives[arrives >= cycles] - cycles
        return buffered + np.cumsum(np.bincount(arrives, minlength=cycles)[:cycles])

    def ready(
        self,
        is_accepted: np.ndarray,
        slots: np.ndarray,
        arrived: np.ndarray,
        departed: np.ndarray,
        taken: int,
    ) -> np.ndarray:
        """Whether inputs are accepted, in cycles in which so many outputs are taken."""
        cycles, accepted = len(is_accepted), np.cumsum(is_accepted, dtype=np.int64)
        up_to = np.append(self._accepted, accepted)
        numbers = self._numbers_with(slots, accepted)
        valid = arrived > departed
        at_pins = np.append(numbers, 0).take(np.where(valid, departed, -1))
        done = np.where(valid, at_pins - 1, up_to[:cycles])
        ready = np.append(self._ready, sums_before(is_accepted) - done <= MOST_IN_PACKING)

        count = np.count_nonzero(is_accepted)
        self._numbers = numbers[taken:] - count
        self._accepted = up_to[cycles:] - count
        self._ready = ready[cycles:]
        return ready[:cycles]

    def _numbers_with(self, slots: np.ndarray, accepted: np.ndarray) -> np.ndarray:
        """The numbers of the outputs, those included whose slots are given."""
        cycles, left = len(accepted), len(self._numbers)
        numbers = np.append(self._numbers, np.append(accepted, accepted[-1:]).take(slots))
        if cycles:
            if self._ends and left:
                numbers[left - 1] += accepted[0]
            self._ends = bool((slots == cycles).any())
        return numbers


FULL, END = 1, 2
"""What is known of an input of a chain: the sum of these, if it brings about a full output, and if
it ends its text.
"""


class ArrayTranscoding(ArrayTiming):
    """A chain of two pipelines. No trace says what goes on between them, so this has a loop.

    Cycles are counted from the first one that is given. Inputs are numbered from 1, the first one
    that goes into the second pipeline in these cycles.
    """

    def __init__(self, timing: Transcoding) -> None:
        super().__init__(timing)
        self._reading = ArrayPacking(timing.reading)
        self._held = 0
        """How many inputs wait for the next one of their text: one or none."""
        self._known: list[int] = []
        """What is known of those before, which are in the first pipeline."""
        self._open = [False, True]
        """Whether the second pipeline accepts inputs in the next two cycles."""
        self._accepted = [0] * timing.packing.latency_of_full
        """The number of the input that was the newest in it after each of the last cycles."""
        self._ends = False
        """Whether its next slot brings about an output."""
        self._arrives: list[int] = []
        """In which cycles those outputs are at the pins that it was brought and were not taken."""
        self._numbers: list[int] = []
        """The numbers of these."""

    def flow(
        self, trace: Trace, when: np.ndarray, outputs: Outputs, left: int, departed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        cycles, in_first = len(trace), len(self._known)
        slots = self._read(when, outputs)
        read = self._reading.arrived(slots, cycles, in_first)
        left_first, arrived = self._run(read.tolist(), departed.tolist())
        taken = in_first + len(slots) - len(self._known)
        ready = self._reading.ready(trace.is_accepted, slots, read, left_first, taken)
        self._forget(cycles, int(np.count_nonzero(trace.is_taken)))
        return arrived, ready

    def _read(self, when: np.ndarray, outputs: Outputs) -> np.ndarray:
        """The slots of the first pipeline that bring about an input. What is known of it, is now.

        It is the slot of the next one; or behind its own, if an input ends its text.
        """
        when = np.append(np.zeros(self._held, dtype=np.int64), when)
        known = np.zeros_like(when)
        whose = self._held + outputs.brought_by - outputs.cut
        is_last = outputs.columns["o.last"] != 0
        known[whose.compress(~is_last)] += FULL
        known[whose.compress(is_last)] += END
        ends = known >= END
        slots = np.where(ends, when + 1, np.append(when, 0)[1:])
        self._held = int(not ends[-1:].all())
        come = len(when) - self._held
        self._known += known[:come].tolist()
        return slots[:come]

    def _run(self, read: list[int], departed: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """How many inputs had left the first pipeline before each cycle, and outputs arrived."""
        latency, cycles = self._timing.packing.latency_of_full, len(departed)
        is_open, accepted, ends = [*self._open], [*self._accepted], self._ends
        due, numbers = [*self._arrives], [*self._numbers]
        entered, arrived = 0, 0
        lefts, arriveds = [], []
        for cycle, gone in enumerate(departed):
            lefts.append(entered)
            if arrived < len(due) and due[arrived] <= cycle:
                arrived += 1
            arriveds.append(arrived)
            done = numbers[gone] - 1 if gone < arrived else accepted[cycle]
            is_open.append(entered - done <= MOST_IN_PACKING)
            brings, ends = ends, False
            if is_open[cycle] and entered < read[cycle]:
                known = self._known[entered]
                brings, ends = brings or bool(known & FULL), known >= END
                entered += 1
            accepted.append(entered)
            if brings:
                due.append(cycle + latency)
                numbers.append(entered)
        self._known, self._ends = self._known[entered:], ends
        self._open, self._accepted = is_open[cycles:], [n - entered for n in accepted[cycles:]]
        self._arrives, self._numbers = due, [n - entered for n in numbers]
        return np.array(lefts, dtype=np.int64), np.array(arriveds, dtype=np.int64)

    def _forget(self, cycles: int, taken: int) -> None:
        """After so many cycles, in which so many outputs were taken."""
        self._arrives = [cycle - cycles for cycle in self._arrives[taken:]]
        self._numbers = self._numbers[taken:]


_BY_ARRAYS: dict[type, type[ArrayTiming]] = {
    Elastic: ArrayElastic,
    Compact: ArrayCompact,
    Serial: ArraySerial,
    Credit: ArrayCredit,
    Packing: ArrayPacking,
    Transcoding: ArrayTranscoding,
}


def array_timing(timing: Timing) -> ArrayTiming:
    """A timing by whole arrays, at its first cycle after reset."""
    return _BY_ARRAYS[type(timing)](timing)


class ArrayCycles:
    """Every output pin in many cycles: :class:`~utf8_sim.golden.timing.CycleModel` by whole arrays.

    Which inputs were accepted and which outputs were taken in a cycle depends on what the pins were
    before it. This model takes them from the trace: it says what the pins must be in a cycle, after
    what the design did up to it. Up to the first difference that is what the other model says.
    """

    def __init__(self, interface: Interface, transducer: ArrayTransducer, timing: Timing) -> None:
        self._transducer = transducer
        self.timing = array_timing(timing)
        self._nothing = {pin.name: np.zeros_like(pin.column(1)) for pin in interface.outputs}
        self._outputs: Columns = {pin.name: pin.column(0) for pin in interface.outputs}
        """Outputs that were not taken yet."""
        self._waiting = 0
        """How many they are."""

    def expected(self, trace: Trace) -> Trace:
        """The next cycles as they must be; the payload is zero where no output is valid."""
        when = np.flatnonzero(trace.is_accepted)
        outputs = self._transducer.feed(trace.accepted())
        departed = sums_before(trace.is_taken)
        arrived, ready = self.timing.flow(trace, when, outputs, self._waiting, departed)
        valid = arrived > departed
        columns = {"i.ready": ready.view(np.uint8), "o.valid": valid.view(np.uint8)}
        taken = int(np.count_nonzero(trace.is_taken))
        at_pins = np.where(valid, departed, -1)
        for name, left in self._outputs.items():
            column = np.concatenate([left, outputs.columns[name], self._nothing[name]])
            columns[name] = column.take(at_pins, axis=0)
            self._outputs[name] = column[taken:-1]
        self._waiting = max(0, self._waiting + len(outputs.brought_by) - taken)
        return Trace(trace.interface, trace.columns | columns)


def sums_before(counts: np.ndarray) -> np.ndarray:
    """Sums of what comes before each place."""
    return np.cumsum(counts, dtype=np.int64) - counts
