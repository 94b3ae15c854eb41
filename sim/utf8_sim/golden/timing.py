"""The golden model's timing: the cycles in which outputs are at the pins.

The timing does not depend on the content of the text. It only uses three properties of an output:
the input that produces it, a flag if it ended before that input, and a flag if it ends a text.
Latencies are counted from the cycle in which an input is accepted to the first cycle in which its
output is at the pins. Each kind of flow control has a kernel, which processes the accepted inputs
and the taken outputs cycle by cycle. A cycle of reset restores the initial state, and discards
inputs and outputs in flight.
"""

from typing import NamedTuple

import numpy as np

from .kernels import Kernel, kernel

NOTHING = -1
"""Marks a cycle without an output at the pins, or without an input that enters the state
machine."""

STATE_SIZE = 64
"""Maximum length of the state of a timing. All numbers except `TIME` are 0 after reset."""


class Cycles(NamedTuple):
    """Cycles: each array has an element for each cycle."""

    reset: np.ndarray
    accepted: np.ndarray
    """True if an input was accepted; False while reset is active."""
    o_ready: np.ndarray
    taken: np.ndarray
    """True if an output was taken; False while reset is active."""
    ready: np.ndarray
    """Result: the value of ``i.ready``."""
    at_pins: np.ndarray
    """Result: the index of the output at the pins."""
    met: np.ndarray
    """Result: cycles since the input that enters the state machine was accepted."""


class Queue(NamedTuple):
    """Outputs not taken yet, followed by the outputs that the inputs of these cycles produce."""

    first: np.ndarray
    """For each input, the index of its first output; as last element, the number of outputs."""
    cut: np.ndarray
    """True if the output ends before the input that produces it."""
    ends: np.ndarray
    """True if the output ends a text."""
    due: np.ndarray
    """The earliest cycle at the pins, in the timing's own count of cycles."""


class Elastic(NamedTuple):
    """Elastic pipeline: stages with a shared clock enable, between skid register and output buffer.

    The pipeline is not enabled in the first cycle after reset and in the cycle after a stalled
    output. An input accepted in an enabled cycle enters the pipeline at once. An input accepted in
    any other cycle is held in the skid register until the next enabled cycle. Inputs are accepted
    while the skid register is empty, except in the first cycle after reset. An output is at the
    pins ``latency`` enabled cycles after its input entered. If the next input cuts it, it is at the
    pins ``latency - 1`` enabled cycles after that input. ``latency_of_state`` stages precede the
    state machine.
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
"""Indices of the state. `RUNNING` is 1 after the first cycle since reset; `TIME` is the number of
enabled cycles. `SKID`, and the stages from `ENTERED` on, hold the ages of inputs, from 1 on."""


@kernel
def elastic(timing, state, cycles, queue):  # type: ignore[no-untyped-def]
    """The kernel of :class:`Elastic`; returns the number of outputs taken or lost by reset."""
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
            for index in range(ENTERED + timing.latency_of_state):
                if index != TIME:
                    state[index] = 0
    return departed


@kernel
def _at_pins(queue, departed, known, time):  # type: ignore[no-untyped-def]
    """The oldest output not taken yet, if it is due; else NOTHING."""
    return departed if departed < known and queue.due[departed] <= time else NOTHING


@kernel
def _through(state, first, stages, entering):  # type: ignore[no-untyped-def]
    """Shift a value into the first of the stages; return the value shifted out of the last."""
    for index in range(first, first + stages):
        leaving = state[index]
        state[index] = entering
        entering = leaving
    return entering


@kernel
def _grow_older(state, first, stages):  # type: ignore[no-untyped-def]
    """Increment the ages of the inputs in the stages."""
    for index in range(first, first + stages):
        if state[index]:
            state[index] += 1


class Compact(NamedTuple):
    """One register between input and output, which holds the outputs of an input in turn.

    No input is accepted while the output is stalled. In any other cycle, an input is accepted if at
    most ``spare`` outputs follow the output at the pins; with ``starts_late``, except in the first
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
    """The kernel of :class:`Compact`."""
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

    The pipeline is not enabled in the first cycle after reset and in the cycle after a stalled
    output. An input is accepted in an enabled cycle in which *send* is empty or holds the last
    output of its input. In such a cycle *send* and the stages before it advance by one; the first
    stage is loaded with the input, or becomes empty if none is offered. In each enabled cycle, one
    output leaves *send*. ``before`` stages precede *send*; ``after`` stages are between it and the
    output buffer.
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
"""More indices of the state: the number of outputs left in *send*, and in the output buffer. From
`BEFORE` on: the number of outputs in each stage before *send*. From `AFTER` on: the number in each
stage after it. From `AGES` on: the ages of the inputs before *send*."""


@kernel
def serial(timing, state, cycles, queue):  # type: ignore[no-untyped-def]
    """The kernel of :class:`Serial`."""
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
            for index in range(len(state)):
                state[index] = 0
    state[BUFFERED] = arrived - departed
    return departed


