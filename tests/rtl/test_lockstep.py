"""The lockstep comparison: differences, windows, and don't-care masking."""

import pickle

import numpy as np
import pytest

from rtl import STALLS, broken
from utf8_hdl import CompactEncoder, Decoder
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.lockstep import Golden, Lockstep, Window
from utf8_sim.stimulus import Stimulus


def run(design: Decoder, data: bytes, *stalls) -> Lockstep:
    lockstep = Lockstep(AmaranthEngine(design), Stimulus([(data, True)], *stalls))
    lockstep.run()
    return lockstep


def test_first_difference():
    lockstep = run(broken("range: ED BF is no surrogate"), b"ABC\xed\xb0\x80DEF\xed\xb0\x80")
    # The hardware continues after ED B0; the golden model has an error in cycle 11.
    assert str(lockstep.difference) == "cycle 11, pin o.valid: expected 1, actual 0"
    assert lockstep.cycles == 12


def test_format_of_kinds_and_code_points():
    lockstep = run(broken("wrong kind"), b"\xed\xb0\x80")
    assert str(lockstep.difference) == (
        "cycle 8, pin o.kind: expected 4 (surrogate), actual 6 (truncated)"
    )
    lockstep = run(broken("value of an error"), b"\xff")
    assert str(lockstep.difference) == "cycle 8, pin o.code_point: expected FFFD, actual FFFF"


def test_difference_far_into_a_run():
    size = AmaranthEngine.window
    data = b"A" * (size + 100) + b"\xed\xb0\x80" + b"A" * 100
    lockstep = run(broken("range: ED BF is no surrogate"), data)
    trace = lockstep.recording().actual
    assert bytes(trace["i.data"][1 : 1 + len(data)].tolist()) == data
    assert lockstep.difference.cycle == size + 100 + 8
    assert [window.first_cycle for window in lockstep.recent] == [0, size]
    assert len(lockstep.recent[-1].actual) > 100 + 9


def test_part_at_the_beginning_of_a_window():
    data = b"A" * (AmaranthEngine.window + 100)
    window = run(Decoder(), data).recent[-1]
    part = window.part(0, window.first_cycle + 9)
    assert (part.first_cycle, len(part.actual)) == (window.first_cycle, 9)
    assert part.of_text == window.of_text > 4000


class Noisy(AmaranthEngine):
    """Random payload while no output is valid."""

    def run(self, stimulus):
        generator = np.random.default_rng(1)
        for trace in super().run(stimulus):
            for pin in trace.interface.outputs:
                noise = generator.integers(1, 1 << pin.width, len(trace), dtype=pin.dtype)
                trace[pin.name][:] ^= np.where(trace["o.valid"], pin.dtype(0), noise)
            yield trace


@pytest.mark.parametrize(
    ("design", "items"),
    [(Decoder(), b"\xe2\x82\xacA\xe0\x80\xff" * 9), (CompactEncoder(), [0x20AC, 0x41, 0xD800] * 9)],
    ids=["decoder", "compact encoder"],
)
def test_payload_is_masked_while_valid_is_low(design, items):
    stimulus = Stimulus([(items, True)], *STALLS["both slow"])
    noisy, silent = Noisy(design), AmaranthEngine(design)
    lockstep = Lockstep(noisy, stimulus)
    coverages = [engine.component.coverage(engine) for engine in (noisy, silent)]
    for noise, silence in zip(lockstep, Lockstep(silent, stimulus), strict=True):
        valid = silence["o.valid"].astype(bool)
        for pin in silence.interface.outputs:
            assert (noise[pin.name] != silence[pin.name])[~valid].all()
            assert (noise[pin.name] == silence[pin.name])[valid].all()
        for coverage, trace in zip(coverages, (noise, silence), strict=True):
            coverage.add(trace)
    assert lockstep.difference is None
    assert (coverages[0].cells == coverages[1].cells).all()


def test_pickled_trace():
    engine = AmaranthEngine(Decoder())
    [trace] = engine.run(Stimulus([(b"A\x00", True)]))
    expected = Golden(engine).expected(pickle.loads(pickle.dumps(trace)))
    assert Window(0, trace, expected).difference() is None
