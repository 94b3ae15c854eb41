"""The types of the options, which several commands share."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeVar

import typer

from utf8_hdl import PROFILES, ErrorSpan

from ..components import ENTRIES
from ..verify.engines import AUTO, ENGINES

VERDICTS = {"accept": True, "reject": False}
"""Whether code points are accepted, by the names of the options."""

T = TypeVar("T")


def choice(names: Iterable[str], *declarations: str, help: str) -> Any:
    """An option that takes one of some names, which the shell completes."""
    names = list(names)
    metavar = "|".join(names)
    return typer.Option(*declarations, metavar=metavar, help=help, autocompletion=lambda: names)


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
Compact = Annotated[
    bool, typer.Option("--compact", help="One register stage instead of a pipeline: latency 1.")
]
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
    choice(
        [span.value for span in ErrorSpan], help="For a decoder: how many bytes one error covers."
    ),
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
        metavar="P", parser=NUMBER, help="Probability, each cycle, that nothing is offered."
    ),
]
StallOutput = Annotated[
    float | None,
    typer.Option(
        metavar="P", parser=NUMBER, help="Probability, each cycle, that nothing is taken."
    ),
]
StallInputCycles = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Cycles such as 3,5-9 in which nothing is offered."),
]
StallOutputCycles = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Cycles such as 3,5-9 in which nothing is taken."),
]
Tokens = Annotated[
    str | None,
    typer.Option(
        metavar="OUT.jsonl",
        help="Write what the hardware gave, one JSON object a line; - is stdout.",
    ),
]
Vcd = Annotated[
    str | None,
    typer.Option(metavar="OUT.vcd", help="Write the waveform, and OUT.gtkw to show it in GTKWave."),
]
Wave = Annotated[
    str | None, typer.Option(metavar="OUT.svg", help="Draw a timing diagram of some cycles.")
]
