"""What an entry of the registry has: all that is special about a component."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TextIO

import numpy as np
from rich.text import Text

from ..campaign import Coverage, Part
from ..command_line import COMMAND_LINES, CommandLine, own_options, owners
from ..golden.model import Transducer
from ..golden.timing import Timing
from ..hostile import any_inputs
from ..stimulus import Piece, one_by_one
from ..tools.cores import PRELOAD
from ..tools.errors import UsageError
from ..trace import Columns, Interface, expand_lane_mask
from .report import Report

Levels = Mapping[str, Any]
"""Levels of an input's or an output's fields, by the names of their pins; lists for arrays."""

OwnValues = Mapping[str, Any]
"""Values of a component's own options, by their names."""


@dataclass(frozen=True)
class Row:
    """A row of a timing diagram: its name, and what the box of an output shows."""

    name: str
    label: Callable[[Levels], str]


class Component(ABC):
    """A component: its gateware, its golden model, its stimuli, and how people see all that.

    An author derives a class from this one, overrides what differs, and registers an instance. What
    is abstract has no default. An input is an ``item``, an output a ``result``.
    """

    #: That of the class of its gateware, in lower case.
    name: str

    #: Designs with more than one lane, if they are something else.
    laned: "Component | None" = None

    # --- gateware -------------------------------------------------------------------------------

    #: Makes a design of a profile, ``compact=True``, ``lanes=N`` and the component's own options.
    make: Callable[..., Any]

    #: The module of its ``PROPERTIES``: those of the pipelined variant (``False``), and of the
    #: compact one (``True``). It is imported when something is proved.
    formal: str = ""

    # --- golden model ---------------------------------------------------------------------------

    @abstractmethod
    def model(self, design: Any) -> Transducer:
        """The outputs of a design."""

    @abstractmethod
    def timing(self, design: Any) -> Timing:
        """The cycles in which they are at the pins."""

    #: Output pins that are compared only where another one is set, and that one. A pin with a part
    #: for each lane is compared in the lanes that are set.
    matters: ClassVar[Mapping[str, str]] = {}

    def mask_dont_cares(self, expected: Columns, actual: Columns) -> Columns:
        """The levels of output pins that are expected; where they do not matter, the actual ones.

        A pin that says where has a part for each lane; the other may have several.
        """
        columns = dict(expected)
        for name, where in self.matters.items():
            levels, is_set = expected[name], expected[where] != 0
            columns[name] = np.where(expand_lane_mask(is_set, levels), levels, actual[name])
        return columns

    # --- stimuli --------------------------------------------------------------------------------

    @abstractmethod
    def campaign(self, design: Any, seed: int) -> list[Part]:
        """The stimuli that `compare` tries."""

    #: Counts what an engine's runs have exercised.
    coverage: Callable[[Any], Coverage]

    def hostile(self, design: Any, generator: np.random.Generator) -> Iterator[Piece]:
        """Random inputs without end."""
        return any_inputs(design, generator)

    def bits_per_lane(self, own: OwnValues) -> int:
        """Bits of an input's value, for the throughput."""
        return 8

    def pack(self, pieces: Iterable[Piece], interface: Interface) -> Iterator[Columns]:
        """Inputs of some texts: by default, one value in each."""
        return one_by_one(pieces, interface)

    @property
    def value(self) -> str:
        """What a value of a text is."""
        return self.item

    def values(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        """The values of texts that some inputs have, and how many each of them has."""
        first = next(iter(items.values()))
        return first, np.ones(len(first), dtype=np.intp)

    # --- how inputs and outputs are shown -------------------------------------------------------

    item: str = "byte"
    result: str = "byte"

    @abstractmethod
    def show_item(self, item: Levels, /) -> str:
        """An input, for people."""

    @abstractmethod
    def show_result(self, result: Levels, /) -> str:
        """An output, for people."""

    #: An output in a waveform, if that is more than its fields.
    text: Callable[[Levels], str] | None = None

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of a timing diagram for outputs."""
        return (Row("o.data", self.show_result),)

    #: Pins of one bit, the rows below.
    levels: tuple[str, ...] = ("o.last",)

    # --- reports --------------------------------------------------------------------------------

    #: Summarises a run, and writes its outputs as lines of JSON if there is a file.
    report: Callable[[TextIO | None], Report] = Report

    def coverage_lines(self, coverage: Any) -> Iterable[Text]:
        """What a comparison exercised besides what is counted for every component."""
        return ()

    def opinion(self, values: np.ndarray, design: Any) -> str:
        """What CPython says of the values of a text, as a third opinion; nothing if it has none."""
        text = values.astype(np.uint8).tobytes()
        try:
            return ascii(text.decode())
        except UnicodeDecodeError as error:
            replaced = ascii(text.decode(errors="replace"))
            return f"{error.reason} at byte {error.start}; with replacement {replaced}"

    # --- command line ---------------------------------------------------------------------------

    #: The options that not every component has. Those of this project are declared apart, in
    #: :mod:`utf8_sim.command_line`.
    command_line: CommandLine = CommandLine()

    #: Values of its own options, a design for each, that are tried where all designs are.
    tried: tuple[OwnValues, ...] = ({},)

    #: Values of these, a design for each, that are proved with few lanes where all are proved.
    proved_small: tuple[OwnValues, ...] = ()

    def idle_options(self, own: OwnValues) -> frozenset[str]:
        """The options that have no effect if its own have some values."""
        return frozenset()

    #: The option of ``simulate`` that takes its inputs as hexadecimal numbers.
    list_option: str = "--hex"

    def encode(self, text: str, design: Any) -> bytes:
        """The bytes of a text that is typed."""
        return os.fsencode(text)

    def from_hex(self, text: str, design: Any) -> Piece:
        """The text that ``--hex`` means."""
        try:
            return b"".join(map(bytes.fromhex, hex_words(text))), True
        except ValueError:
            raise UsageError(
                f"--hex takes bytes of two hexadecimal digits, and / between texts, not {text!r}"
            ) from None

    def from_bytes(self, text: Iterator[Piece], design: Any) -> Iterator[Piece]:
        """The inputs of a design for the bytes of texts."""
        return text

    # --- header of the Verilog ------------------------------------------------------------------

    def ports(self, design: Any) -> str:
        """What is at a design's ports; lines of a comment."""
        return "//"

    def promises(self, timing: Timing) -> str:
        """Throughput and latency; lines of a comment."""
        return "//"

    # --- live page ------------------------------------------------------------------------------

    #: The designs that the live page shows: by their names there, how they are made.
    live: ClassVar[Mapping[str, OwnValues]] = {}

    #: True if the page shows them with other rules than those of Unicode, too.
    has_live_rules: bool = True


def hex_words(text: str) -> list[str]:
    """The words of hexadecimal text; commas separate them too, and 0x and \\x may precede them."""
    return re.sub(r"\\x(?=[0-9A-Fa-f])|,|\b0[xX](?=[0-9A-Fa-f])", " ", text).split()


COMPONENTS: dict[str, Component] = {}
"""The components by name."""


def register(component: Component) -> Component:
    """Add a component. Worker processes import its module, which has to register it there, too.

    It is a `TypeError` if it lacks a member without a default. It is a `ValueError` if there is one
    of this name already, if the name cannot be that of its class in lower case, or if an option of
    its own is also another component's, with another meaning.
    """
    for member in ("name", "make", "coverage"):
        if not hasattr(component, member):
            raise TypeError(f"{type(component).__name__} must have a member {member!r}")
    if not (component.name.isidentifier() and component.name.islower()):
        raise ValueError(
            f"a component's name must be its class's in lower case: {component.name!r}"
        )
    if component.name in COMPONENTS:
        raise ValueError(f"there is a component {component.name!r} already")
    for own in component.command_line.own:
        for other in own_options().values():
            if own != other and (own.name == other.name or own.option == other.option):
                raise ValueError(
                    f"the option {own.option} of {component.name!r} must have another name: "
                    f"{other.option} is an option of {' and '.join(owners(other.option))}"
                )
    COMPONENTS[component.name] = component
    COMMAND_LINES[component.name] = component.command_line
    PRELOAD.add(type(component).__module__)
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
