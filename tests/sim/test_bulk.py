"""The golden model for long runs says the same as the readable one, input by input."""

import random
from collections import deque
from collections.abc import Collection, Iterator
from copy import deepcopy
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import LEADS, chunks, hostile_bytes
from rtl import ALL_RULES, ODD_PROFILES
from utf8_hdl import PROFILES, Decoder, Encoder, Profile
from utf8_sim.campaign import boundary_encodings, boundary_values
from utf8_sim.components import DECODER, ENCODER, Component
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.engine import Ending, interface_of
from utf8_sim.golden.array_timing import ArrayElastic
from utf8_sim.golden.arrays import ArrayDecoder, ArrayEncoder, Outputs
from utf8_sim.golden.text import TextModel, encode_character
from utf8_sim.golden.timing import CycleModel, Elastic, Serial, Timing
from utf8_sim.lockstep import Difference, Golden, Window
from utf8_sim.trace import Columns, Interface, Trace

VARIANTS = ALL_RULES | ODD_PROFILES


def profiles(names: Collection[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("profile", [VARIANTS[name] for name in names], ids=names)


variants = profiles(VARIANTS)
encoder_variants = profiles([name for name in VARIANTS if "whole-sequence" not in name])
TIMINGS = {
    "decoder": (DECODER, DECODER.timing(Decoder())),
    "compact decoder": (DECODER, DECODER.timing(Decoder(compact=True))),
    "encoder": (ENCODER, ENCODER.timing(Encoder())),
    "compact encoder": (ENCODER, ENCODER.timing(Encoder(compact=True))),
    "short pipeline": (DECODER, Elastic(latency=2, latency_of_state=1)),
    "one that sends at once": (ENCODER, Serial(before=1, after=1)),
}
timings = pytest.mark.parametrize(("component", "timing"), TIMINGS.values(), ids=TIMINGS)

# What comes out does not depend on when: each profile has two of the timings.
REJECTING = [name for name in VARIANTS if "True" not in name]
timings_in_turns = pytest.mark.parametrize(
    ("component", "timing", "profile"),
    [
        pytest.param(*TIMINGS[timing], VARIANTS[name], id=f"{name}-{timing}")
        for number, name in enumerate(REJECTING)
        for timing in list(TIMINGS)[number % 3 :: 3]
    ],
)

Item = tuple[int, bool]
"""An input: its value, and whether it is its text's last."""


def values(profile: Profile) -> st.SearchStrategy[int]:
    """Any 64 bits, and values at boundaries."""
    boundaries = [*boundary_values(profile), (1 << 64) - 1]
    return st.one_of(st.sampled_from(boundaries), st.integers(0, (1 << 64) - 1))


@st.composite
def texts(draw: st.DrawFn, contents: st.SearchStrategy[list[int]]) -> list[Item]:
    """Several texts in a row; the last one may have no end yet."""
    parts = draw(st.lists(contents.filter(bool), max_size=4))
    items = [(value, at == len(part)) for part in parts for at, value in enumerate(part, start=1)]
    return items + [(value, False) for value in draw(contents)]


def random_bytes(profile: Profile, size: int, seed: int) -> list[Item]:
    """Many hostile bytes; a text ends with every tenth or so."""
    rng, encodings, data = random.Random(seed), boundary_encodings(profile), bytearray()
    while len(data) < size:
        sequence = rng.choice(encodings)
        data += rng.choice((sequence, sequence[: rng.randint(0, 8)], bytes([rng.choice(LEADS)])))
    return [(byte, rng.random() < 0.1) for byte in data]


def random_values(profile: Profile, size: int, seed: int) -> list[Item]:
    rng, width = random.Random(seed), profile.utf32_width
    boundaries = [value for value in boundary_values(profile) if value < 1 << width]
    choices = (lambda: rng.choice(boundaries), lambda: rng.getrandbits(rng.randint(1, width)))
    return [(rng.choice(choices)(), rng.random() < 0.1) for _ in range(size)]


def columns_of(items: list[Item], component: Component, profile: Profile) -> Columns:
    """The inputs as columns."""
    pins = interface_of(component.make(profile)).inputs
    fields = zip(*items, strict=True) if items else ((), ())
    return {pin.name: np.array(f, dtype=pin.dtype) for pin, f in zip(pins, fields, strict=True)}


def outputs(fed: Outputs, start: int = 0) -> list[tuple[int, ...]]:
    """For each output the input that brought it about, and the fields of its payload."""
    fields = (column.tolist() for column in fed.columns.values())
    return list(zip((fed.brought_by + start).tolist(), *fields, strict=True))


def bulk_tokens(profile: Profile, items: list[Item], parts) -> tuple[list[tuple], list[bytes]]:
    """Tokens with their index in the whole, and what was pending after each of the parts."""
    model, tokens, pending = ArrayDecoder(profile), [], []
    for part in parts:
        fed = model.feed(columns_of(items[part], DECODER, profile))
        tokens += outputs(fed, part.start)
        pending.append(bytes(model.pending))
    return tokens, pending


def readable_tokens(profile: Profile, items: list[Item]) -> tuple[list[tuple], list[bytes]]:
    """Likewise, and what is pending before the first byte and after every byte."""
    model, tokens, pending = TextModel(profile), [], [b""]
    for index, item in enumerate(items):
        for token in model.feed(*item):
            kind, length, last = token.kind.value, token.length, int(token.last)
            tokens.append((index, token.code_point, int(token.error), kind, length, last))
        pending.append(model.pending)
    return tokens, pending


def compare_decoders(profile: Profile, items: list[Item], rng: random.Random) -> None:
    parts = list(chunks(len(items), rng))
    tokens, pending = bulk_tokens(profile, items, parts)
    expected, pending_after = readable_tokens(profile, items)
    assert tokens == expected
    assert pending == [pending_after[part.stop] for part in parts]


@pytest.mark.sample(8)
@variants
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_any_bytes_in_any_parts(profile, data):
    items = data.draw(texts(hostile_bytes(profile)))
    compare_decoders(profile, items, data.draw(st.randoms(use_true_random=False)))


@pytest.mark.sample(5)
@variants
def test_many_hostile_bytes(profile):
    encodings = boundary_encodings(profile)
    ends = [(byte, at == len(text)) for text in encodings for at, byte in enumerate(text, start=1)]
    pairs = [item for pair in product(LEADS, range(256)) for item in zip(pair, (0, 1), strict=True)]
    for items in random_bytes(profile, 3000, seed=1), ends, pairs:
        compare_decoders(profile, items, random.Random(2))
    items = random_bytes(profile, 300, seed=3)
    tokens, pending = bulk_tokens(profile, items, [slice(at, at + 1) for at in range(len(items))])
    expected, pending_after = readable_tokens(profile, items)
    assert (tokens, pending) == (expected, pending_after[1:])


def test_two_tokens_of_one_byte_and_none_of_another():
    profile = PROFILES["unicode"]
    items = [(0xE2, False), (0x82, False), (0xFF, True)]
    fed = ArrayDecoder(profile).feed(columns_of(items, DECODER, profile))
    assert outputs(fed) == [(2, 0xFFFD, 1, 6, 2, 0), (2, 0xFFFD, 1, 2, 1, 1)]
    assert fed.cut.tolist() == [True, False]


def readable_bytes(profile: Profile, items: list[Item]) -> list[tuple[int, ...]]:
    return [
        (index, byte, int(refused), int(last and place == len(data)))
        for index, (value, last) in enumerate(items)
        for data, refused in [encode_character(value, profile)]
        for place, byte in enumerate(data, start=1)
    ]


@pytest.mark.sample(5)
@encoder_variants
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_any_values_are_encoded_in_any_parts(profile, data):
    items = data.draw(texts(st.lists(values(profile), max_size=12)))
    items = [(value & (1 << profile.utf32_width) - 1, last) for value, last in items]
    model, encoded = ArrayEncoder(profile), []
    for part in chunks(len(items), data.draw(st.randoms(use_true_random=False))):
        fed = model.feed(columns_of(items[part], ENCODER, profile))
        encoded += outputs(fed, part.start)
    assert encoded == readable_bytes(profile, items)


def readable_cycles(component: Component, profile: Profile, timing: Timing) -> CycleModel:
    design = component.make(profile)
    fields = len(interface_of(design).outputs)
    return CycleModel(component.transducer(design), timing.cycles(), fields)


def array_cycles(component: Component, profile: Profile, timing: Timing) -> Golden:
    """The model by whole arrays, with any timing."""
    engine = AmaranthEngine(component.make(profile))
    engine.timing = timing
    return Golden(engine)


def predicted(
    component: Component,
    profile: Profile,
    timing: Timing,
    items: list[Item],
    seed: int,
    stalls: tuple[float, float],
    resets: float = 0,
) -> Trace:
    """What the readable model predicts; where no output is valid the payload is anything."""
    interface = interface_of(component.make(profile))
    model, cycles = readable_cycles(component, profile, timing), []
    rng, ending = random.Random(seed), Ending(timing)
    waiting, offered = deque(items), False
    while not ending.over:
        gap, stall = (rng.random() < probability for probability in stalls)
        offered = bool(waiting) and (offered or not gap)
        driven = offered, *(waiting[0] if offered else (0xFF, True)), not stall
        reset = rng.random() < resets
        observed = model.cycle(*driven, reset=reset)
        cycles.append((reset, *driven, *observed))
        accepted = offered and observed[0] and not reset
        if accepted:
            waiting.popleft()
        ending.note((reset, offered, *observed[:2], not stall), bool(waiting))
        offered = offered and not accepted
    assert not ending.hang
    return trace_of(interface, cycles, rng)


def trace_of(interface: Interface, cycles: list[tuple[int, ...]], rng: random.Random) -> Trace:
    names = "reset", *interface.driven, *interface.observed
    levels = dict(zip(names, zip(*cycles, strict=True), strict=True))
    levels["state"] = [0] * len(cycles)
    pins = *interface.pins, interface.pin("reset")
    columns = {pin.name: np.array(levels[pin.name], dtype=pin.dtype) for pin in pins}
    for pin in interface.outputs:
        noise = [0 if valid else rng.getrandbits(pin.width) for valid in levels["o.valid"]]
        columns[pin.name] |= np.array(noise, dtype=pin.dtype)
    return Trace(interface, columns)


STALLS = [(0, 0), (0.5, 0), (0, 0.5), (0.4, 0.4), (0, 0.9), (0.9, 0.1), (0.05, 0.1)]


def traces(component: Component, profile: Profile, timing: Timing, size: int) -> Iterator[Trace]:
    for seed, stalls in enumerate(STALLS):
        items = random_items(component, profile, size, seed)
        yield predicted(component, profile, timing, items, seed, stalls)


def random_items(component: Component, profile: Profile, size: int, seed: int) -> list[Item]:
    return (random_bytes if component is DECODER else random_values)(profile, size, seed)


def of_component(component: Component, profile: Profile) -> st.SearchStrategy[list[Item]]:
    """Inputs of a component."""
    if component is DECODER:
        return texts(hostile_bytes(profile))
    width = profile.utf32_width
    return texts(st.lists(values(profile).map(lambda value: value & (1 << width) - 1), max_size=12))


def difference(model: Golden, trace: Trace) -> Difference | None:
    """The first pin of the next cycles that is not as the model expects it."""
    expected = model.expected(trace)
    for pin in trace.interface.outputs:
        assert not expected[pin.name][expected["o.valid"] == 0].any()
    return Window(0, trace, expected).difference()


def check_windows(
    component: Component, profile: Profile, timing: Timing, trace: Trace, parts: list[slice]
) -> None:
    """Both models say the same in all windows."""
    model = array_cycles(component, profile, timing)
    for part in parts:
        assert difference(model, trace[part]) is None


@pytest.mark.sample(9)
@timings_in_turns
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_every_pin_in_any_windows(component, timing, profile, data):
    items = data.draw(of_component(component, profile))
    stalls = data.draw(st.tuples(*2 * [st.sampled_from([0, 0.1, 0.4, 0.7, 0.9])]))
    seed = data.draw(st.integers(0, 1 << 32))
    resets = data.draw(st.sampled_from([0, 0.02, 0.2]))
    trace = predicted(component, profile, timing, items, seed, stalls, resets)
    cuts = data.draw(st.lists(st.integers(0, len(trace)), max_size=12))
    parts = [slice(*pair) for pair in pairwise(sorted([0, *cuts, len(trace)]))]
    check_windows(component, profile, timing, trace, parts)


@pytest.mark.sample(3)
@timings
@pytest.mark.parametrize("stalls", STALLS, ids=str)
def test_every_pin_cycle_by_cycle_in_windows(component, timing, stalls):
    profile = VARIANTS["F0 restricted twice"]
    items = random_items(component, profile, 100, 5)
    trace = predicted(component, profile, timing, items, 5, stalls)
    for size in (1, 2, 3, 7):
        parts = [slice(at, min(at + size, len(trace))) for at in range(0, len(trace), size)]
        check_windows(component, profile, timing, trace, parts)


@timings
def test_every_pin_in_a_long_run(component, timing):
    rng, profile = random.Random(4), PROFILES["ucs4"]
    for trace in traces(component, profile, timing, 1500):
        check_windows(component, profile, timing, trace, list(chunks(len(trace), rng)))


PIPELINED = DECODER.timing(Decoder())


@pytest.mark.parametrize("forgotten", ["_skid", "_enabled"])
def test_a_model_that_forgets_at_the_end_of_a_window_is_found(forgotten, monkeypatch):
    pace = ArrayElastic._pace

    def forgetful(timing, trace):
        setattr(timing, forgotten, False)
        return pace(timing, trace)

    monkeypatch.setattr(ArrayElastic, "_pace", forgetful)
    profile = PROFILES["unicode"]
    items = random_bytes(profile, 100, 7)
    trace = predicted(DECODER, profile, PIPELINED, items, 7, (0, 0.4))
    windows = [slice(n, n + 3) for n in range(0, 90, 3)]
    with pytest.raises(AssertionError):
        check_windows(DECODER, profile, PIPELINED, trace, windows)


@pytest.mark.sample(5)
@timings_in_turns
def test_first_wrong_bit_is_found_in_its_cycle(component, timing, profile):
    rng = random.Random(2)
    interface = interface_of(component.make(profile))
    places = [(pin, bit) for pin in interface.observed for bit in range(interface.pin(pin).width)]
    control = [(pin, bit) for pin, bit in places if pin in ("i.ready", "o.valid")]
    for trace in traces(component, profile, timing, 40):
        with_output = np.flatnonzero(trace["o.valid"]).tolist()
        for pin, bit in control + rng.sample(places, min(len(places), 5)):
            matters = range(len(trace)) if (pin, bit) in control else with_output
            wrong = rng.choice(matters)
            tampered = Trace(trace.interface, deepcopy(trace.columns))
            tampered[pin][wrong] ^= tampered[pin].dtype.type(1 << bit)
            # Of several wrong cycles, the first counts.
            tampered["o.valid"][wrong + 1 :][rng.randrange(9) :: 9] ^= 1
            model = array_cycles(component, profile, timing)
            for part in chunks(len(trace), rng):
                found = difference(model, tampered[part])
                if wrong < part.stop:
                    assert found
                    assert (found.cycle, found.pin) == (wrong - part.start, pin)
                    break
                assert found is None
