"""What the command line, verification, export and proofs need of each component.

An entry is the component's of :mod:`utf8_sim.components` and what only tools need. Adding one means
a module like :mod:`utf8_flow.components.decoder`, which registers its entry when it is imported.
"""

from . import decoder, encoder, validator

# isort: split
from . import compactor, transcoder  # so they are named behind the others
from .entry import Entry, Own, Variant, register

__all__ = [
    "Entry",
    "Own",
    "Variant",
    "compactor",
    "decoder",
    "encoder",
    "register",
    "transcoder",
    "validator",
]
