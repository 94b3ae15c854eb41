"""Many stimuli, each compared with the golden model."""

from contextlib import ExitStack
from itertools import product

import numpy as np
from rich.console import Console
from rich.text import Text

from utf8_sim.campaign import Part
from utf8_sim.engines.engine import Engine
from utf8_sim.stimulus import Mode, Stimulus
from utf8_sim.tools.files import open_output

from ..components.entry import entry_of
from ..terminal import print_lines, progress_bar, say
from .difference import conclude
from .report import coverage_table
from .run import Run


class PartsComparison(Run):
    """Every part in every mode."""

    def __init__(self, engine: Engine, parts: list[Part], modes: list[Mode]) -> None:
        super().__init__(engine)
        self._parts = parts
        self._modes = modes
        self._coverage = engine.component.coverage(engine)
        self._stimulus = ""

    def run(self, show: Console, tokens: str | None) -> None:
        """Run everything, until something is wrong."""
        inputs = sum(part.size for part in self._parts) * len(self._modes)
        report = entry_of(self.engine).report
        with self.reported(show), ExitStack() as files:
            token_file = files.enter_context(open_output(tokens)) if tokens else None
            progress = files.enter_context(progress_bar())
            task = progress.add_task("", total=inputs or 1)
            for part, (mode, stalls) in product(self._parts, self._modes):
                self._stimulus = f"{part.name}, {mode}"
                progress.update(task, description=self._stimulus)
                log = report(token_file) if token_file else None
                for window in self.simulate(Stimulus(part.pieces(), *stalls)):
                    self._coverage.add(window.actual)
                    if log:
                        log.add(window.actual)
                    progress.advance(task, float(np.count_nonzero(window.actual.is_accepted)))
                if self.wrong:
                    return

    def so_far(self, blank: str = "") -> list[Text]:
        more = entry_of(self.engine).coverage_lines(self._coverage)
        return coverage_table(self._coverage, more, blank)

    def tell(self, show: Console, seed: int, is_campaign: bool, vcd: str, wave: str | None) -> None:
        """Print the verdict, and what explains it. A campaign has to exercise everything."""
        coverage = self._coverage
        if self.wrong:
            say(show, f"stimulus: {self._stimulus}, seed {seed}")
        else:
            print_lines(show, self.so_far("NEVER" if is_campaign else ""))
            if not coverage.cells.any():
                say(show, "the input is empty: no more than the pins at rest was compared")
            if is_campaign:
                gaps = coverage.gaps()
                met = f"every class met every {coverage.column}"
                say(show, f"never met: {', '.join(gaps)}" if gaps else met)
        conclude(show, self, vcd, wave)
