"""The decoder's five promises, each checked on what the pins show, not on the cycle model.

Every check is also shown to fail on a decoder that breaks the promise.
"""

from itertools import pairwise, product

import numpy as np
import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import BOUNDARY_BYTES, ref_tokens
from rtl import NO_STALLS, STALLS, accepted, broken, rtl_trace, taken
from utf8_hdl import Decoder
from utf8_sim.engine import HangError
from utf8_sim.stimulus import FixedStalls

HOSTILE = {
    "C2 41": b"\xc2A" * 50,
    "E0 80": b"\xe0\x80" * 50,
    "F0 90 80": b"\xf0\x90\x80" * 30,
    "F4 8F BF 41 ED A0": b"\xf4\x8f\xbfA\xed\xa0" * 20,
    "pairs": b"".join(bytes(pair) for pair in product(BOUNDARY_BYTES, repeat=2)),
}
hostile = pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
OUTPUT_PINS = ["o.valid", "o.code_point", "o.error", "o.kind", "o.length", "o.last"]


def check_line_rate(trace: np.ndarray) -> None:
    assert trace["i.ready"][trace["o.ready"] == 1].all()


def check_stream_rules(trace: np.ndarray) -> None:
    """Once valid, payload and valid hold until taken."""
    for now, following in pairwise(trace[[*OUTPUT_PINS, "o.ready"]]):
        if now["o.valid"] and not now["o.ready"]:
            assert now[OUTPUT_PINS] == following[OUTPUT_PINS]


def check_lengths(trace: np.ndarray) -> None:
    """At any time tokens cover no more bytes than were accepted, and in the end all of them."""
    received = np.cumsum(trace["i.valid"] & trace["i.ready"], dtype=int)
    covered = np.cumsum(np.where(trace["o.valid"] & trace["o.ready"], trace["o.length"], 0))
    assert (covered[1:] <= received[:-1]).all()
    assert covered[-1] == received[-1]


def check_latency(data: bytes, trace: np.ndarray) -> None:
    """A token is there one cycle after the byte that decides it, or two behind another token."""
    received = np.flatnonzero(trace["i.valid"] & trace["i.ready"])
    shown = np.flatnonzero(trace["o.valid"])
    tokens = ref_tokens(data)
    assert len(shown) == len(tokens)
    for token, cycle, previous in zip(tokens, shown, [-1, *shown[:-1]], strict=True):
        decided_by = token.offset + token.length - 1
        restricted = token.error in ("overlong", "surrogate", "out-of-range")
        cut = token.error == "truncated" or (
            restricted and data[token.offset] in b"\xe0\xed\xf0\xf4"
        )
        if cut and decided_by + 1 < len(data):
            decided_by += 1
        latency = cycle - received[decided_by]
        assert latency == 1 or (latency == 2 and previous == cycle - 1)


@hostile
def test_line_rate(data):
    trace = rtl_trace([data])
    check_line_rate(trace)
    assert trace["i.valid"][: len(data)].all()
    assert len(accepted(trace[: len(data)])) == len(data)


@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
@hostile
def test_promises_under_stalls(data, stalls):
    trace = rtl_trace([data, data[:7]], stalls)
    check_line_rate(trace)
    check_stream_rules(trace)
    check_lengths(trace)


@hostile
def test_latency_at_full_rate(data):
    check_latency(data, rtl_trace([data]))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(BOUNDARY_BYTES), min_size=1, max_size=16).map(bytes),
    st.lists(st.booleans(), max_size=40).map(tuple),
)
def test_latency_with_any_gaps_in_the_input(data, gaps):
    check_latency(data, rtl_trace([data], (FixedStalls(gaps), NO_STALLS)))


def test_ascii_byte_comes_out_although_nothing_follows():
    trace = rtl_trace([b"AB"], (FixedStalls((False,) + (True,) * 50), NO_STALLS))
    assert trace["o.valid"][1]
    assert trace["o.code_point"][1] == ord("A")
    assert not trace["i.valid"][1]


def test_valid_and_payload_do_not_depend_on_ready_within_a_cycle():
    decoder = Decoder()
    simulator = Simulator(decoder)
    simulator.add_clock(10e-9)
    seen = []

    async def bench(ctx):
        for byte in b"\xc2A\xe0\x80A\xf4\x90A":
            ctx.set(decoder.i.p.data, byte)
            ctx.set(decoder.i.valid, 1)
            answers = []
            for ready in (0, 1, 0, 1):
                ctx.set(decoder.o.ready, ready)
                answers.append((ctx.get(decoder.o.valid), ctx.get(Value.cast(decoder.o.p))))
            seen.append(answers)
            await ctx.tick()

    simulator.add_testbench(bench)
    simulator.run()
    assert all(len(set(answers)) == 1 for answers in seen)
    assert any(answers[0][0] for answers in seen)


@pytest.mark.parametrize("state", [state.value for state in Decoder().State])
@pytest.mark.parametrize(
    "noise", [b"\x80\x80\x80", b"\xbf\xbf\xbf", b"A", b"\xc2", b"\xf0", b"\xff"]
)
def test_stream_is_right_again_after_a_flipped_state(state, noise):
    """Three bytes of any kind or one byte outside 80..BF, and the past is forgotten."""
    following = b"\xe2\x82\xac\xf0\x9f\x98\x80\xed\xa0\x80Z"
    if noise in (b"\xc2", b"\xf0"):
        following = b"A" + following  # ends what the noise began
    tokens = flipped_trace(state, noise + following)
    expected = [(t.length, t.code_point, bool(t.error)) for t in ref_tokens(following)]
    assert tokens[-len(expected) + 1 :] == expected[1:]


def flipped_trace(state: int, data: bytes) -> list[tuple[int, int, bool]]:
    """Tokens of a decoder whose state register was overwritten before the first byte."""
    decoder = Decoder()
    simulator = Simulator(decoder)
    simulator.add_clock(10e-9)
    tokens = []

    async def bench(ctx):
        ctx.set(decoder.state, state)
        ctx.set(decoder.o.ready, 1)
        for byte in [*data, None, None, None]:
            ctx.set(decoder.i.valid, byte is not None)
            ctx.set(decoder.i.p.data, byte or 0)
            if ctx.get(decoder.o.valid):
                token = decoder.o.p
                tokens.append(
                    (ctx.get(token.length), ctx.get(token.code_point), bool(ctx.get(token.error)))
                )
            await ctx.tick()

    simulator.add_testbench(bench)
    simulator.run()
    return tokens


@pytest.mark.parametrize(
    ("check", "flaw"),
    [
        (check_line_rate, "half rate"),
        (check_stream_rules, "payload changes under stall"),
        (check_lengths, "interrupting byte swallowed"),
        (check_lengths, "interrupted sequence dropped"),
        (check_lengths, "byte taken without room"),
        (check_lengths, "byte taken that was not offered"),
        (lambda trace: check_latency(HOSTILE["pairs"], trace), "half rate"),
    ],
)
def test_checks_fail_on_a_broken_decoder(check, flaw):
    stalls = STALLS["full rate" if check is check_line_rate else "both slow"]
    with pytest.raises((AssertionError, HangError)):
        check(rtl_trace([HOSTILE["pairs"]], stalls, broken(flaw)))


def test_taken_is_what_the_checks_count():
    trace = rtl_trace([b"A\xc2"], STALLS["both slow"])
    assert taken(trace)["o.length"].tolist() == [1, 1]
