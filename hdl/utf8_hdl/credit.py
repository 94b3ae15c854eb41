"""Flow control for wide components: a pipeline that never stalls, behind credit.

A clock enable that reaches thousands of registers is slow. So there is none: what is accepted moves
on in every cycle, and there is a place for it at the end in any case::

              credit: how many beats are accepted and not in the output register
           +-----------------------------------------------------------------+
           v                                                                 |
        -------> stage 1 -> stage 2 -> ... -> stage S -> memory -> output register ---->
        i                                                16 places                    o

The golden timing
-----------------
Cycles are counted from 0, the first one after reset. A beat is *accepted* if ``i.valid`` and
``i.ready`` are high, and *taken* if ``o.valid`` and ``o.ready`` are. S is the number of stages.

1. A beat that is accepted in cycle t is at the output in cycle t + S + 2, or if there is one before
   it then, in the cycle after that one is taken. It stays until it is taken.
2. A beat is *outstanding* in a cycle if it was accepted in an earlier one and is not at the output,
   and was not. ``i.ready`` is low in cycle 0 and high in cycle 1. In any later one it is high if
   not more than 13 beats were outstanding two cycles before: while it is seen that there are too
   many, three more may be accepted.

What follows from it:

- Latency: S + 2 cycles from acceptance to output, not counting cycles in which the output waits.
- Throughput: with a ready consumer S + 1 beats are outstanding, so S may be up to 12 for one beat
  in every cycle.
- Nothing is lost: 16 beats are outstanding at most.
- No output depends on an input within a cycle, ``i.ready`` neither.

A beat's number goes along with it and is its place in the memory. So what is outstanding is always
the difference of two numbers, and no credit can be lost: from any register contents, all is right
once what was in the pipeline and in the memory is out.
"""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import memory

from .counter import flips, minus, next_flips, up
from .elastic import Section
from .gates import select

PLACES = 16
"""How many beats the memory holds: as many as a table of distributed memory in an FPGA."""

MOST_STAGES = PLACES - 4
"""With more there would not be a beat in every cycle."""

NUMBER_WIDTH = PLACES.bit_length()
"""Bits of a beat's number: one more than that of a place in the memory has."""

CHUNK = 80
"""So many bits of memory and output register share the registers that control them.

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
        self.next_valid: Value = self.valid
        self.next_newest: Value = self.newest

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
        self._next = self.adopt(Signal(NUMBER_WIDTH, name="next", init=1))
        self._pop = o.valid & o.ready
        self._flips = self.register("flips_if_ready", NUMBER_WIDTH)
        self._coming_next = self._next ^ (self._flips & o.ready.replicate(NUMBER_WIDTH))

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
            step.next_valid, step.next_newest = previous.valid, previous.newest
        else:
            step.next_valid = self._i.valid & self._i.ready
            of_newest = self.adopt(Signal(NUMBER_WIDTH, name="flips_newest", init=1))
            counted = of_newest & step.next_valid.replicate(NUMBER_WIDTH)
            step.next_newest = step.newest ^ counted
            self.m.d.sync += of_newest.eq(
                select(step.next_valid, next_flips(step.newest), flips(step.newest))
            )
        self.m.d.sync += [
            step.valid.eq(step.next_valid),
            step.newest.eq(step.next_newest),
        ]
        self._steps.append(step)
        return step

    def store(self, step: Step, value: Any) -> Value:
        """What is known of a beat in a stage, when that beat is at the output.

        It goes to the beat's place in the memory, and from there to the output register.
        """
        bits = Value.cast(value)
        return Cat(
            self._store(step, bits[begin : begin + CHUNK]) for begin in range(0, len(bits), CHUNK)
        )

    def _store(self, step: Step, value: Value) -> Value:
        m, name = self.m, f"chunk_{self._chunks}"
        self._chunks += 1
        heading = f"Memory, {name}"
        end = Section(m, heading)
        attributes = {"stage": heading, "ramstyle": "no_rw_check"}
        table = memory.Memory(shape=len(value), depth=PLACES, init=[], attrs=attributes)
        m.submodules[f"{name}_memory"] = table
        write, read = table.write_port(), table.read_port(domain="comb")
        width = len(write.addr)

        def copy(of: str, coming: Value) -> Signal:
            register = end.register(f"{name}_{of}", len(coming))
            m.d.sync += register.eq(coming | (coming & register))
            return register

        own = end.register(f"{name}_next", width)
        ready = self._o.ready.replicate(width)
        flips, now = self._flips[:width], self._next[:width]
        m.d.sync += own.eq((ready & (now ^ flips)) | (~ready & ((flips & own) | (~flips & now))))
        m.d.comb += [
            write.en.eq(copy("writes", step.next_valid)),
            write.addr.eq(copy("place", step.next_newest[: width])),
            write.data.eq(value),
            read.addr.eq(own),
        ]
        return read.data

    def finish(self) -> None:
        m, o, pop = self.m, self._o, self._pop
        assert 4 <= len(self._steps) <= MOST_STAGES
        first, arrived = self._steps[0], self._steps[-3]
        coming = arrived.next_newest
        less = lambda n: minus(coming, Const(n, 2))[:NUMBER_WIDTH]
        def variant(name, value, init):
            r = self.adopt(Signal(NUMBER_WIDTH, name=name, init=init))
            m.d.sync += r.eq(value)
            return r
        numbers = [variant("arrived_up", up(coming), 1), arrived.newest,
                   variant("arrived_1", less(1), -1), variant("arrived_2", less(2), -2)]
        there = [self.register(f"there_{n}") for n in range(4)]
        moved = self.register("moved")
        m.d.sync += moved.eq(pop)
        m.d.sync += [t.eq(n != self._next) for t, n in zip(there, numbers)]
        known = [select(moved, there[k+1], there[k]) for k in range(3)]
        first_there, second_there = self.register("first_there"), self.register("second_there")
        m.d.sync += [
            first_there.eq(select(pop, known[1], known[0])),
            second_there.eq(select(pop, known[2], known[1])),
            self.adopt(o.valid).eq(select(pop, second_there, first_there)),
            self._next.eq(self._coming_next),
        ]
        self._give_credit(first.newest)
        if_pop, if_not = next_flips(self._next), flips(self._next)
        for bit in range(NUMBER_WIDTH):
            m.d.sync += self._flips[bit].eq(select(pop, second_there & if_pop[bit], first_there & if_not[bit]))

    def _give_credit(self, newest: Value) -> None:
        """Be ready in the cycle after the next, if few enough beats are outstanding."""
        low, high = 2, NUMBER_WIDTH - 2
        spread = self.register("spread", low), self.register("spread_high", high)
        borrow, ready = self.register("spread_borrow"), self.register("ready")
        # One less than the beats outstanding.
        differences = [
            minus(newest[:low], self._next[:low]),
            minus(newest[low:], self._next[low:]),
        ]
        self.m.d.sync += Cat(spread[0], borrow, spread[1]).eq(
            Cat(differences[0], differences[1][:high])
        )
        whole = Cat(spread[0], minus(spread[1], borrow)[:high])
        self.m.d.sync += ready.eq(Cat(whole == n for n in (*range(MOST_STAGES + 1), 31)).any())
        self.m.d.comb += self._i.ready.eq(ready)
