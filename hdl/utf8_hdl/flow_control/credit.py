"""Flow control for wide components: a free-running pipeline with credit.

A clock enable with thousands of loads is slow. So there is none: accepted beats advance in every
cycle, and credit reserves an entry of the output memory for each of them::

                     credit: 16 minus the beats outstanding
           +------------------------------------------------------------+
           v                                                            |
        -------> stage 1 -> stage 2 -> ... -> stage S -> memory ------------>
        i                                              16 entries           o

The golden timing
-----------------
Cycles are counted from 0, the first cycle after reset. A beat is *accepted* if ``i.valid`` and
``i.ready`` are high, and *taken* if ``o.valid`` and ``o.ready`` are high. S is the number of
stages.

1. A beat that is accepted in cycle t appears at the output in cycle t + S + 1, or in the cycle
   after the beat before it is taken, if that is later. It stays until it is taken.
2. A beat is *outstanding* in a cycle if it was accepted in an earlier cycle and not taken in an
   earlier cycle. ``i.ready`` is low in cycle 0 and high in cycle 1. In any later cycle t it is high
   if the number of beats outstanding in cycle t - 2, plus one for each of the cycles t - 2 and
   t - 1 in which ``i.ready`` was high, is at most 15.

Consequences:

- Latency: S + 1 cycles from acceptance to output, not counting cycles in which the output stalls.
- Throughput: one beat per cycle while the consumer is ready, whatever stalls came before, if the
  source has offered one in every cycle. The memory covers the round trip: after a beat is taken in
  cycle t, another one can be accepted in cycle t + 3, and is at the output in cycle t + S + 4. So S
  is at most 12; it is at least 4.
- Nothing is lost: at most 16 beats are outstanding.
- No output depends on an input within a cycle, ``i.ready`` included.

Each beat carries its number. The low bits of the number are its address in the memory. The number
of outstanding beats is always a difference of two beat numbers, so no credit can be lost: from any
register contents, the component works correctly once the pipeline and the memory have drained. A
wrong number in a register may produce up to 32 beats that were never accepted; the docstrings of
the components give the bound.

Components that change the number of beats
------------------------------------------
A component may produce other beats than it accepts, at most one per cycle. Each cycle
t has a *slot* t, which holds the beat accepted in that cycle, if any. A slot produces at most one
beat; an empty slot can produce one, too. Stage G, added by :meth:`Credit.give`, is the first stage
whose ``valid`` and numbers are those of the beats produced. The
memory has two banks of 16 entries, one for even numbers and one for odd numbers, and a register
after each bank. The timing becomes:

1. A beat that is produced in slot t appears at the output in cycle t + S + 2, or in the cycle after
   the beat before it is taken, if that is later.
2. The beats outstanding are those accepted in the last G + 1 cycles, and those produced in an
   earlier slot and not taken. ``i.ready`` is low in cycle 0 and high in cycle 1. In any later cycle
   t it is high if the number of beats outstanding in cycle t - 2, plus one for each of the cycles
   t - 2 and t - 1 in which ``i.ready`` was high, is less than 32 - M. In any sequence of slots, at
   most M more beats are begun than accepted: M is 1 if an incomplete beat is kept until more values
   come, and 2 if a beat is also kept until the next beat of its text comes.

At most 32 beats are begun and not taken, one for each entry. S may be up to 27 - M: then there is a
beat at the output in every cycle again, if the source offers enough. Credit is a sum and a
difference of beat numbers. So from any register contents, the component works correctly once the
pipeline and the memory have drained. A wrong number may produce up to 64 beats that were never
accepted.

A single bank of 32 entries would be slower, because distributed RAM of four-input lookup tables
has 16 entries.
Since beats alternate between the banks, the address of a bank has one more cycle to follow
``o.ready``.
"""

from itertools import pairwise
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import memory

from ..logic import any_of, flips, moved, named, one_of, select, sum_and, unmerged, up
from .stage import Stage

PLACES = 16
"""Entries of a bank: those of distributed RAM of four-input lookup tables."""

PLACE_WIDTH = (PLACES - 1).bit_length()
"""Address width of a bank."""

BEFORE_MEMORY = 4
"""The output control detects an arriving beat this many stages before the memory.

With two banks it is 3, because of the register after each bank.
"""

CHUNK = 160
"""Bits of memory that share address and write-enable registers.

A single register would be far from most of the memory.
"""
SHARING = 4
"""Chunks of memory that share a copy of the number of the beat at the output.

A single register would have a high fan-out and be far from most chunks.
"""


