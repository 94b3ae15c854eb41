"""The documented timing of the components, for any specification of what they do.

A specification says in the cycle in which it ``accept``s an ``item`` what this gives: ``end``, if
the item ``ends`` a result; and before it ``cut``, if the item ``cuts`` one that was unfinished. Its
``results`` are these two, each with more about it if there is more to say. One of the other kind
has one result, that of an ``item`` with an ``index``, and says whether it ``finishes`` the item. A
timing model says from when a result is at the output. Together they say every pin in every cycle.
"""

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import (
    Cat,
    Const,
    Elaboratable,
    Module,
    Mux,
    Shape,
    Signal,
    Value,
    unsigned,
)
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .bench import Bench, accepts, gives, input_of, output_of, waits

DECODER_STAGES = 6
"""Between the input and the output buffer of the pipelined decoder."""


class Timing(Elaboratable):
    """What the pins of a component must be.

    Parameters
    ----------
    b : Bench
        Where.
    design : Component
        Whose pins.
    specification : Elaboratable
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
    """

    ready: Value
    valid: Value
    result: Value
    known: Value
    backlog: Value

    def __init__(self, b: Bench, design: Any, specification: Any, heeds: Value | None) -> None:
        self._design = design
        self.specification = specification
        self._begins_known = heeds is None
        self._heeds = Value.cast(1) if heeds is None else heeds
        b.m.submodules += self

    @classmethod
    def component(cls, b: Bench, specification: Any) -> Any:
        """A component whose pins are always what they must be."""
        return _Reference(b, cls, specification)

    @property
    def p(self) -> Any:
        """The payload at the output, if it is known and valid."""
        return data.View(self.specification.o_layout, self.result[: len(output_of(self._design))])

    @property
    def more(self) -> Value:
        """What the specification has to say of it beside the payload."""
        return self.result[len(output_of(self._design)) :]

    @property
    def wrong(self) -> Value:
        """The pins are something else."""
        o = self._design.o
        payloads = output_of(self._design) != Value.cast(self.p)
        wrong = self._design.i.ready != self.ready
        wrong |= self.known & (o.valid != self.valid)
        return wrong | self.known & self.valid & payloads

    _shown: "_Place"

    def _place(self, name: str) -> "_Place":
        return _Place(name, len(self.specification.results[0]), self._begins_known)

    def _buffer(self, m: Module, enable: Value, last: "_Place") -> None:
        """An output buffer of two entries, the first one ``_shown``, behind the last stage."""
        shown, behind, holds = self._shown, self._place("behind"), waits(self._design)
        with m.If(enable & holds):
            m.d.sync += behind.set(*last)
        with m.Elif(enable):
            m.d.sync += shown.set(*last)
        with m.Elif(~holds):
            m.d.sync += [*shown.set(*behind), *behind.set(1, 0, behind.result)]


class _Reference(wiring.Component):
    """A component whose pins are what a specification and a timing model say."""

    i: Any
    o: Any

    def __init__(self, b: Bench, timing: Any, specification: Any) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(specification.i_layout)),
                "o": Out(stream.Signature(specification.o_layout)),
            }
        )
        self.profile = b.profile
        self.expected = timing(b, self, specification)

    def elaborate(self, platform: Any) -> Module:
        m, expected = Module(), self.expected
        m.d.comb += [
            self.i.ready.eq(expected.ready),
            self.o.valid.eq(expected.valid),
            output_of(self).eq(expected.result),
        ]
        return m


class _Place:
    """A place for a result, which may be known to be empty."""

    def __init__(self, name: str, width: int, begins_known: bool) -> None:
        self.known = Signal(name=f"{name}_known", init=begins_known)
        self.valid = Signal(name=f"{name}_valid")
        self.result = Signal(width, name=name)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.known, self.valid, self.result))

    def set(self, *fields: Any) -> list[Any]:
        return [register.eq(value) for register, value in zip(self, fields, strict=True)]


