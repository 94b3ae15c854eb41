"""An elastic pipeline with a skid buffer, for any payload and any number of stages.

A component defines its stages. The flow control around them is shared::

              +---------------+
         +--> | skid register | --+
         |    +---------------+   |
        -+------------------------+-> stage 1 -> stage 2 -> ... -> stage N ---+
        i                                                                     |
                                                               +---------+    |
                                                          +--- | entry 0 | <--+
                                                   o <----+    +---------+    |
                                                          +--- | entry 1 | <--+
                                                               +---------+
                                                              output buffer

All stages share a clock enable. It is registered because of its high fan-out: the pipeline stalls
in the cycle *after* one in which the output waits. ``i.ready`` is a register, too. The skid
register holds the item that is accepted before ``i.ready`` falls; the output buffer holds the one
that leaves the last stage.

The golden timing
-----------------
Cycles are counted from 0, the first cycle after reset. The output *waits* in a cycle if ``o.valid``
is high and ``o.ready`` is low. An item is *accepted* if ``i.valid`` and ``i.ready`` are high. The
number of stages N counts *take*, but not the output buffer.

1. Cycle 0 is not enabled. Any other cycle is *enabled* if the output did not wait in the cycle
   before; else it is *stalled*.
2. ``i.ready`` is low in cycle 0, from the first clock edge with reset on, and while the skid
   register is occupied. In any other cycle it is high.
3. An item that is accepted in an enabled cycle *enters* the first stage in this cycle. One that is
   accepted in a stalled cycle is in the skid register from the next cycle on, and enters in the
   next enabled cycle, after which the skid register is empty.
4. It advances by one stage in each further enabled cycle, and into the output buffer in the Nth
   enabled cycle after the one in which it entered. A component may drop items, or combine several
   into one; a stage outputs at most one item in a cycle.
5. An item is at the output in the cycle after it has moved into the output buffer or, if an earlier
   item is still at the output, in the cycle after the transfer of that item. It stays until its own
   transfer.

Consequences:

- Latency: N + 1 cycles from acceptance to output, and one more if the item was in the skid
  register. Cycles in which the output waits are not counted.
- Throughput: one item in every cycle. ``i.ready`` is high two cycles after each cycle in which the
  output did not wait.
- Nothing is lost: the output buffer has room for the item that moves in the cycle in which the
  output begins to wait, and the skid register for the one that is accepted one cycle later.
- ``o.valid`` and ``o.payload`` hold until ``o.ready``. No output depends on an input within a
  cycle. While ``o.valid`` is low the payload is a don't care.
- Reset: control registers are reset, payload registers are not.
- From any register contents, the rules hold for the items that are accepted after the first cycle.
"""

from itertools import count
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from ..logic import select
from .stage import Stage


