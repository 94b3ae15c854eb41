"""Standard output, its errors, and checks of a command's output files."""

import io
import os
import stat
import sys
from contextlib import suppress
from typing import IO, Any, TextIO

from utf8_sim.tools.errors import UsageError
from utf8_sim.tools.files import check_output, is_standard_output, refusing

SAVE_FILE = "the save file of --vcd"
STATE = "--state"


class StandardOutput(io.FileIO):
    """Standard output that raises an error if writing fails, and then discards the rest."""

    def write(self, data: Any, /) -> int:
        with refusing("write standard output"):
            try:
                return super().write(data)
            except OSError:
                give_up_on(self)
                raise


def guard_standard_output() -> None:
    """Make standard output a :class:`StandardOutput` that accepts every character."""
    # If it is closed, every write to its descriptor fails.
    usual = sys.stdout or os.fdopen(1, closefd=False)
    if isinstance(usual, io.TextIOWrapper):
        raw = StandardOutput(usual.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=usual.encoding,
            errors="backslashreplace",  # a terminal may lack most characters
            line_buffering=usual.line_buffering or usual.write_through,
        )


def give_up_on(stream: IO[Any]) -> None:
    """Discard all later output to a standard stream, so that flushing it at exit cannot fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def check_outputs(inputs: list[str], outputs: dict[str, str | None]) -> None:
    """Reject outputs that cannot be written, would overwrite an input, or share a file."""
    if outputs.get("--wave") is not None:
        from utf8_sim.tools.yowasp import need_packages

        need_packages("--wave", ["wavedrom"], "wave")
    vcd = outputs.get("--vcd")
    if vcd and vcd not in ("-", os.devnull):
        from ..verify.waves import is_foreign, save_file_name

        is_foreign(save := save_file_name(vcd))  # it must be readable
        outputs = {**outputs, SAVE_FILE: save}
    read = {_file_identity(name, sys.stdin): name for name in inputs}
    written: dict[str, tuple[str, str]] = {}
    for option, name in outputs.items():
        if name is None:
            continue
        if not name:
            raise UsageError(f"{option} needs the name of a file, or - for standard output")
        identity = _file_identity(name, sys.stdout)
        if identity and identity in read:
            raise UsageError(
                f"{option} would overwrite the input {read[identity]!r}: choose another file"
            )
        if option in (STATE, SAVE_FILE) and os.path.exists(name) and not os.path.isdir(name):
            if not os.path.isfile(name):
                raise UsageError(f"{option} must be a regular file, not {name!r}")
            if is_standard_output(name):
                raise UsageError(f"{option} and standard output are both {name!r}: choose another")
        target = name if name == "-" else os.path.realpath(name)
        if target in written:
            first_option, first_name = written[target]
            raise UsageError(
                f"{first_option} and {option} both name {first_name!r}: choose another"
            )
        if target != os.devnull:
            written[target] = option, name
        check_output(name)


def _file_identity(name: str, standard: TextIO | None) -> tuple[int, int] | None:
    """Identity of a file or a pipe, independent of its name; None for a device.

    ``-`` is the given standard stream.
    """
    try:
        status = os.stat(standard.fileno() if name == "-" and standard else name)
    except (OSError, ValueError):
        return None
    is_file = stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)
    return (status.st_dev, status.st_ino) if is_file else None
