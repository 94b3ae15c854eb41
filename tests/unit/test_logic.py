"""Logic that the gateware shares."""

from itertools import chain, combinations

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.sim import Simulator

from utf8_hdl.logic import one_of


@pytest.mark.parametrize("width", range(4))
def test_one_of_is_membership(width):
    """Tested for every set of numbers; a value without bits is 0."""
    numbers = range(1 << width)
    sets = [*chain.from_iterable(combinations(numbers, size) for size in range(len(numbers) + 1))]
    m, value, found = Module(), Signal(width), Signal(len(sets))
    m.d.comb += found.eq(Cat(one_of(value, members) for members in sets))

    async def bench(ctx):
        for number in numbers:
            ctx.set(value, number)
            expected = sum((number in members) << n for n, members in enumerate(sets))
            assert ctx.get(found) == expected

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
