"""Properties of a design on a bench, and checks that they are proved or refuted."""

from collections.abc import Callable, Iterable
from functools import cache
from math import inf
from typing import Any
from unittest import mock

from utf8_flow.designs import DesignSpec
from utf8_flow.formal import abc_program
from utf8_flow.formal.bench import Bench, Property
from utf8_flow.formal.properties import proofs_of
from utf8_flow.formal.prover import WRONG, decide, prove, to_circuit
from utf8_hdl import Profile

CYCLES = 50
"""The search for a counterexample is limited to this number of cycles."""


@cache
def property_of(spec: DesignSpec, name: str) -> Property:
    """A property of a design, by its name."""
    [found] = (each for each in proofs_of(spec) if each.name == name)
    return found


def bench_of(spec: DesignSpec, name: str, make: Callable[[Profile], Any] | None = None) -> Bench:
    """The bench of a property, with the specified design or with the design from ``make``."""
    what = property_of(spec, name)
    return what.bench(spec.profile, {what.component: make or spec.make})


def assert_proved(bench: Bench) -> None:
    """Check that a property is proved, and is not vacuous.

    No search for a counterexample runs in parallel, because on a loaded machine it doubles the
    processor time. Without it, a proof of a property that is violated fails or is undecided.
    """
    with mock.patch.object(abc_program, "HEAD_START", inf):
        proof = prove(bench)
    assert (proof.verdict, proof.unreached, proof.counterexample) == ("proved", (), {})
    assert proof.reached > 0


def is_refuted(bench: Bench) -> bool:
    """True if a run of few cycles violates the property; a search without a limit is slower."""
    circuit = to_circuit(bench, pins=False).only(WRONG)
    return decide(circuit, bench.cycles or CYCLES)[0] == "FAILED"


def assert_each_has_a_fault(specs: Iterable[DesignSpec], killers: Iterable[Property]) -> None:
    """Check that each property of the designs is refuted for at least one fault.

    A property that several designs share needs a single fault.
    """
    killed = {what.state for what in killers}
    assert [
        (spec.label, what.name)
        for spec in specs
        for what in proofs_of(spec)
        if what.state not in killed
    ] == []
