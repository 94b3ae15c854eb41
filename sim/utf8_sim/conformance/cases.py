"""The test texts for decoders, and the rules that each text tests."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np

from utf8_hdl import ErrorKind, Profile
from utf8_hdl.profile import NONCHARACTERS, SURROGATES

from ..campaign import beginnings, boundary_encodings, byte_classes, edges_of, toggled_values
from ..golden.decoder import DecoderModel, form_maximum
from ..golden.encoder import encode_as
from ..golden.model import feed_all
from ..trace import Columns
from .rules import rule_of_error
from .texts import Texts

LAST_CODE_POINT = 0x10FFFF

MIXED_TEXTS, MIXED_CHARACTERS = 256, 64
"""Number of random texts with characters of all lengths, and of characters in each."""

RANDOM_VALUES = 1 << 16
"""Number of random values for each sequence length beyond Unicode."""


@cache
def characters(profile: Profile, length: int) -> list[bytes]:
    """Every Unicode character of ``length`` bytes; beyond Unicode, a sample."""
    lowest = form_maximum(length - 1) + 1 if length > 1 else 0
    highest = min(form_maximum(length), profile.highest)
    values: Iterable[int] = range(lowest, min(highest, LAST_CODE_POINT) + 1)
    if highest > LAST_CODE_POINT:
        generator = np.random.default_rng(length)
        drawn = generator.integers(lowest, highest, RANDOM_VALUES, endpoint=True).tolist()
        toggled = [value for value in toggled_values(profile) if lowest <= value <= highest]
        values = sorted({*drawn, *toggled, lowest, highest})
    rejected = {
        *(() if profile.accept_surrogates else SURROGATES),
        *(() if profile.accept_noncharacters else NONCHARACTERS),
    }
    return [_encoded(value, length) for value in values if value not in rejected]


def _encoded(value: int, length: int) -> bytes:
    """Like :func:`encode_as`, but faster for Unicode."""
    if value <= LAST_CODE_POINT:
        return chr(value).encode(errors="surrogatepass")
    return encode_as(value, length)


@cache
def mixed(profile: Profile) -> list[bytes]:
    """Texts of characters of all lengths: every pair of lengths, and random ones."""
    generator = np.random.default_rng(0)
    by_length = [characters(profile, n) for n in range(1, profile.longest_form + 1)]
    edges = [text for some in by_length for text in (some[0], some[-1])]

    def draw() -> bytes:
        some = by_length[generator.integers(len(by_length))]
        return some[generator.integers(len(some))]

    drawn = [b"".join(draw() for _ in range(MIXED_CHARACTERS)) for _ in range(MIXED_TEXTS)]
    return [*(first + second for first, second in product(edges, repeat=2)), *drawn]


@cache
def hostile(profile: Profile) -> list[bytes]:
    """Every class of bytes in every state, and every text of two bytes, without duplicates.

    Whole sequences come first, then the shortest texts: after many failures, texts are skipped.
    """
    starts, whole = beginnings(profile), {*boundary_encodings(profile)}
    some = [encode_as(value) for value in (0x55, 0xD4, 0x854, 0x10348)[: profile.longest_form]]
    texts = {*whole, *every_text(1), *every_text(2)}
    texts |= {bytes(three) for three in product(edges_of(byte_classes(profile)), repeat=3)}
    texts |= {a + byte + b for a, byte, b in product(starts, every_text(1), (b"", b"A"))}
    texts |= {start + character for start, character in product(starts, some)}
    return sorted(texts, key=lambda text: (text not in whole, len(text), text))


def few_hostile(profile: Profile) -> list[bytes]:
    """Each class of bytes in every state, every pair of classes, and the boundaries."""
    pairs = product(edges_of(byte_classes(profile)), repeat=2)
    texts = [*fresh_texts(profile), *boundary_encodings(profile)]
    texts += [start + b"A" for start in beginnings(profile)] + [bytes(two) + b"A" for two in pairs]
    return sorted(dict.fromkeys(texts), key=len)


def fresh_texts(profile: Profile) -> list[bytes]:
    """Each class of bytes in every state: the texts that are also decoded after a reset."""
    edges = edges_of(byte_classes(profile))
    texts = [start + bytes([byte]) for start, byte in product(beginnings(profile), edges)]
    return sorted(dict.fromkeys(texts), key=len)


def every_text(length: int) -> Iterator[bytes]:
    """Every text of ``length`` bytes."""
    return map(bytes, product(range(256), repeat=length))


def first_errors(texts: Sequence[bytes], profile: Profile) -> list[str]:
    """For each text, the rule that its first error tests; "mixed" if it has no error."""
    tokens = feed_all(DecoderModel(profile), Texts.of_bytes(texts).items)
    text_of = np.cumsum(tokens["o.last"]) - tokens["o.last"]
    errors = np.flatnonzero(tokens["o.error"])
    which, first = np.unique(text_of[errors], return_index=True)
    rules = ["mixed"] * len(texts)
    kinds = tokens["o.kind"][errors[first]].tolist()
    at_end = tokens["o.last"][errors[first]].tolist()
    for text, kind, is_end in zip(which.tolist(), kinds, at_end, strict=True):
        rules[text] = rule_of_error(kind, is_end)
    return rules


def by_rule(texts: Sequence[bytes], profile: Profile) -> dict[str, list[bytes]]:
    """The texts by rule: see :func:`first_errors`."""
    found: dict[str, list[bytes]] = {}
    for text, rule in zip(texts, first_errors(texts, profile), strict=True):
        found.setdefault(rule, []).append(text)
    return found


@cache
def hostile_by_rule(profile: Profile) -> dict[str, list[bytes]]:
    """The texts of :func:`hostile` by rule."""
    return by_rule(hostile(profile), profile)


def count_cases(tokens: Columns, profile: Profile) -> Counter[str]:
    """The number of cases of each rule in the golden model's tokens of consecutive texts."""
    kind, length, last = (tokens[name] for name in ("o.kind", "o.length", "o.last"))
    error, ends = kind != 0, last != 0
    after = np.append(False, ~ends[:-1])  # the token before is of the same text
    after_error = np.append(False, error[:-1]) & after
    cut = error & ends & (kind == ErrorKind.TRUNCATED.value)
    counts = {
        "mixed": after & ~after_error & ~error,
        "replacement": error,
        "error-kind": error,
        "kept-byte": after_error & ~error,
        "error-span": error & (after_error | (length > 1)),
        "length": np.ones_like(error),
        "cut-by-end": cut,
        "last": ends,
        "new-text": ends,
    }
    for number in ErrorKind:
        if number.value:
            counts[number.label] = (kind == number.value) & ~cut
    for size in range(1, profile.longest_form + 1):
        counts[f"{size}-byte"] = ~error & (length == size)
    return Counter({name: int(np.count_nonzero(where)) for name, where in counts.items()})
