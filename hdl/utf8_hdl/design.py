"""The base class of all components."""

from functools import partial
from inspect import signature
from typing import Any

from amaranth.lib import wiring


class Design(wiring.Component):
    """A component whose attributes have the names of its parameters.

    Copying or unpickling creates a new component with the same parameters.
    """

    def __reduce__(self) -> Any:
        parameters = {name: getattr(self, name) for name in signature(type(self)).parameters}
        return partial(type(self), **parameters), ()
