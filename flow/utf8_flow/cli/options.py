"""The types of the options, which several commands share."""

from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any, TypeVar

import typer
from typer.models import OptionInfo

from utf8_hdl import PROFILES, ErrorSpan

from ..components import ENTRIES
from ..verify.engines import AUTO, ENGINES

VERDICTS = {"accept": True, "reject": False}
"""Whether code points are accepted, by the names of the options."""

T = TypeVar("T")


class Choice(OptionInfo):
    """An option that takes one of some names, which the shell completes.

    They are looked up when they are shown: components may be registered at any time.
    """

    def __init__(self, names: Collection[str], declarations: Sequence[str], help: str) -> None:
        self._names = names
        super().__init__(
            default=..., param_decls=declarations, help=help, autocompletion=lambda: list(names)
        )

    @property
    def metavar(self) -> str:
        return "|".join(self._names)

    @metavar.setter
    def metavar(self, _: str | None) -> None:
        """Typer's, which is not used."""


def choice(names: Collection[str], *declarations: str, help: str) -> Any:
    """An option that takes one of some names."""
    return Choice(names, declarations, help)


def number(kind: Callable[[str], T], description: str) -> Callable[[str], T]:
    """What reads a number, and says so in plain words if it is none."""

    def parse(text: str) -> T:
        try:
            return kind(text)
        except ValueError:
            raise typer.BadParameter(f"must be {description}, not {text!r}") from None

    return parse


WHOLE_NUMBER = number(int, "a whole number")
NUMBER = number(float, "a number")


def examples(*lines: str) -> str:
    """The end of a command's help, which is not filled as other text is."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


Component = Annotated[str, choice(ENTRIES, "--component", help="Which piece of hardware.")]
OnlyComponent = Annotated[str | None, choice(ENTRIES, "--component", help="Only this one.")]
Compact = Annotated[bool, typer.Option("--compact", help="One register stage, latency 1.")]
Profile = Annotated[str, choice(PROFILES, "--profile", help="Which UTF-8 is spoken.")]
OnlyProfile = Annotated[str | None, choice(PROFILES, "--profile", help="Only this one.")]
Surrogates = Annotated[
    str | None, choice(VERDICTS, help="U+D800 to U+DFFF, instead of the profile's rule.")
]
Noncharacters = Annotated[
    str | None, choice(VERDICTS, help="U+FFFE and U+FFFF, instead of the profile's rule.")
]
Span = Annotated[
    str | None,
    choice([span.value for span in ErrorSpan], help="How many bytes one error covers."),
]
Engine = Annotated[str, choice([AUTO, *ENGINES], help="What simulates the hardware.")]
Seed = Annotated[
    int,
    typer.Option(metavar="N", parser=WHOLE_NUMBER, help="Random seed."),
]
Text = Annotated[str | None, typer.Option(metavar="TEXT", help="Take this instead of a file.")]
Hex = Annotated[
    str | None,
    typer.Option(
        "--hex", metavar="BYTES", help="Bytes such as 'E2 82 AC'; / between texts: 'E2 82 / AC'."
    ),
]
CodePoints = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="For an encoder: values such as '20AC, D800 / 110000'."),
]
StallInput = Annotated[
    float | None,
    typer.Option(
        metavar="P", parser=NUMBER, help="Probability, each cycle, that no byte is offered."
    ),
]
StallOutput = Annotated[
    float | None,
    typer.Option(
        metavar="P", parser=NUMBER, help="Probability, each cycle, that no token is taken."
    ),
]
StallInputCycles = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Cycles such as 3,5-9 in which no byte is offered."),
]
StallOutputCycles = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Cycles such as 3,5-9 in which no token is taken."),
]
Tokens = Annotated[
    str | None,
    typer.Option(
        metavar="OUT.jsonl",
        help="Write the hardware's tokens, one JSON object a line; - is stdout.",
    ),
]
Vcd = Annotated[
    str | None,
    typer.Option(metavar="OUT.vcd", help="Write the waveform, and OUT.gtkw to show it in GTKWave."),
]
Wave = Annotated[
    str | None, typer.Option(metavar="OUT.svg", help="Draw a timing diagram of some cycles.")
]
