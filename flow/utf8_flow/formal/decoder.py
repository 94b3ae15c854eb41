"""Properties of the decoder.

``tokens`` states that every pin in every cycle equals that of the specification with the documented
timing. A lemma about specification and timing then holds for the decoder, without a design in it.
"""

from typing import Any

from amaranth.hdl import Cat, Const, Mux, Signal, Value, unsigned

from utf8_hdl import ErrorKind, ErrorSpan

from .bench import Bench, accepts, output_of, waits
from .specification import (
    DecoderSpecification,
    EncoderSpecification,
    ill_formed,
    is_continuation,
    well_formed,
)
from .streams import REGISTERED, drains, properties_of, reach_states
from .timing import WATCHED, CompactTiming, ElasticTiming, Passing, in_order, watch
from .well_formed import WellFormedText, row_ends


def _any_bytes(b: Bench) -> DecoderSpecification:
    """The specification alone; any byte may be accepted in any cycle."""
    specification = DecoderSpecification(b.model, b.profile)
    for name in ("accept", "byte", "last"):
        pin = getattr(specification, name)
        b.m.d.comb += pin.eq(b.free(len(pin), name))
    return specification


def tokens(b: Bench, name: str) -> None:
    """The tokens equal those of the specification: value, error, kind, length and `last`, none
    missing, none added, for all bytes and all stalls. Each pin in each cycle follows the documented
    timing."""
    decoder = b.design(name)
    expected = b.timing(b, decoder, DecoderSpecification(b.model, b.profile))
    b.never(expected.wrong)
    b.reaches("a token that waits", waits(decoder) & expected.valid)
    b.reaches("a byte that waits for another one", expected.backlog & decoder.i.valid)


def self_synchronisation(b: Bench, name: str) -> None:
    """From any register contents, once `longest_form - 1` bytes or one byte outside 80..BF are
    accepted, the following tokens are right, in the latter case from that byte on."""
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
    """These are reachable: every kind of error, every length, both ends of every row of the tables,
    and every state of the decoder, also without input and with a stalled output."""
    decoder, profile = b.design(name), b.profile
    expected = b.timing(b, decoder, DecoderSpecification(b.model, b.profile))
    o, source = decoder.o.p, expected.more
    as_expected = decoder.o.valid & expected.valid & ~b.since(expected.wrong)
    error, character = as_expected & o.error, as_expected & ~o.error

    def begins(sequence: list[int]) -> Value:
        """True if the token begins with these bytes; the last one may be the byte that cuts it."""
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
    for kind, edge in [*errors, *((ErrorKind.NONCHARACTER, sequence) for sequence in refused)]:
        b.reaches(f"{_hex(edge)} is {kind.label}", error & (o.kind == kind) & begins(edge))
    for length in range(1, profile.longest_form):
        truncated = error & (o.kind == ErrorKind.TRUNCATED) & (o.length == length)
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
    """A byte can be accepted two cycles after each cycle in which the output did not stall."""
    decoder = b.reference(name, DecoderSpecification(b.model, b.profile))
    b.never(b.before(~waits(decoder), 2) & ~decoder.i.ready)
    b.reaches("a byte that cannot be taken", decoder.i.valid & ~decoder.i.ready)


def compact_line_rate(b: Bench, name: str) -> None:
    """While the consumer is ready, a byte can be accepted in every cycle except the first after
    reset."""
    decoder = b.reference(name, DecoderSpecification(b.model, b.profile))
    b.never(b.before(Const(1)) & decoder.o.ready & ~decoder.i.ready)
    b.reaches("a byte that cannot be taken", decoder.i.valid & ~decoder.i.ready)


class _Deciding(Passing):
    """The specification of items that may end a token, and cut an unfinished token.

    The payload of a token is the item that ended or cut it. A further bit is high if it was cut.
    """

    def __init__(self, b: Bench) -> None:
        super().__init__(unsigned(2))
        unfinished = Signal()
        self.cuts = self.accept & unfinished & b.free(1, "cuts")
        self.ends = self.accept & b.free(1, "ends")
        self.results = Cat(self.item, Const(0, 1)), Cat(self.item, Const(1, 1))
        with b.model.If(self.accept):
            b.model.d.sync += unfinished.eq(~self.ends)


