"""Temporary folders that are removed whatever happens."""

import atexit
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path


@contextmanager
def passing_folder(folder: Path) -> Iterator[Path]:
    """A new folder for this user alone, which is removed when the block is left."""
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # an interrupt comes at any time
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def own_temporary_folder() -> Iterator[None]:
    """One folder for all temporary files: what an interrupt leaves there goes at the end."""
    usual = tempfile.tempdir
    with ExitStack() as stack:
        with suppress(OSError):  # who needs one will say that there is none
            place = Path(tempfile.gettempdir(), f"utf8-hdl-{uuid.uuid4().hex}")
            tempfile.tempdir = str(stack.enter_context(passing_folder(place)))
        try:
            yield
        finally:
            tempfile.tempdir = usual
