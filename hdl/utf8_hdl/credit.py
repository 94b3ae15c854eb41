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

from amaranth.hdl import Cat, Module, Signal, Value
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
        # The number of the beat that is the next to go to the output register; and one more.
        self._next = self.adopt(Signal(NUMBER_WIDTH, name="next", init=1))
        self._second = self.adopt(Signal(NUMBER_WIDTH, name="second", init=2))
        self._fresh = self.register("fresh")  # it is in the memory
        self._moves = self._fresh & (~o.valid | o.ready)
        self._coming_valid = self._fresh | (o.valid & ~o.ready)
        # Which bits of the number change in this cycle: in any case, and if the output is taken.
        # So a copy of a bit is one lookup table, and only `ready` has a long way to it.
        self._flips = self.register("flips", NUMBER_WIDTH)
        self._flips_if_ready = self.register("flips_if_ready", NUMBER_WIDTH)
        if_ready = self._flips_if_ready & o.ready.replicate(NUMBER_WIDTH)
        self._coming_next = self._next ^ (self._flips | if_ready)

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

    def _store(self, step: Step, value: Value) -> Signal:
        m, name = self.m, f"chunk_{self._chunks}"
        self._chunks += 1
        heading = f"Memory and output register, {name}"
        end = Section(m, heading)
        # What is read of a place in the cycle in which it is written is not used.
        attributes = {"stage": heading, "ramstyle": "no_rw_check"}
        table = memory.Memory(shape=len(value), depth=PLACES, init=[], attrs=attributes)
        m.submodules[f"{name}_memory"] = table
        write, read = table.write_port(), table.read_port(domain="comb")
        address = range(len(write.addr))

        def copy(of: str, coming: Value) -> Signal:
            """A register of this chunk's own; synthesis would make one of equal registers."""
            register = end.register(f"{name}_{of}", len(coming))
            m.d.sync += register.eq(coming | (coming & register))
            return register

        full = copy("full", self._coming_valid)
        output = end.register(name, len(value), reset_less=True)
        m.d.comb += [
            write.en.eq(copy("writes", step.next_valid)),
            write.addr.eq(copy("place", step.next_newest[: len(address)])),
            write.data.eq(value),
            read.addr.eq(copy("next", self._coming_next[: len(address)])),
        ]
        with m.If(~full | self._o.ready):
            m.d.sync += output.eq(read.data)
        return output

    def finish(self) -> None:
        """Let beats in while there is credit, and out in order.

        No register here is behind more than two lookup tables. So it is compared a cycle early
        whether a beat is there, with each of the numbers that may be the next then.
        """
        m, o, moves = self.m, self._o, self._moves
        first, *_, before_last, _ = self._steps
        assert 2 <= len(self._steps) <= MOST_STAGES
        arrived = before_last.newest  # in the last stage in the next cycle, in the memory then
        after_arrived = self.adopt(Signal(NUMBER_WIDTH, name="after_arrived", init=1))
        there = [self.register(f"there_{n}") for n in range(3)]
        moved = self.register("moved")
        # Whether a beat is there in the next cycle, if one moves in this one and if none does.
        there_if_moves = select(moved, there[2], there[1])
        there_if_not = select(moved, there[1], there[0])
        of_next, of_second = (self.register(f"flips_{n}", NUMBER_WIDTH) for n in ("next", "second"))
        m.d.sync += [
            self._next.eq(self._coming_next),
            # From one number only: else two that do not fit each other would never do so.
            self._second.eq(select(moves, up(up(self._next)), up(self._next))),
            of_next.eq(select(moves, flips(self._second), flips(self._next))),
            of_second.eq(select(moves, next_flips(self._second), flips(self._second))),
            moved.eq(moves),
            after_arrived.eq(up(before_last.next_newest)),
            there[0].eq(after_arrived != self._next),
            there[1].eq(arrived != self._next),
            there[2].eq(arrived != self._second),
            self._fresh.eq(select(moves, there_if_moves, there_if_not)),
            self.adopt(o.valid).eq(self._coming_valid),
        ]
        self._give_credit(first.newest)
        for bit in range(NUMBER_WIDTH):
            if_moves = there_if_moves & of_second[bit]
            if_not = there_if_not & of_next[bit]
            m.d.sync += [
                self._flips_if_ready[bit].eq(select(moves, if_moves, if_not)),
                self._flips[bit].eq(if_not & ~self._coming_valid),
            ]

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
