"""What is proved of decoder and encoder.

Each property is a function. It puts designs on a bench, says with ``never`` what must not happen in
any cycle of any run, and with ``reaches`` what must happen in some, so that the property is known
to say something. Pins that a property does not drive are free in every cycle.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Cat, ClockSignal, Instance, Mux, Signal, Value

from utf8_hdl import ErrorSpan, Kind

from ..export.verilog import generate
from .bench import (
    ENCODER_LATENCY,
    Bench,
    ExpectedBytes,
    ExpectedTokens,
    accepts,
    gives,
    input_of,
    offers_differ,
    output_of,
    pins_differ,
    waits,
)
from .specification import (
    DecoderSpecification,
    EncoderSpecification,
    ill_formed,
    is_continuation,
    well_formed,
)
from .well_formed import WellFormedText, row_ends


@dataclass(frozen=True)
class Property:
    """Something to prove.

    Parameters
    ----------
    name : str
        What the command line calls it.
    component : str
        Of which component.
    state : callable
        Says it on a bench; its docstring says it in words.
    """

    name: str
    component: str
    state: Callable[[Bench, str], None]

    @property
    def statement(self) -> str:
        """The property in words, on one line."""
        return " ".join((self.state.__doc__ or "").split())


# --- both components ----------------------------------------------------------------------------


def output_stream(b: Bench, name: str) -> None:
    """What is offered at the output stays there, unchanged, until it is taken."""
    design = b.design(name)
    offered = b.before(waits(design))
    changed = output_of(design) != b.before(output_of(design))
    b.never(offered & ~design.o.valid, offered & changed)
    b.reaches("an output that waits, and is taken then", offered & gives(design))


def valid_independent(b: Bench, name: str) -> None:
    """What is offered in a cycle does not depend on `o.ready` in that cycle."""
    design, flip = b.design(name), b.free(1, "flip")
    twin = b.twin(design, o_ready=design.o.ready ^ flip)
    same = ~b.since(flip)
    b.never(same & offers_differ(design, twin))
    b.reaches("an output with the consumer ready and not", same & flip & design.o.valid)


def input_stream(b: Bench, name: str) -> None:
    """Only transfers count: what is offered and not taken changes nothing, at any time, and no
    output pin depends on an input pin but `o.ready` within a cycle."""
    design = b.design(name)
    other = b.design(f"{name}_other", o_ready=design.o.ready)
    differs = accepts(design) != accepts(other)
    differs |= accepts(design) & (input_of(design) != input_of(other))
    same = ~b.since(differs)
    b.never(same & pins_differ(design, other))
    b.reaches(
        "something else offered while it cannot be taken",
        same & design.i.valid & ~design.i.ready & ~differs & (input_of(design) != input_of(other)),
    )


def reset(b: Bench, name: str) -> None:
    """A cycle of reset makes a new start, whatever the registers hold."""
    rst = b.free(1, "rst")
    design = b.design(name, any_start=True, reset=rst)
    twin = b.twin(design, reset=rst)
    differs = pins_differ(design, twin)
    b.never(b.since(rst) & differs)
    b.reaches("outputs that differ before", differs)
    b.reaches("an output after a reset in mid-stream", b.since(b.since(rst) & rst) & gives(design))


def verilog(b: Bench, name: str) -> None:
    """The generated Verilog does the same as the design, on every pin, in every cycle."""
    rst = b.free(1, "rst")
    design = b.design(name, reset=rst)
    i, o = design.i, design.o
    if name == "decoder":
        item, result, wide = i.p.data, o.p.code_point, b.profile.utf32_width
        user = Cat(o.p.error, o.p.kind, o.p.length)
        user_width = 8
    else:
        item, result, wide = i.p.code_point, o.p.data, 8
        user, user_width = o.p.error, 1
    b.sources.append(generate(design))
    data, tuser = Signal(wide), Signal(user_width)
    tvalid, tlast, tready = Signal(), Signal(), Signal()
    b.m.submodules.verilog = Instance(
        f"utf8_{name}",
        i_clk=ClockSignal(),
        i_rst=rst,
        i_s_axis_tdata=item,
        i_s_axis_tvalid=i.valid,
        i_s_axis_tlast=i.p.last,
        o_s_axis_tready=tready,
        o_m_axis_tdata=data,
        o_m_axis_tvalid=tvalid,
        i_m_axis_tready=o.ready,
        o_m_axis_tlast=tlast,
        o_m_axis_tuser=tuser,
    )
    b.never(data != result, tuser != user, tvalid != o.valid, tlast != o.p.last, tready != i.ready)
    b.reaches("an output of the Verilog", tvalid & o.ready & tuser.any())


# --- decoder ------------------------------------------------------------------------------------


def tokens(b: Bench, name: str) -> None:
    """The tokens are those of the specification: value, error, kind, length and `last`, none
    missing, none more, for all bytes and all stalls; each pin in each cycle as the documented
    timing has it."""
    decoder = b.design(name)
    expected = ExpectedTokens(b, decoder)
    b.never(expected.wrong)
    b.reaches("a token that waits", waits(decoder) & expected.valid)
    b.reaches("a byte in the extra place", expected.extra_taken & accepts(decoder))


def line_rate(b: Bench, name: str) -> None:
    """While the consumer is ready the decoder takes a byte in every cycle."""
    decoder = b.design(name)
    b.never(decoder.o.ready & ~decoder.i.ready)
    b.reaches("a byte that cannot be taken", decoder.i.valid & ~decoder.i.ready)


def latency(b: Bench, name: str) -> None:
    """There is a token at the output exactly when there must be one: 7 cycles after its last byte
    was accepted, or if it is cut short 6 after the byte that cuts it, and 1 later if that byte went
    through the extra place; cycles in which the output waits are not counted."""
    decoder = b.design(name)
    expected = ExpectedTokens(b, decoder)
    b.never(decoder.o.valid != expected.valid)
    # The numbers are those of the first token.
    age, long_ago = Signal(4), b.since(accepts(decoder))
    b.m.d.sync += age.eq(Mux(long_ago | accepts(decoder), age + (age != 15), 0))
    first = decoder.o.valid & ~b.since(decoder.o.valid)
    b.never(first & (age < 7))
    b.reaches("a token in 7 cycles", first & (age == 7) & (decoder.o.p.length == 1))
    b.reaches("a token cut short in 6", first & (age == 7) & (decoder.o.p.kind == Kind.TRUNCATED))
    b.reaches("a token in 8, from the extra place", first & (age == 8))


def conservation(b: Bench, name: str) -> None:
    """Every byte accepted is covered by one token, in order; `last` is that of the last byte that a
    token covers, and no other byte of it is the last of a text. The tokens are those of the
    specification, which are the decoder's."""
    decoder, m = b.design(name), b.m
    expected = ExpectedTokens(b, decoder)
    specification = expected.specification
    taken, cuts, ends = specification.accept, specification.cuts, specification.ends
    uncovered, ended = Signal(4), Signal()
    left = Mux(cuts, 0, uncovered)
    m.d.sync += uncovered.eq(Mux(ends, 0, left + taken))
    with m.If(taken):
        m.d.sync += ended.eq(specification.last)
    b.never(
        expected.wrong,
        cuts & ((specification.cut.length != uncovered) | (uncovered == 0)),
        cuts & specification.cut.last,
        ends & (specification.end.length != left + 1),
        ends & (specification.end.last != specification.last),
        taken & ended & (left != 0),
    )
    for length in range(1, b.profile.longest_form + 1):
        b.reaches(f"a token of {length}", decoder.o.valid & (decoder.o.p.length == length))


