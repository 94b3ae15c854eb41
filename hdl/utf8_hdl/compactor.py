"""The compactor: lanes of which some have a value become beats in which all have one."""

from functools import reduce
from operator import add
from typing import Any

from amaranth.hdl import Cat, Const, Module, Shape, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from .checks import DEFAULT_LANES, checked_lanes
from .credit import PLACE_WIDTH, Credit, Step, next_places
from .design import Design
from .layouts import beat_layout
from .logic import LOW, at_least, compared, majority, named, plus, select

GROUP, PAIR, BLOCK = 4, 8, 16
"""How many lanes are counted in stages 1, 2 and 3."""

COUNTED, ADDED, GIVEN, STAGES = 3, 5, 7, 11
"""Stages: in which blocks are counted, and all lanes; from which on there are dense beats; all."""

FIRST_LEVEL = 6
"""The stage with the values behind level 0. Those that do not fit are in the last stage."""

LOCAL_LEVELS = (BLOCK - 1).bit_length()
"""In higher levels the middles are where blocks begin."""

_WHAT = {
    1: "values in four lanes",
    2: "values in eight lanes",
    3: "values in blocks of 16 lanes",
    GIVEN: "whether there is a dense beat",
}

TOGETHER = 128
"""So many bits of values share the registers that control their memory."""

BANKS = "even", "odd"
"""The banks of the memory, by the numbers of their beats."""

_COMPARED = "low", "high"


class Compactor(Design):
    """Packs values: sparse beats in, dense beats out.

    A value goes to the next lane behind the value before it, and from the last lane to the first
    one of the next beat. That takes a network of as many levels as a lane's number has bits, the
    lowest bit first. In level k two halves of a block of 2 << k lanes become one: the values of
    each half are in lanes that are right in the bits below k, and two lanes, one in each half, are
    swapped if that makes bit k right, too. It depends on where the values of the upper half begin,
    which is the sum of all before them, in this beat and in those of the text before it.

    The two lowest bits of the sums are made one bit a stage, as levels need them; the whole sums
    follow in stage 6. So the longest feedback loop there is an adder of as many bits as a lane's
    number. No register holds values until those after them come: each lane has its own memory, and
    a value is at once written where it will come out. The memory has two banks of 16 beats, for
    even and for odd numbers: so the beat that is being filled and the next one are in different
    banks.

    What it promises:

    1. Throughput: one beat in every cycle but the first after reset, whatever is in it, while the
       consumer is ready. A stalled cycle costs one cycle: after any stalls there is a beat at the
       output in every cycle, as long as a full one is offered in every cycle. A text never has
       more beats out than in. The last one comes out one slot behind what its last beat fills;
       there is always room for it, as the first beat of a text never fills one.
    2. Latency: a beat that is full is at the output 13 cycles after the beat was accepted that has
       the first value behind it; a text's last one, 14 cycles after its last beat was accepted.
       Cycles in which the output waits are not counted.
    3. Values come out in order, none lost and none twice. All lanes have one but in a text's last
       beat; there the first ones do, or none. It comes with ``last``. A text with U values has as
       many beats as U needs, and at least one. ``user`` is what it was with the text's last beat,
       and zero in any other one.
    4. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle. While ``o.valid`` is low the payload is a don't
       care, and so is what is in a lane without ``keep``.
    5. Self-synchronisation: from any register contents, once what is in it is out and a beat with
       ``last`` was accepted, later texts are right. Without input and with a ready consumer, it is
       empty and ready after 85 cycles, in which at most 76 beats that never came are taken.

    Parameters
    ----------
    lanes : int
        How many values a beat may have: a power of two up to 128.
    shape : ShapeLike
        Shape of a value; a number is its bits.
    user : ShapeLike
        Shape of what comes with the last beat of a text.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If there is none with so many lanes, or values have no bits.

    Attributes
    ----------
    lanes, shape, user
        As given.
    width, user_width : int
        Bits of a value, and of ``user``.
    packing : Packing
        Its stages.
    dense : View
        For proofs: the dense beat at the output.

    Members
    -------
    i : ``In(stream.Signature(beat_layout(lanes, shape, user)))``
        Beats in which any of the lanes have a value.
    o : ``Out(stream.Signature(beat_layout(lanes, shape, user)))``
        Dense beats.
    """

    i: Any
    o: Any
    component_name = "compactor"

    def __init__(self, *, lanes: int = DEFAULT_LANES, shape: Any = 8, user: Any = 0) -> None:
        self.lanes = lanes = checked_lanes(lanes)
        layout = beat_layout(lanes, shape, user)
        self.shape, self.user = shape, user
        super().__init__({"i": In(stream.Signature(layout)), "o": Out(stream.Signature(layout))})
        self.width, self.user_width = Shape.cast(shape).width, Shape.cast(user).width
        self.packing = Packing(lanes, self.width, self.user_width)
        self.dense = self.o.p

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        p, packing = self.i.p, self.packing
        credit = Credit(m, self.i, self.o, more=1)
        m.d.comb += packing.comes.eq(self.i.valid & self.i.ready)
        user = p.user if packing.user_width else Const(0, 0)
        payload = packing.add(credit, p.data, p.keep, p.last, user)
        m.d.comb += Value.cast(self.o.p).eq(payload)
        credit.finish()
        return m


