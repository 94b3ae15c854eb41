"""The compactor: lanes of which some have a value become beats in which all have one."""

from functools import reduce
from itertools import accumulate
from operator import xor
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .counter import majority, plus, up
from .credit import PLACE_WIDTH, Credit, Step
from .gates import select
from .layouts import checked_lanes, sparse_layout

GROUP, PAIR, BLOCK = 4, 8, 16
"""How many lanes are counted in stages 1, 2 and 3."""

COUNTED, ADDED, GIVEN, STAGES = 3, 5, 7, 11
"""Stages: in which blocks are counted, and all lanes; from which on there are dense beats; all."""

FIRST_LEVEL = 5
"""The stage with the values behind level 0."""

_WHAT = {
    1: "values in four lanes",
    2: "values in eight lanes",
    3: "values in blocks of 16 lanes",
    GIVEN: "whether there is a dense beat",
}


class Compactor(wiring.Component):
    """Packs values: sparse beats in, dense beats out.

    A value goes to the next lane behind the value before it, and from the last lane to the first
    one of the next beat. That takes a network of as many levels as a lane's number has bits, the
    lowest bit first. In level k two halves of a block of 2 << k lanes become one: the values of
    each half are in lanes that are right in the bits below k, and two lanes, one in each half, are
    swapped if that makes bit k right, too. It depends on where the values of the upper half begin,
    which is the sum of all before them, in this beat and in those of the text before it.

    Sums are made one bit a stage, the lowest first, as levels need them. So no loop is longer than
    a bit. And there is no register in which values wait for those behind them: each lane has its
    own memory, and a value is at once written where it will come out.

    What it promises:

    1. Throughput: with a ready consumer, one beat in every cycle, whatever is in it. A text never
       has more beats out than in. The last one comes out one slot behind what its last beat fills;
       there is always room for it, as the first beat of a text never fills one.
    2. Latency: a beat that is full is at the output 12 cycles after the beat was accepted that has
       the first value behind it; a text's last one, 13 cycles after its last beat was accepted.
       Cycles in which the output waits are not counted.
    3. Values come out in order, none lost and none twice. All lanes have one but in a text's last
       beat; there the first ones do, or none. It comes with ``last``. A text with U values has as
       many beats as U needs, and at least one. ``user`` is what it was with the text's last beat,
       and zero in any other one.
    4. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle. While ``o.valid`` is low the payload is a don't
       care, and so is what is in a lane without ``keep``.
    5. Self-synchronisation: from any register contents, once what is in it is out and a beat with
       ``last`` was accepted, later texts are right.

    Parameters
    ----------
    lanes : int
        How many values a beat may have: a power of two up to 128.
    width : int
        Bits of a value.
    user : int
        Bits that go with the last beat of a text.

    Raises
    ------
    ValueError
        If there is none with so many lanes, or values have no bits.

    Attributes
    ----------
    lanes, width, user
        As given.
    ready_copies : list of Signal
        Registers that are to be the same as ``i.ready``, for a producer to add before elaboration.

    Members
    -------
    i : ``In(stream.Signature(sparse_layout(lanes, width, user)))``
        Beats in which any of the lanes have a value.
    o : ``Out(stream.Signature(sparse_layout(lanes, width, user)))``
        Dense beats.
    """

    i: Any
    o: Any

    def __init__(self, lanes: int = 8, width: int = 8, user: int = 0) -> None:
        self.lanes, self.width, self.user = checked_lanes(lanes), width, user
        layout = sparse_layout(lanes, width, user)
        super().__init__({"i": In(stream.Signature(layout)), "o": Out(stream.Signature(layout))})
        self.ready_copies: list[Signal] = []

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        credit = Credit(m, self.i, self.o)
        sums, fill = Sums(self.lanes), Fill(m, self.lanes)
        before = step = self._take(credit)
        for stage in range(2, STAGES + 1):
            what = _WHAT.get(stage, "values go to their lanes")
            if stage == GIVEN:
                step = credit.give("give", what, fill.gives)
            else:
                step = credit.step(f"stage_{stage}", what)
            sums.add(stage, before, step)
            fill.follow(stage, before, step)
            self._route(stage - FIRST_LEVEL, before, step)
            before, last_but_one = step, before
        payload = Cat(self._values(credit, last_but_one, step), self._facts(credit, step))
        m.d.comb += Value.cast(self.o.p).eq(payload)
        credit.finish(ready=self.ready_copies)
        return m

    def _take(self, credit: Credit) -> Step:
        """Stage 1: what comes in."""
        p, step = self.i.p, credit.step("stage_1", _WHAT[1])
        step.keep("full", p.keep)
        groups = (_sum(step.m, _parts(part, 1)) for part in _parts(Value.cast(p.keep), GROUP))
        width = min(GROUP, self.lanes).bit_length()
        step.keep("groups", Cat(_extended(group, width) for group in groups))
        step.keep("data", p.data)
        step.keep("last", p.last)
        step.keep("user", p.user if self.user else Const(0, 0))
        return step

    def _route(self, level: int, before: Step, step: Step) -> None:
        """Swap the pairs of a level, if this stage has one."""
        if not 0 <= level < self.lanes.bit_length() - 1:
            return
        lanes, half = _parts(before["data"], self.width), 1 << level
        swaps = before[f"swaps_{level}"]  # in order: of each block, as many as it has pairs
        pairs = (lane >> level + 1 << level | lane % half for lane in range(self.lanes))
        routed = [
            select(swaps[pair], lanes[lane ^ half], lanes[lane]) for lane, pair in enumerate(pairs)
        ]
        step.keep("data", Cat(routed))

    def _values(self, credit: Credit, before: Step, step: Step) -> Value:
        """The values at the output. Each is written to the beat that its lane fills next.

        That is the one that is full with this, if there is one, in the lanes behind those that had
        a value already. It is the one behind in these, and in all lanes if none is full.
        """
        fills, held = before["fills"].replicate(self.lanes), before["held"]
        here = fills & ~held
        writes = before.comes.replicate(self.lanes) & (fills | ~held)
        following = up(before.newest)
        places = [
            step.keep(f"place_{lane}", select(own, before.newest, following)[:PLACE_WIDTH])
            for lane, own in enumerate(here)
        ]
        values = _parts(step["data"], self.width)
        return credit.store_each(values, _parts(step.keep("writes", writes), 1), places)

    def _facts(self, credit: Credit, step: Step) -> Value:
        """What comes out with the values: where they are, and about the end of the text."""
        ends = step["ends"]
        keeps = step["kept"] | ~ends.replicate(self.lanes)
        return credit.store(step, Cat(keeps, ends, step["user_of_text"]))