class Pipeline:
    """Stages with a shared clock enable, between a skid register and an output buffer.

    A stage has a register for each field of a payload, or one called ``payload`` if that has no
    fields. The module's docstring has the timing. A component calls :meth:`take`, then
    :meth:`stage` for each further stage, then :meth:`deliver`::

        pipeline = Pipeline(m, self.o)
        take = pipeline.take(self.i)
        twice = pipeline.stage("twice", "twice the data", take.valid)
        twice.load(data=take["data"] << 1, last=take["last"])
        pipeline.deliver(twice)

    A component that outputs several items for one input has an input stage of its own instead of
    :meth:`take`: the stages upstream of the expansion have another clock enable.

    Parameters
    ----------
    m : Module
        The module of the pipeline.
    o : stream
        The output.

    Attributes
    ----------
    enable : Signal
        The clock enable, for flip-flops.
    stalled : Signal
        Its inverse, for logic. In the first cycle after reset both are low.
    will_stall : Signal
        True if the next cycle is stalled.
    control : Stage
        The registers of the flow control.
    """

    def __init__(self, m: Module, o: Any) -> None:
        self.m = m
        self._o = o
        self._numbers = count(1)
        self._last: Stage | None = None
        self.control = control = Stage(
            m, "Flow control: stalled is high one cycle after a cycle in which the output waits"
        )
        self.will_stall = Signal()
        self.enable = control.signal("enable")
        self.stalled = control.signal("stalled")
        m.d.comb += self.will_stall.eq(o.valid & ~o.ready)
        m.d.sync += [self.enable.eq(~self.will_stall), self.stalled.eq(self.will_stall)]

    def take(self, i: Any, skid_taken: Signal | None = None) -> Stage:
        """Add the first stage, after a skid register. Its registers are the fields of the input.

        ``i.ready`` becomes a register. ``skid_taken``, if given, becomes the register that is high
        while the skid register is occupied.
        """
        m, enable = self.m, self.enable
        what = "an item that was accepted while the stages were stalled"
        rule = "Without an upset, skid_taken and i_ready are never both high"
        section = Stage(m, f"Skid register: {what}. {rule}")
        skid = section.signal("skid", i.p.shape(), reset_less=True)
        skid_taken = section.adopt(Signal(name="skid_taken") if skid_taken is None else skid_taken)
        accepts = i.valid & i.ready
        # The registers must leave the state in which both are high, which only an upset can cause.
        taken_next = select(enable, skid_taken & accepts, skid_taken | accepts)
        section.adopt(i.ready)
        m.d.sync += [skid_taken.eq(taken_next), i.ready.eq(~taken_next)]
        with m.If(i.ready):
            m.d.sync += skid.eq(i.p)
        valid = i.valid | skid_taken
        what = "the offered item, or the item in the skid register"
        take, kept = self.stage("take", what, valid, enable=enable), _fields(skid)
        return take.load(
            **{name: select(skid_taken, kept[name], field) for name, field in _fields(i.p).items()}
        )

    def stage(
        self,
        name: str,
        what: str,
        valid: Value,
        *,
        enable: Signal | None = None,
        wide: bool = False,
    ) -> Stage:
        """Add the next stage, whose registers are loaded in enabled cycles.

        Parameters
        ----------
        name, what : str
            Name of the stage, and a description for its heading.
        valid : Value
            True if an item enters the stage in an enabled cycle; often ``valid`` of the stage
            before.
        enable : Signal or None
            Clock enable of the stage, instead of that of the pipeline.
        wide : bool
            True if ``valid`` and the hold path do not fit into one lookup table. The valid bit then
            has a clock enable, which together with a reset is slower.
        """
        assert not wide or enable is None
        m, clock_enable = self.m, self.enable if enable is None else enable
        heading = self._heading_of(name, what)
        stage = Stage(m, heading, name, previous=self._last, enable=clock_enable)
        self._last = stage
        stage.valid = stage.signal("valid")
        stage.valid.attrs["enable"] = clock_enable.name  # for the live page
        if enable is None:
            stage.next_valid = select(self.stalled, stage.valid, valid)
        else:
            stage.next_valid = select(enable, valid, stage.valid)
        if wide:
            with m.If(~self.stalled):
                m.d.sync += stage.valid.eq(valid)
        else:
            m.d.sync += stage.valid.eq(stage.next_valid)
        return stage

    def deliver(self, stage: Stage) -> None:
        """Put the output buffer after the last stage, whose registers are the output's fields.

        It has two entries, which are filled and emptied in turn. The second one is for the item
        that moves in the cycle in which the output begins to wait.
        """
        m, o, will_stall = self.m, self._o, self.will_stall
        heading = self._heading_of("deliver", "the output buffer: two entries, used alternately")
        buffer = Stage(m, heading)
        payload = Cat(stage[name] for name in _fields(o.p))
        assert len(payload) == len(Value.cast(o.p)), "registers as wide as the output's fields"
        entries = [buffer.signal(f"entry_{n}", o.p.shape(), reset_less=True) for n in range(2)]
        loads = [buffer.signal(f"load_{n}") for n in range(2)]
        load_next, show = buffer.signal("load_next"), buffer.signal("show")
        both_full = buffer.signal("both_full")
        buffer.adopt(o.valid)
        comes = stage.valid & ~self.stalled
        other_next = load_next ^ comes
        m.d.sync += [
            o.valid.eq(will_stall | both_full | comes),
            both_full.eq(will_stall & (both_full | comes)),
            # After a transfer, show the other entry if it is full, else the one to be loaded next.
            show.eq(select(will_stall, show, load_next ^ both_full)),
            load_next.eq(other_next),
            loads[0].eq(~will_stall & ~other_next),
            loads[1].eq(~will_stall & other_next),
        ]
        for entry, load in zip(entries, loads, strict=True):
            with m.If(load):  # until an item arrives, the contents are don't cares
                m.d.sync += Value.cast(entry).eq(payload)
        m.d.comb += o.p.eq(Mux(show, entries[1], entries[0]))

    def _heading_of(self, name: str, what: str) -> str:
        return f"Stage {next(self._numbers)}, {name}: {what}"


def _fields(payload: Any) -> dict[str, Value]:
    """The fields of a payload by name."""
    if isinstance(payload, data.View):
        return {name: Value.cast(payload[name]) for name, _ in payload.shape()}
    return {"payload": Value.cast(payload)}
