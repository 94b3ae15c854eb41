"""Cases and scorecard for your own test bench, in cocotb or any other Python framework."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, SupportsInt

from utf8_hdl import UNICODE, Profile

from .cases import by_rule, characters, count_cases, few_hostile, hostile_by_rule, mixed
from .rules import END, FLOW, RATE, RESET, broken_rule, decoder_rules
from .scorecard import Failure, Scorecard
from .spans import SPANS, compared_fields, expected_columns, expected_tokens
from .tokens import rows_of, show_fields

FIELDS = "code_point", "error", "kind", "length", "last"

BY_TEXTS = "cut-by-end", "last"
"""The rules about the end of a text that single texts can test."""


class Case(NamedTuple):
    """A text for a decoder.

    Parameters
    ----------
    rule : str
        The rule that it tests.
    text : bytes
        Its bytes; the last one ends it.
    """

    rule: str
    text: bytes


class Checks:
    """The cases and the scorecard of `utf8-hdl conform`, without a simulator.

    A test bench decodes the text of each case with its hardware, and hands in the tokens. The rules
    about clocks, such as those about stalls, are left out.

    Parameters
    ----------
    profile : Profile
        The UTF-8 profile.
    fields : sequence of str
        The fields that the decoder has: ``code_point``, and any of ``error``, ``kind``, ``length``,
        ``last``.
    span : str
        The policy about the span of an error: a name of ``utf8_sim.conformance.SPANS``.

    Raises
    ------
    ValueError
        If a field or the policy is unknown, or ``code_point`` is missing.

    Attributes
    ----------
    card : Scorecard
        The results so far.

    Examples
    --------
    >>> from utf8_sim.conformance import Case, Checks
    >>> checks = Checks(fields=["code_point"])
    >>> for case in checks.cases():
    ...     text = case.text.decode(errors="replace")
    ...     checks.check(case, [{"code_point": ord(character)} for character in text])
    >>> checks.card.badge
    'UTF-8 conformance: 14 of 14 rules'
    >>> checks.check(Case("kept-byte", b"\\xe2A"), [{"code_point": 0xFFFD}])
    >>> print(checks.report())
    FAIL kept-byte: the byte that reveals an error is decoded
      input    E2 41
      expected U+FFFD �, U+0041 A
      actual   U+FFFD �
    UTF-8 conformance: 13 of 14 rules
    """

    def __init__(
        self,
        profile: Profile = UNICODE,
        fields: Sequence[str] = FIELDS,
        span: str = "maximal-subpart",
    ) -> None:
        if odd := [name for name in fields if name not in FIELDS]:
            raise ValueError(f"a field must be one of {', '.join(FIELDS)}, not {odd[0]!r}")
        if "code_point" not in fields:
            raise ValueError("fields must have code_point")
        if span not in SPANS:
            raise ValueError(f"span must be one of {', '.join(SPANS)}, not {span!r}")
        self._profile, self._span = profile, span
        self._fields = compared_fields(fields, span)
        groups = END, FLOW, RATE, RESET
        rules = [
            rule
            for rule in decoder_rules(profile.longest_form)
            if rule.group not in groups or rule.name in BY_TEXTS
        ]
        # The test bench decodes single texts, so the end of a text is known.
        self.card = Scorecard(rules, {*self._fields, "s_axis_tlast"})

    def cases(self, *, every: bool = False) -> Iterator[Case]:
        """The cases: a few thousand, or with ``every`` all characters and all hostile texts."""
        profile = self._profile
        for length in range(1, profile.longest_form + 1):
            texts = characters(profile, length)
            step = 1 if every else max(1, len(texts) // 64)
            chosen = dict.fromkeys([*texts[::step], texts[-1]])
            yield from (Case(f"{length}-byte", text) for text in chosen)
        some = mixed(profile)
        yield from (Case("mixed", text) for text in (some if every else some[:64]))
        found = hostile_by_rule(profile) if every else by_rule(few_hostile(profile), profile)
        for rule, texts in found.items():
            yield from (Case(rule, text) for text in texts)

    def expected(self, case: Case) -> list[dict[str, int]]:
        """The tokens of the golden model, with the fields that the decoder has."""
        tokens = expected_tokens(case.text, self._profile, self._span)
        return [{name: token[name] for name in self._fields} for token in tokens]

    def check(self, case: Case, tokens: Sequence[Mapping[str, Any]]) -> None:
        """Hand in the tokens of the decoder for a case.

        Parameters
        ----------
        case : Case
            The case.
        tokens : sequence of mapping
            The decoder's tokens, in order, with the fields that it has.

        Raises
        ------
        ValueError
            If a token lacks a field, or a field is not an integer.
        """
        actual = []
        for token in tokens:
            if missing := [name for name in self._fields if name not in token]:
                raise ValueError(f"a token must have the field {missing[0]}, not {dict(token)!r}")
            if odd := [name for name in self._fields if not isinstance(token[name], SupportsInt)]:
                raise ValueError(f"{odd[0]} must be an integer, not {token[odd[0]]!r}")
            actual.append({name: int(token[name]) for name in self._fields})
        columns = expected_columns(case.text, self._profile, self._span)
        counts = count_cases(columns, self._profile)
        counts[case.rule] = max(1, counts[case.rule])
        for name, count in counts.items():
            self.card.count(name, count)
        if rule := broken_rule(rows_of(columns), actual, self._fields):
            expected, found = (
                [show_fields(token, self._fields) for token in side]
                for side in (self.expected(case), actual)
            )
            known = rule if rule in self.card.results else case.rule
            self.card.fail(known, Failure([case.text], expected, found))

    def report(self) -> str:
        """The failures and the badge, as lines."""
        lines = []
        for result in self.card.results.values():
            if failure := result.failure:
                lines += [
                    f"FAIL {result.rule.name}: {result.rule.text}",
                    f"  input    {failure.texts[0].hex(' ').upper()}",
                    f"  expected {', '.join(failure.expected) or 'nothing'}",
                    f"  actual   {', '.join(failure.actual) or 'nothing'}",
                ]
        return "\n".join([*lines, self.card.badge])
