"""Buffer of received bytes, ends of texts, notices of lost bytes, and enquiries."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

ENQUIRY = 0x05
"""The byte ENQ (Ctrl-E), which requests the statistics. It is not part of any text."""


class Mark(enum.Enum, shape=3):
    """Type of an entry of the receive buffer."""

    #: A byte; more of its text follows.
    BYTE = 0
    #: The last byte of a text.
    LAST_BYTE = 1
    #: A notice: bytes were lost here because the buffer was full.
    OVERRUN = 2
    #: A notice: a byte was lost here because its stop bit was missing.
    FRAMING_ERROR = 3
    #: A notice: the statistics are requested.
    ENQUIRY = 4


ENTRY_LAYOUT = data.StructLayout({"data": 8, "mark": Mark})
"""An entry of the receive buffer. ``data`` is a don't care in a notice."""


class ReceiveBuffer(wiring.Component):
    """Buffers received bytes, and marks the ends of texts, lost bytes, and enquiries.

    An event is a byte, a framing error or an enquiry (the byte ``ENQUIRY``). A framing error or an
    enquiry ends the text, and a notice of it is queued. A byte is held in a register before the
    queue until the next event, or the end of the pause, decides if it is the last byte of its text.

    An event at which fewer than 3 entries are free is lost, which is an overrun: the held byte is
    queued as the last byte of its text, and a notice after it. Further events are ignored until the
    buffer is empty, so that losses form few long gaps.

    The queue has ``depth`` entries for bytes and notices, at least ``SMALLEST``. A text ends after
    ``pause`` cycles of an idle line.

    Members
    -------
    data, received, framing_error, idle : ``In``
        From :class:`~utf8_demo.uart.UartReceiver`.
    o : ``Out(stream.Signature(ENTRY_LAYOUT))``
        The entries in order. A notice follows a ``LAST_BYTE`` or a notice, or is the first entry.
    pending : ``Out(1)``
        High while a received byte or notice has not been taken.
    """

    #: Minimum depth: a byte, the last byte of its text, and a notice.
    SMALLEST = 3

    data: In(8)
    received: In(1)
    framing_error: In(1)
    idle: In(1)
    o: Out(stream.Signature(ENTRY_LAYOUT))
    pending: Out(1)

    def __init__(self, depth: int, pause: int) -> None:
        self.depth = depth
        self.pause = pause
        super().__init__()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.fifo = fifo = SyncFIFOBuffered(width=ENTRY_LAYOUT.size, depth=self.depth)
        entry = Signal(ENTRY_LAYOUT)
        m.d.comb += [
            fifo.w_data.eq(entry),
            self.o.valid.eq(fifo.r_rdy),
            self.o.payload.eq(fifo.r_data),
            fifo.r_en.eq(self.o.ready),
        ]

        silence = Signal(range(self.pause + 1))
        text_ends = Signal()
        m.d.comb += text_ends.eq(silence == self.pause)
        with m.If(~self.idle):
            m.d.sync += silence.eq(0)
        with m.Elif(~text_ends):
            m.d.sync += silence.eq(silence + 1)

        ignoring = Signal()
        event = Signal()
        enquiry = Signal()
        full = Signal()
        m.d.comb += event.eq((self.received | self.framing_error) & ~ignoring)
        m.d.comb += enquiry.eq(self.received & (self.data == ENQUIRY))
        m.d.comb += full.eq(fifo.level > self.depth - self.SMALLEST)

        byte = Signal(8)
        byte_waits = Signal()
        notice = Signal(Mark)
        notice_waits = Signal()
        m.d.comb += self.pending.eq(byte_waits | notice_waits | fifo.level.any())

        with m.If(notice_waits):
            m.d.comb += entry.mark.eq(notice)
            m.d.comb += fifo.w_en.eq(1)
            m.d.sync += notice_waits.eq(0)
        with m.Elif(byte_waits & (event | text_ends)):
            text_goes_on = self.received & ~enquiry & ~full
            m.d.comb += entry.data.eq(byte)
            m.d.comb += entry.mark.eq(Mux(text_goes_on, Mark.BYTE, Mark.LAST_BYTE))
            m.d.comb += fifo.w_en.eq(1)
            m.d.sync += byte_waits.eq(0)

        with m.If(event & full):
            m.d.sync += [notice.eq(Mark.OVERRUN), notice_waits.eq(1), ignoring.eq(1)]
        with m.Elif(event & self.framing_error):
            m.d.sync += [notice.eq(Mark.FRAMING_ERROR), notice_waits.eq(1)]
        with m.Elif(event & enquiry):
            m.d.sync += [notice.eq(Mark.ENQUIRY), notice_waits.eq(1)]
        with m.Elif(event):
            m.d.sync += [byte.eq(self.data), byte_waits.eq(1)]
        with m.Elif(~self.pending):
            m.d.sync += ignoring.eq(0)
        return m
