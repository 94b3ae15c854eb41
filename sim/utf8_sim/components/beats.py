"""The base class of the components with lanes, and the display of beats."""

from collections.abc import Iterator
from itertools import count, takewhile
from typing import Any

import numpy as np

from utf8_hdl import ErrorKind

from ..format import token_label
from ..stimulus import Piece, beats
from ..trace import Columns, as_list
from .beat_campaign import campaign, fuzz
from .beat_coverage import valid_lanes
from .component import Component, Levels
from .headers import beat_promises

WIDE = 16
"""Maximum number of lanes at which every lane is shown, empty lanes included."""


def show_beat(beat: Levels, side: str = "i", values: str = "bytes") -> str:
    """Show the bytes of a beat. In a wide beat, a count replaces the empty lanes at the end."""
    keeps, parts = as_list(beat[f"{side}.keep"]), as_list(beat[f"{side}.data"])
    size = len(parts) // len(keeps)
    lanes = zip((parts[n : n + size] for n in range(0, len(parts), size)), keeps, strict=True)
    shown = [" ".join(f"{part:02X}" for part in lane) if keep else "--" for lane, keep in lanes]
    if len(shown) <= WIDE or keeps[-1]:
        return " ".join(shown)
    while shown and shown[-1] == "--":
        shown.pop()
    return " ".join([*shown, f"({sum(keeps)} of {len(keeps)} {values})"])


def show_slots(slots: Levels) -> str:
    """Show the tokens by slot number; ASCII characters in adjacent slots as text."""
    lengths, shown = slots["o.length"], []
    letters = {
        number: chr(code_point)
        for number, code_point in enumerate(slots["o.code_point"])
        if lengths[number] and 0x20 <= code_point < 0x7F
    }
    for number in np.flatnonzero(lengths).tolist():
        if {number - 1, number} <= letters.keys():
            continue  # it is in the text of an earlier slot
        text = "".join(map(letters.__getitem__, takewhile(letters.__contains__, count(number))))
        if len(text) > 1:
            shown.append(f'{number}..{number + len(text) - 1} "{text}"')
            continue
        token = {name: slots[name][number] for name in ("o.code_point", "o.error", "o.kind")}
        where = f"lane {number - 1}" if number else "the beat before"
        shown.append(f"{number} {token_label(token)}" + f" ({where})" * token["o.error"])
    return ", ".join(shown) or "no tokens"


def verdict(output: Levels) -> str:
    """The verdict in the last beat of a text; empty in other beats."""
    if not output["o.last"]:
        return ""
    error, kind = output["o.error"], ErrorKind(output["o.kind"])
    return f"{kind.label} at {output['o.offset']}" if error else "well-formed"


def show_verdict(output: Levels) -> str:
    """Show a beat, and the verdict on its text."""
    return ": ".join(filter(None, [show_beat(output, "o"), verdict(output)]))


class BeatComponent(Component):
    """Base class of the components with lanes."""

    item = result = "beat"
    value = "byte"
    campaign = staticmethod(campaign)
    pack = staticmethod(beats)
    promises = staticmethod(beat_promises)

    def fuzz(self, design: Any, generator: np.random.Generator) -> Iterator[Piece]:
        return fuzz(design, generator)

    def show_item(self, item: Levels, /) -> str:
        return show_beat(item)

    def values(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        is_kept = valid_lanes(items)
        counts = np.add.reduce(is_kept, axis=tuple(range(1, is_kept.ndim)), dtype=np.intp)
        return items["i.data"][is_kept], counts
