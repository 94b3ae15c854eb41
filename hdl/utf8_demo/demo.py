"""The demo for a board: receives UTF-8 on a UART and sends the output of a component back."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from utf8_hdl.compact_decoder import CompactDecoder
from utf8_hdl.decoder import Decoder
from utf8_hdl.encoding_scheme import EncodingScheme
from utf8_hdl.profile import UNICODE, Profile
from utf8_hdl.transcode.transcoder import Transcoder

from .lines import FRAMING_ERROR_LINE, OVERRUN_LINE, REPORT_LINES, UNIT_LINE, LineWriter
from .receive_buffer import Mark, ReceiveBuffer
from .statistics import BYTES, CHARACTERS, FRAMING_ERRORS, OVERRUNS, Statistics
from .uart import UartReceiver, UartTransmitter, cycles_per_bit
from .units import UnitSplitter

PAUSE = 0.02
"""Seconds of silence that end a text. USB adapters leave shorter gaps within a text, and a person
at a terminal does not notice the delay."""

BUFFER = 2048
"""Entries of the receive buffer: the output can be longer than the input."""


TARGETS = (EncodingScheme.UTF_16LE, EncodingScheme.UTF_8)
"""Output encodings of a demo's transcoder."""


class Demo(wiring.Component):
    """A component between two UARTs. Its output is sent as lines of text, or as text.

    Each token of a decoder and each UTF-16 unit of a transcoder is written as a line; UTF-8
    repaired by a transcoder is sent unchanged. The output can be longer than the input, so there
    is a buffer before the component::

             +----------+   +--------+   +-----------+   +------------+   +-------------+
        rx ->| receiver |-->| buffer |-->| component |-->| LineWriter |-->| transmitter |-> tx
             +----------+   +--------+   +-----------+   +------------+   +-------------+
                                 |  |          |            ^    ^
                                 |  |    +------------+     |    |
                                 |  +--->| Statistics |-----+    |
                                 |       +------------+          |
                                 +-- bytes were lost, enquiries -+

    A UART does not mark the end of a text, so a silence of ``pause`` seconds ends it. An unfinished
    sequence is then reported as truncated.

    Bytes are lost if the buffer is full or a stop bit is missing. A loss ends the text before it. A
    line reports it, in order with the other lines; with target UTF-8, losses are only counted.

    The byte ENQ requests the statistics. It ends the text before it and is not part of any text.
    The statistics are written in order with the other lines. They count a decoder's tokens: beside
    a transcoder, a compact decoder decodes the same bytes for them.

    Parameters
    ----------
    profile : Profile
        The UTF-8 profile.
    clock_hz : float
        Frequency of the clock.
    baud : float
        Bits per second, of both UARTs: 8 data bits, no parity, 1 stop bit.
    pause : float
        Seconds of silence that end a text; if shorter than a byte, the time of a byte.
    buffer : int
        Entries of the buffer, including the notice of an overrun.
    compact : bool
        Use the compact decoder. The decoder beside a transcoder is always compact.
    target : EncodingScheme, optional
        Output encoding of the transcoder that replaces the decoder: UTF-16LE, or UTF-8 to repair.
    strip_bom : bool
        Remove U+FEFF at the beginning of a text in the transcoder.

    Raises
    ------
    ValueError
        If ``clock_hz`` does not allow ``baud``, the buffer has fewer than 3 entries, or the
        transcoder is not supported.

    Members
    -------
    rx : ``In(1)``
        The received line. It need not be synchronous to the clock.
    tx : ``Out(1)``
        The transmitted line.
    busy : ``Out(1)``
        High while the demo receives, buffers or sends anything. From a register.
    """

    rx: In(1, init=1)
    tx: Out(1, init=1)
    busy: Out(1)

    def __init__(
        self,
        profile: Profile = UNICODE,
        *,
        clock_hz: float,
        baud: float,
        pause: float = PAUSE,
        buffer: int = BUFFER,
        compact: bool = False,
        target: EncodingScheme | None = None,
        strip_bom: bool = False,
    ) -> None:
        self.profile = profile
        self._bit_cycles = cycles_per_bit(clock_hz, baud)
        self._pause_cycles = max(round(clock_hz * pause), 10 * self._bit_cycles)
        if buffer < ReceiveBuffer.SMALLEST:
            raise ValueError(f"buffer must be {ReceiveBuffer.SMALLEST} or more, not {buffer!r}")
        self._buffer_depth = buffer
        self._compact = compact or target is not None
        self._transcoder = None
        if target is not None:
            if target not in TARGETS:
                raise ValueError(f"target must be UTF-16LE or UTF-8, not {target!r}")
            self._transcoder = Transcoder(profile, lanes=1, target=target, strip_bom=strip_bom)
            # The transcoder is part of the demo: Amaranth should warn only about an unused demo.
            self._transcoder._MustUse__silence = True
        self._writes_losses = target is not EncodingScheme.UTF_8
        super().__init__()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        made = CompactDecoder if self._compact else Decoder
        m.submodules.receiver = receiver = UartReceiver(self._bit_cycles)
        m.submodules.buffer = buffer = ReceiveBuffer(self._buffer_depth, self._pause_cycles)
        m.submodules.decoder = decoder = made(self.profile)
        m.submodules.statistics = statistics = Statistics()
        m.submodules.writer = writer = LineWriter(self.profile)
        m.submodules.transmitter = transmitter = UartTransmitter(self._bit_cycles)
        components: list[Any] = [decoder]
        if self._transcoder is not None:
            m.submodules.transcoder = transcoder = self._transcoder
            components.append(transcoder)
            m.d.comb += transcoder.i.p.keep.eq(1)
        m.d.comb += [
            receiver.rx.eq(self.rx),
            buffer.data.eq(receiver.data),
            buffer.received.eq(receiver.received),
            buffer.framing_error.eq(receiver.framing_error),
            buffer.idle.eq(receiver.idle),
            transmitter.i.payload.eq(writer.o.payload),
            transmitter.i.valid.eq(writer.o.valid),
            writer.o.ready.eq(transmitter.i.ready),
            self.tx.eq(transmitter.tx),
            statistics.place.eq(writer.place),
            writer.digit.eq(statistics.digit),
        ]

        # Tokens have priority over entries of the buffer. Neither is accepted while a line is
        # written, so the counters do not change during the report. After the last byte of a text,
        # no entry is accepted until all components have output that text, so notices stay in order.
        # No component's `i.ready` depends on its `i.valid`, so there is no combinational loop.
        mark = buffer.o.p.mark
        is_byte = (mark == Mark.BYTE) | (mark == Mark.LAST_BYTE)
        ending = Signal(len(components))
        free, takes_entry, takes_byte, takes_notice = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            free.eq(statistics.i.ready & writer.i.ready),
            decoder.o.ready.eq(free),
            takes_entry.eq(free & buffer.o.valid & ~decoder.o.valid & ~ending.any()),
            takes_byte.eq(takes_entry & is_byte & Cat(each.i.ready for each in components).all()),
            takes_notice.eq(takes_entry & ~is_byte),
            buffer.o.ready.eq(takes_byte | takes_notice),
        ]
        for number, each in enumerate(components):
            m.d.comb += [
                each.i.valid.eq(takes_byte),
                Value.cast(each.i.p.data).eq(buffer.o.p.data),
                each.i.p.last.eq(mark == Mark.LAST_BYTE),
            ]
            with m.If(takes_byte & each.i.p.last):
                m.d.sync += ending[number].eq(1)
            with m.Elif(each.o.valid & each.o.ready & each.o.p.last):
                m.d.sync += ending[number].eq(0)

        with m.If(decoder.o.valid):
            m.d.comb += statistics.i.valid.eq(free)
            m.d.comb += statistics.i.payload.eq(CHARACTERS + Value.cast(decoder.o.p.kind))
        with m.Elif(is_byte):
            m.d.comb += statistics.i.valid.eq(takes_byte)
            m.d.comb += statistics.i.payload.eq(BYTES)
        with m.Elif(mark == Mark.ENQUIRY):
            m.d.comb += writer.i.valid.eq(takes_notice)
            m.d.comb += writer.i.p.line.eq(REPORT_LINES)
        with m.Else():
            loss = Mux(mark == Mark.OVERRUN, OVERRUNS, FRAMING_ERRORS)
            m.d.comb += [
                statistics.i.valid.eq(takes_notice),
                statistics.i.payload.eq(loss),
                writer.i.valid.eq(takes_notice & int(self._writes_losses)),
                writer.i.p.line.eq(Mux(mark == Mark.OVERRUN, OVERRUN_LINE, FRAMING_ERROR_LINE)),
            ]
        if self._transcoder is None:
            with m.If(decoder.o.valid):
                m.d.comb += [
                    writer.i.valid.eq(free),
                    writer.i.p.line.eq(decoder.o.p.kind),
                    writer.i.p.code_point.eq(decoder.o.p.code_point),
                    writer.i.p.length.eq(decoder.o.p.length),
                ]
        else:
            self._give_units(m, self._transcoder, writer, transmitter)

        sends = ~writer.i.ready | ~transmitter.i.ready
        resting = receiver.idle & ~buffer.pending & ~ending.any() & ~sends
        m.d.sync += self.busy.eq(~resting)
        return m

    def _give_units(
        self, m: Module, transcoder: Transcoder, writer: LineWriter, transmitter: UartTransmitter
    ) -> None:
        """Write units of UTF-16 as lines, and send units of UTF-8 unchanged.

        No notice is written between them, because a notice waits for the end of the text.
        """
        target = transcoder.target
        m.submodules.units = units = UnitSplitter(transcoder.out_lanes, target.unit_bytes)
        wiring.connect(m, transcoder.o, units.i)
        taker: Any = transmitter if target is EncodingScheme.UTF_8 else writer
        m.d.comb += units.o.ready.eq(taker.i.ready)
        with m.If(units.o.valid):
            m.d.comb += taker.i.valid.eq(1)
            if target is EncodingScheme.UTF_8:
                m.d.comb += transmitter.i.payload.eq(units.o.payload)
            else:
                m.d.comb += writer.i.p.line.eq(UNIT_LINE)
                m.d.comb += writer.i.p.code_point.eq(units.o.payload)
