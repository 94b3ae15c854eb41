"""Golden model of the compactor, and display of its beats."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dense import fed
from modelled import record
from utf8_hdl import UNICODE, Compactor
from utf8_sim import Mismatch, Scoreboard
from utf8_sim.components import COMPONENTS
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.stimulus import random_column
from utf8_sim.subject import interface_of
from utf8_sim.trace import Columns

DESIGNS = {
    "1 lane": {"lanes": 1},
    "2 lanes, 21 bits, user": {"lanes": 2, "width": 21, "user": 3},
    "4 lanes, wider than 64 bits": {"lanes": 4, "width": 100, "user": 70},
    "8 lanes": {"lanes": 8},
    "16 lanes, 64 bits": {"lanes": 16, "width": 64, "user": 1},
}


def make(options: dict) -> Compactor:
    return COMPONENTS["compactor"].make(UNICODE, **options)


def random_items(design, beats: int, seed: int, density: float = 0.5) -> Columns:
    generator = np.random.default_rng(seed)
    pins = interface_of(design).inputs
    items = {pin.name: random_column(pin, beats, generator) for pin in pins}
    for name, probability in (("i.keep", density), ("i.last", 0.2)):
        items[name][:] = generator.random(items[name].shape) < probability
    return items


def ref_beats(design, items: Columns) -> list[tuple]:
    """The values of each text, with a full beat for each ``lanes`` values."""
    rows = len(items["i.last"])
    width = len(interface_of(design).inputs[0].parts) // design.lanes
    parts = items["i.data"].reshape(rows, design.lanes, width).tolist()
    keep = items["i.keep"].reshape(rows, design.lanes).tolist()
    users = items.get("i.user", np.zeros(rows, dtype=int)).tolist()
    text, beats = [], []
    for lanes, kept, last, user in zip(parts, keep, items["i.last"].tolist(), users, strict=True):
        text += [tuple(value) for value, valid in zip(lanes, kept, strict=True) if valid]
        if last:
            size = max(len(text), 1)
            some = [text[n : n + design.lanes] for n in range(0, size, design.lanes)]
            beats += [(beat, 0, 0) for beat in some[:-1]] + [(some[-1], 1, user)]
            text = []
    return beats


def plain(design, outputs: list[tuple]) -> list[tuple]:
    """Outputs in the format of `ref_beats`; an unfinished text at the end is omitted."""
    beats = []
    for _, cut, data, keep, last, *user in outputs:
        assert not cut
        levels = np.reshape(np.array(data, dtype=object), (design.lanes, -1)).tolist()
        kept = np.ravel(keep).tolist()
        assert kept == sorted(kept, reverse=True)
        values = [tuple(value) for value, valid in zip(levels, kept, strict=True) if valid]
        beats.append((values, last, *(user or [0])))
    while beats and not beats[-1][1]:
        beats.pop()
    return [(values, last, user if last else 0) for values, last, user in beats]


@pytest.mark.parametrize("options", DESIGNS.values(), ids=DESIGNS)
@given(seed=st.integers(0, 1 << 32), density=st.floats(0, 1), beats=st.integers(0, 40))
def test_values_are_compacted(options, seed, density, beats):
    design = make(options)
    items = random_items(design, beats, seed, density)
    assert plain(design, fed(design, items)) == ref_beats(design, items)


def test_scoreboard_ignores_empty_lanes():
    board = Scoreboard(Compactor(lanes=2, user=1))
    for _ in range(2):
        board.accept({"data": [7, 9], "keep": [0, 1], "last": 1, "user": 1})
    board.take({"data": [9, 123], "keep": [1, 0], "last": 1, "user": 1})
    with pytest.raises(Mismatch, match=r"expected data=\[9, 123\], actual data=\[8, 123\]"):
        board.take({"data": [8, 123], "keep": [1, 0], "last": 1, "user": 1})


@pytest.mark.sample(1)
@pytest.mark.parametrize("options", [{"lanes": 2, "width": 21, "user": 3}, {"lanes": 1}], ids=str)
def test_gateware_matches_golden_model(options):
    assert record(AmaranthEngine(make(options)), 1000)[1] is None


def test_display_of_beats():
    compactor = COMPONENTS["compactor"]
    shown = compactor.show_result({"o.data": [0x1F600, 3], "o.keep": [1, 0], "o.user": 2})
    assert shown == "1F600 --, user 2"
    assert compactor.show_item({"i.data": [1, 2, 3, 4], "i.keep": [1, 0]}) == "01 02 --"
    wide = {"i.data": [0x41] * 32, "i.keep": [1] + [0] * 31}
    assert compactor.show_item(wide) == "41 (1 of 32 values)"
