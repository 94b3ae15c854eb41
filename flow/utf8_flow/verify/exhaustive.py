"""Every text of so many bytes, on all cores, to be continued after an interruption."""

import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from utf8_hdl import Profile, __version__
from utf8_sim.engines.engine import Engine
from utf8_sim.stimulus import Piece, RandomStalls, Stimulus
from utf8_sim.tools.cache import contents
from utf8_sim.tools.cores import cores, on_all_cores
from utf8_sim.tools.errors import Refused
from utf8_sim.tools.files import open_output

from ..components import make_design
from ..export.verilog import generate
from .engines import ENGINES, keep_freed_memory
from .run import Run

LONGEST = 4
SHARD = 1 << 18
"""Texts in one shard, the unit of work that a worker gets and the state file remembers."""

TRIAL = 0.5
"""Seconds for which texts are run to tell how long all of them will take."""

PIECE = 1 << 14
"""Texts in one piece of stimulus."""

SAVE_EVERY = 5.0
"""Seconds between two states on disk."""


@dataclass(frozen=True)
class Plan:
    """Every text of 1 to 4 bytes, for a component that takes bytes."""

    length: int
    profile: Profile
    engine: str
    #: Probability of stalls at the input and at the output.
    stalls: tuple[float, float]
    seed: int
    component: str = "decoder"
    compact: bool = False

    def design(self) -> Any:
        return make_design(self.component, self.profile, self.compact)

    @property
    def texts(self) -> int:
        return 256**self.length

    @property
    def shards(self) -> int:
        return -(-self.texts // SHARD)

    def first_text(self, shard: int) -> str:
        """In hexadecimal."""
        return f"{shard * SHARD:0{2 * self.length}X}"

    def stimulus(self, shard: int) -> Stimulus:
        """The texts of a shard."""
        stalls = (
            RandomStalls(probability, (self.seed, side, shard))
            for side, probability in enumerate(self.stalls, start=1)
        )
        return Stimulus(self._pieces(shard * SHARD, min(SHARD, self.texts)), *stalls)

    def _pieces(self, first: int, count: int) -> Iterator[Piece]:
        for begin in range(first, first + count, PIECE):
            numbers = np.arange(begin, min(begin + PIECE, first + count)).astype(">u4")
            texts = numbers.view(np.uint8).reshape(-1, 4)[:, 4 - self.length :]
            ends = np.zeros(texts.shape, dtype=bool)
            ends[:, -1] = True
            yield texts.ravel(), ends.ravel()

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
        self._saved = time.monotonic()
        if os.path.exists(path):
            self._load()

    def _load(self) -> None:
        advice = "remove it, or name another with --state"
        try:
            state = json.loads(Path(self.path).read_text(encoding="utf-8"))
            identity, self.cycles, done = state["identity"], state["cycles"], state["done"]
            if type(self.cycles) is not int or self.cycles < 0 or not set(done) <= {"0", "1"}:
                raise ValueError("damaged")
        except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
            raise Refused(
                f"{self.path!r} is no state of an exhaustive comparison ({error}): {advice}"
            ) from error
        if identity != self._identity or len(done) != len(self.done):
            raise Refused(
                f"{self.path!r} is the state of another comparison (other options, or another "
                f"version): {advice}"
            )
        self.done = np.array(list(done)) == "1"

    def add(self, shard: int, cycles: int) -> None:
        """Note that a shard agrees; now and then, save."""
        self.done[shard] = True
        self.cycles += cycles
        if time.monotonic() - self._saved > SAVE_EVERY:
            self.save()

    def save(self) -> None:
        """Write the file, whole or not at all."""
        done = "".join("01"[is_done] for is_done in self.done.tolist())
        state = {"identity": self._identity, "cycles": self.cycles, "done": done}
        with open_output(self.path) as file:
            file.write(json.dumps(state) + "\n")
        self._saved = time.monotonic()

    def forget(self) -> None:
        """Remove the file, when all is done."""
        try:
            Path(self.path).unlink(missing_ok=True)
        except OSError as error:
            raise Refused(f"cannot remove {self.path!r}: {error.strerror}") from error


def seconds_for(plan: Plan, engine: Engine, shards: int) -> float | None:
    """About how long so many shards take on all cores, from a trial of a few texts.

    There is no telling if something is wrong with these already.
    """
    trial, inputs, begin = Run(engine), 0, time.monotonic()
    for window in trial.simulate(plan.stimulus(0)):
        inputs += int(np.count_nonzero(window.actual.is_accepted))
        if time.monotonic() - begin > TRIAL:
            break
    if trial.wrong:
        return None
    rate = max(inputs, 1) / (time.monotonic() - begin)
    return min(SHARD * shards, plan.texts) * plan.length / rate / min(cores(), shards)


def run_shards(plan: Plan, engine: Engine, shards: list[int]) -> Iterator[tuple[int, int, str]]:
    """Run shards, on all cores if there are several: number, cycles, and what is wrong."""
    if len(shards) == 1:
        yield shards[0], *_run_shard((plan, engine), shards[0])
        return
    for shard, (cycles, wrong) in on_all_cores(_run_shard, shards, _start, (plan,)):
        yield shard, cycles, wrong


def _start(plan: Plan) -> tuple[Plan, Engine]:
    """What a new process works with."""
    keep_freed_memory()
    return plan, ENGINES[plan.engine](plan.design())


def _run_shard(work: tuple[Plan, Engine], shard: int) -> tuple[int, str]:
    """Cycles that were compared in a shard, and what is wrong in it, or nothing."""
    plan, engine = work
    run = Run(engine)
    for _ in run.simulate(plan.stimulus(shard)):
        pass
    return run.cycles, run.wrong
