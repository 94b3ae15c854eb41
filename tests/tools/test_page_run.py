"""The live page in Node.js: tokens that it reads from a run, and its explanation of UTF-8."""

import json
import random
import subprocess
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import naive
from hostile import HOSTILE
from naive import naive_tokens
from needs import needs
from second_oracle import needs_node, node
from utf8_flow.live import build, wasm
from utf8_flow.live.build import PAGE, SPECS
from utf8_hdl import EXTENDED, PROFILES, UNICODE, ErrorSpan, Profile
from utf8_sim import decode, encode
from utf8_sim.campaign import boundary_encodings, boundary_values

pytestmark = needs_node
needs_zig = needs(modules=[wasm.COMPILER])

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


EXPLAIN = """
import { readFileSync } from "node:fs";
const { page, rules, values, sequences } = JSON.parse(readFileSync(0));
const { bitsOf, encoded, kindOf, sequencesOf, valueOf } = await import(`${page}/bits.js`);
console.log(JSON.stringify({
  encoded: values.map(encoded),
  kinds: rules.map((each) => sequences.map((bytes) => kindOf(bytes, each))),
  values: sequences.map(valueOf),
  bits: Array.from({ length: 256 }, (_, byte) => bitsOf(byte)),
  split: sequencesOf([sequences.flat(), [0xE2, 0x82], [0xAC]]),
}));
"""


def in_node(code: str, task: dict[str, Any]) -> Any:
    """What a program in JavaScript prints, as JSON."""
    command = [node(), "--input-type=module", "-e", code]
    given = json.dumps(task)
    process = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return json.loads(process.stdout)


def tokens_of(design: Any, folder: Path, given: list[dict[str, Any]]) -> list[Any]:
    """The tokens of each run, all of whose input is accepted."""
    wasm.write_page_module(design, folder, "design")
    found = in_node(RUN, {"page": PAGE.as_uri(), "folder": str(folder), "runs": given})
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


@needs_zig
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


VALUES = sorted(value for value in boundary_values(EXTENDED) if value <= EXTENDED.highest)
PREFIXES = {each[:count] for each in boundary_encodings(EXTENDED) for count in range(1, 9)}
SEQUENCES = sorted(PREFIXES | {b"\x80", b"\xbf"})
EXPLAINED = [*PROFILES.values(), OTHER, replace(UNICODE, accept_surrogates=True)]


def explained(page: Path) -> dict[str, Any]:
    """The explanation of all sequences, with the rules of each profile."""
    rules = [build._rules(each) | {"highest": each.highest} for each in EXPLAINED]
    given = {"values": VALUES, "sequences": list(map(list, SEQUENCES)), "rules": rules}
    return in_node(EXPLAIN, given | {"page": page.as_uri()})


def explanation() -> dict[str, Any]:
    """The same, by the naive decoder."""
    spans = [replace(each, error_span=ErrorSpan.MAXIMAL_SUBPART) for each in EXPLAINED]
    patterns = {byte: naive.LEADS[naive.announced(byte) - 1] for byte in range(256)}
    patterns |= dict.fromkeys(naive.CONTINUATIONS, "10xxxxxx")
    bits = [(f"{byte:08b}", patterns[byte].partition("x")[0]) for byte in range(256)]
    return {
        "encoded": [list(naive.encoding(value)) for value in VALUES],
        "kinds": [
            [next(iter(naive_tokens(each, rules))).error or "none" for each in SEQUENCES]
            for rules in spans
        ],
        "bits": [[byte[: len(prefix)], byte[len(prefix) :]] for byte, prefix in bits],
        "values": [
            int("".join(bits[byte][0][len(bits[byte][1]) :] for byte in each) or "0", 2)
            for each in SEQUENCES
        ],
    }


def test_explanation_equals_naive_decoder():
    found = explained(PAGE)
    split = found.pop("split")
    assert found == explanation()
    whole = b"".join(bytes(each["bytes"]) for each in split)
    assert whole == b"".join([*SEQUENCES, b"\xe2\x82\xac"])
    ends = [each["offset"] + len(each["bytes"]) for each in split]
    assert [each["offset"] for each in split] == [0, *ends[:-1]]
    for each, following in pairwise(split[:-1]):
        lead, *rest = each["bytes"]
        assert each["length"] == (0 if lead in naive.CONTINUATIONS else naive.announced(lead))
        assert all(byte in naive.CONTINUATIONS for byte in rest)
        is_whole = len(each["bytes"]) == max(each["length"], 1)
        assert is_whole or following["bytes"][0] not in naive.CONTINUATIONS
    assert split[-2:] == [
        {"offset": ends[-1] - 3, "length": 3, "bytes": [0xE2, 0x82]},
        {"offset": ends[-1] - 1, "length": 0, "bytes": [0xAC]},
    ]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("highest <= 0xDFFF", "highest <= 0xDFFE"),
        ("ones === 1 ? 0", "ones === 1 ? 1"),
        ("+ 1, 8)", "+ 1, 7)"),
        ("64 ** (length", "32 ** (length"),
        ("0xFE ?", "0xFF ?"),
        ("[0xFFFE, 0xFFFF]", "[0xFFFE]"),
    ],
)
def test_broken_explanation_differs(text, change, tmp_path):
    source = (PAGE / "bits.js").read_text()
    assert source.count(text) == 1
    (tmp_path / "bits.js").write_text(source.replace(text, change))
    found = explained(tmp_path)
    del found["split"]
    assert found != explanation()
