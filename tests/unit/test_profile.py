"""Profiles and tokens: the numbers of the contract, and rules that contradict each other."""

import copy
import inspect
import pickle
import re
from dataclasses import FrozenInstanceError, replace

import pytest
from amaranth.hdl import Shape

from utf8_hdl import (
    EXTENDED,
    PROFILES,
    UCS2,
    UCS4,
    UNICODE,
    CompactDecoder,
    Compactor,
    Decoder,
    Encoder,
    EncodingScheme,
    ErrorKind,
    ErrorSpan,
    Profile,
    Transcoder,
    Validator,
    WideDecoder,
    token_layout,
)


@pytest.mark.parametrize(
    ("profile", "longest_form", "highest", "surrogates", "noncharacters", "width"),
    [
        (UNICODE, 4, 0x10FFFF, False, True, 21),
        (UCS2, 3, 0xFFFF, False, False, 16),
        (UCS4, 6, 0x7FFFFFFF, False, False, 31),
        (EXTENDED, 8, 0x3FFFFFFFFFF, False, False, 42),
    ],
    ids=["unicode", "ucs2", "ucs4", "extended"],
)
def test_named_profiles(profile, longest_form, highest, surrogates, noncharacters, width):
    assert PROFILES[profile.name] is profile
    assert profile.longest_form == longest_form
    assert profile.highest == highest
    assert profile.accept_surrogates is surrogates
    assert profile.accept_noncharacters is noncharacters
    assert profile.error_span is ErrorSpan.MAXIMAL_SUBPART
    assert profile.code_point_width == width


def test_a_profile_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        UNICODE.highest = 0x7F


@pytest.mark.parametrize(
    ("longest_form", "highest", "message"),
    [
        (2, 0x7FF, "longest_form must be 3 to 8 bytes, so that U.FFFD fits, not 2"),
        (9, 1 << 42, "longest_form must be 3 to 8 bytes"),
        (4, 0x200000, "highest must be 10000 to 1FFFFF, the values that need 4 bytes, not 200000"),
        (4, 0xFFFF, "highest must be 10000 to 1FFFFF, the values that need 4 bytes, not FFFF"),
        (4, 0x10FFFE, "one less than a multiple of 1000, so that the second byte decides"),
        (3, 0xD7FF, "highest must be FFFF or above"),
    ],
)
def test_rules_that_make_no_sense_are_refused(longest_form, highest, message):
    with pytest.raises(ValueError, match=message):
        Profile(name="odd", longest_form=longest_form, highest=highest)


@pytest.mark.parametrize("name", ["", "two words", "line\nbreak", "*/", "../up", "naïve", "a\n"])
def test_a_name_that_cannot_stand_in_generated_files_is_refused(name):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - compared as a whole
        replace(UNICODE, name=name)
    assert str(refused.value) == f"name must be letters, digits, '-' and '_', not {name!r}"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: replace(UNICODE, name=1), "name must be a str, not 1"),
        (lambda: replace(UNICODE, highest=1114111.0), "highest must be an integer, 0 or more, not"),
        (lambda: replace(UNICODE, longest_form=4.0), "longest_form must be an integer, 0 or more"),
        (
            lambda: replace(UNICODE, accept_surrogates="reject"),
            "accept_surrogates must be a bool, not 'reject'",
        ),
        (
            lambda: replace(UNICODE, accept_noncharacters=1),
            "accept_noncharacters must be a bool, not 1",
        ),
        *(
            (
                lambda design=design: design("unicode"),
                "profile must be a Profile, such as UNICODE, not 'unicode'",
            )
            for design in (Decoder, Encoder, Validator, Transcoder)
        ),
        (lambda: Transcoder(strip_bom="no"), "strip_bom must be a bool, not 'no'"),
        (lambda: Transcoder(errors=1), "errors must be a bool, not 1"),
        (
            lambda: Transcoder(lanes=64, report_width=6),
            "report_width (lanes=64) must be 7 to 32, not 6",
        ),
        (lambda: WideDecoder(lanes=8.0), "lanes must be an integer, 0 or more, not 8.0"),
        (lambda: Validator(lanes=True), "lanes must be an integer, 0 or more, not True"),
        (
            lambda: Validator(offset_width="12"),
            "offset_width (lanes=8) must be an integer, 4 to 32, not '12'",
        ),
        (
            lambda: Validator(offset_width=3),
            "offset_width (lanes=8) must be 4 to 32, not 3",
        ),
        (
            lambda: Validator(offset_width=33),
            "offset_width (lanes=8) must be 4 to 32, not 33",
        ),
        (
            lambda: Validator(lanes=64, offset_width=6),
            "offset_width (lanes=64) must be 7 to 32, not 6",
        ),
        (lambda: Compactor(shape=8.5), "shape must be an integer, 1 or more, not 8.5"),
        (lambda: Compactor(shape=0), "shape must be 1 or more, not 0"),
        (lambda: Compactor(user=-1), "user must be 0 or more, not -1"),
    ],
)
def test_parameters_of_another_type_are_refused(make, message):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}"):
        make()


@pytest.mark.parametrize(
    "design",
    [
        CompactDecoder(UCS2),
        Encoder(UCS2),
        Validator(UCS2, lanes=4, offset_width=6),
        Compactor(lanes=4, shape=5, user=1),
        Transcoder(
            UCS2,
            lanes=4,
            source=EncodingScheme.UTF_16BE,
            target=EncodingScheme.UTF_8,
            strip_bom=True,
        ),
    ],
    ids=lambda design: type(design).__name__,
)
def test_a_copy_of_a_design_has_the_same_parameters(design):
    for made in (copy.copy(design), copy.deepcopy(design), pickle.loads(pickle.dumps(design))):
        assert type(made) is type(design)
        assert made is not design
        for name in inspect.signature(type(design)).parameters:
            assert getattr(made, name) == getattr(design, name)


def test_description_names_every_rule():
    odd = replace(
        UNICODE, name="My-UTF_8", accept_surrogates=True, error_span=ErrorSpan.WHOLE_SEQUENCE
    )
    assert odd.describe() == (
        "My-UTF_8: 1 to 4 bytes, up to U+10FFFF, surrogates accepted, "
        "U+FFFE and U+FFFF accepted, error span whole-sequence"
    )


def test_codes_of_errors():
    assert {kind.value: kind.label for kind in ErrorKind} == {
        0: "none",
        1: "unexpected-continuation",
        2: "invalid-byte",
        3: "overlong",
        4: "surrogate",
        5: "out-of-range",
        6: "truncated",
        7: "noncharacter",
    }


@pytest.mark.parametrize(
    ("profile", "length_width"), [(UNICODE, 3), (UCS2, 2), (UCS4, 3), (EXTENDED, 4)]
)
def test_layout_of_a_token(profile, length_width):
    widths = {name: Shape.cast(field.shape).width for name, field in token_layout(profile)}
    assert widths == {
        "code_point": profile.code_point_width,
        "error": 1,
        "kind": 3,
        "length": length_width,
        "last": 1,
    }
