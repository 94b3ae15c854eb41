"""What is driven: pieces of text, stalls, and the test bench that every engine follows."""

import io
from itertools import islice

import numpy as np
import pytest

from utf8_hdl import Decoder
from utf8_sim.engines.engine import WATCHDOG, AmaranthEngine, TestBench
from utf8_sim.stimulus import PIECE_SIZE, FixedStalls, RandomStalls, Stimulus, file_pieces


def bench_for(stimulus: Stimulus) -> TestBench:
    return TestBench(stimulus, AmaranthEngine(Decoder()))


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
    stimulus = Stimulus([(b"AB", True), (b"C", False)], FixedStalls((False, True, True)))
    bench, driven = bench_for(stimulus), []
    for ready in (0, 0, 1, 1, 1):
        driven.append(bench.drive())
        bench.observe(ready, 0)
    assert driven == [*3 * [(1, 0x41, 0, 1)], (1, 0x42, 1, 1), (1, 0x43, 0, 1)]


def test_a_run_ends_when_no_token_comes_any_more():
    bench = bench_for(Stimulus([(b"A", True)]))
    cycles = 0
    while not bench.ending.over:
        bench.drive()
        bench.observe(1, cycles in (1, 2))
        cycles += 1
    assert bench.ending.hang is None
    assert cycles == 3 + 7 + 1


@pytest.mark.parametrize(
    ("i_ready", "o_valid", "message"),
    [(0, 0, "no input was accepted in 64 cycles"), (1, 1, "output still came 64 cycles after")],
)
def test_a_hang_is_noticed(i_ready, o_valid, message):
    bench = bench_for(Stimulus([(b"A", True)]))
    cycles = 0
    while not bench.ending.over:
        bench.drive()
        bench.observe(i_ready, o_valid)
        cycles += 1
    assert message in bench.ending.hang
    assert cycles <= WATCHDOG + 2
