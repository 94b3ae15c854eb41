"""The designs have every property, a design that breaks one is found out, and its run is real."""

import signal
import subprocess
import tempfile
from dataclasses import replace
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Signal, Value
from amaranth.sim import Simulator

from altered import edited
from refuted import assert_each_has_a_fault
from rtl import (
    BREAKS,
    BREAKS_OF_OTHER_RULES,
    COMPACT_DECODER_BREAKS,
    COMPACT_ENCODER_BREAKS,
    DESIGNS,
    ENCODER_BREAKS,
    altered,
    broken,
)
from utf8_flow.designs import DesignSpec, designs
from utf8_flow.export.verilog import generate
from utf8_flow.formal import abc_program, decoder, encoder, prover, specification, streams, timing
from utf8_flow.formal.bench import Bench
from utf8_flow.formal.properties import proofs_of
from utf8_flow.formal.prover import Proof, fails_within, prove
from utf8_flow.formal.well_formed import SECOND
from utf8_hdl import UCS2, UNICODE, Decoder, Encoder, Profile
from utf8_sim.tools import programs
from utf8_sim.tools.errors import OutOfTime
from utf8_sim.trace import Trace

pytest.importorskip("pyosys", reason="pyosys is not installed")

# Proofs about few lanes take a fraction of the time; `make prove` proves those about many, and all
# the variants of the transcoder. Flaws of designs with lanes have tests of their own.
LANED = [DesignSpec(name, lanes=2) for name in ("decoder", "validator", "compactor", "transcoder")]
COUNTING = DesignSpec("validator", lanes=8)
"""With more lanes, fewer bits of the offset count beats, and the proof is shorter."""
OF_COUNTING = "verdict", "self-synchronisation"

BYTE_WIDE = [spec for spec in designs() if spec.label in DESIGNS]
SPECS = {spec.label: spec for spec in [*BYTE_WIDE, *LANED, COUNTING]}
PROPERTIES = {
    (label, what.name): what
    for label, spec in SPECS.items()
    for what in proofs_of(spec)
    if spec.component != "validator" or (what.name in OF_COUNTING) == (spec == COUNTING)
}

Edits = list[tuple[str, str]]


def bench_of(which: str, name: str, design: Any = None, profile: Profile = UNICODE) -> Bench:
    what = PROPERTIES[which, name]
    return what.bench(profile, {what.component: design or SPECS[which].make})


def proof_of(*arguments: Any, **options: Any) -> Proof:
    return prove(bench_of(*arguments, **options))


def fails(*arguments: Any, **options: Any) -> bool:
    """Quicker than a proof: whether there is a run of 50 cycles against the property."""
    circuit = prover.to_circuit(bench_of(*arguments, **options), pins=False)
    return fails_within(circuit.only(prover.WRONG), 50)


def flawed(which: str, flaw: str | Edits) -> Any:
    """A maker of designs that have one of the flaws of `rtl`, or edits to their source."""
    if isinstance(flaw, str):
        return lambda profile: broken(flaw)
    return altered(which, flaw)


def of_properties(keys: Any) -> Any:
    return pytest.mark.parametrize(("which", "name"), keys, ids=map(": ".join, keys))


NOT_SIMULATED = [key for key in PROPERTIES if key[1] in ("self-synchronisation", "reset")]


@of_properties(NOT_SIMULATED)
def test_what_no_simulation_shows_is_proved(which, name):
    test_the_design_has_the_property(which, name)


@pytest.mark.sample(9)
@of_properties([key for key in PROPERTIES if key not in NOT_SIMULATED])
def test_the_design_has_the_property(which, name):
    proof = proof_of(which, name)
    assert (proof.verdict, proof.unreached, proof.counterexample) == ("proved", (), {})
    assert proof.reached > 0


def test_only_lemmas_are_without_a_design():
    for (which, _), what in PROPERTIES.items():
        assert what.statement.endswith(".")
        asked = []

        def make(profile, spec=SPECS[which], asked=asked):
            asked.append(profile)
            return spec.make(profile)

        what.bench(UCS2, {} if what.is_lemma else {what.component: make})
        assert bool(asked) != what.is_lemma


