"""The engine that uses Amaranth's own simulator."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from amaranth.hdl import ClockDomain, Module, Value
from amaranth.sim import Simulator

from ..golden.timing import longest_gap
from ..trace import RESET, Pin, Trace
from .engine import Engine, Plan


class AmaranthEngine(Engine):
    """Amaranth's own simulator: the reference engine, and the slowest."""

    name = "amaranth"
    window = 4096

    def __init__(self, design: Any) -> None:
        super().__init__(design)
        self._idle: list[_Simulated] = []

    @contextmanager
    def start(self) -> Iterator["_Simulated"]:
        simulated = self._idle.pop() if self._idle else _Simulated(self)
        try:
            yield simulated
        finally:
            simulated.reset()
            self._idle.append(simulated)


class _Simulated:
    """A design in Amaranth's simulator; reused, because creating it takes as long as ten runs."""

    def __init__(self, engine: Engine) -> None:
        self._interface, self._longest_gap = engine.interface, longest_gap(engine.timing)
        i, o = engine.design.i, engine.design.o
        # Whole payloads instead of fields: the simulator is fast on signals, slow on slices.
        top, domain = Module(), ClockDomain("sync")
        top.domains += domain
        top.submodules.design = engine.design
        signals = {RESET: domain.rst, "i.valid": i.valid, "i": i.p, "o.ready": o.ready}
        signals |= {"i.ready": i.ready, "o.valid": o.valid, "o": o.p}
        if self._interface.state_width:
            signals["state"] = engine.design.state
        self._signals = {name: Value.cast(signal) for name, signal in signals.items()}
        self._simulator = Simulator(top)
        self._simulator.add_clock(10e-9)
        # A process instead of a test bench: pins change together, and settle once per cycle.
        self._simulator.add_process(self._drive)
        self._simulator.advance()  # until the process waits for a window

    def reset(self) -> None:
        """Go back to the first cycle."""
        self._simulator.reset()
        self._simulator.advance()

    def window(self, plan: Plan) -> Trace:
        self._plan = plan
        inputs = self._interface.inputs
        levels = zip(*(plan.items[pin.name].tolist() for pin in inputs), strict=True)
        self._payloads = (sum(map(Pin.integer, inputs, item)) for item in levels)
        sides = plan.gaps, plan.stalls, plan.resets, plan.idle_rows
        self._sides = zip(*(side.tolist() for side in sides), strict=True)
        self._cycles: list[tuple[Any, ...]] = []
        # Cycles after the last output are not simulated: this simulator is slow.
        while len(self._cycles) < len(plan.gaps) and self._quiet < self._longest_gap:
            self._simulator.advance()
        return self._trace()

    def _idle_payload(self, row: int) -> int:
        """A payload for an idle cycle."""
        idle, inputs = self._plan.idle, self._interface.inputs
        return sum(pin.integer(idle[pin.name][row].tolist()) for pin in inputs)

    async def _drive(self, ctx: Any) -> None:
        signals = list(self._signals.values())
        observed = ctx.tick().sample(*signals[4:]).__aiter__()
        before: tuple[Any, ...] = 0, 0, 0, 0
        offered = False
        self._quiet = 0  # cycles with a ready consumer, without an input and without an output
        while True:
            await ctx.delay(1e-9)  # until the next window
            payload, exact = next(self._payloads, None), self._plan.exact
            for gap, stall, reset, row in self._sides:
                offered = payload is not None and (offered or not gap)
                level = payload if offered else before[2] if row < 0 else self._idle_payload(row)
                driven = reset, offered, level, not stall
                for signal, old, new in zip(signals[:4], before, driven, strict=True):
                    if old != new:  # setting a pin is slow
                        ctx.set(signal, new)
                before = driven
                _, _, *levels = await observed.__anext__()
                self._cycles.append((*driven, *levels))
                i_ready, o_valid = levels[:2]
                is_active = reset or o_valid or exact or payload is not None
                self._quiet = 0 if is_active else self._quiet + (not stall)
                if exact or (offered and i_ready and not reset):
                    payload, offered = next(self._payloads, None), False

    def _trace(self) -> Trace:
        levels = dict(zip(self._signals, zip(*self._cycles, strict=True), strict=True))
        columns = {}
        columns[RESET] = np.array(levels[RESET], dtype=np.uint8)
        for pin in self._interface.pins:
            name = pin.name if pin.name in levels else pin.name[0]  # the payload of the field
            columns[pin.name] = pin.of_integers(levels[name], len(self._signals[name]))
        return Trace(self._interface, columns)
