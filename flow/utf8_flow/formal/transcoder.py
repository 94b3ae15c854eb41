"""Properties of the transcoder, from a beat to its units, and from units to dense beats.

A *place* of a beat holds a code unit of the source, or none. The units of a beat before the merge
are a function of a window of places, as in the decoder with lanes. For the properties of the merge
its input is free; so is the input of packing, as in the compactor. The flow control is that of
:class:`~.compactor.PackingTiming`, in which each beat is held until the next beat of its text
arrives.

The specification follows the Unicode Standard's tables and definitions: Table 3-5 for UTF-16,
Table 3-6 for UTF-8, D90 for UTF-32. For each place it defines the code point or error that ends in
it, with its units and their slots.
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
from .validator import REPORTED_IN, judged, reported_error, reported_first_error
from .windows import BEGIN, Judgement, SlotsSpecification

REPLACEMENT = 0xFFFD
"""The code point written for an error."""

VALUE_BITS = 21
"""Bits of a code point in any encoding, and of U+FFFD."""

MARK = 0xFEFF
"""The byte order mark."""

MARK_BYTES = {1: 3, 2: 2, 4: 4}
"""Bytes of a byte order mark, by the bytes of a code unit."""

BIG_ENDIAN = EncodingScheme.UTF_16BE, EncodingScheme.UTF_32BE

MAX_UNITS_IN_VERILOG = 16
"""Units of an output beat. With more, a proof of `verilog` does not end within minutes."""

LATENCY = 24
"""Cycles from the last input beat of a text to its last output beat."""


class Token(NamedTuple):
    """A code point or an error that ends in a place, with a valid bit and an error flag."""

    there: Value
    error: Value
    code_point: Value
    kind: Value
    """The error kind."""
    size: Value
    """The number of places that it covers."""


class Unit(NamedTuple):
    """A unit: a valid bit, and its bits."""

    there: Value
    bits: Value


class Utf8Tokens:
    """The tokens of a beat of UTF-8, as in the decoder, in the cycle in which it is accepted.

    - ``accept``, ``item``: to be driven: a beat is accepted in this cycle, and the beat.
    - ``tokens``: the token of each slot: slot 0 is a sequence that the previous beat left
      unfinished, the others are the places.
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
    """The tokens of a beat of UTF-16 or UTF-32. Attributes as in :class:`Utf8Tokens`.

    A place holds a unit if all of its bytes are present, and a part if only some are.
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
    """The tokens of UTF-16 (Unicode D91, Table 3-5).

    A high surrogate and a low surrogate after it are a code point, and so is any other unit; but an
    unpaired surrogate is an error, unless the profile accepts it. A part is an error, together with
    a high surrogate before it if that is an error. The token of a high surrogate at the end of a
    beat is known only with the next beat, or if the text ends.
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
    """The tokens of UTF-32 (Unicode D90): a unit is a code point or an error, a part an error."""

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
    """True if a place holds a high surrogate."""
    return place.there & (place.unit >= 0xD800) & (place.unit <= 0xDBFF)


def is_low(place: Any) -> Value:
    """True if a place holds a low surrogate."""
    return place.there & (place.unit >= 0xDC00) & (place.unit <= 0xDFFF)


def refused(profile: Profile, value: Value) -> Value:
    """True if a profile refuses a value, regardless of the rule for surrogates."""
    wrong = value > profile.highest
    if not profile.accept_noncharacters:
        wrong |= (value == 0xFFFE) | (value == 0xFFFF)
    return wrong


def kind_of(profile: Profile, value: Value) -> Value:
    """The error kind of a refused value."""
    noncharacter = (value == 0xFFFE) | (value == 0xFFFF)
    refused = Mux(noncharacter, ErrorKind.NONCHARACTER, ErrorKind.SURROGATE)
    return Mux(value > profile.highest, ErrorKind.OUT_OF_RANGE, refused)


TOKENS: dict[int, Any] = {1: Utf8Tokens, 2: Utf16Tokens, 4: Utf32Tokens}
"""The tokens of a beat, by the bytes of a code unit."""


def in_utf32(m: Module, token: Token) -> list[Unit]:
    """The code point as one unit."""
    return [Unit(token.there, token.code_point)]


def in_utf16(m: Module, token: Token) -> list[Unit]:
    """A high surrogate if the code point needs a pair, and the other unit (Unicode Table 3-5)."""
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
"""The units of a token, by the bytes of a code unit."""


