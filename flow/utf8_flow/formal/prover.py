"""Proofs by Yosys, which makes a circuit of a bench, and ABC, which decides about it."""

import re
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from amaranth.hdl import Cat, Const, Module, Signal, Value

from utf8_hdl import __version__
from utf8_sim.tools.errors import OutOfTime, ToolError
from utf8_sim.tools.programs import LONGEST_MESSAGE
from utf8_sim.tools.rtlil import to_rtlil
from utf8_sim.tools.yowasp import need_packages, package_versions, run_python_tool, versions_line
from utf8_sim.trace import RESET

from .abc_program import PACKAGE, Search, ask_abc
from .bench import Bench, pins_of
from .certificate import Certificate, certify
from .circuit import Circuit, signal_bit
from .counterexample import DesignRun, Stimulus, explain, moved, simplest, starts

WRONG = "wrong"
"""Name of the output that a proof is about."""

MAX_CYCLES = 20
"""In so many cycles everything must be reached that can be."""

LONGEST_PROOF = 900
"""Time limit for a property, in seconds. On two busy cores the slowest one takes a third of it."""

LONGEST_SEARCH = 300
"""Seconds for which an invariant of a certificate is looked for."""

PROVE = "scorr; dc2; write_aiger result; pdr -sfy; write_cex -a result"
"""How ABC proves that an output stays low. A counterexample replaces the reduced circuit."""

SHORTENING = 30.0
"""Seconds for which a shortest counterexample is looked for if another one is known."""

_RUN_YOSYS = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for line in sys.stdin:
    libyosys.run_pass(line.strip(), design)
