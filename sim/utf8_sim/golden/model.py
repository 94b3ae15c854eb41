"""The golden model of every pin in every cycle: the outputs and their timing."""

from typing import NamedTuple, Protocol

import numpy as np

from ..trace import RESET, Columns, Interface, Trace
from .timing import NOTHING, STATE_SIZE, Cycles, Queue, Timing

MET = "met"
"""Name of a column: cycles since the input that enters the state machine was accepted."""


class Outputs(NamedTuple):
    """The outputs that a sequence of inputs produces."""

    columns: Columns
    """The fields of the outputs, in order."""
    brought_by: np.ndarray
    """For each output, the index of the input that produces it."""
    cut: np.ndarray
    """True if the output ended with the previous input; that input only reveals it."""


class Transducer(Protocol):
    """Untimed model: inputs to outputs, without a clock."""

    def feed(self, items: Columns, begins: np.ndarray) -> Outputs:
        """The outputs of the next inputs; ``begins`` is True for the first input after a reset."""
        ...


def one_for_one(columns: Columns) -> Outputs:
    """Outputs of a component that produces one output for each input."""
    count = len(next(iter(columns.values())))
    return Outputs(columns, np.arange(count), np.zeros(count, dtype=np.int64))


class Model:
    """The golden model of a component during a run.

    The pins in a cycle depend on the inputs accepted and the outputs taken in earlier cycles. The
    model reads these transfers from the trace, and predicts the pins of each cycle from the
    transfers before it. The prediction is complete up to the first difference.
    """

    def __init__(self, interface: Interface, transducer: Transducer, timing: Timing) -> None:
        self._transducer, self._timing = transducer, timing
        self._state = np.zeros(STATE_SIZE, dtype=np.int64)
        self._nothing = {pin.name: np.zeros_like(pin.column(1)) for pin in interface.outputs}
        self._waiting: Columns = {pin.name: pin.column(0) for pin in interface.outputs}
        self._queue = np.zeros((3, 0), dtype=np.int64)
        """`cut`, `ends` and `due` of :class:`Queue`, for the outputs not taken yet."""
        self._was_reset = False  # since the last input

    def expected(self, trace: Trace) -> Trace:
        """The expected pins in the next cycles; the payload is zero while no output is valid.

        Cycles in which reset is active are predicted like all others.
        """
        is_accepted, reset = trace.is_accepted, trace[RESET]
        resets = np.cumsum(np.append(self._was_reset, reset != 0))
        split_at_resets = resets[:-1].compress(is_accepted)
        self._was_reset = bool(resets[-1] > (split_at_resets[-1] if len(split_at_resets) else 0))
        outputs = self._transducer.feed(trace.accepted(), np.diff(split_at_resets, prepend=0) > 0)

        rows = self._queue_with(outputs)
        first = np.cumsum(np.bincount(outputs.brought_by, minlength=len(split_at_resets)))
        before = self._queue.shape[1]
        queue = Queue(np.append(0, first) + before, *rows)
        given = (reset, is_accepted, trace["o.ready"], trace.is_taken)
        results = (np.empty(len(trace), dtype=np.int64) for _ in range(3))
        cycles = Cycles(*(column.astype(np.int64) for column in given), *results)
        departed = self._timing.kernel.run(len(trace), self._timing, self._state, cycles, queue)
        self._queue = rows[:, departed:].copy()

        valid = cycles.at_pins != NOTHING
        columns = {"i.ready": cycles.ready, "o.valid": valid}
        columns = {name: column.astype(np.uint8) for name, column in columns.items()}
        for name, waiting in self._waiting.items():
            column = np.concatenate([waiting, outputs.columns[name], self._nothing[name]])
            columns[name] = column.take(cycles.at_pins, axis=0)
            self._waiting[name] = column[departed:-1]
        return Trace(trace.interface, trace.columns | columns | {MET: cycles.met})

    def _queue_with(self, outputs: Outputs) -> np.ndarray:
        """The outputs not taken yet, followed by new outputs."""
        before = self._queue.shape[1]
        rows = np.zeros((len(self._queue), before + len(outputs.brought_by)), dtype=np.int64)
        rows[:, :before] = self._queue
        rows[0, before:] = outputs.cut
        if "o.last" in outputs.columns:
            rows[1, before:] = outputs.columns["o.last"] != 0
        return rows


def feed_all(transducer: Transducer, items: Columns) -> Columns:
    """The outputs of inputs without a reset between them."""
    count = len(next(iter(items.values())))
    return transducer.feed(items, np.zeros(count, dtype=bool)).columns
