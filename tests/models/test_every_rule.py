"""Both decoders of every profile with every override, on hostile bytes, against naive_tokens."""

import random
from dataclasses import replace

import pytest

from naive import naive_tokens
from rtl import ALL_RULES, BOTH, DECODERS, ODD_PROFILES, STALLS, engine_of, lockstep, rtl_tokens
from utf8_hdl import PROFILES

RULES = ALL_RULES | ODD_PROFILES
every_rule = pytest.mark.parametrize("profile", RULES.values(), ids=RULES)
EDGES = bytes.fromhex(
    "00 41 7F 80 81 82 83 84 87 88 8F 90 9F A0 BD BE BF C0 C1 C2 DF E0 E1 EC ED EE EF"
    "F0 F1 F3 F4 F5 F7 F8 F9 FB FC FD FE FF"
)
WORDS = """
    C280 E0A080 EDA080 EDBFBF EFBFBD EFBFBE EFBFBF F0908080 F48FBFBF F4908080 F7BFBFBF
    F888808080 FBBFBFBFBF FC8480808080 FDBFBFBFBFBF FE828080808080 FEBFBFBFBFBFBF
    FF81808080808080 FFBFBFBFBFBFBFBF F0808080 FC8380808080 FE818080808080 FF80808080808080
"""
SEQUENCES = [bytes.fromhex(word) for word in WORDS.split()]


def hostile_bytes(size: int, seed: int) -> bytes:
    """Bytes at edges, and sequences at edges, every other one of them cut."""
    rng = random.Random(seed)
    data = bytearray()
    while len(data) < size:
        if rng.random() < 0.5:
            data.append(rng.choice(EDGES))
        sequence = rng.choice(SEQUENCES)
        data += sequence[: rng.choice((len(sequence), rng.randrange(len(sequence))))]
    return bytes(data[:size])


SIZE = 1000
"""Bytes that tell every rule from its opposite."""


@pytest.mark.sample(20)
@BOTH
@every_rule
def test_hostile_bytes(profile, compact):
    data = hostile_bytes(SIZE, seed=1)
    assert rtl_tokens(data, profile=profile, compact=compact) == naive_tokens(data, profile)


@pytest.mark.sample(18)
@BOTH
@every_rule
def test_every_pin_with_stalls(profile, compact):
    texts = [hostile_bytes(size, seed=size) for size in (1, 2, 3, 5, 8, 200)]
    assert lockstep(texts, STALLS["both slow"], engine_of(DECODERS[compact], profile)) is None


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
@pytest.mark.parametrize("flip", ["accept_surrogates", "accept_noncharacters"])
def test_hostile_bytes_tell_every_rule_from_its_opposite(profile, flip):
    data = hostile_bytes(SIZE, seed=1)
    other = replace(profile, **{flip: not getattr(profile, flip)})
    assert naive_tokens(data, profile) != naive_tokens(data, other)
