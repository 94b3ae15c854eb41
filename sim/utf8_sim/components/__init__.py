"""The components: what the rest of the project knows of each, in one entry a component.

Adding one means a module like :mod:`utf8_sim.components.decoder`, which registers its entry when
it is imported. Nothing else in the simulation asks which component it has.
"""

from .component import COMPONENTS, Component, component_of, register
from .decoder import DECODER
from .encoder import ENCODER

__all__ = ["COMPONENTS", "DECODER", "ENCODER", "Component", "component_of", "register"]
