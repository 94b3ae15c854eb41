"""Both encoders against CPython, their promises on the pins, and what UTF-8 promises of bytes."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
from amaranth.hdl import Signal
from hypothesis import given, settings
from hypothesis import strategies as st

from rtl import (
    ALL_RULES,
    BOTH,
    COMPACT_ENCODER_BREAKS,
    ENCODER_BREAKS,
    ENCODERS,
    ODD_PROFILES,
    STALLS,
    altered,
    broken,
    campaign_catches,
    check_stream_rules,
    engine_of,
    lockstep,
    rtl_encode,
    rtl_tokens,
    rtl_trace,
    taken,
)
from utf8_hdl import PROFILES, UNICODE, Encoder, ErrorSpan
from utf8_sim.campaign import boundary_values
from utf8_sim.engines.engine import HangError
from utf8_sim.stimulus import FixedStalls

LATENCY = {False: 7, True: 1}
RULES = ODD_PROFILES | {
    name: profile
    for name, profile in ALL_RULES.items()
    if profile.error_span is ErrorSpan.MAXIMAL_SUBPART
}
PATTERN = st.lists(st.booleans(), max_size=40).map(tuple).map(FixedStalls)
SCALARS = st.characters(exclude_categories=["Cs"])
OF_ALL_LENGTHS = "A\x7f\x80\u00a9\u07ff\u0800\u2260\ud7ff\ue000\ufffd\U00010000\U0010ffff"


@BOTH
@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
def test_text_is_encoded_as_in_cpython(compact, stalls):
    text = bytes(range(128)).decode() + OF_ALL_LENGTHS * 20
    assert rtl_encode([ord(c) for c in text], stalls, compact=compact) == (text.encode(), [])


@BOTH
@settings(max_examples=60, deadline=None)
@given(st.text(SCALARS, max_size=16), PATTERN, PATTERN)
def test_any_text_is_encoded_as_in_cpython_under_any_stalls(
    compact, text, input_stalls, output_stalls
):
    values = [ord(c) for c in text]
    stalls = input_stalls, output_stalls
    assert rtl_encode(values, stalls, compact=compact) == (text.encode(), [])


@BOTH
@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1), max_size=12), PATTERN, PATTERN)
def test_every_pin_is_as_predicted_under_any_stalls(compact, values, input_stalls, output_stalls):
    texts = [values] if values else []
    engine = engine_of(ENCODERS[compact], UNICODE)
    assert lockstep(texts, (input_stalls, output_stalls), engine) is None


@BOTH
@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_a_refused_value_gives_a_flagged_replacement(compact, profile):
    """A code point with a stray high bit is refused too, not cut to fit."""
    stray = [0x41 | 1 << bit for bit in range(profile.code_point_width, profile.utf32_width)]
    values = [0x41, 0xD800, 0x42, profile.highest + 1, 0x43, *stray]
    encoded, errors = rtl_encode(values, profile=profile, compact=compact)
    assert encoded == "A\ufffdB\ufffdC".encode() + "\ufffd".encode() * len(stray)
    assert errors == [1, 2, 3, 5, 6, 7, *range(9, 9 + 3 * len(stray))]


# --- promises on the pins -----------------------------------------------------------------------


def check_rate(trace: np.ndarray) -> None:
    """Between the first byte and the last there is a byte in every cycle."""
    shown = np.flatnonzero(trace["o.valid"])
    assert len(shown) == shown[-1] - shown[0] + 1


@BOTH
def test_one_byte_a_cycle_while_there_is_work(compact):
    trace = rtl_trace(
        [[ord(c) for c in OF_ALL_LENGTHS * 5]], design=engine_of(ENCODERS[compact], UNICODE)
    )
    check_rate(trace)
    assert trace["o.valid"].argmax() - trace["i.ready"].argmax() == LATENCY[compact]


@BOTH
@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
def test_stream_rules_and_last(compact, stalls):
    texts = [[ord(c) for c in OF_ALL_LENGTHS], [0x20AC], [0x41], [0xD800]]
    trace = rtl_trace(texts, stalls, engine_of(ENCODERS[compact], UNICODE))
    check_stream_rules(trace)
    last = np.flatnonzero(taken(trace)["o.last"]) + 1
    first_text = len(OF_ALL_LENGTHS.encode("utf-8"))
    assert last.tolist() == [first_text, first_text + 3, first_text + 4, first_text + 7]


@BOTH
@pytest.mark.parametrize(
    ("check", "flaw"),
    [(check_rate, "bubble after every byte"), (check_stream_rules, "byte changes under stall")],
)
def test_checks_fail_on_a_broken_encoder(compact, check, flaw):
    stalls = STALLS["full rate" if check is check_rate else "slow consumer"]
    design = broken(f"compact: {flaw}" if compact else flaw)
    with pytest.raises((AssertionError, HangError)):
        check(rtl_trace([[ord(c) for c in OF_ALL_LENGTHS * 3]], stalls, design))


def check_upset(design: Encoder, upset: int) -> None:
    """Whatever is in the state register at first, the bytes of the text are all there."""
    design.state = Signal(4, name="state", init=upset)
    text = OF_ALL_LENGTHS * 2
    trace = rtl_trace([[ord(c) for c in text]], STALLS["both slow"], design)
    assert bytes(taken(trace)["o.data"].tolist()).endswith(text.encode())


@BOTH
def test_no_state_lasts(compact):
    for upset in range(16):
        check_upset(ENCODERS[compact](), upset)


def test_check_fails_on_an_encoder_in_which_a_state_lasts():
    with pytest.raises(HangError):
        check_upset(altered("encoder", [("Cat(sends, lost)", "Cat(sends, 0)")])(), 0)


@BOTH
@pytest.mark.parametrize("profile", RULES.values(), ids=RULES)
def test_every_pin_in_every_cycle_for_all_rules(compact, profile):
    values = [*boundary_values(profile), *range(0xD7F0, 0xE010, 15)]
    values = [value for value in values if value < 1 << profile.utf32_width]
    design = ENCODERS[compact](profile)
    assert lockstep([values, values[::-1]], STALLS["both slow"], design) is None


@pytest.mark.parametrize("name", [*ENCODER_BREAKS, *COMPACT_ENCODER_BREAKS])
def test_campaign_catches_a_broken_encoder(name):
    assert campaign_catches(broken(name))


# --- what UTF-8 promises ------------------------------------------------------------------------


def sequences(values: list[int], profile) -> list[bytes]:
    """The encoding of each value, cut where the hardware begins a new character."""
    trace = taken(rtl_trace([[value] for value in values], design=engine_of(Encoder, profile)))
    ends = np.flatnonzero(trace["o.last"]) + 1
    data = bytes(trace["o.data"].tolist())
    return [data[first:end] for first, end in pairwise([0, *ends.tolist()])]


BOUNDARIES = {(1 << n) + s for n in range(43) for s in (-1, 0, 1)} - {0xFFFE, 0xFFFF} | {0x10FFFF}


def check_bytes(values: Iterable[int], profile) -> None:
    """The shape of each character, that bytes sort as code points do, and that they decode."""
    values = sorted({value for value in values if value <= profile.highest})
    encoded = sequences(values, profile)
    assert encoded == sorted(encoded)
    assert len(encoded) == len(values)
    for value, character in zip(values, encoded, strict=True):
        leading_ones = len(f"{character[0]:08b}".split("0")[0])
        assert len(character) == (leading_ones or 1)
        if value > 0x7F:
            assert min(character) > 0x7F, "an ASCII byte inside a longer character"
        assert all(0x80 <= byte <= 0xBF for byte in character[1:])
        if value < 1 << 31:
            assert max(character) < 0xFE
    tokens = rtl_tokens(b"".join(encoded), profile=profile)
    assert [(token.code_point, token.error) for token in tokens] == [(v, None) for v in values]


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_what_utf_8_promises_of_the_bytes_at_every_boundary(profile):
    check_bytes(BOUNDARIES, profile)


@settings(max_examples=40, deadline=None)
@given(st.text(SCALARS, min_size=1, max_size=8), st.data())
def test_losing_a_byte_harms_only_its_character(text, data):
    characters = [character.encode() for character in text]
    victim = data.draw(st.integers(0, len(characters) - 1))
    lost = data.draw(st.integers(0, len(characters[victim]) - 1))
    harmed = characters[victim][:lost] + characters[victim][lost + 1 :]
    before, after = text[:victim], text[victim + 1 :]
    tokens = rtl_tokens(before.encode() + harmed + after.encode())
    shown = [chr(token.code_point) for token in tokens]
    assert shown[: len(before)] == list(before)
    assert shown[len(shown) - len(after) :] == list(after)
    assert all(token.error for token in tokens[len(before) : len(tokens) - len(after)])
