"""The designs have every property, a design that breaks one is found out, and its run is real."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest
from amaranth.hdl import Const, Signal
from amaranth.sim import Simulator

from rtl import BREAKS, altered, broken
from utf8_flow.components import ENTRIES
from utf8_flow.export.verilog import generate
from utf8_flow.formal import (
    bench,
    decoder,
    encoder,
    prover,
    specification,
    streams,
    timing,
    well_formed,
)
from utf8_flow.formal.prover import Proof, prove
from utf8_hdl import UCS2, UNICODE, Decoder, Encoder, Profile, compact_decoder, compact_encoder
from utf8_sim.trace import Trace

pytest.importorskip("pyosys", reason="pyosys is not installed")

GOOD = {"decoder": Decoder, "encoder": Encoder}
PROPERTIES = [what for entry in ENTRIES.values() for what in entry.proofs(False)]
COMPACT = [what for entry in ENTRIES.values() for what in entry.proofs(True)]
BY_NAME = {(what.component, what.name): what for what in PROPERTIES}
COMPACT_BY_NAME = {(what.component, what.name): what for what in COMPACT}
COMPACT_DESIGNS = {name: partial(make, compact=True) for name, make in GOOD.items()}

Edits = list[tuple[str, str]]

STATE = "self.state = Signal(self.State"
NOT_RESET = [(STATE, f"{STATE}, reset_less=True")]


def stuck(definition: str) -> Edits:
    """While a signal of this name is high, bytes are lost."""
    lost = f"{definition}\n        valid = (i.valid & ~stuck) | skid_taken"
    return [("valid = i.valid | skid_taken", lost)]


FLAWS: dict[tuple[str, str], str | Edits] = {
    ("decoder", "tokens"): "wrong kind",
    # Never set from reset on; what is there at first keeps bytes back.
    ("decoder", "self-synchronisation"): stuck(
        "stuck = Signal()\n        m.d.sync += stuck.eq(stuck)"
    ),
    ("decoder", "output-stream"): "payload changes under stall",
    ("decoder", "valid-independent"): "valid depends on ready",
    ("decoder", "input-stream"): "byte taken that was not offered",
    ("decoder", "reset"): [
        ("init=self.State.START)\n        self.skid", "reset_less=True)\n        self.skid")
    ],
    ("decoder", "verilog"): "range: F5 is in range",
    ("encoder", "bytes"): "no error flag",
    ("encoder", "output-stream"): "byte changes under stall",
    ("encoder", "valid-independent"): [BREAKS["valid depends on ready"]],
    ("encoder", "input-stream"): "nothing offered is taken",
    ("encoder", "reset"): NOT_RESET,
    ("encoder", "verilog"): "range: DFFF is no surrogate",
}
"""For each property a design without it: one of `rtl`'s by name, or edits to the source."""

WITHOUT_A_LEMMA: list[tuple[str, str, str | Edits]] = [
    ("decoder", "tokens", "half rate"),
    ("decoder", "tokens", "valid waits for ready"),
    ("decoder", "tokens", "interrupting byte swallowed"),
    ("decoder", "tokens", "range: C1 is not overlong"),
    # Every second byte after E0 counts as overlong.
    ("decoder", "tokens", [("0x80 + (1 << 8 - length)", "0xC0")]),
    ("encoder", "bytes", "bubble after every character"),
    ("encoder", "bytes", "taken while sending"),
    ("encoder", "bytes", "overlong: 7F in two bytes"),
    ("encoder", "bytes", "last with every byte"),
    ("encoder", "bytes", "groups in the wrong order"),
    ("encoder", "bytes", "last forgotten"),
]
"""Designs that have not what a lemma says, and the property that makes it theirs."""

Edit = tuple[Any, str, str]

