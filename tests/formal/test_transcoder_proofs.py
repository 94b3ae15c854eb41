"""Proofs of the transcoder: flaws anywhere in its first part, and in the join, are found out."""

import re
from dataclasses import replace
from typing import Any

import pytest

import utf8_hdl
from altered import Altered, Edit, edited
from command import assert_is_waveform, replace_design, run, squeezed
from refuted import is_refuted
from rtl import moves_with_the_slots
from utf8_flow.designs import DesignSpec
from utf8_flow.export.verilog import generate
from utf8_flow.formal import streams, transcoder
from utf8_flow.formal.bench import Bench
from utf8_flow.formal.properties import proofs_of
from utf8_flow.formal.prover import prove
from utf8_hdl import UCS2, UNICODE, Profile, Transcoder

pytest.importorskip("pyosys", reason="pyosys is not installed")

LANES = 4

MODULES = (
    "credit",
    "stage",
    "rules",
    "first_error",
    "report",
    "detection",
    "code_points",
    "utf8",
    "utf16",
    "utf32",
    "packing",
    "transcoder",
)
"""Those that are edited."""


def bench_of(name: str, made: Any, profile: Profile = UNICODE, **options: Any) -> Bench:
    """A property by name, of a class of transcoders."""
    variant = DesignSpec("transcoder", lanes=options["lanes"], own={"errors": options["errors"]})
    [what] = (what for what in proofs_of(variant) if what.name == name)
    return what.bench(profile, {"transcoder": lambda rules: made(rules, **options)})


def options_of(forms: str) -> tuple[Profile, dict[str, Any]]:
    """What `utf-16 to utf-8, ucs2, big, bom, 2` stands for."""
    pair, *words = forms.split(", ")
    ends = {"utf-8": "", "utf-16": "be" if "big" in words else "le"}
    ends["utf-32"] = ends["utf-16"]
    source, target = (utf8_hdl.EncodingScheme(name + ends[name]) for name in pair.split(" to "))
    lanes = [int(word) for word in words if word.isdigit()]
    options: dict[str, Any] = {
        "lanes": lanes[0] if lanes else LANES,
        "source": source,
        "target": target,
        "strip_bom": "bom" in words,
        "errors": "errors" in words,
    }
    profile = UCS2 if "ucs2" in words else UNICODE
    return replace(profile, accept_surrogates="surrogates" in words), options


