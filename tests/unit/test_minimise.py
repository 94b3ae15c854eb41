"""The stimulus of a difference is made shorter until each event in it is needed."""

import shutil

import numpy as np
import pytest

from needs import CXX
from rtl import broken, quick_engine
from utf8_hdl import CompactDecoder, Validator
from utf8_sim import minimise
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.compiled import CxxrtlEngine
from utf8_sim.lockstep import Lockstep
from utf8_sim.minimise import Found, NotReproducible, minimised
from utf8_sim.stimulus import FixedStalls, RandomStalls, Stimulus, Table
from utf8_sim.trace import Trace


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """However slow the machine is, the search comes to its end."""
    monkeypatch.setattr(minimise, "PATIENCE", 600.0)


class Planted(CxxrtlEngine if shutil.which(CXX) else AmaranthEngine):
    """A design with a fault: ``o.valid`` is inverted in the cycles that a mask chooses."""

    def __init__(self, design, fault) -> None:
        super().__init__(design)
        self._fault = fault

    def run(self, stimulus):
        parts = []
        for trace in super().run(stimulus):
            parts.append(trace)
            mask = self._fault(Trace.join(parts))[-len(trace) :]
            yield Trace(trace.interface, {**trace.columns, "o.valid": trace["o.valid"] ^ mask})


def seen(*steps):
    """Mask of the cycles in which the last of some steps is met, each after the one before it."""

    def fault(trace: Trace) -> np.ndarray:
        mask, after = np.ones(len(trace), dtype=bool), 0
        for step in steps:
            mask = step(trace) & (np.arange(len(trace)) >= after)
            if not mask.any():
                break
            after = int(mask.argmax()) + 1
        return mask

    return fault


def a_byte(trace: Trace) -> np.ndarray:
    return trace.is_accepted


def a_lead_byte(trace: Trace) -> np.ndarray:
    return trace.is_accepted & (trace["i.data"] >= 0xC0)


def inside(trace: Trace) -> np.ndarray:
    return trace.is_accepted & (trace["i.last"] == 0)


def last(trace: Trace) -> np.ndarray:
    return trace.is_accepted & (trace["i.last"] == 1)


def reset(trace: Trace) -> np.ndarray:
    return trace["reset"] == 1


def offered_in_reset(trace: Trace) -> np.ndarray:
    return reset(trace) & (trace["i.valid"] == 1)


def gap(trace: Trace) -> np.ndarray:
    return (trace["i.valid"] == 0) & (trace["reset"] == 0)


def idle_lead_byte(trace: Trace) -> np.ndarray:
    return gap(trace) & (trace["i.data"] >= 0xC0)


def idle_last(trace: Trace) -> np.ndarray:
    return gap(trace) & (trace["i.last"] == 1)


def stalled_output(trace: Trace) -> np.ndarray:
    return (trace["o.valid"] & ~trace["o.ready"]) == 1


def waiting_input(trace: Trace) -> np.ndarray:
    return (trace["i.valid"] & ~trace["i.ready"]) == 1


def keep(*levels: int):
    def beat(trace: Trace) -> np.ndarray:
        return trace.is_accepted & (trace["i.keep"] == levels).all(axis=1)

    return beat


def empty_text(trace: Trace) -> np.ndarray:
    return keep(0, 0)(trace) & (trace["i.last"] == 1)


def rows_of(found: Found) -> list[tuple]:
    """The rows of its table: reset, i.valid, the fields of i, o.ready."""
    columns = (column.tolist() for column in found.table.columns.values())
    return list(zip(*columns, strict=True))


A = (0, 1, 0x41, 0, 1)
RESET = (1, 0, 0, 0, 1)
IDLE = (0, 0, 0, 0, 1)

FAULTS = {
    "one byte": ([a_byte], [IDLE, A]),
    "full rate": ([a_byte] * 5, [IDLE, *[A] * 5]),
    "long prefix": ([a_byte] * 45, [IDLE, *[A] * 45]),
    "end of a text": ([last, a_byte], [IDLE, (0, 1, 0x41, 1, 1), A]),
    "reset in a text": ([inside, reset, a_byte], [IDLE, A, RESET, IDLE, A]),
    "two resets": ([reset, reset], [RESET, RESET]),
    "input offered in reset": ([offered_in_reset], [(1, 1, 0x41, 0, 1)]),
    "gap": ([a_byte, gap, a_byte], [IDLE, A, IDLE, A]),
    "idle last": ([idle_last], [(0, 0, 0, 1, 1)]),
    "stalled output": ([stalled_output], [IDLE, A, (0, 0, 0, 0, 0)]),
    "waiting input": ([a_byte, waiting_input], [IDLE, A, (0, 1, 0x41, 0, 0)]),
}
"""For each fault of a compact decoder its steps, and the shortest stimulus that shows it.

It accepts nothing in the first cycle after reset.
"""

BYTES = bytes.fromhex("41 E2 82 AC ED BF BF C2 A9 F0 80 80 7A") * 12


def shown(engine, pieces, **resets) -> Lockstep:
    stimulus = Stimulus(pieces, RandomStalls(0.3, 1), RandomStalls(0.3, 2), **resets)
    lockstep = Lockstep(engine, stimulus)
    assert lockstep.run()
    return lockstep


