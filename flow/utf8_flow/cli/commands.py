"""The command ``utf8-hdl``: its own options, and the list of its commands."""

import sys
from typing import Annotated

import typer

from utf8_hdl import __version__

from . import generation, proving, simulation, synthesis
from .options import examples

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for part in (simulation, generation, proving, synthesis):
    app.add_typer(part.app)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"utf8-hdl {__version__}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    epilog=examples(
        "utf8-hdl simulate --text 'A€😀'",
        "utf8-hdl generate -o utf8_decoder.v",
        "utf8-hdl simulate --help",
    ),
)
def _top(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """UTF-8 in hardware: simulate it, compare it with its golden model, get its Verilog."""
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(2)
