"""The specification that the proofs use, held against definitions that nobody here wrote."""

import random
from itertools import product

import pytest
from amaranth.sim import Simulator

from naive import encoding, naive_tokens
from reference import BOUNDARY_BYTES, RefToken, ref_tokens
from rtl import ALL_RULES
from utf8_flow.formal.specification import (
    DecoderSpecification,
    EncoderSpecification,
    well_formed,
)
from utf8_hdl import PROFILES, UNICODE, Kind

BYTES = bytes(
    sorted({*BOUNDARY_BYTES, *bytes.fromhex("81 82 83 84 87 88 BD BE F9 FB FC FD FE FF")})
)

each_profile = pytest.mark.parametrize("profile", ALL_RULES.values(), ids=ALL_RULES)


def hostile_texts(count: int) -> list[bytes]:
    generator = random.Random(1)
    return [bytes(generator.choices(BYTES, k=generator.randrange(1, 12))) for _ in range(count)]


def specified_tokens(texts: list[bytes], profile=UNICODE) -> list[list[RefToken]]:
    """The tokens of each text; before every byte there is a cycle without one."""
    specification = DecoderSpecification(profile)
    simulator = Simulator(specification)
    simulator.add_clock(1e-6)
    results = []

    async def bench(ctx):
        for text in texts:
            tokens, end = [], 0
            for number, byte in enumerate(text):
                ctx.set(specification.byte, byte ^ 0xFF)
                ctx.set(specification.last, 1)
                await ctx.tick()
                ctx.set(specification.byte, byte)
                ctx.set(specification.last, number == len(text) - 1)
                ctx.set(specification.accept, 1)
                for comes, token in (
                    (specification.cuts, specification.cut),
                    (specification.ends, specification.end),
                ):
                    if ctx.get(comes):
                        length = ctx.get(token.length)
                        kind = Kind(ctx.get(token.kind))
                        assert ctx.get(token.error) == (kind is not Kind.NONE)
                        label = kind.label if kind is not Kind.NONE else None
                        tokens.append(RefToken(end, length, ctx.get(token.code_point), label))
                        end += length
                        assert ctx.get(token.last) == (end == len(text))
                await ctx.tick()
                ctx.set(specification.accept, 0)
            results.append(tokens)

    simulator.add_testbench(bench)
    simulator.run()
    return results


@pytest.mark.sample(8)
@each_profile
def test_tokens_are_those_of_the_naive_definition(profile):
    texts = hostile_texts(60)
    assert specified_tokens(texts, profile) == [naive_tokens(text, profile) for text in texts]


def test_tokens_are_those_of_cpython():
    texts = hostile_texts(300)
    found = [
        [(token.offset, token.length, token.code_point, bool(token.error)) for token in tokens]
        for tokens in specified_tokens(texts)
    ]
    assert found == [
        [(token.offset, token.length, token.code_point, bool(token.error)) for token in tokens]
        for tokens in map(ref_tokens, texts)
    ]


def test_well_formed_sequences_are_those_that_cpython_decodes():
    rows = well_formed(UNICODE)
    assert [len(row) for row in rows] == [1, 2, 3, 3, 3, 3, 4, 4, 4]
    accepted = set()
    for first, second in product(range(256), BYTES):
        for form in (1, 2, 3, 4):
            sequence = bytes([first, second, 0x80, 0xBF])[:form]
            try:
                sequence.decode()
            except UnicodeDecodeError:
                continue
            accepted |= {sequence} if len(sequence.decode()) == 1 else set()
    for first, second in product(range(256), BYTES):
        for form in (1, 2, 3, 4):
            sequence = bytes([first, second, 0x80, 0xBF])[:form]
            fits = any(
                len(row) == form and all(map(range.__contains__, row, sequence)) for row in rows
            )
            assert fits == (sequence in accepted)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_bytes_are_those_of_the_form_table(profile):
    limits = [1 << bits for bits in (7, 11, 16, 21, 26, 31, 36, 42)]
    values = {limit + offset for limit in limits for offset in (-2, -1, 0, 1)}
    values |= {0, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFD, 0xFFFE, profile.highest}
    values |= {profile.highest + 1, (1 << profile.utf32_width) - 1}
    specification = EncoderSpecification(profile)
    simulator = Simulator(specification)

    async def bench(ctx):
        for value in sorted(value for value in values if value < 1 << profile.utf32_width):
            ctx.set(specification.code_point, value)
            nonchar = value in (0xFFFE, 0xFFFF) and not profile.accept_noncharacters
            refused = value > profile.highest or 0xD800 <= value <= 0xDFFF or nonchar
            expected = encoding(0xFFFD if refused else value)
            sequence = [ctx.get(byte) for byte in specification.sequence]
            assert ctx.get(specification.refused) == refused
            assert ctx.get(specification.count) == len(expected)
            assert bytes(sequence) == expected.ljust(profile.longest_form, b"\0")
            if profile is UNICODE and not refused:
                assert expected == chr(value).encode()

    simulator.add_testbench(bench)
    simulator.run()
