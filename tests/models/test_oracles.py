"""Bytes to tokens: the golden model against definitions of UTF-8 that we did not write.

CPython, glibc's iconv and Perl each reach a part of the profiles; the naive definition reaches all
of them, and is itself held against CPython in `unicode`. Elsewhere none of the three has our spans
of errors, so they are asked where characters are: after an error they go on with the next byte.
"""

import ctypes
import errno
import platform
import random
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import encoding, naive_tokens
from reference import BOUNDARY_BYTES, RefToken, ref_tokens
from rtl import ALL_RULES
from utf8_hdl import EXTENDED, UCS2, UCS4, UNICODE, ErrorSpan, Profile
from utf8_sim.golden.decoder import decode
from utf8_sim.golden.encoder import encode_as

ACCEPTING = {"accept_surrogates": True, "accept_noncharacters": True}
CPYTHON = replace(UNICODE, accept_surrogates=True)
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
"""Also the boundaries of the longer forms, and the last byte of U+FFFE."""


def forms(value: int) -> list[int]:
    """The forms that have room for it. All but the first are overlong."""
    return [form for form, bits in FORM_BITS.items() if value >> bits == 0]


WELL_FORMED = [encoding(value) for value in BOUNDARIES]
OVERLONG = [encoding(value, form) for value in BOUNDARIES for form in forms(value)[1:]]
BEGINNINGS = sorted({s[:end] for s in WELL_FORMED + OVERLONG for end in range(1, len(s) + 1)})
TAILS = [bytes([byte]) for byte in bytes.fromhex("00 7F 80 8F 90 9F A0 BF C0 C2 ED F4 FE FF")]
TAILS += [bytes(pair) for pair in product(b"\x80\xbf\xc2", b"\x00\x80\xbf")]
HOSTILE = BEGINNINGS + [beginning + tail for beginning in BEGINNINGS for tail in TAILS]


def random_texts(count: int, seed: int) -> list[bytes]:
    """Sequences of every form, whole, cut or spoilt, and what the boundary bytes make up."""
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


def random_values(forms: Iterable[int], count: int, seed: int) -> list[int]:
    """As many of every form."""
    chance = random.Random(seed)
    return [
        chance.randrange(1 << FORM_BITS[form - 1], 1 << FORM_BITS[form])
        for form in forms
        for _ in range(count)
    ]


def model_tokens(data: bytes, profile: Profile) -> list[RefToken]:
    tokens, offset = [], 0
    for token in decode(data, profile):
        error = token.kind.label if token.error else None
        tokens.append(RefToken(offset, token.length, token.code_point, error))
        offset += token.length
    return tokens


def model_characters(data: bytes, profile: Profile) -> list[tuple[int, int]]:
    """Offset and value of every character; the bytes between them belong to errors."""
    tokens = model_tokens(data, profile)
    return [(token.offset, token.code_point) for token in tokens if token.error is None]


def first_difference(texts: Iterable[bytes], one: Callable, other: Callable) -> bytes | None:
    return next((text for text in texts if one(text) != other(text)), None)


# CPython: every token of `unicode`.


def differs_from_ref(texts: Iterable[bytes]) -> bytes | None:
    return first_difference(texts, lambda text: model_tokens(text, UNICODE), ref_tokens)


SHORT = [bytes(values) for length in (1, 2) for values in product(range(256), repeat=length)]


def test_every_text_of_one_and_two_bytes_is_cpythons():
    assert decode(b"") == []
    assert differs_from_ref(SHORT) is None


def test_every_text_of_three_boundary_bytes_is_cpythons():
    assert differs_from_ref(map(bytes, product(BOUNDARY_BYTES, repeat=3))) is None


@pytest.mark.sample(1)
@pytest.mark.parametrize("plane", range(17))
def test_every_scalar_value_is_cpythons(plane):
    scalars = [c for c in range(plane << 16, (plane + 1) << 16) if not 0xD800 <= c <= 0xDFFF]
    tokens = decode("".join(map(chr, scalars)).encode("utf-8"))
    assert [token.code_point for token in tokens] == scalars
    assert not any(token.error for token in tokens)


@given(st.binary(min_size=1, max_size=64) | st.lists(st.sampled_from(BYTES), min_size=1).map(bytes))
@settings(deadline=None)
def test_any_bytes_are_cpythons_in_the_model_and_in_the_naive_definition(data):
    assert model_tokens(data, UNICODE) == ref_tokens(data) == naive_tokens(data, UNICODE)
    lasts = [token.last for token in decode(data)]
    assert lasts == [False] * (len(lasts) - 1) + [True]


@given(st.characters(exclude_categories=["Cs"]))
def test_shortest_encoding_is_cpythons(character):
    assert encode_as(ord(character)) == character.encode("utf-8")


# The naive definition: every token of every profile.


def differs_from_naive(texts: Iterable[bytes], profile: Profile, wrong: Profile | None = None):
    """The first text in which the golden model, of the wrong profile if given, says otherwise."""
    return first_difference(
        texts,
        lambda text: model_tokens(text, wrong or profile),
        lambda text: naive_tokens(text, profile),
    )


