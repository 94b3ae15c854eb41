"""A design with its component, its pins and its timing."""

from collections.abc import Iterator
from typing import Any

from utf8_hdl import UNICODE, Profile

from .components import component_of
from .stimulus import LAST, Stimulus
from .trace import Columns, Interface


def interface_of(design: Any) -> Interface:
    """The pins of a design."""
    interface = Interface.of(component_of(design).name, design)
    if LAST not in (pin.name for pin in interface.inputs):
        raise ValueError("the payload of i must have a field 'last', for the end of a text")
    return interface


class Subject:
    """A design to simulate, compare or show, with its component, its pins and its timing."""

    def __init__(self, design: Any) -> None:
        self.design = design
        self.component = component_of(design)
        self.interface = interface_of(design)
        self.timing = self.component.timing(design)
        self.profile: Profile = getattr(design, "profile", UNICODE)
        states = design.State if self.interface.state_width else ()
        self.state_names: dict[int, str] = {state.value: state.name for state in states}

    @property
    def lanes(self) -> int:
        """Number of values in an input."""
        lanes: int = getattr(self.design, "lanes", 1)
        return lanes

    def state_name(self, state: int) -> str:
        """Name of a value of the state register; illegal values have one, too."""
        return self.state_names.get(state, f"illegal {state}")

    def items(self, stimulus: Stimulus) -> Iterator[Columns]:
        """All inputs in order; `ValueError` or `TypeError` if an input does not fit the pins."""
        names = [pin.name for pin in self.interface.inputs]
        for columns in self.component.pack(stimulus.pieces, self.interface):
            sizes = set(map(len, columns.values()))
            if set(names) != columns.keys() or len(sizes) > 1:
                given = ", ".join(f"{name} ({len(column)})" for name, column in columns.items())
                raise ValueError(f"columns must be {', '.join(names)}, of one length, not {given}")
            yield {pin.name: pin.checked(columns[pin.name]) for pin in self.interface.inputs}
