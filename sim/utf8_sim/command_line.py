"""What the command line has to know of each component before it imports any.

Help and errors in the options come at once because nothing here imports a component, or numpy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

RULES = frozenset({"--profile", "--surrogates", "--noncharacters"})
"""The options of components to which UTF-8 profiles matter."""


@dataclass(frozen=True)
class OwnOption:
    """An option of a component's own: a parameter of its gateware, and an attribute."""

    #: What the gateware calls it.
    name: str
    #: A number, a boolean, or the user's word for a member of an enumeration.
    default: Any
    #: What it is, for the help.
    help: str
    #: What the user calls it, if not by its name.
    option: str = ""
    #: The module and the name of the enumeration, as :func:`pkgutil.resolve_name` has it.
    values: str = ""
    #: Names of members whose byte order is that of ``--byte-order``. If there are any, the default
    #: is part of the names of designs too.
    forms: tuple[str, ...] = ()
    #: The lowest and the highest number.
    range: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        option = self.option or f"--{self.name.replace('_', '-')}"
        object.__setattr__(self, "option", option)

    def plain(self, value: Any) -> Any:
        """A value, or ``None`` for the default, as JSON can hold it."""
        value = self.default if value is None else value
        return getattr(value, "value", value)

    def typed(self, value: Any) -> Any:
        """A plain value, as the gateware takes it."""
        return resolve_name(self.values)(value) if self.values else value

    def words(self, value: Any) -> list[str]:
        """The words on the command line for a plain value, if they are needed."""
        if value == self.default and not self.forms:
            return []
        value = next((form for form in self.forms if value == f"{form}le"), value)
        return [self.option] if value is True else [self.option, str(value)]


@dataclass(frozen=True)
class CommandLine:
    """The options of the command line that a component has and others may not have."""

    options: frozenset[str] = RULES
    #: Parameters of this component alone, which are options as well.
    own: tuple[OwnOption, ...] = ()
    #: Lanes by default.
    lanes: int = 1
    #: What the help of options that every component has adds about this one.
    help: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Its inputs, if they are not the bytes of a text: a sentence for the help of `simulate`.
    inputs: str = ""

    @property
    def every_option(self) -> frozenset[str]:
        """Its own options included."""
        return self.options | {each.option for each in self.own}


_SCHEMES = "utf8_hdl:EncodingScheme"

_FORMS = "utf-16", "utf-32"
"""Names of encodings whose byte order is that of ``--byte-order``."""

COMMAND_LINES: dict[str, CommandLine] = {
    "decoder": CommandLine(RULES | {"--error-span", "--exhaustive", "--compact", "--lanes"}),
    "encoder": CommandLine(
        RULES | {"--code-points", "--bytes", "--compact"},
        inputs="An encoder gets the code points of the text, with surrogates and every other value "
        "that its input can carry.",
    ),
    "validator": CommandLine(
        RULES | {"--error-span", "--exhaustive", "--lanes"},
        (OwnOption("offset_width", 32, "bits of the offset, which saturates", range=(4, 32)),),
        lanes=8,
    ),
    "compactor": CommandLine(
        frozenset({"--lanes"}),
        (OwnOption("width", 8, "bits of a value", range=(1, 64)),),
        lanes=8,
        help={"--hex": "a value for each lane, -- for an empty lane"},
        inputs="Each byte is a value for a compactor.",
    ),
    "transcoder": CommandLine(
        RULES | {"--error-span", "--exhaustive", "--lanes", "--bytes", "--byte-order"},
        (
            OwnOption("source", "utf-8", "input encoding", "--from", _SCHEMES, _FORMS),
            OwnOption("target", "utf-16le", "output encoding", "--to", _SCHEMES, _FORMS),
            OwnOption("strip_bom", False, "remove U+FEFF at the beginning of each text"),
            OwnOption(
                "errors", False, "report each text's first error and the number of its errors"
            ),
        ),
        lanes=8,
        inputs="For a transcoder, --text is first encoded as --from.",
    ),
}
"""By the components' names. Registering a component from outside adds its own."""


def owners(option: str) -> list[str]:
    """The components that have an option."""
    return [name for name, each in COMMAND_LINES.items() if option in each.every_option]


def own_options() -> dict[str, OwnOption]:
    """All options of some component's own."""
    return {own.option: own for each in COMMAND_LINES.values() for own in each.own}