LEMMA_FLAWS: dict[tuple[str, str], Edit] = {
    ("decoder", "in-order"): (timing, "Mux(self.backlog, skid, offered)", "offered"),
    ("decoder", "line-rate"): (timing, "design.o.ready | (self._enable", "(self._enable"),
    ("decoder", "latency"): (timing, "DECODER_STAGES = 6", "DECODER_STAGES = 7"),
    ("decoder", "conservation"): (specification, "reason), pending)", "reason), 1)"),
    ("decoder", "only-well-formed"): (specification, "Cat(*reversed([bit", "Cat(*list([bit"),
    ("decoder", "well-formed-passes"): (specification, "    E0     A0..BF", "    E0     A1..BF"),
    ("encoder", "in-order"): (timing, "(~self._sends | specification.finishes)", "1"),
    ("encoder", "rate"): (timing, "in range(4):", "in range(5):"),
    ("encoder", "latency"): (timing, "in range(4):", "in range(3):"),
    ("encoder", "last-arrives"): (timing, "in range(4):", "in range(5):"),
    ("encoder", "shortest-form"): (specification, "(value < 1 << ", "(value < 1 << -1 + "),
    ("encoder", "round-trip"): (specification, "self.last & self.finishes", "self.last"),
    ("encoder", "order"): (specification, "1110xxxx 10xxxxxx", "1010xxxx 10xxxxxx"),
}
"""For each lemma a mistake in the specification or the timing model that breaks it."""

# The run begins in any state or has a reset, which the pins of a trace do not show.
NOT_REPLAYED = ("self-synchronisation", "reset", "verilog")


def named(keys: Any) -> Any:
    return pytest.mark.parametrize(("component", "name"), keys, ids=map(" ".join, keys))


def flawed(component: str, flaw: str | Edits) -> Callable[[Profile], Any]:
    if isinstance(flaw, str):
        return lambda profile: broken(flaw)
    return altered(component, flaw)


def proof_of(component: str, name: str, design: Any = None, profile: Profile = UNICODE) -> Proof:
    designs = GOOD | ({component: design} if design else {})
    return prove(BY_NAME[component, name], profile, designs)


@cache
def contradicted(component: str, name: str) -> Proof:
    """What the prover says of the design without the property."""
    design = flawed(component, FLAWS[component, name])
    if name != "verilog":
        return proof_of(component, name, design)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "generate", lambda _: generate(design(UNICODE)))
        return proof_of(component, name)


@pytest.mark.sample(5)
@named(list(BY_NAME))
def test_the_design_has_the_property(component, name):
    proof = proof_of(component, name)
    assert (proof.verdict, proof.unreached, proof.counterexample) == ("proved", (), {})
    assert proof.reached > 0


@pytest.mark.parametrize("what", PROPERTIES, ids=lambda what: f"{what.component} {what.name}")
def test_the_property_says_what_it_is(what):
    assert what.statement.endswith(".")
    assert "\n" not in what.statement


# --- broken designs -----------------------------------------------------------------------------


def test_for_every_property_there_is_a_design_without_it():
    lemmas = {key for key, what in BY_NAME.items() if what.is_lemma}
    assert set(LEMMA_FLAWS) == lemmas
    assert set(FLAWS) == {key for key in BY_NAME if key[1] != "covers"} - lemmas


@named(list(FLAWS))
def test_a_design_without_the_property_is_found_out(component, name):
    proof = contradicted(component, name)
    assert proof.verdict == "FAILED"
    assert component in proof.counterexample
    [cycles] = {len(trace) for trace in proof.counterexample.values()}
    assert proof.method == f"run of {cycles} cycles"


@pytest.mark.parametrize(("component", "name", "flaw"), WITHOUT_A_LEMMA)
def test_a_design_without_what_a_lemma_says_is_found_out(component, name, flaw):
    assert proof_of(component, name, flawed(component, flaw)).verdict == "FAILED"


@named(list(LEMMA_FLAWS))
def test_a_mistake_in_specification_or_timing_breaks_a_lemma(monkeypatch, component, name):
    model, good, bad = LEMMA_FLAWS[component, name]
    source = inspect.getsource(model)
    assert good in source
    wrong = {"__name__": model.__name__, "__package__": model.__package__}
    exec(source.replace(good, bad), wrong)
    for user in (decoder, encoder):
        for used in ("DecoderSpecification", "EncoderSpecification"):
            monkeypatch.setattr(user, used, wrong.get(used, getattr(user, used)))
    what = BY_NAME[component, name]
    timed = replace(what, timing=wrong.get(what.timing.__name__, what.timing))
    proof = prove(timed, UNICODE, {})
    assert proof.verdict == "FAILED"
    assert proof.method == f"run of {len(proof.inputs)} cycles"


