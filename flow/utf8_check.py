"""Check certificates: that the output of a circuit is low in every cycle of every run.

    python utf8_check.py FILE|FOLDER...

A certificate is two files. NAME.aag is the circuit, in the ASCII form of AIGER: and-gates, and
registers that begin as it says. NAME.inv is an invariant: clauses over the names of its registers.
It is confirmed if a solver finds no counterexample to any of these:

1. the initial states satisfy every clause;
2. from a state that satisfies all of them, every step leads to one that does, whatever the inputs;
3. in a state that satisfies all of them the output is low, whatever the inputs.

Then every state that can be reached satisfies the clauses, so the output is low in it. Nothing here
knows how the clauses were found. This program uses nothing of the project that it belongs to: it
can be read, copied and run alone, and needs only the solver, CaDiCaL of python-sat.

The exit status is 0 if all are confirmed, 1 if one is refused, 2 if one cannot be read as above.
"""

import hashlib
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pysolvers
from pysat.solvers import Cadical195

Clause = list[int]
"""Literals of a solver: the number of a variable, negative if it is inverted. One must be true."""


class Unreadable(Exception):
    """The files are no certificate."""


class Refused(Exception):
    """The certificate is wrong: this is what is not so."""


class Circuit(NamedTuple):
    """A circuit. Its literals are AIGER's: twice a variable's number, plus one if it is inverted.

    Variable 0 is false. Then come the inputs, the registers, and the gates; so no gate depends on
    itself.
    """

    constant_and_inputs: int  # how many variables these are
    registers: list[tuple[int, int]]  # what each one takes in the next cycle, and begins with
    gates: list[tuple[int, int]]  # what each one is the conjunction of
    output: int
    names: list[str]  # of the registers

    def literal(self, register: int) -> int:
        return 2 * (self.constant_and_inputs + register)


# --- reading: whatever is not just as described is refused ----------------------------------------


def read_lines(path: Path) -> tuple[list[str], str]:
    """The lines of a file, and the SHA-256 of its bytes."""
    if not path.is_file():
        raise Unreadable(f"there is no file {path.name!r}")
    data = path.read_bytes()
    if not data.endswith(b"\n"):
        raise Unreadable(f"{path.name!r} does not end with the end of a line: is it whole?")
    if wrong := re.search(rb"[^\n -~]", data):
        raise Unreadable(f"{path.name!r} has the byte {wrong[0].hex().upper()}: it must be ASCII")
    return data.decode("ascii").split("\n")[:-1], hashlib.sha256(data).hexdigest()


def numbers(line: str, what: str, *counts: int) -> list[int]:
    """The numbers on a line; as many as one of these."""
    words = line.split(" ")
    if len(words) not in counts or not all(re.fullmatch("0|[1-9][0-9]{0,8}", w) for w in words):
        expected = " or ".join(map(str, counts))
        raise Unreadable(f"{what} must be {expected} numbers, not {line[:60]!r}")
    return list(map(int, words))


