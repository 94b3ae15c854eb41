"""The scorecard of a byte decoder."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from itertools import accumulate
from typing import Any

import numpy as np

from utf8_hdl import ErrorSpan, Profile

from ..campaign import beginnings, hostile_texts
from ..engines.engine import Engine
from ..golden.decoder import DecoderModel
from ..golden.encoder import encode_as
from ..golden.model import feed_all
from ..stimulus import LAST, Piece
from ..tools.words import plural
from ..trace import Columns
from .bench import Drive, Outcome
from .cases import (
    characters,
    count_cases,
    first_errors,
    fresh_texts,
    hostile_by_rule,
    mixed,
)
from .rules import FIELD_RULES, Rule, broken_rule, decoder_rules
from .runner import MAX_SHOWN
from .scorecard import Failure, Scorecard
from .spans import (
    SURE,
    SWALLOWS,
    SpanModel,
    compared_fields,
    expected_tokens,
    followed_span,
    probes,
)
from .suite import Pool, Suite
from .texts import Texts
from .tokens import rows_of, show_fields, values_of

TEXTS_AT_ONCE = 1 << 16
"""Number of texts in a pool of an exhaustive run."""


@cache
def _characters(profile: Profile, length: int, end: bytes) -> Texts:
    """Every character of a length, each followed by an end."""
    return Texts.of_bytes([text + end for text in characters(profile, length)])


def _numbered(numbers: range, length: int, end: bytes) -> Texts:
    """The texts whose bytes are big-endian numbers of a length, each followed by an end."""
    integers = np.arange(numbers.start, numbers.stop, dtype=">u4")
    data = np.empty((len(numbers), length + len(end)), dtype=np.uint8)
    data[:, :length] = integers.view(np.uint8).reshape(-1, 4)[:, -length:]
    data[:, length:] = [*end]
    last = np.zeros_like(data)
    last[:, -1] = 1
    begins = np.arange(len(numbers) + 1) * data.shape[1]
    return Texts({"i.data": data.ravel(), LAST: last.ravel()}, begins)


class DecoderSuite(Suite):
    """The scorecard of a byte decoder.

    ``span`` is the policy about the span of an error: a name of :data:`.SPANS`, or ``auto``.
    """

    def __init__(
        self, engine: Engine, *, span: str = "auto", exhaustive: int = 0, **options: Any
    ) -> None:
        self._profile: Profile = replace(engine.profile, error_span=ErrorSpan.MAXIMAL_SUBPART)
        self._span = "maximal-subpart" if span == "auto" else span
        self._requested, self._exhaustive = span, exhaustive
        self._any_replacement = False
        self.long = [f"{length}-byte" for length in range(1, self._profile.longest_form + 1)]
        super().__init__(engine, **options)
        for rule, is_accepted in (
            ("surrogate", self._profile.accept_surrogates),
            ("noncharacter", self._profile.accept_noncharacters),
        ):
            if is_accepted:
                self.card.results[rule].missing = "the profile accepts them"

    def rules(self) -> Sequence[Rule]:
        return decoder_rules(self._profile.longest_form)

    def model(self) -> SpanModel:
        return SpanModel(self._profile, self._span)

    def mask(self, expected: Columns, actual: Columns) -> Columns:
        if not self._any_replacement:
            return expected
        values = np.where(
            expected["o.error"] != 0, actual["o.code_point"], expected["o.code_point"]
        )
        return expected | {"o.code_point": values}

    def run(self, only: str | None = None) -> Scorecard:
        self._detect_span()
        return super().run(only)

    def run_input(self, pieces: Iterable[Piece], drive: Drive) -> tuple[str, Failure]:
        if self._requested == "auto":
            self._detect_span()
        else:
            self._compare_defined_fields()
        return super().run_input(pieces, drive)

    def _detect_span(self) -> None:
        """Find the policy that the core follows, and the fields that it defines."""
        with closing(self.bench):
            followed = followed_span(self._profile, self._values)
            known = "maximal-subpart" if followed.span == SWALLOWS else followed.span
            if self._requested not in ("auto", known):
                self.run_pool("error-span", self._texts(probes(self._profile)))
        if self._requested == "auto" or self.card.results["error-span"].failed:
            self._span = known  # otherwise, this would hide all other differences
        share = f"{followed.matches} of {followed.probes} probes"
        is_sure = followed.matches >= SURE * followed.probes
        closest = f"{followed.span} ({share})"
        self.card.follows = closest if is_sure else f"no known policy; the closest is {closest}"
        self.card.judged_by = self._span
        self._compare_defined_fields()

    def _values(self, text: bytes) -> list[int]:
        """The core's code points of a text, and :data:`.ERROR`."""
        tokens = rows_of(self.bench.run(Texts.of_bytes([text]).items, to_end=True).actual)
        return values_of([{name: token[name] for name in self._compared} for token in tokens])

    @property
    def _compared(self) -> list[str]:
        """The fields that are compared."""
        return [name.removeprefix("o.") for name in self.bench.compared]

    def _compare_defined_fields(self) -> None:
        fields = compared_fields(self._compared, self._span)
        for name in {*self._compared} - {*fields}:
            if rule := FIELD_RULES.get(name):
                self.card.results[rule].missing = f"undefined for the error span {self._span}"
        self.bench.compared = [f"o.{name}" for name in fields]

    def failure(self, texts: Collection[Columns], outcome: Outcome) -> Failure:
        return replace(super().failure(texts, outcome), span=self._span)

    def format_outputs(self, outputs: Columns) -> list[str]:
        return [show_fields(row, self._compared) for row in rows_of(outputs)[:MAX_SHOWN]]

    def _texts(self, texts: Iterable[bytes]) -> Texts:
        """Texts as inputs."""
        end = self._end
        return Texts.of_bytes([text + end for text in texts])

    @property
    def _end(self) -> bytes:
        """The end of each text: without ``last``, an ``A`` ends its unfinished sequence."""
        return b"" if "s_axis_tlast" in self.bench.has else b"A"

    def pools(self) -> Iterator[Pool]:
        profile = self._profile
        for length in range(1, profile.longest_form + 1):
            yield f"{length}-byte", partial(_characters, profile, length, self._end)
        yield "mixed", lambda: self._texts(mixed(profile))
        for rule, texts in hostile_by_rule(profile).items():
            yield rule, partial(self._texts, texts)
        yield "kept-byte", lambda: self._texts(hostile_texts(profile, 0))
        for length in range(1, self._exhaustive + 1):
            for first in range(0, 256**length, TEXTS_AT_ONCE):
                numbers = range(256**length)[first : first + TEXTS_AT_ONCE]
                make = partial(_numbered, numbers, length, self._end)
                yield f"every text of {plural(length, 'byte')}", make
        yield "prompt", self._prompt

    def _prompt(self) -> Texts:
        """Texts without ``last`` whose last byte completes a token."""
        texts = [encode_as(value) for value in (0x41, 0xE9, 0x20AC, 0x1F600)]
        texts = [text for text in texts if len(text) <= self._profile.longest_form]
        return Texts.of_bytes([*texts, b"\x80", b"\xc0"]).without_ends()

    def run_pool(self, pool: str, texts: Texts) -> None:
        if pool != "prompt":
            super().run_pool(pool, texts)
            return
        for text in texts:  # each alone, because no byte may follow it
            outcome = self.bench.run(text, to_end=True)
            complete = text | {LAST: np.append(text[LAST][:-1], np.uint8(1))}
            if outcome.failed and self.fails(complete):
                continue
            self.card.count("prompt", 1)
            if outcome.failed:
                self.record("prompt", [text], outcome)

    def fresh(self) -> Iterator[tuple[str, Texts]]:
        texts = self._texts(fresh_texts(self._profile))
        for number in range(len(texts)):
            yield "", texts[number : number + 1]

    def hostile(self) -> Texts:
        return self._texts(hostile_texts(self._profile, 1))

    def well_formed(self) -> Columns:
        text = "aé€😀".encode() if self._profile.longest_form > 3 else "aé€".encode()
        return Texts.of_bytes([text[:1] + text * 256]).items

    def unfinished(self) -> Texts:
        starts = [start for start in beginnings(self._profile) if start]
        return Texts.of_bytes(starts).without_ends()

    def cuts(self, text: Columns) -> Sequence[int]:
        """The ends of the golden model's tokens, so that a shorter text tests no other rule."""
        tokens = expected_tokens(bytes(text["i.data"]), self._profile, "maximal-subpart")
        return [0, *accumulate(token["length"] for token in tokens)]

    def count(self, pool: str, items: Columns) -> None:
        if len(items[LAST]):
            tokens = feed_all(DecoderModel(self._profile), items)
            for rule, cases in count_cases(tokens, self._profile).items():
                self.card.count(rule, cases)

    def rule_of(self, pool: str, outcome: Outcome, texts: int) -> str:
        has_ends = "s_axis_tlast" in self.bench.has
        if texts > 1 and has_ends:
            return "new-text"
        expected = rows_of(outcome.expected)
        actual = rows_of({name: outcome.actual[name] for name in self.bench.compared})
        if self._span == "silent":  # the tokens do not show the error
            [error] = first_errors([bytes(outcome.inputs["i.data"])], self._profile)
            if error != "mixed":
                if len(actual) < len(expected):
                    return "kept-byte"
                return error if has_ends or error != "cut-by-end" else "truncated"
        options = {"any_replacement": self._any_replacement}
        return broken_rule(expected, actual, self._compared, **options) or "mixed"

    def record(self, rule: str, texts: Collection[Columns], outcome: Outcome) -> None:
        super().record(rule, texts, outcome)
        # A wrong field is no longer compared: it would hide other failures.
        if rule == "replacement":
            self._any_replacement = True
        else:
            compared = [name for name in self._compared if FIELD_RULES.get(name) != rule]
            self.bench.compared = [f"o.{name}" for name in compared]
