"""What is proved of the encoder.

``bytes`` says that every pin in every cycle is that of the specification with the documented
timing. What is so of specification and timing is then so of the encoder: the lemmas have no design.
"""

from amaranth.hdl import Cat, Mux, Signal, Value

from .bench import Bench, accepts, gives, output_of, waits
from .specification import DecoderSpecification, EncoderSpecification, is_continuation
from .streams import reach_states


def _any_code_point(b: Bench, name: str = "code_point") -> EncoderSpecification:
    """The specification alone, with any code point."""
    b.m.submodules[name] = specification = EncoderSpecification(b.profile)
    b.m.d.comb += specification.code_point.eq(b.free(b.profile.utf32_width, name))
    return specification


def _wanted(specification: EncoderSpecification) -> Value:
    """The code point, or what takes its place."""
    return Mux(specification.refused, 0xFFFD, specification.code_point)


def bytes_(b: Bench, name: str) -> None:
    """The bytes are those of the specification: data, error and `last`, none missing, none more,
    for all code points and all stalls; each pin in each cycle as the documented timing has it."""
    encoder = b.design(name)
    b.never(b.timing(b, encoder, EncoderSpecification(b.profile)).wrong)
    b.reaches("a byte that waits", waits(encoder) & encoder.i.valid)


def idle_output(b: Bench, name: str) -> None:
    """While nothing is offered the payload keeps its last value, which is zero at first."""
    design = b.design(name)
    b.never(~design.o.valid & (output_of(design) != b.before(output_of(design))))
    b.reaches("nothing offered after something was", ~design.o.valid & output_of(design).any())


def covers(b: Bench, name: str) -> None:
    """Code points of every length at both ends, those refused and their neighbours, and every state
    of the encoder with each side waiting, do occur."""
    encoder, profile = b.design(name), b.profile
    expected = b.timing(b, encoder, EncoderSpecification(profile))
    done = encoder.o.valid & expected.valid & ~b.since(expected.wrong)
    limits = [7, 11, 16, 21, 26, 31, 36, 42][: profile.longest_form]
    ends = [0, *(1 << bits for bits in limits), 0xD800, 0xE000, 0xFFFE, 0x10000]
    ends += [profile.highest + 1, 1 << profile.utf32_width]
    for end in sorted(set(ends)):
        for value in (end - 1, end):
            if 0 <= value < 1 << profile.utf32_width:
                b.reaches(f"{value:X}", done & (expected.item.code_point == value))
    b.reaches("a code point refused", done & encoder.o.p.error)
    b.reaches("a code point that ends its text", done & expected.item.last)
    b.reaches("a code point that does not", done & ~expected.item.last)
    reach_states(b, encoder)


# --- lemmas about the timing --------------------------------------------------------------------


def rate(b: Bench, name: str) -> None:
    """While the consumer is ready and code points are offered there is a byte in every cycle; a
    code point is taken when no byte waits, and when a character's last byte is taken."""
    encoder = b.reference(name, EncoderSpecification(b.profile))
    busy = b.before(encoder.i.valid & encoder.o.ready)
    last_byte = gives(encoder) & encoder.expected.ends
    b.never(busy & ~encoder.o.valid, (~encoder.o.valid | last_byte) & ~encoder.i.ready)
    b.reaches("a byte", busy & encoder.o.valid)
    b.reaches("the next code point with the last byte", last_byte & accepts(encoder))


def latency(b: Bench, name: str) -> None:
    """The first byte is at the output 1 cycle after its code point, the others follow at once."""
    encoder = b.reference(name, EncoderSpecification(b.profile))
    expected = encoder.expected
    first, following = b.before(accepts(encoder)), b.before(gives(encoder) & ~expected.ends)
    lead = expected.specification.sequence[0]
    b.never(first & (~encoder.o.valid | (encoder.o.p.data != lead)))
    b.never(following & (~encoder.o.valid | ~is_continuation(encoder.o.p.data)))
    b.reaches("a first byte", first)


