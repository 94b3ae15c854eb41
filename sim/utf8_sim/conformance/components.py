"""The scorecard of an encoder, a validator, a transcoder, or any other component."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from utf8_hdl.profile import SURROGATES

from ..campaign import Part
from ..engines.engine import Engine
from ..golden.model import Transducer
from ..stimulus import LAST, Piece, Stimulus
from ..trace import Columns
from .rules import SHARED_RULES, Rule
from .suite import Pool, Suite
from .texts import Texts, joined, len_of, part

RESULTS = "results"
"""The group of the rules that only this component has."""

EVERY_CHARACTER = "every-character"

SAMPLE = 256
"""Texts that also run alone, and with stalls."""

MAX_SAMPLED = 32
"""Inputs of the longest text of a sample."""

WELL_FORMED = "aé€"

REPEATED = 256


class ComponentSuite(Suite):
    """The parts of the component's campaign are its rules; an encoder also gets every character.

    Inputs that break the rules of ``keep`` are left out: only our own components promise to
    survive them.
    """

    long = (EVERY_CHARACTER,)

    def __init__(self, engine: Engine, **options: Any) -> None:
        parts = engine.component.campaign(engine.design.design, 0)
        self._parts: dict[str, Part] = {
            _slug(each.name): each for each in parts if not each.is_long
        }
        self._takes_code_points = "i.code_point" in [pin.name for pin in engine.interface.inputs]
        super().__init__(engine, **options)

    def rules(self) -> Sequence[Rule]:
        own = [Rule(name, RESULTS, each.name) for name, each in self._parts.items()]
        if self._takes_code_points:
            own.insert(0, Rule(EVERY_CHARACTER, RESULTS, "every character of Unicode"))
        return [*own, *SHARED_RULES]

    def model(self) -> Transducer:
        return self.engine.component.model(self.engine.design)

    def pools(self) -> Iterator[Pool]:
        if self._takes_code_points:
            yield EVERY_CHARACTER, self._every_character
        for name in self._parts:
            yield name, partial(self._texts_of, name)

    def _every_character(self) -> Texts:
        highest = min(0x10FFFF, self.engine.profile.highest)
        values = [value for value in range(highest + 1) if value not in SURROGATES]
        return self._packed([(np.array(values, dtype=np.uint32), np.ones(len(values), bool))])

    def _texts_of(self, name: str) -> Texts:
        return self._packed(self._parts[name].pieces())

    def _packed(self, pieces: Any) -> Texts:
        """The inputs of some texts, without those that break the rules of ``keep``."""
        items = joined([*self.engine.items(Stimulus(pieces))])
        items = items | {LAST: items[LAST].copy()}
        items[LAST][-1:] = 1
        texts = Texts.of_items(items)
        if "i.keep" not in items:
            return texts
        regular = [text for text in texts if _is_regular(text)]
        return Texts.of_items(joined(regular)) if regular else texts[:0]

    def _sample(self) -> list[Columns]:
        """Short texts from all parts."""
        found = []
        for name in self._parts:
            short = [text for text in self._texts_of(name) if len_of(text) <= MAX_SAMPLED]
            found += short[:: max(1, len(short) * len(self._parts) // SAMPLE)]
        return found

    def fresh(self) -> Texts:
        return Texts.of_items(joined(self._sample()))

    def hostile(self) -> Texts:
        return self.fresh()

    def well_formed(self) -> Columns:
        text = WELL_FORMED * REPEATED
        if self._takes_code_points:
            return self._packed([(list(map(ord, text)), True)]).items
        component, design = self.engine.component, self.engine.design
        data: Iterator[Piece] = iter([(component.encode(text, design), True)])
        return self._packed(component.from_bytes(data, design)).items

    def unfinished(self) -> Texts:
        return Texts.of_items(part(self.fresh().items, slice(64))).without_ends()


def _is_regular(text: Columns) -> bool:
    """True if ``keep`` is full but in the last beat, and has no holes."""
    keep = text["i.keep"].reshape(len_of(text), -1)
    return bool(keep[:-1].all() and (keep[-1, :-1] >= keep[-1, 1:]).all())


def _slug(name: str) -> str:
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
