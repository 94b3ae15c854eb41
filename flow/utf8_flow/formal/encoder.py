"""Properties of the encoder.

``bytes`` states that every pin in every cycle equals that of the specification with the documented
timing. A lemma about specification and timing then holds for the encoder, without a design in it.
"""

from typing import Any

from amaranth.hdl import Cat, Mux, Signal, Value, unsigned

from . import timing
from .bench import Bench, driven_pins, gives, output_of, pins_differ, waits
from .specification import DecoderSpecification, EncoderSpecification, is_continuation
from .streams import REGISTERED, properties_of, reach_states
from .timing import NEAR, WATCHED, CompactSerialTiming, Repeating, SerialTiming, watch


def _any_code_point(b: Bench, name: str = "code_point") -> EncoderSpecification:
    """The specification alone, with any code point."""
    specification = EncoderSpecification(b.model, b.profile)
    b.m.d.comb += specification.code_point.eq(b.free(b.profile.utf32_width, name))
    return specification


def _wanted(specification: EncoderSpecification) -> Value:
    """The code point, or U+FFFD if it is refused."""
    return Mux(specification.refused, 0xFFFD, specification.code_point)


def _source(b: Bench, expected: Any) -> EncoderSpecification:
    """The specification for the code point of the byte at the output."""
    source = EncoderSpecification(b.model, b.profile)
    b.m.d.comb += Cat(source.item).eq(expected.more[1:])
    return source


def _any_number(b: Bench) -> Repeating:
    """A specification with any number of bytes that a code point may have."""
    return Repeating(b, unsigned(2), b.profile.longest_form)


def _finishes(encoder: Any) -> Value:
    return gives(encoder) & encoder.expected.more[0]


def bytes_(b: Bench, name: str) -> None:
    """The bytes equal those of the specification: data, error and `last`, none missing, none added,
    for all code points and all stalls. Each pin in each cycle follows the documented timing."""
    encoder = b.design(name)
    b.never(b.timing(b, encoder, EncoderSpecification(b.model, b.profile)).wrong)
    b.reaches("a byte that waits", waits(encoder) & encoder.i.valid)


def idle_output(b: Bench, name: str) -> None:
    """While `o.valid` is low, the payload keeps its last value, which is zero at first."""
    design = b.design(name)
    b.never(~design.o.valid & (output_of(design) != b.before(output_of(design))))
    b.reaches("nothing offered after something was", ~design.o.valid & output_of(design).any())


def self_synchronisation(b: Bench, name: str) -> None:
    """From any register contents, after `4 * longest_form + 16` consecutive cycles without input
    and with a ready consumer, the pins equal those of an encoder that began in the initial
    state."""
    encoder = b.design(name, any_start=True)
    twin = b.design(f"{name}_twin", driven_pins(encoder))
    cycles = 4 * b.profile.longest_form + 16
    quiet, passed = ~encoder.i.valid & encoder.o.ready, Signal(range(cycles + 1))
    with b.m.If(passed != cycles):
        b.m.d.sync += passed.eq(passed + 1)
    synchronised = (passed == cycles) & ~b.since((passed != cycles) & ~quiet)
    differs = pins_differ(encoder, twin)
    b.never(synchronised & differs)
    b.reaches("pins that differ before", differs)
    b.reaches("a byte after that", synchronised & gives(encoder))
    b.reach = cycles + 12


def covers(b: Bench, name: str) -> None:
    """These are reachable: the lowest and highest code point of every length, the refused code
    points and their neighbours, and every state of the encoder, also without input and with a
    stalled output."""
    encoder, profile = b.design(name), b.profile
    expected = b.timing(b, encoder, EncoderSpecification(b.model, profile))
    done = encoder.o.valid & expected.valid & ~b.since(expected.wrong)
    source = _source(b, expected)
    limits = [7, 11, 16, 21, 26, 31, 36, 42][: profile.longest_form]
    ends = [0, *(1 << bits for bits in limits), 0xD800, 0xE000, 0xFFFE, 0x10000]
    ends += [profile.highest + 1, 1 << profile.utf32_width]
    for end in sorted(set(ends)):
        for value in (end - 1, end):
            if 0 <= value < 1 << profile.utf32_width:
                b.reaches(f"{value:X}", done & (source.code_point == value))
    b.reaches("a code point refused", done & encoder.o.p.user.error)
    b.reaches("a code point that ends its text", done & source.last)
    b.reaches("a code point that does not", done & ~source.last)
    reach_states(b, encoder)


# --- lemmas about the timing --------------------------------------------------------------------


def in_order(b: Bench, name: str) -> None:
    """Every accepted code point reaches the specification, and each of its bytes reaches the
    output: none is lost, changed or overtaken, under any stalls."""
    encoder, index = timing.in_order(b, name, _any_number(b)), Signal(3)
    with b.m.If(gives(encoder)):
        b.m.d.sync += index.eq(Mux(_finishes(encoder), 0, index + 1))
    b.never(gives(encoder) & (encoder.expected.more[1:] != index))


def rate(b: Bench, name: str) -> None:
    """A byte is at the output in every cycle, from the first lead byte on, as long as a code point
    is offered whenever `i.ready` is high. While the consumer is ready, `i.ready` is low in at most
    `longest_form` consecutive cycles."""
    encoder, m, longest = b.reference(name, _any_number(b)), b.m, b.profile.longest_form
    offered, cycles = Signal(3), Signal(4)
    with m.If(encoder.i.ready):
        m.d.sync += offered.eq(Mux(encoder.i.valid, offered + (offered != b.timing.latency), 0))
    with m.If(encoder.i.ready | ~encoder.o.ready):
        m.d.sync += cycles.eq(0)
    with m.Else():
        m.d.sync += cycles.eq(cycles + (cycles != 15))
    b.never((offered == b.timing.latency) & ~encoder.o.valid, cycles > longest)
    b.reaches("all that time", cycles == longest - 1)


