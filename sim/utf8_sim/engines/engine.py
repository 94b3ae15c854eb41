"""Simulation engines: stimulus in, trace out.

An engine drives a design with a :class:`Stimulus` and records every pin in every cycle. It does
not judge what it sees; :mod:`utf8_sim.lockstep` does. Here are what all engines have in common and
the reference, :class:`AmaranthEngine`.
"""

from collections.abc import Generator, Iterator
from typing import Any, Protocol

import numpy as np
from amaranth.hdl import Shape, Value
from amaranth.sim import Simulator

from utf8_hdl import Decoder, Encoder, Profile

from ..stimulus import Stimulus
from ..trace import DECODER, ENCODER, Interface, Trace, bits

WINDOW = 4096
"""Cycles in one window of a trace, unless an engine has a better size."""

WATCHDOG = 64
"""Cycles without progress, while the consumer is ready, after which a design counts as hung."""

DRAIN = 8
"""Cycles without output after the last input, while the consumer is ready, that end a run: as many
as the longest latency, that of a decoder whose extra place is taken."""

IDLE_VALUE = 0xFF
"""What the pins of an input carry while nothing is offered, with ``last``.

A design that looks at them anyway gives itself away.
"""


class DesignError(Exception):
    """The design did what none may, so that its simulation cannot go on."""

    label = ""


class HangError(DesignError):
    """The design no longer moves, although it could."""

    label = "HANG"


