"""The registry of components, and the base class of its entries."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TextIO

import numpy as np
from rich.text import Text

from ..campaign import Part
from ..command_line import COMMAND_LINES, CommandLine, component_options, owners
from ..coverage import Coverage
from ..fuzz import any_inputs
from ..golden.model import Transducer
from ..golden.timing import Timing
from ..stimulus import Piece, one_by_one
from ..tools.cores import PRELOAD
from ..tools.errors import UsageError
from ..trace import Columns, Interface, expand_lane_mask
from .report import Report

EXAMPLE = "é€😀A\udce2\udc82B"
"""A text with surrogates: bytes of ill-formed UTF-8 (surrogateescape), or ill-formed UTF-16."""

Levels = Mapping[str, Any]
"""Values of the fields of an input or an output, by the names of their pins; lists for arrays."""

OptionValues = Mapping[str, Any]
"""Values of a component's own options, by their names."""


@dataclass(frozen=True)
class Row:
    """A row of a timing diagram: its name, and a function that labels an output."""

    name: str
    label: Callable[[Levels], str]


class Component(ABC):
    """A component: its gateware, golden model, stimuli and display.

    To add a component, derive a class, override the members that differ, and register an instance.
    An input is an ``item``, an output a ``result``.
    """

    #: Name of the class of its gateware, in lower case.
    name: str

    #: The entry for designs with more than one lane, if they need another.
    laned: "Component | None" = None

    # --- gateware -------------------------------------------------------------------------------

    #: Creates a design from a profile, ``compact=True``, ``lanes=N`` and its own options.
    make: Callable[..., Any]

    #: The module with its ``PROPERTIES``, by variant: pipelined (``False``), compact (``True``). It
    #: is imported only for proofs.
    formal: str = ""

    # --- golden model ---------------------------------------------------------------------------

    @abstractmethod
    def model(self, design: Any) -> Transducer:
        """The golden model of a design's outputs."""

    @abstractmethod
    def timing(self, design: Any) -> Timing:
        """The timing of a design: the cycles in which outputs are valid."""

    #: Output pins that are don't cares while another pin is zero, and the other pin. With lanes,
    #: this applies to each lane.
    dont_care_unless: ClassVar[Mapping[str, str]] = {}

    def mask_dont_cares(self, expected: Columns, actual: Columns) -> Columns:
        """The expected values of output pins; don't cares are replaced by the actual values.

        The selecting pin has one part for each lane; the compared pin may have several.
        """
        columns = dict(expected)
        for name, where in self.dont_care_unless.items():
            levels, is_set = expected[name], expected[where] != 0
            columns[name] = np.where(expand_lane_mask(is_set, levels), levels, actual[name])
        return columns

    # --- stimuli --------------------------------------------------------------------------------

    @abstractmethod
    def campaign(self, design: Any, seed: int) -> list[Part]:
        """The stimuli of `compare`."""

    #: Counts the coverage of an engine's runs.
    coverage: Callable[[Any], Coverage]

    def fuzz(self, design: Any, generator: np.random.Generator) -> Iterator[Piece]:
        """Endless random inputs."""
        return any_inputs(design, generator)

    def bits_per_lane(self, own: OptionValues) -> int:
        """Bits of an input's value, for the throughput."""
        return 8

    def pack(self, pieces: Iterable[Piece], interface: Interface) -> Iterator[Columns]:
        """The inputs for pieces of texts: by default, one value in each."""
        return one_by_one(pieces, interface)

    @property
    def value(self) -> str:
        """The name of a value of a text."""
        return self.item

    def values(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        """The values of texts in the inputs, and the number of values in each input."""
        first = next(iter(items.values()))
        return first, np.ones(len(first), dtype=np.intp)

    # --- display of inputs and outputs ----------------------------------------------------------

    item: str = "byte"
    result: str = "byte"

    @abstractmethod
    def show_item(self, item: Levels, /) -> str:
        """Show an input."""

    @abstractmethod
    def show_result(self, result: Levels, /) -> str:
        """Show an output."""

    #: Formats an output as text for a waveform, if the fields do not suffice.
    text: Callable[[Levels], str] | None = None

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of a timing diagram for outputs."""
        return (Row("o.data", self.show_result),)

    #: Pins of one bit, each with a row below these.
    levels: tuple[str, ...] = ("o.last",)

    # --- reports --------------------------------------------------------------------------------

    #: Summarises a run, and writes its outputs as lines of JSON to a file, if any.
    report: Callable[[TextIO | None], Report] = Report

    def coverage_lines(self, coverage: Any) -> Iterable[Text]:
        """Coverage of a comparison in addition to the coverage of every component."""
        return ()

    def cpython_result(self, values: np.ndarray, design: Any) -> str:
        """CPython's result for the values of a text, for comparison; empty if it has none."""
        text = values.astype(np.uint8).tobytes()
        try:
            return ascii(text.decode())
        except UnicodeDecodeError as error:
            replaced = ascii(text.decode(errors="replace"))
            return f"{error.reason} at byte {error.start}; with replacement {replaced}"

    # --- command line ---------------------------------------------------------------------------

    #: The options besides the common ones. :mod:`utf8_sim.command_line` declares them for this
    #: project's components.
    command_line: CommandLine = CommandLine()

    #: Values of its own options, one design for each, for commands that try all designs.
    tried: tuple[OptionValues, ...] = ({},)

    #: Values of its own options, one design with few lanes for each, for proofs of all designs.
    proved_small: tuple[OptionValues, ...] = ()

    def idle_options(self, own: OptionValues) -> frozenset[str]:
        """The options that have no effect with these values of its own options."""
        return frozenset()

    #: The option of ``simulate`` for inputs as hexadecimal numbers.
    list_option: str = "--hex"

    def encode(self, text: str, design: Any) -> bytes:
        """The bytes of a text from the command line."""
        return os.fsencode(text)

    def from_hex(self, text: str, design: Any) -> Piece:
        """The inputs for the argument of ``--hex``."""
        try:
            return b"".join(map(bytes.fromhex, hex_words(text))), True
        except ValueError:
            raise UsageError(
                f"--hex expects bytes of two hexadecimal digits, and / between texts, not {text!r}"
            ) from None

    def from_bytes(self, text: Iterator[Piece], design: Any) -> Iterator[Piece]:
        """The inputs of a design for the bytes of texts."""
        return text

    # --- header of the Verilog, and data sheet --------------------------------------------------

    def ports(self, design: Any) -> str:
        """Description of a design's ports, as lines of a comment."""
        return "//"

    def promises(self, timing: Timing) -> list[str]:
        """Throughput and latency, a paragraph for each."""
        return []

    def example(self, design: Any) -> Piece:
        """The text of the timing diagram: characters of all lengths, one of them truncated.

        With lanes, it fills two and a half beats.
        """
        return self.fit_example(EXAMPLE.encode(errors="surrogateescape"), design), True

    def fit_example(self, text: bytes, design: Any) -> bytes:
        """A text; with lanes, repeated or cut to two and a half beats."""
        size = -(-5 * design.lanes // 2) if hasattr(design, "lanes") else len(text)
        return (text * size)[:size]

    # --- live page ------------------------------------------------------------------------------

    #: The designs on the live page: their options, by their names there.
    live: ClassVar[Mapping[str, OptionValues]] = {}

    #: True if the page offers these designs for profiles other than Unicode, too.
    has_live_rules: bool = True


def hex_words(text: str) -> list[str]:
    """The words of hexadecimal text. Commas separate them, too; prefixes 0x and \\x are removed."""
    return re.sub(r"\\x(?=[0-9A-Fa-f])|,|\b0[xX](?=[0-9A-Fa-f])", " ", text).split()


COMPONENTS: dict[str, Component] = {}
"""The components by name."""


def register(component: Component) -> Component:
    """Add a component. Its module must call this on import, because worker processes import it.

    Raises `TypeError` if the component lacks a member that has no default. Raises `ValueError` if
    the name is taken, if it cannot be the name of a class in lower case, or if another component
    has a different option with the name of one of its own options.
    """
    for member in ("name", "make", "coverage"):
        if not hasattr(component, member):
            raise TypeError(f"{type(component).__name__} must have a member {member!r}")
    if not (component.name.isidentifier() and component.name.islower()):
        raise ValueError(
            f"a component's name must be its class's in lower case: {component.name!r}"
        )
    if component.name in COMPONENTS:
        raise ValueError(f"a component {component.name!r} is already registered")
    for own in component.command_line.own:
        for other in component_options().values():
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
    """The entry of a design, by the name of its class or of a base class.

    A class that replaces a component but is not derived from it must have the component's name in
    ``component_name``. Raises `LookupError` if no component is found.
    """
    classes = [base.__name__.lower() for base in type(design).__mro__]
    for name in (getattr(design, "component_name", None), *classes):
        if name in COMPONENTS:
            found = COMPONENTS[name]
            return found.laned if found.laned and getattr(design, "lanes", 1) > 1 else found
    raise LookupError(f"no component is registered for {classes[0]!r}")