def _decides(b: Bench, decoder: Any, enters: Value, end: Any, cut: Any) -> tuple[Value, Value]:
    """High while the token that the watched item ends, or the token that it cuts, is at the output.

    Each must be high exactly when the output has not stalled in ``end`` or ``cut`` cycles since the
    item was accepted.
    """
    specification = decoder.expected.specification
    passed, is_cut = Signal(range(10)), decoder.expected.more[0]
    with b.m.If((enters | b.since(enters)) & ~waits(decoder)):
        b.m.d.sync += passed.eq(passed + (passed != 9))
    token = decoder.o.valid & (output_of(decoder) == WATCHED)
    tokens = token & ~is_cut, token & is_cut
    decisions = specification.ends, specification.cuts
    for shown, decides, cycles in zip(tokens, decisions, (end, cut), strict=True):
        decided = b.since(decides & (specification.item == WATCHED))
        b.never(shown != (decided & (passed == cycles)))
    return tokens


def latency(b: Bench, name: str) -> None:
    """Every token is at the output in exactly the documented cycle: 7 cycles after its last byte
    was accepted or, if it is cut, 6 cycles after the byte that cuts it was accepted. It is 1 cycle
    later if that byte was accepted in the cycle after a stall of the output. Cycles in which the
    output stalls are not counted."""
    decoder, enters, _ = watch(b, name, _Deciding(b))
    skid, waited = Signal(), b.before(waits(decoder))
    with b.m.If(enters):
        b.m.d.sync += skid.eq(waited)
    end, cut = _decides(b, decoder, enters, 7 + skid, 6 + skid)
    for cycles, late in enumerate((~skid, skid), 7):
        b.reaches(f"a token in {cycles} cycles", end & late)
        b.reaches(f"a token cut short in {cycles - 1}", cut & late)
    b.reaches("a byte that ends a token, behind one that it cut", end & b.since(cut))


def compact_latency(b: Bench, name: str) -> None:
    """Every token is at the output in exactly the documented cycle: 1 cycle after its last byte
    was accepted or, if it is cut, after the byte that cuts it was accepted. It is 1 cycle later if
    its last byte also cut the token before it, or if the byte accepted in the cycle before was the
    last byte of a token that was later, too. Cycles in which the output stalls are not counted."""
    specification = _Deciding(b)
    decoder, enters, _ = watch(b, name, specification)
    late_before, late = Signal(), Signal()
    lates = specification.ends & (specification.cuts | late_before)
    with b.m.If(~waits(decoder)):
        b.m.d.sync += late_before.eq(lates)
    with b.m.If(enters):
        b.m.d.sync += late.eq(lates)
    end, cut = _decides(b, decoder, enters, 1 + late, 1)
    behind = b.since(cut)
    b.reaches("a token in 1 cycle", end & ~late)
    b.reaches("a token cut short in 1", cut)
    b.reaches("a token in 2, behind one cut by its last byte", end & late & behind)
    b.reaches("a token in 2, behind another one", end & late & ~behind)


# --- lemmas about the specification -------------------------------------------------------------


def conservation(b: Bench, name: str) -> None:
    """Every accepted byte is covered by one token, in order. The `last` of a token is that of its
    last byte, and no other byte of the token is the last of a text."""
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
    """A character's bytes are the only encoding of its value, and the profile accepts that value:
    never an overlong form; never a surrogate, a value above the limit, or FE or FF, if the profile
    rejects it."""
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
    """No token is an error in a text of complete characters, each with any lead byte of Unicode
    Table 3-7 or its extension, and any bytes that may follow it."""
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
_COMPACT_TIMING = _TIMING | {"line-rate": compact_line_rate, "latency": compact_latency}
_SPECIFICATION = {
    "conservation": conservation,
    "only-well-formed": only_well_formed,
    "well-formed-passes": well_formed_passes,
}

PROPERTIES = {
    False: properties_of("decoder", ElasticTiming, _DESIGN, _TIMING | _SPECIFICATION, REGISTERED),
    True: properties_of("decoder", CompactTiming, _DESIGN, _COMPACT_TIMING),
}
"""Properties of the pipelined decoder, and of the compact decoder, with the same specification."""
