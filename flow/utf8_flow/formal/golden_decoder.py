"""Compare the golden model of the decoder with its specification.

The tokens of a byte depend only on the byte, ``last``, and the pending bytes. So this walks the
tree of all sequences that can be pending, and tries bytes after each of them, with and without
``last``. For model and specification this shows:

- Both have the same tokens, with the same fields.
- Then both have the same bytes pending: none, the byte, or the pending bytes and the byte.
- Nothing else has an effect. The model's state is then that of a new model that is fed the pending
  bytes. The specification's registers for other bytes are unknown throughout, and still the tokens
  are known.

By induction the tokens are the same for every text of the bytes tried, of any length and after any
texts.

Pending sequences are made of all 256 bytes in ``unicode`` and ``ucs2``; in profiles with longer
forms, of one byte of each class. Classes begin where the campaign's classes do, and at each bound
in the specification's tables. After up to two pending bytes, all 256 bytes are tried. After more,
the continuation bytes of pending sequences are tried, and one byte of each class.
"""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from amaranth.hdl import Cat, Value

from utf8_hdl import ErrorKind, Profile
from utf8_sim.campaign import byte_classes
from utf8_sim.golden.decoder import (
    FAULT,
    LEAD,
    PENDING,
    STATE_SIZE,
    TWO_TOKENS,
    VALUE,
    DecoderModel,
    Rules,
    decode_byte,
    is_continuation,
)
from utf8_sim.golden.kernels import integers, kernel
from utf8_sim.tools.words import plural

from .bench import Bench
from .specification import DecoderSpecification, ill_formed, well_formed
from .ternary import Answers, Asked, Bits

BYTES = range(256)

WHOLE_FORM = 4
"""Up to this longest form, every byte is a class of its own."""

SHALLOW = 2
"""After up to this number of pending bytes, all bytes are tried, not only one of each class."""

AT_ONCE = 1 << 16
"""Maximum number of steps that are evaluated at the same time."""

FIELDS = {"code_point": 0, "error": 42, "kind": 43, "length": 46, "last": 50}
COMES = 51
"""Bit positions in a token's number: of its fields, and of its valid bit. 0 means no token."""

UNCLEAR = np.uint64((1 << 64) - 1)
"""Marks an answer that depends on more than the step."""


class Steps(NamedTuple):
    """Each pending sequence with each byte tried after it, without and with ``last``.

    All pending sequences have the same length. Answers have a row for each step: the token that
    ends before the byte and the token that ends with it, as numbers; and the number of bytes that
    are then pending, which are the last bytes of the text.
    """

    pending: list[bytes]
    tried: Sequence[int]

    def texts(self) -> np.ndarray:
        """A row for each step: the pending bytes, and the byte."""
        count, length = len(self.pending), len(self.pending[0])
        rows = np.empty((count, len(self.tried), 2, length + 1), dtype=np.uint8)
        before = np.frombuffer(b"".join(self.pending), dtype=np.uint8)
        rows[..., :-1] = before.reshape(count, 1, 1, length)
        rows[..., -1] = np.array(self.tried, dtype=np.uint8)[:, np.newaxis]
        return rows.reshape(-1, length + 1)

    def lasts(self) -> np.ndarray:
        return np.tile(np.array([0, 1], dtype=np.uint8), len(self.pending) * len(self.tried))


