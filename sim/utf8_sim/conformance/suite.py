"""Runs all rules of a scorecard on a core in a simulator."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from utf8_hdl import ErrorKind, ErrorSpan, Profile
from utf8_hdl.profile import REPLACEMENT

from ..campaign import beginnings
from ..engines.engine import Engine
from ..engines.icarus import IcarusEngine
from ..golden.decoder import DecoderModel
from ..golden.encoder import encode_as
from ..golden.model import Transducer, feed_all
from ..shown import named
from ..stimulus import LAST, Piece, Stimulus
from ..tools.words import plural
from ..trace import Columns
from .bench import WATCHDOG, Bench, Manner, Outcome
from .cases import (
    characters,
    count_cases,
    decoder_pools,
    every_text,
    first_errors,
    fresh_texts,
    random_texts,
)
from .rules import FIELD_RULES, Rule, broken_rule, decoder_rules
from .scorecard import Failure, Scorecard
from .spans import (
    ERROR,
    SWALLOWS,
    Followed,
    SpanModel,
    compared_fields,
    expected_tokens,
    followed_span,
    probes,
)
from .texts import Texts, joined, len_of, part

STEADY = 16
"""Failures in a pool after which twice as many texts are left out after each."""

ALIKE = 3
"""Failures of the same kind in a pool that are shortened; the others only count."""

MAX_CONTEXT = 1 << 12
"""Texts before a text that are tried with it, if it fails only after others."""

STALL = 0.5

SEEDS = 16

NEARLY = 0.99
"""The part of the promised throughput that a run reaches whose last outputs come late."""

HELD = 64
"""Cycles for which the consumer is not ready at first."""

WITHOUT_POOLS = {
    *("input-gaps", "output-stalls", "stable-output", "valid-first"),
    *("rate-well-formed", "rate-hostile", "reset", "quiet-reset"),
}
"""Rules that have inputs of their own."""

MAX_SHOWN = 64
"""Outputs of a failure that are shown."""

Progress = Callable[[str], None]

Cuts = Callable[[Columns], Sequence[int]]
"""The numbers of inputs at which a text may be cut."""

Shorter = Callable[[list[Columns], Cuts], Iterator[list[Columns]]]
"""Texts that are shorter than some."""


class Suite(ABC):
    """The rules that every component has; a subclass adds its own.

    Parameters
    ----------
    engine : Engine
        A simulator with a :class:`.Core`.
    rate : float
        The inputs per cycle that the core promises.
    progress : callable
        Called with the name of what runs.
    """

    def __init__(
        self, engine: Engine, *, rate: float = 1.0, progress: Progress = lambda name: None
    ) -> None:
        self.engine, self._rate, self.progress = engine, rate, progress
        self.bench = Bench(engine, self.model)
        self.bench.compared = engine.design.compared
        self.bench.mask = self.mask
        self.card = Scorecard(self.rules(), engine.design.has)
        self._only: str | None = None
        # The rules that shorter inputs named, for the rule that seemed broken in a pool.
        self._causes: dict[tuple[str, str], list[str]] = {}

    #: Rules whose texts are so many that they run for no other rule.
    long: Collection[str] = ()

    @abstractmethod
    def rules(self) -> Sequence[Rule]:
        """The rules."""

    @abstractmethod
    def model(self) -> Transducer:
        """A golden model at its beginning."""

    def mask(self, expected: Columns, actual: Columns) -> Columns:
        """The expected levels, with the actual levels for don't cares."""
        return self.engine.component.mask_dont_cares(expected, actual)

    @abstractmethod
    def pools(self) -> Iterator[tuple[str, Callable[[], Texts]]]:
        """Texts that run one after the other, each with the rule that they try."""

    @abstractmethod
    def fresh(self) -> Texts:
        """Texts that run alone, each after a reset."""

    @abstractmethod
    def well_formed(self) -> Columns:
        """Inputs without errors, for the throughput."""

    @abstractmethod
    def hostile(self) -> Texts:
        """Texts with many errors, for the throughput and with stalls."""

    @abstractmethod
    def unfinished(self) -> Texts:
        """Inputs after which a text is not complete."""

    def rule_of(self, pool: str, outcome: Outcome, texts: int) -> str:
        """The rule that a failed run breaks; ``pool`` is the rule that its texts try, if known."""
        del outcome, texts
        return pool or next(iter(self.card.results))

    def cuts(self, text: Columns) -> Sequence[int]:
        """The numbers of inputs at which a text may be cut to make it shorter."""
        return range(len(text[LAST]) + 1)

    def count(self, pool: str, items: Columns) -> None:
        """Count the cases of some inputs that were decoded."""
        self.card.count(pool, int(np.count_nonzero(items[LAST])))

    # --- the run --------------------------------------------------------------------------------

    def run(self, only: str | None = None) -> Scorecard:
        """Run all rules, or those that share their inputs with one."""
        self._only = only
        with self._bench():
            for name, step in self._steps():
                if only is None or only in name.split():
                    step()
        if only is not None:
            self.card.results = {only: self.card.results[only]}
        return self.card

    def run_pieces(self, pieces: Iterator[Piece], manner: Manner) -> tuple[str, Failure]:
        """Run some texts; return the rule that they break, if any, with the outputs."""
        stimulus = Stimulus(pieces)
        texts = Texts.of_items(joined([*self.engine.items(stimulus)]))
        with self._bench():
            outcome = self.bench.run(texts.items, manner, all_of_it=True)
        rule = self._named("", outcome, len(texts)) if outcome.failed else ""
        if rule and (manner.gaps or manner.stalls):
            rule = "output-stalls" if manner.stalls else "input-gaps"
        return rule, self._failure(list(texts), outcome, manner)

    def _steps(self) -> Iterator[tuple[str, Callable[[], None]]]:
        yield " ".join({*self.card.results} - WITHOUT_POOLS), self._run_pools
        yield "input-gaps output-stalls stable-output", self._run_stalled
        yield "valid-first", self._run_held
        yield "rate-well-formed rate-hostile", self._run_rates
        yield "reset quiet-reset", self._run_resets
        yield "defined", self._run_defined

    @contextmanager
    def _bench(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.bench.close()

    def _is_wanted(self, pool: str) -> bool:
        """True if a pool may show that the only wanted rule is broken."""
        return self._only in (None, pool) or not (pool in self.long or self._only in self.long)

    def _run_pools(self) -> None:
        if "s_axis_tready" in self.bench.has:
            self.card.count("no-hang", 1)
        for name, make in self.pools():
            if self._is_wanted(name):
                self.progress(name)
                self._run_pool(name, make())
        if self._only in self.long:
            return
        self.progress("texts after a reset")
        fresh = self.fresh()
        for number in range(len(fresh)):
            self._run_pool("", fresh[number : number + 1])

    def _run_pool(self, pool: str, texts: Texts) -> None:
        """Run texts one after the other; after a failure continue with another text."""
        begins = texts.begins
        first = failures = 0
        while first < len(texts):
            items = texts[first:].items
            outcome = self.bench.run(items)
            if not outcome.failed:
                self.count(pool, items)
                self._learn_patience(outcome)
                return
            at = int(outcome.accepted if outcome.problem == "hang" else outcome.item)
            failing = int(np.searchsorted(begins, begins[first] + at, "right")) - 1
            failing = min(failing, len(texts) - 1)
            self.count(pool, part(items, slice(begins[failing + 1] - begins[first])))
            self._isolate(pool, texts[first : failing + 1])
            failures += 1
            first = failing + (1 << failures // STEADY)

    def _learn_patience(self, outcome: Outcome) -> None:
        """After long runs, the silence after which a run is over follows from the core's pace."""
        if outcome.accepted > WATCHDOG:
            pace = outcome.cycles // outcome.accepted + 1
            self.bench.patience = min(WATCHDOG, 16 * pace + 4 * outcome.lag)

    def _isolate(self, pool: str, texts: Texts, manner: Manner | None = None) -> None:
        """Find the shortest end of some texts that fails, and record the failure."""
        count = 1
        while True:
            some = list(texts[max(0, len(texts) - count) :])
            outcome = self.bench.run(joined(some), manner, all_of_it=True)
            if outcome.failed or count >= min(len(texts), MAX_CONTEXT):
                break
            count *= 2
        if not outcome.failed:
            some, outcome = [texts.items], self.bench.run(texts.items, manner, all_of_it=True)
        if not outcome.failed:
            return
        rule = self._named(pool, outcome, len(some))
        causes = self._causes.setdefault((pool, rule), [])
        if len(causes) == ALIKE and len(set(causes)) == 1:
            self.card.fail(causes[0])
            return
        if manner is None:
            # Inside a text, what is left out must not change the rule: else one fault of a core
            # with several would hide the others.
            some, outcome = self._shortened(_without_ends, pool, "", some, outcome)
            rule = self._named(pool, outcome, len(some))
            some, outcome = self._shortened(_without_parts, pool, rule, some, outcome)
        rule = self._named(pool, outcome, len(some))
        del causes[: len(causes) - ALIKE + 1]
        causes.append(rule)
        self._record(rule, some, outcome, manner)

    def _named(self, pool: str, outcome: Outcome, texts: int) -> str:
        """The rule that a failed run breaks."""
        if outcome.problem == "undefined":
            return "defined"
        if outcome.problem == "hang" and outcome.wrong is None:
            return "no-hang" if "no-hang" in self.card.results else pool
        return self.rule_of(pool, outcome, texts)

    def _shortened(
        self, shorter: Shorter, pool: str, rule: str, texts: list[Columns], outcome: Outcome
    ) -> tuple[list[Columns], Outcome]:
        """Leave out texts and inputs while a rule is broken: the given one, or any."""
        found = True
        while found:
            found = False
            for tried in shorter(texts, self.cuts):
                result = self.bench.run(joined(tried), all_of_it=True)
                if result.failed and rule in ("", self._named(pool, result, len(tried))):
                    texts, outcome, found = tried, result, True
                    break
        return texts, outcome

    def _record(
        self, rule: str, texts: list[Columns], outcome: Outcome, manner: Manner | None
    ) -> None:
        self.card.fail(rule, self._failure(texts, outcome, manner or Manner()))

    def _failure(self, texts: list[Columns], outcome: Outcome, manner: Manner) -> Failure:
        expected, actual = (self.shown(side) for side in (outcome.expected, outcome.actual))
        return Failure(
            texts, expected, actual, outcome.message, manner.gaps, manner.stalls, manner.seed
        )

    def shown(self, outputs: Columns) -> list[str]:
        """Outputs for humans, with the fields that the core has."""
        show = self.engine.component.show_result
        rows = zip(*(column[:MAX_SHOWN].tolist() for column in outputs.values()), strict=True)
        return [show(dict(zip(outputs, row, strict=True))) for row in rows]

    # --- flow control ---------------------------------------------------------------------------

    def _run_stalled(self) -> None:
        """The texts that pass at full rate must pass with gaps and stalls."""
        self.progress("gaps and stalls")
        texts = sorted((text for text in self.hostile() if not self._fails(text)), key=len_of)
        # If a text changes what the next one gives, each runs alone.
        whole = texts and [joined(texts)]
        runs = texts if texts and self._fails(whole[0]) else whole
        manners = {"input-gaps": Manner(gaps=STALL)}
        if "m_axis_tready" in self.bench.has:
            manners["output-stalls"] = Manner(stalls=STALL)
        for rule, manner in manners.items():
            if not texts:
                self.card.results[rule].missing = "no text passes without them"
                continue
            self.card.count(rule, len(texts))
            outcomes = [self.bench.run(items, manner) for items in runs]
            if any(outcome.failed for outcome in outcomes):
                self._isolate_stalled(rule, texts, manner)
            if manner.stalls:
                self.card.count("stable-output", len(texts))
                if unstable := sum(outcome.unstable for outcome in outcomes):
                    note = f"an output changed in {unstable} cycles before it was taken"
                    outcome = replace(Outcome(), message=note)
                    self._record("stable-output", texts[:1], outcome, manner)

    def _fails(self, items: Columns) -> bool:
        return self.bench.run(items).failed

    def _isolate_stalled(self, rule: str, texts: list[Columns], manner: Manner) -> None:
        for text in texts:  # the shortest first
            for seed in range(SEEDS):
                seeded = replace(manner, seed=seed)
                outcome = self.bench.run(text, seeded, all_of_it=True)
                if outcome.failed:
                    self._record(rule, [text], outcome, seeded)
                    return
        outcome = self.bench.run(joined(texts), manner, all_of_it=True)
        self._record(rule, texts, outcome, manner)

    def _run_held(self) -> None:
        """An output appears while the consumer is not ready."""
        if "m_axis_tready" not in self.bench.has:
            return
        self.card.count("valid-first", 1)
        text = self.well_formed()
        outcome = self.bench.run(text, Manner(held=HELD))
        if not outcome.early:
            note = f"valid was low for {HELD} cycles in which ready was low"
            self._record(
                "valid-first", [part(text, slice(8))], replace(outcome, message=note), None
            )

    # --- throughput -----------------------------------------------------------------------------

    def _run_rates(self) -> None:
        self.progress("throughput")
        inputs = {"rate-well-formed": self.well_formed(), "rate-hostile": self.hostile().items}
        for rule, items in inputs.items():
            outcome = self.bench.run(items, all_of_it=True)
            moved = {"inputs": outcome.accepted, "outputs": len_of(outcome.actual)}
            busier = max(moved, key=lambda side: moved[side])
            pace = moved[busier] / max(outcome.cycles, 1)
            result = self.card.results[rule]
            result.measured = f"{min(pace, 1):.3f} {busier} per cycle"
            self.card.count(rule, outcome.accepted)
            if pace < self._rate * NEARLY:
                note = f"{result.measured}, promised {self._rate:g}"
                self._record(rule, [], replace(Outcome(), message=note), None)

    # --- reset and X ----------------------------------------------------------------------------

    def _run_resets(self) -> None:
        self.progress("resets")
        outcome = self.bench.run(part(self.well_formed(), slice(1)))
        self.card.count("quiet-reset", 1)
        if outcome.early:
            note = f"valid was high in {outcome.early} of 8 cycles after reset, without an input"
            self._record("quiet-reset", [], replace(Outcome(), message=note), None)
        if "rst" not in self.bench.has:
            return
        text = part(self.well_formed(), slice(4))
        if self.bench.run(text).failed:
            self.card.results["reset"].missing = "no text passes"
            return
        for before in self.unfinished():
            self.card.count("reset", 1)
            outcome = self.bench.run(text, Manner(before=before), all_of_it=True)
            if outcome.failed:
                note = f"after {self.words(before)} without an end, and a reset"
                self._record("reset", [text], replace(outcome, message=note), None)
                return

    def words(self, items: Columns) -> str:
        """Inputs for humans."""
        pins = self.engine.interface.inputs
        return " ".join(f"{int(v):02X}" for v in np.ravel(items[pins[0].name])[:16])

    def _run_defined(self) -> None:
        """In Icarus Verilog, every run above has failed if an output was undefined."""
        if isinstance(self.engine, IcarusEngine):
            self.card.count("defined", 1)
        elif not self.card.results["defined"].failed:
            self.card.results["defined"].missing = "only Icarus Verilog has X"


def _without_ends(texts: list[Columns], cuts: Cuts) -> Iterator[list[Columns]]:
    """The same without some texts, or without the beginning or the end of a text."""
    if len(texts) > 1:
        for number in range(len(texts)):
            yield texts[:number] + texts[number + 1 :]
    for number, text in enumerate(texts):
        places = cuts(text)
        size = (len(places) - 1) // 2
        while size:
            for rows in (slice(places[size], None), slice(places[-1 - size])):
                yield [*texts[:number], _ended_as(text, part(text, rows)), *texts[number + 1 :]]
            size //= 2


def _without_parts(texts: list[Columns], cuts: Cuts) -> Iterator[list[Columns]]:
    """The same without a part of a text: first large parts, then small ones."""
    for number, text in enumerate(texts):
        places = cuts(text)
        chunk = (len(places) - 1) // 2
        while chunk:
            for first in range(0, len(places) - 1, chunk):
                kept = np.ones(len(text[LAST]), dtype=bool)
                kept[places[first] : places[min(first + chunk, len(places) - 1)]] = False
                if kept.any():
                    shorter = {name: column[kept] for name, column in text.items()}
                    yield [*texts[:number], _ended_as(text, shorter), *texts[number + 1 :]]
            chunk //= 2


def _ended_as(text: Columns, shorter: Columns) -> Columns:
    """A shorter text with the end of the longer one."""
    last = shorter[LAST].copy()
    last[-1] = text[LAST][-1]
    return shorter | {LAST: last}


class DecoderSuite(Suite):
    """The scorecard of a byte decoder.

    ``span`` is the policy about the span of an error: a name of :data:`.SPANS`, or ``auto``.
    """

    def __init__(
        self, engine: Engine, *, span: str = "auto", exhaustive: int = 0, **options: Any
    ) -> None:
        self._profile: Profile = replace(engine.profile, error_span=ErrorSpan.MAXIMAL_SUBPART)
        self._span = "maximal-subpart" if span == "auto" else span
        self._asked, self._exhaustive = span, exhaustive
        self._masks_errors = False
        self.long = [f"{length}-byte" for length in range(1, self._profile.longest_form + 1)]
        super().__init__(engine, **options)

    def rules(self) -> Sequence[Rule]:
        return decoder_rules(self._profile.longest_form)

    def model(self) -> SpanModel:
        return SpanModel(self._profile, self._span)

    def mask(self, expected: Columns, actual: Columns) -> Columns:
        if not self._masks_errors:
            return expected
        values = np.where(
            expected["o.error"] != 0, actual["o.code_point"], expected["o.code_point"]
        )
        return expected | {"o.code_point": values}

    def run(self, only: str | None = None) -> Scorecard:
        self._judge()
        return super().run(only)

    def run_pieces(self, pieces: Iterator[Piece], manner: Manner) -> tuple[str, Failure]:
        if self._asked == "auto":
            self._judge()
        else:
            self._compare()
        return super().run_pieces(pieces, manner)

    def _judge(self) -> None:
        """Find the policy that the core follows, and the fields that it defines."""
        with self._bench():
            followed = self.followed()
        self.card.follows = f"{followed.span} ({followed.matches} of {followed.probes} probes)"
        known = "maximal-subpart" if followed.span == SWALLOWS else followed.span
        if self._asked not in ("auto", known):
            with self._bench():
                self._run_pool("error-span", self._texts(probes(self._profile)))
        if self._asked == "auto" or self.card.results["error-span"].failed:
            self._span = known  # else this difference would hide all others
        self.card.judged_by = self._span
        self._compare()

    def _compare(self) -> None:
        """Compare only the fields that the policy defines."""
        names = [name.removeprefix("o.") for name in self.bench.compared]
        fields = compared_fields(names, self._span)
        for name in set(names) - set(fields):
            if rule := FIELD_RULES.get(name):
                self.card.results[rule].missing = f"undefined for the error span {self._span}"
        self.bench.compared = [f"o.{name}" for name in fields]

    def followed(self) -> Followed:
        """The policy that the core follows."""
        has_error = "o.error" in self.bench.compared

        def run(text: bytes) -> list[int]:
            taken = self.bench.run(Texts.of_bytes([text]).items, all_of_it=True).actual
            if not taken:
                return []
            values = taken["o.code_point"].astype(np.int64)
            errors = taken["o.error"] != 0 if has_error else values == REPLACEMENT
            return np.where(errors, ERROR, values).tolist()

        return followed_span(self._profile, run)

    def shown(self, outputs: Columns) -> list[str]:
        """Tokens, as far as the core has their fields."""
        compared = {name.removeprefix("o.") for name in self.bench.compared}
        return [show_fields(row, compared) for row in _rows(outputs)[:MAX_SHOWN]]

    def _texts(self, texts: Sequence[bytes]) -> Texts:
        """Texts as inputs; without an end of text, an ``A`` reveals an unfinished sequence."""
        if "s_axis_tlast" not in self.bench.has:
            texts = [text + b"A" for text in texts]
        return Texts.of_bytes(texts)

    def pools(self) -> Iterator[tuple[str, Callable[[], Texts]]]:
        for length in range(1, self._profile.longest_form + 1):
            yield f"{length}-byte", partial(self._characters, length)
        for pool in decoder_pools(self._profile):
            yield pool.name, partial(self._texts, pool.texts)
        for length in range(1, self._exhaustive + 1):
            for texts in every_text(length):
                yield f"every text of {plural(length, 'byte')}", partial(self._texts, texts)
        yield "prompt", self._prompt

    def _characters(self, length: int) -> Texts:
        return self._texts(characters(self._profile, length))

    def _prompt(self) -> Texts:
        """Texts without an end, whose last byte decides a token."""
        texts = [encode_as(value) for value in (0x41, 0xE9, 0x20AC, 0x1F600)]
        texts = [text for text in texts if len(text) <= self._profile.longest_form]
        return Texts.of_bytes([*texts, b"\x80", b"\xc0"]).without_ends()

    def _run_pool(self, pool: str, texts: Texts) -> None:
        if pool != "prompt":
            super()._run_pool(pool, texts)
            return
        for text in texts:  # each alone: nothing follows it
            self.card.count("prompt", 1)
            outcome = self.bench.run(text, all_of_it=True)
            complete = text | {LAST: np.append(text[LAST][:-1], np.uint8(1))}
            if outcome.failed and not self.bench.run(complete).failed:
                self._record("prompt", [text], outcome, None)

    def fresh(self) -> Texts:
        return self._texts(fresh_texts(self._profile))

    def hostile(self) -> Texts:
        return self._texts(random_texts(self._profile, 1))

    def well_formed(self) -> Columns:
        text = "aé€😀".encode() if self._profile.longest_form > 3 else "aé€".encode()
        return Texts.of_bytes([text[:1] + text * 256]).items

    def unfinished(self) -> Texts:
        starts = [start for start in beginnings(self._profile) if start]
        return Texts.of_bytes(starts).without_ends()

    def cuts(self, text: Columns) -> Sequence[int]:
        """The ends of the golden model's tokens: what is left tries no other rule."""
        tokens = expected_tokens(bytes(text["i.data"]), self._profile, "maximal-subpart")
        return [0, *accumulate(token["length"] for token in tokens)]

    def count(self, pool: str, items: Columns) -> None:
        if len(items[LAST]):
            self._count_tokens(items)

    def _count_tokens(self, items: Columns) -> None:
        for rule, cases in count_cases(
            feed_all(DecoderModel(self._profile), items), self._profile
        ).items():
            self.card.count(rule, cases)

    def rule_of(self, pool: str, outcome: Outcome, texts: int) -> str:
        if texts > 1 and "s_axis_tlast" in self.bench.has:
            return "new-text"
        fields = [name.removeprefix("o.") for name in self.bench.compared]
        expected, actual = _rows(outcome.expected), _rows(outcome.actual)
        if self._span == "silent":
            text = bytes(outcome.inputs["i.data"])
            if (error := first_errors([text], self._profile)[0]) != "mixed":
                if len(actual) < len(expected):
                    return "kept-byte"
                has_ends = "s_axis_tlast" in self.bench.has
                return error if has_ends or error != "cut-by-end" else "truncated"
        rule = broken_rule(expected, actual, fields, any_replacement=self._masks_errors)
        return rule or "mixed"

    def _record(
        self, rule: str, texts: list[Columns], outcome: Outcome, manner: Manner | None
    ) -> None:
        super()._record(rule, texts, outcome, manner)
        # A field that is wrong is not compared any more, so that it hides no other failure.
        if rule == "replacement":
            self._masks_errors = True
        for name, broken in FIELD_RULES.items():
            if rule == broken and name != "code_point":
                self.bench.compared = [pin for pin in self.bench.compared if pin != f"o.{name}"]


def show_fields(token: dict[str, int], compared: Collection[str]) -> str:
    """A token for humans, with some of its fields."""
    value = token["code_point"]
    if token["error"] and "error" in compared:
        kind = f" {ErrorKind(token['kind']).label}" if "kind" in compared else ""
        words = f"error{kind}" + (f" with U+{value:04X}" if value != REPLACEMENT else "")
    else:
        words = named(value)
    if "length" in compared:
        words += f" ({plural(token['length'], 'byte')})"
    return words + " last" * ("last" in compared and token["last"])


def _rows(outputs: Columns) -> list[dict[str, int]]:
    """Outputs as dictionaries of their fields."""
    names = [name.removeprefix("o.") for name in outputs]
    rows = zip(*(column.tolist() for column in outputs.values()), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]
