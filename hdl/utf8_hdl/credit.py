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
A component may give other beats than it takes, at most one in a cycle. From the stage on in which
it is known whether there is one (:meth:`Credit.give`), numbers are those of the beats given. What
is accepted in a cycle t, a beat or nothing, is in *slot* t, and so is what the component gives S
cycles later. Then the timing is:

1. A beat that is given in slot t is at the output in cycle t + S + 1, or behind those before it.
2. With a beat goes the number of the newest one that was accepted up to its slot. If there is a
   beat at the output, those accepted with lower numbers are *done*; if there is none, those
   accepted S + 1 cycles before or earlier. ``i.ready`` is high from cycle 2 on if the beats that
   were accepted and not done two cycles before, and one for each of the two cycles since in which
   it was high, are not more than 14. So S may be up to 11.

Nothing is lost if from any number of beats accepted in a row not more than one more are given.
"""

from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import memory

from .logic import any_of, flips_next, moved, select, unmerged, up
from .pipeline import Section

PLACES = 16
"""How many beats the memory holds: as many as a table of distributed memory in an FPGA."""

MOST_STAGES = PLACES - 4
"""With more there would not be a beat in every cycle. It is one less if one more may be given."""

PLACE_WIDTH = (PLACES - 1).bit_length()
"""Bits of a place in the memory."""

NUMBER_WIDTH = PLACES.bit_length()
"""Bits of a beat's number: one more than that of a place in the memory has."""

BEFORE_MEMORY = 4
"""So many stages before the memory, beats are looked for that are to come out."""

WAITED = 4
"""The stage from which on beats are given, if each waits for the next one of its text."""

CHUNK = 160
"""So many bits of memory share the registers that control them.

One register for all of them would be far from most.
"""

EACH_CHUNK = 128
"""The same where each value has a place of its own."""


