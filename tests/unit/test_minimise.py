"""Minimisation: each remaining event in the stimulus of a difference is needed."""

import shutil

import numpy as np
import pytest

from needs import CXX
from utf8_hdl import CompactDecoder, Validator
from utf8_sim import minimise
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.compiled import CxxrtlEngine
from utf8_sim.lockstep import Lockstep
from utf8_sim.minimise import Found, NotReproducible, minimised
from utf8_sim.stimulus import FixedStalls, RandomStalls, Stimulus, Table, random_column
from utf8_sim.trace import Trace


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Remove the time limit of the search."""
    monkeypatch.setattr(minimise, "PATIENCE", 600.0)


class Planted(CxxrtlEngine if shutil.which(CXX) else AmaranthEngine):
    """A design with a fault: ``o.valid`` is inverted in the cycles of a mask."""

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
    """Mask of the cycles that match the last step after all other steps occurred in order."""

    def fault(trace: Trace) -> np.ndarray:
        mask, after = np.ones(len(trace), dtype=bool), 0
        for step in steps:
            mask = step(trace) & (np.arange(len(trace)) >= after)
            if not mask.any():
                break
            after = int(mask.argmax()) + 1
        return mask

    return fault


def where(**levels: int):
    """Mask of the cycles in which pins have the given values; `_` replaces the dot in a name."""

    def step(trace: Trace) -> np.ndarray:
        masks = [trace[pin.replace("_", ".")] == level for pin, level in levels.items()]
        return np.logical_and.reduce(masks)

    return step


A_BYTE = where(i_valid=1, i_ready=1, reset=0)
INSIDE = where(i_valid=1, i_ready=1, reset=0, i_last=0)
LAST = where(i_valid=1, i_ready=1, reset=0, i_last=1)


def keep(*levels: int):
    def beat(trace: Trace) -> np.ndarray:
        return trace.is_accepted & (trace["i.keep"] == levels).all(axis=1)

    return beat


def empty_text(trace: Trace) -> np.ndarray:
    return keep(0, 0)(trace) & (trace["i.last"] == 1)


def rows_of(found: Found) -> list[tuple]:
    """The rows of the table: reset, i.valid, the fields of i, o.ready."""
    columns = (column.tolist() for column in found.table.columns.values())
    return list(zip(*columns, strict=True))


A = (0, 1, 0x41, 0, 1)
RESET = (1, 0, 0, 0, 1)
IDLE = (0, 0, 0, 0, 1)

FAULTS = {
    "one byte": ([A_BYTE], [IDLE, A]),
    "full rate": ([A_BYTE] * 5, [IDLE, *[A] * 5]),
    "end of a text": ([LAST, A_BYTE], [IDLE, (0, 1, 0x41, 1, 1), A]),
    "reset in a text": ([INSIDE, where(reset=1), A_BYTE], [IDLE, A, RESET, IDLE, A]),
    "input offered in reset": ([where(i_valid=1, reset=1)], [(1, 1, 0x41, 0, 1)]),
    "idle last": ([where(i_valid=0, i_last=1, reset=0)], [(0, 0, 0, 1, 1)]),
    "stalled output": ([where(o_valid=1, o_ready=0)], [IDLE, A, (0, 0, 0, 0, 0)]),
    "waiting input": ([A_BYTE, where(i_valid=1, i_ready=0)], [IDLE, A, (0, 1, 0x41, 0, 0)]),
}
"""Faults of a compact decoder: their steps, and the shortest stimulus.

The decoder accepts nothing in the first cycle after reset.
"""

BYTES = bytes.fromhex("41 E2 82 AC ED BF BF C2 A9 F0 80 80 7A") * 12


def shown(engine, pieces, **resets) -> Lockstep:
    stimulus = Stimulus(pieces, RandomStalls(0.3, 1), RandomStalls(0.3, 2), **resets)
    lockstep = Lockstep(engine, stimulus)
    assert lockstep.run()
    return lockstep


def shortest(engine, lockstep: Lockstep) -> Found:
    """The shortest stimulus. Each stimulus reproduces its difference."""
    found = None
    for found in minimised(engine, lockstep):
        replayed = Lockstep(engine, Table.of(found.trace))
        assert replayed.run() == found.difference
        assert found.difference.cycle == len(found.trace) - 1 == replayed.cycles - 1
    assert found
    return found


@pytest.mark.parametrize(("steps", "rows"), FAULTS.values(), ids=FAULTS)
def test_needed_events_remain(steps, rows):
    engine = Planted(CompactDecoder(), seen(*steps))
    texts = [(BYTES[:7], True), (BYTES, True)]
    lockstep = shown(engine, texts, resets=RandomStalls(0.1, 3))
    assert rows_of(shortest(engine, lockstep)) == rows


@pytest.mark.long
@pytest.mark.parametrize(
    ("step", "levels", "last"),
    [(empty_text, [0, 0], 1), (keep(0, 1), [0, 1], 0), (keep(0, 0), [0, 0], 0)],
    ids=["empty text", "hole", "beat without a byte"],
)
def test_needed_beat_remains(step, levels, last):
    engine = Planted(Validator(lanes=2), seen(A_BYTE, step))
    generator = np.random.default_rng(1)
    columns = {pin.name: random_column(pin, 99, generator) for pin in engine.interface.inputs}
    # The validator accepts nothing in its first cycle.
    idle, first, second = rows_of(shortest(engine, shown(engine, [columns])))
    assert idle == (0, 0, [0, 0], [0, 0], 0, 1)
    for row, kept, end in ((first, first[3], 0), (second, levels, last)):
        assert row == (0, 1, [0x41 * lane for lane in kept], kept, end, 1)


def test_history_of_long_run_is_limited(monkeypatch):
    monkeypatch.setattr("utf8_sim.lockstep.MAX_HISTORY", 1000)
    lead_byte = where(i_valid=1, i_ready=1, reset=0, i_data=0xED)
    engine = Planted(CompactDecoder(), seen(*[A_BYTE] * 900, lead_byte))
    engine.window = 500
    lockstep = Lockstep(engine, Stimulus([(b"A" * 1400 + b"\xed\xbf", True)]))
    assert lockstep.run().cycle == 1401
    assert not lockstep.history.is_whole
    assert list(minimised(engine, lockstep)) == []  # the history lacks the 900 bytes


def test_varying_outcome_is_not_reproducible():
    runs = []

    class Moody(Planted):
        def run(self, stimulus):
            runs.append(stimulus)
            self._fault = seen(*[A_BYTE] * (len(runs) + 3))
            return super().run(stimulus)

    engine = Moody(CompactDecoder(), None)
    with pytest.raises(NotReproducible):
        next(minimised(engine, shown(engine, [(BYTES, True)])))


@pytest.mark.parametrize("begin", [0, 31, 32, 70])
def test_surplus_output_is_a_difference(begin):
    def fault(trace: Trace) -> np.ndarray:
        return (trace["o.valid"] == 0) & (np.arange(len(trace)) >= begin)

    engine = Planted(CompactDecoder(), fault)
    engine.window = 32
    lockstep = Lockstep(engine, Stimulus([(b"ABC", True)], FixedStalls((True,) * 80)))
    assert lockstep.run() == (begin, "o.valid", 0, 1, ())
    assert len(shortest(engine, lockstep).trace) == begin + 1
