"""Comparisons of many stimuli with the golden model: of parts, and of every text there is."""

from contextlib import ExitStack
from itertools import product

import numpy as np
from rich.console import Console
from rich.text import Text

from utf8_sim.campaign import Part
from utf8_sim.engines.engine import DesignError, Engine
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import Mode, Stimulus
from utf8_sim.tools.cores import cores
from utf8_sim.tools.errors import Refused, ToolError
from utf8_sim.tools.files import open_output

from ..components import entry_of
from ..terminal import conclude, duration, give_up, plural, print_lines, progress_bar, say
from .difference import explain, text_of
from .exhaustive import SHARD, Plan, State, run_shards, seconds_for
from .report import coverage_table


class PartsComparison:
    """Every part in every mode, until something is wrong; ``lockstep`` is the last simulation."""

    def __init__(self, engine: Engine, parts: list[Part], modes: list[Mode]) -> None:
        self._engine = engine
        self._parts = parts
        self._modes = modes
        self.coverage = engine.component.coverage(engine)
        self.cycles = 0
        self.lockstep: Lockstep | None = None
        self.failure: DesignError | None = None
        self.stimulus = ""

    @property
    def differs(self) -> bool:
        return self.lockstep is not None and self.lockstep.difference is not None

    def run(self, show: Console, tokens: str | None) -> None:
        """Run everything."""
        try:
            self._run(show, tokens)
        except Refused as error:
            if not self.differs:
                raise
            say(show, str(error))  # the difference is the news

    def _run(self, show: Console, tokens: str | None) -> None:
        inputs = sum(part.size for part in self._parts) * len(self._modes)
        with ExitStack() as stack:
            token_file = stack.enter_context(open_output(tokens)) if tokens else None
            progress = stack.enter_context(progress_bar())
            task = progress.add_task("", total=inputs or 1)
            try:
                for part, (mode, stalls) in product(self._parts, self._modes):
                    self.stimulus = f"{part.name}, {mode}"
                    progress.update(task, description=self.stimulus)
                    self.lockstep = Lockstep(self._engine, Stimulus(part.pieces(), *stalls))
                    log = entry_of(self._engine).report(token_file) if token_file else None
                    for trace in self.lockstep:
                        self.cycles += len(trace)
                        self.coverage.add(trace)
                        if log:
                            log.add(trace)
                        progress.advance(task, float(np.count_nonzero(trace.is_accepted)))
                    if self.differs:
                        return
            except DesignError as error:
                self.failure = error
            except KeyboardInterrupt:
                if self.differs:
                    return
                progress.stop()
                print_lines(show, self._coverage())
                give_up(show, self.cycles)

    def _coverage(self, blank: str = "") -> list[Text]:
        more = entry_of(self._engine).coverage_lines(self.coverage)
        return coverage_table(self.coverage, more, blank)

    def tell(self, show: Console, seed: int, is_campaign: bool, vcd: str, wave: str | None) -> None:
        """Print the verdict, and what explains it. A campaign has to exercise everything."""
        if self.differs or self.failure:
            say(show, f"stimulus: {self.stimulus}, seed {seed}")
        else:
            print_lines(show, self._coverage("NEVER" if is_campaign else ""))
            if not self.coverage.cells.any():
                say(show, "the input is empty: no more than the pins at rest was compared")
            if is_campaign:
                gaps = self.coverage.gaps()
                met = f"every class met every {self.coverage.column}"
                say(show, f"never met: {', '.join(gaps)}" if gaps else met)
        if self.lockstep:
            explain(show, self._engine, self.lockstep, self.failure, vcd, wave)
        conclude(show, self.differs, self.failure, self.cycles)


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
    shards = np.flatnonzero(~state.done).tolist()
    count = f"{plan.texts} texts, every one of {plural(plan.length, 'byte')}"
    if shards:
        left = len(shards) / plan.shards
        seconds = seconds_for(plan, engine, len(shards))
        time = "" if seconds is None else f"about {duration(seconds)} "
        to_do = f"{count}, {left:.1%} of them left" if left < 1 else count
        say(show, f"{to_do}: {time}on {plural(cores(), 'core')}")
        wrong = _first_wrong_shard(show, plan, engine, state, shards)
    else:
        say(show, f"{count}: all done before")
        wrong = None
    if wrong is None:
        state.forget()
        conclude(show, False, None, state.cycles)
        return
    shard, seen = wrong
    first = f"{shard * SHARD:0{2 * plan.length}X}"
    say(show, "hardware and golden model differ")
    say(show, f"stimulus: the texts from {first} on, one after the other, seed {plan.seed}")
    lockstep, failure = Lockstep(engine, plan.stimulus(shard)), None
    try:
        lockstep.run()
    except DesignError as error:
        failure = error
    if lockstep.difference:
        say(show, f"text {text_of(lockstep, engine)}")
    explain(show, engine, lockstep, failure, vcd, wave)
    if not (lockstep.difference or failure):
        say(show, f"not reproducible: {seen}; the same texts, run once more, show nothing wrong")
    conclude(show, True, failure, lockstep.cycles)


def _first_wrong_shard(
    show: Console, plan: Plan, engine: Engine, state: State, shards: list[int]
) -> tuple[int, str] | None:
    """Its number, and what is wrong in it."""
    with progress_bar() as progress:
        task = progress.add_task(
            "every text", total=plan.shards, completed=plan.shards - len(shards)
        )
        try:
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
            progress.stop()
            done = float(np.count_nonzero(state.done)) / plan.shards
            say(show, f"{done:.1%} done: the same command goes on from there ({state.path})")
            give_up(show, state.cycles)
    return None
