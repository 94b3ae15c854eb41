"""Hold a trace against the golden model, every output pin in every cycle."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from utf8_hdl import Kind

from .engine import ENCODER, Engine
from .model import CycleModel, decoder_cycles, encoder_cycles
from .stimulus import Stimulus


class Difference(NamedTuple):
    """The first place where design and golden model say different things."""

    cycle: int
    pin: str
    expected: int
    actual: int

    def __str__(self) -> str:
        expected, actual = (_level(self.pin, level) for level in (self.expected, self.actual))
        return f"cycle {self.cycle}, pin {self.pin}: expected {expected}, actual {actual}"


def _level(pin: str, level: int) -> str:
    if pin in ("o.code_point", "o.data"):
        return f"{level:X}"
    if pin == "o.kind":
        return f"{level} ({Kind(level).label})"
    return str(level)


class Window(NamedTuple):
    """Cycles of a trace, as they were and as the golden model expected them."""

    first_cycle: int
    actual: np.ndarray
    expected: np.ndarray

    def difference(self) -> Difference | None:
        """The first output pin that is not as expected."""
        wrong = np.flatnonzero(self.actual != self.expected)
        if not wrong.size:
            return None
        at = int(wrong[0])
        actual, expected = self.actual[at], self.expected[at]
        pin = next(pin for pin in self.actual.dtype.names or () if actual[pin] != expected[pin])
        return Difference(self.first_cycle + at, pin, int(expected[pin]), int(actual[pin]))


class Lockstep:
    """A simulation, compared cycle by cycle while it runs.

    Iterate over it for the windows of the trace. It stops with the window that holds the first
    difference, cut after the differing cycle.

    Parameters
    ----------
    engine : Engine
        What simulates the design.
    stimulus : Stimulus
        What to drive.

    Attributes
    ----------
    cycles : int
        How many cycles were compared.
    difference : Difference or None
        The first difference, once it is found.
    recent : list of Window
        The last two windows, uncut, for a look at what happened around the difference.
    """

    def __init__(self, engine: Engine, stimulus: Stimulus) -> None:
        self._engine = engine
        self._stimulus = stimulus
        self.cycles = 0
        self.difference: Difference | None = None
        self.recent: list[Window] = []

    def __iter__(self) -> Iterator[np.ndarray]:
        model = _cycle_model(self._engine)
        for trace in self._engine.run(self._stimulus):
            window = Window(self.cycles, trace, _expect(model, self._engine, trace))
            self.recent = [*self.recent[-1:], window]
            self.difference = window.difference()
            end = self.difference.cycle + 1 if self.difference else self.cycles + len(trace)
            begin, self.cycles = self.cycles, end
            yield trace[: end - begin]
            if self.difference:
                return

    def run(self) -> Difference | None:
        """Simulate to the end, or to the first difference, which is returned."""
        for _trace in self:
            pass
        return self.difference


def _cycle_model(engine: Engine) -> CycleModel:
    cycles = encoder_cycles if engine.interface is ENCODER else decoder_cycles
    return cycles(engine.profile)


def _expect(model: CycleModel, engine: Engine, trace: np.ndarray) -> np.ndarray:
    """The trace as it should have been, given the pins that were driven."""
    expected = trace.copy()
    driven = zip(*(trace[pin].tolist() for pin in engine.interface.driven), strict=True)
    outputs = [model.cycle(*levels) for levels in driven]
    for pin, levels in zip(engine.interface.observed, zip(*outputs, strict=True), strict=True):
        expected[pin] = levels
    return expected


def accepted(trace: np.ndarray) -> np.ndarray:
    """The cycles of a trace in which an input was accepted."""
    return trace[(trace["i.valid"] & trace["i.ready"]).astype(bool)]


def taken(trace: np.ndarray) -> np.ndarray:
    """The cycles of a trace in which an output was taken."""
    return trace[(trace["o.valid"] & trace["o.ready"]).astype(bool)]