"""

# Registers without an initial level become inputs, which `write_aiger -zinit` names "init:...";
# `formalff` keeps `opt` from choosing the level. A circuit without registers gets one (-L), because
# ABC's `bmc3` refuses it otherwise. Gates behind which there is nothing are not written.
_TO_AIGER = """\
read_rtlil bench.il
{sources}
hierarchy -check -top top
proc -norom
flatten
opt_clean
memory -nordff
{any_start}
opt_clean
async2sync
dffunmap
formalff -clk2ff -ff2anyinit
opt -full -nosdff -nodffe
techmap
opt_clean
dffunmap
aigmap
write_aiger -ascii -zinit -symbols -L circuit.aag
"""


@dataclass(frozen=True)
class Proof:
    """What became of a property.

    Parameters
    ----------
    verdict : str
        ``proved``; ``FAILED``, if there is a counterexample; ``VACUOUS``, if something is not
        reached; ``UNDECIDED``, if the prover gave up or its time was over.
    method : str
        How it was decided; the time limit, if that was not enough.
    seconds : float
        How long it took.
    reached : int
        How many of the things were reached that must be.
    unreached : tuple of str
        Those that were not.
    counterexample : dict of str to DesignRun
        For each design on the bench, its pins in a run that contradicts the property, up to the
        cycle in which it does.
    inputs : list of dict of str to int
        What is free beside these pins, in each cycle of that run.
    certificate : Certificate, optional
        One of what is proved, if it was asked for and found.
    """

    verdict: str
    method: str
    seconds: float
    reached: int = 0
    unreached: tuple[str, ...] = ()
    counterexample: dict[str, DesignRun] = field(default_factory=dict)
    inputs: list[dict[str, int]] = field(default_factory=list)
    certificate: Certificate | None = None


def tool_version() -> str:
    """What proves; a `ToolError` if it is not installed."""
    need_packages("prove", [PACKAGE], "formal")
    return f"Yosys and ABC of {versions_line(package_versions([PACKAGE]))}"


def prove(bench: Bench, title: str = "", limit: float = LONGEST_PROOF) -> Proof:
    """Decide about what is said on a bench; a `ToolError` if a tool fails.

    If there is a title, a certificate of that title is looked for, too. The property is not decided
    if the prover needs more seconds than the ``limit``. A certificate has a limit of its own.
    """
    begin = time.monotonic()

    def left() -> float:
        return max(0.0, begin + limit - time.monotonic())

    circuit = to_circuit(bench, pins=False)
    asked = circuit.only(WRONG)
    verdict, method, stimulus = _decide(asked, bench.cycles, left())
    counterexample: dict[str, DesignRun] = {}
    inputs: list[dict[str, int]] = []
    unreached: tuple[str, ...] = ()
    reached = 0
    try:
        if verdict == "FAILED":
            if method == "PDR":
                with suppress(OutOfTime):
                    stimulus = _shortest_run(asked, min(SHORTENING, left()))
            method = f"run of {len(stimulus)} cycles"
            stimulus = simplest(asked, stimulus)
            shown = to_circuit(bench) if bench.components else circuit
            stimulus = moved(stimulus, circuit, shown)
            if not shown.simulate(stimulus)[-1][WRONG]:
                raise RuntimeError("the prover's counterexample is none")
            counterexample, inputs = explain(bench, shown, stimulus)
        cycles = bench.cycles or bench.reach or MAX_CYCLES
        unreached = _unreached(bench, circuit, cycles, left())
        reached = len(bench.reached) - len(unreached)
    except OutOfTime:
        method = f"limit of {limit:g} s"
        verdict = "UNDECIDED" if verdict == "proved" else verdict
    if verdict == "proved" and unreached:
        verdict = "VACUOUS"
    certificate = None
    if title and verdict == "proved":
        certificate = certify(asked, LONGEST_SEARCH, title, *_remarks(asked))
    seconds = time.monotonic() - begin
    return Proof(verdict, method, seconds, reached, unreached, counterexample, inputs, certificate)


def _remarks(circuit: Circuit) -> list[str]:
    """What is to be said of a circuit beside what it is of."""
    made_by = versions_line({"utf8-hdl": __version__} | package_versions(["amaranth"]))
    remarks = [f"made by {made_by}, {tool_version()}"]
    if not any(circuit.outputs.values()):
        remarks.append("its output is tied to 0: what must be reached is not said by this circuit")
    return remarks


def to_circuit(bench: Bench, pins: bool = True) -> Circuit:
    """The bench as a circuit, whose outputs are what is asked and the pins of its designs.

    Without the pins it is smaller: what is only needed for them is not in it.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bench.il").write_text(_rtlil_of(bench))
        sources = []
        for number, source in enumerate(bench.sources):
            (folder / f"{number}.v").write_text(source)
            sources.append(f"read_verilog {number}.v")
        chosen = " ".join(f"top/w:bench.{design}.*" for design in bench.any_start)
        any_start = [f"dump -o init.il {chosen}", f"setattr -unset init {chosen}"] if chosen else []
        hidden = [] if pins else [f"delete -output w:{name}.*" for name in bench.components]
        script = _TO_AIGER.format(
            sources="\n".join(sources), any_start="\n".join([*hidden, *any_start])
        )
        run_yosys(script, folder)
        aiger = (folder / "circuit.aag").read_text()
        circuit = Circuit.parse(aiger)
        if chosen:
            begins = starts(aiger, (folder / "init.il").read_text())
            circuit = replace(circuit, starts=begins)
    _check_inputs(bench, circuit)
    for name, other in bench.same_start.items():
        begin = f"init:bench.{name}."
        own = [pin for pin in circuit.inputs if pin.startswith(begin)]
        circuit = circuit.same(
            {pin: f"init:bench.{other}.{pin.removeprefix(begin)}" for pin in own}
        )
    return circuit.cut(*(f"cut{number}" for number in range(len(bench.cut))))


@lru_cache(maxsize=1)
def _rtlil_of(bench: Bench) -> str:
    """The bench in RTLIL. Amaranth elaborates the same modules only once."""
    asked = {WRONG: _wrong(bench)}
    asked |= {f"reached{number}": value for number, value in enumerate(bench.reached.values())}
    asked |= {f"cut{number}": value for number, value in enumerate(bench.cut)}
    for name, component in bench.components.items():
        asked |= {f"{name}.{pin}": value for pin, value in pins_of(component).items()}
    asked |= {f"{name}.{RESET}": value for name, value in bench.resets.items()}
    asked |= {f"{name}.enable": value for name, value in bench.enables.items()}
    top, outputs = Module(), []
    top.submodules.bench = bench
    for name, value in asked.items():
        outputs.append(Signal(len(value), name=name))
        top.d.comb += outputs[-1].eq(value)
    ports = [bench.clock, *bench.inputs.values(), *outputs]
    return to_rtlil(top, ports)


def _wrong(bench: Bench) -> Value:
    """What must never be high. If a proof is about some first cycles, it is low after them."""
    if not bench.cycles:
        return bench.wrong
    over = Signal(bench.cycles, name="cycles_over")
    bench.m.d.sync += over.eq(Cat(Const(1), over))
    return bench.wrong & ~over[-1]