# --- broken designs -----------------------------------------------------------------------------


def stuck(definition: str, which: str = "decoder") -> Edits:
    """While a signal of this name is high, items are lost, or errors of the compact encoder."""
    if which == "decoder":
        lost = f"{definition}\n        valid = (i.valid & ~stuck) | skid_taken"
        return [("valid = i.valid | skid_taken", lost)]
    if which == "compact decoder":
        return [
            ("held = state[-1]", f"held = state[-1]\n        {definition}"),
            ("ends.eq(i.valid & ~begins)", "ends.eq(i.valid & ~begins & ~stuck)"),
        ]
    if which == "encoder":
        begin = "        profile, code_point = self.profile, self.i.p.code_point\n        width"
        names = "m, i = pipeline.m, self.i"
        return [
            (
                begin,
                begin.replace(
                    "        width", f"        {names}\n        {definition}\n        width"
                ),
            ),
            (
                "self.i.valid,\n            enable=advance",
                "i.valid & ~stuck,\n            enable=advance",
            ),
        ]
    begin = "        free = Signal()\n"
    return [
        (begin, f"{begin}        i = self.i\n        {definition}\n"),
        ("self.o.p.user.error.eq(refused)", "self.o.p.user.error.eq(refused & ~stuck)"),
    ]


NEVER_CLEARED = "stuck = Signal()\n        m.d.sync += stuck.eq(stuck)"
SET_BY_RESET = """\
stuck = Signal(reset_less=True)
        m.d.sync += stuck.eq(stuck & ~(i.valid & i.ready))
        from amaranth.hdl import ResetSignal
        with m.If(ResetSignal(allow_reset_less=True)):
            m.d.sync += stuck.eq(1)"""
EVERY_EIGHTH = """\
stuck, count = Signal(), Signal(3)
        m.d.sync += count.eq(count + (i.valid & i.ready))
        m.d.comb += stuck.eq(count.all())"""
"""When items are lost: ever after an upset, the first one after a reset, one of eight."""


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

FLAWS: dict[tuple[str, str], str | Edits] = {
    ("decoder", "tokens"): "wrong kind",
    # Never set from reset on; what is there at first keeps bytes back.
    ("decoder", "self-synchronisation"): stuck(NEVER_CLEARED),
    ("decoder", "drains"): [
        (
            "valid = i.valid | skid_taken",
            f"{NEVER_CLEARED}\n        valid = i.valid | skid_taken | stuck",
        )
    ],
    ("decoder", "output-stream"): "payload changes under stall",
    ("decoder", "valid-independent"): "valid depends on ready",
    ("decoder", "input-stream"): "byte taken that was not offered",
    ("decoder", "reset"): [
        ("self.state = Signal(self.State", "self.state = Signal(self.State, reset_less=True")
    ],
    ("decoder", "verilog"): "range: F5 is in range",
    ("compact decoder", "tokens"): "compact: interrupting byte swallowed",
    ("compact decoder", "self-synchronisation"): stuck(NEVER_CLEARED, "compact decoder"),
    ("compact decoder", "drains"): [
        ("emptied = Mux(i.valid, State.HELD, State.START)", "emptied = State.HELD")
    ],
    ("compact decoder", "output-stream"): "compact: moves while it is stalled",
    ("compact decoder", "valid-independent"): [
        (
            "m.d.sync += at_output.adopt(o.valid).eq(stalled | (ends & runs))",
            "present = Signal()\n"
            "        m.d.sync += present.eq((present & ~o.ready) | (ends & runs))\n"
            "        m.d.comb += o.valid.eq(present & o.ready)",
        )
    ],
    ("compact decoder", "input-stream"): "compact: valid in a gap",
    ("compact decoder", "reset"): [
        ("self.state = Signal(self.State", "self.state = Signal(self.State, reset_less=True")
    ],
    ("compact decoder", "verilog"): "compact: kind of a refused byte",
    ("encoder", "bytes"): "no error flag",
    ("encoder", "self-synchronisation"): stuck(NEVER_CLEARED, "encoder"),
    ("encoder", "output-stream"): "byte changes under stall",
    ("encoder", "valid-independent"): [BREAKS["valid depends on ready"]],
    ("encoder", "input-stream"): "nothing offered is taken",
    ("encoder", "reset"): [
        ("self.state = Signal(self.State", "self.state = Signal(self.State, reset_less=True")
    ],
    ("encoder", "verilog"): "range: DFFF is no surrogate",
    ("compact encoder", "bytes"): "compact: last with the lead byte",
    ("compact encoder", "self-synchronisation"): stuck(NEVER_CLEARED, "compact encoder"),
    ("compact encoder", "output-stream"): "compact: byte changes under stall",
    ("compact encoder", "idle-output"): [
        (
            "self.o.valid.eq(sending | self.i.valid)",
            "[self.o.valid.eq(sending | self.i.valid), self.o.p.eq(0)]",
        )
    ],
    ("compact encoder", "valid-independent"): [(VALID, VALID_FROM_READY)],
    ("compact encoder", "input-stream"): [
        ("m.Default(), m.If(self.i.valid)", "m.Default(), m.If(1)")
    ],
    ("compact encoder", "reset"): [
        ("self.state = Signal(self.State", "self.state = Signal(self.State, reset_less=True")
    ],
    ("compact encoder", "verilog"): "compact: range: DFFF is no surrogate",
}
"""For each property of a design but `covers`, a design without it."""

