"""Composition: a function that joins two streams, and adapters between payloads that differ.

If the payloads of two components are equal, use `amaranth.lib.wiring.connect`. If one payload has
extra fields, use :func:`join`. If widths or slots must change, use an adapter. Adapters are
components like the others: their outputs, ``i.ready`` included, depend on registers only. The
exception is :class:`TokensToCodePoints`, which has no registers.
"""

from collections.abc import Collection, Mapping
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from .checks import DEFAULT_LANES, checked_lanes
from .design import Design
from .layouts import (
    BYTE_LAYOUT,
    beat_layout,
    code_point_layout,
    slots_layout,
    token_layout,
)
from .logic import running
from .profile import UNICODE, Profile, checked_profile

QUEUED = 2
"""Depth of a queue that accepts a beat in every cycle with a registered ``ready``."""


def join(
    m: Module,
    source: Any,
    sink: Any,
    *,
    drop: Collection[str] = (),
    constants: Mapping[str, ValueLike] | None = None,
) -> None:
    """Connect an output stream to an input stream, field by field.

    Fields of the same name and shape are connected. Every other field must be named: one of the
    source in ``drop``, one of the sink in ``constants``.

    Parameters
    ----------
    m : Module
        The module to which the connections are added.
    source, sink : stream interface
        The streams; their payloads are structures. ``source`` may also be an input, and ``sink`` an
        output, of the component that ``m`` implements.
    drop : collection of str
        Fields of the source that are left unconnected; not a single string.
    constants : mapping of str to ValueLike
        Values of the sink's fields that do not come from the source.

    Returns
    -------
    None

    Raises
    ------
    TypeError
        If a payload is not a structure, or ``drop`` is a string.
    ValueError
        If a field is neither connected nor named, or if a name is not that of such a field.

    Examples
    --------
    >>> from amaranth.hdl import Module
    >>> from utf8_hdl import Decoder, Encoder, join
    >>> m, encoder, decoder = Module(), Encoder(), Decoder()
    >>> join(m, encoder.o, decoder.i, drop=["user"])
    """
    if isinstance(drop, str):
        raise TypeError(f"join: drop must be a collection of names, such as [{drop!r}]")
    constants = {} if constants is None else constants
    of_source, of_sink = _shapes("source", source), _shapes("sink", sink)
    joined = [
        name
        for name, shape in of_sink.items()
        if name not in constants and name not in drop and of_source.get(name) == shape
    ]
    for name in of_source:
        if name not in joined and name not in drop:
            raise ValueError(f"join: {_why(name, of_source, of_sink)}; drop must name it")
    for name in of_sink:
        if name not in joined and name not in constants:
            raise ValueError(f"join: {_why(name, of_source, of_sink)}; constants must have it")
    for option, names, fields in (("drop", drop, of_source), ("constants", constants, of_sink)):
        for name in names:
            if name not in fields:
                raise ValueError(f"join: {option} has {name!r}, but the fields are {[*fields]}")
    m.d.comb += [sink.valid.eq(source.valid), source.ready.eq(sink.ready)]
    m.d.comb += [
        Value.cast(sink.payload[name]).eq(Value.cast(source.payload[name])) for name in joined
    ]
    m.d.comb += [Value.cast(sink.payload[name]).eq(value) for name, value in constants.items()]


def _shapes(role: str, of: Any) -> dict[str, Any]:
    """The shapes of a payload's fields."""
    layout = getattr(of.payload, "shape", lambda: None)()
    if not isinstance(layout, data.StructLayout):
        raise TypeError(f"join: the payload of the {role} must be a structure, not {layout!r}")
    return dict(layout.members)


def _why(name: str, of_source: Mapping[str, Any], of_sink: Mapping[str, Any]) -> str:
    """The reason why a field is not connected."""
    for role, fields, other in (("source", of_source, of_sink), ("sink", of_sink, of_source)):
        if name not in fields:
            other_role = "sink" if role == "source" else "source"
            return f"the field {name!r} of the {other_role} ({other[name]!r}) has no counterpart"
    return f"the field {name!r} is {of_source[name]!r} in the source, {of_sink[name]!r} in the sink"


