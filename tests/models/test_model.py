"""Golden model of every pin: independent of windows; compiled equals interpreted."""

import os
import random
import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hostile import LEADS
from modelled import DESIGNS, record
from rtl import ODD_PROFILES, STALLS, lockstep
from utf8_hdl import PROFILES, ErrorSpan, Profile
from utf8_sim.campaign import boundary_encodings, boundary_values
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.engine import Engine
from utf8_sim.golden.decoder import DecoderModel
from utf8_sim.golden.encoder import EncoderModel
from utf8_sim.golden.kernels import COMPILED
from utf8_sim.golden.model import MET, Outputs, Transducer
from utf8_sim.lockstep import HANDSHAKE, Golden, Window
from utf8_sim.trace import Columns, Trace

each_design = pytest.mark.parametrize("name", DESIGNS)
RULES = PROFILES | ODD_PROFILES


@cache
def engine_of(name: str) -> Engine:
    return AmaranthEngine(DESIGNS[name]())


@cache
def recorded(name: str) -> Trace:
    """A run of the gateware that matches the model: hostile inputs, stalls and resets."""
    trace, difference = record(engine_of(name))
    assert difference is None
    assert len(trace) == 600
    return trace


def expected(name: str, cuts: list[int]) -> Trace:
    """The trace that the model expects, computed in windows."""
    model, trace = Golden(engine_of(name)), recorded(name)
    windows = pairwise([0, *cuts, len(trace)])
    return Trace.join([model.expected(trace[begin:end]) for begin, end in windows])


def assert_same(one: Trace, other: Trace) -> None:
    for pin in (*one.interface.observed, MET):
        np.testing.assert_array_equal(one[pin], other[pin], pin)


@pytest.mark.sample(1)
@each_design
@given(cuts=st.lists(st.integers(0, 600), max_size=12).map(sorted))
@example(cuts=list(range(600)))
def test_windows_do_not_affect_expectation(name, cuts):
    assert_same(expected(name, cuts), expected(name, []))


@pytest.mark.parametrize(
    ("forgotten", "name"), [("_waiting", "decoder"), ("_state", "encoder"), ("_queue", "compactor")]
)
def test_state_lost_between_windows_is_detected(forgotten, name):
    model, trace, wrong = Golden(engine_of(name)), recorded(name), False
    for begin in range(0, 600, 5):
        part = trace[begin : begin + 5]
        wrong |= Window(begin, part, model.expected(part)).difference() is not None
        kept = getattr(model._model, forgotten)
        for array in kept.values() if isinstance(kept, dict) else [kept]:
            array[...] = 0
    assert wrong


@pytest.mark.sample(3)
@each_design
def test_first_wrong_bit_is_located(name):
    rng, engine, trace = random.Random(2), engine_of(name), recorded(name)
    interface, matters = trace.interface, engine.component.dont_care_unless
    for pin in interface.observed:
        shown = trace["o.valid"] != 0 if pin not in HANDSHAKE else np.ones(600, dtype=bool)
        if pin in matters:
            shown &= trace[matters[pin]][:, 0] != 0
        wrong = rng.choice(np.flatnonzero(shown).tolist())
        columns = {name: column.copy() for name, column in trace.columns.items()}
        bit = 1 << rng.randrange(interface.pin(pin).parts[0][1])
        columns[pin][wrong] ^= columns[pin].dtype.type(bit)
        columns["o.valid"][wrong + 1 :: 9] ^= 1  # later differences are not reported
        broken = Trace(interface, columns)
        golden = Golden(engine).expected(broken)
        columns = engine.component.mask_dont_cares(golden.columns, broken.columns)
        found = Window(0, broken, Trace(interface, columns)).difference()
        assert (found.cycle, found.pin.partition("[")[0]) == (wrong, pin)


# --- compiled and interpreted -------------------------------------------------------------------


def both_ways(monkeypatch, compute):
    """The results of a function with interpreted and with compiled kernels."""
    pytest.importorskip("numba", reason="numba is not installed")
    results = []
    for wish in "never", "always":
        monkeypatch.setenv(COMPILED, wish)
        results.append(compute())
    return results


@pytest.mark.sample(1)
@each_design
def test_compiled_expectation_equals_interpreted(name, monkeypatch):
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


def boundary_bytes(profile: Profile, size: int) -> bytes:
    """Encodings of boundary values, some of them cut, and lead bytes."""
    rng, encodings, data = random.Random(size), boundary_encodings(profile), b""
    while len(data) < size:
        sequence = rng.choice(encodings)
        data += rng.choice((sequence, sequence[: rng.randint(0, 8)], bytes([rng.choice(LEADS)])))
    return data[:size]


@pytest.mark.sample(2)
@pytest.mark.parametrize("profile", RULES.values(), ids=RULES)
@pytest.mark.parametrize("model", [DecoderModel, EncoderModel])
def test_compiled_model_equals_interpreted(model, profile, monkeypatch):
    if model is DecoderModel:
        items = {"i.data": np.frombuffer(boundary_bytes(profile, 4000), dtype=np.uint8)}
    else:
        values = np.array([*boundary_values(profile), (1 << 64) - 1, 1 << 63], dtype=np.uint64)
        items = {"i.code_point": values & ((1 << profile.utf32_width) - 1)}
    [column] = items.values()
    items["i.last"] = (np.random.default_rng(1).random(len(column)) < 0.1).astype(np.uint8)
    results = both_ways(monkeypatch, lambda: in_two_parts(model(profile), items))
    for one, other in zip(*results, strict=True):
        assert_same_outputs(one, other)


@pytest.mark.long
@pytest.mark.parametrize("options", ["", "--component encoder", "--component transcoder --lanes 4"])
def test_kernels_stay_within_arrays(options):
    pytest.importorskip("numba", reason="numba is not installed")
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", COMPILED: "always"}
    command = [sys.executable, "-m", "utf8_flow", "compare", *options.split()]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


# --- profiles that have no recorded proof -------------------------------------------------------

UNPROVED = ODD_PROFILES | {
    f"{name}, {'surrogates' if surrogates else 'noncharacters'} accepted": replace(
        profile,
        accept_surrogates=surrogates,
        accept_noncharacters=not surrogates,
        error_span=ErrorSpan.WHOLE_SEQUENCE,
    )
    for name, profile in PROFILES.items()
    for surrogates in (True, False)
}


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("name", "rules"),
    [
        *product(("decoder of 2 lanes", "validator"), [*UNPROVED][::4]),  # these take seconds
        *product(("decoder", "compact decoder"), UNPROVED),
    ],
)
def test_decoder_matches_golden_model(name, rules):
    texts = [boundary_bytes(UNPROVED[rules], size) for size in (1, 2, 3, 5, 8, 1000)]
    engine = AmaranthEngine(DESIGNS[name](UNPROVED[rules]))
    assert lockstep(texts, STALLS["both slow"], engine) is None
