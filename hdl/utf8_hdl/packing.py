"""Packing of sparse beats into dense beats: a butterfly network driven by prefix sums of ``keep``.

A value goes to the lane after the value before it, and from the last lane to lane 0 of the next
dense beat. The butterfly network has one level for each bit of a lane number, the lowest bit first.
Level k makes one block of 2 << k lanes of its two halves. In each half, values are in lanes whose
bits below k are right. Pairs of lanes, one in each half, are swapped so that bit k becomes right.

The *top* is the lane of the last value of the text so far: the highest lane if there is none, as if
it was below lane 0. The *middle* of a block is the lane in which its upper half begins. The *prefix
sum* of a lane is the top plus the number of values in the beat's lanes below it. Bit k of the
prefix sum of a middle decides how the pairs of its block are swapped. The prefix sum of all lanes
is the next top.

No register holds values until others fill their beat. Each lane has its own memory, and a value is
at once written to the dense beat where it belongs. That beat and the next one are in different
banks of the memory.

=====  ========  ===================================================  ================  ==========
stage  name      result                                               decides swaps of  swaps
=====  ========  ===================================================  ================  ==========
1      fours     values in groups of 4 lanes
2      eights    values in groups of 8 lanes
3      blocks    values in blocks of 16 lanes, and in these before
                 a middle
4      partial   values in up to 3 blocks; bit 0 of prefix sums
                 before blocks
5      before    values before middles of level 2 and up, and in all  level 0
                 lanes; bit 1 of prefix sums before blocks
6      sums      prefix sums; whether there is a dense beat           level 1           level 0
7      give      numbers of dense beats                               level 2           level 1
8      held      lanes up to the top; prefix sums of level 4,         level 3           level 2
                 compared
9      compare   prefix sums of levels 5 and 6, compared              level 4           level 3
10     aim       the memory entry to which a value is written         levels 5 and 6    level 4
11     store     values in their lanes                                                  5 and 6
=====  ========  ===================================================  ================  ==========
"""

from collections.abc import Iterable
from functools import reduce
from operator import add
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data

from .flow_control.credit import PLACE_WIDTH, Credit, next_places
from .flow_control.stage import Stage
from .layouts import beat_layout
from .logic import LOW, at_least, compared, majority, named, plus, select

GROUP, PAIR, BLOCK = 4, 8, 16
"""How many lanes are counted in stages 1, 2 and 3."""

TOGETHER = 128
"""Bits of values that share the registers that control their memory."""

BANKS = "even", "odd"
"""The banks of the memory, by the numbers of their beats."""


