"""Functional specifications of decoder and encoder, straight from the tables, for the proofs.

They are independent of the designs: the decoder's specification sees bytes as they are accepted and
defines their tokens; the encoder's sees a code point and defines its bytes. They have no pipeline
and no backpressure, so a design may change these and keep its specification.

The tables are literal, not derived from a profile's rules as in gateware and golden model. They
hold for the named profiles, with any of the overrides.
"""

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value

from utf8_hdl import ErrorKind, ErrorSpan, Profile, token_layout
from utf8_hdl.layouts import BYTE_LAYOUT, ENCODED_LAYOUT, code_point_layout

FORMS = {
    1: "0xxxxxxx",
    2: "110xxxxx 10xxxxxx",
    3: "1110xxxx 10xxxxxx 10xxxxxx",
    4: "11110xxx 10xxxxxx 10xxxxxx 10xxxxxx",
    5: "111110xx 10xxxxxx 10xxxxxx 10xxxxxx 10xxxxxx",
    6: "1111110x 10xxxxxx 10xxxxxx 10xxxxxx 10xxxxxx 10xxxxxx",
    7: "11111110 10xxxxxx 10xxxxxx 10xxxxxx 10xxxxxx 10xxxxxx 10xxxxxx",
    8: "11111111 10xxxxxx 10xxxxxx 10xxxxxx 10xxxxxx 10xxxxxx 10xxxxxx 10xxxxxx",
}
"""The bytes of each form; the bits x, from left to right, are the value (RFC 2279, RFC 3629)."""

TABLE_3_7 = """
    00..7F
    C2..DF 80..BF
    E0     A0..BF 80..BF
    E1..EC 80..BF 80..BF
    ED     80..9F 80..BF
    EE..EF 80..BF 80..BF
    F0     90..BF 80..BF 80..BF
    F1..F3 80..BF 80..BF 80..BF
    F4     80..8F 80..BF 80..BF
"""
"""Unicode Table 3-7, Well-Formed UTF-8 Byte Sequences. ``ucs2`` has the rows of up to three bytes.
"""

SURROGATES = """
    ED     A0..BF 80..BF
"""
"""The additional row if surrogates are accepted."""

ABOVE_10FFFF = """
    F4     90..BF 80..BF 80..BF
    F5..F7 80..BF 80..BF 80..BF
    F8     88..BF 80..BF 80..BF 80..BF
    F9..FB 80..BF 80..BF 80..BF 80..BF
    FC     84..BF 80..BF 80..BF 80..BF 80..BF
    FD     80..BF 80..BF 80..BF 80..BF 80..BF
    FE     82..BF 80..BF 80..BF 80..BF 80..BF 80..BF
    FF     81..BF 80..BF 80..BF 80..BF 80..BF 80..BF 80..BF
"""
"""The additional rows in ``ucs4``, up to six bytes, and in ``extended``."""

OVERLONG = "C0..C1, E0 80..9F, F0 80..8F, F8 80..87, FC 80..83, FE 80..81, FF 80"
OUT_OF_RANGE = {3: "F0..FD", 4: "F4 90..BF, F5..FD", 6: "", 8: ""}
INVALID = {3: "FE..FF", 4: "FE..FF", 6: "FE..FF", 8: ""}
"""First bytes, or first and second bytes, that are errors.

`OUT_OF_RANGE` and `INVALID` list them by the longest form of the profile.
"""


def well_formed(profile: Profile) -> list[list[range]]:
    """The sequences that are characters, as rows of byte ranges."""
    text = TABLE_3_7
    if profile.accept_surrogates:
        text += SURROGATES
    if profile.highest > 0x10FFFF:
        text += ABOVE_10FFFF
    rows = [[_range(word) for word in line.split()] for line in text.splitlines() if line.strip()]
    return [row for row in rows if len(row) <= profile.longest_form]


def ill_formed(profile: Profile) -> Iterator[tuple[ErrorKind, list[range]]]:
    """First bytes, or first and second bytes, that are errors, each with its kind."""
    longest = profile.longest_form
    leads = [row[0] for row in well_formed(profile)]
    lists = {
        ErrorKind.UNEXPECTED_CONTINUATION: "80..BF",
        ErrorKind.OVERLONG: OVERLONG,
        ErrorKind.SURROGATE: "" if profile.accept_surrogates else SURROGATES,
        ErrorKind.OUT_OF_RANGE: OUT_OF_RANGE[longest],
        ErrorKind.INVALID_BYTE: INVALID[longest],
    }
    for kind, text in lists.items():
        for item in filter(None, text.split(",")):
            first, *second = [_range(word) for word in item.split()[:2]]
            if not second or any(first.start in lead for lead in leads):
                yield kind, [first, *second]


