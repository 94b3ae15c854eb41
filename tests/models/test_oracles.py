"""Golden decoder against CPython, glibc's iconv, Perl and the naive definition.

The naive definition covers all profiles, and is compared with CPython in `unicode`. Error spans of
iconv and Perl differ, so only characters and their offsets are compared with theirs.
"""

import ctypes
import platform
import random
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import encoding, naive_tokens
from reference import BOUNDARY_BYTES, RefToken, ref_tokens
from rtl import ALL_RULES
from utf8_hdl import EXTENDED, UCS4, UNICODE, ErrorSpan, Profile
from utf8_sim.golden.decoder import decode
from utf8_sim.golden.encoder import encode_as

ACCEPTING = {"accept_surrogates": True, "accept_noncharacters": True}
ICONV = replace(UCS4, accept_noncharacters=True)
PERL = Profile(name="seven", longest_form=7, highest=(1 << 36) - 1, **ACCEPTING)

FORM_BITS = {1: 7, 2: 11, 3: 16, 4: 21, 5: 26, 6: 31, 7: 36, 8: 42}
LAST_VALUES = [(1 << bits) - 1 for bits in FORM_BITS.values()]
BOUNDARIES = sorted(
    {0, 1, 0xA, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFD, 0xFFFE, 0x10FFFF, 0x110000}
    | {0x1FFFE, 0x10FFFE, 0x13FFFF, 0x140000}
    | set(LAST_VALUES)
    | {last + 1 for last in LAST_VALUES[:-1]}
)
BYTES = bytes(sorted({*BOUNDARY_BYTES, *bytes.fromhex("81 82 83 84 87 88 B0 BE F9")}))
"""Boundary bytes of all sequence lengths, and the last byte of U+FFFE."""


def forms(value: int) -> list[int]:
    """Sequence lengths with enough bits for a value; all except the first are overlong."""
    return [form for form, bits in FORM_BITS.items() if value >> bits == 0]


WELL_FORMED = [encoding(value) for value in BOUNDARIES]
OVERLONG = [encoding(value, form) for value in BOUNDARIES for form in forms(value)[1:]]
BEGINNINGS = sorted({s[:end] for s in WELL_FORMED + OVERLONG for end in range(1, len(s) + 1)})
TAILS = [bytes([byte]) for byte in bytes.fromhex("00 80 8F 90 9F A0 BF C2 FF")]
TAILS += [bytes(pair) for pair in product(b"\x80\xbf", b"\x00\x80")]
HOSTILE = BEGINNINGS + [beginning + tail for beginning in BEGINNINGS for tail in TAILS]


def random_texts(count: int, seed: int) -> list[bytes]:
    """Sequences of every length, some cut or corrupted, and random boundary bytes."""
    chance = random.Random(seed)
    texts = []
    for _ in range(count):
        text = b""
        for form in chance.choices(range(1, 8), k=3):
            sequence = bytearray(encoding(chance.getrandbits(FORM_BITS[form]), form))
            sequence[chance.randrange(form)] ^= chance.choice([0, 0, 0x40, chance.randrange(256)])
            text += sequence[: chance.choice([form, form, chance.randint(1, form)])]
        texts += [text, bytes(chance.choices(BYTES, k=6))]
    return texts


def model_tokens(data: bytes, profile: Profile) -> list[RefToken]:
    tokens, offset = [], 0
    for token in decode(data, profile):
        error = token.kind.label if token.error else None
        tokens.append(RefToken(offset, token.length, token.code_point, error))
        offset += token.length
    return tokens


def model_characters(data: bytes, profile: Profile) -> list[tuple[int, int]]:
    """Offset and value of every character."""
    tokens = model_tokens(data, profile)
    return [(token.offset, token.code_point) for token in tokens if token.error is None]


@given(st.binary(min_size=1, max_size=64) | st.lists(st.sampled_from(BYTES), min_size=1).map(bytes))
def test_tokens_match_cpython(data):
    assert model_tokens(data, UNICODE) == ref_tokens(data) == naive_tokens(data, UNICODE)
    lasts = [token.last for token in decode(data)]
    assert lasts == [False] * (len(lasts) - 1) + [True]


def differs_from_naive(model: Profile, naive: Profile) -> bytes | None:
    """The first hostile text whose tokens differ; the profiles may differ."""
    return next(
        (text for text in HOSTILE if model_tokens(text, model) != naive_tokens(text, naive)), None
    )


def test_naive_definition_matches_cpython():
    assert [text for text in HOSTILE if naive_tokens(text, UNICODE) != ref_tokens(text)] == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("profile", ALL_RULES.values(), ids=ALL_RULES)
def test_boundary_sequences_match_naive_definition(profile):
    assert differs_from_naive(profile, profile) is None


