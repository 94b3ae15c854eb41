"""The elastic pipeline with payloads and stages of its own: what its docstring says of every cycle.

The timing is worked out again here from the words; every check fails on a broken copy.
"""

import inspect
import random
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from amaranth.hdl import Fragment, Module, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from rtl import BREAKS, READY
from utf8_hdl.flow_control import pipeline

PAIR = data.StructLayout({"number": 12, "last": 1})
DEPTHS = 1, 2, 5


class Passing(wiring.Component):
    """Nothing but a pipeline: what goes in comes out, after some stages."""

    i: Any
    o: Any

    def __init__(self, shape: Any, depth: int, flow: Any = pipeline) -> None:
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})
        self._depth, self._flow = depth, flow

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pipeline = self._flow.Pipeline(m, self.o)
        stage = pipeline.take(self.i)
        for number in range(2, self._depth + 1):
            before = stage
            stage = pipeline.stage(f"pass_{number}", "unchanged", before.valid)
            stage.carry("number", "last")
        pipeline.deliver(stage)
        return m


class Cycle(NamedTuple):
    """The pins of a cycle."""

    i_valid: int
    i_ready: int
    offered: int
    o_valid: int
    o_ready: int
    payload: int
    #: With ``o_ready`` the other way round in the same cycle.
    other: tuple[int, int]

    @property
    def accepts(self) -> bool:
        return bool(self.i_valid and self.i_ready)

    @property
    def gives(self) -> bool:
        return bool(self.o_valid and self.o_ready)

    @property
    def waits(self) -> bool:
        return bool(self.o_valid and not self.o_ready)


def simulate(
    design: Passing, pauses: tuple[float, float], cycles: int = 400, seed: int = 1, scramble=False
) -> list[Cycle]:
    """Random items, offered and taken with pauses of some probability; an offer holds."""
    rng = random.Random(f"{seed} {pauses}")
    fragment: Any = Fragment.get(design, None)
    registers = [
        signal for statement in fragment.statements["sync"] for signal in statement._lhs_signals()
    ]
    simulator = Simulator(fragment)
    simulator.add_clock(1e-6)
    trace = []

    async def bench(ctx):
        i, o = design.i, design.o
        for register in registers if scramble else ():
            ctx.set(register, rng.getrandbits(len(register)))
        accepted = True
        for _ in range(cycles):
            if accepted:
                ctx.set(i.valid, rng.random() >= pauses[0])
                ctx.set(Value.cast(i.p), rng.getrandbits(13))
            ready = rng.random() >= pauses[1]
            shown = []
            for level in (not ready, ready):
                ctx.set(o.ready, level)
                shown.append((ctx.get(o.valid), ctx.get(Value.cast(o.p))))
            offer = ctx.get(i.valid), ctx.get(i.ready), ctx.get(Value.cast(i.p))
            trace.append(Cycle(*offer, shown[1][0], int(ready), shown[1][1], shown[0]))
            accepted = trace[-1].accepts or not trace[-1].i_valid
            await ctx.tick()

    simulator.add_testbench(bench)
    simulator.run()
    return trace


def check_order(trace: list[Cycle]) -> None:
    """What was accepted comes out, in order, and nothing else."""
    accepted = [cycle.offered for cycle in trace if cycle.accepts]
    given = [cycle.payload for cycle in trace if cycle.gives]
    assert len(given) > 40
    assert given == accepted[: len(given)]


def check_stream_rules(trace: list[Cycle]) -> None:
    """An output holds until it is taken, and does not depend on ``ready`` within a cycle."""
    for now, following in pairwise(trace):
        assert now.other == (now.o_valid, now.payload)
        if now.waits:
            assert (following.o_valid, following.payload) == (1, now.payload)


def check_throughput(trace: list[Cycle]) -> None:
    """Ready two cycles after each cycle in which the output did not wait."""
    assert all(
        later.i_ready for cycle, later in zip(trace, trace[2:], strict=False) if not cycle.waits
    )


