"""The checker of certificates: what it reads, what it confirms, and all that it refuses."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import assert_refused, names, run
from every_state import proves

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

# Two registers that change together while the input is high: the output says that they differ.
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


def write(circuit: str, clauses: list[str], name: str = "c", **altered: str) -> str:
    """A certificate in the current folder, whose header is right unless it is altered."""
    digest = altered.get("digest") or hashlib.sha256(circuit.encode()).hexdigest()
    head = ["utf8-hdl invariant 1", f"circuit {digest}", f"clauses {len(clauses)}"]
    Path(f"{name}.aag").write_text(circuit)
    Path(f"{name}.inv").write_text("\n".join([*head, *clauses, ""]))
    return name


def verdict(circuit: str, clauses: list[str]) -> str:
    """What the checker says, or why it says that it cannot read it."""
    try:
        return utf8_check.verdict(Path(write(circuit, clauses)))[1]
    except utf8_check.Unreadable as error:
        return f"UNREADABLE: {error}"


# --- circuits of which it is known what is so -----------------------------------------------------


def test_what_is_so_is_confirmed(folder):
    assert verdict(COUNTER, INVARIANT).startswith("confirmed: clauses 1, registers 2, ")
    assert verdict(PAIR, ["-one other", "one -other"]).startswith("confirmed: clauses 2, ")


INITIAL = "REFUSED: an initial state does not satisfy the invariant"
STEP = "REFUSED: a step leads out of the invariant"
OUTPUT = "REFUSED: in a state that satisfies the invariant the output is high"


@pytest.mark.parametrize(
    ("circuit", "clauses", "why"),
    [
        (COUNTER, [], OUTPUT),
        (COUNTER, ["-low"], STEP),
        (COUNTER, ["low", "-low"], INITIAL),  # false: nothing contradicts it but the beginning
        (COUNTER, ["low -low"], OUTPUT),
        (COUNTER, ["-low -high", "-high"], STEP),
        (COUNTER, ["low -high"], STEP),
        (COUNTER.replace("\n10\n", "\n11\n"), INVARIANT, OUTPUT),
        (COUNTER.replace("\n10\n", "\n1\n"), INVARIANT, OUTPUT),
        (COUNTER.replace("6 5 3", "6 5 2"), INVARIANT, STEP),
        (COUNTER.replace("4 8\n", "4 8 1\n").replace("2 6\n", "2 6 1\n"), INVARIANT, INITIAL),
        (COUNTER.replace("4 8\n", "4 8 4\n").replace("2 6\n", "2 6 2\n"), INVARIANT, INITIAL),
        (PAIR, ["-one other"], STEP),
        (PAIR.replace("4 12\n", "4 12 1\n"), ["-one other", "one -other"], INITIAL),
        (PAIR.replace("4 12\n", "4 12 4\n"), ["-one other", "one -other"], INITIAL),
        (PAIR.replace("10 5 2", "10 5 3"), ["-one other", "one -other"], STEP),
    ],
)
def test_what_is_not_so_is_refused(folder, circuit, clauses, why):
    assert verdict(circuit, clauses) == why


def test_a_register_may_begin_with_another_level(folder):
    """With 1, 0 the counter is in state 1; if any may be in the lower bit, in one of two."""
    for lower in ("2 6 1\n", "2 6 0\n", "2 6 2\n"):
        assert verdict(COUNTER.replace("2 6\n", lower), INVARIANT).startswith("confirmed")


# --- circuits and clauses of any kind, held against a search through all states -------------------


@st.composite
def any_certificates(draw, initial=("", " 0", " 1", " any")):
    """An AIGER file and clauses, with few registers, which begin as is said."""
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


@settings(max_examples=300, deadline=None)
@given(any_certificates())
def test_it_confirms_what_is_so_and_nothing_else(tmp_path_factory, certificate):
    circuit, clauses = certificate
    lines = circuit.splitlines()
    parsed = utf8_check.parse_circuit(lines)
    head = ["utf8-hdl invariant 1", f"circuit {'0' * 64}", f"clauses {len(clauses)}"]
    own = utf8_check.parse_invariant([*head, *clauses], "0" * 64, parsed.names)
    try:
        utf8_check.check(parsed, own)
        confirmed = True
    except utf8_check.UsageError:
        confirmed = False
    assert confirmed == proves(circuit, clauses)


@settings(max_examples=100, deadline=None)
@given(any_certificates([""]), st.lists(st.tuples(*[st.integers(0, 1)] * 2), min_size=1))
def test_it_reads_a_circuit_as_the_project_does(certificate, stimulus):
    """Run in both readings, from the state in which all registers are low."""
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


# --- files that are none --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("aag", "aig", "must be AIGER in ASCII"),
        ("aag 5 0 2 1 3", "aag 5 0 2 1 3 1", "what follows 'aag' cannot be '5 0 2 1 3 1'"),
        ("aag 5 0 2 1 3", "aag 5 0 2 1", "what follows 'aag' cannot be '5 0 2 1'"),
        ("aag 5 0 2 1 3", "aag 5 0 2 0 3", "must have one output"),
        ("aag 5 0 2 1 3", "aag 5 0 2 2 3", "must have one output"),
        ("aag 5 0 2 1 3", "aag 6 0 2 1 3", "all its variables must be defined"),
        ("aag 5 0 2 1 3", "aag 999999999 0 2 1 999999997", "is cut short"),
        ("aag 5 0 2 1 3", "aag 9999999999 0 2 1 3", "what follows 'aag' cannot be"),
        ("aag 5 0 2 1 3", f"aag {'9' * 5000} 0 2 1 3", "what follows 'aag' cannot be"),
        ("2 6\n", "2 12\n", "in the line of register 2 there is a wrong literal"),
        ("2 6\n", "2\n", "the line of register 2 cannot be '2'"),
        ("2 6\n", "2 6 4\n", "register 2 must begin with 0"),
        ("2 6\n", "2 6 3\n", "register 2 must begin with 0"),
        ("2 6\n", "2 +6\n", "the line of register 2 cannot be"),
        ("2 6\n", "2  6\n", "the line of register 2 cannot be"),
        ("2 6\n", "2 6 \n", "the line of register 2 cannot be"),
        ("2 6\n", "2 06\n", "the line of register 2 cannot be"),
        ("2 6\n", "2 0x6\n", "the line of register 2 cannot be"),
        ("2 6\n", "2 1_0\n", "the line of register 2 cannot be"),
        ("2 6\n", "2 -6\n", "the line of register 2 cannot be"),
        ("2 6\n4 8\n", "4 8\n2 6\n", "in the line of register 2 there is a wrong literal"),
        ("2 6\n4 8\n", "2 6\n2 8\n", "in the line of register 4 there is a wrong literal"),
        ("\n10\n", "\n12\n", "the output is not defined"),
        ("6 5 3", "6 6 3", "gate 6 must come behind"),
        ("6 5 3", "6 5 11", "gate 6 must come behind"),
        ("6 5 3", "6 5", "the line of gate 6 cannot be"),
        ("l0 low\n", "", "each register must have a name of its own"),
        ("l0 low", "l0 high", "each register must have a name of its own"),
        ("l0 low", "l0 -high", "that does not begin with '-'"),
        ("l0 low", "l0 low low", "which is no name"),
        ("l0 low", "l0 low\nl0 other", "or a second"),
        ("l0 low", "l2 low", "'l2 low', which is no name"),
        ("o0 wrong", "b0 wrong", "'b0 wrong', which is no name"),
        ("o0 wrong", "o0 wrong\n10 4 2", "'10 4 2', which is no name"),
        ("l0 low", "l0 l\u00f6w", "must be ASCII: it has the byte C3"),
        ("l0 low", "l0 low\r", "must be ASCII: it has the byte 0D"),
        ("l0 low", "l0 \0", "must be ASCII: it has the byte 00"),
        ("o0 wrong\n", "o0 wrong", "is cut short: its last line does not end"),
    ],
)
def test_a_circuit_that_is_none_cannot_be_read(folder, old, new, why):
    assert old in COUNTER
    altered = COUNTER.replace(old, new)
    said = verdict(altered, INVARIANT)
    assert said.startswith("UNREADABLE: c: ")
    assert why in said
    assert_refused(run("check", "c.inv"), why)


@pytest.mark.parametrize(
    ("clauses", "why"),
    [
        (["-low -hig"], "a clause has 'hig', which is the name of no register"),
        (["--low"], "a clause has '-low', which is the name of no register"),
        (["-low  -high"], "a clause has '', which"),
        (["-low -high "], "a clause has '', which"),
        (["-low -high", ""], "a clause has '', which"),
        (["-low -wrong"], "a clause has 'wrong', which"),
        (["-low " + "x" * 10000], "a clause has 'xxxx"),
    ],
)
def test_clauses_that_are_none_cannot_be_read(folder, clauses, why):
    assert why in verdict(COUNTER, clauses)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("invariant 1", "invariant 2"),
        ("utf8-hdl", ""),
        ("clauses 1", "clauses one"),
        ("clauses 1", "clauses -1"),
        ("clauses 1\n", ""),
        ("circuit ", "circuit 0"),
        ("circuit ", ""),
    ],
)
def test_a_header_that_is_none_cannot_be_read(folder, old, new):
    write(COUNTER, INVARIANT)
    text = Path("c.inv").read_text()
    Path("c.inv").write_text(text.replace(old, new))
    assert_refused(run("check", "c.aag"), "c: the invariant does not begin as one")


def test_what_does_not_belong_together_is_refused(folder):
    write(COUNTER, INVARIANT)
    text = Path("c.inv").read_text()
    Path("c.inv").write_text(text.replace("clauses 1", "clauses 2"))
    assert run("check", "c.inv")[:2] == (1, "c: REFUSED: of 2 clauses there are 1\n")
    Path("c.inv").write_text(text)
    Path("c.aag").write_text(COUNTER + "c\nanother comment\n")
    said = "c: REFUSED: the invariant is that of another circuit: the SHA-256 differs\n"
    assert run("check", "c.inv")[:2] == (1, said)


def test_a_part_of_a_certificate_is_never_confirmed(folder):
    write(PAIR, ["-one other", "one -other"])
    files = {name: Path(name).read_bytes() for name in ("c.aag", "c.inv")}
    for name, whole in files.items():
        for size in range(len(whole)):
            Path(name).write_bytes(whole[:size])
            with pytest.raises((utf8_check.Unreadable, AssertionError)):
                assert utf8_check.verdict(Path("c"))[0]
        Path(name).write_bytes(whole)
    assert utf8_check.verdict(Path("c"))[0]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_bytes_of_any_kind_are_never_confirmed_and_never_a_surprise(tmp_path_factory, data):
    place = tmp_path_factory.mktemp("any") / "c"
    circuit = data.draw(st.one_of(st.binary(max_size=300), st.just(COUNTER.encode())))
    digest = hashlib.sha256(circuit).hexdigest().encode()
    invariant = data.draw(st.one_of(
        st.binary(max_size=300),
        st.binary(max_size=300).map(lambda end: b"utf8-hdl invariant 1\ncircuit " + digest + end),
    ))  # fmt: skip
    place.with_suffix(".aag").write_bytes(circuit)
    place.with_suffix(".inv").write_bytes(invariant)
    with pytest.raises((utf8_check.Unreadable, AssertionError)):
        assert utf8_check.verdict(place)[0]


def test_files_that_cannot_be_read_are_said(folder):
    for name, why in {
        "c.inv": "c: there is no file 'c.aag'",
        "text.txt": "'text.txt' is no .aag, no .inv, and no folder that has one",
        ".": "'.' is no .aag, no .inv, and no folder that has one",
    }.items():
        assert_refused(run("check", name), why)
    assert_refused(run("check"), "no certificate is named: give FILE or FOLDER")
    Path("d.inv").mkdir()
    Path("d.aag").write_text(COUNTER)
    assert_refused(run("check", "d.aag"), "d: there is no file 'd.inv'")
    write(COUNTER, INVARIANT)
    Path("c.inv").write_text("")
    assert_refused(run("check", "c.inv"), "c: 'c.inv' is cut short")


# --- the command ----------------------------------------------------------------------------------


def test_every_certificate_has_a_line(folder):
    Path("all").mkdir()
    write(PAIR, ["-one other"], "all/pair")
    write(COUNTER, INVARIANT, "all/counter")
    Path("all/README").touch()
    result = run("check", "all", "all/pair.inv")
    first, second = result.out.splitlines()
    assert first.startswith("all/counter: confirmed: clauses 1, registers 2, ")
    assert second == f"all/pair: {STEP}"
    assert (result.status, result.err) == (1, "")
    assert run("check", "all/counter.aag", "all/counter.inv").out.count("\n") == 1
    assert names(folder) == {"text.txt", "all"}


def test_the_program_runs_alone(folder):
    """Without this project, which it could not even import, in the same words."""
    copy = Path("alone.py")
    copy.write_bytes(Path(utf8_check.__file__).read_bytes())
    hidden = "import sys; sys.modules |= dict.fromkeys(['utf8_flow', 'utf8_sim', 'utf8_hdl'])\n"
    Path("hidden.py").write_text(hidden + "import alone; sys.exit(alone.main(sys.argv[1:]))\n")

    def alone(*arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, "hidden.py", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        return done.returncode, done.stdout, done.stderr

    write(COUNTER, INVARIANT)
    status, out, err = alone("c.inv")
    assert (status, out[:15], err) == (0, "'c': confirmed:", "")
    write(COUNTER, [])
    assert alone("c.inv") == (1, f"'c': {OUTPUT}\n", "")
    assert alone("d.inv") == (2, "", "utf8_check: \"d: there is no file 'd.aag'\"\n")
    assert alone()[0] == 2
    Path("hidden.py").write_text("import sys; sys.modules['pysolvers'] = None; import alone\n")
    status, out, err = alone("c.inv")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("utf8_check: ")
    assert err.endswith(": pip install python-sat\n")


def test_an_interrupt_while_the_solver_is_busy_ends_the_command(folder, monkeypatch):
    """The solver hears of it first."""

    def interrupted(_solver):
        raise pysolvers.error("Caught keyboard interrupt")

    write(COUNTER, INVARIANT)
    monkeypatch.setattr(utf8_check.Cadical195, "solve", interrupted)
    assert run("check", "c.inv") == (130, "", "utf8-hdl: interrupted\n")


def test_a_solver_that_gives_up_confirms_nothing(folder, monkeypatch):
    monkeypatch.setattr(utf8_check.Cadical195, "solve", lambda solver: None)
    assert verdict(COUNTER, INVARIANT) == INITIAL
