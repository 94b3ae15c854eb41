"""Random hostile stimuli without end, on all cores, to be continued at any time."""

import base64
import math
import time
import zlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.text import Text

from utf8_hdl import Profile
from utf8_sim.campaign import IN_A_ROW, Sequences
from utf8_sim.stimulus import ChangingStalls, RandomStalls, Stimulus
from utf8_sim.tools.cores import Workers
from utf8_sim.tools.files import remove_file
from utf8_sim.tools.interrupts import interrupts_later
from utf8_sim.trace import Columns

from ..components.entry import RULES, Variant
from ..terminal import plural, print_lines, progress_bar, say
from .comparison import covered
from .report import count_accepted
from .run import Run, agree, give_up
from .units import SAVED_EVERY, Planned, conclude_unit, in_order, read_state, write_state

RATES = (0.0, 0.0, 0.05, 0.3, 0.7, 0.99)
"""Probabilities of stalls, of which each side has one for a while, and then another one."""

UNITS = 1 << 62
"""More than anybody has time for."""

HOUR = 3600.0


class Outcome(NamedTuple):
    """What came of a unit."""

    cycles: int
    values: int
    """How many were accepted."""
    wrong: str
    counts: Columns
    """Those of its coverage."""
    seen: bytes
    """The sequences that occurred, a bit for each."""


@dataclass(frozen=True)
class Hostile(Planned):
    """Units of random stimuli, numbered without end.

    ``stalls`` are the probabilities at the input and at the output; one that is not given changes
    all the time.
    """

    profile: Profile
    engine: str
    variant: Variant
    seed: int
    stalls: tuple[float | None, float | None] = (None, None)
    #: In each unit.
    cycles: int = 1 << 20

    def stimulus(self, unit: int) -> Stimulus:
        design, component = self.simulator.design, self.simulator.component
        pieces = component.hostile(design, np.random.default_rng((self.seed, unit, 0)))
        i, o = (
            ChangingStalls(RATES, (self.seed, unit, side))
            if given is None
            else RandomStalls(given, (self.seed, unit, side))
            for side, given in enumerate(self.stalls, start=1)
        )
        return Stimulus(pieces, i, o, self.cycles)

    def run(self, unit: int) -> Outcome:
        """Run a unit."""
        run, values = Run(self.simulator), 0
        coverage = self.simulator.component.coverage(self.simulator)
        sequences = Sequences(coverage)
        for window in run.simulate(self.stimulus(unit)):
            coverage.add(window.actual)
            sequences.add(window.actual)
            values += count_accepted(window.actual)
        seen = np.packbits(sequences.seen).tobytes()
        return Outcome(run.cycles, values, run.wrong, coverage.counts, seen)


