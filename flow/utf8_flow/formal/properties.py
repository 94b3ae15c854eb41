"""What is proved of a component: its own properties, and those that every component has.

Each property is a function. It puts designs on a bench, says with ``never`` what must not happen in
any cycle of any run, and with ``reaches`` what must happen in some, so that the property is known
to say something. Pins that a property does not drive are free in every cycle.
"""

from typing import Any

from .bench import Property
from .streams import EVERY


def properties_of(
    component: str, own: dict[str, Any], lemmas: dict[str, Any], timing: Any
) -> list[Property]:
    """The properties of a component.

    Parameters
    ----------
    component : str
        Its name.
    own : dict of str to callable
        What is said of the design.
    lemmas : dict of str to callable
        What is said of its specification and its timing alone.
    timing : type
        The model of its timing.
    """
    return [
        Property(name, component, state, timing, state in lemmas.values())
        for name, state in (own | lemmas | EVERY).items()
    ]
