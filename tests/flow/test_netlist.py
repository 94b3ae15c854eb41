"""The Verilog writer, with circuits that the designs do not have today."""

import json

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, ClockDomain, Module, Mux, Signal

from needs import needs
from utf8_flow.netlist import Netlist
from utf8_flow.verilog import _TO_NETLIST, _run_yosys

_COMPARE = """\
read_rtlil circuit.il
proc
flatten
setattr -mod -unset top top
read_verilog circuit.v
proc
miter -equiv -flatten -make_outputs top written miter
hierarchy -top miter
flatten
opt_clean
sat -prove trigger 0 -seq 5 -verify miter
"""


class Circuit:
    """A circuit in a submodule, with inputs ``a`` to ``d``, a wide one and outputs ``y``, ``z``."""

    def __init__(self):
        self.clk, self.rst = Signal(name="clk"), Signal(name="rst")
        self.a, self.b, self.c, self.d = (Signal(name=name) for name in "abcd")
        self.wide = Signal(3)
        self.y, self.z = (Signal(4, name=name) for name in "yz")
        self.ports = [self.clk, self.rst, self.a, self.b, self.c, self.d]
        self.ports += [self.wide, self.y, self.z]
        self.register = Signal(3, init=2)
        self.inside, self.top = Module(), Module()
        self.top.submodules.inside = self.inside

    def text(self, asynchronous=False):
        domain = ClockDomain("sync", async_reset=asynchronous)
        domain.clk, domain.rst = self.clk, self.rst
        self.top.domains.sync = domain
        return rtlil.convert(self.top, name="top", ports=self.ports, emit_src=False)

    def written(self, text):
        netlist = json.loads(_run_yosys(_TO_NETLIST.format(rtlil=text)))["modules"]["top"]
        return Netlist(netlist, [port.name for port in self.ports], "inside", []).verilog("written")


def compared_comparisons(x):
    x.inside.d.comb += [x.y.eq(x.a == (x.wide == 5)), x.z.eq(x.a < (x.register < 3))]
    x.inside.d.sync += x.register.eq(x.b >= (x.wide != x.c))


def choice_by_a_choice(x):
    x.inside.d.comb += [x.y.eq(Mux(Mux(x.a, x.b, x.c), x.wide, x.d)), x.z.eq(x.register)]
    x.inside.d.sync += x.register.eq(Mux(x.a, Mux(x.b, x.c, x.d), x.wide))


def overlapping_wires(x):
    low, high = Signal(2, name="low"), Signal(3, name="high")
    x.inside.d.comb += [
        low.eq(Cat(x.a & x.b, x.b ^ x.c)),
        high.eq(Cat(low[1], x.c | x.d, x.a & x.d)),
        x.y.eq(low ^ x.register),
        x.z.eq(high ^ x.wide),
    ]
    x.inside.d.sync += x.register.eq(low)


def register_beside_logic(x):
    mixed = Signal(4)
    x.inside.d.sync += x.register.eq(x.wide)
    x.inside.d.comb += [mixed.eq(Cat(x.a & x.b, x.register)), x.y.eq(mixed + 1), x.z.eq(mixed)]


@needs(modules=["pyosys"])
@pytest.mark.parametrize(
    "circuit",
    [
        compared_comparisons,
        choice_by_a_choice,
        overlapping_wires,
        register_beside_logic,
    ],
)
def test_what_is_written_does_the_same_as_the_circuit(circuit, tmp_path):
    from utf8_flow.formal.prover import run_yosys  # noqa: PLC0415

    x = Circuit()
    circuit(x)
    text = x.text()
    (tmp_path / "circuit.il").write_text(text)
    (tmp_path / "circuit.v").write_text(x.written(text))
    run_yosys(_COMPARE, tmp_path)


def test_signed_operands_are_refused():
    x = Circuit()
    x.inside.d.comb += [x.y.eq((x.wide - x.register) == (x.a - x.b)), x.z.eq(x.register)]
    x.inside.d.sync += x.register.eq(x.wide)
    with pytest.raises(NotImplementedError, match=r"\$eq"):
        x.written(x.text())


def test_an_asynchronous_reset_is_refused():
    x = Circuit()
    x.inside.d.comb += [x.y.eq(x.register), x.z.eq(x.register)]
    x.inside.d.sync += x.register.eq(x.wide)
    text = x.text(asynchronous=True)
    with pytest.raises(NotImplementedError, match=r"\$adff"):
        x.written(text)
