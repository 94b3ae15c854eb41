"""Check certificates, which prove that the output of a circuit is low in every cycle of every run.

    python utf8_check.py FILE|FOLDER...

A certificate consists of two files. NAME.aag is the circuit in ASCII AIGER: AND gates, and
registers with initial values. NAME.inv is an inductive invariant: clauses over the names of the
registers. The certificate is confirmed if a solver proves these three conditions:

1. Every initial state satisfies all clauses.
2. Each step from a state that satisfies all clauses leads to another such state, for all inputs.
3. In every state that satisfies all clauses, the output is low, for all inputs.

It follows that all reachable states satisfy the clauses, and that the output is low in them. You
need not trust the program that found the clauses. This file does not use other files of its
project, so it can be copied and run alone. It only needs the solver CaDiCaL, from python-sat.

The exit status is 0 if all certificates are confirmed, 1 if one is refused, 2 if one cannot be
read.
"""

import hashlib
import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

try:
    import pysolvers
    from pysat.solvers import Cadical195
except ImportError as missing:
    print(f"utf8_check: {missing}: pip install python-sat", file=sys.stderr)
    sys.exit(2)

NUMBER = "(?:0|[1-9][0-9]{0,8})"

Clause = list[int]
"""A disjunction of literals. A literal of the solver is a variable, or minus a variable."""


class Unreadable(Exception):
    """A file is not a valid part of a certificate."""


class Rejected(Exception):
    """The certificate proves nothing; the message is the reason."""


class Circuit(NamedTuple):
    """A circuit in AIGER's literals: twice a variable, plus one if it is inverted.

    Variable 0 is false. Inputs, registers and gates follow, in this order.
    """

    registers: dict[int, tuple[int, int]]  # by literal: the next and the initial value
    gates: dict[int, tuple[int, int]]  # by literal: the operands of the conjunction
    output: int
    names: dict[str, int]  # literals of registers
    next_literal: int  # the first unused literal


# --- reading: every deviation from the format is refused ------------------------------------------


def read_lines(path: Path) -> tuple[list[str], str]:
    """The lines of a file, and its SHA-256."""
    if not path.is_file():
        raise Unreadable(f"{path.name!r} is not a file")
    data = path.read_bytes()
    if wrong := re.search(rb"[^\n -~]", data):
        raise Unreadable(f"{path.name!r} must be ASCII: it has the byte {wrong[0].hex().upper()}")
    if not data.endswith(b"\n"):
        raise Unreadable(f"{path.name!r} is truncated: its last line has no end")
    return data.decode("ascii").split("\n")[:-1], hashlib.sha256(data).hexdigest()


def numbers(line: str, what: str, count: str) -> list[int]:
    """The numbers on a line: one, and ``count`` more (a quantifier of a regular expression)."""
    if not re.fullmatch(f"{NUMBER}(?: {NUMBER}){{{count}}}", line):
        raise Unreadable(f"{what} cannot be {line[:40]!r}")
    return [int(word) for word in line.split(" ")]


def parse_circuit(lines: list[str]) -> Circuit:
    """Parse an AIGER file."""
    kind, _, counts = lines[0].partition(" ")
    if kind != "aag":
        raise Unreadable("the circuit must be AIGER in ASCII, which begins with 'aag'")
    # Optional counts, for bad states, constraints, justice and fairness, are refused.
    highest, inputs, registers, outputs, gates = numbers(counts, "what follows 'aag'", "4")
    if outputs != 1 or highest != inputs + registers + gates:
        raise Unreadable("the circuit must have one output, and all its variables must be defined")
    if len(lines) < 2 + highest:
        raise Unreadable(f"the circuit is truncated: it needs {highest + outputs} definitions")
    body = iter(lines[1:])
    literals = iter(range(2, 2 * highest + 2, 2))

    def definitions(what: str, how_many: int, count: str) -> Iterator[list[int]]:
        for literal in (next(literals) for _ in range(how_many)):
            own, *used = numbers(next(body), f"the line of {what} {literal}", count)
            if own != literal or max(used, default=0) > 2 * highest + 1:
                raise Unreadable(f"the line of {what} {literal} has a wrong literal")
            yield [own, *used]

    for _ in definitions("input", inputs, "0"):
        pass
    steps = {}
    for own, following, *begins in definitions("register", registers, "1,2"):
        steps[own] = (following, begins[0] if begins else 0)
        if steps[own][1] not in (0, 1, own):
            raise Unreadable(f"register {own} must begin with 0, 1, or itself (any value)")
    [output] = numbers(next(body), "the line of the output", "0")
    if output > 2 * highest + 1:
        raise Unreadable("the output is not defined")
    pairs = {}
    for own, one, other in definitions("gate", gates, "2"):
        pairs[own] = (one, other)
        if max(one, other) >= own:
            raise Unreadable(f"gate {own} must come after its operands")
    names = parse_names(body, {"i": inputs, "l": registers, "o": outputs})
    return Circuit(steps, pairs, output, dict(zip(names, steps, strict=True)), 2 * highest + 2)


def parse_names(lines: Iterable[str], counts: dict[str, int]) -> list[str]:
    """The names of the registers, from the lines between the circuit and the comment."""
    names: dict[str, str] = {}
    for line in lines:
        if line == "c":
            break
        named = re.fullmatch(f"(([ilo])({NUMBER})) ([!-~]+)", line)
        if not named or named[1] in names or int(named[3]) >= counts[named[2]]:
            raise Unreadable(f"after the circuit, {line[:40]!r} is not a name, or a duplicate")
        names[named[1]] = named[4]
    own = [names.get(f"l{number}", "-") for number in range(counts["l"])]
    if len(set(own)) < len(own) or any(name.startswith("-") for name in own):
        raise Unreadable("each register must have a unique name that does not begin with '-'")
    return own


