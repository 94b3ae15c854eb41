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

STATE_SIZE = 512
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
    number: np.ndarray
    """How many inputs had been accepted when it was complete, for :class:`Packing`."""


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


MOST_OUTSTANDING = 16
"""Outputs for which there is room."""


class Credit(NamedTuple):
    """A pipeline that never stalls, between credit and a memory: see :mod:`utf8_hdl.credit`.

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
        ready = _is_open(state, 0, cycle, MOST_OUTSTANDING)
        cycles.ready[now] = ready
        cycles.met[now] = cycles.accepted[now] - 1
        _remember(state, 0, known - departed, ready)
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


MOST_IN_PACKING = 15
"""Inputs that are not done for whose outputs there is room: one output more may come."""


class Packing(NamedTuple):
    """Sparse beats become dense: a pipeline that never stalls, between credit and a memory.

    Not every input brings about an output, and one may bring about two. An input that is accepted
    in a cycle is in the *slot* of this cycle. If it brings about a full beat, this is at the pins
    ``stages + 1`` cycles after the slot, behind those before it. The last beat of a text comes as
    if the slot after it brought it about. It does not meet another one, as the first input of a
    text never brings about a full beat.

    An output has the number of inputs that were accepted up to its slot. So in a cycle it is known
    which inputs are *done*: if an output is at the pins, those with a lower number; else all that
    were accepted up to ``stages + 1`` cycles before. How many are not done is known two cycles
    late. An input is accepted if there is room behind these and the inputs that could be accepted
    since. In the first cycle after reset none is accepted.
    """

    stages: int

    @property
    def latency_of_full(self) -> int:
        return self.stages + 1

    @property
    def latency(self) -> int:
        """That of a text's last output."""
        return self.latency_of_full + 1

    @property
    def kernel(self) -> Kernel:
        return packing


COUNT, ENDING, UP_TO, RING = 4, 5, 8, 64
"""Numbers of the state, after `WAS_READY`, which are about inputs that are not done here: how
many were accepted; whether the next slot brings about the last output; from one on, how many were
accepted up to each of the last cycles, in a ring.
"""

NEVER = 1 << 62
"""When an output is at the pins whose slot is yet to come."""


@kernel
def packing(timing, state, cycles, queue):  # type: ignore[no-untyped-def]
    """:class:`Packing`."""
    departed, known, item = 0, queue.first[0], 0
    for now in range(len(cycles.reset)):
        cycle = state[CYCLE]
        output = _at_pins(queue, departed, known, cycle)
        cycles.at_pins[now] = output
        cycles.ready[now] = _is_open(state, 0, cycle, MOST_IN_PACKING)
        cycles.met[now] = cycles.accepted[now] - 1
        number = NOTHING if output == NOTHING else queue.number[output]
        up_to = _slot(state, 0, cycle, timing.stages, number, cycles.accepted[now])
        due = cycle + timing.stages + 1
        if state[ENDING]:
            queue.due[known - 1], queue.number[known - 1] = due, up_to
            state[ENDING] = 0
        if cycles.accepted[now]:
            item += 1
            while known < queue.first[item]:
                queue.due[known], queue.number[known] = due, up_to
                if queue.ends[known]:
                    queue.due[known] = NEVER
                    state[ENDING] = 1
                known += 1
        departed = min(departed + cycles.taken[now], known)
        state[CYCLE] += 1
        if cycles.reset[now]:
            departed = known
            for place in range(len(state)):
                state[place] = 0
    return departed


@kernel
def _is_open(state, at, cycle, room):  # type: ignore[no-untyped-def]
    """Whether an input is accepted by a flow control whose state begins somewhere."""
    return 1 if cycle and state[at + BEFORE_THAT] + state[at + WAS_READY] < room else 0


@kernel
def _remember(state, at, outstanding, ready):  # type: ignore[no-untyped-def]
    """Go on by a cycle in which so many were outstanding, for :func:`_is_open`."""
    state[at + BEFORE_THAT] = state[at + LATELY]
    state[at + LATELY] = outstanding + ready
    state[at + WAS_READY] = ready


@kernel
def _slot(state, at, cycle, stages, number, accepted):  # type: ignore[no-untyped-def]
    """Go on by a cycle, in which the output at the pins has a number. That of its slot."""
    place = at + UP_TO + cycle % (stages + 1)
    done = state[place] if number == NOTHING else number - 1
    ready = _is_open(state, at, cycle, MOST_IN_PACKING)
    _remember(state, at, state[at + COUNT] - done, ready)
    state[at + COUNT] += accepted
    state[place] = state[at + COUNT]
    return state[at + COUNT]


class Transcoding(NamedTuple):
    """A chain of two pipelines, each a :class:`Packing`: in the first one texts are read.

    What an input brings about is only known when the next one of its text is, so an output may be
    *cut*: then it belongs to the input before the one that brings it about. So in the first
    pipeline an input brings about the one before it, if this did not end its text: it is like a
    full beat. One that ends its text is like a last beat. What is at the output of the first
    pipeline goes into the second one in a cycle in which this accepts inputs.
    """

    stages_of_reading: int
    stages: int

    @property
    def reading(self) -> Packing:
        return Packing(self.stages_of_reading)

    @property
    def packing(self) -> Packing:
        return Packing(self.stages)

    @property
    def latency(self) -> int:
        """That of a text's last output."""
        return self.reading.latency + self.packing.latency

    @property
    def latency_of_full(self) -> int:
        """That of one before it which the text's last input brings about and which is not cut."""
        return self.reading.latency + self.packing.latency_of_full

    @property
    def latency_of_cut(self) -> int:
        return self.reading.latency_of_full + self.packing.latency_of_full

    @property
    def kernel(self) -> Kernel:
        return transcoding


