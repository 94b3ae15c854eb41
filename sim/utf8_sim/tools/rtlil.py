"""Designs in RTLIL, the language of Yosys."""

import gc
from collections.abc import Sequence
from typing import Any

from amaranth.back import rtlil

POWER_UP = "power_up"
"""Attribute of a register without an initial value."""


def to_rtlil(design: Any, ports: Sequence[Any]) -> str:
    """Convert a design to RTLIL: the module ``top`` with these ports, without source locations.

    Garbage collection is off during the conversion. It would take a third of the time and free
    nothing.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return rtlil.convert(design, name="top", ports=ports, emit_src=False)
    finally:
        if collects:
            gc.enable()
