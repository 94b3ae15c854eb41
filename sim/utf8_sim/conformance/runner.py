"""Run texts on a core; shorten and record those that fail."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Sequence

import numpy as np

from ..engines.engine import Engine
from ..golden.model import Transducer
from ..stimulus import LAST
from ..trace import Columns
from .bench import WATCHDOG, Bench, Outcome
from .rules import Rule
from .scorecard import Failure, Scorecard
from .texts import Texts, joined, len_of, shorter

STEADY = 16
"""Number of failures in a pool after which the number of skipped texts doubles."""

ALIKE = 3
"""Number of failures with the same rule that are shortened; others are only counted."""

MAX_CONTEXT = 1 << 12
"""Maximum number of preceding texts that are run with a text that does not fail alone."""

BUDGET = 1 << 23
"""Maximum number of inputs that are run to shorten the failures of a pool."""

MAX_SHOWN = 64
"""Maximum number of outputs shown for a failure."""


UNKNOWN = "unknown"
"""The rule of an input from the command line, if its outputs do not identify a rule."""


class Runner(ABC):
    """Runs texts on a :class:`.Core`; a *pool* is a sequence of texts that test one rule."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.bench = Bench(engine, self.model, self.mask)
        self.card = Scorecard(self.rules(), engine.design.has)
        # By pool and apparent rule: the rules that the shortened texts break.
        self._causes: dict[tuple[str, str], deque[str]] = {}
        self._budget = BUDGET
        self._latest = ""  # the rule of the latest recorded failure

    @abstractmethod
    def rules(self) -> Sequence[Rule]:
        """The rules."""

    @abstractmethod
    def model(self) -> Transducer:
        """A golden model in its initial state."""

    def mask(self, expected: Columns, actual: Columns) -> Columns:
        """The expected levels, with the actual levels for don't cares."""
        return self.engine.component.mask_dont_cares(expected, actual)

    def rule_of(self, pool: str, outcome: Outcome, texts: int) -> str:
        """The rule that a failed run breaks; ``pool`` is the rule that its texts test, if known."""
        del outcome, texts
        return pool or UNKNOWN

    def cuts(self, text: Columns) -> Sequence[int]:
        """The numbers of inputs at which a text may be cut to make it shorter."""
        return range(len(text[LAST]) + 1)

    def count(self, pool: str, items: Columns) -> None:
        """Count the cases in inputs that passed."""
        self.card.count(pool, int(np.count_nonzero(items[LAST])))

    def format_outputs(self, outputs: Columns) -> list[str]:
        """Format outputs for a report."""
        rows = zip(*(column[:MAX_SHOWN].tolist() for column in outputs.values()), strict=True)
        show = self.engine.component.show_result
        return [show(dict(zip(outputs, row, strict=True))) for row in rows]

    def fails(self, items: Columns) -> bool:
        """True if the core breaks a rule on some inputs at full rate."""
        return self.bench.run(items).failed

    def run_pool(self, pool: str, texts: Texts) -> None:
        """Run texts one after the other; after a failure, continue with another text."""
        first = failures = 0
        self._budget = BUDGET
        while first < len(texts):
            rest = texts[first:]
            outcome = self.bench.run(rest.items)
            if not outcome.failed:
                self.count(pool, rest.items)
                self._learn_patience(outcome)
                return
            at = outcome.accepted if outcome.problem == "hang" else outcome.item
            failing = min(rest.number_at(at), len(rest) - 1)
            self.count(pool, rest[:failing].items)
            is_alone = len(rest) == 1 and outcome.is_repeatable
            self._isolate(pool, rest[: failing + 1], outcome if is_alone else None)
            failures += 1
            first += failing + (1 << failures // STEADY)

    def _learn_patience(self, outcome: Outcome) -> None:
        """Set the idle cycles that end a run, from the throughput and latency of a long run."""
        if outcome.accepted > WATCHDOG:
            pace = outcome.cycles // outcome.accepted + 1
            self.bench.patience = min(WATCHDOG, 16 * pace + 4 * outcome.lag)

    def _isolate(self, pool: str, texts: Texts, known: Outcome | None = None) -> None:
        """Shorten an input whose last text fails; record the rule that it breaks.

        ``known`` is the outcome of the input, if it need not run again.
        """
        if self._budget <= 0:
            self.card.fail(self._latest or pool)
            return
        if known:
            self._budget -= len_of(texts.items)
            some, outcome = [texts.items], known
        else:
            some, outcome = self._last_of(texts)
        if not outcome.failed:
            return
        rule = self.broken_rule(pool, outcome, len(some))
        causes = self._causes.setdefault((pool, rule), deque(maxlen=ALIKE))
        if len(causes) == ALIKE and len({*causes}) == 1:
            self.card.fail(causes[0])
            return
        some, outcome = self._shortened(pool, "", some, outcome)
        # Parts inside a text may be removed only while the rule stays the same: otherwise one
        # fault of a core with several faults would hide the others.
        rule = self.broken_rule(pool, outcome, len(some))
        some, outcome = self._shortened(pool, rule, some, outcome)
        causes.append(rule)
        self._latest = rule
        self.record(rule, some, outcome)

    def _last_of(self, texts: Texts) -> tuple[list[Columns], Outcome]:
        """The last text, with as many preceding texts as it needs to fail."""
        count = 1
        while True:
            some = list(texts[max(0, len(texts) - count) :])
            outcome = self._run_texts(some)
            if outcome.failed or count >= len(texts):
                return some, outcome
            if count >= MAX_CONTEXT or self._budget <= 0:
                return [texts.items], self._run_texts([texts.items])
            count *= 2

    def _run_texts(self, texts: Sequence[Columns]) -> Outcome:
        """Run texts, and subtract their inputs from the budget."""
        items = joined(texts)
        self._budget -= len_of(items)
        return self.bench.run(items, to_end=True)

    def _shortened(
        self, pool: str, rule: str, texts: list[Columns], outcome: Outcome
    ) -> tuple[list[Columns], Outcome]:
        """Remove inputs while the rule is broken; without a rule, only at the ends of texts."""
        found = True
        while found:
            found = False
            for candidate in shorter(texts, self.cuts, inside=bool(rule)):
                if self._budget <= 0:
                    return texts, outcome
                result = self._run_texts(candidate)
                if result.failed and rule in ("", self.broken_rule(pool, result, len(candidate))):
                    texts, outcome, found = candidate, result, True
                    break
        return texts, outcome

    def broken_rule(self, pool: str, outcome: Outcome, texts: int) -> str:
        """The rule that a failed run of some texts breaks."""
        if outcome.problem == "undefined":
            return "defined"
        if outcome.problem == "hang" and outcome.wrong is None:
            return "no-hang" if "no-hang" in self.card.results else pool
        return self.rule_of(pool, outcome, texts)

    def record(self, rule: str, texts: Collection[Columns], outcome: Outcome) -> None:
        """Record a failure of a rule."""
        self.card.fail(rule, self.failure(texts, outcome))

    def failure(self, texts: Collection[Columns], outcome: Outcome) -> Failure:
        """The failure of a run, for the scorecard."""
        drive = outcome.drive
        expected, actual = (
            self.format_outputs(side) for side in (outcome.expected, outcome.actual)
        )
        return Failure(
            [*texts], expected, actual, outcome.message, drive.gaps, drive.stalls, drive.seed
        )