NOT_REPLAYED = "self-synchronisation", "drains", "reset", "verilog"
"""The run begins in any state or has a reset, which the pins of a trace do not show."""


@of_properties(list(FLAWS))
def test_a_design_without_the_property_is_found_out(monkeypatch, which, name):
    design = flawed(which, FLAWS[which, name])
    profile = design(UNICODE).profile
    if name == "verilog":
        monkeypatch.setattr(streams, "generate", lambda _: generate(design(profile)))
        proof = proof_of(which, name)
    else:
        proof = proof_of(which, name, design, profile)
    assert proof.verdict == "FAILED"
    assert proof.method == f"run of {len(proof.inputs)} cycles"
    assert {len(run.trace) for run in proof.counterexample.values()} == {len(proof.inputs)}
    if name not in NOT_REPLAYED:
        for trace in (run.trace for run in proof.counterexample.values()):
            observed = [*trace.interface.observed, "state"]
            assert replayed(design(profile), trace) == trace.table()[observed].tolist()


ATTEMPTS: dict[tuple[str, str, str], Edits] = {
    **{
        (which, name, what): stuck(definition, which)
        for which, rules in [
            ("decoder", "tokens"),
            ("compact decoder", "tokens"),
            ("encoder", "bytes"),
            ("compact encoder", "bytes"),
        ]
        for name, what, definition in [
            ("reset", "the first item after a reset is lost", SET_BY_RESET),
            (rules, "every eighth item is lost", EVERY_EIGHTH),
        ]
    },
    **{
        (which, "reset", f"{name} is not reset"): [(f'"{name}")', f'"{name}", reset_less=True)')]
        for which, name in [
            ("decoder", "both_full"),
            ("decoder", "enable"),
            ("decoder", "steps"),
            ("encoder", "advance"),
            ("encoder", "long"),
        ]
    },
    **{
        (which, "reset", "valid bits are not reset"): [
            ('stage.signal("valid")', 'stage.signal("valid", reset_less=True)')
        ]
        for which in ("decoder", "encoder")
    },
    **{
        (which, "self-synchronisation", "which entry is shown is counted"): [
            (
                "show.eq(select(will_stall, show, load_next ^ both_full))",
                "show.eq(show ^ (o.valid & o.ready))",
            )
        ]
        for which in ("decoder", "encoder")
    },
    **{
        (which, "output-stream", "a full entry is filled"): [
            BREAKS["buffer: a full entry is filled"]
        ]
        for which in ("decoder", "encoder")
    },
    ("decoder", "self-synchronisation", "a state without any bit lasts"): [
        ("{START: ~(byte[", "{START: Value.cast(self.state).any() & ~(byte[")
    ],
    ("decoder", "input-stream", "the skid register takes what is only offered"): [
        ("accepts = i.valid & i.ready", "accepts = i.valid")
    ],
    ("decoder", "valid-independent", "ready depends on the consumer"): [
        (
            "m.d.sync += [skid_taken.eq(taken_next), i.ready.eq(~taken_next)]",
            "free = Signal()\n"
            "        m.d.sync += [skid_taken.eq(taken_next), free.eq(~taken_next)]\n"
            "        m.d.comb += i.ready.eq(free & self._o.ready)",
        )
    ],
    ("encoder", "valid-independent", "ready depends on the consumer"): [
        ("i.ready.eq(advance)", "i.ready.eq(advance & self.o.ready)")
    ],
    ("decoder", "tokens", "the end of a text of one byte is lost"): [
        ('last=sequence["last"],', 'last=sequence["last"] & sequence["has"][0],')
    ],
    ("compact decoder", "reset", "valid is not reset"): [
        (
            "m.d.sync += at_output.adopt(o.valid).eq(stalled | (ends & runs))",
            "present = Signal(reset_less=True)\n"
            "        m.d.sync += present.eq(stalled | (ends & runs))\n"
            "        m.d.comb += o.valid.eq(present)",
        )
    ],
    ("compact decoder", "self-synchronisation", "a state register that lies"): [
        (
            'state = Stage(m, "The state").adopt(self.state)',
            "state, lie = Signal(State, init=State.START), Signal()\n"
            "        m.d.sync += lie.eq(lie & ~(i.valid & i.ready))\n"
            "        m.d.comb += self.state.eq(Mux(lie, State.HELD, state))",
        ),
        ("ends.eq(i.valid & ~begins)", "ends.eq(i.valid & ~begins & ~lie)"),
    ],
    ("compact decoder", "tokens", "the byte after a text that ends in HELD is lost"): [
        ("Mux(i.valid, State.HELD", "Mux(i.valid & ~before.last, State.HELD")
    ],
    ("compact decoder", "tokens", "a text's last byte in HELD begins a sequence"): [
        ("announced.any() & ~now.last", "announced.any() & (~now.last | state[-1])")
    ],
    ("encoder", "self-synchronisation", "a state without any bit lasts"): [
        ("lost.eq(~state.any()),", "lost.eq(0),")
    ],
    ("encoder", "bytes", "a code point is accepted only while the output moves"): [
        ("i.ready.eq(advance)", "i.ready.eq(advance & (~self.o.valid | self.o.ready))")
    ],
    ("encoder", "bytes", "the byte that comes when the output begins to wait is lost"): [
        ("will_stall & (both_full | comes)", "will_stall & both_full")
    ],
    ("compact encoder", "reset", "valid is not reset"): [
        ("m.d.sync += self.o.valid.eq(sending", "m.d.sync += present.eq(sending"),
        (
            "        free = Signal()\n",
            "        free, present = Signal(), Signal(reset_less=True)\n"
            "        m.d.comb += self.o.valid.eq(present)\n",
        ),
    ],
    ("compact encoder", "self-synchronisation", "a register that keeps code points out"): [
        ("i.ready.eq(free & ~sending)", "i.ready.eq(free & ~sending & ~stuck)"),
        ("        free = Signal()\n", f"        free = Signal()\n        {NEVER_CLEARED}\n"),
    ],
    ("compact encoder", "idle-output", "the error flag is cleared"): [
        (
            "        with m.If(self.i.valid & self.i.ready):",
            "        with m.If(~self.i.valid & free & ~sending):\n"
            "            m.d.sync += self.o.p.user.error.eq(0)\n"
            "        with m.If(self.i.valid & self.i.ready):",
        )
    ],
    ("compact encoder", "bytes", "no error after an error"): [
        (
            "self.o.p.user.error.eq(refused)",
            "self.o.p.user.error.eq(refused & ~self.o.p.user.error)",
        )
    ],
    ("compact encoder", "bytes", "the end of the code point that is offered"): [
        ("last if count == 1 else 0", "self.i.p.last if count == 1 else 0")
    ],
    ("compact encoder", "bytes", "the remainder of the code point that is offered"): [
        (
            "bits.eq(Mux(refused, REPLACEMENT, self.i.p.code_point)),\n"
            "                last.eq(self.i.p.last),\n            ]",
            "last.eq(self.i.p.last),\n            ]\n"
            "        with m.If(self.i.ready | (state == states[2])):\n"
            "            m.d.sync += bits.eq(Mux(refused, REPLACEMENT, self.i.p.code_point))",
        )
    ],
}
"""Wrong designs that were made to pass all proofs: each with the property that kills it."""


