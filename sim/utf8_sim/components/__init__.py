"""The registry of components. The module of each component registers its entry on import."""

from . import decoder, encoder, validator  # noqa: F401

# isort: split
# The commands list components in the order of registration.
from . import compactor, transcoder  # noqa: F401
from .component import COMPONENTS, Component, Row, component_of, register

__all__ = ["COMPONENTS", "Component", "Row", "component_of", "register"]
