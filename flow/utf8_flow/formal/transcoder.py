"""What is proved of the transcoder: from a beat to its units, and from units to dense beats.

What is known of a beat in front of the merge is a function of a window of places, as in the decoder
with lanes. The merge is looked at with what arrives there free, and packing, as in the compactor,
with what comes to it free. The flow control is that of :class:`~.compactor.PackingTiming`, where
each beat waits for the next one of its text.

The specification is made of the Unicode Standard's tables and definitions: Table 3-5 for UTF-16,
Table 3-6 for UTF-8, D90 for UTF-32. It says of each place which code point or error ends in it, of
each of these which units it has, and in which place they are.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import chain, count
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8_hdl import EncodingScheme, ErrorKind, Profile
from utf8_hdl.layouts import beat_layout

from . import compactor, streams
from .bench import Bench, accepts, delayed, input_of
from .compactor import PACKING, SLOTS, PackingTiming, room
from .lanes import begins, gaps, in_windows, windows
from .specification import encode
from .streams import properties_of
from .validator import TOLD_IN, judged, told_error, told_first_error
from .windows import BEGIN, Judgement, SlotsSpecification

REPLACEMENT = 0xFFFD
"""What is written for an error."""

VALUE_BITS = 21
"""Bits of a code point in any form, and of U+FFFD."""

MARK = 0xFEFF
"""The byte order mark."""

MARK_BYTES = {1: 3, 2: 2, 4: 4}
"""Bytes of a byte order mark, by the bytes of a code unit."""

BIG_ENDIAN = EncodingScheme.UTF_16BE, EncodingScheme.UTF_32BE

MAX_UNITS_IN_VERILOG = 16
"""Units of a beat. With more, the proof that Verilog does the same does not end within minutes."""

LATENCY = 24
"""Cycles between a text's last beat at the input and at the output."""


class Token(NamedTuple):
    """Whether a code point or an error ends in a place, whether it is an error, and the former."""

    there: Value
    error: Value
    code_point: Value
    kind: Value
    """Of an error."""
    size: Value
    """The number of places that it covers."""


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
        self.tokens = [
            Token(
                slot.length != 0,
                slot.error,
                slot.code_point,
                Value.cast(slot.kind),
                slot.length,
            )
            for slot in slots.slots
        ]


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
            if design.source in BIG_ENDIAN:
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
            size = Signal(2)
            together = Const(int(not profile.accept_surrogates)) & this.part & is_high(previous)
            m.d.comb += size.eq(1 + (paired | together))
            kind = Mux(this.part, ErrorKind.TRUNCATED, kind_of(profile, code_point))
            tokens.append(Token(there, error, code_point, kind, size))
        return tokens


class Utf32Tokens(WordTokens):
    """Those of UTF-32 (Unicode D90): a unit is a code point, or an error; and so is a part."""

    size = 4

    def _tokens(
        self, m: Module, profile: Profile, before: Any, own: list[Any], last: Value
    ) -> list[Token]:
        none = Const(0)
        tokens = [Token(none, none, none, none, Const(1))]
        for this in own:
            error = refused(profile, this.unit)
            if not profile.accept_surrogates:
                error |= (this.unit >= 0xD800) & (this.unit <= 0xDFFF)
            kind = Mux(this.part, ErrorKind.TRUNCATED, kind_of(profile, this.unit))
            there = this.there | this.part
            tokens.append(Token(there, this.part | error, this.unit, kind, Const(1)))
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


def kind_of(profile: Profile, value: Value) -> Value:
    """The kind of error that a refused value is."""
    noncharacter = (value == 0xFFFE) | (value == 0xFFFF)
    refused = Mux(noncharacter, ErrorKind.NONCHARACTER, ErrorKind.SURROGATE)
    return Mux(value > profile.highest, ErrorKind.OUT_OF_RANGE, refused)


TOKENS: dict[int, Any] = {1: Utf8Tokens, 2: Utf16Tokens, 4: Utf32Tokens}
"""By the bytes of a code unit."""


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
    value, length = token.code_point, Signal(3)
    sequence = [Signal(8, name=f"byte_{n}") for n in range(4)]
    encode(m, value, sequence, length)
    return [Unit(token.there & (length > n), byte) for n, byte in enumerate(sequence)]


