"""Every text of so many bytes, on all cores, to be continued after an interruption."""

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from utf8_hdl import Profile, __version__
from utf8_sim.engines.engine import Engine
from utf8_sim.stimulus import RandomStalls, Stimulus
from utf8_sim.tools.cache import contents
from utf8_sim.tools.cores import Workers
from utf8_sim.tools.errors import WrongValue
from utf8_sim.tools.files import open_output

from ..components.entry import Variant
from ..export.verilog import generate
from ..terminal import Wrong, plural, progress_bar, say
from .difference import conclude
from .engines import ENGINES, keep_freed_memory
from .run import Run, agree, give_up

LONGEST = 4
SHARD = 1 << 18
"""Texts in one shard, the unit of work that a worker gets and the state file remembers."""


@dataclass(frozen=True)
class Plan:
    """Every text of 1 to 4 bytes, for a component that takes bytes.

    It can be sent to other processes, each of which makes a simulator of its own.
    """

    length: int
    profile: Profile
    engine: str
    #: Probability of stalls at the input and at the output.
    stalls: tuple[float, float]
    seed: int
    variant: Variant

    def design(self) -> Any:
        return self.variant.make(self.profile)

    @cached_property
    def simulator(self) -> Engine:
        keep_freed_memory()
        return ENGINES[self.engine](self.design())

    def prepare(self) -> None:
        """Compile the design, if it has to be."""
        _ = self.simulator

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
        stalls = (
            RandomStalls(probability, (self.seed, side, shard))
            for side, probability in enumerate(self.stalls, start=1)
        )
        return Stimulus([(texts.ravel(), ends.ravel())], *stalls)

    def run(self, shard: int) -> tuple[int, str]:
        """Cycles that were compared in a shard, and what is wrong in it, or nothing."""
        run = Run(self.simulator).all_of(self.stimulus(shard))
        return run.cycles, run.wrong

    def identity(self) -> str:
        """Changes with all that the verdict depends on: what is run, the design, the checks."""
        digest = hashlib.sha256(repr((__version__, self)).encode())
        digest.update(generate(self.design()).encode())
        for source in contents(resources.files("utf8_sim")):
            digest.update(source)
        return digest.hexdigest()


class State:
    """Which shards agree, and their cycles: in a file, so that another run can go on from there."""

    def __init__(self, plan: Plan, path: str) -> None:
        self.path = path
        self.done = np.zeros(plan.shards, dtype=bool)
        self.cycles = 0
        self._identity = plan.identity()
        if os.path.exists(path):
            self._load()

    def _load(self) -> None:
        try:
            identity, self.cycles, done = json.loads(Path(self.path).read_text(encoding="utf-8"))
            if identity != self._identity:
                raise ValueError("other options, or another version")
        except (OSError, ValueError, TypeError) as error:
            raise WrongValue(
                f"state {self.path!r} is not that of this comparison ({error}): remove it, or "
                "choose another"
            ) from error
        self.done = np.array(done)

    def add(self, shard: int, cycles: int) -> None:
        """Note that a shard agrees."""
        self.done[shard] = True
        self.cycles += cycles
        self.save()

    def save(self) -> None:
        """Write the file."""
        state = self._identity, self.cycles, self.done.tolist()
        with open_output(self.path) as file:
            file.write(json.dumps(state) + "\n")


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
        Path(state_file).unlink(missing_ok=True)
        agree(show, state.cycles)
        return
    shard, seen = wrong
    texts = f"the texts from {shard * SHARD:0{2 * plan.length}X} on, one after the other"
    say(show, "hardware and golden model differ")
    say(show, f"stimulus: {texts}, seed {plan.seed}")
    again = Run(plan.simulator).all_of(plan.stimulus(shard))
    if not again.wrong:
        say(show, f"not reproducible: {seen}; the same texts, run once more, show nothing wrong")
        raise Wrong
    conclude(show, again, vcd, wave)


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
    return None
