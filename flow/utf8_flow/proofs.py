"""Proofs of many properties, on all cores, and what is said about them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from rich.console import Console
from rich.text import Text

from utf8_hdl import Profile
from utf8_sim.engine import AmaranthEngine
from utf8_sim.lockstep import Window, expectation

from .cycles import cycle_table
from .engines import DESIGNS
from .formal.properties import PROPERTIES, Property
from .formal.prover import Proof, prove
from .output import Refused
from .report import plural, short_name
from .terminal import print_lines, progress_bar, say
from .waves import open_wave
from .workers import on_all_cores

HARD = "self-synchronisation", "order", "bytes", "round-trip"
"""What takes longest, and is begun first."""


@dataclass(frozen=True)
class Goal:
    """A property of a component in a profile."""

    property: Property
    profile: Profile

    def __str__(self) -> str:
        return f"{self.property.component}, {short_name(self.profile)}, {self.property.name}"


def choose_goals(component: str | None, name: str | None, profiles: list[Profile]) -> list[Goal]:
    """What is to be proved, the hard ones first.

    Parameters
    ----------
    component, name : str or None
        Of which component, and which property; all, if there is none.
    profiles : list of Profile
        In which profiles.

    Raises
    ------
    Refused
        If there is no such property.
    """
    chosen = [what for what in PROPERTIES if component in (None, what.component)]
    names = {what.name: None for what in chosen}
    if name is not None and name not in names:
        raise Refused(f"unknown --property {name!r}: choose from {', '.join(names)}")
    goals = [Goal(what, rules) for rules in profiles for what in chosen]
    goals = [goal for goal in goals if name in (None, goal.property.name)]
    return sorted(goals, key=_effort, reverse=True)


def _effort(goal: Goal) -> float:
    """Grows with how long a proof takes."""
    name = goal.property.name
    place = len(HARD) - HARD.index(name) if name in HARD else 0
    return place + math.log2(goal.profile.longest_form)


def attempt(goal: Goal) -> Proof:
    """Prove it, or not."""
    return prove(goal.property, goal.profile, DESIGNS)


def prove_all(show: Console, goals: list[Goal], vcd: str) -> bool:
    """Prove everything, and show the first counterexample.

    Parameters
    ----------
    show : Console
        Where the news go.
    goals : list of Goal
        What is to be proved.
    vcd : str
        Name of the counterexample's waveform.

    Returns
    -------
    bool
        Whether all is proved.
    """
    wrong: list[tuple[Goal, Proof]] = []
    covers = 0
    width = max(len(name) for name in ("profile", *(short_name(goal.profile) for goal in goals)))
    heading = f"{'component':<11}{'profile':<{width + 2}}{'property':<22}{'verdict':<11}"
    say(show, f"{heading}{'by':<26}{'reached':>9}{'time':>9}", "bold")
    with progress_bar() as progress:
        task = progress.add_task("proving", total=len(goals))
        for goal, proof in _attempts(goals):
            reached = f"{proof.reached}/{proof.reached + len(proof.unreached)}"
            what = goal.property
            line = Text(f"{what.component:<11}{short_name(goal.profile):<{width + 2}}")
            line.append(f"{what.name:<22}")
            line.append(f"{proof.verdict:<11}", "green" if proof.verdict == "proved" else "red")
            line.append(f"{proof.method:<26}{reached:>9}{proof.seconds:>7.1f} s")
            print_lines(show, [line])
            covers += proof.reached
            if proof.verdict != "proved":
                wrong.append((goal, proof))
            progress.advance(task)
    for goal, proof in wrong:
        say(show, f"{proof.verdict}: {goal}: {goal.property.statement}", "bold red")
        if proof.unreached:
            say(show, f"not reached: {', '.join(proof.unreached)}")
    failed = [(goal, proof) for goal, proof in wrong if proof.counterexample]
    if failed:
        _show_counterexample(show, *failed[0], vcd)
    if not wrong:
        done = "1 property" if len(goals) == 1 else f"{len(goals)} properties"
        say(show, f"{done} proved, {plural(covers, 'cover')} reached", "green")
    return not wrong


def _attempts(goals: list[Goal]) -> Iterator[tuple[Goal, Proof]]:
    if len(goals) == 1:
        yield goals[0], attempt(goals[0])
        return
    yield from on_all_cores(attempt, goals)


def _show_counterexample(show: Console, goal: Goal, proof: Proof, vcd: str) -> None:
    """The cycles of a run that contradicts a property, for each design in it, and its waveform."""
    say(show, f"counterexample of {plural(_cycles(proof), 'cycle')} to {goal}", "bold")
    for name, trace in proof.counterexample.items():
        engine = AmaranthEngine(DESIGNS[trace.interface.component](goal.profile))
        say(show, name)
        first = name == goal.property.component
        file = vcd if first else f"{vcd.removesuffix('.vcd')}-{name}.vcd"
        window = Window(0, trace, partial(expectation, goal.profile, trace))
        difference = window.difference()
        marked = difference.cycle if difference else None
        print_lines(show, cycle_table(window, engine, range(len(trace)), pins=True, marked=marked))
        if difference:
            say(show, f"the golden model, from reset on, says otherwise: {difference}")
        with open_wave(file, engine) as wave:
            wave.write(window)
        say(show, f"waveform: {file}")


def _cycles(proof: Proof) -> int:
    return max(len(trace) for trace in proof.counterexample.values())
