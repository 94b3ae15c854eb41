"""The scorecard of a core, as a report, as JSON, as JUnit's XML, and as a badge."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

import numpy as np
from rich.console import Console

from utf8_sim.conformance.runner import UNKNOWN
from utf8_sim.conformance.scorecard import Failure, Result, Scorecard, Verdict
from utf8_sim.conformance.texts import joined
from utf8_sim.engines.engine import Engine
from utf8_sim.stimulus import LAST
from utf8_sim.tools.words import plural

from ..terminal import say
from .difference import MAX_VALUES, hex_list

MAX_TOKENS = 8
"""Maximum number of outputs of a failure in the report."""

STYLES = {Verdict.PASS: "green", Verdict.FAIL: "bold red", Verdict.NOT_APPLICABLE: "dim"}

BY_RULE = frozenset({"prompt", "valid-first", "reset", "quiet-reset", "stable-output"})
"""Rules whose failures cannot be repeated with a text and stalls alone."""


@dataclass
class Report:
    """A scorecard with the command that made it."""

    card: Scorecard
    engine: Engine
    #: The core, the component and the tools, by their names in the report.
    head: dict[str, str]
    #: The words of the command, with the engine and without inputs and output files.
    words: list[str]

    def print(self, show: Console) -> None:
        """Print the scorecard."""
        for name, value in self.head.items():
            say(show, f"{name:<12}{value}")
        if self.card.follows:
            say(show, f"{'error span':<12}the core follows {self.card.follows}")
        width = max(len(name) for name in self.card.results)
        for group, results in groupby(self.card.results.values(), lambda each: each.rule.group):
            say(show, "")
            say(show, group, "bold")
            for result in results:
                self._print_result(show, result, width)
        say(show, "")
        say(show, self.card.badge, "green" if self.card.passed else "bold red")

    def _print_result(self, show: Console, result: Result, width: int) -> None:
        rule, verdict = result.rule, result.verdict
        cases = "" if verdict is Verdict.NOT_APPLICABLE else f"{result.cases:,}"
        remark = result.measured or (
            (result.missing or "no case passed") if verdict is Verdict.NOT_APPLICABLE else ""
        )
        line = f"  {verdict.value:<5}{rule.name:<{width}}{cases:>11}  {rule.text}"
        say(show, line + (f" ({remark})" if remark else ""), STYLES[verdict])
        for label, text in self._details(result):
            say(show, f"       {label:<10}{text}")

    def _details(self, result: Result) -> Iterable[tuple[str, str]]:
        failure = result.failure
        if failure is None:
            return
        if failure.texts:
            yield "input", self.shown_input(failure)
        if failure.expected or failure.actual:
            expected, actual = _around_difference(failure.expected, failure.actual)
            yield "expected", expected
            yield "actual", actual
        if failure.note:
            yield "note", failure.note
        yield "repeat", self.command(result)

    def shown_input(self, failure: Failure) -> str:
        """The texts of a failure, as for ``--hex``, or how many values they have."""
        values = self._values(failure)
        size = sum(map(len, values))
        return hex_list(self.engine, values) if size <= MAX_VALUES else plural(size, "value")

    def command(self, result: Result) -> str:
        """The command that repeats a failure."""
        failure = result.failure
        assert failure
        own = [*self.words, *(["--error-span", failure.span] if failure.span else [])]
        values = self._values(failure)
        is_inline = values and result.rule.name not in BY_RULE and not result.measured
        if not is_inline or sum(map(len, values)) > MAX_VALUES:
            return shlex.join([*own, "--rule", result.rule.name])
        words = [*own, self.engine.component.list_option, hex_list(self.engine, values)]
        words += ["--stall-input", f"{failure.gaps:g}"] if failure.gaps else []
        words += ["--stall-output", f"{failure.stalls:g}"] if failure.stalls else []
        words += ["--seed", str(failure.seed)] if failure.seed else []
        return shlex.join(words)

    def _values(self, failure: Failure) -> list[np.ndarray]:
        """The values of each text."""
        if not failure.texts:
            return []
        items = joined(failure.texts)
        values, counts = self.engine.component.values(items)
        ends = np.cumsum(counts)[items[LAST] != 0]
        if values.ndim > 1:
            return []
        return np.split(values, ends[ends < len(values)])

    def document(self) -> dict[str, Any]:
        """The scorecard in types of JSON."""
        return {
            **self.head,
            "error_span": {"judged_by": self.card.judged_by, "follows": self.card.follows},
            "passed": self.card.passed,
            "badge": self.card.badge,
            "rules": [self._row(result) for result in self.card.results.values()],
        }

    def _row(self, result: Result) -> dict[str, Any]:
        """A rule in types of JSON."""
        rule, failure = result.rule, result.failure
        row: dict[str, Any] = {"rule": rule.name, "group": rule.group, "text": rule.text}
        row |= {"verdict": result.verdict.value, "cases": result.cases, "failed": result.failed}
        row |= {"reason": result.missing} if result.missing else {}
        row |= {"measured": result.measured} if result.measured else {}
        if failure:
            row |= {"input": self.shown_input(failure), "command": self.command(result)}
            row |= {"expected": [*failure.expected], "actual": [*failure.actual]}
            row["note"] = failure.note
        return row

    def json(self) -> str:
        """The scorecard as JSON."""
        return json.dumps(self.document(), indent=2, ensure_ascii=False) + "\n"

    def badge(self) -> str:
        """A badge in the format of shields.io's endpoint."""
        label, _, message = self.card.badge.partition(": ")
        colour = "brightgreen" if self.card.passed else "red"
        fields = {"schemaVersion": 1, "label": label, "message": message, "color": colour}
        return json.dumps(fields) + "\n"

    def junit(self) -> str:
        """The scorecard as XML for servers that read JUnit's results."""
        results = self.card.results.values()
        suite = ElementTree.Element(
            "testsuite",
            name="utf8-hdl conform",
            tests=str(len(results)),
            failures=str(len(self.card.of(Verdict.FAIL))),
            skipped=str(len(self.card.of(Verdict.NOT_APPLICABLE))),
        )
        for result in results:
            rule = result.rule
            case = ElementTree.SubElement(suite, "testcase", classname=rule.group, name=rule.name)
            if result.verdict is Verdict.FAIL:
                failure = ElementTree.SubElement(case, "failure", message=rule.text)
                failure.text = "\n".join(f"{name}: {text}" for name, text in self._details(result))
            elif result.verdict is Verdict.NOT_APPLICABLE:
                ElementTree.SubElement(case, "skipped", message=result.missing or "no case passed")
        ElementTree.indent(suite)
        return ElementTree.tostring(suite, encoding="unicode") + "\n"


