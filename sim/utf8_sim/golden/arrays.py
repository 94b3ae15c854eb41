"""The golden model for long runs: the same answers as the readable one, by whole arrays.

What takes the readable one a microsecond a byte takes numpy some nanoseconds. The price is a
page that reads less easily, so tests hold it to the readable one, pin by pin, and what is wrong
with one or two bytes it asks :func:`utf8_sim.golden.text.fault`.
"""

from abc import ABC, abstractmethod
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from utf8_hdl import ErrorSpan, Kind, Profile
from utf8_hdl.profile import NONCHARACTERS, REPLACEMENT, SURROGATES

from ..trace import Columns, Interface, Trace
from .text import fault, form, form_maximum, is_continuation
from .timing import MOST_OUTSTANDING, Compact, Credit, Elastic, Serial, Timing

BYTES = range(256)


class Outputs(NamedTuple):
    """What some inputs bring about."""

    columns: Columns
    """The fields of the outputs, in order."""
    brought_by: np.ndarray
    """For each the index of the input that brings it about."""
    cut: np.ndarray
    """Whether it ends before the input that brings it about."""


class ArrayTransducer(Protocol):
    """Many inputs to many outputs."""

    def feed(self, items: Columns) -> Outputs: ...


@cache
def _kinds(profile: Profile) -> tuple[list[Kind], np.ndarray]:
    """For every byte, and for every lead byte with a second one, what is wrong with it.

    Asking for each takes longer than a short run.
    """
    first = [fault(bytes([byte]), profile) for byte in BYTES]
    second = np.zeros((256, 256), dtype=np.uint8)
    for lead in BYTES:
        if 1 < form(lead) <= profile.longest_form and first[lead] is Kind.NONE:
            for byte in filter(is_continuation, BYTES):
                second[lead, byte] = fault(bytes([lead, byte]), profile).value
    return first, second.ravel()


