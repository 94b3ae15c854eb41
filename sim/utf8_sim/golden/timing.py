"""The golden model's timing: in which cycle an output is at the pins, with no text in it.

What is known of an output is all that a timing needs: which input brings it about, whether it ends
before that input, and whether it ends a text. Latencies are counted from the cycle in which an
input is accepted to the first cycle in which its output is at the pins. A kernel of each kind of
flow control follows cycle by cycle what was accepted and taken. After a cycle of reset all is as in
the first cycle, and what was in flight is lost.
"""

from typing import NamedTuple

import numpy as np

from .kernels import Kernel, kernel

NOTHING = -1
"""In place of an output at the pins, or of an input that meets the state machine."""

STATE_SIZE = 64
"""Numbers of which the state of a timing consists at most. All are 0 after reset."""


class Cycles(NamedTuple):
    """Cycles, with an element of each array for each of them."""

    reset: np.ndarray
    accepted: np.ndarray
    """Whether an input was accepted. In a cycle of reset none is."""
    o_ready: np.ndarray
    taken: np.ndarray
    """Whether an output was taken, likewise."""
    ready: np.ndarray
    """To be filled: what ``i.ready`` is."""
    at_pins: np.ndarray
    """To be filled: which output is at the pins."""
    met: np.ndarray
    """To be filled: how many cycles ago the input was accepted that meets the state machine."""


class Queue(NamedTuple):
    """Outputs that were not taken before, and those that the inputs of some cycles bring about."""

    first: np.ndarray
    """For each input the number of the first output that it brings about; at last their count."""
    cut: np.ndarray
    """Whether an output ends before the input that brings it about."""
    ends: np.ndarray
    """Whether it ends a text."""
    due: np.ndarray
    """When it is at the pins, if nothing is before it: as a timing counts."""


class Elastic(NamedTuple):
    """The elastic pipeline: stages with a shared clock enable, between two buffers.

    It is enabled in every cycle but the first after reset, and those after a cycle in which an
    output was stalled. An input accepted while it is enabled enters it at once. One accepted while
    it is not waits in the skid register until it is. An input is accepted while the skid register
    is empty, but not in the first cycle after reset. An output is at the pins ``latency`` enabled
    cycles after its input entered; one that the next input cuts, one fewer after that. The state
    machine is behind ``latency_of_state`` stages.
    """

    latency: int
    latency_of_state: int

    @property
    def latency_of_cut(self) -> int:
        return self.latency - 1

    @property
    def kernel(self) -> Kernel:
        return elastic


ENABLED, RUNNING, SKID, TIME, ENTERED = range(5)
"""Numbers of the state: of `RUNNING`, whether there was a cycle since reset; of the time, how many
enabled cycles there were. `SKID`, and from the last number on the stages, have the ages of inputs,
from 1 on.
"""


@kernel
def elastic(timing, state, cycles, queue):  # type: ignore[no-untyped-def]
    """:class:`Elastic`. The result is how many outputs were taken or lost."""
    departed, known, item = 0, queue.first[0], 0
    for now in range(len(cycles.reset)):
        enabled, skid, accepted = state[ENABLED], state[SKID], cycles.accepted[now]
        output = _at_pins(queue, departed, known, state[TIME])
        cycles.at_pins[now] = output
        cycles.ready[now] = 1 if state[RUNNING] and not skid else 0

        if accepted:
            item += 1
            while known < queue.first[item]:
                queue.due[known] = state[TIME] + timing.latency - queue.cut[known]
                known += 1

        cycles.met[now] = NOTHING
        if enabled:
            entering = skid if skid else accepted
            cycles.met[now] = _through(state, ENTERED, timing.latency_of_state, entering) - 1
        _grow_older(state, ENTERED, timing.latency_of_state)

        if enabled:
            state[SKID] = 0
        elif skid:
            state[SKID] += 1
        elif accepted:
            state[SKID] = 2
        state[RUNNING] = 1
        state[TIME] += enabled
        state[ENABLED] = 0 if output != NOTHING and not cycles.o_ready[now] else 1
        departed = min(departed + cycles.taken[now], known)
        if cycles.reset[now]:
            departed = known
            for place in range(ENTERED + timing.latency_of_state):
                if place != TIME:
                    state[place] = 0
    return departed


@kernel
def _at_pins(queue, departed, known, time):  # type: ignore[no-untyped-def]
    """The oldest output that has not departed, if it is due; else NOTHING."""
    return departed if departed < known and queue.due[departed] <= time else NOTHING


@kernel
def _through(state, first, stages, entering):  # type: ignore[no-untyped-def]
    """What leaves some stages, which all advance by one."""
    for place in range(first, first + stages):
        leaving = state[place]
        state[place] = entering
        entering = leaving
    return entering


@kernel
def _grow_older(state, first, stages):  # type: ignore[no-untyped-def]
    """The inputs in some stages are older by a cycle."""
    for place in range(first, first + stages):
        if state[place]:
            state[place] += 1


