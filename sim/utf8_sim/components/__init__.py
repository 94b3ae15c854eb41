"""The registry of components. The module of each component registers its entry."""

from .component import COMPONENTS, Component, Row, component_of, register
from .decoder import DECODER
from .encoder import ENCODER
from .validator import VALIDATOR
from .wide_decoder import WIDE_DECODER

# isort: split
# They are registered in this order.
from .compactor import COMPACTOR
from .transcoder import TRANSCODER

__all__ = [
    "COMPACTOR",
    "COMPONENTS",
    "DECODER",
    "ENCODER",
    "TRANSCODER",
    "VALIDATOR",
    "WIDE_DECODER",
    "Component",
    "Row",
    "component_of",
    "register",
]
