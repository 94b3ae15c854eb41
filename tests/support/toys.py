"""External components for tests: the documented example, and one with lanes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from amaranth.hdl import Module

from beats import BEATS
from upper import UPPER, Upper
from utf8_hdl import UNICODE, Profile
from utf8_sim.command_line import COMMAND_LINES
from utf8_sim.components import COMPONENTS, register
from utf8_sim.tools.cores import PRELOAD

TOYS = UPPER, BEATS


@contextmanager
def registered() -> Iterator[None]:
    """Register the external components in a block."""
    for toy in TOYS:
        register(toy)
    try:
        yield
    finally:
        _forget()


def _forget() -> None:
    """Undo the registration that their import caused."""
    for toy in TOYS:
        for registry in (COMPONENTS, COMMAND_LINES):
            del registry[toy.name]
        PRELOAD.remove(type(toy).__module__)


_forget()


class Flawed(Upper):
    """The example with a flaw: the byte with this value is not converted."""

    def __init__(self, profile: Profile = UNICODE, *, flaw: int) -> None:
        super().__init__(profile)
        self.flaw = flaw

    def elaborate(self, platform: Any) -> Module:
        m, i = super().elaborate(platform), self.i
        with m.If(i.ready & (i.p.data == self.flaw)):
            m.d.sync += self.o.p.data.eq(i.p.data)
        return m
