"""UART receiver and transmitter: 8 data bits, no parity, 1 stop bit."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

FEWEST_CYCLES = 8
"""Minimum number of clock cycles per bit: with fewer, the sampling point is too inaccurate."""

MAX_ROUNDING = 0.005
"""Maximum relative error of the bit rate, because a bit lasts a whole number of cycles."""


def cycles_per_bit(clock_hz: float, baud: float) -> int:
    """Number of clock cycles per bit.

    Raises
    ------
    ValueError
        If the clock is too slow for the rate, or the rate's rounding error exceeds 0.5 %.
    """
    highest = clock_hz / FEWEST_CYCLES
    if not 0 < baud <= highest:
        raise ValueError(
            f"baud must be above 0 and at most {highest:.0f}, an eighth of the clock, not {baud}"
        )
    cycles = round(clock_hz / baud)
    nearest = clock_hz / cycles
    if abs(nearest / baud - 1) > MAX_ROUNDING:
        raise ValueError(
            f"baud must be within 0.5 % of the clock divided by a whole number, "
            f"such as {nearest:.0f}, not {baud}"
        )
    return cycles


class UartReceiver(wiring.Component):
    """Receives bytes from a sender that may be 3.5 % too fast or too slow.

    Each bit is sampled once, in its middle, timed from the falling edge of the start bit. From the
    middle of the stop bit on, the receiver is ready for the next start bit, which a faster sender
    sends early. A start bit that ends before its middle is ignored as noise.

    If the line is low in the middle of the stop bit, that is a framing error: the byte is dropped,
    and nothing is received until the line is high. So a break of any length is one framing error.
    ``cycles`` is the result of :func:`cycles_per_bit`.

    Members
    -------
    rx : ``In(1)``
        The received line. It need not be synchronous to the clock.
    data : ``Out(8)``
        The byte, in the cycle in which ``received`` is high.
    received : ``Out(1)``
        High for one cycle with a byte: in the middle of its stop bit, plus two cycles of the
        synchroniser.
    framing_error : ``Out(1)``
        High for that cycle, instead of ``received``, if the stop bit is missing.
    idle : ``Out(1)``
        The line is high, and no byte is in flight.
    """

    rx: In(1, init=1)
    data: Out(8)
    received: Out(1)
    framing_error: Out(1)
    idle: Out(1)

    def __init__(self, cycles: int) -> None:
        self.cycles = cycles
        super().__init__()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        line = Signal(init=1)
        m.submodules.synchroniser = FFSynchronizer(self.rx, line, init=1)

        timer = Signal(range(self.cycles))
        sample = Signal()
        count = Signal(3)
        m.d.comb += sample.eq(timer == 0)
        m.d.sync += timer.eq(Mux(sample, self.cycles - 1, timer - 1))

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(line)
                # Half a bit, less one cycle until the timer runs, less half a cycle by which the
                # edge is detected late on average.
                m.d.sync += timer.eq((self.cycles - 3) // 2)
                with m.If(~line):
                    m.next = "START"
            with m.State("START"), m.If(sample):
                with m.If(line):
                    m.next = "IDLE"
                with m.Else():
                    m.next = "DATA"
            with m.State("DATA"), m.If(sample):
                m.d.sync += self.data.eq(Cat(self.data[1:], line))
                m.d.sync += count.eq(count + 1)
                with m.If(count == 7):
                    m.next = "STOP"
            with m.State("STOP"), m.If(sample):
                m.d.comb += self.received.eq(line)
                m.d.comb += self.framing_error.eq(~line)
                with m.If(line):
                    m.next = "IDLE"
                with m.Else():
                    m.next = "BREAK"
            with m.State("BREAK"), m.If(line):
                m.next = "IDLE"
        return m


class UartTransmitter(wiring.Component):
    """Sends bytes with one stop bit, and one more clock cycle between bytes.

    Members
    -------
    i : ``In(stream.Signature(8))``
        Bytes. ``ready`` is high while none is being sent.
    tx : ``Out(1)``
        The line, from a register.
    """

    i: In(stream.Signature(8))
    tx: Out(1, init=1)

    def __init__(self, cycles: int) -> None:
        self.cycles = cycles
        super().__init__()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        timer = Signal(range(self.cycles))
        bits = Signal(10, init=0x3FF)
        count = Signal(range(11))
        m.d.comb += self.tx.eq(bits[0])
        m.d.comb += self.i.ready.eq(count == 0)

        with m.If(self.i.ready):
            with m.If(self.i.valid):
                m.d.sync += bits.eq(Cat(Const(0, 1), self.i.payload, Const(1, 1)))
                m.d.sync += count.eq(10)
            m.d.sync += timer.eq(self.cycles - 1)
        with m.Elif(timer == 0):
            m.d.sync += bits.eq(Cat(bits[1:], Const(1, 1)))
            m.d.sync += count.eq(count - 1)
            m.d.sync += timer.eq(self.cycles - 1)
        with m.Else():
            m.d.sync += timer.eq(timer - 1)
        return m
