"""How commands and their options are declared; the options that several commands share."""

from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, TypeVar

import typer

from ..components import ENTRIES
from ..verify.engines import AUTO, ENGINES

T = TypeVar("T")

Command = Callable[..., None]


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


def command(app: typer.Typer, *lines: str) -> Callable[[Command], Command]:
    """Declare a command, with examples at the end of its help.

    A parameter that is a dataclass is a group of options: each field is one.
    """

    def declare(function: Command) -> Command:
        parameters: list[Parameter] = []
        groups: dict[str, Any] = {}
        for parameter in signature(function).parameters.values():
            if is_dataclass(group := parameter.annotation):
                groups[parameter.name] = group
                parameters += [
                    Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type)
                    for f in fields(group)
                ]
            else:
                parameters.append(parameter)

        @wraps(function)
        def grouped(**values: Any) -> None:
            for name, group in groups.items():
                values[name] = group(**{f.name: values.pop(f.name) for f in fields(group)})
            function(**values)

        grouped.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return app.command(epilog=examples(*lines))(grouped)

    return declare


Component = Annotated[str, choice(ENTRIES, "--component", help="Which piece of hardware.")]
Compact = Annotated[
    bool, typer.Option("--compact", help="One register stage instead of a pipeline: latency 1.")
]
Engine = Annotated[str, choice([AUTO, *ENGINES], help="What simulates the hardware.")]
Seed = Annotated[int, typer.Option(metavar="N", parser=WHOLE_NUMBER, help="Random seed.")]
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
