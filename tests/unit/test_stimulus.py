"""What is driven: pieces of text, stalls, and how."""

import io
import json
from functools import cache
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utf8_hdl import EXTENDED, Compactor, Decoder, Encoder, Transcoder, Validator, WideDecoder
from utf8_sim.components import DECODER
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.engine import WATCHDOG, EndDetector
from utf8_sim.stimulus import (
    FORMAT,
    PIECE_SIZE,
    FixedStalls,
    RandomStalls,
    Stimulus,
    Table,
    file_pieces,
    random_column,
)
from utf8_sim.subject import interface_of
from utf8_sim.trace import RESET, Interface


@pytest.mark.parametrize("size", [0, 1, PIECE_SIZE - 1, PIECE_SIZE, PIECE_SIZE + 1, 3 * PIECE_SIZE])
def test_a_file_is_one_text(size):
    data = bytes(n % 251 for n in range(size))
    pieces = list(file_pieces(io.BytesIO(data)))
    assert b"".join(piece for piece, _ in pieces) == data
    assert [ends for _, ends in pieces] == [False] * (len(pieces) - 1) + [True] * bool(pieces)


@pytest.mark.parametrize("probability", [-0.1, 1.0, 1.5, float("nan")])
def test_probability_is_checked(probability):
    with pytest.raises(ValueError, match="probability must be at least 0 and below 1, not"):
        RandomStalls(probability)


def test_stalls_do_not_depend_on_the_windows():
    stalls = RandomStalls(0.3, seed=(5, 1))
    long = next(stalls.windows(1000))
    short = np.concatenate(list(islice(stalls.windows(100), 10)))
    assert (long == short).all()
    assert 0.2 < long.mean() < 0.4
    assert not (long == next(RandomStalls(0.3, seed=(6, 1)).windows(1000))).all()
    windows = FixedStalls((True, False, True)).windows(2)
    assert [next(windows).tolist() for _ in range(3)] == [[1, 0], [1, 0], [0, 0]]


def test_an_offered_byte_stays_until_it_is_accepted_and_the_final_one_is_last():
    stalls = FixedStalls((False, True, True)), FixedStalls((True,))
    idle = {"i.data": np.arange(9, dtype=np.uint8), "i.last": np.ones(9, dtype=np.uint8)}
    texts = [(b"AB", True), (b"C", False)]
    [trace] = AmaranthEngine(Decoder()).run(Stimulus(texts, *stalls, idle=idle))
    pins = (trace[pin].tolist() for pin in ("i.valid", "i.data", "i.last", "i.ready"))
    assert list(zip(*pins, strict=True))[:6] == [
        (1, 0x41, 0, 0),
        (1, 0x41, 0, 1),
        (0, 2, 1, 1),
        (1, 0x42, 1, 1),
        (1, 0x43, 0, 1),
        (0, 5, 1, 1),
    ]


@pytest.mark.parametrize(
    ("i_ready", "o_valid", "message"),
    [(0, 0, "no input was accepted in 96 cycles"), (1, 1, "output still came 96 cycles after")],
)
def test_a_hang_is_noticed(i_ready, o_valid, message):
    ending, cycles = EndDetector(DECODER.timing(Decoder())), 0
    while not ending.over:
        offered = not (i_ready and cycles)
        ending.note((0, offered, i_ready, o_valid, 1), more=not i_ready)
        cycles += 1
    assert message in ending.hang
    assert cycles <= WATCHDOG + 2


DESIGNS = {
    "decoder": Decoder,
    "decoder of 42 bits": lambda: Decoder(EXTENDED),
    "decoder of 8 lanes": lambda: WideDecoder(lanes=8),
    "encoder": Encoder,
    "encoder of 42 bits": lambda: Encoder(EXTENDED),
    "validator": lambda: Validator(lanes=4),
    "compactor": lambda: Compactor(lanes=2, user=70),
    "compactor of wide lanes": lambda: Compactor(lanes=2, shape=64),
    "transcoder": Transcoder,
}


@cache
def pins(name: str) -> Interface:
    return interface_of(DESIGNS[name]())


@settings(deadline=None)
@given(st.sampled_from(list(DESIGNS)), st.integers(0, 20), st.integers(0, 1 << 32))
def test_a_table_is_read_as_it_was_written(name, rows, seed):
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
        ({"format": None}, "its format must be"),
        ({"component": "decoder"}, "it is for component 'decoder', not 'validator'"),
        ({"columns": None}, "its columns must be reset, i.valid, i.data, i.keep, i.last, o.ready"),
        ({"columns": ["i.valid", "reset"]}, "its columns must be reset, i.valid"),
        ({"rows": None}, "its rows must be lists of 6 levels"),
        ({"rows": {}}, "its rows must be lists of 6 levels"),
        ({"rows": [7]}, "its rows must be lists of 6 levels"),
        ({"rows": [GOOD, GOOD[1:]]}, "its rows must be lists of 6 levels"),
        ({"rows": [GOOD, changed(0, 2)]}, "column reset: .*must be unsigned 1-bit integers, not 2"),
        ({"rows": [GOOD, changed(1, -1)]}, "column i.valid: valid must be .* not -1"),
        ({"rows": [GOOD, changed(4, 0.5)]}, "column i.last: a level must be an integer, not 0.5"),
        ({"rows": [GOOD, changed(4, "1")]}, "column i.last: a level must be an integer, not '1'"),
        (
            {"rows": [GOOD, changed(1, True)]},
            "column i.valid: a level must be an integer, not True",
        ),
        (
            {"rows": [GOOD, changed(5, None)]},
            "column o.ready: a level must be an integer, not None",
        ),
        ({"rows": [GOOD, changed(5, 1 << 70)]}, f"column o.ready: ready must be .* not {1 << 70}"),
        ({"rows": [GOOD, changed(5, [1])]}, "column o.ready: a level must be an integer"),
        ({"rows": [GOOD, changed(2, [1, 2, 3, 256])]}, "column i.data: data must be .* not 256"),
        (
            {"rows": [GOOD, changed(2, [1, 2, 3])]},
            "column i.data: a level must be a list of 4 integers",
        ),
        ({"rows": [GOOD, changed(2, 1)]}, "column i.data: a level must be a list of 4 integers"),
        (
            {"rows": [changed(2, [1, 2, 3, 4, 5])]},
            "column i.data: a level must be a list of 4 integers",
        ),
        ({"rows": [changed(2, [1, 2, 3, [4]])]}, "column i.data: a level must be a list"),
    ],
)
def test_a_file_that_is_no_table_is_refused(change, message):
    content = {
        "format": FORMAT,
        "component": "validator",
        "columns": [RESET, *pins("validator").driven],
        "rows": [GOOD],
    }
    assert len(Table.read(json.dumps(content), pins("validator"))) == 1
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        Table.read(json.dumps(content | change), pins("validator"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\0"])
def test_what_is_not_json_is_refused(text):
    with pytest.raises(ValueError, match=r"^it is not JSON"):
        Table.read(text, pins("decoder"))


@pytest.mark.parametrize("text", ["[]", "7", "null", '"reset"'])
def test_json_that_is_no_table_is_refused(text):
    with pytest.raises(ValueError, match=r"^its format must be"):
        Table.read(text, pins("decoder"))
