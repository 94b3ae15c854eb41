"""How commands and their options are declared; the options that several commands share."""

import math
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer
from typer.models import OptionInfo

from utf8_sim.tools.errors import Refused

Command = Callable[..., None]


def option(metavar: str, help: str, *names: str) -> Any:
    """An option that takes a text; without names, it has that of the parameter."""
    return typer.Option(*names, metavar=metavar, help=help)


class Choice(OptionInfo):
    """An option that takes one of some names, which the shell completes.

    They are looked up when they are needed: components may be registered at any time.
    """

    def __init__(self, names: Collection[str], help: str, *options: str) -> None:
        self._names = names
        super().__init__(
            default=...,
            param_decls=options,
            help=help,
            autocompletion=lambda: list(names),
            callback=self._check,
        )

    def _check(self, parameter: typer.CallbackParam, name: str | None) -> str | None:
        if name is None or name in self._names:
            return name
        choices = ", ".join(self._names)
        raise Refused(f"unknown {parameter.opts[0]} {name!r}: choose from {choices}")

    @property
    def metavar(self) -> str:
        return "|".join(self._names)

    @metavar.setter
    def metavar(self, _: str | None) -> None:
        """Typer's, which is not used."""


class Choices(Choice):
    """Likewise, of several of the names, with commas between them."""

    def _check(self, parameter: typer.CallbackParam, name: str | None) -> str | None:
        for each in [] if name is None else name.split(","):
            super()._check(parameter, each)
        return name


def number(
    help: str,
    lowest: int = 0,
    highest: float = math.inf,
    kind: type[float] = int,
    metavar: str = "N",
) -> Any:
    """An option that takes a number in a range, and says so in plain words if it is none."""
    what = "a whole number" if kind is int else "a number"
    limits = f"{lowest} or more" if highest == math.inf else f"from {lowest} to {highest}"

    def parse(parameter: typer.CallbackParam, text: str | None) -> float | None:
        if text is None:
            return None
        with suppress(ValueError):
            if lowest <= kind(text) <= highest:
                return kind(text)
        raise Refused(f"{parameter.opts[0]} must be {what}, {limits}, not {text!r}")

    return typer.Option(metavar=metavar, parser=str, callback=parse, help=help)


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


Seed = Annotated[int, number("Random seed.")]
