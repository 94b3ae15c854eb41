"""A component outside this project: gateware, golden model, entry.

It converts ASCII letters to upper case. ``__main__.py`` gives it every command::

    python examples/component simulate --component upper --text 'abc'
    python examples/component compare --component upper
    python examples/component generate --component upper -o utf8_upper.v
    python examples/component prove --component upper --profile unicode
    python examples/component synthesize --component upper --profile unicode
"""

from typing import Any

import numpy as np
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from utf8_hdl import BYTE_LAYOUT, UNICODE, Profile
from utf8_sim.campaign import Part
from utf8_sim.components import Component, register
from utf8_sim.coverage import Coverage
from utf8_sim.golden.model import Outputs, one_for_one
from utf8_sim.golden.timing import Compact, Timing
from utf8_sim.trace import Columns


class Upper(wiring.Component):
    """Convert ``a`` to ``z`` to ``A`` to ``Z``. Latency: 1 cycle."""

    i: In(stream.Signature(BYTE_LAYOUT))
    o: Out(stream.Signature(BYTE_LAYOUT))

    def __init__(self, profile: Profile = UNICODE) -> None:
        super().__init__()
        self.profile = profile

    def elaborate(self, platform: Any) -> Module:
        m, i, o = Module(), self.i, self.o
        is_small = (i.p.data >= ord("a")) & (i.p.data <= ord("z"))
        m.d.comb += i.ready.eq(~o.valid | o.ready)
        with m.If(i.ready):
            m.d.sync += [o.valid.eq(i.valid), o.p.eq(i.p)]
            with m.If(is_small):
                m.d.sync += o.p.data.eq(i.p.data - 0x20)
        return m


class UpperModel:
    """Columns of outputs for columns of inputs."""

    def feed(self, items: Columns, begins: np.ndarray) -> Outputs:
        upper = np.frombuffer(items["i.data"].tobytes().upper(), np.uint8)
        return one_for_one({"o.data": upper, "o.last": items["i.last"]})


class UpperComponent(Component):
    """The entry in the registry."""

    name = "upper"
    make = Upper

    def model(self, design: Any) -> UpperModel:
        return UpperModel()

    def timing(self, design: Any) -> Compact:
        """One register stage, without an output buffer."""
        return Compact(spare=0)

    def campaign(self, design: Any, seed: int) -> list[Part]:
        random = np.random.default_rng(seed).bytes(500)
        return [Part.of("every byte", [bytes(range(256))]), Part.of("random bytes", [random])]

    def coverage(self, engine: Any) -> Coverage:
        """Classes: bytes below, in and above the small letters."""
        return Coverage(engine, [range(0x61), range(0x61, 0x7B), range(0x7B, 0x100)])

    def show_item(self, item: Any) -> str:
        return f"{item['i.data']:02X}"

    def show_result(self, result: Any) -> str:
        return f"{result['o.data']:02X}"

    def ports(self, design: Any) -> str:
        """The ports, for the header of the Verilog."""
        return "// s_axis_*         bytes in\n// m_axis_*         bytes out"

    def promises(self, timing: Timing) -> list[str]:
        """Latency, for the same header."""
        return [f"Latency: {timing.latency} cycle."]


UPPER = register(UpperComponent())