WRITTEN: dict[int, Callable[[Module, Token], list[Unit]]] = {1: in_utf8, 2: in_utf16, 4: in_utf32}
"""By the bytes of a code unit."""


class UnitsSpecification:
    """The units of a beat, in the cycle in which it is accepted.

    Attributes
    ----------
    accept, item : Signal
        To be driven: whether a beat is accepted in this cycle, and the beat.
    error : Value
        Whether there is an error in it.
    slots : list of list of Unit
        The units of each slot. Bits are zero where there is none, but in a mark that is left out.
    clash : Value
        Whether units of two places would have to be in the same slot.
    last : Value
        Whether the beat is its text's last one.
    """

    def __init__(self, m: Module, design: Any) -> None:
        read = TOKENS[design.source.unit_bytes](m, design)
        self.accept, self.item = read.accept, read.item
        beat: Any = data.View(beat_layout(design.lanes), self.item)
        self.last = beat.last
        self.error = Cat(token.there & token.error for token in read.tokens).any()
        tokens = [own._replace(code_point=self._value(m, own)) for own in read.tokens]
        self.slots = [self._written(m, design, token) for token in tokens]
        if design.strip_bom:
            self._strip(m, design, tokens)
        self.clash: Value = Const(0)
        if design.target.unit_bytes == 2 and design.source.unit_bytes != 4:
            self._high_before()

    @staticmethod
    def _value(m: Module, token: Token) -> Value:
        """What is to be written: U+FFFD for an error."""
        value = Signal(VALUE_BITS)
        m.d.comb += value.eq(Mux(token.error, REPLACEMENT, token.code_point))
        return value

    @staticmethod
    def _written(m: Module, design: Any, token: Token) -> list[Unit]:
        """The units of a slot."""
        units = WRITTEN[design.target.unit_bytes](m, token)
        return [Unit(unit.there, Mux(unit.there, unit.bits, 0)) for unit in units]

    def _strip(self, m: Module, design: Any, tokens: list[Token]) -> None:
        """Leave out the mark that ends with a certain byte of the text."""
        size = design.source.unit_bytes
        beat, lane = divmod(MARK_BYTES[size] - 1, design.lanes)
        slot = lane // size + 1
        is_mark = self._number(m)[beat] & ~tokens[slot].error & (tokens[slot].code_point == MARK)
        self.slots[slot] = [Unit(unit.there & ~is_mark, unit.bits) for unit in self.slots[slot]]

    def _number(self, m: Module) -> Value:
        """Whether a beat is the first one of its text, the second, or the third."""
        first, second, third = Signal(init=1), Signal(), Signal()
        with m.If(self.accept):
            m.d.sync += Cat(first, second, third).eq(
                Cat(self.last, first & ~self.last, second & ~self.last)
            )
        return Cat(first, second, third)

    def _high_before(self) -> None:
        """A pair came from more than one unit: its first one is where the one before it was."""
        highs = [*(high for high, _ in self.slots[1:]), Unit(Const(0), Const(0))]
        others = [other for _, other in self.slots]
        pairs = [*zip(highs, others, strict=True)]
        self.clash = Cat(high.there & other.there for high, other in pairs).any()
        self.slots = [
            [Unit(high.there | other.there, Mux(high.there, high.bits, other.bits))]
            for high, other in pairs
        ]


class TranscoderTiming(PackingTiming):
    """Of the transcoder: what a beat has is known in the stage before the merge."""

    stages, counted, waits = 20, 16, True
    told_in = 8

    @classmethod
    def told(cls, b: Bench, design: Any) -> Value:
        """What is known in that stage: units, `last`, and whether there is an error."""
        p = design.probes.arriving
        units = map(_exact(design), range(len(p.keep)), _units(p))
        return Cat(design.probes.arrives, p.last, design.probes.errors.any(), *units)

    @staticmethod
    def expected(b: Bench, design: Any) -> tuple[Any, Value]:
        """A specification, and what is to be known of the beat that it takes."""
        beat, width = (
            UnitsSpecification(b.model, design),
            len(Value.cast(design.probes.arriving.data[0])),
        )
        wide = (
            Unit(unit.there, Cat(unit.bits, Const(0, width))[:width]) for unit in chain(*beat.slots)
        )
        units = map(_exact(design), count(), wide)
        return beat, Cat(Const(1), beat.last, beat.error, *units)


