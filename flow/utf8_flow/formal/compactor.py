"""Properties of the compactor, from slot to dense beat.

A *slot* is a cycle at the input, with or without an accepted beat. Values of an unfinished text are
*pending* until their dense beat is produced. The *tops* are registers with the number of pending
values, the pipeline's only memory of the values of earlier slots. So a property of one slot, from
any register contents in which the tops agree, holds for all slots of any run by induction: `begins`
is the base case, and `counted` the step.
"""

from itertools import pairwise
from typing import Any

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value, signed

from .bench import Bench, gives, memory, waits
from .streams import EVERY, drains, properties_of
from .timing import CreditTiming

STAGES = 11
"""Stages of the compactor. The writes to the memory are known in the last one."""

REPORTED_IN = {"bit_0": 3, "bit_1": 4}
"""For the tops of bits 0 and 1: the stage of the slot before which the top counts pending values.

For all other tops it is `WHOLE`.
"""

WHOLE = 5

FIRST_LEVEL = 6
"""The stage that swaps level 0. Level k is k stages later, but at most in the last stage."""

GIVEN = 7
"""The first stage of dense beats."""


class PackingTiming(CreditTiming):
    """The timing of the compactor, which may produce other beats than it accepts.

    The transcoder has a subclass with other stages.

    - ``stages``, ``counted``: the number of stages, and the first stage whose numbers count the
      beats produced.
    - ``waits``: true if a beat is held, before it is packed, until the next beat of its text
      arrives.
    """

    stages, counted, waits = STAGES, GIVEN, False
    places = 32

    @classmethod
    def drain_cycles(cls) -> int:
        """One more for the registers after the memory, and one more for credit."""
        return super().drain_cycles() + 2

    @classmethod
    def most_held(cls) -> int:
        """Also the beats of :meth:`ahead`, which are produced without further input."""
        return super().most_held() + cls.ahead()

    @classmethod
    def ahead(cls) -> int:
        """Maximum number of beats begun minus beats accepted, in any sequence of slots."""
        return 1 + cls.waits


class Numbers:
    """The documented timing of a cycle, from the beat numbers and the pins of earlier cycles.

    - ``first``: true if the design is reset in this cycle. It then has no beats, and had none
      before.
    - ``valid``, ``ready``: the expected ``o.valid`` and ``i.ready``.
    - ``fits``: the beats produced and not taken do not outnumber the entries of the memory.
    - ``in_order``: the beats not taken that have passed a stage are at most as many as those that
      have passed the stage before.
    - ``counts``: the number of the next beat at the output is that of the cycle before, plus 1 if a
      beat was taken then.
    """

    def __init__(self, b: Bench, design: Any, first: Value) -> None:
        timing, packing = b.timing, design.probes
        width = len(packing.next)
        following, given = Mux(first, 1, packing.next), Mux(first, 0, packing.number)[:width]
        taken, ready = ~first & gives(design), ~first & design.i.ready
        accepted = ready & design.i.valid

        def left(number: Value, following: Value) -> Value:
            return (number + 1 - following)[:width]

        behind = [b.before(given, n) for n in range(timing.stages + 3 - timing.counted)]
        counts = [left(number, following) for number in behind]
        self.valid = counts[-1] != 0
        self.fits = counts[0] <= timing.places
        self.in_order = Cat(later <= count for count, later in pairwise(counts)).all()
        self.counts = following == b.before((following + taken)[:width])

        inside = sum(b.before(accepted, 3 + n) for n in range(timing.counted + 1))
        waiting = left(b.before(given, 4), b.before(following, 2))
        outstanding = (inside + waiting + b.before(ready, 2))[:width]
        room = timing.places - timing.ahead()
        self.ready = ~b.before(first) & (outstanding + b.before(ready) < room)


def network_levels(design: Any) -> int:
    """Levels of the butterfly network, one for each bit of a lane number."""
    levels: int = design.packing.lanes.bit_length() - 1
    return levels


