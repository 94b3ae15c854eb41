"""Options that choose a design and the name of its module."""

import re

import pytest

from command import edit_component, run
from needs import needs
from utf8_flow.formal import mutation
from utf8_flow.fpga import placement
from utf8_flow.verify import proofs
from utf8_hdl import Decoder
from utf8_sim.tools.errors import ToolError

QUICK = "simulate", "compare", "generate"
PROVE = "prove --component decoder --profile unicode --property reset"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("simulate --text A --compact", {"compact": True}),
        ("compare --exhaustive 1 --compact", {"compact": True}),
        ("generate --lanes 8", {"lanes": 8}),
        ("mutate --component decoder --compact", {"compact": True}),
        ("synthesize --component decoder --profile unicode --lanes 8", {"lanes": 8}),
        pytest.param(f"{PROVE} --compact", {"compact": True}, marks=needs(modules=["pyosys"])),
    ],
)
def test_options_reach_the_design(folder, monkeypatch, line, expected):
    made = []

    def make(profile, **options):
        made.append(options)
        return Decoder(profile)

    def stop(*_arguments):
        raise ToolError("stopped")

    edit_component(monkeypatch, "decoder", make=make)
    monkeypatch.setattr(proofs, "prove", stop)
    monkeypatch.setattr(mutation, "run_yosys", stop)
    monkeypatch.setattr(placement, "measure", stop)
    run(*line.split())
    assert made[0] == expected
    if line.split()[0] in QUICK:  # the others make it in each process
        assert len(made) == 1 + line.startswith("generate")  # for the command in the header


@pytest.mark.long
def test_module_option_changes_only_the_name():
    usual = run("generate")
    named = run("generate", "--module", "other_name")
    text = named.out.replace(" --module other_name", "")
    assert text == usual.out.replace("utf8_decoder", "other_name")
    assert usual.out.count("utf8_decoder") == 3
    assert re.findall(r"^module (\w+) \(", named.out, re.M) == ["other_name"]
