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

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import memory

from .elastic import Section

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
        self._following = self.adopt(Signal(NUMBER_WIDTH, name="following", init=1))
        self._fresh = self.register("fresh")  # it is in the memory
        self._load = self._fresh & (~o.valid | o.ready)

    def step(self, name: str, what: str) -> Step:
        """The next stage, and what happens in it, for the heading."""
        heading = f"Stage {len(self._steps) + 1}, {name}: {what}"
        previous = self._steps[-1] if self._steps else None
        step = Step(self.m, name, heading, previous)
        if previous:
            step.next_valid, step.next_newest = previous.valid, previous.newest
        else:
            step.next_valid = self._i.valid & self._i.ready
            step.next_newest = (step.newest + step.next_valid)[:NUMBER_WIDTH]
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
        end = Section(m, f"Memory and output register, {name}")
        table = memory.Memory(
            shape=len(value), depth=PLACES, init=[], attrs={"ram_style": "distributed"}
        )
        m.submodules[name] = table
        write, read = table.write_port(), table.read_port(domain="comb")
        address = range(len(write.addr))

        def copy(of: str, coming: Value) -> Signal:
            """A register of this chunk's own; synthesis would make one of equal registers."""
            register = end.register(f"{name}_{of}", len(coming))
            m.d.sync += register.eq(coming | (coming & register))
            return register

        following = (self._following + self._load)[: len(address)]
        full = copy("full", self._fresh | (self._o.valid & ~self._o.ready))
        output = end.register(name, len(value), reset_less=True)
        m.d.comb += [
            write.en.eq(copy("writes", step.next_valid)),
            write.addr.eq(copy("place", step.next_newest[: len(address)])),
            write.data.eq(value),
            read.addr.eq(copy("next", following)),
        ]
        with m.If(~full | self._o.ready):
            m.d.sync += output.eq(read.data)
        return output

    def finish(self) -> None:
        """Let beats in while there is credit, and out in order."""
        m, i, o = self.m, self._i, self._o
        newest, (*_, last) = self._steps[0].newest, self._steps
        assert 2 <= len(self._steps) <= MOST_STAGES
        after_last = self.adopt(Signal.like(newest, name="after_last", init=1))
        spread = self.adopt(Signal.like(newest, name="spread", init=-1))
        ready = self.register("ready")
        m.d.sync += [
            self._following.eq(self._following + self._load),
            after_last.eq(last.next_newest + 1),
            # Whether there is one behind the beat that moves to the output register, or that beat.
            self._fresh.eq(
                Mux(self._load, last.newest != self._following, after_last != self._following)
            ),
            self.adopt(o.valid).eq(self._fresh | (o.valid & ~o.ready)),
            spread.eq(newest - self._following),  # one less than the beats outstanding
            ready.eq((spread <= MOST_STAGES) | spread.all()),
        ]
        m.d.comb += i.ready.eq(ready)