class Waiting:
    """The number of values pending before a slot, by the tops.

    - ``age``: cycles since the slot.
    - ``count``: the number.
    - ``agreed``: true if all tops agree on it.
    """

    def __init__(self, b: Bench, design: Any, age: int) -> None:
        own = design.probes.tops
        tops: Any = {
            what: b.before(Value.cast(own[what]), age - REPORTED_IN.get(what, WHOLE))
            for what in own.shape().members
        }
        lane, empty = tops["lane"], tops["empty"]
        self.count = Mux(empty, 0, lane + 1)
        at_end = ~tops["empty_at_end"] & (tops["lane_at_end"] == lane)
        # Without pending values the top is the highest lane, as if it were below lane 0.
        self.agreed = Mux(empty, lane.all(), at_end)
        for n, bit in enumerate(lane[:2]):
            self.agreed &= tops[f"bit_{n}"] == bit
        for level in range(2, len(lane)):
            self.agreed &= tops[f"level_{level}"] == lane[: level + 1]


def counts(keep: Value) -> list[Value]:
    """The number of values before each lane, and in all lanes, added up recursively."""
    if len(keep) == 1:
        return [Const(0), keep]
    half = len(keep) // 2
    low, high = counts(keep[:half]), counts(keep[half:])
    return [*low, *(low[-1] + each for each in high[1:])]


class Slot:
    """Any slot of any run, and its specification.

    - ``design``: the design, with any register contents at first.
    - ``age``: cycles since the slot.
    - ``comes``, ``last``: true if the slot has a beat, and if it has one with `last`. The input is
      free.
    - ``beat``: the beat. Without one, any value.
    - ``before``, ``behind``: the values pending before and after the slot.
    - ``agreed``: true if the tops agree before the slot, as in every run that begins with a reset.
    - ``keep``: the lanes in which the beat has a value; zero without a beat.
    - ``goes_to``: for the value in each lane, the lane to which it goes, counted from lane 0 of the
      dense beat with the pending values. The lanes of the next dense beat follow.
    - ``fills``: true if a dense beat is full and a value follows it.
    - ``rest``: the number of values pending after the slot if the text continues, else the number
      of values in its last dense beat.
    """

    def __init__(self, b: Bench, design: Any, age: int = STAGES + 1) -> None:
        self._b, self._age = b, age
        packing, probes = design.packing, design.probes
        if not b.cut:
            b.cut += [probes.comes, Value.cast(probes.sparse)]
            b.cut += [probes.late] * (packing.late_width > 0)
        self.beat: Any = probes.sparse.shape()(self.at(probes.sparse, 0))
        self.comes = self.at(probes.comes, 0)
        self.last = self.comes & self.beat.last
        self.before, self.behind = Waiting(b, design, age), Waiting(b, design, age - 1)
        self.agreed = self.at(Const(1), 0) & self.before.agreed
        self.stored: Any = probes.stored.shape()(self.at(probes.stored, STAGES))
        self.keep = Value.cast(self.beat.keep) & self.comes.replicate(packing.lanes)
        *self.goes_to, total = (self.before.count + count for count in counts(self.keep))
        self.fills = total > packing.lanes
        self.rest = Mux(self.fills, total - packing.lanes, total)

    def at(self, value: Any, stage: int) -> Value:
        """A value of the cycle in which the slot was in a stage."""
        return self._b.before(Value.cast(value), self._age - stage)


def counted(b: Bench, name: str) -> None:
    """From any register contents, if the tops agree on the number of pending values before a slot,
    they also agree after it: on that number plus the number of values of the beat, less the number
    of lanes if a dense beat is full and a value follows it; on zero if the beat has `last`."""
    design = b.design(name, any_start=True)
    slot = Slot(b, design)
    right = slot.behind.agreed & (slot.behind.count == Mux(slot.last, 0, slot.rest))
    b.never(slot.agreed & ~right)
    b.reaches("a full beat", slot.agreed & slot.fills)
    b.reaches("a slot without a beat", slot.agreed & ~slot.comes & (slot.before.count > 0))
    b.cycles = STAGES + 2