def variant_name(profile: Profile) -> str:
    surrogates = "surrogates" if profile.accept_surrogates else "no surrogates"
    noncharacters = "noncharacters" if profile.accept_noncharacters else "no noncharacters"
    return f"{profile.name}, {surrogates}, {noncharacters}, {profile.error_span.value}"


each_variant = pytest.mark.parametrize("profile", ALL_RULES.values(), ids=variant_name)


def test_naive_definition_is_cpythons_where_cpython_reaches():
    assert first_difference(HOSTILE, lambda text: naive_tokens(text, UNICODE), ref_tokens) is None


@pytest.mark.parametrize(
    "wrong", [CPYTHON, UCS2, replace(UNICODE, highest=0x10EFFF)], ids=variant_name
)
def test_cpython_can_tell_a_wrong_naive_definition(wrong):
    assert first_difference(HOSTILE, lambda text: naive_tokens(text, wrong), ref_tokens)


@pytest.mark.sample(1)
@pytest.mark.parametrize("profile", [UCS4, UCS2, EXTENDED], ids=variant_name)
def test_every_text_of_one_and_two_bytes(profile):
    assert differs_from_naive(SHORT, profile) is None


@pytest.mark.sample(5)
@each_variant
def test_every_text_of_three_boundary_bytes(profile):
    texts = [bytes(values) for values in product(BYTES, BYTES, b"\x41\x80\xbf")]
    assert differs_from_naive(texts, profile) is None


@pytest.mark.sample(5)
@each_variant
def test_every_beginning_of_a_boundary_value_and_one_or_two_bytes_more(profile):
    assert differs_from_naive(HOSTILE, profile) is None


@st.composite
def profiles(draw) -> Profile:
    """Any rules that do not contradict each other."""
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


@given(hostile_bytes, profiles() | st.sampled_from(list(ALL_RULES.values())))
@settings(max_examples=300, deadline=None)
def test_any_bytes_in_any_profile(data, profile):
    assert model_tokens(data, profile) == naive_tokens(data, profile)


@pytest.mark.parametrize(
    ("right", "rule"),
    [
        (UNICODE, {"accept_surrogates": True}),
        (UNICODE, {"accept_noncharacters": False}),
        (UNICODE, {"error_span": ErrorSpan.WHOLE_SEQUENCE}),
        (UNICODE, {"highest": 0x10EFFF}),
        (UCS2, {"accept_noncharacters": True}),
        (UCS4, {"highest": 0x7EFF_FFFF}),
        (PERL, {"longest_form": 8, "highest": (1 << 42) - 1}),
        (EXTENDED, {"highest": (1 << 42) - (1 << 36) - 1}),
        (EXTENDED, {"longest_form": 7, "highest": (1 << 36) - 1}),
    ],
)
def test_naive_definition_can_tell_a_wrong_model(right, rule):
    assert differs_from_naive(HOSTILE, right, wrong=replace(right, **rule))


def test_boundary_values_have_one_encoding():
    for value in BOUNDARIES:
        assert encode_as(value) == encoding(value)
        for form in forms(value):
            assert encode_as(value, form) == encoding(value, form)


# What others find: where characters are. Each of them is asked in the profile that it speaks.

Characters = list[tuple[int, int]]
"""Offsets and values."""


class Oracle(NamedTuple):
    """The profile that someone else speaks, what he finds in texts, and profiles he does not."""

    profile: Profile
    characters: Callable[[Sequence[bytes]], list[Characters]]
    wrong: Sequence[Profile]

    def differs(self, texts: Sequence[bytes], profile: Profile | None = None) -> bytes | None:
        """The first text in which the golden model, of the wrong profile if given, says more."""
        for text, found in zip(texts, self.characters(texts), strict=True):
            if found != model_characters(text, profile or self.profile):
                return text
        return None


# CPython with errors="surrogatepass": `unicode` with surrogates accepted. What it does not reach:
# values above 10FFFF, noncharacters refused, and the span of ED A0..BF cut short, where CPython has
# an error of one byte.


def cpython_characters(data: bytes) -> Characters:
    found, offset = [], 0
    while offset < len(data):
        try:
            text, wrong = data[offset:].decode("utf-8", "surrogatepass"), None
        except UnicodeDecodeError as error:
            wrong = offset + error.start
            text = data[offset:wrong].decode("utf-8", "surrogatepass")
        for character in text:
            found.append((offset, ord(character)))
            offset += len(character.encode("utf-8", "surrogatepass"))
        if wrong is not None:
            offset = wrong + 1
    return found


# glibc's iconv, from UTF-8 to UCS-4: `ucs4` with U+FFFE and U+FFFF accepted, all 31 bits of it.
# It refuses overlong forms, surrogates, FE and FF. What it does not reach: values of more than 31
# bits, surrogates accepted, noncharacters refused, how long an error is, and of what kind. It tells
# "cut by the end of the text" (EINVAL) from "wrong" (EILSEQ), but says the former of E0 80 as well.


