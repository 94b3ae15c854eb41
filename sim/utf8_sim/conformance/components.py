"""The scorecard of an encoder, a validator, a transcoder, or any other component."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from utf8_hdl import Profile
from utf8_hdl.profile import SURROGATES

from ..campaign import Part
from ..engines.engine import Engine
from ..golden.model import Transducer
from ..stimulus import LAST, Piece, Stimulus
from ..subject import Subject
from ..trace import Columns
from .rules import SHARED_RULES, Rule
from .suite import Pool, Suite
from .texts import Texts, joined, len_of, part

RESULTS = "results"
"""The group of the rules specific to a component."""

SAMPLE = 256
"""Approximate number of texts that also run alone and with stalls."""

MAX_SAMPLED = 32
"""Maximum number of inputs of these texts."""

WELL_FORMED = "aé€" * 256


def parts_of(subject: Subject) -> dict[str, Part]:
    """The parts of a component's campaign that are its rules, by name of the rule."""
    campaign = subject.component.campaign(subject.design.design, 0)
    parts = [each for each in campaign if not each.is_long]
    if "i.code_point" in [pin.name for pin in subject.interface.inputs]:
        parts.insert(0, _every_character(subject.profile))
    return {_slug(each.name): each for each in parts}


def component_rules(parts: Mapping[str, Part]) -> list[Rule]:
    """The rules of a scorecard for a component."""
    return [*(Rule(name, RESULTS, each.name) for name, each in parts.items()), *SHARED_RULES]


class ComponentSuite(Suite):
    """The rules are the parts of the component's campaign; an encoder also gets every character.

    Inputs that break the rules of ``keep`` are omitted: only this project's components must recover
    from them.
    """

    def __init__(self, engine: Engine, **options: Any) -> None:
        self._parts = parts_of(engine)
        self.long = [name for name, each in self._parts.items() if each.is_long]
        super().__init__(engine, **options)

    def rules(self) -> Sequence[Rule]:
        return component_rules(self._parts)

    def model(self) -> Transducer:
        return self.engine.component.model(self.engine.design)

    def pools(self) -> Iterator[Pool]:
        for name, each in self._parts.items():
            yield name, partial(self._texts, each)

    def _texts(self, each: Part) -> Texts:
        return self._packed(each.pieces())

    def _packed(self, pieces: Iterator[Piece]) -> Texts:
        """The inputs of some texts, without those that break the rules of ``keep``."""
        items = joined([*self.engine.items(Stimulus(pieces))])
        items[LAST][-1:] = 1
        texts = Texts.of_items(items)
        if "i.keep" not in items:
            return texts
        regular = [text for text in texts if _is_regular(text)]
        return Texts.of_items(joined(regular)) if regular else texts[:0]

    @cached_property
    def _sample(self) -> list[tuple[str, Columns]]:
        """Short texts from all parts, and their rules."""
        found: list[tuple[str, Columns]] = []
        for rule, each in self._parts.items():
            if not each.is_long:
                short = [text for text in self._texts(each) if len_of(text) <= MAX_SAMPLED]
                step = max(1, len(short) * len(self._parts) // SAMPLE)
                found += [(rule, text) for text in short[::step]]
        return found

    def fresh(self) -> Iterator[tuple[str, Texts]]:
        for rule, text in self._sample:
            yield rule, Texts.of_items(text)

    def hostile(self) -> Texts:
        return Texts.of_items(joined([text for _, text in self._sample]))

    def well_formed(self) -> Columns:
        component, design = self.engine.component, self.engine.design
        data: Iterator[Piece] = iter([(component.encode(WELL_FORMED, design), True)])
        return self._packed(component.from_bytes(data, design)).items

    def unfinished(self) -> Texts:
        return Texts.of_items(part(self.hostile().items, slice(64))).without_ends()


def _every_character(profile: Profile) -> Part:
    """Every Unicode character of a profile, each as a text."""
    values = [value for value in range(profile.highest + 1)[:0x110000] if value not in SURROGATES]
    texts = np.array(values, dtype=np.uint32), np.ones(len(values), dtype=bool)
    return Part("every character", len(values), lambda: iter([texts]), is_long=True)


def _is_regular(text: Columns) -> bool:
    """True if ``keep`` has no holes, and is full in every beat except the last."""
    keep = text["i.keep"].reshape(len_of(text), -1)
    return bool(keep[:-1].all() and (keep[-1, :-1] >= keep[-1, 1:]).all())


def _slug(name: str) -> str:
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