class ElasticTiming(Timing):
    """Of an elastic pipeline.

    Items pass through stages, are then taken by the specification, and its results pass through two
    more, and an output buffer of two entries. All stages are stalled in the cycle after one in
    which the output waits. An item that is accepted then goes to a skid register before the first
    stage, and so does the next one, behind it, as long as there is one in every cycle.

    Parameters
    ----------
    stages : int
        How many stages there are.
    """

    def __init__(
        self,
        b: Bench,
        design: Any,
        specification: Any,
        heeds: Value | None = None,
        *,
        stages: int = DECODER_STAGES,
    ) -> None:
        super().__init__(b, design, specification, heeds)
        self._stages = stages
        self._enable = Signal(init=heeds is not None)
        self.backlog = Signal() if self._begins_known else design.skid_taken
        self._shown = self._place("shown")
        self.known, self.valid, self.result = self._shown
        self.ready = design.o.ready | (self._enable & ~self.backlog)
        self._backlog_next = accepts(design) & (self.backlog | ~self._enable)
        if not self._begins_known:
            second_or_later = b.since(Value.cast(1))
            self._third_or_later = b.before(second_or_later)
            self._second_cycle = second_or_later & ~self._third_or_later
            self._told_otherwise = self.backlog != b.before(self._backlog_next)

    @property
    def wrong(self) -> Value:
        wrong = super().wrong
        return wrong if self._begins_known else wrong | self._third_or_later & self._told_otherwise

    def elaborate(self, platform: Any) -> Module:
        m, design, enable = Module(), self._design, self._enable
        m.submodules.specification = specification = self.specification
        own, cut = specification.results
        m.d.sync += enable.eq(~waits(design))

        # What moves is an item, whether there is one, and whether that is known.
        offered = Cat(input_of(design), accepts(design), self._heeds)
        skid = Signal.like(offered)
        m.d.sync += skid.eq(offered)
        if self._begins_known:
            m.d.sync += self.backlog.eq(self._backlog_next)
        item: Any = Mux(self.backlog, skid, offered)
        for number in range(self._stages - 2):
            if number == 1 and not self._begins_known:
                # Did the item of the first cycle enter in it? Not if it is in the skid register.
                item = Cat(item[:-1], item[-1] & ~(self._second_cycle & self.backlog))
            stage = Signal(len(offered), init=int(self._begins_known) << len(offered) - 1)
            with m.If(enable):
                m.d.sync += stage.eq(item)
            item = stage
        valid, known = item[-2], item[-1]
        m.d.comb += [
            specification.accept.eq(valid & known & enable),
            specification.item.eq(item[:-2]),
        ]
        decided, made = map(self._place, ("decided", "made"))
        with m.If(enable):
            m.d.sync += [
                *decided.set(known, specification.ends, own),
                *made.set(
                    decided.known & known,
                    decided.valid | specification.cuts,
                    Mux(decided.valid, decided.result, cut),
                ),
            ]
        self._buffer(m, enable, made)
        return m


class CompactTiming(Timing):
    """Of one register stage between input and output.

    Nothing moves while the output waits. In any other cycle the output register takes the next
    result. If an item cuts one and ends another, the latter waits behind it for a cycle, and so do
    those of the items that come then, as long as each of them ends one.
    """

    def __init__(
        self, b: Bench, design: Any, specification: Any, heeds: Value | None = None
    ) -> None:
        super().__init__(b, design, specification, heeds)
        self._shown, self._behind = self._place("shown"), self._place("behind")
        self._exact = Signal(init=self._begins_known)  # what comes next is known
        self._sure: Value = self._exact
        self._first = Signal()  # only of the item just accepted is it known what it gives
        self.backlog = self._behind.valid
        self.known, self.valid, self.result = self._shown
        if not self._begins_known:
            # Whether something was cut, which is not known, is told by where the result is.
            held = Value.cast(design.state) >= design.State.HELD.value  # what is above, too
            self._sure = self._exact | (b.since(self._heeds) & ~held)
            follows = self._first & ~held & self._behind.valid
            self.backlog = self._behind.valid & ~follows
            self.known, self.valid = self.known | follows, self.valid | follows
            self.result = Mux(follows, self._behind.result, self.result)
        self.ready = ~waits(design)

    def elaborate(self, platform: Any) -> Module:
        m, design, behind = Module(), self._design, self._behind
        m.submodules.specification = specification = self.specification
        own, cut = specification.results
        m.d.comb += [
            specification.accept.eq(accepts(design) & self._heeds),
            specification.item.eq(input_of(design)),
        ]
        first = specification.accept & ~self._sure
        cuts, ends = specification.cuts, specification.ends
        next_result = Mux(cuts, cut, own)
        with m.If(~waits(design)):
            m.d.sync += [
                self._first.eq(first),
                self._exact.eq(self._sure | first),
                *self._shown.set(
                    self._sure,
                    self.backlog | cuts | ends,
                    Mux(self.backlog, behind.result, next_result),
                ),
                *behind.set(1, ends & (self.backlog | cuts | first), own),
            ]
        return m


