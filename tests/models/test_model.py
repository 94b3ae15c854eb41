"""The golden model of every pin: the same in any windows, and compiled as interpreted."""

import os
import random
import subprocess
import sys
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import LEADS
from modelled import DESIGNS
from rtl import ALL_RULES, ODD_PROFILES
from utf8_hdl import PROFILES
from utf8_sim.campaign import boundary_encodings, boundary_values
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.engine import Engine
from utf8_sim.golden.decoder import DecoderModel
from utf8_sim.golden.encoder import EncoderModel
from utf8_sim.golden.kernels import COMPILED
from utf8_sim.golden.model import MET, Outputs, Transducer, feed_all
from utf8_sim.lockstep import HANDSHAKE, Golden, Lockstep, Window
from utf8_sim.stimulus import RandomStalls, Stimulus
from utf8_sim.trace import Columns, Trace

each_design = pytest.mark.parametrize("name", DESIGNS)
each_rule = pytest.mark.parametrize(
    "profile", (ALL_RULES | ODD_PROFILES).values(), ids=ALL_RULES | ODD_PROFILES
)


@cache
def engine_of(name: str) -> Engine:
    return AmaranthEngine(DESIGNS[name]())


@cache
def recorded(name: str) -> Trace:
    """Hostile inputs, stalls and resets, in hardware with which the model agrees."""
    engine = engine_of(name)
    pieces = engine.component.hostile(engine.design, np.random.default_rng(1))
    stalls = RandomStalls(0.2, 1), RandomStalls(0.3, 2)
    lockstep = Lockstep(engine, Stimulus(pieces, *stalls, 600, RandomStalls(0.02, 3)))
    trace = Trace.join(list(lockstep))
    assert lockstep.difference is None
    assert len(trace) == 600
    return trace


def expected(name: str, cuts: list[int]) -> Trace:
    """What the model expects in windows."""
    model, trace = Golden(engine_of(name)), recorded(name)
    windows = pairwise([0, *cuts, len(trace)])
    return Trace.join([model.expected(trace[begin:end]) for begin, end in windows])


def assert_same(one: Trace, other: Trace) -> None:
    for pin in (*one.interface.observed, MET):
        np.testing.assert_array_equal(one[pin], other[pin], pin)


@each_design
@settings(max_examples=10, deadline=None)
@given(cuts=st.lists(st.integers(0, 600), max_size=12).map(sorted))
def test_windows_make_no_difference(name, cuts):
    assert_same(expected(name, cuts), expected(name, []))


@each_design
def test_a_window_may_have_a_single_cycle(name):
    assert_same(expected(name, list(range(600))), expected(name, []))


FORGOTTEN = [
    *(("_waiting", name) for name in DESIGNS),
    *(("_state", name) for name in DESIGNS if not name.startswith("compact ")),
    # The other timings do not look at it.
    *(("_queue", name) for name in DESIGNS if "encoder" not in name and name != "compact decoder"),
]


@pytest.mark.parametrize(("forgotten", "name"), FORGOTTEN)
def test_a_model_that_forgets_between_windows_is_found(forgotten, name):
    model, trace, wrong = Golden(engine_of(name)), recorded(name), False
    for begin in range(0, 600, 5):
        part = trace[begin : begin + 5]
        wrong |= Window(begin, part, model.expected(part)).difference() is not None
        kept = getattr(model._model, forgotten)
        for array in kept.values() if isinstance(kept, dict) else [kept]:
            array[...] = 0
    assert wrong


@each_design
def test_the_first_wrong_bit_is_found_in_its_cycle(name):
    rng, engine, trace = random.Random(2), engine_of(name), recorded(name)
    interface, matters = trace.interface, engine.component.matters
    for pin in interface.observed:
        shown = trace["o.valid"] != 0 if pin not in HANDSHAKE else np.ones(600, dtype=bool)
        if pin in matters:
            shown &= trace[matters[pin]][:, 0] != 0
        wrong = rng.choice(np.flatnonzero(shown).tolist())
        columns = {name: column.copy() for name, column in trace.columns.items()}
        bit = 1 << rng.randrange(interface.pin(pin).parts[0][1])
        columns[pin][wrong] ^= columns[pin].dtype.type(bit)
        columns["o.valid"][wrong + 1 :: 9] ^= 1  # of several wrong cycles the first counts
        broken = Trace(interface, columns)
        golden = Golden(engine).expected(broken)
        columns = engine.component.mask_dont_cares(golden.columns, broken.columns)
        found = Window(0, broken, Trace(interface, columns)).difference()
        assert (found.cycle, found.pin.partition("[")[0]) == (wrong, pin)


