"""The documented timing of the components, for any functional specification.

In the cycle in which a specification ``accept``s an ``item``, it has up to two results: ``cut`` if
the item ``cuts`` an unfinished result, then ``end`` if the item ``ends`` a result. ``results`` is
``end`` and ``cut``, each extended by further fields if needed. A specification of the other kind
has one result, for an ``item`` and an ``index``; ``finishes`` marks the last result of the item. A
timing model defines the cycle in which a result appears at the output. Specification and timing
model together define every pin in every cycle.
"""

from itertools import pairwise
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, unsigned

from .bench import Bench, accepts, delayed, gives, input_of, memory, output_of, waits


class Timing:
    """The expected values of a component's pins.

    - ``heeds``: high from the first item on whose results are known, for a design with any register
      contents at first. The model then reads registers of the design, to detect an item or a result
      that the pins do not show for a long time. None for a design that begins in the initial state.
    - ``wrong``: true if the pins differ from the expected values.
    """

    #: The expected values; those of ``valid`` and ``result`` only if ``known``. The result is that
    #: of the specification, and begins with the output's payload.
    ready: Value
    valid: Value
    result: Value
    #: True if ``valid`` and ``result`` are known.
    known: Value
    #: True if the design holds an item or a result that another one has delayed.
    backlog: Value
    _backlog_wrong: Value = Const(0)

    @classmethod
    def most_held(cls) -> int:
        """Maximum number of outputs that the registers of the design can hold."""
        raise NotImplementedError

    @classmethod
    def drain_cycles(cls) -> int:
        """Number of cycles without input and with a ready consumer that empty the design."""
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
        self.wrong = self._backlog_wrong | (design.i.ready != self.ready) | (self.known & offers)

    def _describe(self, b: Bench, m: Module, design: Any, specification: Any) -> None:
        """Assign the attributes."""
        raise NotImplementedError

    def _running(self, m: Module) -> Value:
        """False in the first cycle after reset.

        Always true if the registers may have any contents at first: that cycle is then unknown.
        """
        return delayed(m, Const(1)) if self._begins_known else Const(1)

    @property
    def more(self) -> Value:
        """The fields of the result after the payload."""
        return self.result[self._payload_width :]

    def _place(self, name: str) -> "_Place":
        known = Signal(name=f"{name}_known", init=self._begins_known)
        result = Signal(len(self.specification.results[0]), name=name)
        return _Place(known, Signal(name=f"{name}_valid"), result)

    def _shows_buffer(self, m: Module, enable: Value, last: "_Place") -> None:
        """Output the first of the two entries of a buffer after the last stage."""
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
    """Registers for a result, which may be known to be empty.

    With a single signal for all fields, proofs run several times as long.
    """

    known: Signal
    valid: Signal
    result: Signal

    def takes(self, *fields: Any) -> list[Any]:
        return [register.eq(value) for register, value in zip(self, fields, strict=True)]