def latency(b: Bench, name: str) -> None:
    """The first byte of every character is at the output exactly 7 cycles after its code point was
    accepted, in the compact encoder 1 cycle; the others follow without a gap. Not counted are
    cycles in which the output stalls, and cycles in which it has a byte, other than the first, of a
    code point that was accepted in the last three earlier cycles with a high `i.ready`."""
    m, begun, first_of_all = b.m, Signal(), Signal(init=1)
    near, last = begun | b.free(1, "near"), b.timing.stages - 1
    encoder, enters, _ = watch(b, name, _any_number(b), near)
    # Cycles with a high `i.ready` since `near` began; and a flag that it began before all of them.
    # Nothing is claimed of a run whose free `near` does not fit the watched code point.
    cycles = Signal(range(last + 2))
    m.d.sync += begun.eq(near)
    with m.If(encoder.i.ready & near):
        m.d.sync += cycles.eq(cycles + (cycles <= last))
    with m.Elif(encoder.i.ready):
        m.d.sync += first_of_all.eq(0)
    counts = enters & ((cycles == last) | (first_of_all & (cycles < last)))
    output, index = output_of(encoder), encoder.expected.more[1:]
    held_back = encoder.o.valid & (output == NEAR) & (index != 0)
    passed, counted = Signal(range(b.timing.latency + 2)), b.since(counts)
    with m.If((counts | counted) & ~waits(encoder) & ~held_back):
        m.d.sync += passed.eq(passed + (passed <= b.timing.latency))
    first = encoder.o.valid & (output == WATCHED) & (index == 0)
    b.never(counted & (first != ((passed == b.timing.latency) & ~held_back)))
    following = b.before(gives(encoder) & ~_finishes(encoder))
    b.never(following & ~encoder.o.valid)
    b.reaches("a first byte", counted & first)
    b.reaches("a first byte behind other bytes", counted & first & b.before(gives(encoder)))
    if last:
        b.reaches("a first byte that is later for others", counted & first & b.since(held_back))
    b.reaches("a byte that follows", following & encoder.o.valid)


def last_arrives(b: Bench, name: str) -> None:
    """The last byte of every text is taken within a bounded number of cycles after the last code
    point was accepted: S cycles with a high `i.ready`, then P cycles with a ready consumer. S is
    the number of stages up to the sending stage, P that of later stages and buffer entries."""
    steps, stages = Signal(4), b.timing.stages
    encoder, enters, arrives = watch(b, name, _any_number(b))
    step = Mux(steps <= stages, encoder.i.ready, encoder.o.ready)
    with b.m.If(enters | ((steps != 0) & step)):
        b.m.d.sync += steps.eq(Mux(arrives, 0, steps + 1))
    late = (steps == stages + b.timing.places) & step
    b.never(late & ~arrives)
    b.reaches("an end that takes all that time", late)


# --- lemmas about the specification -------------------------------------------------------------


def shortest_form(b: Bench, name: str) -> None:
    """The bytes of a character, read back bit by bit, have the value of its code point, or U+FFFD
    if the profile refuses it. The value does not fit into a shorter form."""
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
    """In the specifications, a decoder after the encoder outputs the same code points, U+FFFD for
    refused code points: no errors, each from its shortest form, with the same `last`."""
    m, specification = b.m, EncoderSpecification(b.model, b.profile)
    encoder = b.reference(name, specification, timing=CompactSerialTiming)
    decoded = DecoderSpecification(m, b.profile)
    source = _source(b, encoder.expected)
    m.d.comb += [
        decoded.accept.eq(gives(encoder)),
        decoded.item.eq(Cat(encoder.o.p.data, encoder.o.p.last)),
    ]
    token = decoded.end
    b.never(
        decoded.cuts,
        decoded.ends & (token.error | (token.code_point != _wanted(source))),
        decoded.ends & ((token.last != source.last) | (token.length != source.count)),
        decoded.ends != _finishes(encoder),
    )
    b.reaches("a code point refused", decoded.ends & source.refused)
    for length in range(1, b.profile.longest_form + 1):
        b.reaches(f"a character of {length}", decoded.ends & (token.length == length))


def order(b: Bench, name: str) -> None:
    """The byte strings of any two code points compare as the code points do; a refused code point
    counts as U+FFFD."""
    both = [_any_code_point(b, label) for label in ("one", "other")]
    one, other = map(_wanted, both)
    # The shorter string ends with zeros: no character's bytes are a prefix of another's.
    string, other_string = (Cat(*reversed(list(each.sequence))) for each in both)
    b.never((one < other) != (string < other_string), (one == other) != (string == other_string))
    b.reaches("a smaller one of another length", (one < 0x80) & (other > 0x7FF))
    b.reaches("two that are refused", both[0].refused & both[1].refused & (string == other_string))


_DESIGN = {"bytes": bytes_, "self-synchronisation": self_synchronisation, "covers": covers}
_TIMING = {"in-order": in_order, "rate": rate, "latency": latency, "last-arrives": last_arrives}
_SPECIFICATION = {"shortest-form": shortest_form, "round-trip": round_trip, "order": order}

PROPERTIES = {
    False: properties_of("encoder", SerialTiming, _DESIGN, _TIMING | _SPECIFICATION, REGISTERED),
    True: properties_of(
        "encoder", CompactSerialTiming, _DESIGN | {"idle-output": idle_output}, _TIMING
    ),
}
"""Properties of the pipelined encoder, and of the compact encoder, with the same specification."""
