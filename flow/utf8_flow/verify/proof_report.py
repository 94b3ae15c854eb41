"""Tables of proof results, and theorems with the designs for which each step is proved."""

from collections import Counter
from collections.abc import Iterable
from functools import cache

from utf8_hdl import UNICODE
from utf8_sim.components import COMPONENTS
from utf8_sim.tools.errors import UsageError
from utf8_sim.tools.words import plural

from ..designs import DesignSpec, designs, small_designs
from ..formal.properties import every_property, too_large_for
from ..formal.theorems import THEOREMS, Assumption, Step
from ..markdown import table
from .proof_results import UNDECIDED, Results, digest_of

LANES = 8, 64
"""Numbers of lanes that the tables show for every component with lanes, even without results."""

STATES = "proved", "earlier version", "not tried", "failed or did not end"
NOW, BEFORE, UNTRIED, UNPROVED = range(len(STATES))
"""The states of a property of a design, with their headings."""

DASH = "–"


def theorem_of(spec: DesignSpec) -> str:
    """The name of the theorem about a design."""
    laned = " with lanes" if spec.lanes > 1 and COMPONENTS[spec.component].laned else ""
    return "compact " * spec.compact + spec.component + laned


def shown_designs(results: Results) -> list[DesignSpec]:
    """The designs in the tables: the designs of `prove`, wide ones, and designs with results."""
    laned = [name for name, entry in COMPONENTS.items() if "--lanes" in entry.command_line.options]
    wide = [DesignSpec(name, lanes=lanes) for name in laned for lanes in LANES]
    found = {*designs(), *small_designs(), *wide, *(result.spec for result in results)}
    return sorted(found, key=_order)


def _order(spec: DesignSpec) -> tuple[int, bool, int, str, int]:
    own = str(spec.own)  # the plainest designs come first
    name = list(COMPONENTS).index(spec.component)
    return name, spec.compact, len(own), own, spec.lanes


@cache
def digests(spec: DesignSpec) -> dict[str, str]:
    """The digest of the current code for each property of a design."""
    return {what.name: digest_of(spec, what) for what in every_property(spec)}


@cache
def _too_large(spec: DesignSpec) -> frozenset[str]:
    return frozenset(what.name for what in too_large_for(spec))


def state_of(results: Results, spec: DesignSpec, profile: str, name: str) -> tuple[int, str]:
    """The state of a property of a design, and its table cell: the name with time or verdict."""
    result = results.get((spec, profile, name))
    if result is None:
        return UNTRIED, f"`{name}`" + " (too large)" * (name in _too_large(spec))
    is_current = result.digest == digests(spec)[name]
    seconds = f"{max(1, round(result.seconds))} s"
    if result.is_proved:
        return NOW if is_current else BEFORE, f"`{name}` {seconds}"
    if not is_current:
        return UNTRIED, f"`{name}`"
    verdict = f"within {seconds}" if result.verdict == UNDECIDED else f"**{result.verdict}**"
    return UNPROVED, f"`{name}` {verdict}"


def by_state(results: Results, spec: DesignSpec) -> list[dict[str, str]]:
    """The properties of a design in each state, in `unicode`: names and table cells."""
    found: list[dict[str, str]] = [{} for _ in STATES]
    for name in digests(spec):
        state, cell = state_of(results, spec, UNICODE.name, name)
        found[state][name] = cell
    return found


def status_tables(results: Results, chosen: list[DesignSpec] | None) -> list[str]:
    """The state of every proof of the chosen designs, by default of all designs, in Markdown.

    The table for `unicode` lists each property. The table for other profiles only has counts.
    """
    shown = shown_designs(results) if chosen is None else chosen
    rows: list[tuple[str, ...]] = [_row(results, spec) for spec in shown]
    lines = ["In the profile `unicode`:", "", *table([("design", *STATES), *rows])]
    profiles = dict.fromkeys(result.profile for result in results)
    profiles.pop(UNICODE.name, None)
    rows = [(spec.label, *(_count(results, spec, each) for each in profiles)) for spec in shown]
    rows = [row for row in rows if {*row[1:]} - {DASH}]
    if rows:
        lines += ["", "In other profiles, how many properties are proved at this version:", ""]
        lines += table([("design", *profiles), *rows])
    return lines