class Packing:
    """The stages of a compactor, behind any others of a pipeline.

    Parameters
    ----------
    lanes, width, user_width : int
        How many values a beat may have, and bits of a value, and of what comes with the last one.

    Attributes
    ----------
    comes, sparse : Signal, View
        For proofs, and so are the others: whether a beat comes into the first stage in the next
        cycle, and the beat.
    tops, swaps, gives, stored, number, next : View or Signal
        The registers that say how many values wait, each from its own stage; which pairs are
        swapped, by level; whether there is a dense beat, in stage 6; what goes to the memory from
        the last stage; how many dense beats were given, in stage 7; and the number of the one that
        is next at the output.
    astray : Signal
        Whether registers that are to follow that number do not.
    """

    def __init__(self, lanes: int, width: int, user_width: int) -> None:
        self.lanes, self.width, self.user_width = lanes, width, user_width
        self.comes, self.astray = Signal(), Signal()
        self.sparse: Any = Signal(beat_layout(lanes, width, user_width))
        levels = self.lanes.bit_length() - 1
        of_levels = {f"level_{level}": level + 1 for level in range(2, levels)}
        tops = {"bit_0": 1, "bit_1": 1, **of_levels, "lane": levels, "empty": 1}
        at_end = {"lane_at_end": levels, "empty_at_end": 1}
        banks = len(BANKS)
        places = data.ArrayLayout(PLACE_WIDTH, banks)
        each = {"writes": banks, "places": places, "value": self.width}
        lists = {what: data.ArrayLayout(shape, self.lanes) for what, shape in each.items()}
        number = PLACE_WIDTH + banks
        self.number, self.next = Signal(number), Signal(number)
        facts = {"gives": 1, "newest": number, "keep": self.lanes, "last": 1}
        facts["user"] = self.user_width
        self.tops: Any = Signal(data.StructLayout({**tops, **at_end}))
        self.swaps: Any = Signal(data.ArrayLayout(self.lanes // 2, levels))
        self.gives = Signal()
        self.stored: Any = Signal(data.StructLayout({**lists, **facts}))

    def add(self, credit: Credit, values: Any, keep: Any, last: Any, user: Any) -> Value:
        """Add the stages that make sparse beats dense: the payload at the output."""
        m = credit.m
        m.d.comb += Value.cast(self.sparse).eq(Cat(values, keep, last, user))
        sums = Sums(self.lanes)
        fill = Fill(m, self.lanes, sums)
        before = step = self._take(credit)
        for stage in range(2, STAGES + 1):
            what = _WHAT.get(stage, "values go to their lanes")
            if stage == GIVEN:
                step = credit.give("give", what, fill.gives)
                m.d.comb += self.number.eq(step.newest)
            else:
                step = credit.step(f"stage_{stage}", what)
            sums.add(stage, before, step)
            fill.follow(stage, before, step)
            self._route(stage, before, step)
            if stage == STAGES - 1:
                self._aim(before, step)
            before, last_but_one = step, before
        payload = Cat(self._values(credit, last_but_one, step), self._facts(credit, step))
        for what, top in (sums.tops | fill.tops).items():
            m.d.comb += self.tops[what].eq(top)
        m.d.comb += [
            self.next.eq(credit.next),
            self.astray.eq(credit.astray),
            self.gives.eq(fill.gives),
            self.stored.gives.eq(step.valid),
            self.stored.newest.eq(step.newest),
        ]
        return payload

    def _take(self, credit: Credit) -> Step:
        """Stage 1: what comes in."""
        sparse, step = self.sparse, credit.step("stage_1", _WHAT[1])
        keep = Value.cast(sparse.keep)
        step.keep("full", keep)
        groups = (_sum(step.m, _parts(part, 1)) for part in _parts(keep, GROUP))
        width = min(GROUP, self.lanes).bit_length()
        step.keep("groups", Cat(_extended(group, width) for group in groups))
        step.keep("data", sparse.data)
        step.keep("last", sparse.last)
        step.keep("user", Value.cast(sparse.user) if self.user_width else Const(0, 0))
        return step

    def _route(self, stage: int, before: Step, step: Step) -> None:
        """Swap the pairs of a stage's levels: of one, or with 128 lanes, of two in the last."""
        all_levels = range(self.lanes.bit_length() - 1)
        levels = [level for level in all_levels if stage == min(level + FIRST_LEVEL, STAGES)]
        lanes = _parts(before["data"], self.width)
        for level in levels:
            # In order: of each block, as many as it has pairs.
            swaps, half = before[f"swaps_{level}"], 1 << level
            step.m.d.comb += self.swaps[level].eq(swaps)
            pairs = [lane >> level + 1 << level | lane % half for lane in range(self.lanes)]
            lanes = [
                select(swaps[pair], lanes[lane ^ half], lanes[lane])
                for lane, pair in enumerate(pairs)
            ]
        if levels:
            step.keep("data", Cat(lanes))

    def _aim(self, before: Step, step: Step) -> None:
        """The last stage but one: to which beat each lane's value is written, and whether it is.

        That is the one that is full with this, if there is one, in the lanes behind those that had
        a value already. It is the one behind in these, and in all lanes if none is full. The two
        have numbers that follow each other: so one is in each bank.
        """
        comes, fills, odd = before.comes, before["fills"], before.newest[0]
        for bank, place in zip(BANKS, next_places(before.newest), strict=True):
            step.keep(f"{bank}_place", place)
        for chunk in range(0, self.lanes, self._together):
            for bank, full, behind in ("even", ~odd, odd), ("odd", odd, ~odd):
                free = comes & select(fills, full, behind)
                step.copy(f"{bank}_if_held_{chunk}", comes & fills & behind)
                step.copy(f"{bank}_if_free_{chunk}", free)

    def _values(self, credit: Credit, before: Step, step: Step) -> Value:
        """The values at the output."""
        values, held, parts = _parts(step["data"], self.width), before["held"], []
        for first in range(0, self.lanes, self._together):
            chunk = credit.chunk()
            places = [chunk.copy(f"{bank}_place", before[f"{bank}_place"]) for bank in BANKS]
            for lane in range(first, min(first + self._together, self.lanes)):
                ways = [
                    [before[f"{bank}_if_{what}_{first}"] for what in ("held", "free")]
                    for bank in BANKS
                ]
                writes = [
                    step.keep(f"{bank}_writes_{lane}", select(held[lane], *way))
                    for bank, way in zip(BANKS, ways, strict=True)
                ]
                parts.append(chunk.memory(values[lane], writes, places))
                step.m.d.comb += [
                    self.stored.writes[lane].eq(Cat(writes)),
                    Value.cast(self.stored.places[lane]).eq(Cat(places)),
                    self.stored.value[lane].eq(values[lane]),
                ]
        return Cat(parts)

    @property
    def _together(self) -> int:
        """How many lanes share the registers that control their memory."""
        return max(1, TOGETHER // self.width)

    def _facts(self, credit: Credit, step: Step) -> Value:
        """What comes out with the values: where they are, and about the end of the text."""
        ends = step["ends"]
        keeps = step["kept"] | ~ends.replicate(self.lanes)
        facts = Cat(keeps, ends, step["user_of_text"])
        step.m.d.comb += Cat(self.stored.keep, self.stored.last, self.stored.user).eq(facts)
        return credit.store(step, facts)


class Sums:
    """Which pairs are swapped in each level: ``swaps_0`` is known in stage 5, and so on.

    The *top* is the lane of the last value before a beat; it is the highest one, as if below lane
    0, if a text begins. To it is added how many values the beat has before a *middle*, the lane in
    which the upper half of a block begins; and for the next top, how many it has. These have two
    parts: what is in blocks of 16 lanes, and the *local* values in the block with the middle.

    In stage 6 the whole sums are known. Levels 0 and 1 need some bits before that. So each of the
    two lowest bits also has a top of its own, one in stage 4 and one in stage 5. Each higher level
    has one, too, with as many bits as it needs: a single top would be far from most sums.

    Tops are cleared behind a text, and a cycle after a reset in the same way: so no gate is between
    the reset and its registers.

    Parameters
    ----------
    lanes : int
        How many there are.

    Attributes
    ----------
    empty : Signal
        In stage 6, whether a text begins.
    ends : Signal
        In stage 6, whether a text has ended.
    next_top : Signal
        The sum of the top and what the beat that comes has.
    gives : Signal
        Whether there is a dense beat: that has gone beyond the highest lane, and no text begins; or
        a text has ended.
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._levels = lanes.bit_length() - 1
        self._blocks = max(1, lanes // BLOCK)
        self._some = 2 if self._blocks <= 4 else 3
        self.empty = Signal(name="empty", init=1)
        self.tops: dict[str, Signal] = {}  # for proofs
        self.ends = Signal(name="text_ends")
        self.next_top = Signal(self._levels)
        self.gives = Signal()
        # The lanes before which all values are counted, and how many bits of that are needed.
        self._whole = {lane: n + 1 for n in range(2, self._levels) for lane in self._middles(n)}
        self._whole[lanes] = self._levels + 1

    def add(self, stage: int, before: Step, step: Step) -> None:
        """What is done in a stage, from 2 on."""
        if stage == COUNTED - 1:
            self._count(before, step)
        if COUNTED <= stage <= ADDED:
            step.keep("clears", before["end"], init=1)
        if stage == COUNTED:
            self._count_blocks(before, step)
            self._count_locals(before, step)
        elif stage == COUNTED + 1:
            self._add_some(before, step)
            self._add_first_bit(before, step)
        elif stage == ADDED:
            self._add_rest(before, step)
            self._add_second_bit(before, step)
        elif stage == ADDED + 1:
            self._add_top(before, step)
        for level in range(self._levels):
            if stage == min(level + FIRST_LEVEL, STAGES) - 1:
                self._swap(level, before, step)
            elif level > LOW and stage == min(level + FIRST_LEVEL, STAGES) - 2:
                self._compare(level, before, step)

    def _count(self, before: Step, step: Step) -> None:
        """Stage 2: pairs of groups; of a block, whether it has an odd number."""
        groups = _parts(before["groups"], self._width(GROUP))
        pairs = (reduce(plus, some) for some in _chunks(groups, PAIR // GROUP))
        step.keep("pairs", Cat(_extended(pair, self._width(PAIR)) for pair in pairs))
        odd = (Cat(group[0] for group in some).xor() for some in _chunks(groups, BLOCK // GROUP))
        step.keep("odd", Cat(odd))

    def _count_blocks(self, before: Step, step: Step) -> None:
        """Stage 3: blocks; and how many of those up to each one have an odd number, two bits."""
        pairs = _parts(before["pairs"], self._width(PAIR))
        for number, some in enumerate(_chunks(pairs, BLOCK // PAIR)):
            step.keep(f"count_{number}", _extended(_total(some), self._width(BLOCK)))
        for number in range(1, self._blocks + 1):
            fours = (_sum(step.m, four) for four in _chunks(list(before["odd"][:number]), 4))
            step.keep(f"odd_{number}", _extended(_sum(step.m, list(fours)), 2))

    def _count_locals(self, before: Step, step: Step) -> None:
        """Stage 3: local values before the middles, as many bits as their level needs."""
        for level in range(min(LOCAL_LEVELS, self._levels)):
            for middle in self._middles(level):
                count = _sum(step.m, self._local(before, middle))
                step.keep(f"local_{middle}", _extended(count, level + 1))

    def _local(self, before: Step, lane: int) -> list[Value]:
        """What is known of how many values there are in a block before a lane."""
        parts: list[Value] = []
        lane_in_block = lane % BLOCK
        for name, size in ("pairs", PAIR), ("groups", GROUP), ("full", 1):
            width = self._width(size)
            while lane_in_block >= size:
                number = (lane - lane_in_block) // size
                parts.append(before[name].word_select(number, width))
                lane_in_block -= size
        return parts

    def _middles(self, level: int) -> range:
        """The lanes in which the upper halves of a level begin."""
        return range(1 << level, self._lanes, 2 << level)

    def _add_some(self, before: Step, step: Step) -> None:
        """Stage 4: some blocks each; and before a lane, what is left: fewer, and a local part."""
        counts = [before[f"count_{number}"] for number in range(self._blocks)]
        for number, some in enumerate(_chunks(counts, self._some)):
            step.keep(f"some_{number}", _total(some))
        for lane, width in self._whole.items():
            blocks = self._blocks_before(lane)
            left = counts[blocks - blocks % self._some : blocks]
            if lane < self._lanes and lane % BLOCK:
                left.append(before[f"local_{lane}"])
            if left:
                step.keep(f"left_{lane}", _extended(_total(left), width))

    def _add_rest(self, before: Step, step: Step) -> None:
        """Stage 5: how many values there are before a lane."""
        for lane, width in self._whole.items():
            some, others = divmod(self._blocks_before(lane), self._some)
            parts = [before[f"some_{number}"] for number in range(some)]
            if others or lane % BLOCK:
                parts.append(before[f"left_{lane}"])
            step.keep(f"before_{lane}", _extended(_total(parts), width))
        # Before the lane behind all of them, the last one here, are all: none if there is no beat.
        step.keep("any", Cat(parts).any())
        with step.m.If(~before.valid):
            step.m.d.sync += step[f"before_{self._lanes}"].eq(0)

    def _blocks_before(self, lane: int) -> int:
        """How many whole blocks there are before a lane, or one that is all lanes."""
        return self._blocks if lane == self._lanes else lane // BLOCK

    def _add_top(self, before: Step, step: Step) -> None:
        """Stage 6: the whole sums."""
        top = step.register("top_lane", self._levels, init=-1, reset_less=True)
        self.tops["lane"] = top
        count = before[f"before_{self._lanes}"]
        for level in range(2, self._levels):
            self._add_top_of_level(level, count, before, step)
        # Gates behind the carry chain would be slow, so the carry goes on through two bits. The
        # first one lets it pass, and makes one if all lanes have a value. The second one lets it
        # pass if no text begins, and makes one if a text has ended.
        may_give = step.register("may_give")
        whole = Cat(top, Const(1, 1), may_give) + Cat(count, self.ends)
        come = before.valid & (before["end"] | before["any"])
        # An adder of its own, as what is behind it is not at the end of that chain.
        step.m.d.comb += [self.next_top.eq(top + count), self.gives.eq(whole[-1])]
        step.m.d.sync += [
            step.adopt(self.ends).eq(before["end"]),
            may_give.eq(come | ~self.empty),
        ]
        self._follow(top, whole[: self._levels], before, step)
        comes = before.valid & before["any"]
        step.m.d.sync += step.adopt(self.empty).eq(before["clears"] | self.empty & ~comes)

    def _add_top_of_level(self, level: int, count: Value, before: Step, step: Step) -> None:
        """Stage 6: the sums that a level needs, with a top of its own, not far from them."""
        name, width = f"top_of_level_{level}", level + 1
        top = step.register(name, width, init=-1, reset_less=True)
        self.tops[f"level_{level}"] = top
        self._follow(top, (top + count)[:width], before, step)
        # Two sums are in one carry chain, as synthesis makes none for a short one.
        for two in _chunks([*self._middles(level)], 2):
            counts = Cat(Cat(before[f"before_{lane}"], Const(0, 1)) for lane in two)
            sums = (Cat(Cat(top, Const(0, 1)) for _ in two) + counts)[: len(counts)]
            for lane, found in zip(two, _parts(sums, width + 1), strict=True):
                step.keep(f"sum_{lane}", found[:width])

    def _add_first_bit(self, before: Step, step: Step) -> None:
        """Stage 4: bit 0 of the sums before blocks; and bit 1 of what is added."""
        if self._levels == 0:
            return
        numbers = range(1, self._blocks + 1)
        added = Cat(Const(0, 1), (before[f"odd_{n}"][0] for n in numbers))
        top = self._add_bit(0, added, before, step)
        step.keep("carries", added & top.replicate(len(added)))
        counts = [before[f"count_{n}"][1] for n in range(self._blocks)]
        second = (Cat(counts[:n], before[f"odd_{n}"][1]).xor() for n in numbers)
        step.keep("second_bits", Cat(Const(0, 1), second))

    def _add_second_bit(self, before: Step, step: Step) -> None:
        """Stage 5: bit 1 of the sums before blocks."""
        if self._levels > 1:
            self._add_bit(1, before["second_bits"] ^ before["carries"], before, step)

    def _add_bit(self, bit: int, added: Value, before: Step, step: Step) -> Signal:
        """A bit of sums, if it does not need a carry. Returns that of the top."""
        top = self.tops[f"bit_{bit}"] = step.register(f"top_{bit}", init=1, reset_less=True)
        sums = added ^ top.replicate(len(added))
        step.keep(f"bit_{bit}", sums[:-1])
        self._follow(top, select(before.valid, sums[-1], top), before, step)
        return top

    def _follow(self, top: Signal, following: Value, before: Step, step: Step) -> None:
        """A top follows the beats, and is as if below lane 0 behind a text.

        Written like this, an adder's carry chain leads straight to the registers.
        """
        with step.m.If(before["clears"]):
            step.m.d.sync += top.eq(-1)
        with step.m.Else():
            step.m.d.sync += top.eq(following)

    def _swap(self, level: int, before: Step, step: Step) -> None:
        """Which pairs of a level are swapped.

        The first value of an upper half goes to the lane behind the sum, and so on, and so do those
        before it in the other direction. So bit ``level`` of the sum says it of a pair that is not
        higher than the bits below that, and the opposite of any other one.
        """
        swaps: list[Value] = []
        for middle in self._middles(level):
            found = self._found(level, middle, before)
            if level > LOW:
                reached = at_least(*(before[f"{name}_{middle}"] for name in _COMPARED))
            else:
                reached = at_least(*compared(found[:level]))
            swaps.append(~(reached ^ found[level].replicate(len(reached))))
        step.keep(f"swaps_{level}", Cat(swaps))

    def _compare(self, level: int, before: Step, step: Step) -> None:
        """The stage before, for higher levels: compare sums with all numbers, in two parts."""
        for middle in self._middles(level):
            parts = compared(before[f"sum_{middle}"][:level])
            for name, part in zip(_COMPARED, parts, strict=True):
                step.keep(f"{name}_{middle}", part)

    def _found(self, level: int, middle: int, before: Step) -> Value:
        """The sum of a middle, in the stage before that of its level."""
        if middle in self._whole:
            return before[f"sum_{middle}"]
        bits = Cat(before[f"bit_{bit}"][middle // BLOCK] for bit in range(level + 1))
        return _sum(before.m, [bits, before[f"local_{middle}"]])[: level + 1]

    def _width(self, size: int) -> int:
        """Bits of a count of so many lanes, or of all."""
        return min(size, self._lanes).bit_length()


class Fill:
    """How full the beat is that values go to, and which dense beats there are.

    While it is *empty* its top is the highest lane, as if below lane 0. So it has become full, and
    another value is behind it, if a sum with the top is more than a lane's number. In stage 8 and
    later, lanes that had a value before are ``held``; with ``ends``, those of a text that has ended
    are ``kept``, and all else that is known is ``fills``, whether a beat is full.

    Parameters
    ----------
    m : Module
        Where.
    lanes : int
        How many there are.
    sums : Sums
        Where the top is.
    """

    def __init__(self, m: Module, lanes: int, sums: Sums) -> None:
        self._lanes = lanes
        self._levels = lanes.bit_length() - 1
        self._sums = sums
        #: Whether there is a dense beat: a full one, or a text has ended in the slot before.
        self.gives = Signal(name="gives")
        self._ended = Signal(name="ended")
        self.tops: dict[str, Signal] = {}  # for proofs

    def follow(self, stage: int, before: Step, step: Step) -> None:
        """What is done in a stage."""
        if stage == COUNTED - 1:
            step.keep("end", before.valid & before["last"])
        elif stage == ADDED + 1:
            self._fill(before, step)
        elif stage == GIVEN:
            step.keep("ends", self._ended)
            step.keep("fills", self.gives & ~self._ended)
            for name, part in zip(_COMPARED, compared(before["top"]), strict=True):
                step.keep(f"top_{name}", part)
        elif stage == GIVEN + 1:
            self._reach(before, step)

    def _fill(self, before: Step, step: Step) -> None:
        """Stage 6: whether the beat becomes full; and where its top was before."""
        m, empty, next_top = step.m, self._sums.empty, self._sums.next_top
        # The same, and the top, but that they are not cleared when a text has ended.
        top_at_end = step.register("top_lane_at_end", self._levels, reset_less=True)
        empty_at_end = step.register("empty_at_end", reset_less=True)
        self.tops = {"empty": empty, "lane_at_end": top_at_end, "empty_at_end": empty_at_end}
        with m.If(before.valid):
            m.d.sync += [
                empty_at_end.eq(empty & ~before["any"]),
                top_at_end.eq(next_top),
            ]
        step.keep("top", top_at_end)
        step.keep("empty", empty)
        step.keep("empty_at_end", empty_at_end)
        ends, user = self._sums.ends, step["user"]
        m.d.sync += [
            step.adopt(self._ended).eq(ends),
            step.adopt(self.gives).eq(self._sums.gives),
        ]
        step.keep("user_of_text", user & ends.replicate(len(user)))

    def _reach(self, before: Step, step: Step) -> None:
        """Stage 8: which lanes have a value of the text already, or had one of that before."""
        reached = at_least(*(before[f"top_{name}"] for name in _COMPARED))
        step.keep("held", reached & ~before["empty"].replicate(self._lanes))
        step.keep("kept", reached & ~before["empty_at_end"].replicate(self._lanes))


def _sum(m: Module, numbers: list[Value]) -> Value:
    """A sum of some numbers, with bits enough for it."""
    total, *others = numbers or [Const(0, 1)]
    for number in others:
        total = named(m, "sum", plus(total, number))
    return total


def _total(numbers: list[Value]) -> Value:
    """The sum of up to three numbers, behind a carry chain and not more than a gate before it."""
    if len(numbers) == 3:
        width = max(len(number) for number in numbers)
        one, other, third = (_extended(number, width) for number in numbers)
        numbers = [one ^ other ^ third, Cat(Const(0, 1), majority(one, other, third))]
    return reduce(add, numbers, Const(0, 0))


def _parts(whole: Value, width: int) -> list[Value]:
    """The equal parts of a vector."""
    return [whole[begin : begin + width] for begin in range(0, len(whole), width)]


def _chunks(items: list[Value], size: int) -> list[list[Value]]:
    """Some after the other, so many at a time."""
    return [items[begin : begin + size] for begin in range(0, len(items), size)]


def _extended(number: Value, width: int) -> Value:
    """A number with so many bits, which are enough."""
    return Cat(number, Const(0, width))[:width]