def test_a_lemma_has_no_design():
    for what in BY_NAME.values():
        on_bench = bench.Bench(UCS2, {} if what.is_lemma else GOOD, what.timing)
        what.state(on_bench, what.component)
        designs = [type(made) for made in on_bench.components.values()]
        assert (Decoder in designs or Encoder in designs) != what.is_lemma


@named([key for key in FLAWS if key[1] not in NOT_REPLAYED])
def test_a_counterexample_is_what_the_design_does(component, name):
    designs = GOOD | {component: flawed(component, FLAWS[component, name])}
    for pins, trace in contradicted(component, name).counterexample.items():
        design = designs[pins.split("_", maxsplit=1)[0]](UNICODE)
        assert replayed(design, trace) == trace.table()[observed(trace)].tolist()


def observed(trace: Trace) -> list[str]:
    return [*trace.interface.observed, "state"]


def replayed(design: Any, trace: Trace) -> list[tuple[int, ...]]:
    """What a design shows in each cycle if it is driven as in a trace."""
    i, o = design.i, design.o
    fields = (i.p[pin.name.removeprefix("i.")] for pin in trace.interface.inputs)
    driven = i.valid, *fields, o.ready
    results = [o.p[pin.name.removeprefix("o.")] for pin in trace.interface.outputs]
    simulator = Simulator(design)
    simulator.add_clock(10e-9)
    cycles = []

    async def run(ctx):
        for levels in trace.table()[list(trace.interface.driven)].tolist():
            for pin, level in zip(driven, levels, strict=True):
                ctx.set(pin, level)
            shown = [ctx.get(pin) for pin in (i.ready, o.valid, *results, design.state)]
            cycles.append(tuple(getattr(level, "value", level) for level in shown))
            await ctx.tick()

    simulator.add_testbench(run)
    simulator.run()
    return cycles


# --- the compact designs ------------------------------------------------------------------------


@named(list(COMPACT_BY_NAME))
def test_the_compact_design_has_the_property(component, name):
    proof = prove(COMPACT_BY_NAME[component, name], UCS2, COMPACT_DESIGNS)
    assert (proof.verdict, proof.unreached) == ("proved", ())
    assert proof.reached > 0


VALID = """\
        with m.If(free):
            m.d.sync += self.o.valid.eq(sending | self.i.valid)
"""
VALID_FROM_READY = """\
        shown = Signal()
        m.d.comb += self.o.valid.eq(shown & self.o.ready)
        with m.If(free):
            m.d.sync += shown.eq(sending | self.i.valid)
"""

# A code point is only taken while the output is empty.
SLOW = [
    ("free & ~sending)", "free & ~sending & ~self.o.valid)"),
    ("sending | self.i.valid", "sending | self.i.valid & self.i.ready"),
    ("m.Default(), m.If(self.i.valid)", "m.Default(), m.If(self.i.ready & self.i.valid)"),
]

COMPACT_FLAWS: list[tuple[str, str, Edits]] = [
    # The second of two bytes behind a sequence that is cut is lost.
    ("decoder", "tokens", [("Mux(i.valid, State.HELD, State.START)", "State.START")]),
    # The output register moves while the output waits.
    ("decoder", "tokens", [("stalled = o.valid & ~o.ready", "stalled = Const(0)")]),
    # Never set from reset on; what is there at first keeps tokens back.
    (
        "decoder",
        "self-synchronisation",
        [
            ("held = state[-1]", "held, stuck = state[-1], Signal()"),
            ("# The registers.", "m.d.sync += stuck.eq(stuck)  #"),
            ("ends.eq(i.valid & ~begins)", "ends.eq(i.valid & ~begins & ~stuck)"),
        ],
    ),
    ("encoder", "bytes", SLOW),
    ("encoder", "bytes", [("sending | self.i.valid", "sending")]),
    ("encoder", "bytes", [("self.i.p.last & ~more", "self.i.p.last")]),
    ("encoder", "output-stream", [("free.eq(~self.o.valid | self.o.ready)", "free.eq(1)")]),
    (
        "encoder",
        "idle-output",
        [
            (
                "self.o.valid.eq(sending | self.i.valid)",
                "[self.o.valid.eq(sending | self.i.valid), self.o.p.eq(0)]",
            )
        ],
    ),
    ("encoder", "valid-independent", [(VALID, VALID_FROM_READY)]),
    (
        "encoder",
        "input-stream",
        [("m.Default(), m.If(self.i.valid)", "m.Default(), m.If(1)")],
    ),
]
"""Compact designs without a property."""