class Compact(NamedTuple):
    """One register between input and output, in which the next output of an input appears.

    Nothing moves while the output is stalled. An input is accepted in any other cycle in which at
    most ``spare`` outputs wait behind the one at the pins; if it ``starts_late``, not in the first
    cycle after reset.
    """

    spare: int
    starts_late: bool = False

    @property
    def latency(self) -> int:
        return 1

    @property
    def kernel(self) -> Kernel:
        return compact


@kernel
def compact(timing, state, cycles, queue):  # type: ignore[no-untyped-def]
    """:class:`Compact`."""
    departed, known, item = 0, queue.first[0], 0
    for now in range(len(cycles.reset)):
        waiting = known - departed
        cycles.at_pins[now] = departed if waiting else NOTHING
        starts = timing.starts_late and not state[RUNNING]
        may_move = cycles.o_ready[now] and waiting <= 1 + timing.spare
        cycles.ready[now] = 1 if not starts and (may_move or not waiting) else 0
        cycles.met[now] = cycles.accepted[now] - 1
        departed = min(departed + cycles.taken[now], known)
        if cycles.accepted[now]:
            item += 1
            known = queue.first[item]
        state[RUNNING] = 1
        if cycles.reset[now]:
            departed = known
            state[RUNNING] = 0
    return departed


class Serial(NamedTuple):
    """A pipeline with a shared clock enable, in which one stage *sends* the outputs of an input.

    It is enabled in every cycle but the first after reset, and those after a cycle in which an
    output was stalled. An input is accepted in an enabled cycle in which *send* is empty or has the
    last output of its input. Then it and the stages before it advance by one; what is offered, an
    input or nothing, goes into the first. In each enabled cycle an output goes from *send* on.
    There are ``before`` stages before *send*, and ``after`` between it and the output buffer.
    """

    before: int
    after: int

    @property
    def latency(self) -> int:
        return self.before + self.after + 2

    @property
    def kernel(self) -> Kernel:
        return serial


SENDING, BUFFERED, BEFORE, AFTER, AGES = 1, 2, 16, 32, 48
"""Numbers of the state, with `ENABLED`: how many outputs *send* has left, and the output buffer;
from others on, what is in the stages before *send*, in those after it, and the ages of inputs.
"""


@kernel
def serial(timing, state, cycles, queue):  # type: ignore[no-untyped-def]
    """:class:`Serial`."""
    departed, known, item = 0, queue.first[0], 0
    arrived = state[BUFFERED]
    for now in range(len(cycles.reset)):
        enabled, accepted = state[ENABLED], cycles.accepted[now]
        cycles.at_pins[now] = departed if departed < arrived else NOTHING
        advances = enabled and state[SENDING] <= 1
        cycles.ready[now] = 1 if advances else 0
        stalled = departed < arrived and not cycles.o_ready[now]
        brought = 0
        if accepted:
            item += 1
            brought = queue.first[item] - known
            known = queue.first[item]

        if enabled:
            sent = 1 if state[SENDING] else 0
            arrived += _through(state, AFTER, timing.after, sent)
            state[SENDING] -= sent
        cycles.met[now] = NOTHING
        if advances:
            state[SENDING] = _through(state, BEFORE, timing.before, brought)
            cycles.met[now] = _through(state, AGES, timing.before, accepted) - 1
        _grow_older(state, AGES, timing.before)

        state[ENABLED] = 0 if stalled else 1
        departed = min(departed + cycles.taken[now], known)
        if cycles.reset[now]:
            departed = arrived = known
            for place in range(len(state)):
                state[place] = 0
    state[BUFFERED] = arrived - departed
    return departed


MAX_OUTSTANDING = 16
"""Outputs for which there is room."""


class Credit(NamedTuple):
    """A pipeline that never stalls: see :mod:`utf8_hdl.flow_control.credit`.

    Every input brings about one output. It is at the pins ``stages + 1`` cycles after its input was
    accepted, behind those before it. Until it is taken it is *outstanding*. How many are is known
    two cycles late. An input is accepted if there is room for its output behind these and those of
    the inputs that could be accepted since. In the first cycle after reset none is accepted.
    """

    stages: int

    @property
    def latency(self) -> int:
        return self.stages + 1

    @property
    def kernel(self) -> Kernel:
        return credit


CYCLE, LATELY, BEFORE_THAT, WAS_READY = range(4)
"""Numbers of the state: cycles since reset; how many were outstanding one and two cycles ago, with
the one of an input that could be accepted then; and whether one could one cycle ago.
"""


