"""Comparisons of many stimuli with the golden model: of parts, and of every text there is."""

from contextlib import ExitStack
from itertools import product

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

from utf8_sim.campaign import Part
from utf8_sim.engines.engine import Engine
from utf8_sim.stimulus import Mode, Stimulus
from utf8_sim.tools.cores import cores
from utf8_sim.tools.errors import Refused, ToolError
from utf8_sim.tools.files import open_output

from ..components import entry_of
from ..terminal import duration, plural, print_lines, progress_bar, say
from .difference import conclude
from .exhaustive import Plan, State, run_shards, seconds_for
from .report import coverage_table
from .run import Run, agree, give_up


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


def compare_exhaustively(
    show: Console,
    plan: Plan,
    engine: Engine,
    engine_line: str,
    state_file: str,
    vcd: str,
    wave: str | None,
) -> None:
    """Run every text of some length, and say whether hardware and golden model agree."""
    state = State(plan, state_file)
    say(show, f"profile {plan.profile.describe()}")
    say(show, f"engine {engine_line}")
    wrong = _first_wrong_shard(show, plan, engine, state)
    if wrong is None:
        state.forget()
        agree(show, state.cycles)
        return
    shard, seen = wrong
    texts = f"the texts from {plan.first_text(shard)} on, one after the other"
    say(show, "hardware and golden model differ")
    say(show, f"stimulus: {texts}, seed {plan.seed}")
    again = Run(engine)
    for _ in again.simulate(plan.stimulus(shard)):
        pass
    if not again.wrong:
        say(show, f"not reproducible: {seen}; the same texts, run once more, show nothing wrong")
        raise typer.Exit(1)
    conclude(show, again, vcd, wave)


def _first_wrong_shard(
    show: Console, plan: Plan, engine: Engine, state: State
) -> tuple[int, str] | None:
    """Run what is not done yet; the number of a shard, and what is wrong in it."""
    shards = np.flatnonzero(~state.done).tolist()
    texts = f"{plan.texts} texts, every one of {plural(plan.length, 'byte')}"
    if not shards:
        say(show, f"{texts}: all done before")
        return None
    left = len(shards) / plan.shards
    seconds = seconds_for(plan, engine, len(shards))
    time = "" if seconds is None else f"about {duration(seconds)} "
    to_do = f"{texts}, {left:.1%} of them left" if left < 1 else texts
    say(show, f"{to_do}: {time}on {plural(cores(), 'core')}")
    try:
        with progress_bar() as progress:
            done = plan.shards - len(shards)
            task = progress.add_task("every text", total=plan.shards, completed=done)
            for shard, cycles, wrong in run_shards(plan, engine, shards):
                if wrong:
                    return shard, wrong
                state.add(shard, cycles)
                progress.advance(task)
    except (Refused, ToolError):
        state.save()
        raise
    except KeyboardInterrupt:
        state.save()
        say(
            show,
            f"{state.done.mean():.1%} done: the same command goes on from there ({state.path})",
        )
        give_up(show, state.cycles)
    return None
