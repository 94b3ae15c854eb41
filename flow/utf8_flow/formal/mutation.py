"""Mutants: the synthesised design with one gate wrong, to see whether the checks notice."""

import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from amaranth.hdl import Elaboratable, Module, ResetSignal, Signal

from utf8_hdl.axi import AxiStream
from utf8_sim.campaign import Mode, Part, runs
from utf8_sim.engines.compiled import Compiled, cxxrtl_code, cxxrtl_library, load
from utf8_sim.engines.engine import DesignError, Engine
from utf8_sim.engines.ports import axi_places
from utf8_sim.lockstep import Lockstep
from utf8_sim.tools.rtlil import to_rtlil

from ..designs import DesignSpec
from .abc_program import PACKAGE
from .bench import Bench, Property, driven_pins, pins_differ
from .circuit import Circuit, signal_bit
from .properties import proofs_of
from .prover import WRONG, decide, fails_within, run_yosys, to_circuit
from .streams import axi_instance

MODES = "inv", "const0", "const1"
"""What Yosys does to one bit of one port of a gate: invert it, or tie it."""

NOT_MUTATED = "C", "Q"
"""A register's clock, which is not simulated, and its output, whose initial level Yosys would lose;
the register's input and the gates that read it are mutated."""

MODULE = "utf8_mutants"

CYCLES = 18
"""Of a bounded check for a counterexample to a property."""

PATIENCE = 60
"""Seconds that PDR has to show that a mutant does the same as the design."""

GLANCE = 1
"""The same for one that was killed: it is only asked whether the proof would say otherwise."""

MOMENT = 10
"""The same to show that a mutant has a property: mostly quicker than a bounded check of one."""

_SYNTHESISE = """\
read_rtlil design.il
hierarchy -top top
synth -flatten -noshare -top top
delete t:$scopeinfo
write_json gates.json
write_rtlil gates.il
"""

_APPLY = """\
read_rtlil gates.il
{mutations}
write_verilog -noattr mutants.v
design -reset
read_verilog mutants.v
proc
splitnets
opt_clean
write_cxxrtl -O6 -g0 mutants.h
rename top {module}
write_verilog -noattr mutants.v
"""


@dataclass(frozen=True)
class Mutants:
    """A design and its mutants, all in one: an input chooses.

    Parameters
    ----------
    spec : DesignSpec
        The design.
    gates : int
        How many cells the design has.
    places : tuple of str
        What each mutant is. The first has number 1.
    verilog : str
        Module :data:`MODULE`: the ports of :class:`~utf8_hdl.axi.AxiStream`, ``state`` if there
        is one, and ``mutant``.
    code : str
        The same as C++, by CXXRTL.
    """

    spec: DesignSpec
    gates: int
    places: tuple[str, ...]
    verilog: str
    code: str

    @property
    def width(self) -> int:
        """Bits of the input that chooses."""
        return len(self.places).bit_length()


def make_mutants(spec: DesignSpec, count: int, seed: int) -> Mutants:
    """Mutate a design in so many ways, or in all that there are."""
    design = spec.make()
    top = AxiStream(design)
    state = [design.state] if hasattr(design, "state") else []
    text = to_rtlil(top, [*top.ports, *state])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "design.il").write_text(text)
        run_yosys(_SYNTHESISE, folder)
        gates = json.loads((folder / "gates.json").read_text())["modules"]["top"]["cells"]
        sites = [
            (mode, gate, port, bit)
            for gate, cell in gates.items()
            for port, bits in cell["connections"].items()
            if port not in NOT_MUTATED
            for bit, mode in product(range(len(bits)), MODES)
        ]
        chosen = random.Random(seed).sample(sites, min(count, len(sites)))
        width = len(chosen).bit_length()
        mutations = [
            f"mutate -mode {mode} -module top -cell {gate} -port {port} -portbit {bit} "
            f"-ctrl mutant {width} {number}"
            for number, (mode, gate, port, bit) in enumerate(chosen, start=1)
        ]
        run_yosys(_APPLY.format(mutations="\n".join(mutations), module=MODULE), folder)
        return Mutants(
            spec,
            len(gates),
            tuple(f"{gates[gate]['type']} {gate}, port {p}: {mode}" for mode, gate, p, _ in chosen),
            (folder / "mutants.v").read_text(),
            (folder / "mutants.h").read_text(),
        )


class MutantEngine(Engine):
    """Simulates one of the mutants: that of number ``mutant``; 0 is the design."""

    name = "mutants"
    window = 2048  # cycles before anything is compared: most are found out in them

    def __init__(self, mutants: Mutants) -> None:
        design = mutants.spec.make()
        super().__init__(design)
        self.mutant = 0
        code = cxxrtl_code(
            self.interface,
            axi_places(design, self.interface),
            PACKAGE,
            key=[mutants.code],
            write=lambda: mutants.code,
            macros=[f"-DMUTANTS={mutants.width}"],
        )
        self.library = cxxrtl_library(code)

    @contextmanager
    def start(self) -> Iterator[Compiled]:
        with load(self.library, self.interface) as simulation:
            simulation.choose(self.mutant)
            yield simulation


class BeyondMutants(AttributeError):
    """A property needs more of a mutant than its pins, or more cycles than it is looked at in.

    A netlist has none of the names inside.
    """


