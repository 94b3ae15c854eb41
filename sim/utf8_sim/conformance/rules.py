"""The rules for decoders, and the rule that a wrong output breaks."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby

from utf8_hdl import ErrorKind

from ..golden.encoder import shortest_form
from .tokens import ERROR, Fields, values_of


@dataclass(frozen=True)
class Rule:
    """A line of a scorecard."""

    #: The name, also that of ``--rule``.
    name: str
    #: The heading above it.
    group: str
    text: str
    #: The ports and fields that a core must have for the rule to apply.
    needs: tuple[str, ...] = ()


CHARACTERS, ILL_FORMED, RECOVERY = "characters", "ill-formed input", "recovery"
END, FLOW, RATE, RESET = "end of text", "flow control", "throughput", "reset and X"

IN, OUT, ENDS = "s_axis_tready", "m_axis_tready", "s_axis_tlast"

SHARED_RULES = (
    Rule("input-gaps", FLOW, "gaps in the input change nothing"),
    Rule("output-stalls", FLOW, "stalls of the consumer change nothing", (OUT,)),
    Rule("stable-output", FLOW, "an output that is not taken stays as it is", (OUT,)),
    Rule("valid-first", FLOW, "valid does not wait for ready", (OUT,)),
    Rule("no-hang", FLOW, "every input is accepted while the consumer is ready", (IN,)),
    Rule("rate-well-formed", RATE, "the promised pace on well-formed input"),
    Rule("rate-hostile", RATE, "the promised pace on hostile input"),
    Rule("reset", RESET, "a reset discards an unfinished text", ("rst",)),
    Rule("quiet-reset", RESET, "no output without an input after reset"),
    Rule("defined", RESET, "no output is X after reset (in Icarus Verilog)"),
)
"""The rules that every component has."""


def _characters(length: int) -> Rule:
    bytes_ = "1 byte" if length == 1 else f"{length} bytes"
    return Rule(f"{length}-byte", CHARACTERS, f"every character of {bytes_}")


def decoder_rules(longest_form: int) -> tuple[Rule, ...]:
    """The rules of a scorecard for a byte decoder."""
    return (
        *map(_characters, range(1, longest_form + 1)),
        Rule("mixed", CHARACTERS, "a character does not change the next one"),
        Rule("unexpected-continuation", ILL_FORMED, "80..BF without a lead byte is an error"),
        Rule("invalid-byte", ILL_FORMED, "FE and FF are errors"),
        Rule("overlong", ILL_FORMED, "a form longer than needed is an error"),
        Rule("surrogate", ILL_FORMED, "U+D800..U+DFFF are errors"),
        Rule("out-of-range", ILL_FORMED, "values above the highest are errors"),
        Rule("truncated", ILL_FORMED, "a sequence cut by another byte is an error"),
        Rule("noncharacter", ILL_FORMED, "U+FFFE and U+FFFF are errors"),
        Rule("replacement", ILL_FORMED, "the code point of an error is U+FFFD", ("error",)),
        Rule("error-kind", ILL_FORMED, "an error has the right kind", ("kind",)),
        Rule("kept-byte", RECOVERY, "the byte that reveals an error is decoded"),
        Rule("error-span", RECOVERY, "ill-formed bytes make the right number of errors"),
        Rule("length", RECOVERY, "a token has the number of its bytes", ("length",)),
        Rule("cut-by-end", END, "a sequence cut by the end of its text is an error", (ENDS,)),
        Rule("last", END, "last marks the last token of a text", (ENDS, "last")),
        Rule("new-text", END, "a text does not change the tokens of the next one", (ENDS,)),
        Rule("prompt", END, "a token does not wait for a byte that it does not need"),
        *SHARED_RULES,
    )


FIELD_RULES = {
    "code_point": "replacement",
    "kind": "error-kind",
    "length": "length",
    "last": "last",
}
"""The rule that a token breaks if only this field is wrong."""


LABELS = {kind.value: kind.label for kind in ErrorKind}
"""The label of each kind of error, by number."""


def rule_of_error(kind: int, is_last: int) -> str:
    """The rule about an error of some kind, which may be the last token of a text."""
    is_cut = is_last and kind == ErrorKind.TRUNCATED.value
    return "cut-by-end" if is_cut else LABELS[kind]


def broken_rule(
    expected: Sequence[Fields],
    actual: Sequence[Fields],
    compared: Collection[str],
    *,
    any_replacement: bool = False,
) -> str:
    """The rule that the tokens of a core break, or an empty string if they are as expected.

    - ``any_replacement``: true if an error may have any code point.
    """
    visible = [{name: token[name] for name in compared} for token in expected]
    values, others = values_of(visible), values_of(actual)
    if values == others:
        wrong = {
            name
            for value, token, other in zip(values, visible, actual, strict=True)
            for name in compared
            if token[name] != other[name]
            and not (any_replacement and name == "code_point" and value == ERROR)
        }
        if {"kind", "length"} <= wrong:  # the error covers other bytes: some were lost
            return "kept-byte"
        return next((rule for name, rule in FIELD_RULES.items() if name in wrong), "")
    pairs = enumerate(zip(values, others, strict=False))
    shortest = min(len(values), len(others))
    first = next((number for number, (one, other) in pairs if one != other), shortest)
    if _without_runs(values) == _without_runs(others):
        if {"kind", "length"} <= {*compared} and _lost_byte(expected, actual):
            return "kept-byte"
        return _rule_of_span(expected, actual, first) if "kind" in compared else "error-span"
    return _rule_at(expected, first)


def _lost_byte(expected: Sequence[Fields], actual: Sequence[Fields]) -> bool:
    """True if the core lost the byte that cut a sequence, and that byte is itself an error."""
    if _bytes_of(actual) >= _bytes_of(expected):
        return False
    fields = [[(token["kind"], token["length"]) for token in side] for side in (expected, actual)]
    pairs = enumerate(zip(*fields, strict=False))
    shortest = min(map(len, fields))
    first = next((number for number, (one, other) in pairs if one != other), shortest)
    return first > 0 and expected[first - 1]["kind"] == ErrorKind.TRUNCATED.value


def _bytes_of(tokens: Sequence[Fields]) -> int:
    return sum(token["length"] for token in tokens)


def _without_runs(values: Sequence[int]) -> list[int]:
    """The values, with each run of errors replaced by one error."""
    return [each for value, run in groupby(values) for each in ([value] if value == ERROR else run)]


def _rule_of_span(expected: Sequence[Fields], actual: Sequence[Fields], first: int) -> str:
    """The rule if only the number of errors differs, in the run before the token ``first``.

    If the first error of the run has another kind, the core detected the fault too late.
    """
    at = max(0, min(first, len(expected), len(actual)) - 1)
    while at > 0 and expected[at - 1]["error"]:
        at -= 1
    wanted, found = expected[at]["kind"], actual[at]["kind"]
    return "error-span" if wanted == found or not wanted else LABELS[wanted]


def _rule_at(expected: Sequence[Fields], first: int) -> str:
    """The rule about the token ``first``; if only extra tokens follow, about the last one."""
    if not expected:
        return "quiet-reset"
    at = min(first, len(expected) - 1)
    token, before = expected[at], expected[at - 1] if at else None
    if token["error"]:
        return rule_of_error(token["kind"], token["last"])
    if before:
        return "kept-byte" if before["error"] else "mixed"
    return f"{shortest_form(token['code_point'])}-byte"
