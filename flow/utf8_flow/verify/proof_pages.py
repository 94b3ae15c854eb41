"""Tables about proofs in docs/: ``python -m utf8_flow.verify.proof_pages TABLE`` prints one."""

import sys
from collections import Counter, defaultdict

from utf8_hdl import UNICODE

from ..designs import DesignSpec, designs, small_designs
from ..formal.properties import every_property
from ..markdown import table
from .proof_report import (
    DASH,
    NOW,
    STATES,
    UNTRIED,
    by_state,
    digests,
    ran,
    shown_designs,
    state_of,
    theorem_of,
)
from .proof_results import Results

RESULTS = "docs/proofs.json"

CLAIMS = {
    "results": (
        *("tokens", "covers", "conservation", "only-well-formed", "well-formed-passes"),
        *("bytes", "shortest-form", "round-trip", "order"),
        *("windows", "slots", "first-error", "gaps", "begins", "verdict"),
        *("counted", "given", "sums", "routes", "places"),
        *("units", "apart", "error", "joins", "packing-begins", "delivers"),
        *("report", "report-gaps", "report-begins"),
    ),
    "cycles": ("in-order", "latency", "line-rate", "rate", "last-arrives", "timing", "credit"),
    "transfers": (
        *("output-stream", "valid-independent", "input-stream", "idle-output"),
        *("passes", "room"),
    ),
    "recovery": (
        *("self-synchronisation", "packing-self-synchronisation", "report-self-synchronisation"),
        *("reset", "drains", "reads"),
    ),
    "Verilog": ("verilog",),
}
"""The claims of the summary, and the properties that prove them."""

WIDE = 64
"""The number of lanes with a table of its own, because only some of its proofs have run."""

MANY = 10
"""The number of names from which a cell has the number instead."""


def claims(results: Results) -> list[str]:
    """The summary: the state of each claim, by component and number of lanes, in Markdown."""
    found: dict[tuple[str, int], list[DesignSpec]] = defaultdict(list)
    for spec in shown_designs(results):
        found[theorem_of(spec), spec.lanes].append(spec)
    rows = [
        (name, str(lanes), str(len(specs)), *(_claim(results, specs, each) for each in CLAIMS))
        for (name, lanes), specs in found.items()
    ]
    return table([("component", "lanes", "designs", *CLAIMS), *rows])


def _claim(results: Results, specs: list[DesignSpec], claim: str) -> str:
    """The state of the proofs of a claim or, if they differ, the number in each state."""
    counts = Counter(
        state_of(results, spec, UNICODE.name, name)[0]
        for spec in specs
        for name in {*digests(spec)} & {*CLAIMS[claim]}
    )
    if not counts:
        return DASH
    if len(counts) == 1:
        return STATES[next(iter(counts))]
    return ", ".join(f"{STATES[state]} {counts[state]}" for state in sorted(counts))


def wide(results: Results, lanes: int = WIDE) -> list[str]:
    """The state of every proof with a number of lanes, in one sentence and a table in Markdown."""
    specs = [spec for spec in shown_designs(results) if spec.lanes == lanes]
    found = {spec.label: by_state(results, spec) for spec in specs}
    every = sum(len(digests(spec)) for spec in specs)
    proved = sum(len(names[NOW]) for names in found.values())
    rows = [(label, *_cells(names)) for label, names in found.items()]
    sentence = (
        f"With {lanes} lanes in `{UNICODE.name}`, {proved} of {every} properties of "
        f"{len(specs)} designs are proved for the code of this version."
    )
    return [sentence, "", *table([("design", *STATES), *rows])]


def _cells(found: list[dict[str, str]]) -> list[str]:
    """The names of the properties in each state; of many that were not tried, the number."""
    cells = [", ".join(f"`{name}`" for name in names) or DASH for names in found]
    if len(found[UNTRIED]) >= MANY:
        cells[UNTRIED] = f"the other {len(found[UNTRIED])}"
    return cells


def properties(results: Results) -> list[str]:
    """Each property: its components, its statement and where it is proved, in Markdown."""
    rows = (
        (f"`{name}`", ", ".join(of), statement, _proved(results, name, of))
        for (name, statement), of in _statements().items()
    )
    return table([("property", "component", "statement", "proved, in `unicode`"), *rows])


def _statements() -> dict[tuple[str, str], list[str]]:
    """The components of each property and statement; each component as in its theorem."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for spec in [*designs(), *small_designs()]:
        for what in every_property(spec):
            of = found[what.name, what.statement]
            if theorem_of(spec) not in of:
                of.append(theorem_of(spec))
    return found


def _proved(results: Results, name: str, of: list[str]) -> str:
    """The versions and lanes for which a property of some components is proved."""
    proved = {each: ran(each, [name], results) for each in of}
    if len({*proved.values()}) == 1:
        return proved[of[0]]
    return "; ".join(f"{each}: {text}" for each, text in proved.items())


TABLES = {"claims": claims, "wide": wide, "properties": properties}

if __name__ == "__main__":
    print("\n".join(TABLES[sys.argv[1]](Results(RESULTS, must_exist=True))))