def given(b: Bench, name: str) -> None:
    """If the tops agree before a slot and before the previous slot, the slot produces a dense beat
    exactly if one is full and a value follows it, or if the previous slot had `last`. Its number is
    that of the previous dense beat plus 1. After a slot with `last` it has `last`, the `user` of
    that slot with the bits that follow two cycles later, and the remaining values of the text in
    the first lanes. Otherwise it has no `last`, `user` is zero, and all lanes have values."""
    design = b.design(name, any_start=True)
    slot, following = Slot(b, design, STAGES + 2), Slot(b, design)
    stored, ends = following.stored, slot.last
    agreed = slot.agreed & following.agreed
    gives = following.fills | ends
    lanes = design.packing.lanes
    kept = Cat(slot.rest > lane for lane in range(lanes))
    all_kept = Const(1).replicate(lanes)
    user = slot.beat.user if design.packing.user_width else Const(0, 0)
    user = Cat(user, slot.at(design.probes.late, 2))
    expected = Cat(Mux(ends, kept, all_kept), ends, Mux(ends, user, 0))
    b.never(
        agreed & (stored.gives != gives),
        agreed & (stored.newest != (slot.stored.newest + gives)[: len(stored.newest)]),
        agreed & gives & (Cat(Value.cast(stored.keep), stored.last, stored.user) != expected),
    )
    b.reaches("a full beat", agreed & following.fills)
    b.reaches("a last beat", agreed & ends)
    b.cycles = STAGES + 3


def is_written(stored: Any, lane: Value, number: Value) -> Value:
    """True if a lane of the memory is written at the address of a dense beat."""
    writes, places = stored.writes[lane], stored.places[lane]
    place = number[1 : 1 + len(places[0])]
    even, odd = (writes[bank] & (places[bank] == place) for bank in range(2))
    return Mux(number[0], odd, even)


def places(b: Bench, name: str) -> None:
    """If the tops agree before a slot, the memory is written at the lane of each value of its beat:
    the lane after the previous value in the dense beat with the pending values, and after the last
    lane, the lanes of the next dense beat. A lane that has a value of the same dense beat is not
    written, and no lane is written in a slot without a beat."""
    design = b.design(name, any_start=True)
    slot = Slot(b, design)
    stored, comes = slot.stored, slot.agreed & slot.comes
    # The dense beat with the pending values. It is produced in this slot if it becomes full.
    waiting = (stored.newest + ~slot.fills)[: len(stored.newest)]
    # Any lane of the beat, and any lane of the memory.
    lane, into = (b.free(range(design.packing.lanes), what) for what in ("lane", "into"))
    levels = network_levels(design)
    goes_to = Array(slot.goes_to)[lane]
    here = comes & Array(slot.keep)[lane] & (goes_to[:levels] == into)
    b.never(
        here & ~is_written(stored, into, waiting + goes_to[levels]),
    )
    is_held = into < slot.before.count
    unharmed = slot.comes & (~is_held | slot.fills)
    others = stored.writes[into].all() | ~is_written(stored, into, waiting + is_held)
    b.never(slot.agreed & stored.writes[into].any() & (~unharmed | others))
    b.reaches("a value in the next dense beat", here & goes_to[levels])
    b.reaches("a lane that is not written", comes & ~stored.writes[into].any())
    b.cycles = STAGES + 2


def swapped(goes_to: Value, level: int) -> list[Value]:
    """For each pair of lanes of a block in a level, True if it is swapped.

    The first value of the upper half goes to lane ``goes_to``; bits above bit ``level`` do not
    matter. A pair is swapped if the value of its upper lane, present or not, goes to the lower
    half.
    """
    size, bits = 1 << level, level + 1
    swaps = []
    for pair in range(size):
        behind = (pair - goes_to)[:level] if level else Const(0)
        swaps.append(~(goes_to + behind)[:bits][level])
    return swaps


