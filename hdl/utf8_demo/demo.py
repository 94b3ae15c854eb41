"""The demo for a board: UTF-8 in on a UART, code points and errors out on it, as lines of text."""

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from utf8_hdl.decoder import Decoder
from utf8_hdl.layouts import Kind
from utf8_hdl.profile import UNICODE, Profile

from .uart import UartReceiver, UartTransmitter, cycles_per_bit

PAUSE = 0.02
"""Seconds of silence that end a text. Adapters on USB deliver what is one text with shorter gaps,
and a person at a terminal does not notice the delay."""

BUFFER = 2048
"""How many bytes wait at most while the longer answers to those before them are sent."""


class Demo(wiring.Component):
    """A decoder between two UARTs, which writes a line of text for each token.

    A line is sent at the same rate at which bytes come, and is longer than the bytes that it is
    about; so there is a buffer before the decoder::

             +----------+   +--------+   +---------+   +------------+   +-------------+
        rx ->| receiver |-->| buffer |-->| decoder |-->| LineWriter |-->| transmitter |-> tx
             +----------+   +--------+   +---------+   +------------+   +-------------+
                                 |                            ^
                                 +------ bytes were lost -----+

    A UART has no end of text, so a silence of ``pause`` seconds is taken for one. Then a sequence
    that was begun is reported as truncated, though nothing follows it.

    Bytes are lost if the buffer is full or the stop bit is missing. The text before ends there, and
    a line says so at this place among the others.

    Parameters
    ----------
    profile : Profile
        Which UTF-8 is spoken.
    clock_hz : float
        Frequency of the clock.
    baud : float
        Bits per second, of both UARTs: 8 data bits, no parity, 1 stop bit.
    pause : float
        Seconds of silence that end a text; if shorter than a byte, the time of a byte.
    buffer : int
        How many bytes the buffer holds, the notice of an overrun included.
    compact : bool
        Whether the decoder is the compact one.

    Raises
    ------
    ValueError
        If the clock cannot give that rate, or the buffer has fewer than 3 places.

    Members
    -------
    rx : ``In(1)``
        The line on which bytes come; it need not be synchronous to the clock.
    tx : ``Out(1)``
        The line on which text goes.
    busy : ``Out(1)``
        Something is being received, waits, or is being sent. From a register.
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
    ) -> None:
        self.profile = profile
        self._compact = compact
        self._bit_cycles = cycles_per_bit(clock_hz, baud)
        self._pause_cycles = max(round(clock_hz * pause), 10 * self._bit_cycles)
        if buffer < ReceiveBuffer.SMALLEST:
            raise ValueError(f"buffer must be {ReceiveBuffer.SMALLEST} or more, not {buffer!r}")
        self._buffer_depth = buffer
        super().__init__()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.receiver = receiver = UartReceiver(self._bit_cycles)
        m.submodules.buffer = buffer = ReceiveBuffer(self._buffer_depth, self._pause_cycles)
        m.submodules.decoder = decoder = Decoder(self.profile, self._compact)
        m.submodules.writer = writer = LineWriter(self.profile)
        m.submodules.transmitter = transmitter = UartTransmitter(self._bit_cycles)
        wiring.connect(m, writer.o, transmitter.i)
        m.d.comb += [
            receiver.rx.eq(self.rx),
            buffer.data.eq(receiver.data),
            buffer.received.eq(receiver.received),
            buffer.framing_error.eq(receiver.framing_error),
            buffer.idle.eq(receiver.idle),
            self.tx.eq(transmitter.tx),
        ]

        # A text is out of the decoder before what follows it is looked at, so that a notice gets
        # its place among the tokens.
        is_byte = Signal()
        ending = Signal()
        m.d.comb += is_byte.eq((buffer.o.p.mark == Mark.BYTE) | (buffer.o.p.mark == Mark.LAST_BYTE))
        m.d.comb += [
            decoder.i.valid.eq(buffer.o.valid & is_byte & ~ending),
            decoder.i.p.data.eq(buffer.o.p.data),
            decoder.i.p.last.eq(buffer.o.p.mark == Mark.LAST_BYTE),
            buffer.o.ready.eq(~ending & Mux(is_byte, decoder.i.ready, writer.i.ready)),
            decoder.o.ready.eq(writer.i.ready),
        ]
        with m.If(decoder.i.valid & decoder.i.ready & decoder.i.p.last):
            m.d.sync += ending.eq(1)
        with m.If(decoder.o.valid & decoder.o.ready & decoder.o.p.last):
            m.d.sync += ending.eq(0)

        with m.If(decoder.o.valid):
            m.d.comb += [
                writer.i.valid.eq(1),
                writer.i.p.line.eq(decoder.o.p.kind),
                writer.i.p.code_point.eq(decoder.o.p.code_point),
                writer.i.p.length.eq(decoder.o.p.length),
            ]
        with m.Else():
            m.d.comb += [
                writer.i.valid.eq(buffer.o.valid & ~is_byte & ~ending),
                writer.i.p.line.eq(
                    Mux(buffer.o.p.mark == Mark.OVERRUN, OVERRUN_LINE, FRAMING_ERROR_LINE)
                ),
            ]

        resting = receiver.idle & ~buffer.pending & ~ending & writer.i.ready & transmitter.i.ready
        m.d.sync += self.busy.eq(~resting)
        return m


class Mark(enum.Enum, shape=2):
    """What an entry of the receive buffer is."""

    #: A byte; more of its text follows.
    BYTE = 0
    #: The last byte of a text.
    LAST_BYTE = 1
    #: No byte: here some were lost, because the buffer was full.
    OVERRUN = 2
    #: No byte: here one was lost, because its stop bit was missing.
    FRAMING_ERROR = 3


ENTRY_LAYOUT = data.StructLayout({"data": 8, "mark": Mark})
"""An entry of the receive buffer. ``data`` has no meaning in a notice of lost bytes."""


class ReceiveBuffer(wiring.Component):
    """Keeps received bytes, and marks where a text ends and where bytes were lost.

    A byte waits outside the queue until it is known whether it is the last of its text: until the
    next event, or the end of the pause. An event is a byte or a framing error. One that finds fewer
    than 3 places free is an overrun; this leaves room for the byte that waits, as the last of its
    text, and for the notice. From then on events are ignored until the queue is empty, so that
    there are long pieces with one gap rather than many gaps.

    It has ``depth`` places for bytes and notices, ``SMALLEST`` or more. A text ends after ``pause``
    cycles of an idle line.

    Members
    -------
    data, received, framing_error, idle : ``In``
        From :class:`~utf8_demo.uart.UartReceiver`.
    o : ``Out(stream.Signature(ENTRY_LAYOUT))``
        What was received. A notice follows a ``LAST_BYTE`` or a notice, or is the first entry.
    pending : ``Out(1)``
        There is something that was received and not yet taken.
    """

    #: Places for a byte, another that is the last of its text, and a notice.
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
        full = Signal()
        m.d.comb += event.eq((self.received | self.framing_error) & ~ignoring)
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
            text_goes_on = self.received & ~full
            m.d.comb += entry.data.eq(byte)
            m.d.comb += entry.mark.eq(Mux(text_goes_on, Mark.BYTE, Mark.LAST_BYTE))
            m.d.comb += fifo.w_en.eq(1)
            m.d.sync += byte_waits.eq(0)

        with m.If(event & full):
            m.d.sync += [notice.eq(Mark.OVERRUN), notice_waits.eq(1), ignoring.eq(1)]
        with m.Elif(event & self.framing_error):
            m.d.sync += [notice.eq(Mark.FRAMING_ERROR), notice_waits.eq(1)]
        with m.Elif(event):
            m.d.sync += [byte.eq(self.data), byte_waits.eq(1)]
        with m.Elif(~self.pending):
            m.d.sync += ignoring.eq(0)
        return m


# Places in a line that are filled in, and its end: none of them is ever written.
_CODE_POINT, _LENGTH, _PLURAL, _END = "\1", "\2", "\3", "\0"

_LINES = [
    f"U+{_CODE_POINT}",
    *(f"error {kind.label} ({_LENGTH} byte{_PLURAL})" for kind in Kind if kind is not Kind.NONE),
    "lost: overrun",
    "lost: framing error",
]

OVERRUN_LINE, FRAMING_ERROR_LINE = range(len(Kind), len(_LINES))
"""Numbers of the lines that say that bytes were lost."""

FEWEST_DIGITS = 4
"""Of a code point, as is usual after ``U+``."""


def line_layout(profile: Profile) -> data.StructLayout:
    """Layout of the input of :class:`LineWriter`.

    ``line`` (4 bits) is the code of a token's :class:`Kind`, or ``OVERRUN_LINE`` or
    ``FRAMING_ERROR_LINE``; ``code_point`` and ``length`` are the token's.
    """
    return data.StructLayout(
        {
            "line": bits_for(len(_LINES) - 1),
            "code_point": profile.code_point_width,
            "length": bits_for(profile.longest_form),
        }
    )


class LineWriter(wiring.Component):
    """Writes a line of ASCII for each token, ended by CR and LF.

    A character is written as ``U+`` and four or more hexadecimal digits, an error as
    ``error truncated (2 bytes)``, lost bytes as ``lost: overrun`` or ``lost: framing error``. The
    texts are in a memory; a control character in them is the place of what is filled in.

    Members
    -------
    i : ``In(stream.Signature(line_layout(profile)))``
        What to write. ``ready`` is high while no line is being written.
    o : ``Out(stream.Signature(8))``
        The characters of the lines.
    """

    i: Any
    o: Any

    def __init__(self, profile: Profile = UNICODE) -> None:
        self.profile = profile
        super().__init__(
            {"i": In(stream.Signature(line_layout(profile))), "o": Out(stream.Signature(8))}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lines = [f"{line}\r\n{_END}" for line in _LINES]
        starts = [len("".join(lines[:number])) for number in range(len(lines))]
        texts = "".join(lines).encode("ascii")
        m.submodules.memory = memory = Memory(shape=8, depth=len(texts), init=texts)
        port = memory.read_port()
        character = port.data
        address = Signal(range(len(texts)))
        m.d.comb += port.addr.eq(address)  # that of the next cycle
        address_now = Signal(range(len(texts)))
        m.d.sync += address_now.eq(address)

        digit_count = max(FEWEST_DIGITS, -(-self.profile.code_point_width // 4))
        digits = Signal(4 * digit_count)
        digits_left = Signal(range(digit_count + 1))
        digit = digits[-4:]
        leading = Signal()
        length = Signal(bits_for(self.profile.longest_form))

        next_digit = Signal()
        next_character = Signal()
        with m.If(next_digit):
            m.d.sync += digits.eq(digits << 4)
            m.d.sync += digits_left.eq(digits_left - 1)
            m.d.sync += leading.eq(leading & (digit == 0))

        with m.FSM():
            with m.State("START"):
                m.d.comb += self.i.ready.eq(1)
                m.d.comb += address.eq(Array(starts)[self.i.p.line])
                m.d.sync += [
                    digits.eq(self.i.p.code_point),
                    digits_left.eq(digit_count),
                    leading.eq(1),
                    length.eq(self.i.p.length),
                ]
                with m.If(self.i.valid):
                    m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += address.eq(address_now + next_character)
                m.d.comb += self.o.valid.eq(1)
                m.d.comb += next_character.eq(self.o.ready)
                with m.Switch(character):
                    with m.Case(ord(_CODE_POINT)):
                        needless = leading & (digit == 0) & (digits_left > FEWEST_DIGITS)
                        m.d.comb += [
                            self.o.payload.eq(_hexadecimal(digit)),
                            self.o.valid.eq(~needless),
                            next_digit.eq(needless | self.o.ready),
                            next_character.eq(self.o.ready & (digits_left == 1)),
                        ]
                    with m.Case(ord(_LENGTH)):
                        m.d.comb += self.o.payload.eq(ord("0") + length)
                    with m.Case(ord(_PLURAL)):
                        m.d.comb += self.o.payload.eq(ord("s"))
                        with m.If(length == 1):
                            m.d.comb += self.o.valid.eq(0)
                            m.d.comb += next_character.eq(1)
                    with m.Case(ord(_END)):
                        m.d.comb += self.o.valid.eq(0)
                        m.next = "START"
                    with m.Default():
                        m.d.comb += self.o.payload.eq(character)
        return m


def _hexadecimal(digit: Value) -> Value:
    """The character of a digit of 4 bits."""
    return Mux(digit < 10, ord("0") + digit, ord("A") - 10 + digit)
