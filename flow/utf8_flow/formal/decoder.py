"""What is proved of the decoder.

``tokens`` says that every pin in every cycle is that of the specification behind the documented
timing. What is so of specification and timing is then so of the decoder: the lemmas have no design.
"""

from typing import Any

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from utf8_hdl import ErrorSpan, Kind

from .bench import Bench, accepts, gives, waits
from .specification import (
    DecoderSpecification,
    EncoderSpecification,
    ill_formed,
    is_continuation,
    well_formed,
)
from .streams import drains, properties_of, reach_states
from .timing import CompactTiming, ElasticTiming, in_order
from .well_formed import WellFormedText, row_ends


def _any_bytes(b: Bench) -> DecoderSpecification:
    """The specification alone; any byte may be accepted in any cycle."""
    specification = DecoderSpecification(b.model, b.profile)
    for name in ("accept", "byte", "last"):
        pin = getattr(specification, name)
        b.m.d.comb += pin.eq(b.free(len(pin), name))
    return specification


def tokens(b: Bench, name: str) -> None:
    """The tokens are those of the specification: value, error, kind, length and `last`, none
    missing, none more, for all bytes and all stalls; each pin in each cycle as the documented
    timing has it."""
    decoder = b.design(name)
    expected = b.timing(b, decoder, DecoderSpecification(b.model, b.profile))
    b.never(expected.wrong)
    b.reaches("a token that waits", waits(decoder) & expected.valid)
    b.reaches("a byte taken behind another one", expected.backlog & accepts(decoder))


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
    expected = b.timing(b, decoder, DecoderSpecification(b.model, b.profile), right | begins)
    b.never(right & expected.wrong)
    b.reaches("a token", right & expected.known & expected.valid)


def covers(b: Bench, name: str) -> None:
    """Every kind of error, every length, both ends of every row of the tables, and every state of
    the decoder with each side waiting, do occur."""
    decoder, profile = b.design(name), b.profile
    expected = b.timing(b, decoder, DecoderSpecification(b.model, b.profile))
    o, source = decoder.o.p, expected.more
    as_expected = decoder.o.valid & expected.valid & ~b.since(expected.wrong)
    error, character = as_expected & o.error, as_expected & ~o.error

    def begins(sequence: list[int]) -> Value:
        """The token's bytes begin so, or, if it is cut, with the byte behind it."""
        *own, last = sequence
        *first, revealing = (source.word_select(n, 8) for n in range(len(sequence)))
        own_equal = Cat(place == byte for place, byte in zip(first, own, strict=True)).all()
        return own_equal & (Mux(o.length < len(sequence), source[-8:], revealing) == last)

    refused = [] if profile.accept_noncharacters else [[0xEF, 0xBF, 0xBE], [0xEF, 0xBF, 0xBF]]
    for row in well_formed(profile):
        for edge in _edges(row):
            if edge not in refused:
                b.reaches(f"{_hex(edge)} is a character", character & begins(edge))
    errors = [(kind, edge) for kind, row in ill_formed(profile) for edge in _edges(row)]
    for kind, edge in [*errors, *((Kind.NONCHARACTER, sequence) for sequence in refused)]:
        b.reaches(f"{_hex(edge)} is {kind.label}", error & (o.kind == kind) & begins(edge))
    for length in range(1, profile.longest_form):
        truncated = error & (o.kind == Kind.TRUNCATED) & (o.length == length)
        b.reaches(f"a text cut after {length}", truncated & o.last)
        b.reaches(f"a sequence interrupted after {length}", truncated & ~o.last)
    if profile.error_span is ErrorSpan.WHOLE_SEQUENCE:
        for length in range(1, profile.longest_form + 1):
            b.reaches(f"an error of {length}", error & (o.length == length))
    reach_states(b, decoder)


def _edges(row: list[range]) -> list[list[int]]:
    return [[byte[0] for byte in row], [byte[-1] for byte in row]]


def _hex(sequence: list[int]) -> str:
    return bytes(sequence).hex(" ").upper()


# --- lemmas about the timing --------------------------------------------------------------------


def line_rate(b: Bench, name: str) -> None:
    """While the consumer is ready the timing has the decoder take a byte in every cycle."""
    decoder = b.reference(name, DecoderSpecification(b.model, b.profile))
    b.never(decoder.o.ready & ~decoder.i.ready)
    b.reaches("a byte that cannot be taken", decoder.i.valid & ~decoder.i.ready)


def _first_token(b: Bench, name: str) -> tuple[Any, ...]:
    """A decoder with the documented timing, and its first token if it is there: decided by its only
    byte, or by the byte behind that one. For how long the first two bytes are accepted."""
    decoder = b.reference(name, DecoderSpecification(b.model, b.profile))
    o, taken = decoder.o.p, accepts(decoder)
    once = b.since(taken)
    ages = [Signal(4, name=f"age_{n}") for n in range(2)]
    for age, comes in zip(ages, (taken, taken & once), strict=True):
        with b.m.If(comes | (age != 0)):
            b.m.d.sync += age.eq(age + (age != 15))
    first = decoder.o.valid & ~b.since(decoder.o.valid) & (o.length == 1)
    return decoder, first & ~o.error, first & (o.kind == Kind.TRUNCATED) & ~o.last, *ages