class ReportTiming(TranscoderTiming):
    """Of the transcoder: the first error of a beat and the number of its errors are known."""

    told_in = TOLD_IN

    @classmethod
    def told(cls, b: Bench, design: Any) -> Value:
        """What is known of errors in that stage."""
        return Cat(design.probes.error_count, told_first_error(b, design))

    @staticmethod
    def expected(b: Bench, design: Any) -> tuple[Any, Value]:
        """A specification, and what is to be known of the beat that it takes."""
        beat = TOKENS[design.source.unit_bytes](b.model, design)
        number = Signal.like(design.probes.error_count)
        errors = [token.there & token.error for token in beat.tokens]
        wrong, kind, begin = Signal(), Signal(ErrorKind), Signal(BEGIN)
        b.model.d.comb += number.eq(sum(errors))
        for slot, token in reversed(list(enumerate(beat.tokens))):
            with b.model.If(errors[slot]):
                b.model.d.comb += [wrong.eq(1), kind.eq(token.kind), begin.eq(slot - token.size)]
        return beat, Cat(number, Const(1), told_error(wrong, kind, begin))


def _exact(design: Any) -> Callable[[int, Unit], Value]:
    """What is compared of a unit with a certain number.

    Where there is none, its bits are a don't care; but the merge needs those of slot 0 to be zero,
    and also those of the last slot if something may have to be added to them.
    """
    some, every = units_of_slot(design), len(design.probes.arriving.keep)
    last = every if design.source.unit_bytes == 4 else every - some

    def compared(number: int, unit: Unit) -> Value:
        exact = number < some or number >= last
        return Cat(unit.there, unit.bits if exact else Mux(unit.there, unit.bits, 0))

    return compared


def units_of_slot(design: Any) -> int:
    """How many units each slot has; there is one more slot than places in a beat."""
    slots: int = design.places + 1
    return len(design.probes.arriving.keep) // slots


def units(b: Bench, name: str) -> None:
    """What is known of a beat in stage 8, in front of the merge, its units, `last`, and whether it
    has an error, is what the specification says of it and of the places before it, whatever the
    registers hold, if the beats that windows reach over are accepted in a row."""
    in_windows(b, name)


def apart(b: Bench, name: str) -> None:
    """What a beat has in slot 0 belongs to the beat before: that is one of the same text, and has
    no unit in its last slot, where all bits are zero. No slot has a high surrogate of the next
    place and a unit of its own."""
    design = b.design(name)
    beat = UnitsSpecification(b.model, design)
    b.m.d.comb += [beat.accept.eq(accepts(design)), beat.item.eq(input_of(design))]
    first = Cat(unit.there for unit in beat.slots[0]).any()
    last = Cat(Cat(unit.there, unit.bits).any() for unit in beat.slots[-1]).any()
    taken, begins = Signal(), Signal(init=1)
    with b.m.If(beat.accept):
        b.m.d.sync += [taken.eq(last), begins.eq(beat.last)]
    b.never(beat.accept & first & (taken | begins), beat.accept & beat.clash)
    b.reaches("a beat with a unit in its last slot", b.since(beat.accept & last))


def error(b: Bench, name: str) -> None:
    """After a cycle of reset, whatever the registers hold: with the last beat of a text, and with
    no other one, `error` says whether there was an error in any of its beats, whatever these
    have."""
    heeds = b.since(Const(1))
    _tells_errors(b, b.design(name, any_start=True, reset=~heeds), lambda ends: Const(1), heeds)


def self_synchronisation(b: Bench, name: str) -> None:
    """Whatever the registers hold: once a beat with `last` is accepted, `error` is right for the
    texts behind it."""
    _tells_errors(b, b.design(name, any_start=True), b.since, Const(1))