def last_arrives(b: Bench, name: str) -> None:
    """The end of every text comes out within as many cycles in which the consumer is ready as the
    longest form has bytes."""
    encoder, m = b.reference(name, EncoderSpecification(b.profile)), b.m
    limit = b.profile.longest_form
    enters, leaves = accepts(encoder) & encoder.i.p.last, gives(encoder) & encoder.o.p.last
    texts = Signal(4)  # of which the end is inside
    m.d.sync += texts.eq(texts + enters - leaves)
    # Any one of the ends that enter is watched: how many leave before it, and how long it takes.
    watched, ahead, cycles = Signal(), Signal(4), Signal(5)
    arrives = watched & leaves & (ahead == 0)
    with m.If(~watched & enters & b.free(1, "watch")):
        m.d.sync += [watched.eq(1), ahead.eq(texts - leaves), cycles.eq(1)]
    with m.Elif(arrives):
        m.d.sync += watched.eq(0)
    with m.Elif(watched & encoder.o.ready):
        m.d.sync += [ahead.eq(ahead - leaves), cycles.eq(cycles + 1)]
    b.never(watched & encoder.o.ready & (cycles == limit) & ~arrives, leaves & (texts == 0))
    b.reaches("an end that takes all that time", arrives & (cycles == limit))


# --- lemmas about the specification -------------------------------------------------------------


def shortest_form(b: Bench, name: str) -> None:
    """Read back bit by bit, the bytes of a character are its code point, or U+FFFD in place of one
    that the profile refuses, and no shorter form has room for it."""
    specification = _any_code_point(b)
    lead, *others = specification.sequence
    capacity = [0, 0, 7, 11, 16, 21, 26, 31, 36]  # bits of the next shorter form
    read = Signal()
    for length in range(1, b.profile.longest_form + 1):
        ones = 0 if length == 1 else length
        announces = lead.matches(("1" * ones + "0").ljust(8, "-")[:8])
        following = others[: length - 1]
        bits = Cat(*(byte[:6] for byte in reversed(following)), lead[: max(0, 7 - ones)])
        good = announces & Cat(is_continuation(byte) for byte in following).all()
        good &= (bits == _wanted(specification)) & (bits >> capacity[length] != 0 if ones else 1)
        with b.m.If(specification.count == length):
            b.m.d.comb += read.eq(good)
        if ones:
            b.reaches(f"a character of {length}", read & (specification.count == length))
    b.never(~read)


def round_trip(b: Bench, name: str) -> None:
    """A decoder behind the encoder gives the code points back, U+FFFD for those refused: no errors,
    each from its shortest form, `last` where it was. Both are the specification's."""
    m, encoder = b.m, b.reference(name, EncoderSpecification(b.profile))
    expected, specification = encoder.expected, encoder.expected.specification
    m.submodules.decoded = decoded = DecoderSpecification(b.profile)
    m.d.comb += [
        decoded.accept.eq(gives(encoder)),
        decoded.item.eq(Cat(encoder.o.p.data, encoder.o.p.last)),
    ]
    token = decoded.end
    b.never(
        decoded.cuts,
        decoded.ends & (token.error | (token.code_point != _wanted(specification))),
        decoded.ends & ((token.last != expected.item.last) | (token.length != specification.count)),
        decoded.ends != (gives(encoder) & expected.ends),
    )
    b.reaches("a code point refused", decoded.ends & specification.refused)
    for length in range(1, b.profile.longest_form + 1):
        b.reaches(f"a character of {length}", decoded.ends & (token.length == length))


def order(b: Bench, name: str) -> None:
    """The byte strings of any two code points compare as the code points do; a refused one counts
    as U+FFFD."""
    both = [_any_code_point(b, label) for label in ("one", "other")]
    one, other = map(_wanted, both)
    # Zeros behind the shorter string: no character's bytes begin those of another.
    string, other_string = (Cat(*reversed(list(each.sequence))) for each in both)
    b.never((one < other) != (string < other_string), (one == other) != (string == other_string))
    b.reaches("a smaller one of another length", (one < 0x80) & (other > 0x7FF))
    b.reaches("two that are refused", both[0].refused & both[1].refused & (string == other_string))


ENCODER = {"bytes": bytes_, "idle-output": idle_output, "covers": covers}
"""What is proved of the encoder."""

LEMMAS = {
    "rate": rate,
    "latency": latency,
    "last-arrives": last_arrives,
    "shortest-form": shortest_form,
    "round-trip": round_trip,
    "order": order,
}
"""What is proved of its specification and timing."""
