"""simdutf and WHATWG's TextDecoder, by way of Node.js, against CPython: the oracles agree."""

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import HOSTILE, hostile_bytes
from reference import BOUNDARY_BYTES
from second_oracle import needs_node, second_oracle, whatwg
from utf8_hdl import UNICODE

pytestmark = needs_node

UNITS = [0x0041, 0x20AC, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFEFF, 0xFFFE, 0xFFFF]


def strict(data: bytes) -> bytes | None:
    """As CPython has it: UTF-16 of a well-formed text."""
    try:
        return data.decode("utf-8").encode("utf-16-le")
    except UnicodeDecodeError:
        return None


def replaced(data: bytes, source: str = "utf-8", target: str = "utf-16-le") -> bytes:
    return data.decode(source, "replace").encode(target)


def assert_agree(data: bytes) -> None:
    assert second_oracle(data) == strict(data)
    assert whatwg(data) == replaced(data)


@pytest.mark.parametrize("text", [b"", *HOSTILE])
def test_hostile_texts(text):
    assert_agree(text)


@settings(deadline=None)
@given(hostile_bytes(UNICODE).map(bytes) | st.binary() | st.text().map(str.encode))
def test_any_bytes_and_any_text(data):
    assert_agree(data)


@pytest.mark.sample(4)
@pytest.mark.parametrize("first", BOUNDARY_BYTES)
def test_every_text_of_three_boundary_bytes(first):
    for rest in product(BOUNDARY_BYTES, repeat=2):
        assert_agree(bytes([first, *rest]))


def test_every_scalar_value():
    scalars = [value for value in range(0x110000) if not 0xD800 <= value <= 0xDFFF]
    assert_agree("".join(map(chr, scalars)).encode())


def test_no_surrogate_is_accepted():
    for value in range(0xD800, 0xE000):
        assert second_oracle(chr(value).encode("utf-8", "surrogatepass")) is None


@pytest.mark.parametrize(
    ("source", "codec"), [("utf-16le", "utf-16-le"), ("utf-16be", "utf-16-be")]
)
def test_utf_16_with_unpaired_surrogates_and_bytes_left_over(source, codec):
    chance = random.Random(1)
    for _ in range(1000):
        units = chance.choices(UNITS, k=chance.randrange(6))
        data = b"".join(unit.to_bytes(2, "little") for unit in units)
        data += chance.choice([b"", b"", b"A", b"\xd8"])
        assert whatwg(data, source, "utf-8") == replaced(data, codec, "utf-8"), data.hex(" ")
        assert whatwg(data, source) == replaced(data, codec), data.hex(" ")
