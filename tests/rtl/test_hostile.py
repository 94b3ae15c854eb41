"""Random stimuli, stalls and coverage counters of `utf8-hdl compare --cycles`."""

from functools import partial, reduce
from itertools import groupby, islice

import numpy as np
import pytest

from dense import packed
from rtl import DESIGNS
from toys import registered
from upper import UPPER, Upper
from utf8_hdl import (
    UCS4,
    UNICODE,
    Compactor,
    Decoder,
    Encoder,
    EncodingScheme,
    ErrorKind,
    Transcoder,
    Validator,
    WideDecoder,
)
from utf8_sim.campaign import byte_classes
from utf8_sim.components import component_of
from utf8_sim.components.encoder import value_classes
from utf8_sim.coverage import IN_A_ROW, Coverage, Sequences
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.fuzz import LONG_RUN
from utf8_sim.golden.decoder import DecoderModel, Rules
from utf8_sim.golden.encoder import kind_of
from utf8_sim.golden.model import feed_all
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import LAST, STRETCH, ChangingStalls, RandomStalls, Stimulus
from utf8_sim.trace import Columns

EVERY = DESIGNS | {
    "decoder, 4 lanes": partial(WideDecoder, lanes=4),
    "validator, 16 lanes": partial(Validator, lanes=16),
    "compactor": lambda profile: Compactor(lanes=4),
    "transcoder": partial(Transcoder, lanes=4),
    "transcoder from UTF-16": partial(
        Transcoder, source=EncodingScheme.UTF_16LE, target=EncodingScheme.UTF_8, lanes=4
    ),
    "transcoder from UTF-32": partial(
        Transcoder, source=EncodingScheme.UTF_32BE, target=EncodingScheme.UTF_16LE, lanes=8
    ),
}
"""Designs of all components, by profile."""

every_design = pytest.mark.parametrize("design", EVERY.values(), ids=EVERY)


def drawn(design, pieces: int = 40, seed: int = 0) -> Columns:
    """The inputs of the first pieces."""
    stimulus = component_of(design).fuzz(design, np.random.default_rng(seed))
    return packed(design, *islice(stimulus, pieces))


@pytest.mark.sample(4)
@every_design
def test_seed_decides_stimuli(design):
    first, again, other = (drawn(design(UNICODE), 2, seed) for seed in (1, 1, 2))
    for name, column in first.items():
        assert (column == again[name]).all()
    data = next(iter(first))
    size = min(len(first[data]), len(other[data]))
    assert (first[data][:size] != other[data][:size]).any()


def assert_texts_of_all_lengths(lasts: np.ndarray) -> None:
    lengths = np.diff(np.flatnonzero(lasts))
    assert {1, 2, 3, 4, 5, 7, 8, 9} <= {*lengths.tolist()}
    assert lengths.max() > 5000


def longest_runs(values: np.ndarray) -> dict[int, int]:
    """The longest run of each value."""
    longest: dict[int, int] = {}
    for value, run in groupby(values.tolist()):
        longest[value] = max(longest.get(value, 0), len(list(run)))
    return longest


@pytest.mark.long
@pytest.mark.parametrize("profile", [UNICODE, UCS4], ids=lambda profile: profile.name)
def test_random_bytes(profile):
    items = drawn(Decoder(profile), 120)
    assert_texts_of_all_lengths(items[LAST])
    tokens = feed_all(DecoderModel(profile), items)
    impossible = {ErrorKind.NONCHARACTER} if profile is UNICODE else {ErrorKind.OUT_OF_RANGE}
    assert {ErrorKind(kind) for kind in np.unique(tokens["o.kind"])} == {*ErrorKind} - impossible
    for length in range(1, profile.longest_form + 1):
        chosen = (tokens["o.length"] == length) & (tokens["o.kind"] == 0)
        values = tokens["o.code_point"][chosen].tolist()
        assert len({*values}) > 100
        bits = reduce(int.__or__, values) & ~reduce(int.__and__, values)  # bits that differ
        free = {1: 7, 2: 11, 3: 16, 4: 20}.get(length, 5 * length + 1)
        assert bits & (1 << free) - 1 == (1 << free) - 1
    runs = longest_runs(items["i.data"])
    for members in byte_classes(profile):
        assert runs[members[0]] >= LONG_RUN
        assert runs[members[-1]] >= LONG_RUN