def only_well_formed(b: Bench, name: str) -> None:
    """A character's bytes are the one encoding of its value, and the profile has that value: never
    an overlong form, a surrogate, a value above the limit, or FE or FF, where it has none. The
    characters are those of the specification, which are the decoder's."""
    decoder = b.design(name)
    expected = ExpectedTokens(b, decoder)
    specification = expected.specification
    token = specification.end
    b.m.submodules.encoding = encoding = EncoderSpecification(b.profile)
    b.m.d.comb += encoding.code_point.eq(token.code_point)
    character = specification.ends & ~token.error
    b.never(expected.wrong, character & (encoding.refused | (encoding.count != token.length)))
    b.never(specification.cuts & ~specification.cut.error)
    for position, byte in enumerate(encoding.sequence):
        covered = encoding.count > position
        b.never(character & covered & (specification.now[position] != byte))
        shown = decoder.o.valid & ~decoder.o.p.error & (decoder.o.p.length == position + 1)
        b.reaches(f"a character of {position + 1}", shown)


def well_formed_passes(b: Bench, name: str) -> None:
    """No token is an error in texts that are made of whole characters, each of any lead byte that
    Unicode Table 3-7 or its continuation has, and any bytes that may follow it."""
    text = b.m.submodules.text = WellFormedText(b.profile)
    decoder = b.design(name, i_valid=b.free(1, "offers") & text.fits)
    o = decoder.o
    b.m.d.comb += [
        Cat(text.byte, text.last).eq(input_of(decoder)),
        text.accept.eq(accepts(decoder)),
    ]
    b.never(o.valid & o.p.error)
    for length in range(1, b.profile.longest_form + 1):
        b.reaches(f"a character of {length}", o.valid & (o.p.length == length))
    for end in row_ends(b.profile):
        b.reaches(f"U+{end:04X}", o.valid & (o.p.code_point == end))
    b.reaches("a character that waits, in mid-text", waits(decoder) & ~o.p.last)
    b.reaches("a text that ends", gives(decoder) & o.p.last)
    b.reaches("a byte that cannot be taken", decoder.i.valid & ~decoder.i.ready)
    b.reaches("a pause in the input", b.since(o.valid) & ~decoder.i.valid & decoder.i.ready)


