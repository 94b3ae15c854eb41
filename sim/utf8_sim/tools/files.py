"""Atomic writing of files, and temporary folders."""

import atexit
import codecs
import fcntl
import io
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from .errors import UsageError
from .interrupts import defer_interrupts

RUN = "utf8-hdl-run-"
"""Prefix of the name of a temporary folder; 32 random digits follow."""


@contextmanager
def open_output(path: str) -> Iterator[TextIO]:
    """Open a text file in UTF-8 for writing; ``-`` is standard output.

    The file gets its name only when it is complete. If the block raises an exception, an existing
    file is unchanged, and no new file remains.
    """
    with open_binary_output(path) as file:
        yield cast(TextIO, codecs.getwriter("utf-8")(file))


@contextmanager
def open_binary_output(path: str) -> Iterator[BinaryIO]:
    """Like :func:`open_output`, for bytes."""
    if path == "-":
        with refusing("write '-'"):  # other failures have their own messages
            yield sys.stdout.buffer
            sys.stdout.flush()
        return
    temporary = None
    try:
        with defer_interrupts():
            target, temporary = _target_and_temporary(path)
        with _Sink.open(temporary or path, shown=path) as file:
            yield file
        if temporary:
            with refusing(f"write {path!r}"):
                os.replace(temporary, target)
    finally:
        if temporary:
            temporary.unlink(missing_ok=True)


def check_output(path: str) -> None:
    """Raise `UsageError` if :func:`open_output` could not write a file; do not change the file."""
    if path != "-":
        with defer_interrupts():
            temporary = _target_and_temporary(path)[1]
            if temporary:
                temporary.unlink()


def is_standard_output(path: str) -> bool:
    """True if a path is the file, pipe or terminal of standard output.

    False for the null device, where no output can be lost.
    """
    if path in ("-", os.devnull):
        return path == "-"
    try:
        return os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    except (AttributeError, OSError, ValueError):  # it is closed, or a test replaced it
        return False


def remove_file(path: str) -> None:
    """Remove a file if it exists. The target of a symbolic link is removed, not the link."""
    Path(os.path.realpath(path)).unlink(missing_ok=True)


@contextmanager
def output_folder(path: str) -> Iterator[Path]:
    """A folder for output files, created if it does not exist, and then removed if still empty."""
    folder = Path(path)
    with refusing(f"write to {path!r}"):
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
    try:
        check_output(str(folder / "certificate"))
        yield folder
    finally:
        if is_new:
            with suppress(OSError):
                folder.rmdir()


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Convert an `OSError` to a `UsageError`; ``what`` is the failed action."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"cannot {what}: {error.strerror}") from error


def _target_and_temporary(path: str) -> tuple[Path, Path | None]:
    """The path of the file, and of a temporary file beside it, which replaces it when complete.

    A device or a pipe cannot be replaced, so it has no temporary file.
    """
    target = Path(os.path.realpath(path))
    with refusing(f"write {path!r}"):
        if _is_device(Path(path)):
            return target, None
        if target.is_dir():
            raise IsADirectoryError(0, "Is a directory")
        temporary = target.parent / f".utf8-hdl-{uuid.uuid4().hex}"
        temporary.touch()
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
    return target, temporary


def _is_device(path: Path) -> bool:
    named_descriptor = path.is_relative_to("/dev") and not path.is_relative_to("/dev/shm")
    return path.exists() and not path.is_dir() and (named_descriptor or not path.is_file())


def _descriptor(path: str) -> int | None:
    """The number of an open file descriptor, from its path."""
    number = path.removeprefix("/dev/fd/")
    if number != path and number.isdecimal():
        return int(number)
    return {"/dev/stdout": 1, "/dev/stderr": 2}.get(path)


class _Sink(io.FileIO):
    """A file whose errors name it, even if several files are open."""

    shown = ""

    @classmethod
    def open(cls, path: str | Path, shown: str) -> BinaryIO:
        number = _descriptor(str(path))
        with refusing(f"write {shown!r}"):
            # Opening a descriptor by its path would truncate its file.
            raw = cls(path if number is None else os.dup(number), "w")
        raw.shown = shown
        return io.BufferedWriter(raw)

    def write(self, data: Any, /) -> int:
        with refusing(f"write {self.shown!r}"):
            return super().write(data)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Create a folder that only this user can read; remove it at the end of the block."""
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # an interrupt may come at any time
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A :func:`new_folder` for temporary files, locked while this process runs.

    Folders of killed processes are no longer locked; the next process that creates a folder removes
    them.
    """
    parent = Path(tempfile.gettempdir())
    for leftover in parent.glob(RUN + "[0-9a-f]" * 32):
        with suppress(OSError), _locked(leftover, fcntl.LOCK_EX | fcntl.LOCK_NB) as descriptor:
            if os.fstat(descriptor).st_uid == os.getuid():
                shutil.rmtree(leftover, ignore_errors=True)
    with ExitStack() as stack:
        while True:
            folder = stack.enter_context(new_folder(parent / f"{RUN}{uuid.uuid4().hex}"))
            with suppress(OSError):  # another process removed it, or there are no locks
                stack.enter_context(_locked(folder, fcntl.LOCK_EX))
            if folder.exists():  # otherwise, another process removed it before it was locked
                break
        yield folder


@contextmanager
def _locked(folder: Path, operation: int) -> Iterator[int]:
    """Lock a folder until the block or the process ends. Symbolic links are not followed.

    The folder itself is locked, so no lock file is written to the folder of another user.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, operation)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def own_temporary_folder() -> Iterator[None]:
    """Use one folder for all temporary files in the block, and remove it afterwards."""
    usual = tempfile.tempdir
    with ExitStack() as stack:
        with suppress(OSError):  # code that needs the folder reports the error
            tempfile.tempdir = str(stack.enter_context(temporary_folder()))
        try:
            yield
        finally:
            tempfile.tempdir = usual