@pytest.mark.parametrize(("component", "name", "edits"), COMPACT_FLAWS)
def test_a_compact_design_without_the_property_is_found_out(monkeypatch, component, name, edits):
    module = {"decoder": compact_decoder, "encoder": compact_encoder}[component]
    source = inspect.getsource(module)
    for good, bad in edits:
        assert source.count(good) == 1
        source = source.replace(good, bad)
    wrong = {"__name__": "utf8_hdl.broken", "__package__": "utf8_hdl", "Const": Const}
    exec(source, wrong)
    inside = f"Compact{component.capitalize()}"
    monkeypatch.setattr(inspect.getmodule(GOOD[component]), inside, wrong[inside])
    what = COMPACT_BY_NAME[component, name]
    assert prove(what, UCS2, COMPACT_DESIGNS).verdict == "FAILED"


COMPACT_LEMMA_FLAWS = {
    ("decoder", "in-order"): ("with m.If(~waits(design)):", "with m.If(1):"),
    ("decoder", "line-rate"): ("self.ready = ~waits(design)", "self.ready = ~design.o.valid"),
    ("decoder", "latency"): ("self.backlog | cuts | ends,", "self.backlog | cuts,"),
    ("encoder", "in-order"): ("item.eq(input_of(design)), ", ""),
    ("encoder", "rate"): ("design.o.ready & specification.finishes", "0"),
    ("encoder", "latency"): ("self.valid.eq(1), specification", "specification"),
    ("encoder", "last-arrives"): (
        "~self.valid | (design.o.ready & specification.finishes)",
        "Value.cast(1)",
    ),
}
"""For each lemma about a compact design's timing a mistake in its model."""


@named(list(COMPACT_LEMMA_FLAWS))
def test_a_mistake_in_the_compact_timing_breaks_a_lemma(component, name):
    good, bad = COMPACT_LEMMA_FLAWS[component, name]
    source = inspect.getsource(timing)
    assert source.count(good) == 1
    wrong = {"__name__": timing.__name__, "__package__": timing.__package__}
    exec(source.replace(good, bad), wrong)
    what = COMPACT_BY_NAME[component, name]
    timed = replace(what, timing=wrong[what.timing.__name__])
    assert prove(timed, UCS2, {}).verdict in ("FAILED", "VACUOUS")


def test_a_compact_design_is_not_as_late_as_the_pipelined_one():
    assert prove(COMPACT_BY_NAME["encoder", "bytes"], UCS2, GOOD).verdict == "FAILED"
    assert prove(COMPACT_BY_NAME["decoder", "tokens"], UCS2, GOOD).verdict == "FAILED"


# --- specification, timing and well-formed text -------------------------------------------------

REJECTS = [
    "pair: what was there in a gap counts",
    "state: two at once",
    "state: gaps count",
    "state: moves while stalled",
    "cut by a gap",
    "buffer: a full entry is filled",
    "buffer: the same token again",
    "payloads move while stalled",
    "valid bits move while stalled",
    "token is lost while stalled",
    "never stalled",
    "byte taken without room",
    "skid: byte lost in it",
    "skid: byte behind it lost",
    "skid: the later byte goes first",
    "skid: last of the later byte",
    "noncharacter: EFFF is one",
    "noncharacter: of four bytes",
]
"""Designs that find errors in well-formed text, some only with stalls or pauses. By
``well-formed-passes`` they differ from the specification, and ``tokens`` notices."""


@pytest.mark.sample(6)
@pytest.mark.parametrize("flaw", REJECTS)
def test_a_design_that_finds_errors_in_well_formed_text_is_found_out(flaw):
    design = broken(flaw)
    made = bench.Bench(design.profile, {"decoder": lambda _: design}, timing.ElasticTiming)
    decoder.tokens(made, "decoder")
    assert prover.fails_within(prover.to_circuit(made).only(prover.WRONG), 20)


