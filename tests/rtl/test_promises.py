"""Both decoders' promises of every cycle, checked on what the pins show, not on the cycle model.

Self-synchronisation and reset are proved, in test_properties.py.
Every check is also shown to fail on a decoder that breaks the promise.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from altered import Altered
from reference import BOUNDARY_BYTES, ref_tokens
from rtl import BOTH, DECODERS, NO_STALLS, STALLS, broken, check_stream_rules, engine_of, rtl_trace
from utf8_hdl import (
    UNICODE,
    CompactDecoder,
    CompactEncoder,
    Compactor,
    Decoder,
    Encoder,
    Transcoder,
    Validator,
    WideDecoder,
)
from utf8_sim import simulate
from utf8_sim.components import component_of
from utf8_sim.engines.engine import HangError
from utf8_sim.stimulus import FixedStalls

HOSTILE = {
    "C2 41": b"\xc2A" * 50,
    "E0 80": b"\xe0\x80" * 50,
    "F0 90 80": b"\xf0\x90\x80" * 30,
    "F4 8F BF 41 ED A0": b"\xf4\x8f\xbfA\xed\xa0" * 20,
    "pairs": b"".join(bytes(pair) for pair in product(BOUNDARY_BYTES, repeat=2)),
}
TEXTS = st.lists(
    st.lists(st.sampled_from(BOUNDARY_BYTES), min_size=1, max_size=16).map(bytes),
    min_size=1,
    max_size=3,
)
PATTERN = st.lists(st.booleans(), max_size=60).map(tuple).map(FixedStalls)


def check_line_rate(trace: np.ndarray) -> None:
    """A byte can be accepted two cycles after each cycle in which the output did not stall."""
    waits = (trace["o.valid"] == 1) & (trace["o.ready"] == 0)
    assert trace["i.ready"][2:][~waits[:-2]].all()


def check_compact_line_rate(trace: np.ndarray) -> None:
    """A byte can be taken whenever the consumer is ready, but for the first cycle after reset."""
    assert trace["i.ready"][1:][trace["o.ready"][1:] == 1].all()


def check_lengths(trace: np.ndarray) -> None:
    """At any time tokens cover no more bytes than were accepted, and in the end all of them."""
    received = np.cumsum(trace["i.valid"] & trace["i.ready"], dtype=int)
    covered = np.cumsum(np.where(trace["o.valid"] & trace["o.ready"], trace["o.length"], 0))
    assert (covered[1:] <= received[:-1]).all()
    assert covered[-1] == received[-1]


def check_latency(texts: Sequence[bytes], trace: np.ndarray, compact: bool = False) -> None:
    """A token is there from the cycle on in which it must be, until it is taken; else none is."""
    accepts = np.flatnonzero(trace["i.valid"] & trace["i.ready"])
    enabled = enabled_cycles(trace)
    entered = np.searchsorted(enabled, accepts)  # for each byte in which of them
    expected = np.zeros(len(trace), dtype=np.uint8)
    free_from = 0
    ends = np.flatnonzero(trace["o.valid"] & trace["o.ready"])
    for (byte, needed), end in zip(decisions(texts), ends, strict=True):
        last = accepts[byte] if compact else enabled[entered[byte] + needed - 1]
        expected[max(last + 1, free_from) : end + 1] = 1
        free_from = end + 1
    assert np.array_equal(trace["o.valid"], expected)  # no lists, which pytest would compare


def enabled_cycles(trace: np.ndarray) -> np.ndarray:
    """But for the first, all cycles that do not follow a wait."""
    waits = (trace["o.valid"] == 1) & (trace["o.ready"] == 0)
    return np.flatnonzero(~waits[:-1]) + 1


def decisions(texts: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """For each token the byte that decides it, and after how many enabled stages it is out."""
    begin = 0
    for text in texts:
        for token in ref_tokens(text):
            end = token.offset + token.length
            restricted = token.error in ("overlong", "surrogate", "out-of-range")
            refused = restricted and text[token.offset] in b"\xe0\xed\xf0\xf4"
            is_cut = (token.error == "truncated" or refused) and end < len(text)
            yield (begin + end, 6) if is_cut else (begin + end - 1, 7)
        begin += len(text)


@pytest.mark.parametrize(
    "design",
    [Decoder(), CompactDecoder(), WideDecoder(), Encoder(), CompactEncoder(), Validator()],
    ids=lambda design: type(design).__name__,
)
def test_the_latency_of_the_gateware_is_that_of_the_golden_timing(design):
    assert design.latency == component_of(design).timing(design).latency


def check_promises(texts: Sequence[bytes], stalls, compact: bool) -> None:
    trace = rtl_trace(texts, stalls, engine_of(DECODERS[compact], UNICODE))
    line_rate = check_compact_line_rate if compact else check_line_rate
    for check in (line_rate, check_stream_rules, check_lengths):
        check(trace)
    check_latency(texts, trace, compact)


@BOTH
@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
def test_promises_under_stalls(stalls, compact):
    check_promises(
        [text for data in HOSTILE.values() for text in (data, data[:7])], stalls, compact
    )


@BOTH
@settings(max_examples=40, deadline=None)
@given(TEXTS, PATTERN, PATTERN)
def test_promises_under_any_stalls(compact, texts, input_stalls, output_stalls):
    check_promises(texts, (input_stalls, output_stalls), compact)


@pytest.mark.parametrize(
    ("data", "pauses", "cycles"),
    [
        pytest.param(b"A", (True,), [1 + 7], id="a byte"),
        pytest.param(b"\xe2\x82\xac", (True,), [3 + 7], id="the last of three"),
        pytest.param(b"\xc2A", (True,), [2 + 6, 2 + 7], id="one that cuts"),
        pytest.param(b"\xe0\x80", (True,), [2 + 6, 2 + 7], id="one that is refused"),
        pytest.param(b"A", (), [1 + 7], id="offered in the first cycle, accepted in the second"),
        pytest.param(b"AB", (False,) + (True,) * 50, [8, 51 + 7], id="although nothing follows"),
    ],
)
def test_latency_in_numbers(data, pauses, cycles):
    trace = rtl_trace([data], (FixedStalls(pauses), NO_STALLS))
    assert np.flatnonzero(trace["o.valid"]).tolist() == cycles


# --- components with lanes ----------------------------------------------------------------------

STALLED = st.lists(st.booleans(), min_size=1, max_size=40)
"""Stalls of the output from cycle 30 on, repeated."""

WITH_LANES = [WideDecoder(lanes=2), Validator(lanes=2), Compactor(lanes=2), Transcoder(lanes=2)]


def cycles_without_output(design, stalled: Sequence[bool]) -> int:
    """Cycles with a ready consumer between the first output and the last one.

    Full beats are offered in every cycle, and give full beats.
    """
    stalls = FixedStalls((False,) * 30 + tuple(stalled) * 2)
    trace = simulate(design, b"ab" * 120, output_stalls=stalls)
    first, *_, last = np.flatnonzero(trace["o.valid"])
    return int(((trace["o.valid"] == 0) & (trace["o.ready"] == 1))[first:last].sum())


@pytest.mark.parametrize("design", WITH_LANES, ids=lambda design: type(design).__name__)
@settings(max_examples=12, deadline=None)
@given(STALLED)
def test_after_any_stalls_there_is_an_output_in_every_cycle(design, stalled):
    assert cycles_without_output(design, stalled) == 0


@pytest.mark.parametrize(
    ("design", "good", "bad"),
    [
        (Validator(lanes=2), "self._control, PLACES", "self._control, PLACES - 1"),
        (Compactor(lanes=2), "self._control, PLACES * self._banks", "self._control, PLACES"),
        (Validator(lanes=2), "~self.next, ready", "~self.next, Const(1, 1)"),
    ],
)
def test_credit_that_is_too_low_is_found_out(design, good, bad):
    wrong = Altered((good, bad)).like(design)
    patterns = ([True] * stalled + [False] * 9 for stalled in (1, 2, 9))
    assert any(cycles_without_output(wrong, pattern) for pattern in patterns)


# --- the checks themselves ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "stalls", "flaw"),
    [
        (check_line_rate, "full rate", "half rate"),
        (check_line_rate, "slow consumer", "rate: a cycle lost after every pause"),
        (check_stream_rules, "both slow", "payload changes under stall"),
        (check_stream_rules, "both slow", "buffer: a full entry is filled"),
        (check_stream_rules, "both slow", "valid waits for ready"),
        (check_lengths, "both slow", "interrupting byte swallowed"),
        (check_lengths, "both slow", "interrupted sequence dropped"),
        (check_lengths, "both slow", "byte taken without room"),
        (check_lengths, "both slow", "byte taken that was not offered"),
        (check_lengths, "both slow", "skid: emptied by a stall of two cycles"),
        (check_lengths, "both slow", "buffer: the second token is forgotten"),
        (check_lengths, "both slow", "buffer: the same token again"),
        (check_compact_line_rate, "full rate", "compact: half rate"),
        (check_stream_rules, "both slow", "compact: moves while it is stalled"),
        (check_lengths, "both slow", "compact: interrupting byte swallowed"),
        (check_lengths, "both slow", "compact: a held byte again"),
    ],
)
def test_checks_fail_on_a_broken_decoder(check, stalls, flaw):
    with pytest.raises((AssertionError, HangError)):
        check(rtl_trace([HOSTILE["pairs"]], STALLS[stalls], broken(flaw)))


@pytest.mark.parametrize(
    ("stalls", "flaw"),
    [
        ("full rate", "enabled at once"),
        ("slow consumer", "half rate"),
        ("slow producer", "missed last: cut character kept"),
        ("both slow", "never stalled"),
    ],
)
def test_latency_fails_on_a_broken_decoder(stalls, flaw):
    texts = [HOSTILE["pairs"], b"A\xe2", b"B"]
    with pytest.raises((AssertionError, HangError, ValueError)):
        check_latency(texts, rtl_trace(texts, STALLS[stalls], broken(flaw)))
