"""AIGER circuits: the file format, simulation, and translation of designs."""

import random
from collections import Counter
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from rtl import STALLS, rtl_trace
from utf8_flow.designs import DesignSpec
from utf8_flow.formal import bench
from utf8_flow.formal.circuit import Circuit, Start, signal_bit
from utf8_flow.formal.counterexample import simplest
from utf8_flow.formal.prover import to_circuit
from utf8_hdl import UNICODE

pytest.importorskip("pyosys", reason="pyosys is not installed")

# Input 2, register 4, gates 6 = 4 & 2, 8 = !4 & !2 and 10 = !8 & !6. Gate 10 is the next value of
# the register, which toggles while the input is high.
TOGGLE = """\
aag 5 1 1 2 3
2
4 10
4
11
6 4 2
8 3 5
10 7 9
i0 enable e[0]
l0 level
o0 q level
o1 unchanged
c
any comment
"""


def test_toggle_register_is_parsed_simulated_and_written():
    circuit = Circuit.parse(TOGGLE)
    assert circuit.inputs == ("enable",)
    assert circuit.registers == (10,)
    assert circuit.outputs == {"q": 4, "level": 4, "unchanged": 11}
    assert circuit.gates == ((4, 2), (5, 3), (9, 7))
    trace = circuit.simulate([[level] for level in (0, 1, 1, 0, 1, 0)])
    assert [cycle["q"] for cycle in trace] == [0, 0, 1, 0, 0, 1]
    assert [cycle["unchanged"] for cycle in trace] == [1, 0, 1, 1, 0, 0]
    differences = bytes([2, 2, 3, 2, 1, 2])
    file = circuit.only("q", "unchanged").file()
    assert file == b"aig 5 1 1 2 3\n10\n4\n11\n" + differences


def test_file_encodes_large_differences():
    """The gate is 130 & 2, the last and the first of 65 inputs: the differences are 2 and 128."""
    wide = Circuit(("i",) * 65, (), {"both": 132}, ((130, 2),))
    assert wide.file() == b"aig 66 65 0 1 1\n132\n" + bytes([2, 0x80, 0x01])


@pytest.mark.parametrize(
    "file",
    [
        "aag 1 1 0 1 0 1\n2\n2\n2\ni0 i\no0 o\n",  # a bad state
        "aag 1 0 1 0 0\n2 2 1\nl0 l\n",  # a register that begins with 1
    ],
)
def test_parse_refuses_unsupported_features(file):
    with pytest.raises(ValueError, match="too many values"):
        Circuit.parse(file)


def test_certain_literals_are_high_for_all_unknown_inputs():
    """Gates are random; each input is low, high or unknown."""
    generator = random.Random(1)
    pairs = [generator.sample(range(2 * number), 2) for number in range(5, 35)]
    gates = [(max(pair), min(pair)) for pair in pairs]
    literals = range(2 * 35)
    outputs = {str(each): each for each in literals}
    circuit = Circuit(("a", "b", "c", "d"), (), outputs, tuple(gates))
    runs = {each: circuit.simulate([each])[0] for each in product((0, 1), repeat=4)}
    cases = [*product((0, 1, None), repeat=4)]
    sides = product(range(4), (1, 0))
    levels = [np.packbits([case[number] == level for case in cases]) for number, level in sides]
    certain = np.array([np.unpackbits(bits, count=len(cases)) for bits in circuit.certain(levels)])
    gained = 0
    for case, found in zip(cases, certain.T, strict=True):
        fitting = [
            [run[str(literal)] for literal in literals]
            for each, run in runs.items()
            if all(level in (None, own) for level, own in zip(case, each, strict=True))
        ]
        always = np.array(fitting).all(axis=0)
        assert not (found & ~always).any()
        gained += found.sum()
        if None not in case:
            assert (found == always).all()
    assert gained > certain.size / 4


@cache
def circuit_of(component: str, **options: Any) -> Circuit:
    made = bench.Bench(UNICODE, {component: DesignSpec(component).make})
    made.design(component, **options)
    return to_circuit(made)


def simulated(component: str) -> np.ndarray:
    """Every pin in each cycle, by Amaranth's simulator, for texts that reach all states."""
    generator = random.Random(1)
    if component == "decoder":
        whole = [chr(value).encode() for value in (0, 0x7FF, 0xFFFF, 0xFFFFF, 0x10FFFF)]
        pieces = generator.choices([*whole, b"\xed\xa0", b"\xf0\x80", b"\xff"], k=150)
        items = list(b"".join(pieces))
    else:
        widths = generator.choices(range(UNICODE.utf32_width + 1), k=150)
        items = [generator.getrandbits(width) for width in widths]
    texts = [items[begin : begin + 10] for begin in range(0, len(items), 10)]
    trace = rtl_trace(texts, STALLS["both slow"], DesignSpec(component).make())
    return trace[[name for name in trace.dtype.names if name != "reset"]]


@pytest.mark.sample(1)
@pytest.mark.parametrize("component", ["decoder", "encoder"])
def test_circuit_agrees_with_simulation(component):
    circuit, trace = circuit_of(component), simulated(component)
    pins = {f"{component}.{name}": trace[name].tolist() for name in trace.dtype.names}
    driven = {name.replace(".i.", ".i_").replace(".o.", ".o_"): pins[name] for name in pins}
    bits = [signal_bit(name) for name in circuit.inputs]
    columns = [driven.get(pin, [0] * len(trace)) for pin, _ in bits]
    levels = [
        [level >> bit & 1 for level, (_, bit) in zip(row, bits, strict=True)]
        for row in zip(*columns, strict=True)
    ]
    expected = [dict(zip(pins, row, strict=True)) for row in zip(*pins.values(), strict=True)]
    outputs = [name for name in circuit.outputs if signal_bit(name)[0] in pins]
    assert circuit.only(*outputs).simulate(levels) == expected
    # Each bit of each output was high, and was low.
    widths = Counter(signal_bit(name)[0] for name in circuit.outputs)
    for pin in [name for name in trace.dtype.names if not name.startswith("i.")]:
        assert np.bitwise_and.reduce(trace[pin]) == 0
        assert np.bitwise_or.reduce(trace[pin]) == (1 << widths[f"{component}.{pin}"]) - 1


@pytest.mark.sample(1)
@pytest.mark.parametrize(("component", "merged"), [("decoder", 1), ("encoder", 0)])
def test_every_register_may_have_any_initial_level(component, merged):
    """Equal registers, such as ``moves`` and ``steps`` of the decoder, must not be merged then."""
    usual = circuit_of(component)
    any_start = circuit_of(component, any_start=True)
    starts = [name for name in any_start.inputs if name.startswith("init:")]
    registers = len(usual.registers) + merged
    assert len(starts) == registers
    # An additional register distinguishes the first cycle from the others.
    assert len(any_start.registers) == registers + 1
    assert len(any_start.inputs) == len(usual.inputs) + registers


def test_counterexample_is_simplified():
    """The output is high if `init:a` and `x` were high one cycle before."""
    start = Start("init:a", "a", 0, 1, 0)
    other = Start("init:b", "b", 0, 0, 1)
    # Inputs 1 to 4; registers 5 and 6; gate 7: both registers of the second cycle.
    inputs = "init:a", "init:b", "x", "d.o_ready"
    circuit = Circuit(inputs, (2, 6), {"wrong": 14}, ((12, 10),), starts=(start, other))
    found = [[1, 1, 1, 0], [0, 0, 1, 0]]
    assert simplest(circuit, found) == [[1, 0, 1, 1], [0, 0, 0, 1]]
    assert simplest(circuit, found, seconds=0) == found
