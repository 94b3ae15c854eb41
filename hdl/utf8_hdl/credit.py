"""Flow control for wide components: a pipeline that never stalls, behind credit.

A clock enable that reaches thousands of registers is slow. So there is none: what is accepted moves
on in every cycle, and there is a place for it at the end in any case::

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

A beat's number goes along with it and is its place in the memory. So what is outstanding is always
the difference of two numbers, and no credit can be lost: from any register contents, all is right
once what was in the pipeline and in the memory is out. A wrong number in a register may claim up to
32 beats that never came; the docstrings of the components give the bound.

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
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import memory

from .logic import any_of, flips, flips_next, moved, select, unmerged, up
from .pipeline import Section

PLACES = 16
"""How many beats a bank of the memory holds: as many as a table of distributed memory."""

PLACE_WIDTH = (PLACES - 1).bit_length()
"""Bits of a place in a bank."""

BEFORE_MEMORY = 4
"""So many stages before the memory, beats are looked for that are to come out.

With two banks it is 3, as their registers take a cycle more.
"""

CHUNK = 160
"""So many bits of memory share the registers that control them.

One register for all of them would be far from most.
"""


def next_places(number: Value) -> tuple[Value, Value]:
    """The places of a number and the one behind it: in the bank of even ones, and of odd ones."""
    place = number[1 : 1 + PLACE_WIDTH]
    return select(number[0], up(place), place), place


class Step(Section):
    """A stage of the pipeline: registers that take something in every cycle.

    What is known in a stage has a name. ``step["name"]`` is a register with it, in the stage in
    which it was first kept or in any later one, to which more registers delay it. These are made
    when they are first asked for, which must not be under a condition of the module.

    Attributes
    ----------
    valid : Signal
        Whether there is a beat in it.
    newest : Signal
        The number of the newest beat that was accepted up to its slot; from :meth:`Credit.give` on,
        of the newest one that was given.
    comes : Signal
        From :meth:`Credit.give` on, whether its slot had a beat in the stage before that; elsewhere
        ``valid``.
    next_valid, next_newest : Value
        What ``valid`` and ``newest`` are in the next cycle.
    """

    def __init__(
        self, m: Module, name: str, heading: str, previous: "Step | None", width: int
    ) -> None:
        super().__init__(m, heading)
        self._name = name
        self._previous = previous
        self._known: dict[str, Signal] = {}
        self._newest_before: Value
        self._counts: Value
        self.valid = self.register(f"{name}_valid")
        self.newest = self.register(f"{name}_newest", width)
        self.comes = self.valid
        self.next_valid: Value
        self.next_newest: Value

    def take(self, valid: Value, newest: Value) -> None:
        """Say what comes into it."""
        self.next_valid, self.next_newest = valid, newest
        self._newest_before, self._counts = newest, Const(0, 1)
        self.m.d.sync += [self.valid.eq(valid), self.newest.eq(newest)]

    def follow(self, comes: Value) -> None:
        """Know of beats as they were before they were counted."""
        self.comes = self.register(f"{self._name}_comes")
        self.m.d.sync += self.comes.eq(comes)

    def count(self, gives: Value) -> None:
        """Say whether a beat comes into it, and count those that do."""
        self.take(gives, select(gives, up(self.newest), self.newest))
        self._newest_before, self._counts = self.newest, gives

    def accept(self, accepted: Value, counts: Value) -> None:
        """Say whether a beat is accepted into it, and the same once more, to count it.

        The register of its number has an enable: so the way to it is one lookup table.
        """
        self.next_valid, self.next_newest = accepted, select(counts, up(self.newest), self.newest)
        self._newest_before, self._counts = self.newest, counts
        self.m.d.sync += self.valid.eq(accepted)
        with self.m.If(counts):
            self.m.d.sync += self.newest.eq(up(self.newest))

    def next_newest_and(self, by: int) -> Value:
        """``next_newest`` and a constant, from -4 to 1, not behind the logic that counts."""
        return moved(self._newest_before, by, self._counts)

    def keep(self, name: str, value: Any, init: int | None = None) -> Signal:
        """A register that takes a value in every cycle. It is only reset if that is to a level."""
        value = Value.cast(value)
        whole_name, reset_less = f"{self._name}_{name}", init is None
        register = self.register(whole_name, len(value), init=init, reset_less=reset_less)
        self.m.d.sync += register.eq(value)
        self._known[name] = register
        return register

    def copy(self, name: str, value: Any) -> Signal:
        """A register that takes a value in every cycle, and is not merged with its equals."""
        value = Value.cast(value)
        register = self.register(f"{self._name}_{name}", len(value), reset_less=True)
        self.m.d.sync += register.eq(unmerged(value, register))
        self._known[name] = register
        return register

    def __getitem__(self, name: str) -> Signal:
        if name in self._known:
            return self._known[name]
        if self._previous is None:
            raise KeyError(name)
        return self.keep(name, self._previous[name])


class Chunk(Section):
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
        super().__init__(m, f"Memory, {name}")
        self._name = name
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
        waits = select(flips, own, now)
        self.m.d.sync += self.adopt(own).eq(select(self._ready, now ^ flips, waits))
        return own

    @property
    def reads(self) -> Value:
        """What is read: the places in the banks, and if there are two, which one is the output."""
        return Cat(*self._reads.values(), self._odd if self._odd is not None else Const(0, 0))

    def copy(self, of: str, coming: Value) -> Signal:
        """A register of this chunk's own."""
        register = self.register(f"{self._name}_{of}", len(coming))
        self.m.d.sync += register.eq(unmerged(coming, register))
        return register

    def memory(self, value: Value, writes: list[Value], places: list[Value]) -> Value:
        """What was written last to the place of the beat at the output.

        Of each bank: whether the value is written to it now, and to which place.
        """
        number, self._memories = self._memories, self._memories + 1
        name = f"{self._name}_memory" + f"_{number}" * (number > 0)
        found = []
        for (bank, own), writes_now, place in zip(self._reads.items(), writes, places, strict=True):
            table = memory.Memory(
                shape=len(value), depth=PLACES, init=[], attrs={"stage": f"Memory, {self._name}"}
            )
            self.m.submodules[f"{name}_{bank}".rstrip("_")] = table
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
            self.register(f"{name}_{bank}read", len(value), reset_less=True) for bank in self._reads
        ]
        self.m.d.sync += [own.eq(read) for own, read in zip(registers, found, strict=True)]
        even, odd = registers
        return select(self._odd, odd, even)