def self_synchronisation(b: Bench, name: str) -> None:
    """Whatever the registers held: once one byte fewer than the longest form has, or a byte outside
    80..BF, are accepted, the following tokens are right (from that byte on, if there is one)."""
    decoder, m = b.design(name, any_start=True), b.m
    begins = accepts(decoder) & ~is_continuation(decoder.i.p.data)
    bytes_seen, right = Signal(3), Signal()
    with m.If(accepts(decoder)):
        m.d.sync += bytes_seen.eq(bytes_seen + 1)
        with m.If(begins | (bytes_seen + 1 == b.profile.longest_form - 1)):
            m.d.sync += right.eq(1)
    expected = ExpectedTokens(b, decoder, heeds=right | begins)
    b.never(right & expected.wrong)
    b.reaches("a token", right & expected.known & expected.valid)


def decoder_covers(b: Bench, name: str) -> None:
    """Every kind of error, every length, both ends of every row of the tables, and every state of
    the decoder with each side waiting, do occur."""
    decoder, profile = b.design(name), b.profile
    expected = ExpectedTokens(b, decoder)
    o, source = decoder.o.p, expected.source
    as_expected = decoder.o.valid & expected.valid & ~b.since(expected.wrong)
    error, character = as_expected & o.error, as_expected & ~o.error

    def begins(sequence: list[int]) -> Value:
        """The token's bytes begin so, or, if it is cut, with the byte behind it."""
        *own, last = sequence
        *first, revealing = (source.word_select(n, 8) for n in range(len(sequence)))
        own_equal = Cat(place == byte for place, byte in zip(first, own, strict=True)).all()
        return own_equal & (Mux(o.length < len(sequence), source[-8:], revealing) == last)

    def edges(row: list[range]) -> list[list[int]]:
        return [[byte[0] for byte in row], [byte[-1] for byte in row]]

    for row in well_formed(profile):
        for edge in edges(row):
            refused = edge[-2:] in ([0xBF, 0xBE], [0xBF, 0xBF]) and edge[0] == 0xEF
            if not refused or profile.accept_noncharacters:
                b.reaches(f"{_hex(edge)} is a character", character & begins(edge))
    for kind, row in ill_formed(profile):
        for edge in edges(row):
            b.reaches(f"{_hex(edge)} is {kind.label}", error & (o.kind == kind) & begins(edge))
    for length in range(1, profile.longest_form):
        truncated = error & (o.kind == Kind.TRUNCATED) & (o.length == length)
        b.reaches(f"a text cut after {length}", truncated & o.last)
        b.reaches(f"a sequence interrupted after {length}", truncated & ~o.last)
    if not profile.accept_noncharacters:
        for sequence in ([0xEF, 0xBF, 0xBE], [0xEF, 0xBF, 0xBF]):
            wrong = error & (o.kind == Kind.NONCHARACTER) & begins(sequence)
            b.reaches(f"{_hex(sequence)} is noncharacter", wrong)
    if profile.error_span is ErrorSpan.WHOLE_SEQUENCE:
        for length in range(1, profile.longest_form + 1):
            b.reaches(f"an error of {length}", error & (o.length == length))
    _reach_states(b, decoder)


