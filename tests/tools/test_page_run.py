"""Tokens that the live page reads from a run, in Node.js, against the golden models and CPython."""

import json
import random
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hostile import HOSTILE
from needs import needs
from second_oracle import needs_node, node
from utf8_flow.live import wasm
from utf8_flow.live.build import PAGE, SPECS
from utf8_hdl import EXTENDED, UNICODE, ErrorSpan, Profile
from utf8_sim import decode, encode

pytestmark = [needs_node, needs(modules=[wasm.COMPILER])]

OTHER = replace(EXTENDED, accept_surrogates=True, error_span=ErrorSpan.WHOLE_SEQUENCE)
CODE_POINTS = 0x41, 0x80, 0x7FF, 0x800, 0xD800, 0xFFFF, 0x10000, 0x10FFFF, 0x110000, 0x7FFFFFFF

RUN = """
import { readFileSync } from "node:fs";
const { page, folder, runs } = JSON.parse(readFileSync(0));
const { create } = await import(`${page}/engine.js`);
const { itemsOf, run, tokensOf } = await import(`${page}/run.js`);
const description = JSON.parse(readFileSync(`${folder}/design.json`));
const simulation = await create(readFileSync(`${folder}/design.wasm`), description);
const kinds = description.pins.find((pin) => pin.name === "o.kind")?.names ?? {};
console.log(JSON.stringify(runs.map(({ texts, gaps, stalls }) => {
  const items = itemsOf(texts, simulation.inputs);
  const trace = run(simulation, items, new Set(gaps), new Set(stalls));
  return [trace.isWhole, tokensOf(trace, texts, kinds)
    .map(({ codePoint, ...rest }) => ({ ...rest, codePoint: Number(codePoint ?? 0) }))];
})));
"""


@cache
def runs(name: str) -> list[dict[str, Any]]:
    """Texts, with cycles of stalls on either side: none, some, and many."""
    rng = random.Random(0)
    texts: list[list[int]] = [list(text) for text in HOSTILE if text]
    if name.endswith("encoder"):
        texts = [rng.choices(CODE_POINTS, k=20) for _ in range(3)]
    sides = [[c for c in range(3000) if rng.random() < share] for share in (0, 0.3, 0.9, 0, 0.7)]
    pairs = [(0, 0), (1, 0), (2, 0), (0, 4), (1, 4)]
    return [{"texts": texts, "gaps": sides[i], "stalls": sides[o]} for i, o in pairs]


def tokens_of(design: Any, folder: Path, given: list[dict[str, Any]]) -> list[Any]:
    """The tokens of each run, all of whose input is accepted."""
    wasm.write_page_module(design, folder, "design")
    task = {"page": PAGE.as_uri(), "folder": str(folder), "runs": given}
    command = [node(), "--input-type=module", "-e", RUN]
    process = subprocess.run(
        command, input=json.dumps(task), capture_output=True, text=True, check=True
    )
    found = json.loads(process.stdout)
    assert all(is_whole for is_whole, _ in found)
    return [tokens for _, tokens in found]


def expected(name: str, profile: Profile, texts: list[list[int]]) -> Any:
    """The output of the golden model or of CPython for the texts."""
    if name.endswith("encoder"):
        return b"".join(encode(text, profile) for text in texts)
    if name.startswith(("transcoder", "repair")):
        form = "utf-8" if name.startswith("repair") else "utf-16-le"
        return b"".join(bytes(text).decode("utf-8", "replace").encode(form) for text in texts)
    tokens = [decode(bytes(text), profile) for text in texts]
    if name.startswith("validator"):
        kinds = [[token.kind.label for token in text] for text in tokens]
        return [next((kind for kind in text if kind != "none"), "none") for text in kinds]
    return [(t.code_point, t.length, t.kind.label) for text in tokens for t in text]


def read(name: str, tokens: list[dict[str, Any]]) -> Any:
    """The output in the same format, from the page's tokens."""
    if name.endswith("encoder") or name.startswith(("transcoder", "repair")):
        return bytes(byte for token in tokens for byte in token["bytes"])
    if name.startswith("validator"):
        return [token["kind"] for token in tokens]
    return [(token["codePoint"], token["length"], token["kind"]) for token in tokens]


NARROW = [name for name in SPECS if not name.endswith("16")]
"""Components of the page, without variants that only differ in their larger number of lanes."""


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "profile"),
    [
        *((name, UNICODE) for name in NARROW),
        *((name, OTHER) for name in ("decoder", "compact-decoder", "encoder", "compact-encoder")),
    ],
)
def test_page_tokens_equal_golden_model(name, profile, tmp_path):
    spec = SPECS[name].under(profile)
    wanted = expected(name, spec.profile, runs(name)[0]["texts"])
    for tokens in tokens_of(spec.make(), tmp_path, runs(name)):
        assert read(name, tokens) == wanted
