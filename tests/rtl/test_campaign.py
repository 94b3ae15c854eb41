"""The built-in campaign: its classes, its boundaries, and its coverage."""

from functools import partial
from itertools import product

import numpy as np
import pytest

from rtl import STALLS, quick_engine
from utf8_hdl import (
    EXTENDED,
    PROFILES,
    UCS4,
    UNICODE,
    CompactDecoder,
    CompactEncoder,
    Compactor,
    Decoder,
    Encoder,
    EncodingScheme,
    Transcoder,
    Validator,
    WideDecoder,
)
from utf8_sim.campaign import (
    beginnings,
    boundary_encodings,
    byte_classes,
    campaign_modes,
    class_name,
    runs,
    toggled_values,
)
from utf8_sim.components.decoder import decoder_campaign
from utf8_sim.components.encoder import value_classes
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.engine import IDLE_ROWS
from utf8_sim.golden.decoder import DecoderModel
from utf8_sim.golden.encoder import encode_as
from utf8_sim.golden.model import feed_all
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import LAST, Stimulus


def test_value_classes_of_unicode():
    assert [class_name(members) for members in value_classes(UNICODE)] == [
        "00..7F", "80..7FF", "800..D7FF", "D800..DFFF", "E000..FFFF", "10000..10FFFF",
        "110000..FFFFFFFF",
    ]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("profile", [UNICODE, EXTENDED], ids=lambda profile: profile.name)
def test_bytes_of_a_class_are_equivalent(profile):
    classes = byte_classes(profile)
    assert [byte for members in classes for byte in members] == list(range(256))

    def effect(start: bytes, byte: int, tail: bytes):
        model, data = DecoderModel(profile), np.array([*start, byte, *tail], dtype=np.uint8)
        tokens = feed_all(model, {"i.data": data, "i.last": np.zeros_like(data)})
        return tokens["o.kind"].tolist(), tokens["o.length"].tolist(), model.pending

    tails = sorted({encoding[1:3] for encoding in boundary_encodings(profile)})
    several = [members for members in classes if len(members) > 1]
    for members, start, tail in product(several, beginnings(profile), tails):
        assert effect(start, members[0], tail) == effect(start, members[-1], tail)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_toggled_values_cover_every_bit(profile):
    values = toggled_values(profile)
    longest = [value for value in values if len(encode_as(value)) == profile.longest_form]
    for bit in range(profile.code_point_width):
        free = bit < profile.code_point_width - 1 or profile is not UNICODE
        assert any(value >> bit & 1 for value in longest)
        assert not free or any(~value >> bit & 1 for value in longest)


def test_seed_decides_random_bytes():
    first, again, other = (
        list(decoder_campaign(Decoder(), seed)[-1].pieces()) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def campaign_coverage(engine, modes=None, left_out=(), seed=0):
    """Coverage of the campaign without some of its parts; there must be no difference."""
    coverage = engine.component.coverage(engine)
    parts = engine.component.campaign(engine.design, seed)
    for part, mode in runs(parts, modes or campaign_modes(seed)):
        if part.name not in left_out:
            coverage.reset()  # of the state at the end of the last run
            lockstep = Lockstep(engine, mode.stimulus(part))
            for trace in lockstep:
                coverage.add(trace)
            assert lockstep.difference is None
    return coverage


FROM_UTF8 = partial(Transcoder, lanes=4, strip_bom=True)
TO_UTF8 = partial(Transcoder, lanes=4, source=EncodingScheme.UTF_16LE, target=EncodingScheme.UTF_8)


@pytest.mark.long
@pytest.mark.parametrize(
    ("design", "seed"),
    [
        (CompactDecoder(UCS4), 0),
        (Decoder(), 0),
        (Encoder(EXTENDED), 0),
        (CompactEncoder(), 0),
        (WideDecoder(lanes=4), 0),
        (Validator(lanes=2), 1),
        (Compactor(lanes=2), 0),
        (FROM_UTF8(), 1),
        (TO_UTF8(), 0),
    ],
    ids=lambda value: None if isinstance(value, int) else type(value).__name__,
)
def test_campaign_agrees_without_gaps(design, seed):
    assert campaign_coverage(quick_engine(design), seed=seed).gaps() == []


SINGLE_BITS = (
    "every bit alone",
    "boundaries with one bit inverted",
    "every plane with every low half",
)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("design", "left_out", "empty"),
    [
        (Decoder, "resets", "reset with in flight x 0"),
        (Decoder, "idle values", "value on the idle bus x 80..8F"),
        (partial(Compactor, lanes=2), "no value after many beats", "no value in mid-text"),
        (Encoder, SINGLE_BITS, "value with one bit x 20"),
        (
            partial(Validator, lanes=2),
            "first errors far away",
            "first error at byte x 262144..524287",
        ),
        (FROM_UTF8, "a byte order mark in every beat", "byte order mark after beats x 256"),
    ],
)
def test_cover_point_needs_its_stimuli(design, left_out, empty):
    engine = quick_engine(design())
    modes = campaign_modes(0)[: -1 if left_out == "resets" else None]
    if left_out == "idle values":
        idle = {pin.name: np.zeros_like(pin.column(1)) for pin in engine.interface.inputs}
        zeros = np.zeros(1, dtype=np.int32)
        vars(engine).update(idle_payloads=idle, idle_order=lambda seed: zeros)
    names = [left_out] if isinstance(left_out, str) else left_out
    gaps = campaign_coverage(engine, modes, names).gaps()
    assert any(gap.startswith(empty) for gap in gaps)


@pytest.mark.parametrize("design", [Decoder(), Compactor(lanes=4)], ids=["bytes", "lanes"])
def test_idle_payloads_half_hostile(design):
    """The first half of the payloads on an idle bus are the first hostile inputs."""
    engine = AmaranthEngine(design)
    hostile = {name: column[:IDLE_ROWS] for name, column in engine.idle_payloads.items()}
    assert {len(column) for column in engine.idle_payloads.values()} == {2 * IDLE_ROWS}
    inputs = engine.items(Stimulus(engine.component.fuzz(design, np.random.default_rng(0))))
    first = next(columns for columns in inputs if len(columns[LAST]))
    for name, column in hostile.items():
        assert np.array_equal(column, first[name][:IDLE_ROWS])


@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
def test_coverage_of_a_trace(stalls):
    engine = AmaranthEngine(Decoder())
    coverage = engine.component.coverage(engine)
    stimulus = Stimulus([(b"A\xe2\x82\xac\xc0", True)], *stalls)
    for trace in Lockstep(engine, stimulus):
        coverage.add(trace)
    assert coverage.cells.shape == (16, 4)
    assert {
        (class_name(coverage.classes[row]), coverage.columns[column]): coverage.cells[row, column]
        for row, column in np.argwhere(coverage.cells)
    } == {
        ("00..7F", "START"): 1,
        ("E1..EC", "START"): 1,
        ("80..8F", "NEED_2"): 1,
        ("A0..BF", "NEED_1"): 1,
        ("C0..C1", "START"): 1,
    }
    of_states = [gap for gap in coverage.gaps() if gap.split(" x ")[1] in coverage.columns]
    assert len(of_states) == 16 * 4 - 5 + len(coverage.labels["reset in state"])
    assert "00..7F" in coverage.gaps()[0]
    assert coverage.tokens[0, 1] == coverage.tokens[0, 3] == coverage.tokens[3, 1] == 1
    assert coverage.tokens.sum() == 3
