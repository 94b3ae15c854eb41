"""The checker of certificates: confirmed, refused and unreadable certificates."""

import hashlib
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import assert_refused, names, run
from every_state import checker_accepts, proves

pytest.importorskip("pysat", reason="python-sat is not installed")

import pysolvers

import utf8_check
from utf8_flow.formal.circuit import Circuit

# A counter from 0 to 2, whose output is high in state 3.
COUNTER = """\
aag 5 0 2 1 3
2 6
4 8
10
6 5 3
8 5 2
10 4 2
l0 low
l1 high
o0 wrong
"""
INVARIANT = ["-low -high"]

# Two registers that toggle together while the input is high. The output is high if they differ.
PAIR = """\
aag 12 1 2 1 9
2
4 12
6 18
24
8 4 3
10 5 2
12 11 9
14 6 3
16 7 2
18 17 15
20 6 4
22 7 5
24 23 21
i0 change
l0 one
l1 other
o0 wrong
c
12 is not the XOR, but its inverse: both begin with the same level and change in every cycle.
"""
EQUAL = ["-one other", "one -other"]


def write(circuit: str, clauses: list[str], name: str = "c") -> Path:
    """Write a certificate with a correct header into the current folder."""
    digest = hashlib.sha256(circuit.encode()).hexdigest()
    head = ["utf8-hdl invariant 1", f"circuit {digest}", f"clauses {len(clauses)}"]
    Path(f"{name}.aag").write_text(circuit)
    Path(f"{name}.inv").write_text("\n".join([*head, *clauses, ""]))
    return Path(name)


def verdict(circuit: str, clauses: list[str]) -> str:
    """The checker's verdict, or the reason why it cannot read the certificate."""
    try:
        return utf8_check.verdict(write(circuit, clauses))[1]
    except utf8_check.Unreadable as error:
        return f"UNREADABLE: {error}"


# --- verdicts -------------------------------------------------------------------------------------


INITIAL = "REFUSED: an initial state does not satisfy the invariant"
STEP = "REFUSED: a step violates the invariant"
OUTPUT = "REFUSED: in a state that satisfies the invariant the output is high"


@pytest.mark.parametrize(
    ("circuit", "clauses", "reason"),
    [
        (COUNTER, [], OUTPUT),
        (COUNTER, ["-low"], STEP),
        (COUNTER, ["low", "-low"], INITIAL),  # a contradiction: only the initial state violates it
    ],
)
def test_checker_refuses_what_is_no_invariant(folder, circuit, clauses, reason):
    assert verdict(circuit, clauses) == reason


# --- random circuits and clauses, against an enumeration of all states ----------------------------


@st.composite
def certificates(draw, initial=("", " 0", " 1", " any")):
    """An AIGER file with few registers, and clauses."""
    inputs, registers, gates = (draw(st.integers(0, most)) for most in (2, 3, 6))
    every = st.integers(0, 2 * (inputs + registers + gates) + 1)
    lines = [f"aag {inputs + registers + gates} {inputs} {registers} 1 {gates}"]
    own = iter(range(2, 2 * (inputs + registers + gates) + 2, 2))
    lines += [f"{next(own)}" for _ in range(inputs)]
    for literal in [next(own) for _ in range(registers)]:
        begins = draw(st.sampled_from(initial)).replace("any", str(literal))
        lines.append(f"{literal} {draw(every)}{begins}")
    lines.append(f"{draw(every)}")
    for literal in [next(own) for _ in range(gates)]:
        pair = draw(st.lists(st.integers(0, literal - 1), min_size=2, max_size=2))
        lines.append(" ".join(map(str, [literal, *pair])))
    lines += [f"l{number} r{number}" for number in range(registers)]
    literals = [f"{sign}r{number}" for number in range(registers) for sign in ("", "-")]
    clause = st.lists(st.sampled_from(literals or [""]), min_size=1, max_size=3)
    clauses = draw(st.lists(clause, max_size=4 if literals else 0))
    return "\n".join([*lines, ""]), [" ".join(each) for each in clauses]


@settings(max_examples=3 * settings.default.max_examples)
@given(certificates())
def test_checker_and_enumeration_agree(certificate):
    assert checker_accepts(*certificate) == proves(*certificate)


