"""Sources of stimuli: plans of numbered units, which can run in any process."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from enum import IntEnum
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np

from utf8_hdl import __version__
from utf8_sim.campaign import Mode, Part, runs
from utf8_sim.engines.compiled import design_rtlil
from utf8_sim.engines.engine import Engine
from utf8_sim.stimulus import ChangingStalls, RandomStalls, Stalls, Stimulus, Table
from utf8_sim.subject import Subject
from utf8_sim.tools.cache import contents
from utf8_sim.tools.words import plural

from ..designs import DesignSpec
from .engine_choice import keep_freed_memory
from .engines import ENGINES

SHARD = 1 << 18
"""Number of texts in a unit of :class:`Exhaustive`."""

RATES = (0.0, 0.0, 0.05, 0.3, 0.7, 0.99)
"""Stall probabilities of :class:`RandomUnits`; each side changes its probability now and then."""

RESETS = (0.0,) * 15 + (1 / 512,)
"""Reset probabilities of :class:`RandomUnits`; the probability changes now and then."""

ENDLESS = 1 << 62
"""A number of units or cycles that exceeds every run."""


class Counted(IntEnum):
    """Counters in addition to cycles and values; each level includes the previous levels."""

    NOTHING = 0
    COVERAGE = 1
    SEQUENCES = 2


@dataclass(frozen=True)
class Plan(ABC):
    """Numbered units of stimuli for a design, and the name of the engine.

    A plan can be sent to other processes, which create their own simulators.
    """

    spec: DesignSpec
    engine: str
    seed: int
    _: KW_ONLY
    #: Maximum number of cycles in a unit.
    cycles: int = ENDLESS
    counted: Counted = Counted.NOTHING
    #: True if every cover point must be hit.
    is_campaign: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """The fields, without cached properties."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def with_simulator(self, simulator: Engine) -> "Plan":
        """The same plan with an existing simulator, because elaboration may take seconds."""
        plan = replace(self, engine=simulator.name)
        vars(plan)["simulator"] = simulator
        return plan.with_subject(simulator)

    def with_subject(self, subject: Subject) -> "Plan":
        """This plan, with an existing design."""
        vars(self)["subject"] = subject
        return self

    @cached_property
    def subject(self) -> Subject:
        return Subject(self.spec.make())

    @cached_property
    def simulator(self) -> Engine:
        keep_freed_memory()
        return ENGINES[self.engine](self.subject.design)

    def identity(self) -> str:
        """A digest of everything that the verdict depends on: plan, design and checks."""
        digest = hashlib.sha256(repr((__version__, np.__version__, self)).encode())
        digest.update(design_rtlil(self.subject.design).encode())
        for package in ("utf8_sim", "utf8_flow"):
            for source in contents(resources.files(package)):
                digest.update(source)
        return digest.hexdigest()

    @property
    @abstractmethod
    def units(self) -> int:
        """Number of units."""

    @property
    @abstractmethod
    def inputs(self) -> int:
        """Approximate number of inputs in all units; in one unit if the units are endless."""

    @abstractmethod
    def heading(self, first: int) -> str:
        """A line for the report of a run that starts with unit ``first``."""

    @abstractmethod
    def name(self, unit: int) -> str:
        """A unit's name in the report."""

    @abstractmethod
    def stimulus(self, unit: int) -> Stimulus | Table: ...


