"""The readable golden model in the place of a simulator."""

from contextlib import contextmanager
from typing import Any

import numpy as np

from utf8_sim.engines.engine import Engine
from utf8_sim.golden.text import Transducer
from utf8_sim.golden.timing import CycleModel, Cycles, PackingCycles
from utf8_sim.trace import Trace


class ModelEngine(Engine):
    """What the readable golden model says, or a broken one."""

    name = "model"
    window = 500

    def __init__(
        self, design: Any, transducer: Transducer | None = None, cycles: Cycles | None = None
    ) -> None:
        super().__init__(design)
        self._transducer = transducer
        self._cycles = cycles

    @contextmanager
    def start(self):
        transducer = self._transducer or self.component.transducer(self.design)
        cycles = self._cycles or self.timing.cycles()
        yield _Modelled(CycleModel(transducer, cycles, len(self.interface.outputs)), self.interface)


class _Modelled:
    def __init__(self, model, interface) -> None:
        self._model = model
        self._interface = interface
        self._offered = False
        self._nothing = [np.zeros_like(pin.column(1))[0].tolist() for pin in interface.outputs]
        self._payload = [np.zeros_like(pin.column(1))[0].tolist() for pin in interface.inputs]

    def window(self, plan) -> Trace:
        interface, nothing = self._interface, self._nothing
        items, idle = (
            list(zip(*(of[pin.name].tolist() for pin in interface.inputs), strict=True))
            for of in (plan.items, plan.idle)
        )
        columns, at = {pin.name: [] for pin in interface.pins}, 0
        sides = (getattr(plan, side).tolist() for side in ("gaps", "stalls", "resets", "idle_rows"))
        for gap, stall, reset, row in zip(*sides, strict=True):
            self._offered = at < len(items) and (self._offered or not gap)
            if self._offered or row >= 0:
                self._payload = items[at] if self._offered else idle[row]
            driven = self._offered, *self._payload, not stall
            i_ready, o_valid, *output = self._model.cycle(*driven, reset=reset)
            levels = *driven, i_ready, o_valid, *(output if o_valid else nothing)
            names = (*interface.driven, *interface.observed)
            for name, level in zip(names, levels, strict=True):
                columns[name].append(level)
            if plan.exact or (self._offered and i_ready and not reset):
                at += 1
                self._offered = False
        levels = {p.name: np.array(columns[p.name], p.dtype) for p in interface.pins}
        return Trace(interface, {"reset": plan.resets.astype(np.uint8), **levels})


class EarlyEnd(PackingCycles):
    """A text's last output comes in the slot of its last input, if no other one does."""

    def tick(self, brought, o_ready) -> None:
        super().tick(brought, o_ready)
        number, output = self._slots[-1]
        if output is None:
            self._slots[-1], self._ending = (number, self._ending), None


class NumberOfInput(PackingCycles):
    """A text's last output has the number of its last input, not that of its slot."""

    def tick(self, brought, o_ready) -> None:
        ends = self._ending is not None
        super().tick(brought, o_ready)
        if ends and brought is not None:
            number, output = self._slots[-1]
            self._slots[-1] = number - 1, output
