"""The documented timing of the components, for any specification of what they do.

A specification says in the cycle in which it ``accept``s an ``item`` what this gives: ``end``, if
the item ``ends`` a result; and before it ``cut``, if the item ``cuts`` one that was unfinished. Its
``results`` are these two, each with more about it if there is more to say. One of the other kind
has one result, that of an ``item`` with an ``index``, and says whether it ``finishes`` the item. A
timing model says from when a result is at the output. Together they say every pin in every cycle.
"""

from itertools import pairwise
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, unsigned

from .bench import Bench, accepts, delayed, gives, input_of, memory, output_of, waits


class Timing:
    """What the pins of a component must be.

    Parameters
    ----------
    b : Bench
        Where.
    design : Component
        Whose pins.
    specification : object
        What its input gives.
    heeds : Value or None
        From which item on anything is known, for a design whose registers may hold anything. None
        for one that begins in the initial state. Of the former it is told by the design itself
        whether there is an item, or a result, that its pins do not show for long.

    Attributes
    ----------
    ready, valid, result : Value
        What the pins must be, the latter two if they are ``known``. The result is what the
        specification says, which begins with the output's payload.
    known : Value
        Whether they are.
    backlog : Value
        Whether something is there that another item or result has kept back.
    wrong : Value
        The pins are something else.
    """

    ready: Value
    valid: Value
    result: Value
    known: Value
    backlog: Value
    _told_wrong: Value = Const(0)

    @classmethod
    def most_held(cls) -> int:
        """How many outputs the registers of the design can hold, whatever is in them."""
        raise NotImplementedError

    @classmethod
    def drain_cycles(cls) -> int:
        """In how many cycles, without an input and with a ready consumer, it becomes empty."""
        raise NotImplementedError

    def __init__(self, b: Bench, design: Any, specification: Any, heeds: Any = None) -> None:
        self.design = design
        self.specification = specification
        self._begins_known = heeds is None
        self._heeds = Value.cast(1) if heeds is None else heeds
        self._describe(b, b.model, design, specification)
        self._payload_width = len(output_of(design))
        payload = self.result[: self._payload_width]
        offers = (design.o.valid != self.valid) | self.valid & (output_of(design) != payload)
        self.wrong = self._told_wrong | (design.i.ready != self.ready) | (self.known & offers)

    def _describe(self, b: Bench, m: Module, design: Any, specification: Any) -> None:
        """Say what the attributes are."""
        raise NotImplementedError

    def _running(self, m: Module) -> Value:
        """Whether it is not the first cycle after reset; of any start it is not known which is."""
        return delayed(m, Const(1)) if self._begins_known else Const(1)

    @property
    def more(self) -> Value:
        """What the specification has to say of the result beside the payload."""
        return self.result[self._payload_width :]

    def _place(self, name: str) -> "_Place":
        known = Signal(name=f"{name}_known", init=self._begins_known)
        result = Signal(len(self.specification.results[0]), name=name)
        return _Place(known, Signal(name=f"{name}_valid"), result)

    def _shows_buffer(self, m: Module, enable: Value, last: "_Place") -> None:
        """At the output is the first of two entries of a buffer behind the last stage."""
        shown, behind = self._place("shown"), self._place("behind")
        holds = waits(self.design)
        with m.If(enable & holds):
            m.d.sync += behind.takes(*last)
        with m.Elif(enable):
            m.d.sync += shown.takes(*last)
        with m.Elif(~holds):
            m.d.sync += [*shown.takes(*behind), *behind.takes(1, 0, behind.result)]
        self.known, self.valid, self.result = shown


class _Place(NamedTuple):
    """A place for a result, which may be known to be empty.

    With all of it in one signal proofs take several times as long.
    """

    known: Signal
    valid: Signal
    result: Signal

    def takes(self, *fields: Any) -> list[Any]:
        return [register.eq(value) for register, value in zip(self, fields, strict=True)]


