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
   not more than 13 beats were outstanding two cycles before: while it is seen that there are too
   many, three more may be accepted.

What follows from it:

- Latency: S + 1 cycles from acceptance to output, not counting cycles in which the output waits.
- Throughput: with a ready consumer S + 1 beats are outstanding, so S may be up to 12 for one beat
  in every cycle. It is 5 at least.
- Nothing is lost: 16 beats are outstanding at most.
- No output depends on an input within a cycle, ``i.ready`` neither.

A beat's number goes along with it and is its place in the memory. So what is outstanding is always
the difference of two numbers, and no credit can be lost: from any register contents, all is right
once what was in the pipeline and in the memory is out.
"""

from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import memory

from .counter import flips_next, minus, up
from .elastic import Section
from .gates import select

PLACES = 16
"""How many beats the memory holds: as many as a table of distributed memory in an FPGA."""

MOST_STAGES = PLACES - 4
"""With more there would not be a beat in every cycle."""

NUMBER_WIDTH = PLACES.bit_length()
"""Bits of a beat's number: one more than that of a place in the memory has."""

BEFORE_MEMORY = 5
"""So many stages before the memory, beats are looked for that are to come out."""

CHUNK = 160
"""So many bits of memory share the registers that control them.

One register for all of them would be far from most.
"""


