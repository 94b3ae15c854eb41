"""Golden model of the transcoder, and display of its beats."""

import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dense import fed, packed, texts_as_piece
from hostile import hostile_bytes
from modelled import record
from reference import BOUNDARY_BYTES, ref_transcoded
from utf8_hdl import UCS2, UNICODE, EncodingScheme, Profile, Transcoder
from utf8_sim.components import COMPONENTS, component_of
from utf8_sim.engines.amaranth import AmaranthEngine

each_source = pytest.mark.parametrize("source", EncodingScheme, ids=lambda scheme: scheme.value)
UTF_8, UTF_16LE = EncodingScheme.UTF_8, EncodingScheme.UTF_16LE
UTF_32LE = EncodingScheme.UTF_32LE


def transcoder(
    lanes: int,
    source: EncodingScheme,
    target: EncodingScheme,
    profile: Profile = UNICODE,
    strip_bom: bool = False,
) -> Transcoder:
    return Transcoder(profile, lanes=lanes, source=source, target=target, strip_bom=strip_bom)


def expected(design: Transcoder, texts: list[bytes]) -> list[tuple[bytes, bool]]:
    """The texts transcoded by CPython, and error flags."""
    return [ref_transcoded(text, design.source.value, design.target.value) for text in texts]


def plain(outputs: list[tuple]) -> list[tuple[bytes, int]]:
    """Outputs as texts and error flags."""
    texts, text = [], b""
    for _, _, data, keep, last, error in outputs:
        count = sum(keep)
        assert keep == [1] * count + [0] * (len(keep) - count)
        assert last or count == len(keep)
        text += bytes(data[:count])
        if last:
            texts.append((text, error))
            text = b""
        else:
            assert not error
    assert text == b""
    return texts


def units(values: Iterable[int], scheme: EncodingScheme) -> bytes:
    order = "big" if scheme.value.endswith("be") else "little"
    return b"".join(value.to_bytes(scheme.unit_bytes, order) for value in values)


UTF_16 = [0, 0x41, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000]
UTF_16 += [0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF]
UTF_32 = [*UTF_16, 0x10000, 0x10FFFF, 0x110000, 0x10041, 0x200041, 0x80000041, 0xFFFFFFFF]


def short_texts(source: EncodingScheme) -> list[bytes]:
    """Boundary bytes or units in all combinations, with incomplete units at the end."""
    if source is UTF_8:
        rng, leads = random.Random(0), bytes.fromhex("C2 E0 E1 ED EF F0 F1 F4 F5")
        pairs = [bytes(pair) for pair in product(BOUNDARY_BYTES, repeat=2)]
        edges = [bytes([lead, *two]) for lead in leads for two in product(BOUNDARY_BYTES, repeat=2)]
        longer = [bytes([*rng.choices(leads), *rng.choices(BOUNDARY_BYTES, k=3)]) for _ in edges]
        return [bytes([byte]) for byte in range(256)] + pairs + edges + longer
    size = source.unit_bytes
    edges = UTF_16 if size == 2 else UTF_32
    wholes = [units(some, source) for count in (1, 2) for some in product(edges, repeat=count)]
    if size == 2:
        wholes += [units(some, source) for some in product(UTF_16[6:], repeat=3)]
    ends = [b"", *(bytes([0xD8] * count) for count in range(1, size))]
    return [whole + end for whole in wholes for end in ends] + ends[1:]


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "target"),
    [
        (UTF_8, UTF_16LE),
        (UTF_16LE, UTF_8),
        (UTF_32LE, EncodingScheme.UTF_32BE),
        (EncodingScheme.UTF_16BE, UTF_32LE),
        (EncodingScheme.UTF_32BE, EncodingScheme.UTF_16BE),
    ],
)
def test_boundary_texts_match_cpython(source, target):
    texts = short_texts(source)
    for lanes in {4, 8 if source.unit_bytes == 4 else 2}:
        design = transcoder(lanes, source, target)
        items = packed(design, texts_as_piece(texts))
        assert plain(fed(design, items)) == expected(design, texts)


def some_text(source: EncodingScheme) -> st.SearchStrategy[bytes]:
    """Boundary units, characters, and random bytes."""
    if source is UTF_8:
        return hostile_bytes(UNICODE).map(bytes)
    edges = st.sampled_from(UTF_16 if source.unit_bytes == 2 else UTF_32)
    unit = edges.map(lambda value: units([value], source))
    character = st.characters(exclude_categories=["Cs"])
    right = character.map(lambda text: text.encode(source.value))
    return st.lists(st.one_of(unit, unit, right, st.binary(max_size=3)), max_size=20).map(b"".join)


