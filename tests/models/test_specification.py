"""The proofs' model of well-formed text, against the naive definition and Table 3-7."""

import random
from dataclasses import replace
from itertools import count

import pytest
from amaranth.hdl import ClockDomain, Module

from naive import naive_tokens
from reference import BOUNDARY_BYTES
from rtl import ALL_RULES, run_bench
from utf8_flow.formal.well_formed import WellFormedText, row_ends
from utf8_hdl import EXTENDED, UCS2, UCS4, UNICODE, Profile

BYTES = bytes(sorted({*BOUNDARY_BYTES, *bytes.fromhex("81 82 83 84 87 88 BD BE F9")}))
ACCEPTED = 130
"""Number of bytes of well-formed text in the test."""

OTHER_RULES = replace(UNICODE, accept_surrogates=True, accept_noncharacters=False)


def is_complete(text: bytes, profile: Profile) -> bool:
    return not any(token.error for token in naive_tokens(text, profile))


def is_prefix(text: bytes, profile: Profile) -> bool:
    """True if a well-formed text can begin with these bytes."""
    errors = [token for token in naive_tokens(text, profile) if token.error]
    at_the_end = all(token.offset + token.length == len(text) for token in errors)
    return at_the_end and all(token.error == "truncated" for token in errors)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "profile", [UNICODE, EXTENDED, UCS2, UCS4, OTHER_RULES], ids=lambda it: it.name
)
def test_byte_fits_if_text_can_continue(profile):
    generator = random.Random(1)
    lengths = set()
    lead = count(-1, -1)

    async def bench(ctx):
        character = b""
        for _ in range(ACCEPTED):
            # All boundary bytes are tried after each byte, and one is accepted.
            fitting = []
            for byte in BYTES:
                longer = character + bytes([byte])
                ctx.set(text.byte, byte)
                ctx.set(text.last, 0)
                assert ctx.get(text.fits) == is_prefix(longer, profile), longer.hex(" ")
                ctx.set(text.last, 1)
                assert ctx.get(text.fits) == is_complete(longer, profile), longer.hex(" ")
                fitting += [byte] if is_prefix(longer, profile) else []
            if character:
                character += bytes([generator.choice(fitting)])
            else:  # each lead byte in turn, longest form first
                character = bytes([fitting[next(lead) % len(fitting)]])
            ctx.set(text.byte, character[-1])
            ctx.set(text.accept, 1)
            await ctx.tick()
            ctx.set(text.accept, 0)
            if is_complete(character, profile):
                lengths.add(len(character))
                character = b""

    m = Module()
    m.domains.sync = ClockDomain()
    text = WellFormedText(m, profile)
    run_bench(m, bench)
    assert lengths == set(range(1, profile.longest_form + 1))


def test_row_ends_match_table_3_7():
    """A row ends where the bounds of the lead byte or second byte change."""
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