class UnitsSpecification:
    """The units of a beat, in the cycle in which it is accepted.

    - ``accept``, ``item``: to be driven: a beat is accepted in this cycle, and the beat.
    - ``error``: true if the beat has an error.
    - ``slots``: the units of each slot. The bits of an absent unit are zero, except in a removed
      mark.
    - ``clash``: true if a slot would have to hold units of two places.
    - ``last``: true if the beat is the last one of its text.
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
        """The code point to write: U+FFFD for an error."""
        value = Signal(VALUE_BITS)
        m.d.comb += value.eq(Mux(token.error, REPLACEMENT, token.code_point))
        return value

    @staticmethod
    def _written(m: Module, design: Any, token: Token) -> list[Unit]:
        """The units of a slot."""
        units = WRITTEN[design.target.unit_bytes](m, token)
        return [Unit(unit.there, Mux(unit.there, unit.bits, 0)) for unit in units]

    def _strip(self, m: Module, design: Any, tokens: list[Token]) -> None:
        """Remove the byte order mark, which ends in a fixed lane of a fixed beat of the text."""
        size = design.source.unit_bytes
        beat, lane = divmod(MARK_BYTES[size] - 1, design.lanes)
        slot = lane // size + 1
        is_mark = self._number(m)[beat] & ~tokens[slot].error & (tokens[slot].code_point == MARK)
        self.slots[slot] = [Unit(unit.there & ~is_mark, unit.bits) for unit in self.slots[slot]]

    def _number(self, m: Module) -> Value:
        """Three flags: a beat is the first, the second or the third one of its text."""
        first, second, third = Signal(init=1), Signal(), Signal()
        with m.If(self.accept):
            m.d.sync += Cat(first, second, third).eq(
                Cat(self.last, first & ~self.last, second & ~self.last)
            )
        return Cat(first, second, third)

    def _high_before(self) -> None:
        """Put high surrogates one slot lower: a pair is read from more than one unit."""
        highs = [*(high for high, _ in self.slots[1:]), Unit(Const(0), Const(0))]
        others = [other for _, other in self.slots]
        pairs = [*zip(highs, others, strict=True)]
        self.clash = Cat(high.there & other.there for high, other in pairs).any()
        self.slots = [
            [Unit(high.there | other.there, Mux(high.there, high.bits, other.bits))]
            for high, other in pairs
        ]


class TranscoderTiming(PackingTiming):
    """The timing of the transcoder: a beat's units are known in stage 8, before the merge."""

    stages, counted, waits = 20, 16, True
    reported_in = 8

    @classmethod
    def reported(cls, b: Bench, design: Any) -> Value:
        """A valid bit, `last`, the error flag and the units, in stage ``reported_in``."""
        p = design.probes.arriving
        units = map(_exact(design), range(len(p.keep)), _units(p))
        return Cat(design.probes.arrives, p.last, design.probes.errors.any(), *units)

    @staticmethod
    def expected(b: Bench, design: Any) -> tuple[Any, Value]:
        """A specification, and the expected result of the beat that it accepts."""
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
    """The timing of the report: a beat's first error and number of errors are known in stage 11."""

    reported_in = REPORTED_IN

    @classmethod
    def reported(cls, b: Bench, design: Any) -> Value:
        """The number of errors and the first error, in stage ``reported_in``."""
        return Cat(design.probes.error_count, reported_first_error(b, design))

    @staticmethod
    def expected(b: Bench, design: Any) -> tuple[Any, Value]:
        """A specification, and the expected result of the beat that it accepts."""
        beat = TOKENS[design.source.unit_bytes](b.model, design)
        number = Signal.like(design.probes.error_count)
        errors = [token.there & token.error for token in beat.tokens]
        wrong, kind, begin = Signal(), Signal(ErrorKind), Signal(BEGIN)
        b.model.d.comb += number.eq(sum(errors))
        for slot, token in reversed(list(enumerate(beat.tokens))):
            with b.model.If(errors[slot]):
                b.model.d.comb += [wrong.eq(1), kind.eq(token.kind), begin.eq(slot - token.size)]
        return beat, Cat(number, Const(1), reported_error(wrong, kind, begin))


def _exact(design: Any) -> Callable[[int, Unit], Value]:
    """A function of the index of a unit and the unit: the bits that are compared.

    The bits of an absent unit are a don't care. But the merge needs zeros in slot 0, and also in
    the last slot if units may be added to it.
    """
    some, every = units_of_slot(design), len(design.probes.arriving.keep)
    last = every if design.source.unit_bytes == 4 else every - some

    def compared(number: int, unit: Unit) -> Value:
        exact = number < some or number >= last
        return Cat(unit.there, unit.bits if exact else Mux(unit.there, unit.bits, 0))

    return compared


def units_of_slot(design: Any) -> int:
    """Number of units of a slot. A beat has one slot more than places."""
    slots: int = design.places + 1
    return len(design.probes.arriving.keep) // slots


def units(b: Bench, name: str) -> None:
    """From any register contents, the units, `last` and the error flag of a beat in stage 8, before
    the merge, equal the specification for the beat and the places before it, if all beats that the
    windows cover are accepted in consecutive cycles."""
    in_windows(b, name)


