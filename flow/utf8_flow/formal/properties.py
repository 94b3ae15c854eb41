"""The properties of a design, from the module that its component names."""

from importlib import import_module

from utf8_hdl import UNICODE
from utf8_sim.components import Component

from ..designs import DesignSpec
from . import streams
from .bench import Property


def module_of(component: Component) -> str:
    """The module of the properties of a component; without one, it has those of all streams."""
    return component.formal or streams.__name__


def proofs_of(spec: DesignSpec) -> list[Property]:
    """The properties that are tried."""
    return [each for each, is_tried in _properties(spec) if is_tried]


def too_large_for(spec: DesignSpec) -> list[Property]:
    """The properties that are not tried, as the design is too large for them."""
    return [each for each, is_tried in _properties(spec) if not is_tried]


def _properties(spec: DesignSpec) -> list[tuple[Property, bool]]:
    """The properties, each with whether its proof ends within minutes."""
    if spec.entry.formal:
        found: list[Property] = import_module(spec.entry.formal).PROPERTIES[spec.compact]
    else:
        found = streams.properties_of(spec.component, None, {}, {})
    design = spec.make(UNICODE)
    return [(each, each.ends(design)) for each in found]