@pytest.mark.sample(1)
@pytest.mark.parametrize("profile", [UNICODE, UCS4], ids=lambda profile: profile.name)
def test_random_code_points(profile):
    items = drawn(Encoder(profile))
    assert_texts_of_all_lengths(items[LAST])
    values = items["i.code_point"]
    for members in value_classes(profile):
        inside = (values >= members[0]) & (values <= members[-1])
        assert {members[0], members[-1]} <= {*values[inside].tolist()}
    refused = np.array(
        [kind_of(value, Rules.of(profile)) != 0 for value in values[:10_000].tolist()]
    )
    assert 0.1 < refused.mean() < 0.9
    assert np.bitwise_or.reduce(values) == 2**32 - 1
    assert max(longest_runs(values).values()) >= LONG_RUN


@pytest.mark.parametrize("lanes", [1, 8])
def test_random_beats(lanes):
    items = drawn(Validator(lanes=lanes))
    keep, last = items["i.keep"].reshape(-1, lanes), items[LAST] != 0
    counts = keep.sum(axis=1)
    assert {*counts[last].tolist()} == {*range(lanes + 1)}
    begins = np.append(True, last[:-1])
    assert (last & begins & (counts == 0)).any()  # an empty text
    assert (last & ~begins & (counts == 0)).any()  # a text that ends in an empty beat
    assert (~last & (counts < lanes)).any()
    if lanes > 1:
        assert (np.diff(keep.astype(int), axis=1) > 0).any()  # holes


def test_random_lanes():
    items = drawn(Compactor(lanes=4))
    patterns = items["i.keep"] @ (1 << np.arange(4))
    assert {*patterns.tolist()} == {*range(16)}
    assert {*patterns[items[LAST] != 0].tolist()} == {*range(16)}
    assert max(longest_runs(patterns).values()) > 20


