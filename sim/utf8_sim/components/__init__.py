"""What the project knows of each component: an entry, which its module registers."""

from .component import COMPONENTS, Component, component_of, register
from .decoder import DECODER
from .encoder import ENCODER

__all__ = ["COMPONENTS", "DECODER", "ENCODER", "Component", "component_of", "register"]
