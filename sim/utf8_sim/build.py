"""Programs made from a design, and the folder where they are kept for the next time."""

import fcntl
import hashlib
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from multiprocessing import parent_process
from pathlib import Path

from .engine import EngineError

NATIVE = resources.files(__package__) / "native"
"""What is compiled or interpreted together with a design."""

LONGEST_MESSAGE = 300


def run_tool(arguments: Sequence[str], folder: Path | None = None, script: str = "") -> str:
    """What a program prints on its standard output.

    After an interrupt it is ended with all that it starts. In a worker process of `multiprocessing`
    it stays in that process's group, to be ended with it.

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
    EngineError
        If it cannot be run or fails.
    """
    name = Path(arguments[0]).name
    own_group = parent_process() is None
    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={**os.environ, "TMPDIR": "."} if folder else None,
            encoding="utf-8",
            errors="replace",
            start_new_session=own_group,
        )
    except OSError as error:
        raise EngineError(f"cannot run {name}: {error.strerror}") from error
    try:
        output, errors = process.communicate(script)
    except BaseException:
        with suppress(ProcessLookupError):
            if own_group:
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
        process.communicate()
        raise
    if process.returncode:
        lines = (errors or output).strip().splitlines() or ["no message"]
        reason = next((line for line in lines if "rror" in line), lines[0])
        ending = _ending(process.returncode)
        raise EngineError(f"{name} failed ({ending}): {reason[:LONGEST_MESSAGE]}")
    return output


def _ending(status: int) -> str:
    return f"exit status {status}" if status > 0 else f"killed by signal {-status}"


def run_python_tool(*arguments: str, folder: Path | None = None, script: str = "") -> str:
    """What a program prints that is a Python package, as :func:`run_tool`."""
    return run_tool([sys.executable, *arguments], folder, script)


def need(program: str, package: str) -> str:
    """The path of a program.

    Raises
    ------
    EngineError
        If it is not there: what to install.
    """
    path = shutil.which(program)
    if path is None:
        raise EngineError(f"{program} is not installed: install {package}")
    return os.path.abspath(path)  # it runs in another folder


def compiler() -> list[str]:
    """The C++ compiler: ``CXX`` of the environment, or one of the usual names.

    Raises
    ------
    EngineError
        If there is none.
    """
    try:
        chosen = shlex.split(os.environ.get("CXX", ""))
    except ValueError as error:
        raise EngineError(f"cannot read the environment variable CXX: {error}") from error
    if chosen:
        return [need(chosen[0], "it, or change the environment variable CXX"), *chosen[1:]]
    for name in ("c++", "g++", "clang++"):
        if path := shutil.which(name):
            return [os.path.abspath(path)]
    raise EngineError("no C++ compiler is installed: install g++ or clang++")


@cache
def version_of(*command: str) -> str:
    """What a program says about its version."""
    return run_tool([*command, "--version"])


def contents(folder: Traversable) -> list[bytes]:
    """What the files of a folder contain, in the order of their names."""
    files = (file for file in folder.iterdir() if file.is_file())
    return [file.read_bytes() for file in sorted(files, key=lambda file: file.name)]


def cache_folder() -> Path:
    """Where built programs are kept, for this user alone."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # A relative one counts as none, says the XDG specification.
    return (base if base.is_absolute() else Path.home() / ".cache") / "utf8-hdl"


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
    EngineError
        If it cannot be built.
    """
    name = _digest([part.encode() if isinstance(part, str) else part for part in key])
    with _private_folder() as folder:
        for file in sorted(folder.glob(f"{name}-*{suffix}")):
            with suppress(FileNotFoundError):  # another process may find it damaged, too
                if file.name == f"{name}-{_digest([file.read_bytes()])}{suffix}":
                    return file
                file.unlink()
        with tempfile.TemporaryDirectory(prefix="building-", dir=folder) as scratch:
            product = build(Path(scratch))
            file = folder / f"{name}-{_digest([product.read_bytes()])}{suffix}"
            product.chmod(0o700)
            product.replace(file)
            return file


@contextmanager
def taking_turns(name: str) -> Iterator[None]:
    """Wait until no other process of this user is where this one is now.

    Parameters
    ----------
    name : str
        What must not be done twice at the same time. An empty file of that name is left behind.

    Raises
    ------
    EngineError
        If the cache folder cannot be used.
    """
    with _private_folder() as folder, (folder / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
        yield


@contextmanager
def _private_folder() -> Iterator[Path]:
    """The cache folder, made if it is not there; what goes wrong with it is an `EngineError`."""
    folder = cache_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_private(folder)
        yield folder
    except OSError as error:
        place = error.filename or folder
        raise EngineError(f"cannot build in {str(place)!r}: {error.strerror}") from error


def _check_private(folder: Path) -> None:
    """Code from this folder is run, so nobody else may write there."""
    status = folder.stat()
    foreign = hasattr(os, "getuid") and status.st_uid != os.getuid()
    if foreign or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise EngineError(
            f"others may write to the cache folder {str(folder)!r}: "
            f"make it yours alone (chmod 700) or set XDG_CACHE_HOME"
        )


def _digest(parts: Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:32]