@pytest.mark.long
@pytest.mark.parametrize(("source", "unit"), [("utf-16le", "<u2"), ("utf-32be", ">u4")])
def test_random_units(source, unit):
    design = Transcoder(source=EncodingScheme(source), target=EncodingScheme.UTF_8, lanes=8)
    size = np.dtype(unit).itemsize
    items = drawn(design, 60)
    keep, last = items["i.keep"], items[LAST] != 0
    assert {*(keep.sum(axis=1)[last] % size).tolist()} == {*range(size)}  # bytes left over
    full = keep.all(axis=1)
    units = items["i.data"][full].copy().view(unit).ravel()
    is_high, is_low = units >> 10 == 0xD8 >> 2, units >> 10 == 0xDC >> 2
    for first in (is_high, is_low):
        for second in (is_high, is_low, ~is_high & ~is_low):
            assert (first[:-1] & second[1:]).any()
    begins = np.append(True, last[:-1])[full]
    firsts = {*units.reshape(-1, 8 // size)[begins, 0].tolist()}
    assert {0xFEFF, 0xFFFE if size == 2 else 0xFFFE0000} <= firsts
    assert np.bitwise_or.reduce(units) == 2 ** (8 * size) - 1
    assert units.min() == 0


def test_default_stimuli_of_a_component():
    with registered():
        items = drawn(Upper())
        assert {*items["i.data"].tolist()} == {*range(256)}
        assert_texts_of_all_lengths(items[LAST])
        pieces = UPPER.fuzz(Upper(), np.random.default_rng(0))
        assert Lockstep(AmaranthEngine(Upper()), Stimulus(pieces, cycles=2000)).run() is None


def test_changing_stalls_are_independent_of_windows():
    rates = 0.0, 0.5, 0.99
    stalls = ChangingStalls(rates, seed=(5, 1))
    long = next(stalls.windows(20 * STRETCH))
    for size in (100, 1000, STRETCH, 3 * STRETCH // 2):
        windows = islice(stalls.windows(size), len(long) // size)
        short = np.concatenate(list(windows))
        assert (long[: len(short)] == short).all()
    found = long.reshape(20, STRETCH).mean(axis=1)
    nearest = [min(rates, key=lambda rate, share=share: abs(rate - share)) for share in found]
    assert {*nearest} == {*rates}
    assert np.abs(found - nearest).max() < 0.05
    assert not (long == next(ChangingStalls(rates, seed=(6, 1)).windows(len(long)))).all()


def covered(engine, seed: int) -> Coverage:
    coverage = engine.component.coverage(engine)
    pieces = engine.component.fuzz(engine.design, np.random.default_rng(seed))
    for trace in Lockstep(engine, Stimulus(pieces, RandomStalls(0.3, seed), cycles=300)):
        coverage.add(trace)
    return coverage


@pytest.mark.sample(1)
@every_design
def test_merged_coverage(design):
    engine = AmaranthEngine(design(UNICODE))
    first, second = covered(engine, 1), covered(engine, 2)
    merged = engine.component.coverage(engine)
    for each in (first, second):
        merged.merge(each.counts)
    assert first.cells.sum() > 0
    assert (merged.cells == first.cells + second.cells).all()
    assert merged.waiting_inputs == first.waiting_inputs + second.waiting_inputs
    assert merged.waiting_outputs == first.waiting_outputs + second.waiting_outputs
    assert {*merged.gaps()} == {*first.gaps()} & {*second.gaps()}


def sequences_of(engine, stimulus: Stimulus) -> Sequences:
    sequences = Sequences(engine.component.coverage(engine))
    for trace in engine.run(stimulus):
        sequences.add(trace)
    return sequences


def test_sequences_of_classes_and_ends():
    engine = AmaranthEngine(Decoder())
    stimulus = Stimulus([(b"A\x80", True), (b"\xff", True)])
    sequences = sequences_of(engine, stimulus)
    base = len(byte_classes(UNICODE)) + 1
    a, continuation, invalid = 1, 2, base - 1
    digits = [0] * (IN_A_ROW - 1) + [a, continuation, 0, invalid, 0]
    numbers = {
        sum(digit * base ** (3 - place) for place, digit in enumerate(digits[begin : begin + 4]))
        for begin in range(5)
    }
    assert {*np.flatnonzero(sequences.seen).tolist()} == numbers
    assert len(sequences.seen) == 2 * base**IN_A_ROW

    waited = sequences_of(engine, Stimulus([(b"A" * 50, True)], output_stalls=RandomStalls(0.5, 1)))
    again = a * (1 + base + base**2 + base**3)
    assert waited.seen[again]
    assert waited.seen[again + base**IN_A_ROW]


@pytest.mark.long
def test_sequences_are_independent_of_windows(monkeypatch):
    design = Validator(lanes=4)
    pieces = list(islice(component_of(design).fuzz(design, np.random.default_rng(0)), 1))
    stimulus = Stimulus(pieces, RandomStalls(0.3, 1), RandomStalls(0.3, 2), cycles=1000)
    whole = sequences_of(AmaranthEngine(design), stimulus)
    monkeypatch.setattr(AmaranthEngine, "window", 64)
    parts = sequences_of(AmaranthEngine(design), stimulus)
    assert whole.seen.sum() > 100
    assert (whole.seen == parts.seen).all()
    merged = Sequences(AmaranthEngine(design).component.coverage(AmaranthEngine(design)))
    merged.merge(whole.seen)
    merged.merge(np.zeros_like(whole.seen))
    assert (merged.seen == whole.seen).all()