def apart(b: Bench, name: str) -> None:
    """Units in slot 0 of a beat belong to the previous beat: it is of the same text, and has no
    unit in its last slot, where all bits are zero. No slot has both a high surrogate of the next
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
    """After a cycle of reset, from any register contents, `error` is high with the last beat of a
    text exactly if the error flag of any of its beats is set, whatever these flags are. With any
    other beat it is low."""
    heeds = b.since(Const(1))
    _tells_errors(b, b.design(name, any_start=True, reset=~heeds), lambda ends: Const(1), heeds)


def self_synchronisation(b: Bench, name: str) -> None:
    """From any register contents, once a beat with `last` is accepted, `error` is right for the
    following texts."""
    _tells_errors(b, b.design(name, any_start=True), b.since, Const(1))


def _tells_errors(b: Bench, design: Any, known: Callable[[Value], Value], heeds: Value) -> None:
    """Require that a known `error` follows from the error flags of the beats."""
    probes, stage = design.probes, b.timing.reported_in
    b.cut.append(probes.errors)
    comes, last = b.before(heeds & accepts(design), stage), b.before(design.i.p.last, stage)
    seen = Signal()
    wrong = seen | probes.errors.any()
    with b.m.If(comes):
        b.m.d.sync += seen.eq(wrong & ~last)
    # A last beat enters packing two cycles later.
    ends, expected = b.before(comes & known(comes & last) & last, 2), b.before(wrong, 2)
    error = probes.sparse.user
    b.never(
        ends & (~probes.comes | (error != expected)),
        b.before(b.since(comes)) & probes.comes & ~probes.sparse.last & error,
    )
    b.reaches("an error", ends & expected)
    b.reaches("a text without one, behind a text with one", ends & b.since(ends & expected))


def report(b: Bench, name: str) -> None:
    """After a cycle of reset, from any register contents, the report of a text follows from the
    errors of its beats, whatever these are. Twelve cycles after its last beat was accepted, it has
    the kind of the first error, the number of bytes of the text before it, and the number of errors
    of all beats. Both numbers saturate at all ones. Without an error all fields are zero."""
    heeds = b.since(Const(1))
    _reports(b, b.design(name, any_start=True, reset=~heeds), lambda judgement: Const(1), heeds)


def report_self_synchronisation(b: Bench, name: str) -> None:
    """From any register contents, once a beat with `last` is accepted, the reports of the following
    texts are right."""
    design = b.design(name, any_start=True)
    _reports(b, design, lambda judgement: b.since(judgement.accept & judgement.last), Const(1))


def _reports(b: Bench, design: Any, known: Callable[[Any], Value], heeds: Value) -> None:
    """Require that known reports follow from the errors of the beats."""
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
    """For any units in the stage before the merge that `units` and `apart` allow, each accepted
    beat leaves the merge once, in order, with the units of slot 0 of the next beat of its text
    added to its last slot. It leaves in the slot in which the next beat comes or, if it has `last`,
    in the slot after its own. No beat from before a reset leaves after it. From any register
    contents, this holds for all beats that come."""
    rst = b.free(1, "rst")
    design = b.design(name, any_start=True, reset=rst)
    probes = design.probes
    arriving = probes.arriving
    b.cut += [Cat(Value.cast(arriving.data), Value.cast(arriving.keep))]

    def stages(value: Value, cycles: int) -> Value:
        """A value that passes through some stages, which a reset clears."""
        for _ in range(cycles):
            value = delayed(b.m, value & ~rst)
        return value

    # The newest beat that came to the merge, and a flag that it has not left yet.
    newest: Any = Signal.like(arriving)
    here, known = Signal(), Signal()
    reported_in = b.timing.reported_in
    comes = stages(accepts(design), reported_in)
    last = b.before(design.i.p.last, reported_in)
    goes = here & (newest.last | comes)
    with b.m.If(comes):
        b.m.d.sync += [Value.cast(newest).eq(Value.cast(arriving)), newest.last.eq(last)]
    b.m.d.sync += [known.eq(known | comes | rst), here.eq(~rst & (comes | (here & ~goes)))]

    # From here on, all values are of the slot in the merge stage.
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
    """A beat with slot 0 of the next beat added.

    - ``possible``: true if the properties `units` and `apart` allow these beats.
    - ``added``: true if units are added.
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
        """True if a beat at the input of packing differs from this beat."""
        units = (
            (unit.there != must.there) | (must.there & (unit.bits != must.bits))
            for unit, must in zip(_units(p), self._units, strict=True)
        )
        return Cat(*units).any() | (p.last != self._beat.last)


def _units(p: Any) -> list[Unit]:
    """The units of a beat."""
    return [Unit(keep, Value.cast(p.data[number])) for number, keep in enumerate(p.keep)]


def delivers(b: Bench, name: str) -> None:
    """The output equals the dense beat from packing: the bytes of each unit, in the byte order
    of the target, each with the `keep` of the unit; `last` and `user`."""
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
    """The generated Verilog equals the design on every pin in every cycle."""
    streams.verilog(b, name)
    b.reach = LATENCY + 2


def has_few_units(design: Any) -> bool:
    """True if an output beat has at most `MAX_UNITS_IN_VERILOG` units."""
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
    """True if a transcoder reports errors."""
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
"""Properties of the transcoder."""
