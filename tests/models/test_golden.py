"""The golden model held against the specification: all agree, and what is wrong with one shows."""

import random
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from altered import altered_golden
from rtl import ALL_RULES
from utf8_flow.formal import golden, golden_decoder, golden_encoder, specification
from utf8_flow.formal.golden_decoder import Model, classes_of, one_of_each, walk
from utf8_flow.formal.golden_encoder import encode_all
from utf8_hdl import EXTENDED, UCS2, UCS4, UNICODE, ErrorSpan, Profile
from utf8_sim.golden.decoder import is_continuation
from utf8_sim.golden.kernels import COMPILED

pytest.importorskip("pyosys", reason="pyosys is not installed")

WHOLE = replace(UNICODE, error_span=ErrorSpan.WHOLE_SEQUENCE)

each_rule = pytest.mark.parametrize("profile", ALL_RULES.values(), ids=ALL_RULES)


def few(profile: Profile) -> list[int]:
    """A byte of each class, but of those that continue a sequence only some."""
    return [byte for byte in one_of_each(profile) if not is_continuation(byte)] + [0x80, 0xBF]


def difference(profile: Profile) -> str:
    """The first difference of a short walk."""
    return walk(profile, few(profile))[1]


# --- the walk -----------------------------------------------------------------------------------


@pytest.mark.sample(8)
@each_rule
def test_the_golden_model_says_what_the_specification_says(profile):
    counts, found = walk(profile, few(profile))
    assert found == ""
    assert counts["sequences"] > 10 * (profile.longest_form - 2)


@pytest.mark.long
@pytest.mark.parametrize(
    "profile",
    [WHOLE, *(replace(profile, error_span=span) for profile in (UCS2, UCS4) for span in ErrorSpan)],
    ids=lambda profile: f"{profile.name}, {profile.error_span.value}",
)
def test_so_it_does_about_all_that_is_tried(profile):
    """In ``unicode`` without overrides too, where CPython is asked as well."""
    counts, found = walk(profile)
    assert found == ""
    if profile == UCS2:
        # Nothing; C2..DF, E0..EF; and behind E0, ED, and the others of these so many second bytes.
        sequences = 1 + 30 + 16 + 32 + 32 + 14 * 64
        assert counts == Counter(sequences=sequences, steps=512 * sequences)


@pytest.mark.long
@pytest.mark.parametrize("span", ErrorSpan)
def test_so_it_does_in_the_longest_forms(span):
    """Also if what is pending is made of other bytes of the classes."""
    profile = replace(EXTENDED, accept_noncharacters=True, error_span=span)
    generator = random.Random(1)
    alphabet = [generator.choice(members) for members in classes_of(profile)]
    counts, found = walk(profile, alphabet)
    assert found == ""
    # Behind FF, six bytes of seven classes, of which one is overlong as the second one.
    assert counts["sequences"] > 6 * 7**5


@pytest.mark.parametrize(
    ("profile", "alphabet", "pending"),
    [
        (UNICODE, "C2 E0 80 A0", ["", "C2", "E0", "E0 A0"]),
        (WHOLE, "C2 E0 80 A0", ["", "C2", "E0", "E0 80", "E0 A0"]),
        (UNICODE, "F1 80", ["", "F1", "F1 80", "F1 80 80"]),
    ],
)
def test_all_is_walked_that_can_be_pending(monkeypatch, profile, alphabet, pending):
    walked = []

    class Watched(Model):
        def __call__(self, steps):
            walked.extend((before.hex(" ").upper(), len(steps.tried)) for before in steps.pending)
            return super().__call__(steps)

    monkeypatch.setattr(golden_decoder, "Model", Watched)
    counts, found = walk(profile, list(bytes.fromhex(alphabet)))
    assert [before for before, _ in walked] == pending
    # Behind three bytes, 80 and one byte of each class are tried.
    tried = [256 if len(before) < 8 else 1 + len(classes_of(profile)) for before in pending]
    assert [count for _, count in walked] == tried
    assert (counts, found) == (Counter(sequences=len(pending), steps=2 * sum(tried)), "")