def _check_inputs(bench: Bench, circuit: Circuit) -> None:
    """An input that is not one would make a proof of less than it says."""
    signals = [bench.clock, *bench.inputs.values()]
    free = {(signal.name, bit) for signal in signals for bit in range(len(signal))}
    starts = {name for name in circuit.inputs if name.startswith("init:")}
    inputs = {signal_bit(name) for name in circuit.inputs if name not in starts}
    # Also a register of generated Verilog may have no initial level.
    if inputs != free or (not starts if bench.any_start else starts and not bench.sources):
        wrong = [*map(str, inputs ^ free)] or starts
        raise RuntimeError(f"free inputs are not those of the bench: {', '.join(sorted(wrong))}")


def decide(circuit: Circuit, cycles: int = 0, seconds: float | None = None) -> tuple[str, str]:
    """Decide if the only output of a circuit stays low in all runs, or in some first cycles.

    Registers and gates that are equal in every reachable state are merged first, by induction (van
    Eijk's method); that alone is often enough. Then property directed reachability looks for an
    inductive invariant under which the output is low, and checks it. If that lasts, a bounded
    search for a counterexample runs beside it. ``seconds`` limit the time for all of this. The
    result is ``proved``, ``FAILED`` or ``UNDECIDED``, and the method.
    """
    return _decide(circuit, cycles, seconds)[:2]


def _decide(circuit: Circuit, cycles: int, seconds: float | None) -> tuple[str, str, Stimulus]:
    """The same, and a run in which the output gets high. That of PDR may not be a shortest one."""
    try:
        if cycles:
            run = _run_within(circuit, cycles, seconds)
            return ("FAILED", "", run) if run else ("proved", f"any {cycles} cycles", [])
        with Search(circuit) as search:
            said, merged = ask_abc(circuit, PROVE, "result", seconds, search.is_over)
    except OutOfTime:
        return "UNDECIDED", "out of time", []
    if search.found:
        return "FAILED", "bounded search", _stimulus(search.found)
    if re.match(rb"aig \d+ \d+ 0 1 0\n0\n", merged):
        return "proved", "induction", []
    if "was asserted in frame" in said:
        return "FAILED", "PDR", _stimulus(merged)
    found = re.search(r"Invariant F\[(\d+)\] : (\d+) clauses", said)
    checked = re.search(r"Verification of invariant with \d+ clauses was successful", said)
    if found and checked and "Property proved" in said:
        return "proved", f"PDR {found[1]}, {found[2]} clauses", []
    return "UNDECIDED", "PDR", []


def fails_within(circuit: Circuit, cycles: int, seconds: float | None = None) -> bool:
    """True if the only output of a circuit is high in the first cycles of some run."""
    return bool(_run_within(circuit, cycles, seconds))


def _run_within(circuit: Circuit, cycles: int, seconds: float | None) -> Stimulus:
    """The inputs of a shortest such run; empty if there is none."""
    said, file = ask_abc(circuit, f"bmc3 -F {cycles}; write_cex -a result", "result", seconds)
    if "was asserted in frame" in said:
        return _stimulus(file)
    if f"No output asserted in {cycles} frames" not in said:
        raise ToolError(f"yosys-abc gave up: {' '.join(said.split())[:LONGEST_MESSAGE]}")
    return []


def _shortest_run(circuit: Circuit, seconds: float) -> Stimulus:
    """The inputs, cycle by cycle, of a shortest run in which the only output gets high."""
    _, file = ask_abc(circuit, "bmc3; write_cex -a result", "result", seconds)
    return _stimulus(file)


def _stimulus(file: bytes) -> Stimulus:
    """The inputs in a counterexample that ABC wrote."""
    lines = file.decode().split()[1:]  # the first one is about the registers
    return [[int(level) for level in line] for line in lines if set(line) <= {"0", "1"}]


def _unreached(bench: Bench, circuit: Circuit, cycles: int, seconds: float) -> tuple[str, ...]:
    """What must be reached and is not."""
    names = {f"reached{number}": what for number, what in enumerate(bench.reached)}
    # Without -x it keeps the runs, and crashes if an output is high from the beginning.
    said, _ = ask_abc(circuit.only(*names), f"bmc3 -a -x -F {cycles}", seconds=seconds)
    reached = {int(number) for number in re.findall(r"Output +(\d+) was asserted", said)}
    return tuple(what for number, what in enumerate(names.values()) if number not in reached)


def run_yosys(script: str, folder: Path) -> None:
    """Run commands, one a line, in the Yosys that proves, in a folder."""
    run_python_tool("-c", _RUN_YOSYS, folder=folder, script=script)