class Credit(Section):
    """The flow control of a component between streams ``i`` and ``o``.

    A component calls :meth:`step` for each stage, and :meth:`store` for whatever is to come out
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
        super().__init__(m, "Flow control: which beat is the next to come out, and credit")
        self._i, self._o, self._more = i, o, more
        self._banks = 2 if more else 1
        self._width = (PLACES * self._banks).bit_length()
        self._steps: list[Step] = []
        self._counted: Step | None = None
        self._chunks: list[Chunk] = []
        # The same as `i.ready`, near what counts: that one has a long way to what gives beats.
        self._accepts = Signal(name="accepts")
        self.next = self.register("next", self._width, init=1)
        # Which of its bits change in this cycle if `o.ready` is high: none while nothing is there.
        # So a copy of a bit is one lookup table, and only `ready` has a long way to it.
        self._flips = self.register("flips_if_ready", self._width)
        if more:
            # The place of the next even number, and the same of its bits.
            self._even = self.register("next_even", PLACE_WIDTH, init=1)
            self._even_flips = self.register("even_flips_if_ready", PLACE_WIDTH)

    @property
    def stages(self) -> int:
        """How many there are so far."""
        return len(self._steps)

    def step(self, name: str, what: str, valid: Value | None = None) -> Step:
        """The next stage, and what happens in it, for the heading.

        There are the beats of the stage before in it, or others that ``valid`` tells.
        """
        step, previous = self._new_step(name, what)
        if previous is None:
            step.accept(self._i.valid & self._i.ready, self._i.valid & self._accepts)
        else:
            step.take(previous.valid if valid is None else valid, previous.newest)
            if previous.comes is not previous.valid:
                step.follow(previous.comes)
        return step

    def give(self, name: str, what: str, gives: Value) -> Step:
        """The next stage, from which on beats are those that the component gives, and numbers, too.

        Whether there is one is known in the stage before.
        """
        step, previous = self._new_step(name, what)
        assert previous is not None
        step.count(gives)
        step.follow(previous.valid)
        self._counted = step
        return step

    @property
    def astray(self) -> Value:
        """With two banks, for proofs: whether a chunk does not read the next two beats."""
        right = Cat(*next_places(self.next), self.next[0])
        return any_of(chunk.reads != right for chunk in self._chunks)

    def _new_step(self, name: str, what: str) -> tuple[Step, Step | None]:
        previous = self._steps[-1] if self._steps else None
        heading = f"Stage {self.stages + 1}, {name}: {what}"
        step = Step(self.m, name, heading, previous, self._width)
        self._steps.append(step)
        return step, previous

    def store(self, step: Step, value: Any, size: int = CHUNK) -> Value:
        """What is known of a beat in a stage, when that beat is at the output.

        It is kept in the beat's place in the memory, in chunks of a size.
        """
        bits, parts = Value.cast(value), []
        valid, number = step.next_valid, step.next_newest
        for begin in range(0, len(bits), size):
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
            parts.append(chunk.memory(bits[begin : begin + size], writes, places))
        return Cat(parts)

    def chunk(self) -> Chunk:
        """The next chunk, with the place of the beat that is at the output, or the next there."""
        name, number, flips = f"chunk_{len(self._chunks)}", self.next, self._flips
        if self._banks == 1:
            reads, odd = {"": (number[:PLACE_WIDTH], flips[:PLACE_WIDTH])}, None
        else:
            place = slice(1, 1 + PLACE_WIDTH)
            reads = {"even_": (self._even, self._even_flips), "odd_": (number[place], flips[place])}
            odd = number[0], flips[0]
        self._chunks.append(Chunk(self.m, name, self._o.ready, reads, odd))
        return self._chunks[-1]

    def finish(self) -> None:
        """Let beats in while there is credit, and out in order.

        No register here is behind more than two lookup tables. So it is known some cycles early
        whether a beat is there, for each of the numbers that may be the next then.
        """
        m, o, number = self.m, self._o, self.next
        # A beat that is taken lets another one in, which is at the output `latency` + 3 later.
        latency = self.stages + self._banks
        assert self.stages >= BEFORE_MEMORY
        assert latency + 3 <= PLACES * self._banks - self._more
        taken, odd = o.valid & o.ready, number[0]
        was_taken = self.register("was_taken")
        m.d.sync += was_taken.eq(taken)
        # Whether a beat is in the memory in two cycles: that with the number of the last cycle, and
        # the three behind it.
        there: list[Value] = []
        for ahead, (same, more) in enumerate(pairwise(self._compared())):
            there.append(self.register(f"there_{ahead}"))
            m.d.sync += there[-1].eq(select(was_taken, more.any(), same.any()))
        # The same of the number of this cycle.
        known = [select(was_taken, more, same) for same, more in pairwise(there)]

        def is_there(name: str, one: Value, other: Value) -> Value:
            """Whether the next beat is there in the next cycle, if its number is of a kind.

            One register says it of the number then, and one of the number behind that. ``one`` says
            whether this cycle's number is of that kind, ``other`` whether the one behind it is.
            """
            first, second = self.register(f"{name}first"), self.register(f"{name}second")
            m.d.sync += [
                first.eq(select(taken, known[1] & other, known[0] & one)),
                second.eq(select(taken, known[2] & one, known[1] & other)),
            ]
            return select(taken, second, first)

        is_valid = is_there("", Const(1, 1), Const(1, 1))
        is_odd = is_there("odd_", odd, ~odd)
        m.d.sync += [
            number.eq(select(o.ready, number ^ self._flips, number)),
            self.adopt(o.valid).eq(is_valid),
            self._flips.eq(flips_next(is_valid, is_odd, number)),
        ]
        if self._banks == 2:
            # Both registers follow from `next`, so that they are right again after it is.
            even, _ = next_places(number)
            moves = is_there("even_", ~odd, odd).replicate(len(even))
            m.d.sync += [
                self._even.eq(select(o.ready, even ^ self._even_flips, even)),
                self._even_flips.eq(moves & flips(even)),
            ]
        self._give_credit()

    def _compared(self) -> list[Value]:
        """Of five numbers in order: with what the beat is in the memory in three cycles.

        It is if one of the bits is set. The first number is the next one of the cycle before. A
        number only counts if the beat before it is there. So either that beat is the newest one, or
        the beat itself has arrived.
        """
        step = self._steps[self._banks - 1 - BEFORE_MEMORY]
        befores = [step.next_newest_and(by) for by in (1, 0, -1, -2, -3)]
        pairs = [slice(n, n + 2) for n in range(0, self._width, 2)]
        found: list[Value] = []
        for ahead, before in enumerate(befores):
            name, init = f"arriving_{ahead}", (1 - ahead) % (1 << self._width)
            arriving = self.register(name, self._width, init=init)
            found.append(self.register(f"differs_{ahead}", len(pairs)))
            differs = Cat(arriving[pair] != self.next[pair] for pair in pairs)
            self.m.d.sync += [arriving.eq(before), found[-1].eq(differs)]
        return found

    def _newest(self) -> Value:
        """The number of the newest beat outstanding.

        Where others are given than are accepted, it counts the beats that were given in earlier
        slots than those of the last G + 1 cycles, and the beats accepted in these cycles.
        """
        first, counted = self._steps[0], self._counted
        if counted is None:
            return first.newest
        given, newest = self.register("given", self._width), self.register("newest", self._width)
        before = self._steps[self._steps.index(counted) - 1]
        accepted = self.register("accepted_before", self._width)
        self.m.d.sync += [
            accepted.eq(before.newest),
            given.eq(counted.newest - accepted),
            newest.eq(first.newest + given + (self._i.valid & self._accepts)),
        ]
        return newest

    def _give_credit(self) -> None:
        """Be ready if there is room for the beats outstanding and one more.

        Two cycles pass between a count and the ``ready`` that follows from it. A beat that may be
        accepted in them is counted as if it was: so there are never more, and none is refused
        without need while the source offers one in every cycle.
        """
        m, ready, most = self.m, self.register("ready"), PLACES * self._banks - self._more
        # One less than the beats outstanding and the one that may be accepted in this cycle.
        outstanding = self.register("outstanding", self._width)
        m.d.sync += outstanding.eq(self._newest() - self.next + ready)
        none, up_to = (1 << self._width) - 1, range(most - 2)
        few = any_of(outstanding == number for number in (none, *up_to))
        ready_next = few | ((outstanding == most - 2) & ~ready)
        accepts = self.adopt(self._accepts)
        m.d.sync += [ready.eq(ready_next), accepts.eq(unmerged(ready_next, accepts))]
        m.d.comb += self._i.ready.eq(ready)
