"""A run of the command: its environment, its error messages and its exit status."""

import os
import re
import sys
import tempfile
import warnings
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from utf8_hdl import __version__
from utf8_sim.tools.errors import ToolError, UsageError, WrongValue
from utf8_sim.tools.files import own_temporary_folder, refusing
from utf8_sim.tools.interrupts import one_interrupt

from ..failure import UNEXPECTED, unexpected
from ..terminal import INTERRUPTED, Interrupted, VerificationFailed, visible
from . import conforming, generation, proving, simulation, synthesis
from .options import examples
from .output import give_up_on

MAX_WIDTH = 1000
"""Maximum width of help text in columns: wider than any terminal, whose width then applies."""

COMPLETION = "_UTF8_HDL_COMPLETE"
"""Environment variable that a shell sets to request completion."""

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MAX_WIDTH},
)
for part in (simulation, generation, conforming, proving, synthesis):
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
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """UTF-8 hardware: simulate it, compare it with its golden model, generate its Verilog."""
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(2)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit status.

    It is 0 if hardware and golden model agree, 1 if they differ, 2 for wrong usage or unreadable
    input, 70 for an error of the program itself, 128 plus the signal's number after an interrupt,
    141 if the reader of standard output closed it.
    """
    failed = 2
    # A design may be created but not used, if a later check fails.
    warnings.filterwarnings("ignore", r"(?s).* created but never used")
    caught: list[int] = []
    try:
        try:
            with one_interrupt(caught), own_temporary_folder():
                with refusing("use the current folder"):
                    os.getcwd()
                _check_completion()
                status = app(arguments, prog_name="utf8-hdl", standalone_mode=False) or 0
                if status == INTERRUPTED:
                    raise KeyboardInterrupt
                return status
        finally:
            if sys.stdout:
                sys.stdout.flush()
    except (UsageError, ToolError, TyperException) as error:
        message = _refusal(error, arguments or sys.argv[1:])
    except VerificationFailed:
        return 1
    except Interrupted:
        return _status_after(caught)
    except (Abort, KeyboardInterrupt):
        message = "interrupted"
    except (SystemExit, OSError) as error:
        # On a closed pipe, Typer exits with status 1, which means a difference here.
        cause = error.__context__ if isinstance(error, SystemExit) else error
        if isinstance(error, SystemExit) and cause is None:  # the end of completion
            return 2 if error.code else 0
        if isinstance(cause, BrokenPipeError):
            return 141
        message = _what_failed(cause)
    except Exception as error:
        failed, message = UNEXPECTED, unexpected(error)
    try:
        print(f"utf8-hdl: {visible(' '.join(message.split()))}", file=sys.stderr, flush=True)
    except OSError:
        give_up_on(sys.stderr)
    return _status_after(caught) if caught or message == "interrupted" else failed


def _check_completion() -> None:
    """Reject completion for bash without the variables that bash sets."""
    words = "COMP_WORDS" in os.environ and os.environ.get("COMP_CWORD", "").isdecimal()
    if os.environ.get(COMPLETION) == "complete_bash" and not words:
        raise UsageError(f"{COMPLETION} needs COMP_WORDS and COMP_CWORD, as bash sets them")


def _refusal(error: Exception, arguments: list[str]) -> str:
    """The message of an error; for wrong usage, with the command that shows correct usage."""
    if not isinstance(error, TyperException):
        return f"--{error}" if isinstance(error, WrongValue) else str(error)
    context = getattr(error, "ctx", None)
    command = [word for word in arguments[:1] if not word.startswith("-")]
    path = context.command_path if context else " ".join(["utf8-hdl", *command])
    message = error.format_message().rstrip(".")
    if message.startswith("No such command") and "Did you mean" not in message:
        message = f"{message}: choose from {', '.join(typer.main.get_group(app).commands)}"
    outputs = [each for each in context.command.params if "-o" in each.opts] if context else []
    if outputs and (extra := re.search(r"unexpected extra argument\(s\) \((\S+)\)", message)):
        message += f": did you mean -o {extra[1]}?"
    return f"{message} (see {path} --help)"


def _what_failed(error: BaseException | None) -> str:
    """The operating system's message; errors of output files and tools have their own messages."""
    reason = getattr(error, "strerror", None) or str(error)
    name = getattr(error, "filename", None)
    if name is not None:
        return f"cannot use {os.fsdecode(name)!r}: {reason}"
    folder = f" (temporary files are in {tempfile.tempdir!r})" if tempfile.tempdir else ""
    return f"cannot continue: {reason}{folder}"


def _status_after(caught: list[int]) -> int:
    return 128 + caught[0] if caught else INTERRUPTED
