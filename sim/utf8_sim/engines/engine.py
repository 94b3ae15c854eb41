"""Simulation engines: stimulus in, trace out. They judge nothing; :mod:`utf8_sim.lockstep` does."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
from amaranth.hdl import Value
from amaranth.sim import Simulator

from utf8_hdl import Profile

from ..components import component_of
from ..golden.timing import Timing
from ..stimulus import LAST, Stimulus
from ..trace import Columns, Interface, Pin, Trace

WINDOW = 4096
"""Cycles in one window of a trace, unless an engine has a better size."""

WATCHDOG = 64
"""Cycles without progress, while the consumer is ready, after which a design counts as hung."""


class DesignError(Exception):
    """The design did what none may, so that its simulation cannot go on.

    It has not accepted an input for a long time although its consumer is ready, or gives outputs
    without an end, or drives X or Z.

    Attributes
    ----------
    label : str
        What it did, in a word.
    """

    label = ""


class HangError(DesignError):
    label = "HANG"


class UndefinedError(DesignError):
    label = "UNDEFINED"


class Engine(ABC):
    """Something that simulates a design, of which it says all that others ask."""

    name: str

    def __init__(self, design: Any) -> None:
        self.design = design
        self.component = component_of(design)
        self.interface = interface_of(design)
        self.timing = self.component.timing(design)
        self.profile: Profile = design.profile
        states = design.State if self.interface.state_width else ()
        self.state_names: dict[int, str] = {state.value: state.name for state in states}

    def items(self, stimulus: Stimulus) -> Iterator[Columns]:
        """All inputs in order; a `ValueError` or `TypeError`, if one does not fit the pins."""
        names = [pin.name for pin in self.interface.inputs]
        for columns in self.component.pack(stimulus.pieces, self.interface):
            if not set(names) <= columns.keys():
                raise ValueError(f"columns must be {', '.join(names)}, not {', '.join(columns)}")
            yield {pin.name: pin.checked(columns[pin.name]) for pin in self.interface.inputs}

    def state_name(self, state: int) -> str:
        """Name of a value of the state register, also of an illegal one."""
        return self.state_names.get(state, f"illegal {state}")

    @abstractmethod
    def run(self, stimulus: Stimulus) -> Generator[Trace, None, None]:
        """Simulate from reset until all input is accepted and no more output comes.

        If the design stops moving or drives X or Z, a `DesignError` comes after the last window.
        """


def interface_of(design: Any) -> Interface:
    """The pins of a design."""
    interface = Interface.of(component_of(design).name, design)
    if LAST not in (pin.name for pin in interface.inputs):
        raise ValueError("the payload of i must have a field 'last', for the end of a text")
    return interface


class Ending:
    """When a run is over: all input is accepted and no more output comes, or nothing moves.

    No more output comes if none did for as long as one can take, while the consumer was ready: the
    latency, and a cycle in the skid register. If the run is ``over`` because nothing moves,
    ``hang`` says what no longer does. ``stuck`` counts cycles in which something could have moved,
    since an input was accepted.
    """

    def __init__(self, timing: Timing) -> None:
        self._longest_gap = timing.latency + 1
        self._quiet = 0
        self.stuck = 0
        self.over = False
        self.hang: str | None = None

    def note(self, offered: int, i_ready: int, o_valid: int, o_ready: int, more: bool) -> None:
        """Take in one cycle: its pins, and whether there is input left after it."""
        if offered and i_ready:
            self._quiet = self.stuck = 0
        elif o_ready and (offered or not more):
            self._quiet = 0 if o_valid else self._quiet + 1
            self.stuck += 1
        if not more and self._quiet >= self._longest_gap:
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

    An input is offered unless the producer stalls; once offered it stays until it is accepted.
    While nothing is offered the pins are all ones: a design that looks at them gives itself away.
    """

    __test__ = False  # not a test, whatever pytest thinks

    def __init__(self, stimulus: Stimulus, engine: Engine) -> None:
        interface = engine.interface
        self._items = (
            item
            for columns in engine.items(stimulus)
            for item in zip(*(columns[pin.name].tolist() for pin in interface.inputs), strict=True)
        )
        self._idle = tuple(idle_level(pin) for pin in interface.inputs)
        self._gaps = _flat(stimulus.input_stalls.windows(WINDOW))
        self._stalls = _flat(stimulus.output_stalls.windows(WINDOW))
        self._next = next(self._items, None)
        self._offered = self._ready = False
        self.ending = Ending(engine.timing)

    def drive(self) -> tuple[Any, ...]:
        """The levels of ``Interface.driven`` in the next cycle."""
        gap = next(self._gaps)
        self._ready = not next(self._stalls)
        self._offered = self._next is not None and (self._offered or not gap)
        item = self._next if self._next and self._offered else self._idle
        return int(self._offered), *item, int(self._ready)

    def observe(self, i_ready: int, o_valid: int) -> None:
        """Note what the design answered in this cycle."""
        offered = self._offered
        if offered and i_ready:
            self._next, self._offered = next(self._items, None), False
        self.ending.note(offered, i_ready, o_valid, self._ready, self._next is not None)