def latency(b: Bench, name: str) -> None:
    """There is a token at the output exactly when there must be one: 7 cycles after its last byte
    was accepted, or if it is cut short 6 after the byte that cuts it, and 1 later if that byte went
    through the skid register; cycles in which the output waits are not counted."""
    decoder, alone, cut, since_first, since_second = _first_token(b, name)
    # All stages are stalled in the first cycle, so a byte that is accepted then goes through it.
    at_once = b.before(Const(1))
    skid = Signal()
    with b.m.If(accepts(decoder) & (since_first == 0)):
        b.m.d.sync += skid.eq(~at_once)
    b.never(alone & (since_first != 7 + skid))
    b.never(cut & (since_second != 6) & (since_second != 6 + skid))
    b.never(decoder.o.valid & ~b.since(decoder.o.valid) & (since_first < 7))
    b.reaches("a token in 7 cycles", alone & (since_first == 7))
    b.reaches("a token cut short in 6", cut & (since_second == 6))
    b.reaches("a token in 8, from the skid register", alone & (since_first == 8))


def compact_latency(b: Bench, name: str) -> None:
    """There is a token at the output exactly when there must be one: 1 cycle after its last byte
    was accepted, or if it is cut short after the byte that cuts it, and 1 later if the token before
    it was cut by this byte or was later, too; cycles in which the output waits are not counted."""
    decoder, alone, cut, since_first, since_second = _first_token(b, name)
    o = decoder.o.p
    behind = b.before(cut & gives(decoder)) & decoder.o.valid & (o.length == 1) & ~o.error
    b.never(alone & (since_first != 1), cut & (since_second != 1), behind & (since_second != 2))
    b.reaches("a token in 1 cycle", alone & (since_first == 1))
    b.reaches("a token cut short in 1", cut & (since_second == 1))
    b.reaches("a token in 2, behind one cut short", behind)


# --- lemmas about the specification -------------------------------------------------------------


def conservation(b: Bench, name: str) -> None:
    """Every byte accepted is covered by one token, in order; `last` is that of the last byte that a
    token covers, and no other byte of it is the last of a text."""
    specification, m = _any_bytes(b), b.m
    taken, cuts, ends = specification.accept, specification.cuts, specification.ends
    uncovered, ended = Signal(4), Signal()
    left = Mux(cuts, 0, uncovered)
    m.d.sync += uncovered.eq(Mux(ends, 0, left + taken))
    with m.If(taken):
        m.d.sync += ended.eq(specification.last)
    b.never(
        cuts & ((specification.cut.length != uncovered) | (uncovered == 0)),
        cuts & specification.cut.last,
        ends & (specification.end.length != left + 1),
        ends & (specification.end.last != specification.last),
        taken & ended & (left != 0),
        (cuts | ends) & ~taken,
    )
    for length in range(1, b.profile.longest_form + 1):
        b.reaches(f"a token of {length}", ends & (specification.end.length == length))


def only_well_formed(b: Bench, name: str) -> None:
    """A character's bytes are the one encoding of its value, and the profile has that value: never
    an overlong form, a surrogate, a value above the limit, or FE or FF, where it has none."""
    specification = _any_bytes(b)
    token = specification.end
    encoding = EncoderSpecification(b.m, b.profile)
    b.m.d.comb += encoding.code_point.eq(token.code_point)
    character = specification.ends & ~token.error
    b.never(character & (encoding.refused | (encoding.count != token.length)))
    b.never(specification.cuts & ~specification.cut.error)
    for position, byte in enumerate(encoding.sequence):
        covered = encoding.count > position
        b.never(character & covered & (specification.now[position] != byte))
        b.reaches(f"a character of {position + 1}", character & (token.length == position + 1))


def well_formed_passes(b: Bench, name: str) -> None:
    """No token is an error in texts that are made of whole characters, each of any lead byte that
    Unicode Table 3-7 or its continuation has, and any bytes that may follow it."""
    m = b.m
    specification, text = DecoderSpecification(m, b.profile), WellFormedText(m, b.profile)
    offered = b.free(1, "offered")
    m.d.comb += [
        Cat(text.byte, text.last).eq(Cat(b.free(8, "byte"), b.free(1, "last"))),
        text.accept.eq(offered & text.fits),
        specification.accept.eq(text.accept),
        specification.item.eq(Cat(text.byte, text.last)),
    ]
    ends, token = specification.ends, specification.end
    b.never(specification.cuts, ends & token.error)
    for length in range(1, b.profile.longest_form + 1):
        b.reaches(f"a character of {length}", ends & (token.length == length))
    for end in row_ends(b.profile):
        b.reaches(f"U+{end:04X}", ends & (token.code_point == end))
    b.reaches("a character in mid-text", ends & ~token.last)
    b.reaches("a text that ends", ends & token.last)
    b.reaches("a byte that does not fit", offered & ~text.fits)
    b.reaches("a pause in a character", (specification.pending > 0) & ~offered)


_DESIGN = {
    "tokens": tokens,
    "self-synchronisation": self_synchronisation,
    "drains": drains,
    "covers": covers,
}
_TIMING = {"in-order": in_order, "line-rate": line_rate, "latency": latency}
_COMPACT_TIMING = _TIMING | {"latency": compact_latency}
_SPECIFICATION = {
    "conservation": conservation,
    "only-well-formed": only_well_formed,
    "well-formed-passes": well_formed_passes,
}

PROPERTIES = {
    False: properties_of("decoder", ElasticTiming, _DESIGN, _TIMING | _SPECIFICATION),
    True: properties_of("decoder", CompactTiming, _DESIGN, _COMPACT_TIMING),
}
"""What is proved of the pipelined decoder, and of the compact one, whose specification it is."""
