"""What an entry of the registry says."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..campaign import Coverage, Part
from ..golden.model import Transducer
from ..golden.timing import Timing
from ..hostile import any_inputs
from ..stimulus import Piece, one_by_one
from ..trace import Columns, Interface, by_parts

Levels = Mapping[str, Any]
"""Levels of an input's or an output's fields, by the names of their pins; lists for arrays."""


@dataclass(frozen=True)
class Lane:
    """A row of a timing diagram: its name, and what the box of an output says."""

    name: str
    label: Callable[[Levels], str]


@dataclass(frozen=True)
class Component:
    """A component: its gateware, its golden model, its stimuli, and how it is shown.

    ``make`` is given a profile and the component's own options. Of a design, the golden
    ``model`` says what comes out, and ``timing`` says when. ``campaign`` is given
    the design and the random seed, ``hostile`` the design and a random generator for inputs without
    end, ``coverage`` an engine. An input is an ``item``, an output a
    ``result``. A timing diagram has ``lanes`` for what comes out, and below them ``levels``, pins
    of one bit. ``text`` is an output in a waveform, if that says more than its fields.

    ``pack`` makes inputs of texts, one value in each if nothing else is said. Where the first field
    of an input is an array, ``kept`` says where in some inputs there are values of a text, and
    ``kept_value`` what one is. Output pins in ``matters`` only matter where another pin is set.

    If designs with more than one lane are something else, ``laned`` is that.
    """

    name: str
    make: Callable[..., Any]
    model: Callable[[Any], Transducer]
    timing: Callable[[Any], Timing]
    campaign: Callable[[Any, int], list[Part]]
    coverage: Callable[[Any], Coverage]
    item: str
    result: str
    show_item: Callable[[Levels], str]
    show_result: Callable[[Levels], str]
    lanes: tuple[Lane, ...]
    levels: tuple[str, ...] = ("o.last",)
    text: Callable[[Levels], str] | None = None
    pack: Callable[[Iterable[Piece], Interface], Iterator[Columns]] = one_by_one
    kept: Callable[[Columns], np.ndarray] | None = None
    kept_value: str = "byte"
    matters: Mapping[str, str] = field(default_factory=dict, hash=False)
    hostile: Callable[[Any, np.random.Generator], Iterator[Piece]] = any_inputs
    laned: "Component | None" = None

    @property
    def value(self) -> str:
        """What a value is."""
        return self.item if self.kept is None else self.kept_value

    def values(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        """The values of texts that some inputs have, and how many each of them has."""
        first = next(iter(items.values()))
        if self.kept is None:
            return first, np.ones(len(first), dtype=np.intp)
        kept = self.kept(items)
        return first[kept], np.add.reduce(kept, axis=tuple(range(1, kept.ndim)), dtype=np.intp)

    def as_far_as_it_matters(self, expected: Columns, actual: Columns) -> Columns:
        """The levels of output pins that are expected; where they do not matter, the actual ones.

        A pin that says where has a part for each lane; the other may have several.
        """
        columns = dict(expected)
        for name, where in self.matters.items():
            levels, is_set = expected[name], expected[where] != 0
            columns[name] = np.where(by_parts(is_set, levels), levels, actual[name])
        return columns


COMPONENTS: dict[str, Component] = {}
"""The entries by name."""


def register(component: Component) -> Component:
    """Add a component.

    It is a `ValueError` if there is one of this name already, or if the name cannot be that of its
    class in lower case.
    """
    if not (component.name.isidentifier() and component.name.islower()):
        raise ValueError(
            f"a component's name must be its class's in lower case: {component.name!r}"
        )
    if component.name in COMPONENTS:
        raise ValueError(f"there is a component {component.name!r} already")
    COMPONENTS[component.name] = component
    return component


def component_of(design: Any) -> Component:
    """The entry of a design, by the name of its class or of one that it is derived from.

    What takes a component's place without being derived from it has its name in ``component_name``.
    If there is none, that is a `LookupError`.
    """
    classes = [base.__name__.lower() for base in type(design).__mro__]
    for name in (getattr(design, "component_name", None), *classes):
        if name in COMPONENTS:
            found = COMPONENTS[name]
            return found.laned if found.laned and getattr(design, "lanes", 1) > 1 else found
    raise LookupError(f"no component is registered for {classes[0]!r}")
