"""What an entry of the registry says."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from rich.text import Text

from utf8_hdl import Profile
from utf8_sim.components import Component

from ..verify.report import Report


@dataclass(frozen=True)
class Entry:
    """A component, for the tools.

    Parameters
    ----------
    component : Component
        Its gateware and golden model.
    report : callable
        What it did, written as lines of JSON to a file if there is one, and counted.
    list_option : str
        The option of ``simulate`` that takes its inputs as hexadecimal numbers.
    bytes_of : callable
        How many bytes of text some input values are, in a profile.
    options : frozenset of str
        The options of the command line that not every component has and this one does.
    coverage_lines : callable
        What a comparison exercised besides what all components count.
    ports : callable or None
        What the header of the generated Verilog says of the ports, from a design.
    properties : tuple
        What is proved of it.
    specifications : mapping
        Formal specifications of it, by name.
    """

    component: Component
    report: Callable[[TextIO | None], Report]
    list_option: str
    bytes_of: Callable[[Sequence[int] | Any, Profile], int]
    options: frozenset[str] = frozenset()
    coverage_lines: Callable[[Any], Iterable[Text]] = lambda coverage: ()
    ports: Callable[[Any], str] | None = None
    properties: tuple[Any, ...] = ()
    specifications: Mapping[str, Any] = field(default_factory=dict)


ENTRIES: dict[str, Entry] = {}
"""The entries by the components' names."""


def register(entry: Entry) -> Entry:
    """Add an entry.

    Raises
    ------
    ValueError
        If there is one for the component already.
    """
    name = entry.component.name
    if name in ENTRIES:
        raise ValueError(f"there is an entry for {name!r} already")
    ENTRIES[name] = entry
    return entry


def entry_of(engine: Any) -> Entry:
    """The entry of what an engine simulates."""
    return ENTRIES[engine.component.name]
