"""Mutants: the synthesised design with one gate wrong, to see whether the checks notice."""

import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal, Signal
from amaranth.lib import wiring

from utf8_hdl import Profile
from utf8_hdl.axi import AxiStream
from utf8_sim.campaign import Part
from utf8_sim.components import component_of
from utf8_sim.engines.compiled import Compiled, cxxrtl_library, load
from utf8_sim.engines.engine import DesignError
from utf8_sim.engines.ports import axi_places
from utf8_sim.engines.windowed import WindowedEngine
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import Mode, Stimulus

from .bench import Bench, Designs, Property, driven_pins, pins_differ
from .circuit import Circuit
from .prover import PACKAGE, WRONG, decide, fails_within, run_yosys, to_circuit

MODES = "inv", "const0", "const1"
"""What Yosys does to one bit of one port of a gate: invert it, or tie it."""

NOT_MUTATED = "C", "Q"
"""A register's clock, which is not simulated, and its output, whose initial level Yosys would lose;
the register's input and the gates that read it are mutated."""

MODULE = "utf8_mutants"

WINDOW = 2048
"""Cycles that a mutant is simulated before anything is compared: most are found out in them."""

SPARED = "self-synchronisation", "verilog", "covers"
"""Properties that are not tried on mutants, like lemmas: slow, or not about the design alone."""

