"""What is proved of the compactor: from slot to dense beat.

A *slot* is a cycle at the input, with a beat that is accepted in it or without one. How many values
wait for more behind each slot is what the *tops* say, and that is the only memory that the pipeline
has. So what is proved of one slot, whatever the registers hold but for the tops, is an induction
over all slots of any run: `begins` is where it begins, and `counted` its step.
"""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value

from utf8_hdl.credit import PLACE_WIDTH

from .bench import Bench, accepts, delayed, gives, memory, waits
from .lanes import Stored
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


NUMBER = 5
"""Bits of a beat's number."""

ROOM = 15
"""Beats accepted and not done, at most: one more may be given."""


class PackingTiming(CreditTiming):
    """Of the compactor, and of what has other stages: the documented timing where other beats are
    given than are accepted.

    The design tells in a stage whether one is given, and the pins whether it is taken.

    Attributes
    ----------
    stages, given_in : int
        How many stages there are, and which one tells it.
    valid : Value
        There is a beat at the output.
    ready : Value
        One can be taken, if a beat is at the output in those cycles in which the pin says so.
    fits : Value
        So far there were never more beats given and not taken than places.
    """

    stages, given_in = STAGES, GIVEN - 1
    fits: Value

    def _describe(self, b: Bench, m: Any, design: Any, specification: Any) -> None:
        self.known, self.result, self.backlog = Const(1), Const(0), Const(0)
        # Numbers of the newest beat accepted and given, and of the next to be at the output.
        accepted, given = Signal(NUMBER), Signal(NUMBER)
        following = Signal(NUMBER, init=1)
        taken = specification.heeds & gives(design)
        newest = (accepted + accepts(design))[:NUMBER]
        newest_given = (given + (specification.heeds & design.gives))[:NUMBER]
        next_following = (following + taken)[:NUMBER]
        m.d.sync += accepted.eq(newest)
        m.d.sync += [given.eq(newest_given), following.eq(next_following)]
        arrived = delayed(m, newest_given, self.stages + 1 - self.given_in)
        self.valid = self._left(arrived, following) != 0
        self.fits = ~b.since(self._left(newest_given, following) > self.places)

        # With each beat goes the number of the newest one that was accepted up to its slot. It is
        # in the last but one stage that it goes to the memory, and it is read in the cycle before.
        before_last = self.stages - 1
        stored = delayed(m, Cat(design.gives, newest_given[:-1]), before_last - self.given_in)
        up_to_slot = delayed(m, newest, before_last)
        with_it = memory(m, self.places, stored[0], stored[1:], up_to_slot)
        oldest = delayed(m, with_it[next_following[:-1]])
        self.ready = ready = Signal()
        before = delayed(m, Mux(design.o.valid, self._left(accepted + ready, oldest), 0))
        m.d.sync += ready.eq(before + ready < ROOM)


class Heeding(Stored):
    """The specification of what has the timing, from some cycle on."""

    def __init__(self, design: Any, heeds: Value) -> None:
        super().__init__(design, [])
        self.heeds = heeds


