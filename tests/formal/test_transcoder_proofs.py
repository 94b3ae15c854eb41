"""Proofs of the transcoder for pairs of encodings, and faults that its properties refute."""

from dataclasses import replace

import pytest

from altered import Altered, edited, edits_in
from refuted import assert_each_has_a_fault, assert_proved, bench_of, is_refuted, property_of
from utf8_flow.designs import DesignSpec
from utf8_flow.export.verilog import generate
from utf8_flow.formal import streams, transcoder
from utf8_flow.formal.properties import proofs_of
from utf8_hdl import UCS2, UNICODE

pytest.importorskip("pyosys", reason="pyosys is not installed")

LANES = 4


def spec_of(words: str) -> DesignSpec:
    """The design of ``utf-16 to utf-8, ucs2, big, bom, 2``."""
    pair, *options = words.split(", ")
    order = "be" if "big" in options else "le"
    source, target = (f"{name}{order * (name != 'utf-8')}" for name in pair.split(" to "))
    [lanes] = [int(word) for word in options if word.isdigit()] or [LANES]
    own = {
        "source": source,
        "target": target,
        "strip_bom": "bom" in options,
        "errors": "errors" in options,
    }
    profile = UCS2 if "ucs2" in options else UNICODE
    rules = replace(profile, accept_surrogates="surrogates" in options)
    return DesignSpec("transcoder", lanes=lanes, own=own, profile=rules)


# --- proofs -------------------------------------------------------------------------------------

# The properties of packing and of flow control are proved of the compactor, and by `make prove`.
PROOFS = [
    ("error", "utf-32 to utf-32"),
    ("units", "utf-32 to utf-8, big, bom"),
    ("units", "utf-16 to utf-32, ucs2, bom"),
    ("units", "utf-16 to utf-8, surrogates"),
    ("units", "utf-8 to utf-16, 2"),
    ("gaps", "utf-32 to utf-32"),
    ("begins", "utf-32 to utf-32"),
    ("apart", "utf-16 to utf-16"),
    ("self-synchronisation", "utf-32 to utf-32"),
    ("joins", "utf-32 to utf-32"),
    ("delivers", "utf-32 to utf-32"),
    ("first-error", "utf-16 to utf-16, errors, 2"),
    ("report-gaps", "utf-16 to utf-16, errors, 2"),
    ("report-begins", "utf-16 to utf-16, errors, 2"),
]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "words"), PROOFS, ids=map(": ".join, PROOFS))
def test_property_is_proved(name, words):
    assert_proved(bench_of(spec_of(words), name))


# --- faulty designs -----------------------------------------------------------------------------

FAULTS = edits_in("""
    units: utf-16 to utf-8: one U+FFFD too many for half a unit after half a pair
      - else low | part), last)
      + else low), last)
    gaps: utf-32 to utf-32, bom: a refused beat is counted
      - with make.m.If(make.valid):
      + with make.m.If(make.valid | (self.i.valid & ~self.i.ready)):
    begins: utf-16 to utf-32: reset does not clear a high surrogate
      - carried = step.signal(f"before_{name}")
      + carried = step.signal(f"before_{name}", reset_less=True)
    error: utf-32 to utf-32: a gap is a beat
      - with write.m.If(is_new):
      + with write.m.If(1):
    self-synchronisation: utf-32 to utf-32: an error persists
      - error = seen | found.any()
      + stays = write.signal("stays")
      +         write.m.d.sync += stays.eq(stays)
      +         error = seen | found.any() | stays
    joins: utf-16 to utf-8: a refused beat overwrites the beat that waits
      - with m.Elif(ends):
      + with m.Elif(ends | (self.i.valid & ~self.i.ready)):
    delivers: utf-32 to utf-32: `last` only after an error
      - p.last.eq(dense.last)
      + p.last.eq(dense.last & dense.user)
    given: utf-8 to utf-16, errors: a report comes early
      - Cat(stage["user"], stage["late"])
      + Cat(stage["user"], before["late"])
    first-error: utf-16 to utf-16, errors: the bytes of a cut sequence are not counted
      - _count(stages[1:], [*iter(error)])
      + _count(stages[1:], [*iter(error)][1:])
    report-gaps: utf-16 to utf-16, errors: a gap clears a high surrogate
      - with step.m.If(step.valid):
      + with step.m.If(1):
    report: utf-8 to utf-16, errors: the errors of the text before are counted
      - with tally.m.If(counted["clears"]):
      + with tally.m.If(counted["clears"] & 0):
    report-self-synchronisation: utf-8 to utf-16, errors: no text begins
      - begins.eq(last), phase
      + begins.eq(0), phase
    """)
"""The property that refutes a fault, the design, and the fault; and the edit."""


@pytest.mark.long
@pytest.mark.parametrize(("name", "words", "fault"), list(FAULTS))
def test_fault_is_refuted(name, words, fault):
    spec = spec_of(words)
    assert is_refuted(bench_of(spec, name, Altered(FAULTS[name, words, fault]).maker(spec)))


@pytest.mark.long
def test_verilog_of_another_design_is_refuted(monkeypatch):
    spec = spec_of("utf-16 to utf-16, 2")
    edit = "Value.cast(p.user).eq(dense.user)", "Value.cast(p.user).eq(~dense.user)"
    other = Altered(edit).maker(spec)(UNICODE)
    monkeypatch.setattr(streams, "generate", lambda _: generate(other))
    assert is_refuted(bench_of(spec, "verilog"))


@pytest.mark.long
def test_faulty_specification_is_refuted(monkeypatch):
    wrong = edited(transcoder, ("Mux(beat.last, 0, own[-1])", "own[-1]"))
    spec = spec_of("utf-16 to utf-8")
    monkeypatch.setattr(transcoder, "PROPERTIES", wrong.PROPERTIES)
    [what] = (what for what in proofs_of(spec) if what.name == "apart")
    assert is_refuted(what.bench(spec.profile, {"transcoder": spec.make}))


def test_every_property_of_transcoder_has_a_fault():
    """Faults for properties shared with other components are in the tests of these components."""
    spec, compactor, decoder = (
        DesignSpec("transcoder", own={"errors": True}),
        DesignSpec("compactor", lanes=2),
        DesignSpec("decoder", lanes=2),
    )
    names = {name for name, *_ in FAULTS} | {"apart", "verilog"}
    killers = [property_of(spec, name) for name in names]
    assert_each_has_a_fault([spec], [*killers, *proofs_of(compactor), *proofs_of(decoder)])