FLAWS: dict[tuple[str, str, str], Edit] = {
    ("first-error", "utf-8 to utf-16, errors", "the kind of another error"): (
        "select(one.error, one.rest, other.rest)",
        "select(other.error, other.rest, one.rest)",
    ),
    ("first-error", "utf-16 to utf-16, errors", "what is cut is not counted"): (
        "_count(stages[1:], [*iter(error)])",
        "_count(stages[1:], [*iter(error)][1:])",
    ),
    ("first-error", "utf-32 to utf-16, errors", "a value that is too high has no kind"): (
        "ErrorKind.OUT_OF_RANGE: there",
        "ErrorKind.NONE: there",
    ),
    ("report-gaps", "utf-16 to utf-16, errors", "a high surrogate is lost in a gap"): (
        "with step.m.If(step.valid):",
        "with step.m.If(1):",
    ),
    ("report-begins", "utf-16 to utf-16, errors", "a high surrogate survives a reset"): (
        'step.signal(f"before_{name}")',
        'step.signal(f"before_{name}", reset_less=True)',
    ),
    ("report", "utf-8 to utf-16, errors", "the errors of the text before are counted"): (
        'with tally.m.If(counted["clears"]):',
        'with tally.m.If(counted["clears"] & 0):',
    ),
    ("report", "utf-16 to utf-16, errors", "an offset in units"): (
        "width, unit_bytes.bit_length() - 1)",
        "width, 0)",
    ),
    ("report-self-synchronisation", "utf-8 to utf-16, errors", "no text begins"): (
        "begins.eq(last), phase",
        "begins.eq(0), phase",
    ),
    ("given", "utf-8 to utf-16, errors", "a report comes early"): (
        'Cat(stage["user"], stage["late"])',
        'Cat(stage["user"], before["late"])',
    ),
    ("units", "utf-16 to utf-8", "one U+FFFD too many for half a unit behind half a pair"): (
        "else low | part), last)",
        "else low), last)",
    ),
    ("units", "utf-32 to utf-16", "the highest code point is an error"): (
        "value > profile.highest",
        "value >= profile.highest",
    ),
    ("units", "utf-32 to utf-8, bom", "a mark in any beat but one of the first ones"): (
        "number + ~number.all()",
        "number + 1",
    ),
    ("begins", "utf-16 to utf-32", "what is carried survives a reset"): (
        'carried = step.signal(f"before_{name}")',
        'carried = step.signal(f"before_{name}", reset_less=True)',
    ),
    ("gaps", "utf-16 to utf-16", "what is carried is lost in a gap"): (
        "    with step.m.If(step.valid):\n        step.m.d.sync += carried.eq(fact[-1]",
        "    with step.m.If(1):\n        step.m.d.sync += carried.eq(fact[-1]",
    ),
    ("error", "utf-32 to utf-32", "an error stays when its text has ended"): (
        "seen.eq(error & ~ends)",
        "seen.eq(error)",
    ),
    ("self-synchronisation", "utf-32 to utf-32", "an error that never ends"): (
        "error = seen | found.any()",
        'stays = write.signal("stays")\n'
        "        write.m.d.sync += stays.eq(stays)\n"
        "        error = seen | found.any() | stays",
    ),
    ("joins", "utf-8 to utf-16", "added over the end of a text"): (
        " & ~ends.replicate(some * width)",
        "",
    ),
    ("joins", "utf-32 to utf-32", "a text's last beat waits"): (
        "holds & (ends | write.valid)",
        "holds & write.valid",
    ),
    ("delivers", "utf-8 to utf-16, big", "the other order"): (
        "self.target.byte_order",
        "self.target.byte_order[::-1]",
    ),
    # From here on others are enough for the usual tests.
    ("units", "utf-8 to utf-16", "a single lane"): (
        'end.register("ends", there & ~goes_on & reported)',
        'end.register("ends", there & ~goes_on & reported & Const(0b11011, 5))',
    ),
    ("units", "utf-8 to utf-16", "a high surrogate in the last slot is lost"): (
        "own | Cat(levels[1:], none)",
        "own | Cat(levels[1:-1], none, none)",
    ),
    ("units", "utf-8 to utf-8", "a mark of the form of four bytes"): (
        "0xFF << 8 - length",
        "0xFF << 8 - length - length // 4",
    ),
    ("units", "utf-8 to utf-32, bom, 1", "a mark that ends with another byte"): (
        "unit = 2 if",
        "unit = 1 if",
    ),
    ("units", "utf-16 to utf-32, bom", "a mark at any place of a text"): (
        "(number == beat)",
        "(number != 3)",
    ),
    ("units", "utf-16 to utf-8", "a high surrogate at a text's end is no error"): (
        "low | part), last)",
        "low | part), Const(0, 1))",
    ),
    ("units", "utf-16 to utf-8, surrogates", "a low surrogate is an error"): (
        "two_units |= in_slots(part) & behind_high",
        "two_units |= in_slots(part) & behind_high\n    errors[ErrorKind.SURROGATE] = lone_low",
    ),
    ("units", "utf-16 to utf-8, ucs2", "a pair is a code point"): (
        "if most >= 0 else Const(1, 1)",
        "if most >= 0 else Const(0, 1)",
    ),
    ("units", "utf-16 to utf-32, ucs2", "other units are noncharacters"): (
        "return code_point[1:] == 0xFFFE >> 1",
        "return code_point[2:] == 0xFFFE >> 2",
    ),
    ("units", "utf-16 to utf-32", "half a unit is none"): (
        "keep.any() & ~keep.all()",
        "keep[0] & ~keep.all()",
    ),
    ("units", "utf-16 to utf-32", "carried where bits are added to pairs"): (
        "        flips = flips & levels\n    return [*result, flips]",
        "    return [*result, flips]",
    ),
    ("units", "utf-16 to utf-16", "a text goes on in the next one"): (
        "carried.eq(fact[-1] & ~last)",
        "carried.eq(fact[-1])",
    ),
    ("units", "utf-16 to utf-16, big", "the other order"): (
        "for byte in scheme.byte_order]",
        "for byte in scheme.byte_order[::-1]]",
    ),
    ("units", "utf-16 to utf-8", "07FF has three bytes"): ("(3, 11):\n", "(3, 10):\n"),
    ("units", "utf-32 to utf-8", "FFFF has four bytes"): ("(4, 16):", "(4, 15):"),
    ("units", "utf-32 to utf-16", "borrowed where bits are taken from pairs"): (
        "flips = flips & ~levels",
        "flips = flips & levels",
    ),
    ("units", "utf-32 to utf-8", "other surrogates"): (
        "SURROGATES.start >> 11",
        "SURROGATES.start + 1 >> 10",
    ),
    ("units", "utf-32 to utf-32, ucs2", "a noncharacter is a code point"): (
        "0xFFFE >> 1",
        "0xFFFE",
    ),
    ("units", "utf-8 to utf-32", "an error in the last slot is not told"): (
        "begin + 4].any()",
        "begin + 3].any()",
    ),
    ("begins", "utf-32 to utf-32, bom", "the number of a beat survives a reset"): (
        'make.signal("beat_of_text", 2)',
        'make.signal("beat_of_text", 2, reset_less=True)',
    ),
    ("gaps", "utf-32 to utf-32, bom", "a gap is a beat"): (
        "with make.m.If(make.valid):",
        "with make.m.If(1):",
    ),
    ("error", "utf-32 to utf-32", "an error survives a reset"): (
        'write.signal("error_seen")',
        'write.signal("error_seen", reset_less=True)',
    ),
    ("gaps", "utf-32 to utf-32, bom", "a beat that is refused is counted"): (
        "with make.m.If(make.valid):",
        "with make.m.If(make.valid | (self.i.valid & ~self.i.ready)):",
    ),
    ("units", "utf-32 to utf-32, bom", "a mark in the second text stays"): (
        "select(last, Const(0, 2), number + ~number.all())",
        "number + ~number.all()",
    ),
    ("error", "utf-32 to utf-32", "only an error in the last beat"): (
        "return error & ends",
        "return found.any() & ends",
    ),
    ("error", "utf-32 to utf-32", "before the text's end"): (
        "return error & ends",
        "return error",
    ),
    ("timing", "utf-32 to utf-32", "a beat comes out late"): (
        "(1, 0, -1, -2, -3)",
        "(0, -1, -2, -3, -4)",
    ),
    ("timing", "utf-32 to utf-32", "a register without a reset"): (
        'signal(f"flips_if_ready{copy}", width)',
        'signal(f"flips_if_ready{copy}", width, reset_less=True)',
    ),
    ("credit", "utf-32 to utf-32", "too much credit"): (
        "(outstanding == most - 3) & ~ready",
        "(outstanding == most - 3)",
    ),
    ("passes", "utf-32 to utf-32", "the place of the beat before"): (
        'copy("place", number[1 : 1 + PLACE_WIDTH])',
        'copy("place", stage["newest"][1 : 1 + PLACE_WIDTH])',
    ),
    ("drains", "utf-32 to utf-32", "credit that does not come back"): (
        'given.eq(last["newest"] - accepted)',
        "given.eq(given)",
    ),
    ("joins", "utf-32 to utf-8", "no beat waits"): (
        "holds & (ends | write.valid)",
        "holds",
    ),
    ("joins", "utf-32 to utf-8", "a last beat comes twice"): (
        "with m.Elif(ends):",
        "with m.Elif(0):",
    ),
    ("joins", "utf-32 to utf-16", "a beat that is there does not wait"): (
        "with m.Elif(ends):",
        "with m.Else():",
    ),
    ("given", "utf-16 to utf-32", "numbers of those that are accepted"): (
        'self._number(stage, Numbering(stage["newest"], gives))',
        'self._number(stage, Numbering(self._stages[-2]["newest"]))',
    ),
    ("joins", "utf-16 to utf-8", "nothing is added"): (
        "whole[-len(more) :] | more",
        "whole[-len(more) :]",
    ),
    ("joins", "utf-8 to utf-8", "another slot is added"): (
        "Cat(coming[name][n] for n in",
        "Cat(coming[name][n + 1] for n in",
    ),
    ("error", "utf-8 to utf-32", "the errors of the next beat"): (
        "error = seen | found.any()",
        "error = seen | self.probes.errors.any()",
    ),
    ("joins", "utf-16 to utf-32", "what waits survives a reset"): (
        'write.signal("holds"), ',
        'write.signal("holds", reset_less=True), ',
    ),
    ("joins", "utf-8 to utf-8, 8", "a part of the beat moves alone"): (
        "with m.If(write.copy(",
        "with m.If(number or write.copy(",
    ),
    ("delivers", "utf-32 to utf-32", "a text ends only if it has an error"): (
        "p.last.eq(dense.last)",
        "p.last.eq(dense.last & dense.user)",
    ),
    ("delivers", "utf-16 to utf-32", "a byte more"): (
        "keep.replicate(size) for keep",
        "Cat(keep.replicate(size - 1), 1) for keep",
    ),
    ("gaps", "utf-8 to utf-16", "what is carried is lost when a beat is refused"): (
        "            self._carried[stage, name] = Cat(carried, fact)",
        moves_with_the_slots("i.valid & ~i.ready")
        + "            with stage.m.If(stage['event'] & ~stage.valid):\n"
        "                stage.m.d.sync += carried.eq(0)\n"
        "            self._carried[stage, name] = Cat(carried, fact)",
    ),
    ("joins", "utf-16 to utf-8", "the waiting beat is lost when a beat is refused"): (
        "with m.Elif(ends):",
        "with m.Elif(ends | (self.i.valid & ~self.i.ready)):",
    ),
    ("joins", "utf-16 to utf-16", "the waiting beat is lost while the output stalls"): (
        "with m.Elif(ends):",
        "with m.Elif(ends | (self.o.valid & ~self.o.ready)):",
    ),
    ("error", "utf-32 to utf-32", "a gap is a beat"): (
        "with write.m.If(is_new):",
        "with write.m.If(1):",
    ),
    ("units", "utf-8 to utf-32, bom, 2", "a mark in the second beat of a later text stays"): (
        "select(last, Const(0, 2), number + ~number.all())",
        "number + ~number.all()",
    ),
    ("gaps", "utf-8 to utf-32, bom, 2", "a refused beat is counted before a mark"): (
        "with make.m.If(make.valid):",
        "with make.m.If(make.valid | (self.i.valid & ~self.i.ready)):",
    ),
    ("passes", "utf-32 to utf-32", "the memory's address stays when the output is taken"): (
        "followed(own, now, flips, self._ready)",
        "select(flips, own, now)",
    ),
    ("credit", "utf-32 to utf-32", "one beat too many"): (
        "self._control, PLACES * self._banks - self._more",
        "self._control, PLACES * self._banks - self._more + 1",
    ),
    ("reads", "utf-8 to utf-16", "the even bank's address follows itself"): (
        '"even": next_places(number)[0]',
        '"even": first.get("even")',
    ),
    ("counted", "utf-8 to utf-16", "a gap counts"): (
        "select(before.valid, sums[-1], top)",
        "sums[-1]",
    ),
    ("sums", "utf-8 to utf-8", "a pair is swapped the wrong way"): (
        "swaps.append(~(reached ^",
        "swaps.append((reached ^",
    ),
    ("routes", "utf-16 to utf-8", "a lane is not swapped"): (
        "select(swaps[pair], lanes[lane ^ half], lanes[lane])",
        "select(swaps[pair] & (lane != 1), lanes[lane ^ half], lanes[lane])",
    ),
    ("places", "utf-8 to utf-16", "all goes to the beat behind"): (
        "comes & select(fills, full, following)",
        "comes & following",
    ),
    ("packing-begins", "utf-8 to utf-16", "units that wait survive a reset"): (
        'stage.signal("empty", init=1)',
        'stage.signal("empty", init=1, reset_less=True)',
    ),
    ("packing-self-synchronisation", "utf-8 to utf-16", "a text goes on in the next one"): (
        'with stage.m.If(before["clears"]):',
        'with stage.m.If(before["clears"] & 0):',
    ),
    ("begins", "utf-16 to utf-32", "a beat in the pipeline survives a reset"): (
        'self.signal("valid")',
        'self.signal("valid", reset_less=True)',
    ),
}
"""The property, the options, and what is wrong; and the edit."""


