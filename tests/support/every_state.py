"""Verdicts on an invariant: from the checker, and by enumeration of all states."""

import pytest

pytest.importorskip("pysat", reason="python-sat is not installed")

import utf8_check


def checker_accepts(circuit: str, clauses: list[str]) -> bool:
    """True if the checker confirms clauses for an AIGER file; their header is correct."""
    parsed = utf8_check.parse_circuit(circuit.splitlines())
    head = ["utf8-hdl invariant 1", f"circuit {'0' * 64}", f"clauses {len(clauses)}"]
    invariant = utf8_check.parse_invariant([*head, *clauses], "0" * 64, parsed.names)
    try:
        utf8_check.check(parsed, invariant)
    except utf8_check.Rejected:
        return False
    return True


def proves(circuit: str, clauses: list[str]) -> bool:
    """True if clauses prove that the output is low, for an AIGER file with few registers.

    A signal is an integer with a bit for each combination of values of the inputs and registers.
    """
    head, *lines = circuit.splitlines()
    _, inputs, registers, _, gates = map(int, head.split()[1:])
    rows = [list(map(int, line.split())) for line in lines[: inputs + registers + 1 + gates]]
    steps, [output] = rows[inputs : inputs + registers], rows[inputs + registers]
    free = inputs + registers
    every = (1 << (1 << free)) - 1
    signals = [0]
    for number in range(free):
        half = 1 << number
        signals.append(every // ((1 << 2 * half) - 1) * ((1 << half) - 1 << half))

    def level(literal: int) -> int:
        return signals[literal >> 1] ^ (every if literal & 1 else 0)

    for _, one, other in rows[inputs + registers + 1 :]:
        signals.append(level(one) & level(other))
    names = [line.split()[1] for line in lines if line.startswith("l")]
    initial, now, after = every, every, every
    for own, _, *begins in steps:
        begin = begins[0] if begins else 0
        initial &= every if begin > 1 else level(own ^ 1 ^ begin)
    for clause in clauses:
        literals = [
            (names.index(word.removeprefix("-")), word[0] == "-") for word in clause.split()
        ]
        satisfied, then = 0, 0
        for register, inverted in literals:
            satisfied |= level(steps[register][0] ^ inverted)
            then |= level(steps[register][1] ^ inverted)
        now, after = now & satisfied, after & then
    return not initial & ~now and not now & ~after and not now & level(output)
