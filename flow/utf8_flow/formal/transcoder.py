"""What is proved of the transcoder but for its compactor.

Its first part, `Units`, is looked at alone: it has a flow control of its own, that of
:class:`~.timing.CreditTiming`, and gives one beat for each that it takes. What it says of a beat is
a function of a window of places, as in the decoder with lanes. The join behind it is looked at with
both of its neighbours free.

The specification is made of the Unicode Standard's tables and definitions: Table 3-5 for UTF-16,
Table 3-6 for UTF-8, D90 for UTF-32. It says of each place which code point or error ends in it, of
each of these which units it has, and in which place they are.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8_hdl import ByteOrder, Form, Profile
from utf8_hdl.layouts import beat_layout

from .bench import Bench
from .lanes import LANED, LEMMAS, in_windows, reset
from .specification import FORMS
from .streams import properties_of
from .timing import CreditTiming
from .windows import SlotsSpecification

REPLACEMENT = 0xFFFD
"""What is written for an error."""

MARK = 0xFEFF
"""The byte order mark."""

MARK_BYTES = {Form.UTF_8: 3, Form.UTF_16: 2, Form.UTF_32: 4}
"""How many bytes it has."""


class Token(NamedTuple):
    """Whether a code point or an error ends in a place, whether it is an error, and the former."""

    there: Value
    error: Value
    code_point: Value


class Unit(NamedTuple):
    """Whether there is a unit, and its bits."""

    there: Value
    bits: Value


class Utf8Tokens:
    """The tokens of a beat of UTF-8, in the cycle in which it is accepted: those of the decoder.

    Attributes
    ----------
    accept, item : Signal
        To be driven: whether a beat is accepted in this cycle, and the beat.
    tokens : list of Token
        Those of slots: of what the beat before left unfinished, and of each place.
    """

    def __init__(self, m: Module, design: Any) -> None:
        slots = SlotsSpecification(m, design.profile, design.lanes)
        self.accept, self.item = slots.accept, slots.item
        self.tokens = [Token(slot.length != 0, slot.error, slot.code_point) for slot in slots.slots]


class WordTokens:
    """The tokens of a beat of UTF-16 or UTF-32; attributes as those of :class:`Utf8Tokens`.

    There are units in places. One is there if all of its bytes are, and is a part if some are.
    """

    size: int

    def __init__(self, m: Module, design: Any) -> None:
        layout = beat_layout(design.lanes)
        self.accept, self.item = Signal(), Signal(layout.size)
        beat: Any = data.View(layout, self.item)
        shape = data.StructLayout({"unit": 8 * self.size, "there": 1, "part": 1})
        own: list[Any] = []
        for begin in range(0, design.lanes, self.size):
            lanes = [*range(begin, begin + self.size)]
            keep = Cat(beat.keep[lane] for lane in lanes)
            if design.transcoder.byte_order is ByteOrder.BIG:
                lanes.reverse()
            unit = Cat(beat.data[lane] for lane in lanes)
            own.append(Signal(shape, name=f"place_{len(own)}"))
            m.d.comb += Value.cast(own[-1]).eq(Cat(unit, keep.all(), keep.any() & ~keep.all()))
        before: Any = Signal(shape, name="place_before")
        with m.If(self.accept):
            m.d.sync += Value.cast(before).eq(Mux(beat.last, 0, own[-1]))
        self.tokens = self._tokens(m, design.profile, before, own, beat.last)

    def _tokens(
        self, m: Module, profile: Profile, before: Any, own: list[Any], last: Value
    ) -> list[Token]:
        raise NotImplementedError


class Utf16Tokens(WordTokens):
    """Those of UTF-16 (Unicode D91, Table 3-5).

    A high surrogate and a low one behind it are a code point, and so is any other unit; but a
    surrogate without the other one is an error, unless the profile accepts it. A part is an error,
    together with a high surrogate before it if that is one. What is known of a high surrogate at a
    beat's end is only known with the next beat, or if the text ends.
    """

    size = 2

    def _tokens(
        self, m: Module, profile: Profile, before: Any, own: list[Any], last: Value
    ) -> list[Token]:
        none = Const(0, before.shape().size)
        places = [data.View(before.shape(), none), before, *own, data.View(before.shape(), none)]
        tokens = []
        for slot in range(len(own) + 1):
            previous, this, behind = places[slot : slot + 3]
            high, low = is_high(this), is_low(this)
            goes_on = is_low(behind)
            if not profile.accept_surrogates:
                goes_on |= behind.part
            paired = is_high(previous) & low
            pair = 0x10000 + (previous.unit - 0xD800) * 0x400 + (this.unit - 0xDC00)
            code_point, error = Signal(21), Signal()
            m.d.comb += [
                code_point.eq(Mux(paired, pair, this.unit)),
                error.eq(
                    this.part
                    | refused(profile, code_point)
                    | ((high | (low & ~paired)) & (not profile.accept_surrogates))
                ),
            ]
            there = Mux(high, ~goes_on, this.there | this.part)
            if slot == 0:
                there = high & ~goes_on
            elif slot == len(own):
                there = Mux(high, last, this.there | this.part)
            tokens.append(Token(there, error, code_point))
        return tokens


class Utf32Tokens(WordTokens):
    """Those of UTF-32 (Unicode D90): a unit is a code point, or an error; and so is a part."""

    size = 4

    def _tokens(
        self, m: Module, profile: Profile, before: Any, own: list[Any], last: Value
    ) -> list[Token]:
        tokens = [Token(Const(0), Const(0), Const(0))]
        for this in own:
            error = refused(profile, this.unit)
            if not profile.accept_surrogates:
                error |= (this.unit >= 0xD800) & (this.unit <= 0xDFFF)
            tokens.append(Token(this.there | this.part, this.part | error, this.unit))
        return tokens


def is_high(place: Any) -> Value:
    """Whether there is a high surrogate in a place."""
    return place.there & (place.unit >= 0xD800) & (place.unit <= 0xDBFF)


def is_low(place: Any) -> Value:
    """Whether there is a low surrogate in a place."""
    return place.there & (place.unit >= 0xDC00) & (place.unit <= 0xDFFF)


def refused(profile: Profile, value: Value) -> Value:
    """Whether a profile has no such code point, be it a surrogate or not."""
    wrong = value > profile.highest
    if not profile.accept_noncharacters:
        wrong |= (value == 0xFFFE) | (value == 0xFFFF)
    return wrong


TOKENS: dict[Form, Any] = {
    Form.UTF_8: Utf8Tokens,
    Form.UTF_16: Utf16Tokens,
    Form.UTF_32: Utf32Tokens,
}


def in_utf32(m: Module, token: Token) -> list[Unit]:
    """A code point is one unit."""
    return [Unit(token.there, token.code_point)]


def in_utf16(m: Module, token: Token) -> list[Unit]:
    """A high surrogate, if there is one, and the other unit (Unicode Table 3-5)."""
    value = token.code_point
    paired = value >= 0x10000
    high = 0xD800 + ((value - 0x10000) >> 10)
    low = 0xDC00 + (value & 0x3FF)
    return [Unit(token.there & paired, high[:16]), Unit(token.there, Mux(paired, low, value)[:16])]


def in_utf8(m: Module, token: Token) -> list[Unit]:
    """One to four bytes, the shortest form that fits (Unicode Table 3-6)."""
    value, count = token.code_point, Signal(3)
    sequence = [Signal(8, name=f"byte_{n}") for n in range(4)]
    for form in (4, 3, 2, 1):
        marks, bits = FORMS[form].replace(" ", "")[::-1], iter(value)
        encoded = Cat(next(bits) if mark == "x" else Const(int(mark), 1) for mark in marks)
        # The shortest form that fits is assigned last, so that it holds.
        with m.If(value < 1 << marks.count("x")):
            m.d.comb += count.eq(form)
            m.d.comb += Cat(*reversed(sequence)).eq(encoded << 8 * (4 - form))
    return [Unit(token.there & (count > n), byte) for n, byte in enumerate(sequence)]


WRITTEN: dict[Form, Callable[[Module, Token], list[Unit]]] = {
    Form.UTF_8: in_utf8,
    Form.UTF_16: in_utf16,
    Form.UTF_32: in_utf32,
}


class UnitsSpecification:
    """The units of a beat, in the cycle in which it is accepted.

    Attributes
    ----------
    accept, item : Signal
        To be driven: whether a beat is accepted in this cycle, and the beat.
    error : Value
        Whether there is an error in it.
    slots : list of list of Unit
        The units of each slot.
    last : Value
        Whether the beat is its text's last one.
    """

    def __init__(self, m: Module, design: Any) -> None:
        transcoder = design.transcoder
        read = TOKENS[transcoder.from_form](m, design)
        self.accept, self.item = read.accept, read.item
        beat: Any = data.View(beat_layout(design.lanes), self.item)
        self.last = beat.last
        self.error = Cat(token.there & token.error for token in read.tokens).any()
        marks: list[Value] = [Const(0)] * len(read.tokens)
        if transcoder.strip_bom:
            lane = MARK_BYTES[transcoder.from_form] - 1
            number = self._number(m)
            slot = lane % design.lanes // transcoder.from_form.unit_bytes + 1
            token = read.tokens[slot]
            marks[slot] = (
                number[lane // design.lanes] & ~token.error & (token.code_point == MARK)
            )
        # The target form has as many bits as the highest code point.
        tokens = []
        for number_of_slot, (there, error, value) in enumerate(read.tokens):
            name, width = f"token_{number_of_slot}", max(21, design.profile.code_point_width)
            code_point = Signal(width, name=f"{name}_value")
            own = Signal(name=f"{name}_there")
            m.d.comb += [
                code_point.eq(Mux(error, REPLACEMENT, value)),
                own.eq(there & ~marks[number_of_slot]),
            ]
            tokens.append(Token(own, error, code_point))
        written = [WRITTEN[transcoder.to_form](m, token) for token in tokens]
        self.slots = written
        if transcoder.to_form is Form.UTF_16 and transcoder.from_form is not Form.UTF_32:
            self.slots = self._high_before(written)

    def _number(self, m: Module) -> Value:
        """Whether a beat is the first one of its text, the second, or the third."""
        first, second, third = Signal(init=1), Signal(), Signal()
        with m.If(self.accept):
            m.d.sync += Cat(first, second, third).eq(
                Cat(self.last, first & ~self.last, second & ~self.last)
            )
        return Cat(first, second, third)

    @staticmethod
    def _high_before(written: list[list[Unit]]) -> list[list[Unit]]:
        """A pair came from more than one unit: its first one is where the one before it was."""
        highs = [slot[0] for slot in written][1:] + [Unit(Const(0), Const(0))]
        return [
            [Unit(high.there | own.there, Mux(high.there, high.bits, own.bits))]
            for high, (_, own) in zip(highs, written, strict=True)
        ]


class UnitsTiming(CreditTiming):
    """Of the transcoder's first part: all of a beat is known in the last stage."""

    stages = told_in = 8

    @staticmethod
    def told(b: Bench, design: Any) -> Value:
        """What is known in that stage, and in the one before whether there is an error."""
        p = design.arriving
        units = (
            Cat(keep, Mux(keep, Value.cast(unit), 0))
            for keep, unit in zip(p.keep, p.data, strict=True)
        )
        return Cat(design.arrives, p.last, b.before(design.wrong), *units)

    @staticmethod
    def expected(b: Bench, design: Any) -> tuple[Any, Value]:
        """A specification, and what is to be known of the beat that it takes."""
        specification = UnitsSpecification(b.model, design)
        width = len(Value.cast(design.arriving.data[0]))
        units = (
            Cat(unit.there, Mux(unit.there, Cat(unit.bits, Const(0, width))[:width], 0))
            for slot in specification.slots
            for unit in slot
        )
        return specification, Cat(Const(1), specification.last, specification.error, *units)

    @classmethod
    def stored(cls, b: Bench, design: Any) -> list[tuple[Value, int]]:
        """What goes to the memory, and from which stage."""
        return [(Value.cast(design.arriving), cls.stages)]


_UNITS = (
    properties_of("transcoder", UnitsTiming, {"units": in_windows} | LANED, {}, {"reset": reset})
)

PROPERTIES = {
    False: [
        *(replace(what, part="units") for what in _UNITS),
        *properties_of("transcoder", UnitsTiming, {}, LEMMAS, {}),
    ]
}
"""What is proved of it."""