class ElasticTiming(Timing):
    """Of an elastic pipeline.

    Items pass through stages, are then taken by the specification, and its results pass through two
    more, and an output buffer of two entries. All stages are stalled in the cycle after one in
    which the output waits. An item that is accepted then is in a skid register before the first
    stage until they move, and no other one is accepted meanwhile.
    """

    stages = 6
    """Between the input and the output buffer."""

    @classmethod
    def most_held(cls) -> int:
        """One in each stage, two in the output buffer, one in the skid register."""
        return cls.stages + 3

    @classmethod
    def drain_cycles(cls) -> int:
        """All stages may be stalled in the first cycle."""
        return cls.most_held() + 1

    def _describe(self, b: Bench, m: Module, design: Any, specification: Any) -> None:
        enable = Signal(init=not self._begins_known)
        m.d.sync += enable.eq(~waits(design))
        self.backlog = Signal() if self._begins_known else design.probes.skid_taken
        self.ready = self._running(m) & ~self.backlog
        backlog_next = ~enable & (self.backlog | accepts(design))
        second_cycle: Value = Const(0)
        if self._begins_known:
            m.d.sync += self.backlog.eq(backlog_next)
        else:
            second_or_later = b.since(Const(1))
            third_or_later = b.before(second_or_later)
            second_cycle = second_or_later & ~third_or_later
            self._told_wrong = third_or_later & (self.backlog != b.before(backlog_next))

        # What moves is an item, whether there is one, and whether that is known.
        offered = Cat(input_of(design), accepts(design), self._heeds)
        skid = Signal.like(offered)
        with m.If(design.i.ready):
            m.d.sync += skid.eq(offered)
        item: Any = Mux(self.backlog, skid, offered)
        for number in range(self.stages - 2):
            if number == 1:
                # Did the item of the first cycle enter in it? Not if it is in the skid register.
                item = Cat(item[:-1], item[-1] & ~(second_cycle & self.backlog))
            stage = Signal(len(offered), init=int(self._begins_known) << len(offered) - 1)
            with m.If(enable):
                m.d.sync += stage.eq(item)
            if number == 0:
                with m.Elif(second_cycle & self.backlog):
                    m.d.sync += stage[-1].eq(0)
            item = stage
        valid, known = item[-2], item[-1]
        m.d.comb += [
            specification.accept.eq(valid & known & enable),
            specification.item.eq(item[:-2]),
        ]
        own, cut = specification.results
        decided, made = self._place("decided"), self._place("made")
        result = Mux(decided.valid, decided.result, cut)
        with m.If(enable):
            m.d.sync += [
                *decided.takes(known, specification.ends, own),
                *made.takes(decided.known & known, decided.valid | specification.cuts, result),
            ]
        self._shows_buffer(m, enable, made)


class CompactTiming(Timing):
    """Of one register stage between input and output.

    No item is accepted in the first cycle. Nothing moves while the output waits. In any other
    cycle the output register takes the next result. If an item cuts one and ends another, the
    latter waits behind it for a cycle, and so do those of the items that come then, as long as each
    of them ends one.
    """

    @classmethod
    def most_held(cls) -> int:
        """The output register, and the state that holds a token back."""
        return 2

    @classmethod
    def drain_cycles(cls) -> int:
        """One cycle for each, and the one in which no item is accepted."""
        return 3

    def _describe(self, b: Bench, m: Module, design: Any, specification: Any) -> None:
        shown, behind = self._place("shown"), self._place("behind")
        exact = Signal(init=self._begins_known)  # what comes next is known
        was_first = Signal()  # only of the item just accepted is it known what it gives
        sure: Value = exact
        follows: Value = Const(0)
        if not self._begins_known:
            # Whether something was cut, which is not known, is told by where the result is.
            held = Value.cast(design.state) >= design.State.HELD.value  # what is above, too
            sure = exact | (b.since(self._heeds) & ~held)
            follows = was_first & ~held & behind.valid
        self.backlog = behind.valid & ~follows
        self.known, self.valid = shown.known | follows, shown.valid | follows
        self.result = Mux(follows, behind.result, shown.result)
        self.ready = ~waits(design) & self._running(m)

        own, cut = specification.results
        cuts, ends = specification.cuts, specification.ends
        m.d.comb += [
            specification.accept.eq(accepts(design) & self._heeds),
            specification.item.eq(input_of(design)),
        ]
        first = specification.accept & ~sure
        result = Mux(self.backlog, behind.result, Mux(cuts, cut, own))
        with m.If(~waits(design)):
            m.d.sync += [
                was_first.eq(first),
                exact.eq(sure | first),
                *shown.takes(sure, self.backlog | cuts | ends, result),
                *behind.takes(1, ends & (self.backlog | cuts | first), own),
            ]