@dataclass(frozen=True)
class Campaign(Plan):
    """A unit for each part in each mode. The default is the component's own campaign."""

    modes: Sequence[Mode]
    given: Sequence[Part] = ()
    _: KW_ONLY
    counted: Counted = Counted.COVERAGE
    is_campaign: bool = True

    @cached_property
    def parts(self) -> Sequence[Part]:
        subject = self.subject
        return self.given or subject.component.campaign(subject.design, self.seed)

    @cached_property
    def _pairs(self) -> list[tuple[Part, Mode]]:
        return runs(self.parts, self.modes)

    @property
    def units(self) -> int:
        return len(self._pairs)

    @property
    def inputs(self) -> int:
        return sum(part.size for part, _ in self._pairs)

    def heading(self, first: int) -> str:
        stimuli = plural(len(self.parts), "stimulus", "stimuli")
        names = ", ".join(mode.name for mode in self.modes)
        return f"{plural(self.units, 'run')}: {stimuli}, each at {names}"

    def name(self, unit: int) -> str:
        part, mode = self._pairs[unit]
        return f"{part.name}, {mode.name}"

    def stimulus(self, unit: int) -> Stimulus:
        part, mode = self._pairs[unit]
        return mode.stimulus(part)


@dataclass(frozen=True)
class Replay(Plan):
    """A single unit that replays a table."""

    table: Table
    units = 1

    @property
    def inputs(self) -> int:
        return len(self.table)

    def heading(self, first: int) -> str:
        return f"a stimulus of {plural(len(self.table), 'cycle')}"

    def name(self, unit: int) -> str:
        return "the stimulus"

    def stimulus(self, unit: int) -> Table:
        return self.table


@dataclass(frozen=True)
class Exhaustive(Plan):
    """Every text of ``length`` bytes, 1 to 4, for a component whose inputs are bytes."""

    length: int
    #: Probability of stalls at the input and at the output.
    rates: tuple[float, float] = (0.0, 0.0)

    @property
    def texts(self) -> int:
        return 256**self.length

    @property
    def units(self) -> int:
        return -(-self.texts // SHARD)

    @property
    def inputs(self) -> int:
        return self.length * self.texts

    def heading(self, first: int) -> str:
        texts = f"{self.texts} texts, every one of {plural(self.length, 'byte')}"
        left = f", {(self.units - first) / self.units:.1%} of them left"
        return texts + left * (first > 0)

    def name(self, unit: int) -> str:
        return f"the texts from {unit * SHARD:0{2 * self.length}X} on, one after the other"

    def stimulus(self, unit: int) -> Stimulus:
        begin = unit * SHARD
        numbers = np.arange(begin, min(begin + SHARD, self.texts)).astype(">u4")
        texts = numbers.view(np.uint8).reshape(-1, 4)[:, 4 - self.length :]
        ends = np.zeros(texts.shape, dtype=bool)
        ends[:, -1] = True
        i, o = _random_stalls(self.rates, self.seed, unit)
        return Stimulus([(texts.ravel(), ends.ravel())], i, o)


@dataclass(frozen=True)
class RandomUnits(Plan):
    """An endless sequence of units with random stimuli.

    ``rates`` are the stall probabilities of input and output. ``None`` stands for a probability
    that changes between :data:`RATES`.
    """

    rates: tuple[float | None, float | None] = (None, None)
    _: KW_ONLY
    cycles: int = 1 << 20
    counted: Counted = Counted.SEQUENCES
    is_campaign: bool = True

    @property
    def units(self) -> int:
        return ENDLESS

    @property
    def inputs(self) -> int:
        return self.cycles

    def heading(self, first: int) -> str:
        return f"random stimuli of seed {self.seed}, from unit {first} on"

    def name(self, unit: int) -> str:
        return f"unit {unit}"

    def stimulus(self, unit: int) -> Stimulus:
        subject = self.subject
        pieces = subject.component.fuzz(subject.design, np.random.default_rng((self.seed, unit, 0)))
        i, o = _random_stalls(self.rates, self.seed, unit)
        resets = ChangingStalls(RESETS, (self.seed, unit, len(self.rates) + 1))
        return Stimulus(pieces, i, o, self.cycles, resets, idle_seed=(self.seed, unit))


def _random_stalls(rates: Sequence[float | None], *seed: int) -> list[Stalls]:
    """Stalls of input and output, each with a fixed or a changing probability."""
    return [
        ChangingStalls(RATES, (*seed, side)) if rate is None else RandomStalls(rate, (*seed, side))
        for side, rate in enumerate(rates, start=1)
    ]
