"""Reads the header of a generated Verilog file."""

import re
from typing import NamedTuple

TEXT = 20
"""Column of the descriptions of ports."""


class Header(NamedTuple):
    """The header of a generated Verilog file."""

    what: str
    #: The version, and the command that generates the file.
    origin: str
    #: Descriptions of ports, and of all ports of a stream, such as ``s_axis_*``.
    ports: dict[str, str]
    #: Don't cares, throughput, latency and reset.
    promises: list[str]

    @classmethod
    def of(cls, verilog: str) -> "Header":
        """Read the header of a file."""
        paragraphs = verilog[: verilog.index("\nmodule ")].split("\n//\n")
        what, origin, ports, *others = paragraphs
        end = next(n for n, text in enumerate(others) if text.startswith("// Modules, "))
        promises = filter(None, map(_prose, others[:end]))
        return cls(
            _prose(what).partition(": ")[2],
            _prose(origin.partition("\n")[2].replace(" \\\n", "\n")),
            _port_texts(ports),
            [part for text in promises for part in re.split(r" (?=Latency: )", text)],
        )


def _prose(comment: str) -> str:
    """The text of a comment on one line."""
    return " ".join(re.sub("^//", "", comment, flags=re.M).split())


def _port_texts(comment: str) -> dict[str, str]:
    """Descriptions of ports, and of all ports of a stream, by name."""
    texts: dict[str, str] = {}
    bus = name = ""
    for line in comment.splitlines():
        key, text = line[2:TEXT].strip(), line[TEXT:].strip()
        indent = len(line[2:TEXT]) - len(line[2:TEXT].lstrip())
        if key and indent == 1:  # clock and reset, or a stream
            names = key.split(", ")
            texts |= zip(names, text.split("; ", len(names) - 1), strict=True)
            name, bus = names[-1], key.removesuffix("*")
            continue
        if key:  # a port of the stream, or bits of it
            port, _, bits = key.rstrip("]").partition("[") if indent == 3 else ("", "", key)
            name = f"{bus}{port}" if port else name
            if bits:
                text = f"{'bits' if ':' in bits else 'bit'} {re.sub('bits? ', '', bits)} {text}"
        before = texts.get(name, "")
        texts[name] = before + _separator(before, text, is_new=bool(key)) + text
    return texts


def _separator(before: str, text: str, is_new: bool) -> str:
    """The punctuation between parts of a description that have lines of their own."""
    if not before or before[-1] in ".:":
        return " " * bool(before)
    if re.match("[A-Z][a-z]+ ", text):
        return ". "
    return "; " if is_new else ", " if re.match(r"\d ", text) else " "