class CreditTiming(Timing):
    """Of a pipeline that never stalls, behind credit.

    What an item gives moves on in every cycle, through all stages and into a memory, each of the
    ``parts`` behind the stage in which it is known, and from there to the output. Items have
    numbers. An item's number goes along with it, and is its place in the memory. One may be
    accepted if there is a place for it behind those that were outstanding two cycles before, and
    those that could be accepted since.

    Attributes
    ----------
    in_order : Value
        Behind no stage there are more items that were not taken than in front of it, nowhere more
        than places, and only one more after a cycle in which one could be accepted. That is always
        so. Where it is said, a proof need not find it.
    """

    in_order: Value

    stages = 2
    places = 16
    room = 16
    """The most items outstanding."""

    @classmethod
    def most_held(cls) -> int:
        """One in each stage, and as many as a wrong number in a register may claim."""
        return 2 * cls.places + cls.stages

    @classmethod
    def drain_cycles(cls) -> int:
        """When all have left, credit follows some cycles later."""
        return cls.most_held() + 7

    def _describe(self, b: Bench, m: Module, design: Any, specification: Any) -> None:
        accepted_now, given_now = self._heeds & accepts(design), self._heeds & gives(design)
        m.d.comb += [
            specification.accept.eq(accepted_now),
            specification.item.eq(input_of(design)),
        ]
        # Numbers of the newest item that was accepted, and of the next one to be at the output; and
        # behind each stage whether there is an item, and the number of the newest one so far.
        accepted = Signal(range(2 * self.places))
        following = Signal.like(accepted, init=1)
        newest = (accepted + accepted_now)[: len(accepted)]
        m.d.sync += [accepted.eq(newest), following.eq(following + given_now)]
        behind = [Cat(accepted_now, newest)]
        for _ in range(self.stages + 1):
            behind.append(delayed(m, behind[-1]))

        kept = []
        for part, stage in specification.parts(m, self.stages):
            stored, address = behind[stage][0], behind[stage][1:-1]
            kept.append(memory(m, self.places, stored, address, part)[following[:-1]])
        counts = [self._left(stage[1:], following) for stage in behind]
        self.known, self.valid, self.result = Const(1), counts[-1] != 0, Cat(kept)

        outstanding = self._left(accepted, following)
        ready = Signal()
        before = delayed(m, self._left(accepted + ready, following))
        m.d.sync += ready.eq(self._heeds & (before + ready < self.room))
        self.ready = ready
        self.backlog = Const(0)
        in_order = (later <= count for count, later in pairwise([Const(self.places), *counts]))
        has_place = ~ready | (outstanding < self.places)
        self.in_order = Cat(in_order, outstanding <= before, has_place).all()

    @staticmethod
    def _left(number: Value, following: Value) -> Value:
        """How many items up to a number were not taken."""
        return (number + 1 - following)[: len(following)]


class SerialTiming(Timing):
    """Of a pipeline in which one stage, *send*, gives the results of an item.

    It is enabled in every cycle but the first, and those after a cycle in which the output waits.
    In an enabled cycle a result goes from *send* through two stages to an output buffer of two
    entries. If *send* is empty or has an item's last result, what is offered, an item or nothing,
    is taken, and what is in the three stages before *send* moves on.
    """

    stages, places, latency = 4, 4, 7

    def _describe(self, b: Bench, m: Module, design: Any, specification: Any) -> None:
        enable, sends = Signal(), Signal()
        m.d.sync += enable.eq(~waits(design))
        self.ready = enable & (~sends | specification.finishes)
        item: Any = Cat(input_of(design), design.i.valid)
        with m.If(self.ready):
            for _ in range(4):
                stage = Signal.like(item)
                m.d.sync += stage.eq(item)
                item = stage
        m.d.comb += Cat(specification.item, sends).eq(item)
        chosen, formed = self._place("chosen"), self._place("formed")
        with m.If(enable):
            m.d.sync += [
                specification.index.eq(Mux(self.ready, 0, specification.index + 1)),
                *chosen.takes(1, sends, *specification.results),
                *formed.takes(*chosen),
            ]
        self._shows_buffer(m, enable, formed)


