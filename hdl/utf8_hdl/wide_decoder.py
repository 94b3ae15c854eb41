"""The decoder with lanes: beats of bytes in, slots of tokens out."""

from typing import Any

from amaranth.hdl import Elaboratable, Module


class WideDecoder(Elaboratable):
    """What is inside a decoder with lanes.

    Parameters
    ----------
    decoder : Decoder
        Whose ports it uses.
    """

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder

    def elaborate(self, platform: Any) -> Module:
        raise NotImplementedError
