"""The components: how each is made, and what the command line has to know of it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from utf8_hdl import Decoder, Encoder, Profile

DESIGNS: dict[str, Callable[..., Any]] = {"decoder": Decoder, "encoder": Encoder}
"""The components by name; each takes a profile, and ``compact``."""

IDLE_OPTIONS: dict[str, tuple[str, ...]] = {
    "decoder": ("--code-points", "--bytes"),
    "encoder": ("--error-span", "--exhaustive"),
}
"""Options that have no effect on a component."""


def make_design(component: str, profile: Profile, compact: bool = False) -> Any:
    """A design.

    Parameters
    ----------
    component : str
        Name of the component.
    profile : Profile
        Which UTF-8 is spoken.
    compact : bool
        Whether it has one register stage only.
    """
    return DESIGNS[component](profile, **({"compact": True} if compact else {}))


def makers(compact: bool = False) -> dict[str, Callable[[Profile], Any]]:
    """All components by name; each takes a profile."""
    return {name: partial(make_design, name, compact=compact) for name in DESIGNS}


def cycles_each(component: str, profile: Profile) -> int:
    """Cycles that one input takes at most, if nothing stalls."""
    return profile.longest_form if component == "encoder" else 1