@pytest.mark.parametrize(
    ("lead", "bounds"),
    [(0xE0, (0x9F, 0xBF)), (0xED, (0x80, 0xA0)), (0xF0, (0x8F, 0xBF)), (0xF4, (0x80, 0x90))],
)
def test_text_that_is_not_well_formed_does_not_pass(monkeypatch, lead, bounds):
    monkeypatch.setitem(well_formed.SECOND, lead, bounds)
    assert proof_of("decoder", "well-formed-passes").verdict == "FAILED"


@pytest.mark.parametrize(
    ("lead", "bounds", "unreached"),
    [
        (0xE0, (0xA1, 0xBF), ["U+0800"]),
        (0xED, (0x80, 0x9E), ["U+D7FF"]),
    ],
)
def test_well_formed_text_that_never_comes_is_noticed(monkeypatch, lead, bounds, unreached):
    monkeypatch.setitem(well_formed.SECOND, lead, bounds)
    proof = proof_of("decoder", "well-formed-passes", profile=UCS2)
    assert (proof.verdict, list(proof.unreached)) == ("VACUOUS", unreached)


def test_order_is_more_than_the_right_bytes(monkeypatch):
    """Lead bytes A0..AF instead of E0..EF, in encoder and specification: well, but not in order."""
    monkeypatch.setitem(specification.FORMS, 3, "1010xxxx 10xxxxxx 10xxxxxx")
    made = altered("encoder", [("    return Cat(own_bits", A0_TO_AF + "    return Cat(own_bits")])
    designs = {"encoder": partial(made, compact=True)}
    assert prove(COMPACT_BY_NAME["encoder", "bytes"], UNICODE, designs).verdict == "proved"
    assert proof_of("encoder", "order").verdict == "FAILED"


A0_TO_AF = '    marker = "1010" if form == 3 else marker\n'


# --- what is never reached ----------------------------------------------------------------------

CUTS = [f"a text cut after {length}" for length in (1, 2, 3)]


@pytest.fixture
def few_cycles(monkeypatch):
    """To look for what is never reached takes minutes in as many cycles as the command tries."""
    monkeypatch.setattr(prover, "MOST_CYCLES", 16)


@pytest.mark.usefixtures("few_cycles")
@pytest.mark.parametrize(
    ("component", "flaw", "unreached"),
    [
        ("decoder", "range: ED BF is no surrogate", ["ED BF is surrogate"]),
        ("decoder", "missed last: cut character kept", CUTS),
        ("encoder", "no error flag", ["a code point refused"]),
    ],
)
def test_what_a_design_never_does_is_listed(component, flaw, unreached):
    proof = proof_of(component, "covers", flawed(component, flaw))
    assert (proof.verdict, list(proof.unreached)) == ("VACUOUS", unreached)
    assert proof.reached > 0
    assert proof.counterexample == {}


def test_a_design_that_takes_nothing_proves_nothing():
    assert proof_of("decoder", "covers", flawed("decoder", "never ready")).verdict == "VACUOUS"
    assert proof_of("decoder", "tokens", flawed("decoder", "never ready")).verdict == "FAILED"


# --- mistakes in the surroundings ---------------------------------------------------------------


class Tied(bench.Bench):
    """One pin has the same level in every cycle."""

    pin, level = "o.ready", 1

    def design(self, name: str, driven: Any = None, **options: Any) -> Any:
        return super().design(name, {self.pin: Const(self.level), **(driven or {})}, **options)


@pytest.mark.sample(3)
@pytest.mark.usefixtures("few_cycles")
@pytest.mark.parametrize(
    ("component", "pin", "level"),
    [
        ("decoder", "i.valid", 1),
        ("decoder", "i.last", 0),
        ("decoder", "i.last", 1),
        ("decoder", "o.ready", 1),
        ("encoder", "i.valid", 1),
        ("encoder", "i.last", 0),
        ("encoder", "i.last", 1),
        ("encoder", "o.ready", 1),
    ],
)
def test_a_pin_that_never_moves_is_noticed(monkeypatch, component, pin, level):
    tied = type("Bench", (Tied,), {"pin": pin, "level": level})
    monkeypatch.setattr(prover, "Bench", tied)
    assert proof_of(component, "covers").verdict == "VACUOUS"


