"""The golden model's timing: in which cycle an output is at the pins, with no text in it.

A component is a transducer (:mod:`utf8_sim.golden.text`) in one of the timings here. What a
transducer says of an output is all that a timing needs: which input brings it about, and whether it
ends before that input. Latencies are counted from the cycle in which an input is accepted to the
first cycle in which its output is at the pins.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from .text import Output, Transducer

Payload = tuple[Any, ...]
"""The fields of an output: numbers, and lists of them where a field is an array."""


class Cycles(ABC):
    """A timing at some cycle of a run."""

    def __init__(self) -> None:
        self._waiting: deque[Payload] = deque()
        """The output that is at the pins, and those behind it."""

    def offered(self) -> Payload | None:
        """The output that is at the pins, or nothing while ``o.valid`` is low."""
        return self._waiting[0] if self._waiting else None

    @abstractmethod
    def ready(self, o_ready: bool) -> bool:
        """Level of ``i.ready``."""

    @abstractmethod
    def tick(self, brought: Iterable[Output] | None, o_ready: bool) -> None:
        """The clock edge. ``brought`` is by the input accepted in this cycle; None, if none is."""


@dataclass(frozen=True)
class Elastic:
    """The elastic pipeline: stages with a shared clock enable, between two buffers.

    It is enabled in every cycle but the first after reset, and those after a cycle in which an
    output was stalled. An input accepted while it is enabled enters it at once. One accepted while
    it is not waits in the skid register, and so does the next one, behind it, until none is
    accepted in a cycle. An input is accepted if the output is ready, or if the pipeline is enabled
    and the skid register empty. An output is at the pins ``latency`` enabled cycles after its input
    entered; one that the next input cuts, one fewer after that. The state machine is
    behind ``latency_of_state`` stages.
    """

    latency: int
    latency_of_state: int

    @property
    def latency_of_cut(self) -> int:
        return self.latency - 1

    def cycles(self) -> "ElasticCycles":
        return ElasticCycles(self)


class ElasticCycles(Cycles):
    """The elastic pipeline at some cycle of a run."""

    def __init__(self, timing: Elastic) -> None:
        super().__init__()
        self._timing = timing
        self._in_flight: deque[tuple[int, Payload]] = deque()
        self._enabled = self._skid = False
        self._enabled_cycles = 0

    def ready(self, o_ready: bool) -> bool:
        return o_ready or (self._enabled and not self._skid)

    def tick(self, brought: Iterable[Output] | None, o_ready: bool) -> None:
        stalled = bool(self._waiting) and not o_ready
        enters = self._enabled_cycles + (self._enabled and self._skid)
        for payload, cut in brought or ():
            latency = self._timing.latency_of_cut if cut else self._timing.latency
            self._in_flight.append((enters + latency, payload))
        self._skid = brought is not None and (self._skid or not self._enabled)
        if self._waiting and o_ready:
            self._waiting.popleft()
        if self._enabled:
            self._enabled_cycles += 1
            while self._in_flight and self._in_flight[0][0] == self._enabled_cycles:
                self._waiting.append(self._in_flight.popleft()[1])
        self._enabled = not stalled


@dataclass(frozen=True)
class Compact:
    """One register between input and output, in which the next output of an input appears.

    Nothing moves while the output is stalled. An input is accepted in any other cycle in which at
    most ``spare`` outputs wait behind the one at the pins.
    """

    spare: int

    latency = latency_of_cut = 1
    latency_of_state = 0

    def cycles(self) -> "CompactCycles":
        return CompactCycles(self)


class CompactCycles(Cycles):
    """The compact stage at some cycle of a run: the output at the pins and those behind it."""

    def __init__(self, timing: Compact) -> None:
        super().__init__()
        self._timing = timing

    def ready(self, o_ready: bool) -> bool:
        behind = len(self._waiting) - 1
        return not self._waiting or (o_ready and behind <= self._timing.spare)

    def tick(self, brought: Iterable[Output] | None, o_ready: bool) -> None:
        if self._waiting and o_ready:
            self._waiting.popleft()
        self._waiting.extend(payload for payload, _ in brought or ())


@dataclass(frozen=True)
class Serial:
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
    def latency_of_state(self) -> int:
        return self.before

    latency_of_cut = latency

    def cycles(self) -> "SerialCycles":
        return SerialCycles(self)


class SerialCycles(Cycles):
    """Such a pipeline at some cycle of a run.

    The stages before *send* hold what they will send, those after it what was sent; the first stage
    comes first.
    """

    def __init__(self, timing: Serial) -> None:
        super().__init__()
        self._stages: list[Sequence[Payload]] = [()] * timing.before
        self._sending: deque[Payload] = deque()
        self._after: list[Payload | None] = [None] * timing.after
        self._enabled = False

    def ready(self, o_ready: bool) -> bool:
        return self._enabled and len(self._sending) <= 1

    def tick(self, brought: Iterable[Output] | None, o_ready: bool) -> None:
        advances, stalled = self.ready(o_ready), bool(self._waiting) and not o_ready
        if self._waiting and o_ready:
            self._waiting.popleft()
        if self._enabled:
            sent = self._sending.popleft() if self._sending else None
            *self._after, arrived = [sent, *self._after]
            if arrived is not None:
                self._waiting.append(arrived)
        if advances:
            *self._stages, last = [[payload for payload, _ in brought or ()], *self._stages]
            self._sending = deque(last)
        self._enabled = not stalled


MOST_OUTSTANDING = 13
"""With more outputs outstanding, no input is accepted two cycles later."""


@dataclass(frozen=True)
class Credit:
    """A pipeline that never stalls, between credit and a memory: see :mod:`utf8_hdl.credit`.

    Every input brings about one output. It is at the pins ``stages + 1`` cycles after its input was
    accepted, behind those before it. Until it is taken it is *outstanding*. An input is accepted if
    not too many were so two cycles before; in the first cycle after reset none is, in the second
    one any is.
    """

    stages: int

    latency_of_state = 0

    @property
    def latency(self) -> int:
        return self.stages + 1

    latency_of_cut = latency

    def cycles(self) -> "CreditCycles":
        return CreditCycles(self)


class CreditCycles(Cycles):
    """Such a pipeline at some cycle of a run."""

    def __init__(self, timing: Credit) -> None:
        super().__init__()
        self._timing = timing
        self._in_flight: deque[tuple[int, Payload]] = deque()
        self._cycle = 0
        self._ready = deque([False, True])  # in this cycle and in the next one

    def ready(self, o_ready: bool) -> bool:
        return self._ready[0]

    def tick(self, brought: Iterable[Output] | None, o_ready: bool) -> None:
        outstanding = len(self._in_flight) + len(self._waiting)
        self._ready.popleft()
        self._ready.append(outstanding <= MOST_OUTSTANDING)
        if self._waiting and o_ready:
            self._waiting.popleft()
        for payload, _ in brought or ():
            self._in_flight.append((self._cycle + self._timing.latency, payload))
        self._cycle += 1
        while self._in_flight and self._in_flight[0][0] == self._cycle:
            self._waiting.append(self._in_flight.popleft()[1])


MOST_IN_PACKING = 12
"""With more inputs that are not done, a packing accepts none two cycles later."""

LAST_FIELD = 2
"""Where the payload of a dense beat has ``last``: behind the values and where they are."""


def _is_last(payload: Payload) -> bool:
    """Whether a dense beat ends its text."""
    return bool(payload[LAST_FIELD])


@dataclass(frozen=True)
class Packing:
    """Sparse beats become dense: a pipeline that never stalls, between credit and a memory.

    Not every input brings about an output, and one may bring about two. An input that is accepted
    in a cycle is in the *slot* of this cycle. If it brings about a full beat, this is at the pins
    ``stages + 1`` cycles after the slot, behind those before it. The last beat of a text comes as
    if the slot after it brought it about. It does not meet another one, as the first input of a
    text never brings about a full beat.

    An output has the number of inputs that were accepted up to its slot. So in a cycle it is known
    which inputs are *done*: if an output is at the pins, those with a lower number; else all that
    were accepted up to ``stages + 1`` cycles before. An input is accepted if two cycles before not
    too many were not done; in the first cycle after reset none is, in the second one any is.
    """

    stages: int

    latency_of_state = 0

    @property
    def latency_of_full(self) -> int:
        return self.stages + 1

    @property
    def latency(self) -> int:
        """That of a text's last output."""
        return self.latency_of_full + 1

    latency_of_cut = latency_of_full

    def cycles(self) -> "PackingCycles":
        return PackingCycles(self)


