"""What components with lanes have in common: campaigns, coverage, and how a beat is shown."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..campaign import Coverage, Part, boundary_encodings, byte_classes
from ..trace import Columns, Trace


def kept(items: Columns) -> np.ndarray:
    """Where there are bytes in some beats."""
    return items["i.keep"] != 0


def in_every_lane(text: bytes, lanes: int) -> list[bytes]:
    """A text, begun in each lane."""
    return [b"A" * lane + text for lane in range(lanes)]


def campaign(design: Any, seed: int) -> list[Part]:
    encodings = b"A".join(boundary_encodings(design.profile))
    return [Part.of("boundary code points", in_every_lane(encodings, design.lanes))]


class BeatCoverage(Coverage):
    """Bytes by class and by lane."""

    column = "lane"
    title = "lane"

    def __init__(self, engine: Any) -> None:
        lanes = engine.design.lanes
        super().__init__(engine, byte_classes(engine.profile), list(map(str, range(lanes))))
        self._lanes = lanes

    def met(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        items = trace.accepted()
        where = kept(items).reshape(-1, self._lanes)
        data = items["i.data"].reshape(-1, self._lanes)
        return self.rows(data[where]), np.nonzero(where)[1]


def lanes_of(levels: Any) -> Sequence[int]:
    """The levels of an array; of one with a single lane there is only a number."""
    return levels if isinstance(levels, Sequence) else [levels]


def show_beat(beat: Any, side: str) -> str:
    lanes = zip(lanes_of(beat[f"{side}.data"]), lanes_of(beat[f"{side}.keep"]), strict=True)
    return " ".join(f"{byte:02X}" if keep else "--" for byte, keep in lanes)
