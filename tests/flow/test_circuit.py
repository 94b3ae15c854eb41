"""The AIGER format is read and written right, and a circuit does what its design does."""

import random
from collections import Counter
from dataclasses import replace
from functools import cache, reduce
from itertools import product
from operator import and_, or_
from typing import Any

import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator

from utf8_flow.components import make_design, makers
from utf8_flow.formal import bench
from utf8_flow.formal.circuit import Circuit, signal_bit, words
from utf8_flow.formal.prover import to_circuit
from utf8_hdl import UCS2, UNICODE, Profile

pytest.importorskip("pyosys", reason="pyosys is not installed")

# Input 2, register 4, gates 6 = 4 & 2, 8 = !4 & !2 and 10 = !8 & !6, which the register takes next:
# it changes while the input is high.
TOGGLE = b"aig 5 1 1 2 3\n10\n4\n11\n" + bytes([2, 2, 3, 2, 1, 2])
SYMBOLS = b"i0 enable\nl0 level\no0 q\no1 unchanged\nc\nany comment\n"

# 65 inputs, and gate 132 of the last and the first, 130 & 2: the differences are 2 and 128.
WIDE = b"aig 66 65 0 1 1\n132\n" + bytes([2, 0x80, 0x01]) + b"o0 both\n"

CYCLES = 400

ITEM = {"decoder": "i_data", "encoder": "i_code_point"}
"""The pins that carry the bytes and the code points."""


# --- the format ---------------------------------------------------------------------------------


def test_a_file_is_read():
    circuit = Circuit.parse(TOGGLE + SYMBOLS)
    assert circuit.inputs == ("enable",)
    assert circuit.registers == (10,)
    assert circuit.outputs == {"q": 4, "unchanged": 11}
    assert circuit.gates == ((4, 2), (5, 3), (9, 7))
    assert Circuit.parse(WIDE).gates == ((130, 2),)


def test_a_signal_may_have_several_names_or_none():
    circuit = Circuit.parse(TOGGLE + b"i0 enable e[0]\no0 q level\no1 unchanged\n")
    assert circuit.inputs == ("enable",)
    assert circuit.outputs == {"q": 4, "level": 4, "unchanged": 11}
    assert list(Circuit.parse(TOGGLE).outputs) == ["o0", "o1"]


@pytest.mark.parametrize("file", [TOGGLE, TOGGLE + SYMBOLS, WIDE])
def test_what_is_written_reads_the_same(file):
    circuit = Circuit.parse(file)
    again = Circuit.parse(circuit.file())
    assert replace(again, inputs=circuit.inputs) == circuit
    assert again.file() == circuit.file()
    assert file != WIDE or circuit.file() == WIDE


def test_some_outputs_are_kept_in_the_order_wanted():
    circuit = Circuit.parse(TOGGLE + SYMBOLS)
    assert list(circuit.only("unchanged", "q").outputs.items()) == [("unchanged", 11), ("q", 4)]
    assert circuit.only("q") == replace(circuit, outputs={"q": 4})
    with pytest.raises(KeyError):
        circuit.only("qq")


@pytest.mark.parametrize(
    "file",
    [
        b"aag 1 1 0 1 0\n2\n2\n",
        b"aig 1 1 0 1\n2\n",
        b"aig 1 1 0 1 0 1\n2\n2\n",  # one thing that must never happen
        b"aig 1 1 0 one 0\n2\n",
        b"aig 1 0 1 0 0\n0 1\n",  # a register that begins with 1
        TOGGLE[:-1],
        WIDE[:-9],
    ],
)
def test_what_it_does_not_know_is_refused(file):
    with pytest.raises(ValueError, match=r"AIGER|invalid literal"):
        Circuit.parse(file)


def test_a_simulation():
    trace = Circuit.parse(TOGGLE + SYMBOLS).simulate([[level] for level in (0, 1, 1, 0, 1, 0)])
    assert [cycle["q"] for cycle in trace] == [0, 0, 1, 0, 0, 1]
    assert [cycle["unchanged"] for cycle in trace] == [1, 0, 1, 1, 0, 0]
    for first, last in product((0, 1), repeat=2):
        levels = [first, *[1] * 63, last]
        assert Circuit.parse(WIDE).simulate([levels]) == [{"both": first & last}]


def test_bits_of_a_signal_make_a_number():
    assert words(["a[1]", "b", "a[0]", "a[2]"], [1, 1, 0, 1]) == {"a": 6, "b": 1}


# --- the translation ----------------------------------------------------------------------------


@cache
def circuit_of(component: str, profile: Profile, **options: Any) -> Circuit:
    made = bench.Bench(profile, makers())
    made.design(component, **options)
    return to_circuit(made)