def shortest(engine, lockstep: Lockstep) -> Found:
    """The last one found. Each shows its difference when it is driven again."""
    found = None
    for found in minimised(engine, lockstep):
        replayed = Lockstep(engine, Table.of(found.trace))
        assert replayed.run() == found.difference
        assert found.difference.cycle == len(found.trace) - 1 == replayed.cycles - 1
    assert found
    return found


@pytest.mark.parametrize(("steps", "rows"), FAULTS.values(), ids=FAULTS)
def test_what_is_needed_stays_and_nothing_else(steps, rows):
    engine = Planted(CompactDecoder(), seen(*steps))
    texts = [(BYTES[:7], True), (BYTES, True)]
    lockstep = shown(engine, texts, resets=RandomStalls(0.1, 3))
    assert rows_of(shortest(engine, lockstep)) == rows


@pytest.mark.parametrize("step", [a_lead_byte, idle_lead_byte])
def test_a_value_that_matters_stays(step):
    engine = Planted(CompactDecoder(), seen(step))
    *idle, row = rows_of(shortest(engine, shown(engine, [(BYTES, True)])))
    assert idle == ([IDLE] if step is a_lead_byte else [])  # it accepts nothing in the first cycle
    reset, valid, data, last, ready = row
    assert data >= 0xC0
    assert (reset, valid, last, ready) == (0, step is a_lead_byte, 0, 1)


@pytest.mark.parametrize(
    ("step", "levels", "last"),
    [(keep(0, 1), [0, 1], 0), (keep(0, 0), [0, 0], 0), (empty_text, [0, 0], 1)],
    ids=["hole", "beat without a byte", "empty text"],
)
def test_the_beat_that_matters_stays(step, levels, last):
    engine = Planted(Validator(lanes=2), seen(a_byte, step))
    generator = np.random.default_rng(1)
    columns = {
        "i.data": generator.integers(0, 256, (99, 2), dtype=np.uint8),
        "i.keep": generator.integers(0, 2, (99, 2), dtype=np.uint8),
        "i.last": generator.integers(0, 2, 99, dtype=np.uint8),
    }
    # The validator accepts nothing in its first cycle.
    idle, first, second = rows_of(shortest(engine, shown(engine, [columns])))
    assert idle == (0, 0, [0, 0], [0, 0], 0, 1)
    for row, kept, end in ((first, first[3], 0), (second, levels, last)):
        assert row == (0, 1, [0x41 * lane for lane in kept], kept, end, 1)


@pytest.mark.parametrize(
    ("name", "most", "stalls"),
    [
        ("range: ED BF is no surrogate", 2, 0),
        ("skid: byte lost in it", 3, 2),
        ("compact: byte changes under stall", 2, 1),
    ],
)
def test_the_shortest_stimulus_of_a_broken_design(name, most, stalls):
    engine = quick_engine(broken(name))
    found = shortest(engine, shown(engine, [(BYTES, True)]))
    assert minimise.is_item(found.trace).sum() <= most
    assert (found.trace["o.ready"] == 0).sum() <= stalls
    assert not found.trace["reset"].any()
    assert not found.trace["i.data" if "i.data" in found.trace.columns else "i.code_point"][
        found.trace["i.valid"] == 0
    ].any()


def test_only_the_last_cycles_of_a_long_run_are_looked_at(monkeypatch):
    monkeypatch.setattr("utf8_sim.lockstep.MAX_HISTORY", 1000)
    engine = Planted(CompactDecoder(), seen(*[a_byte] * 900, a_lead_byte))
    engine.window = 500
    lockstep = Lockstep(engine, Stimulus([(b"A" * 1400 + b"\xed\xbf", True)]))
    assert lockstep.run().cycle == 1401
    assert not lockstep.history.is_whole
    assert list(minimised(engine, lockstep)) == []  # the 900 bytes are not known


def test_another_outcome_of_the_same_stimulus_is_not_reproducible():
    runs = []

    class Moody(Planted):
        def run(self, stimulus):
            runs.append(stimulus)
            self._fault = seen(*[a_byte] * (len(runs) + 3))
            return super().run(stimulus)

    engine = Moody(CompactDecoder(), None)
    with pytest.raises(NotReproducible):
        next(minimised(engine, shown(engine, [(BYTES, True)])))


@pytest.mark.parametrize("window", [32, 512])
def test_more_outputs_than_the_model_has_are_a_difference(window):
    for begin in (0, 1, 30, 31, 32, 33, 63, 64, 70):
        engine = Planted(
            CompactDecoder(),
            lambda trace, begin=begin: (trace["o.valid"] == 0) & (np.arange(len(trace)) >= begin),
        )
        engine.window = window
        lockstep = Lockstep(engine, Stimulus([(b"ABC", True)], FixedStalls((True,) * 80)))
        assert lockstep.run() == (begin, "o.valid", 0, 1, ())
        assert len(shortest(engine, lockstep).trace) == begin + 1


@pytest.mark.parametrize("window", [32, AmaranthEngine.window])
def test_a_design_that_gives_outputs_without_inputs_ends_in_no_traceback(window):
    engine = AmaranthEngine(broken("compact: valid in a gap"))
    engine.window = window
    lockstep = Lockstep(engine, Stimulus([(b"ABC" * 20, True)], RandomStalls(0.5, 1)))
    assert lockstep.run() is not None
    assert lockstep.difference[1:4] == ("o.valid", 0, 1)
