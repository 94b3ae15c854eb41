"""The compactor: lanes of which some have a value become beats in which all have one."""

from typing import Any

from amaranth.hdl import Const, Module, Shape, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from .checks import DEFAULT_LANES, checked_lanes
from .design import Design
from .flow_control.credit import Credit
from .layouts import beat_layout
from .packing import Packing


class Compactor(Design):
    """Packs values: sparse beats in, dense beats out.

    A value goes to the lane after the value before it, and from the last lane to lane 0 of the next
    beat. It is a pipeline of eleven stages, those of :class:`~utf8_hdl.packing.Packing`: a
    butterfly network driven by prefix sums of ``keep``, with the flow control of
    :mod:`utf8_hdl.flow_control.credit`.

    What it promises:

    1. Throughput: one beat in every cycle but the first after reset, whatever is in it, while the
       consumer is ready. A stalled cycle costs one cycle: after any stalls there is a beat at the
       output in every cycle, as long as a full one is offered in every cycle. A text never has
       more beats out than in. The last one comes out one slot behind what its last beat fills;
       there is always room for it, as the first beat of a text never fills one.
    2. Latency: a beat that is full is at the output 13 cycles after the beat was accepted that has
       the first value behind it; a text's last one, 14 cycles after its last beat was accepted.
       Cycles in which the output waits are not counted.
    3. Values come out in order, none lost and none twice. All lanes have one but in a text's last
       beat; there the first ones do, or none. It comes with ``last``. A text with U values has as
       many beats as U needs, and at least one. ``user`` is what it was with the text's last beat,
       and zero in any other one.
    4. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle. While ``o.valid`` is low the payload is a don't
       care, and so is what is in a lane without ``keep``.
    5. Self-synchronisation: from any register contents, once what is in it is out and a beat with
       ``last`` was accepted, later texts are right. Without input and with a ready consumer, it is
       empty and ready after 85 cycles, in which at most 76 beats that never came are taken.

    Parameters
    ----------
    lanes : int
        How many values a beat may have: a power of two up to 128.
    shape : ShapeLike
        Shape of a value; a number is its bits.
    user : ShapeLike
        Shape of what comes with the last beat of a text.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If there is none with so many lanes, or values have no bits.

    Attributes
    ----------
    lanes, shape, user
        As given.
    width, user_width : int
        Bits of a value, and of ``user``.
    packing : Packing
        Its stages.
    probes : SimpleNamespace
        Signals for proofs: those of ``packing``, and ``dense``, the beat at the output.

    Members
    -------
    i : ``In(stream.Signature(beat_layout(lanes, shape, user)))``
        Beats in which any of the lanes have a value.
    o : ``Out(stream.Signature(beat_layout(lanes, shape, user)))``
        Dense beats.
    """

    i: Any
    o: Any
    component_name = "compactor"

    def __init__(self, *, lanes: int = DEFAULT_LANES, shape: Any = 8, user: Any = 0) -> None:
        self.lanes = lanes = checked_lanes(lanes)
        layout = beat_layout(lanes, shape, user)
        self.shape, self.user = shape, user
        super().__init__({"i": In(stream.Signature(layout)), "o": Out(stream.Signature(layout))})
        self.width, self.user_width = Shape.cast(shape).width, Shape.cast(user).width
        self.packing = Packing(lanes, self.width, self.user_width)
        self.probes = self.packing.probes
        self.probes.dense = self.o.p

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        p, packing = self.i.p, self.packing
        credit = Credit(m, self.i, self.o, more=1)
        m.d.comb += self.probes.comes.eq(self.i.valid & self.i.ready)
        user = p.user if packing.user_width else Const(0, 0)
        payload = packing.add(credit, p.data, p.keep, p.last, user)
        m.d.comb += Value.cast(self.o.p).eq(payload)
        credit.finish()
        return m
