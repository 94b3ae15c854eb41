"""Declarations of commands and their options."""

import math
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, get_annotations, signature
from typing import Any

import typer
from typer.core import TyperCommand
from typer.models import OptionInfo

from utf8_sim.tools.errors import Refused
from utf8_sim.tools.files import is_standard_output

Command = Callable[..., None]

OTHER = "Other options"
"""The panel of options that have no other."""


def option(metavar: str, help: str, *names: str, panel: str | None = None) -> Any:
    """An option with a text as its value; by default its name is that of the parameter."""
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel)


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """An option without a value."""
    return typer.Option(name, help=help, rich_help_panel=panel)


def output(metavar: str, help: str, *names: str, panel: str | None = None) -> Any:
    """An option that names an output file; the value is ``-`` for standard output."""

    def canonical(name: str | None) -> str | None:
        return "-" if name and is_standard_output(name) else name

    return typer.Option(
        *names, metavar=metavar, help=help, callback=canonical, rich_help_panel=panel
    )


class Choice(OptionInfo):
    """An option whose value is one of some names, which the shell completes.

    The names are read when they are needed: components may be registered at any time.
    """

    def __init__(
        self, names: Collection[str], help: str, *options: str, panel: str | None = None
    ) -> None:
        self._names = names
        super().__init__(
            default=...,
            param_decls=options,
            help=help,
            autocompletion=lambda: list(names),
            callback=self._check,
            rich_help_panel=panel,
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
    """An option whose value is one or several of some names, separated by commas."""

    def _check(self, parameter: typer.CallbackParam, name: str | None) -> str | None:
        chosen = [] if name is None else name.split(",")
        for each in chosen:
            super()._check(parameter, each)
            if chosen.count(each) > 1:
                raise Refused(f"{parameter.opts[0]} names {each!r} more than once")
        return name


def number(
    help: str,
    lowest: int = 0,
    highest: float = math.inf,
    kind: type[float] = int,
    metavar: str = "N",
    panel: str | None = None,
) -> Any:
    """An option whose value is a number in a range."""
    what = "a whole number" if kind is int else "a number"
    limits = f"{lowest} or more" if highest == math.inf else f"from {lowest} to {highest}"

    def parse(parameter: typer.CallbackParam, text: str | None) -> float | None:
        if text is None:
            return None
        with suppress(ValueError):
            if lowest <= kind(text) <= highest:
                return kind(text)
        raise Refused(f"{parameter.opts[0]} must be {what}, {limits}, not {text!r}")

    return typer.Option(
        metavar=metavar, parser=str, callback=parse, help=help, rich_help_panel=panel
    )


def examples(*lines: str) -> str:
    """The examples at the end of a command's help, each on its own line."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


class Panels(TyperCommand):
    """A command whose help has a section for each panel of options.

    An option that has a value may be given once.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for parameter in [] if ctx.resilient_parsing else given:
            if given.count(parameter) > 1 and not getattr(parameter, "is_flag", True):
                raise Refused(f"{parameter.opts[0]} is given more than once: give it once")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                panel = getattr(parameter, "rich_help_panel", None) or OTHER
                panels.setdefault(panel, []).append(record)
        panels[OTHER] = panels.pop(OTHER)  # the last one, with --help
        for panel, records in panels.items():
            with formatter.section(panel):
                formatter.write_dl(records)


def command(app: typer.Typer, *lines: str) -> Callable[[Command], Command]:
    """Declare a command, with examples at the end of its help.

    A parameter that is a dataclass is a group of options: each field is one. The panel of an option
    is the attribute ``panel`` of the dataclass that declares the field.
    """

    def declare(function: Command) -> Command:
        parameters: list[Parameter] = []
        groups: dict[str, Any] = {}
        for parameter in signature(function).parameters.values():
            if is_dataclass(parameter.annotation):
                group: Any = parameter.annotation
                groups[parameter.name] = group
                for each in group.__mro__[::-1]:
                    for declared in get_annotations(each).values():
                        declared.__metadata__[0].rich_help_panel = each.panel
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
        return app.command(cls=Panels, epilog=examples(*lines))(grouped)

    return declare
