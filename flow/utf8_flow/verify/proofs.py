"""Proofs of many properties on all cores, and their report."""

from collections import defaultdict
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

from rich.console import Console
from rich.text import Text

from utf8_hdl import UNICODE, Profile
from utf8_sim.components import Component
from utf8_sim.golden.model import MET
from utf8_sim.lockstep import Golden, Window
from utf8_sim.stimulus import Table
from utf8_sim.subject import Subject
from utf8_sim.tools.cores import Workers
from utf8_sim.tools.errors import WrongValue
from utf8_sim.tools.files import open_output
from utf8_sim.tools.interrupts import defer_interrupts
from utf8_sim.tools.words import plural
from utf8_sim.trace import Trace

from ..designs import DesignSpec, designs, possible, small_designs
from ..formal.bench import Property
from ..formal.certificate import Certificate
from ..formal.counterexample import DesignRun
from ..formal.properties import proofs_of, too_large_for
from ..formal.prover import LONGEST_PROOF, Proof, prove
from ..terminal import print_lines, progress_bar, say
from .cycles import cycle_table, input_table, show_plain
from .difference import simulation
from .proof_results import Key, Result, Results, digest_of
from .waves import write_wave


@dataclass(frozen=True)
class Goal:
    """A property of a design."""

    property: Property
    spec: DesignSpec

    def __str__(self) -> str:
        return f"{self.spec.label}, {self.spec.rules}, {self.property.name}"

    def key(self) -> Key:
        """The key of its result in :class:`Results`."""
        return replace(self.spec, profile=UNICODE), self.spec.rules, self.property.name

    def digest(self) -> str:
        """The digest of the code that the proof depends on."""
        return digest_of(self.spec, self.property)

    def file_name(self) -> str:
        """The name of its files, without an extension."""
        return "-".join(str(self).replace(",", "").split())


def choose_goals(
    chosen: list[DesignSpec], name: str | None, profiles: list[Profile], small: bool = False
) -> list[Goal]:
    """The goals for the chosen designs and profiles: one property, or all.

    ``small`` adds the small designs, for the profile ``unicode``.
    """
    wanted = [each.under(rules) for rules, each in product(profiles, chosen)]
    if small and UNICODE in profiles:
        wanted += small_designs()
    goals = [Goal(what, spec) for spec in possible(wanted) for what in proofs_of(spec)]
    names = _names(goals)
    if name is not None and name not in names:
        raise WrongValue(f"property must be one of {', '.join(names)}, not {name!r}")
    return [goal for goal in goals if name in (None, goal.property.name)]


def missing(goals: list[Goal], results: Results, limit: float) -> list[Goal]:
    """The goals that are not proved for the current code, sorted by estimated cost.

    Goals that were already undecided for this code at the same or a longer time limit are left out.
    """
    left = []
    for goal in goals:
        before = results.get(goal.key())
        is_current = before is not None and before.digest == goal.digest()
        is_over = before and (before.is_proved or before.ran_out_of(limit))
        if not (is_current and is_over):
            left.append(goal)
    return sorted(left, key=lambda goal: _cost(goal, results))


def _cost(goal: Goal, results: Results) -> tuple[bool, float]:
    """The estimated cost: the time of the last attempt, or, if not tried, the number of lanes."""
    before = results.get(goal.key())
    if before:
        return not before.is_proved, before.seconds
    return goal.property.name in ("passes", "verilog"), goal.spec.lanes


def property_names() -> list[str]:
    """The names of all properties."""
    return _names(choose_goals(designs(), None, [UNICODE]))


def _names(goals: list[Goal]) -> list[str]:
    return list(dict.fromkeys(goal.property.name for goal in goals))


def scope(goals: list[Goal]) -> list[str]:
    """Lines that list the designs and profiles of the goals, and the omitted properties."""
    rules: dict[DesignSpec, list[str]] = defaultdict(list)
    for goal in goals:
        design, profile, _ = goal.key()
        if profile not in rules[design]:
            rules[design].append(profile)
    labels: dict[str, list[str]] = defaultdict(list)
    for spec, profiles in rules.items():
        labels[", ".join(profiles)].append(spec.label)
    lines = [f"proved in {profiles}: {'; '.join(each)}" for profiles, each in labels.items()]
    skipped = [
        f"{what.name} of {spec.label}, which does not end within minutes"
        for spec in rules
        for what in too_large_for(spec)
    ]
    others = "any other design, profile and combination of rules"
    return [*lines, f"left out: {'; '.join([*skipped, others])}"]


