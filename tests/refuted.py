"""What tests ask the prover about broken designs."""

from utf8_flow.formal.bench import Bench
from utf8_flow.formal.prover import WRONG, decide, to_circuit


def is_refuted(bench: Bench) -> bool:
    """Whether there is a run against a property. Quicker than a proof, which shows it as well."""
    return decide(to_circuit(bench, pins=False).only(WRONG), bench.cycles)[0] == "FAILED"
