"""Declarations of commands and their options."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from pkgutil import resolve_name
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from utf8_sim.command_line import COMMAND_LINES, ComponentOption, component_options, owners
from utf8_sim.tools.errors import UsageError
from utf8_sim.tools.files import is_standard_output

OTHER = "Other options"
"""Panel of the options that have no other panel."""


OWNERS = "{owners}"
"""Placeholder in a help text for the components that have the option."""

LANES = "{lanes}"
"""Placeholder in a help text for their default numbers of lanes."""

INPUTS = "{inputs}"
"""Placeholder in the help of a command for the inputs of components."""

OWN = {"own": True}
"""Metadata of the field with the values of component-specific options."""


def option(default: Any, help: str, *names: str, **settings: Any) -> Any:
    """Declare a field of a group as an option, with Typer's settings; required if no default."""
    declared = typer.Option(..., *names, help=help, **settings)
    return field(default=default, metadata={"option": declared})


def output_file(metavar: str, help: str, *names: str, default: str | None = None) -> Any:
    """Declare an option for the name of an output file; its value is ``-`` for standard output."""

    def canonical(name: str | None) -> str | None:
        return "-" if name and is_standard_output(name) else name

    return option(default, help, *names, metavar=metavar, callback=canonical)


def choice(
    default: Any,
    names: str | Collection[str],
    help: str,
    *options: str,
    also: Sequence[str] = (),
    hint: str = "",
) -> Any:
    """Declare an option whose value is one of ``names``, with shell completion.

    If ``names`` is a string, :func:`pkgutil.resolve_name` finds the names at each use: the module
    may be slow to import, and a component may be registered at any time. ``hint`` is appended to
    the error message for an unknown name.
    """

    def known() -> list[str]:
        found = resolve_name(names) if isinstance(names, str) else names
        return [*also] + [str(getattr(each, "value", each)) for each in found]

    def check(parameter: typer.CallbackParam, name: str | None) -> str | None:
        if name is None or name in known():
            return name
        choices = ", ".join(known())
        raise UsageError(f"unknown {parameter.opts[0]} {name!r}: choose from {choices}{hint}")

    return option(default, help, *options, callback=check, autocompletion=known)


def examples(*lines: str) -> str:
    """The examples at the end of a command's help, one per line."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


class Panels(TyperCommand):
    """A command whose help has a section for each panel of options.

    Typer's own panels need Rich, whose import would double the time of the help. An option with a
    value may be given only once.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for parameter in [] if ctx.resilient_parsing else given:
            if given.count(parameter) > 1 and not getattr(parameter, "is_flag", True):
                raise UsageError(f"{parameter.opts[0]} is given more than once: give it once")
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        inputs = " ".join(filter(None, (each.inputs for each in COMMAND_LINES.values())))
        self.help = (self.help or "").replace(INPUTS, inputs)
        super().format_help_text(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        parameter: Any
        for parameter in self.get_params(ctx):
            if names := [] if parameter.metavar else parameter.shell_complete(ctx, ""):
                parameter.metavar = "|".join(each.value for each in names)
            if help := getattr(parameter, "help", None):
                parameter.help = _with_components(help, parameter.opts[0])
            if record := parameter.get_help_record(ctx):
                panel = getattr(parameter, "rich_help_panel", None) or OTHER
                panels.setdefault(panel, []).append(record)
        panels[OTHER] = panels.pop(OTHER)  # last, with --help
        for panel, records in panels.items():
            with formatter.section(panel):
                formatter.write_dl(records)


def command(app: typer.Typer, *lines: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare a command, with example ``lines`` at the end of its help.

    A parameter that is a dataclass is a group of options: each field is an option, and ``panel`` is
    the heading of the group in the help.
    """

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        return app.command(cls=Panels, epilog=examples(*lines))(Grouped(function))

    return declare


class Grouped:
    """A command whose options are in groups.

    Its signature is computed at each use, because a component may be registered at any time.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        update_wrapper(self, function)
        self._function, self._given = function, signature(function).parameters
        self._groups: dict[str, Any] = {
            name: each.annotation
            for name, each in self._given.items()
            if is_dataclass(each.annotation)
        }

    @property
    def __signature__(self) -> Signature:
        parameters: list[Parameter] = []
        for name, parameter in self._given.items():
            parameters += _options_of(self._groups[name]) if name in self._groups else [parameter]
        return Signature(parameters)

    def __call__(self, **values: Any) -> None:
        for name, group in self._groups.items():
            values[name] = group(**{each.name: _value(each, values) for each in fields(group)})
        self._function(**values)


def _value(declared: "Field[Any]", values: dict[str, Any]) -> Any:
    """Remove the value of a field from the values of all options, and return it."""
    if declared.metadata != OWN:
        return values.pop(declared.name)
    given = {each.name: values.pop(each.name) for each in component_options().values()}
    return {name: value for name, value in given.items() if not (value is None or value is False)}


def _options_of(group: Any) -> Iterator[Parameter]:
    """The fields of a dataclass as parameters of a command."""
    for each in fields(group):
        if each.metadata != OWN:
            yield _parameter(group, each.name, each.type, each)
            continue
        for own in component_options().values():
            yield _parameter(group, own.name, _type_of(own), own_option(own))


def _parameter(group: Any, name: str, type_: Any, field: "Field[Any]") -> Parameter:
    declared = field.metadata["option"]
    declared.rich_help_panel = group.panel
    if type_ is bool and not declared.param_decls:  # else a second option would be --no-...
        declared.param_decls = (f"--{name.replace('_', '-')}",)
    default = Parameter.empty if field.default is MISSING else field.default
    annotation: Any = Annotated[type_, declared]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def own_option(own: ComponentOption) -> Any:
    """The declaration of a component-specific option."""
    if own.default is False:
        return option(False, f"{OWNERS}: {own.help}.", own.option)
    help = f"{OWNERS}: {own.help}. Default: {own.default}."
    if own.values:
        return choice(None, own.values, help, own.option, also=own.forms)
    lowest, highest = own.range or (None, None)
    return option(None, help, own.option, metavar="N", min=lowest, max=highest)


def _type_of(own: ComponentOption) -> Any:
    """The type of the value of a component-specific option."""
    if own.default is False:
        return bool
    return str | None if own.values else int | None


def _with_components(help: str, option: str) -> str:
    """Insert the components that have the option into a help text, and append their own texts."""
    names = owners(option)
    if OWNERS in help:
        help = help.replace(OWNERS, f"For {_any_of(names)}").replace(LANES, _defaults(names))
    for name, each in COMMAND_LINES.items():
        if option in each.help:
            help += f" For {_any_of([name])}: {each.help[option]}."
    return help


def _any_of(names: list[str]) -> str:
    """Names of components, as in "a decoder or encoder"."""
    *others, last = names
    words = f"{', '.join(others)} or {last}" if others else last
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"


def _defaults(names: list[str]) -> str:
    """The default numbers of lanes of components."""
    found: dict[int, list[str]] = {}
    for name in names:
        found.setdefault(COMMAND_LINES[name].lanes, []).append(name)
    return ", ".join(f"{lanes} for {_any_of(those)}" for lanes, those in found.items())