@each_rule
def test_classes_begin_at_each_bound_of_the_specification(profile):
    classes = classes_of(profile)
    assert [byte for members in classes for byte in members] == [*range(256)]
    rows = [*specification.well_formed(profile)]
    rows += [row for _, row in specification.ill_formed(profile)]
    for members in classes:
        for bounds in (bounds for row in rows for bounds in row):
            assert len({byte in bounds for byte in members}) == 1


class Cpython(Model):
    """The golden model, and what it says of whole texts is what CPython says."""

    def __call__(self, steps):
        answers = super().__call__(steps)
        for row, told, last in zip(steps.texts(), answers, steps.lasts(), strict=True):
            if last:
                code_points = [int(token) % (1 << 42) for token in told[:2] if token]
                assert "".join(map(chr, code_points)) == row.tobytes().decode(errors="replace")
        return answers


@pytest.mark.parametrize(
    "alphabet", [few(UNICODE), pytest.param((), marks=pytest.mark.long)], ids=["few", "all"]
)
def test_cpython_says_the_same(monkeypatch, alphabet):
    monkeypatch.setattr(golden_decoder, "Model", Cpython)
    assert walk(UNICODE, alphabet)[1] == ""


# --- a golden model that is wrong ---------------------------------------------------------------


WRONG_MODELS = {
    "only FFFF is refused": (
        *(UCS2, "FFFE <= lowest <= FFFF", "lowest == FFFF", "text EF BF BE"),
        "U+FFFD error 1 noncharacter, 3 bytes; 0 pending bytes",
        "U+FFFE character, 3 bytes; 0 pending bytes",
    ),
    "DC00 is no surrogate": (
        *(UNICODE, "highest <= LAST_SURROGATE", "highest < 0xDC00", "text ED B0"),
        "U+FFFD error 1 surrogate, 1 byte; U+FFFD error 1 unexpected-continuation, 1 byte; "
        "0 pending bytes",
        "2 pending bytes",
    ),
    "a span of one byte too few": (
        *(UNICODE, "        return whole\n    return state[PENDING]"),
        "        return whole - (whole == rules.longest_form)\n    return state[PENDING]",
        "text F0 BF 80",
        "3 pending bytes",
        "U+0FC0 character, 3 bytes; 0 pending bytes",
    ),
    "a token cut by the end is not last": (
        *(UNICODE, "if at == OWN and last[item] else 0"),
        "if at == OWN and last[item] and two[at + KIND] != TRUNCATED else 0",
        "text C2, the last byte",
        "U+FFFD error 1 truncated, 1 byte, last; 0 pending bytes",
        "U+FFFD error 1 truncated, 1 byte; 0 pending bytes",
    ),
    "an error is not forgotten": (
        *(UNICODE, "state[LEAD], state[FAULT] = byte, NONE", "state[LEAD] = byte", "text C0"),
        "U+FFFD error 1 overlong, 1 byte; 0 pending bytes",
        "U+FFFD error 1 unexpected-continuation, 1 byte; 0 pending bytes",
    ),
    "a byte that cuts is lost": (
        *(UNICODE, "            _end_token(state, obstacle, tokens, CUT)\n"),
        "            _end_token(state, obstacle, tokens, CUT)\n            return\n",
        "text D1 00",
        "U+FFFD error 1 truncated, 1 byte; U+0000 character, 1 byte; 0 pending bytes",
        "U+FFFD error 1 truncated, 1 byte; 0 pending bytes",
    ),
}


@pytest.mark.parametrize(
    ("profile", "right", "wrong", "shown", "expected", "actual"),
    WRONG_MODELS.values(),
    ids=WRONG_MODELS,
)
def test_a_wrong_model_is_found(monkeypatch, profile, right, wrong, shown, expected, actual):
    altered = altered_golden((right, wrong), within=["decoder"]).decoder
    monkeypatch.setenv(COMPILED, "never")
    for name in "DecoderModel", "decode_byte":
        monkeypatch.setattr(golden_decoder, name, getattr(altered, name))
    lines = [shown, f"specification: {expected}", f"golden model: {actual}"]
    assert difference(profile).splitlines() == lines


