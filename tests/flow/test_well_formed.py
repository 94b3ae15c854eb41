"""The generator of well-formed text that a proof uses, held against a naive definition."""

import random
from dataclasses import replace
from itertools import count

import pytest
from amaranth.sim import Simulator

from naive import naive_tokens
from reference import BOUNDARY_BYTES
from rtl import ALL_RULES
from utf8_flow.formal.well_formed import WellFormedText, row_ends
from utf8_hdl import UNICODE, ErrorSpan, Profile

BYTES = bytes(
    sorted({*BOUNDARY_BYTES, *bytes.fromhex("81 82 83 84 87 88 BD BE BF F9 FB FC FD FE FF")})
)
LENGTH = 130

each_profile = pytest.mark.parametrize("profile", ALL_RULES.values(), ids=ALL_RULES)


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
    design = WellFormedText(profile)
    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    lengths = set()
    lead = count(-1, -1)

    async def bench(ctx):
        character = b""
        for _ in range(LENGTH):
            # After each byte all that are at an end of some range are tried, and one is taken.
            fitting = []
            for byte in BYTES:
                text = character + bytes([byte])
                ctx.set(design.byte, byte)
                ctx.set(design.last, 0)
                assert ctx.get(design.fits) == goes_on(text, profile), text.hex(" ")
                ctx.set(design.last, 1)
                assert ctx.get(design.fits) == is_whole(text, profile), text.hex(" ")
                fitting += [byte] if goes_on(text, profile) else []
            if character:
                character += bytes([generator.choice(fitting)])
            else:  # each lead byte in turn, the longest first
                character = bytes([fitting[next(lead) % len(fitting)]])
            ctx.set(design.byte, character[-1])
            ctx.set(design.accept, 1)
            await ctx.tick()
            ctx.set(design.accept, 0)
            if is_whole(character, profile):
                lengths.add(len(character))
                character = b""

    simulator.add_testbench(bench)
    simulator.run()
    assert lengths == set(range(1, profile.longest_form + 1))


def test_rows_are_those_of_table_3_7():
    """A row ends where the lead byte's or the second byte's bounds change."""
    ends = row_ends(UNICODE)
    assert [chr(end).encode().hex() for end in ends] == [
        *("00", "7f", "c280", "dfbf", "e0a080", "e0bfbf", "e18080", "ecbfbf"),
        *("ed8080", "ed9fbf", "ee8080", "efbfbf", "f0908080", "f0bfbfbf"),
        *("f1808080", "f3bfbfbf", "f4808080", "f48fbfbf"),
    ]


@pytest.mark.sample(8)
@each_profile
def test_the_ends_of_rows_are_values_of_the_profile(profile):
    ends = row_ends(profile)
    assert len(set(ends)) == len(ends)
    assert profile.highest in ends or not profile.accept_noncharacters
    assert (0xD800 in ends, 0xDFFF in ends) == (profile.accept_surrogates,) * 2
    assert (0xFFFF in ends) == profile.accept_noncharacters