def _range(text: str) -> range:
    low, _, high = text.partition("..")
    return range(int(low, 16), int(high or low, 16) + 1)


def is_continuation(byte: Value) -> Value:
    """True for a continuation byte, 80..BF, which begins no sequence."""
    return byte.matches("10------")


def _within(byte: Value, bounds: range) -> Value:
    return (byte >= bounds.start) & (byte < bounds.stop)


def announced(profile: Profile, first: Value) -> Value:
    """The length of a sequence that begins with a byte."""
    begins = Cat(_within(first, row[0]) for row in well_formed(profile)).any() | _whole(profile)
    length: Value = Const(1)
    for form in range(2, profile.longest_form + 1):
        is_lead = first.matches(FORMS[form][:8].replace("x", "-"))
        length = Mux(is_lead & begins, form, length)
    return length


def may_follow(profile: Profile, first: Value, second: Value) -> Value:
    """True if a sequence of more than one byte may begin with these two bytes."""
    if _whole(profile):
        return is_continuation(second)
    rows = (row for row in well_formed(profile) if len(row) > 1)
    return Cat(_within(first, row[0]) & _within(second, row[1]) for row in rows).any()


def reason(profile: Profile, first: Value, second: Value) -> Value:
    """The error kind of a sequence by its first two bytes; ``second`` is 0 if it has only one."""
    found: Value = Const(ErrorKind.NONE)
    for kind, bounds in ill_formed(profile):
        begins = [_within(*pair) for pair in zip((first, second), bounds, strict=False)]
        found = Mux(Cat(*begins).all(), kind, found)
    return found


def value_of(profile: Profile, sequence: list[Signal], length: Value) -> Value:
    """The value of a complete sequence."""
    value: Value = Const(0)
    for form in range(1, profile.longest_form + 1):
        bits = zip(_marks(form), Cat(*reversed(sequence[:form])), strict=True)
        own = Cat(bit for mark, bit in bits if mark == "x")
        value = Mux(length == form, own, value)
    return value


def _whole(profile: Profile) -> bool:
    return profile.error_span is ErrorSpan.WHOLE_SEQUENCE


def error_token(token: Any, kind: Any, length: Value) -> list[Any]:
    """Statements that make a token an error."""
    fields = {"code_point": 0xFFFD, "error": 1, "kind": kind, "length": length}
    return [token[name].eq(value) for name, value in fields.items()]


def tell_token(
    m: Module,
    profile: Profile,
    token: Any,
    sequence: list[Signal],
    length: Value,
    wrong: Value,
    complete: Value,
) -> None:
    """Assign the token of a sequence that ends: a character, or an error."""
    value = value_of(profile, sequence, length)
    is_noncharacter = (value == 0xFFFE) | (value == 0xFFFF)
    with m.If(wrong != ErrorKind.NONE):
        m.d.comb += error_token(token, wrong, length)
    with m.Elif(~complete):
        m.d.comb += error_token(token, ErrorKind.TRUNCATED, length)
    with m.Elif(is_noncharacter & (not profile.accept_noncharacters)):
        m.d.comb += error_token(token, ErrorKind.NONCHARACTER, length)
    with m.Else():
        m.d.comb += [token.code_point.eq(value), token.length.eq(length)]


