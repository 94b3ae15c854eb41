"""The validator: beats of bytes pass through, and their texts are judged."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .layouts import beat_layout, checked_lanes, verdict_layout
from .profile import UNICODE, Profile


class Validator(wiring.Component):
    """Says with the last beat of a text whether the text is well-formed UTF-8.

    Parameters
    ----------
    profile : Profile
        Which UTF-8 is spoken.
    lanes : int
        How many bytes a beat may have: a power of two up to 128.

    Raises
    ------
    ValueError
        If there is none with so many lanes.

    Members
    -------
    i : ``In(stream.Signature(beat_layout(lanes)))``
        Beats.
    o : ``Out(stream.Signature(verdict_layout(lanes)))``
        The same beats, and what is known of their texts.
    """

    i: Any
    o: Any

    def __init__(self, profile: Profile = UNICODE, lanes: int = 8) -> None:
        self.profile = profile
        self.lanes = checked_lanes(lanes)
        super().__init__(
            {
                "i": In(stream.Signature(beat_layout(lanes))),
                "o": Out(stream.Signature(verdict_layout(lanes))),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        raise NotImplementedError