class Budget(NamedTuple):
    """When it is enough: after so many cycles, all of the seed, or hours; or a unit, alone."""

    cycles: int | None = None
    hours: float | None = None
    unit: int | None = None

    def units(self, first: int, cycles: int) -> range:
        """The units that are to be run, if the first one is that and all have so many cycles."""
        if self.unit is not None:
            return range(first, first + 1)
        if self.cycles is None:
            return range(first, UNITS)
        return range(first, max(first, -(-self.cycles // cycles)))

    @property
    def seconds(self) -> float:
        """For how long."""
        return math.inf if self.hours is None else self.hours * HOUR


class State:
    """What was compared: units from the first one on; in a file, if it has a name."""

    def __init__(self, plan: Hostile, path: str | None, first: int = 0) -> None:
        self.path = path
        self._first = first
        #: The number of the unit that comes next.
        self.next = first
        self.cycles = self.values = 0
        self.coverage = plan.simulator.component.coverage(plan.simulator)
        self.sequences = Sequences(self.coverage)
        self._plan = plan
        self._identity = plan.identity() if path else ""
        self._saved = time.monotonic()
        if path and (before := read_state(path, self._identity)):
            [content] = before
            self.next, self.cycles, self.values = (
                content[name] for name in ("units", "cycles", "values")
            )
            self.coverage.merge(content["coverage"])
            self._see(zlib.decompress(base64.b64decode(content["sequences"])))

    def add(self, outcome: Outcome) -> None:
        """Count the next unit, which agrees."""
        with interrupts_later():
            self.next += 1
            self.cycles += outcome.cycles
            self.values += outcome.values
            self.coverage.merge(outcome.counts)
            self._see(outcome.seen)
        if time.monotonic() > self._saved + SAVED_EVERY:
            self.save()

    def _see(self, bits: bytes) -> None:
        seen = np.unpackbits(np.frombuffer(bits, np.uint8), count=len(self.sequences.seen))
        self.sequences.merge(seen.view(bool))

    def save(self) -> None:
        """Write the file."""
        if self.path:
            content = {
                "seed": self._plan.seed,
                "units": self.next,
                "cycles": self.cycles,
                "values": self.values,
                "coverage": {name: n.tolist() for name, n in self.coverage.counts.items()},
                "sequences": base64.b64encode(
                    zlib.compress(np.packbits(self.sequences.seen).tobytes())
                ).decode(),
            }
            write_state(self.path, self._identity, content)
            self._saved = time.monotonic()

    @property
    def seen(self) -> str:
        """How many sequences occurred."""
        seen = self.sequences.seen
        return f"{np.count_nonzero(seen)} of {len(seen)} sequences"

    def lines(self, *, is_whole: bool = True) -> list[Text]:
        """What was exercised, and if it is all that there is to be, what was not."""
        value = self.coverage.engine.component.value
        numbers = sorted({self._first, max(self._first, self.next - 1)})
        units = f"{'units' if numbers[1:] else 'unit'} {'-'.join(map(str, numbers))}"
        return [
            *covered(self.coverage, is_campaign=is_whole),
            Text(f"{IN_A_ROW} classes or ends of texts in a row: {self.seen}"),
            Text(
                f"{units} of seed {self._plan.seed}: {plural(self.values, value)} accepted "
                f"in {plural(self.cycles, 'cycle')}"
            ),
        ]


def compare_hostilely(
    show: Console,
    plan: Hostile,
    budget: Budget,
    engine_line: str,
    state_file: str | None,
    is_kept: bool,
    vcd: str,
    wave: str | None,
    workers: Workers,
) -> None:
    """Run units until it is enough, and say whether hardware and golden model agree.

    The file with the state is removed then, unless it is to be kept.
    """
    state = State(plan, state_file, budget.unit or 0)
    if RULES & plan.variant.used_options:
        say(show, f"profile {plan.profile.describe()}")
    say(show, f"engine {engine_line}")
    wrong = _first_wrong_unit(show, plan, budget, state, workers)
    if wrong is not None:
        conclude_unit(show, plan, state.next, wrong, f"unit {state.next}", vcd, wave)
    print_lines(show, state.lines())
    if state_file and not is_kept:
        remove_file(state_file)
    agree(show, state.cycles)


def _first_wrong_unit(
    show: Console, plan: Hostile, budget: Budget, state: State, workers: Workers
) -> str | None:
    """Run units from the next one on; what is wrong in one, which is the next one then."""
    units = budget.units(state.next, plan.cycles)
    if not units:
        say(show, f"units 0-{state.next - 1} were compared before ({state.path})")
        return None
    seed = f"hostile stimuli of seed {plan.seed}"
    say(show, f"{seed}, from unit {state.next} on")
    begin, before = time.monotonic(), state.cycles
    try:
        with progress_bar() as progress:
            is_timed = units.stop == UNITS
            task = progress.add_task(
                f"{seed}, on {workers}", total=budget.seconds if is_timed else len(units)
            )
            for unit, outcome in in_order(workers.do(plan.run, units, plan.prepare), state.next):
                if outcome.wrong:
                    return outcome.wrong
                state.add(outcome)
                passed = time.monotonic() - begin
                rate = (state.cycles - before) / max(passed, 1e-9) / 1e6
                progress.update(
                    task,
                    completed=passed if is_timed else unit + 1 - units.start,
                    description=f"{state.cycles} cycles, {rate:.1f} million a second, {state.seen}",
                )
                if passed >= budget.seconds:
                    break
    except KeyboardInterrupt:
        state.save()
        print_lines(show, state.lines(is_whole=False))
        if state.path:
            say(show, f"the same command goes on from unit {state.next} ({state.path})")
        give_up(show, state.cycles)
    finally:
        state.save()
    return None
