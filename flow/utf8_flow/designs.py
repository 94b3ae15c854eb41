"""How each component is made, and what the command line and the exports have to know of it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from utf8_hdl import Decoder, Encoder, Profile

DESIGNS: dict[str, Callable[..., Any]] = {"decoder": Decoder, "encoder": Encoder}
"""The components by name; each takes a profile, and ``compact``."""

OPTIONS = {
    "decoder": frozenset({"--error-span", "--exhaustive", "--compact"}),
    "encoder": frozenset({"--code-points", "--bytes", "--compact"}),
}
"""Options that not every component has, by the components that have them."""

LATENCY = {
    ("decoder", False): 7,
    ("decoder", True): 1,
    ("encoder", False): 1,
    ("encoder", True): 1,
}
"""Cycles from the last input of an output to that output, by component and whether compact."""


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


def idle_options(component: str | None) -> frozenset[str]:
    """Options that have no effect on a component; if there is none, on any."""
    if component is None:
        return frozenset()
    return frozenset().union(*OPTIONS.values()) - OPTIONS.get(component, frozenset())


def cycles_each(component: str, profile: Profile) -> int:
    """Cycles that one input takes at most, if nothing stalls."""
    return profile.longest_form if component == "encoder" else 1
