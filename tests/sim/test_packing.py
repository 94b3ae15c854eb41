"""The compactor's golden model: what comes out, and when."""

from itertools import cycle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dense import by_arrays, packed, readable
from hostile import chunks
from modelled import EarlyEnd, ModelEngine, NumberOfInput
from rtl import STALLS, quick_engine
from utf8_hdl import UNICODE, Compactor
from utf8_sim import Mismatch, Scoreboard
from utf8_sim.components import COMPACTOR
from utf8_sim.engines.engine import Engine, interface_of
from utf8_sim.golden.array_timing import ArrayPacking
from utf8_sim.golden.packing import CompactorTransducer, Packer
from utf8_sim.golden.text import Output
from utf8_sim.golden.timing import Packing
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import RandomStalls, Stimulus, anything
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
    items = {pin.name: anything(pin, beats, generator) for pin in pins}
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
    assert plain(design, readable(design, items)) == ref_beats(design, items)


@each_design
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1 << 32), density=st.floats(0, 1), beats=st.integers(0, 40), data=st.data()
)
def test_both_models_say_the_same(options, seed, density, beats, data):
    design = make(options)
    items = random_items(design, beats, seed, density)
    parts = list(chunks(beats, data.draw(st.randoms(use_true_random=False))))
    assert by_arrays(design, items, parts) == readable(design, items)


def test_a_full_beat_waits_for_a_value_behind_it():
    def outputs(*pieces):
        return [
            (n, bytes(data[: sum(keep)]), last)
            for n, _, data, keep, last in readable(design, packed(design, *pieces))
        ]

    design = Compactor(lanes=2)
    assert outputs((b"abc", True)) == [(1, b"ab", 0), (1, b"c", 1)]
    assert outputs((b"ab", False), (b"", True)) == [(1, b"ab", 1)]
    assert outputs((b"", True), (b"a", True)) == [(0, b"", 1), (1, b"a", 1)]


# Timing, and all of it together.


def agrees(engine: Engine) -> bool:
    """True if all parts of the campaign agree, which then meet every class in every case."""
    coverage = engine.component.coverage(engine)
    parts = engine.component.campaign(engine.design, 0)
    for part, stalls in zip(parts, cycle(STALLS.values()), strict=False):
        lockstep = Lockstep(engine, Stimulus(part.pieces(), *stalls))
        for trace in lockstep:
            coverage.add(trace)
        if lockstep.difference:
            return False
    assert coverage.cells.all()
    return True


@each_design
def test_campaign_agrees_and_leaves_no_gap(options):
    assert agrees(ModelEngine(make(options)))


SLOW = RandomStalls(0.3, 1), RandomStalls(0.9, 2)


@pytest.mark.parametrize("stages", [1, 11, 20])
@pytest.mark.parametrize("size", [2, 7, 64])
def test_packing_in_windows(stages, size):
    design = Compactor(lanes=2)
    engine = ModelEngine(design)
    engine.timing, engine.window = Packing(stages), size
    for density in 0.05, 0.5, 0.9:
        items = random_items(design, 120, 1, density)
        for stalls in (*STALLS.values(), SLOW):
            lockstep = Lockstep(engine, Stimulus([items], *stalls))
            trace = Trace.join(list(lockstep))
            assert lockstep.difference is None
    assert (trace["i.ready"][20:150] == 0).any()  # too many were not done


def events(pieces, stalls=STALLS["full rate"], **options) -> Trace:
    engine = ModelEngine(Compactor(**options))
    return Trace.join(list(Lockstep(engine, Stimulus(pieces, *stalls))))


def test_latency_is_as_its_docstring_says():
    """Accepted in cycles 1 to 3; the first beat is full when the value behind it is there."""
    trace = events([(b"abcde", True)], lanes=2)
    assert np.flatnonzero(trace.is_accepted).tolist() == [1, 2, 3]
    assert np.flatnonzero(trace["o.valid"]).tolist() == [2 + 12, 3 + 12, 3 + 13]
    assert trace["o.last"][trace.is_taken].tolist() == [0, 0, 1]
    trace = events([(b"ab", True), (b"c", True)], lanes=2)
    assert np.flatnonzero(trace["o.valid"]).tolist() == [1 + 13, 2 + 13]


