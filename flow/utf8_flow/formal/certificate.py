"""Proofs that need not be believed: a circuit, and an invariant that a small program can check."""

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
"""The PyPI package of the solver that finds out which clauses are needed."""

Clause = tuple[int, ...]
"""Literals of a circuit, of which one must be true."""


@dataclass(frozen=True)
class Certificate:
    """The texts of its two files, which ``utf8-hdl check`` reads.

    Parameters
    ----------
    circuit : str
        An AIGER file, whose output never gets high.
    invariant : str
        Clauses over the names of its registers. They are so in the initial states, no step leads
        out of them, and the output is low where they are so. Each of them is needed for that, if
        there was time to find out.
    """

    circuit: str
    invariant: str


def certify(circuit: Circuit, seconds: int, *comment: str) -> Certificate | None:
    """A certificate that the only output of a circuit stays low, if one is found in that time.

    Property directed reachability looks for the invariant, on the circuit as it is: nothing is
    merged before, so nothing but its clauses is needed. For as long again it is made smaller.
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
    """The invariant that ABC finds; where it finds none there are no clauses."""
    text = ""
    with suppress(ToolError):  # it may abort when the time is over
        _, file = ask_abc(circuit, f"pdr -sfyd -T {seconds} -I invariant", "invariant")
        text = file.decode()
    # It says which states are out: a line has the level of some registers in them.
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
    """An invariant of these clauses in which the only output is low, each of them needed.

    None, if all of them together are none. After that time nothing more is left out. ABC has
    ``inv_min`` for this; of 2,400 clauses it kept twice as many, in minutes instead of seconds.
    """
    from pysat.solvers import Minisat22  # noqa: PLC0415 (who needs no certificate may lack it)
    from pysolvers import error  # noqa: PLC0415

    end = time.monotonic() + seconds
    with Minisat22() as solver:
        try:
            needed = _needed(_Steps(solver, circuit, clauses), set(range(len(clauses))), end)
        except error as interrupted:  # it hears of Ctrl-C first
            raise KeyboardInterrupt from interrupted
    return None if needed is None else [clauses[number] for number in sorted(needed)]


def _needed(steps: "_Steps", clauses: set[int], end: float) -> set[int] | None:
    needed, wrong = steps.invariant(clauses)
    if wrong is not None:
        return None
    # What is wrong without a clause shows that it is needed, until that is left out itself.
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
"""In the place of a clause's number: that the output is low."""


class _Steps:
    """A solver with a step of a circuit, and clauses before and after it.

    It is MiniSat: the one of the checker has no part in this.
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
        """Those from which all of some clauses follow after a step, and that the output is low.

        These are an invariant. If there is none, the second result is what does not follow.
        """
        numbers = {self._assumed[number]: number for number in clauses}
        others = set(range(len(self._assumed))) - clauses
        if self._solver.solve([*numbers, *(-self._wrong[number] for number in others)]):
            model = self._solver.get_model()
            wrong = next(each for each in (OUTPUT, *clauses) if model[self._wrong[each] - 1] > 0)
            return clauses, wrong
        return {numbers[each] for each in self._solver.get_core() or () if each in numbers}, None


def _variable(literal: int) -> int:
    """A literal of a circuit as one of the solver's, whose variables begin with 1."""
    return -(literal // 2 + 1) if literal & 1 else literal // 2 + 1
