"""Simulation engines: stimulus in, trace out.

An engine drives a design with a :class:`Stimulus` and records every pin in every cycle. It does
not judge what it sees; :mod:`utf8_sim.lockstep` does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from amaranth.hdl import Shape, Value
from amaranth.sim import Simulator

from utf8_hdl import Decoder, Encoder, Profile

from .stimulus import Stimulus


@dataclass(frozen=True)
class Interface:
    """The pins of a component, by the names that traces and reports use.

    Parameters
    ----------
    component : str
        What the command line calls it.
    item : str
        The field of the input's payload that carries a value.
    result : tuple of str
        The fields of the output's payload.
    """

    component: str
    item: str
    result: tuple[str, ...]

    @property
    def driven(self) -> tuple[str, ...]:
        """The pins that a test bench drives."""
        return "i.valid", f"i.{self.item}", "i.last", "o.ready"

    @property
    def observed(self) -> tuple[str, ...]:
        """The pins that the design drives."""
        return "i.ready", "o.valid", *(f"o.{field}" for field in self.result)

    @property
    def trace(self) -> np.dtype[Any]:
        """One cycle of a trace: the pins driven and observed, and the state register."""
        return np.dtype(
            [(pin, _column(pin)) for pin in (*self.driven, *self.observed)] + [("state", np.uint8)]
        )


def _column(pin: str) -> type:
    return np.uint64 if pin.endswith("code_point") else np.uint8


DECODER = Interface("decoder", "data", ("code_point", "error", "kind", "length", "last"))
ENCODER = Interface("encoder", "code_point", ("data", "error", "last"))

WINDOW = 4096
"""Cycles in one window of a trace."""

WATCHDOG = 64
"""Cycles without progress, while the consumer is ready, after which a design counts as hung."""

DRAIN = 8
"""Cycles without output after the last input, while the consumer is ready, that end a run."""


class HangError(Exception):
    """The design no longer moves, although it could."""


class Engine(Protocol):
    """Something that simulates a design.

    Attributes
    ----------
    name : str
        What the command line calls it.
    interface : Interface
        The design's pins.
    profile : Profile
        Which UTF-8 the design speaks.
    state_names : list of str
        Name of each value of the state register.
    """

    name: str
    interface: Interface
    profile: Profile
    state_names: list[str]

    def run(self, stimulus: Stimulus) -> Iterator[np.ndarray]:
        """Simulate from reset until all input is accepted and no more output comes.

        Parameters
        ----------
        stimulus : Stimulus
            What to drive.

        Yields
        ------
        numpy.ndarray
            The next cycles of the trace, with dtype ``interface.trace``.

        Raises
        ------
        HangError
            After the last window, if the design stopped moving.
        """
        ...


def state_name(names: list[str], state: int) -> str:
    """Name of a value of the state register, of one that a design should never have, too."""
    return names[state] if state < len(names) else f"illegal {state}"


class TestBench:
    """The other side of the pins, cycle by cycle: what every engine drives, and when it ends.

    While nothing is offered the pins carry the value FF and ``last``, so that a design which looks
    at them anyway gives itself away.

    Parameters
    ----------
    stimulus : Stimulus
        What to drive.

    Attributes
    ----------
    over : bool
        Whether the run has ended.
    hang : str or None
        What no longer moved, if that is why it ended.
    """

    __test__ = False  # not a test, whatever pytest thinks

    def __init__(self, stimulus: Stimulus) -> None:
        self._items = (
            (item, ends and index == len(piece) - 1)
            for piece, ends in stimulus.pieces
            for index, item in enumerate(piece)
        )
        self._gaps = _flat(stimulus.input_stalls.windows(WINDOW))
        self._stalls = _flat(stimulus.output_stalls.windows(WINDOW))
        self._next = next(self._items, None)
        self._offered = self._ready = False
        self._quiet = self._stuck = 0
        self.over = False
        self.hang: str | None = None

    def drive(self) -> tuple[int, int, int, int]:
        """The levels of ``Interface.driven`` in the next cycle."""
        gap = next(self._gaps)
        self._ready = not next(self._stalls)
        self._offered = self._next is not None and (self._offered or not gap)
        item, last = self._next if self._next and self._offered else (0xFF, True)
        return int(self._offered), int(item), int(last), int(self._ready)

    def observe(self, i_ready: int, o_valid: int) -> None:
        """Note what the design answered in this cycle."""
        if self._offered and i_ready:
            self._next, self._offered = next(self._items, None), False
            self._quiet = self._stuck = 0
        elif self._ready and (self._offered or self._next is None):
            self._quiet = 0 if o_valid else self._quiet + 1
            self._stuck += 1
        if self._next is None and self._quiet >= DRAIN:
            self.over = True
        elif self._stuck > WATCHDOG:
            self.over = True
            self.hang = (
                f"output still came {WATCHDOG} cycles after the last input"
                if self._next is None
                else f"no input was accepted in {WATCHDOG} cycles with a ready consumer"
            )


def _flat(windows: Iterator[np.ndarray]) -> Iterator[bool]:
    for window in windows:
        yield from window.tolist()


class AmaranthEngine:
    """Amaranth's own simulator: the reference, and slow.

    Parameters
    ----------
    design : Decoder or Encoder
        What is simulated.
    """

    name = "amaranth"

    def __init__(self, design: Decoder | Encoder) -> None:
        takes_bytes = "data" in design.i.p.shape().members
        self.interface = DECODER if takes_bytes else ENCODER
        self.profile = design.profile
        self.state_names = [state.name for state in design.State]
        self._design = design

    def run(self, stimulus: Stimulus) -> Iterator[np.ndarray]:
        design, bench = self._design, TestBench(stimulus)
        # Whole payloads, not their fields: the simulator is fast on signals, slow on slices.
        i_payload, o_payload = Value.cast(design.i.p), Value.cast(design.o.p)
        last_bit = len(i_payload) - 1
        inputs = design.i.valid, i_payload, design.o.ready
        pins = design.i.ready, design.o.valid, o_payload, design.state
        cycles: list[tuple[int, ...]] = []

        async def drive(ctx: Any) -> None:
            observed = ctx.tick().sample(*pins).__aiter__()
            before = 0, 0, 0
            while not bench.over:
                i_valid, item, last, o_ready = bench.drive()
                driven = i_valid, last << last_bit | item, o_ready
                for pin, old, new in zip(inputs, before, driven, strict=True):
                    if old != new:  # setting a pin is slow
                        ctx.set(pin, new)
                before = driven
                _, _, *levels = await observed.__anext__()
                cycles.append((i_valid, item, last, o_ready, *levels))
                bench.observe(levels[0], levels[1])

        simulator = Simulator(design)
        simulator.add_clock(10e-9)
        # A process, not a test bench: its pins change together, and settle once a cycle.
        simulator.add_process(drive)
        while not bench.over:
            simulator.advance()
            if len(cycles) >= WINDOW:
                yield self._trace(cycles)
                cycles.clear()
        if cycles:
            yield self._trace(cycles)
        if bench.hang:
            raise HangError(bench.hang)

    def _trace(self, cycles: list[tuple[int, ...]]) -> np.ndarray:
        """Cycles as (driven pins, i.ready, o.valid, result, state), the result taken apart."""
        driven, observed = self.interface.driven, self.interface.observed
        columns = np.array(cycles, dtype=np.uint64).T
        trace = np.empty(len(cycles), dtype=self.interface.trace)
        for pin, column in zip((*driven, *observed[:2]), columns[:-2], strict=True):
            trace[pin] = column
        result, trace["state"] = columns[-2:]
        for name, field in self._design.o.p.shape():
            mask = (1 << Shape.cast(field.shape).width) - 1
            trace[f"o.{name}"] = result >> np.uint64(field.offset) & np.uint64(mask)
        return trace


ENGINES = {AmaranthEngine.name: AmaranthEngine}
"""The engines by name; each takes a design."""