@pytest.mark.sample(2)
@named([key for key in BY_NAME if key[1] in ("covers", "tokens", "bytes", "verilog")])
def test_inputs_that_are_not_free_prove_nothing(monkeypatch, component, name):
    monkeypatch.setattr(bench.Bench, "free", lambda _bench, shape, name: Signal(shape, name=name))
    assert proof_of(component, name).verdict == "VACUOUS"


def test_an_input_under_another_name_is_refused():
    free = bench.Bench(UNICODE, GOOD)
    free.design("decoder")
    free.free(1, free.clock.name)
    with pytest.raises(RuntimeError, match="free inputs are not those of the bench"):
        prover.to_circuit(free)


def test_registers_that_begin_with_anything_are_refused_where_none_is_meant_to():
    free = bench.Bench(UNICODE, GOOD)
    free.design("decoder", any_start=True)
    circuit = prover.to_circuit(free)
    free.any_start.clear()
    with pytest.raises(RuntimeError, match="init:decoder"):
        prover._check_inputs(free, circuit)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("TABLE_3_7", "ED     80..9F", "ED     80..BF"),
        ("SURROGATES", "ED     A0..BF", "ED     B0..BF"),
        ("TABLE_3_7", "C2..DF", "C3..DF"),
        ("OVERLONG", "C0..C1", "C0..C0"),
    ],
)
def test_a_mistake_in_the_tables_is_noticed(monkeypatch, name, good, bad):
    text = getattr(specification, name)
    assert text.count(good) == 1
    monkeypatch.setattr(specification, name, text.replace(good, bad))
    proof = proof_of("decoder", "tokens")
    assert proof.verdict == "FAILED"
    trace = proof.counterexample["decoder"]
    assert replayed(Decoder(), trace) == trace.table()[observed(trace)].tolist()


def test_surrogates_that_the_specification_accepts_are_noticed(monkeypatch):
    everything = specification.TABLE_3_7 + specification.SURROGATES
    monkeypatch.setattr(specification, "TABLE_3_7", everything)
    monkeypatch.setattr(specification, "SURROGATES", "")
    assert proof_of("decoder", "tokens").verdict == "FAILED"


def test_a_specification_that_expects_nothing_is_noticed():
    class Deaf(timing.ElasticTiming):
        def __init__(self, b: Any, design: Any, specified: Any, _: Any = None) -> None:
            super().__init__(b, design, specified, Const(0))

    what = replace(BY_NAME["decoder", "tokens"], timing=Deaf)
    assert prove(what, UNICODE, GOOD).verdict != "proved"


def test_a_prover_that_gives_up_decides_nothing(monkeypatch):
    run_tool = prover.run_tool
    monkeypatch.setattr(
        prover,
        "run_tool",
        lambda program, *rest, **options: (
            "" if "pdr" in program[-1] else run_tool(program, *rest, **options)
        ),
    )
    proof = proof_of("encoder", "last-arrives")
    assert (proof.verdict, proof.counterexample) == ("UNDECIDED", {})


# --- what the way to the prover must not lose ---------------------------------------------------


@pytest.mark.parametrize(
    "definition",
    [
        "stuck = Signal()\n        m.d.sync += stuck.eq(0)",
        "a, b, stuck = Signal(), Signal(), Signal()\n"
        "        m.d.sync += [a.eq(i.p.data[0]), b.eq(i.p.data[0])]\n"
        "        m.d.comb += stuck.eq(a ^ b)",
    ],
    ids=["a constant register", "two equal registers"],
)
def test_registers_that_never_differ_from_reset_on_may_hold_anything_at_first(definition):
    broken_at_first = altered("decoder", stuck(definition))
    proof = proof_of("decoder", "self-synchronisation", broken_at_first, UCS2)
    assert proof.verdict == "FAILED"


def test_a_design_without_registers_can_be_wrong():
    proof = proof_of("decoder", "tokens", flawed("decoder", "never ready"))
    assert proof.verdict == "FAILED"
    assert proof.counterexample


def test_a_name_cannot_be_given_to_two_inputs():
    on_bench = bench.Bench(UNICODE, GOOD)
    on_bench.free(1, "flip")
    with pytest.raises(ValueError, match="'flip' already"):
        on_bench.free(1, "flip")