def _tells_errors(b: Bench, design: Any, known: Callable[[Value], Value], heeds: Value) -> None:
    """`error` is that of the errors of beats, as far as it is known."""
    probes, stage = design.probes, b.timing.told_in
    b.cut.append(probes.errors)
    comes, last = b.before(heeds & accepts(design), stage), b.before(design.i.p.last, stage)
    seen = Signal()
    wrong = seen | probes.errors.any()
    with b.m.If(comes):
        b.m.d.sync += seen.eq(wrong & ~last)
    # Two cycles later a last beat is in the first stage of packing.
    ends, expected = b.before(comes & known(comes & last) & last, 2), b.before(wrong, 2)
    error = probes.sparse.user
    b.never(
        ends & (~probes.comes | (error != expected)),
        b.before(b.since(comes)) & probes.comes & ~probes.sparse.last & error,
    )
    b.reaches("an error", ends & expected)
    b.reaches("a text without one, behind a text with one", ends & b.since(ends & expected))


def report(b: Bench, name: str) -> None:
    """After a cycle of reset, whatever the registers hold, the report of a text is that of its
    beats, whatever is known of these: twelve cycles after its last beat was accepted, it has the
    kind of the first error of its beats, how many bytes of the text come before it, and the sum of
    the numbers of their errors, or all ones if these are too low. Without an error all is zero."""
    heeds = b.since(Const(1))
    _reports(b, b.design(name, any_start=True, reset=~heeds), lambda judgement: Const(1), heeds)


def report_self_synchronisation(b: Bench, name: str) -> None:
    """Whatever the registers hold: once a beat with `last` is accepted, the reports of the texts
    behind it are right."""
    design = b.design(name, any_start=True)
    _reports(b, design, lambda judgement: b.since(judgement.accept & judgement.last), Const(1))


def _reports(b: Bench, design: Any, known: Callable[[Any], Value], heeds: Value) -> None:
    """Reports are those of the beats, as far as they are known."""
    probes, width = design.probes, design.report_width
    lane_bits = design.source.unit_bytes.bit_length() - 1
    judgement = Judgement(b.model, design.places, width, lane_bits)
    is_judged = judged(b, design, judgement, known, heeds)
    b.cut.append(probes.error_count)
    begins, total, over = Signal(init=1), Signal(width), Signal()
    total_now, over_now = Signal(width), Signal()
    more = Mux(begins, 0, total) + probes.error_count
    b.m.d.comb += [total_now.eq(more), over_now.eq((over & ~begins) | more[width:].any())]
    with b.m.If(judgement.accept):
        b.m.d.sync += [begins.eq(judgement.last), total.eq(total_now), over.eq(over_now)]
    count = Mux(over_now, (1 << width) - 1, total_now)
    ends = b.before(is_judged & judgement.last)
    found = b.before(Cat(judgement.verdict[1:], count))
    b.never(ends & (probes.late != found))
    b.reaches("a text with an error", ends & found.any())


def joins(b: Bench, name: str) -> None:
    """Whatever units beats have in the stage before the merge: each beat that is accepted is given
    once, in order, the units of slot 0 of the next one of its text added to its last place. It is
    given in the slot in which the next one comes, or if it has `last`, in the one behind its own.
    Nothing is left of what was there before a reset; and from any register contents, it is so of
    all beats that come."""
    rst = b.free(1, "rst")
    design = b.design(name, any_start=True, reset=rst)
    probes = design.probes
    arriving = probes.arriving
    b.cut += [Cat(Value.cast(arriving.data), Value.cast(arriving.keep))]

    def stages(value: Value, cycles: int) -> Value:
        """What goes through as many stages, and is lost with a reset."""
        for _ in range(cycles):
            value = delayed(b.m, value & ~rst)
        return value

    # The newest beat that came to the merge, and whether it has not yet gone.
    newest: Any = Signal.like(arriving)
    here, known = Signal(), Signal()
    told_in = b.timing.told_in
    comes = stages(accepts(design), told_in)
    last = b.before(design.i.p.last, told_in)
    goes = here & (newest.last | comes)
    with b.m.If(comes):
        b.m.d.sync += [Value.cast(newest).eq(Value.cast(arriving)), newest.last.eq(last)]
    b.m.d.sync += [known.eq(known | comes | rst), here.eq(~rst & (comes | (here & ~goes)))]

    # From here on all is of the slot that is in the last stage.
    newest, arriving = (arriving.shape()(b.before(Value.cast(beat))) for beat in (newest, arriving))
    beat, follows = Joined(design, newest, arriving), b.before(comes & here)
    possible = beat.possible | ~follows
    possible &= ~b.since(~possible)
    sure, is_given = possible & b.before(known | rst), stages(goes, 1)
    b.never(
        sure & (probes.comes != is_given),
        sure & is_given & beat.differs(probes.sparse),
    )
    b.reaches("a beat with something added", sure & is_given & beat.added)
    b.reaches("a text's last beat, and none behind it", sure & is_given & ~b.before(comes))