@given(certificates([""]), st.lists(st.tuples(*[st.integers(0, 1)] * 2), min_size=1))
def test_checker_and_prover_parse_the_same_circuit(certificate, stimulus):
    """Both circuits are run from the state in which all registers are low."""
    text, _ = certificate
    named = "\n".join([text, *(f"i{n} in{n}" for n in range(2)), "o0 wrong", ""])
    inputs = int(text.split()[2])
    ours = Circuit.parse(named.replace("\n\n", "\n"))
    theirs = utf8_check.parse_circuit(text.splitlines())
    levels = [each[:inputs] for each in stimulus]
    assert [cycle["wrong"] for cycle in ours.simulate(levels)] == list(outputs(theirs, levels))


def outputs(circuit, stimulus):
    state = dict.fromkeys(circuit.registers, 0)
    for levels in stimulus:
        own = {0: 0, **{2 * n: level for n, level in enumerate(levels, start=1)}, **state}

        def look(literal, own=own):
            return own[literal & ~1] ^ (literal & 1)

        for gate, (one, other) in circuit.gates.items():
            own[gate] = look(one) & look(other)
        yield look(circuit.output)
        state = {each: look(following) for each, (following, _) in circuit.registers.items()}


# --- invalid files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("aag", "aig", "must be AIGER in ASCII"),
        ("aag 5 0 2 1 3", "aag 5 0 2 1 3 1", "what follows 'aag' cannot be '5 0 2 1 3 1'"),
        ("aag 5 0 2 1 3", "aag 5 0 2 2 3", "must have one output"),
        ("aag 5 0 2 1 3", "aag 6 0 2 1 3", "all its variables must be defined"),
        ("aag 5 0 2 1 3", "aag 999999999 0 2 1 999999997", "is truncated"),
        ("2 6\n", "2 12\n", "the line of register 2 has a wrong literal"),
        ("2 6\n4 8\n", "4 8\n2 6\n", "the line of register 2 has a wrong literal"),
        ("2 6\n", "2 6 4\n", "register 2 must begin with 0"),
        ("2 6\n", "2 06\n", "the line of register 2 cannot be"),
        ("\n10\n", "\n12\n", "the output is not defined"),
        ("6 5 3", "6 6 3", "gate 6 must come after"),
        ("l0 low", "l0 high", "each register must have a unique name"),
        ("l0 low", "l0 -high", "that does not begin with '-'"),
        ("l0 low", "l0 low\nl0 other", "or a duplicate"),
        ("l0 low", "l2 low", "'l2 low' is not a name"),
        ("l0 low", "l0 l\u00f6w", "must be ASCII: it has the byte C3"),
        ("o0 wrong\n", "o0 wrong", "is truncated: its last line has no end"),
    ],
)
def test_checker_rejects_invalid_circuit(folder, old, new, reason):
    assert old in COUNTER
    found = verdict(COUNTER.replace(old, new), INVARIANT)
    assert found.startswith("UNREADABLE: c: ")
    assert reason in found


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("-low -high", "-low -hig", "a clause has 'hig', which is not a register's name"),
        ("-low -high", "-low  -high", "a clause has '', which"),
        ("invariant 1", "invariant 2", "the invariant must begin with format"),
        ("clauses 1\n", "", "the invariant must begin with format"),
        ("circuit ", "circuit 0", "the invariant must begin with format"),
    ],
)
def test_checker_rejects_invalid_invariant(folder, old, new, reason):
    write(COUNTER, INVARIANT)
    text = Path("c.inv").read_text()
    assert old in text
    Path("c.inv").write_text(text.replace(old, new))
    assert_refused(run("check", "c.aag"), reason)


def test_checker_refuses_files_that_do_not_match(folder):
    write(COUNTER, INVARIANT)
    text = Path("c.inv").read_text()
    Path("c.inv").write_text(text.replace("clauses 1", "clauses 2"))
    assert run("check", "c.inv")[:2] == (1, "c: REFUSED: 2 clauses are declared, but there are 1\n")
    Path("c.inv").write_text(text)
    Path("c.aag").write_text(COUNTER + "c\nanother comment\n")
    reason = "c: REFUSED: the invariant belongs to another circuit: the SHA-256 differs\n"
    assert run("check", "c.inv")[:2] == (1, reason)