@kernel
def credit(timing, state, cycles, queue):  # type: ignore[no-untyped-def]
    """:class:`Credit`."""
    departed, known, item = 0, queue.first[0], 0
    for now in range(len(cycles.reset)):
        cycle = state[CYCLE]
        cycles.at_pins[now] = _at_pins(queue, departed, known, cycle)
        ready = _is_open(state, cycle, MAX_OUTSTANDING)
        cycles.ready[now] = ready
        cycles.met[now] = cycles.accepted[now] - 1
        _remember(state, known - departed, ready)
        if cycles.accepted[now]:
            item += 1
            while known < queue.first[item]:
                queue.due[known] = cycle + timing.stages + 1
                known += 1
        departed = min(departed + cycles.taken[now], known)
        state[CYCLE] += 1
        if cycles.reset[now]:
            departed = known
            state[CYCLE] = state[LATELY] = state[BEFORE_THAT] = state[WAS_READY] = 0
    return departed


class Packing(NamedTuple):
    """Sparse beats become dense: a pipeline that never stalls, between credit and a memory.

    An input that is accepted in a cycle is in the *slot* of this cycle. The outputs that it brings
    about are given in that slot, but the last one of a text in the slot behind. If an input
    ``waits`` for the next one of its text, it is as if it was in the slot of that; if it ends its
    text, in the slot behind its own. Then an output that is *cut* is one of the input before.

    An output is at the pins ``stages + 2`` cycles after its slot, behind those before it. Two never
    meet, as the first input of a text brings about none but the last one of a text.

    *Outstanding* are the inputs that were accepted in the last ``counted + 1`` cycles, and the
    outputs that were given in slots before these and not taken. How many are is known two cycles
    late. An input is accepted if there is room behind these and the inputs that could be accepted
    since. In the first cycle after reset none is accepted.
    """

    stages: int
    counted: int
    """The stage from which on outputs are counted."""
    waits: bool = False

    @property
    def latency_of_cut(self) -> int:
        """From the input that shows that an output is full, if each waits for the next."""
        return self.stages + 2

    @property
    def latency_of_full(self) -> int:
        """From the input that fills an output."""
        return self.latency_of_cut + self.waits

    @property
    def latency(self) -> int:
        """That of a text's last output."""
        return self.latency_of_full + 1

    @property
    def kernel(self) -> Kernel:
        return packing


MAX_IN_PACKING = 32
"""Outputs for which there is room, those included that are not full yet."""

INSIDE, RING = 4, 8
"""Numbers of the state, after `WAS_READY`: how many inputs were accepted in the last cycles; and
from one on whether one was in each of them, in a ring.
"""


@kernel
def packing(timing, state, cycles, queue):  # type: ignore[no-untyped-def]
    """:class:`Packing`."""
    departed, known, item = 0, queue.first[0], 0
    given, waits, window = 0, 1 if timing.waits else 0, timing.counted + 1
    # Of inputs in a row that are accepted, not more outputs come than there are inputs, and one;
    # or two, if an input before them waits. One of them is not full yet.
    room = MAX_IN_PACKING - 1 - waits
    for now in range(len(cycles.reset)):
        cycle, accepted = state[CYCLE], cycles.accepted[now]
        cycles.at_pins[now] = _at_pins(queue, departed, known, cycle)
        ready = _is_open(state, cycle, room)
        cycles.ready[now] = ready
        cycles.met[now] = accepted - 1
        while given < known and queue.due[given] <= cycle + timing.stages - timing.counted:
            given += 1
        _remember(state, state[INSIDE] + given - departed, ready)
        oldest = RING + cycle % window
        state[INSIDE] += accepted - state[oldest]
        state[oldest] = accepted
        if accepted:
            item += 1
            while known < queue.first[item]:
                behind = waits * (1 - queue.cut[known]) + queue.ends[known]
                queue.due[known] = cycle + behind + timing.stages + 2
                known += 1
        departed = min(departed + cycles.taken[now], known)
        state[CYCLE] += 1
        if cycles.reset[now]:
            departed = given = known
            for place in range(len(state)):
                state[place] = 0
    return departed


@kernel
def _is_open(state, cycle, room):  # type: ignore[no-untyped-def]
    """Whether an input is accepted."""
    return 1 if cycle and state[BEFORE_THAT] + state[WAS_READY] < room else 0


@kernel
def _remember(state, outstanding, ready):  # type: ignore[no-untyped-def]
    """Go on by a cycle in which so many were outstanding, for :func:`_is_open`."""
    state[BEFORE_THAT] = state[LATELY]
    state[LATELY] = outstanding + ready
    state[WAS_READY] = ready


Timing = Elastic | Compact | Serial | Credit | Packing
"""How a component behaves in time, by its parameters.

``latency`` is the number of cycles from an input to its output. ``kernel`` loops over the cycles.
"""


def meets_state_later(timing: Timing) -> bool:
    """True if the state machine sees an input some cycles after its handshake."""
    return isinstance(timing, Elastic | Serial)


def longest_gap(timing: Timing) -> int:
    """The most cycles without an output after which one may come of inputs accepted before.

    It is ready for outputs in all of them: the latency, and a cycle in which an input may wait in
    the skid register.
    """
    return timing.latency + 1