def idle_level(pin: Pin) -> Any:
    """All ones, as an element of the pin's column."""
    levels = [(1 << width) - 1 for _, width in pin.parts]
    return levels if len(levels) > 1 else levels[0]


def _flat(windows: Iterator[np.ndarray]) -> Iterator[bool]:
    for window in windows:
        yield from window.tolist()


class AmaranthEngine(Engine):
    """Amaranth's own simulator: the reference, and slow."""

    name = "amaranth"

    def __init__(self, design: Any) -> None:
        super().__init__(design)
        self._idle: list[_Simulation] = []

    def run(self, stimulus: Stimulus) -> Generator[Trace, None, None]:
        simulation = self._idle.pop() if self._idle else _Simulation(self.design, self.interface)
        try:
            yield from simulation.run(TestBench(stimulus, self))
        finally:
            self._idle.append(simulation)


class _Simulation:
    """A design in Amaranth's simulator, which takes ten times as long to make as a short run."""

    def __init__(self, design: Any, interface: Interface) -> None:
        self._interface = interface
        self._bench: TestBench | None = None
        self._cycles: list[tuple[int, ...]] = []
        # Whole payloads, not their fields: the simulator is fast on signals, slow on slices.
        self._i_payload, self._o_payload = Value.cast(design.i.p), Value.cast(design.o.p)
        self._driven = design.i.valid, self._i_payload, design.o.ready
        state = (design.state,) if interface.state_width else ()
        self._observed = design.i.ready, design.o.valid, self._o_payload, *state
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
        bench = self._bench
        assert bench
        inputs = self._interface.inputs
        observed = ctx.tick().sample(*self._observed).__aiter__()
        before = 0, 0, 0
        while not bench.ending.over:
            i_valid, *item, o_ready = bench.drive()
            payload = sum(pin.integer(level) for pin, level in zip(inputs, item, strict=True))
            driven = i_valid, payload, o_ready
            for pin, old, new in zip(self._driven, before, driven, strict=True):
                if old != new:  # setting a pin is slow
                    ctx.set(pin, new)
            before = driven
            _, _, *levels = await observed.__anext__()
            self._cycles.append((*driven, *levels))
            bench.observe(levels[0], levels[1])

    def _trace(self) -> Trace:
        """Cycles as (i.valid, payload, o.ready, i.ready, o.valid, payload, state), taken apart."""
        interface = self._interface
        i_valid, i_payload, o_ready, *answers = zip(*self._cycles, strict=True)
        whole = {"i.valid": i_valid, "o.ready": o_ready}
        whole |= zip(("i.ready", "o.valid", "payload", "state"), answers, strict=False)
        columns = {}
        for pin in interface.pins:
            if pin in interface.inputs:
                columns[pin.name] = pin.of_integers(i_payload, len(self._i_payload))
            elif pin in interface.outputs:
                columns[pin.name] = pin.of_integers(whole["payload"], len(self._o_payload))
            else:
                columns[pin.name] = np.array(whole[pin.name], dtype=pin.dtype)
        return Trace(interface, columns)