def _reach_states(b: Bench, design: Any) -> None:
    """Each state, at rest and in flow, while the output waits, and while no input comes."""
    waited = b.before(waits(design))
    for state in design.State:
        here = design.state == state
        b.reaches(f"{state.name}, input comes", here & design.i.valid)
        b.reaches(f"{state.name}, no input", here & ~design.i.valid)
        b.reaches(f"{state.name}, input and output move", here & gives(design) & design.i.valid)
        b.reaches(f"{state.name}, output waits", here & waits(design) & waited)


def _hex(sequence: list[int]) -> str:
    return bytes(sequence).hex(" ").upper()


# --- encoder ------------------------------------------------------------------------------------


def bytes_(b: Bench, name: str) -> None:
    """The bytes are those of the specification: data, error and `last`, none missing, none more,
    for all code points and all stalls."""
    encoder = b.design(name)
    expected = ExpectedBytes(b, encoder)
    offered, o = encoder.o.valid, encoder.o.p
    b.never(
        offered & (expected.queue.count == 0),
        offered & ((o.data != expected.byte) | (o.error != expected.error)),
        offered & (o.last != expected.last),
        expected.queue.lost,
    )
    b.reaches("a byte that waits", waits(encoder) & encoder.i.valid)


def idle_output(b: Bench, name: str) -> None:
    """While nothing is offered the payload keeps its last value, which is zero at first."""
    design = b.design(name)
    b.never(~design.o.valid & (output_of(design) != b.before(output_of(design))))
    b.reaches("nothing offered after something was", ~design.o.valid & output_of(design).any())


def last_arrives(b: Bench, name: str) -> None:
    """The end of every text comes out within as many cycles in which the consumer is ready as the
    longest form has bytes."""
    design, m = b.design(name), b.m
    limit = ENCODER_LATENCY - 1 + b.profile.longest_form
    enters, leaves = accepts(design) & design.i.p.last, gives(design) & design.o.p.last
    texts = Signal(4)  # of which the end is inside
    m.d.sync += texts.eq(texts + enters - leaves)
    # Any one of the ends that enter is watched: how many leave before it, and how long it takes.
    watched, ahead, cycles = Signal(), Signal(4), Signal(5)
    arrives = watched & leaves & (ahead == 0)
    with m.If(~watched & enters & b.free(1, "watch")):
        m.d.sync += [watched.eq(1), ahead.eq(texts - leaves), cycles.eq(1)]
    with m.Elif(arrives):
        m.d.sync += watched.eq(0)
    with m.Elif(watched & design.o.ready):
        m.d.sync += [ahead.eq(ahead - leaves), cycles.eq(cycles + 1)]
    b.never(watched & design.o.ready & (cycles == limit) & ~arrives, leaves & (texts == 0))
    b.reaches("an end that takes all that time", arrives & (cycles == limit))


