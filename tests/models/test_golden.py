"""Comparison of the golden model with the specification of the proofs."""

import sys
from collections import Counter
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

from altered import altered_golden
from rtl import ALL_RULES
from utf8_flow.formal import golden, golden_decoder, golden_encoder, specification
from utf8_flow.formal.golden_decoder import Model, classes_of, one_of_each, walk
from utf8_flow.formal.golden_encoder import encode_all
from utf8_hdl import EXTENDED, UCS2, UNICODE, ErrorSpan, Profile
from utf8_sim.golden.decoder import is_continuation
from utf8_sim.golden.kernels import COMPILED

pytest.importorskip("pyosys", reason="pyosys is not installed")

WHOLE = replace(UNICODE, error_span=ErrorSpan.WHOLE_SEQUENCE)


def few(profile: Profile) -> list[int]:
    """A byte of each class, but only two continuation bytes."""
    return [byte for byte in one_of_each(profile) if not is_continuation(byte)] + [0x80, 0xBF]


def difference(profile: Profile) -> str:
    """The first difference in a short walk, as text."""
    return walk(profile, few(profile))[1]


# --- the walk -----------------------------------------------------------------------------------


@pytest.mark.sample(1)
@pytest.mark.parametrize("profile", ALL_RULES.values(), ids=ALL_RULES)
def test_decoder_matches_specification(profile):
    counts, found = walk(profile, few(profile))
    assert found == ""
    assert counts["sequences"] > 10 * (profile.longest_form - 2)


@pytest.mark.long
def test_complete_walk_of_ucs2():
    counts, found = walk(UCS2)
    assert found == ""
    # The empty sequence; C2..DF, E0..EF; and after E0, ED, and the others, these second bytes.
    sequences = 1 + 30 + 16 + 32 + 32 + 14 * 64
    assert counts == Counter(sequences=sequences, steps=512 * sequences)


@pytest.mark.long
def test_walk_of_longest_form():
    profile = replace(EXTENDED, accept_noncharacters=True, error_span=ErrorSpan.WHOLE_SEQUENCE)
    counts, found = walk(profile, [members[0] for members in classes_of(profile)])
    assert found == ""
    # After FF, six bytes of seven classes, one of which is overlong as the second byte.
    assert counts["sequences"] > 6 * 7**5


@pytest.mark.long
@pytest.mark.parametrize(
    ("profile", "alphabet", "pending"),
    [
        (UNICODE, "C2 E0 80 A0", ["", "C2", "E0", "E0 A0"]),
        (WHOLE, "C2 E0 80 A0", ["", "C2", "E0", "E0 80", "E0 A0"]),
        (UNICODE, "F1 80", ["", "F1", "F1 80", "F1 80 80"]),
    ],
)
def test_walk_covers_all_pending_sequences(monkeypatch, profile, alphabet, pending):
    walked = []

    class Watched(Model):
        def __call__(self, steps):
            walked.extend((before.hex(" ").upper(), len(steps.tried)) for before in steps.pending)
            return super().__call__(steps)

    monkeypatch.setattr(golden_decoder, "Model", Watched)
    counts, found = walk(profile, list(bytes.fromhex(alphabet)))
    assert [before for before, _ in walked] == pending
    # After three bytes, 80 and one byte of each class are tried.
    tried = [256 if len(before) < 8 else 1 + len(classes_of(profile)) for before in pending]
    assert [count for _, count in walked] == tried
    assert (counts, found) == (Counter(sequences=len(pending), steps=2 * sum(tried)), "")


@pytest.mark.parametrize("profile", [UNICODE, UCS2, EXTENDED], ids=lambda profile: profile.name)
def test_byte_classes_follow_specification(profile):
    classes = classes_of(profile)
    assert [byte for members in classes for byte in members] == [*range(256)]
    rows = [*specification.well_formed(profile)]
    rows += [row for _, row in specification.ill_formed(profile)]
    for members in classes:
        for bounds in (bounds for row in rows for bounds in row):
            assert len({byte in bounds for byte in members}) == 1


# --- flaws of the golden model and of the specification -----------------------------------------


MODEL_FLAWS = {
    "truncated token without last": (
        "if at == OWN and last[item] else 0",
        "if at == OWN and last[item] and two[at + KIND] != TRUNCATED else 0",
        "text C2, the last byte",
        "U+FFFD error 1 truncated, 1 byte, last; 0 pending bytes",
        "U+FFFD error 1 truncated, 1 byte; 0 pending bytes",
    ),
    "interrupting byte lost": (
        "            _end_token(state, obstacle, tokens, CUT)\n",
        "            _end_token(state, obstacle, tokens, CUT)\n            return\n",
        "text D1 00",
        "U+FFFD error 1 truncated, 1 byte; U+0000 character, 1 byte; 0 pending bytes",
        "U+FFFD error 1 truncated, 1 byte; 0 pending bytes",
    ),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("right", "wrong", "shown", "expected", "actual"), MODEL_FLAWS.values(), ids=MODEL_FLAWS
)
def test_model_flaw_is_reported(monkeypatch, right, wrong, shown, expected, actual):
    altered = altered_golden((right, wrong), within=["decoder"]).decoder
    monkeypatch.setenv(COMPILED, "never")
    for name in "DecoderModel", "decode_byte":
        monkeypatch.setattr(golden_decoder, name, getattr(altered, name))
    lines = [shown, f"specification: {expected}", f"golden model: {actual}"]
    assert difference(UNICODE).splitlines() == lines


