"""Stimuli: stalls, and tables in files."""

import io
import json
from functools import cache
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from utf8_hdl import Compactor, Decoder, Encoder, Validator, WideDecoder
from utf8_sim.stimulus import FORMAT, FixedStalls, RandomStalls, Table, random_column
from utf8_sim.subject import interface_of
from utf8_sim.trace import RESET, Interface


@pytest.mark.parametrize("probability", [-0.1, 1.0, float("nan")])
def test_wrong_probability_is_refused(probability):
    with pytest.raises(ValueError, match="probability must be at least 0 and below 1, not"):
        RandomStalls(probability)


def test_stalls_are_independent_of_windows():
    stalls = RandomStalls(0.3, seed=(5, 1))
    long = next(stalls.windows(1000))
    short = np.concatenate(list(islice(stalls.windows(100), 10)))
    assert (long == short).all()
    assert 0.2 < long.mean() < 0.4
    assert not (long == next(RandomStalls(0.3, seed=(6, 1)).windows(1000))).all()
    windows = FixedStalls((True, False, True)).windows(2)
    assert [next(windows).tolist() for _ in range(3)] == [[1, 0], [1, 0], [0, 0]]


DESIGNS = {
    "decoder": Decoder,
    "decoder of 8 lanes": lambda: WideDecoder(lanes=8),
    "encoder": Encoder,
    "validator": lambda: Validator(lanes=4),
    "compactor": lambda: Compactor(lanes=2, user=70),
    "compactor of wide lanes": lambda: Compactor(lanes=2, shape=64),
}


@cache
def pins(name: str) -> Interface:
    return interface_of(DESIGNS[name]())


@given(st.sampled_from(list(DESIGNS)), st.integers(0, 20), st.integers(0, 1 << 32))
def test_table_round_trip(name, rows, seed):
    interface, generator = pins(name), np.random.default_rng(seed)
    names = RESET, *interface.driven
    columns = {pin: random_column(interface.pin(pin), rows, generator) for pin in names}
    Table(interface, columns).write(file := io.StringIO())
    read = Table.read(file.getvalue(), interface)
    assert len(read) == rows
    assert list(read.columns) == list(columns)
    for pin, column in columns.items():
        assert read.columns[pin].dtype == column.dtype
        assert np.array_equal(read.columns[pin], column)


GOOD = [0, 1, [1, 2, 3, 4], [1, 1, 1, 0], 1, 1]
"""A row for the validator."""


def changed(column: int, level: object) -> list[object]:
    return [*GOOD[:column], level, *GOOD[column + 1 :]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "utf8-hdl stimulus 2"}, "its format must be 'utf8-hdl stimulus 1'"),
        ({"component": "decoder"}, "it is for component 'decoder', not 'validator'"),
        ({"columns": None}, "its columns must be reset, i.valid, i.data, i.keep, i.last, o.ready"),
        ({"rows": [GOOD, GOOD[1:]]}, "its rows must be lists of 6 levels"),
        ({"rows": [GOOD, changed(0, 2)]}, "column reset: .*must be unsigned 1-bit integers, not 2"),
        ({"rows": [GOOD, changed(5, None)]}, "column o.ready: a level must be an integer, not "),
        ({"rows": [GOOD, changed(5, 1 << 70)]}, f"column o.ready: ready must be .* not {1 << 70}"),
        ({"rows": [GOOD, changed(2, [1, 2, 3, 256])]}, "column i.data: data must be .* not 256"),
        ({"rows": [changed(2, [1, 2, 3, [4]])]}, "column i.data: a level must be a list"),
        pytest.param("{", "it is not JSON", id="unfinished"),
        pytest.param("[" * 100_000, "it is not JSON", id="deep"),
        pytest.param("7", "its format must be", id="number"),
    ],
)
def test_malformed_table_is_refused(change, message):
    content = {"format": FORMAT, "component": "validator", "rows": [GOOD]}
    content["columns"] = [RESET, *pins("validator").driven]
    assert len(Table.read(json.dumps(content), pins("validator"))) == 1
    text = change if isinstance(change, str) else json.dumps(content | change)
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        Table.read(text, pins("validator"))
    assert "\n" not in str(caught.value)
