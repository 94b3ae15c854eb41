"""The golden model for long runs says the same as the readable one, input by input."""

import random
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import encoding
from rtl import ALL_RULES, ODD_PROFILES
from utf8_hdl import PROFILES, Profile
from utf8_sim.campaign import boundary_encodings, boundary_values
from utf8_sim.golden import arrays as bulk
from utf8_sim.golden.arrays import BulkDecoder, BulkEncoder, Progress, bulk_cycles
from utf8_sim.golden.model import DecoderCycles, EncoderCycles, TextModel, decode, encode_character
from utf8_sim.trace import DECODER, ENCODER, OBSERVED_BITS, Interface, Trace, bits, field

VARIANTS = ALL_RULES | ODD_PROFILES
LEADS = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, *range(0xC0, 0x100)]


def profiles(names: Collection[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("profile", [VARIANTS[name] for name in names], ids=names)


variants = profiles(VARIANTS)
encoder_variants = profiles([name for name in VARIANTS if "whole-sequence" not in name])
rejecting_variants = profiles([name for name in VARIANTS if "True" not in name])
components = pytest.mark.parametrize("interface", [DECODER, ENCODER], ids=["decoder", "encoder"])

Item = tuple[int, bool]
"""An input: its value, and whether it is its text's last."""


def hostile_bytes(profile: Profile) -> st.SearchStrategy[list[int]]:
    """Any bytes, and encodings of boundary values, some of them cut."""
    encodings = st.sampled_from(boundary_encodings(profile))
    cut = st.tuples(encodings, st.integers(1, 8)).map(lambda pair: pair[0][: pair[1]])
    part = st.one_of(st.binary(max_size=3), st.sampled_from(LEADS).map(lambda b: bytes([b])), cut)
    return st.lists(part, max_size=12).map(lambda parts: list(b"".join(parts)))


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
    rng, boundaries = random.Random(seed), boundary_values(profile)
    width = profile.utf32_width
    choices = (lambda: rng.choice(boundaries), lambda: rng.getrandbits(rng.randint(1, width)))
    return [(rng.choice(choices)(), rng.random() < 0.1) for _ in range(size)]


def chunks(size: int, rng: random.Random) -> Iterator[slice]:
    """Random parts of a whole, some of them empty, some of one member."""
    cuts = [rng.randint(0, size) for _ in range(rng.randint(0, 12))]
    cuts += [cut + offset for cut in cuts[:4] for offset in (0, 1) if cut + offset <= size]
    return (slice(*pair) for pair in pairwise(sorted([0, *cuts, size])))


def arrays(items: list[Item], item_type: type) -> tuple[np.ndarray, np.ndarray]:
    values, lasts = zip(*items, strict=True) if items else ((), ())
    return np.array(values, dtype=item_type), np.array(lasts, dtype=np.uint8)


def outputs(words: np.ndarray, indices: np.ndarray, interface: Interface) -> list[tuple[int, ...]]:
    """For each output the input that brought it about, and the fields of its payload."""
    fields = (field(words, f"o.{name}").tolist() for name in interface.result)
    return list(zip(indices.tolist(), *fields, strict=True))


def bulk_tokens(profile: Profile, items: list[Item], parts) -> tuple[list[tuple], list[bytes]]:
    """Tokens with their index in the whole, and what was pending after each of the parts."""
    model, tokens, pending = BulkDecoder(profile), [], []
    for part in parts:
        words, indices = model.feed(*arrays(items[part], np.uint8))
        tokens += outputs(words, indices + part.start, DECODER)
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


@pytest.mark.sample(9)
@variants
@pytest.mark.parametrize("size", [600, 6000])
def test_many_hostile_bytes(profile, size):
    compare_decoders(profile, random_bytes(profile, size, seed=size), random.Random(size))


@pytest.mark.sample(8)
@variants
def test_every_pair_of_a_lead_byte_and_any_other(profile):
    items = [item for pair in product(LEADS, range(256)) for item in zip(pair, (0, 1), strict=True)]
    tokens, _ = bulk_tokens(profile, items, [slice(0, len(items))])
    assert tokens == readable_tokens(profile, items)[0]


@pytest.mark.sample(8)
@variants
def test_bytes_one_at_a_time(profile):
    items = random_bytes(profile, 300, seed=1)
    tokens, pending = bulk_tokens(profile, items, [slice(at, at + 1) for at in range(len(items))])
    expected, pending_after = readable_tokens(profile, items)
    assert (tokens, pending) == (expected, pending_after[1:])


@pytest.mark.sample(8)
@variants
def test_every_boundary_encoding_is_a_text(profile):
    encodings = boundary_encodings(profile)
    items = [(byte, at == len(text)) for text in encodings for at, byte in enumerate(text, start=1)]
    words, _ = BulkDecoder(profile).feed(*arrays(items, np.uint8))
    expected = [token for text in encodings for token in decode(text, profile)]
    assert field(words, "o.code_point").tolist() == [token.code_point for token in expected]
    assert field(words, "o.kind").tolist() == [token.kind.value for token in expected]
    assert field(words, "o.length").tolist() == [token.length for token in expected]
    assert field(words, "o.last").tolist() == [token.last for token in expected]


def test_two_tokens_of_one_byte_and_none_of_another():
    words, indices = BulkDecoder(PROFILES["unicode"]).feed(
        *arrays([(0xE2, False), (0x82, False), (0xFF, True)], np.uint8)
    )
    assert outputs(words, indices, DECODER) == [(2, 0xFFFD, 1, 6, 2, 0), (2, 0xFFFD, 1, 2, 1, 1)]


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
    model, encoded = BulkEncoder(profile), []
    for part in chunks(len(items), data.draw(st.randoms(use_true_random=False))):
        words, indices = model.feed(*arrays(items[part], np.uint64))
        encoded += outputs(words, indices + part.start, ENCODER)
    assert encoded == readable_bytes(profile, items)


@pytest.mark.sample(5)
@encoder_variants
def test_every_boundary_value_is_encoded(profile):
    items = [(value, index % 3 == 0) for index, value in enumerate(boundary_values(profile))]
    words, indices = BulkEncoder(profile).feed(*arrays(items, np.uint64))
    assert outputs(words, indices, ENCODER) == readable_bytes(profile, items)
    ends = np.flatnonzero(np.diff(indices, append=len(items)))
    for value, end in zip(boundary_values(profile), ends.tolist(), strict=True):
        if not field(words, "o.error")[end]:
            data = field(words, "o.data")[indices == indices[end]]
            assert bytes(data.tolist()) == encoding(value)  # in bits, knowing no profile


def readable_cycles(interface: Interface, profile: Profile) -> DecoderCycles | EncoderCycles:
    return (DecoderCycles if interface is DECODER else EncoderCycles)(profile)


def driven_by(items: list[Item], seed: int, busy: tuple[float, float]):
    """Which pins are driven, each side being busy in so many of the cycles: send what is accepted.

    What is offered stays; while nothing is, the pins carry something that must not matter.
    """
    rng, at, offered = random.Random(seed), 0, False
    while at < len(items):
        offered = offered or rng.random() < busy[0]
        value, last = items[at] if offered else (0xFF, True)
        accepted = yield int(offered), value, int(last), int(rng.random() < busy[1])
        if offered and accepted:
            at, offered = at + 1, False
    for _ in range(20):
        yield 0, 0xFF, 1, 1


def predicted(
    interface: Interface, profile: Profile, items: list[Item], seed: int, busy: tuple[float, float]
) -> Trace:
    """What the readable model predicts; where no output is valid the payload is anything."""
    rng, model, cycles = random.Random(seed), readable_cycles(interface, profile), []
    driving, observed = driven_by(items, seed, busy), (None,)
    for _ in range(100 * len(items) + 1000):
        try:
            driven = driving.send(observed[0])
        except StopIteration:
            break
        observed = model.cycle(*driven)
        cycles.append(driven + observed)
    else:
        raise AssertionError("it never ends")
    return trace_of(interface, cycles, rng)


def trace_of(interface: Interface, cycles: list[tuple[int, ...]], rng: random.Random) -> Trace:
    pins = interface.driven + interface.observed
    columns = dict(zip(pins, zip(*cycles, strict=True), strict=True))
    words = np.zeros(len(cycles), dtype=np.uint64)
    for pin in interface.observed:
        words |= bits(pin, np.array(columns[pin], dtype=np.uint64))
    noise = [0 if valid else rng.getrandbits(VALID_BIT) for valid in columns["o.valid"]]
    words |= np.array(noise, dtype=np.uint64)
    i_valid, i_last, o_ready, state = (
        np.array(column, dtype=np.uint8)
        for column in (columns["i.valid"], columns["i.last"], columns["o.ready"], [0] * len(cycles))
    )
    item = np.array(columns[interface.driven[1]], dtype=interface.item_type)
    return Trace(interface, i_valid, item, i_last, o_ready, words, state)


VALID_BIT = OBSERVED_BITS["o.valid"][0]
BUSY = [(1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (0.6, 0.6), (1.0, 0.1), (0.1, 0.9), (0.95, 0.9)]


def traces(interface: Interface, profile: Profile, size: int) -> Iterator[Trace]:
    make = random_bytes if interface is DECODER else random_values
    for seed, busy in enumerate(BUSY):
        yield predicted(interface, profile, make(profile, size, seed), seed, busy)


def of_component(interface: Interface, profile: Profile) -> st.SearchStrategy[list[Item]]:
    """Inputs of a component."""
    if interface is DECODER:
        return texts(hostile_bytes(profile))
    width = profile.utf32_width
    return texts(st.lists(values(profile).map(lambda value: value & (1 << width) - 1), max_size=12))


def check_windows(interface: Interface, profile: Profile, trace: Trace, parts: list[slice]) -> None:
    """Both models say the same in all windows, and the readable one goes on from the end of any."""
    model = bulk_cycles(interface, profile)
    driven = list(zip(*(trace[pin].tolist() for pin in interface.driven), strict=True))
    observed = list(zip(*(trace[pin].tolist() for pin in interface.observed), strict=True))
    expected = [pins if pins[1] else pins[:2] + (0,) * len(pins[2:]) for pins in observed]
    for part in parts:
        assert model.first_difference(trace[part]) is None
        readable = model.readable()
        following = slice(part.stop, part.stop + 40)
        assert [readable.cycle(*pins) for pins in driven[following]] == expected[following]


@pytest.mark.sample(9)
@components
@rejecting_variants
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_every_pin_in_any_windows(interface, profile, data):
    items = data.draw(of_component(interface, profile))
    busy = data.draw(st.tuples(*2 * [st.sampled_from([1.0, 0.9, 0.6, 0.3, 0.1])]))
    trace = predicted(interface, profile, items, data.draw(st.integers(0, 1 << 32)), busy)
    cuts = data.draw(st.lists(st.integers(0, len(trace)), max_size=12))
    parts = [slice(*pair) for pair in pairwise(sorted([0, *cuts, len(trace)]))]
    check_windows(interface, profile, trace, parts)


@pytest.mark.sample(9)
@components
@variants
def test_every_pin_in_windows_of_any_size(interface, profile):
    rng = random.Random(1)
    for trace in traces(interface, profile, 60):
        check_windows(interface, profile, trace, list(chunks(len(trace), rng)))


@pytest.mark.sample
@components
@pytest.mark.parametrize("busy", BUSY, ids=str)
def test_every_pin_cycle_by_cycle_in_windows(interface, busy):
    profile = VARIANTS["F0 restricted twice"]
    make = random_bytes if interface is DECODER else random_values
    trace = predicted(interface, profile, make(profile, 100, 5), 5, busy)
    for size in (1, 2, 3, 7):
        parts = [slice(at, min(at + size, len(trace))) for at in range(0, len(trace), size)]
        check_windows(interface, profile, trace, parts)


@components
def test_every_pin_in_a_long_run(interface):
    rng = random.Random(4)
    for trace in traces(interface, PROFILES["ucs4"], 5000):
        check_windows(interface, PROFILES["ucs4"], trace, list(chunks(len(trace), rng)))


def test_progress_tells_what_a_waiting_decoder_accepts():
    """In windows of all sizes, also of none."""
    rng, met = random.Random(6), set()
    for trace in traces(DECODER, PROFILES["unicode"], 200):
        progress = Progress()
        parts = [progress.add(trace[part]) for part in chunks(len(trace), rng)]
        runs, extra, _ = map(np.concatenate, zip(*parts, strict=True))
        waits = trace["o.ready"] == 0
        assert (trace["i.ready"] == (runs & ~extra))[waits].all()
        met |= set(zip(runs.tolist(), extra.tolist(), strict=True))
    assert met == {(False, False), (True, False), (True, True)}


class WithoutExtra(Progress):
    """Forgets the extra place at the end of a window."""

    def add(self, trace):
        cycles = super().add(trace)
        self.extra = False
        return cycles


class Stopped(Progress):
    """Stands at the beginning of every window."""

    def add(self, trace):
        self.runs = False
        return super().add(trace)


@pytest.mark.parametrize("flaw", [WithoutExtra, Stopped])
def test_a_model_that_forgets_at_the_end_of_a_window_is_found(flaw, monkeypatch):
    monkeypatch.setattr(bulk, "Progress", flaw)
    profile = PROFILES["unicode"]
    trace = predicted(DECODER, profile, random_bytes(profile, 100, 7), 7, (1.0, 0.6))
    with pytest.raises(AssertionError):
        check_windows(DECODER, profile, trace, [slice(n, n + 3) for n in range(0, 90, 3)])


@pytest.mark.sample(5)
@components
@rejecting_variants
def test_first_wrong_bit_is_found_in_its_cycle(interface, profile):
    rng = random.Random(2)
    places = [(pin, bit) for pin in interface.observed for bit in range(OBSERVED_BITS[pin][1])]
    control = [(pin, bit) for pin, bit in places if pin in ("i.ready", "o.valid")]
    for trace in traces(interface, profile, 40):
        with_output = np.flatnonzero(trace["o.valid"]).tolist()
        for pin, bit in control + rng.sample(places, min(len(places), 5)):
            matters = range(len(trace)) if (pin, bit) in control else with_output
            wrong = rng.choice(matters)
            tampered = replace(trace, words=trace.words.copy())
            tampered.words[wrong] ^= bits(pin, 1 << bit)
            # Of several wrong cycles, the first counts.
            tampered.words[wrong + 1 :][rng.randrange(9) :: 9] ^= bits("o.valid", 1)
            model = bulk_cycles(interface, profile)
            for part in chunks(len(trace), rng):
                found = model.first_difference(tampered[part])
                if wrong < part.stop:
                    assert found == wrong - part.start, (pin, bit)
                    break
                assert found is None
