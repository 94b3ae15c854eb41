"""Where output goes: whole or not at all."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, cast


class Refused(Exception):
    """Wrong usage or unreadable input; the message is the one line that the user sees."""


@contextmanager
def open_output(path: str) -> Iterator[TextIO]:
    """A text file to write; ``-`` is standard output.

    The file appears under its name when it is complete. If the block is left by an exception, a
    file that was there before is as it was, and no new one is left behind.

    Parameters
    ----------
    path : str
        Name of the file.

    Raises
    ------
    Refused
        If the file cannot be written.
    """
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    target = Path(os.path.realpath(path))
    in_place = _is_device(Path(path))
    try:
        file = _open(path) if in_place else _temporary_beside(target)
    except OSError as error:
        raise Refused(f"cannot write {path!r}: {error.strerror}") from error
    try:
        with file:
            yield file
        if not in_place:
            os.replace(file.name, target)
    except OSError as error:
        raise Refused(f"cannot write {path!r}: {error.strerror}") from error
    finally:
        if not in_place:
            Path(file.name).unlink(missing_ok=True)


def _is_device(path: Path) -> bool:
    """Whether the path names a device, a pipe or a folder: nothing that a file can replace."""
    return path.exists() and (not path.is_file() or path.is_relative_to("/dev"))


def _open(path: str) -> TextIO:
    return Path(path).open("w", encoding="utf-8")


def _temporary_beside(target: Path) -> TextIO:
    """An empty file in the folder of ``target``, with the permissions that ``target`` gets."""
    if target.exists():
        mode = target.stat().st_mode & 0o777
    else:
        umask = os.umask(0)
        os.umask(umask)
        mode = 0o666 & ~umask
    file = tempfile.NamedTemporaryFile(  # noqa: SIM115
        "w", encoding="utf-8", dir=target.parent, prefix=f".{target.name}.", delete=False
    )
    os.chmod(file.name, mode)
    return cast(TextIO, file)
