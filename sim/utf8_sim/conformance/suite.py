"""The rules that every component has: flow control, throughput, reset and X."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import product

import numpy as np

from ..engines.engine import Engine
from ..engines.icarus import IcarusEngine
from ..stimulus import Piece, Stimulus
from ..trace import Columns
from .bench import Drive, Outcome
from .runner import Runner
from .scorecard import Failure, Scorecard
from .texts import Texts, joined, len_of, part

STALL = 0.5
"""Probability of gaps and stalls in the rules about them."""

SEEDS = 16
"""Number of random seeds to find the text that fails with gaps or stalls."""

NEARLY = 0.99
"""Fraction of the promised throughput that is enough: the last outputs of a run are late."""

HELD = 64
"""Number of cycles at the start in which the consumer is not ready."""

STALLED = "input-gaps", "output-stalls", "stable-output"
HELD_BACK = ("valid-first",)
RATES = "rate-well-formed", "rate-hostile"
RESETS = "reset", "quiet-reset"

Pool = tuple[str, Callable[[], Texts]]
"""The rule that texts test, and a function that creates the texts."""


class Suite(Runner):
    """The rules that every component has; a subclass adds its own.

    - ``rate``: the inputs, or outputs, per cycle that the core promises.
    """

    #: Rules with many texts, which are not run for other rules.
    long: Collection[str] = ()

    def __init__(self, engine: Engine, *, rate: float = 1.0) -> None:
        super().__init__(engine)
        self._rate = rate
        self._only: str | None = None
        #: Called with the name of the texts that run.
        self.progress: Callable[[str], object] = lambda name: None

    @abstractmethod
    def pools(self) -> Iterator[Pool]:
        """The texts of the component's own rules."""

    @abstractmethod
    def fresh(self) -> Iterator[tuple[str, Texts]]:
        """Texts that run alone, each after a reset, and the rule that each tests, if known."""

    @abstractmethod
    def well_formed(self) -> Columns:
        """Inputs without errors, for the throughput."""

    @abstractmethod
    def hostile(self) -> Texts:
        """Texts with many errors, for the throughput and with stalls."""

    @abstractmethod
    def unfinished(self) -> Texts:
        """Inputs after which a text is not complete."""

    def run(self, only: str | None = None) -> Scorecard:
        """Run all rules; with ``only``, the rules that share their inputs with it."""
        self._only = only
        own = {*STALLED, *HELD_BACK, *RATES, *RESETS}
        steps: list[tuple[Collection[str], Callable[[], None]]] = [
            ({*self.card.results} - own, self._run_pools),
            (STALLED, self._run_stalled),
            (HELD_BACK, self._run_held),
            (RATES, self._run_rates),
            (RESETS, self._run_resets),
            (("defined",), self._run_defined),
        ]
        with closing(self.bench):
            for rules, step in steps:
                if only is None or only in rules:
                    step()
        if only is not None:
            self.card.results = {only: self.card.results[only]}
        return self.card

    def run_input(self, pieces: Iterable[Piece], drive: Drive) -> tuple[str, Failure]:
        """Run an input; return the rule that it breaks, if any, and the outputs."""
        texts = Texts.of_items(joined([*self.engine.items(Stimulus(pieces))]))
        rule = ""
        with closing(self.bench):
            outcome = self.bench.run(texts.items, drive, to_end=True)
            if outcome.failed:
                # A text that fails alone breaks its own rule, and not `new-text`.
                alone = (self.bench.run(text, drive, to_end=True) for text in texts)
                failed = next((each for each in alone if each.failed), None)
                shown, count = (failed, 1) if failed else (outcome, len(texts))
                rule = self.broken_rule("", shown, count)
        if rule and (drive.gaps or drive.stalls):
            rule = "output-stalls" if drive.stalls else "input-gaps"
        return rule, self.failure([*texts], outcome)

    def _run_pools(self) -> None:
        if "s_axis_tready" in self.bench.has:
            self.card.count("no-hang", 1)
        for name, make in self.pools():
            if self._may_break_wanted_rule(name):
                self.progress(name)
                self.run_pool(name, make())
        if self._only in self.long:
            return
        self.progress("texts after a reset")
        for rule, text in self.fresh():
            self.run_pool(rule, text)

    def _may_break_wanted_rule(self, pool: str) -> bool:
        return self._only in (None, pool) or not (pool in self.long or self._only in self.long)

    # --- flow control ---------------------------------------------------------------------------

    def _run_stalled(self) -> None:
        """Run the texts that pass at full rate, with gaps and with stalls."""
        self.progress("gaps and stalls")
        texts = sorted((text for text in self.hostile() if not self.fails(text)), key=len_of)
        drives = {"input-gaps": Drive(gaps=STALL)}
        if "m_axis_tready" in self.bench.has:
            drives["output-stalls"] = Drive(stalls=STALL)
        if not texts:
            for rule in STALLED:
                result = self.card.results[rule]
                result.missing = result.missing or "no text passes at full rate"
            return
        # If a text changes the outputs of the next one, each runs alone.
        whole = joined(texts)
        runs = texts if self.fails(whole) else [whole]
        for rule, drive in drives.items():
            self.card.count(rule, len(texts))
            outcomes = [self.bench.run(items, drive) for items in runs]
            failing = [number for number, outcome in enumerate(outcomes) if outcome.failed]
            if failing:
                last = failing[0]
                if len(runs) < len(texts):
                    last = Texts.of_items(whole).number_at(outcomes[0].item)
                self._isolate_stalled(rule, texts, last, drive)
        if "output-stalls" in drives:
            self._check_stable(texts, sum(outcome.unstable for outcome in outcomes))

    def _check_stable(self, texts: list[Columns], unstable: int) -> None:
        self.card.count("stable-output", len(texts))
        if unstable:
            note = f"an output changed in {unstable} cycles before it was taken"
            self.record("stable-output", texts[:1], Outcome(message=note))

    def _isolate_stalled(self, rule: str, texts: list[Columns], last: int, drive: Drive) -> None:
        """Record a text with as many preceding texts as it needs to fail; else, all texts."""
        counts = [1 << n for n in range((last + 1).bit_length())]
        tried = [texts[last + 1 - count : last + 1] for count in counts]
        for some in [*tried, texts[-1:]]:  # the last one is the longest
            for seed in range(SEEDS):
                seeded = replace(drive, seed=seed)
                outcome = self.bench.run(joined(some), seeded, to_end=True)
                if outcome.failed:
                    self.record(rule, some, outcome)
                    return
        outcome = self.bench.run(joined(texts), drive, to_end=True)
        self.record(rule, texts, outcome)

    def _run_held(self) -> None:
        """Check that an output appears while the consumer is not ready."""
        if "m_axis_tready" not in self.bench.has:
            return
        self.card.count("valid-first", 1)
        text = self.well_formed()
        outcome = self.bench.run(text, Drive(held=HELD))
        if not outcome.early:
            note = f"valid was low for {HELD} cycles in which ready was low"
            self.record("valid-first", [part(text, slice(8))], replace(outcome, message=note))

    # --- throughput -----------------------------------------------------------------------------

    def _run_rates(self) -> None:
        """Measure the throughput, of inputs or of outputs if these are more."""
        self.progress("throughput")
        for rule, items in zip(RATES, (self.well_formed(), self.hostile().items), strict=True):
            outcome = self.bench.run(items, to_end=True)
            outputs = min(len_of(outcome.actual), len_of(outcome.expected))
            moved = {"inputs": outcome.accepted, "outputs": outputs}
            busier = max(moved, key=lambda side: moved[side])
            pace = moved[busier] / max(outcome.cycles, 1)
            result = self.card.results[rule]
            result.measured = f"{min(pace, 1):.3f} {busier} per cycle"
            self.card.count(rule, outcome.accepted)
            if pace < self._rate * NEARLY:
                note = f"promised {self._rate:g}"
                self.record(rule, [], Outcome(message=note))

    # --- reset and X ----------------------------------------------------------------------------

    def _run_resets(self) -> None:
        self.progress("resets")
        early = self.bench.run(part(self.well_formed(), slice(1))).early
        self.card.count("quiet-reset", 1)
        if early:
            note = f"valid was high in {early} of 8 cycles after reset, without an input"
            self.record("quiet-reset", [], Outcome(message=note))
        if "rst" not in self.bench.has:
            return
        text = part(self.well_formed(), slice(4))
        if self.fails(text):
            self.card.results["reset"].missing = "no text passes"
            return
        # With a stalled consumer, the reset must discard outputs, too.
        for before, is_held in product(self.unfinished(), (False, True)):
            self.card.count("reset", 1)
            drive = Drive(before=before, before_held=is_held)
            outcome = self.bench.run(text, drive, to_end=True)
            if outcome.failed or outcome.early > early:
                note = f"after {self._shown_values(before)} without an end, and a reset"
                note += ", an old output is valid" if not outcome.failed else ""
                self.record("reset", [text], replace(outcome, message=note))
                return

    def _shown_values(self, items: Columns) -> str:
        values = np.ravel(items[self.engine.interface.inputs[0].name])
        return " ".join(f"{value:02X}" for value in values[:16].tolist())

    def _run_defined(self) -> None:
        """Only Icarus Verilog detects undefined outputs; a run with one has already failed."""
        if isinstance(self.engine, IcarusEngine):
            self.card.count("defined", 1)
        elif not self.card.results["defined"].failed:
            self.card.results["defined"].missing = "only Icarus Verilog has X"
