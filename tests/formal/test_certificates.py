"""Certificates: every proof has one that is confirmed, and none that was tampered with is."""

import hashlib
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import assert_refused, break_design, names, run, squeezed
from every_state import proves
from rtl import COMPACT_ENCODER_BREAKS, altered

pytest.importorskip("pyosys", reason="pyosys is not installed")
pytest.importorskip("pysat", reason="python-sat is not installed")

import pysolvers
from amaranth.hdl import Const
from pysat.solvers import Minisat22

import utf8_check
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

SPECS = {
    spec.label: spec
    for spec in (DesignSpec(name, each) for name in ("decoder", "encoder") for each in (0, 1))
}
EVERY = [(label, what.name) for label, spec in SPECS.items() for what in proofs_of(spec)]

QUICK = [
    ("decoder", "conservation"),
    ("decoder", "covers"),
    ("decoder", "output-stream"),
    ("compact decoder", "reset"),
    ("encoder", "order"),
    ("encoder", "rate"),
    ("compact encoder", "verilog"),
]
"""Some of each, whose certificates take less than a second."""

SMALL = [
    ("compact decoder", "in-order"),
    ("compact encoder", "in-order"),
    ("compact encoder", "latency"),
    ("compact encoder", "last-arrives"),
    ("compact encoder", "rate"),
]
"""Few enough registers and inputs to look at every state."""

SMALLEST = [key for key in SMALL if key[1] != "latency"]


def goal_of(which: str, name: str) -> Goal:
    [what] = [what for what in proofs_of(SPECS[which]) if what.name == name]
    return Goal(what, SPECS[which])


@cache
def certificate_of(which: str, name: str) -> Certificate:
    found = attempt(goal_of(which, name), certified=True).certificate
    assert found
    return found


def of_properties(keys, quick=()):
    """With some properties; all but the quick ones are long, if those are named."""
    long = [key for key in keys if quick and key not in quick]
    marked = [
        pytest.param(*key, id=": ".join(key), marks=[pytest.mark.long] * (key in long))
        for key in keys
    ]
    return pytest.mark.parametrize(("which", "name"), marked)


def clauses_of(text: str) -> list[str]:
    return text.splitlines()[3:]


def confirms(circuit: str, clauses: list[str]) -> bool:
    """Whether the checker does, with a header that is right for both."""
    digest = hashlib.sha256(circuit.encode()).hexdigest()
    head = ["utf8-hdl invariant 1", f"circuit {digest}", f"clauses {len(clauses)}"]
    write_certificate(Path("own"), Certificate(circuit, "\n".join([*head, *clauses, ""])))
    return utf8_check.verdict(Path("own"))[0]


# --- what is proved is certified ------------------------------------------------------------------


def test_there_are_as_many_as_the_page_about_proofs_says():
    assert len(EVERY) == 55


