"""Where texts come from: files, standard input, the command line; as bytes or as code points."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import astuple, dataclass, replace
from itertools import chain, islice
from typing import Annotated, BinaryIO

from utf8_sim.campaign import Part
from utf8_sim.engines.engine import Engine
from utf8_sim.stimulus import Piece, file_pieces
from utf8_sim.tools.errors import Refused

from ..components import entry_of
from ..terminal import progress_bar
from . import options

ONE_TEXT = (
    "give one text: FILE, - for standard input, --text TEXT, --hex BYTES, or --code-points LIST"
)


@contextmanager
def _refusing_to_read(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Refused(f"cannot read {name!r}: {error.strerror}") from error


@contextmanager
def _open_binary(name: str) -> Iterator[BinaryIO]:
    if name == "-":
        if sys.stdin is None:
            raise Refused("cannot read '-': standard input is closed")
        yield sys.stdin.buffer
        return
    with _refusing_to_read(name):
        file = open(name, "rb")  # noqa: SIM115
    with file:
        with _refusing_to_read(name):
            file.peek(1)
        yield file


def _pieces(file: BinaryIO, name: str) -> Iterator[tuple[bytes, bool]]:
    with _refusing_to_read(name):
        yield from file_pieces(file)


def _code_points(text: str, width: int) -> list[int]:
    values = []
    for word in text.replace(",", " ").split():
        number = re.fullmatch(r"(?:U\+|0X)?([0-9A-F]+)", word.upper())
        if not number or int(number[1], 16) >= 1 << width:
            highest = (1 << width) - 1
            raise Refused(f"--code-points takes hexadecimal numbers to {highest:X}, not {word!r}")
        values.append(int(number[1], 16))
    return values


def _bytes(text: str) -> bytes:
    try:
        return b"".join(map(bytes.fromhex, text.split()))
    except ValueError:
        raise Refused(
            f"--hex takes bytes of two hexadecimal digits, and / between texts, not {text!r}"
        ) from None


@dataclass
class Typed:
    """Options that give texts on the command line itself; a slash ends a text."""

    text: Annotated[str | None, options.option("TEXT", "Take this instead of a file.")] = None
    hexadecimal: Annotated[
        str | None,
        options.option(
            "BYTES", "Bytes such as 'E2 82 AC'; / between texts: 'E2 82 / AC'.", "--hex"
        ),
    ] = None
    code_points: Annotated[
        str | None, options.option("LIST", "For an encoder: values such as '20AC, D800 / 110000'.")
    ] = None

    def part(self, engine: Engine) -> Part | None:
        """What is given, if anything is."""
        if astuple(self).count(None) < 2:
            raise Refused(ONE_TEXT)
        entry, profile = entry_of(engine), engine.profile
        if self.code_points is not None:
            words = self.code_points.split("/")
            return Part.of(
                "--code-points", [_code_points(part, profile.utf32_width) for part in words]
            )
        if self.text is not None:
            part = Part.of("--text", [os.fsencode(self.text)])
        elif self.hexadecimal is not None:
            part = Part.of("--hex", [_bytes(text) for text in self.hexadecimal.split("/")])
        else:
            return None
        return replace(part, pieces=lambda: entry.from_text(part.pieces(), profile))


@contextmanager
def file_part(name: str, engine: Engine) -> Iterator[Part]:
    """A file as a part of a comparison, which reads it more than once.

    What can be read only once, as standard input (``-``) and pipes, is kept in a temporary file.
    """
    with ExitStack() as stack:
        copy: BinaryIO | None = None
        with _open_binary(name) as stream:
            if name == "-" or not stream.seekable():
                copy = stack.enter_context(tempfile.TemporaryFile())
                with progress_bar() as progress, _refusing_to_read(name):
                    progress.add_task("reading standard input" if name == "-" else name, total=None)
                    shutil.copyfileobj(stream, copy)
                    copy.flush()
            size = os.fstat((copy or stream).fileno()).st_size

        def pieces() -> Iterator[Piece]:
            with nullcontext(copy) if copy else _open_binary(name) as stream:
                stream.seek(0)
                yield from entry_of(engine).from_text(_pieces(stream, name), engine.profile)

        yield Part("standard input" if name == "-" else name, size, pieces)


@contextmanager
def open_text(
    file: str | None, typed: Part | None, engine: Engine
) -> Iterator[tuple[Iterator[Piece], int | None]]:
    """The one text that is given, and about how many inputs it is; nothing for a long pipe."""
    if (file is None) == (typed is None):
        raise Refused(ONE_TEXT)
    if typed:
        yield typed.pieces(), typed.size
        return
    assert file is not None
    with _open_binary(file) as stream:
        pieces = _pieces(stream, file)
        first = list(islice(pieces, 1))
        size: int | None = sum(len(data) for data, _ in first)
        if not all(ends for _, ends in first):
            size = os.fstat(stream.fileno()).st_size or None
        yield entry_of(engine).from_text(chain(first, pieces), engine.profile), size
