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
from utf8_sim.engines.engine import DesignError, Engine
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import Piece, RandomStalls, Stimulus
from utf8_sim.tools.cache import contents
from utf8_sim.tools.cores import cores, on_all_cores
from utf8_sim.tools.errors import Refused
from utf8_sim.tools.files import open_output

from ..components import make_design
from ..export.verilog import generate
from .engines import ENGINES, keep_freed_memory

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
        self._identity = plan.identity()
        self._saved = time.monotonic()
        self.done = np.zeros(plan.shards, dtype=bool)
        self.cycles = 0
        if os.path.exists(path):
            self._load()

    def _load(self) -> None:
        try:
            state = json.loads(Path(self.path).read_text(encoding="utf-8"))
            identity, cycles, packed = state["identity"], state["cycles"], state["done"]
            if type(cycles) is not int or cycles < 0:
                raise ValueError("no number of cycles")
            bits = np.frombuffer(bytes.fromhex(packed), np.uint8)
        except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
            raise Refused(
                f"{self.path!r} is no state of an exhaustive comparison ({error}): "
                f"remove it, or name another with --state"
            ) from error
        if identity != self._identity:
            raise Refused(
                f"{self.path!r} is the state of another comparison (other options, or another "
                f"version): remove it, or name another with --state"
            )
        done = np.unpackbits(bits, count=len(self.done))
        if np.packbits(done).tobytes() != bits.tobytes():
            raise Refused(f"{self.path!r} is damaged: remove it, or name another with --state")
        self.done, self.cycles = done.astype(bool), cycles

    def add(self, shard: int, cycles: int) -> None:
        """Note that a shard agrees; now and then, save."""
        self.done[shard] = True
        self.cycles += cycles
        if time.monotonic() - self._saved > SAVE_EVERY:
            self.save()

    def save(self) -> None:
        """Write the file, whole or not at all."""
        done = np.packbits(self.done).tobytes().hex()
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
    inputs, begin = 0, time.monotonic()
    lockstep = Lockstep(engine, plan.stimulus(0))
    try:
        for trace in lockstep:
            inputs += int(np.count_nonzero(trace.is_accepted))
            if time.monotonic() - begin > TRIAL:
                break
    except DesignError:  # the comparison will find it again
        return None
    if lockstep.difference:
        return None
    rate = max(inputs, 1) / (time.monotonic() - begin)
    return min(SHARD * shards, plan.texts) * plan.length / rate / min(cores(), shards)


def run_shard(plan: Plan, engine: Engine, shard: int) -> tuple[int, str]:
    """Cycles that were compared in a shard, and what is wrong in it, or nothing."""
    lockstep = Lockstep(engine, plan.stimulus(shard))
    try:
        wrong = str(lockstep.run() or "")
    except DesignError as error:
        wrong = f"{error.label}: {error}"
    return lockstep.cycles, wrong


def run_shards(plan: Plan, engine: Engine, shards: list[int]) -> Iterator[tuple[int, int, str]]:
    """Run shards, on all cores if there are several: number, cycles, and what is wrong."""
    if len(shards) == 1:
        yield shards[0], *run_shard(plan, engine, shards[0])
        return
    for shard, (cycles, wrong) in on_all_cores(_work, shards, _start, (plan,)):
        yield shard, cycles, wrong


_worker: tuple[Plan, Engine]


def _start(plan: Plan) -> None:
    """In a new process: make the engine."""
    global _worker  # noqa: PLW0603 - what a process has only one of
    keep_freed_memory()
    _worker = plan, ENGINES[plan.engine](plan.design())


def _work(shard: int) -> tuple[int, str]:
    return run_shard(*_worker, shard)
