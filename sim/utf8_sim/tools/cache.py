"""A cache of built files, in a folder that is private to this user."""

import fcntl
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from .errors import ToolError
from .files import new_folder, temporary_folder

MAX_KEPT = 256 << 20
"""Maximum size of the cache in bytes."""

KERNELS = "kernels-"
"""Prefix of the folders with the compiled golden model."""

_temporary = ExitStack()
"""Removes the temporary cache folder when this process ends."""


def built(key: Sequence[str | bytes], suffix: str, build: Callable[[Path], Path]) -> Path:
    """A file from the cache, built if it is missing.

    ``key`` contains everything that the file depends on. ``build`` builds the file in a folder that
    is removed afterwards, and returns its path.

    The name of the file contains digests of ``key`` and of its content: a damaged file is detected
    and built again. A file is never visible in part, and concurrent builds do not interfere.
    """
    name = _digest([part.encode() if isinstance(part, str) else part for part in key])
    with _building_in(prepare_cache()) as folder:
        _keep(folder)
        for file in sorted(folder.glob(f"{name}-*{suffix}")):
            with suppress(FileNotFoundError):  # another process may find it damaged, too
                if file.name == _file_name(name, suffix, file.read_bytes()):
                    os.utime(file)
                    return file
                file.unlink()
        with new_folder(folder / f"building-{uuid.uuid4().hex}") as scratch:
            product = build(scratch)
            file = folder / _file_name(name, suffix, product.read_bytes())
            product.chmod(0o700)
            product.replace(file)
            return file


def _file_name(name: str, suffix: str, content: bytes) -> str:
    return f"{name}-{_digest([content])}{suffix}"


@cache
def _keep(folder: Path) -> None:
    """Clear the cache folder, then prevent other processes from clearing it until this one ends.

    The folder is cleared only if no other process uses it, so that no process loses files that it
    has found.
    """
    lock = os.open(folder / "in-use.lock", os.O_RDWR | os.O_CREAT, 0o600)  # never closed
    with suppress(OSError):  # in use, or a file system without locks: nothing is cleared
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _clear(folder)
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_SH)


def _clear(folder: Path) -> None:
    """Remove leftovers of killed processes; evict least recently used entries over `MAX_KEPT`."""
    for leftover in folder.glob("building-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    kept = 0
    built = [file for file in folder.iterdir() if file.is_file() and file.suffix != ".lock"]
    built += folder.glob(f"{KERNELS}*")
    for entry in sorted(built, key=lambda entry: entry.stat().st_mtime, reverse=True):
        files = [entry] if entry.is_file() else list(entry.rglob("*"))
        kept += sum(file.stat().st_size for file in files)
        if kept > MAX_KEPT:
            entry.unlink() if entry.is_file() else shutil.rmtree(entry, ignore_errors=True)


@contextmanager
def process_lock(name: str) -> Iterator[None]:
    """Run the block in one process at a time, among processes that share the caches of tools.

    An empty lock file with this name remains beside these caches.
    """
    with _building_in(_tools_folder()) as folder, (folder / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
        yield


def cache_folder() -> Path:
    """The folder of built files, private to this user."""
    return platformdirs.user_cache_path("utf8-hdl", appauthor=False)


def prepare_cache() -> Path:
    """The cache folder, created if it does not exist; a temporary folder if that fails.

    The temporary folder is also used by processes that this one starts, and is removed when this
    process ends. `ToolError` is raised if others may write to the folder, or if no temporary folder
    can be created.
    """
    try:
        return _usable(cache_folder())
    except OSError as error:
        reason = f"{str(error.filename)!r}: {error.strerror}"
    except RuntimeError as error:  # no home folder
        reason = str(error)
    with _building_in(Path("TMPDIR")):
        os.environ["XDG_CACHE_HOME"] = str(_temporary.enter_context(temporary_folder()))
        print(
            f"utf8-hdl: no cache folder ({reason}): built files are not cached",
            file=sys.stderr,
        )
        return _usable(cache_folder())


def tools_cache() -> dict[str, str]:
    """Environment variables that put the caches of tools inside this cache.

    Tools run the native code in their caches without checking who wrote it.
    """
    tools = str(_tools_folder())
    return {"XDG_CACHE_HOME": tools, "YOWASP_CACHE_DIR": tools}


def _tools_folder() -> Path:
    with _building_in(prepare_cache()) as folder:
        return _usable(folder / "tools")


def _usable(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_private(folder)
    tempfile.TemporaryFile(dir=folder).close()
    return folder


@contextmanager
def _building_in(folder: Path) -> Iterator[Path]:
    """Convert an `OSError` in the block to a `ToolError`."""
    try:
        yield folder
    except OSError as error:
        path = error.filename or folder
        raise ToolError(f"cannot build in {str(path)!r}: {error.strerror}") from error


def _check_private(folder: Path) -> None:
    """Raise an error if others may write to the folder, because code from it is run."""
    status = folder.stat()
    if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ToolError(
            f"others may write to the cache folder {str(folder)!r}: "
            f"make it private (chmod 700) or set XDG_CACHE_HOME"
        )


def contents(folder: Any) -> list[bytes]:
    """The contents of the files in a folder and its subfolders, in the order of their names."""
    found = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_file():
            found.append(entry.read_bytes())
        elif entry.name != "__pycache__":
            found += contents(entry)
    return found


def _digest(parts: Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:32]