class Sums:
    """Which pairs are swapped in each level: ``swaps_0`` is known in stage 4, and so on.

    A sum is that of the *base* of a block, which is what comes before it, and of the *local* count
    in the block. Bit n of a base is known in stage 3 + n, that of a sum one stage later.

    Parameters
    ----------
    lanes : int
        How many there are.
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._levels = lanes.bit_length() - 1
        self._blocks = max(1, lanes // BLOCK)

    def add(self, stage: int, before: Step, step: Step) -> None:
        """What is done in a stage, from 2 on."""
        if stage == 2:
            self._count(before, step)
        elif stage == COUNTED:
            self._count_blocks(before, step)
        bit = stage - COUNTED
        if 0 <= bit < self._levels:
            self._add_base(bit, before, step)
        for level in range(max(0, bit - 1), self._levels):
            if bit > 0:
                self._add_local(level, bit - 1, before, step)

    def _count(self, before: Step, step: Step) -> None:
        """Stage 2: pairs of groups; of a block, whether it has an odd number."""
        groups = _parts(before["groups"], self._width(GROUP))
        pairs = (_sum(step.m, some) for some in _chunks(groups, PAIR // GROUP))
        step.keep("pairs", Cat(_extended(pair, self._width(PAIR)) for pair in pairs))
        odd = (
            reduce(xor, (group[0] for group in some)) for some in _chunks(groups, BLOCK // GROUP)
        )
        step.keep("odd", Cat(odd))

    def _count_blocks(self, before: Step, step: Step) -> None:
        """Stage 3: blocks; and for each level what is in a block before the middle of a part."""
        pairs = _parts(before["pairs"], self._width(PAIR))
        counts = [_sum(step.m, some) for some in _chunks(pairs, BLOCK // PAIR)]
        step.keep("counts", Cat(_extended(count, self._width(BLOCK)) for count in counts))
        for bit in range(1, self._levels):
            step.keep(f"added_{bit}", Cat(_extended(count, bit + 1)[bit] for count in counts))
        for level in range(self._levels):
            before_middles = [
                _sum(step.m, self._local(before, middle)) for middle in self._middles(level)
            ]
            for bit in range(level + 1):
                bits = (_extended(count, level + 1)[bit] for count in before_middles)
                step.keep(f"local_{level}_{bit}", Cat(bits))

    def _local(self, before: Step, lane: int) -> list[Value]:
        """What is known of how many values there are in a block before a lane."""
        parts: list[Value] = [Const(0, 1)]
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

    def _add_base(self, bit: int, before: Step, step: Step) -> None:
        """A bit of what comes before each block: this bit of all counts and carries before it."""
        carry: Value = Const(0, self._blocks)
        added: Value = before["odd"]
        if bit:
            lower = (before[f"{name}_{bit - 1}"] for name in ("base", "added", "base_carry"))
            carry = majority(*lower)
            added = before[f"added_{bit}"] ^ carry
        else:
            step.keep("added_0", added)
        of_text, last = step.register(f"base_of_beat_{bit}"), before["last"]
        *bases, total = accumulate(_parts(added, 1), xor, initial=Value.cast(of_text))
        with step.m.If(before.comes):
            step.m.d.sync += of_text.eq(total & ~last)
        step.keep(f"base_carry_{bit}", carry)
        step.keep(f"base_{bit}", Cat(bases))

    def _add_local(self, level: int, bit: int, before: Step, step: Step) -> None:
        """A bit of the sums of a level, and with the highest one which pairs are swapped."""
        middles = self._middles(level)
        base = Cat(before[f"base_{bit}"][middle // BLOCK] for middle in middles)
        local = before[f"local_{level}_{bit}"]
        none = Const(0, len(middles))
        carry = before[f"carry_{level}_{bit}"] if bit else none
        found = base ^ local ^ carry
        # Of the lower bits, for each number that they can be: whether they are more.
        more = [none]
        if bit:
            lower = _parts(before[f"more_{level}_{bit - 1}"], len(middles))
            highest = before[f"sum_{level}_{bit - 1}"]
            more = [highest | each for each in lower] + [highest & each for each in lower]
        if bit < level:
            step.keep(f"carry_{level}_{bit + 1}", majority(base, local, carry))
            step.keep(f"sum_{level}_{bit}", found)
            step.keep(f"more_{level}_{bit}", Cat(more))
        else:
            swaps = (~(each[n] ^ found[n]) for n in range(len(middles)) for each in more)
            step.keep(f"swaps_{level}", Cat(swaps))

    def _width(self, size: int) -> int:
        """Bits of a count of so many lanes, or of all."""
        return min(size, self._lanes).bit_length()


class Fill:
    """How full the beat is that values go to, and which dense beats there are.

    Its *top* is the lane of its last value, or the highest one, as if below lane 0, while it is
    *empty*. So it has become full, and another value is behind it, if a sum with the top is more
    than a lane's number. In stage 8 and later, lanes that had a value before are ``held``; with
    ``ends``, those of a text that has ended are ``kept``, and all else that is known is ``fills``,
    whether a beat is full.

    Parameters
    ----------
    m : Module
        Where.
    lanes : int
        How many there are.
    """

    def __init__(self, m: Module, lanes: int) -> None:
        self._lanes = lanes
        self._levels = lanes.bit_length() - 1
        #: Whether there is a dense beat: a full one, or a text has ended in the slot before.
        self.gives = Signal(name="gives")
        self._ended = Signal(name="ended")

    def follow(self, stage: int, before: Step, step: Step) -> None:
        """What is done in a stage."""
        if stage == ADDED - 1:
            counts = _parts(before["counts"], min(BLOCK, self._lanes).bit_length())
            self._add(step, "partial", counts, 2 if len(counts) <= 4 else 4)
        elif stage == ADDED:
            self._add(step, "total", _parts(before["partial"], self._levels + 1), 2)
        elif stage == ADDED + 1:
            self._fill(before, step)
        elif stage == GIVEN:
            step.keep("fills", before.valid & before["fills"])
            step.keep("ends", self._ended)
            self._compare(before["top"], step)
        elif stage == GIVEN + 1:
            self._reach(before, step)

    def _add(self, step: Step, name: str, counts: list[Value], together: int) -> None:
        sums = (_sum(step.m, some) for some in _chunks(counts, together))
        step.keep(name, Cat(_extended(each, self._levels + 1) for each in sums))

    def _fill(self, before: Step, step: Step) -> None:
        """Stage 6: add what a beat has to what there is; and where this was before."""
        m, width = step.m, self._levels
        top = step.adopt(Signal(width, name="top_lane", init=-1))
        empty = step.adopt(Signal(name="empty", init=1))
        # The same, but that they are not cleared when a text has ended.
        top_at_end = step.register("top_lane_at_end", width, reset_less=True)
        empty_at_end = step.register("empty_at_end", reset_less=True)
        total = plus(top, before["total"])
        top_now, over = total[:width], total[width]
        still_empty, last = empty & ~over, before["last"]
        with m.If(before.valid):
            m.d.sync += [
                top.eq(top_now | last.replicate(width)),
                empty.eq(still_empty | last),
                top_at_end.eq(top_now),
                empty_at_end.eq(still_empty),
            ]
        fills, ended = over & ~empty, step.valid & step["last"]
        step.keep("fills", fills)
        step.keep("top", top_at_end)
        step.keep("empty", empty)
        step.keep("empty_at_end", empty_at_end)
        m.d.sync += [
            step.adopt(self._ended).eq(ended),
            step.adopt(self.gives).eq((before.valid & fills) | ended),
        ]
        user = step["user"]
        step.keep("user_of_text", user & ended.replicate(len(user)))

    def _compare(self, top: Value, step: Step) -> None:
        """Stage 7: compare the top with lanes, those in groups of eight and these."""
        low = min(3, self._levels)
        groups, lanes = range(1 << self._levels - low), range(1 << low)
        step.keep("group_below", Cat(top[low:] > group for group in groups))
        step.keep("group_same", Cat(top[low:] == group for group in groups))
        step.keep("lane_reached", Cat(top[:low] >= lane for lane in lanes))

    def _reach(self, before: Step, step: Step) -> None:
        """Stage 8: which lanes have a value of the text already, or had one of that before."""
        below, same = before["group_below"], before["group_same"]
        reached = Cat(
            is_below | (is_same & lane)
            for is_below, is_same in zip(_parts(below, 1), _parts(same, 1), strict=True)
            for lane in _parts(before["lane_reached"], 1)
        )
        step.keep("held", reached & ~before["empty"].replicate(self._lanes))
        step.keep("kept", reached & ~before["empty_at_end"].replicate(self._lanes))


def _sum(m: Module, numbers: list[Value]) -> Value:
    """A sum of some numbers, with bits enough for it."""

    def signal(one: Value, other: Value) -> Value:
        # With a name for each, a sum of sums is not written out in full again for each of its bits.
        whole = plus(one, other)
        result = Signal(len(whole))
        m.d.comb += result.eq(whole)
        return result

    return reduce(signal, numbers)


def _parts(whole: Value, width: int) -> list[Value]:
    """The equal parts of a vector."""
    return [whole[begin : begin + width] for begin in range(0, len(whole), width)]


def _chunks(items: list[Value], size: int) -> list[list[Value]]:
    """Some after the other, so many at a time."""
    return [items[begin : begin + size] for begin in range(0, len(items), size)]


def _extended(number: Value, width: int) -> Value:
    """A number with so many bits, which are enough."""
    return Cat(number, Const(0, width))[:width]