class TokensToCodePoints(Design):
    """Connect a decoder to an encoder: an error becomes U+FFFD. Combinational, without latency.

    Parameters
    ----------
    profile : Profile
        The profile of the decoder and the encoder.

    Members
    -------
    i : ``In(stream.Signature(token_layout(profile)))``
        Tokens.
    o : ``Out(stream.Signature(code_point_layout(profile)))``
        Their code points.
    """

    i: Any
    o: Any

    def __init__(self, profile: Profile = UNICODE) -> None:
        self.profile = checked_profile(profile)
        super().__init__(
            {
                "i": In(stream.Signature(token_layout(profile))),
                "o": Out(stream.Signature(code_point_layout(profile))),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        unused, value = ["error", "kind", "length"], {"code_point": self.i.p.code_point}
        join(m, self.i, self.o, drop=[*unused, "code_point"], constants=value)
        return m


class BytesToBeats(Design):
    """Pack bytes into beats, which are full except at the end of a text.

    1. Throughput: one byte in every cycle while the consumer is ready.
    2. Latency: a beat is at the output 1 cycle after its last byte was accepted.
    3. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle.

    Parameters
    ----------
    lanes : int
        Bytes in a beat: 1, 2, 4, 8, 16, 32, 64 or 128.

    Members
    -------
    i : ``In(stream.Signature(BYTE_LAYOUT))``
        Bytes.
    o : ``Out(stream.Signature(beat_layout(lanes)))``
        Beats. None of them is empty, because a text in bytes has at least one byte.
    """

    i: Any
    o: Any

    def __init__(self, *, lanes: int = DEFAULT_LANES) -> None:
        self.lanes = checked_lanes(lanes)
        super().__init__(
            {
                "i": In(stream.Signature(BYTE_LAYOUT)),
                "o": Out(stream.Signature(beat_layout(self.lanes))),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        i, o = self.i, self.o
        beat = Signal(o.p.shape())  # an incomplete beat
        complete, empties = Signal(), Signal()
        m.d.comb += [i.ready.eq(running(m) & ~complete), empties.eq(~o.valid | o.ready)]
        extended = Signal(o.p.shape())
        m.d.comb += extended.eq(beat)
        accepts = i.valid & i.ready
        with m.If(accepts):
            m.d.comb += extended.last.eq(i.p.last)
            for lane in range(self.lanes):
                is_next = ~beat.keep[lane] & (beat.keep[lane - 1] if lane else 1)
                with m.If(is_next):
                    m.d.comb += [extended.data[lane].eq(i.p.data), extended.keep[lane].eq(1)]
        delivers = Signal()
        completes = accepts & (extended.last | extended.keep[-1])
        m.d.comb += delivers.eq(complete | completes)
        with m.If(empties):
            m.d.sync += o.valid.eq(delivers)
        with m.If(empties & delivers):
            m.d.sync += [o.p.eq(extended), Value.cast(beat).eq(0), complete.eq(0)]
        with m.Else():
            m.d.sync += [beat.eq(extended), complete.eq(delivers)]
        return m


class BeatsToBytes(Design):
    """Unpack beats into bytes.

    A beat without bytes can end a text; a stream of bytes cannot. The last byte of a beat without
    ``last`` is therefore held until the next beat. A text without bytes is dropped: count texts
    before this adapter, if that matters.

    1. Throughput: one byte in every cycle while the consumer is ready and beats are offered.
    2. Latency: the first byte of a beat is at the output 2 cycles after its beat was accepted. A
       byte that is held is at the output 1 cycle after the next beat was accepted. Cycles in which
       the output stalls, or in which earlier bytes are output, are not counted.
    3. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle.
    4. Bytes after a lane without ``keep``, which break the rules of the input, are dropped.

    Parameters
    ----------
    lanes : int
        Bytes in a beat: 1, 2, 4, 8, 16, 32, 64 or 128.

    Members
    -------
    i : ``In(stream.Signature(beat_layout(lanes)))``
        Beats.
    o : ``Out(stream.Signature(BYTE_LAYOUT))``
        Their bytes.
    """

    i: Any
    o: Any

    def __init__(self, *, lanes: int = DEFAULT_LANES) -> None:
        self.lanes = checked_lanes(lanes)
        super().__init__(
            {
                "i": In(stream.Signature(beat_layout(self.lanes))),
                "o": Out(stream.Signature(BYTE_LAYOUT)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        o = self.o
        queue = _Queue(m, self.i)
        following, is_empty = queue.p, ~queue.p.keep[0]
        # The beat whose lane 0 is output. It is shifted by one lane after each byte.
        beat, valid = Signal(self.i.p.shape()), Signal()
        keep, known = Value.cast(beat.keep), Signal()
        is_final = ~keep[1] if self.lanes > 1 else 1
        ends_text = beat.last | (queue.valid & is_empty & following.last)
        m.d.comb += [
            # An empty beat in the middle of a text breaks the rules and is skipped.
            known.eq(beat.last | (queue.valid & (following.last | ~is_empty))),
            o.valid.eq(valid & (~is_final | known)),
            o.p.data.eq(beat.data[0]),
            o.p.last.eq(is_final & ends_text),
        ]
        loads, skips = Signal(), Signal()
        m.d.comb += [
            skips.eq(queue.valid & is_empty & ~following.last),
            loads.eq(~valid | (o.valid & o.ready & is_final)),
            queue.ready.eq(loads | skips),
        ]
        with m.If(loads):
            m.d.sync += [
                beat.eq(following),
                valid.eq(queue.valid & ~is_empty),
            ]
        with m.Elif(o.valid & o.ready):
            m.d.sync += [
                Value.cast(beat.data).eq(Value.cast(beat.data) >> 8),
                keep.eq(keep >> 1),
            ]
        return m


class SlotsToCodePoints(Design):
    """Convert the token slots of a wide decoder to beats of code points, for a compactor.

    An error is U+FFFD. Slot 0 holds a sequence of the previous beat that this beat cuts. It goes to
    the last lane of the previous beat, which is free. A beat without ``last`` is therefore held
    until the next one.

    1. Throughput: one beat in every cycle while the consumer is ready and beats are offered.
    2. Latency: a beat is at the output 2 cycles after it was accepted or, without ``last``, 1 cycle
       after the next beat was accepted if that is later. Cycles in which the output stalls are not
       counted.
    3. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle.

    Parameters
    ----------
    profile : Profile
        The decoder's profile.
    lanes : int
        The decoder's number of lanes.

    Members
    -------
    i : ``In(stream.Signature(slots_layout(profile, lanes)))``
        Token slots.
    o : ``Out(stream.Signature(beat_layout(lanes, profile.code_point_width)))``
        Code points in the lanes whose ``keep`` is set.
    """

    i: Any
    o: Any

    def __init__(self, profile: Profile = UNICODE, *, lanes: int = DEFAULT_LANES) -> None:
        self.profile = checked_profile(profile)
        self.lanes = checked_lanes(lanes, 2)
        super().__init__(
            {
                "i": In(stream.Signature(slots_layout(profile, self.lanes))),
                "o": Out(stream.Signature(beat_layout(self.lanes, profile.code_point_width))),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        o = self.o
        queue = _Queue(m, self.i)
        slots, valid = Signal(self.i.p.shape()), Signal()
        tokens = [slot.length.any() for slot in slots.slots][1:]
        late = queue.p.slots[0]
        adds = late.length.any() & ~slots.last
        code_points = [Value.cast(slot.code_point) for slot in slots.slots][1:]
        code_points[-1] = Mux(adds, late.code_point, code_points[-1])
        m.d.comb += [
            o.valid.eq(valid & (slots.last | queue.valid)),
            Value.cast(o.p.data).eq(Cat(code_points)),
            Value.cast(o.p.keep).eq(Cat(*tokens[:-1], tokens[-1] | adds)),
            o.p.last.eq(slots.last),
            queue.ready.eq(~valid | (o.valid & o.ready)),
        ]
        with m.If(queue.ready):
            m.d.sync += [slots.eq(queue.p), valid.eq(queue.valid)]
        return m


class _Queue:
    """Two-entry FIFO after an input. ``i.ready`` depends on registers only, and is low in reset.

    - ``valid``, ``ready``: the output's handshake.
    - ``p``: the output's payload.
    """

    def __init__(self, m: Module, i: Any) -> None:
        layout = i.p.shape()
        m.submodules.queue = fifo = SyncFIFO(width=layout.size, depth=QUEUED)
        runs = running(m)
        self.valid, self.ready = fifo.r_rdy, Signal()
        self.p: Any = data.View(layout, fifo.r_data)
        m.d.comb += [
            i.ready.eq(runs & fifo.w_rdy),
            fifo.w_en.eq(i.valid & runs),
            fifo.w_data.eq(i.p),
            fifo.r_en.eq(self.ready),
        ]
