"""What is driven: pieces of text, stalls, and how."""

import io
from itertools import islice

import numpy as np
import pytest

from utf8_hdl import Decoder
from utf8_sim.components import DECODER
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.engine import WATCHDOG, Ending
from utf8_sim.stimulus import PIECE_SIZE, FixedStalls, RandomStalls, Stimulus, file_pieces


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
    [trace] = AmaranthEngine(Decoder()).run(Stimulus([(b"AB", True), (b"C", False)], *stalls))
    pins = (trace[pin].tolist() for pin in ("i.valid", "i.data", "i.last", "i.ready"))
    assert list(zip(*pins, strict=True))[:6] == [
        (1, 0x41, 0, 0),
        (1, 0x41, 0, 1),
        (0, 0xFF, 1, 1),
        (1, 0x42, 1, 1),
        (1, 0x43, 0, 1),
        (0, 0xFF, 1, 1),
    ]


@pytest.mark.parametrize(
    ("i_ready", "o_valid", "message"),
    [(0, 0, "no input was accepted in 96 cycles"), (1, 1, "output still came 96 cycles after")],
)
def test_a_hang_is_noticed(i_ready, o_valid, message):
    ending, cycles = Ending(DECODER.timing(Decoder())), 0
    while not ending.over:
        offered = not (i_ready and cycles)
        ending.note(offered, i_ready, o_valid, o_ready=1, more=not i_ready)
        cycles += 1
    assert message in ending.hang
    assert cycles <= WATCHDOG + 2
