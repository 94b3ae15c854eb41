"""What is proved of the compactor: from slot to dense beat.

A *slot* is a cycle at the input, with a beat that is accepted in it or without one. How many values
wait for more behind each slot is what the *tops* say, and that is the only memory that the pipeline
has. So what is proved of one slot, whatever the registers hold but for the tops, is an induction
over all slots of any run: `begins` is where it begins, and `counted` its step.
"""

from itertools import pairwise
from typing import Any

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value, signed

from .bench import Bench, gives, memory, waits
from .streams import EVERY, drains, properties_of
from .timing import CreditTiming

STAGES = 11
"""In the last one it is known what is written to the memory."""

TOLD_IN = {"bit_0": 3, "bit_1": 4}
"""The stages in front of which tops say what waits; all others do in front of the sixth."""

WHOLE = 5

FIRST_LEVEL = 6
"""The stage behind the lowest level. Those that do not fit are in the last one."""

GIVEN = 7
"""From that stage on there are dense beats."""


class PackingTiming(CreditTiming):
    """Of the compactor, and of what has other stages: where other beats are given than are
    accepted.

    Attributes
    ----------
    stages, counted : int
        How many stages there are, and from which one on beats that are given are counted.
    waits : bool
        Whether a beat waits for the next one of its text before it is packed.
    """

    stages, counted, waits = STAGES, GIVEN, False
    places = 32

    @classmethod
    def drain_cycles(cls) -> int:
        """One more behind the registers of the memory, and one more for credit."""
        return super().drain_cycles() + 2

    @classmethod
    def most_held(cls) -> int:
        """Also those that are to be given although nothing comes."""
        return super().most_held() + cls.ahead()

    @classmethod
    def ahead(cls) -> int:
        """So many beats more may be begun than were accepted, in slots in a row."""
        return 1 + cls.waits


class Numbers:
    """What the documented timing says in any cycle, by the numbers of beats and the pins before.

    Parameters
    ----------
    b : Bench
        Where.
    design : Component
        The design.
    first : Value
        Whether it is reset in this cycle. Then there is nothing, and was nothing before.

    Attributes
    ----------
    valid, ready : Value
        There must be a beat at the output, and one can be accepted.
    fits : Value
        There are not more beats given and not taken than places.
    in_order : Value
        Behind no stage there are more beats that were not taken than in front of it.
    counts : Value
        The number of the next beat at the output is that of the cycle before, or if a beat was
        taken then, the number behind it.
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
    """Bits of a lane's number."""
    levels: int = design.packing.lanes.bit_length() - 1
    return levels


class Waiting:
    """What the tops say in front of a slot of how many values wait.

    Parameters
    ----------
    b : Bench
        Where.
    design : Component
        The compactor.
    age : int
        How many cycles ago the slot was that in which a beat may have been accepted.

    Attributes
    ----------
    count : Value
        How many.
    agreed : Value
        They agree about it.
    """

    def __init__(self, b: Bench, design: Any, age: int) -> None:
        own = design.probes.tops
        tops: Any = {
            what: b.before(Value.cast(own[what]), age - TOLD_IN.get(what, WHOLE))
            for what in own.shape().members
        }
        lane, empty = tops["lane"], tops["empty"]
        self.count = Mux(empty, 0, lane + 1)
        at_end = ~tops["empty_at_end"] & (tops["lane_at_end"] == lane)
        # None wait if the top is the highest lane, as if it were below the lowest.
        self.agreed = Mux(empty, lane.all(), at_end)
        for n, bit in enumerate(lane[:2]):
            self.agreed &= tops[f"bit_{n}"] == bit
        for level in range(2, len(lane)):
            self.agreed &= tops[f"level_{level}"] == lane[: level + 1]


def counts(keep: Value) -> list[Value]:
    """How many values there are before each lane, and in all: those of halves, and so on."""
    if len(keep) == 1:
        return [Const(0), keep]
    half = len(keep) // 2
    low, high = counts(keep[:half]), counts(keep[half:])
    return [*low, *(low[-1] + each for each in high[1:])]


