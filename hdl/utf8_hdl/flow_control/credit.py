"""Flow control for wide components: a pipeline that never stalls, behind credit.

A clock enable that reaches thousands of registers is slow. So there is none: accepted beats advance
in every cycle, and credit guarantees an entry for each of them in the memory at the end::

                 credit: how many beats are accepted and not taken
           +------------------------------------------------------------+
           v                                                            |
        -------> stage 1 -> stage 2 -> ... -> stage S -> memory ------------>
        i                                                16 places        o

The golden timing
-----------------
Cycles are counted from 0, the first one after reset. A beat is *accepted* if ``i.valid`` and
``i.ready`` are high, and *taken* if ``o.valid`` and ``o.ready`` are. S is the number of stages.

1. A beat that is accepted in cycle t is at the output in cycle t + S + 1, or if there is one before
   it then, in the cycle after that one is taken. It stays until it is taken.
2. A beat is *outstanding* in a cycle if it was accepted in an earlier one and not taken in an
   earlier one. ``i.ready`` is low in cycle 0 and high in cycle 1. In any later one it is high if
   the beats outstanding two cycles before, and one for each of the two cycles since in which it
   was high, are not more than 15.

What follows from it:

- Latency: S + 1 cycles from acceptance to output, not counting cycles in which the output waits.
- Throughput: one beat in every cycle in which the consumer is ready, as long as the source has
  offered one in every cycle, whatever the stalls were. The memory covers the round trip: a beat
  that is taken in cycle t lets another one in in cycle t + 3, which is at the output in cycle
  t + S + 4. S may be up to 12; it is 4 at least.
- Nothing is lost: 16 beats are outstanding at most.
- No output depends on an input within a cycle, ``i.ready`` neither.

Each beat carries its number, whose low bits are its address in the memory. So what is outstanding
is always the difference of two numbers, and no credit can be lost: from any register contents, the
component works correctly once the pipeline and the memory have drained. A wrong number in a
register may claim up to 32 beats that never came; the docstrings of the components give the bound.

Where beats are not one for one
-------------------------------
A component may give other beats than it takes, at most one in a cycle. What is accepted in cycle t,
a beat or nothing, is in *slot* t, and so is what the component gives for it. In stage G it is known
whether there is a beat in a slot (:meth:`Credit.give`), and numbers are those of the beats given.
The memory has two banks of 16 places, one for even numbers and one for odd ones, with registers
behind them. Then the timing is:

1. A beat that is given in slot t is at the output in cycle t + S + 2, or behind those before it.
2. Outstanding are the beats that were accepted in the last G + 1 cycles, and those that were given
   in an earlier slot and not taken. ``i.ready`` is low in cycle 0 and high in cycle 1. In any later
   one it is high if the beats outstanding two cycles before, and one for each of the two cycles
   since in which it was high, are fewer than 32 less M. In any slots in a row, up to M beats more
   are begun than are accepted: M is 1 where a beat that is not full waits for more values, and 2
   where a beat also waits for the next one of its text.

At most 32 beats are begun and not taken, as many as there are places. S may be up to 27 less M:
then there is again a beat at the output in every cycle, if the source offers enough. Credit is a
sum and a difference of numbers. So from any register contents all is right once what was in the
pipeline and in the memory is out. A wrong number may claim up to 64 beats that never came.

A single table of 32 places would be slower: a table of distributed memory has 16. As beats are in
the banks in turn, a bank's address has a cycle more to follow ``o.ready``.
"""

from itertools import pairwise
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import memory

from ..logic import any_of, flips, moved, select, sum_and, unmerged, up
from .stage import Stage

PLACES = 16
"""How many beats a bank of the memory holds: as many as a table of distributed memory."""

PLACE_WIDTH = (PLACES - 1).bit_length()
"""Bits of a place in a bank."""

BEFORE_MEMORY = 4
"""The output control looks for arriving beats this many stages before the memory.

With two banks it is 3, as their registers take a cycle more.
"""

CHUNK = 160
"""So many bits of memory share the registers that control them.

One register for all of them would be far from most.
"""


SHARING = 4
"""So many chunks of memory share a copy of the number of the beat at the output.

A single register would be far from most chunks and have a high fan-out.
"""


def next_places(number: Value) -> tuple[Value, Value]:
    """The places of a number and the one behind it: in the bank of even ones, and of odd ones."""
    place = number[1 : 1 + PLACE_WIDTH]
    return select(number[0], up(place), place), place