class CompactSerialTiming(Timing):
    """Of a register that holds an item until the last of its results is taken, one in a cycle."""

    stages, places, latency = 1, 0, 1

    def _describe(self, b: Bench, m: Module, design: Any, specification: Any) -> None:
        self.valid, self.known = Signal(), Const(1)
        [self.result] = specification.results
        free = ~self.valid | (design.o.ready & specification.finishes)
        self.ready = free & self._running(m)
        item = Signal.like(specification.item)
        m.d.comb += specification.item.eq(item)
        with m.If(accepts(design)):
            m.d.sync += [item.eq(input_of(design)), self.valid.eq(1), specification.index.eq(0)]
        with m.Elif(gives(design)):
            m.d.sync += self.valid.eq(~specification.finishes)
            m.d.sync += specification.index.eq(specification.index + 1)


class Passing:
    """The specification of what passes on every item, of any layout, as it is."""

    def __init__(self, layout: Any) -> None:
        self.i_layout = self.o_layout = layout
        self.accept, self.item = Signal(), Signal(Shape.cast(layout).width)
        self.cuts, self.ends = Const(0), self.accept
        self.results = self.item, self.item

    def parts(self, m: Module, stages: int) -> list[tuple[Value, int]]:
        """For what has stages before a memory: a bit is known in the first, all in the last."""
        return [(delayed(m, self.item[:1]), 1), (delayed(m, self.item[1:], stages), stages)]


class Cutting(Passing):
    """The specification of what gives each item once: at once, or cut by the next item.

    So an item gives no result, one or two, as a byte does in the decoder.
    """

    def __init__(self, b: Bench, layout: Any) -> None:
        super().__init__(layout)
        unfinished, item = Signal(), Signal.like(self.item)
        self.cuts, self.ends = self.accept & unfinished, self.accept & b.free(1, "ends")
        self.results = self.item, item
        with b.model.If(self.accept):
            b.model.d.sync += unfinished.eq(~self.ends)
            with b.model.If(~self.ends):
                b.model.d.sync += item.eq(self.item)
        b.reaches("an item that gives nothing", self.accept & ~self.cuts & ~self.ends)
        b.reaches("an item with two results", self.cuts & self.ends)


class Repeating:
    """The specification of what gives every item any number of times, up to a most."""

    def __init__(self, b: Bench, layout: Any, most: int) -> None:
        self.i_layout = self.o_layout = layout
        self.item, self.index = Signal(Shape.cast(layout).width), Signal(3)
        self.finishes = b.free(1, "finishes") | (self.index == most - 1)
        self.results = (Cat(self.item, self.finishes, self.index),)


BEFORE, WATCHED, BEHIND, NEAR = range(4)
"""What an item is if any one of those that are accepted is watched. Some before it may be near."""


def watch(
    b: Bench, name: str, specification: Any, near: Value | None = None
) -> tuple[Any, Value, Value]:
    """The documented timing of items of two bits, any one of which is watched.

    What has that timing, when the one that is watched is accepted, and when its last result is
    taken.
    """
    item = Signal(2)
    component = b.reference(name, specification, {"i.payload": item})
    enters = accepts(component) & (item == WATCHED)
    before = BEFORE if near is None else Mux(near, NEAR, BEFORE)
    b.m.d.comb += item.eq(Mux(b.since(enters), BEHIND, Mux(b.free(1, "watch"), WATCHED, before)))
    finishes = component.expected.more[:1].all()  # always, if an item has one result
    arrives = gives(component) & (output_of(component) == WATCHED) & finishes
    return component, enters, arrives


def in_order(b: Bench, name: str, specification: Any = None) -> Any:
    """Every item that is accepted gets to the specification, and its result to the output: none is
    lost, changed or overtaken, under any stalls. It has its result at once, or is cut by the next
    item, so that one item may have two results."""
    specification = specification or Cutting(b, unsigned(2))
    component, enters, arrives = watch(b, name, specification)
    item, result = input_of(component), output_of(component)
    first, arrived = ~b.since(accepts(component) & (item == BEFORE)), b.since(arrives)
    allowed = Mux(arrived, result == BEHIND, (result == WATCHED) | ((result == BEFORE) & ~first))
    b.never(gives(component) & ~allowed, arrives & ~b.since(enters))
    b.reaches("an item that arrives behind another one", ~first & arrives)
    b.reaches("an item behind it", arrived & gives(component))
    return component
