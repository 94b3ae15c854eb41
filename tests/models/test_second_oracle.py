"""The TextDecoder of Node.js, against CPython."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile import HOSTILE, hostile_bytes
from second_oracle import needs_node, whatwg
from utf8_hdl import UNICODE

pytestmark = needs_node

UNITS = [0x0041, 0x20AC, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFEFF, 0xFFFE, 0xFFFF]


def replaced(data: bytes, source: str = "utf-8", target: str = "utf-16-le") -> bytes:
    return data.decode(source, "replace").encode(target)


@pytest.mark.long
def test_scalar_values_surrogates_and_hostile_texts():
    scalars = [chr(value) for value in range(0x110000) if not 0xD800 <= value <= 0xDFFF]
    surrogates = [chr(value).encode("utf-8", "surrogatepass") for value in UNITS[3:7]]
    for text in (b"", "".join(scalars).encode(), *surrogates, *HOSTILE):
        assert whatwg(text) == replaced(text)


@given(hostile_bytes(UNICODE).map(bytes) | st.binary() | st.text().map(str.encode))
def test_random_bytes_and_texts(data):
    assert whatwg(data) == replaced(data)


@pytest.mark.parametrize(
    ("source", "codec"), [("utf-16le", "utf-16-le"), ("utf-16be", "utf-16-be")]
)
def test_malformed_utf_16(source, codec):
    chance = random.Random(1)
    for _ in range(200):
        units = chance.choices(UNITS, k=chance.randrange(6))
        data = b"".join(unit.to_bytes(2, "little") for unit in units)
        data += chance.choice([b"", b"", b"A", b"\xd8"])
        assert whatwg(data, source, "utf-8") == replaced(data, codec, "utf-8"), data.hex(" ")
        assert whatwg(data, source) == replaced(data, codec), data.hex(" ")