@pytest.mark.sample(6)
@pytest.mark.parametrize(("which", "name", "what"), list(ATTEMPTS))
def test_an_attempt_to_pass_all_proofs_fails(which, name, what):
    assert fails(which, name, flawed(which, ATTEMPTS[which, name, what]))


def test_an_encoder_leaves_a_state_without_a_name():
    """Two bits of state are one more than the three states of this profile need."""
    lasting = [("if unnamed:", "if 0:")]
    name = "self-synchronisation"
    assert proof_of("compact encoder", name, profile=UCS2).verdict == "proved"
    assert fails("compact encoder", name, flawed("compact encoder", lasting), UCS2)


def replayed(design: Any, trace: Trace) -> list[tuple[int, ...]]:
    """What a design shows in each cycle if it is driven as in a trace."""
    i, o = design.i, design.o
    fields = (i.p[pin.field] for pin in trace.interface.inputs)
    driven = i.valid, *fields, o.ready
    results = [
        Cat(Value.cast(o.p)[lowest : lowest + width] for lowest, width in pin.parts)
        for pin in trace.interface.outputs
    ]
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


ALL_FLAWS = [
    *BREAKS,
    *(name for name in BREAKS_OF_OTHER_RULES if not name.startswith("out of range: ")),
    *ENCODER_BREAKS,
    *COMPACT_DECODER_BREAKS,
    *COMPACT_ENCODER_BREAKS,
]
"""But for those of profiles that the specification has no tables of."""


