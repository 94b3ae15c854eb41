"""Designs in RTLIL, the language of Yosys."""

import gc
from collections.abc import Sequence
from typing import Any

from amaranth.back import rtlil

POWER_UP = "power_up"
"""Attribute of a register that must have no initial value."""


def to_rtlil(design: Any, ports: Sequence[Any]) -> str:
    """A design in RTLIL: the module ``top`` with these ports, without source locations.

    Garbage collection is off: it would need a third of the time, and Amaranth keeps all objects
    until the end.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return rtlil.convert(design, name="top", ports=ports, emit_src=False)
    finally:
        if collects:
            gc.enable()
