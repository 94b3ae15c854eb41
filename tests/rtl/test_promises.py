"""Latencies and rates at the pins, without the golden model; `tests/formal` proves the rest."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from altered import Altered
from utf8_hdl import (
    CompactDecoder,
    CompactEncoder,
    Compactor,
    Decoder,
    Encoder,
    Transcoder,
    Validator,
    WideDecoder,
)
from utf8_sim import simulate
from utf8_sim.components import component_of
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.stimulus import FixedStalls


@pytest.mark.parametrize(
    "design",
    [Decoder(), CompactDecoder(), WideDecoder(), Encoder(), CompactEncoder(), Validator()],
    ids=lambda design: type(design).__name__,
)
def test_latency_of_gateware_and_golden_timing(design):
    assert design.latency == component_of(design).timing(design).latency


WITH_LANES = {
    type(design).__name__: AmaranthEngine(design)
    for design in (Validator(lanes=2), Compactor(lanes=2), Transcoder(lanes=2))
}
"""Designs without additional beats, with one and with two: see `more` in `credit.py`.

An engine creates its simulator once, which takes longer than a run.
"""


def cycles_without_output(engine: AmaranthEngine, stalled: Sequence[bool]) -> int:
    """Cycles from the first output to the last with a ready consumer and no valid output.

    Full beats are offered in every cycle, and produce full beats. The output stalls from cycle 30.
    """
    stalls = FixedStalls((False,) * 30 + tuple(stalled) * 2)
    trace = simulate(engine, b"ab" * 120, output_stalls=stalls)
    first, *_, last = np.flatnonzero(trace["o.valid"])
    return int(((trace["o.valid"] == 0) & (trace["o.ready"] == 1))[first:last].sum())


@pytest.mark.sample(1)
@pytest.mark.parametrize("engine", WITH_LANES.values(), ids=WITH_LANES)
@settings(max_examples=settings.default.max_examples // 5)
@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_full_rate_after_any_stalls(engine, stalled):
    assert cycles_without_output(engine, stalled) == 0


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("design", "good", "bad"),
    [
        (Validator(lanes=2), "self._control, PLACES", "self._control, PLACES - 1"),
        (Compactor(lanes=2), "self._control, PLACES * self._banks", "self._control, PLACES"),
        (Validator(lanes=2), "~self.next, ready", "~self.next, Const(1, 1)"),
    ],
)
def test_rate_check_detects_low_credit(design, good, bad):
    wrong = AmaranthEngine(Altered((good, bad)).like(design))
    patterns = ([True] * stalled + [False] * 9 for stalled in (1, 2, 9))
    assert any(cycles_without_output(wrong, pattern) for pattern in patterns)