CYCLES = 18
"""Of a bounded check for a counterexample to a property."""

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
    component : str
        ``decoder`` or ``encoder``.
    profile : Profile
        Which UTF-8 is spoken.
    gates : int
        How many cells the design has.
    places : tuple of str
        What each mutant is. The first has number 1.
    verilog : str
        Module :data:`MODULE`: the ports of :class:`~utf8_hdl.axi.AxiStream`, ``state`` and
        ``mutant``.
    code : str
        The same as C++, by CXXRTL.
    """

    component: str
    profile: Profile
    gates: int
    places: tuple[str, ...]
    verilog: str
    code: str

    @property
    def width(self) -> int:
        """Bits of the input that chooses."""
        return len(self.places).bit_length()


def make_mutants(design: Any, count: int, seed: int) -> Mutants:
    """Mutate a design.

    Parameters
    ----------
    design : Decoder or Encoder
        Of which the mutants are.
    count : int
        How many; fewer if there are not so many gates.
    seed : int
        Which.

    Raises
    ------
    ToolError
        If Yosys fails.
    """
    top = AxiStream(design)
    text = rtlil.convert(top, name="top", ports=[*top.ports, design.state], emit_src=False)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "design.il").write_text(text)
        run_yosys(_SYNTHESISE, folder)
        gates = json.loads((folder / "gates.json").read_text())["modules"]["top"]["cells"]
        sites = [
            f"-mode {mode} -module top -cell {gate} -port {port} -portbit {bit}"
            for gate, cell in gates.items()
            for port, bits in cell["connections"].items()
            if port not in NOT_MUTATED
            for bit, mode in product(range(len(bits)), MODES)
        ]
        chosen = random.Random(seed).sample(sites, min(count, len(sites)))
        width = len(chosen).bit_length()
        mutations = "\n".join(
            f"mutate {site} -ctrl mutant {width} {number}"
            for number, site in enumerate(chosen, start=1)
        )
        run_yosys(_APPLY.format(mutations=mutations, module=MODULE), folder)
        return Mutants(
            top.name,
            design.profile,
            len(gates),
            tuple(_place(site, gates) for site in chosen),
            (folder / "mutants.v").read_text(),
            (folder / "mutants.h").read_text(),
        )


def _place(site: str, gates: dict[str, Any]) -> str:
    """A mutation, for a reader."""
    _, mode, _, _, _, gate, _, port, *_ = site.split()
    return f"{gates[gate]['type']} {gate}, port {port}: {mode}"


class MutantEngine(WindowedEngine):
    """Simulates one of the mutants.

    Parameters
    ----------
    design : Decoder or Encoder
        Of which the mutants are.
    mutants : Mutants
        The mutants.

    Attributes
    ----------
    mutant : int
        Which one; 0 is the design.

    Raises
    ------
    ToolError
        If there is no C++ compiler, or it fails.
    """

    name = "mutants"
    window = WINDOW

    def __init__(self, design: Any, mutants: Mutants) -> None:
        super().__init__(design)
        self.mutant = 0
        self.library = cxxrtl_library(
            self.interface,
            axi_places(design, self.interface),
            PACKAGE,
            [mutants.code],
            lambda: mutants.code,
            [f"-DMUTANTS={mutants.width}"],
        )

    @contextmanager
    def start(self) -> Iterator[Compiled]:
        with load(self.library, self.interface) as simulation:
            simulation.choose(self.mutant)
            yield simulation


class _Mutant(wiring.Component):
    """The mutants on a bench, in the place of the design."""

    i: Any
    o: Any

    def __init__(self, design: Any, number: Signal) -> None:
        super().__init__(design.signature)
        self.profile = design.profile
        self._number = number
        self.axi_widths = getattr(design, "axi_widths", {})
        self._top = AxiStream(self)
        self.component_name = component_of(design).name

    def elaborate(self, platform: Any) -> Module:
        m, top = Module(), self._top
        shown = {port: Signal(len(getattr(top, port)), name=port) for port in top.outputs}
        m.submodules.mutants = Instance(
            MODULE,
            i_clk=ClockSignal(),
            i_rst=ResetSignal(allow_reset_less=True),
            i_mutant=self._number,
            **{f"i_{port}": part for port, part in top.inputs.items()},
            **{f"o_{port}": signal for port, signal in shown.items()},
        )
        m.d.comb += [part.eq(shown[port]) for port, part in top.outputs.items()]
        return m


def circuits(mutants: Mutants, designs: Designs, properties: list[Property]) -> dict[str, Circuit]:
    """What is asked about a mutant, each with ``mutant`` among its inputs.

    Parameters
    ----------
    mutants : Mutants
        The mutants.
    designs : dict of str to callable
        The components by name; each takes a profile.
    properties : list of Property
        What is proved of the design.

    Returns
    -------
    dict of str to Circuit
        The properties that a mutant can be expected to break, by name, and ``""``: that a mutant
        and the design differ on some pin in some cycle, resets included.
    """
    component = mutants.component
    chosen = {
        what.name: what for what in properties if not what.is_lemma and what.name not in SPARED
    }
    chosen[""] = Property("", component, _differs, None)
    return {name: _circuit(what, mutants, designs) for name, what in chosen.items()}


def _circuit(what: Property, mutants: Mutants, designs: Designs) -> Circuit:
    number = Signal(mutants.width, name="mutant")
    original = designs[mutants.component]
    bench = Bench(
        mutants.profile,
        {
            mutants.component: lambda profile: _Mutant(original(profile), number),
            "original": original,
        },
        what.timing,
    )
    bench.inputs["mutant"] = number
    bench.sources.append(mutants.verilog)
    what.state(bench, mutants.component)
    return to_circuit(bench).only(WRONG)


def _differs(b: Bench, name: str) -> None:
    """A mutant and the design do the same, resets included."""
    rst = b.free(1, "rst")
    mutant = b.design(name, reset=rst)
    b.never(pins_differ(mutant, b.design("original", driven_pins(mutant), reset=rst)))


@dataclass(frozen=True)
class Fate:
    """What became of a mutant.

    Parameters
    ----------
    stimulus : str or None
        The first stimulus of the campaign that tells it from the golden model.
    promise : str or None
        The first property that it breaks.
    equivalent : bool
        It is proved to do the same as the design.
    """

    stimulus: str | None
    promise: str | None
    equivalent: bool

    @property
    def survives(self) -> bool:
        return not (self.stimulus or self.promise or self.equivalent)


@dataclass(frozen=True)
class Trial:
    """All that a mutant goes through.

    Parameters
    ----------
    engine : MutantEngine
        Simulates it.
    parts : list of Part
        Stimuli,
    modes : list of Mode
        each in these modes.
    circuits : dict of str to Circuit
        As of :func:`circuits`.
    """

    engine: MutantEngine
    parts: list[Part]
    modes: list[Mode]
    circuits: dict[str, Circuit]

    def judge(self, mutant: int) -> Fate:
        """What becomes of a mutant."""
        stimulus = self._telling_stimulus(mutant)
        verdict, _ = decide(_alive(self.circuits[""], mutant))
        if verdict != "proved":
            return Fate(stimulus, self._broken_property(mutant), False)
        if stimulus:
            raise RuntimeError(f"mutant {mutant} is proved equivalent and differs in {stimulus}")
        return Fate(None, None, True)

    def _telling_stimulus(self, mutant: int) -> str | None:
        self.engine.mutant = mutant
        for (mode, stalls), part in product(self.modes, self.parts):
            lockstep = Lockstep(self.engine, Stimulus(part.pieces(), *stalls))
            try:
                differs = lockstep.run() is not None
            except DesignError:
                differs = True
            if differs:
                return f"{part.name}, {mode}"
        return None

    def _broken_property(self, mutant: int) -> str | None:
        for name, circuit in self.circuits.items():
            if name and fails_within(_alive(circuit, mutant), CYCLES):
                return name
        return None


def _alive(circuit: Circuit, mutant: int) -> Circuit:
    """The circuit with one mutant chosen."""
    levels = {}
    for number, names in enumerate(circuit.inputs):
        if names[0].startswith("mutant"):
            bit = int(names[0].removeprefix("mutant").strip("[]") or 0)
            levels[number] = mutant >> bit & 1
    return circuit.tied(levels)
