"""The mutation score: the number of mutants that the checks kill."""

from collections import Counter

from rich.console import Console

from utf8_sim.campaign import Mode
from utf8_sim.tools.cores import Workers
from utf8_sim.tools.words import plural

from ..designs import DesignSpec
from ..formal.mutation import Fate, Mutants, Trial, circuits, make_mutants
from ..terminal import progress_bar, say


def mutation_score(
    show: Console,
    spec: DesignSpec,
    count: int,
    seed: int,
    modes: list[Mode],
    workers: Workers,
) -> bool:
    """Run the checks on mutants of a design, and print the score; true if no mutant survives."""
    name = spec.label
    with progress_bar() as progress:
        task = progress.add_task(f"{name}: making mutants", total=count)
        mutants = make_mutants(spec, count, seed)
        trial = Trial(mutants, circuits(mutants), modes, seed)
        progress.update(task, description=f"{name}: mutants", total=1 + len(mutants.places))
        fates: dict[int, Fate] = {}
        numbers = range(1 + len(mutants.places))
        for number, fate in workers.do(trial.judge, numbers):
            fates[number] = fate
            progress.advance(task)
    if not fates.pop(0).equivalent:
        raise RuntimeError("the design itself is killed, or not proved equivalent to itself")
    return _print_score(show, mutants, fates, seed)


def _print_score(show: Console, mutants: Mutants, fates: dict[int, Fate], seed: int) -> bool:
    """Print the table; true if no mutant survives."""
    tried = plural(len(fates), "mutant")
    design = f"{mutants.spec.label}, {mutants.spec.rules}"
    say(show, f"{design}: {tried} of {mutants.gates} gates, seed {seed}", "bold")
    promises = Counter(fate.promise for fate in fates.values() if fate.promise)
    stimuli = Counter(fate.stimulus for fate in fates.values() if fate.stimulus)
    equivalent = sum(1 for fate in fates.values() if fate.equivalent)
    survivors = [number for number, fate in sorted(fates.items()) if fate.survives]
    for what, counts in (("by a property", promises), ("by a stimulus", stimuli)):
        say(show, f"{counts.total():>6}  killed {what}")
        for first, count in counts.most_common():
            say(show, f"{count:>12}  {first}")
    say(show, f"{equivalent:>6}  proved equivalent to the design")
    say(show, f"{len(survivors):>6}  survived", "red" if survivors else "green")
    for number in survivors:
        say(show, f"        {number}: {mutants.places[number - 1]}", "red")
    return not survivors