def test_table_flaw_is_reported(monkeypatch):
    wrong = specification.OVERLONG.replace("E0 80..9F", "E0 80..9E")
    monkeypatch.setattr(specification, "OVERLONG", wrong)
    assert difference(UNICODE).startswith("text E0 9F\n")


@pytest.mark.long
def test_dependency_on_old_bytes_is_reported(monkeypatch):
    def reads_stale_byte(specification):
        return continues(specification) | (
            (specification.pending == 1) & (specification.sequence[3] == 0x80)
        )

    continues = specification.DecoderSpecification._continues
    monkeypatch.setattr(specification.DecoderSpecification, "_continues", reads_stale_byte)
    shown, expected, actual, *_ = difference(UNICODE).splitlines()
    assert (shown, expected) == ("text D1 00", "specification: unclear; unclear; unclear")
    assert actual.endswith("truncated, 1 byte; U+0000 character, 1 byte; 0 pending bytes")


@pytest.mark.long
def test_unclear_answers_never_match(monkeypatch):
    def unclear(_self, steps):
        return np.full((len(steps.texts()), 3), golden_decoder.UNCLEAR)

    for who in (golden_decoder.Specification, Model):
        monkeypatch.setattr(who, "__call__", unclear)
    assert difference(UNICODE).startswith("text 00\n")


# --- the encoder --------------------------------------------------------------------------------


@pytest.fixture
def few_code_points(monkeypatch):
    """Limit the walk to forms of up to three bytes, and boundary values."""
    monkeypatch.setattr(golden_encoder, "EVERY", 0x1_0000)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "profile", [profile for name, profile in ALL_RULES.items() if "whole" not in name]
)
def test_encoder_matches_specification(few_code_points, profile):
    counts, found = encode_all(profile)
    assert found == ""
    assert 0x1_0000 < counts["code points"] < 0x2_0000


def test_encoder_values_toggle_every_bit():
    for profile in (UCS2, EXTENDED):
        values = golden_encoder.values_of(profile)
        assert values[:: len(values) - 1] == [0, (1 << profile.utf32_width) - 1]
        assert len({*values}) == len(values)
        above = {value & -value for value in values if value >= golden_encoder.EVERY}
        assert above >= {1 << bit for bit in range(22, profile.utf32_width)}


def test_encoder_flaw_is_reported(few_code_points, monkeypatch):
    edit = "1 if refused else 0", "1 if refused and index else 0"
    altered = altered_golden(edit, within=["encoder"]).encoder
    monkeypatch.setattr(golden_encoder, "EncoderModel", altered.EncoderModel)
    assert encode_all(UCS2)[1].splitlines() == [
        "code point D800",
        "specification: EF BF BD, refused",
        "golden model: EF BF BD, refused in part",
    ]


# --- the command --------------------------------------------------------------------------------


def run(monkeypatch, capsys, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["golden", *arguments])
    return golden.main(), *capsys.readouterr()


def unlike_surrogates(profile: Profile) -> tuple[Counter[str], str]:
    """The result of a comparison that differs if surrogates are accepted."""
    return Counter(texts=1000), "text ED A0 80\n" if profile.accept_surrogates else ""


def test_command_covers_all_rules():
    tasks = golden.tasks([*golden.PROFILES])
    decoders = [profile for name, profile in tasks if name == "decoder"]
    encoders = [profile for name, profile in tasks if name == "encoder"]
    assert len(decoders) == 32
    assert {*decoders} == {*ALL_RULES.values()}
    assert len(encoders) == 16
    assert {replace(profile, error_span=ErrorSpan.WHOLE_SEQUENCE) for profile in encoders} == {
        profile for profile in decoders if profile.error_span is ErrorSpan.WHOLE_SEQUENCE
    }


def test_command_prints_counts_and_differences(monkeypatch, capsys):
    monkeypatch.setattr(golden, "on_all_cores", lambda work, items: ((x, work(x)) for x in items))
    matches = {name: lambda _: (Counter(texts=1000), "") for name in ("decoder", "encoder")}
    monkeypatch.setattr(golden, "HELD", matches)
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
    monkeypatch.setattr(golden, "HELD", {"decoder": unlike_surrogates})
    status, out, _ = run(monkeypatch, capsys, "ucs2")
    assert status == 1
    wrong = f"DIFFERENCE: decoder, {replace(UCS2, accept_surrogates=True).describe()}\n"
    assert wrong + "text ED A0 80\n" in out
    assert out.splitlines()[-1].startswith("4 DIFFER, ")


def test_command_refuses_unknown_profile(monkeypatch, capsys):
    status, out, err = run(monkeypatch, capsys, "unicode", "ucs3")
    assert (status, out) == (2, "")
    assert err.startswith("utf8-hdl: profile must be one of ")


def test_command_ends_on_interrupt(monkeypatch, capsys):
    monkeypatch.setattr(golden, "on_all_cores", Mock(side_effect=KeyboardInterrupt))
    assert run(monkeypatch, capsys) == (130, "", "")