def test_credit_is_as_its_docstring_says():
    """Nothing is taken. The full beat at the output has number 2: one input is done."""
    nothing_taken = RandomStalls(), RandomStalls(0.999, 1)
    trace = events([(bytes(100), True)], nothing_taken, lanes=2)
    assert trace["i.ready"][:20].tolist() == [0] + 16 * [1] + [0] * 3
    # Beats without a value are done in time, whatever the output does.
    empty = {"i.keep": np.zeros((40, 2)), "i.data": np.zeros((40, 2)), "i.last": np.zeros(40)}
    columns = {name: column.astype(np.uint8) for name, column in empty.items()}
    assert events([columns], nothing_taken, lanes=2)["i.ready"][1:41].all()


@pytest.mark.parametrize("forgotten", ["_arrives", "_numbers", "_ends", "_accepted", "_ready"])
def test_a_model_that_forgets_at_the_end_of_a_window_is_found(forgotten, monkeypatch):
    flow = ArrayPacking.flow

    def forgetful(timing, *arguments):
        setattr(timing, forgotten, np.zeros_like(getattr(timing, forgotten)))
        return flow(timing, *arguments)

    monkeypatch.setattr(ArrayPacking, "flow", forgetful)
    engine = ModelEngine(Compactor(lanes=2))
    engine.timing, engine.window = Packing(20), 5
    items = random_items(engine.design, 200, 3)
    runs = [Lockstep(engine, Stimulus([items], *stalls)) for stalls in (*STALLS.values(), SLOW)]
    assert any(run.run() for run in runs)


@pytest.mark.parametrize(
    "cycles",
    [Packing(12).cycles, lambda: EarlyEnd(Packing(11)), lambda: NumberOfInput(Packing(11))],
    ids=["a stage too many", "early", "another number"],
)
def test_campaign_finds_a_wrong_timing(cycles):
    assert not agrees(ModelEngine(Compactor(lanes=2), cycles=cycles()))


class Early(Packer):
    """A beat comes when it is full."""

    def full(self, values):
        self._values += values
        if len(self._values) < self._lanes:
            return []
        full, self._values = self._values[: self._lanes], self._values[self._lanes :]
        return [full]


class Forgets(Packer):
    """What is behind a full beat is lost when the text ends with it."""

    def rest(self):
        rest = super().rest()
        return rest if len(rest) < self._lanes else rest[:-1]


class OneText(Packer):
    """Texts are not kept apart."""

    def rest(self):
        return self._values[:0]


class Swaps(Packer):
    """The last two values of an input are in the wrong order."""

    def full(self, values):
        *others, last = [*values] or [None]
        if others:
            return super().full([*others[:-1], last, others[-1]])
        return super().full(values)


@pytest.mark.parametrize("packer", [Early, Forgets, OneText, Swaps])
def test_campaign_finds_what_is_wrong_with_a_result(packer):
    model = CompactorTransducer(4)
    model._packer = packer(4)
    assert not agrees(ModelEngine(Compactor(lanes=4), model))


class Changed(CompactorTransducer):
    def __init__(self, change, lanes: int = 4) -> None:
        super().__init__(lanes)
        self._change = change

    def feed(self, *item) -> list[Output]:
        return super().feed(*self._change(*item))


CHANGES = {
    "looks at garbage": lambda data, keep, last, user: (data, [1, *keep[1:]], last, user),
    "drops the last lane": lambda data, keep, last, user: (data, [*keep[:3], 0], last, user),
    "forgets a bit": lambda data, keep, last, user: ([n & 0x7F for n in data], keep, last, user),
    "forgets the user": lambda data, keep, last, user: (data, keep, last, 0),
    "forgets empty texts": lambda data, keep, last, user: (data, keep, last * any(keep), user),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_campaign_finds_a_design_that_is_wrong_about_its_input(change):
    assert not agrees(ModelEngine(Compactor(lanes=4, user=2), Changed(change)))


class Garbage(CompactorTransducer):
    """Where there is no value in an output, it has anything."""

    def _payload(self, beat, width, last, user):
        data, *others = super()._payload(beat, width, last, user)
        return [n or 0xA5 for n in data], *others


def test_what_is_in_lanes_without_a_value_does_not_matter():
    model = Garbage(4)
    assert any(0xA5 in output.payload[0] for output in model.feed([1, 2, 3, 4], [1, 0, 0, 0], 1))
    items = {**random_items(Compactor(lanes=4), 100, 5)}
    items["i.data"] |= 1
    lockstep = Lockstep(ModelEngine(Compactor(lanes=4), Garbage(4)), Stimulus([items]))
    assert lockstep.run() is None


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
