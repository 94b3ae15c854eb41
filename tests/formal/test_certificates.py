"""Certificates of proofs: the checker confirms them, and rejects altered or broken ones."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest.mock import Mock

import pytest

from command import assert_refused, break_design, names, run, squeezed
from every_state import checker_accepts
from refuted import property_of
from rtl import COMPACT_ENCODER_BREAKS, altered

pytest.importorskip("pyosys", reason="pyosys is not installed")

import pysolvers
from amaranth.hdl import Const
from pysat.solvers import Minisat22

from utf8_flow.designs import DesignSpec
from utf8_flow.formal import prover
from utf8_flow.formal.bench import Bench
from utf8_flow.formal.certificate import Certificate, certify, minimal
from utf8_flow.formal.circuit import Circuit
from utf8_flow.formal.properties import proofs_of
from utf8_flow.verify import proofs
from utf8_flow.verify.proofs import Goal, attempt, write_certificate
from utf8_hdl import UNICODE
from utf8_sim.tools import yowasp as tools

pytestmark = pytest.mark.xdist_group("certificates")

SPECS = {
    spec.label: spec
    for spec in (DesignSpec(name, each) for name in ("encoder", "decoder") for each in (1, 0))
}

QUICK = [("compact decoder", "latency"), ("encoder", "rate")]

FIRST = {
    what.name: (label, what.name) for label in reversed(SPECS) for what in proofs_of(SPECS[label])
}
"""Each property, with a compact design if possible."""


def goal_of(label: str, name: str) -> Goal:
    return Goal(property_of(SPECS[label], name), SPECS[label])


@cache
def certificate_of(label: str, name: str) -> Certificate:
    found = attempt(goal_of(label, name), certified=True).certificate
    assert found
    return found


def clauses_of(certificate: Certificate) -> list[str]:
    return certificate.invariant.splitlines()[3:]


# --- proofs have certificates ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "name"),
    [
        pytest.param(*each, marks=[pytest.mark.long] * (each not in QUICK))
        for each in dict.fromkeys([*QUICK, *list(FIRST.values())[::2]])
    ],
)
def test_checker_confirms_certificate_without_redundant_clauses(label, name):
    """Up to ten clauses are left out, one at a time."""
    own = certificate_of(label, name)
    clauses = clauses_of(own)
    assert checker_accepts(own.circuit, clauses)
    for number in range(0, len(clauses), 1 + len(clauses) // 10):
        assert not checker_accepts(own.circuit, clauses[:number] + clauses[number + 1 :])


def test_certificate_states_circuit_and_property():
    goal = goal_of("compact encoder", "latency")
    own = certificate_of("compact encoder", "latency")
    circuit, _, comment = own.circuit.partition("\nc\n")
    title, tools_used = comment.splitlines()
    assert title == f"compact encoder, unicode, latency: {goal.property.statement}"
    assert re.fullmatch(r"made by utf8-hdl \S+, amaranth \S+, Yosys and ABC of .*", tools_used)
    bench = goal.property.bench(UNICODE, {"encoder": goal.spec.make})
    asked = prover.to_circuit(bench, pins=False).only("wrong")
    assert Circuit.parse(circuit) == asked
    assert "bench.component__o__valid" in asked.names
    assert len({*asked.names}) == len(asked.registers)


# --- designs without a property -------------------------------------------------------------------


def test_broken_design_has_no_certificate():
    """The certificate of the correct design is rejected for the broken one."""
    edit = COMPACT_ENCODER_BREAKS["compact: byte changes under stall"]
    broken = altered("compact encoder", [edit])
    bench = goal_of("compact encoder", "output-stream").property.bench(UNICODE, {"encoder": broken})
    proof = prover.prove(bench, "a broken design")
    assert (proof.verdict, proof.certificate) == ("FAILED", None)
    circuit = prover.to_circuit(bench, pins=False).only("wrong")
    assert certify(circuit, 60) is None
    correct = certificate_of("compact encoder", "output-stream")
    assert {*Circuit.parse(correct.circuit).names} == {*circuit.names}
    assert not checker_accepts(circuit.text(), clauses_of(correct))


@pytest.mark.parametrize("cycles", [4, 5])
def test_bounded_property_is_certified_for_its_cycles(cycles):
    """The output is high in cycle 4, counted from 0, and later."""
    bench = Bench(UNICODE, {})
    bench.never(bench.before(Const(1), 4))
    bench.cycles = cycles
    circuit = prover.to_circuit(bench).only("wrong")
    levels = [cycle["wrong"] for cycle in circuit.simulate([[0]] * 8)]
    assert levels == [int(number == 4 and cycles == 5) for number in range(8)]
    own = certify(circuit, 60, "a chain")
    assert (own is None) == (cycles == 5)
    assert own is None or checker_accepts(own.circuit, clauses_of(own))


# --- redundant clauses ----------------------------------------------------------------------------


def test_redundant_clauses_are_removed():
    """The output is high if registers a and b differ; they are always equal. c has any value."""
    gates, equal = ((8, 6), (9, 7), (17, 15)), [(6, 9), (7, 8)]
    circuit = Circuit(("i", "j"), (2, 2, 4, 10), {"wrong": 18}, gates, names=tuple("abcd"))
    assert minimal(circuit, [(10, 11), *equal, (12, 13)], 60) == equal
    assert minimal(circuit, equal[:1], 60) is None
    assert minimal(circuit, [], 60) is None
    # Register d is always low, which is an invariant on its own.
    circuit = replace(circuit, registers=(2, 2, 4, 12))
    assert minimal(circuit, [*equal, (13,)], 60) == equal
    assert minimal(circuit, [*equal, (13,)], -1) == [*equal, (13,)]  # out of time


# --- the command ----------------------------------------------------------------------------------


PROVE = "prove", "--component", "encoder", "--compact", "--profile", "unicode"
LATENCY = *PROVE, "--property", "latency"
OUTPUT_STREAM = *PROVE, "--property", "output-stream", "--vcd", "/dev/null"
FILES = {f"compact-encoder-unicode-latency.{end}" for end in ("aag", "inv")}


def test_prove_writes_certificate_that_check_confirms(folder):
    """The certificate is reproducible: it equals that of another proof."""
    result = run(*LATENCY, "--certificates", "all")
    assert (result.status, result.err) == (0, "")
    assert squeezed(result.out)[-2:] == [
        "1 property proved, 3 covers reached",
        "1 certificate in all",
    ]
    assert names(Path("all")) == FILES
    own = certificate_of("compact encoder", "latency")
    assert Path("all/compact-encoder-unicode-latency.aag").read_text() == own.circuit
    assert Path("all/compact-encoder-unicode-latency.inv").read_text() == own.invariant
    checked = run("check", "all")
    assert (checked.status, checked.err) == (0, "")
    assert checked.out.startswith("all/compact-encoder-unicode-latency: confirmed: clauses ")


@pytest.mark.long
def test_prove_certifies_in_several_processes(folder):
    result = run(*PROVE[:-2], "--property", "rate", "--certificates", "all")
    assert result.status == 0
    count = int(re.search(r"^(\d+) certificates in all$", result.out, re.MULTILINE)[1])
    assert len(names(Path("all"))) == 2 * count > 2
    checked = run("check", "all")
    assert (checked.status, checked.out.count(": confirmed: ")) == (0, count)


def test_prove_certifies_only_with_the_option(folder, monkeypatch):
    monkeypatch.setattr(prover, "certify", lambda *_: pytest.fail("certified"))
    assert run(*LATENCY).status == 0


def test_missing_invariant_is_reported_and_old_files_removed(folder, monkeypatch):
    assert run(*LATENCY, "--certificates", "all").status == 0
    monkeypatch.setattr(prover, "certify", lambda *_: None)
    result = run(*LATENCY, "--certificates", "all")
    assert (result.status, result.err) == (1, "")
    assert squeezed(result.out)[-3:] == [
        "1 property proved, 3 covers reached",
        "NO CERTIFICATE: compact encoder, unicode, latency: no invariant was found",
        "0 certificates in all",
    ]
    assert names(Path("all")) == set()


@pytest.mark.long
def test_failed_property_loses_its_certificate(folder, monkeypatch):
    for command in OUTPUT_STREAM, LATENCY:
        assert run(*command, "--certificates", "all").status == 0
    break_design(monkeypatch, "compact: byte changes under stall")
    result = run(*OUTPUT_STREAM, "--certificates", "all")
    assert result.status == 1
    assert result.out.endswith("0 certificates in all\n")
    assert names(Path("all")) == FILES


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("text.txt", "cannot write to 'text.txt': File exists"),
        ("-", "--certificates needs the name of a folder"),
    ],
)
def test_prove_refuses_unusable_folder_at_once(folder, path, reason, monkeypatch):
    monkeypatch.setattr(proofs, "prove", lambda *_: pytest.fail("a proof had begun"))
    assert_refused(run(*LATENCY, "--certificates", path), reason)
    assert names(folder) == {"text.txt"}


def test_interrupt_in_the_solver_ends_prove(folder, monkeypatch):
    interrupted = Mock(side_effect=pysolvers.error("Caught keyboard interrupt"))
    monkeypatch.setattr(Minisat22, "solve", interrupted)
    result = run(*LATENCY, "--certificates", "all")
    assert (result.status, result.err) == (130, "utf8-hdl: interrupted\n")
    assert names(folder) == {"text.txt"}


def test_missing_solver_is_reported(folder, monkeypatch):
    found = tools.importlib.util.find_spec
    monkeypatch.setattr(
        tools.importlib.util, "find_spec", lambda name: None if name == "pysat" else found(name)
    )
    why = "needs python-sat: in a clone, pip install '.[formal]'\n"
    assert_refused(run("check", "all"), f"check {why}")
    assert_refused(run(*LATENCY, "--certificates", "all"), f"--certificates {why}")


def test_no_file_is_left_if_one_cannot_be_written(folder):
    with pytest.raises(TypeError):
        write_certificate(Path("own"), Certificate("aag\n", None))
    assert names(folder) == {"text.txt"}
