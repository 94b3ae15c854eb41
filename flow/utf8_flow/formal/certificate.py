"""Certificates: a circuit, and an inductive invariant that a small program can check."""

import re
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Any

from utf8_sim.tools.errors import ToolError

from .abc_program import ask_abc
from .circuit import Circuit

SOLVER = "python-sat"
"""The PyPI package of the solver that finds the clauses that are needed."""

Clause = tuple[int, ...]
"""A disjunction of literals of a circuit."""


@dataclass(frozen=True)
class Certificate:
    """The contents of a certificate's two files, which ``utf8-hdl check`` reads."""

    #: An AIGER file, whose output is never high.
    circuit: str
    #: Clauses over the names of the circuit's registers. They hold in the initial states, every
    #: step preserves them, and they imply that the output is low. Clauses are redundant only if the
    #: time to remove them ran out.
    invariant: str


def certify(circuit: Circuit, seconds: int, *comment: str) -> Certificate | None:
    """A certificate that the only output of a circuit stays low, or ``None`` if none is found.

    Property directed reachability searches for the invariant for up to ``seconds``. No signals of
    the circuit are merged before, so the clauses alone are sufficient. Removing redundant clauses
    has the same time limit again.
    """
    clauses = minimal(circuit, _found(circuit, seconds), seconds)
    if clauses is None:
        return None
    text = circuit.text(*comment)
    first = 1 + len(circuit.inputs)
    lines = [
        " ".join("-" * (literal & 1) + circuit.names[(literal >> 1) - first] for literal in clause)
        for clause in clauses
    ]
    digest = sha256(text.encode()).hexdigest()
    head = ["utf8-hdl invariant 1", f"circuit {digest}", f"clauses {len(lines)}"]
    return Certificate(text, "\n".join([*head, *lines, ""]))


def _found(circuit: Circuit, seconds: int) -> list[Clause]:
    """The clauses of the invariant that ABC finds; empty if it finds none."""
    text = ""
    with suppress(ToolError):  # ABC may abort when its time is over
        _, file = ask_abc(circuit, f"pdr -sfyd -T {seconds} -I invariant", "invariant")
        text = file.decode()
    # A line is a cube of states that the invariant excludes: the levels of some registers.
    named = re.search(r"^\.ilb (.*)$", text, re.MULTILINE)
    registers = [int(name.removeprefix("lo")) for name in (named[1].split() if named else ())]
    first = 1 + len(circuit.inputs)
    return [
        tuple(
            2 * (first + register) + int(level)
            for register, level in zip(registers, levels, strict=True)
            if level != "-"
        )
        for levels in re.findall(r"^([01-]+) 1$", text, re.MULTILINE)
    ]


def minimal(circuit: Circuit, clauses: list[Clause], seconds: float) -> list[Clause] | None:
    """Remove redundant clauses from an invariant under which the only output is low.

    The result is ``None`` if all clauses together are not such an invariant. After ``seconds``, no
    more clauses are removed. ABC's command ``inv_min`` kept twice as many of 2,400 clauses as this
    function, and took minutes instead of seconds.
    """
    from pysat.solvers import Minisat22  # noqa: PLC0415 (only certificates need this package)
    from pysolvers import error  # noqa: PLC0415

    end = time.monotonic() + seconds
    with Minisat22() as solver:
        try:
            needed = _needed(_Steps(solver, circuit, clauses), set(range(len(clauses))), end)
        except error as interrupted:  # the solver catches Ctrl-C first
            raise KeyboardInterrupt from interrupted
    return None if needed is None else [clauses[number] for number in sorted(needed)]


def _needed(steps: "_Steps", clauses: set[int], end: float) -> set[int] | None:
    needed, wrong = steps.invariant(clauses)
    if wrong is not None:
        return None
    # A clause is needed if without it another clause, or OUTPUT, does not follow. This holds until
    # the other clause is removed.
    shown_by: dict[int, int] = {}
    while untested := needed - {n for n, by in shown_by.items() if by in needed or by == OUTPUT}:
        for clause in sorted(untested, reverse=True):
            if time.monotonic() > end:
                return needed
            fewer, wrong = steps.invariant(needed - {clause})
            if wrong is None:
                needed = fewer
            else:
                shown_by[clause] = wrong
    return needed


OUTPUT = -1
"""Used as a clause number: the condition that the output is low."""


class _Steps:
    """A solver with one step of a circuit, and the clauses before and after it.

    It is MiniSat, not the solver of the checker.
    """

    def __init__(self, solver: Any, circuit: Circuit, clauses: list[Clause]) -> None:
        registers = 1 + len(circuit.inputs)
        gates = registers + len(circuit.registers)
        following = dict(enumerate(circuit.registers, start=registers))
        after = [[following[each >> 1] ^ each & 1 for each in clause] for clause in clauses]
        after.append([literal ^ 1 for literal in circuit.outputs.values()])
        unused = count(2 * (gates + len(circuit.gates)), 2)
        self._assumed = [_variable(next(unused)) for _ in clauses]
        self._wrong = [_variable(next(unused)) for _ in after]
        self._solver = solver
        solver.append_formula([[-_variable(0)], self._wrong])
        for gate, pair in enumerate(circuit.gates, start=gates):
            own, one, other = map(_variable, (2 * gate, *pair))
            solver.append_formula([[-own, one], [-own, other], [own, -one, -other]])
        for assumed, clause in zip(self._assumed, clauses, strict=True):
            solver.add_clause([-assumed, *map(_variable, clause)])
        for wrong, literals in zip(self._wrong, after, strict=True):
            solver.append_formula([[-wrong, -_variable(each)] for each in literals])

    def invariant(self, clauses: set[int]) -> tuple[set[int], int | None]:
        """Clauses that suffice for all of ``clauses`` to hold after a step, and a low output.

        They are a subset of ``clauses`` and an invariant. If even all of ``clauses`` do not
        suffice, the second result is a clause that does not follow, or :data:`OUTPUT`.
        """
        numbers = {self._assumed[number]: number for number in clauses}
        others = set(range(len(self._assumed))) - clauses
        if self._solver.solve([*numbers, *(-self._wrong[number] for number in others)]):
            model = self._solver.get_model()
            wrong = next(each for each in (OUTPUT, *clauses) if model[self._wrong[each] - 1] > 0)
            return clauses, wrong
        return {numbers[each] for each in self._solver.get_core() or () if each in numbers}, None


def _variable(literal: int) -> int:
    """A literal of a circuit as a literal of the solver, whose variables begin with 1."""
    return -(literal // 2 + 1) if literal & 1 else literal // 2 + 1
