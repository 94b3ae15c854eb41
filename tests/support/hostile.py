"""Hostile bytes, and random parts of a sequence."""

import random
from collections.abc import Iterator
from itertools import pairwise

from hypothesis import strategies as st

from utf8_hdl import Profile
from utf8_sim.campaign import boundary_encodings

LEADS = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, *range(0xC0, 0x100)]


EVERY_BYTE = bytes(range(256))
TEXTS = [
    "Hello, world!\r\n\x00\x7f",
    "Aé≠😀 naïve שלום नमस्ते 你好 한국어 \U0010ffff\ufeff",
    "\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff",
]
HOSTILE = [
    EVERY_BYTE,
    EVERY_BYTE[::-1],
    b"".join(bytes([0xE1, byte]) for byte in EVERY_BYTE),
    "😀".encode()[:3] * 20,
    random.Random(0).randbytes(1000),
    *(text.encode() for text in TEXTS),
]


def hostile_bytes(profile: Profile) -> st.SearchStrategy[list[int]]:
    """Random bytes and encodings of boundary values, some of them cut."""
    encodings = st.sampled_from(boundary_encodings(profile))
    cut = st.tuples(encodings, st.integers(1, 8)).map(lambda pair: pair[0][: pair[1]])
    part = st.one_of(st.binary(max_size=3), st.sampled_from(LEADS).map(lambda b: bytes([b])), cut)
    return st.lists(part, max_size=12).map(lambda parts: list(b"".join(parts)))


def chunks(size: int, rng: random.Random) -> Iterator[slice]:
    """Random parts of a sequence; some are empty, some have one item."""
    cuts = [rng.randint(0, size) for _ in range(rng.randint(0, 12))]
    cuts += [cut + offset for cut in cuts[:4] for offset in (0, 1) if cut + offset <= size]
    return (slice(*pair) for pair in pairwise(sorted([0, *cuts, size])))
