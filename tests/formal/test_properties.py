"""Proofs of the byte components, and faults that the properties refute."""

import subprocess
import tempfile
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from amaranth.hdl import Const, Signal

from altered import edited, edits_in
from refuted import assert_each_has_a_fault, assert_proved, bench_of, is_refuted, property_of
from rtl import COMPACT_ENCODER_BREAKS, DESIGNS, altered
from utf8_flow import formal
from utf8_flow.designs import designs
from utf8_flow.export.verilog import generate
from utf8_flow.formal import abc_program, decoder, encoder, prover, streams, timing
from utf8_flow.formal.bench import Bench
from utf8_flow.formal.properties import proofs_of
from utf8_flow.formal.prover import Proof, prove
from utf8_hdl import UCS2, UNICODE, Decoder
from utf8_sim.tools import programs
from utf8_sim.tools.errors import OutOfTime

pytest.importorskip("pyosys", reason="pyosys is not installed")

SPECS = {spec.label: spec for spec in designs() if spec.label in DESIGNS}
PROPERTIES = [(label, what.name) for label, spec in SPECS.items() for what in proofs_of(spec)]

QUICK = {
    "decoder": "tokens drains output-stream",
    "compact decoder": "tokens drains in-order latency output-stream reset",
    "encoder": "bytes rate shortest-form output-stream",
    "compact encoder": "bytes self-synchronisation idle-output in-order rate latency last-arrives "
    "output-stream valid-independent input-stream reset",
}
"""Proofs that take less than a second, or few seconds for pipelined designs; others are long."""


@pytest.mark.parametrize(
    ("which", "name"),
    [
        pytest.param(
            which,
            name,
            marks=[pytest.mark.long] * (name not in QUICK[which].split()),
            id=f"{which}: {name}",
        )
        for which, name in PROPERTIES
    ],
)
def test_property_is_proved(which, name):
    assert_proved(bench_of(SPECS[which], name))


def test_encoder_leaves_unnamed_state_in_ucs2():
    """With two bits of state, one code is unused in this profile."""
    spec = replace(SPECS["compact encoder"], profile=UCS2)
    assert_proved(bench_of(spec, "self-synchronisation"))


def test_only_lemmas_have_no_design():
    for which, name in PROPERTIES:
        if name != "verilog":  # its bench generates the Verilog, which takes long
            is_lemma = property_of(SPECS[which], name).is_lemma
            assert bool(bench_of(SPECS[which], name).designs) != is_lemma


# --- faulty designs -----------------------------------------------------------------------------

