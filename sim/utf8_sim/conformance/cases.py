"""The cases of a scorecard for decoders: texts, each with the rules that it tries."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from utf8_hdl import ErrorKind, Profile
from utf8_hdl.profile import SURROGATES

from ..campaign import (
    beginnings,
    boundary_encodings,
    byte_classes,
    edges_of,
    hostile_texts,
    toggled_values,
)
from ..golden.decoder import DecoderModel, form_maximum
from ..golden.encoder import encode_as
from ..golden.model import feed_all
from ..trace import Columns

LAST_CODE_POINT = 0x10FFFF

SHUFFLED = 1 << 14
"""Characters in random order."""

CHARACTERS_IN_TEXT = 64

RANDOM_VALUES = 1 << 16
"""Values of a form beyond Unicode that are tried, besides those at boundaries."""


@dataclass(frozen=True)
class Pool:
    """Texts with a common purpose, in the order of their lengths.

    Attributes
    ----------
    name : str
        The rule that the texts are mainly about.
    texts : list of bytes
        The texts.
    """

    name: str
    texts: Sequence[bytes]


def characters(profile: Profile, length: int) -> list[bytes]:
    """Every character of Unicode whose form has ``length`` bytes; of longer forms, a sample."""
    lowest = form_maximum(length - 1) + 1 if length > 1 else 0
    highest = min(form_maximum(length), profile.highest)
    values: Iterable[int] = range(lowest, min(highest, LAST_CODE_POINT) + 1)
    if highest > LAST_CODE_POINT:
        generator = np.random.default_rng(length)
        drawn = generator.integers(lowest, highest, RANDOM_VALUES, endpoint=True).tolist()
        toggled = [value for value in toggled_values(profile) if lowest <= value <= highest]
        values = sorted({*drawn, *toggled, lowest, highest})
    if not profile.accept_surrogates and lowest <= SURROGATES[0] <= highest:
        values = [value for value in values if value not in SURROGATES]
    if not profile.accept_noncharacters and lowest <= 0xFFFE <= highest:
        values = [value for value in values if value not in (0xFFFE, 0xFFFF)]
    return _encoded(values, length)


def _encoded(values: Iterable[int], length: int) -> list[bytes]:
    """Values in the form of ``length`` bytes; as :func:`encode_as`, but all of them at once."""
    numbers = np.fromiter(values, dtype=np.uint64)
    table = np.empty((len(numbers), length), dtype=np.uint8)
    for place in range(1, length):
        table[:, place] = 0x80 | (numbers >> np.uint64(6 * (length - 1 - place)) & np.uint64(0x3F))
    lead = encode_as(0, length)[0]
    table[:, 0] = numbers if length == 1 else lead | (numbers >> np.uint64(6 * (length - 1)))
    whole = table.tobytes()
    return [whole[begin : begin + length] for begin in range(0, len(whole), length)]


def mixed(profile: Profile) -> list[bytes]:
    """Texts of characters of all lengths: every pair of lengths, and random ones."""
    generator = np.random.default_rng(0)
    by_length = [characters(profile, n) for n in range(1, profile.longest_form + 1)]
    edges = [text for some in by_length for text in (some[0], some[-1])]
    pairs = [first + second for first, second in product(edges, repeat=2)]
    chosen = generator.integers(len(by_length), size=SHUFFLED).tolist()
    where = generator.random(SHUFFLED).tolist()
    shuffled = (
        by_length[n][int(at * len(by_length[n]))] for n, at in zip(chosen, where, strict=True)
    )
    runs = [b"".join(islice(shuffled, CHARACTERS_IN_TEXT)) for _ in range(SHUFFLED // 64)]
    return [*pairs, *runs]


def hostile(profile: Profile) -> list[bytes]:
    """Every class of bytes in every state, and every text of two bytes, without duplicates.

    Whole sequences come first, because texts are left out where many fail; then the shortest.
    """
    edges = edges_of(byte_classes(profile))
    starts = beginnings(profile)
    texts = [bytes([byte]) for byte in range(256)]
    texts += [bytes(pair) for pair in product(range(256), repeat=2)]
    texts += [bytes(three) for three in product(edges, repeat=3)]
    whole = {*boundary_encodings(profile)}
    texts += whole
    texts += [
        start + bytes([byte]) + tail
        for start in starts
        for byte in range(256)
        for tail in (b"", b"A")
    ]
    texts += [start + encoding for start in starts for encoding in _one_of_each(profile)]
    texts += [text + character for text in starts for character in _one_of_each(profile)]
    return sorted({*texts} - {b""}, key=lambda text: (text not in whole, len(text), text))


def _one_of_each(profile: Profile) -> list[bytes]:
    """A character of each length."""
    return [encode_as(form_maximum(n - 1) + 0x55 if n > 1 else 0x55) for n in range(1, 4)] + [
        encode_as(0x10348)
    ] * (profile.longest_form > 3)


def every_text(length: int) -> Iterator[list[bytes]]:
    """Every text of some bytes, in parts of 65536 texts."""
    for begin in range(0, 256**length, 1 << 16):
        numbers = np.arange(begin, min(begin + (1 << 16), 256**length)).astype(">u4")
        whole = numbers.view(np.uint8).reshape(-1, 4)[:, 4 - length :].tobytes()
        yield [whole[at : at + length] for at in range(0, len(whole), length)]


def random_texts(profile: Profile, seed: int) -> list[bytes]:
    """Texts of bytes of every class, and of encodings cut and joined."""
    return hostile_texts(byte_classes(profile), boundary_encodings(profile), seed)


def first_errors(texts: Sequence[bytes], profile: Profile) -> list[str]:
    """For each text, the rule that its first error tries: "mixed" if it has none."""
    data = np.frombuffer(b"".join(texts), dtype=np.uint8)
    ends = np.cumsum([len(text) for text in texts]) - 1
    last = np.zeros(len(data), dtype=np.uint8)
    last[ends] = 1
    tokens = feed_all(DecoderModel(profile), {"i.data": data, "i.last": last})
    text_of = np.cumsum(tokens["o.last"]) - tokens["o.last"]
    errors = np.flatnonzero(tokens["o.error"])
    which, first = np.unique(text_of[errors], return_index=True)
    rules = ["mixed"] * len(texts)
    kinds = tokens["o.kind"][errors[first]].tolist()
    at_end = tokens["o.last"][errors[first]].tolist()
    for text, kind, is_end in zip(which.tolist(), kinds, at_end, strict=True):
        is_cut = is_end and kind == ErrorKind.TRUNCATED.value
        rules[text] = "cut-by-end" if is_cut else ErrorKind(kind).label
    return rules


def by_rule(texts: Sequence[bytes], profile: Profile) -> list[Pool]:
    """Texts in pools, by :func:`first_errors`."""
    pools: dict[str, list[bytes]] = {}
    for text, rule in zip(texts, first_errors(texts, profile), strict=True):
        pools.setdefault(rule, []).append(text)
    return [Pool(rule, some) for rule, some in pools.items()]


def decoder_pools(profile: Profile) -> Iterator[Pool]:
    """The texts that are decoded one after the other, besides those of one character."""
    yield Pool("mixed", mixed(profile))
    yield from by_rule(hostile(profile), profile)
    yield Pool("kept-byte", random_texts(profile, 0))


def fresh_texts(profile: Profile) -> list[bytes]:
    """The texts that are also decoded alone, each after a reset."""
    edges = edges_of(byte_classes(profile))
    texts = [start + bytes([byte]) for start in beginnings(profile) for byte in edges]
    return sorted(dict.fromkeys(texts), key=len)


def count_cases(tokens: Columns, profile: Profile) -> Counter[str]:
    """How often each rule is tried by the golden model's tokens of texts that follow each other."""
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