class SerialTiming(Timing):
    """Of a pipeline in which one stage, *send*, gives the results of an item.

    It is enabled in every cycle but the first, and those after a cycle in which the output waits.
    In an enabled cycle a result goes from *send* through two stages to an output buffer of two
    entries. If *send* is empty or has an item's last result, what is offered, an item or nothing,
    is taken, and what is in the three stages before *send* moves on.
    """

    stages, places, latency = 4, 4, 7

    def __init__(
        self, b: Bench, design: Any, specification: Any, heeds: Value | None = None
    ) -> None:
        super().__init__(b, design, specification, heeds)
        self._enable, self._sends = Signal(), Signal()
        self._shown = self._place("shown")
        self.known, self.valid, self.result = self._shown
        self.ready = self._enable & (~self._sends | specification.finishes)

    def elaborate(self, platform: Any) -> Module:
        m, design, specification = Module(), self._design, self.specification
        m.submodules.specification = specification
        m.d.sync += self._enable.eq(~waits(design))
        item: Any = Cat(input_of(design), design.i.valid)
        with m.If(self.ready):
            for _ in range(4):
                stage = Signal.like(item)
                m.d.sync += stage.eq(item)
                item = stage
        m.d.comb += Cat(specification.item, self._sends).eq(item)
        chosen, formed = map(self._place, ("chosen", "formed"))
        with m.If(self._enable):
            m.d.sync += [
                specification.index.eq(Mux(self.ready, 0, specification.index + 1)),
                *chosen.set(1, self._sends, *specification.results),
                *formed.set(*chosen),
            ]
        self._buffer(m, self._enable, formed)
        return m


class CompactSerialTiming(Timing):
    """Of a register that holds an item until the last of its results is taken, one in a cycle."""

    stages, places, latency = 1, 0, 1

    def __init__(
        self, b: Bench, design: Any, specification: Any, heeds: Value | None = None
    ) -> None:
        super().__init__(b, design, specification, heeds)
        self.valid, self.known = Signal(), Value.cast(1)
        [self.result] = specification.results
        self.ready = ~self.valid | (design.o.ready & specification.finishes)

    def elaborate(self, platform: Any) -> Module:
        m, design, specification = Module(), self._design, self.specification
        m.submodules.specification = specification
        item = Signal.like(specification.item)
        m.d.comb += specification.item.eq(item)
        with m.If(accepts(design)):
            m.d.sync += [item.eq(input_of(design)), self.valid.eq(1), specification.index.eq(0)]
        with m.Elif(gives(design)):
            m.d.sync += self.valid.eq(~specification.finishes)
            m.d.sync += specification.index.eq(specification.index + 1)
        return m


class Passing(Elaboratable):
    """The specification of what passes on every item, of any layout, as it is."""

    def __init__(self, layout: Any) -> None:
        self.i_layout = self.o_layout = layout
        self.accept, self.item = Signal(), Signal(Shape.cast(layout).width)
        self.cuts, self.ends = Const(0), self.accept
        self.results = self.item, self.item

    def elaborate(self, platform: Any) -> Module:
        return Module()


class Repeating(Elaboratable):
    """The specification of what gives every item any number of times, up to a most."""

    def __init__(self, b: Bench, layout: Any, most: int) -> None:
        self.i_layout = self.o_layout = layout
        self.item, self.index = Signal(Shape.cast(layout).width), Signal(3)
        self.finishes = b.free(1, "finishes") | (self.index == most - 1)
        self.results = (Cat(self.item, self.finishes, self.index),)

    def elaborate(self, platform: Any) -> Module:
        return Module()


BEFORE, WATCHED, BEHIND = range(3)
"""What an item is if any one of those that are accepted is watched."""


class Watch:
    """The documented timing, and any one of the items that are accepted.

    Parameters
    ----------
    b : Bench
        Where.
    name : str
        Of the component.
    specification : Elaboratable
        What passes on items of two bits.

    Attributes
    ----------
    component : Component
        With that specification and timing. Its items are ``BEFORE``, ``WATCHED``, or ``BEHIND``.
    enters, arrives : Value
        The one that is watched is accepted; its last result is taken.
    """

    def __init__(self, b: Bench, name: str, specification: Any) -> None:
        item = Signal(2)
        self.component = component = b.reference(name, specification, {"i.payload": item})
        self.enters = accepts(component) & (item == WATCHED)
        b.m.d.comb += item.eq(Mux(b.since(self.enters), BEHIND, b.free(1, "watch")))
        finishes = component.expected.more[:1].all()  # always, if an item has one result
        self.arrives = gives(component) & (output_of(component) == WATCHED) & finishes


def in_order(b: Bench, name: str, specification: Any = None) -> Any:
    """Every item that is accepted gets to the specification, and its result to the output: none is
    lost, changed or overtaken, under any stalls."""
    watch = Watch(b, name, specification or Passing(unsigned(2)))
    component, arrived = watch.component, b.since(watch.arrives)
    item, result = input_of(component), output_of(component)
    first = ~b.since(accepts(component) & (item == BEFORE))
    allowed = Mux(arrived, result == BEHIND, (result == WATCHED) | ((result == BEFORE) & ~first))
    b.never(gives(component) & ~allowed, watch.arrives & ~b.since(watch.enters))
    b.reaches("an item that arrives behind another one", ~first & watch.arrives)
    b.reaches("an item behind it", arrived & gives(component))
    return component
