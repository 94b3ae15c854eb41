"""What components with lanes have in common: their campaign, coverage, and how a beat is shown."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count, groupby, product, takewhile
from typing import Any

import numpy as np

from utf8_hdl import Kind

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
from ..shown import token_label
from ..stimulus import LAST, Piece, beats
from ..trace import Columns, Interface, Trace, levels_of
from .component import Component, Levels

MOST_TEXTS = 2048
"""Of those that try things one by one in every lane; if there were more, some are left out."""

RANDOM_KEEPS = 256

PLACES = 16
"""Beats that may be outstanding: as many values may be kept somewhere."""

WIDE = 16
"""Lanes up to which those without a byte are shown one by one."""

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

    def in_every_place(texts: list[bytes]) -> list[bytes]:
        """The same texts once for each place: their beats are one more than a multiple of these."""
        length = sum(-(-len(text) // lanes) for text in texts)
        return [*texts, *[b"A"] * ((1 - length) % PLACES)] * PLACES

    def one_by_one(texts: list[bytes], most: int = MOST_TEXTS) -> list[bytes]:
        step = -(-lanes * len(texts) // most)
        places = product(range(lanes), enumerate(texts))
        return [b"A" * lane + text for lane, (n, text) in places if (lane + n) % step == 0]

    cut = [
        text
        for n, start in enumerate(one_by_one(starts[1:]))
        for text in (start, continuations[n % len(continuations)])
    ]
    texts = {
        "boundary code points in every lane": joined(encodings),
        "every bit of a value in every lane and place": in_every_place(joined(toggled)),
        "every class after every beginning, in every lane": joined(after_beginnings),
        "one boundary code point in a text": one_by_one(encodings, lanes * len(encodings)),
        "one class after one beginning in a text": one_by_one(after_beginnings),
        "continuation bytes after a text that ends too early": cut,
        "short texts": [text for three in product(short, repeat=3) for text in three],
        "random hostile bytes": [*hostile, *joined(hostile[: len(hostile) // 4])],
    }
    pieces: dict[str, Iterable[Piece]] = {name: _together(some) for name, some in texts.items()}
    pieces["texts of every length up to three beats"] = _every_length(design)
    pieces["broken rules of keep"] = _broken_rules(design, encodings, seed)
    return [_part(name, design, some) for name, some in pieces.items()]


def _together(texts: list[bytes]) -> Iterator[Piece]:
    """Texts as few pieces: those side by side that are not empty are one."""
    for has_bytes, group in groupby(texts, key=bool):
        some = list(group)
        if has_bytes:
            ends = np.zeros(sum(map(len, some)), dtype=bool)
            ends[np.cumsum(list(map(len, some))) - 1] = True
            yield b"".join(some), ends
        else:
            yield from ((text, True) for text in some)


def _part(name: str, design: Any, pieces: Iterable[Piece]) -> Part:
    """A part whose inputs are made once, and not again for each run."""
    made = list(beats(pieces, Interface.of(name, design)))
    items = {pin: np.concatenate([some[pin] for some in made]) for pin in made[0]}
    return Part(name, len(items[LAST]), lambda: iter([items]))


def _every_length(design: Any) -> Iterator[Piece]:
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
        two = np.take(data, np.arange(begin, begin + 2 * lanes), mode="wrap")
        shape = (2, lanes) if lanes > 1 else 2
        yield {
            "i.data": two.reshape(shape),
            "i.keep": np.stack([keep, generator.permutation(keep)]).reshape(shape),
            LAST: generator.integers(0, 2, 2, dtype=np.uint8),
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


def show_beat(beat: Levels, side: str = "i") -> str:
    """The bytes of a beat. If it is wide, the lanes behind the last byte are only counted."""
    keeps = levels_of(beat[f"{side}.keep"])
    lanes = zip(levels_of(beat[f"{side}.data"]), keeps, strict=True)
    shown = [f"{byte:02X}" if keep else "--" for byte, keep in lanes]
    if len(shown) <= WIDE or keeps[-1]:
        return " ".join(shown)
    while shown and shown[-1] == "--":
        shown.pop()
    return " ".join([*shown, f"({sum(keeps)} of {len(keeps)} bytes)"])


def show_slots(slots: Levels) -> str:
    """The tokens in slots, by number; ASCII characters side by side as text."""
    lengths, shown = slots["o.length"], []
    letters = {
        number: chr(code_point)
        for number, code_point in enumerate(slots["o.code_point"])
        if lengths[number] and 0x20 <= code_point < 0x7F
    }
    for number in np.flatnonzero(lengths).tolist():
        if {number - 1, number} <= letters.keys():
            continue  # it is in the text that began before
        text = "".join(map(letters.__getitem__, takewhile(letters.__contains__, count(number))))
        if len(text) > 1:
            shown.append(f'{number}..{number + len(text) - 1} "{text}"')
            continue
        token = {name: slots[name][number] for name in ("o.code_point", "o.error", "o.kind")}
        where = f"lane {number - 1}" if number else "the beat before"
        shown.append(f"{number} {token_label(token)}" + f" ({where})" * token["o.error"])
    return ", ".join(shown) or "no tokens"


def verdict(output: Levels) -> str:
    """What is said of a text with its last beat; nothing in any other."""
    if not output["o.last"]:
        return ""
    error, kind = output["o.error"], Kind(output["o.kind"])
    return f"{kind.label} at {output['o.offset']}" if error else "well-formed"


def show_verdict(output: Levels) -> str:
    """A beat, and what is said of its text."""
    return ": ".join(filter(None, [show_beat(output, "o"), verdict(output)]))


BeatComponent = partial(
    Component,
    campaign=campaign,
    item="beat",
    result="beat",
    show_item=show_beat,
    pack=beats,
    kept=kept,
)
"""What all entries of components with lanes say."""