def followed(own: Value, now: Value, flips: Value, ready: Value) -> Value:
    """The next value of a copy of a number at the output, of which some bits flip if it is taken.

    Where a bit may flip and does not, the copy keeps its own: so each copy has its own lookup
    table. With the same function synthesis would give all copies one, with long wires to them.
    """
    return select(ready, now ^ flips, select(flips, own, now))


class Numbering(NamedTuple):
    """The next value of the number of the newest beat up to a stage's slot.

    It is ``before``, or the number after it if ``counts``.
    """

    before: Value
    counts: Value | None = None

    @property
    def next(self) -> Value:
        """The next value."""
        return (
            self.before
            if self.counts is None
            else select(self.counts, up(self.before), self.before)
        )

    def next_and(self, by: int) -> Value:
        """The next value and a constant, from -4 to 1, not behind the logic that counts."""
        return moved(self.before, by, Const(0, 1) if self.counts is None else self.counts)


class Chunk:
    """Some bits of memory that share the registers with which they are written and read.

    Parameters
    ----------
    m : Module
        Where.
    name : str
        How it is called.
    ready : Value
        The consumer's ``o.ready``.
    reads : dict of str to (Value, Value)
        By the names of banks: the place that is read, and which of its bits change in this cycle if
        ``o.ready`` is high.
    odd : (Value, Value), optional
        With two banks, the same of whether the second one has the beat at the output.
    """

    def __init__(
        self,
        m: Module,
        name: str,
        ready: Value,
        reads: dict[str, tuple[Value, Value]],
        odd: tuple[Value, Value] | None,
    ) -> None:
        self.m = m
        self._name = name
        self._heading = f"Memory, {name}"
        self._registers = Stage(m, self._heading, name)
        self._ready = ready
        self._memories = 0
        self._reads = {
            bank: self._follow(f"{bank}next", *own, power_up="any") for bank, own in reads.items()
        }
        self._odd = None if odd is None else self._follow("is_odd", *odd)

    def _follow(self, of: str, now: Value, flips: Value, **attrs: str) -> Signal:
        """A register of its own with what is read.

        For Verilog and synthesis an address has no initial level, as the address registers of block
        RAM have none: so a device without distributed memory can take such a one.
        """
        own = Signal(len(now), name=f"{self._name}_{of}", reset_less=True, attrs=attrs)
        self.m.d.sync += self._registers.adopt(own).eq(followed(own, now, flips, self._ready))
        return own

    @property
    def reads(self) -> Value:
        """What is read: the places in the banks, and if there are two, which one is the output."""
        return Cat(*self._reads.values(), self._odd if self._odd is not None else Const(0, 0))

    def copy(self, of: str, coming: Value) -> Signal:
        """A register of this chunk's own that controls writing: see :meth:`.Stage.copy`.

        A write in the cycle after a reset does no harm, as no beat is in the memory by then.
        """
        register: Signal = self._registers.copy(of, coming)
        return register

    def memory(self, value: Value, writes: list[Value], places: list[Value]) -> Value:
        """What was written last to the place of the beat at the output.

        Of each bank: whether the value is written to it now, and to which place.
        """
        number, self._memories = self._memories, self._memories + 1
        name = "memory" + f"_{number}" * (number > 0)
        found = []
        for (bank, own), writes_now, place in zip(self._reads.items(), writes, places, strict=True):
            table = memory.Memory(
                shape=len(value), depth=PLACES, init=[], attrs={"stage": self._heading}
            )
            self.m.submodules[f"{self._name}_{name}_{bank}".rstrip("_")] = table
            write, read = table.write_port(), table.read_port(domain="comb")
            self.m.d.comb += [
                write.en.eq(writes_now),
                write.addr.eq(place),
                write.data.eq(value),
                read.addr.eq(own),
            ]
            found.append(read.data)
        if self._odd is None:
            return found[0]
        registers = [
            self._registers.signal(f"{name}_{bank}read", len(value), reset_less=True)
            for bank in self._reads
        ]
        self.m.d.sync += [own.eq(read) for own, read in zip(registers, found, strict=True)]
        even, odd = registers
        return select(self._odd, odd, even)


