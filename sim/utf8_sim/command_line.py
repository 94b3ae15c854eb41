"""The options of each component, which the command line needs before it imports a component.

This module imports neither a component nor numpy, so help and usage errors appear at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

RULES = frozenset({"--profile", "--surrogates", "--noncharacters"})
"""The options of components that have a UTF-8 profile."""


@dataclass(frozen=True)
class ComponentOption:
    """An option that is specific to a component: a parameter of its gateware, and an attribute."""

    #: Its name in the gateware.
    name: str
    #: A number, a boolean, or the command-line name of a member of an enumeration.
    default: Any
    #: Its description, for the help.
    help: str
    #: The option on the command line, if it differs from the name.
    option: str = ""
    #: The module and the name of the enumeration, for :func:`pkgutil.resolve_name`.
    values: str = ""
    #: Names of members whose byte order is that of ``--byte-order``. If not empty, the default is
    #: part of the names of designs too.
    forms: tuple[str, ...] = ()
    #: The lowest and the highest number.
    range: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        option = self.option or f"--{self.name.replace('_', '-')}"
        object.__setattr__(self, "option", option)

    def to_json(self, value: Any) -> Any:
        """A value as a type that JSON has; ``None`` is the default."""
        value = self.default if value is None else value
        return getattr(value, "value", value)

    def to_parameter(self, value: Any) -> Any:
        """A plain value converted to the type of the gateware's parameter."""
        return resolve_name(self.values)(value) if self.values else value

    def arguments(self, value: Any) -> list[str]:
        """The command-line words for a plain value, if any are needed."""
        if value == self.default and not self.forms:
            return []
        value = next((form for form in self.forms if value == f"{form}le"), value)
        return [self.option] if value is True else [self.option, str(value)]


@dataclass(frozen=True)
class CommandLine:
    """The command-line options of a component, without the options common to all."""

    options: frozenset[str] = RULES
    #: The component-specific options.
    own: tuple[ComponentOption, ...] = ()
    #: Default number of lanes.
    lanes: int = 1
    #: Text about this component that is added to the help of common options.
    help: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: A sentence about its inputs for the help of `simulate`, if they are not bytes of a text.
    inputs: str = ""

    @property
    def every_option(self) -> frozenset[str]:
        """All options, its own included."""
        return self.options | {each.option for each in self.own}


_SCHEMES = "utf8_hdl:EncodingScheme"

_FORMS = "utf-16", "utf-32"
"""Names of encodings whose byte order is that of ``--byte-order``."""

COMMAND_LINES: dict[str, CommandLine] = {
    "decoder": CommandLine(RULES | {"--error-span", "--exhaustive", "--compact", "--lanes"}),
    "encoder": CommandLine(
        RULES | {"--code-points", "--bytes", "--compact"},
        inputs="For an encoder, the text is decoded to code points; surrogates and other values "
        "that fit its input are kept.",
    ),
    "validator": CommandLine(
        RULES | {"--error-span", "--exhaustive", "--lanes"},
        (
            ComponentOption(
                "offset_width", 32, "bits of the offset, which saturates", range=(4, 32)
            ),
        ),
        lanes=8,
    ),
    "compactor": CommandLine(
        frozenset({"--lanes"}),
        (ComponentOption("width", 8, "bits of a value", range=(1, 64)),),
        lanes=8,
        help={"--hex": "a value for each lane, -- for an empty lane"},
        inputs="Each byte is a value for a compactor.",
    ),
    "transcoder": CommandLine(
        RULES | {"--error-span", "--exhaustive", "--lanes", "--bytes", "--byte-order"},
        (
            ComponentOption("source", "utf-8", "input encoding", "--from", _SCHEMES, _FORMS),
            ComponentOption("target", "utf-16le", "output encoding", "--to", _SCHEMES, _FORMS),
            ComponentOption("strip_bom", False, "remove U+FEFF at the beginning of each text"),
            ComponentOption(
                "errors", False, "report each text's first error and the number of its errors"
            ),
        ),
        lanes=8,
        inputs="For a transcoder, --text is first encoded as --from.",
    ),
}
"""The options by component name. Registering an external component adds its own."""


def owners(option: str) -> list[str]:
    """The components that have an option."""
    return [name for name, each in COMMAND_LINES.items() if option in each.every_option]


def component_options() -> dict[str, ComponentOption]:
    """All component-specific options."""
    return {own.option: own for each in COMMAND_LINES.values() for own in each.own}