class Slot:
    """A slot of any run, and what a plain specification says of it.

    Parameters
    ----------
    b : Bench
        Where.
    design : Component
        The compactor, with any start.
    age : int
        How many cycles ago a beat may have come in it.

    Attributes
    ----------
    comes, last : Value
        Whether a beat came in it, and one with `last`. What comes is free.
    beat : View
        It, or what there was without one.
    before, behind : Waiting
        What the tops say in front of the slot and behind it.
    agreed : Value
        They agree in front of it. So they do in every run that begins with a reset.
    keep : Value
        Where the beat has values.
    goes_to : list of Value
        For the value in each lane, in which lane it belongs, if lanes of the beat behind that in
        which values are waiting are counted on.
    fills : Value
        A beat is full, and a value is behind it.
    rest : Value
        How many values then wait, if the text goes on; or how many are in its last beat.
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
        """What something was when the slot was in a stage."""
        return self._b.before(Value.cast(value), self._age - stage)


def counted(b: Bench, name: str) -> None:
    """In any slot, whatever the registers hold: if the tops agree about how many values wait, then
    behind it they agree about as many and those of the beat, but a whole beat less if one is full
    and a value is behind it, and about none if the beat has `last`."""
    design = b.design(name, any_start=True)
    slot = Slot(b, design)
    right = slot.behind.agreed & (slot.behind.count == Mux(slot.last, 0, slot.rest))
    b.never(slot.agreed & ~right)
    b.reaches("a full beat", slot.agreed & slot.fills)
    b.reaches("a slot without a beat", slot.agreed & ~slot.comes & (slot.before.count > 0))
    b.cycles = STAGES + 2


def given(b: Bench, name: str) -> None:
    """A dense beat is given in a slot in front of which the tops agree if one is full there and a
    value is behind it, or if the slot before had `last`; else none is. It has the number after that
    of the one before. In the latter case it has `last`, `user` as it came with it and two cycles
    later, and as many values as the text has left, in the first lanes; in the former it has no
    `last`, `user` is zero, and all lanes have values."""
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
    """Whether the place of a dense beat is written in a lane."""
    writes, places = stored.writes[lane], stored.places[lane]
    place = number[1 : 1 + len(places[0])]
    even, odd = (writes[bank] & (places[bank] == place) for bank in range(2))
    return Mux(number[0], odd, even)


def places(b: Bench, name: str) -> None:
    """For each value of a beat that is accepted when the tops agree, the lane in which it belongs
    is written: that behind the value before it, of the dense beat in which values wait, and from
    the last lane on those of the next one. Nothing is written to a lane that has a value of the
    same dense beat, and nothing in a slot without a beat."""
    design = b.design(name, any_start=True)
    slot = Slot(b, design)
    stored, comes = slot.stored, slot.agreed & slot.comes
    # The dense beat in which values wait: it is given in this slot if it becomes full.
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
    """Which pairs of a block are swapped in a level, if the first value of the upper half goes to
    some lane, so far as bits up to that of the level tell: those in which the value that is in the
    upper half, or would be, goes to a lower one."""
    size, bits = 1 << level, level + 1
    swaps = []
    for pair in range(size):
        behind = (pair - goes_to)[:level] if level else Const(0)
        swaps.append(~(goes_to + behind)[:bits][level])
    return swaps


def known_in(level: int) -> int:
    """The stage in which it is known which pairs of a level are swapped."""
    return min(level + FIRST_LEVEL, STAGES) - 1


def sums(b: Bench, name: str) -> None:
    """Of a beat that is accepted when the tops agree, those pairs of lanes are swapped, in each
    block of each level, of which a value is to go to the other half, if the first value of the
    upper half goes behind those that wait and those of the beat before it."""
    design = b.design(name, any_start=True)
    slot = Slot(b, design)
    for level in range(network_levels(design)):
        middles = range(1 << level, design.packing.lanes, 2 << level)
        expected = Cat(Cat(swapped(slot.goes_to[middle], level)) for middle in middles)
        told = slot.at(design.probes.swaps[level], known_in(level))
        b.never(slot.agreed & slot.comes & (told != expected))
    b.reaches("a full beat", slot.agreed & slot.fills)
    b.cycles = STAGES + 2


def routes(b: Bench, name: str) -> None:
    """Any value of a beat gets to the lane in which it belongs, if in each level those pairs of its
    block are swapped that `sums` says: the first value of the upper half goes as many lanes before
    or behind it as there are values in between, which are not more than lanes."""
    design = b.design(name, any_start=True)
    b.cut += [Value.cast(design.probes.swaps[level]) for level in range(network_levels(design))]
    lane, goes_to = (b.free(range(design.packing.lanes), what) for what in ("lane", "goes_to"))
    swapped_so: Value = Const(1)
    for level in range(network_levels(design)):
        between = b.free(level + 1, f"between_{level}")
        low, is_upper, block = lane[:level], lane[level], lane[level + 1 :]
        # An upper one has not more values before it than lanes; a lower one is among those that are
        # before the middle.
        possible = Mux(is_upper, between <= low, (between > 0) & (between + low <= 1 << level))
        middle_goes_to = Mux(is_upper, goes_to - between, goes_to + between)[: level + 1]
        told = b.before(Value.cast(design.probes.swaps[level]), STAGES - known_in(level))
        own = told.word_select(block, 1 << level)
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
    """Whatever the registers hold: behind a beat with `last` the tops agree that no values wait."""
    design = b.design(name, any_start=True)
    slot = Slot(b, design)
    synchronised = slot.behind.agreed & (slot.behind.count == 0)
    ends = slot.at(Const(1), 0) & slot.last
    b.never(ends & ~synchronised)
    b.reaches("a full beat", ends & slot.fills)
    b.cycles = STAGES + 2


def begins(b: Bench, name: str) -> None:
    """Behind a cycle of reset, whatever the registers hold, the tops agree that no values wait, and
    no dense beat of a slot before that comes out."""
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
"""In so many cycles it is decided whether a beat is at the output."""


def timing(b: Bench, name: str) -> None:
    """There is a beat at the output in exactly the cycles of the documented timing, under any
    stalls and whatever dense beats are given, as long as there are places for them.

    That is an induction. Behind a cycle of reset, whatever the registers held, it is so in the
    first cycles. And in any run, whatever the registers hold at first, if it is so in some cycles,
    and the numbers of beats are in order, it is so in the next one.
    """
    never = Const(0, 1)
    design = b.design(name, any_start=True)
    first = ~b.since(Const(1))
    after_reset = b.design(f"{name}_after_reset", any_start=True, reset=first)
    b.cut += [design.probes.gives, after_reset.probes.gives]
    depth = b.timing.stages + 3 - b.timing.counted  # of the numbers that are looked at

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
    """A beat can be accepted in exactly the cycles of the documented timing, by the numbers of
    beats and the pins in the cycles before, whatever the registers hold; and behind a cycle of
    reset, as if there had been nothing before."""
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
    """Whatever the registers hold: after ten cycles, the number of the next beat at the output
    goes up by one with each beat that is taken, and does not change otherwise. When the consumer
    has been ready in five cycles, all that is to follow this number does so, the addresses of the
    memory and which bank is at the output; and from then on it does in every cycle."""
    design = b.design(name, any_start=True)
    astray, ready = design.probes.astray, design.o.ready
    b.cut.append(design.probes.gives)
    counts, some = Numbers(b, design, Const(0, 1)).counts, 10
    later, five = b.before(Const(1), some), Cat(b.before(ready, n) for n in range(1, 6)).all()
    b.never(later & ~counts, later & five & astray, later & ~b.before(astray) & astray)
    b.reaches("what is astray at first", later & five & b.before(astray, some))
    b.cycles = some + 1


def written(b: Bench, following: Value, value: Value, writes: Value, places: list[Value]) -> Value:
    """What was written last to the place of the beat at the output, by its number: it is read in
    the cycle before. Of each bank: whether the value is written to it, and to which place."""

    def earlier(now: Value) -> Value:
        register = Signal(len(now), reset_less=True)  # as a reset does not change the memory
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
    """Whenever there is a beat at the output, each of its lanes has the value that was last written
    to the place of its number in that lane's memory, and the rest is what was known of the beat in
    the last stage, whatever all that is. A reset in any cycle changes nothing but the numbers."""
    design = b.resettable(name)
    packing, probes = design.packing, design.probes
    stored, p = probes.stored, probes.dense
    facts = Cat(Value.cast(stored.keep), stored.last, stored.user)
    lists = map(Value.cast, (stored.writes, stored.places, stored.value))
    b.cut += [*lists, facts, probes.gives]
    following = Signal(range(b.timing.places), init=1)
    b.model.d.sync += following.eq(following + gives(design))
    values = []
    for lane in range(packing.lanes):
        places = [stored.places[lane][bank] for bank in range(2)]
        values.append(written(b, following, stored.value[lane], stored.writes[lane], places))
    number = stored.newest
    writes, place = Cat(stored.gives & ~number[0], stored.gives & number[0]), number[1:-1]
    known = written(b, following, facts, writes, [place, place])
    facts_out = Cat(Value.cast(p.keep), p.last, p.user if packing.user_width else Const(0, 0))
    b.never(
        design.o.valid & (Value.cast(p.data) != Cat(values)),
        design.o.valid & (facts_out != known),
    )
    b.reaches("a beat behind another one", b.since(gives(design)) & gives(design))


def room(b: Bench, name: str) -> None:
    """In slots in a row, not more dense beats are given and begun than beats were accepted, and one
    more, or two more if a beat waits for the next one of its text.

    So a value is never written to the place of a dense beat that is not taken. As long as beats are
    accepted by the documented timing, outstanding beats, those that can be accepted in the two
    cycles since, and so many more, are never more than places. What is outstanding is what was
    given up to a slot and not taken, and what was accepted in the slots behind it. And these are
    the slots of which this is said.
    """
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
    # What is given in a slot: no text's first beat fills one.
    unfinished, ended = Signal(), Signal()
    given = (comes & fills & unfinished) | ended
    m.d.sync += ended.eq(comes & ends)
    with m.If(comes):
        m.d.sync += unfinished.eq(~ends)
    # What is given more than accepted since some slot. Any slot may be the first one, so also the
    # one in which there are as few as can be counted here.
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
"""What is proved of the flow control and the memory of all that has such a timing."""

SLOTS = {"counted": counted, "given": given, "sums": sums, "routes": routes, "places": places}
"""What is proved of packing, from slot to slot."""

_OWN = {**SLOTS, "begins": begins, "self-synchronisation": self_synchronisation} | PACKING

_LEMMAS = {"room": room}

PROPERTIES = {
    False: properties_of("compactor", PackingTiming, _OWN, _LEMMAS, {"verilog": EVERY["verilog"]})
}
"""What is proved of it."""
