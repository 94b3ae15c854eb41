"""What tests ask the prover about broken designs, and which properties of a component have one."""

from collections.abc import Iterable

from utf8_flow.designs import DesignSpec
from utf8_flow.formal.bench import Bench
from utf8_flow.formal.properties import proofs_of
from utf8_flow.formal.prover import WRONG, decide, to_circuit


def is_refuted(bench: Bench, cycles: int = 0) -> bool:
    """Whether there is a run against a property. Quicker than a proof, which shows it as well.

    It is looked for in so many cycles, which is quicker still; in all runs if none are given.
    """
    circuit = to_circuit(bench, pins=False).only(WRONG)
    return decide(circuit, bench.cycles or cycles)[0] == "FAILED"


def assert_each_has_a_fault(spec: DesignSpec, killers: Iterable[str]) -> None:
    """The properties that kill faults of a component are all that it has, and no others.

    Lemmas count as well, whose faults are in a specification or a timing model.
    """
    names, faults = {what.name for what in proofs_of(spec)}, set(killers)
    assert names - faults == set(), f"no fault is killed by these properties of {spec.label}"
    assert faults - names == set(), f"{spec.label} has no such property"