@pytest.mark.sample(12)
@pytest.mark.parametrize("flaw", ALL_FLAWS)
def test_a_design_with_a_flaw_differs_from_specification_and_timing(flaw):
    design = broken(flaw)
    component = "decoder" if isinstance(design, Decoder) else "encoder"
    which = DesignSpec(component, flaw.startswith("compact")).label
    name = {"decoder": "tokens", "encoder": "bytes"}[component]
    assert fails(which, name, lambda _: design, design.profile)


def test_a_design_with_another_timing_is_found_out():
    assert fails("compact encoder", "bytes", Encoder)
    assert fails("compact decoder", "tokens", Decoder)


Edit = tuple[Any, str, str]

LEMMA_FLAWS: dict[tuple[str, str, str], Edit] = {
    ("decoder", "in-order", ""): (timing, "Mux(self.backlog, skid, offered)", "offered"),
    ("decoder", "in-order", "the token that is cut is lost"): (
        timing,
        "decided.valid | specification.cuts, result",
        "decided.valid, result",
    ),
    ("decoder", "in-order", "another one is given in its place"): (
        timing,
        "Mux(decided.valid, decided.result, cut)",
        "decided.result",
    ),
    ("decoder", "line-rate", ""): (
        timing,
        "~enable & (self.backlog | ",
        "(~enable & self.backlog | ",
    ),
    ("decoder", "latency", ""): (timing, "stages = 6", "stages = 7"),
    ("decoder", "latency", "late from the third byte on"): (
        timing,
        "Mux(self.backlog, skid, offered)\n",
        """Mux(self.backlog, skid, offered)
        enters, extra = enable & item[-2], Signal.like(item)
        late = b.since(enters & b.since(enters))
        with m.If(enable):
            m.d.sync += extra.eq(Cat(item[:-2], item[-2] & late, item[-1]))
        item = Mux(late, extra, item)
""",
    ),
    ("decoder", "conservation", ""): (specification, "wrong), pending", "wrong), 1"),
    ("decoder", "only-well-formed", ""): (
        specification,
        "Cat(*reversed(sequence[:form]))",
        "Cat(*sequence[:form])",
    ),
    ("decoder", "well-formed-passes", ""): (
        specification,
        "    E0     A0..BF",
        "    E0     A1..BF",
    ),
    ("compact decoder", "in-order", ""): (
        timing,
        "If(~waits(design)):\n            m.d.sync += [\n                was_first",
        "If(1):\n            m.d.sync += [\n                was_first",
    ),
    ("compact decoder", "in-order", "the token of the byte that cuts is lost"): (
        timing,
        "ends & (self.backlog | cuts | first), own",
        "ends & (self.backlog | first), own",
    ),
    ("compact decoder", "in-order", "that comes first"): (timing, "Mux(cuts, cut, own)", "own"),
    ("compact decoder", "line-rate", ""): (
        timing,
        "~waits(design) & self._running(m)",
        "~design.o.valid & self._running(m)",
    ),
    ("compact decoder", "latency", ""): (
        timing,
        "self.backlog | cuts | ends,",
        "self.backlog | cuts,",
    ),
    ("compact decoder", "latency", "late from the third token on"): (
        timing,
        "ends, result),\n"
        "                *behind.takes(1, ends & (self.backlog | cuts | first), own)",
        "(ends & ~(third := b.since(ends & b.since(ends)))), result),\n"
        "                *behind.takes(1, ends & (self.backlog | cuts | first | third), own)",
    ),
    ("encoder", "in-order", ""): (timing, "(~sends | specification.finishes)", "1"),
    ("encoder", "rate", ""): (timing, "in range(4):", "in range(5):"),
    ("encoder", "latency", ""): (timing, "in range(4):", "in range(3):"),
    ("encoder", "latency", "late from the second code point in a row on"): (
        timing,
        """        with m.If(self.ready):
            for _ in range(4):
""",
        """        late, extra = Signal(), Signal.like(item)
        with m.If(self.ready):
            m.d.sync += [late.eq(item[-1]), extra.eq(Cat(item[:-1], item[-1] & late))]
            item = Mux(extra[-1], extra, Cat(item[:-1], item[-1] & ~late))
            for _ in range(4):
""",
    ),
    ("encoder", "last-arrives", ""): (timing, "in range(4):", "in range(5):"),
    ("encoder", "shortest-form", ""): (specification, "(value < 1 << ", "(value < 1 << -1 + "),
    ("encoder", "round-trip", ""): (specification, "self.last & self.finishes", "self.last"),
    ("encoder", "order", ""): (specification, "1110xxxx 10xxxxxx", "1010xxxx 10xxxxxx"),
    ("compact encoder", "in-order", ""): (timing, "item.eq(input_of(design)), ", ""),
    ("compact encoder", "rate", ""): (timing, "design.o.ready & specification.finishes", "0"),
    ("compact encoder", "latency", ""): (
        timing,
        "self.valid.eq(1), specification",
        "specification",
    ),
    ("compact encoder", "last-arrives", ""): (
        timing,
        "~self.valid | (design.o.ready & specification.finishes)",
        "Const(1)",
    ),
}
"""For each lemma a mistake in the specification or the timing model that breaks it."""