@each_source
@given(target=st.sampled_from(EncodingScheme), data=st.data())
def test_texts_match_cpython(source, target, data):
    lanes = data.draw(
        st.sampled_from([lanes for lanes in (1, 2, 4, 8, 16) if lanes >= source.unit_bytes])
    )
    design = transcoder(lanes, source, target)
    texts = data.draw(st.lists(some_text(source), max_size=4))
    pieces = []
    for text in texts:
        empty = data.draw(st.booleans())  # the last beat has no bytes
        pieces += [(text, False), (b"", True)] if empty else [(text, True)]
    if texts:
        assert plain(fed(design, packed(design, *pieces))) == expected(design, texts)


def result(source, target, text, profile=UNICODE, lanes=4, **options) -> bytes:
    """A transcoded text."""
    design = transcoder(lanes, source, target, profile, **options)
    [(found, _)] = plain(fed(design, packed(design, (text, True))))
    return found


def test_profile_determines_errors():
    lone, pair = "\ud800".encode("utf-16-le", "surrogatepass"), "😀".encode("utf-16-le")
    accepts = replace(UNICODE, accept_surrogates=True)
    to_16 = UTF_16LE, UTF_16LE
    assert result(*to_16, lone + b"A\0" + pair, accepts) == lone + b"A\0" + pair
    assert result(*to_16, lone + b"A", accepts) == lone + b"\xfd\xff"
    assert result(*to_16, lone + b"A") == b"\xfd\xff"
    assert result(*to_16, pair + b"A\0", UCS2) == b"\xfd\xffA\0"
    assert result(*to_16, b"\xfe\xff", UCS2) == b"\xfd\xff"
    assert result(UTF_16LE, UTF_8, lone, accepts) == b"\xed\xa0\x80"
    assert result(UTF_32LE, UTF_16LE, lone + b"\0\0", accepts) == lone


@each_source
@pytest.mark.parametrize("lanes", [4, 16])
def test_leading_byte_order_mark_is_stripped(source, lanes):
    for text in "\ufeff", "\ufeffA", "\ufeff\ufeff", "A\ufeff", "", "\ufffe":
        for strips in True, False:
            encoded = text.encode(source.value)
            found = result(source, UTF_8, encoded, lanes=lanes, strip_bom=strips)
            assert found.decode() == (text.removeprefix("\ufeff") if strips else text)


def test_byte_order_mark_after_empty_lane_remains():
    design = transcoder(4, UTF_16LE, UTF_8, strip_bom=True)
    rows = {
        "i.data": [[9, 9, 0xFF, 0xFE], [0xFF, 0xFE, 9, 9]],
        "i.keep": [[0, 0, 1, 1], [1, 1, 0, 0]],
        "i.last": [1, 1],
    }
    items = {name: np.array(levels, dtype=np.uint8) for name, levels in rows.items()}
    assert plain(fed(design, items)) == [("\ufeff".encode(), 0), (b"", 0)]


DESIGNS = {
    "utf-32le to utf-16be, surrogates accepted": transcoder(
        *(4, UTF_32LE, EncodingScheme.UTF_16BE, replace(UNICODE, accept_surrogates=True))
    ),
    "utf-16be to utf-8, ucs2, without mark": transcoder(
        4, EncodingScheme.UTF_16BE, UTF_8, UCS2, strip_bom=True
    ),
    "report that saturates": Transcoder(
        lanes=8, source=EncodingScheme.UTF_16BE, errors=True, report_width=7
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_gateware_matches_golden_model(design):
    assert record(AmaranthEngine(design), 2000)[1] is None


def test_display_of_outputs():
    transcoder = component_of(Transcoder())
    assert transcoder is COMPONENTS["transcoder"]
    output = {"o.data": [0x41, 0, 7, 7], "o.keep": [1, 1, 0, 0], "o.last": 1, "o.error": 0}
    assert transcoder.show_result(output) == "41 00 -- --"
    output["o.error"] = 1
    assert transcoder.show_result(output) == "41 00 -- -- error"
    output |= {"o.kind": 3, "o.offset": 7, "o.count": 2}
    assert transcoder.show_result(output) == "41 00 -- -- error: overlong at 7, 2 errors"