FAULTS = edits_in("""
    decoder: self-synchronisation: bytes are lost while a signal is high that is never cleared
      - valid = i.valid | skid_taken
      + stuck = Signal()
      +         m.d.sync += stuck.eq(stuck)
      +         valid = (i.valid & ~stuck) | skid_taken
    decoder: drains: bytes enter while a signal is high that is never cleared
      - valid = i.valid | skid_taken
      + stuck = Signal()
      +         m.d.sync += stuck.eq(stuck)
      +         valid = i.valid | skid_taken | stuck
    decoder: output-stream: a full entry of the output buffer is overwritten
      - loads[0].eq(~will_stall & ~other_next)
      + loads[0].eq(~other_next)
    encoder: output-stream: an output is withdrawn in a stall, and does not change
      - o.valid.eq(will_stall | both_full | comes)
      + o.valid.eq(both_full | comes)
    decoder: valid-independent: `i.ready` depends on `o.ready`
      - m.d.sync += [skid_taken.eq(taken_next), i.ready.eq(~taken_next)]
      + free = Signal()
      +         m.d.sync += [skid_taken.eq(taken_next), free.eq(~taken_next)]
      +         m.d.comb += i.ready.eq(free & self._o.ready)
    decoder: input-stream: the skid register takes a byte that is offered and not accepted
      - accepts = i.valid & i.ready
      + accepts = i.valid
    decoder: reset: the first byte after reset is lost
      - valid = i.valid | skid_taken
      + stuck = Signal(reset_less=True)
      +         m.d.sync += stuck.eq(stuck & ~(i.valid & i.ready))
      +         from amaranth.hdl import ResetSignal
      +         with m.If(ResetSignal(allow_reset_less=True)):
      +             m.d.sync += stuck.eq(1)
      +         valid = (i.valid & ~stuck) | skid_taken
    compact decoder: tokens: the byte after a text that ends in HELD is lost
      - Mux(i.valid, State.HELD
      + Mux(i.valid & ~before.last, State.HELD
    compact decoder: valid-independent: `o.valid` depends on `o.ready`
      - m.d.sync += at_output.adopt(o.valid).eq(stalled | (ends & runs))
      + present = Signal()
      +         m.d.sync += present.eq((present & ~o.ready) | (ends & runs))
      +         m.d.comb += o.valid.eq(present & o.ready)
    encoder: self-synchronisation: the all-zero state persists
      - lost.eq(~state.any()),
      + lost.eq(0),
    compact encoder: bytes: `last` is that of the code point that is offered
      - last if count == 1 else 0
      + self.i.p.last if count == 1 else 0
    compact encoder: idle-output: the error flag is cleared while the output is idle
      -         with m.If(self.i.valid & self.i.ready):
      +         with m.If(~self.i.valid & free & ~sending):
      +             m.d.sync += self.o.p.user.error.eq(0)
      +         with m.If(self.i.valid & self.i.ready):
    """)
"""For each property of a design, a design that violates it."""


@pytest.mark.long
@pytest.mark.parametrize(("which", "name", "fault"), list(FAULTS))
def test_fault_is_refuted(which, name, fault):
    edit = FAULTS[which, name, fault]
    assert is_refuted(bench_of(SPECS[which], name, altered(which, [edit])))


@pytest.mark.long
def test_verilog_of_another_design_is_refuted(monkeypatch):
    edit = " last.eq(self.i.p.last),", " last.eq(0),"
    other = altered("compact encoder", [edit])(UNICODE)
    monkeypatch.setattr(streams, "generate", lambda _: generate(other))
    assert is_refuted(bench_of(SPECS["compact encoder"], "verilog"))


@pytest.mark.long
def test_another_latency_is_refuted():
    assert is_refuted(bench_of(SPECS["compact decoder"], "tokens", Decoder))


@pytest.mark.long
def test_design_without_registers_is_refuted():
    never_ready = altered("decoder", [("i.ready.eq(~taken_next)", "i.ready.eq(0)")])
    proof = prove(bench_of(SPECS["decoder"], "tokens", never_ready))
    assert proof.verdict == "FAILED"
    assert proof.counterexample


# --- faulty specifications and timing models ----------------------------------------------------

