"""The compactor's golden model: what comes out, and when."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dense import fed, packed
from modelled import agrees, edited, held_against, misled, mistimed, tells_apart, timed
from rtl import STALLS, quick_engine
from utf8_hdl import UNICODE, Compactor
from utf8_sim import Mismatch, Scoreboard
from utf8_sim.components import COMPACTOR
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.golden.model import feed_all
from utf8_sim.golden.timing import Packing
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import FixedStalls, Stimulus, random_column
from utf8_sim.subject import interface_of
from utf8_sim.trace import Columns, Trace

DESIGNS = {
    "1 lane": {"lanes": 1},
    "2 lanes, 21 bits, user": {"lanes": 2, "width": 21, "user": 3},
    "4 lanes, more bits than numpy has": {"lanes": 4, "width": 100, "user": 70},
    "8 lanes": {"lanes": 8},
    "16 lanes, 64 bits": {"lanes": 16, "width": 64, "user": 1},
}
each_design = pytest.mark.parametrize("options", DESIGNS.values(), ids=DESIGNS)


def make(options: dict) -> Compactor:
    return COMPACTOR.make(UNICODE, **options)


def random_items(design, beats: int, seed: int, density: float = 0.5) -> Columns:
    generator = np.random.default_rng(seed)
    pins = interface_of(design).inputs
    items = {pin.name: random_column(pin, beats, generator) for pin in pins}
    for name, probability in (("i.keep", density), ("i.last", 0.2)):
        items[name][:] = generator.random(items[name].shape) < probability
    return items


def ref_beats(design, items: Columns) -> list[tuple]:
    """Text by text: values side by side, as many in each beat as there are lanes."""
    rows = len(items["i.last"])
    width = len(interface_of(design).inputs[0].parts) // design.lanes
    parts = items["i.data"].reshape(rows, design.lanes, width).tolist()
    keep = items["i.keep"].reshape(rows, design.lanes).tolist()
    users = items.get("i.user", np.zeros(rows, dtype=int)).tolist()
    text, beats = [], []
    for lanes, kept, last, user in zip(parts, keep, items["i.last"].tolist(), users, strict=True):
        text += [tuple(value) for value, there in zip(lanes, kept, strict=True) if there]
        if last:
            size = max(len(text), 1)
            some = [text[n : n + design.lanes] for n in range(0, size, design.lanes)]
            beats += [(beat, 0, 0) for beat in some[:-1]] + [(some[-1], 1, user)]
            text = []
    return beats


def plain(design, outputs: list[tuple]) -> list[tuple]:
    """Outputs as `ref_beats` has them, of texts that end."""
    beats = []
    for _, cut, data, keep, last, *user in outputs:
        assert not cut
        levels = np.reshape(np.array(data, dtype=object), (design.lanes, -1)).tolist()
        kept = np.ravel(keep).tolist()
        assert kept == sorted(kept, reverse=True)
        values = [tuple(value) for value, there in zip(levels, kept, strict=True) if there]
        beats.append((values, last, *(user or [0])))
    while beats and not beats[-1][1]:
        beats.pop()
    return [(values, last, user if last else 0) for values, last, user in beats]


@each_design
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1 << 32), density=st.floats(0, 1), beats=st.integers(0, 40))
def test_values_come_out_side_by_side(options, seed, density, beats):
    design = make(options)
    items = random_items(design, beats, seed, density)
    assert plain(design, fed(design, items)) == ref_beats(design, items)


def test_a_full_beat_waits_for_a_value_behind_it():
    def outputs(*pieces):
        return [
            (n, bytes(data[: sum(keep)]), last)
            for n, _, data, keep, last in fed(design, packed(design, *pieces))
        ]

    design = Compactor(lanes=2)
    assert outputs((b"abc", True)) == [(1, b"ab", 0), (1, b"c", 1)]
    assert outputs((b"ab", False), (b"", True)) == [(1, b"ab", 1)]
    assert outputs((b"", True), (b"a", True)) == [(0, b"", 1), (1, b"a", 1)]


# Timing, and what is wrong with a model.


def events(pieces, stalls=STALLS["full rate"], **options) -> Trace:
    lockstep = Lockstep(AmaranthEngine(Compactor(**options)), Stimulus(pieces, *stalls))
    trace = Trace.join(list(lockstep))
    assert lockstep.difference is None
    return trace


def test_latency_is_as_its_docstring_says():
    """Accepted in cycles 1 to 3; the first beat is full when the value behind it is there."""
    trace = events([(b"abcde", True)], lanes=2)
    assert np.flatnonzero(trace.is_accepted).tolist() == [1, 2, 3]
    assert np.flatnonzero(trace["o.valid"]).tolist() == [2 + 13, 3 + 13, 3 + 14]
    assert trace["o.last"][trace.is_taken].tolist() == [0, 0, 1]
    trace = events([(b"ab", True), (b"c", True)], lanes=2)
    assert np.flatnonzero(trace["o.valid"]).tolist() == [1 + 14, 2 + 14]


def test_credit_is_as_its_docstring_says():
    """Nothing is taken. 31 beats are outstanding, and one more is not full."""
    nothing_taken = FixedStalls(), FixedStalls((True,) * 60)
    trace = events([(bytes(100), True)], nothing_taken, lanes=2)
    assert np.count_nonzero(trace.is_accepted[:60]) == 31 + 1
    # Beats without a value are not outstanding for long, whatever the output does.
    empty = {"i.keep": np.zeros((40, 2)), "i.data": np.zeros((40, 2)), "i.last": np.zeros(40)}
    columns = {name: column.astype(np.uint8) for name, column in empty.items()}
    assert events([columns], nothing_taken, lanes=2)["i.ready"][1:41].all()


WRONG_TIMING = {
    "an end in the slot of its input": (
        "waits * (1 - queue.cut[known]) + queue.ends[known]",
        "waits * (1 - queue.cut[known])",
    ),
    "an input is outstanding a cycle less": (
        "waits, window = 0, 1 if timing.waits else 0, timing.counted + 1",
        "waits, window = 0, 1 if timing.waits else 0, timing.counted",
    ),
}


@pytest.mark.parametrize("edit", WRONG_TIMING.values(), ids=WRONG_TIMING)
def test_campaign_finds_a_wrong_timing(edit):
    assert not agrees(mistimed(Compactor(lanes=2), edit))


def test_campaign_finds_a_stage_too_many():
    assert not agrees(timed(Compactor(lanes=2), Packing(12, 7)))


WRONG_RESULT = {
    "a beat comes when it is full": ("if filled > lanes:", "if filled >= lanes:"),
    "a value behind a full beat is lost": (
        "        if last[beat]:\n            filled = emit",
        "        if last[beat]:\n            filled -= filled == lanes\n            filled = emit",
    ),
    "texts are not kept apart": (
        "count += 1\n    state[0] = filled",
        "count += 1\n            filled = 1\n    state[0] = filled",
    ),
    "two values are in the wrong order": (
        "for lane in range(beat * lanes, (beat + 1) * lanes):",
        "for lane in [beat * lanes, beat * lanes + 1, beat * lanes + 3, beat * lanes + 2]:",
    ),
}


@pytest.mark.parametrize("edit", WRONG_RESULT.values(), ids=WRONG_RESULT)
def test_campaign_finds_what_is_wrong_with_a_result(edit):
    design = Compactor(lanes=4)
    assert tells_apart(design, edited(design, edit, "compactor"))


def looks_at_garbage(items):
    items["i.keep"][:, 0] = 1


def drops_the_last_lane(items):
    items["i.keep"][:, 3] = 0


def forgets_a_bit(items):
    items["i.data"] &= 0x7F


def forgets_the_user(items):
    items["i.user"][:] = 0


def forgets_empty_texts(items):
    items["i.last"] &= items["i.keep"].any(axis=1)


@pytest.mark.parametrize(
    "change",
    [looks_at_garbage, drops_the_last_lane, forgets_a_bit, forgets_the_user, forgets_empty_texts],
)
def test_campaign_finds_a_model_that_is_misled(change):
    design = Compactor(lanes=4, user=2)
    assert tells_apart(design, misled(design, change))


def test_what_is_in_lanes_without_a_value_does_not_matter():
    edit = (
        "    return columns\n",
        '    columns["o.data"][columns["o.keep"] == 0] = 0xA5\n    return columns\n',
    )
    design = Compactor(lanes=4)
    engine = held_against(design, edited(design, edit, "compactor"))
    items = random_items(engine.design, 100, 5)
    outputs = feed_all(edited(design, edit, "compactor"), items)
    assert (outputs["o.data"] == 0xA5).any()
    assert Lockstep(engine, Stimulus([items])).run() is None


def test_a_scoreboard_does_not_look_at_lanes_without_a_value():
    board = Scoreboard(Compactor(lanes=2, user=1))
    for _ in range(2):
        board.accept({"data": [7, 9], "keep": [0, 1], "last": 1, "user": 1})
    board.take({"data": [9, 123], "keep": [1, 0], "last": 1, "user": 1})
    with pytest.raises(Mismatch, match=r"expected data=\[9, 123\], actual data=\[8, 123\]"):
        board.take({"data": [8, 123], "keep": [1, 0], "last": 1, "user": 1})


@pytest.mark.parametrize("options", [{"lanes": 2, "width": 21, "user": 3}, {"lanes": 1}], ids=str)
def test_gateware_agrees(options):
    assert agrees(quick_engine(make(options)))


def test_beats_are_shown_value_by_value():
    shown = COMPACTOR.show_result({"o.data": [0x1F600, 3], "o.keep": [1, 0], "o.user": 2})
    assert shown == "1F600 --, user 2"
    assert COMPACTOR.show_item({"i.data": [1, 2, 3, 4], "i.keep": [1, 0]}) == "01 02 --"
    wide = {"i.data": [0x41] * 32, "i.keep": [1] + [0] * 31}
    assert COMPACTOR.show_item(wide) == "41 (1 of 32 values)"
