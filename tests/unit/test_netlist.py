"""Verilog writer on random designs: Icarus Verilog against Amaranth's simulator."""

import random
import re
import subprocess
import sys

import pytest
from amaranth.hdl import Cat, ClockDomain, Const, Elaboratable, Module, Mux, Signal
from amaranth.lib import memory
from amaranth.sim import Simulator

from needs import needs
from utf8_flow.export import verilog
from utf8_flow.export.verilog import _convert

WIDTHS = 1, 1, 3, 4, 7
CYCLES = 200
RESULTS = 260
BENCH = """\
module bench;
    reg clk = 0, rst = 0;
    reg [{inputs}-1:0] stimulus [0:{cycles}-1];
    reg [{inputs}-1:0] levels = 0;
    wire [{outputs}-1:0] results;
    integer cycle;
    dut dut (.clk(clk), .rst(rst), .levels(levels), .results(results));
    initial begin
        $readmemh("stimulus.hex", stimulus);
        for (cycle = 0; cycle < {cycles}; cycle = cycle + 1) begin
            levels = stimulus[cycle];
            rst = levels[2:0] == 7;
            #1 $display("%h", results);
            clk = 1;
            #1 clk = 0;
        end
    end
endmodule
"""


class Random(Elaboratable):
    """A design of random expressions and registers, in four modules."""

    name = "none"

    def __init__(self, seed: int) -> None:
        self._seed, self._rng = seed, random.Random(seed)
        self.domain = ClockDomain("sync")
        self.levels = Signal(sum(WIDTHS))
        self.results = Signal(RESULTS)
        self.ports = [self.domain.clk, self.domain.rst, self.levels, self.results]

    def elaborate(self, platform):
        m, one, other, inner = modules = [Module() for _ in range(4)]
        choose = random.Random(self._seed).choice
        m.domains.sync = self.domain
        m.submodules.one, m.submodules.other, one.submodules.inner = one, other, inner
        self._known, offset = [], 0
        for width in WIDTHS:
            self._known.append(self.levels[offset : offset + width])
            offset += width
        results = []
        for number in range(10):
            width = self._rng.choice(WIDTHS)
            register = Signal(
                width, name=f"register_{number}", init=self._rng.getrandbits(width),
                reset_less=self._rng.random() < 0.3,
            )  # fmt: skip
            self._known.append(register)
            results.append(register)
        for register in list(results):
            self._write(choose(modules), register)
        for number in range(12):
            wire = Signal(self._rng.choice(WIDTHS), name=f"wire_{number}")
            choose(modules).d.comb += wire.eq(self._expression(4))
            self._known.append(wire)
            results.append(wire)
        results += [self._memory(other), self._known[4].as_signed() - self._known[3].as_signed()]
        results += [*self._repeated(one), *self._shared(m, inner), self._memories(one)]
        m.d.comb += self.results.eq(Cat(results))
        return m

    def _repeated(self, m):
        """A wire and a register whose parts only differ in indices, and one with an exception."""
        rng, word, count = random.Random(self._seed), self.levels, 4
        step = rng.choice([-2, 1, 2])
        base = rng.randrange(6, 9) if step < 0 else rng.randrange(3)
        firsts = [base + step * n for n in range(count)]
        names = "parts", "n", "exception"
        wire, register, other = (Signal(2 * count, name=name) for name in names)
        m.d.comb += wire.eq(Cat(word[n : n + 2] for n in firsts))
        m.d.sync += register.eq(Cat(word[n] ^ word[n + 5 : n + 7] for n in firsts))
        m.d.sync += other.eq(~Cat(*(word[n] & word[n + 1] for n in firsts[1:]), word[0]))
        return wire, register, other

    def _memories(self, m):
        """Memories with equal addresses; in half of the designs, enough of them for a loop."""
        words = []
        for number in range(4 - self._seed % 2):
            m.submodules[f"many_{number}"] = table = memory.Memory(shape=3, depth=8, init=[])
            write, read = table.write_port(), table.read_port(domain="comb")
            m.d.comb += [
                write.en.eq(self.levels[number]),
                write.addr.eq(self.levels[5:8]),
                write.data.eq(self.levels[2 * number + 1 : 2 * number + 4]),
                read.addr.eq(self.levels[8:11]),
            ]
            words.append(read.data)
        return Cat(words)

    def _shared(self, m, inner):
        """Constant ports, and ports with the same bits as others."""
        same, also, none, stuck = (Signal(3, name=f"shared_{n}") for n in range(4))
        inner.d.comb += [same.eq(self._known[3]), also.eq(self._known[3])]
        inner.d.sync += stuck.eq(stuck & none)
        return (same ^ none) | also, stuck + same

    def _memory(self, m):
        """A memory whose index is a sum; only a part of each word is used."""
        m.submodules.words = table = memory.Memory(shape=7, depth=16, init=[])
        write, read = table.write_port(), table.read_port(domain="comb")
        one, two, address, *_ = [signal for signal in self._known if len(signal) == 4]
        m.d.comb += [
            write.en.eq(one[0]),
            write.addr.eq(one + address),
            write.data.eq(Cat(two, one)),
            read.addr.eq(address),
        ]
        return read.data[1:6]

    def _write(self, m, register):
        kind = self._rng.randrange(4)
        if kind == 0:
            m.d.sync += register.eq(self._expression(3))
        elif kind == 1:
            with m.If(self._expression(2)):
                m.d.sync += register.eq(self._expression(3))
            with m.Elif(self._expression(2)):
                m.d.sync += register.eq(self._rng.getrandbits(len(register)))
        elif kind == 2:
            with m.Switch(self._known[3]):
                for value in self._rng.sample(range(16), 5):
                    with m.Case(value):
                        m.d.sync += register.eq(self._expression(2))
                with m.Default():
                    m.d.sync += register.eq(self._expression(2))
        else:
            place = self._rng.randrange(len(register))
            m.d.sync += register[place].eq(self._expression(2))

    def _expression(self, depth):
        if not depth:
            return self._rng.choice([*self._known, Const(self._rng.getrandbits(3), 3)])
        a, b, c = (self._expression(depth - 1) for _ in range(3))
        low = self._rng.randrange(len(a))
        return self._rng.choice(
            [
                lambda: a & b, lambda: a | b, lambda: a ^ b, lambda: ~a, lambda: (a + b)[:7],
                lambda: a == b, lambda: a != b, lambda: a < b, lambda: a >= b,
                lambda: a > b, lambda: a <= b, lambda: Mux(a, b, c), lambda: Cat(a, b)[:9],
                lambda: a[low:], a.any, a.all, a.xor,
                lambda: a & b & c, lambda: ~(a + b)[:4],
                lambda: Cat(a[0].replicate(3), b), lambda: (a == 0) & (b + c == 3),
            ]
        )()  # fmt: skip