def next_places(number: Value) -> tuple[Value, Value]:
    """Addresses of a beat and the next one: in the even bank, and in the odd bank."""
    place = number[1 : 1 + PLACE_WIDTH]
    return select(number[0], up(place), place), place


def followed(own: Value, now: Value, flips: Value, ready: Value) -> Value:
    """Next value of a copy of the output's number, in which the bits of ``flips`` flip if
    ``ready``.

    A bit that could flip and does not comes from the copy itself. So the copies have different
    logic, and synthesis does not share one lookup table with long wires among them.
    """
    return select(ready, now ^ flips, select(flips, own, now))


class Numbering(NamedTuple):
    """Next value of the number of the newest beat up to a stage's slot.

    It is ``before``, plus 1 if ``counts``.
    """

    before: Value
    counts: Value | None = None

    @property
    def next(self) -> Value:
        """The next value, with plain gates."""
        return (
            self.before
            if self.counts is None
            else select(self.counts, up(self.before), self.before)
        )

    def next_and(self, by: int) -> Value:
        """The next value plus a constant from -4 to 1, in parallel with the increment."""
        return moved(self.before, by, Const(0, 1) if self.counts is None else self.counts)


class Chunk:
    """A slice of the memory, with its own copies of the address registers.

    Parameters
    ----------
    m : Module
        The module of the memory.
    name : str
        Prefix of signal names.
    ready : Value
        ``o.ready``.
    reads : dict of str to (Value, Value)
        For each bank, the read address, and the bits of it that flip in this cycle if ``o.ready``
        is high.
    odd : (Value, Value), optional
        With two banks, the same for the flag that the beat at the output is in the odd bank.
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
        self._reads = {
            bank: self._follow(f"{bank}next", *own, power_up="any") for bank, own in reads.items()
        }
        self._odd = None if odd is None else self._follow("is_odd", *odd)

    def _follow(self, of: str, now: Value, flips: Value, **attrs: str) -> Signal:
        """A copy of a read address, or of the flag that selects the odd bank.

        An address has no initial value in Verilog: the address registers of block RAM have none,
        and a device without distributed RAM uses block RAM.
        """
        own = Signal(len(now), name=f"{self._name}_{of}", reset_less=True, attrs=attrs)
        self.m.d.sync += self._registers.adopt(own).eq(followed(own, now, flips, self._ready))
        return own

    @property
    def reads(self) -> Value:
        """The read addresses, and with two banks the flag that selects the odd one."""
        return Cat(*self._reads.values(), self._odd if self._odd is not None else Const(0, 0))

    def copy(self, of: str, coming: Value, *, reset_less: bool = False) -> Signal:
        """A copy of a register that controls writing: see :meth:`.Stage.copy`."""
        register: Signal = self._registers.copy(of, coming, reset_less=reset_less)
        return register

    def memories(self, values: list[Value], writes: list[Value], places: list[Value]) -> Value:
        """The words at the read address, of the bank that has the beat at the output.

        Each value has a memory in each bank. For each bank, ``writes`` has a write enable for each
        value, and ``places`` has the write address.
        """
        found = []
        for (bank, own), enables, place in zip(self._reads.items(), writes, places, strict=True):
            words = []
            for number, value in enumerate(values):
                name = f"{self._name}_memory{f'_{number}' * (len(values) > 1)}_{bank}".rstrip("_")
                table = memory.Memory(
                    shape=len(value), depth=PLACES, init=[], attrs={"stage": self._heading}
                )
                self.m.submodules[name] = table
                write, read = table.write_port(), table.read_port(domain="comb")
                self.m.d.comb += [
                    write.en.eq(enables[number]),
                    write.addr.eq(place),
                    write.data.eq(value),
                    read.addr.eq(own),
                ]
                words.append(read.data)
            found.append(Cat(words))
        out = f"{self._name}_out"
        if self._odd is None:
            return named(self.m, out, found[0])
        registers = [
            self._registers.signal(f"{bank}read", len(words), reset_less=True)
            for bank, words in zip(self._reads, found, strict=True)
        ]
        self.m.d.sync += [own.eq(words) for own, words in zip(registers, found, strict=True)]
        even, odd = registers
        return named(self.m, out, select(self._odd, odd, even))


class Credit:
    """The flow control of a component between streams ``i`` and ``o``.

    A component calls :meth:`stage` for each stage, and :meth:`store` for the values that are output
    with a beat, in the stage that computes them; at the end, it calls :meth:`finish`. The memory,
    the control and each part of the pipeline are submodules.

    Parameters
    ----------
    m : Module
        The module of the component.
    i, o : stream
        Input and output.
    more : int
        M in the module's docstring. If it is not 0, the component calls :meth:`give`, and the
        memory has two banks.

    Attributes
    ----------
    m : Module
        The submodule of the newest part of the pipeline.
    next : Signal
        Number of the beat at the output, or of the next beat to appear there.
    """

    def __init__(self, m: Module, i: Any, o: Any, *, more: int = 0) -> None:
        self.m = self._component = m
        self._memory, control = Module(), Module()
        heading = "Flow control: which beat is the next to come out, and credit"
        self._control = Stage(control, heading)
        self._i, self._o, self._more = i, o, more
        self._taken = o.valid & o.ready
        self._banks = 2 if more else 1
        self._width = (PLACES * self._banks).bit_length()
        self._stages: list[Stage] = []
        self._numbering: list[Numbering] = []
        self._given: Stage | None = None
        self._chunks: list[Chunk] = []
        # A copy of `i.ready` beside the counters. `i.ready` itself is far away, at the input.
        self._accepts = Signal(name="accepts")
        # The number of the beat at the output and values derived from it; then copies of them.
        self._output = [self._output_registers()]
        self.next = self._output[0]["next"]

    def _output_registers(self, copy: str = "") -> dict[str, Signal]:
        """Registers for the number of the beat at the output, or of the next beat to appear there.

        ``next_flips`` has the bits that flip in this cycle if ``o.ready`` is high; it is zero while
        ``o.valid`` is low. So the next value of a bit is one lookup table, and of its inputs only
        ``ready`` comes from afar. With two banks ``even`` is the address of the next even number;
        that of the next odd number is part of the number itself.
        """
        signal, width = self._control.signal, self._width
        registers = {
            "next": signal(f"head{copy}", width, init=1),
            "next_flips": signal(f"flips_if_ready{copy}", width),
        }
        if self._banks == 2:
            registers["even"] = signal(f"head_even{copy}", PLACE_WIDTH, init=1)
            registers["even_flips"] = signal(f"even_flips_if_ready{copy}", PLACE_WIDTH)
        return registers

    def part(self, name: str) -> None:
        """Begin a part of the pipeline: a submodule of that name has the stages added next."""
        self.m = self._component.submodules[name] = Module()

    @property
    def stages(self) -> int:
        """Number of stages added so far."""
        return len(self._stages)

    def stage(self, name: str, what: str, valid: Value | None = None) -> Stage:
        """Add a stage; ``what`` describes it in its heading.

        Its ``valid`` follows that of the previous stage, or the argument. Its register ``newest``
        is the number of the newest beat accepted up to its slot; from :meth:`give` on, of the
        newest beat produced.
        """
        if self._stages:
            before = self._stages[-1]
            valid = before.valid if valid is None else valid
            return self._new_stage(name, what, valid, Numbering(before["newest"]))
        # The increment uses the clock enable, so only one lookup table precedes the register.
        stage = self._new_stage(name, what, self._i.valid & self._i.ready)
        newest, counts = stage["newest"], self._i.valid & self._accepts
        self._numbering.append(Numbering(newest, counts))
        with stage.m.If(counts):
            stage.m.d.sync += newest.eq(up(newest))
        return stage

    def give(self, name: str, what: str, gives: Value) -> Stage:
        """Add the first stage whose beats and numbers are those that the component produces.

        ``gives`` comes from the previous stage.
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
        stage.m.d.sync += stage["newest"].eq(numbering.next)

    @property
    def astray(self) -> Value:
        """For proofs, with two banks: a copy of `next`, or an address derived from it, is wrong."""
        even, odd = next_places(self.next)
        follow = [chunk.reads != Cat(even, odd, self.next[0]) for chunk in self._chunks]
        for copy in self._output[1:]:
            follow += [copy["next"] != self.next, copy["even"] != even]
        return any_of(follow)

    def store(self, stage: Stage, value: Any) -> Value:
        """Store a value of each beat in the memory; return the value of the beat at the output."""
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
            parts.append(chunk.memories([bits[begin : begin + CHUNK]], writes, places))
        return Cat(parts)

    def chunk(self) -> Chunk:
        """Create a chunk, which reads the entry of the beat at the output, or of the next beat."""
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
        self._chunks.append(Chunk(self._memory, name, self._o.ready, reads, odd))
        return self._chunks[-1]

    def finish(self) -> None:
        """Add the control of the output and of the credit.

        Wires from ``o.ready`` are long, so at most two lookup tables of four inputs may follow it.
        The presence of a beat and the bits that flip are therefore computed some cycles early, for
        each number that may be the next one by then.
        """
        m, o, number = self._control.m, self._o, self.next
        # A taken beat frees an entry: its successor is output `latency` + 3 cycles later.
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
        self._component.submodules.memory = self._memory
        self._component.submodules.flow_control = m

    def _known(self) -> list[Value]:
        """True if a beat is in the memory in the next cycle: for this cycle's number and the two
        numbers after it."""
        was_taken = self._control.signal("was_taken")
        self._control.m.d.sync += was_taken.eq(self._taken)
        # In two cycles, for the number of the last cycle and the three numbers after it.
        there: list[Value] = []
        for ahead, (same, more) in enumerate(pairwise(self._compared())):
            there.append(self._control.signal(f"there_{ahead}"))
            self._control.m.d.sync += there[-1].eq(select(was_taken, more.any(), same.any()))
        return [select(was_taken, more, same) for same, more in pairwise(there)]

    def _comes(
        self, name: str, known: list[Value], own: Value, other: Value
    ) -> tuple[Signal, Signal]:
        """Registers: the next beat is in the memory in the next cycle, and its number has a parity.

        The first register is for the case that no beat is taken in that next cycle, the second one
        for the case that one is. ``own`` is True if this cycle's number has the parity, ``other``
        if the number after it has.
        """
        first, second = (self._control.signal(f"{name}{which}") for which in ("first", "second"))
        self._control.m.d.sync += [
            first.eq(select(self._taken, known[1] & other, known[0] & own)),
            second.eq(select(self._taken, known[2] & own, known[1] & other)),
        ]
        return first, second

    def _flips(self, name: str, counter: Value, own: Value, comes: tuple[Signal, Signal]) -> Value:
        """The bits of a counter that flip in the next cycle if a beat is taken then.

        Taking a beat counts up if its number has a parity. ``own`` is True if this cycle's number
        has that parity, and ``comes`` is of it. In two cycles, the number can have that parity in
        three cases: ``own`` is True and no beat is taken until then, or it is False and one is;
        then the counter is the same. Or ``own`` is True and two are taken; then it is one higher. A
        bit depends on those below it, not on itself: so from any contents, all bits come right, the
        lowest one first.
        """
        width, now, then = len(counter), flips(counter), flips(up(counter))
        same, after = (self._control.signal(f"{name}_{n}", width) for n in ("same", "after"))
        self._control.m.d.sync += [same.eq(now), after.eq(select(own, then, now))]
        first, second = (register.replicate(width) for register in comes)
        return select(self._taken, second & after, first & same)

    def _count_output(self, next_flips: dict[str, Value]) -> None:
        """Assign the next values of the output's registers.

        All of them are derived from `next`, so they recover once it has recovered.
        """
        m, ready, number = self._control.m, self._o.ready, self.next
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
        """For five consecutive numbers, a vector that is not zero if the beat arrives.

        An arriving beat is in the memory in three cycles. The first number is `next` of the
        previous cycle. A result is only used if the beat before the number is in the memory. So
        either that beat is the newest one, or the beat itself has arrived.
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
            self._control.m.d.sync += [arriving.eq(before), found[-1].eq(differs)]
        return found

    def _newest(self) -> Value:
        """The number of the newest beat outstanding.

        If the component produces other beats than it accepts, this counts the beats accepted in the
        last G + 1 cycles, and the beats produced in earlier slots.
        """
        first, last = self._stages[0]["newest"], self._given
        if last is None:
            return first
        names = "given", "newest", "accepted_before"
        given, newest, accepted = (self._control.signal(name, self._width) for name in names)
        before = self._stages[self._stages.index(last) - 1]
        self._control.m.d.sync += [
            accepted.eq(before["newest"]),
            given.eq(last["newest"] - accepted),
            newest.eq(sum_and(first, given, self._i.valid, self._accepts)),
        ]
        return newest

    def _give_credit(self) -> None:
        """Set ``i.ready`` if the memory has room for the beats outstanding and one more.

        Two cycles pass between a count and the ``i.ready`` computed from it. A beat that may be
        accepted in them counts as accepted. So the memory never overflows, and no beat is refused
        without need while the source offers one in every cycle.
        """
        control, most = self._control, PLACES * self._banks - self._more
        # The beats outstanding and the one that may be accepted in this cycle, less 2.
        ready, outstanding = control.signal("ready"), control.signal("outstanding", self._width)
        control.m.d.sync += outstanding.eq(sum_and(self._newest(), ~self.next, ready, Const(1, 1)))
        few = one_of(outstanding, (n % (1 << self._width) for n in range(-2, most - 3)))
        ready_next = few | ((outstanding == most - 3) & ~ready)
        accepts = control.adopt(self._accepts)
        control.m.d.sync += [ready.eq(ready_next), accepts.eq(unmerged(ready_next, accepts))]
        control.m.d.comb += self._i.ready.eq(ready)