# --- a specification that is wrong --------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "right", "wrong", "shown"),
    [
        ("TABLE_3_7", "F4     80..8F", "F4     80..8E", "F4 8F"),
        ("TABLE_3_7", "C2..DF", "C2..DE", "DF"),
        ("TABLE_3_7", "ED     80..9F", "ED     80..A0", "ED A0"),
        ("OVERLONG", "C0..C1", "C0..C0", "C1"),
        ("OVERLONG", "E0 80..9F", "E0 80..9E", "E0 9F"),
        ("SURROGATES", "A0..BF", "A1..BF", "ED A0"),
    ],
)
def test_a_wrong_table_is_found(monkeypatch, table, right, wrong, shown):
    assert right in getattr(specification, table)
    changed = getattr(specification, table).replace(right, wrong)
    monkeypatch.setattr(specification, table, changed)
    assert difference(UNICODE).startswith(f"text {shown}\n")


def test_a_wrong_table_of_the_longest_form_is_found(monkeypatch):
    longer = specification.ABOVE_10FFFF.replace("FF     81", "FF     82")
    monkeypatch.setattr(specification, "ABOVE_10FFFF", longer)
    assert difference(EXTENDED).startswith("text FF 81\n")


def test_a_specification_that_looks_at_other_bytes_is_found(monkeypatch):
    def looks_behind(specification):
        return continues(specification) | (
            (specification.pending == 1) & (specification.sequence[3] == 0x80)
        )

    continues = specification.DecoderSpecification._continues
    monkeypatch.setattr(specification.DecoderSpecification, "_continues", looks_behind)
    shown, expected, actual, *_ = difference(UNICODE).splitlines()
    assert (shown, expected) == ("text D1 00", "specification: unclear; unclear; unclear")
    assert actual.endswith("truncated, 1 byte; U+0000 character, 1 byte; 0 pending bytes")


def test_what_is_unclear_to_both_is_a_difference(monkeypatch):
    def unclear(_self, steps):
        return np.full((len(steps.texts()), 3), golden_decoder.UNCLEAR)

    for who in (golden_decoder.Specification, Model):
        monkeypatch.setattr(who, "__call__", unclear)
    assert difference(UNICODE).startswith("text 00\n")


# --- the encoder --------------------------------------------------------------------------------


@pytest.fixture
def few_code_points(monkeypatch):
    """All forms up to three bytes, and what is at boundaries."""
    monkeypatch.setattr(golden_encoder, "EVERY", 0x1_0000)


@pytest.mark.sample(4)
@each_rule
def test_encoders_say_the_same(few_code_points, profile):
    counts, found = encode_all(profile)
    assert found == ""
    assert 0x1_0000 < counts["code points"] < 0x2_0000


@pytest.mark.long
@pytest.mark.parametrize("profile", [UNICODE, UCS2], ids=lambda profile: profile.name)
def test_so_they_do_about_every_code_point_of_unicode(profile):
    counts, found = encode_all(profile)
    assert found == ""
    assert counts["code points"] > 0x21_0000


def test_each_bit_is_tried_above():
    for profile in (UCS2, EXTENDED):
        values = golden_encoder.values_of(profile)
        assert values[:: len(values) - 1] == [0, (1 << profile.utf32_width) - 1]
        assert len({*values}) == len(values)
        above = {value & -value for value in values if value >= golden_encoder.EVERY}
        assert above >= {1 << bit for bit in range(22, profile.utf32_width)}


WRONG_ENCODERS = {
    "FFFE is encoded": (
        *("FFFE <= value <= FFFF and", "value == FFFF and"),
        *("FFFE", "EF BF BD, refused", "EF BF BE"),
    ),
    "E000 is refused": (
        *("<= value <= LAST_SURROGATE", "<= value <= 0xE000"),
        *("E000", "EE 80 80", "EF BF BD, refused"),
    ),
    "800 is overlong": (
        *("while value > form_maximum(length)", "while value - 1 > form_maximum(length)"),
        *("80", "C2 80", "80"),
    ),
    "only one byte is refused": (
        *("1 if refused else 0", "1 if refused and place else 0"),
        *("D800", "EF BF BD, refused", "EF BF BD, refused in part"),
    ),
}


