"""`compare --exhaustive`: every text of a length, its state file and its workers."""

import os
import re

import numpy as np
import pytest

from command import Process, assert_is_waveform, break_design, names, output_of, run
from needs import needs_compiler
from utf8_flow.designs import DesignSpec
from utf8_flow.verify import sources
from utf8_flow.verify.sources import SHARD, Exhaustive
from utf8_hdl import Decoder
from utf8_sim.stimulus import one_by_one
from utf8_sim.subject import interface_of
from utf8_sim.tools.cores import Cores

STATE = "utf8-hdl-compare.json"


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_stimulus_has_every_text_in_order(length):
    every = Exhaustive(spec=DesignSpec("decoder"), engine="amaranth", seed=0, length=length)
    for shard in {0, every.units // 3, every.units - 1}:
        [items] = one_by_one(every.stimulus(shard).pieces, interface_of(Decoder()))
        values, lasts = items["i.data"], items["i.last"]
        assert (np.flatnonzero(lasts) == np.arange(length - 1, len(values), length)).all()
        columns = values.reshape(-1, length).astype(np.int64).T
        texts = sum(column << 8 * index for index, column in enumerate(columns[::-1]))
        begin = shard * SHARD
        assert (texts == np.arange(begin, min(begin + SHARD, 256**length))).all()
    assert every.units == max(1, 256**length // SHARD)


LANES = pytest.mark.xdist_group("lanes")


@pytest.mark.usefixtures("shared_engines")
@pytest.mark.parametrize(
    ("options", "latency"),
    [
        ("--component decoder", 7),
        ("--compact", 1),
        pytest.param("--component decoder --lanes 4", 8, marks=LANES),
        pytest.param("--component transcoder --lanes 4", 24, marks=[LANES, pytest.mark.long]),
    ],
)
def test_every_text_of_one_byte(folder, options, latency):
    out = output_of("compare", "--exhaustive", 1, *options.split())
    assert "256 texts, every one of 1 byte" in out.splitlines()
    # The first byte is accepted in cycle 1. The run ends after latency + 1 cycles without output.
    assert f"agree on every output pin in all {256 + 2 * (latency + 1)} cycles" in out
    assert names(folder) == {"text.txt"}


@needs_compiler
def test_every_text_of_two_bytes(folder):
    out = output_of("compare", "--exhaustive", 2)
    assert "65536 texts, every one of 2 bytes" in out.splitlines()
    assert "engine cxxrtl" in out
    assert f"agree on every output pin in all {2 * 65536 + 16} cycles" in out
    for option in ("--stall-input", "--stall-output"):
        stalled = run("compare", "--exhaustive", 2, option, 0.3)
        cycles = int(re.search(r"agree .* all (\d+) cycles", stalled.out)[1])
        # Stalls in three of ten cycles; the skid buffer hides some of them.
        assert 0.9 < cycles / (2 * 65536 / 0.7) < 1.02
    assert names(folder) == {"text.txt"}


def test_difference_is_reported(folder, monkeypatch):
    options = break_design(monkeypatch, "range: F5 is in range")
    out = output_of("compare", *options, "--exhaustive", 1, status=1)
    pin = "pin o.kind: expected 5 (out-of-range), actual 6 (truncated)"
    # F5 is accepted in cycle 246; its error does not depend on the next byte.
    assert f"DIFFERENCE: cycle 253, {pin}" in out.splitlines()
    assert "the texts from 00 on" in out
    assert "agree" not in out
    assert_is_waveform("utf8-hdl-difference.vcd")


@pytest.mark.long
@needs_compiler
@pytest.mark.parametrize("budget", ["--exhaustive 1", "--cycles 1"])
def test_design_is_elaborated_once(folder, monkeypatch, budget):
    elaborated, elaborate = [], Decoder.elaborate
    monkeypatch.setattr(Decoder, "elaborate", lambda *a: [elaborated.append(a), elaborate(*a)][1])
    assert run("compare", *budget.split(), "--engine", "cxxrtl").status == 0
    assert len(elaborated) == 1


def test_interrupted_run_resumes_at_the_first_gap(folder, monkeypatch):
    def shards(_, work, units):
        done.extend(units)
        yield 1, work(1)
        yield 0, work(0)
        yield 3, work(3)
        raise KeyboardInterrupt

    done = []
    monkeypatch.setattr(sources, "SHARD", 64)
    with monkeypatch.context() as patch:
        patch.setattr(Cores, "do", shards)
        result = run("compare", "--exhaustive", 1)
    assert result.status == 130
    assert "in all" not in result.out
    assert f"50.0% done: the same command resumes at unit 2 ({STATE})" in result.out
    assert f"interrupted after {2 * (64 + 16)} cycles, which agree" in result.out
    assert names(folder) == {"text.txt", STATE}
    with monkeypatch.context() as patch:
        patch.setattr(Cores, "do", lambda _, work, units: ((n, work(n)) for n in units))
        result = run("compare", "--exhaustive", 1)
    assert "256 texts, every one of 1 byte, 50.0% of them left" in result.out.splitlines()
    assert f"agree on every output pin in all {4 * (64 + 16)} cycles" in result.out
    assert done == [0, 1, 2, 3]
    assert names(folder) == {"text.txt"}


ED_B0_IS_NO_SURROGATE = """\
from utf8_hdl import ErrorKind, rules

refusals = rules.refusals
surrogates = dict.fromkeys(range(0xA0, 0xB0), ErrorKind.SURROGATE)
rules.refusals = lambda profile: refusals(profile) | {0xED: surrogates}
"""


@pytest.mark.long
@needs_compiler
def test_difference_in_a_worker_is_reported(folder, tmp_path_factory):
    patch = tmp_path_factory.mktemp("patch")
    (patch / "sitecustomize.py").write_text(ED_B0_IS_NO_SURROGATE)
    path = f"{patch}:{os.environ.get('PYTHONPATH', '')}"
    with Process("compare", "--exhaustive", 3, PYTHONPATH=path) as running:
        status, out, err = running.end()
    assert (status, err) == (1, "")
    # In every shard, B0 of the first text that ends in ED B0 cuts ED short.
    cycle = 3 * 0x00EDB0 + 2 + 7
    assert f"DIFFERENCE: cycle {cycle}, pin o.valid: expected 1, actual 0" in out.splitlines()
    assert re.search(r"the texts from [\dA-F]{2}0000 on", out)
    assert "agree" not in out
    assert_is_waveform("utf8-hdl-difference.vcd")