class Specification:
    """The answers of the specification."""

    def __init__(self, profile: Profile) -> None:
        bench = Bench(profile, {})
        decoder = DecoderSpecification(bench.model, profile)
        bench.m.d.comb += [decoder.accept.eq(1), decoder.item.eq(bench.free(9, "item"))]
        values = [
            {COMES: decoder.cuts, **_fields(decoder.cut)},
            {COMES: decoder.ends, **_fields(decoder.end)},
            dict(enumerate(Cat(decoder.pending))),
            dict(enumerate(Cat(*decoder.sequence))),
        ]
        self._asked = Asked(bench, values)
        *self._tokens, self._count, self._sequence = self._asked.numbers
        self._next_count = self._asked.following(self._count)
        self._next_sequence = self._asked.following(self._sequence)

    def __call__(self, steps: Steps) -> np.ndarray:
        texts, lasts = steps.texts(), steps.lasts()
        pending = texts.shape[1] - 1
        inputs = {f"item[{bit}]": texts[:, -1] >> bit & 1 for bit in range(8)} | {"item[8]": lasts}
        registers = {
            literal: np.full_like(lasts, pending >> bit & 1) for bit, literal in self._count.items()
        }
        for bit, literal in self._sequence.items():
            if bit < 8 * pending:
                registers[literal] = texts[:, bit // 8] >> bit % 8 & 1
        answers = self._asked.answers(inputs, registers)
        columns = [_tokens(answers, bits) for bits in self._tokens]
        return np.stack([*columns, self._left(answers, texts)], axis=1)

    def _left(self, answers: Answers, texts: np.ndarray) -> np.ndarray:
        """The number of bytes then pending, if they end the text; else `UNCLEAR`."""
        rows, length = texts.shape
        left = answers.numbers(self._next_count)
        settled = answers.known(self._next_count) & ((left <= 1) | (left == length))
        kept = answers.numbers(self._next_sequence).view(np.uint8).reshape(rows, 8)
        for few in {1, length}:
            own = (kept[:, :few] == texts[:, length - few :]).all(axis=1)
            bits = {at: bit for at, bit in self._next_sequence.items() if at < 8 * few}
            settled &= (left != few) | (own & answers.known(bits))
        return np.where(settled, left, UNCLEAR)


def _fields(token: Any) -> dict[int, Value]:
    """The bits of a token, by their positions in its number."""
    fields = ((at, Value.cast(token[name])) for name, at in FIELDS.items())
    return {at + n: bit for at, value in fields for n, bit in enumerate(value)}


def _tokens(answers: Answers, bits: Bits) -> np.ndarray:
    """The numbers of tokens with these bits; 0 for no token."""
    token = np.where(answers.known(bits), answers.numbers(bits), UNCLEAR)
    return np.where(answers.high(bits[COMES] ^ 1), np.uint64(0), token)


class Model:
    """The answers of the golden model. All steps are in one run, with a reset before each."""

    def __init__(self, profile: Profile) -> None:
        self._profile, self._rules = profile, Rules.of(profile)

    def __call__(self, steps: Steps) -> np.ndarray:
        texts, lasts = steps.texts(), steps.lasts()
        size, length = texts.shape
        is_last = np.zeros_like(texts)
        is_last[:, -1] = lasts
        begins = np.zeros(texts.size, dtype=bool)
        begins[::length] = True
        items = {"i.data": texts.ravel(), "i.last": is_last.ravel()}
        found = DecoderModel(self._profile).feed(items, begins)
        chosen = found.brought_by % length == length - 1
        tokens = np.full(np.count_nonzero(chosen), 1 << COMES, dtype=np.uint64)
        for name, at in FIELDS.items():
            tokens |= found.columns[f"o.{name}"][chosen].astype(np.uint64) << np.uint64(at)
        answers = np.zeros((size, 3), dtype=np.uint64)
        step, cut = found.brought_by[chosen] // length, found.cut[chosen]
        np.add.at(answers, (step, 1 - cut), tokens)
        answers[:, 2] = self._left(texts, lasts)
        return answers

    def _left(self, texts: np.ndarray, lasts: np.ndarray) -> np.ndarray:
        """The number of bytes then pending, if they end the text; else `UNCLEAR`."""
        size, length = texts.shape
        numbers = np.zeros(STATE_SIZE, np.int64), np.zeros(TWO_TOKENS, np.int64)
        left = np.empty(size, dtype=np.int64)
        given = integers(texts), integers(lasts), length
        pending_after.run(texts.size, self._rules, *numbers, *given, left)
        return np.where(left >= 0, left.view(np.uint64), UNCLEAR)


@kernel
def pending_after(rules, state, two, texts, lasts, length, left):  # type: ignore[no-untyped-def]
    """Fill in the number of bytes pending after each text, or -1 if other bytes affect the state.

    While no byte is pending, the other numbers of the state are never read.
    """
    for row in range(len(lasts)):
        state[PENDING] = 0
        for place in range(length):
            last = lasts[row] if place == length - 1 else 0
            decode_byte(state, texts[row * length + place], last, rules, two)
        left[row] = state[PENDING]
        if 1 < state[PENDING] < length:
            left[row] = -1
        elif state[PENDING] == 1:
            lead, value, fault = state[LEAD], state[VALUE], state[FAULT]
            state[PENDING] = 0
            decode_byte(state, texts[row * length + length - 1], 0, rules, two)
            if not (lead == state[LEAD] and value == state[VALUE] and fault == state[FAULT]):
                left[row] = -1


def classes_of(profile: Profile) -> list[range]:
    """The 256 bytes, divided where the meaning changes for the model or the specification."""
    cuts = {members.start for members in byte_classes(profile)} | {256}
    for row in [*well_formed(profile), *(row for _, row in ill_formed(profile))]:
        cuts |= {edge for bounds in row for edge in (bounds.start, bounds.stop)}
    return [range(*pair) for pair in pairwise(sorted(cuts))]


def one_of_each(profile: Profile) -> list[int]:
    """The middle byte of each class."""
    return [members[len(members) // 2] for members in classes_of(profile)]


def walk(profile: Profile, alphabet: Sequence[int] = ()) -> tuple[Counter[str], str]:
    """Walk the tree of pending sequences, of ``alphabet`` or as in the module's docstring.

    Returns counts, and the first difference in words, or an empty string. A difference ends the
    walk; it is in one of the shortest texts with a difference.
    """
    if not alphabet:
        alphabet = BYTES if profile.longest_form <= WHOLE_FORM else one_of_each(profile)
    specification = Specification(profile)
    model = Model(profile)
    deep = sorted({*filter(is_continuation, alphabet), *one_of_each(profile)})
    done, difference = Counter[str](), ""
    waiting = deque([[b""]])
    while waiting and not difference:
        pending = waiting.popleft()
        steps = Steps(pending, BYTES if len(pending[0]) <= SHALLOW else deep)
        expected = specification(steps)
        done += Counter({"sequences": len(pending), "steps": len(expected)})
        difference = _difference(steps, expected, model(steps))
        waiting += _longer(steps, expected, alphabet)
    return done, difference


def _longer(steps: Steps, answers: np.ndarray, alphabet: Sequence[int]) -> Iterator[list[bytes]]:
    """The pending sequences of ``alphabet`` that are one byte longer, in batches."""
    texts = steps.texts()
    kept = (answers[:, 2] == texts.shape[1]) & np.isin(texts[:, -1], alphabet)
    longer = [row.tobytes() for row in texts[kept]]
    tried = 256 if texts.shape[1] <= SHALLOW else len(alphabet)
    size = AT_ONCE // (2 * tried)
    return (longer[begin : begin + size] for begin in range(0, len(longer), size))


def _difference(steps: Steps, expected: np.ndarray, actual: np.ndarray) -> str:
    """The first text with different or unclear answers, and both answers; or an empty string."""
    wrong = ((actual != expected) | (expected == UNCLEAR)).any(axis=1)
    if not wrong.any():
        return ""
    row = wrong.argmax()
    text_shown = steps.texts()[row].tobytes().hex(" ").upper()
    ends = ", the last byte" if steps.lasts()[row] else ""
    answers = {"specification": expected[row], "golden model": actual[row]}
    lines = [f"{who}: {_in_words(answer.tolist())}" for who, answer in answers.items()]
    return "\n".join([f"text {text_shown}{ends}", *lines, ""])


def _in_words(answer: list[int]) -> str:
    """An answer in words: its tokens, and the number of pending bytes."""
    *tokens, pending = answer
    words = [_token_in_words(token) for token in tokens if token]
    words.append("unclear" if pending == UNCLEAR else plural(pending, "pending byte"))
    return "; ".join(words)


def _token_in_words(token: int) -> str:
    if token == UNCLEAR:
        return "unclear"
    code_point, error, kind, length, last = (
        token >> at & (1 << end - at) - 1 for at, end in pairwise([*FIELDS.values(), COMES])
    )
    what = f"error {error} {ErrorKind(kind).label}" if error or kind else "character"
    return f"U+{code_point:04X} {what}, {plural(length, 'byte')}" + (", last" if last else "")