@pytest.mark.sample(10)
@pytest.mark.parametrize(("name", "forms", "flaw"), list(FLAWS))
def test_a_flaw_is_found_out(name, forms, flaw):
    profile, options = options_of(forms)
    made = Altered(FLAWS[name, forms, flaw], within=MODULES).Transcoder
    assert is_refuted(bench_of(name, made, profile, **options))


SPECIFICATION_FLAWS: dict[tuple[str, str], Edit] = {
    ("apart", "utf-16 to utf-8"): ("Mux(beat.last, 0, own[-1])", "own[-1]"),
    ("apart", "utf-16 to utf-16"): ("there = Mux(high, ~goes_on,", "there = Mux(high, 1,"),
    ("units", "utf-16 to utf-8"): ("place.unit <= 0xDBFF", "place.unit <= 0xDBFE"),
    ("units", "utf-32 to utf-16"): ("REPLACEMENT = 0xFFFD", "REPLACEMENT = 0xFFFC"),
    ("units", "utf-32 to utf-8"): ("wrong = value > profile.highest", "wrong = value > 0xFFFF"),
}
"""A property and options, and a mistake in the specification that breaks it."""


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "forms"), list(SPECIFICATION_FLAWS))
def test_a_mistake_in_the_specification_is_found_out(monkeypatch, name, forms):
    wrong = edited(transcoder, SPECIFICATION_FLAWS[name, forms])
    monkeypatch.setattr(transcoder, "PROPERTIES", wrong.PROPERTIES)
    profile, options = options_of(forms)
    assert prove(bench_of(name, Transcoder, profile, **options)).verdict == "FAILED"