@of_properties(EVERY, QUICK)
def test_a_proof_is_certified_and_each_clause_is_needed(folder, which, name):
    """Of many clauses, ten are tried."""
    own = certificate_of(which, name)
    clauses = clauses_of(own.invariant)
    assert confirms(own.circuit, clauses)
    for number in range(0, len(clauses), 1 + len(clauses) // 10):
        assert not confirms(own.circuit, clauses[:number] + clauses[number + 1 :])


@of_properties(SMALL)
def test_a_look_at_every_state_confirms_it_too(folder, which, name):
    own = certificate_of(which, name)
    assert proves(own.circuit, clauses_of(own.invariant))


def test_a_certificate_says_what_it_is_of(folder):
    """The circuit is that of the bench, with its names; what it is of stands behind it."""
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


def test_what_is_found_is_the_same_each_time():
    again = attempt(goal_of("compact encoder", "rate"), certified=True).certificate
    assert again == certificate_of("compact encoder", "rate")


# --- what was tampered with is refused ------------------------------------------------------------


@of_properties(SMALL)
def test_a_clause_removed_is_refused(folder, which, name):
    """By the number of clauses; and by the solver, where that has been put right."""
    own = certificate_of(which, name)
    lines = own.invariant.splitlines(keepends=True)
    for number in range(3, len(lines)):
        fewer = lines[:number] + lines[number + 1 :]
        write_certificate(Path("own"), Certificate(own.circuit, "".join(fewer)))
        said = f"REFUSED: of {len(lines) - 3} clauses there are {len(lines) - 4}"
        assert utf8_check.verdict(Path("own")) == (False, said)
        assert not confirms(own.circuit, clauses_of("".join(fewer)))


@of_properties(SMALL)
def test_a_register_renamed_is_refused(folder, which, name):
    own = certificate_of(which, name)
    clauses = clauses_of(own.invariant)
    for word in {word.removeprefix("-") for clause in clauses for word in clause.split()}:
        with pytest.raises(utf8_check.Unreadable, match="which is the name of no register"):
            confirms(own.circuit.replace(f" {word}\n", f" {word}x\n"), clauses)


@of_properties(SMALL, SMALLEST)
def test_two_registers_that_change_their_names_are_refused(folder, which, name):
    """Unless the clauses are an invariant then, too, which a look at every state says."""
    own = certificate_of(which, name)
    clauses, own_names = clauses_of(own.invariant), Circuit.parse(own.circuit).names
    verdicts = set()
    for one, other in pairwise(own_names):
        swapped = own.circuit.replace(f" {one}\n", " own\n").replace(f" {other}\n", f" {one}\n")
        swapped = swapped.replace(" own\n", f" {other}\n")
        verdicts.add(confirms(swapped, clauses))
        assert confirms(swapped, clauses) == proves(swapped, clauses)
    assert False in verdicts


@of_properties(SMALL, SMALLEST)
def test_the_output_or_an_initial_level_changed_is_refused(folder, which, name):
    own = certificate_of(which, name)
    clauses, lines = clauses_of(own.invariant), own.circuit.splitlines()
    _, inputs, registers, *_ = map(int, lines[0].split()[1:])
    verdicts = []
    for number in range(registers + 1):
        place, changed = 1 + inputs + number, lines.copy()
        if number == registers:
            changed[place] = str(int(lines[place]) ^ 1)
        else:
            changed[place] += " 1"
        verdicts.append(confirms("\n".join([*changed, ""]), clauses))
        assert verdicts[-1] == proves("\n".join(changed), clauses)
    assert verdicts.count(False) > 1
    assert not verdicts[-1]


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_change_is_refused_unless_it_is_right(tmp_path_factory, data):
    """Of gates, registers, initial levels, the output and literals of clauses."""
    own = certificate_of(*data.draw(st.sampled_from(SMALL)))
    lines, clauses = own.circuit.partition("\nc\n")[0].splitlines(), clauses_of(own.invariant)
    _, inputs, registers, _, gates = map(int, lines[0].split()[1:])
    for _ in range(data.draw(st.integers(1, 3))):
        if data.draw(st.booleans()):
            place = data.draw(st.integers(1 + inputs, inputs + registers + 1 + gates))
            words = lines[place].split()
            which = data.draw(st.integers(min(1, len(words) - 1), len(words) - 1))
            words[which] = str(int(words[which]) ^ 1)
            lines[place] = " ".join(words)
        else:
            number = data.draw(st.integers(0, len(clauses) - 1))
            words = clauses[number].split()
            which = data.draw(st.integers(0, len(words) - 1))
            inverted = words[which].startswith("-")
            words[which] = words[which].removeprefix("-") if inverted else f"-{words[which]}"
            clauses[number] = " ".join(words)
    circuit = "\n".join([*lines, ""])
    parsed = utf8_check.parse_circuit(circuit.splitlines())
    head = ["utf8-hdl invariant 1", f"circuit {'0' * 64}", f"clauses {len(clauses)}"]
    try:
        utf8_check.check(
            parsed, utf8_check.parse_invariant([*head, *clauses], "0" * 64, parsed.names)
        )
        confirmed = True
    except utf8_check.UsageError:
        confirmed = False
    assert confirmed == proves(circuit, clauses)


def test_a_circuit_changed_is_refused_before_the_solver_is_asked(folder):
    own = certificate_of("compact encoder", "rate")
    other = own.circuit.replace("o0 wrong", "o0 right")
    write_certificate(Path("own"), Certificate(other, own.invariant))
    assert "the SHA-256 differs" in utf8_check.verdict(Path("own"))[1]


# --- what is not so is not certified --------------------------------------------------------------


def test_a_broken_design_gets_no_certificate_and_cannot_use_that_of_a_right_one(folder):
    flaw = COMPACT_ENCODER_BREAKS["compact: byte changes under stall"]
    hasty = altered("compact encoder", [flaw])
    what = goal_of("compact encoder", "output-stream").property
    bench = what.bench(UNICODE, {"encoder": hasty})
    proof = prover.prove(bench, "a broken design")
    assert (proof.verdict, proof.certificate) == ("FAILED", None)
    circuit = prover.to_circuit(bench, pins=False).only("wrong")
    assert certify(circuit, 60) is None
    right = certificate_of("compact encoder", "output-stream")
    assert {*Circuit.parse(right.circuit).names} == {*circuit.names}
    assert not confirms(circuit.text(), clauses_of(right.invariant))


@pytest.mark.parametrize("cycles", [1, 2, 4, 5])
def test_what_is_proved_of_some_cycles_is_certified_of_these(folder, cycles):
    """What must not be is in cycle 4, counted from 0, and in all later ones."""
    bench = Bench(UNICODE, {})
    bench.never(bench.before(Const(1), 4))
    bench.cycles = cycles
    circuit = prover.to_circuit(bench).only("wrong")
    shown = [cycle["wrong"] for cycle in circuit.simulate([[0]] * 8)]
    assert shown == [int(number == 4 and cycles == 5) for number in range(8)]
    own = certify(circuit, 60, "a chain")
    if cycles == 5:
        assert own is None
    else:
        assert own
        assert confirms(own.circuit, clauses_of(own.invariant))


def test_a_bounded_proof_is_certified_with_a_counter_of_its_cycles(folder):
    compactor = DesignSpec("compactor", lanes=4)
    [reads] = [what for what in proofs_of(compactor) if what.name == "reads"]
    own = attempt(Goal(reads, compactor), certified=True).certificate
    assert own
    assert " bench.cycles_over[2]\n" in own.circuit
    assert confirms(own.circuit, clauses_of(own.invariant))


# --- which clauses are needed ---------------------------------------------------------------------


GATES = (8, 6), (9, 7), (17, 15)
EQUAL = [(6, 9), (7, 8)]
"""Clauses over registers a, b, c, d; the gates say that a, b differ."""


def test_clauses_that_are_not_needed_are_left_out():
    """Registers a, b are equal, c and d any."""
    circuit = Circuit(("i", "j"), (2, 2, 4, 10), {"wrong": 18}, GATES, names=tuple("abcd"))
    assert minimal(circuit, [(10, 11), *EQUAL, (12, 13)], 60) == EQUAL
    assert minimal(circuit, EQUAL[:1], 60) is None
    assert minimal(circuit, [], 60) is None


def test_there_may_be_no_time_to_leave_clauses_out():
    """Register d is always low, which is an invariant by itself."""
    circuit = Circuit(("i", "j"), (2, 2, 4, 12), {"wrong": 18}, GATES, names=tuple("abcd"))
    more = [*EQUAL, (13,)]
    assert minimal(circuit, more, 60) == EQUAL
    assert minimal(circuit, more, -1) == more


# --- the command ----------------------------------------------------------------------------------


ONE = "--component", "encoder", "--compact", "--profile", "unicode", "--property"


def test_certificates_are_written_and_confirmed(folder):
    result = run("prove", *ONE, "latency", "--certificates", "all")
    assert (result.status, result.err) == (0, "")
    assert squeezed(result.out)[-2:] == [
        "1 property proved, 3 covers reached",
        "1 certificate in all",
    ]
    name = "compact-encoder-unicode-latency"
    assert names(Path("all")) == {f"{name}.aag", f"{name}.inv"}
    own = certificate_of("compact encoder", "latency")
    assert Path(f"all/{name}.aag").read_text() == own.circuit
    assert Path(f"all/{name}.inv").read_text() == own.invariant
    checked = run("check", "all")
    assert (checked.status, checked.err) == (0, "")
    assert checked.out.startswith(f"all/{name}: confirmed: clauses ")
    again = run("prove", *ONE, "latency", "--certificates", "all")
    assert again.status == 0
    assert names(Path("all")) == {f"{name}.aag", f"{name}.inv"}


@pytest.mark.long
def test_workers_write_nothing_and_send_what_they_find(folder):
    result = run("prove", *ONE[:-1], "--certificates", "all")
    assert result.status == 0
    assert "\n13 certificates in all\n" in result.out
    assert len(names(Path("all"))) == 26
    checked = run("check", "all")
    assert (checked.status, checked.out.count(": confirmed: ")) == (0, 13)


def test_nothing_is_certified_unless_one_asks(folder, monkeypatch):
    monkeypatch.setattr(prover, "certify", lambda *_: pytest.fail("asked for"))
    assert run("prove", *ONE, "latency").status == 0
    assert attempt(goal_of("compact encoder", "latency")).certificate is None


def test_a_proof_without_a_certificate_is_said(folder, monkeypatch):
    monkeypatch.setattr(prover, "certify", lambda *_: None)
    result = run("prove", *ONE, "latency", "--certificates", "all")
    assert (result.status, result.err) == (1, "")
    assert squeezed(result.out)[-3:] == [
        "1 property proved, 3 covers reached",
        "NO CERTIFICATE: compact encoder, unicode, latency: no invariant was found",
        "0 certificates in all",
    ]
    assert names(folder) == {"text.txt"}


def test_what_fails_has_no_certificate(folder, monkeypatch):
    break_design(monkeypatch, "compact: byte changes under stall")
    result = run("prove", *ONE, "output-stream", "--certificates", "all", "--vcd", "/dev/null")
    assert result.status == 1
    assert result.out.endswith("0 certificates in all\n")
    assert names(folder) == {"text.txt"}


@pytest.mark.parametrize("why", ["it fails", "none is found"])
def test_what_has_no_certificate_leaves_none_of_before(folder, monkeypatch, why):
    options = *ONE, "output-stream", "--certificates", "all", "--vcd", "/dev/null"
    assert run("prove", *options).status == 0
    assert run("prove", *ONE, "latency", "--certificates", "all").status == 0
    if why == "it fails":
        break_design(monkeypatch, "compact: byte changes under stall")
    else:
        monkeypatch.setattr(prover, "certify", lambda *_: None)
    assert run("prove", *options).status == 1
    assert names(Path("all")) == {
        f"compact-encoder-unicode-latency.{end}" for end in ("aag", "inv")
    }


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("text.txt", "cannot write to 'text.txt': File exists"),
        ("none/all", "cannot write to 'none/all': No such file or directory"),
        ("", "--certificates needs the name of a folder"),
        ("-", "--certificates needs the name of a folder"),
    ],
)
def test_a_folder_that_cannot_be_written_to_is_refused_at_once(folder, place, why, monkeypatch):
    monkeypatch.setattr(proofs, "prove", lambda *_: pytest.fail("work had begun"))
    assert_refused(run("prove", *ONE, "latency", "--certificates", place), why)
    assert names(folder) == {"text.txt"}


def test_an_interrupt_while_the_solver_is_busy_ends_the_command(folder, monkeypatch):
    """The solver hears of it first."""

    def interrupted(*_arguments):
        raise pysolvers.error("Caught keyboard interrupt")

    monkeypatch.setattr(Minisat22, "solve", interrupted)
    result = run("prove", *ONE, "latency", "--certificates", "all")
    assert (result.status, result.err) == (130, "utf8-hdl: interrupted\n")
    assert names(folder) == {"text.txt"}


def test_what_to_install_is_said(folder, monkeypatch):
    found = tools.importlib.util.find_spec
    monkeypatch.setattr(
        tools.importlib.util, "find_spec", lambda name: None if name == "pysat" else found(name)
    )
    why = "needs python-sat: in a clone, pip install '.[formal]'\n"
    assert_refused(run("check", "all"), f"check {why}")
    assert_refused(run("prove", "--certificates", "all"), f"--certificates {why}")
    assert names(folder) == {"text.txt"}


def test_both_files_are_written_or_none(folder):
    with pytest.raises(TypeError):
        write_certificate(Path("own"), Certificate("aag\n", None))
    assert names(folder) == {"text.txt"}