def in_amaranth(seed: int, stimulus: list[int]) -> list[int]:
    design, results = Random(seed), []

    async def drive(ctx):
        for levels in stimulus:
            ctx.set(design.levels, levels)
            ctx.set(design.domain.rst, levels & 7 == 7)
            results.append(ctx.get(design.results))
            await ctx.tick()

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.run()
    return results


def in_icarus(folder, text: str, stimulus: list[int]) -> list[int]:
    (folder / "stimulus.hex").write_text("".join(f"{levels:x}\n" for levels in stimulus))
    (folder / "dut.v").write_text(text)
    (folder / "bench.v").write_text(
        BENCH.format(inputs=sum(WIDTHS), outputs=RESULTS, cycles=len(stimulus))
    )
    compiler = ["iverilog", "-g2012", "-Wall", "-Wno-timescale", "-o", "bench"]
    for command in ([*compiler, "bench.v", "dut.v"], ["vvp", "-n", "bench"]):
        run = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return [int(line, 16) for line in run.stdout.split()]


@pytest.mark.sample(1)
@needs("iverilog")
@pytest.mark.parametrize(
    "seed", [34, 92, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(6))]
)
def test_random_design_in_verilog(seed, tmp_path):
    stimulus = [*map(random.Random(seed).getrandbits, [sum(WIDTHS)] * CYCLES)]
    text = _convert(Random(seed), "dut")
    assert in_icarus(tmp_path, text, stimulus) == in_amaranth(seed, stimulus)


def converted(add, **domain) -> str:
    """Verilog of a design, to which a function adds statements."""
    design, sync = Random(0), ClockDomain("sync", **domain)
    module = Module()
    module.domains.sync = sync
    add(module, design)
    design.domain, design.elaborate = sync, lambda platform: module
    design.ports[:2] = [sync.clk, sync.rst]
    return _convert(design, "dut")


def count(module, design):
    module.d.sync += design.results.eq(design.results + design.levels)


def signed_order(module, design):
    module.d.comb += design.results.eq(design.levels.as_signed() < design.levels[3:6].as_signed())


def two_writers(module, design):
    module.submodules.words = words = memory.Memory(shape=4, depth=16, init=[])
    for data in (0, 1):
        port = words.write_port()
        module.d.comb += [port.en.eq(design.levels[data]), port.data.eq(data)]
    module.d.comb += design.results.eq(words.read_port(domain="comb").data)


@pytest.mark.sample(1)
@needs("iverilog")
@pytest.mark.parametrize(
    ("add", "domain", "cell"),
    [
        (count, {"async_reset": True}, "adff"),
        (count, {"clk_edge": "neg"}, "sdff"),
        (signed_order, {}, "lt"),
        (two_writers, {}, "mem_v2"),
    ],
)
def test_yosys_writes_unsupported_cells(monkeypatch, tmp_path, add, domain, cell):
    refusals, write = [], verilog._by_yosys

    def write_after_refusal(*arguments):
        refusals.append(str(sys.exc_info()[1]))
        return write(*arguments)

    monkeypatch.setattr(verilog, "_by_yosys", write_after_refusal)
    (tmp_path / "dut.v").write_text(converted(add, **domain))
    assert refusals == [f"a cell ${cell} in Verilog"]
    subprocess.run(["iverilog", "-g2001", "-o", "dut", "dut.v"], cwd=tmp_path, check=True)


def test_headings_are_sorted_by_number():
    def stages(module, design):
        value = design.levels
        for number in (1, 2, 9, 10, 11):
            register = Signal(4, name=f"r{number}", attrs={"stage": f"Stage {number}"})
            module.d.sync += register.eq(value)
            value = ~register
        module.d.comb += design.results.eq(value)

    headings = re.findall("// Stage (.*)", converted(stages))
    assert headings == ["1", "2", "9", "10", "11"]