class Packing:
    """The stages that pack values, after any others of a pipeline.

    Parameters
    ----------
    lanes, width, user_width, late_width : int
        Values of a beat; bits of a value; bits that come with a text's last beat, ``user``; and
        bits that come two cycles later and are appended to ``user``.

    Attributes
    ----------
    probes : SimpleNamespace
        Signals for proofs. ``comes`` and ``sparse``: a beat enters stage 1, and the beat; ``late``:
        the bits appended to ``user``, two cycles later. ``tops``: the registers that depend on
        earlier beats. ``swaps``: swapped pairs, by level. ``gives``: there is a dense beat, in
        stage 6. ``number``: number of the newest dense beat, in stage 7. ``stored``: the writes of
        stage 11 to the memory. ``next``: number of the next beat at the output. ``astray``:
        registers that repeat ``next`` differ from it.
    """

    def __init__(self, lanes: int, width: int, user_width: int, late_width: int = 0) -> None:
        self.lanes, self.width = lanes, width
        self.user_width, self.late_width = user_width, late_width
        self._levels = lanes.bit_length() - 1
        self._blocks = max(1, lanes // BLOCK)
        self._some = 2 if self._blocks <= 4 else 3  # blocks that stage 4 adds
        # Lanes before which all values are counted, and how many bits of the number are needed. In
        # levels 0 and 1, two bits of the prefix sum before a block suffice.
        self._counted = {lane: n + 1 for n in self._whole_levels for lane in self._middles(n)}
        self._counted[lanes] = self._levels + 1
        self.probes = self._make_probes()

    def _make_probes(self) -> SimpleNamespace:
        lanes, levels = self.lanes, self._levels
        of_levels = {f"level_{level}": level + 1 for level in self._whole_levels}
        tops = {"bit_0": 1, "bit_1": 1, **of_levels, "lane": levels, "empty": 1}
        at_end = {"lane_at_end": levels, "empty_at_end": 1}
        banks = len(BANKS)
        places = data.ArrayLayout(PLACE_WIDTH, banks)
        each = {"writes": banks, "places": places, "value": self.width}
        lists = {what: data.ArrayLayout(shape, lanes) for what, shape in each.items()}
        number = PLACE_WIDTH + banks
        facts = {"gives": 1, "newest": number, "keep": lanes, "last": 1}
        facts["user"] = self.user_width + self.late_width
        return SimpleNamespace(
            comes=Signal(name="comes"),
            sparse=Signal(beat_layout(lanes, self.width, self.user_width), name="sparse"),
            tops=Signal(data.StructLayout({**tops, **at_end}), name="tops"),
            late=Signal(self.late_width, name="late"),
            swaps=Signal(data.ArrayLayout(lanes // 2, levels), name="swaps"),
            gives=Signal(name="gives"),
            number=Signal(number, name="number"),
            stored=Signal(data.StructLayout({**lists, **facts}), name="stored"),
            next=Signal(number, name="next"),
            astray=Signal(name="astray"),
        )

    def add(
        self, credit: Credit, values: Any, keep: Any, last: Any, user: Any, late: Any = ()
    ) -> Value:
        """Add the stages to a pipeline. Returns the dense beat at the output."""
        m, probes = credit.m, self.probes
        m.d.comb += [
            Value.cast(probes.sparse).eq(Cat(values, keep, last, user)),
            probes.late.eq(Cat(late)),
        ]
        fours = self._count_fours(credit)
        eights = self._count_eights(credit, fours)
        blocks = self._count_blocks(credit, eights)
        partial = self._add_partial(credit, blocks)
        before = self._add_before(credit, partial)
        sums = self._add_top(credit, before)
        give = self._give(credit, sums)
        held = self._hold(credit, give)
        compare = self._compare(credit, held)
        aim = self._aim(credit, compare)
        store = credit.stage("store", "values go to their lanes")
        store.carry("ends", "kept", "user_of_text")
        self._pass(aim, store, swap=(5, 6))
        payload = Cat(self._values(credit, aim, store), self._facts(credit, store))
        m.d.comb += [
            probes.next.eq(credit.next),
            probes.astray.eq(credit.astray),
            probes.stored.gives.eq(store.valid),
            probes.stored.newest.eq(store["newest"]),
        ]
        return payload

    # Prefix sums

    @property
    def _whole_levels(self) -> range:
        """Levels for which prefix sums are added up with all their bits."""
        return range(2, self._levels)

    def _middles(self, *levels: int) -> list[int]:
        """The lanes in which the upper halves of some levels begin."""
        exist = (level for level in levels if level < self._levels)
        return [lane for level in exist for lane in range(1 << level, self.lanes, 2 << level)]

    def _count_fours(self, credit: Credit) -> Stage:
        """Stage 1: the sparse beat, and its values in groups of 4 lanes."""
        sparse, stage = self.probes.sparse, credit.stage("fours", "values in four lanes")
        keep = Value.cast(sparse.keep)
        groups = (_sum(stage.m, _parts(part, 1)) for part in _parts(keep, GROUP))
        return stage.load(
            keep=keep,
            fours=Cat(_extended(group, self._width_of(GROUP)) for group in groups),
            data=sparse.data,
            last=sparse.last,
            user=Value.cast(sparse.user) if self.user_width else Const(0, 0),
        )

    def _count_eights(self, credit: Credit, fours: Stage) -> Stage:
        """Stage 2: values in groups of 8 lanes; for each block, True if it has an odd number."""
        stage = credit.stage("eights", "values in eight lanes")
        groups = _parts(fours["fours"], self._width_of(GROUP))
        pairs = (reduce(plus, some) for some in _chunks(groups, PAIR // GROUP))
        odd = (Cat(group[0] for group in some).xor() for some in _chunks(groups, BLOCK // GROUP))
        return stage.load(
            eights=Cat(_extended(pair, self._width_of(PAIR)) for pair in pairs),
            odd=Cat(odd),
            end=fours.valid & fours["last"],
        ).carry("fours", "keep", "data", "user")

    def _count_blocks(self, credit: Credit, eights: Stage) -> Stage:
        """Stage 3: values in blocks of 16 lanes, and in a block before a middle.

        ``odd_n`` is the number of blocks before block n with an odd number of values, modulo 4.
        """
        stage = credit.stage("blocks", "values in blocks of 16 lanes")
        pairs = _parts(eights["eights"], self._width_of(PAIR))
        for number, some in enumerate(_chunks(pairs, BLOCK // PAIR)):
            stage.register(f"count_{number}", _extended(_total(some), self._width_of(BLOCK)))
        for number in range(1, self._blocks + 1):
            fours = (_sum(stage.m, four) for four in _chunks(list(eights["odd"][:number]), 4))
            stage.register(f"odd_{number}", _extended(_sum(stage.m, list(fours)), 2))
        for level in range((BLOCK - 1).bit_length()):
            for middle in self._middles(level):
                count = _sum(stage.m, self._parts_in_block(eights, middle))
                stage.register(f"local_{middle}", _extended(count, level + 1))
        stage.register("clears", eights["end"], init=1)
        stage.register("late", self.probes.late)
        return stage.carry("end", "data", "user")

    def _parts_in_block(self, eights: Stage, lane: int) -> list[Value]:
        """Counts that add up to the values of a block before a lane."""
        parts: list[Value] = []
        lane_in_block = lane % BLOCK
        for name, size in ("eights", PAIR), ("fours", GROUP), ("keep", 1):
            width = self._width_of(size)
            while lane_in_block >= size:
                number = (lane - lane_in_block) // size
                parts.append(eights[name].word_select(number, width))
                lane_in_block -= size
        return parts

    def _add_partial(self, credit: Credit, blocks: Stage) -> Stage:
        """Stage 4: values in each group of blocks, and before a middle outside whole groups.

        Also bit 0 of the prefix sums before blocks, and the addend to the top for their bit 1.
        """
        stage = credit.stage("partial", "values in some blocks")
        counts = [blocks[f"count_{number}"] for number in range(self._blocks)]
        for number in range(self._blocks // self._some):
            some = counts[number * self._some : (number + 1) * self._some]
            stage.register(f"some_{number}", _total(some))
        for lane, width in self._counted.items():
            whole_blocks = self._blocks_before(lane)
            left = counts[whole_blocks - whole_blocks % self._some : whole_blocks]
            if lane < self.lanes and lane % BLOCK:
                left.append(blocks[f"local_{lane}"])
            if left:
                stage.register(f"left_{lane}", _extended(_total(left), width))
        if self._levels:
            numbers = range(1, self._blocks + 1)
            added = Cat(Const(0, 1), (blocks[f"odd_{n}"][0] for n in numbers))
            top = self._add_bit(0, added, blocks, stage)
            stage.register("carries", added & top.replicate(len(added)))
            ones = [count[1] for count in counts]
            second = (Cat(ones[:n], blocks[f"odd_{n}"][1]).xor() for n in numbers)
            stage.register("second_bits", Cat(Const(0, 1), second))
        stage.register("clears", blocks["end"], init=1)
        return stage.carry(*self._locals(0, 1), "end", "data", "user", "late")

    def _add_before(self, credit: Credit, partial: Stage) -> Stage:
        """Stage 5: values before middles of level 2 and up, and in all lanes.

        And bit 1 of the prefix sums before blocks.
        """
        stage = credit.stage("before", "values before the middles of blocks")
        for lane, width in self._counted.items():
            some, others = divmod(self._blocks_before(lane), self._some)
            parts = [partial[f"some_{number}"] for number in range(some)]
            if others or lane % BLOCK:
                parts.append(partial[f"left_{lane}"])
            stage.register(f"before_{lane}", _extended(_total(parts), width))
        stage.register("any", Cat(parts).any())  # in all lanes, the last ones counted
        # An empty slot adds nothing to the top, whatever its registers hold.
        with stage.m.If(~partial.valid):
            stage.m.d.sync += stage[f"before_{self.lanes}"].eq(0)
        if self._levels > 1:
            self._add_bit(1, partial["second_bits"] ^ partial["carries"], partial, stage)
            stage.carry("bit_0")
        stage.register("clears", partial["end"], init=1)
        stage.carry(*self._locals(1), "end", "user", "late")
        self._pass(partial, stage, decide=(0,))
        return stage

    def _add_top(self, credit: Credit, before: Stage) -> Stage:
        """Stage 6: prefix sums; whether there is a dense beat.

        There is one if the sum goes beyond the highest lane while no text begins, or if a text has
        ended in the slot before. At a text's end the top is set to all ones. Registers ending in
        ``_at_end`` keep the state after the last beat, even if that ended its text.
        """
        stage, m = credit.stage("sums", "prefix sums, and whether there is a dense beat"), credit.m
        count, tops = before[f"before_{self.lanes}"], self.probes.tops
        top = stage.signal("top", self._levels, init=-1, reset_less=True)
        for level in self._whole_levels:
            self._add_top_of_level(level, count, before, stage)
        # A gate after the carry chain would be slow, so the chain has two more bits. The first one
        # propagates the carry, and generates one if every lane has a value. The second one
        # propagates it if no text begins, and generates one if a text has ended.
        empty, text_ends = stage.signal("empty", init=1), stage.signal("text_ends")
        may_give, gives = stage.signal("may_give"), stage.signal("gives")
        whole = Cat(top, Const(1, 1), may_give) + Cat(count, text_ends)
        self._follow(top, whole[: self._levels], before, stage)
        comes, next_top = before.valid & before["any"], Signal(self._levels)
        top_at_end = stage.signal("top_at_end", self._levels, reset_less=True)
        empty_at_end = stage.signal("empty_at_end", reset_less=True)
        m.d.sync += [
            text_ends.eq(before["end"]),
            may_give.eq((before.valid & (before["end"] | before["any"])) | ~empty),
            empty.eq(before["clears"] | empty & ~comes),
            gives.eq(whole[-1]),
            stage.signal("ended").eq(text_ends),
        ]
        m.d.comb += next_top.eq(top + count)  # an adder of its own, not at the end of that chain
        with m.If(before.valid):
            m.d.sync += [empty_at_end.eq(empty & ~before["any"]), top_at_end.eq(next_top)]
        stage.carry("user", "late")
        user = Cat(stage["user"], stage["late"])
        stage.load(
            top_before=top_at_end,
            was_empty=empty,
            was_empty_at_end=empty_at_end,
            user_of_text=user & text_ends.replicate(len(user)),
        )
        m.d.comb += [
            tops.lane.eq(top),
            tops.empty.eq(empty),
            tops.lane_at_end.eq(top_at_end),
            tops.empty_at_end.eq(empty_at_end),
            self.probes.gives.eq(gives),
        ]
        self._pass(before, stage, swap=(0,), decide=(1,))
        return stage

    def _add_top_of_level(self, level: int, count: Value, before: Stage, stage: Stage) -> None:
        """Stage 6: the prefix sums of a level, with a top of its own, not far from them."""
        width = level + 1
        top = stage.signal(f"top_of_level_{level}", width, init=-1, reset_less=True)
        stage.m.d.comb += self.probes.tops[f"level_{level}"].eq(top)
        self._follow(top, (top + count)[:width], before, stage)
        # Two sums share a carry chain, as synthesis makes none for a short one.
        for two in _chunks(self._middles(level), 2):
            counts = Cat(Cat(before[f"before_{lane}"], Const(0, 1)) for lane in two)
            sums = (Cat(Cat(top, Const(0, 1)) for _ in two) + counts)[: len(counts)]
            for lane, found in zip(two, _parts(sums, width + 1), strict=True):
                stage.register(f"sum_{lane}", found[:width])

    def _add_bit(self, bit: int, added: Value, before: Stage, stage: Stage) -> Signal:
        """A bit of the prefix sums before blocks, without a carry. Returns that of the top."""
        top = stage.signal(f"top_{bit}", init=1, reset_less=True)
        stage.m.d.comb += self.probes.tops[f"bit_{bit}"].eq(top)
        sums = added ^ top.replicate(len(added))
        stage.register(f"bit_{bit}", sums[:-1])
        self._follow(top, select(before.valid, sums[-1], top), before, stage)
        return top

    def _follow(self, top: Signal, following: Value, before: Stage, stage: Stage) -> None:
        """Assign the next value of a top, which is all ones after the end of a text.

        ``clears`` is also set by a reset, so that no gate is between the reset and these registers.
        Written in this form, the carry chain of an adder leads straight to the registers.
        """
        with stage.m.If(before["clears"]):
            stage.m.d.sync += top.eq(-1)
        with stage.m.Else():
            stage.m.d.sync += top.eq(following)

    def _locals(self, *levels: int) -> list[str]:
        """Names of the counts within blocks before the middles of some levels."""
        return [f"local_{middle}" for middle in self._middles(*levels)]

    def _sums(self, lowest_level: int) -> list[str]:
        """Names of the prefix sums of a level and those above it."""
        levels = range(lowest_level, self._levels)
        return [f"sum_{middle}" for middle in self._middles(*levels)]

    def _blocks_before(self, lane: int) -> int:
        """Whole blocks before a lane, or in all lanes."""
        return self._blocks if lane == self.lanes else lane // BLOCK

    def _width_of(self, size: int) -> int:
        """Width of a count of ``size`` lanes, or of all lanes if there are fewer."""
        return min(size, self.lanes).bit_length()

    # Dense beats

    def _give(self, credit: Credit, sums: Stage) -> Stage:
        """Stage 7: dense beats are numbered. ``fills`` is True if a beat has become full."""
        gives, ended = sums["gives"], sums["ended"]
        stage = credit.give("give", "the number of the dense beat", gives)
        low, high = compared(sums["top_before"])
        stage.load(ends=ended, fills=gives & ~ended, top_low=low, top_high=high)
        stage.register("comes", sums.valid)
        stage.carry("was_empty", "was_empty_at_end", "user_of_text", *self._sums(3))
        stage.m.d.comb += self.probes.number.eq(stage["newest"])
        self._pass(sums, stage, swap=(1,), decide=(2,))
        return stage

    def _hold(self, credit: Credit, give: Stage) -> Stage:
        """Stage 8: ``held``, the lanes of the incomplete dense beat that earlier beats of the text
        have filled; ``kept``, the lanes with a value in the last dense beat of a text that has
        ended."""
        stage = credit.stage("held", "lanes that have a value already")
        reached = at_least(give["top_low"], give["top_high"])
        stage.load(
            held=reached & ~give["was_empty"].replicate(self.lanes),
            kept=reached & ~give["was_empty_at_end"].replicate(self.lanes),
        )
        stage.carry("comes", "ends", "fills", "user_of_text", *self._sums(4))
        self._pass(give, stage, swap=(2,), decide=(3,), compare=(4,))
        return stage

    def _compare(self, credit: Credit, held: Stage) -> Stage:
        """Stage 9: prefix sums of levels 5 and 6 are compared with the numbers of pairs."""
        stage = credit.stage("compare", "prefix sums, compared with the numbers of pairs")
        stage.carry("comes", "held", "kept", "ends", "fills", "user_of_text", *self._sums(5))
        self._pass(held, stage, swap=(3,), decide=(4,), compare=(5, 6))
        return stage

    def _aim(self, credit: Credit, before: Stage) -> Stage:
        """Stage 10: to which dense beat each lane's value is written.

        A beat that fills a dense beat has values for two: for the one that is full in the lanes
        that are not ``held``, and for the next one in those that are. Otherwise it writes to the
        next one only, in the lanes that are not ``held``. The two have successive numbers, so they
        are in different banks.
        """
        stage = credit.stage("aim", "where in the memory values are written")
        comes, fills, odd = before["comes"], before["fills"], before["newest"][0]
        for bank, place in zip(BANKS, next_places(before["newest"]), strict=True):
            stage.register(f"{bank}_place", place)
        for chunk in range(0, self.lanes, self._together):
            for bank, full, following in ("even", ~odd, odd), ("odd", odd, ~odd):
                free = comes & select(fills, full, following)
                stage.copy(f"{bank}_if_held_{chunk}", comes & fills & following)
                stage.copy(f"{bank}_if_free_{chunk}", free)
        stage.carry("held", "kept", "ends", "user_of_text")
        self._pass(before, stage, swap=(4,), decide=(5, 6))
        return stage

    def _values(self, credit: Credit, aim: Stage, store: Stage) -> Value:
        """Stage 11: the memory of the lanes. Returns the values at the output."""
        values, held, parts = _parts(store["data"], self.width), aim["held"], []
        stored = self.probes.stored
        for first in range(0, self.lanes, self._together):
            chunk = credit.chunk()
            # A reset would have long wires to these registers. The memory is empty after a reset,
            # so a write to any address is harmless.
            places = [
                chunk.copy(f"{bank}_place", aim[f"{bank}_place"], reset_less=True) for bank in BANKS
            ]
            lanes = range(first, min(first + self._together, self.lanes))
            writes = []
            for bank in BANKS:
                if_held, if_free = (
                    aim[f"{bank}_if_{what}_{first}"].replicate(len(lanes))
                    for what in ("held", "free")
                )
                enables = select(held[first : lanes.stop], if_held, if_free)
                writes.append(store.register(f"{bank}_writes_{first}", enables))
            parts.append(chunk.memories(values[first : lanes.stop], writes, places))
            for lane in lanes:
                store.m.d.comb += [
                    stored.writes[lane].eq(Cat(each[lane - first] for each in writes)),
                    Value.cast(stored.places[lane]).eq(Cat(places)),
                    stored.value[lane].eq(values[lane]),
                ]
        return Cat(parts)

    @property
    def _together(self) -> int:
        """Lanes that share the registers that control their memory."""
        return max(1, TOGETHER // self.width)

    def _facts(self, credit: Credit, store: Stage) -> Value:
        """``keep``, ``last`` and ``user`` at the output."""
        ends, stored = store["ends"], self.probes.stored
        keeps = store["kept"] | ~ends.replicate(self.lanes)
        facts = Cat(keeps, ends, store["user_of_text"])
        store.m.d.comb += Cat(stored.keep, stored.last, stored.user).eq(facts)
        return credit.store(store, facts)

    # The butterfly network

    def _pass(
        self,
        before: Stage,
        stage: Stage,
        *,
        swap: Iterable[int] = (),
        decide: Iterable[int] = (),
        compare: Iterable[int] = (),
    ) -> None:
        """Pass values on to a stage, with the swaps of some levels done.

        ``decide`` names the levels whose swaps are decided in it, and ``compare`` those whose
        prefix sums are compared.
        """
        lanes = _parts(before["data"], self.width)
        for level in self._existing(swap):
            # In the order of blocks, one bit for each pair of a block.
            swaps, half = before[f"swaps_{level}"], 1 << level
            stage.m.d.comb += self.probes.swaps[level].eq(swaps)
            pairs = [lane >> level + 1 << level | lane % half for lane in range(self.lanes)]
            lanes = [
                select(swaps[pair], lanes[lane ^ half], lanes[lane])
                for lane, pair in enumerate(pairs)
            ]
        stage.register("data", Cat(lanes))
        for level in self._existing(decide):
            self._decide(level, before, stage)
        for level in self._existing(compare):
            for middle in self._middles(level):
                low, high = compared(before[f"sum_{middle}"][:level])
                stage.load(**{f"low_{middle}": low, f"high_{middle}": high})

    def _existing(self, levels: Iterable[int]) -> list[int]:
        """The levels that a network of this many lanes has."""
        return [level for level in levels if level < self._levels]

    def _decide(self, level: int, before: Stage, stage: Stage) -> None:
        """Decide which pairs of a level are swapped.

        The first value of an upper half goes to the lane after the prefix sum, and so on, and the
        values before it go to the lanes below. So a pair is swapped if bit ``level`` of the prefix
        sum is 1 and the number of the pair is at most the bits below it, or if the bit is 0 and the
        number is higher.
        """
        swaps: list[Value] = []
        for middle in self._middles(level):
            found = self._prefix_sum(level, middle, before)
            if level > LOW:
                reached = at_least(before[f"low_{middle}"], before[f"high_{middle}"])
            else:
                reached = at_least(*compared(found[:level]))
            swaps.append(~(reached ^ found[level].replicate(len(reached))))
        stage.register(f"swaps_{level}", Cat(swaps))

    def _prefix_sum(self, level: int, middle: int, before: Stage) -> Value:
        """The prefix sum of a middle.

        In levels 0 and 1 it is added here: the low bits of the prefix sum before its block, and the
        values in the block before the middle.
        """
        if level in self._whole_levels:
            return before[f"sum_{middle}"]
        bits = Cat(before[f"bit_{bit}"][middle // BLOCK] for bit in range(level + 1))
        return _sum(before.m, [bits, before[f"local_{middle}"]])[: level + 1]


def _sum(m: Module, numbers: list[Value]) -> Value:
    """A sum of some numbers, with bits enough for it."""
    total, *others = numbers or [Const(0, 1)]
    for number in others:
        total = named(m, "sum", plus(total, number))
    return total


def _total(numbers: list[Value]) -> Value:
    """The sum of up to three numbers: a carry chain, and not more than one gate before it."""
    if len(numbers) == 3:
        width = max(len(number) for number in numbers)
        one, other, third = (_extended(number, width) for number in numbers)
        numbers = [one ^ other ^ third, Cat(Const(0, 1), majority(one, other, third))]
    return reduce(add, numbers, Const(0, 0))


def _parts(whole: Value, width: int) -> list[Value]:
    """The equal parts of a vector."""
    return [whole[begin : begin + width] for begin in range(0, len(whole), width)]


def _chunks(items: list[Any], size: int) -> list[list[Any]]:
    """Lists of up to ``size`` items in order."""
    return [items[begin : begin + size] for begin in range(0, len(items), size)]


def _extended(number: Value, width: int) -> Value:
    """A number that is zero-extended or truncated to a width."""
    return Cat(number, Const(0, width))[:width]
