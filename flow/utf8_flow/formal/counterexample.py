"""Counterexamples: simplification, and the pins of the designs in them."""

import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from amaranth.lib import data

from utf8_sim.trace import LARGEST_PART, RESET, Columns, Interface, Pin, Trace, pins_of

from .bench import Bench, input_name
from .circuit import Circuit, Start, signal_bit, words

PATIENCE = 10.0
"""Time limit for the simplification of a counterexample, in seconds."""

TOGETHER = 1024
"""Maximum number of changes that are tried in one simulation."""

PIECE = 8
"""Bits of an input that are set to zero together: a byte of a beat."""

Stimulus = list[list[int]]
"""For each cycle, the level of each input of a circuit."""


class Register(NamedTuple):
    """A register whose first value differs from its value after reset."""

    name: str
    #: The value in the first cycle, and the one after reset.
    value: int
    initial: int


@dataclass(frozen=True)
class DesignRun:
    """A design in a counterexample."""

    #: Its pins, up to the cycle that contradicts the property, and the ``registers``.
    trace: Trace
    #: True if its registers may have any contents in the first cycle.
    any_start: bool = False
    #: The registers whose first value differs from that after reset, if the run depends on it.
    registers: tuple[Register, ...] = ()
    #: The cycles without clock enable.
    stalled: tuple[int, ...] = ()
    #: True if it is a complete design, not a reference, in which no signal is cut.
    is_whole: bool = True

    @property
    def replays(self) -> bool:
        """True if a simulation from reset on, with the same inputs, has the same pins."""
        return self.is_whole and not self.any_start and not self.stalled


def starts(aiger: str, rtlil: str) -> tuple[Start, ...]:
    """The inputs of an AIGER file that set registers; the levels after reset are from RTLIL."""
    wire = re.compile(
        r"^ *attribute \\init \d+'([01x-]+)\n(?: *attribute .*\n)* *wire .*\\(\S+)$", re.M
    )
    initial = {name: levels[::-1] for levels, name in wire.findall(rtlil)}
    names = {
        (kind, int(number)): aliases.split()
        for kind, number, aliases in re.findall(r"^([il])(\d+) (.*)$", aiger, re.M)
    }
    held = {alias: n for (kind, n), aliases in names.items() if kind == "l" for alias in aliases}
    found = []
    for (kind, _), aliases in names.items():
        plain = [each.removeprefix("init:") for each in aliases if each.startswith("init:")]
        own = [each for each in plain if signal_bit(each)[0] in initial and each in held]
        if kind == "i" and own:
            register, bit = signal_bit(own[0])
            level = int(initial[register][bit] == "1")
            found.append(Start(aliases[0], register, bit, level, held[own[0]]))
    return tuple(found)


def simplest(circuit: Circuit, stimulus: Stimulus, seconds: float = PATIENCE) -> Stimulus:
    """Simplify a stimulus, so that the only output is still high in the last cycle.

    Where the output does not depend on it, registers begin as after reset, nothing is offered,
    inputs are zero and consumers are ready. After ``seconds``, the rest is left as it is.
    """
    end = time.monotonic() + seconds
    simple = [list(levels) for levels in stimulus]
    left = list(_simpler(circuit, stimulus))
    while left and time.monotonic() < end:
        # Bit n of each level belongs to the run with the first n changes.
        tried = left[:TOGETHER]
        ones = (2 << len(tried)) - 1
        runs = [[-level & ones for level in levels] for levels in simple]
        for n, changes in enumerate(tried):
            changed = ones >> (n + 1) << (n + 1)
            for cycle, number, level in changes:
                runs[cycle][number] = runs[cycle][number] & ~changed | (-level & changed)
        [output] = circuit.outputs.values()
        *_, signals = circuit.run(runs)
        wrong = (signals[output >> 1] ^ -(output & 1)) & ones
        made = wrong.bit_length() - 1
        for changes in tried[:made]:
            for cycle, number, level in changes:
                simple[cycle][number] = level
        left = left[made + (made < len(tried)) :]  # the next change cannot be made
    return simple


Change = list[tuple[int, int, int]]
"""Cycles, inputs by index, and their new levels."""