@cache
def libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.iconv_open.restype = ctypes.c_void_p
    library.iconv.argtypes = [ctypes.c_void_p] * 5
    library.iconv.restype = ctypes.c_size_t
    library.iconv_close.argtypes = [ctypes.c_void_p]
    return library


def iconv_steps(data: bytes) -> list[tuple[int, int | None, int]]:
    """Offset, value and error number of every step: one character, or one byte of an error."""
    descriptor = libc().iconv_open(b"UCS-4BE", b"UTF-8")
    assert descriptor != ctypes.c_void_p(-1).value
    source, target = ctypes.create_string_buffer(data), ctypes.create_string_buffer(4)
    steps, offset = [], 0
    while offset < len(data):
        begin = ctypes.c_void_p(ctypes.addressof(source) + offset)
        left = ctypes.c_size_t(len(data) - offset)
        end, room = ctypes.c_void_p(ctypes.addressof(target)), ctypes.c_size_t(4)
        libc().iconv(descriptor, *map(ctypes.byref, (begin, left, end, room)))
        taken = len(data) - offset - left.value
        value = int.from_bytes(target.raw, "big") if taken else None
        steps.append((offset, value, 0 if taken else ctypes.get_errno()))
        offset += taken or 1
    libc().iconv_close(descriptor)
    return steps


def iconv_characters(data: bytes) -> Characters:
    return [(offset, value) for offset, value, _ in iconv_steps(data) if value is not None]


needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="no iconv of glibc")

# Perl's lax "utf8": 36 bits in up to 7 bytes, so FE with the 7-byte form, surrogates and
# noncharacters accepted. It refuses overlong forms. What it does not reach: FF, which in Perl leads
# 13 bytes (none of these texts has the 12 continuation bytes it wants); surrogates or noncharacters
# refused; how long an error is, and of what kind. Its substitution of U+FFFD swallows what follows
# an error (FF F8 is one, and BF hides the character after it), so it is made to stop (FB_QUIET).

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
    """With Encode, and integers of 64 bits."""
    probe = ["perl", "-MEncode", "-e", "exit(~0 < 2 ** 42)"]
    return bool(shutil.which("perl")) and not subprocess.run(probe, check=False).returncode


ORACLES = {
    "cpython": Oracle(
        CPYTHON,
        lambda texts: list(map(cpython_characters, texts)),
        [UNICODE, UCS2, replace(CPYTHON, accept_noncharacters=False)],
    ),
    "iconv": Oracle(
        ICONV,
        lambda texts: list(map(iconv_characters, texts)),
        [UCS4, UNICODE, EXTENDED, replace(ICONV, accept_surrogates=True)],
    ),
    "perl": Oracle(
        PERL,
        perl_characters,
        [
            replace(PERL, longest_form=6, highest=(1 << 31) - 1),
            replace(PERL, longest_form=8, highest=(1 << 42) - 1),
            replace(PERL, accept_surrogates=False),
            replace(PERL, accept_noncharacters=False),
        ],
    ),
}
MARKS = {"iconv": needs_glibc, "perl": pytest.mark.skipif(not has_perl(), reason="no Perl")}
each_oracle = pytest.mark.parametrize(
    "oracle",
    [pytest.param(ORACLES[name], marks=MARKS.get(name, ()), id=name) for name in ORACLES],
)


@each_oracle
def test_every_form_is_the_oracles(oracle):
    values = BOUNDARIES + random_values(range(2, 8), count=1000, seed=2)
    values = [value for value in values if value <= oracle.profile.highest]
    if not oracle.profile.accept_surrogates:
        values = [value for value in values if value >> 11 != 0xD800 >> 11]
    data = b"".join(map(encoding, values))
    [found] = oracle.characters([data])
    assert [value for _, value in found] == values
    assert oracle.differs([data]) is None


@each_oracle
def test_overlong_forms_and_surrogates_are_refused_as_by_the_oracle(oracle):
    texts = [sequence for sequence in OVERLONG if len(sequence) <= oracle.profile.longest_form]
    if not oracle.profile.accept_surrogates:
        texts += [encoding(value) for value in range(0xD800, 0xE000)]
    assert not any(oracle.characters(texts))
    assert oracle.differs(texts) is None


@each_oracle
def test_characters_and_errors_are_where_the_oracle_finds_them(oracle):
    assert oracle.differs(HOSTILE + random_texts(2000, seed=3)) is None


@each_oracle
def test_the_oracle_can_tell_a_wrong_model(oracle):
    for wrong in oracle.wrong:
        assert oracle.differs(HOSTILE, wrong)


@needs_glibc
def test_a_cut_sequence_is_truncated_as_by_iconv():
    for next_byte, number in (b"", errno.EINVAL), (b"A", errno.EILSEQ):
        for sequence in WELL_FORMED:
            for end in range(1, len(sequence)):
                text = sequence[:end] + next_byte
                if model_tokens(text, ICONV)[0].error == "truncated":
                    assert iconv_steps(text)[0] == (0, None, number)
