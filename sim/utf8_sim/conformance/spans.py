"""Policies for the span of an error, and the policy that a core follows."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from utf8_hdl import ErrorKind, ErrorSpan, Profile

from ..campaign import beginnings
from ..golden.decoder import DecoderModel, pending
from ..golden.encoder import encode_as
from ..golden.model import Outputs, feed_all
from ..trace import Columns
from .texts import Texts
from .tokens import ERROR, rows_of, values_of

GOLDEN = tuple(span.value for span in ErrorSpan)

SPANS = (
    *GOLDEN,
    "each-byte",  # one error for each byte
    "first-byte",  # one error, and none for the continuation bytes after it
    "silent",  # no error: ill-formed bytes are left out
)
"""The policies by which a core can be judged."""

SURE = 0.9
"""Fraction of the probes that must match a policy that is not the golden model's."""

SWALLOWS = "swallows"
"""A core that drops the byte that reveals an error, which no policy allows."""

UNEXPECTED = ErrorKind.UNEXPECTED_CONTINUATION.value


class SpanModel:
    """The golden model of a decoder under a policy."""

    def __init__(self, profile: Profile, span: str) -> None:
        golden = ErrorSpan(span) if span in GOLDEN else ErrorSpan.MAXIMAL_SUBPART
        self._model = DecoderModel(replace(profile, error_span=golden))
        self._span = span
        self._is_open = False  # the last output was an error that continuation bytes may join

    def feed(self, items: Columns, begins: np.ndarray) -> Outputs:
        """As :meth:`.golden.model.Transducer.feed`."""
        outputs = self._model.feed(items, begins)
        error = outputs.columns["o.error"] != 0
        if self._span == "each-byte":
            return _each_byte(outputs, np.where(error, outputs.columns["o.length"], 1))
        if self._span == "silent":
            return _selected(outputs, ~error)
        if self._span == "first-byte" and len(error):
            ends = outputs.columns["o.last"] != 0
            after_error = np.append(self._is_open, (error & ~ends)[:-1])
            self._is_open = bool(error[-1] and not ends[-1])
            return _selected(outputs, ~(after_error & (outputs.columns["o.kind"] == UNEXPECTED)))
        return outputs


def _selected(outputs: Outputs, chosen: np.ndarray) -> Outputs:
    columns = {name: column[chosen] for name, column in outputs.columns.items()}
    return Outputs(columns, outputs.brought_by[chosen], outputs.cut[chosen])


def _each_byte(outputs: Outputs, counts: np.ndarray) -> Outputs:
    """Repeat each token ``counts`` times; only the last copy keeps ``last``."""
    columns = {name: np.repeat(column, counts) for name, column in outputs.columns.items()}
    is_copy = np.ones(int(counts.sum()), dtype=bool)
    is_copy[np.cumsum(counts) - 1] = False
    columns["o.last"][is_copy] = 0
    return Outputs(columns, np.repeat(outputs.brought_by, counts), np.repeat(outputs.cut, counts))


def compared_fields(fields: Sequence[str], span: str) -> list[str]:
    """The fields that a policy defines; the golden model's policies define all."""
    undefined = {
        "each-byte": ("kind", "length"),
        "first-byte": ("kind", "length", "last"),
        "silent": ("kind", "length", "last", "error"),
    }.get(span, ())
    return [field for field in fields if field not in undefined]


def probes(profile: Profile) -> list[bytes]:
    """Ill-formed texts on which the policies differ, followed by ``AB``."""
    overlong = [encode_as(1, length) for length in range(2, profile.longest_form + 1)]
    continuations = [b"\x80", b"\x80\x80", b"\xff\x80", b"\xed\xa0\x80"]
    cut = [start for start in beginnings(profile) if start]
    return [text + b"AB" for text in [*continuations, *overlong, *cut]]


def expected_columns(text: bytes, profile: Profile, span: str) -> Columns:
    """The tokens of a text under a policy, in columns."""
    return feed_all(SpanModel(profile, span), Texts.of_bytes([text]).items)


def expected_tokens(text: bytes, profile: Profile, span: str) -> list[dict[str, int]]:
    """The tokens of a text under a policy, which may be :data:`SWALLOWS`."""
    if span == SWALLOWS:
        return _swallowing(text, profile)
    return rows_of(expected_columns(text, profile, span))


def _swallowing(text: bytes, profile: Profile) -> list[dict[str, int]]:
    tokens: list[dict[str, int]] = []
    profile = replace(profile, error_span=ErrorSpan.MAXIMAL_SUBPART)
    while text:
        token = expected_tokens(text, profile, "maximal-subpart")[0]
        size = token["length"]
        is_revealed_later = token["error"] and pending(text[:size], profile) == text[:size]
        tokens.append(token)
        text = text[size + bool(is_revealed_later) :]
    return tokens


@cache
def _values_of_probes(profile: Profile, span: str) -> list[list[int]]:
    """For each probe, the code points that a policy expects, and :data:`ERROR`."""
    return [values_of(expected_tokens(text, profile, span)) for text in probes(profile)]


class Followed(NamedTuple):
    """The policy that a core follows, and the number of probes that match it."""

    span: str
    matches: int
    probes: int


def followed_span(profile: Profile, run: Callable[[bytes], list[int]]) -> Followed:
    """The policy that matches the core on most probes.

    ``run`` decodes a text with the core: the code points, and :data:`ERROR` for errors.
    """
    texts = probes(profile)
    actual = [run(text) for text in texts]
    found = {
        span: sum(
            wanted == values
            for wanted, values in zip(_values_of_probes(profile, span), actual, strict=True)
        )
        for span in [*SPANS, SWALLOWS]
    }
    if any(ERROR in tokens for tokens in actual):
        del found["silent"]
    elif found["silent"]:
        return Followed("silent", found["silent"], len(texts))
    best = max(found, key=lambda span: found[span])
    if found[best] < SURE * len(texts):  # a core with faults matches none
        best = max(GOLDEN, key=lambda span: found[span])
    return Followed(best, found[best], len(texts))