MAX_OUTSTANDING = 16
"""Number of outputs that fit into the memory."""


class Credit(NamedTuple):
    """A pipeline that never stalls: see :mod:`utf8_hdl.flow_control.credit`.

    Every input produces one output. The output is at the pins ``stages + 1`` cycles after its input
    was accepted, or later if earlier outputs are stalled. Until it is taken it is *outstanding*.
    The number of outstanding outputs is known two cycles late. An input is accepted if the memory
    has room for its output, for the outstanding outputs, and for the outputs of all inputs that
    could be accepted in the meantime. In the first cycle after reset no input is accepted.
    """

    stages: int

    @property
    def latency(self) -> int:
        return self.stages + 1

    @property
    def kernel(self) -> Kernel:
        return credit


CYCLE, LATELY, BEFORE_THAT, WAS_READY = range(4)
"""Indices of the state: cycles since reset; the number of outstanding outputs one and two cycles
ago, plus 1 if an input could be accepted then; and 1 if an input could be accepted one cycle
ago."""


@kernel
def credit(timing, state, cycles, queue):  # type: ignore[no-untyped-def]
    """The kernel of :class:`Credit`."""
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
    """A pipeline that never stalls, with credit and a memory: packs sparse beats into dense beats.

    There is a *slot* for each cycle. An input is in the slot of the cycle in which it is accepted.
    Its outputs are produced in the same slot, except the last output of a text, which is produced
    in the next slot. With ``waits``, an input is in the slot of the cycle in which the next input
    of its text is accepted, or, if it ends its text, in the slot after its own cycle; an output
    that is *cut* then comes from the previous input.

    An output is at the pins ``stages + 2`` cycles after its slot, or later if earlier outputs are
    stalled. No slot has two outputs: the first input of a text can only produce the last output of
    that text.

    The *outstanding* inputs and outputs are the inputs accepted in the last ``counted + 1`` cycles,
    and the outputs of earlier slots that are not yet taken. Their number is known two cycles late.
    An input is accepted if the memory has room for it, for everything outstanding, and for all
    inputs that could be accepted in the meantime. In the first cycle after reset no input is
    accepted.
    """

    stages: int
    counted: int
    """The stage from which outputs are counted."""
    waits: bool = False

    @property
    def latency_of_cut(self) -> int:
        """Cycles from the input that reveals a full output, with ``waits``."""
        return self.stages + 2

    @property
    def latency(self) -> int:
        """Cycles from the last input of a text to its last output."""
        return self.stages + 3 + self.waits

    @property
    def kernel(self) -> Kernel:
        return packing


MAX_IN_PACKING = 32
"""Number of outputs that fit into the memory, incomplete outputs included."""

INSIDE, RING = 4, 8
"""More indices of the state: the number of inputs accepted in the last ``counted + 1`` cycles. From
`RING` on: a ring buffer with 1 for each of these cycles in which an input was accepted."""


@kernel
def packing(timing, state, cycles, queue):  # type: ignore[no-untyped-def]
    """The kernel of :class:`Packing`."""
    departed, known, item = 0, queue.first[0], 0
    given, waits, window = 0, 1 if timing.waits else 0, timing.counted + 1
    # N consecutive inputs begin at most N + 1 outputs, or N + 2 if an earlier input is delayed. One
    # of these outputs is not full yet.
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
                delay = waits * (1 - queue.cut[known]) + queue.ends[known]
                queue.due[known] = cycle + delay + timing.stages + 2
                known += 1
        departed = min(departed + cycles.taken[now], known)
        state[CYCLE] += 1
        if cycles.reset[now]:
            departed = given = known
            for index in range(len(state)):
                state[index] = 0
    return departed


@kernel
def _is_open(state, cycle, room):  # type: ignore[no-untyped-def]
    """1 if an input can be accepted, else 0."""
    return 1 if cycle and state[BEFORE_THAT] + state[WAS_READY] < room else 0


@kernel
def _remember(state, outstanding, ready):  # type: ignore[no-untyped-def]
    """Record the number of outstanding outputs in a cycle, for :func:`_is_open`."""
    state[BEFORE_THAT] = state[LATELY]
    state[LATELY] = outstanding + ready
    state[WAS_READY] = ready


Timing = Elastic | Compact | Serial | Credit | Packing
"""The timing of a component, by its parameters.

``latency`` is the number of cycles from an input to its output. ``kernel`` loops over the cycles.
"""


def meets_state_later(timing: Timing) -> bool:
    """True if an input enters the state machine some cycles after its handshake."""
    return isinstance(timing, Elastic | Serial)


def longest_gap(timing: Timing) -> int:
    """Maximum number of cycles without a valid output, while inputs are in flight.

    It assumes a ready consumer. It is the latency, plus one cycle for an input in the skid
    register.
    """
    return timing.latency + 1