class UndefinedError(DesignError):
    """A pin has no level (``x`` or ``z``)."""

    label = "UNDEFINED"


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
    state_names : dict of int to str
        Names of the values of the state register.
    """

    name: str
    interface: Interface
    profile: Profile
    state_names: dict[int, str]

    def run(self, stimulus: Stimulus) -> Generator[Trace, None, None]:
        """Simulate from reset until all input is accepted and no more output comes.

        Parameters
        ----------
        stimulus : Stimulus
            What to drive.

        Yields
        ------
        Trace
            The next cycles.

        Raises
        ------
        DesignError
            After the last window, if the design stopped moving or a pin has no level.
        ToolError
            If the simulator fails.
        """
        ...


def state_name(names: dict[int, str], state: int) -> str:
    """Name of a value of the state register, of one that a design should never have, too."""
    return names.get(state, f"illegal {state}")


def interface_of(design: Decoder | Encoder) -> Interface:
    """The pins of a design."""
    return DECODER if "data" in design.i.p.shape().members else ENCODER


class Ending:
    """When a run is over: all input is accepted and no more output comes, or nothing moves.

    Attributes
    ----------
    stuck : int
        Cycles in which something could have moved, since an input was accepted.
    over : bool
        Whether it is.
    hang : str or None
        What no longer moved, if that is why.
    """

    def __init__(self) -> None:
        self._quiet = 0
        self.stuck = 0
        self.over = False
        self.hang: str | None = None

    def note(self, offered: int, i_ready: int, o_valid: int, o_ready: int, more: bool) -> None:
        """Take in one cycle.

        Parameters
        ----------
        offered, i_ready, o_valid, o_ready : int
            The pins in this cycle.
        more : bool
            Whether there is input left after it.
        """
        if offered and i_ready:
            self._quiet = self.stuck = 0
        elif o_ready and (offered or not more):
            self._quiet = 0 if o_valid else self._quiet + 1
            self.stuck += 1
        if not more and self._quiet >= DRAIN:
            self.over = True
        elif self.stuck > WATCHDOG:
            self.over = True
            self.hang = (
                f"no input was accepted in {WATCHDOG} cycles with a ready consumer"
                if more
                else f"output still came {WATCHDOG} cycles after the last input"
            )


class TestBench:
    """The other side of the pins, cycle by cycle: the rules that every engine drives by.

    An input is offered unless the producer pauses; once offered it stays until it is accepted.

    Parameters
    ----------
    stimulus : Stimulus
        What to drive.
    item_type : type
        Of the values offered.

    Attributes
    ----------
    ending : Ending
        Whether the run is over.
    """

    __test__ = False  # not a test, whatever pytest thinks

    def __init__(self, stimulus: Stimulus, item_type: type) -> None:
        self._items = (
            item
            for values, lasts in stimulus.items(item_type)
            for item in zip(values.tolist(), lasts.tolist(), strict=True)
        )
        self._gaps = _flat(stimulus.input_stalls.windows(WINDOW))
        self._stalls = _flat(stimulus.output_stalls.windows(WINDOW))
        self._next = next(self._items, None)
        self._offered = self._ready = False
        self.ending = Ending()

    def drive(self) -> tuple[int, int, int, int]:
        """The levels of ``Interface.driven`` in the next cycle."""
        gap = next(self._gaps)
        self._ready = not next(self._stalls)
        self._offered = self._next is not None and (self._offered or not gap)
        item, last = self._next if self._next and self._offered else (IDLE_VALUE, 1)
        return int(self._offered), item, last, int(self._ready)

    def observe(self, i_ready: int, o_valid: int) -> None:
        """Note what the design answered in this cycle."""
        offered = self._offered
        if offered and i_ready:
            self._next, self._offered = next(self._items, None), False
        self.ending.note(offered, i_ready, o_valid, self._ready, self._next is not None)


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
        self.interface = interface_of(design)
        self.profile = design.profile
        self.state_names = {state.value: state.name for state in design.State}
        self._design = design

        self._idle: list[_Simulation] = []

    def run(self, stimulus: Stimulus) -> Generator[Trace, None, None]:
        simulation = self._idle.pop() if self._idle else _Simulation(self._design, self.interface)
        try:
            yield from simulation.run(TestBench(stimulus, self.interface.item_type))
        finally:
            self._idle.append(simulation)


class _Simulation:
    """A design in Amaranth's simulator, which takes ten times as long to make as a short run."""

    def __init__(self, design: Decoder | Encoder, interface: Interface) -> None:
        self._interface = interface
        self._design = design
        self._bench: TestBench | None = None
        self._cycles: list[tuple[int, ...]] = []
        self._simulator = Simulator(design)
        self._simulator.add_clock(10e-9)
        # A process, not a test bench: its pins change together, and settle once a cycle.
        self._simulator.add_process(self._drive)

    def run(self, bench: TestBench) -> Generator[Trace, None, None]:
        """Simulate from reset."""
        if self._bench:
            self._simulator.reset()
        self._bench = bench
        self._cycles.clear()
        while not bench.ending.over:
            self._simulator.advance()
            if len(self._cycles) >= WINDOW:
                yield self._trace()
                self._cycles.clear()
        if self._cycles:
            yield self._trace()
        if bench.ending.hang:
            raise HangError(bench.ending.hang)

    async def _drive(self, ctx: Any) -> None:
        design, bench = self._design, self._bench
        assert bench
        # Whole payloads, not their fields: the simulator is fast on signals, slow on slices.
        i_payload, o_payload = Value.cast(design.i.p), Value.cast(design.o.p)
        last_bit = len(i_payload) - 1
        inputs = design.i.valid, i_payload, design.o.ready
        pins = design.i.ready, design.o.valid, o_payload, design.state
        observed = ctx.tick().sample(*pins).__aiter__()
        before = 0, 0, 0
        while not bench.ending.over:
            i_valid, item, last, o_ready = bench.drive()
            driven = i_valid, last << last_bit | item, o_ready
            for pin, old, new in zip(inputs, before, driven, strict=True):
                if old != new:  # setting a pin is slow
                    ctx.set(pin, new)
            before = driven
            _, _, *levels = await observed.__anext__()
            self._cycles.append((i_valid, item, last, o_ready, *levels))
            bench.observe(levels[0], levels[1])

    def _trace(self) -> Trace:
        """Cycles as (driven pins, i.ready, o.valid, payload, state), the payload taken apart."""
        columns = np.array(self._cycles, dtype=np.uint64).T
        i_valid, item, i_last, o_ready, i_ready, o_valid, payload, state = columns
        words = bits("i.ready", i_ready) | bits("o.valid", o_valid)
        for name, field in self._design.o.p.shape():
            mask = np.uint64((1 << Shape.cast(field.shape).width) - 1)
            words |= bits(f"o.{name}", payload >> np.uint64(field.offset) & mask)
        i_valid, i_last, o_ready, state = (
            column.astype(np.uint8) for column in (i_valid, i_last, o_ready, state)
        )
        item = item.astype(self._interface.item_type)
        return Trace(self._interface, i_valid, item, i_last, o_ready, words, state)
