"""A scorecard: for each rule the verdict, the number of cases, and the shortest failure."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .rules import Rule


class Verdict(Enum):
    """The verdict about a rule."""

    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "n/a"


@dataclass(frozen=True)
class Failure:
    """An input on which a core breaks a rule.

    Attributes
    ----------
    texts : sequence
        The texts, one after the other: bytes, or columns of a component's inputs.
    expected, actual : list of str
        The outputs for humans: those of the golden model, and those of the core.
    note : str
        The failure in words, if the outputs do not show it.
    gaps, stalls, seed : float, float, int
        Probabilities of gaps in the input and of stalls of the consumer, and their random seed.
    span : str
        The policy about the span of an error by which the outputs are wrong; else empty.
    """

    texts: Sequence[Any]
    expected: Sequence[str] = ()
    actual: Sequence[str] = ()
    note: str = ""
    gaps: float = 0.0
    stalls: float = 0.0
    seed: int = 0
    span: str = ""

    @property
    def size(self) -> tuple[int, int]:
        """Sort key of failures: those without stalls first, then the shortest."""
        stalled = bool(self.gaps) + bool(self.stalls)
        return stalled, sum(_length(text) for text in self.texts) + len(self.texts)


def _length(text: Any) -> int:
    return len(next(iter(text.values()))) if isinstance(text, dict) else len(text)


@dataclass
class Result:
    """The result of a rule.

    Attributes
    ----------
    rule : Rule
        The rule.
    cases, failed : int
        Number of cases, and number of texts that broke the rule.
    missing : str
        The reason why the rule is not applicable; else empty.
    failure : Failure or None
        The shortest input that breaks it.
    measured : str
        A measured figure.
    """

    rule: Rule
    cases: int = 0
    failed: int = 0
    missing: str = ""
    failure: Failure | None = None
    measured: str = ""

    @property
    def verdict(self) -> Verdict:
        if self.failed:
            return Verdict.FAIL
        return Verdict.PASS if self.cases and not self.missing else Verdict.NOT_APPLICABLE


@dataclass
class Scorecard:
    """The results of all rules.

    Parameters
    ----------
    rules : iterable of Rule
        The rules.
    has : collection of str
        The ports and fields that the core has.
    """

    rules: Iterable[Rule]
    has: Collection[str]
    results: dict[str, Result] = field(init=False)
    #: The policy about the span of an error that the core is judged by, and the one it follows.
    judged_by: str = ""
    follows: str = ""

    def __post_init__(self) -> None:
        self.results = {rule.name: Result(rule) for rule in self.rules}
        for result in self.results.values():
            if missing := [name for name in result.rule.needs if name not in self.has]:
                result.missing = f"the core has no {missing[0]}"

    def count(self, rule: str, cases: int) -> None:
        """Count cases of a rule, if it is applicable."""
        result = self.results.get(rule)
        if result and not result.missing:
            result.cases += cases

    def fail(self, rule: str, failure: Failure | None = None) -> None:
        """Count a failure of a rule; keep its input if it is the shortest."""
        result = self.results[rule]
        result.missing = ""
        result.failed += 1
        result.cases = max(result.cases, result.failed)
        if failure and (result.failure is None or failure.size < result.failure.size):
            result.failure = failure

    def of(self, verdict: Verdict) -> list[Result]:
        """The results with a verdict."""
        return [result for result in self.results.values() if result.verdict is verdict]

    @property
    def passed(self) -> bool:
        """True if no rule is broken."""
        return not self.of(Verdict.FAIL)

    @property
    def badge(self) -> str:
        """The text of a badge."""
        passed, failed = len(self.of(Verdict.PASS)), len(self.of(Verdict.FAIL))
        return f"UTF-8 conformance: {passed} of {passed + failed} rules"
