"""What an entry of the registry says."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from rich.text import Text

from utf8_hdl import ErrorSpan, Profile
from utf8_sim.components import COMPONENTS, Component
from utf8_sim.components import register as register_component
from utf8_sim.golden.timing import Timing
from utf8_sim.stimulus import Piece
from utf8_sim.tools.cores import IMPORTED

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

    def proofs(self, compact: bool) -> list["Property"]:
        """What is proved of it, if anything is."""
        if not self.formal:
            return []
        properties: list[Property] = import_module(self.formal).PROPERTIES[compact]
        return properties


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


def entry_of(engine: Any) -> Entry:
    """The entry of what an engine simulates."""
    return ENTRIES[engine.component.name]


def make_design(component: str, profile: Profile, compact: bool = False) -> Any:
    """A design of a component; a compact one has a single register stage."""
    return COMPONENTS[component].make(profile, **({"compact": True} if compact else {}))


def makers(compact: bool = False) -> dict[str, Callable[[Profile], Any]]:
    """All components by name; each takes a profile."""
    return {name: partial(make_design, name, compact=compact) for name in COMPONENTS}


def rules_for(component: str, profile: Profile) -> Profile:
    """A profile with the usual error span, if a component has none."""
    if "--error-span" in ENTRIES[component].options:
        return profile
    return replace(profile, error_span=ErrorSpan.MAXIMAL_SUBPART)


def variant(component: str, compact: bool) -> str:
    """What reports call a component or its compact variant."""
    return f"compact {component}" if compact else component


def variants() -> list[tuple[str, bool]]:
    """Each component by name and whether it is compact: the pipelined, then the compact one."""
    return [
        (name, compact)
        for name, entry in ENTRIES.items()
        for compact in ([False, True] if "--compact" in entry.options else [False])
    ]


def idle_options(component: str | None) -> frozenset[str]:
    """Options that have no effect on a component; if there is none, on any."""
    if component is None:
        return frozenset()
    return frozenset().union(*(e.options for e in ENTRIES.values())) - ENTRIES[component].options