LEMMA_FAULTS = edits_in("""
    decoder: in-order: timing: another token replaces a cut token
      - Mux(decided.valid, decided.result, cut)
      + decided.result
    decoder: line-rate: timing: an accepted byte waits without a stall
      - ~enable & (self.backlog | accepts(design))
      + (~enable & self.backlog | accepts(design))
    decoder: latency: timing: late from the third byte on
      - Mux(self.backlog, skid, offered)
      + Mux(self.backlog, skid, offered)
      +         enters, extra = enable & item[-2], Signal.like(item)
      +         late = b.since(enters & b.since(enters))
      +         with m.If(enable):
      +             m.d.sync += extra.eq(Cat(item[:-2], item[-2] & late, item[-1]))
      +         item = Mux(late, extra, item)
    decoder: conservation: specification: a cut sequence counts as one byte
      - wrong), pending
      + wrong), 1
    decoder: only-well-formed: specification: the value is of the bytes in reverse order
      - Cat(*reversed(sequence[:form]))
      + Cat(*sequence[:form])
    decoder: well-formed-passes: specification: E0 A0 is overlong
      -     E0     A0..BF
      +     E0     A1..BF
    compact decoder: line-rate: timing: not ready while a token is valid
      - ~waits(design) & self._running(m)
      + ~design.o.valid & self._running(m)
    compact decoder: latency: timing: late from the third token on
      - ends, result),
      -                 *behind.takes(1, ends & (self.backlog | cuts | first), own)
      + (ends & ~(third := b.since(ends & b.since(ends)))), result),
      +                 *behind.takes(1, ends & (self.backlog | cuts | first | third), own)
    encoder: in-order: timing: a code point is accepted before the last byte of the previous one
      - (~sends | specification.finishes)
      + 1
    encoder: rate: timing: one stage too many
      - in range(4):
      + in range(5):
    encoder: latency: timing: late from the second code point in a row on
      -         with m.If(self.ready):
      -             for _ in range(4):
      +         late, extra = Signal(), Signal.like(item)
      +         with m.If(self.ready):
      +             m.d.sync += [late.eq(item[-1]), extra.eq(Cat(item[:-1], item[-1] & late))]
      +             item = Mux(extra[-1], extra, Cat(item[:-1], item[-1] & ~late))
      +             for _ in range(4):
    encoder: last-arrives: timing: one stage too many
      - in range(4):
      + in range(5):
    encoder: shortest-form: specification: a form holds half as many values
      - (value < 1 << marks
      + (value < 1 << -1 + marks
    encoder: round-trip: specification: `last` with every byte
      - self.last & self.finishes
      + self.last
    encoder: order: specification: a wrong lead byte
      - 1110xxxx 10xxxxxx
      + 1010xxxx 10xxxxxx
    """)
"""For each lemma, a fault in the specification or in the timing model that violates it."""


@pytest.mark.long
@pytest.mark.parametrize(("which", "name", "model", "fault"), list(LEMMA_FAULTS))
def test_faulty_model_breaks_lemma(monkeypatch, which, name, model, fault):
    wrong = vars(edited(getattr(formal, model), LEMMA_FAULTS[which, name, model, fault]))
    for user in (decoder, encoder):
        for used in ("DecoderSpecification", "EncoderSpecification"):
            monkeypatch.setattr(user, used, wrong.get(used, getattr(user, used)))
    lemma = property_of(SPECS[which], name)
    timed = replace(lemma, timing=wrong.get(lemma.timing.__name__, lemma.timing))
    assert is_refuted(timed.bench(UNICODE, {}))


@pytest.mark.long
def test_specification_without_results_refutes_decoder():
    class Deaf(timing.ElasticTiming):
        def __init__(self, b: Any, design: Any, specified: Any, _: Any = None) -> None:
            super().__init__(b, design, specified, Const(0))

    what = replace(property_of(SPECS["decoder"], "tokens"), timing=Deaf)
    assert prove(what.bench(UNICODE, {"decoder": Decoder})).verdict != "proved"


# --- cover points -------------------------------------------------------------------------------

NEVER = edits_in("""
    compact decoder: ED BF is surrogate
      - range(0xA0, 0xC0), ErrorKind
      + range(0xA0, 0xB0), ErrorKind
    compact encoder: a code point refused
      - self.o.p.user.error.eq(refused)
      + self.o.p.user.error.eq(0)
    """)
"""A cover point of a design, and a fault with which the design does not reach it."""


@pytest.fixture
def few_cycles(monkeypatch):
    """Search for cover points in few cycles only, which takes seconds instead of minutes."""
    monkeypatch.setattr(prover, "MAX_CYCLES", 16)


@pytest.mark.long
@pytest.mark.usefixtures("few_cycles")
@pytest.mark.parametrize(("which", "point"), list(NEVER))
def test_unreached_cover_points_are_listed(which, point):
    proof = prove(bench_of(SPECS[which], "covers", altered(which, [NEVER[which, point]])))
    assert (proof.verdict, proof.unreached) == ("VACUOUS", (point,))
    assert proof.reached > 0
    assert proof.counterexample == {}


