"""Every text of so many bytes, on all cores, to be continued after an interruption."""

import math
import time
from dataclasses import dataclass

import numpy as np
from rich.console import Console

from utf8_hdl import Profile
from utf8_sim.stimulus import RandomStalls, Stimulus
from utf8_sim.tools.cores import Workers
from utf8_sim.tools.files import remove_file
from utf8_sim.tools.interrupts import interrupts_later

from ..components.entry import Variant
from ..terminal import plural, progress_bar, say
from .run import Run, agree, give_up
from .units import SAVED_EVERY, Planned, conclude_unit, read_state, write_state

LONGEST = 4
SHARD = 1 << 18
"""Texts in one shard, the unit of work that a worker gets and the state file remembers."""


@dataclass(frozen=True)
class Plan(Planned):
    """Every text of 1 to 4 bytes, for a component that takes bytes."""

    length: int
    profile: Profile
    engine: str
    #: Probability of stalls at the input and at the output.
    stalls: tuple[float, float]
    seed: int
    variant: Variant

    @property
    def texts(self) -> int:
        return 256**self.length

    @property
    def shards(self) -> int:
        return -(-self.texts // SHARD)

    def stimulus(self, shard: int) -> Stimulus:
        """The texts of a shard."""
        begin = shard * SHARD
        numbers = np.arange(begin, min(begin + SHARD, self.texts)).astype(">u4")
        texts = numbers.view(np.uint8).reshape(-1, 4)[:, 4 - self.length :]
        ends = np.zeros(texts.shape, dtype=bool)
        ends[:, -1] = True
        i, o = (
            RandomStalls(probability, (self.seed, side, shard))
            for side, probability in enumerate(self.stalls, start=1)
        )
        return Stimulus([(texts.ravel(), ends.ravel())], i, o)

    def run(self, shard: int) -> tuple[int, str]:
        """Cycles that were compared in a shard, and what is wrong in it, or nothing."""
        run = Run(self.simulator).all_of(self.stimulus(shard))
        return run.cycles, run.wrong


class State:
    """Which shards agree, and their cycles: in a file, so that another run can go on from there."""

    def __init__(self, plan: Plan, path: str) -> None:
        self.path = path
        self.done = np.zeros(plan.shards, dtype=bool)
        self.cycles = 0
        self._identity = plan.identity()
        self._saved, self._is_newer = -math.inf, False
        if before := read_state(path, self._identity):
            self.cycles, done = before
            self.done = np.array(done)

    def add(self, shard: int, cycles: int) -> None:
        """Note that a shard agrees."""
        with interrupts_later():
            self.done[shard] = True
            self.cycles += cycles
            self._is_newer = True
        if time.monotonic() > self._saved + SAVED_EVERY:
            self.save()

    def save(self) -> None:
        """Write the file."""
        write_state(self.path, self._identity, self.cycles, self.done.tolist())
        self._saved, self._is_newer = time.monotonic(), False

    def save_rest(self) -> None:
        """Write the file, if it is not what was written last."""
        if self._is_newer:
            self.save()


def compare_exhaustively(
    show: Console,
    plan: Plan,
    engine_line: str,
    state_file: str,
    vcd: str,
    wave: str | None,
    workers: Workers,
) -> None:
    """Run every text of some length, and say whether hardware and golden model agree."""
    state = State(plan, state_file)
    say(show, f"profile {plan.profile.describe()}")
    say(show, f"engine {engine_line}")
    wrong = _first_wrong_shard(show, plan, state, workers)
    if wrong is None:
        remove_file(state_file)
        agree(show, state.cycles)
        return
    shard, seen = wrong
    texts = f"the texts from {shard * SHARD:0{2 * plan.length}X} on, one after the other"
    conclude_unit(show, plan, shard, seen, texts, vcd, wave)


def _first_wrong_shard(
    show: Console, plan: Plan, state: State, workers: Workers
) -> tuple[int, str] | None:
    """Run what is not done yet; the number of a shard, and what is wrong in it."""
    shards = np.flatnonzero(~state.done).tolist()
    texts = f"{plan.texts} texts, every one of {plural(plan.length, 'byte')}"
    if state.done.any():
        texts += f", {len(shards) / plan.shards:.1%} of them left"
    say(show, texts)
    try:
        with progress_bar() as progress:
            done = plan.shards - len(shards)
            where = f"every text, on {workers}"
            task = progress.add_task(where, total=plan.shards, completed=done)
            for shard, (cycles, wrong) in workers.do(plan.run, shards, plan.prepare):
                if wrong:
                    return shard, wrong
                state.add(shard, cycles)
                progress.advance(task)
    except KeyboardInterrupt:
        state.save()
        share = f"{state.done.mean():.1%} done"
        say(show, f"{share}: the same command goes on from there ({state.path})")
        give_up(show, state.cycles)
    finally:
        state.save_rest()
    return None
