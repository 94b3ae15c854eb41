"""Declarations of commands and their options."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import MISSING, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pkgutil import resolve_name
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from utf8_sim.tools.errors import Refused
from utf8_sim.tools.files import is_standard_output

OTHER = "Other options"
"""The panel of options that have no other."""


def option(default: Any, help: str, *names: str, **settings: Any) -> Any:
    """A field of a group: an option, with Typer's settings; without a default it is required."""
    return field(default=default, metadata={"option": typer.Option(*names, help=help, **settings)})


def output_file(metavar: str, help: str, *names: str, default: str | None = None) -> Any:
    """An option that names an output file; the value is ``-`` for standard output."""

    def canonical(name: str | None) -> str | None:
        return "-" if name and is_standard_output(name) else name

    return option(default, help, *names, metavar=metavar, callback=canonical)


def choice(
    default: Any, names: str | Collection[str], help: str, *options: str, also: str = ""
) -> Any:
    """An option whose value is one of some names, which the shell completes.

    Where ``names`` is a string, it says where they are, as :func:`pkgutil.resolve_name` has it.
    They are looked up when they are needed: the module may take long to import, and a component
    may be registered at any time.
    """

    def known() -> list[str]:
        found = resolve_name(names) if isinstance(names, str) else names
        return [also] * bool(also) + [str(getattr(each, "value", each)) for each in found]

    def check(parameter: typer.CallbackParam, name: str | None) -> str | None:
        if name is None or name in known():
            return name
        choices = ", ".join(known())
        raise Refused(f"unknown {parameter.opts[0]} {name!r}: choose from {choices}")

    return option(default, help, *options, callback=check, autocompletion=known)


def examples(*lines: str) -> str:
    """The examples at the end of a command's help, each on its own line."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


class Panels(TyperCommand):
    """A command whose help has a section for each panel of options.

    Typer's own panels need Rich, which takes as long to import as all that the help needs besides.
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
            if names := [] if parameter.metavar else parameter.shell_complete(ctx, ""):
                parameter.metavar = "|".join(each.value for each in names)
            if record := parameter.get_help_record(ctx):
                panel = getattr(parameter, "rich_help_panel", None) or OTHER
                panels.setdefault(panel, []).append(record)
        panels[OTHER] = panels.pop(OTHER)  # the last one, with --help
        for panel, records in panels.items():
            with formatter.section(panel):
                formatter.write_dl(records)


def command(app: typer.Typer, *lines: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare a command, with examples at the end of its help.

    A parameter that is a dataclass is a group of options: each field is one, and ``panel`` is the
    heading of them all in the help.
    """

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        given = signature(function).parameters
        groups: dict[str, Any] = {
            name: each.annotation for name, each in given.items() if is_dataclass(each.annotation)
        }
        parameters: list[Parameter] = []
        for name, parameter in given.items():
            parameters += _options_of(groups[name]) if name in groups else [parameter]

        @wraps(function)
        def grouped(**values: Any) -> None:
            for name, group in groups.items():
                values[name] = group(**{each.name: values.pop(each.name) for each in fields(group)})
            function(**values)

        grouped.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return app.command(cls=Panels, epilog=examples(*lines))(grouped)

    return declare


def _options_of(group: Any) -> Iterator[Parameter]:
    """The fields of a dataclass as parameters of a command."""
    for each in fields(group):
        declared = each.metadata["option"]
        declared.rich_help_panel = group.panel
        if each.type is bool:  # without a second option, which is --no-...
            declared.param_decls = (f"--{each.name.replace('_', '-')}",)
        default = Parameter.empty if each.default is MISSING else each.default
        annotation: Any = Annotated[each.type, declared]
        yield Parameter(each.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