def attempt(goal: Goal, certified: bool = False, limit: float = LONGEST_PROOF) -> Proof:
    """Try to prove a goal in ``limit`` seconds; if ``certified``, search for a certificate."""
    bench = goal.property.bench(goal.spec.profile, {goal.spec.component: goal.spec.make})
    return prove(bench, f"{goal}: {goal.property.statement}" if certified else "", limit)


def prove_all(
    show: Console,
    goals: list[Goal],
    vcd: str,
    workers: Workers,
    folder: Path | None = None,
    limit: float = LONGEST_PROOF,
    results: Results | None = None,
) -> bool:
    """Prove all goals, and show a counterexample to each property that fails.

    The waveform of the first counterexample is named ``vcd``; other names also contain the goal.
    The certificate of each proof is written to ``folder``, if given. ``limit`` is the time limit of
    each property, in seconds. Each result is added to ``results``. Returns true if all goals are
    proved and, with ``folder``, certified.
    """
    wrong: list[tuple[Goal, Proof]] = []
    uncertified: list[Goal] = []
    covers = 0
    digests = {goal.key(): goal.digest() for goal in goals} if results else {}
    names = [("component", "profile")]
    names += [(goal.spec.label, goal.spec.rules) for goal in goals]
    first, second = (max(map(len, column)) + 2 for column in zip(*names, strict=True))
    heading = f"{'component':<{first}}{'profile':<{second}}{'property':<22}{'verdict':<11}"
    say(show, f"{heading}{'by':<26}{'reached':>9}{'time':>9}", "bold")
    with progress_bar() as progress:
        task = progress.add_task("proving", total=len(goals))
        for goal, proof in workers.do(partial(attempt, certified=bool(folder), limit=limit), goals):
            reached = f"{proof.reached}/{proof.reached + len(proof.unreached)}"
            what = goal.property
            line = Text(f"{goal.spec.label:<{first}}{goal.spec.rules:<{second}}")
            line.append(f"{what.name:<22}")
            line.append(f"{proof.verdict:<11}", "green" if proof.verdict == "proved" else "red")
            line.append(f"{proof.method:<26}{reached:>9}{proof.seconds:>7.1f} s")
            print_lines(show, [line])
            covers += proof.reached
            if results:
                results.add(Result.of(goal.key(), digests[goal.key()], proof))
            if proof.verdict != "proved":
                wrong.append((goal, proof))
            elif folder and not proof.certificate:
                uncertified.append(goal)
            if folder:
                write_certificate(folder / goal.file_name(), proof.certificate)
            progress.advance(task)
    wrong.sort(key=lambda result: goals.index(result[0]))  # workers complete them in any order
    _report_failures(show, wrong, vcd)
    if not wrong:
        done = plural(len(goals), "property", "properties")
        say(show, f"{done} proved, {plural(covers, 'cover')} reached", "green")
    for goal in uncertified:
        say(show, f"NO CERTIFICATE: {goal}: no invariant was found", "bold red")
    if folder:
        written = plural(len(goals) - len(wrong) - len(uncertified), "certificate")
        say(show, f"{written} in {folder}")
    return not wrong and not uncertified


def write_certificate(path: Path, certificate: Certificate | None) -> None:
    """Write both files of a certificate, or neither; ``path`` has no extension.

    Without a certificate, existing files are removed, because they belong to an earlier proof.
    """
    files = f"{path}.aag", f"{path}.inv"
    with defer_interrupts():
        if certificate is None:
            for file in files:
                Path(file).unlink(missing_ok=True)
            return
        with open_output(files[0]) as circuit, open_output(files[1]) as invariant:
            circuit.write(certificate.circuit)
            invariant.write(certificate.invariant)


