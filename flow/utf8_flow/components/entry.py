"""What an entry of the registry says."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from rich.text import Text

from utf8_hdl import ErrorSpan, Profile
from utf8_sim.components import COMPONENTS, Component, component_of
from utf8_sim.components import register as register_component
from utf8_sim.golden.timing import Timing
from utf8_sim.stimulus import Piece
from utf8_sim.tools.cores import IMPORTED

from ..terminal import plural
from ..verify.report import Report

if TYPE_CHECKING:
    from ..formal.bench import Property


@dataclass(frozen=True)
class Entry:
    """A component, for the tools."""

    #: Its gateware and its golden model; they are registered with the entry.
    component: Component
    #: What it did, written as lines of JSON to a file if there is one, and counted. Workers import
    #: the module of this, which has to register the entry.
    report: Callable[[TextIO | None], Report]
    #: The option of ``simulate`` that takes its inputs as hexadecimal numbers.
    list_option: str = "--hex"
    #: The options of the command line that not every component has and this one does.
    options: frozenset[str] = frozenset()
    #: Its inputs for the bytes of a text, in a profile.
    from_text: Callable[[Iterator[Piece], Profile], Iterator[Piece]] = lambda text, profile: text
    #: What a comparison exercised besides what all components count.
    coverage_lines: Callable[[Any], Iterable[Text]] = lambda coverage: ()
    #: What the header of the generated Verilog says of the ports; lines of a comment.
    ports: str = "//"
    #: What it says of throughput and latency, given the timing of the design.
    promises: Callable[[Timing], str] = lambda timing: "//"
    #: The module of its ``PROPERTIES``: those of the pipelined variant (``False``), and of the
    #: compact one (``True``). It is imported when something is proved.
    formal: str = ""
    #: How many lanes it has, unless something else is asked for.
    lanes: int = 1
    #: The entry of its designs with more than one lane, if it is another one.
    laned: "Entry | None" = None


ENTRIES: dict[str, Entry] = {}
"""The entries by the components' names."""


def register(entry: Entry) -> Entry:
    """Add a component and its entry; it is a `ValueError` if there is one of this name already."""
    component = entry.component
    if component.name in ENTRIES:
        raise ValueError(f"there is an entry for {component.name!r} already")
    if COMPONENTS.get(component.name) is not component:
        register_component(component)
    ENTRIES[component.name] = entry
    IMPORTED.add(entry.report.__module__)
    return entry


@dataclass(frozen=True)
class Variant:
    """A component as one may have it: with a single register stage if compact, and some lanes."""

    component: str
    compact: bool = False
    lanes: int = 1

    @classmethod
    def of(cls, design: Any) -> "Variant":
        """That of a design."""
        compact, lanes = getattr(design, "compact", False), getattr(design, "lanes", 1)
        return cls(component_of(design).name, compact, lanes)

    @property
    def entry(self) -> Entry:
        entry = ENTRIES[self.component]
        return (self.lanes > 1 and entry.laned) or entry

    @property
    def label(self) -> str:
        """What reports call it."""
        label = f"compact {self.component}" if self.compact else self.component
        return f"{label}, {plural(self.lanes, 'lane')}" if self._has_lanes else label

    @property
    def options(self) -> list[str]:
        """How the command line names it."""
        is_first = self.component == next(iter(ENTRIES))  # that needs no option
        options = [] if is_first else ["--component", self.component]
        options += ["--compact"] if self.compact else []
        return options + (["--lanes", str(self.lanes)] if self._has_lanes else [])

    @property
    def _has_lanes(self) -> bool:
        """Whether their number is said: not of a byte decoder."""
        return max(self.lanes, ENTRIES[self.component].lanes) > 1

    @property
    def proofs(self) -> list["Property"]:
        """What is proved of it, if anything is."""
        if not self.entry.formal:
            return []
        properties: list[Property] = import_module(self.entry.formal).PROPERTIES[self.compact]
        return properties

    def make(self, profile: Profile) -> Any:
        """A design."""
        options: dict[str, Any] = {"compact": True} if self.compact else {}
        if self._has_lanes:
            options["lanes"] = self.lanes
        return COMPONENTS[self.component].make(profile, **options)

    def rules(self, profile: Profile) -> Profile:
        """A profile with the usual error span, if it has none."""
        if "--error-span" in self.entry.options:
            return profile
        return replace(profile, error_span=ErrorSpan.MAXIMAL_SUBPART)


LANES_TRIED = 8
"""How many lanes a component that may have any number of them has where all are tried."""


def variants() -> list[Variant]:
    """Each component as it is unless something else is asked for, compact, and with lanes."""
    found = []
    for name, entry in ENTRIES.items():
        found.append(Variant(name, lanes=entry.lanes))
        if "--compact" in entry.options:
            found.append(Variant(name, compact=True))
        if "--lanes" in entry.options:
            found.append(Variant(name, lanes=LANES_TRIED))
    return list(dict.fromkeys(found))


def entry_of(engine: Any) -> Entry:
    """The entry of what an engine simulates."""
    return Variant.of(engine.design).entry


def idle_options(chosen: Iterable[Variant]) -> frozenset[str]:
    """Options that have no effect on any of some variants; if there are none, all have."""
    used = [variant.entry.options for variant in chosen]
    every = (entry.options for entry in ENTRIES.values())
    return frozenset().union(*every).difference(*used) if used else frozenset()
