"""Many stimuli, each compared with the golden model."""

import io
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple, TextIO

from rich.console import Console
from rich.text import Text

from utf8_hdl import Profile
from utf8_sim.campaign import Coverage, Part
from utf8_sim.components import component_of
from utf8_sim.engines.engine import Engine
from utf8_sim.stimulus import Mode, Stimulus
from utf8_sim.tools.cores import Workers
from utf8_sim.tools.files import open_output
from utf8_sim.trace import Columns

from ..components.entry import Variant, entry_of
from ..terminal import print_lines, progress_bar, say
from .difference import conclude
from .report import count_accepted, coverage_table
from .run import Run
from .units import Planned, in_order, refute


class Outcome(NamedTuple):
    """What came of a unit."""

    cycles: int
    wrong: str
    counts: Columns
    """Those of its coverage."""
    inputs: int
    lines: str
    """What the hardware gave, if that is asked for."""


@dataclass(frozen=True)
class Campaign(Planned):
    """Every part in every mode, each of which is a unit: the parts given, or those built in."""

    profile: Profile
    engine: str
    variant: Variant
    seed: int
    modes: Sequence[Mode]
    has_lines: bool
    given: Sequence[Part] = ()

    @cached_property
    def parts(self) -> Sequence[Part]:
        design = self.design()
        return self.given or component_of(design).campaign(design, self.seed)

    @cached_property
    def units(self) -> list[tuple[Part, Mode]]:
        return list(product(self.parts, self.modes))

    @property
    def inputs(self) -> int:
        """About how many there are."""
        return sum(part.size for part in self.parts) * len(self.modes)

    def stimulus(self, unit: int) -> Stimulus:
        part, (_, stalls) = self.units[unit]
        return Stimulus(part.pieces(), *stalls)

    def name(self, unit: int) -> str:
        """What a unit is called."""
        part, (mode, _) = self.units[unit]
        return f"{part.name}, {mode}"

    def run(self, unit: int) -> Outcome:
        """Run a unit."""
        one, lines = PartsComparison(self.simulator, self), io.StringIO()
        inputs: list[int] = []
        one.run_unit(unit, lines if self.has_lines else None, inputs.append)
        return Outcome(one.cycles, one.wrong, one.coverage.counts, sum(inputs), lines.getvalue())


class PartsComparison(Run):
    """Every part in every mode."""

    def __init__(self, engine: Engine, plan: Campaign) -> None:
        super().__init__(engine)
        self._plan = plan
        self.coverage = engine.component.coverage(engine)
        self._stimulus = ""
        #: What is wrong, if a worker says so.
        self._elsewhere = ""

    @property
    def wrong(self) -> str:
        return super().wrong or self._elsewhere

    def run(self, show: Console, tokens: str | None, workers: Workers | None = None) -> None:
        """Run everything, until something is wrong: in this process, or by workers.

        Parts that are given are only known to this process.
        """
        plan = self._plan
        with self.reported(show), ExitStack() as files:
            token_file = files.enter_context(open_output(tokens)) if tokens else None
            progress = files.enter_context(progress_bar())
            task = progress.add_task("", total=plan.inputs or 1)

            def here(unit: int) -> None:
                self.run_unit(unit, token_file, lambda inputs: progress.advance(task, inputs))

            units = range(len(plan.units))
            results: Iterable[tuple[int, Outcome | None]] = ((unit, None) for unit in units)
            if workers and not plan.given:
                results = workers.do(plan.run, units, plan.prepare)
            for unit, outcome in in_order(results):
                self._stimulus = plan.name(unit)
                progress.update(task, description=self._stimulus)
                if outcome and not outcome.wrong:
                    self._add(outcome, token_file)
                    progress.advance(task, outcome.inputs)
                    continue
                self._elsewhere = outcome.wrong if outcome else ""
                here(unit)
                if self.wrong:
                    return

    def run_unit(self, unit: int, lines: TextIO | None, advance: Callable[[int], object]) -> None:
        """Run a unit in this process."""
        coverage = self.engine.component.coverage(self.engine)
        log = entry_of(self.engine).report(lines) if lines else None
        try:
            for window in self.simulate(self._plan.stimulus(unit)):
                coverage.add(window.actual)
                if log:
                    log.add(window.actual)
                advance(count_accepted(window.actual))
        finally:
            self.coverage.merge(coverage.counts)

    def _add(self, outcome: Outcome, lines: TextIO | None) -> None:
        """Count what a worker has done."""
        self.cycles += outcome.cycles
        self.coverage.merge(outcome.counts)
        if lines:
            lines.write(outcome.lines)

    def so_far(self) -> list[Text]:
        return covered(self.coverage, is_campaign=False)

    def tell(self, show: Console, is_campaign: bool, vcd: str, wave: str | None) -> None:
        """Print the verdict, and what explains it. A campaign has to exercise everything."""
        if self.wrong:
            say(show, f"stimulus: {self._stimulus}, seed {self._plan.seed}")
        else:
            print_lines(show, covered(self.coverage, is_campaign))
            if not self.coverage.cells.any():
                say(show, "the input is empty: no more than the pins at rest was compared")
        if self._elsewhere and not super().wrong:
            refute(show, self._elsewhere, "stimulus")
        conclude(show, self, vcd, wave)


def covered(coverage: Coverage, is_campaign: bool) -> list[Text]:
    """What was exercised, and of a campaign what was not."""
    more = entry_of(coverage.engine).coverage_lines(coverage)
    lines = coverage_table(coverage, more, "NEVER" if is_campaign else "")
    if is_campaign:
        gaps = coverage.gaps()
        met = f"every class met every {coverage.column}"
        lines.append(Text(f"never met: {', '.join(gaps)}" if gaps else met))
    return lines