def parse_circuit(lines: list[str]) -> Circuit:
    """What the lines of an AIGER file say; variables must be in the order that ``Circuit`` has."""
    kind, _, rest = lines[0].partition(" ")
    if kind != "aag":
        raise Unreadable("the circuit must begin with 'aag': it must be AIGER in ASCII")
    # More than five numbers would be bad states, constraints, justice and fairness.
    highest, inputs, registers, outputs, gates = numbers(rest, "the counts behind 'aag'", 5)
    if highest != inputs + registers + gates or outputs != 1:
        raise Unreadable("the circuit must have one output, and no variables but what it defines")
    if len(lines) < 1 + highest + outputs:
        raise Unreadable(f"the circuit is cut short: its first line promises {highest + outputs}")
    body = iter(lines[1:])
    defined = iter(range(2, 2 * highest + 2, 2))

    def definition(what: str, *counts: int) -> list[int]:
        literal, *own = numbers(next(body), what, *counts)
        if literal != (expected := next(defined)):
            raise Unreadable(f"{what} must be that of {expected}, not of {literal}")
        if any(used > 2 * highest + 1 for used in own):
            raise Unreadable(f"{what} {literal} uses a literal that is not defined")
        return [literal, *own]

    for _ in range(inputs):
        definition("the line of an input", 1)
    steps = []
    for _ in range(registers):
        literal, following, *initial = definition("the line of a register", 2, 3)
        if initial and initial[0] not in (0, 1, literal):
            raise Unreadable(f"register {literal} must begin with 0, 1 or itself, which is any")
        steps.append((following, initial[0] if initial else 0))
    [output] = numbers(next(body), "the line of the output", 1)
    if output > 2 * highest + 1:
        raise Unreadable("the output is a literal that is not defined")
    pairs = []
    for _ in range(gates):
        literal, one, other = definition("the line of a gate", 3)
        if max(one, other) >= literal:
            raise Unreadable(f"gate {literal} uses a literal that is defined behind it")
        pairs.append((one, other))
    names = parse_names(body, {"i": inputs, "l": registers, "o": outputs})
    return Circuit(1 + inputs, steps, pairs, output, names)


def parse_names(lines: Iterable[str], counts: dict[str, int]) -> list[str]:
    """The names of registers from the lines behind a circuit; what comes behind ``c`` is free."""
    names: dict[tuple[str, int], str] = {}
    for line in lines:
        if line == "c":
            break
        symbol = re.fullmatch("([ilo])(0|[1-9][0-9]{0,8}) ([!-~]+)", line)
        if not symbol or int(symbol[2]) >= counts[symbol[1]]:
            raise Unreadable(f"behind the circuit is {line[:60]!r}, which names nothing in it")
        place = symbol[1], int(symbol[2])
        if place in names:
            raise Unreadable(f"{symbol[1]}{symbol[2]} has two names")
        names[place] = symbol[3]
    own = [names.get(("l", number), "") for number in range(counts["l"])]
    if "" in own or len(set(own)) < len(own) or any(name.startswith("-") for name in own):
        raise Unreadable("each register must have a name of its own that does not begin with '-'")
    return own


def parse_invariant(lines: list[str], digest: str, circuit: Circuit) -> list[Clause]:
    """The clauses, in the circuit's literals."""
    head = re.fullmatch(
        "utf8-hdl invariant 1\ncircuit ([0-9a-f]{64})\nclauses (0|[1-9][0-9]{0,8})",
        "\n".join(lines[:3]),
    )
    if not head:
        raise Unreadable(
            "the invariant must begin with 'utf8-hdl invariant 1', the circuit's SHA-256, "
            "and how many clauses there are"
        )
    if head[1] != digest:
        raise Refused("the invariant is that of another circuit: the SHA-256 differs")
    if int(head[2]) != len(lines) - 3:
        raise Refused(f"the invariant must have {head[2]} clauses, and has {len(lines) - 3}")
    places = {name: circuit.literal(number) for number, name in enumerate(circuit.names)}
    clauses = []
    for line in lines[3:]:
        words = line.split(" ")
        for word in words:
            if word.removeprefix("-") not in places:
                raise Unreadable(f"a clause has {word[:60]!r}, which is the name of no register")
        clauses.append([places[word.removeprefix("-")] + word.startswith("-") for word in words])
    return clauses


# --- the three questions --------------------------------------------------------------------------


