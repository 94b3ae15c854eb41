"""Proofs: Yosys converts a bench to a circuit, and ABC proves that its output stays low."""

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
"""Default number of cycles in which every cover point must be reached."""

LONGEST_PROOF = 900
"""Time limit for a property, in seconds. The slowest one on record needs 792 on two busy cores."""

LONGEST_SEARCH = 300
"""Time limit for the search for a certificate's invariant, in seconds."""

PROVE = "scorr; dc2; write_aiger result; pdr -sfy; write_cex -a result"
"""ABC commands that prove that an output stays low.

The file ``result`` has the reduced circuit, or the counterexample if one is found.
"""

SHORTENING = 30.0
"""Time limit for the search for a shortest counterexample if one is known, in seconds."""

_RUN_YOSYS = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for line in sys.stdin:
    libyosys.run_pass(line.strip(), design)
"""

# An input, which `write_aiger -zinit` names "init:...", sets the first level of a register without
# an initial level; `formalff` keeps `opt` from choosing the level. -L adds a register to a circuit
# without registers, which ABC's `bmc3` would refuse. Gates without fan-out are not written.
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
    """The result of an attempt to prove a property."""

    #: ``proved``; ``FAILED``, if a counterexample exists; ``VACUOUS``, if a cover point is not
    #: reached; ``UNDECIDED``, if the prover gave up or ran out of time.
    verdict: str
    #: The method that decided it, or the time limit if that was exceeded.
    method: str
    seconds: float
    #: Number of cover points that were reached.
    reached: int = 0
    #: The cover points that were not reached.
    unreached: tuple[str, ...] = ()
    #: For each design on the bench, its pins in a run that contradicts the property, up to the
    #: cycle of the contradiction.
    counterexample: dict[str, DesignRun] = field(default_factory=dict)
    #: The other free inputs in each cycle of that run.
    inputs: list[dict[str, int]] = field(default_factory=list)
    #: The certificate of the proof, if it was requested and found.
    certificate: Certificate | None = None


def tool_version() -> str:
    """The provers and their version; a `ToolError` if they are not installed."""
    need_packages("prove", [PACKAGE], "formal")
    return f"Yosys and ABC of {versions_line(package_versions([PACKAGE]))}"


def prove(bench: Bench, title: str = "", limit: float = LONGEST_PROOF) -> Proof:
    """Prove or refute the property of a bench; a `ToolError` if a tool fails.

    With a ``title``, also search for a certificate with that title. The property is undecided if
    the prover needs more than ``limit`` seconds. The certificate has a separate limit.
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
    """The comments in the file of a circuit, after the title."""
    made_by = versions_line({"utf8-hdl": __version__} | package_versions(["amaranth"]))
    remarks = [f"made by {made_by}, {tool_version()}"]
    if not any(circuit.outputs.values()):
        remarks.append("its output is tied to 0: it does not state what must be reached")
    return remarks