def stimulus(component: str, profile: Profile) -> list[dict[str, int]]:
    """Texts that reach all states, with pauses and stalls, in which what is offered is lost."""
    generator = random.Random(1)
    if component == "decoder":
        whole = [chr(value).encode() for value in (0, 0x7FF, 0xFFFF, 0xFFFFF, 0x10FFFF)]
        pieces = generator.choices([*whole, b"\xed\xa0", b"\xf0\x80", b"\xff"], k=CYCLES)
        items = list(b"".join(pieces))
    else:
        widths = generator.choices(range(profile.utf32_width + 1), k=CYCLES)
        items = [generator.getrandbits(width) for width in widths]
    return [
        {
            "i_valid": int(generator.random() < 0.9),
            ITEM[component]: item,
            "i_last": int(generator.random() < 0.1),
            "o_ready": int(generator.random() < 0.8),
        }
        for item in items[:CYCLES]
    ]


def levels_of(circuit: Circuit, component: str, cycles: list[dict[str, int]]) -> list[list[int]]:
    """The level of each input of a circuit in each cycle."""
    bits = [signal_bit(name.removeprefix(f"{component}.")) for name in circuit.inputs]
    return [[cycle.get(pin, 0) >> bit & 1 for pin, bit in bits] for cycle in cycles]


def simulated(component: str, profile: Profile) -> list[dict[str, int]]:
    """Every pin and the state in each cycle, by Amaranth's simulator."""
    design = make_design(component, profile)
    driven = {pin.replace(".", "_"): value for pin, value in bench.driven_pins(design).items()}
    pins = {name: Value.cast(pin) for name, pin in bench.pins_of(design).items()}
    simulator = Simulator(design)
    simulator.add_clock(10e-9)
    trace = []

    async def run(ctx):
        for cycle in stimulus(component, profile):
            for pin, level in cycle.items():
                ctx.set(driven[pin], level)
            trace.append({f"{component}.{name}": ctx.get(pin) for name, pin in pins.items()})
            await ctx.tick()

    simulator.add_testbench(run)
    simulator.run()
    return trace


def outputs(circuit: Circuit, component: str, profile: Profile) -> list[dict[str, int]]:
    """What a circuit of a design does with the same."""
    levels = levels_of(circuit, component, stimulus(component, profile))
    pins = [name for name in circuit.outputs if name.startswith(f"{component}.")]
    return circuit.only(*pins).simulate(levels)


@pytest.mark.parametrize("profile", [UNICODE, UCS2], ids=lambda profile: profile.name)
@pytest.mark.parametrize("component", ["decoder", "encoder"])
def test_a_circuit_does_what_its_design_does(component, profile):
    circuit = circuit_of(component, profile)
    expected = simulated(component, profile)
    assert outputs(circuit, component, profile) == expected
    # All there is to see was seen: each bit was high, and was low.
    widths = Counter(signal_bit(name)[0] for name in circuit.outputs)
    for pin in expected[0].keys() - {f"{component}.{pin}" for pin in ("i.data", "i.code_point")}:
        levels = [cycle[pin] for cycle in expected]
        assert (reduce(and_, levels), reduce(or_, levels)) == (0, (1 << widths[pin]) - 1)


def test_a_wrong_gate_is_noticed():
    """Not every one: some matter only in what no state allows, or for a byte that did not come."""
    circuit = circuit_of("decoder", UCS2)
    expected = simulated("decoder", UCS2)
    places = random.Random(1).sample(range(len(circuit.gates)), 10)
    noticed = 0
    for place in places:
        first, second = circuit.gates[place]
        gates = (*circuit.gates[:place], (first, second ^ 1), *circuit.gates[place + 1 :])
        noticed += outputs(replace(circuit, gates=gates), "decoder", UCS2) != expected
    assert noticed > 0.7 * len(places)


@pytest.mark.parametrize(("component", "never_differ"), [("decoder", 3), ("encoder", 0)])
def test_every_register_may_hold_anything_if_that_is_wanted(component, never_differ):
    """Also those that from reset on are constant or equal to another. Of the decoder these are
    ``wrong``, in two stages, which only errors of whole sequences need, and ``moves``, which is
    ``steps`` without a reset."""
    usual = circuit_of(component, UNICODE)
    any_start = circuit_of(component, UNICODE, any_start=True)
    starts = [name for name in any_start.inputs if name.startswith("init:")]
    registers = len(usual.registers) + never_differ
    assert len(starts) == registers
    # One more register tells the first cycle from the others.
    assert len(any_start.registers) == registers + 1
    assert len(any_start.inputs) == len(usual.inputs) + registers