def known_in(level: int) -> int:
    """The stage in which the swaps of a level are known."""
    return min(level + FIRST_LEVEL, STAGES) - 1


def sums(b: Bench, name: str) -> None:
    """If the tops agree before a slot with a beat, each level swaps, in each block, exactly the
    pairs of lanes with a value that goes to the other half. The first value of the upper half goes
    to the lane after the pending values and the values of the beat before that half."""
    design = b.design(name, any_start=True)
    slot = Slot(b, design)
    for level in range(network_levels(design)):
        middles = range(1 << level, design.packing.lanes, 2 << level)
        expected = Cat(Cat(swapped(slot.goes_to[middle], level)) for middle in middles)
        reported = slot.at(design.probes.swaps[level], known_in(level))
        b.never(slot.agreed & slot.comes & (reported != expected))
    b.reaches("a full beat", slot.agreed & slot.fills)
    b.cycles = STAGES + 2


def routes(b: Bench, name: str) -> None:
    """Any value of a beat reaches the lane to which it goes, if each level swaps the pairs of its
    block as in `sums`. The lane to which the first value of the upper half goes is lower or higher
    by the number of values in between, which is at most the number of lanes in between."""
    design = b.design(name, any_start=True)
    b.cut += [Value.cast(design.probes.swaps[level]) for level in range(network_levels(design))]
    lane, goes_to = (b.free(range(design.packing.lanes), what) for what in ("lane", "goes_to"))
    swapped_so: Value = Const(1)
    for level in range(network_levels(design)):
        between = b.free(level + 1, f"between_{level}")
        low, is_upper, block = lane[:level], lane[level], lane[level + 1 :]
        # A value in the upper half has at most `low` values between the middle and itself. A value
        # in the lower half is itself counted.
        possible = Mux(is_upper, between <= low, (between > 0) & (between + low <= 1 << level))
        middle_goes_to = Mux(is_upper, goes_to - between, goes_to + between)[: level + 1]
        reported = b.before(Value.cast(design.probes.swaps[level]), STAGES - known_in(level))
        own = reported.word_select(block, 1 << level)
        swapped_so &= possible & (own == Cat(swapped(middle_goes_to, level)))
    taken = b.before(Value.cast(design.probes.sparse.data), STAGES).word_select(
        lane, design.packing.width
    )
    stored = Value.cast(design.probes.stored.value).word_select(goes_to, design.packing.width)
    there = b.before(Const(1), STAGES) & swapped_so
    b.never(there & (stored != taken))
    b.reaches("a value", there)
    b.cycles = STAGES + 1


def self_synchronisation(b: Bench, name: str) -> None:
    """From any register contents, the tops agree after a beat with `last` that no values are
    pending."""
    design = b.design(name, any_start=True)
    slot = Slot(b, design)
    synchronised = slot.behind.agreed & (slot.behind.count == 0)
    ends = slot.at(Const(1), 0) & slot.last
    b.never(ends & ~synchronised)
    b.reaches("a full beat", ends & slot.fills)
    b.cycles = STAGES + 2


def begins(b: Bench, name: str) -> None:
    """After a cycle of reset, from any register contents, the tops agree that no values are
    pending, and no dense beat of a slot before the reset reaches the memory."""
    first = ~b.since(Const(1))
    design = b.design(name, any_start=True, reset=first)
    slot = Slot(b, design)
    behind_reset = b.before(first, STAGES + 2)
    b.never(behind_reset & ~(slot.before.agreed & (slot.before.count == 0)))
    in_stages = b.since(first) & ~b.since(b.before(first, STAGES + 1))
    b.never(in_stages & design.probes.stored.gives)
    b.reaches("a beat behind it", b.since(first) & design.probes.comes)
    b.reaches("values that waited at reset", first & ~design.probes.tops.empty)
    b.cycles = STAGES + 3


NEAR = 8
"""Number of past cycles that determine if a beat is at the output."""