def to_circuit(bench: Bench, pins: bool = True) -> Circuit:
    """The bench as a circuit, whose outputs are the property, the cover points and the pins.

    Without the pins it is smaller: logic that only they need is left out.
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
    """The bench in RTLIL. It is cached: Amaranth elaborates the same modules only once."""
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
    """The signal that must never be high. After ``bench.cycles``, if not 0, it is low."""
    if not bench.cycles:
        return bench.wrong
    over = Signal(bench.cycles, name="cycles_over")
    bench.m.d.sync += over.eq(Cat(Const(1), over))
    return bench.wrong & ~over[-1]


def _check_inputs(bench: Bench, circuit: Circuit) -> None:
    """Check that the free inputs are those of the bench: a missing input would weaken the proof."""
    signals = [bench.clock, *bench.inputs.values()]
    free = {(signal.name, bit) for signal in signals for bit in range(len(signal))}
    starts = {name for name in circuit.inputs if name.startswith("init:")}
    inputs = {signal_bit(name) for name in circuit.inputs if name not in starts}
    # A register of generated Verilog may have no initial level.
    if inputs != free or (not starts if bench.any_start else starts and not bench.sources):
        wrong = [*map(str, inputs ^ free)] or starts
        raise RuntimeError(f"free inputs are not those of the bench: {', '.join(sorted(wrong))}")


def decide(circuit: Circuit, cycles: int = 0, seconds: float | None = None) -> tuple[str, str]:
    """Decide if the only output of a circuit stays low in all runs, or in the first ``cycles``.

    Registers and gates that are equal in every reachable state are merged first, by induction (van
    Eijk's method); that alone is often enough. Then property directed reachability searches for an
    inductive invariant under which the output is low, and checks it. If that takes long, a bounded
    search for a counterexample runs in parallel. ``seconds`` is the limit for the total time. The
    result is ``proved``, ``FAILED`` or ``UNDECIDED``, and the method.
    """
    return _decide(circuit, cycles, seconds)[:2]


def _decide(circuit: Circuit, cycles: int, seconds: float | None) -> tuple[str, str, Stimulus]:
    """The same, and a run in which the output becomes high. PDR may not find a shortest run."""
    try:
        if cycles:
            run = _run_within(circuit, cycles, seconds)
            return ("FAILED", "", run) if run else ("proved", f"any {cycles} cycles", [])
        with Search(circuit) as search:
            answer, merged = ask_abc(circuit, PROVE, "result", seconds, search.is_over)
    except OutOfTime:
        return "UNDECIDED", "out of time", []
    if search.found:
        return "FAILED", "bounded search", _stimulus(search.found)
    if re.match(rb"aig \d+ \d+ 0 1 0\n0\n", merged):
        return "proved", "induction", []
    if "was asserted in frame" in answer:
        return "FAILED", "PDR", _stimulus(merged)
    found = re.search(r"Invariant F\[(\d+)\] : (\d+) clauses", answer)
    checked = re.search(r"Verification of invariant with \d+ clauses was successful", answer)
    if found and checked and "Property proved" in answer:
        return "proved", f"PDR {found[1]}, {found[2]} clauses", []
    return "UNDECIDED", "PDR", []


def fails_within(circuit: Circuit, cycles: int, seconds: float | None = None) -> bool:
    """True if the only output of a circuit is high in the first cycles of some run."""
    return bool(_run_within(circuit, cycles, seconds))


def _run_within(circuit: Circuit, cycles: int, seconds: float | None) -> Stimulus:
    """The inputs of a shortest run with a high output in the first cycles; empty if none exists."""
    answer, file = ask_abc(circuit, f"bmc3 -F {cycles}; write_cex -a result", "result", seconds)
    if "was asserted in frame" in answer:
        return _stimulus(file)
    if f"No output asserted in {cycles} frames" not in answer:
        raise ToolError(f"yosys-abc gave up: {' '.join(answer.split())[:LONGEST_MESSAGE]}")
    return []


def _shortest_run(circuit: Circuit, seconds: float) -> Stimulus:
    """The inputs, cycle by cycle, of a shortest run in which the only output becomes high."""
    _, file = ask_abc(circuit, "bmc3; write_cex -a result", "result", seconds)
    return _stimulus(file)


def _stimulus(file: bytes) -> Stimulus:
    """The inputs in a counterexample that ABC wrote."""
    lines = file.decode().split()[1:]  # the first line is about the registers
    return [[int(level) for level in line] for line in lines if set(line) <= {"0", "1"}]


def _unreached(bench: Bench, circuit: Circuit, cycles: int, seconds: float) -> tuple[str, ...]:
    """The cover points that are not reached."""
    names = {f"reached{number}": what for number, what in enumerate(bench.reached)}
    # Without -x, ABC keeps the runs, and crashes if an output is high from the beginning.
    answer, _ = ask_abc(circuit.only(*names), f"bmc3 -a -x -F {cycles}", seconds=seconds)
    reached = {int(number) for number in re.findall(r"Output +(\d+) was asserted", answer)}
    return tuple(what for number, what in enumerate(names.values()) if number not in reached)


def run_yosys(script: str, folder: Path) -> None:
    """Run Yosys commands, one per line, in a folder."""
    run_python_tool("-c", _RUN_YOSYS, folder=folder, script=script)