def _row(results: Results, spec: DesignSpec) -> tuple[str, ...]:
    cells = [list(names.values()) for names in by_state(results, spec)]
    every = len(digests(spec))
    if len(cells[UNTRIED]) == every:
        cells[UNTRIED] = [f"all {every}"]
    elif len(cells[NOW]) == every:
        cells[NOW][0] = f"all {every}: {cells[NOW][0]}"
    return spec.label, *(", ".join(cell) or DASH for cell in cells)


def _count(results: Results, spec: DesignSpec, profile: str) -> str:
    states = [state_of(results, spec, profile, name)[0] for name in digests(spec)]
    if set(states) == {UNTRIED}:
        return DASH
    older = f", {states.count(BEFORE)} earlier" if BEFORE in states else ""
    return f"{states.count(NOW)} of {len(states)}{older}"


def theorem_lines(component: str | None, results: Results | None) -> list[str]:
    """The theorems of a component, or of all components, in Markdown."""
    names = [
        name
        for name in THEOREMS
        if component is None or component in name.removesuffix(" with lanes").split()
    ]
    if not names:
        raise UsageError(f"no theorem is stated about the component {component!r}")
    lines: list[str] = []
    for name in names:
        theorem = THEOREMS[name]
        lines += [f"**{name[0].upper()}{name[1:]}.** {theorem.claim}", ""]
        every = tuple(dict.fromkeys(by for step in theorem.steps for by in step.by))
        together = ran(name, every, results)
        if results:
            lines += [f"All steps but the arguments, in `unicode`: {together}.", ""]
        for number, step in enumerate(theorem.steps, 1):
            lines.append(f"{number}. {_proved(name, step, results, together)}")
            lines += [f"    - {_assumed(assumption)}" for assumption in step.assumes]
        lines += ["", *(f"- Not claimed: {text}" for text in theorem.excluded)]
        lines += [""] * bool(theorem.excluded)
    return lines[:-1]


def _proved(name: str, step: Step, results: Results | None, together: str) -> str:
    """A step, with the designs for which it is proved if they differ from ``together``."""
    if not step.by:
        return f"**Argument, not proved:** {step.text}"
    designs_of_step = ran(name, step.by, results)
    is_usual = designs_of_step in ("", together)
    more = "" if is_usual else f" ({designs_of_step})"
    return f"{step.text} By {_names(step.by)}{more}."


def _assumed(assumption: Assumption) -> str:
    ways = [f"discharged by {_names(assumption.by)}"] if assumption.by else []
    ways += [f"**argument, not proved:** {assumption.argument}"] if assumption.argument else []
    end = "" if assumption.argument else "."
    return f"Assumes: {assumption.text} This is {'; and '.join(ways)}{end}"


def _names(properties: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in properties)


def ran(name: str, properties: Iterable[str], results: Results | None) -> str:
    """The designs of a theorem for which all these properties are proved."""
    own = [each for each in properties if ": " not in each]
    if not own or results is None:
        return ""
    found: dict[int, list[DesignSpec]] = {NOW: [], BEFORE: []}
    for spec in shown_designs(results):
        if theorem_of(spec) == name:
            state = max(state_of(results, spec, UNICODE.name, each)[0] for each in own)
            if state in found:
                found[state].append(spec)
    parts = [f"at this version{_lanes(found[NOW])}"] if found[NOW] else []
    parts += [f"at an earlier version{_lanes(found[BEFORE])}"] if found[BEFORE] else []
    return "; ".join(parts) or "not at this version"


def _lanes(specs: list[DesignSpec]) -> str:
    """The numbers of lanes of designs of a theorem; empty if all have one lane by default."""
    counts = Counter(spec.lanes for spec in specs)
    if set(counts) == {1} and COMPONENTS[specs[0].component].command_line.lanes == 1:
        return ""
    if max(counts.values()) == 1:
        numbers = ", ".join(map(str, sorted(counts)))
        return f" for {numbers} lane{'s' * (numbers != '1')}"
    designs_with = (f"{plural(n, 'design')} with {lanes}" for lanes, n in sorted(counts.items()))
    return f" for {', '.join(designs_with)} lanes"
