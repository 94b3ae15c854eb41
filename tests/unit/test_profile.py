"""Profiles, tokens and parameters of components: values in the contract, and refusals."""

import copy
import inspect
import pickle
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, astuple, replace
from functools import partial

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
    EncodingScheme,
    ErrorSpan,
    Profile,
    Transcoder,
    Validator,
    token_layout,
)


@pytest.mark.parametrize(
    ("profile", "rules", "width", "length"),
    [
        (UNICODE, (4, 0x10FFFF, False, True), 21, 3),
        (UCS2, (3, 0xFFFF, False, False), 16, 2),
        (UCS4, (6, 0x7FFFFFFF, False, False), 31, 3),
        (EXTENDED, (8, 0x3FFFFFFFFFF, False, False), 42, 4),
    ],
    ids=["unicode", "ucs2", "ucs4", "extended"],
)
def test_named_profiles(profile, rules, width, length):
    assert PROFILES[profile.name] is profile
    assert astuple(profile)[1:] == (*rules, ErrorSpan.MAXIMAL_SUBPART)
    assert profile.code_point_width == width
    widths = {name: Shape.cast(field.shape).width for name, field in token_layout(profile)}
    assert widths == {"code_point": width, "error": 1, "kind": 3, "length": length, "last": 1}


def test_profile_is_immutable():
    with pytest.raises(FrozenInstanceError):
        UNICODE.highest = 0x7F


def odd(**changes: object) -> Callable[[], Profile]:
    """A call that creates a profile with other rules."""
    return partial(replace, UNICODE, **changes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (odd(longest_form=2), "longest_form must be 3 to 8 bytes, so that U+FFFD fits, not 2"),
        (odd(highest=0xFFFF), "highest must be 10000 to 1FFFFF, the values that need 4 bytes, not"),
        (
            odd(highest=0x10FFFE),
            "highest must be FFFF or above, and one less than a multiple of 1000, "
            "so that the second byte decides, not 10FFFE",
        ),
        (odd(longest_form=3, highest=0xD7FF), "highest must be FFFF or above"),
        (odd(highest=1114111.0), "highest must be an integer, 0 or more, not"),
        (odd(error_span="whole"), "'whole' is not a valid ErrorSpan"),
        (odd(name=1), "name must be a str, not 1"),
        *(
            (odd(name=name), f"name must be letters, digits, '-' and '_', not {name!r}")
            for name in ("", "*/", "naïve", "a\n")
        ),
        (lambda: Decoder("unicode"), "profile must be a Profile, such as UNICODE, not 'unicode'"),
        (lambda: Transcoder(strip_bom="no"), "strip_bom must be a bool, not 'no'"),
        (
            lambda: Transcoder(lanes=64, report_width=6),
            "report_width (lanes=64) must be 7 to 32, not 6",
        ),
        (lambda: Validator(lanes=True), "lanes must be an integer, 0 or more, not True"),
        (
            lambda: Validator(lanes=64, offset_width=6),
            "offset_width (lanes=64) must be 7 to 32, not 6",
        ),
        (lambda: Compactor(shape=8.5), "shape must be an integer, 1 or more, not 8.5"),
        (lambda: Compactor(user=-1), "user must be 0 or more, not -1"),
    ],
)
def test_wrong_parameters_are_refused(make, message):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}"):
        make()


@pytest.mark.parametrize(
    "design",
    [
        CompactDecoder(UCS2),
        Validator(UCS2, lanes=4, offset_width=6),
        Compactor(lanes=4, shape=5, user=1),
        Transcoder(UCS2, lanes=4, source=EncodingScheme.UTF_16BE, target=EncodingScheme.UTF_8),
    ],
    ids=lambda design: type(design).__name__,
)
def test_copied_design_keeps_parameters(design):
    for made in (copy.copy(design), copy.deepcopy(design), pickle.loads(pickle.dumps(design))):
        assert type(made) is type(design)
        assert made is not design
        for name in inspect.signature(type(design)).parameters:
            assert getattr(made, name) == getattr(design, name)


def test_description_lists_rules():
    profile = odd(name="My-UTF_8", accept_surrogates=True, error_span="whole-sequence")()
    assert profile.error_span is ErrorSpan.WHOLE_SEQUENCE
    assert profile.describe() == (
        "My-UTF_8: 1 to 4 bytes, up to U+10FFFF, surrogates accepted, "
        "U+FFFE and U+FFFF accepted, error span whole-sequence"
    )