def rate(b: Bench, name: str) -> None:
    """While the consumer is ready and code points are offered there is a byte in every cycle; a
    code point is taken when no byte waits, and when a character's last byte is taken."""
    encoder = b.design(name)
    expected = ExpectedBytes(b, encoder)
    busy = encoder.i.valid & encoder.o.ready
    for _ in range(ENCODER_LATENCY):
        busy = b.before(busy)
    count = expected.queue.count
    free = (count == 0) | ((count == 1) & expected.queue.pop)
    b.never(busy & ~encoder.o.valid, free & ~encoder.i.ready)
    b.reaches("a byte", busy & encoder.o.valid)
    b.reaches("the next code point with the last byte", (count == 1) & free & accepts(encoder))


def encoder_latency(b: Bench, name: str) -> None:
    """The first byte is at the output 1 cycle after its code point, the others follow at once."""
    encoder = b.design(name)
    queue = ExpectedBytes(b, encoder).queue
    due = (queue.count > 0) & (queue.oldest_age >= ENCODER_LATENCY)
    b.never(due & ~encoder.o.valid)
    b.reaches("a first byte", due & (queue.oldest_age == ENCODER_LATENCY))


def shortest_form(b: Bench, name: str) -> None:
    """Read back bit by bit, the bytes of a character are its code point, or U+FFFD in place of one
    that the profile refuses, and no shorter form has room for it."""
    encoder, m, profile = b.design(name), b.m, b.profile
    expected = ExpectedBytes(b, encoder)
    byte = encoder.o.p.data
    leading_ones = Signal(4)
    for ones in range(9):
        with m.If(byte.matches(("1" * ones + "0").ljust(8, "-")[:8])):
            m.d.comb += leading_ones.eq(ones)
    left, form, value = Signal(4), Signal(4), Signal(42)
    first = left == 0
    own = Mux(first, leading_ones, form)
    lead_bits = Array([byte[:7], 0, *(byte[: max(0, 7 - n)] for n in range(2, 9))])[leading_ones]
    total = Signal(42)
    m.d.comb += total.eq(Mux(first, lead_bits, Cat(byte[:6], value)))
    ends = Mux(first, leading_ones == 0, left == 1)
    with m.If(gives(encoder)):
        m.d.sync += [form.eq(own), value.eq(total)]
        m.d.sync += left.eq(Mux(first, Mux(leading_ones == 0, 0, leading_ones - 1), left - 1))
    wanted = Mux(expected.error, 0xFFFD, expected.queue.oldest.code_point)
    capacity = Array([7, 0, 7, 11, 16, 21, 26, 31, 36])  # bits of the next shorter form
    fits_shorter = (own > 1) & (total >> capacity[own] == 0)
    offered = encoder.o.valid
    b.never(
        offered & first & (leading_ones == 1),
        offered & ~first & ~is_continuation(byte),
        offered & ends & ((total != wanted) | fits_shorter),
        offered & first & (leading_ones > profile.longest_form),
    )
    for length in range(2, profile.longest_form + 1):
        b.reaches(f"a character of {length}", offered & ends & (own == length))


