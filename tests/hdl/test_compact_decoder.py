"""The compact decoder: against CPython, a naive decoder, and ten lines of timing on every pin."""

import inspect
import random
from collections import deque
from itertools import product

import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator

from naive import naive_tokens
from reference import BOUNDARY_BYTES, RefToken, ref_tokens
from rtl import ALL_RULES, ODD_PROFILES
from utf8_hdl import UCS4, UNICODE, Kind, compact_decoder
from utf8_hdl.compact_decoder import CompactDecoder
from utf8_sim.golden.text import TextModel

RULES = ALL_RULES | ODD_PROFILES
PAIRS = b"".join(bytes(pair) for pair in product(BOUNDARY_BYTES, repeat=2))
FIELDS = "code_point", "error", "kind", "length", "last"


RARE = [b"\xef\xbf\xbe", b"\xef\xbf\xbf", b"\xf4\x90", b"\xf1\xbf\xbe\x80", b"\xef\xbf", b"\xbe"]


def hostile(seed: int) -> list[bytes]:
    """Short texts of lead bytes, continuation bytes and others."""
    source = random.Random(seed)
    choices = (BOUNDARY_BYTES, BOUNDARY_BYTES, range(0x80, 0xC0))
    texts = [
        bytes(source.choice(source.choice(choices)) for _ in range(source.randrange(1, 24)))
        for _ in range(10)
    ]
    return [b"".join(RARE), *RARE, *texts]


def expected_pins(profile):
    """Every output pin in every cycle: a coroutine that is sent the inputs of each.

    The output register takes the next token in each cycle that is not stalled.
    """
    model, queue, shown = TextModel(profile), deque(), None
    pins = None
    while True:
        i_valid, byte, last, o_ready = yield pins
        stalled = shown is not None and not o_ready
        payload = shown and (shown.code_point, shown.error, shown.kind.value, *shown[2:])
        pins = not stalled, shown is not None, payload
        if not stalled:
            queue.extend(model.feed(byte, last) if i_valid else ())
            shown = queue.popleft() if queue else None


def run(decoder, texts, stall=0.0, seed=0):
    """Simulate, until nothing comes: the tokens, and the first cycle with a wrong pin, or None."""
    source = random.Random(seed)
    waiting = deque((byte, n == len(text) - 1) for text in texts for n, byte in enumerate(text))
    timing = expected_pins(decoder.profile)
    next(timing)
    tokens, wrong = [], []
    payload = [Value.cast(decoder.o.p[name]) for name in FIELDS]
    i, o = decoder.i, decoder.o

    async def bench(ctx):
        quiet = cycle = 0
        while quiet < 4:
            offers = bool(waiting) and source.random() >= stall
            byte, last = waiting[0] if offers else (0xFF, True)  # must not be looked at
            o_ready = source.random() >= stall
            for pin, level in ((i.valid, offers), (i.p.data, byte), (i.p.last, last)):
                ctx.set(pin, level)
            ctx.set(o.ready, o_ready)
            token = tuple(map(ctx.get, payload))
            pins = ctx.get(i.ready), ctx.get(o.valid), token if ctx.get(o.valid) else None
            if pins != timing.send((offers, byte, last, o_ready)):
                wrong.append(cycle)
                break
            if offers and pins[0]:
                waiting.popleft()
            if pins[1] and o_ready:
                tokens.append(token)
            quiet = 0 if waiting or pins[1] else quiet + 1
            cycle += 1
            await ctx.tick()

    simulator = Simulator(decoder)
    simulator.add_clock(10e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return tokens, wrong[0] if wrong else None


def as_reference(tokens):
    """Tokens of one text, in the form of `ref_tokens`."""
    offset, found = 0, []
    for code_point, error, kind, length, _ in tokens:
        found.append(RefToken(offset, length, code_point, Kind(kind).label if error else None))
        offset += length
    return found


@pytest.mark.parametrize("stall", [0, 0.4])
def test_every_pair_of_boundary_bytes_decodes_as_in_cpython(stall):
    tokens, wrong = run(CompactDecoder(), [PAIRS], stall)
    assert as_reference(tokens) == ref_tokens(PAIRS)
    assert wrong is None


@pytest.mark.parametrize("name", RULES)
def test_hostile_texts_decode_as_a_naive_decoder_has_them(name):
    profile = RULES[name]
    data = b"".join(hostile(1))
    tokens, wrong = run(CompactDecoder(profile), [data])
    assert as_reference(tokens) == naive_tokens(data, profile)
    assert wrong is None


@pytest.mark.parametrize("name", RULES)
def test_every_pin_is_as_predicted_under_stalls(name):
    _, wrong = run(CompactDecoder(RULES[name]), hostile(2), stall=0.4)
    assert wrong is None


def test_states_are_those_of_the_textbook_and_one_for_a_byte_that_is_held():
    names = [state.name for state in CompactDecoder(UNICODE).State]
    assert names == ["START", "NEED_1", "NEED_2", "NEED_3", "HELD"]


BREAKS = {
    "interrupting byte swallowed": (
        "next_state.eq(Mux(begins, announced, State.HELD))",
        "next_state.eq(Mux(begins, announced, State.START))",
    ),
    "a held byte again": ("Mux(i.valid, State.HELD, State.START)", "State.HELD"),
    "held byte shown as the new one": ("Mux(held, before.data, now.data)", "now.data"),
    "an error held is none": ("error.eq(before.data[7])", "error.eq(0)"),
    "value: of the token before": ("value = Mux(is_second, ", "value = Mux(0, "),
    "value: marks of the lead byte": ("(bit > lowest_shifted_out)", "0"),
    "length: of the token before": ("length = Mux(is_second, ", "length = Mux(0, "),
    "length: with the byte that cuts": ("length + joins", "length + 1"),
    "last: of the byte that cuts": ("now.last & joins", "now.last"),
    "last: a lead byte waits": ("announced.any() & ~now.last", "announced.any()"),
    "last: text goes on": ("Mux(now.last, State.START, State(count - 1))", "State(count - 1)"),
    "a refused byte joins": ("(~refused | self._whole_sequence)", "1"),
    "kind of a refused byte": ("so_far.eq(Mux(refused, reason, known))", "so_far.eq(known)"),
    "noncharacters pass": ('matches("1011111-")', 'matches("10111111")'),
    "moves while it is stalled": ("step.eq(~stalled & (i.valid", "step.eq((i.valid"),
    "gaps count": ("(i.valid | ~unfinished)", "1"),
    "half rate": ("i.ready.eq(~stalled)", "i.ready.eq(~o.valid)"),
    "valid in a gap": ("ends.eq(i.valid & ~begins)", "ends.eq(~begins)"),
    "value of an error": ("code_point.eq(REPLACEMENT)", "code_point[2:].eq(REPLACEMENT >> 2)"),
}
"""What is wrong with a decoder, and the edit to its source that makes it so."""


def broken(name):
    good, bad = BREAKS[name]
    source = inspect.getsource(compact_decoder)
    if source.count(good) < 1:
        raise LookupError(f"{good!r} is not in the source")
    module = {"__name__": "utf8_hdl.broken", "__package__": "utf8_hdl"}
    exec(compile(source.replace(good, bad), f"<{name}>", "exec"), module)
    return module["CompactDecoder"](UCS4)


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_decoder_is_found_out(name):
    assert any(run(broken(name), hostile(seed), stall=0.4)[1] is not None for seed in (2, 3))
