"""What an entry of the registry says."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from rich.text import Text

from utf8_hdl import UNICODE, ErrorSpan, Profile
from utf8_sim.components import COMPONENTS, Component, component_of
from utf8_sim.components import register as register_component
from utf8_sim.golden.timing import Timing
from utf8_sim.stimulus import Piece
from utf8_sim.tools.cores import IMPORTED
from utf8_sim.tools.errors import Refused

from ..terminal import plural
from ..verify.report import Report

if TYPE_CHECKING:
    from ..formal.bench import Property


RULES = frozenset({"--profile", "--surrogates", "--noncharacters"})
"""The options of what speaks UTF-8."""


def hex_words(text: str) -> list[str]:
    """The words of hexadecimal text; commas separate them too, and 0x and \\x may precede them."""
    return re.sub(r"\\x(?=[0-9A-Fa-f])|,|\b0[xX](?=[0-9A-Fa-f])", " ", text).split()


def bytes_in_hex(text: str, design: Any) -> Piece:
    """The bytes of a text in hexadecimal."""
    try:
        return b"".join(map(bytes.fromhex, hex_words(text))), True
    except ValueError:
        raise Refused(
            f"--hex takes bytes of two hexadecimal digits, and / between texts, not {text!r}"
        ) from None


def decoded_by_cpython(values: np.ndarray, design: Any) -> str:
    """What CPython's decoder says of bytes."""
    text = values.astype(np.uint8).tobytes()
    try:
        return ascii(text.decode())
    except UnicodeDecodeError as error:
        replaced = ascii(text.decode(errors="replace"))
        return f"{error.reason} at byte {error.start}; with replacement {replaced}"


@dataclass(frozen=True)
class Own:
    """An option of a component's own: a parameter of its gateware, and an attribute."""

    #: What the gateware calls it, and the command line its value.
    name: str
    #: What the user calls it.
    option: str
    #: A number, a boolean, or a member of an enumeration whose values are the user's words.
    default: Any
    #: Whether it is said too if it is what it is unless something else is asked for.
    is_always_said: bool = False

    def plain(self, value: Any) -> Any:
        """A value, or ``None`` for the default, as JSON can hold it."""
        value = self.default if value is None else value
        return getattr(value, "value", value)

    def said(self, value: Any) -> list[str]:
        """Its words on the command line, if it has to be said."""
        if value == self.plain(None) and not self.is_always_said:
            return []
        return [self.option] if value is True else [self.option, str(value)]


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
    options: frozenset[str] = RULES
    #: Those of them that are parameters of it alone.
    own: tuple[Own, ...] = ()
    #: Values of these, a design for each, that are tried where all designs are.
    tried: tuple[Mapping[str, Any], ...] = ({},)
    #: Values of these, a design for each, that are proved with few lanes where all are proved.
    proved_small: tuple[Mapping[str, Any], ...] = ()
    #: Options that have no effect if its own have some values.
    idle: Callable[[Mapping[str, Any]], frozenset[str]] = lambda own: frozenset()
    #: The bytes of a text that is typed, for a design.
    encode: Callable[[str, Any], bytes] = lambda text, design: os.fsencode(text)
    #: What ``--hex`` gives, for a design: a text.
    from_hex: Callable[[str, Any], Piece] = bytes_in_hex
    #: The inputs of a design for the bytes of texts.
    from_bytes: Callable[[Iterator[Piece], Any], Iterator[Piece]] = lambda text, design: text
    #: What a comparison exercised besides what all components count.
    coverage_lines: Callable[[Any], Iterable[Text]] = lambda coverage: ()
    #: What CPython says of the values of a text for a design, as a third opinion.
    opinion: Callable[[np.ndarray, Any], str] = decoded_by_cpython
    #: What the header of the generated Verilog says of a design's ports; lines of a comment.
    ports: Callable[[Any], str] = lambda design: "//"
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
    """A component as one may have it: with a single register stage if compact, and some lanes.

    ``own`` are the values of its own options, by name, as JSON can hold them. They may be given as
    a mapping, in which other names are ignored, and ``None`` is the default.
    """

    component: str
    compact: bool = False
    lanes: int = 1
    own: tuple[tuple[str, Any], ...] | Mapping[str, Any] = ()

    def __post_init__(self) -> None:
        given = dict(self.own)
        own = ((each.name, each.plain(given.get(each.name))) for each in self._parameters)
        object.__setattr__(self, "own", tuple(own))

    @classmethod
    def of(cls, design: Any) -> "Variant":
        """That of a design."""
        name = component_of(design).name
        compact, lanes = getattr(design, "compact", False), getattr(design, "lanes", 1)
        return cls(
            name, compact, lanes, {n.name: getattr(design, n.name) for n in ENTRIES[name].own}
        )

    @property
    def entry(self) -> Entry:
        entry = ENTRIES[self.component]
        return (self.lanes > 1 and entry.laned) or entry

    @property
    def _parameters(self) -> tuple[Own, ...]:
        return ENTRIES[self.component].own

    @property
    def _said(self) -> list[list[str]]:
        """The words on the command line for each of its own options that has to be said."""
        values = dict(self.own)
        return [words for each in self._parameters if (words := each.said(values[each.name]))]

    @property
    def name(self) -> str:
        """What reports call it, whatever lanes it has."""
        own = ([option[2:].replace("-", " "), *value] for option, *value in self._said)
        return " ".join(["compact"] * self.compact + [self.component, *chain(*own)])

    @property
    def label(self) -> str:
        """What reports call it."""
        return f"{self.name}, {plural(self.lanes, 'lane')}" if self._has_lanes else self.name

    @property
    def options(self) -> list[str]:
        """How the command line names it."""
        return self.options_but("")

    def options_but(self, option: str) -> list[str]:
        """The same without an option."""
        is_first = self.component == next(iter(ENTRIES))  # that needs no option
        said = [] if is_first else [["--component", self.component]]
        said += [["--compact"]] if self.compact else []
        said += self._said
        said += [["--lanes", str(self.lanes)]] if self._has_lanes else []
        return list(chain(*(words for words in said if words[0] != option)))

    @property
    def used_options(self) -> frozenset[str]:
        """The options that not every component has, and that have an effect on this one."""
        return self.entry.options - self.entry.idle(dict(self.own))

    @property
    def _has_lanes(self) -> bool:
        """Whether their number is said: not of a byte decoder."""
        return max(self.lanes, ENTRIES[self.component].lanes) > 1

    @property
    def proofs(self) -> list["Property"]:
        """The properties that are tried."""
        return [each for each, is_tried in self._properties if is_tried]

    @property
    def too_large_for(self) -> list["Property"]:
        """The properties that are not tried, as the design is too large for them."""
        return [each for each, is_tried in self._properties if not is_tried]

    @property
    def _properties(self) -> list[tuple["Property", bool]]:
        """The properties, if there are any, each with whether its proof ends within minutes."""
        if not self.entry.formal:
            return []
        properties: list[Property] = import_module(self.entry.formal).PROPERTIES[self.compact]
        design = self.make(UNICODE)
        return [(each, each.ends(design)) for each in properties]

    def make(self, profile: Profile) -> Any:
        """A design; it is refused if there is none like that."""
        options: dict[str, Any] = {"compact": True} if self.compact else {}
        if self._has_lanes:
            options["lanes"] = self.lanes
        values = dict(self.own)
        options |= {n.name: type(n.default)(values[n.name]) for n in self._parameters}
        try:
            return COMPONENTS[self.component].make(profile, **options)
        except ValueError as error:
            raise Refused(str(error)) from error

    def rules(self, profile: Profile) -> Profile:
        """A profile as far as it has an effect, and what is usual otherwise."""
        if not self.used_options & RULES:
            return UNICODE
        if "--error-span" in self.used_options:
            return profile
        return replace(profile, error_span=ErrorSpan.MAXIMAL_SUBPART)


