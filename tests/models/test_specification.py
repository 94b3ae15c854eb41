"""Specification and well-formed text of the proofs, held against definitions nobody here wrote."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count, product
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator

from naive import encoding, naive_tokens
from reference import BOUNDARY_BYTES, RefToken, ref_tokens
from rtl import ALL_RULES
from utf8_flow.formal.specification import (
    DecoderSpecification,
    EncoderSpecification,
    well_formed,
)
from utf8_flow.formal.well_formed import WellFormedText, row_ends
from utf8_hdl import PROFILES, UNICODE, ErrorKind, ErrorSpan, Profile

BYTES = bytes(
    sorted({*BOUNDARY_BYTES, *bytes.fromhex("81 82 83 84 87 88 BD BE BF F9 FB FC FD FE FF")})
)
ACCEPTED = 130
"""How many bytes of well-formed text are tried."""

each_profile = pytest.mark.parametrize("profile", ALL_RULES.values(), ids=ALL_RULES)


def simulate(made: Callable[[Module], Any], bench: Any) -> None:
    """Run a test bench with what is made in a module."""
    m = Module()
    m.domains.sync = ClockDomain()
    made = made(m)
    simulator = Simulator(m)
    simulator.add_clock(1e-6)

    async def run(ctx):
        await bench(ctx, made)

    simulator.add_testbench(run)
    simulator.run()


def hostile_texts(count: int) -> list[bytes]:
    generator = random.Random(1)
    return [bytes(generator.choices(BYTES, k=generator.randrange(1, 12))) for _ in range(count)]


def specified_tokens(texts: list[bytes], profile: Profile = UNICODE) -> list[list[RefToken]]:
    """The tokens of each text; before every byte there is a cycle without one."""
    results = []

    async def bench(ctx, specification):
        tokens = (
            (specification.cuts, specification.cut),
            (specification.ends, specification.end),
        )
        for text in texts:
            found, end = [], 0
            for number, byte in enumerate(text):
                ctx.set(specification.byte, byte ^ 0xFF)
                ctx.set(specification.last, 1)
                await ctx.tick()
                ctx.set(specification.byte, byte)
                ctx.set(specification.last, number == len(text) - 1)
                ctx.set(specification.accept, 1)
                for token in (ctx.get(token) for comes, token in tokens if ctx.get(comes)):
                    kind = ErrorKind(token.kind)
                    assert token.error == (kind is not ErrorKind.NONE)
                    label = kind.label if token.error else None
                    found.append(RefToken(end, token.length, token.code_point, label))
                    end += token.length
                    assert token.last == (end == len(text))
                await ctx.tick()
                ctx.set(specification.accept, 0)
            results.append(found)

    simulate(lambda m: DecoderSpecification(m, profile), bench)
    return results


@pytest.mark.sample(8)
@each_profile
def test_tokens_are_those_of_the_naive_definition(profile):
    texts = hostile_texts(60)
    assert specified_tokens(texts, profile) == [naive_tokens(text, profile) for text in texts]


def test_tokens_are_those_of_cpython():
    def without_kinds(texts: list[list[RefToken]]) -> list[list[RefToken]]:
        return [[token._replace(error=bool(token.error)) for token in text] for text in texts]

    texts = hostile_texts(300)
    expected = [ref_tokens(text) for text in texts]
    assert without_kinds(specified_tokens(texts)) == without_kinds(expected)


def test_well_formed_sequences_are_those_that_cpython_decodes():
    rows = well_formed(UNICODE)
    assert [len(row) for row in rows] == [1, 2, 3, 3, 3, 3, 4, 4, 4]
    for first, second, form in product(range(256), BYTES, (1, 2, 3, 4)):
        sequence = bytes([first, second, 0x80, 0xBF])[:form]
        character = sequence.decode(errors="ignore")
        fits = [len(row) == form and all(map(range.__contains__, row, sequence)) for row in rows]
        assert any(fits) == (len(character) == 1 and character.encode() == sequence)


def test_behind_the_second_byte_the_tables_restrict_none():
    """The specification reads no more of a row: `is_continuation` says so of the others."""
    for profile in ALL_RULES.values():
        for row in well_formed(profile):
            assert all(bounds == range(0x80, 0xC0) for bounds in row[2:])


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_bytes_are_those_of_the_form_table(profile):
    limits = [1 << bits for bits in (7, 11, 16, 21, 26, 31, 36, 42)]
    values = {limit + offset for limit in limits for offset in (-2, -1, 0, 1)}
    values |= {0, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFD, 0xFFFE, profile.highest}
    values |= {profile.highest + 1, (1 << profile.utf32_width) - 1}

    async def bench(ctx, specification):
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

    simulate(lambda m: EncoderSpecification(m, profile), bench)


# --- well-formed text ---------------------------------------------------------------------------


def is_whole(text: bytes, profile: Profile) -> bool:
    return not any(token.error for token in naive_tokens(text, profile))


def goes_on(text: bytes, profile: Profile) -> bool:
    """Whether a text can begin so."""
    errors = [token for token in naive_tokens(text, profile) if token.error]
    at_the_end = all(token.offset + token.length == len(text) for token in errors)
    return at_the_end and all(token.error == "truncated" for token in errors)


@pytest.mark.sample(8)
@each_profile
def test_a_byte_fits_if_the_text_can_go_on_with_it(profile):
    profile = replace(profile, error_span=ErrorSpan.MAXIMAL_SUBPART)
    generator = random.Random(1)
    lengths = set()
    lead = count(-1, -1)

    async def bench(ctx, text):
        character = b""
        for _ in range(ACCEPTED):
            # After each byte all that are at an end of some range are tried, and one is taken.
            fitting = []
            for byte in BYTES:
                longer = character + bytes([byte])
                ctx.set(text.byte, byte)
                ctx.set(text.last, 0)
                assert ctx.get(text.fits) == goes_on(longer, profile), longer.hex(" ")
                ctx.set(text.last, 1)
                assert ctx.get(text.fits) == is_whole(longer, profile), longer.hex(" ")
                fitting += [byte] if goes_on(longer, profile) else []
            if character:
                character += bytes([generator.choice(fitting)])
            else:  # each lead byte in turn, the longest first
                character = bytes([fitting[next(lead) % len(fitting)]])
            ctx.set(text.byte, character[-1])
            ctx.set(text.accept, 1)
            await ctx.tick()
            ctx.set(text.accept, 0)
            if is_whole(character, profile):
                lengths.add(len(character))
                character = b""

    simulate(lambda m: WellFormedText(m, profile), bench)
    assert lengths == set(range(1, profile.longest_form + 1))


def test_rows_are_those_of_table_3_7():
    """A row ends where the lead byte's or the second byte's bounds change."""
    assert [chr(end).encode().hex() for end in row_ends(UNICODE)] == [
        *("00", "7f", "c280", "dfbf", "e0a080", "e0bfbf", "e18080", "ecbfbf"),
        *("ed8080", "ed9fbf", "ee8080", "efbfbf", "f0908080", "f0bfbfbf"),
        *("f1808080", "f3bfbfbf", "f4808080", "f48fbfbf"),
    ]
    for profile in ALL_RULES.values():
        ends = row_ends(profile)
        assert len(set(ends)) == len(ends)
        assert profile.highest in ends or not profile.accept_noncharacters
        assert (0xD800 in ends, 0xDFFF in ends) == (profile.accept_surrogates,) * 2
        assert (0xFFFF in ends) == profile.accept_noncharacters
