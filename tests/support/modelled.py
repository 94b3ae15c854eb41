"""A small design of each component, and its comparison with the golden model."""

from functools import partial

import numpy as np

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
from utf8_sim.engines.engine import Engine
from utf8_sim.lockstep import Difference, Lockstep
from utf8_sim.stimulus import RandomStalls, Stimulus
from utf8_sim.trace import Trace

DESIGNS = {
    "decoder": Decoder,
    "compact decoder": CompactDecoder,
    "decoder of 2 lanes": partial(WideDecoder, lanes=2),
    "encoder": Encoder,
    "compact encoder": CompactEncoder,
    "validator": partial(Validator, lanes=2),
    "compactor": partial(Compactor, lanes=2, shape=100, user=3),
    "transcoder": partial(Transcoder, lanes=4),
}


def record(engine: Engine, cycles: int = 600) -> tuple[Trace, Difference | None]:
    """Compare gateware and golden model on hostile inputs with stalls and resets."""
    pieces = engine.component.fuzz(engine.design, np.random.default_rng(1))
    stalls = RandomStalls(0.2, 1), RandomStalls(0.3, 2)
    lockstep = Lockstep(engine, Stimulus(pieces, *stalls, cycles, RandomStalls(0.02, 3)))
    trace = Trace.join(list(lockstep))
    return trace, lockstep.difference