def timing(b: Bench, name: str) -> None:
    """`o.valid` is high in exactly the cycles of the documented timing, under any stalls and
    whatever dense beats are produced, as long as the memory has entries for them. This is an
    induction: after a cycle of reset, from any register contents, it holds in the first cycles; and
    in any run, from any register contents, if it holds in some cycles in a row and the beat numbers
    are in order in them, both hold in the next cycle."""
    never = Const(0, 1)
    design = b.design(name, any_start=True)
    first = ~b.since(Const(1))
    after_reset = b.design(f"{name}_after_reset", any_start=True, reset=first)
    b.cut += [design.probes.gives, after_reset.probes.gives]
    depth = b.timing.stages + 3 - b.timing.counted  # of the numbers that are used

    numbers = Numbers(b, design, never)
    right = numbers.in_order & numbers.counts & (design.o.valid == numbers.valid)
    so_far, fit = b.before(Const(1), depth), b.since(~numbers.fits)
    for _ in range(NEAR):
        so_far = b.before(so_far & right)
    b.never(so_far & ~fit & ~right)
    b.reaches("a beat that waits", so_far & right & ~fit & waits(design))

    numbers = Numbers(b, after_reset, first)
    right = numbers.in_order & numbers.counts & (after_reset.o.valid == numbers.valid)
    b.never(b.since(first) & ~b.since(~numbers.fits) & ~right)
    b.cycles = depth + NEAR + 2


def credit(b: Bench, name: str) -> None:
    """From any register contents, `i.ready` is high in exactly the cycles that the documented
    timing derives from the beat numbers and the pins of the cycles before; after a cycle of reset,
    as if there had been no beats before."""
    design = b.design(name, any_start=True)
    first = ~b.since(Const(1))
    after_reset = b.design(f"{name}_after_reset", any_start=True, reset=first)
    b.cut += [design.probes.gives, after_reset.probes.gives]
    window = b.timing.counted + 4
    expected = Numbers(b, design, Const(0, 1)).ready
    known = b.before(Const(1), window)
    b.never(known & (design.i.ready != expected))
    b.reaches("a beat that cannot be accepted", known & ~design.i.ready)
    b.reaches("a beat that can be accepted", known & design.i.ready)
    expected = Numbers(b, after_reset, first).ready
    b.never(b.since(first) & (after_reset.i.ready != expected))
    b.cycles = window + 2


def reads(b: Bench, name: str) -> None:
    """From any register contents, after ten cycles, the number of the next beat at the output rises
    by one with each beat that is taken, and does not change otherwise. Once the consumer has been
    ready in five cycles in a row, all registers derived from this number match it: its copies, the
    read addresses of the memory, and the bank at the output. From then on they match it in every
    cycle."""
    design = b.design(name, any_start=True)
    astray, ready = design.probes.astray, design.o.ready
    b.cut.append(design.probes.gives)
    counts, some = Numbers(b, design, Const(0, 1)).counts, 10
    later, five = b.before(Const(1), some), Cat(b.before(ready, n) for n in range(1, 6)).all()
    b.never(later & ~counts, later & five & astray, later & ~b.before(astray) & astray)
    b.reaches("what is astray at first", later & five & b.before(astray, some))
    b.cycles = some + 1


def written(b: Bench, following: Value, value: Value, writes: Value, places: list[Value]) -> Value:
    """The value last written to the memory entry of the beat at the output.

    ``following`` is the number of that beat, ``writes`` and ``places`` are the write enable and the
    address of each bank. The entry is read in the cycle before.
    """

    def earlier(now: Value) -> Value:
        register = Signal(len(now), reset_less=True)  # because a reset does not change the memory
        b.model.d.sync += register.eq(now)
        return register

    before = earlier(Cat(value))
    even, odd = (
        memory(b.model, 1 << len(place), earlier(writes[bank]), earlier(place), before)
        for bank, place in enumerate(places)
    )
    half = following[1:]
    return Mux(following[0], odd[half], even[half])


