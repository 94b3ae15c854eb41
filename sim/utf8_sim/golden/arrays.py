"""The golden model for long runs: the same answers as the readable one, by whole arrays.

What takes the readable one a microsecond a byte takes numpy some nanoseconds. The price is a
page that reads less easily, so this one decides nothing on its own: what is wrong with one or two
bytes it asks :func:`utf8_sim.golden.model.fault`, and a difference that it finds is believed only
if the readable model finds it too (:mod:`utf8_sim.lockstep`). Tests hold the two against each
other.

Tokens and bytes are words here, laid out as in a :class:`~utf8_sim.trace.Trace`.
"""

from abc import ABC, abstractmethod
from copy import copy
from typing import NamedTuple, Protocol

import numpy as np

from utf8_hdl import ErrorSpan, Kind, Profile
from utf8_hdl.profile import NONCHARACTERS, REPLACEMENT, SURROGATES

from ..trace import DECODER, ENCODER, OBSERVED_BITS, Interface, Trace, bits, field, meaningful
from .model import (
    RUNS_TO_THE_OUTPUT,
    CycleModel,
    DecoderCycles,
    EncoderCycles,
    Payload,
    fault,
    form,
    form_maximum,
    is_continuation,
)

BYTES = range(256)
VALID = np.uint64(OBSERVED_BITS["o.valid"][0])
"""The bit of a word that has ``o.valid``; ``i.ready`` is the one above it."""