class Step(Section):
    """A stage of the pipeline: registers that take something in every cycle.

    What is known in a stage has a name. ``step["name"]`` is a register with it, in the stage in
    which it was first kept or in any later one, to which more registers delay it. These are made
    when they are first asked for, which must not be under a condition of the module.

    Attributes
    ----------
    valid, newest : Signal
        Whether there is a beat in it; and the number of the newest one that has been in it.
    next_valid, next_newest : Value
        What they are in the next cycle.
    """

    def __init__(self, m: Module, name: str, heading: str, previous: "Step | None") -> None:
        super().__init__(m, heading)
        self._name = name
        self._previous = previous
        self._known: dict[str, Signal] = {}
        self.valid = self.register(f"{name}_valid")
        self.newest = self.register(f"{name}_newest", NUMBER_WIDTH)
        self.next_valid: Value
        self.next_newest: Value

    def take(self, valid: Value, newest: Value) -> None:
        """Say what comes into it."""
        self.next_valid, self.next_newest = valid, newest
        self.m.d.sync += [self.valid.eq(valid), self.newest.eq(newest)]

    def keep(self, name: str, value: Any) -> Signal:
        """A register that takes a value in every cycle."""
        value = Value.cast(value)
        register = self.register(f"{self._name}_{name}", len(value), reset_less=True)
        self.m.d.sync += register.eq(value)
        self._known[name] = register
        return register

    def __getitem__(self, name: str) -> Signal:
        if name in self._known:
            return self._known[name]
        if self._previous is None:
            raise KeyError(name)
        return self.keep(name, self._previous[name])


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
    """

    def __init__(self, m: Module, i: Any, o: Any) -> None:
        super().__init__(m, "Flow control: which beat is the next to come out, and credit")
        self._i, self._o = i, o
        self._steps: list[Step] = []
        self._chunks = 0
        # The number of the beat that is at the output, or the next to be there.
        self._next = self.adopt(Signal(NUMBER_WIDTH, name="next", init=1))
        # Which of its bits change in this cycle if `o.ready` is high: none while nothing is there.
        # So a copy of a bit is one lookup table, and only `ready` has a long way to it.
        self._flips = self.register("flips_if_ready", NUMBER_WIDTH)

    @property
    def stages(self) -> int:
        """How many there are so far."""
        return len(self._steps)

    def step(self, name: str, what: str) -> Step:
        """The next stage, and what happens in it, for the heading."""
        heading = f"Stage {len(self._steps) + 1}, {name}: {what}"
        previous = self._steps[-1] if self._steps else None
        step = Step(self.m, name, heading, previous)
        if previous:
            step.take(previous.valid, previous.newest)
        else:
            accepted = self._i.valid & self._i.ready
            of_newest = self.adopt(Signal(NUMBER_WIDTH, name="flips_newest", init=1))
            step.take(accepted, step.newest ^ (of_newest & accepted.replicate(NUMBER_WIDTH)))
            will_be_odd = accepted ^ step.newest[0]
            self.m.d.sync += of_newest.eq(flips_next(Const(1, 1), will_be_odd, step.newest))
        self._steps.append(step)
        return step

    def store(self, step: Step, value: Any) -> Value:
        """What is known of a beat in a stage, when that beat is at the output.

        It is kept in the beat's place in the memory.
        """
        bits = Value.cast(value)
        return Cat(
            self._store(step, bits[begin : begin + CHUNK]) for begin in range(0, len(bits), CHUNK)
        )

    def _store(self, step: Step, value: Value) -> Value:
        m, name = self.m, f"chunk_{self._chunks}"
        self._chunks += 1
        heading = f"Memory, {name}"
        chunk = Section(m, heading)
        attributes = {"stage": heading}
        table = memory.Memory(shape=len(value), depth=PLACES, init=[], attrs=attributes)
        m.submodules[f"{name}_memory"] = table
        write, read = table.write_port(), table.read_port(domain="comb")
        width = len(write.addr)

        # Registers of this chunk's own. Synthesis would make one of those that are equal, so each
        # has a part in what it will be.
        def copy(of: str, coming: Value) -> Signal:
            register = chunk.register(f"{name}_{of}", len(coming))
            m.d.sync += register.eq(coming | (coming & register))
            return register

        # For Verilog and synthesis it has no initial level, as the address registers of block RAM
        # have none: so a device without distributed memory can take such a one.
        own = Signal(width, name=f"{name}_next", reset_less=True, attrs={"power_up": "any"})
        number, flips = self._next[:width], self._flips[:width]
        waits = select(flips, own, number)
        m.d.sync += chunk.adopt(own).eq(select(self._o.ready, number ^ flips, waits))
        m.d.comb += [
            write.en.eq(copy("writes", step.next_valid)),
            write.addr.eq(copy("place", step.next_newest[:width])),
            write.data.eq(value),
            read.addr.eq(own),
        ]
        return read.data

    def finish(self) -> None:
        """Let beats in while there is credit, and out in order.

        No register here is behind more than two lookup tables. So it is known some cycles early
        whether a beat is there, for each of the numbers that may be the next then.
        """
        m, o, number = self.m, self._o, self._next
        assert BEFORE_MEMORY <= len(self._steps) <= MOST_STAGES
        taken, odd = o.valid & o.ready, number[0]
        was_taken, was_taken_before = self.register("was_taken"), self.register("was_taken_before")
        m.d.sync += [was_taken.eq(taken), was_taken_before.eq(was_taken)]
        # Whether a beat is in the memory in two cycles: that with the number of the last cycle, and
        # the three behind it.
        there: list[Value] = []
        came = self._compared()
        for ahead in range(4):
            one = select(was_taken ^ was_taken_before, came[ahead + 1], came[ahead])
            there.append(self.register(f"there_{ahead}"))
            m.d.sync += there[-1].eq(select(was_taken & was_taken_before, came[ahead + 2], one))
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
        valid, valid_and_odd = select(taken, second, first), select(taken, even_second, odd_first)
        m.d.sync += [
            self.adopt(o.valid).eq(valid),
            self._flips.eq(flips_next(valid, valid_and_odd, number)),
        ]
        self._give_credit()

    def _compared(self) -> list[Value]:
        """Of six numbers in order: whether the beat with it is in the memory in three cycles.

        The first one is the next one of two cycles before. A number only counts if the beat before
        it is there. So either that beat is the newest one, or the beat itself has arrived.
        """
        coming = self._steps[-BEFORE_MEMORY].next_newest
        befores = [up(coming), coming, *(minus(coming, Const(n)) for n in range(1, 5))]
        pairs = [slice(n, n + 2) for n in range(0, NUMBER_WIDTH, 2)]
        came: list[Value] = []
        for ahead, before in enumerate(befores):
            name, init = f"arriving_{ahead}", (1 - ahead) % (1 << NUMBER_WIDTH)
            arriving = self.adopt(Signal(NUMBER_WIDTH, name=name, init=init))
            differs = self.register(f"differs_{ahead}", len(pairs))
            came.append(self.register(f"came_{ahead}"))
            self.m.d.sync += [
                arriving.eq(before[:NUMBER_WIDTH]),
                differs.eq(Cat(arriving[pair] != self._next[pair] for pair in pairs)),
                came[-1].eq(differs.any()),
            ]
        return came

    def _give_credit(self) -> None:
        """Be ready in the cycle after the next, if few enough beats are outstanding."""
        newest, low = self._steps[0].newest, 2
        high = NUMBER_WIDTH - low
        spread_low, spread_high = self.register("spread", low), self.register("spread_high", high)
        borrow, ready = self.register("spread_borrow"), self.register("ready")
        below = minus(newest[:low], self._next[:low])
        above = minus(newest[low:], self._next[low:])
        # One less than the beats outstanding.
        spread = Cat(spread_low, minus(spread_high, borrow)[:high])
        has_credit = spread.all() | Cat(spread == n for n in range(MOST_STAGES + 1)).any()
        self.m.d.sync += [
            Cat(spread_low, borrow).eq(below),
            spread_high.eq(above[:high]),
            ready.eq(has_credit),
        ]
        self.m.d.comb += self._i.ready.eq(ready)