def passes(b: Bench, name: str) -> None:
    """While a beat is at the output, each of its lanes has the value last written to the entry of
    its number in the memory of that lane, and `keep`, `last` and `user` equal the values that the
    beat had in the last stage, for any such values. A reset in any cycle changes only the
    numbers."""
    design = b.resettable(name)
    packing, probes = design.packing, design.probes
    stored, p = probes.stored, probes.dense
    fields = Cat(Value.cast(stored.keep), stored.last, stored.user)
    lists = map(Value.cast, (stored.writes, stored.places, stored.value))
    b.cut += [*lists, fields, probes.gives]
    following = Signal(range(b.timing.places), init=1)
    b.model.d.sync += following.eq(following + gives(design))
    values = []
    for lane in range(packing.lanes):
        places = [stored.places[lane][bank] for bank in range(2)]
        values.append(written(b, following, stored.value[lane], stored.writes[lane], places))
    number = stored.newest
    writes, place = Cat(stored.gives & ~number[0], stored.gives & number[0]), number[1:-1]
    known = written(b, following, fields, writes, [place, place])
    facts_out = Cat(Value.cast(p.keep), p.last, p.user if packing.user_width else Const(0, 0))
    b.never(
        design.o.valid & (Value.cast(p.data) != Cat(values)),
        design.o.valid & (facts_out != known),
    )
    b.reaches("a beat behind another one", b.since(gives(design)) & gives(design))


def room(b: Bench, name: str) -> None:
    """In any sequence of slots, at most one more dense beat is produced or begun than beats are
    accepted, or two more if a beat is held until the next beat of its text comes. So no value is
    written to the entry of a dense beat that was not taken: with the documented timing, the
    outstanding beats, the beats that can be accepted in the two cycles since, and these one or two
    more never outnumber the entries of the memory. Outstanding are the beats produced up to a slot
    and not taken, and the beats accepted in the slots after it. These slots are such a sequence."""
    m = b.model
    accepted, last, fills = (b.free(1, name) for name in ("accepted", "last", "fills"))
    comes, ends = accepted, last
    if b.timing.waits:
        holds, ends = Signal(), Signal()
        comes = holds & (ends | accepted)
        with m.If(accepted):
            m.d.sync += [holds.eq(1), ends.eq(last)]
        with m.Elif(ends):
            m.d.sync += holds.eq(0)
    # The slot produces a dense beat. The first beat of a text never fills one.
    unfinished, ended = Signal(), Signal()
    given = (comes & fills & unfinished) | ended
    m.d.sync += ended.eq(comes & ends)
    with m.If(comes):
        m.d.sync += unfinished.eq(~ends)
    # Beats produced minus beats accepted, since any slot. Saturation at -4 loses nothing: the slot
    # in which it occurs may also be the first one.
    counts, more = Signal(), Signal(signed(4))
    m.d.sync += counts.eq(counts | b.free(1, "begins"))
    now = more + given - accepted
    with m.If(counts):
        m.d.sync += more.eq(Mux(now < -4, -4, now))
    begun = now + (comes | unfinished)
    b.never(counts & (begun > b.timing.ahead()))
    b.reaches("as many more", counts & (begun == b.timing.ahead()))


PACKING = {
    "timing": timing,
    "credit": credit,
    "passes": passes,
    "reads": reads,
    "drains": drains,
}
"""Properties of flow control and memory, for all components with such a timing."""

SLOTS = {"counted": counted, "given": given, "sums": sums, "routes": routes, "places": places}
"""Properties of packing, from slot to slot."""

_OWN = {**SLOTS, "begins": begins, "self-synchronisation": self_synchronisation} | PACKING

_LEMMAS = {"room": room}

PROPERTIES = {
    False: properties_of("compactor", PackingTiming, _OWN, _LEMMAS, {"verilog": EVERY["verilog"]})
}
"""Properties of the compactor."""
