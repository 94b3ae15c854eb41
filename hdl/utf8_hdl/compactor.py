"""The compactor: packs the values of sparse beats into dense beats."""

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
    """Packs the values of sparse beats into dense beats.

    A value goes to the lane after the value before it, and from the last lane to lane 0 of the next
    beat. The compactor is a pipeline of eleven stages, those of :class:`~utf8_hdl.packing.Packing`:
    a butterfly network driven by prefix sums of ``keep``. The flow control is that of
    :mod:`utf8_hdl.flow_control.credit`.

    Guarantees:

    1. Throughput: accepts one beat in every cycle except the first after reset, whatever the beat
       contains, while the consumer is ready. A stalled cycle costs one cycle: after any stalls
       there is a beat at the output in every cycle, as long as a full beat is offered in every
       cycle. A text never has more output beats than input beats. Its last beat is produced one
       slot after its last input beat, which may have filled a beat itself. That slot is always
       free, because the first beat of the next text never fills a beat.
    2. Latency: a full beat is at the output 13 cycles after the beat with the next value was
       accepted; the last beat of a text, 14 cycles after the text's last input beat was accepted.
       Cycles in which the output stalls are not counted.
    3. Values are output in order, each exactly once. Every lane has a value, except in the last
       beat of a text, in which the first lanes have one, or none has. ``last`` marks that beat. A
       text of U values has U / ``lanes`` beats, rounded up, and at least one. ``user`` of the last
       beat is that of the text's last input beat; in all other beats it is zero.
    4. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle. While ``o.valid`` is low the payload is a don't
       care, and so are the values of lanes without ``keep``.
    5. Self-synchronisation: from any register contents, once it has drained and a beat with
       ``last`` was accepted, later texts are correct. Without input and with a ready consumer, it
       is empty and ready after 85 cycles, in which at most 76 beats that were never accepted are
       taken.

    Parameters
    ----------
    lanes : int
        Values of a beat: a power of two up to 128.
    shape : ShapeLike
        Shape of a value. A number is its width.
    user : ShapeLike
        Shape of ``user``, which belongs to the last beat of a text.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If the number of lanes is not supported, or values have no bits.

    Attributes
    ----------
    lanes, shape, user
        As given.
    width, user_width : int
        Widths of a value and of ``user``.
    packing : Packing
        The pipeline stages.
    probes : SimpleNamespace
        Signals for proofs: those of ``packing``, and ``dense``, the beat at the output.

    Members
    -------
    i : ``In(stream.Signature(beat_layout(lanes, shape, user)))``
        Sparse beats: any lanes may have values.
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
        credit.part("packing")
        user = p.user if packing.user_width else Const(0, 0)
        payload = packing.add(credit, p.data, p.keep, p.last, user)
        m.d.comb += Value.cast(self.o.p).eq(payload)
        credit.finish()
        return m
