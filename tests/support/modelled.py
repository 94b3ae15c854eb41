"""The golden model with a fault, held against a design or a model that has none."""

from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import pytest

from altered import Edit, altered_golden
from command import changed_entry
from rtl import STALLS, quick_engine
from utf8_hdl import (
    CompactDecoder,
    CompactEncoder,
    Compactor,
    Decoder,
    Encoder,
    Transcoder,
    Validator,
    WideDecoder,
)
from utf8_sim.components import Component, component_of
from utf8_sim.engines.engine import Engine
from utf8_sim.golden.model import Outputs, Transducer
from utf8_sim.golden.timing import Timing
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import Stimulus
from utf8_sim.subject import interface_of
from utf8_sim.trace import Columns

DESIGNS = {
    "decoder": Decoder,
    "compact decoder": CompactDecoder,
    "decoder of 2 lanes": partial(WideDecoder, lanes=2),
    "encoder": Encoder,
    "compact encoder": CompactEncoder,
    "validator": partial(Validator, lanes=2),
    "compactor": partial(Compactor, lanes=2, shape=100, user=3),
    "transcoder": partial(Transcoder, lanes=4),
}
"""A small design of each kind."""


class Fed:
    """A model that is fed something else than what it should be: a change is made in place."""

    def __init__(self, model: Transducer, change: Callable[[Columns], None]) -> None:
        self._model, self._change = model, change

    def feed(self, items: Columns, begins: np.ndarray) -> Outputs:
        items = {name: column.copy() for name, column in items.items()}
        self._change(items)
        return self._model.feed(items, begins)


def misled(design: Any, change: Callable[[Columns], None]) -> Transducer:
    """The golden model of a design, misled about the input."""
    return Fed(component_of(design).model(design), change)


def edited(design: Any, edit: Edit, module: str) -> Transducer:
    """The golden model of a design, with an edit in its module."""
    component = component_of(design)
    name = type(component.model(design)).__name__
    golden = altered_golden(edit, within=[module])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(component.model.__globals__, name, getattr(getattr(golden, module), name))
        return component.model(design)


def tells_apart(design: Any, wrong: Transducer) -> bool:
    """Whether some input of the campaign brings about something else in another model."""
    component, interface = component_of(design), interface_of(design)
    right = component.model(design)
    for part in component.campaign(design, 0):
        if part.is_long:
            continue
        for items in component.pack(part.pieces(), interface):
            begins = np.zeros(len(items["i.last"]), dtype=bool)
            if not _are_same(component, right.feed(items, begins), wrong.feed(items, begins)):
                return True
    return False


def _are_same(component: Component, right: Outputs, wrong: Outputs) -> bool:
    when = (right.brought_by, wrong.brought_by), (right.cut, wrong.cut)
    if not all(np.array_equal(*pair) for pair in when):
        return False
    expected = component.mask_dont_cares(right.columns, wrong.columns)
    return all(np.array_equal(column, wrong.columns[name]) for name, column in expected.items())


def held_against(design: Any, model: Transducer) -> Engine:
    """A design with another golden model."""
    engine = quick_engine(design)
    engine.component = changed_entry(engine.component, model=lambda _: model)
    return engine


def timed(design: Any, timing: Timing) -> Engine:
    """A design whose golden model has another timing."""
    engine = quick_engine(design)
    engine.timing = timing
    return engine


def mistimed(design: Any, edit: Edit) -> Engine:
    """A design whose golden model has a timing with an edit."""
    timing = component_of(design).timing(design)
    kind = type(timing)
    kernel = getattr(altered_golden(edit, within=["timing"]).timing, kind.__name__.lower())
    return timed(design, type(kind.__name__, (kind,), {"kernel": kernel})(*timing))


def agrees(engine: Engine) -> bool:
    """True if all parts of the campaign agree, which then meet every class in every case."""
    coverage = engine.component.coverage(engine)
    parts = [part for part in engine.component.campaign(engine.design, 0) if not part.is_long]
    for part, stalls in zip(parts, cycle(STALLS.values()), strict=False):
        lockstep = Lockstep(engine, Stimulus(part.pieces(), *stalls))
        for trace in lockstep:
            coverage.add(trace)
        if lockstep.difference:
            return False
    assert coverage.cells.all()
    return True