class Step(Section):
    """A stage of the pipeline: registers that take something in every cycle.

    What is known in a stage has a name. ``step["name"]`` is a register with it, in the stage in
    which it was first kept or in any later one, to which more registers delay it. These are made
    when they are first asked for, which must not be under a condition of the module.

    Attributes
    ----------
    valid, newest : Signal
        Whether there is a beat in it; and the number of the newest one that has been in it.
    comes, accepted : Signal
        The same of beats as they were accepted, where others are given.
    next_valid, next_newest : Value
        What they are in the next cycle.
    """

    def __init__(self, m: Module, name: str, heading: str, previous: "Step | None") -> None:
        super().__init__(m, heading)
        self._name = name
        self._previous = previous
        self._known: dict[str, Signal] = {}
        self._newest_before: Value
        self._counts: Value
        self.valid = self.register(f"{name}_valid")
        self.newest = self.register(f"{name}_newest", NUMBER_WIDTH)
        self.comes, self.accepted = self.valid, self.newest
        self.next_valid: Value
        self.next_newest: Value

    def take(self, valid: Value, newest: Value) -> None:
        """Say what comes into it."""
        self.next_valid, self.next_newest = valid, newest
        self._newest_before, self._counts = newest, Const(0, 1)
        self.m.d.sync += [self.valid.eq(valid), self.newest.eq(newest)]

    def follow(self, previous: "Step") -> None:
        """Know of beats that are accepted what the stage before does."""
        self.comes = self.register(f"{self._name}_comes")
        self.accepted = self.register(f"{self._name}_accepted", NUMBER_WIDTH)
        self.m.d.sync += [self.comes.eq(previous.comes), self.accepted.eq(previous.accepted)]

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
    """Some bits of memory that share the registers with which they are read.

    Attributes
    ----------
    own : Signal
        The place that is read.
    coming : Value
        What it is in the next cycle.
    """

    def __init__(self, m: Module, name: str, address: Value) -> None:
        super().__init__(m, f"Memory, {name}")
        self._name = name
        self._memories = 0
        # For Verilog and synthesis it has no initial level, as the address registers of block RAM
        # have none: so a device without distributed memory can take such a one.
        own = Signal(len(address), name=f"{name}_next", reset_less=True, attrs={"power_up": "any"})
        self.own = self.adopt(own)
        self.coming: Value

    def copy(self, of: str, coming: Value) -> Signal:
        """A register of this chunk's own."""
        register = self.register(f"{self._name}_{of}", len(coming))
        self.m.d.sync += register.eq(unmerged(coming, register))
        return register

    def memory(
        self, value: Value, writes: Value, place: Value, address: Value | None = None
    ) -> Value:
        """What was written last to the place that is read: to its own, if no other is named."""
        number, self._memories = self._memories, self._memories + 1
        table = memory.Memory(
            shape=len(value), depth=PLACES, init=[], attrs={"stage": f"Memory, {self._name}"}
        )
        self.m.submodules[f"{self._name}_memory" + f"_{number}" * (number > 0)] = table
        write, read = table.write_port(), table.read_port(domain="comb")
        self.m.d.comb += [
            write.en.eq(writes),
            write.addr.eq(place),
            write.data.eq(value),
            read.addr.eq(self.own if address is None else address),
        ]
        return read.data


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
    waits : bool
        Whether each beat waits for the next one of its text. It is given when that is in the stage
        before :data:`WAITED`, or if it ended its text, in the slot behind it.

    Attributes
    ----------
    gives : Value
        Whether a beat is given, in the stage before that in which it is known, where others are
        given than accepted.
    """

    def __init__(self, m: Module, i: Any, o: Any, *, waits: bool = False) -> None:
        super().__init__(m, "Flow control: which beat is the next to come out, and credit")
        self._i, self._o = i, o
        self._steps: list[Step] = []
        self._chunks = 0
        self._waits = waits
        self.gives: Value = Const(0, 1)
        # The same as `i.ready`, near what counts: that one has a long way to what gives beats.
        self._accepts = Signal(name="accepts")
        # The number of the beat that is at the output, or the next to be there.
        self._next = self.register("next", NUMBER_WIDTH, init=1)
        # Which of its bits change in this cycle if `o.ready` is high: none while nothing is there.
        # So a copy of a bit is one lookup table, and only `ready` has a long way to it.
        self._flips = self.register("flips_if_ready", NUMBER_WIDTH)

    @property
    def stages(self) -> int:
        """How many there are so far."""
        return len(self._steps)

    def step(self, name: str, what: str) -> Step:
        """The next stage, and what happens in it, for the heading."""
        if self._waits and self.stages == WAITED - 1:
            return self.give(name, what, self._follows(self._steps[-2]))
        step, previous = self._new_step(name, what)
        if previous is None:
            step.accept(self._i.valid & self._i.ready, self._i.valid & self._accepts)
        else:
            step.take(previous.valid, previous.newest)
            if previous.comes is not previous.valid:
                step.follow(previous)
        return step

    def _follows(self, step: Step) -> Value:
        """Whether the beat before is given in this slot: it ended its text, or this one comes.

        It is known in the stage behind this one.
        """
        holds, ends, last = step.register("holds"), step.register("holds_last"), step["last"]
        gives = step.register("gives")
        step.m.d.sync += gives.eq(holds & (ends | step.valid))
        with step.m.If(step.valid):
            step.m.d.sync += [holds.eq(1), ends.eq(last)]
        with step.m.Elif(ends):
            step.m.d.sync += holds.eq(0)
        return gives

    def give(self, name: str, what: str, gives: Value) -> Step:
        """The next stage, from which on beats are those that the component gives, and numbers, too.

        Whether there is one is known in the stage before.
        """
        self.gives = gives
        step, previous = self._new_step(name, what)
        assert previous is not None
        step.count(gives)
        step.follow(previous)
        return step

    def _new_step(self, name: str, what: str) -> tuple[Step, Step | None]:
        previous = self._steps[-1] if self._steps else None
        step = Step(self.m, name, f"Stage {self.stages + 1}, {name}: {what}", previous)
        self._steps.append(step)
        return step, previous

    def store(self, step: Step, value: Any, size: int = CHUNK) -> Value:
        """What is known of a beat in a stage, when that beat is at the output.

        It is kept in the beat's place in the memory, in chunks of a size.
        """
        bits, parts = Value.cast(value), []
        for begin in range(0, len(bits), size):
            chunk = self._chunk()
            writes = chunk.copy("writes", step.next_valid)
            place = chunk.copy("place", step.next_newest[:PLACE_WIDTH])
            parts.append(chunk.memory(bits[begin : begin + size], writes, place))
        return Cat(parts)

    def store_each(self, values: list[Value], writes: list[Value], places: list[Value]) -> Value:
        """Some values, each in a place of its own, when the beat with that place is at the output.

        Registers have what is written, in the same cycle as the values.
        """
        together, parts = max(1, EACH_CHUNK // len(values[0])), []
        for number, one in enumerate(zip(values, writes, places, strict=True)):
            if number % together == 0:
                chunk = self._chunk()
            parts.append(chunk.memory(*one))
        return Cat(parts)

    def _chunk(self) -> Chunk:
        """The next chunk, with the place of the beat that is at the output, or the next there."""
        number, flips = self._next[:PLACE_WIDTH], self._flips[:PLACE_WIDTH]
        chunk = Chunk(self.m, f"chunk_{self._chunks}", number)
        self._chunks += 1
        waits = select(flips, chunk.own, number)
        chunk.coming = select(self._o.ready, number ^ flips, waits)
        self.m.d.sync += chunk.own.eq(chunk.coming)
        return chunk

    def finish(self) -> None:
        """Let beats in while there is credit, and out in order.

        No register here is behind more than two lookup tables. So it is known some cycles early
        whether a beat is there, for each of the numbers that may be the next then.
        """
        m, o, number = self.m, self._o, self._next
        last = self._steps[-1]
        one_for_one = last.comes is last.valid
        assert BEFORE_MEMORY <= self.stages <= MOST_STAGES - (not one_for_one)
        taken, odd = o.valid & o.ready, number[0]
        was_taken = self.register("was_taken")
        m.d.sync += was_taken.eq(taken)
        # Whether a beat is in the memory in two cycles: that with the number of the last cycle, and
        # the three behind it.
        there: list[Value] = []
        for ahead, (same, more) in enumerate(pairwise(self._compared())):
            there.append(self.register(f"there_{ahead}"))
            m.d.sync += there[-1].eq(select(was_taken, more.any(), same.any()))
        # The same of the number of this cycle. In the next one `first` says it of the number then,
        # and `second` of the one behind; and two say whether that is there and odd, which is so
        # behind a number that is even.
        known = [select(was_taken, more, same) for same, more in pairwise(there)]
        first, second = self.register("first_there"), self.register("second_there")
        odd_first = self.register("odd_first_there")
        even_second = self.register("even_second_there")
        m.d.sync += [
            first.eq(select(taken, known[1], known[0])),
            second.eq(select(taken, known[2], known[1])),
            odd_first.eq(select(taken, known[1] & ~odd, known[0] & odd)),
            even_second.eq(select(taken, known[2] & odd, known[1] & ~odd)),
            number.eq(select(o.ready, number ^ self._flips, number)),
        ]
        is_valid, valid_and_odd = (
            select(taken, second, first),
            select(taken, even_second, odd_first),
        )
        m.d.sync += [
            self.adopt(o.valid).eq(is_valid),
            self._flips.eq(flips_next(is_valid, valid_and_odd, number)),
        ]
        if one_for_one:
            self._give_credit(number, PLACES, Const(0))
        else:
            # While nothing is at the output, there are not more than are in the stages.
            self._give_credit(self._oldest(), PLACES - 1, ~o.valid)

    def _oldest(self) -> Value:
        """The number of the newest beat that was accepted up to the slot of the one at the output.

        It is known early. So it is in the memory when the beat is next to be at the output, and can
        be read a cycle before it is.
        """
        step, chunk = self._steps[-2], self._chunk()
        writes = chunk.copy("writes", step.next_valid)
        place = chunk.copy("place", step.next_newest[:PLACE_WIDTH])
        oldest = chunk.register("oldest", NUMBER_WIDTH, reset_less=True)
        self.m.d.sync += oldest.eq(chunk.memory(step.accepted, writes, place, chunk.coming))
        return oldest

    def _compared(self) -> list[Value]:
        """Of five numbers in order: with what the beat is in the memory in three cycles.

        It is if one of the bits is set. The first number is the next one of the cycle before. A
        number only counts if the beat before it is there. So either that beat is the newest one, or
        the beat itself has arrived.
        """
        step = self._steps[-BEFORE_MEMORY]
        befores = [step.next_newest_and(by) for by in (1, 0, -1, -2, -3)]
        pairs = [slice(n, n + 2) for n in range(0, NUMBER_WIDTH, 2)]
        found: list[Value] = []
        for ahead, before in enumerate(befores):
            name, init = f"arriving_{ahead}", (1 - ahead) % (1 << NUMBER_WIDTH)
            arriving = self.register(name, NUMBER_WIDTH, init=init)
            found.append(self.register(f"differs_{ahead}", len(pairs)))
            differs = Cat(arriving[pair] != self._next[pair] for pair in pairs)
            self.m.d.sync += [arriving.eq(before), found[-1].eq(differs)]
        return found

    def _give_credit(self, oldest: Value, most: int, free: Value) -> None:
        """Be ready if not more beats are outstanding than ``most`` with the one that may come then.

        Two cycles pass between a count and the ``ready`` that follows from it. A beat that may be
        accepted in them is counted as if it was: so there are never more, and none is refused
        without need while the source offers one in every cycle.

        Parameters
        ----------
        oldest : Value
            The number of the oldest beat outstanding, or of the next one, if there is none.
        most : int
            The most beats outstanding.
        free : Value
            Whether few beats are outstanding, whatever the number is.
        """
        m, ready = self.m, self.register("ready")
        # One less than the beats outstanding and the one that may be accepted in this cycle.
        outstanding = self.register("outstanding", NUMBER_WIDTH)
        m.d.sync += outstanding.eq(self._steps[0].newest - oldest + ready)
        with m.If(free):
            m.d.sync += outstanding.eq(0)
        none, up_to = (1 << NUMBER_WIDTH) - 1, range(most - 2)
        few = any_of(outstanding == number for number in (none, *up_to))
        ready_next = few | ((outstanding == most - 2) & ~ready)
        accepts = self.adopt(self._accepts)
        m.d.sync += [ready.eq(ready_next), accepts.eq(unmerged(ready_next, accepts))]
        m.d.comb += self._i.ready.eq(ready)