class PackingCycles(Cycles):
    """Such a pipeline at some cycle of a run. ``ends`` says which outputs are their text's last."""

    def __init__(self, timing: Packing, ends: Callable[[Payload], bool] = _is_last) -> None:
        super().__init__()
        self._ends = ends
        self._latency = timing.latency_of_full
        self._slots: deque[tuple[int, Payload | None]] = deque([(0, None)] * timing.stages)
        """The last slots, the oldest first: how many inputs were accepted up to each, and the
        output that it brings about, if there is one.
        """
        self._numbers: deque[int] = deque()
        """The numbers of the outputs that wait."""
        self._accepted = self._done = 0
        self._ending: Payload | None = None
        """What the next slot brings about."""
        self._ready = deque([False, True])  # in this cycle and in the next one

    def ready(self, o_ready: bool) -> bool:
        return self._ready[0]

    def tick(self, brought: Iterable[Output] | None, o_ready: bool) -> None:
        done = self._numbers[0] - 1 if self._numbers else self._done
        self._ready.popleft()
        self._ready.append(self._accepted - done <= MOST_IN_PACKING)
        if self._waiting and o_ready:
            self._waiting.popleft()
            self._numbers.popleft()
        self._accepted += brought is not None
        by_slot, self._ending = self._ending, None
        for payload, _ in brought or ():
            if self._ends(payload):
                self._ending = payload
            else:
                by_slot = payload
        self._slots.append((self._accepted, by_slot))
        self._done, arrives = self._slots.popleft()
        if arrives is not None:
            self._waiting.append(arrives)
            self._numbers.append(self._done)