@pytest.mark.parametrize(("which", "name", "what"), list(LEMMA_FLAWS))
def test_a_mistake_in_specification_or_timing_breaks_a_lemma(monkeypatch, which, name, what):
    model, *edit = LEMMA_FLAWS[which, name, what]
    wrong = vars(edited(model, edit))
    for user in (decoder, encoder):
        for used in ("DecoderSpecification", "EncoderSpecification"):
            monkeypatch.setattr(user, used, wrong.get(used, getattr(user, used)))
    lemma = PROPERTIES[which, name]
    timed = replace(lemma, timing=wrong.get(lemma.timing.__name__, lemma.timing))
    proof = prove(timed.bench(UNICODE, {}))
    assert proof.verdict == "FAILED" or (which, proof.verdict) == ("compact encoder", "VACUOUS")


@pytest.mark.parametrize("which", DESIGNS)
def test_for_every_property_there_is_a_fault(which):
    killers = [name for label, name, *_ in [*FLAWS, *LEMMA_FLAWS] if label == which]
    killers += ["covers" for label, _ in NEVER if label == which]
    assert_each_has_a_fault(SPECS[which], killers)


# --- specification, timing and well-formed text -------------------------------------------------


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("lead", "bounds", "verdict", "unreached"),
    [
        (0xE0, (0x9F, 0xBF), "FAILED", []),
        (0xE0, (0xA1, 0xBF), "VACUOUS", ["U+0800"]),
        (0xED, (0x80, 0x9E), "VACUOUS", ["U+D7FF"]),
        (0xED, (0x80, 0xA0), "FAILED", []),
        (0xF0, (0x8F, 0xBF), "FAILED", []),
        (0xF4, (0x80, 0x90), "FAILED", []),
    ],
)
def test_text_that_should_not_come_or_does_not_is_noticed(
    monkeypatch, lead, bounds, verdict, unreached
):
    monkeypatch.setitem(SECOND, lead, bounds)
    proof = proof_of("decoder", "well-formed-passes", profile=UCS2 if lead < 0xF0 else UNICODE)
    assert (proof.verdict, list(proof.unreached)) == (verdict, unreached)


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
    assert fails("decoder", "tokens")