@pytest.mark.long
def test_other_verilog_is_found_out(monkeypatch):
    profile, options = options_of("utf-16 to utf-16, 2")
    edit = "Value.cast(p.user).eq(dense.user)", "Value.cast(p.user).eq(~dense.user)"
    other = Altered(edit).Transcoder(profile, **options)
    monkeypatch.setattr(streams, "generate", lambda _: generate(other))
    assert prove(bench_of("verilog", Transcoder, profile, **options)).verdict == "FAILED"


def test_for_every_property_there_is_a_flaw():
    spec = DesignSpec("transcoder", own={"errors": True})
    named = {what.name for what in proofs_of(spec) if not what.is_lemma}
    found = {name for name, *_ in [*FLAWS, *SPECIFICATION_FLAWS]}
    assert named == found | {"verilog"}


FORMS = "utf-8", "utf-16", "utf-32"
PAIRS = [f"{source} to {target}" for source in FORMS for target in FORMS]


RESTS = "", ", big, bom", ", surrogates", ", ucs2, bom"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("forms", "rest"),  # each pair with two of them
    [(forms, RESTS[(n + m) % 4]) for n, forms in enumerate(PAIRS[::-1]) for m in (0, 2)],
)
def test_source_that_is_not_edited_has_the_property(forms, rest):
    profile, options = options_of(forms + rest)
    assert prove(bench_of("units", Transcoder, profile, **options)).verdict == "proved"


def test_a_counterexample_has_the_bytes_of_the_beats(folder, monkeypatch):
    """It is simplified: the first beat ends in a lone high surrogate, and half a unit follows."""
    name = "one U+FFFD too many for half a unit behind half a pair"
    [edit] = (edit for (_, _, flaw), edit in FLAWS.items() if flaw == name)
    replace_design(monkeypatch, "transcoder", Altered(edit, within=MODULES).Transcoder)
    forms = "--from", "utf-16", "--to", "utf-8", "--lanes", "4"
    result = run(
        "prove", "--component", "transcoder", *forms, "--property", "units", "--profile", "unicode"
    )
    assert (result.status, result.err) == (1, "")
    lines = squeezed(result.out)
    begins, _, _, first, second, *_, last, wave = lines[lines.index("transcoder") + 1 :]
    assert begins == "the run begins in any state: the registers are as after reset"
    assert re.fullmatch("0 1 1 -- -- 00 D[89AB] 0 1", first)
    assert re.fullmatch("1 1 1 (00 --|-- 00) (00|--) (00|--) 0 1", second)
    assert last.startswith("> 9 ")
    assert_is_waveform(wave.removeprefix("waveform: "))