def _simpler(circuit: Circuit, stimulus: Stimulus) -> Iterator[Change]:
    """Changes that may simplify a counterexample."""
    numbers = {name: n for n, name in enumerate(circuit.inputs)}
    registers: dict[str, Change] = defaultdict(list)
    for start in circuit.starts:
        registers[start.register].append((0, numbers.pop(start.input), start.level))
    yield from registers.values()
    pieces: dict[tuple[str, int], list[int]] = defaultdict(list)
    for name, number in numbers.items():
        signal, bit = signal_bit(name)
        pieces[signal, bit // PIECE].append(number)
    for cycle, levels in enumerate(stimulus):
        for (signal, _), some in pieces.items():
            level = int(signal.endswith(".o_ready"))
            if any(levels[number] != level for number in some):
                yield [(cycle, number, level) for number in some]


def moved(stimulus: Stimulus, circuit: Circuit, other: Circuit) -> Stimulus:
    """The stimulus for another circuit of the same bench, which may have more unused inputs."""
    canonical = [_canonical(each) for each in (circuit, other)]
    default = {start.input: start.level for start in other.starts}
    rows = []
    for levels in stimulus:
        known = dict(zip(canonical[0], levels, strict=True))
        pairs = zip(canonical[1], other.inputs, strict=True)
        rows.append([known.get(own, default.get(name, 0)) for own, name in pairs])
    return rows


def _canonical(circuit: Circuit) -> list[Any]:
    """Names of inputs that do not depend on the rest of the circuit."""
    own = {start.input: (start.register, start.bit) for start in circuit.starts}
    return [own.get(name, name) for name in circuit.inputs]


def explain(
    bench: Bench, circuit: Circuit, stimulus: Stimulus
) -> tuple[dict[str, DesignRun], list[dict[str, int]]]:
    """The run of each design, and the levels of all other free inputs in each cycle."""
    cycles = circuit.simulate(stimulus)
    registers = _registers(circuit, stimulus)
    runs, pins = {}, set()
    for name, component in bench.components.items():
        begin = f"bench.{bench.same_start.get(name, name)}."
        own = {
            register.removeprefix(begin): levels
            for register, levels in registers.items()
            if register.startswith(begin)
        }
        interface = Interface(
            name.partition("_")[0],
            _pins("i", component.i.p),
            _pins("o", component.o.p),
            len(getattr(component, "state", "")),
            tuple(_pin(each, width) for each, (width, *_) in own.items() if each != "state"),
        )
        columns: Columns = {}
        for pin in interface.pins:
            levels = (
                own[pin.name][2] if pin.name in own else [c[f"{name}.{pin.name}"] for c in cycles]
            )
            columns[pin.name] = pin.alone.of_integers(levels, pin.width)
        resets = [cycle.get(f"{name}.{RESET}", 0) for cycle in cycles]
        columns[RESET] = np.array(resets, dtype=np.uint8)
        runs[name] = DesignRun(
            Trace(interface, columns),
            name in bench.any_start,
            tuple(Register(each, levels[0], initial) for each, (_, initial, levels) in own.items()),
            tuple(n for n, cycle in enumerate(cycles) if not cycle.get(f"{name}.enable", 1)),
            name in bench.designs and not bench.cut,
        )
        pins |= {input_name(name, pin) for pin in interface.driven}
    inputs = [words(circuit.inputs, levels) for levels in stimulus]
    others = [name for name in bench.inputs if name not in pins]
    others += [f"cut:cut{number}" for number in range(len(bench.cut))]
    return runs, [
        {name.removeprefix("cut:"): cycle.get(name, 0) for name in others} for cycle in inputs
    ]


def _pins(side: str, payload: Any) -> tuple[Pin, ...]:
    """The pins of a payload with or without fields."""
    if isinstance(payload, data.View):
        return pins_of(side, payload.shape())
    return (_pin(f"{side}.payload", len(payload)),)


def _pin(name: str, width: int) -> Pin:
    """A pin of any width."""
    begins = range(0, width, LARGEST_PART)
    return Pin(name, tuple((begin, min(LARGEST_PART, width - begin)) for begin in begins))


def _registers(circuit: Circuit, stimulus: Stimulus) -> dict[str, tuple[int, int, list[int]]]:
    """Registers that do not begin as after reset: width, value after reset, and all values."""
    inputs = {name: n for n, name in enumerate(circuit.inputs)}
    first = 1 + len(inputs)
    bits: dict[str, list[Start]] = defaultdict(list)
    for start in circuit.starts:
        bits[start.register].append(start)
    changed = {
        register: some
        for register, some in bits.items()
        if any(stimulus[0][inputs[each.input]] != each.level for each in some)
    }
    values: dict[str, list[int]] = {register: [] for register in changed}
    for cycle, signals in enumerate(circuit.run(stimulus)):
        for register, some in changed.items():
            places = (inputs[each.input] + 1 if not cycle else first + each.number for each in some)
            levels = (signals[place] & 1 for place in places)
            pairs = zip(levels, some, strict=True)
            values[register].append(sum(level << each.bit for level, each in pairs))
    return {
        register: (
            1 + max(each.bit for each in some),
            sum(each.level << each.bit for each in some),
            values[register],
        )
        for register, some in changed.items()
    }