def test_a_specification_that_expects_nothing_is_noticed():
    class Deaf(timing.ElasticTiming):
        def __init__(self, b: Any, design: Any, specified: Any, _: Any = None) -> None:
            super().__init__(b, design, specified, Const(0))

    what = replace(PROPERTIES["decoder", "tokens"], timing=Deaf)
    assert prove(what.bench(UNICODE, {"decoder": Decoder})).verdict != "proved"


# --- what is never reached ----------------------------------------------------------------------

NEVER = {
    ("decoder", "range: ED BF is no surrogate"): ["ED BF is surrogate"],
    ("encoder", "no error flag"): ["a code point refused"],
    ("decoder", "missed last: cut character kept"): [
        f"a text cut after {length}" for length in (1, 2, 3)
    ],
    ("compact decoder", "range: ED BF is no surrogate"): ["ED BF is surrogate"],
    ("compact encoder", "compact: no error flag"): ["a code point refused"],
}
"""What a design with a flaw never does, which `covers` asks for."""

ALL_EDITS = BREAKS | ENCODER_BREAKS | COMPACT_ENCODER_BREAKS


@pytest.fixture
def few_cycles(monkeypatch):
    """To look for what is never reached takes minutes in as many cycles as the command tries."""
    monkeypatch.setattr(prover, "MAX_CYCLES", 16)


@pytest.mark.sample(3)
@pytest.mark.usefixtures("few_cycles")
@pytest.mark.parametrize(("which", "flaw"), list(NEVER))
def test_what_a_design_never_does_is_listed(which, flaw):
    proof = proof_of(which, "covers", flawed(which, [ALL_EDITS[flaw]]))
    assert (proof.verdict, list(proof.unreached)) == ("VACUOUS", NEVER[which, flaw])
    assert proof.reached > 0
    assert proof.counterexample == {}


def test_a_design_without_registers_can_be_wrong():
    proof = proof_of("decoder", "tokens", flawed("decoder", "never ready"))
    assert proof.verdict == "FAILED"
    assert proof.counterexample


# --- mistakes in the surroundings ---------------------------------------------------------------


