"""Properties of components with lanes, in steps that scale with the number of lanes.

A direct proof would not scale. So logic that stores only some bytes is checked over a few cycles of
any run, from any register contents; and flow control is checked without the data.
"""

from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from .bench import Bench, accepts, driven_pins, gives, input_of, output_of, waits
from .specification import DecoderSpecification
from .streams import drains, stays, verilog
from .timing import Passing
from .windows import PLACE, Window


def windows(b: Bench, name: str) -> None:
    """The token that ends with a byte is a function of a window: that byte, the `longest_form - 1`
    bytes before it and the byte after it, each of them present or absent. The byte after it matters
    only if it cuts the token; the token then comes with the byte that cuts it."""
    m, specification = b.m, DecoderSpecification(b.model, b.profile)
    comes, new = b.free(1, "comes"), b.free(PLACE, "place")
    places: list[Any] = [Signal(PLACE, name=f"place_{n}") for n in range(b.profile.longest_form)]
    window = Window(b.model, b.profile, places, new)
    m.d.comb += [
        specification.accept.eq(comes & places[-1].there),
        specification.item.eq(Cat(places[-1].byte, ~new.there)),
    ]
    cut, token = Signal(), Signal.like(window.token)
    with m.If(comes):
        m.d.sync += [place.eq(next_one) for place, next_one in pairwise([*places, new])]
        m.d.sync += [cut.eq(window.cut & new.there), token.eq(window.token)]
    ends = comes & (window.complete | (window.cut & ~new.there))
    b.never(
        specification.ends != ends,
        ends & (Value.cast(specification.end) != Cat(window.token, ~new.there)),
        specification.cuts != (comes & cut),
        specification.cuts & (Value.cast(specification.cut) != Cat(token, Const(0))),
    )
    for length in range(1, b.profile.longest_form + 1):
        b.reaches(f"a token of {length}", ends & (window.token.length == length))
    for length in range(1, b.profile.longest_form):
        b.reaches(f"{length} bytes cut", comes & cut & (token.length == length))


def beats_of_a_window(design: Any) -> int:
    """The number of beats that hold at least ``longest_form`` bytes."""
    return -(-design.profile.longest_form // design.lanes)


def in_windows(b: Bench, name: str) -> None:
    """From any register contents, the result of a beat, its slots or its first error, equals the
    function of windows in the lemma `windows`, if all beats that the windows cover are accepted in
    consecutive cycles."""
    design = b.design(name, any_start=True)
    in_a_row = taken = accepts(design)
    for _ in range(beats_of_a_window(design)):
        in_a_row = taken & b.before(in_a_row)
    _says(b, design, taken, in_a_row)
    b.cycles = beats_of_a_window(design) + b.timing.reported_in + 1


def begins(b: Bench, name: str) -> None:
    """After a cycle of reset, from any register contents, the results of all beats that are
    accepted in consecutive cycles equal the function of windows in the lemma `windows`, with no
    byte before the first beat."""
    first = ~b.since(Const(1))
    design = b.design(name, any_start=True, reset=first)
    second = b.before(first)  # no beat can be accepted in it
    taken = accepts(design) & ~first
    _says(b, design, taken, taken & ~b.since(~(taken | first | second)))
    b.cycles = beats_of_a_window(design) + b.timing.reported_in + 2


def _says(b: Bench, design: Any, taken: Value, when: Value) -> None:
    """Require that the result of a beat accepted while ``when`` equals its specification."""
    b.cut.append(design.i.ready)
    specification, expected = b.timing.expected(b, design)
    b.m.d.comb += [specification.accept.eq(taken), specification.item.eq(input_of(design))]
    when, expected = b.before(when, b.timing.reported_in), b.before(expected, b.timing.reported_in)
    b.never(when & (b.timing.reported(b, design) != expected))
    b.reaches("such a beat", when)


def gaps(b: Bench, name: str) -> None:
    """From any register contents, a cycle in which no beat is accepted, offered or not, makes no
    difference: the results of the next beats, as many as a window covers, are the same without that
    cycle."""
    without = b.design(f"{name}_without", any_start=True)
    first = ~b.since(Const(1))
    driven = {pin: b.before(value) for pin, value in driven_pins(without).items()}
    del driven["o.ready"]
    for pin, value in driven.items():
        driven[pin] = Mux(first, b.free(len(value), f"gap.{pin}"), value)
    design = b.design(name, driven, any_start=f"{name}_without")
    b.cut += [without.i.ready, design.i.ready]

    stage, beats = b.timing.reported_in, beats_of_a_window(design)
    gap, taken, taken_without = first & ~accepts(design), accepts(design), accepts(without)
    in_a_row = ~b.since(~(gap | (taken & ~first))) & taken & ~first
    in_a_row &= b.before(taken_without & ~b.since(~taken_without))
    reported, reported_without = b.timing.reported(b, design), b.timing.reported(b, without)
    b.never(b.before(in_a_row, stage) & (reported != b.before(reported_without)))
    b.reaches("as many beats after a gap", b.before(in_a_row, stage + beats - 1))
    b.reaches(
        "a beat after one that was not accepted",
        b.before(in_a_row, stage) & b.since(gap & design.i.valid),
    )
    b.cycles = beats + stage + 1


class Stored:
    """The specification of a component that outputs the values stored for an item, of any content.

    ``parts`` are the values stored, and the stage of each.
    """

    def __init__(self, design: Any, parts: list[tuple[Value, int]]) -> None:
        self.accept, self.item = Signal(), Signal(len(input_of(design)))
        self.results = (Cat(part for part, _ in parts),) * 2
        self.parts = lambda m, stages: parts


def timing(b: Bench, name: str) -> None:
    """After a cycle of reset, from any register contents, `i.ready` and `o.valid` are high in
    exactly the cycles of the documented timing, under any stalls."""
    heeds = b.since(Const(1))
    design = b.design(name, any_start=True, reset=~heeds)
    expected = b.timing(b, design, Stored(design, []), heeds)
    b.never(heeds & ((design.i.ready != expected.ready) | (design.o.valid != expected.valid)))
    b.never(heeds & ~expected.in_order)
    b.reaches("a beat that waits", heeds & waits(design))
    b.reaches("a beat that cannot be taken", b.since(heeds & design.i.ready) & ~design.i.ready)


def passes(b: Bench, name: str) -> None:
    """Whenever a beat must be at the output, it is the beat with the right number, with the values
    that the stages before the memory have for it, whatever these are, also after a reset in any
    cycle."""
    design = b.resettable(name)
    b.cut.append(Value.cast(design.probes.arriving))
    expected = b.timing(b, design, Stored(design, b.timing.stored(b, design)))
    b.never(expected.valid & (output_of(design) != expected.result))
    b.reaches("a beat behind another one", b.since(gives(design)) & gives(design))


def output_stream(b: Bench, name: str) -> None:
    """A beat that must be at the output stays there, unchanged, until it is taken: the beats at the
    output and in flight never outnumber the entries of the memory."""
    component = b.reference(name, Passing(2))
    stays(b, component)
    b.never(~component.expected.in_order)


LEMMAS = {"windows": windows, "output-stream": output_stream}
"""Properties without a design."""

LANED = {
    "gaps": gaps,
    "begins": begins,
    "timing": timing,
    "passes": passes,
    "drains": drains,
}
"""Properties of all components with lanes, in addition to those of every component."""

EVERY_LANED = {"verilog": verilog}
"""The property that components with lanes share with every component."""
