"""The campaign reaches what it must, and its classes of bytes are true."""

from itertools import product

import pytest

from rtl import DESIGNS, STALLS, quick_engine
from utf8_hdl import PROFILES, UNICODE, Decoder
from utf8_sim.campaign import (
    beginnings,
    boundary_encodings,
    byte_classes,
    class_name,
    toggled_values,
)
from utf8_sim.components.decoder import decoder_campaign
from utf8_sim.components.encoder import value_classes
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.golden.text import TextModel, encode
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import Stimulus

profiles = pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)


def test_classes_of_unicode_are_those_of_table_3_7_and_those_of_the_encoder():
    assert [class_name(members) for members in byte_classes(UNICODE)] == [
        "00..7F", "80..8F", "90..9F", "A0..BF", "C0..C1", "C2..DF", "E0", "E1..EC", "ED",
        "EE..EF", "F0", "F1..F3", "F4", "F5..F7", "F8..FD", "FE..FF",
    ]  # fmt: skip

    assert [class_name(members) for members in value_classes(UNICODE)] == [
        "00..7F", "80..7FF", "800..D7FF", "D800..DFFF", "E000..FFFF", "10000..10FFFF",
        "110000..FFFFFFFF",
    ]  # fmt: skip


@pytest.mark.sample(1)
@profiles
def test_bytes_of_a_class_do_the_same_after_any_beginning(profile):
    classes = byte_classes(profile)
    assert [byte for members in classes for byte in members] == list(range(256))

    def effect(start: bytes, byte: int, tail: bytes):
        model = TextModel(profile)
        tokens = [token for value in (*start, byte, *tail) for token in model.feed(value)]
        return [(token.kind, token.length) for token in tokens], len(model.pending)

    tails = sorted({encoding[1:3] for encoding in boundary_encodings(profile)})
    for members, start, tail in product(classes, beginnings(profile), tails):
        assert effect(start, members[0], tail) == effect(start, members[-1], tail)


def test_boundaries_of_unicode_are_tried():
    tried = set(boundary_encodings(UNICODE))
    for text in [
        "\x7f", "\x80", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\ufffd", "\ufffe", "\uffff",
        "\U00010000", "\U0010ffff",
    ]:  # fmt: skip
        assert text.encode() in tried
    for wrong in ["C080", "C1BF", "E08080", "E09FBF", "EDA080", "EDBFBF", "F08FBFBF", "F4908080"]:
        assert bytes.fromhex(wrong) in tried


@profiles
def test_every_bit_of_a_value_is_seen_at_both_levels(profile):
    values = toggled_values(profile)
    longest = [value for value in values if len(encode(value)) == profile.longest_form]
    for bit in range(profile.code_point_width):
        free = bit < profile.code_point_width - 1 or profile is not UNICODE
        assert any(value >> bit & 1 for value in longest)
        assert not free or any(~value >> bit & 1 for value in longest)


def test_another_seed_gives_other_random_bytes_and_the_same_seed_the_same():
    first, again, other = (
        list(decoder_campaign(Decoder(), seed)[-1].pieces()) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.sample
@profiles
@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_campaign_agrees_and_leaves_no_gap(design, profile):
    engine = quick_engine(design(profile))
    coverage = engine.component.coverage(engine)
    parts = engine.component.campaign(engine.design, 0)
    for part, stalls in product(parts, ["full rate", "slow producer"]):
        lockstep = Lockstep(engine, Stimulus(part.pieces(), *STALLS[stalls]))
        for trace in lockstep:
            coverage.add(trace)
        assert lockstep.difference is None
    assert coverage.gaps() == []


def test_coverage_counts_what_a_trace_shows():
    engine = AmaranthEngine(Decoder())
    coverage = engine.component.coverage(engine)
    stimulus = Stimulus([(b"A\xe2\x82\xac\xc0", True)])
    for trace in Lockstep(engine, stimulus):
        coverage.add(trace)
    cells = {
        (class_name(coverage.classes[row]), coverage.columns[column]): int(count)
        for (row, column), count in zip(
            product(range(16), range(4)), coverage.cells.flat, strict=True
        )
        if count
    }
    assert cells == {
        ("00..7F", "START"): 1,
        ("E1..EC", "START"): 1,
        ("80..8F", "NEED_2"): 1,
        ("A0..BF", "NEED_1"): 1,
        ("C0..C1", "START"): 1,
    }
    assert len(coverage.gaps()) == 16 * 4 - 5
    assert "00..7F" in coverage.gaps()[0]
    assert coverage.tokens[0, 1] == coverage.tokens[0, 3] == coverage.tokens[3, 1] == 1
    assert coverage.tokens.sum() == 3