SECOND = UP_TO + RING
"""Where the state of the second packing begins."""

HELD, IN_FIRST, LEFT_FIRST, PLACED = range(2 * SECOND, 2 * SECOND + 4)
"""Numbers of the state: whether the newest input waits for the next one of its text; how many were
brought about in the first pipeline, and left it; how many outputs the second one was brought.
"""

KNOWN, DUE, NUMBER = (2 * SECOND + 8 + RING * n for n in range(3))
"""From each on, what is known of the inputs in the first pipeline, in rings: the sum of `FULL` and
`END`; when they are at its output; and their numbers.
"""

FULL, END = 1, 2


@kernel
def transcoding(timing, state, cycles, queue):  # type: ignore[no-untyped-def]
    """:class:`Transcoding`."""
    departed, known, item = 0, queue.first[0], 0
    placed = state[PLACED]
    for now in range(len(cycles.reset)):
        cycle = state[CYCLE]
        output = _at_pins(queue, departed, placed, cycle)
        cycles.at_pins[now] = output
        cycles.ready[now] = _is_open(state, 0, cycle, MOST_IN_PACKING)
        cycles.met[now] = cycles.accepted[now] - 1

        oldest = state[LEFT_FIRST] % RING
        is_read = state[LEFT_FIRST] < state[IN_FIRST] and state[DUE + oldest] <= cycle
        number_of_read = state[NUMBER + oldest] if is_read else NOTHING
        moves = 1 if is_read and _is_open(state, SECOND, cycle, MOST_IN_PACKING) else 0
        number = NOTHING if output == NOTHING else queue.number[output]
        placed = _second_slot(timing, state, queue, placed, number, moves)
        placed = min(placed, known)

        accepted = cycles.accepted[now]
        begin = known
        if accepted:
            item += 1
            known = queue.first[item]
        _first_slot(timing, state, queue, number_of_read, accepted, begin, known)

        departed = min(departed + cycles.taken[now], known)
        state[CYCLE] += 1
        if cycles.reset[now]:
            departed = placed = known
            for place in range(len(state)):
                state[place] = 0
    state[PLACED] = placed - departed
    return departed


@kernel
def _second_slot(timing, state, queue, placed, number, moves):  # type: ignore[no-untyped-def]
    """The slot of a cycle of the second pipeline: how many outputs it was brought so far."""
    cycle, oldest = state[CYCLE], state[LEFT_FIRST] % RING
    up_to = _slot(state, SECOND, cycle, timing.stages, number, moves)
    due = cycle + timing.stages + 1
    if state[SECOND + ENDING]:
        queue.due[placed - 1], queue.number[placed - 1] = due, up_to
        state[SECOND + ENDING] = 0
    if moves:
        state[LEFT_FIRST] += 1
        for kind in (FULL, END):
            if state[KNOWN + oldest] & kind and placed < len(queue.due):
                queue.due[placed] = NEVER if kind == END else due
                queue.number[placed] = up_to
                placed += 1
        state[SECOND + ENDING] = 1 if state[KNOWN + oldest] & END else 0
    return placed


@kernel
def _first_slot(timing, state, queue, number, accepted, begin, end):  # type: ignore[no-untyped-def]
    """The slot of a cycle of the first pipeline; an input brings about outputs from one on."""
    cycle = state[CYCLE]
    up_to = _slot(state, 0, cycle, timing.stages_of_reading, number, accepted)
    due = cycle + timing.stages_of_reading + 1
    if state[ENDING]:
        last = (state[IN_FIRST] - 1) % RING
        state[DUE + last], state[NUMBER + last] = due, up_to
        state[ENDING] = 0
    if not accepted:
        return
    newest, own = state[IN_FIRST] % RING, 0
    for output in range(begin, end):
        if queue.ends[output]:
            own |= END
        elif queue.cut[output]:
            state[KNOWN + newest] |= FULL
        else:
            own |= FULL
    if state[HELD]:
        state[DUE + newest], state[NUMBER + newest] = due, up_to
        state[IN_FIRST] += 1
        newest = state[IN_FIRST] % RING
    state[KNOWN + newest] = own
    state[HELD] = 1
    if own & END:
        state[DUE + newest] = NEVER
        state[ENDING] = 1
        state[HELD] = 0
        state[IN_FIRST] += 1


Timing = Elastic | Compact | Serial | Credit | Packing | Transcoding
"""How a component behaves in time, by its parameters.

``latency`` is the number of cycles from an input to its output. ``kernel`` loops over the cycles.
"""


def meets_state_later(timing: Timing) -> bool:
    """True if the state machine sees an input some cycles after its handshake."""
    return isinstance(timing, Elastic | Serial)


def longest_gap(timing: Timing) -> int:
    """The most cycles without an output after which one may come of inputs accepted before.

    It is ready for outputs in all of them: the latency, and as many cycles as inputs may wait
    somewhere before they move on: in the skid register, or at the end of the first pipeline.
    """
    if isinstance(timing, Transcoding):
        return timing.latency + MOST_IN_PACKING + 4
    return timing.latency + 1