class BulkText(Protocol):
    """What a text brings about at the output, many inputs at once."""

    def feed(self, values: np.ndarray, lasts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the next inputs bring about.

        Parameters
        ----------
        values, lasts : numpy.ndarray
            The inputs: values, and whether each ends a text.

        Returns
        -------
        numpy.ndarray, numpy.ndarray
            Words of the outputs in order, and for each the index of the input that brings it about.
        """
        ...


class BulkDecoder:
    """Bytes to tokens; a :class:`BulkText`.

    A byte outside 80..BF begins a sequence whatever came before, so all sequences of a text can be
    followed at the same time: first the second bytes of all, then the third bytes, and so on.

    Parameters
    ----------
    profile : Profile
        Which UTF-8 is spoken.

    Attributes
    ----------
    pending : numpy.ndarray
        The bytes that no token covers yet.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._whole_sequence = profile.error_span is ErrorSpan.WHOLE_SEQUENCE
        kinds = [fault(bytes([byte]), profile) for byte in BYTES]
        # Most bytes that the token may cover which a byte begins; 1 if it decides it at once.
        self._announced = np.array(list(map(self._most, BYTES, kinds)), dtype=np.uint8)
        self._first_kind = np.array([kind.value for kind in kinds], dtype=np.uint8)
        bits_of_lead = [byte & (0x7F if form(byte) == 1 else 0x7F >> form(byte)) for byte in BYTES]
        self._first_bits = np.array(bits_of_lead, dtype=np.uint64)
        self._alone = _word(self._first_bits, self._first_kind, 1)
        second_kind = np.zeros((256, 256), dtype=np.uint8)
        for lead in np.flatnonzero((self._announced > 1) & (self._first_kind == 0)).tolist():
            for second in filter(is_continuation, BYTES):
                second_kind[lead, second] = fault(bytes([lead, second]), profile).value
        self._second_kind = second_kind.ravel()
        self.pending = np.zeros(0, dtype=np.uint8)

    def _most(self, byte: int, kind: Kind) -> int:
        at_once = kind is not Kind.NONE and not self._whole_sequence
        return 1 if at_once or form(byte) > self._profile.longest_form else form(byte)

    def feed(self, values: np.ndarray, lasts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        before = len(self.pending)
        block = _Block(np.concatenate([self.pending, values]), before, lasts, self._alone)
        announced = self._announced.take(block.data[: block.size])
        leads = np.flatnonzero(announced > 1)
        announced = announced.take(leads)
        for most in range(2, self._profile.longest_form + 1):
            of_this_form = leads[announced == most]
            if of_this_form.size:
                self._follow(block, of_this_form, most)
        self.pending = block.data[block.begin_of_rest : block.size]
        tokens = np.flatnonzero(~block.covered[: block.begin_of_rest])
        return block.words.take(tokens), block.brought_by.take(tokens) - before

    def _follow(self, block: "_Block", leads: np.ndarray, most: int) -> None:
        """The tokens that begin at lead bytes which announce the same number of bytes."""
        value: np.ndarray = self._first_bits.take(block.data.take(leads))
        kind: np.ndarray = self._first_kind.take(block.data.take(leads))
        for length in range(1, most):
            # Each of the sequences has so many bytes now; does the next byte join them?
            following = leads + length
            if following[-1] == block.size and not block.ends_text[following[-1] - 1]:
                block.begin_of_rest = int(leads[-1])  # more may come
                leads, following, value, kind = (x[:-1] for x in (leads, following, value, kind))
            over = block.ends_text[following - 1]
            joins = block.continuation.take(following) & ~over
            if length == 1:
                pair = block.data.take(leads).astype(np.uint16) << 8 | block.data.take(following)
                second_kind = np.where(joins, self._second_kind.take(pair), np.uint8(0))
                if self._whole_sequence:
                    kind = np.where(kind == 0, second_kind, kind)
                else:
                    kind = second_kind
                    joins &= kind == 0
            if not joins.all():
                cut = ~joins
                cut_kind = kind.compress(cut)
                cut_kind = np.where(cut_kind == 0, np.uint8(Kind.TRUNCATED.value), cut_kind)
                words = _word(value.compress(cut), cut_kind, length, over.compress(cut))
                block.tokens(
                    leads.compress(cut), words, following.compress(cut) - over.compress(cut)
                )
                leads, following, value, kind = (
                    x.compress(joins) for x in (leads, following, value, kind)
                )
            if not leads.size:
                return
            block.covered[following] = True
            value = value << np.uint64(6) | block.data.take(following) & np.uint8(0x3F)
        if not self._profile.accept_noncharacters and most == form(0xEF):
            is_refused = (kind == 0) & ((value == NONCHARACTERS[0]) | (value == NONCHARACTERS[1]))
            kind = np.where(is_refused, np.uint8(Kind.NONCHARACTER.value), kind)
        words = _word(value, kind, most, block.ends_text[following])
        block.tokens(leads, words, following)


class _Block:
    """Bytes of a text, and the tokens that begin with each; at first every byte is one alone."""

    def __init__(self, data: np.ndarray, before: int, lasts: np.ndarray, alone: np.ndarray) -> None:
        self.size = len(data)
        self.words = alone.take(data)
        # With a byte behind the end that continues nothing, so that there is always a next one.
        self.data = np.append(data, np.uint8(0))
        self.ends_text = np.zeros(self.size + 1, dtype=bool)
        if lasts.any():
            self.ends_text[before:-1] = lasts
            self.words |= bits("o.last", self.ends_text[:-1])
        self.continuation = (self.data & 0xC0) == 0x80
        self.brought_by = np.arange(self.size)
        self.covered = np.zeros(self.size + 1, dtype=bool)
        self.begin_of_rest = self.size

    def tokens(self, begin: np.ndarray, words: np.ndarray, brought_by: np.ndarray) -> None:
        self.words[begin] = words
        self.brought_by[begin] = brought_by


def _word(
    value: np.ndarray, kind: np.ndarray, length: int, last: np.ndarray | int = 0
) -> np.ndarray:
    """Tokens of one length as words."""
    words = value | bits("o.length", length) | bits("o.last", last)
    error = kind != 0
    if error.any():
        of_error = np.uint64(REPLACEMENT) | bits("o.error", 1) | bits("o.length", length)
        words = np.where(error, of_error | bits("o.kind", kind) | bits("o.last", last), words)
    return words


class BulkEncoder:
    """Code points to bytes; a :class:`BulkText`.

    Parameters
    ----------
    profile : Profile
        Which UTF-8 is spoken.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def feed(self, values: np.ndarray, lasts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
        data = np.where(is_lead, lead_marker | top, 0x80 | top & np.uint64(0x3F))
        last = lasts.astype(bool)[brought_by] & (to_follow == 0)
        return data | bits("o.error", refused[brought_by]) | bits("o.last", last), brought_by

    def _refused(self, values: np.ndarray) -> np.ndarray:
        refused = values > np.uint64(self._profile.highest)
        if not self._profile.accept_surrogates:
            first, end = np.uint64(SURROGATES.start), np.uint64(SURROGATES.stop)
            refused |= (values >= first) & (values < end)
        if not self._profile.accept_noncharacters:
            refused |= np.isin(values, NONCHARACTERS)
        return refused


class Accepted(NamedTuple):
    """The inputs that were accepted in some cycles, and what they bring about.

    Parameters
    ----------
    when : numpy.ndarray
        The cycle of each input.
    words, brought_by : numpy.ndarray
        The outputs, as :meth:`BulkText.feed` gives them.
    """

    when: np.ndarray
    words: np.ndarray
    brought_by: np.ndarray


class BulkCycles(ABC):
    """Every output pin in many cycles: :class:`~utf8_sim.golden.model.CycleModel` by whole arrays.

    Which inputs were accepted and which outputs were taken in a cycle depends on what the pins were
    before it. This model takes them from the trace. Up to the first cycle in which the trace says
    something else than the model these are the model's own, so that cycle is found rightly; what
    the model says after it has no meaning.

    Parameters
    ----------
    interface : Interface
        The pins.
    profile : Profile
        Which UTF-8 is spoken.
    """

    _text: BulkText

    def __init__(self, interface: Interface, profile: Profile) -> None:
        self._interface = interface
        self._profile = profile
        self._outputs = np.zeros(0, dtype=np.uint64)
        """Outputs that can be taken, and behind them those on their way."""

    def first_difference(self, trace: Trace) -> int | None:
        """The first of the next cycles in which an output pin is not as it must be.

        Parameters
        ----------
        trace : Trace
            The next cycles.
        """
        flags = (trace.words >> np.uint64(VALID)).astype(np.uint8)
        is_valid, is_ready = flags & 1, flags >> 1
        when = np.flatnonzero(trace.i_valid & is_ready)
        accepted = Accepted(when, *self._text.feed(trace.item.take(when), trace.i_last.take(when)))
        outputs = np.concatenate([self._outputs, accepted.words])

        is_taken = is_valid & trace.o_ready
        departed = sums_before(is_taken)
        arrived, ready = self._flow(trace, accepted, departed)
        valid = arrived > departed
        expected = np.append(outputs, np.uint64(0)).take(departed, mode="clip") * valid
        expected |= (valid.view(np.uint8) | ready.view(np.uint8) << 1).astype(np.uint64) << VALID

        self._outputs = outputs[int(np.count_nonzero(is_taken)) :]
        wrong = expected != meaningful(trace.words)
        return int(wrong.argmax()) if wrong.any() else None

    @abstractmethod
    def _flow(
        self, trace: Trace, accepted: Accepted, departed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """How many outputs could be taken up to a cycle, taken or not, and what ``i.ready`` is.

        Parameters
        ----------
        trace : Trace
            The cycles.
        accepted : Accepted
            The inputs that were accepted in them.
        departed : numpy.ndarray
            How many outputs were taken before a cycle.
        """

    @abstractmethod
    def readable(self) -> CycleModel:
        """The readable model, as it stands at this point of the run."""

    def progress(self) -> "Progress":
        """Whether a decoder runs in the next cycle, and whether its extra place is taken."""
        return Progress()

    def in_flight(self) -> int:
        """How many of the bytes that a decoder accepted are covered by no token taken."""
        return 0

    def _payloads(self, words: np.ndarray) -> list[Payload]:
        places = [OBSERVED_BITS[f"o.{field}"] for field in self._interface.result]
        return [
            tuple(word >> lowest & (1 << width) - 1 for lowest, width in places)
            for word in words.tolist()
        ]


class Pace(NamedTuple):
    """What :class:`Progress` tells of some cycles, each an array with an element for each cycle.

    Parameters
    ----------
    runs, extra : numpy.ndarray
        Whether the decoder runs, and whether its extra place is taken.
    runs_before : numpy.ndarray
        In how many of the cycles before this one it runs.
    """

    runs: np.ndarray
    extra: np.ndarray
    runs_before: np.ndarray

    @property
    def sets_out(self) -> np.ndarray:
        """In which of these runs a byte sets out that is accepted in the cycle."""
        return self.runs_before + (self.runs & self.extra)


class Progress:
    """When a decoder runs, and when its extra place is taken, as the pins tell.

    Attributes
    ----------
    runs, extra : bool
        Whether it does, and is, in the next cycle.
    """

    def __init__(self) -> None:
        self.runs = False
        self.extra = False

    def add(self, trace: Trace) -> Pace:
        """The same for the next cycles.

        Parameters
        ----------
        trace : Trace
            The cycles.
        """
        waits = trace["o.valid"].view(bool) & ~trace.o_ready.view(bool)
        runs = np.append(self.runs, ~waits)
        # It is taken by a byte that is accepted while the decoder stands, and stays so as long as
        # a byte is accepted in every cycle.
        accepted, cycles = trace.is_accepted, np.arange(len(trace))
        begun = np.where(accepted & ~runs[:-1], cycles, -1 if self.extra else -2)
        ended = np.where(accepted, -2 if self.extra else -1, cycles)
        taken = np.maximum.accumulate(begun) > np.maximum.accumulate(ended)
        extra = np.append(self.extra, taken)
        self.runs, self.extra = bool(runs[-1]), bool(extra[-1])
        return Pace(runs[:-1], extra[:-1], sums_before(runs[:-1]))


class BulkDecoderCycles(BulkCycles):
    """:class:`~utf8_sim.golden.model.DecoderCycles` by whole arrays."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(DECODER, profile)
        self._text: BulkDecoder = BulkDecoder(profile)
        self._progress = Progress()
        self._coming = np.zeros(0, dtype=np.int64)  # in how many runs the last outputs arrive

    def _flow(
        self, trace: Trace, accepted: Accepted, departed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        when, words, brought_by = accepted
        pace = self._progress.add(trace)

        lengths = field(words, "o.length").astype(np.int64)
        ends = np.cumsum(lengths)
        ends += len(when) - len(self._text.pending) - (ends[-1] if len(ends) else 0)
        is_of_the_byte = ends == brought_by + 1
        arrives = pace.sets_out.take(when).take(brought_by) + RUNS_TO_THE_OUTPUT - ~is_of_the_byte
        arrives = np.concatenate([self._coming, arrives])

        can_be_taken = len(self._outputs) - len(self._coming)
        all_runs = int(np.count_nonzero(pace.runs))
        arrived_by = np.cumsum(np.bincount(arrives, minlength=all_runs + 1))
        self._coming = arrives[arrives > all_runs] - all_runs
        arrived = can_be_taken + arrived_by.take(pace.runs_before)
        return arrived, trace.o_ready.view(bool) | (pace.runs & ~pace.extra)

    def readable(self) -> DecoderCycles:
        payloads = self._payloads(self._outputs)
        arrived = len(payloads) - len(self._coming)
        coming = zip(self._coming.tolist(), payloads[arrived:], strict=True)
        pending = bytes(self._text.pending)
        return DecoderCycles(
            self._profile,
            pending,
            coming,
            payloads[:arrived],
            self._progress.runs,
            self._progress.extra,
        )

    def progress(self) -> Progress:
        return copy(self._progress)

    def in_flight(self) -> int:
        return len(self._text.pending) + int(field(self._outputs, "o.length").sum(dtype=int))


class BulkEncoderCycles(BulkCycles):
    """:class:`~utf8_sim.golden.model.EncoderCycles` by whole arrays."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(ENCODER, profile)
        self._text = BulkEncoder(profile)

    def _flow(
        self, trace: Trace, accepted: Accepted, departed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        come = np.bincount(accepted.when.take(accepted.brought_by), minlength=len(trace))
        arrived = len(self._outputs) + sums_before(come)
        waiting = arrived - departed
        return arrived, (waiting == 0) | (trace.o_ready.view(bool) & (waiting == 1))

    def readable(self) -> EncoderCycles:
        return EncoderCycles(self._profile, self._payloads(self._outputs))


def bulk_cycles(interface: Interface, profile: Profile) -> BulkCycles:
    """The model of a component's pins, from reset on."""
    return BulkDecoderCycles(profile) if interface == DECODER else BulkEncoderCycles(profile)


def sums_before(counts: np.ndarray) -> np.ndarray:
    """Sums of what comes before each place."""
    return np.cumsum(counts, dtype=np.int64) - counts