LANES_TRIED = 8
"""How many lanes a component that may have any number of them has where all are tried."""


LANES_OF_SMALL = 4
"""How many lanes a design has that is small and yet takes every encoding form."""


def variants() -> list[Variant]:
    """Each component as it is unless something else is asked for, compact, and with lanes."""
    found = []
    for name, entry in ENTRIES.items():
        found += [Variant(name, lanes=entry.lanes, own=own) for own in entry.tried]
        if "--compact" in entry.options:
            found.append(Variant(name, compact=True))
        if "--lanes" in entry.options:
            found += [Variant(name, lanes=LANES_TRIED, own=own) for own in entry.tried]
    return list(dict.fromkeys(found))


def small_variants() -> list[Variant]:
    """The designs with few lanes that are proved where all are proved."""
    return [
        Variant(name, lanes=LANES_OF_SMALL, own=own)
        for name, entry in ENTRIES.items()
        for own in entry.proved_small
    ]


def possible(wanted: Iterable[tuple[Variant, Profile]]) -> list[tuple[Variant, Profile]]:
    """The variants and rules of which there are designs; it is refused if there are none."""
    found: dict[tuple[Variant, Profile], None] = {}
    refusals = []
    for variant, rules in wanted:
        profile = variant.rules(rules)
        try:
            variant.make(profile)
        except Refused as refusal:
            refusals.append(refusal)
        else:
            found[variant, profile] = None
    if refusals and not found:
        raise refusals[0]
    return list(found)


def entry_of(engine: Any) -> Entry:
    """The entry of what an engine simulates."""
    return Variant.of(engine.design).entry


def idle_options(chosen: Iterable[Variant]) -> frozenset[str]:
    """Options that have no effect on any of some variants; if there are none, all have."""
    used = [variant.used_options for variant in chosen]
    every = (entry.options for entry in ENTRIES.values())
    return frozenset().union(*every).difference(*used) if used else frozenset()