@pytest.mark.parametrize(
    ("right", "wrong", "code_point", "expected", "actual"),
    WRONG_ENCODERS.values(),
    ids=WRONG_ENCODERS,
)
def test_a_wrong_encoder_is_found(
    few_code_points, monkeypatch, right, wrong, code_point, expected, actual
):
    altered = altered_golden((right, wrong), within=["encoder"]).encoder
    monkeypatch.setattr(golden_encoder, "EncoderModel", altered.EncoderModel)
    assert encode_all(UCS2)[1].splitlines() == [
        f"code point {code_point}",
        f"specification: {expected}",
        f"golden model: {actual}",
    ]


def test_a_wrong_specification_of_the_encoder_is_found(few_code_points, monkeypatch):
    wrong = {**specification.FORMS, 2: "1100xxxx 1xxxxxxx"}
    monkeypatch.setattr(specification, "FORMS", wrong)
    assert encode_all(UCS2)[1].splitlines() == [
        "code point 80",
        "specification: C1 80",
        "golden model: C2 80",
    ]


# --- the command --------------------------------------------------------------------------------


def run(monkeypatch, capsys, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["golden", *arguments])
    return golden.main(), *capsys.readouterr()


@pytest.fixture
def in_this_process(monkeypatch):
    monkeypatch.setattr(golden, "on_all_cores", lambda work, items: ((x, work(x)) for x in items))


def tried(profile: Profile) -> tuple[Counter[str], str]:
    return Counter(texts=1000), ""


def differs_where_surrogates_are_accepted(profile: Profile) -> tuple[Counter[str], str]:
    return Counter(texts=1000), "text ED A0 80\n" if profile.accept_surrogates else ""


def test_all_components_profiles_and_overrides_are_tried():
    decoders = [profile for name, profile in golden.tasks([*golden.PROFILES]) if name == "decoder"]
    encoders = [profile for name, profile in golden.tasks([*golden.PROFILES]) if name == "encoder"]
    assert len(decoders) == 32
    assert {*decoders} == {*ALL_RULES.values()}
    assert len(encoders) == 16
    assert {replace(each, error_span=ErrorSpan.WHOLE_SEQUENCE) for each in encoders} == {
        each for each in ALL_RULES.values() if each.error_span is ErrorSpan.WHOLE_SEQUENCE
    }


def test_it_says_how_much_agrees(monkeypatch, capsys, in_this_process):
    monkeypatch.setattr(golden, "HELD", {"decoder": tried, "encoder": tried})
    status, out, err = run(monkeypatch, capsys, "unicode", "ucs2", "unicode")
    assert (status, err) == (0, "")
    *lines, verdict = out.splitlines()
    assert lines == [
        "decoder, unicode, 8 combinations of rules, 8,000 texts",
        "encoder, unicode, 4 combinations of rules, 4,000 texts",
        "decoder, ucs2, 8 combinations of rules, 8,000 texts",
        "encoder, ucs2, 4 combinations of rules, 4,000 texts",
    ]
    assert verdict.startswith("all agree, ")


def test_it_says_what_differs(monkeypatch, capsys, in_this_process):
    monkeypatch.setattr(golden, "HELD", {"decoder": differs_where_surrogates_are_accepted})
    status, out, _ = run(monkeypatch, capsys, "ucs2")
    assert status == 1
    wrong = f"DIFFERENCE: decoder, {replace(UCS2, accept_surrogates=True).describe()}\n"
    assert wrong + "text ED A0 80\n" in out
    assert out.splitlines()[-1].startswith("4 DIFFER, ")
    assert "agree" not in out


def test_another_profile_is_refused(monkeypatch, capsys):
    status, out, err = run(monkeypatch, capsys, "unicode", "ucs3")
    assert (status, out) == (2, "")
    assert err == "utf8-hdl: profile must be one of unicode, ucs2, ucs4, extended, not 'ucs3'\n"


def test_an_interrupt_ends_it(monkeypatch, capsys):
    def interrupted(work, items):
        raise KeyboardInterrupt

    monkeypatch.setattr(golden, "on_all_cores", interrupted)
    assert run(monkeypatch, capsys) == (130, "", "")
