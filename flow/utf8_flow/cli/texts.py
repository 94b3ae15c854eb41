"""Read texts from files, standard input and the command line, as bytes or as code points."""

import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any, BinaryIO

from utf8_sim.campaign import Part
from utf8_sim.stimulus import LAST, Piece, Table, file_pieces
from utf8_sim.subject import Subject
from utf8_sim.tools.errors import UsageError
from utf8_sim.tools.files import refusing
from utf8_sim.trace import Interface

from ..terminal import progress_bar, visible
from .choices import InlineInput

ONE_TEXT = (
    "give one text: FILE, - for standard input, --text TEXT, --hex BYTES, or --code-points LIST"
)

MAX_TABLE = 1 << 28
"""Maximum size of a stimulus file in bytes."""

MAX_COPY = 1 << 30
"""Maximum number of bytes read from standard input or a pipe."""


@contextmanager
def _open_binary(name: str) -> Iterator[BinaryIO]:
    """Open a file for reading; ``-`` is standard input."""
    with refusing(f"read {name!r}"):
        if name != "-":
            with open(name, "rb") as file:
                file.peek(1)
                yield file
        elif sys.stdin is None:
            raise UsageError("cannot read '-': standard input is closed")
        else:
            yield sys.stdin.buffer


def _copy(name: str, stream: Any, copy: BinaryIO) -> None:
    """Copy a stream; reject an endless device, or more than :data:`MAX_COPY` bytes."""
    is_device = stat.S_ISCHR(os.fstat(stream.fileno()).st_mode) and not stream.isatty()
    if is_device and stream.peek(1):
        raise UsageError(f"cannot read {name!r}: the device is endless, give a file or a pipe")
    size = 0
    while data := stream.read(1 << 16):
        size += len(data)
        if size > MAX_COPY:
            raise UsageError(
                f"cannot read {name!r}: more than {MAX_COPY} bytes, give a regular file"
            )
        copy.write(data)
    copy.flush()


def _pieces(name: str, stream: BinaryIO, size: int) -> Iterator[tuple[bytes, bool]]:
    """The pieces of a file; an error if it is now shorter than ``size``, its size when opened."""
    done = 0
    for data, last in file_pieces(stream):
        done += len(data)
        if last and done < size:
            raise UsageError(
                f"cannot read {name!r}: truncated to {done} of {size} bytes during the run"
            )
        yield data, last


def _code_points(text: str, width: int) -> list[int]:
    values = []
    for word in text.replace(",", " ").split():
        number = re.fullmatch(r"(?:U\+|0X)?([0-9A-F]+)", word.upper())
        if not number or int(number[1], 16) >= 1 << width:
            highest = (1 << width) - 1
            raise UsageError(
                f"--code-points expects hexadecimal numbers up to {highest:X}, not {word!r}"
            )
        values.append(int(number[1], 16))
    return values


def inline_part(given: InlineInput, subject: Subject) -> Part | None:
    """The input given by ``--text``, ``--hex`` or ``--code-points``, or None."""
    values = given.text, given.hexadecimal, given.code_points
    if values.count(None) < 2:
        raise UsageError("give one of --text, --hex and --code-points")
    entry, design = subject.component, subject.design
    if given.code_points is not None:
        words = given.code_points.split("/")
        return Part.of(
            "--code-points", [_code_points(part, design.profile.utf32_width) for part in words]
        )
    pieces: list[Piece]
    if given.text is not None:
        name, pieces = "--text", [(entry.encode(given.text, design), True)]
    elif given.hexadecimal is not None:
        texts = given.hexadecimal.split("/")
        name, pieces = "--hex", [entry.from_hex(text, design) for text in texts]
    else:
        return None
    size = sum(len(each[LAST] if isinstance(each, dict) else each[0]) for each in pieces)
    return Part(name, size, lambda: entry.from_bytes(iter(pieces), design))


@contextmanager
def file_part(name: str, subject: Subject) -> Iterator[Part]:
    """A file as a part of a comparison, which reads the file more than once.

    Standard input (``-``), pipes and devices are copied to a temporary file first.
    """
    shown = "standard input" if name == "-" else visible(name)
    with ExitStack() as stack:
        copy: BinaryIO | None = None
        with _open_binary(name) as stream:
            if name == "-" or not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                copy = stack.enter_context(tempfile.TemporaryFile())
                with progress_bar() as progress:
                    progress.add_task(f"reading {shown}", total=None)
                    _copy(name, stream, copy)
            size = os.fstat((copy or stream).fileno()).st_size

        def pieces() -> Iterator[Piece]:
            with nullcontext(copy) if copy else _open_binary(name) as stream:
                stream.seek(0)
                text = _pieces(name, stream, size)
                yield from subject.component.from_bytes(text, subject.design)

        yield Part(shown, size // subject.lanes, pieces)


def one_text(
    file: str | None, inline: Part | None, subject: Subject
) -> AbstractContextManager[Part]:
    """The given text: a file or the value of an option, not both."""
    if file is not None and inline is None:
        return file_part(file, subject)
    if file is None and inline is not None:
        return nullcontext(inline)
    raise UsageError(ONE_TEXT)


def read_table(name: str, interface: Interface, design: str) -> Table:
    """Read the table in a stimulus file; reject a table for another design."""
    with _open_binary(name) as file:
        content = file.read(MAX_TABLE + 1)
    wrong = f"--stimulus {visible(name)!r} is not a stimulus file for this design"
    if len(content) > MAX_TABLE:
        raise UsageError(f"{wrong}: it has more than {MAX_TABLE} bytes")
    try:
        table = Table.read(content.decode(), interface)
    except ValueError as error:
        raise UsageError(f"{wrong}: {error}") from error
    if table.design not in ("", design):
        raise UsageError(f"{wrong}: its design is {table.design!r}, not {design!r}")
    if not len(table):
        raise UsageError(f"{wrong}: it has no rows")
    return table