@dataclass(frozen=True)
class Transcoding:
    """A chain of two pipelines, each a :class:`Packing`: in the first one texts are read.

    What an input brings about is only known when the next one of its text is, so an output may be
    *cut*: then it belongs to the input before the one that brings it about. So in the first
    pipeline an input brings about the one before it, if this did not end its text: it is like a
    full beat. One that ends its text is like a last beat. What is at the output of the first
    pipeline goes into the second one in a cycle in which this accepts inputs.
    """

    stages_of_reading: int
    stages: int

    latency_of_state = 0

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

    def cycles(self) -> "TranscodingCycles":
        return TranscodingCycles(self)


class TranscodingCycles(Cycles):
    """Such a chain at some cycle of a run.

    For each input a list goes through the first pipeline: the outputs that belong to it.
    """

    def __init__(self, timing: Transcoding) -> None:
        super().__init__()
        self._reading = PackingCycles(timing.reading, _end_text)
        self._packing = PackingCycles(timing.packing)
        self._newest: Payload | None = None
        """What belongs to the input that was accepted last, if it did not end its text."""

    def offered(self) -> Payload | None:
        return self._packing.offered()

    def ready(self, o_ready: bool) -> bool:
        return self._reading.ready(o_ready)

    def tick(self, brought: Iterable[Output] | None, o_ready: bool) -> None:
        moves, read = self._packing.ready(o_ready), self._reading.offered()
        self._packing.tick(read if moves else None, o_ready)
        self._reading.tick(self._read(brought), moves)

    def _read(self, brought: Iterable[Output] | None) -> list[Output] | None:
        """What an input brings about in the first pipeline: the one before, and itself if last."""
        if brought is None:
            return None
        outputs = [*brought]
        own = tuple(output for output in outputs if not output.cut)
        known = []
        if self._newest is not None:
            cut = tuple(output for output in outputs if output.cut)
            known.append(Output(self._newest + cut))
        self._newest = own
        if _end_text(own):
            known.append(Output(own))
            self._newest = None
        return known


def _end_text(outputs: Payload) -> bool:
    """Whether the input that they belong to ends a text."""
    return any(_is_last(payload) for payload, _ in outputs)


Timing = Elastic | Compact | Serial | Credit | Packing | Transcoding
"""How a component behaves in time, by its parameters.

The latencies are the cycles from an input to its output, to the output that it cuts, and to the
cycle in which it meets the state machine. ``cycles`` is its first cycle after reset.
"""


def longest_gap(timing: Timing) -> int:
    """The most cycles without an output after which one may come of inputs accepted before.

    It is ready for outputs in all of them: the latency, and as many cycles as inputs may wait
    somewhere before they move on: in the skid register, or at the end of the first pipeline.
    """
    if isinstance(timing, Transcoding):
        return timing.latency + MOST_IN_PACKING + 4
    return timing.latency + 1


class CycleModel:
    """Every output pin in every cycle, given the pins driven: a transducer in a timing."""

    def __init__(self, transducer: Transducer, cycles: Cycles, fields: int) -> None:
        self._after_reset = transducer, cycles
        self._nothing = (0,) * fields
        self._reset()

    def _reset(self) -> None:
        self._transducer, self._cycles = deepcopy(self._after_reset)

    def cycle(self, i_valid: int, *driven: Any, reset: int = 0) -> Payload:
        """The output pins in this cycle; then the clock ticks.

        ``driven`` are the fields of the input's payload, and ``o.ready``. The answer is
        ``i.ready``, ``o.valid``, and the fields of the output's payload, which are don't care and
        here zero while ``o.valid`` is low. After a cycle of reset all is as in the first cycle.
        """
        *item, o_ready = driven
        cycles, offered = self._cycles, self._cycles.offered()
        i_ready = cycles.ready(bool(o_ready))
        if reset:
            self._reset()
        else:
            brought = self._transducer.feed(*item) if i_valid and i_ready else None
            cycles.tick(brought, bool(o_ready))
        return int(i_ready), int(offered is not None), *(offered or self._nothing)
