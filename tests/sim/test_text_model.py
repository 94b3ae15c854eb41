"""Bytes to tokens: the golden model against CPython's decoder."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import BOUNDARY_BYTES, RefToken, ref_tokens
from utf8_sim.golden.text import decode, encode


def model_tokens(data: bytes) -> list[RefToken]:
    tokens, offset = [], 0
    for token in decode(data):
        error = token.kind.label if token.error else None
        tokens.append(RefToken(offset, token.length, token.code_point, error))
        offset += token.length
    return tokens


def test_empty_text_has_no_tokens():
    assert decode(b"") == []


@pytest.mark.parametrize("length", [1, 2])
def test_every_text_of_one_and_two_bytes(length):
    for values in product(range(256), repeat=length):
        data = bytes(values)
        assert model_tokens(data) == ref_tokens(data)


def test_every_text_of_three_boundary_bytes():
    for values in product(BOUNDARY_BYTES, repeat=3):
        data = bytes(values)
        assert model_tokens(data) == ref_tokens(data)


@pytest.mark.sample(2)
@pytest.mark.parametrize("lead", [0xF0, 0xF1, 0xF3, 0xF4])
def test_every_text_of_four_boundary_bytes_after_a_long_lead(lead):
    for values in product(BOUNDARY_BYTES, repeat=3):
        data = bytes([lead, *values])
        assert model_tokens(data) == ref_tokens(data)


@pytest.mark.sample(2)
@pytest.mark.parametrize("plane", range(17))
def test_every_scalar_value(plane):
    scalars = [c for c in range(plane << 16, (plane + 1) << 16) if not 0xD800 <= c <= 0xDFFF]
    tokens = decode("".join(map(chr, scalars)).encode("utf-8"))
    assert [token.code_point for token in tokens] == scalars
    assert not any(token.error for token in tokens)


@given(st.binary(max_size=64) | st.lists(st.sampled_from(BOUNDARY_BYTES)).map(bytes))
def test_any_bytes(data):
    assert model_tokens(data) == ref_tokens(data)


@given(st.binary(min_size=1))
def test_tokens_cover_every_byte_once_and_only_the_final_one_is_last(data):
    tokens = decode(data)
    assert sum(token.length for token in tokens) == len(data)
    assert [token.last for token in tokens] == [False] * (len(tokens) - 1) + [True]


@given(st.characters(exclude_categories=["Cs"]))
def test_shortest_encoding_is_cpythons(character):
    assert encode(ord(character)) == character.encode("utf-8")