@pytest.mark.sample(2)
@pytest.mark.usefixtures("few_cycles")
@pytest.mark.parametrize("component", ["decoder", "encoder"])
@pytest.mark.parametrize(
    ("pin", "level"), [("i.valid", 1), ("i.last", 0), ("i.last", 1), ("o.ready", 1)]
)
def test_a_pin_that_never_moves_is_noticed(monkeypatch, component, pin, level):
    design = Bench.design

    def tied(self: Bench, name: str, driven: Any = None, **options: Any) -> Any:
        return design(self, name, {pin: Const(level), **(driven or {})}, **options)

    monkeypatch.setattr(Bench, "design", tied)
    assert proof_of(component, "covers", profile=UCS2).verdict == "VACUOUS"


@pytest.mark.sample(2)
@of_properties([key for key in PROPERTIES if key[1] in ("covers", "tokens", "bytes", "verilog")])
def test_inputs_that_are_not_free_prove_nothing(monkeypatch, which, name):
    monkeypatch.setattr(Bench, "free", lambda _bench, shape, name: Signal(shape, name=name))
    assert proof_of(which, name).verdict == "VACUOUS"


def test_what_is_free_is_what_the_bench_says():
    free = Bench(UNICODE, {"decoder": Decoder})
    free.design("decoder", any_start=True)
    free.free(1, "flip")
    with pytest.raises(ValueError, match="'flip' already"):
        free.free(1, "flip")
    circuit = prover.to_circuit(free)
    free.any_start.clear()
    with pytest.raises(RuntimeError, match=r"init:bench\.decoder"):
        prover._check_inputs(free, circuit)
    renamed = Bench(UNICODE, {"decoder": Decoder})
    renamed.free(1, renamed.clock.name)
    with pytest.raises(RuntimeError, match="free inputs are not those of the bench"):
        prover.to_circuit(renamed)


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
    assert fails("decoder", "self-synchronisation", altered("decoder", stuck(definition)), UCS2)


def test_a_prover_that_gives_up_decides_nothing(monkeypatch):
    run_tool = abc_program.run_tool
    monkeypatch.setattr(
        abc_program,
        "run_tool",
        lambda *call, **options: run_tool(*call, **options).replace("Property proved", ""),
    )
    proof = proof_of("encoder", "last-arrives")
    assert (proof.verdict, proof.counterexample) == ("UNDECIDED", {})


@pytest.mark.parametrize("name", ["line-rate", "latency"])
def test_a_proof_beyond_its_time_limit_ends(monkeypatch, tmp_path, name):
    """Its program is ended, and its folder removed."""
    started = []

    class Popen(subprocess.Popen):
        def __init__(self, arguments: Any, **options: Any) -> None:
            super().__init__(arguments, **options)
            started.append(self)

    monkeypatch.setattr(programs.subprocess, "Popen", Popen)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    proof = prove(bench_of("compact decoder", name), limit=0)
    assert (proof.verdict, proof.method, proof.reached) == ("UNDECIDED", "limit of 0 s", 0)
    assert [process.returncode for process in started] == [0, -signal.SIGKILL, -signal.SIGKILL]
    assert not any(tmp_path.iterdir())


def test_a_search_beside_a_proof_that_does_not_end_finds_a_counterexample(monkeypatch):
    monkeypatch.setattr(prover, "PROVE", "sleep -N 600")
    monkeypatch.setattr(abc_program, "HEAD_START", 0)
    proof = proof_of("decoder", "tokens", flawed("decoder", "wrong kind"))
    assert (proof.verdict, proof.method) == ("FAILED", "run of 9 cycles")


def test_a_failure_whose_shortest_run_is_not_found_in_time_has_another_one(monkeypatch):
    def out_of_time(*_: Any) -> Any:
        raise OutOfTime("yosys-abc")

    monkeypatch.setattr(prover, "_shortest_run", out_of_time)
    proof = proof_of("decoder", "tokens", flawed("decoder", "wrong kind"))
    assert (proof.verdict, proof.method) == ("FAILED", f"run of {len(proof.inputs)} cycles")
    assert proof.inputs