def round_trip(b: Bench, name: str) -> None:
    """A decoder behind the encoder gives the code points back, U+FFFD for those refused: no errors,
    each from its shortest form, `last` where it was. The tokens are those of the specification,
    which are the decoder's."""
    m, encoder = b.m, b.design(name)
    given = ExpectedBytes(b, encoder).queue
    m.submodules.decoded = decoded = DecoderSpecification(b.profile)
    m.submodules.specification = specification = EncoderSpecification(b.profile)
    m.d.comb += [
        decoded.accept.eq(gives(encoder)),
        decoded.byte.eq(encoder.o.p.data),
        decoded.last.eq(encoder.o.p.last),
        specification.code_point.eq(given.oldest.code_point),
    ]
    token = decoded.end
    wanted = Mux(specification.refused, 0xFFFD, given.oldest.code_point)
    b.never(
        decoded.cuts | (decoded.ends & (given.count == 0)),
        decoded.ends & (token.error | (token.code_point != wanted)),
        decoded.ends & ((token.last != given.oldest.last) | (token.length != specification.count)),
        given.pop & ~decoded.ends,
        given.lost,
    )
    b.reaches("a code point refused", decoded.ends & specification.refused)
    for length in range(1, b.profile.longest_form + 1):
        b.reaches(f"a character of {length}", decoded.ends & (token.length == length))


def order(b: Bench, name: str) -> None:
    """The byte strings of any two code points compare as the code points do; a refused one counts
    as U+FFFD. The strings are those of the specification, which are the encoder's."""
    m = b.m
    bytes_(b, name)
    values, strings = [], []
    for label in ("one", "other"):
        m.submodules[label] = specification = EncoderSpecification(b.profile)
        code_point = b.free(b.profile.utf32_width, label)
        m.d.comb += specification.code_point.eq(code_point)
        values.append(Mux(specification.refused, 0xFFFD, code_point))
        # Zeros behind the shorter string: no character's bytes begin those of another.
        strings.append(Cat(*reversed(list(specification.sequence))))
    b.never((values[0] < values[1]) != (strings[0] < strings[1]))
    b.never((values[0] == values[1]) != (strings[0] == strings[1]))
    b.reaches("a smaller one of another length", (values[0] < 0x80) & (values[1] > 0x7FF))


def encoder_covers(b: Bench, name: str) -> None:
    """Code points of every length at both ends, those refused and their neighbours, and every state
    of the encoder with each side waiting, do occur."""
    encoder, profile = b.design(name), b.profile
    expected = ExpectedBytes(b, encoder)
    done = encoder.o.valid & (expected.queue.count > 0)
    code_point = expected.queue.oldest.code_point
    limits = [7, 11, 16, 21, 26, 31, 36, 42][: profile.longest_form]
    ends = [0, *(1 << bits for bits in limits), 0xD800, 0xE000, 0xFFFE, 0x10000]
    ends += [profile.highest + 1, 1 << profile.utf32_width]
    for end in sorted(set(ends)):
        for value in (end - 1, end):
            if 0 <= value < 1 << profile.utf32_width:
                b.reaches(f"{value:X}", done & (code_point == value))
    b.reaches("a code point refused", done & encoder.o.p.error)
    last = expected.queue.oldest.last
    b.reaches("a code point that ends its text", done & last)
    b.reaches("a code point that does not", done & ~last)
    _reach_states(b, encoder)


BOTH = {
    "output-stream": output_stream,
    "valid-independent": valid_independent,
    "input-stream": input_stream,
    "reset": reset,
    "verilog": verilog,
}
DECODER = {
    "tokens": tokens,
    "line-rate": line_rate,
    "latency": latency,
    "conservation": conservation,
    "only-well-formed": only_well_formed,
    "well-formed-passes": well_formed_passes,
    "self-synchronisation": self_synchronisation,
    "covers": decoder_covers,
}
ENCODER = {
    "bytes": bytes_,
    "rate": rate,
    "latency": encoder_latency,
    "idle-output": idle_output,
    "last-arrives": last_arrives,
    "shortest-form": shortest_form,
    "round-trip": round_trip,
    "order": order,
    "covers": encoder_covers,
}
PROPERTIES = [
    Property(name, component, state)
    for component, own in (("decoder", DECODER), ("encoder", ENCODER))
    for name, state in (own | BOTH).items()
]
"""All of them. A component's own come first."""