def _around_difference(*sides: Sequence[str]) -> list[str]:
    """Expected and actual outputs, from two before their first difference on."""
    pairs = enumerate(zip(*sides, strict=False))
    shortest = min(map(len, sides))
    first = next((number for number, pair in pairs if len({*pair}) > 1), shortest)
    return [_listed(side, max(0, first - 2), MAX_TOKENS) for side in sides]


def _listed(outputs: Sequence[str], first: int = 0, count: int | None = None) -> str:
    end = len(outputs) if count is None else first + count
    shown = [*["..."] * (first > 0), *outputs[first:end], *["..."] * (len(outputs) > end)]
    return ", ".join(shown) or "nothing"


def print_input_verdict(show: Console, rule: str, failure: Failure) -> None:
    """Print the outputs for one input."""
    say(show, f"{'expected':<12}{_listed(failure.expected)}")
    say(show, f"{'actual':<12}{_listed(failure.actual)}")
    if failure.note:
        say(show, f"{'note':<12}{failure.note}")
    if rule == UNKNOWN:
        say(show, "DIFFERENCE: core and golden model disagree on this input", "bold red")
    elif rule:
        say(show, f"DIFFERENCE: the core breaks the rule {rule!r}", "bold red")
    else:
        say(show, "core and golden model agree on this input", "green")
