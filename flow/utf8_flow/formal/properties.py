"""All that is proved, component by component.

Each property is a function. It puts designs on a bench, says with ``never`` what must not happen in
any cycle of any run, and with ``reaches`` what must happen in some, so that the property is known
to say something. Pins that a property does not drive are free in every cycle.
"""

from typing import Any

from . import decoder, encoder
from .bench import Property
from .streams import EVERY
from .timing import CompactTiming, ElasticTiming, SerialTiming


def properties_of(component: str, own: dict[str, Any], lemmas: Any, timing: Any) -> list[Property]:
    """The properties of a component: its own, those of its specification and timing, and those that
    every component has."""
    return [
        Property(name, component, state, timing, state in lemmas.values())
        for name, state in (own | lemmas | EVERY).items()
    ]


PROPERTIES = [
    *properties_of(
        "decoder", decoder.DECODER, decoder.TIMING | decoder.SPECIFICATION, ElasticTiming
    ),
    *properties_of("encoder", encoder.ENCODER, encoder.LEMMAS, SerialTiming),
]
"""Of the pipelined decoder and the encoder."""

COMPACT = properties_of("decoder", decoder.DECODER, decoder.COMPACT_TIMING, CompactTiming)
"""Of the compact decoder. Its specification is that of the pipelined one."""
