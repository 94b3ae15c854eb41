"""The properties of a design, from the module that its component names."""

from importlib import import_module

from utf8_hdl import UNICODE
from utf8_sim.components import Component

from ..designs import DesignSpec
from . import streams
from .bench import Property


def module_of(component: Component) -> str:
    """The name of the module of a component's properties, by default that of all streams."""
    return component.formal or streams.__name__


def every_property(spec: DesignSpec) -> list[Property]:
    """All properties of a design, also those that are not tried."""
    if not spec.entry.formal:
        return streams.properties_of(spec.component, None, {}, {})
    found: list[Property] = import_module(spec.entry.formal).PROPERTIES[spec.compact]
    design = spec.make(UNICODE)
    return [each for each in found if each.applies(design)]


def proofs_of(spec: DesignSpec) -> list[Property]:
    """The properties that are tried: their proofs end within minutes."""
    design = spec.make(UNICODE)
    return [each for each in every_property(spec) if each.ends(design)]


def too_large_for(spec: DesignSpec) -> list[Property]:
    """The properties that are not tried, because the design is too large."""
    design = spec.make(UNICODE)
    return [each for each in every_property(spec) if not each.ends(design)]