def assert_not_confirmed(certificate: Path) -> None:
    with suppress(utf8_check.Unreadable):
        assert not utf8_check.verdict(certificate)[0]


def test_checker_refuses_truncated_files(folder):
    own = write(PAIR, EQUAL)
    for path in own.with_suffix(".aag"), own.with_suffix(".inv"):
        whole = path.read_bytes()
        for size in range(len(whole)):
            path.write_bytes(whole[:size])
            assert_not_confirmed(own)
        path.write_bytes(whole)
    assert utf8_check.verdict(own)[0]


@settings(max_examples=2 * settings.default.max_examples)
@given(st.binary(max_size=300) | st.just(COUNTER.encode()), st.booleans(), st.binary(max_size=300))
def test_checker_refuses_arbitrary_bytes(tmp_path_factory, circuit, is_own, invariant):
    own = tmp_path_factory.mktemp("any") / "c"
    digest = hashlib.sha256(circuit).hexdigest().encode()
    head = b"utf8-hdl invariant 1\ncircuit " + digest if is_own else b""
    own.with_suffix(".aag").write_bytes(circuit)
    own.with_suffix(".inv").write_bytes(head + invariant)
    assert_not_confirmed(own)


# --- the command ----------------------------------------------------------------------------------


def test_check_refuses_missing_and_unusable_files(folder):
    assert_refused(run("check", "c.inv"), "c: 'c.aag' is not a file")
    for name in "text.txt", ".":
        assert_refused(run("check", name), f"'{name}' is not a .aag or .inv file, or a folder")
    assert_refused(run("check"), "no certificate is named: give FILE or FOLDER")
    write(COUNTER, INVARIANT)
    Path("c.inv").write_text("")
    assert_refused(run("check", "c.inv"), "c: 'c.inv' is truncated")


def test_check_prints_a_line_for_each_certificate(folder):
    Path("all").mkdir()
    write(PAIR, EQUAL[:1], "all/pair")
    write(COUNTER, INVARIANT, "all/counter")
    Path("all/README").touch()
    result = run("check", "all", "all/pair.inv")
    first, second = result.out.splitlines()
    assert first.startswith("all/counter: confirmed: clauses 1, registers 2, ")
    assert second == f"all/pair: {STEP}"
    assert (result.status, result.err) == (1, "")
    assert run("check", "all/counter.aag", "all/counter.inv").out.count("\n") == 1
    assert names(folder) == {"text.txt", "all"}


def test_checker_runs_without_the_project(folder):
    Path("alone.py").write_bytes(Path(utf8_check.__file__).read_bytes())
    hidden = "import sys; sys.modules |= dict.fromkeys(['utf8_flow', 'utf8_sim', 'utf8_hdl'])\n"
    Path("hidden.py").write_text(hidden + "import alone; sys.exit(alone.main(sys.argv[1:]))\n")

    def alone(*arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, "hidden.py", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    write(COUNTER, INVARIANT)
    status, out, err = alone("c.inv")
    assert (status, out[:15], err) == (0, "'c': confirmed:", "")
    write(COUNTER, [])
    assert alone("c.inv") == (1, f"'c': {OUTPUT}\n", "")
    assert alone("d.inv")[:2] == (2, "")
    Path("hidden.py").write_text("import sys; sys.modules['pysolvers'] = None; import alone\n")
    status, out, err = alone("c.inv")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.endswith(": pip install python-sat\n")


def test_interrupt_in_the_solver_ends_check(folder, monkeypatch):
    interrupted = Mock(side_effect=pysolvers.error("Caught keyboard interrupt"))
    write(COUNTER, INVARIANT)
    monkeypatch.setattr(utf8_check.Cadical195, "solve", interrupted)
    assert run("check", "c.inv") == (130, "", "utf8-hdl: interrupted\n")


def test_checker_refuses_if_the_solver_gives_up(folder, monkeypatch):
    monkeypatch.setattr(utf8_check.Cadical195, "solve", lambda solver: None)
    assert verdict(COUNTER, INVARIANT) == INITIAL