def levels_of(design: Any) -> int:
    """Bits of a lane's number."""
    levels: int = design.lanes.bit_length() - 1
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
        tops: Any = {
            what: b.before(Value.cast(design.tops[what]), age - TOLD_IN.get(what, WHOLE))
            for what in design.tops.shape().members
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
        How many cycles ago a beat may have been accepted in it.

    Attributes
    ----------
    comes, last : Value
        Whether a beat was, and one with `last`.
    beat : View
        It, or what was offered.
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
        self.beat: Any = design.i.p.shape()(self.at(design.i.p, 0))
        self.comes = self.at(accepts(design), 0)
        self.last = self.comes & self.beat.last
        self.before, self.behind = Waiting(b, design, age), Waiting(b, design, age - 1)
        self.agreed = self.at(Const(1), 0) & self.before.agreed
        self.stored: Any = design.stored.shape()(self.at(design.stored, STAGES))
        self.keep = Value.cast(self.beat.keep) & self.comes.replicate(design.lanes)
        *self.goes_to, total = (self.before.count + count for count in counts(self.keep))
        self.fills = total > design.lanes
        self.rest = Mux(self.fills, total - design.lanes, total)

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
    of the one before. In the latter case it has `last`, `user` as it came with it, and as many
    values as the text has left, in the first lanes; in the former it has no `last`, `user` is zero,
    and all lanes have values."""
    design = b.design(name, any_start=True)
    slot, following = Slot(b, design, STAGES + 2), Slot(b, design)
    stored, ends = following.stored, slot.last
    agreed = slot.agreed & following.agreed
    gives = following.fills | ends
    kept = Cat(slot.rest > lane for lane in range(design.lanes))
    all_kept = Const(1).replicate(design.lanes)
    user = slot.beat.user if design.user_width else Const(0, 0)
    expected = Cat(Mux(ends, kept, all_kept), ends, Mux(ends, user, 0))
    b.never(
        agreed & (stored.gives != gives),
        agreed & (stored.newest != (slot.stored.newest + gives)[: len(stored.newest)]),
        agreed & gives & (Cat(Value.cast(stored.keep), stored.last, stored.user) != expected),
    )
    b.reaches("a full beat", agreed & following.fills)
    b.reaches("a last beat", agreed & ends)
    b.cycles = STAGES + 3


def places(b: Bench, name: str) -> None:
    """For each value of a beat that is accepted when the tops agree, the lane in which it belongs
    is written: that behind the value before it, of the dense beat in which values wait, and from
    the last lane on those of the next one. Nothing is written to a lane that has a value of the
    same dense beat, and nothing in a slot without a beat."""
    design = b.design(name, any_start=True)
    slot = Slot(b, design)
    stored, comes = slot.stored, slot.agreed & slot.comes
    # The dense beat in which values wait: it is given in this slot if it becomes full.
    waiting = stored.newest + ~slot.fills
    # Any lane of the beat, and any lane of the memory.
    lane, into = b.free(range(design.lanes), "lane"), b.free(range(design.lanes), "into")
    levels = levels_of(design)
    goes_to = Array(slot.goes_to)[lane]
    here = comes & Array(slot.keep)[lane] & (goes_to[:levels] == into)
    b.never(
        here & ~stored.writes[into],
        here & (stored.place[into] != (waiting + goes_to[levels])[:PLACE_WIDTH]),
    )
    is_held = into < slot.before.count
    place = (waiting + is_held)[:PLACE_WIDTH]
    unharmed = slot.comes & (~is_held | slot.fills) & (stored.place[into] == place)
    b.never(slot.agreed & stored.writes[into] & ~unharmed)
    b.reaches("a value in the next dense beat", here & goes_to[levels])
    b.reaches("a lane that is not written", comes & ~stored.writes[into])
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
    for level in range(levels_of(design)):
        middles = range(1 << level, design.lanes, 2 << level)
        expected = Cat(Cat(swapped(slot.goes_to[middle], level)) for middle in middles)
        told = slot.at(design.swaps[level], known_in(level))
        b.never(slot.agreed & slot.comes & (told != expected))
    b.reaches("a full beat", slot.agreed & slot.fills)
    b.cycles = STAGES + 2


def routes(b: Bench, name: str) -> None:
    """Any value of a beat gets to the lane in which it belongs, if in each level those pairs of its
    block are swapped that `sums` says: the first value of the upper half goes as many lanes before
    or behind it as there are values in between, which are not more than lanes."""
    design = b.design(name, any_start=True)
    b.cut += [Value.cast(design.swaps[level]) for level in range(levels_of(design))]
    lane, goes_to = (b.free(range(design.lanes), what) for what in ("lane", "goes_to"))
    swapped_so: Value = Const(1)
    for level in range(levels_of(design)):
        between = b.free(level + 1, f"between_{level}")
        low, is_upper, block = lane[:level], lane[level], lane[level + 1 :]
        # An upper one has not more values before it than lanes; a lower one is among those that are
        # before the middle.
        possible = Mux(is_upper, between <= low, (between > 0) & (between + low <= 1 << level))
        middle_goes_to = Mux(is_upper, goes_to - between, goes_to + between)[: level + 1]
        told = b.before(Value.cast(design.swaps[level]), STAGES - known_in(level))
        own = told.word_select(block, 1 << level)
        swapped_so &= possible & (own == Cat(swapped(middle_goes_to, level)))
    taken = b.before(Value.cast(design.i.p.data), STAGES).word_select(lane, design.width)
    stored = Value.cast(design.stored.value).word_select(goes_to, design.width)
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
    b.never(in_stages & design.stored.gives)
    b.reaches("a beat behind it", b.since(first) & accepts(design))
    b.reaches("values that waited at reset", first & ~design.tops.empty)
    b.cycles = STAGES + 3


def timing(b: Bench, name: str) -> None:
    """Behind a cycle of reset, whatever the registers hold, there is a beat at the output in
    exactly the cycles of the documented timing, under any stalls and whatever dense beats are
    given, as long as there are places for them."""
    heeds = b.since(Const(1))
    design = b.design(name, any_start=True, reset=~heeds)
    b.cut.append(design.gives)
    expected = b.timing(b, design, Heeding(design, heeds))
    b.never(heeds & expected.fits & (design.o.valid != expected.valid))
    b.reaches("a beat that waits", heeds & expected.fits & waits(design))


def credit(b: Bench, name: str) -> None:
    """A beat can be taken in exactly the cycles of the documented timing, under any stalls,
    whatever dense beats are given and are at the output, and after a reset in any cycle."""
    design = b.resettable(name)
    b.cut.append(design.gives)
    expected = b.timing(b, design, Heeding(design, Const(1)))
    b.never(design.i.ready != expected.ready)
    b.reaches("a beat that cannot be taken", b.since(design.i.ready) & ~design.i.ready)


def idle(b: Bench, name: str) -> None:
    """Whatever the registers hold: a beat can be taken in the second cycle after one in which
    nothing is at the output. So credit does not depend on numbers of beats that never came."""
    design = b.design(name, any_start=True)
    second_after = b.before(Const(1), 2) & ~b.before(design.o.valid, 2)
    b.never(second_after & ~design.i.ready)
    b.reaches("a beat at the output then", second_after & design.o.valid)
    b.cycles = 3


def at_output(b: Bench, design: Any) -> Callable[[Value, Value, Value], Value]:
    """A function: of what is written to places, what was last written to that of the beat which is
    at the output, by its number, or the next to be there."""
    following = Signal(PLACE_WIDTH, init=1)
    b.model.d.sync += following.eq(following + gives(design))

    def read(value: Value, writes: Value, place: Value) -> Value:
        return memory(b.model, 1 << PLACE_WIDTH, writes, place, value)[following]

    return read


def passes(b: Bench, name: str) -> None:
    """Whenever there is a beat at the output, each of its lanes has the value that was last written
    to the place of its number in that lane's memory, and the rest is what was known of the beat in
    the last stage, whatever all that is. A reset in any cycle changes nothing but the numbers."""
    design = b.resettable(name)
    stored = design.stored
    facts = Cat(Value.cast(stored.keep), stored.last, stored.user)
    b.cut += [*map(Value.cast, (stored.writes, stored.place, stored.value)), facts, design.gives]
    read = at_output(b, design)
    written_to = [
        read(stored.value[n], stored.writes[n], stored.place[n]) for n in range(design.lanes)
    ]
    known = read(facts, stored.gives, stored.newest[:PLACE_WIDTH])
    p = design.o.p
    facts_out = Cat(Value.cast(p.keep), p.last, p.user if design.user_width else Const(0, 0))
    b.never(
        design.o.valid & (Value.cast(p.data) != Cat(written_to)),
        design.o.valid & (facts_out != known),
    )
    b.reaches("a beat behind another one", b.since(gives(design)) & gives(design))


def room(b: Bench, name: str) -> None:
    """With the documented timing no value is written to the place of a dense beat that is not
    taken, and there are never more beats given and not taken than places. That is said of any
    single beat. From when it can be at the output until it is taken, it is there itself or one with
    a number that is not higher; so a beat can only be taken if few enough that came behind its slot
    had been accepted."""
    m = b.model
    may, last, fills_too = (b.free(1, name) for name in ("may", "last", "fills"))
    ready, unfinished, ended = Signal(), Signal(), Signal()
    # What is given in a slot: no text's first beat fills one.
    takes = may & ready
    gives_one = (takes & fills_too & unfinished) | ended
    m.d.sync += ended.eq(takes & last)
    with m.If(takes):
        m.d.sync += unfinished.eq(~last)
    # The one that is watched, what comes behind its slot, and when it can be at the output.
    watched, taken = Signal(), Signal()
    begins_now = gives_one & ~watched & b.free(1, "watch")
    came, more = Signal(NUMBER), Signal(NUMBER)
    m.d.sync += watched.eq(watched | begins_now)
    with m.If(watched):
        m.d.sync += [came.eq(came + takes), more.eq(more + gives_one)]
    arrived = delayed(m, begins_now | watched, b.timing.stages + 1)
    m.d.sync += taken.eq(taken | (arrived & b.free(1, "takes")))
    before = delayed(m, Mux(arrived & ~taken, came + 1, 0) + ready)
    m.d.sync += ready.eq(before + ready < ROOM)
    # Beats behind it up to the one to which values go.
    begun = more + gives_one + (takes | unfinished)
    waits_there = watched & ~taken
    b.never(waits_there & (begun > b.timing.places - 1))
    b.reaches("all places", waits_there & (begun == b.timing.places - 1))


PACKING = {"timing": timing, "credit": credit, "idle": idle, "drains": drains}
"""What is proved of the flow control of all that has such a timing."""

_OWN = {
    "counted": counted,
    "given": given,
    "sums": sums,
    "routes": routes,
    "places": places,
    "begins": begins,
    "self-synchronisation": self_synchronisation,
    "passes": passes,
} | PACKING

_LEMMAS = {"room": room}

PROPERTIES = {
    False: properties_of("compactor", PackingTiming, _OWN, _LEMMAS, {"verilog": EVERY["verilog"]})
}
"""What is proved of it."""