class ArrayDecoder:
    """Bytes to tokens; an :class:`ArrayTransducer`.

    A byte outside 80..BF begins a sequence whatever came before, so all sequences of a text can be
    followed at the same time: first the second bytes of all, then the third bytes, and so on.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._whole_sequence = profile.error_span is ErrorSpan.WHOLE_SEQUENCE
        kinds, self._second_kind = _kinds(profile)
        # Most bytes that the token may cover which a byte begins; 1 if it decides it at once.
        self._announced = np.array(list(map(self._most, BYTES, kinds)), dtype=np.uint8)
        self._first_kind = np.array([kind.value for kind in kinds], dtype=np.uint8)
        bits_of_lead = [byte & (0x7F if form(byte) == 1 else 0x7F >> form(byte)) for byte in BYTES]
        value_type = np.uint32 if profile.code_point_width <= 32 else np.uint64
        self._first_bits: np.ndarray = np.array(bits_of_lead, dtype=value_type)
        self._alone = _code_points(self._first_bits, self._first_kind)
        self.pending = np.zeros(0, dtype=np.uint8)

    def _most(self, byte: int, kind: Kind) -> int:
        at_once = kind is not Kind.NONE and not self._whole_sequence
        return 1 if at_once or form(byte) > self._profile.longest_form else form(byte)

    def feed(self, items: Columns) -> Outputs:
        before = len(self.pending)
        data = np.concatenate([self.pending, items["i.data"]])
        block = _Block(data, before, items["i.last"], self._alone, self._first_kind)
        self._follow_leads(block)
        self.pending = data[block.begin_of_rest :]
        begins = np.flatnonzero(~block.covered[: block.begin_of_rest])
        kind, length = block.kind.take(begins), block.length.take(begins)
        ends = begins + length - 1
        cut = block.cut.take(begins)
        columns = {
            "o.code_point": block.code_point.take(begins),
            "o.error": (kind != 0).view(np.uint8),
            "o.kind": kind,
            "o.length": length,
            "o.last": block.ends_text.take(ends).view(np.uint8),
        }
        return Outputs(columns, ends + cut - before, cut)

    def _follow_leads(self, block: "_Block") -> None:
        """The tokens that begin at lead bytes which announce more bytes."""
        announced: np.ndarray = self._announced.take(block.data[: block.size])
        leads: np.ndarray = np.flatnonzero(announced > 1)
        first, announced = block.data.take(leads), announced.take(leads)
        value: np.ndarray = self._first_bits.take(first)
        kind: np.ndarray = self._first_kind.take(first)
        for length in range(1, self._profile.longest_form):
            if not leads.size:
                return
            # Each of the sequences has so many bytes now; does the next byte join them?
            following = leads + length
            if following[-1] == block.size and not block.ends_text[block.size - 1]:
                block.begin_of_rest = int(leads[-1])  # more may come
                leads, announced, following, value, kind = (
                    x[:-1] for x in (leads, announced, following, value, kind)
                )
            over = block.ends_text.take(following - 1)
            joins = block.continuation.take(following) & ~over
            if length == 1:
                pair = block.data.take(leads).astype(np.uint16) << 8 | block.data.take(following)
                second_kind = np.where(joins, self._second_kind.take(pair), np.uint8(0))
                kind = np.where(kind == 0, second_kind, kind)
                if not self._whole_sequence:
                    joins &= kind == 0
            if not joins.all():
                cut = ~joins
                cut_kind = kind.compress(cut)
                cut_kind = np.where(cut_kind == 0, np.uint8(Kind.TRUNCATED.value), cut_kind)
                where = leads.compress(cut)
                block.tokens(where, value.compress(cut), cut_kind, length)
                block.cut[where] = ~over.compress(cut)
                leads, announced, following, value, kind = (
                    x.compress(joins) for x in (leads, announced, following, value, kind)
                )
            block.covered[following] = True
            value = value << value.dtype.type(6) | block.data.take(following) & np.uint8(0x3F)
            whole = announced == length + 1
            whole_kind = self._kind_of_whole(
                value.compress(whole), kind.compress(whole), length + 1
            )
            block.tokens(leads.compress(whole), value.compress(whole), whole_kind, length + 1)
            leads, announced, value, kind = (
                x.compress(~whole) for x in (leads, announced, value, kind)
            )

    def _kind_of_whole(self, value: np.ndarray, kind: np.ndarray, length: int) -> np.ndarray:
        """What is wrong with sequences of which all bytes are there."""
        if self._profile.accept_noncharacters or length != form(0xEF):
            return kind
        is_refused = (kind == 0) & ((value == NONCHARACTERS[0]) | (value == NONCHARACTERS[1]))
        return np.where(is_refused, np.uint8(Kind.NONCHARACTER.value), kind)


class _Block:
    """Bytes of a text, and the tokens that begin with each; at first every byte is one alone."""

    def __init__(
        self, data: np.ndarray, before: int, lasts: np.ndarray, alone: np.ndarray, kinds: np.ndarray
    ) -> None:
        self.size = len(data)
        # With a byte behind the end that continues nothing, so that there is always a next one.
        self.data = np.append(data, np.uint8(0))
        self.ends_text = np.zeros(self.size + 1, dtype=bool)
        self.ends_text[before:-1] = lasts
        self.continuation = (self.data & 0xC0) == 0x80
        self.covered = np.zeros(self.size + 1, dtype=bool)
        self.begin_of_rest = self.size
        self.code_point, self.kind = alone.take(data), kinds.take(data)
        self.length = np.ones(self.size, dtype=np.uint8)
        self.cut = np.zeros(self.size, dtype=bool)

    def tokens(self, begin: np.ndarray, value: np.ndarray, kind: np.ndarray, length: int) -> None:
        """Tokens of one length, by their first bytes."""
        self.code_point[begin] = _code_points(value, kind)
        self.kind[begin] = kind
        self.length[begin] = length


def _code_points(values: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """The code points of tokens of some kinds."""
    error = kinds != 0
    return np.where(error, values.dtype.type(REPLACEMENT), values) if error.any() else values


class ArrayEncoder:
    """Code points to bytes; an :class:`ArrayTransducer`."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def feed(self, items: Columns) -> Outputs:
        values = items["i.code_point"].astype(np.uint64)
        refused = self._refused(values)
        values = np.where(refused, np.uint64(REPLACEMENT), values)
        lengths = np.ones(len(values), dtype=np.int64)
        for shorter in range(1, self._profile.longest_form):
            lengths += values > np.uint64(form_maximum(shorter))

        brought_by = np.repeat(np.arange(len(values)), lengths)
        ends = np.cumsum(lengths)
        to_follow = ends[brought_by] - 1 - np.arange(len(brought_by))
        length = lengths[brought_by]
        top = values[brought_by] >> (6 * to_follow).astype(np.uint64)
        lead_marker = np.where(length == 1, 0, 0xFF << 8 - length & 0xFF).astype(np.uint64)
        is_lead = to_follow == length - 1
        encoded = np.where(is_lead, lead_marker | top, 0x80 | top & np.uint64(0x3F))
        columns = {
            "o.data": encoded.astype(np.uint8),
            "o.error": refused[brought_by].view(np.uint8),
            "o.last": items["i.last"][brought_by] & (to_follow == 0),
        }
        return Outputs(columns, brought_by, np.zeros(len(brought_by), dtype=bool))

    def _refused(self, values: np.ndarray) -> np.ndarray:
        refused = values > np.uint64(self._profile.highest)
        if not self._profile.accept_surrogates:
            first, end = np.uint64(SURROGATES.start), np.uint64(SURROGATES.stop)
            refused |= (values >= first) & (values < end)
        if not self._profile.accept_noncharacters:
            refused |= np.isin(values, NONCHARACTERS)
        return refused


class ArrayTiming(ABC):
    """A timing at some cycle of a run; see :mod:`utf8_sim.golden.timing`.

    It is given all cycles in order, either by :meth:`flow` or by :meth:`meetings`.
    """

    def __init__(self, timing: Any) -> None:
        self._timing = timing
        self._due = np.zeros(0, dtype=np.int64)
        """In how many moves the last inputs meet the state machine."""

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


_BY_ARRAYS: dict[type, type[ArrayTiming]] = {
    Elastic: ArrayElastic,
    Compact: ArrayCompact,
    Serial: ArraySerial,
    Credit: ArrayCredit,
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