def test_every_property_of_byte_components_has_a_fault():
    keys = [*FAULTS, *LEMMA_FAULTS, ("compact encoder", "verilog")]
    keys += [(which, "covers") for which, _ in NEVER]
    killers = [property_of(SPECS[which], name) for which, name, *_ in keys]
    assert_each_has_a_fault(SPECS.values(), killers)


# --- faulty benches -----------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.usefixtures("few_cycles")
def test_tied_pin_is_vacuous(monkeypatch):
    design = Bench.design

    def tied(self: Bench, name: str, driven: Any = None, **options: Any) -> Any:
        return design(self, name, {"i.last": Const(1), **(driven or {})}, **options)

    monkeypatch.setattr(Bench, "design", tied)
    spec = replace(SPECS["compact decoder"], profile=UCS2)
    assert prove(bench_of(spec, "covers")).verdict == "VACUOUS"


def test_constant_inputs_are_vacuous(monkeypatch):
    monkeypatch.setattr(Bench, "free", lambda _bench, shape, name: Signal(shape, name=name))
    assert prove(bench_of(SPECS["compact encoder"], "bytes")).verdict == "VACUOUS"


def test_free_inputs_are_those_of_the_bench():
    make = {"decoder": SPECS["compact decoder"].make}
    free = Bench(UNICODE, make)
    free.design("decoder", any_start=True)
    free.free(1, "flip")
    with pytest.raises(ValueError, match="'flip' already"):
        free.free(1, "flip")
    circuit = prover.to_circuit(free)
    free.any_start.clear()
    with pytest.raises(RuntimeError, match=r"init:bench\.decoder"):
        prover._check_inputs(free, circuit)
    renamed = Bench(UNICODE, make)
    renamed.free(1, renamed.clock.name)
    with pytest.raises(RuntimeError, match="free inputs are not those of the bench"):
        prover.to_circuit(renamed)


# --- limits of the prover -----------------------------------------------------------------------


def proof_of_fault() -> Proof:
    edit = COMPACT_ENCODER_BREAKS["compact: last forgotten"]
    return prove(bench_of(SPECS["compact encoder"], "bytes", altered("compact encoder", [edit])))


def test_unfinished_proof_is_undecided(monkeypatch):
    run_tool = abc_program.run_tool
    monkeypatch.setattr(
        abc_program,
        "run_tool",
        lambda *call, **options: run_tool(*call, **options).replace("Property proved", ""),
    )
    proof = prove(bench_of(SPECS["compact encoder"], "last-arrives"))
    assert (proof.verdict, proof.counterexample) == ("UNDECIDED", {})


def test_time_limit_ends_programs_and_removes_folder(monkeypatch, tmp_path):
    started = []

    class Popen(subprocess.Popen):
        def __init__(self, arguments: Any, **options: Any) -> None:
            super().__init__(arguments, **options)
            started.append(self)

    monkeypatch.setattr(programs.subprocess, "Popen", Popen)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    proof = prove(bench_of(SPECS["compact decoder"], "latency"), limit=0)
    assert (proof.verdict, proof.method, proof.reached) == ("UNDECIDED", "limit of 0 s", 0)
    assert len(started) == 3
    assert all(process.returncode is not None for process in started)
    assert not any(tmp_path.iterdir())


@pytest.mark.long
def test_bounded_search_ends_an_endless_proof(monkeypatch):
    monkeypatch.setattr(prover, "PROVE", "sleep -N 600")  # a command of ABC
    monkeypatch.setattr(abc_program, "HEAD_START", 0)
    proof = proof_of_fault()
    assert (proof.verdict, proof.method) == ("FAILED", f"run of {len(proof.inputs)} cycles")


@pytest.mark.long
def test_failed_proof_has_a_run_if_shortening_times_out(monkeypatch):
    monkeypatch.setattr(prover, "_shortest_run", Mock(side_effect=OutOfTime("yosys-abc")))
    proof = proof_of_fault()
    assert (proof.verdict, proof.method) == ("FAILED", f"run of {len(proof.inputs)} cycles")
    assert proof.inputs