def parse_invariant(lines: list[str], digest: str, names: dict[str, int]) -> list[Clause]:
    """The clauses, in the circuit's literals."""
    head = "utf8-hdl invariant 1\ncircuit ([0-9a-f]{64})\nclauses (NUMBER)"
    match = re.fullmatch(head.replace("NUMBER", NUMBER), "\n".join(lines[:3]))
    if not match:
        raise Unreadable("the invariant must begin with format, circuit and clauses")
    if match[1] != digest:
        raise Rejected("the invariant belongs to another circuit: the SHA-256 differs")
    if int(match[2]) != len(lines) - 3:
        raise Rejected(f"{match[2]} clauses are declared, but there are {len(lines) - 3}")
    clauses = [[(word.removeprefix("-"), word[:1] == "-") for word in c.split(" ")] for c in lines]
    for name in (name for clause in clauses[3:] for name, _ in clause):
        if name not in names:
            raise Unreadable(f"a clause has {name[:40]!r}, which is not a register's name")
    return [[names[name] + inverted for name, inverted in clause] for clause in clauses[3:]]


# --- the three conditions -------------------------------------------------------------------------


def solver_literal(literal: int) -> int:
    """A literal of the circuit as a literal of the solver, whose variables begin with 1."""
    return -(literal // 2 + 1) if literal % 2 else literal // 2 + 1


def conjunction(own: int, literals: list[int]) -> list[Clause]:
    """Clauses over literals of the solver: ``own`` is true if and only if all ``literals`` are."""
    return [[own, *(-each for each in literals)], *([-own, each] for each in literals)]


def negation(clauses: list[Clause], first: int) -> list[Clause]:
    """Clauses that are true if one of these is false. ``first`` is the first unused variable."""
    own = range(first, first + len(clauses))
    result = [list(own)]
    for variable, clause in zip(own, clauses, strict=True):
        result += conjunction(variable, [-each for each in clause])
    return result


def contradict(*parts: list[Clause]) -> bool:
    """True if the solver proves that no assignment satisfies all clauses."""
    with Cadical195() as solver:
        for part in parts:
            solver.append_formula(part)
        try:
            return solver.solve() is False  # it would be None if the solver gave up
        except pysolvers.error as interrupted:  # the solver catches Ctrl-C
            raise KeyboardInterrupt from interrupted


def check(circuit: Circuit, clauses: list[Clause]) -> None:
    """Raise `Rejected` unless the clauses prove that the output is low in every cycle."""
    variable = solver_literal(circuit.next_literal)
    begins = [
        [solver_literal(own ^ 1 ^ initial)]
        for own, (_, initial) in circuit.registers.items()
        if initial != own
    ]
    gates = [[solver_literal(1)]]
    for own, pair in circuit.gates.items():
        gates += conjunction(solver_literal(own), [solver_literal(each) for each in pair])
    now = [[solver_literal(each) for each in clause] for clause in clauses]
    after = [
        [solver_literal(circuit.registers[each & ~1][0] ^ (each & 1)) for each in clause]
        for clause in clauses
    ]
    if not contradict(begins, negation(now, variable)):
        raise Rejected("an initial state does not satisfy the invariant")
    if not contradict(gates, now, negation(after, variable)):
        raise Rejected("a step violates the invariant")
    if not contradict(gates, now, [[solver_literal(circuit.output)]]):
        raise Rejected("in a state that satisfies the invariant the output is high")


# --- the command ----------------------------------------------------------------------------------


def certificates(names: Iterable[str]) -> list[Path]:
    """The paths, without extension, of the certificates named by a file or a folder."""
    found: list[Path] = []
    for path in map(Path, names):
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        own = [file.with_suffix("") for file in files if file.suffix in (".aag", ".inv")]
        if not own:
            raise Unreadable(f"{str(path)!r} is not a .aag or .inv file, or a folder with one")
        found += own
    if not found:
        raise Unreadable("no certificate is named: give FILE or FOLDER")
    return list(dict.fromkeys(found))


def verdict(certificate: Path) -> tuple[bool, str]:
    """True if a certificate is confirmed, and a line for the report."""
    begin = time.monotonic()
    try:
        lines, digest = read_lines(certificate.with_name(f"{certificate.name}.aag"))
        invariant, _ = read_lines(certificate.with_name(f"{certificate.name}.inv"))
        circuit = parse_circuit(lines)
        clauses = parse_invariant(invariant, digest, circuit.names)
        check(circuit, clauses)
    except Rejected as error:
        return False, f"REFUSED: {error}"
    except (Unreadable, OSError) as error:
        raise Unreadable(f"{certificate}: {error}") from error
    counts = f"clauses {len(clauses)}, registers {len(circuit.registers)}"
    tied = ", the output is constant 0" * (circuit.output == 0)
    return True, f"confirmed: {counts}, {time.monotonic() - begin:.1f} s{tied}"


def main(names: list[str]) -> int:
    """Check certificates, and print a line for each; return the exit status."""
    status = 0
    try:
        for certificate in certificates(names):
            confirmed, text = verdict(certificate)
            print(f"{str(certificate)!a}: {text}", flush=True)
            status |= not confirmed
    except (Unreadable, OSError) as error:
        print(f"utf8_check: {str(error)!a}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