class DecoderSpecification:
    """The tokens of a byte, in the cycle in which it is accepted.

    - ``accept``, ``byte``, ``last``: to be driven: a byte is accepted in this cycle; the byte; it
      ends its text. ``item`` is ``byte`` and ``last``.
    - ``cuts``, ``cut``: high if the byte does not continue the pending sequence, which is an error;
      the token of the error. It precedes ``end``.
    - ``ends``, ``end``: high if a character or an error ends with the byte; its token.
    - ``sequence``, ``pending``, ``now``: the bytes of the pending sequence; their number; the bytes
      of the sequence with this byte.
    - ``results``: ``end`` and ``cut``, each with its bytes, and then zero or the byte that cuts.
    """

    def __init__(self, m: Module, profile: Profile) -> None:
        self._profile = profile
        self.i_layout, self.o_layout = BYTE_LAYOUT, token_layout(profile)
        self.cut: Any = Signal(self.o_layout, name="cut")
        self.end: Any = Signal(self.o_layout, name="end")
        self.accept, self.byte, self.last = Signal(), Signal(8), Signal()
        self.cuts, self.ends, self.pending = Signal(), Signal(), Signal(4)
        places = range(profile.longest_form)
        self.sequence = [Signal(8, name=f"byte_{n}") for n in places]
        self.now = [Signal(8, name=f"now_{n}") for n in places]
        self.item = Cat(self.byte, self.last)
        own, cut = Cat(*self.now, Const(0, 8)), Cat(*self.sequence, self.byte)
        self.results = Cat(self.end, own), Cat(self.cut, cut)
        inside = Module()
        m.submodules += inside
        self._describe(inside)

    def _describe(self, m: Module) -> None:
        profile, sequence = self._profile, self.sequence
        now, pending = self.now, self.pending

        # The sequence with this byte: continued, or begun.
        length = Signal(4)
        continues, complete = Signal(), Signal()
        m.d.comb += [
            continues.eq(self._continues()),
            length.eq(Mux(continues, pending + 1, 1)),
            complete.eq(length == announced(profile, now[0])),
        ]
        for n, byte in enumerate(now):
            m.d.comb += byte.eq(Mux(length == n + 1, self.byte, sequence[n]))

        # A byte that does not continue the pending sequence may decide the kind of its error.
        second = Mux(pending == 1, self.byte, sequence[1])
        wrong = reason(profile, sequence[0], second)
        m.d.comb += [
            self.cuts.eq(self.accept & (pending != 0) & ~continues),
            *error_token(
                self.cut, Mux(wrong == ErrorKind.NONE, ErrorKind.TRUNCATED, wrong), pending
            ),
            self.ends.eq(self.accept & (complete | self.last)),
        ]
        wrong = reason(profile, now[0], Mux(length == 1, 0, now[1]))
        tell_token(m, profile, self.end, now, length, wrong, complete)
        m.d.comb += self.end.last.eq(self.last)

        with m.If(self.accept):
            m.d.sync += pending.eq(Mux(self.ends, 0, length))
            m.d.sync += [register.eq(byte) for register, byte in zip(sequence, now, strict=True)]

    def _continues(self) -> Value:
        """True if the byte belongs to the pending sequence."""
        follows = Mux(
            self.pending == 1,
            may_follow(self._profile, self.sequence[0], self.byte),
            is_continuation(self.byte),
        )
        return (self.pending > 0) & follows


def _marks(form: int) -> str:
    """The bits of a form, beginning with the lowest bit of the last byte."""
    return FORMS[form].replace(" ", "")[::-1]


def encode(m: Module, value: Value, sequence: list[Signal], count: Signal) -> None:
    """Encode a value in the shortest form that fits, padded with zeros; count its bytes."""
    longest = len(sequence)
    for form in range(longest, 0, -1):
        marks, bits = _marks(form), iter(value)
        encoded = Cat(next(bits) if mark == "x" else Const(int(mark), 1) for mark in marks)
        # The shortest form that fits is assigned last, so it has priority.
        with m.If(value < 1 << marks.count("x")):
            m.d.comb += count.eq(form)
            m.d.comb += Cat(*reversed(sequence)).eq(encoded << 8 * (longest - form))


class EncoderSpecification:
    """The bytes of a code point, one of which is the result.

    - ``code_point``, ``last``, ``index``: to be driven: the code point; it ends its text; the index
      of the byte that is the result. ``item`` is ``code_point`` and ``last``.
    - ``refused``: high if the profile has no sequence for the code point: U+FFFD replaces it.
    - ``sequence``, ``count``: the bytes, padded with zeros, and their number.
    - ``finishes``, ``results``: high if the result is the last byte; the result, which is the byte
      with its ``last`` and ``refused``, then ``finishes`` and the item.
    """

    def __init__(self, m: Module, profile: Profile) -> None:
        self.i_layout, self.o_layout = code_point_layout(profile), ENCODED_LAYOUT
        self.code_point, self.last = Signal(profile.utf32_width), Signal()
        self.index, self.refused, self.count = Signal(3), Signal(), Signal(4)
        self.sequence = [Signal(8, name=f"byte_{n}") for n in range(profile.longest_form)]
        self.item = Cat(self.code_point, self.last)
        self.finishes = self.index + 1 == self.count
        byte, last = Array(self.sequence)[self.index], self.last & self.finishes
        self.results = (Cat(byte, last, self.refused, self.finishes, self.item),)
        self._describe(m, profile)

    def _describe(self, m: Module, profile: Profile) -> None:
        given = self.code_point
        refused = given > profile.highest
        if not profile.accept_surrogates:
            refused |= (given >= 0xD800) & (given <= 0xDFFF)
        if not profile.accept_noncharacters:
            refused |= (given == 0xFFFE) | (given == 0xFFFF)
        value = Signal.like(given)
        m.d.comb += [self.refused.eq(refused), value.eq(Mux(refused, 0xFFFD, given))]

        encode(m, value, self.sequence, self.count)