def _report_failures(show: Console, wrong: list[tuple[Goal, Proof]], vcd: str) -> None:
    """Print each failed goal; then show the counterexamples, and write their waveforms."""
    for goal, proof in wrong:
        say(show, f"{proof.verdict}: {goal}: {goal.property.statement}", "bold red")
        if proof.verdict == "UNDECIDED":
            say(show, f"not decided: {proof.method}; --timeout sets the limit of a property")
        if proof.unreached:
            say(show, f"not reached: {', '.join(proof.unreached)}")
    failed = [(goal, proof) for goal, proof in wrong if proof.inputs]
    waves = 0
    for goal, proof in failed:
        other = f"{vcd.removesuffix('.vcd')}-{goal.file_name()}.vcd"
        _show_counterexample(show, goal, proof, other if waves else vcd)
        waves += bool(proof.counterexample)


def _show_counterexample(show: Console, goal: Goal, proof: Proof, vcd: str) -> None:
    """Print the cycles of a counterexample for each design, and write waveforms."""
    last = len(proof.inputs) - 1
    cycles = plural(len(proof.inputs), "cycle")
    say(show, f"counterexample of {cycles} to {goal}, which fails in cycle {last}", "bold")
    others: list[dict[str, int]] = proof.inputs
    if not proof.counterexample:
        print_lines(show, input_table(others, last))
    if cuts := [name for name in others[0] if name.startswith("cut")]:
        say(show, f"free variables inside the design, from the property: {', '.join(cuts)}")
    for name, run in proof.counterexample.items():
        say(show, name)
        _show_start(show, run)
        subject = shown_subject(goal, run)
        expected = _expected(subject, run)
        if expected:
            run.trace.columns[MET] = expected[MET]
        window = Window(0, run.trace, expected or run.trace)
        difference = window.difference()
        marked = difference.cycle if difference else last
        cycles_shown = range(len(run.trace))
        table = cycle_table(window, subject, cycles_shown, True, marked, True, others)
        print_lines(show, table)
        others = []
        if difference:
            say(show, f"the golden model differs: {difference}")
        file = vcd if name == goal.property.component else f"{vcd.removesuffix('.vcd')}-{name}.vcd"
        write_wave(file, window, subject, expected is not None)
        say(show, f"waveform: {file}")
        if run.replays and len(proof.counterexample) == 1:
            stimulus = f"{vcd.removesuffix('.vcd')}.json"
            with open_output(stimulus) as written:
                Table.of(run.trace).write(written)
            say(show, f"to repeat it: {simulation(subject, 'amaranth', '--stimulus', stimulus)}")


def _show_start(show: Console, run: DesignRun) -> None:
    """Print the initial register values of a design, and its cycles without clock enable."""
    if run.any_start:
        those = ", except:" if run.registers else ""
        say(show, f"the run begins in any state: the registers are as after reset{those}")
    for each in run.registers:
        say(show, f"  {each.name} is {each.value:X}, not {each.initial:X}")
    if run.stalled:
        stalled = plural(len(run.stalled), "cycle")
        say(show, f"no clock enable in {stalled}: {', '.join(map(str, run.stalled))}")


def shown_subject(goal: Goal, run: DesignRun) -> Subject:
    """The subject whose pins are shown; a submodule or a reference is shown field by field."""
    subject, pins = Subject(goal.spec.make()), run.trace.interface
    if run.replays:
        return subject
    own = subject.interface
    if (pins.inputs, pins.outputs) != (own.inputs, own.outputs):
        subject.component = _field_by_field(subject.component)
    subject.interface = pins
    return subject


def _field_by_field(component: Component) -> Component:
    """The component, with inputs and outputs shown field by field."""
    plain = copy(component)
    plain.item, plain.result, plain.text = "input", "output", None
    vars(plain).update(show_item=show_plain, show_result=show_plain)
    return plain


def _expected(subject: Subject, run: DesignRun) -> Trace | None:
    """The pins expected by the golden model, if the run begins in the initial state."""
    if not run.replays:
        return None
    expected = Golden(subject).expected(run.trace)
    columns = subject.component.mask_dont_cares(expected.columns, run.trace.columns)
    return Trace(run.trace.interface, columns)