@st.composite
def profiles(draw) -> Profile:
    """Profiles with random consistent rules."""
    form = draw(st.integers(3, 8))
    second_byte_step = 1 << 6 * (form - 2)
    lowest = max(1 << FORM_BITS[form - 1], 0xFFFF)
    steps = st.integers(lowest // second_byte_step + 1, (1 << FORM_BITS[form]) // second_byte_step)
    return Profile(
        name="any",
        longest_form=form,
        highest=draw(steps) * second_byte_step - 1,
        accept_surrogates=draw(st.booleans()),
        accept_noncharacters=draw(st.booleans()),
        error_span=draw(st.sampled_from(ErrorSpan)),
    )


hostile_bytes = st.lists(
    st.sampled_from(BYTES).map(lambda byte: bytes([byte]))
    | st.sampled_from(BEGINNINGS)
    | st.integers(0, LAST_VALUES[-1]).map(encoding)
    | st.binary(max_size=8)
).map(b"".join)


@settings(max_examples=3 * settings.default.max_examples)
@given(hostile_bytes, profiles() | st.sampled_from(list(ALL_RULES.values())))
def test_tokens_match_naive_definition(data, profile):
    assert model_tokens(data, profile) == naive_tokens(data, profile)


@pytest.mark.parametrize(
    ("right", "rule"),
    [
        (UNICODE, {"accept_surrogates": True}),
        (UNICODE, {"accept_noncharacters": False}),
        (UNICODE, {"error_span": ErrorSpan.WHOLE_SEQUENCE}),
        (UNICODE, {"highest": 0x10EFFF}),
        (EXTENDED, {"longest_form": 7, "highest": (1 << 36) - 1}),
    ],
)
def test_naive_definition_detects_wrong_profile(right, rule):
    assert differs_from_naive(replace(right, **rule), right)


def test_encodings_match_naive_definition():
    for value in BOUNDARIES:
        assert encode_as(value) == encoding(value)
        for form in forms(value):
            assert encode_as(value, form) == encoding(value, form)


# --- other programs, each in the profile it implements -------------------------------------------

Characters = list[tuple[int, int]]
"""Offsets and values."""


# glibc's iconv, from UTF-8 to UCS-4: `ucs4` with noncharacters accepted, up to 31 bits. It rejects
# overlong forms, surrogates, FE and FF. Not covered: longer values, accepted surrogates, rejected
# noncharacters, length and kind of an error.


@cache
def libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.iconv_open.restype = ctypes.c_void_p
    library.iconv.argtypes = [ctypes.c_void_p] * 5
    library.iconv.restype = ctypes.c_size_t
    library.iconv_close.argtypes = [ctypes.c_void_p]
    return library


def iconv_characters(data: bytes) -> Characters:
    """Convert one character at a time; skip one byte at an error."""
    descriptor = libc().iconv_open(b"UCS-4BE", b"UTF-8")
    assert descriptor != ctypes.c_void_p(-1).value
    source, target = ctypes.create_string_buffer(data), ctypes.create_string_buffer(4)
    found, offset = [], 0
    while offset < len(data):
        begin = ctypes.c_void_p(ctypes.addressof(source) + offset)
        left = ctypes.c_size_t(len(data) - offset)
        end, room = ctypes.c_void_p(ctypes.addressof(target)), ctypes.c_size_t(4)
        libc().iconv(descriptor, *map(ctypes.byref, (begin, left, end, room)))
        consumed = len(data) - offset - left.value
        if consumed:
            found.append((offset, int.from_bytes(target.raw, "big")))
        offset += consumed or 1
    libc().iconv_close(descriptor)
    return found


# Perl's lax "utf8": up to 36 bits in 7 bytes, surrogates and noncharacters accepted, overlong forms
# rejected. Not covered: FF (which leads 13 bytes in Perl), rejected surrogates or noncharacters,
# length and kind of an error. Its replacement by U+FFFD also drops the byte after some errors, so
# FB_QUIET makes it stop at errors.

PERL_CHARACTERS = r"""
use strict; use warnings; no warnings "utf8"; use Encode ();
while (<STDIN>) {
    chomp;
    my ($rest, $offset, @found) = (pack("H*", $_), 0);
    while (length $rest) {
        for (split //, Encode::decode("utf8", $rest, Encode::FB_QUIET)) {
            push @found, $offset . ":" . ord;
            utf8::encode($_);
            $offset += length;
        }
        if (length $rest) { substr($rest, 0, 1) = ""; $offset++ }
    }
    print "@found\n";
}
"""


def perl_characters(texts: Sequence[bytes]) -> list[Characters]:
    lines = "".join(text.hex() + "\n" for text in texts)
    command = ["perl", "-e", PERL_CHARACTERS]
    done = subprocess.run(command, input=lines, capture_output=True, check=True, text=True)
    assert done.stderr == ""
    return [
        [tuple(map(int, character.split(":"))) for character in line.split()]
        for line in done.stdout.splitlines()
    ]


def has_perl() -> bool:
    """True if Perl is installed, with Encode and 64-bit integers."""
    probe = ["perl", "-MEncode", "-e", "exit(~0 < 2 ** 42)"]
    return bool(shutil.which("perl")) and not subprocess.run(probe, check=False).returncode


ORACLES = [
    pytest.param(
        lambda texts: list(map(iconv_characters, texts)),
        ICONV,
        [UCS4, UNICODE, EXTENDED, replace(ICONV, accept_surrogates=True)],
        marks=pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="no iconv of glibc"),
        id="iconv",
    ),
    pytest.param(
        perl_characters,
        PERL,
        [
            replace(PERL, longest_form=6, highest=(1 << 31) - 1),
            replace(PERL, longest_form=8, highest=(1 << 42) - 1),
            replace(PERL, accept_surrogates=False),
            replace(PERL, accept_noncharacters=False),
        ],
        marks=pytest.mark.skipif(not has_perl(), reason="no Perl"),
        id="perl",
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(("oracle", "profile", "wrong_profiles"), ORACLES)
def test_characters_match_other_program(oracle, profile, wrong_profiles):
    texts = HOSTILE[::4] + random_texts(300, seed=3)
    expected = oracle(texts)

    def differing(rules: Profile) -> list[bytes]:
        pairs = zip(texts, expected, strict=True)
        return [text for text, found in pairs if found != model_characters(text, rules)]

    assert differing(profile) == []
    for wrong in wrong_profiles:
        assert differing(wrong)