def check_timing(trace: list[Cycle], depth: int) -> None:
    """Every cycle's `i.ready` and `o.valid` are those of the docstring's five rules."""
    enabled = [False, *(not cycle.waits for cycle in trace)]
    skid = False
    arrivals = []  # of each item: how many enabled cycles must have been before it is at the output
    ready, valid = [], []
    enabled_before = given = 0
    for number, cycle in enumerate(trace):
        ready.append(int(number > 0 and not skid))
        valid.append(int(len(arrivals) > given and arrivals[given] <= enabled_before))
        if cycle.accepts:
            arrivals.append(enabled_before + depth + 1)
        skid = (skid or cycle.accepts) and not enabled[number]
        enabled_before += enabled[number]
        given += cycle.gives
    assert [cycle.i_ready for cycle in trace] == ready
    assert [cycle.o_valid for cycle in trace] == valid


def check(trace: list[Cycle], depth: int) -> None:
    check_order(trace)
    check_stream_rules(trace)
    check_throughput(trace)
    check_timing(trace, depth)


@pytest.mark.parametrize("depth", DEPTHS)
def test_every_cycle_is_as_documented(depth):
    for pauses in product((0.0, 0.3, 0.8), repeat=2):
        check(simulate(Passing(PAIR, depth), pauses), depth)


def test_a_payload_may_be_a_plain_number():
    check(simulate(Passing(13, 1), (0.3, 0.3)), 1)


@pytest.mark.parametrize("depth", DEPTHS)
def test_latency_and_throughput_in_numbers(depth):
    trace = simulate(Passing(PAIR, depth), (0, 0), cycles=100)
    assert [cycle.accepts for cycle in trace] == [0] + [1] * 99
    assert [cycle.o_valid for cycle in trace] == [0] * (depth + 2) + [1] * (100 - depth - 2)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("seed", range(8))
def test_from_any_register_contents_what_is_accepted_later_comes_out(depth, seed):
    trace = simulate(Passing(PAIR, depth), (0.3, 0.5), seed=seed, scramble=True)
    check_throughput(trace)
    accepted = [cycle.offered for cycle in trace[1:] if cycle.accepts]
    given = [cycle.payload for cycle in trace if cycle.gives]
    begins = next(n for n in range(len(given)) if given[n : n + 10] == accepted[:10])
    assert begins <= depth + 4
    assert given[begins:] == accepted[: len(given) - begins]


def test_reading_a_register_creates_none():
    m, design = Module(), Passing(PAIR, 1)
    stage = pipeline.Pipeline(m, design.o).take(design.i)
    with pytest.raises(KeyError, match=r"Stage 1, take.*no register 'word'.*'number', 'last'"):
        stage["word"]


FLAWS = {name: edit for name, edit in BREAKS.items() if edit[0] in inspect.getsource(pipeline)}
"""The flaws of a decoder that are in the pipeline,"""

MORE_FLAWS = {
    "stalled for ever": (
        "stalled.eq(self.will_stall)",
        "stalled.eq(self.stalled | self.will_stall)",
    ),
    "ready only with the consumer": (READY, "i.ready.eq(~taken_next & self._o.ready)"),
    "skid register not left": ("skid_taken & accepts, skid", "skid_taken, skid"),
    "skid register holds": ("m.d.sync += skid.eq(i.p)", "m.d.sync += skid.eq(skid)"),
    "entries in the wrong order": ("load_next ^ both_full)", "load_next)"),
}
"""and others."""

UNSEEN = {"token forgotten while stalled"}
"""No stage here is wide."""


def flawed(good: str, bad: str) -> SimpleNamespace:
    """A copy of the module with an edit."""
    source = inspect.getsource(pipeline)
    assert source.count(good) == 1
    names = {"__name__": "flawed", "__package__": "utf8_hdl.flow_control"}
    exec(compile(source.replace(good, bad), "<flawed>", "exec"), names)
    return SimpleNamespace(**names)


@pytest.mark.parametrize("flaw", sorted((FLAWS.keys() | MORE_FLAWS) - UNSEEN))
def test_flaws_are_found(flaw):
    design = Passing(PAIR, 3, flawed(*(FLAWS | MORE_FLAWS)[flaw]))
    with pytest.raises(AssertionError):
        check(simulate(design, (0.3, 0.4)), 3)
