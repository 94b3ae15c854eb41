"""Lines of text about tokens, units and counts."""

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from utf8_hdl.layouts import ErrorKind
from utf8_hdl.profile import UNICODE, Profile

from .statistics import COUNTS, DIGITS, PLACE_LAYOUT

# Placeholders in a line, and the mark of its end. These characters are not sent.
_CODE_POINT, _LENGTH, _PLURAL, _COUNT, _END = "\1", "\2", "\3", "\4", "\0"

_LINES = [
    f"U+{_CODE_POINT}",
    *(
        f"error {kind.label} ({_LENGTH} byte{_PLURAL})"
        for kind in ErrorKind
        if kind is not ErrorKind.NONE
    ),
    "lost: overrun",
    "lost: framing error",
    f"0x{_CODE_POINT}",
    "\r\n".join(f"{name} {_COUNT}" for name in COUNTS),
]

_TEXTS = b"".join(f"{line}\r\n{_END}".encode("ascii") for line in _LINES)
_ENDS = [place + 1 for place, character in enumerate(_TEXTS) if character == ord(_END)]
_STARTS = [0, *_ENDS[:-1]]

OVERRUN_LINE, FRAMING_ERROR_LINE, UNIT_LINE, REPORT_LINES = range(len(ErrorKind), len(_LINES))
"""Line numbers: the notices of lost bytes, a UTF-16 unit, and the report."""

FEWEST_DIGITS = 4
"""Minimum number of digits of a code point, and the number of digits of a UTF-16 unit."""


def line_layout(profile: Profile) -> data.StructLayout:
    """Layout of the input of :class:`LineWriter`.

    ``line`` (4 bits) is the code of a token's :class:`ErrorKind`, or ``OVERRUN_LINE``,
    ``FRAMING_ERROR_LINE``, ``UNIT_LINE`` or ``REPORT_LINES``. ``code_point`` and ``length`` are
    those of the token; with ``UNIT_LINE``, ``code_point`` is the unit.
    """
    return data.StructLayout(
        {
            "line": bits_for(len(_LINES) - 1),
            "code_point": profile.code_point_width,
            "length": bits_for(profile.longest_form),
        }
    )


class LineWriter(wiring.Component):
    """Writes a line of ASCII for each token or unit, ended by CR and LF.

    A character is written as ``U+`` and four or more hexadecimal digits, an error as
    ``error truncated (2 bytes)``, lost bytes as ``lost: overrun`` or ``lost: framing error``, a
    unit of UTF-16 as ``0x`` and four hexadecimal digits, and the report as a line for each of
    ``COUNTS``. The texts are in a memory, with control characters as placeholders.

    Members
    -------
    i : ``In(stream.Signature(line_layout(profile)))``
        The line to write. ``ready`` is high while no line is being written.
    o : ``Out(stream.Signature(8))``
        The characters of the lines.
    place : ``Out(PLACE_LAYOUT)``, digit : ``In(4)``
        Read port of :class:`~utf8_demo.statistics.Statistics`, which must not count during the
        report.
    """

    i: Any
    o: Any
    place: Any
    digit: Any

    def __init__(self, profile: Profile = UNICODE) -> None:
        self.profile = profile
        super().__init__(
            {
                "i": In(stream.Signature(line_layout(profile))),
                "o": Out(stream.Signature(8)),
                "place": Out(PLACE_LAYOUT),
                "digit": In(4),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=len(_TEXTS), init=_TEXTS)
        port = memory.read_port()
        character = port.data
        address, address_now = Signal(range(len(_TEXTS))), Signal(range(len(_TEXTS)))
        m.d.comb += port.addr.eq(address)  # of the next cycle's character
        m.d.sync += address_now.eq(address)

        digit_count = max(FEWEST_DIGITS, -(-self.profile.code_point_width // 4))
        digits = Signal(4 * digit_count)
        digit_place = Signal(range(DIGITS))  # index of the next digit; wraps from 0 to the highest
        leading = Signal()
        count = Signal.like(self.place.count)
        length = Signal(bits_for(self.profile.longest_form))

        next_digit = Signal()
        next_character = Signal()
        is_count = character == ord(_COUNT)
        digit = Mux(is_count, self.digit, digits[-4:])
        is_last = digit_place == 0
        needless = leading & (digit == 0) & (digit_place >= Mux(is_count, 1, FEWEST_DIGITS))
        m.d.comb += [self.place.digit.eq(digit_place - next_digit), self.place.count.eq(count)]
        with m.If(next_digit):
            m.d.sync += [
                digits.eq(digits << 4),
                digit_place.eq(digit_place - 1),
                leading.eq(is_last | (leading & (digit == 0))),
            ]

        with m.FSM():
            with m.State("START"):
                m.d.comb += self.i.ready.eq(1)
                m.d.comb += address.eq(Array(_STARTS)[self.i.p.line])
                m.d.sync += [
                    digits.eq(self.i.p.code_point),
                    digit_place.eq(Mux(self.i.p.line == REPORT_LINES, DIGITS, digit_count) - 1),
                    count.eq(0),
                    leading.eq(1),
                    length.eq(self.i.p.length),
                ]
                with m.If(self.i.valid):
                    m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += [
                    address.eq(address_now + next_character),
                    self.o.valid.eq(1),
                    next_character.eq(self.o.ready),
                ]
                with m.Switch(character):
                    with m.Case(ord(_CODE_POINT), ord(_COUNT)):
                        m.d.comb += [
                            self.o.payload.eq(_hexadecimal(digit)),
                            self.o.valid.eq(~needless),
                            next_digit.eq(needless | self.o.ready),
                            next_character.eq(self.o.ready & is_last),
                        ]
                        with m.If(next_character):
                            m.d.sync += count.eq(count + 1)
                    with m.Case(ord(_LENGTH)):
                        m.d.comb += self.o.payload.eq(ord("0") + length)
                    with m.Case(ord(_PLURAL)):
                        m.d.comb += self.o.payload.eq(ord("s"))
                        with m.If(length == 1):
                            m.d.comb += [self.o.valid.eq(0), next_character.eq(1)]
                    with m.Case(ord(_END)):
                        m.d.comb += self.o.valid.eq(0)
                        m.next = "START"
                    with m.Default():
                        m.d.comb += self.o.payload.eq(character)
        return m


def _hexadecimal(digit: Value) -> Value:
    """The character of a hexadecimal digit."""
    return Mux(digit < 10, ord("0") + digit, ord("A") - 10 + digit)