class ElasticTiming(Timing):
    """The timing of an elastic pipeline.

    Items pass through stages and enter the specification. Its results pass through two more stages
    and an output buffer of two entries. All stages stall in the cycle after one in which the output
    stalls. An item that is accepted in a cycle with stalled stages is in a skid register before the
    first stage until the stages advance; no other item is accepted meanwhile.
    """

    stages = 6
    """Stages between the input and the output buffer."""

    @classmethod
    def most_held(cls) -> int:
        """One in each stage, two in the output buffer, one in the skid register."""
        return cls.stages + 3

    @classmethod
    def drain_cycles(cls) -> int:
        """One more than the outputs: all stages may be stalled in the first cycle."""
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
            self._backlog_wrong = third_or_later & (self.backlog != b.before(backlog_next))

        # The stages hold an item, its valid bit, and a flag that both are known.
        offered = Cat(input_of(design), accepts(design), self._heeds)
        skid = Signal.like(offered)
        with m.If(design.i.ready):
            m.d.sync += skid.eq(offered)
        item: Any = Mux(self.backlog, skid, offered)
        for number in range(self.stages - 2):
            if number == 1:
                # The item of the first cycle did not enter if it is in the skid register.
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
    """The timing of one register stage between input and output.

    No item is accepted in the first cycle. Nothing moves while the output stalls. In any other
    cycle the output register loads the next result. If an item cuts a result and ends another one,
    the latter is delayed by a cycle. So are the results of the next items, as long as an item ends
    a result in each cycle.
    """

    @classmethod
    def most_held(cls) -> int:
        """One in the output register, and one that the state delays."""
        return 2

    @classmethod
    def drain_cycles(cls) -> int:
        """One cycle for each output, and the cycle in which no item is accepted."""
        return 3

    def _describe(self, b: Bench, m: Module, design: Any, specification: Any) -> None:
        shown, behind = self._place("shown"), self._place("behind")
        exact = Signal(init=self._begins_known)  # the following results are known
        was_first = Signal()  # the item just accepted is the first known item
        sure: Value = exact
        follows: Value = Const(0)
        if not self._begins_known:
            # Only the state shows if the first known item cut a result: its own is then delayed.
            held = Value.cast(design.state) >= design.State.HELD.value  # or an unused code above
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
    """The timing of a free-running pipeline with credit.

    Items advance in every cycle, through all stages and into a memory. Each of the ``parts`` of the
    result is stored after the stage in which it is known. Each item carries its number, which is
    its address in the memory. An item may be accepted if the memory has an entry for it in addition
    to the items that were outstanding two cycles before and those that could be accepted since.
    """

    #: An invariant, which a proof need not find if the property states it. The items not taken that
    #: have passed a stage are at most as many as those that have passed the stage before, and at
    #: most as many as the entries of the memory. The number of outstanding items rises by at most
    #: one, and only after a cycle with a high ``ready``. ``ready`` is high only if the memory has a
    #: free entry.
    in_order: Value

    stages = 2
    places = 16
    room = 16
    """Maximum number of outstanding items."""

    @classmethod
    def most_held(cls) -> int:
        """One in each stage, and the maximum that a wrong number in a register may claim.

        The decoder has seven stages, and needs ten: proved with 8 lanes, where nine are refuted.
        """
        return 2 * cls.places + max(cls.stages, 10)

    @classmethod
    def drain_cycles(cls) -> int:
        """Credit follows some cycles after all items have left."""
        return cls.most_held() + 7

    def _describe(self, b: Bench, m: Module, design: Any, specification: Any) -> None:
        accepted_now, given_now = self._heeds & accepts(design), self._heeds & gives(design)
        m.d.comb += [
            specification.accept.eq(accepted_now),
            specification.item.eq(input_of(design)),
        ]
        # The numbers of the newest accepted item and of the next item at the output. After each
        # stage: a valid bit, and the number of the newest item so far.
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
        """The number of items, up to the one with ``number``, that were not taken."""
        return (number + 1 - following)[: len(following)]


class SerialTiming(Timing):
    """The timing of a pipeline in which one stage, *send*, produces the results of an item.

    It is enabled in every cycle except the first and those after a cycle in which the output
    stalls. In enabled cycles, results advance from *send* through two stages to an output buffer of
    two entries. If *send* is empty or has an item's last result in an enabled cycle, the three
    stages before *send* advance, and the first one loads the input, an item or none.
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
    """The timing of a register that holds an item until its results are taken, one per cycle."""

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
    """The specification of a component that passes items of any layout unchanged."""

    def __init__(self, layout: Any) -> None:
        self.i_layout = self.o_layout = layout
        self.accept, self.item = Signal(), Signal(Shape.cast(layout).width)
        self.cuts, self.ends = Const(0), self.accept
        self.results = self.item, self.item

    def parts(self, m: Module, stages: int) -> list[tuple[Value, int]]:
        """For stages before a memory: one bit is known in the first, the others in the last."""
        return [(delayed(m, self.item[:1]), 1), (delayed(m, self.item[1:], stages), stages)]


class Cutting(Passing):
    """The specification of a component that outputs each item once: at once, or when it is cut.

    The next item cuts it. So an item produces no result, one or two, as a byte in the decoder.
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
    """The specification of a component that outputs an item 1 to ``most`` times."""

    def __init__(self, b: Bench, layout: Any, most: int) -> None:
        self.i_layout = self.o_layout = layout
        self.item, self.index = Signal(Shape.cast(layout).width), Signal(3)
        self.finishes = b.free(1, "finishes") | (self.index == most - 1)
        self.results = (Cat(self.item, self.finishes, self.index),)


BEFORE, WATCHED, BEHIND, NEAR = range(4)
"""Payloads of items when any one accepted item is watched: of earlier items, some of which may be
marked ``NEAR``, of the watched item, and of later items."""


def watch(
    b: Bench, name: str, specification: Any, near: Value | None = None
) -> tuple[Any, Value, Value]:
    """Put the documented timing on the bench, with items of two bits, any one of which is watched.

    Returns the component, and two values: the watched item is accepted; its last result is taken.
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
    """Every accepted item reaches the specification, and its result reaches the output: none is
    lost, changed or overtaken, under any stalls. An item has its result at once, or the next item
    cuts it, so one item may produce two results."""
    specification = specification or Cutting(b, unsigned(2))
    component, enters, arrives = watch(b, name, specification)
    item, result = input_of(component), output_of(component)
    first, arrived = ~b.since(accepts(component) & (item == BEFORE)), b.since(arrives)
    allowed = Mux(arrived, result == BEHIND, (result == WATCHED) | ((result == BEFORE) & ~first))
    b.never(gives(component) & ~allowed, arrives & ~b.since(enters))
    b.reaches("an item that arrives behind another one", ~first & arrives)
    b.reaches("an item behind it", arrived & gives(component))
    return component
