"""Components with lanes: the golden models against each other, and against CPython's codec."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import chunks, hostile_bytes
from rtl import ALL_RULES, ODD_PROFILES
from utf8_hdl import Decoder, Validator
from utf8_sim.components import component_of
from utf8_sim.engines.engine import interface_of
from utf8_sim.trace import Columns

VARIANTS = ALL_RULES | ODD_PROFILES
LANES = (1, 2, 4, 8, 64)
each_design = pytest.mark.parametrize(
    ("make", "lanes"),
    [
        (make, lanes)
        for make in (Validator, Decoder)
        for lanes in LANES
        if (make, lanes) != (Decoder, 1)
    ],
)
variants = pytest.mark.parametrize("profile", VARIANTS.values(), ids=VARIANTS)


def packed(design, pieces) -> Columns:
    """The inputs for pieces of texts."""
    interface = interface_of(design)
    parts = list(component_of(design).pack(pieces, interface))
    return {pin.name: np.concatenate([p[pin.name] for p in parts]) for pin in interface.inputs}


def readable(design, items: Columns) -> list[tuple]:
    """What comes out for some inputs."""
    model = component_of(design).transducer(design)
    rows = zip(*(column.tolist() for column in items.values()), strict=True)
    return [payload for row in rows for payload, _ in model.feed(*row)]


def by_arrays(design, items: Columns, parts: list[slice]) -> list[tuple]:
    model, names = component_of(design).array_transducer(design), interface_of(design).outputs
    outputs = []
    for part in parts:
        fed = model.feed({name: column[part] for name, column in items.items()})
        assert fed.brought_by.tolist() == list(range(part.stop - part.start))
        columns = [fed.columns[pin.name] for pin in names]
        assert [column.dtype for column in columns] == [pin.dtype for pin in names]
        outputs += zip(*(column.tolist() for column in columns), strict=True)
    return outputs


def same(design, items: Columns, rng: random.Random) -> None:
    parts = list(chunks(len(items["i.last"]), rng))
    assert by_arrays(design, items, parts) == readable(design, items)


@each_design
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_texts(make, lanes, data):
    design = make(data.draw(st.sampled_from(list(VARIANTS.values()))), lanes=lanes)
    text = st.tuples(hostile_bytes(design.profile), st.booleans())
    items = packed(design, data.draw(st.lists(text, max_size=6)))
    rng = data.draw(st.randoms(use_true_random=False))
    same(design, items, rng)
    if len(items["i.last"]):  # rules broken
        for name in "i.keep", "i.last":
            flips = np.array(rng.choices((0, 1), (8, 1), k=items[name].size), dtype=np.uint8)
            items[name] ^= flips.reshape(items[name].shape)
        same(design, items, rng)