class Credit:
    """The flow control of a component between streams ``i`` and ``o``.

    A component calls :meth:`stage` for each stage, and :meth:`store` for whatever is to come out
    with a beat, in the stage in which it is known; at last :meth:`finish`.

    Parameters
    ----------
    m : Module
        Where all of it is.
    i, o : stream
        Input and output.
    more : int
        How many beats more may be begun than were accepted, in slots in a row. If it is not 0, the
        component calls :meth:`give`, and the memory has two banks.

    Attributes
    ----------
    next : Signal
        The number of the beat that is at the output, or the next to be there.
    """

    def __init__(self, m: Module, i: Any, o: Any, *, more: int = 0) -> None:
        self.m = m
        self._control = Stage(m, "Flow control: which beat is the next to come out, and credit")
        self._i, self._o, self._more = i, o, more
        self._taken = o.valid & o.ready
        self._banks = 2 if more else 1
        self._width = (PLACES * self._banks).bit_length()
        self._stages: list[Stage] = []
        self._numbering: list[Numbering] = []
        self._given: Stage | None = None
        self._chunks: list[Chunk] = []
        # The same as `i.ready`, near what counts: that one has a long way to what gives beats.
        self._accepts = Signal(name="accepts")
        # The number of the beat at the output, and what follows from it; and copies of these.
        self._output = [self._output_registers()]
        self.next = self._output[0]["next"]

    def _output_registers(self, copy: str = "") -> dict[str, Signal]:
        """Registers for the number of the beat at the output, or the next to be there.

        ``_flips`` are the bits that change in this cycle if ``o.ready`` is high: none while nothing
        is there. So a copy of a bit is one lookup table, and only ``ready`` has a long way to it.
        With two banks ``even`` is the place of the next even number; the next odd one is in the
        place of the number itself.
        """
        signal, width = self._control.signal, self._width
        registers = {
            "next": signal(f"next{copy}", width, init=1),
            "next_flips": signal(f"flips_if_ready{copy}", width),
        }
        if self._banks == 2:
            registers["even"] = signal(f"next_even{copy}", PLACE_WIDTH, init=1)
            registers["even_flips"] = signal(f"even_flips_if_ready{copy}", PLACE_WIDTH)
        return registers

    @property
    def stages(self) -> int:
        """How many there are so far."""
        return len(self._stages)

    def stage(self, name: str, what: str, valid: Value | None = None) -> Stage:
        """The next stage, and what happens in it, for the heading.

        It has the beats of the stage before, or those of ``valid``. Its register ``newest`` is the
        number of the newest beat accepted up to its slot; from :meth:`give` on, of the newest beat
        given.
        """
        if self._stages:
            before = self._stages[-1]
            valid = before.valid if valid is None else valid
            return self._new_stage(name, what, valid, Numbering(before["newest"]))
        # The register of the number has an enable: so the way to it is one lookup table.
        stage = self._new_stage(name, what, self._i.valid & self._i.ready)
        newest, counts = stage["newest"], self._i.valid & self._accepts
        self._numbering.append(Numbering(newest, counts))
        with self.m.If(counts):
            self.m.d.sync += newest.eq(up(newest))
        return stage

    def give(self, name: str, what: str, gives: Value) -> Stage:
        """The next stage, the first one whose beats and numbers are those that the component gives.

        ``gives`` is known in the stage before.
        """
        stage = self._given = self._new_stage(name, what, gives)
        self._number(stage, Numbering(stage["newest"], gives))
        return stage

    def _new_stage(
        self, name: str, what: str, valid: Value, numbering: Numbering | None = None
    ) -> Stage:
        previous = self._stages[-1] if self._stages else None
        stage = Stage(self.m, f"Stage {self.stages + 1}, {name}: {what}", name, previous=previous)
        stage.follow(valid).signal("newest", self._width)
        self._stages.append(stage)
        if numbering is not None:
            self._number(stage, numbering)
        return stage

    def _number(self, stage: Stage, numbering: Numbering) -> None:
        self._numbering.append(numbering)
        self.m.d.sync += stage["newest"].eq(numbering.next)

    @property
    def astray(self) -> Value:
        """For proofs: with two banks, true if a register that follows `next` differs from it."""
        even, odd = next_places(self.next)
        follow = [chunk.reads != Cat(even, odd, self.next[0]) for chunk in self._chunks]
        for copy in self._output[1:]:
            follow += [copy["next"] != self.next, copy["even"] != even]
        return any_of(follow)

    def store(self, stage: Stage, value: Any) -> Value:
        """What is known of a beat in a stage, when that beat is at the output.

        It is kept in the beat's place in the memory, in chunks of a size.
        """
        bits, parts = Value.cast(value), []
        valid, number = stage.next_valid, self._numbering[self._stages.index(stage)].next
        for begin in range(0, len(bits), CHUNK):
            chunk = self.chunk()
            if self._banks == 1:
                writes = [chunk.copy("writes", valid)]
                place = chunk.copy("place", number[:PLACE_WIDTH])
            else:
                writes = [
                    chunk.copy("even_writes", valid & ~number[0]),
                    chunk.copy("odd_writes", valid & number[0]),
                ]
                place = chunk.copy("place", number[1 : 1 + PLACE_WIDTH])
            places = [place] * self._banks
            parts.append(chunk.memory(bits[begin : begin + CHUNK], writes, places))
        return Cat(parts)

    def chunk(self) -> Chunk:
        """The next chunk, with the place of the beat that is at the output, or the next there."""
        name, group = f"chunk_{len(self._chunks)}", len(self._chunks) // SHARING
        if group == len(self._output):
            self._output.append(self._output_registers(f"_{group}"))
        output = self._output[group]
        number, flips = output["next"], output["next_flips"]
        if self._banks == 1:
            reads, odd = {"": (number[:PLACE_WIDTH], flips[:PLACE_WIDTH])}, None
        else:
            place = slice(1, 1 + PLACE_WIDTH)
            even = output["even"], output["even_flips"]
            reads = {"even_": even, "odd_": (number[place], flips[place])}
            odd = number[0], flips[0]
        self._chunks.append(Chunk(self.m, name, self._o.ready, reads, odd))
        return self._chunks[-1]

    def finish(self) -> None:
        """Let beats in while there is credit, and out in order.

        The way from ``o.ready`` to registers is long. To leave room for two lookup tables of four
        inputs on it and no more, the presence of a beat and the bits that flip are computed some
        cycles early, for each number that may be the next one by then.
        """
        m, o, number = self.m, self._o, self.next
        # A beat that is taken lets another one in, which is at the output `latency` + 3 later.
        latency = self.stages + self._banks
        assert self.stages >= BEFORE_MEMORY
        assert latency + 3 <= PLACES * self._banks - self._more
        odd, always = number[0], Const(1, 1)
        known = self._known()
        first, second = self._comes("", known, always, always)
        is_valid = select(self._taken, second, first)
        m.d.sync += self._control.adopt(o.valid).eq(is_valid)
        comes = self._comes("odd_", known, odd, ~odd)
        next_flips = {"next": Cat(is_valid, self._flips("flips", number[1:], odd, comes))}
        if self._banks == 2:
            even, _ = next_places(number)
            comes = self._comes("even_", known, ~odd, odd)
            next_flips["even"] = self._flips("even_flips", even, ~odd, comes)
        self._count_output(next_flips)
        self._give_credit()

    def _known(self) -> list[Value]:
        """Whether a beat is in the memory in the next cycle: that with this cycle's number, and the
        two behind it."""
        was_taken = self._control.signal("was_taken")
        self.m.d.sync += was_taken.eq(self._taken)
        # In two cycles: that with the number of the last cycle, and the three behind it.
        there: list[Value] = []
        for ahead, (same, more) in enumerate(pairwise(self._compared())):
            there.append(self._control.signal(f"there_{ahead}"))
            self.m.d.sync += there[-1].eq(select(was_taken, more.any(), same.any()))
        return [select(was_taken, more, same) for same, more in pairwise(there)]

    def _comes(
        self, name: str, known: list[Value], own: Value, other: Value
    ) -> tuple[Signal, Signal]:
        """Whether the next beat is there in the next cycle, and its number has a parity.

        The first register says it if no beat is taken in this cycle, the second one if one is.
        ``own`` is True if this cycle's number has the parity, ``other`` if the one behind it has.
        """
        first, second = (self._control.signal(f"{name}{which}") for which in ("first", "second"))
        self.m.d.sync += [
            first.eq(select(self._taken, known[1] & other, known[0] & own)),
            second.eq(select(self._taken, known[2] & own, known[1] & other)),
        ]
        return first, second

    def _flips(self, name: str, counter: Value, own: Value, comes: tuple[Signal, Signal]) -> Value:
        """Which bits of a counter flip in the next cycle if a beat is taken then.

        Taking a beat counts up if its number has a parity. ``own`` is True if this cycle's number
        has that parity, and ``comes`` is of it. In two cycles, the number can have that parity in
        three cases: ``own`` is True and no beat is taken until then, or it is False and one is;
        then the counter is the same. Or ``own`` is True and two are taken; then it is one higher. A
        bit depends on those below it, not on itself: so from any contents, all bits come right, the
        lowest one first.
        """
        width, now, then = len(counter), flips(counter), flips(up(counter))
        same, after = (self._control.signal(f"{name}_{n}", width) for n in ("same", "after"))
        self.m.d.sync += [same.eq(now), after.eq(select(own, then, now))]
        first, second = (register.replicate(width) for register in comes)
        return select(self._taken, second & after, first & same)

    def _count_output(self, next_flips: dict[str, Value]) -> None:
        """Assign the next values of the output's registers. All of them follow from `next`.

        So they are right again after it is.
        """
        m, ready, number = self.m, self._o.ready, self.next
        first, *copies = self._output
        now = {"next": number, "even": next_places(number)[0]}
        for name, flip_next in next_flips.items():
            flip, what = first[f"{name}_flips"], now[name]
            m.d.sync += [first[name].eq(select(ready, what ^ flip, what)), flip.eq(flip_next)]
            for copy in copies:
                own = copy[f"{name}_flips"]
                m.d.sync += [
                    copy[name].eq(followed(copy[name], what, flip, ready)),
                    own.eq(unmerged(flip_next, own)),
                ]

    def _compared(self) -> list[Value]:
        """For five consecutive numbers, bits of which any is set if the beat comes into the memory.

        It is there in three cycles. The first number is the next one of the cycle before. A
        number only counts if the beat before it is there. So either that beat is the newest one, or
        the beat itself has arrived.
        """
        numbering = self._numbering[self._banks - 1 - BEFORE_MEMORY]
        befores = [numbering.next_and(by) for by in (1, 0, -1, -2, -3)]
        pairs = [slice(n, n + 2) for n in range(0, self._width, 2)]
        found: list[Value] = []
        for ahead, before in enumerate(befores):
            name, init = f"arriving_{ahead}", (1 - ahead) % (1 << self._width)
            arriving = self._control.signal(name, self._width, init=init)
            found.append(self._control.signal(f"differs_{ahead}", len(pairs)))
            differs = Cat(arriving[pair] != self.next[pair] for pair in pairs)
            self.m.d.sync += [arriving.eq(before), found[-1].eq(differs)]
        return found

    def _newest(self) -> Value:
        """The number of the newest beat outstanding.

        Where others are given than are accepted, it counts the beats that were given in earlier
        slots than those of the last G + 1 cycles, and the beats accepted in these cycles.
        """
        first, last = self._stages[0]["newest"], self._given
        if last is None:
            return first
        names = "given", "newest", "accepted_before"
        given, newest, accepted = (self._control.signal(name, self._width) for name in names)
        before = self._stages[self._stages.index(last) - 1]
        self.m.d.sync += [
            accepted.eq(before["newest"]),
            given.eq(last["newest"] - accepted),
            newest.eq(sum_and(first, given, self._i.valid, self._accepts)),
        ]
        return newest

    def _give_credit(self) -> None:
        """Be ready if there is room for the beats outstanding and one more.

        Two cycles pass between a count and the ``ready`` that follows from it. A beat that may be
        accepted in them is counted as if it was: so there are never more, and none is refused
        without need while the source offers one in every cycle.
        """
        m, control, most = self.m, self._control, PLACES * self._banks - self._more
        # Two less than the beats outstanding and the one that may be accepted in this cycle.
        ready, outstanding = control.signal("ready"), control.signal("outstanding", self._width)
        m.d.sync += outstanding.eq(sum_and(self._newest(), ~self.next, ready, Const(1, 1)))
        few = any_of(outstanding == number % (1 << self._width) for number in range(-2, most - 3))
        ready_next = few | ((outstanding == most - 3) & ~ready)
        accepts = control.adopt(self._accepts)
        m.d.sync += [ready.eq(ready_next), accepts.eq(unmerged(ready_next, accepts))]
        m.d.comb += self._i.ready.eq(ready)
