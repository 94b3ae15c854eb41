"""The golden model of the decoder, held against its specification.

The tokens of a byte depend on nothing but the byte, ``last``, and what is pending. So the tree of
all sequences that can be pending is walked, and at each bytes are tried, with ``last`` and without.
For model and specification this shows that

- the same tokens come, with the same fields;
- then the same is pending: nothing, the byte, or what was pending with the byte behind it;
- nothing else counts. The model's state is then that of a new one that is fed what is pending. Of
  the specification's registers, those of other bytes are unknown all the time, and yet what comes
  is known.

By induction the same tokens come for every text of the bytes that are tried, however long it is and
whatever texts were before it.

What is pending is made of all 256 bytes in ``unicode`` and ``ucs2``; where there are longer forms,
of one byte of each class. Classes begin where those of the campaign do, and at each bound in the
specification's tables. All 256 bytes are tried behind up to two. Behind more these are: the bytes
of which that is made which is pending, and of those that continue nothing one of each class.
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
"""Up to this longest form every byte is a class of its own."""

SHALLOW = 2
"""Behind so many bytes all are tried, and not only one of each class."""

AT_ONCE = 1 << 16
"""At most so many steps are asked for at the same time."""

FIELDS = {"code_point": 0, "error": 42, "kind": 43, "length": 46, "last": 50}
COMES = 51
"""Where the fields of a token are in a number, and the bit that tells it from 0, which is none."""

UNCLEAR = np.uint64((1 << 64) - 1)
"""In place of an answer that depends on more than what is pending."""


class Steps(NamedTuple):
    """Bytes that come when others are pending: each of them behind each, not ``last`` and ``last``.

    All that is pending has the same length. Answers have a row for each step: the token that ends
    before the byte and the one that ends with it, as numbers; and how many bytes are pending then,
    which are the last ones of the text.
    """

    pending: list[bytes]
    tried: Sequence[int]

    def texts(self) -> np.ndarray:
        """What is pending, and the byte, as a row for each step."""
        count, length = len(self.pending), len(self.pending[0])
        rows = np.empty((count, len(self.tried), 2, length + 1), dtype=np.uint8)
        before = np.frombuffer(b"".join(self.pending), dtype=np.uint8)
        rows[..., :-1] = before.reshape(count, 1, 1, length)
        rows[..., -1] = np.array(self.tried, dtype=np.uint8)[:, np.newaxis]
        return rows.reshape(-1, length + 1)

    def lasts(self) -> np.ndarray:
        return np.tile(np.array([0, 1], dtype=np.uint8), len(self.pending) * len(self.tried))


class Specification:
    """What the specification answers."""

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
        """How many bytes are pending then, if these are the last ones of the text."""
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
    """The bits of a token, by their places in its number."""
    fields = ((at, Value.cast(token[name])) for name, at in FIELDS.items())
    return {at + n: bit for at, value in fields for n, bit in enumerate(value)}


def _tokens(answers: Answers, bits: Bits) -> np.ndarray:
    """The tokens with such bits; 0 where none comes."""
    token = np.where(answers.known(bits), answers.numbers(bits), UNCLEAR)
    return np.where(answers.high(bits[COMES] ^ 1), np.uint64(0), token)


class Model:
    """What the golden model answers. All steps are in one run, with a reset before each."""

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
        """How many bytes are pending then, if these are the last ones of the text."""
        size, length = texts.shape
        numbers = np.zeros(STATE_SIZE, np.int64), np.zeros(TWO_TOKENS, np.int64)
        left = np.empty(size, dtype=np.int64)
        given = integers(texts), integers(lasts), length
        pending_after.run(texts.size, self._rules, *numbers, *given, left)
        return np.where(left >= 0, left.view(np.uint64), UNCLEAR)


@kernel
def pending_after(rules, state, two, texts, lasts, length, left):  # type: ignore[no-untyped-def]
    """How many bytes are pending after each text; -1 if the state is not that of these bytes alone.

    While none is pending, the other numbers of the state are never read.
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
    """The 256 bytes, cut where their meaning changes, to the model or to the specification."""
    cuts = {members.start for members in byte_classes(profile)} | {256}
    for row in [*well_formed(profile), *(row for _, row in ill_formed(profile))]:
        cuts |= {edge for bounds in row for edge in (bounds.start, bounds.stop)}
    return [range(*pair) for pair in pairwise(sorted(cuts))]


def one_of_each(profile: Profile) -> list[int]:
    """A byte of each class, the middle one."""
    return [members[len(members) // 2] for members in classes_of(profile)]


def walk(profile: Profile, alphabet: Sequence[int] = ()) -> tuple[Counter[str], str]:
    """Walk the tree of what can be pending; made of some bytes, or as the module says.

    The result is how far it went, and the first difference in words, or nothing. That ends the
    walk, and is in one of the shortest texts that show any.
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
    """What is pending then with one byte more, made of some bytes; not too much of it at once."""
    texts = steps.texts()
    kept = (answers[:, 2] == texts.shape[1]) & np.isin(texts[:, -1], alphabet)
    longer = [row.tobytes() for row in texts[kept]]
    tried = 256 if texts.shape[1] <= SHALLOW else len(alphabet)
    size = AT_ONCE // (2 * tried)
    return (longer[begin : begin + size] for begin in range(0, len(longer), size))


def _difference(steps: Steps, expected: np.ndarray, actual: np.ndarray) -> str:
    """The first text about which answers differ, and both answers, in lines; or nothing."""
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
    """An answer: its tokens, and what is pending."""
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