# --- compiled and interpreted -------------------------------------------------------------------


def both_ways(monkeypatch, tried):
    """What something gives, interpreted and compiled."""
    pytest.importorskip("numba", reason="numba is not installed")
    results = []
    for wish in "never", "always":
        monkeypatch.setenv(COMPILED, wish)
        results.append(tried())
    return results


@each_design
def test_compiled_and_interpreted_expect_the_same(name, monkeypatch):
    assert_same(*both_ways(monkeypatch, lambda: expected(name, [100, 101, 333])))


def assert_same_outputs(one: Outputs, other: Outputs) -> None:
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, other.columns[name], name)
        assert column.dtype == other.columns[name].dtype
    np.testing.assert_array_equal(one.brought_by, other.brought_by)
    np.testing.assert_array_equal(one.cut, other.cut)


def in_two_parts(model: Transducer, items: Columns) -> list[Outputs]:
    half = len(items["i.last"]) // 2
    parts = slice(0, half), slice(half, None)
    none = np.zeros(len(items["i.last"]), dtype=bool)
    return [
        model.feed({name: column[part] for name, column in items.items()}, none[part])
        for part in parts
    ]


@each_rule
def test_compiled_and_interpreted_decode_the_same(profile, monkeypatch):
    rng, encodings, data = random.Random(1), boundary_encodings(profile), bytearray()
    while len(data) < 4000:
        sequence = rng.choice(encodings)
        data += rng.choice((sequence, sequence[: rng.randint(0, 8)], bytes([rng.choice(LEADS)])))
    items = {
        "i.data": np.frombuffer(bytes(data), dtype=np.uint8),
        "i.last": np.array([rng.random() < 0.1 for _ in data], dtype=np.uint8),
    }
    results = both_ways(monkeypatch, lambda: in_two_parts(DecoderModel(profile), items))
    for one, other in zip(*results, strict=True):
        assert_same_outputs(one, other)


@each_rule
def test_compiled_and_interpreted_encode_the_same(profile, monkeypatch):
    mask = (1 << profile.utf32_width) - 1
    values = [value & mask for value in (*boundary_values(profile), (1 << 64) - 1, 1 << 63)]
    items = {
        "i.code_point": np.array(values, dtype=np.uint64),
        "i.last": (np.arange(len(values)) % 5 == 0).astype(np.uint8),
    }
    results = both_ways(monkeypatch, lambda: in_two_parts(EncoderModel(profile), items))
    for one, other in zip(*results, strict=True):
        assert_same_outputs(one, other)


def test_two_tokens_of_one_byte_and_none_of_another():
    data = {"i.data": np.array([0xE2, 0x82, 0xFF], dtype=np.uint8)}
    items = data | {"i.last": np.array([0, 0, 1], dtype=np.uint8)}
    outputs = DecoderModel(PROFILES["unicode"]).feed(items, np.zeros(3, dtype=bool))
    assert outputs.brought_by.tolist() == [2, 2]
    assert outputs.cut.tolist() == [1, 0]
    assert {name: column.tolist() for name, column in outputs.columns.items()} == {
        "o.code_point": [0xFFFD, 0xFFFD],
        "o.error": [1, 1],
        "o.kind": [6, 2],
        "o.length": [2, 1],
        "o.last": [0, 1],
    }


def test_a_reset_forgets_what_is_pending():
    items = {
        "i.data": np.array([0xE2, 0x82, 0xAC], dtype=np.uint8),
        "i.last": np.zeros(3, dtype=np.uint8),
    }
    model = DecoderModel(PROFILES["unicode"])
    outputs = model.feed(items, np.array([False, True, False]))
    assert outputs.columns["o.kind"].tolist() == [1, 1]
    assert feed_all(model, items)["o.code_point"].tolist() == [0x20AC]


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        "",
        "--component encoder",
        "--lanes 4",
        "--component validator --lanes 4",
        "--component compactor --lanes 4",
        "--component transcoder --lanes 4",
    ],
)
def test_no_kernel_reads_or_writes_beyond_an_array(options):
    pytest.importorskip("numba", reason="numba is not installed")
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", COMPILED: "always"}
    command = [sys.executable, "-m", "utf8_flow", "compare", *options.split()]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
