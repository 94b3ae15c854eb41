"""What components with lanes have in common: their campaign, coverage, and how a beat is shown."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from ..campaign import (
    Coverage,
    Part,
    beginnings,
    boundary_encodings,
    byte_classes,
    edges_of,
    hostile_texts,
    toggled_values,
)
from ..golden.text import encode, form_maximum, is_continuation
from ..stimulus import LAST, Piece
from ..trace import Columns, Trace

MOST_TEXTS = 2048
"""Of those that try things one by one in every lane; if there would be more, some are left out."""

RANDOM_KEEPS = 256

MOST_COLUMNS = 8
"""With more lanes, coverage counts those in the middle together."""

SIDES = 3
"""Lanes at each side that it counts one by one even then."""


def campaign(design: Any, seed: int) -> list[Part]:
    """What the byte decoder's campaign has, in every lane; texts of all lengths; broken rules."""
    profile, lanes = design.profile, design.lanes
    encodings, starts = boundary_encodings(profile), beginnings(profile)
    classes = byte_classes(profile)
    edges = edges_of(classes)
    toggled = [encode(value) for value in toggled_values(profile)]
    after_beginnings = [start + bytes([byte]) for start in starts for byte in edges]
    continuations = [bytes([byte]) for byte in edges if is_continuation(byte)]
    hostile = hostile_texts(classes, encodings, seed)
    short = [b"", b"A", starts[-1][:1], continuations[0]]

    def joined(texts: list[bytes]) -> list[bytes]:
        text = b"A".join(texts)
        return [b"A" * lane + text for lane in range(lanes)]

    def one_by_one(texts: list[bytes]) -> list[bytes]:
        step = -(-lanes * len(texts) // MOST_TEXTS)
        places = product(range(lanes), enumerate(texts))
        return [b"A" * lane + text for lane, (n, text) in places if (lane + n) % step == 0]

    cut = [
        text
        for n, start in enumerate(one_by_one(starts[1:]))
        for text in (start, continuations[n % len(continuations)])
    ]
    texts = {
        "boundary code points in every lane": joined(encodings),
        "every bit of a value in every lane": joined(toggled),
        "every class after every beginning, in every lane": joined(after_beginnings),
        "texts with little else": one_by_one([*encodings, *after_beginnings]),
        "continuation bytes after a text that ends too early": cut,
        "short texts": [text for three in product(short, repeat=3) for text in three],
        "random hostile bytes": [*hostile, *joined(hostile[: len(hostile) // 4])],
    }
    parts = [_part(name, [(text, True) for text in texts], lanes) for name, texts in texts.items()]
    lengths = list(_every_length(design))
    broken = list(_broken_rules(design, encodings, seed))
    return [
        *parts,
        _part("texts of every length up to three beats", lengths, lanes),
        Part("broken rules of keep", 4 * len(broken) // 3, lambda: iter(broken)),
    ]


def _part(name: str, pieces: list[tuple[bytes, bool]], lanes: int) -> Part:
    """A part from pieces of texts."""
    size = sum(max(1, -(-len(values) // lanes)) for values, _ in pieces)
    return Part(name, size, lambda: iter(pieces))


def _every_length(design: Any) -> Iterator[tuple[bytes, bool]]:
    """Characters of all lengths, cut anywhere; if they fill a beat, also with an empty one."""
    longest = design.profile.longest_form
    characters = b"".join(encode(form_maximum(n) + 1) for n in range(1, longest))
    for length, others in product(range(3 * design.lanes + 1), range(4)):
        text = (b"A" * others + characters * length)[:length]
        yield text, True
        if length % design.lanes == 0:
            yield text, False
            yield b"", True


def _broken_rules(design: Any, encodings: list[bytes], seed: int) -> Iterator[Piece]:
    """Beats with holes, and such that are not full although their text goes on; then good texts."""
    generator, lanes = np.random.default_rng((seed, 1)), design.lanes
    one_lane, random = np.eye(lanes), generator.integers(0, 2, (RANDOM_KEEPS, lanes))
    keeps = np.concatenate([one_lane, 1 - one_lane, np.tri(lanes), random]).astype(np.uint8)
    data = np.frombuffer(b"".join(encodings), dtype=np.uint8)
    for keep in keeps:
        begin = generator.integers(len(data))
        beats = np.take(data, np.arange(begin, begin + 2 * lanes), mode="wrap")
        shape = (2, lanes) if lanes > 1 else 2
        yield {
            "i.data": beats.reshape(shape),
            "i.keep": np.stack([keep, generator.permutation(keep)]).reshape(shape),
            LAST: generator.integers(0, 2, 2),
        }
        for text in b"A", b"A\xc3\xa9":
            yield text, True


def kept(items: Columns) -> np.ndarray:
    """Where there are bytes in some beats."""
    return items["i.keep"] != 0


class BeatCoverage(Coverage):
    """Bytes by class and by lane; ``ends`` of texts by how many bytes of a beat they are in."""

    column = "lane"
    title = "lane"

    def __init__(self, engine: Any) -> None:
        self.lanes = lanes = engine.design.lanes
        columns, self._column_of_lane = list(map(str, range(lanes))), np.arange(lanes)
        if lanes > MOST_COLUMNS:
            columns[SIDES:-SIDES] = [f"{SIDES}..{lanes - SIDES - 1}"]
            middle = self._column_of_lane[SIDES:-SIDES]
            self._column_of_lane[-SIDES:] -= len(middle) - 1
            middle[:] = SIDES
        super().__init__(engine, byte_classes(engine.profile), columns)
        self.ends = np.zeros(lanes + 1, dtype=np.int64)

    def add(self, trace: Trace) -> None:
        super().add(trace)
        items = trace.accepted()
        _, counts = self.engine.component.values(items)
        self.ends += np.bincount(counts[items[LAST] != 0], minlength=len(self.ends))

    def met(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        items = trace.accepted()
        values, _ = self.engine.component.values(items)
        lane = np.nonzero(kept(items).reshape(-1, self.lanes))[1]
        return self.rows(values), self._column_of_lane.take(lane)

    def gaps(self) -> list[str]:
        never = np.flatnonzero(self.ends == 0)
        return super().gaps() + [f"end of a text x {count} bytes of a beat" for count in never]


def lanes_of(levels: Any) -> Sequence[int]:
    """The levels of an array; of one with a single lane there is only a number."""
    return levels if isinstance(levels, Sequence) else [levels]


def show_beat(beat: Any, side: str) -> str:
    lanes = zip(lanes_of(beat[f"{side}.data"]), lanes_of(beat[f"{side}.keep"]), strict=True)
    return " ".join(f"{byte:02X}" if keep else "--" for byte, keep in lanes)