class Joined:
    """What a beat is with slot 0 of the next one added.

    Attributes
    ----------
    possible : Value
        There are such beats, as far as the properties `units` and `apart` say.
    added : Value
        Whether there is something to be added.
    """

    def __init__(self, design: Any, beat: Any, following: Any) -> None:
        self._beat = beat
        some, units = units_of_slot(design), _units(beat)
        first, last = _units(following)[:some], units[-some:]
        has_some = Cat(unit.there for unit in first).any()
        zero = Cat(unit.there | (unit.bits == 0) for unit in first).all()
        empty = ~Cat(Cat(unit.there, unit.bits).any() for unit in last).any()
        self.possible = beat.last | (zero & (empty | ~has_some))
        self.added = has_some & ~beat.last
        self._units = [
            *units[some:-some],
            *(
                Unit(Mux(self.added, new.there, old.there), Mux(self.added, new.bits, old.bits))
                for old, new in zip(last, first, strict=True)
            ),
        ]

    def differs(self, p: Any) -> Value:
        """Whether a beat for the compactor is another one."""
        units = (
            (unit.there != must.there) | (must.there & (unit.bits != must.bits))
            for unit, must in zip(_units(p), self._units, strict=True)
        )
        return Cat(*units).any() | (p.last != self._beat.last)


def _units(p: Any) -> list[Unit]:
    """The units of a beat."""
    return [Unit(keep, Value.cast(p.data[number])) for number, keep in enumerate(p.keep)]


def delivers(b: Bench, name: str) -> None:
    """At the output is what the packing gives: of each unit its bytes, in order, and for each of
    these whether it is there; `last` and `user`."""
    design = b.design(name)
    dense, p, size = design.probes.dense, design.o.p, design.target.unit_bytes
    b.cut.append(Value.cast(dense))
    for number, unit in enumerate(_units(dense)):
        value = Signal(8 * size, name=f"unit_{number}")
        b.m.d.comb += value.eq(unit.bits)
        for byte in range(size):
            shift = 8 * (size - 1 - byte if design.target in BIG_ENDIAN else byte)
            place = number * size + byte
            b.never(p.data[place] != (value >> shift)[:8], p.keep[place] != unit.there)
    b.never(p.last != dense.last, Value.cast(p.user) != dense.user)
    b.reaches("a last byte", p.keep[-1])


def verilog(b: Bench, name: str) -> None:
    """The generated Verilog does the same as the design, on every pin, in every cycle."""
    streams.verilog(b, name)
    b.reach = LATENCY + 2


def has_few_units(design: Any) -> bool:
    """Whether a beat of the output has few units."""
    few: bool = design.out_lanes <= MAX_UNITS_IN_VERILOG * design.target.unit_bytes
    return few


_OWN = {
    "units": units,
    "gaps": gaps,
    "begins": begins,
    "apart": apart,
    "error": error,
    "self-synchronisation": self_synchronisation,
    "joins": joins,
    "delivers": delivers,
    **SLOTS,
    "packing-begins": compactor.begins,
    "packing-self-synchronisation": compactor.self_synchronisation,
} | PACKING

_REPORT = {
    "first-error": in_windows,
    "report-gaps": gaps,
    "report-begins": begins,
    "report": report,
    "report-self-synchronisation": report_self_synchronisation,
}

_LEMMAS = {"windows": windows, "room": room}


def reports_errors(design: Any) -> bool:
    """Whether a transcoder reports errors."""
    reports: bool = design.errors
    return reports


PROPERTIES = {
    False: [
        *properties_of("transcoder", TranscoderTiming, _OWN, _LEMMAS, {}),
        replace(
            *properties_of("transcoder", TranscoderTiming, {}, {}, {"verilog": verilog}),
            ends=has_few_units,
        ),
        *(
            replace(each, applies=reports_errors)
            for each in properties_of("transcoder", ReportTiming, _REPORT, {}, {})
        ),
    ]
}
"""What is proved of it."""