def solver_literal(literal: int) -> int:
    """A literal of the circuit as the solver's, whose variables begin with 1."""
    return -(literal // 2 + 1) if literal % 2 else literal // 2 + 1


def all_of(gate: int, literals: list[int]) -> list[Clause]:
    """Clauses that say: the solver's literal ``gate`` is true if and only if all of these are."""
    return [*([-gate, literal] for literal in literals), [gate, *(-each for each in literals)]]


def gates_of(circuit: Circuit) -> list[Clause]:
    """Clauses that say: variable 0 is false, and each gate is the conjunction of its literals."""
    said = [[-solver_literal(0)]]
    first = circuit.literal(len(circuit.registers))
    for gate, pair in enumerate(circuit.gates):
        said += all_of(solver_literal(first + 2 * gate), list(map(solver_literal, pair)))
    return said


def broken(clauses: list[Clause], circuit: Circuit) -> list[Clause]:
    """Clauses that say: one of these is false. Which one, variables behind the circuit's tell."""
    first = solver_literal(circuit.literal(len(circuit.registers) + len(circuit.gates)))
    said = [list(range(first, first + len(clauses)))]
    for which, clause in enumerate(clauses, start=first):
        said += all_of(which, [-literal for literal in clause])
    return said


def contradict(said: list[Clause]) -> bool:
    """Whether the solver shows that not all of the clauses can be satisfied."""
    with Cadical195(bootstrap_with=said) as solver:
        try:
            return solver.solve() is False  # it would be None if the solver gave up
        except pysolvers.error as interrupted:  # it hears of Ctrl-C first
            raise KeyboardInterrupt from interrupted


def check(circuit: Circuit, clauses: list[Clause]) -> None:
    """Return if the clauses prove that the output is low in every state that can be reached."""
    holds = [list(map(solver_literal, clause)) for clause in clauses]
    here = {circuit.literal(number): own for number, own in enumerate(circuit.registers)}
    initial = [[-solver_literal(0)]]
    for register, (_, begins) in here.items():
        if begins != register:
            initial.append([solver_literal(register ^ 1 ^ begins)])
    after = [[solver_literal(here[each & ~1][0] ^ (each & 1)) for each in c] for c in clauses]
    gates = gates_of(circuit)
    if not contradict(initial + broken(holds, circuit)):
        raise Refused("an initial state does not satisfy the invariant")
    if not contradict(gates + holds + broken(after, circuit)):
        raise Refused("a step leads out of the invariant")
    if not contradict(gates + holds + [[solver_literal(circuit.output)]]):
        raise Refused("the invariant has a state in which the output is high")


# --- the command ----------------------------------------------------------------------------------


def certificates(places: Iterable[str]) -> list[Path]:
    """The certificates that are named, by one of their two files or by a folder, without ending."""
    found: dict[Path, None] = {}
    for place in map(Path, places):
        files = sorted(place.glob("*")) if place.is_dir() else [place]
        own = [path.with_suffix("") for path in files if path.suffix in (".aag", ".inv")]
        if not own:
            raise Unreadable(f"{str(place)!r} is no .aag, no .inv, and no folder with such files")
        found |= dict.fromkeys(own)
    return list(found)


def verdict(certificate: Path) -> tuple[int, str]:
    """The exit status for a certificate, and what there is to say."""
    begin = time.monotonic()
    try:
        lines, digest = read_lines(certificate.with_name(f"{certificate.name}.aag"))
        invariant, _ = read_lines(certificate.with_name(f"{certificate.name}.inv"))
        circuit = parse_circuit(lines)
        clauses = parse_invariant(invariant, digest, circuit)
        check(circuit, clauses)
    except Refused as error:
        return 1, f"REFUSED: {error}"
    except (Unreadable, OSError) as error:
        return 2, f"UNREADABLE: {getattr(error, 'strerror', None) or error}"
    counts = f"{len(clauses)} clauses, {len(circuit.registers)} registers"
    return 0, f"confirmed: {counts}, {time.monotonic() - begin:.1f} s"


def main(places: list[str]) -> int:
    """Check certificates, and print a line about each; the exit status."""
    try:
        worst = 0
        for certificate in certificates(places):
            status, said = verdict(certificate)
            print(f"{str(certificate)!a}: {said}")
            worst = max(worst, status)
        return worst
    except (Unreadable, OSError) as error:
        print(f"utf8_check: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