class _Mutant(Elaboratable):
    """The mutants on a bench, with the pins of the design in whose place they are."""

    def __init__(self, design: Any, number: Signal) -> None:
        self.i, self.o = design.i, design.o
        self._top = AxiStream(design)
        self._number = number

    def __getattr__(self, name: str) -> Any:
        raise BeyondMutants(name)

    def elaborate(self, platform: Any) -> Module:
        m, reset = Module(), ResetSignal(allow_reset_less=True)
        shown = axi_instance(m, MODULE, self._top, i_rst=reset, i_mutant=self._number)
        m.d.comb += self._top.driven(shown)
        return m


def circuits(mutants: Mutants) -> dict[str, Circuit]:
    """What is asked about a mutant, each with ``mutant`` among its inputs.

    It is the properties that a mutant can be expected to break, by name, and by ``""`` whether it
    differs from the design on some pin in some cycle, resets included.
    """
    found = {}
    for what in proofs_of(mutants.spec):
        if not (what.is_lemma or what.name == "verilog"):
            # The twin in `reset` has no clock edge in one cycle; an instance of Verilog has one.
            state = _reset if what.name == "reset" else what.state
            with suppress(BeyondMutants):
                found[what.name] = _circuit(replace(what, state=state), mutants)
    found[""] = _circuit(Property("", mutants.spec.component, _same, None), mutants)
    return found


def _circuit(what: Property, mutants: Mutants) -> Circuit:
    number = Signal(mutants.width, name="mutant")
    original = mutants.spec.make
    changed = {what.component: lambda profile: _Mutant(original(profile), number)}
    bench = what.bench(mutants.spec.profile, changed | {"original": original})
    if bench.reach > CYCLES:
        raise BeyondMutants(what.name)
    bench.inputs["mutant"] = number
    bench.sources.append(mutants.verilog)
    return to_circuit(bench, pins=False).only(WRONG)


def _same(b: Bench, name: str) -> None:
    """A mutant and the design do the same, resets included."""
    rst = b.free(1, "rst")
    mutant = b.design(name, reset=rst)
    b.never(pins_differ(mutant, b.design("original", driven_pins(mutant), reset=rst)))


def _reset(b: Bench, name: str) -> None:
    """After a reset in any one cycle, the pins are those of a design held in reset until then."""
    chosen = b.free(1, "chosen")
    after = b.since(chosen)
    mutant = b.design(name, reset=chosen & ~after)
    twin = b.design(f"{name}_twin", driven_pins(mutant), reset=~after)
    b.never(after & pins_differ(mutant, twin))


@dataclass(frozen=True)
class Fate:
    """What became of a mutant: the first stimulus and the first property that it does not survive.

    Or it is proved to do the same as the design.
    """

    stimulus: str | None = None
    promise: str | None = None
    equivalent: bool = False

    @property
    def survives(self) -> bool:
        return not (self.stimulus or self.promise or self.equivalent)


@dataclass(frozen=True)
class Trial:
    """All that a mutant goes through: the campaign of a seed in some modes, and :func:`circuits`.

    It can be sent to other processes, each of which makes an engine of its own.
    """

    mutants: Mutants
    circuits: dict[str, Circuit]
    modes: list[Mode]
    seed: int

    @cached_property
    def engine(self) -> MutantEngine:
        return MutantEngine(self.mutants)

    @cached_property
    def parts(self) -> list[Part]:
        return self.engine.component.campaign(self.engine.design, self.seed)

    def judge(self, mutant: int) -> Fate:
        """What becomes of a mutant."""
        stimulus = self._telling_stimulus(mutant)
        promise = self._broken_property(mutant)
        seconds = GLANCE if stimulus or promise else PATIENCE
        verdict, _ = decide(_alive(self.circuits[""], mutant), seconds=seconds)
        if verdict != "proved":
            return Fate(stimulus, promise)
        if stimulus or promise:
            raise RuntimeError(
                f"mutant {mutant} is proved equivalent and differs in {stimulus or promise}"
            )
        return Fate(equivalent=True)

    def _telling_stimulus(self, mutant: int) -> str | None:
        self.engine.mutant = mutant
        tried = runs(self.parts, self.modes)
        for part, mode in sorted(tried, key=lambda run: self.modes.index(run[1])):
            lockstep = Lockstep(self.engine, mode.stimulus(part))
            try:
                differs = lockstep.run() is not None
            except DesignError:
                differs = True
            if differs:
                return f"{part.name}, {mode.name}"
        return None

    def _broken_property(self, mutant: int) -> str | None:
        for name, circuit in self.circuits.items():
            if name and _fails(_alive(circuit, mutant)):
                return name
        return None


def _fails(circuit: Circuit) -> bool:
    """Whether a bounded check finds a counterexample. What PDR proves has none."""
    verdict, _ = decide(circuit, seconds=MOMENT)
    return verdict != "proved" and fails_within(circuit, CYCLES)


def _alive(circuit: Circuit, mutant: int) -> Circuit:
    """The circuit with one mutant chosen."""
    inputs = enumerate(map(signal_bit, circuit.inputs))
    levels = [(n, mutant >> bit & 1) for n, (signal, bit) in inputs if signal == "mutant"]
    return replace(circuit, levels=tuple(levels))
