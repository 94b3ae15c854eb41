"""The hardware, run for a test: traces, tokens, bytes, and designs broken on purpose."""

import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from altered import Altered, Edit
from needs import CXX
from reference import RefToken
from utf8_flow.export.verilog import generate
from utf8_hdl import (
    PROFILES,
    UCS4,
    UNICODE,
    CompactDecoder,
    CompactEncoder,
    Decoder,
    Encoder,
    ErrorKind,
    ErrorSpan,
    Profile,
)
from utf8_sim.campaign import Part
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.compiled import CxxrtlEngine, VerilatorEngine
from utf8_sim.engines.engine import Engine, HangError
from utf8_sim.lockstep import Difference, Lockstep
from utf8_sim.stimulus import FixedStalls, RandomStalls, Stimulus
from utf8_sim.tools.programs import find
from utf8_sim.trace import Trace

NO_STALLS = FixedStalls()
STALLS = {
    "full rate": (NO_STALLS, NO_STALLS),
    "slow producer": (RandomStalls(0.5, 1), NO_STALLS),
    "slow consumer": (NO_STALLS, RandomStalls(0.5, 2)),
    "both slow": (RandomStalls(0.4, 3), RandomStalls(0.4, 4)),
}


DESIGNS = {
    "decoder": Decoder,
    "compact decoder": CompactDecoder,
    "encoder": Encoder,
    "compact encoder": CompactEncoder,
}
"""Every component and its variants: makers of designs for a profile."""

DECODERS = {False: Decoder, True: CompactDecoder}
ENCODERS = {False: Encoder, True: CompactEncoder}
"""By whether they are compact."""

BOTH = pytest.mark.parametrize("compact", [False, True], ids=["pipelined", "compact"])


@cache
def engine_of(component: type, *parameters: Any) -> AmaranthEngine:
    """The one for a design as it should be: making it takes longer than a short run."""
    return AmaranthEngine(component(*parameters))


def rtl_trace(
    texts: Iterable[Sequence[int]],
    stalls=(NO_STALLS, NO_STALLS),
    design: Decoder | Encoder | AmaranthEngine | None = None,
) -> np.ndarray:
    """Every cycle of a simulation, as the engine recorded it: an array with a field a pin."""
    stimulus = Stimulus([(text, True) for text in texts], *stalls)
    return Trace.join(list(_engine(design).run(stimulus))).table()


def _engine(design: Decoder | Encoder | AmaranthEngine | None) -> AmaranthEngine:
    if design is None:
        return engine_of(Decoder, UNICODE)
    return design if isinstance(design, AmaranthEngine) else AmaranthEngine(design)


def accepted(trace: np.ndarray) -> np.ndarray:
    """The cycles in which an input was accepted. In a cycle of reset none is."""
    return trace[(trace["i.valid"] & trace["i.ready"] & ~trace["reset"]).astype(bool)]


def taken(trace: np.ndarray) -> np.ndarray:
    """The cycles in which an output was taken. In a cycle of reset none is."""
    return trace[(trace["o.valid"] & trace["o.ready"] & ~trace["reset"]).astype(bool)]


def check_stream_rules(trace: np.ndarray) -> None:
    """Once valid, payload and valid hold until taken, or until reset."""
    pins = [name for name in trace.dtype.names if name.startswith("o.") and name != "o.ready"]
    for now, following in pairwise(trace[[*pins, "o.ready", "reset"]]):
        if now["o.valid"] and not now["o.ready"] and not now["reset"]:
            assert now[pins] == following[pins]


def rtl_tokens(
    data: bytes,
    stalls=(NO_STALLS, NO_STALLS),
    profile: Profile = UNICODE,
    compact: bool = False,
) -> list[RefToken]:
    """Tokens of one text, in the form of `ref_tokens`."""
    engine = engine_of(DECODERS[compact], profile)
    tokens = taken(rtl_trace([data] if data else [], stalls, engine))
    ends = np.cumsum(tokens["o.length"], dtype=int)
    return [
        RefToken(
            int(end) - int(token["o.length"]),
            int(token["o.length"]),
            int(token["o.code_point"]),
            ErrorKind(int(token["o.kind"])).label if token["o.error"] else None,
        )
        for end, token in zip(ends, tokens, strict=True)
    ]


def rtl_encode(
    values: Sequence[int],
    stalls=(NO_STALLS, NO_STALLS),
    profile: Profile = UNICODE,
    compact: bool = False,
) -> tuple[bytes, list[int]]:
    """The bytes of one text of code points, and the indices of those flagged as errors."""
    engine = engine_of(ENCODERS[compact], profile)
    encoded = taken(rtl_trace([values] if len(values) else [], stalls, engine))
    return bytes(encoded["o.data"].tolist()), np.flatnonzero(encoded["o.error"]).tolist()


def lockstep(
    texts: Iterable[Sequence[int]],
    stalls=(NO_STALLS, NO_STALLS),
    design: Decoder | Encoder | AmaranthEngine | None = None,
) -> Difference | None:
    """The first difference between hardware and golden model, or None."""
    stimulus = Stimulus([(text, True) for text in texts], *stalls)
    return Lockstep(_engine(design), stimulus).run()


ODD_PROFILES = {
    "seven bytes": Profile(name="seven", longest_form=7, highest=(1 << 36) - 1),
    "F0 restricted twice": Profile(name="narrow", longest_form=4, highest=0x10FFF),
    "F0 restricted twice, whole sequence": Profile(
        name="narrow", longest_form=4, highest=0x1FFFF, error_span=ErrorSpan.WHOLE_SEQUENCE
    ),
    "F8 restricted twice": Profile(name="five", longest_form=5, highest=0x23FFFF),
    "FF restricted twice": Profile(name="wide", longest_form=8, highest=0x1FFFFFFFFF),
}
"""Profiles of one's own, whose highest value has fewer bits than its form or restricts a lead."""

ALL_RULES = {
    f"{name}, surrogates {surrogates}, noncharacters {noncharacters}, {span.value}": replace(
        profile, accept_surrogates=surrogates, accept_noncharacters=noncharacters, error_span=span
    )
    for (name, profile), surrogates, noncharacters, span in product(
        PROFILES.items(), (False, True), (False, True), ErrorSpan
    )
}
"""Every named profile with every combination of overrides."""

MOVES = "moves_on = ~pipeline.will_stall & byte.next_valid"
READY = "i.ready.eq(~taken_next)"

# What is wrong with a decoder, and the edit to its source that makes it so.
BREAKS = {
    # What the bytes mean.
    "range: ED BF is no surrogate": (
        "range(0xA0, 0xC0), ErrorKind",
        "range(0xA0, 0xB0), ErrorKind",
    ),
    "range: F4 90 is in range": ("highest_second + 1, 0xC0", "highest_second + 2, 0xC0"),
    "range: E0 9F is not overlong": ("0x80 + (1 << 8 - length)", "0x7F + (1 << 8 - length)"),
    "range: C1 is not overlong": ("byte in (0xC0, 0xC1)", "byte == 0xC0"),
    "range: F5 is in range": (
        "byte > highest_start(profile)[0]",
        "byte > highest_start(profile)[0] + 1",
    ),
    "kind: FF is out of range": ("if length <= 6 else", "if length <= 8 else"),
    "kind: without its highest bit": ("bit)) for bit in range(3)", "bit)) for bit in range(2)"),
    "kind: ED begins no surrogate": (
        "if byte in of_pairs:",
        "if byte in of_pairs and byte != 0xED:",
    ),
    "wrong kind": (
        'sequence["unfinished"] & ~refused, truncated',
        'sequence["unfinished"], truncated',
    ),
    "missed last: refused by the next text": (
        'refused = byte["refused"] & ~sequence["last"]',
        'refused = byte["refused"]',
    ),
    "value of an error": ("Mux(is_error, REPLACEMENT & 0x3F, bits[:6])", "bits[:6]"),
    "value of an error: its high bits": ("is_error.replicate(len(places))", "is_error"),
    "value of an error: bit 6": ('sequence["bit_6"]) | is_error', 'sequence["bit_6"])'),
    # The pairs of a lead byte and what follows.
    "pair: of two that share a bit, one": ("any_of(refused[n : n + 2])", "refused[n]"),
    "pair: what was there in a gap counts": ("select(split.valid, matches, register)", "matches"),
    "pair: a refused byte joins": ("continuation & ~refused", "continuation"),
    "joins nothing": ('joins = byte["follows"] & ~self._is_in("START")', 'joins = byte["follows"]'),
    # The state machine.
    "state: two at once": (
        '~(byte["begins_any"] | (byte["follows_on"] & self._needs_more()))',
        '~byte["begins_any"]',
    ),
    "state: gaps count": (MOVES, "moves_on = ~pipeline.will_stall"),
    "state: moves while stalled": (MOVES, "moves_on = byte.next_valid"),
    "state: two bytes less": ("goes_to[one_less] |= byte", "goes_to[NEED[0]] |= byte"),
    "interrupting byte swallowed": (
        '"the state, and the sequence as far as it is there",\n            byte.valid,',
        '"the state, and the sequence as far as it is there",\n'
        '            byte.valid & (self._is_in("START") | byte["follows"]),',
    ),
    "interrupted sequence dropped": (
        'select(self._is_in("START"), sequence.valid, cut)',
        'self._is_in("START") & sequence.valid',
    ),
    "cut by a gap": ('cut = byte.valid & ~byte["follows"]', 'cut = ~byte["follows"]'),
    "missed last: text goes on": ('follows_on=follows & ~pair["last"]', "follows_on=follows"),
    "missed last: lead byte waits for the next text": ('& ~split["last"] for n', "for n"),
    "missed last: token without it": (
        '            last=byte["last"],',
        "            last=Const(0, 1),",
    ),
    "missed last: cut character kept": (
        'select(self._is_in("START"), sequence.valid, cut)',
        'select(self._is_in("START"), sequence.valid & ~sequence["unfinished"], cut)',
    ),
    # The token.
    "stale bits in the value": (" & has[form - 2].replicate(len(places))", ""),
    "value: bit 6 of the byte before": ('select(has[0], bits[6], sequence["bit_6"])', "bits[6]"),
    "value: six bits of a lone byte": (
        'select(has[0], bits[6], sequence["bit_6"])',
        'sequence["bit_6"]',
    ),
    "value: a group is skipped": (
        'Cat(byte["data"][:6], count["low_bits"])',
        'Cat(byte["data"][:6], count["low_bits"][:6], count["low_bits"])',
    ),
    "length counts from zero": ("for n in exactly if n >> bit", "for n in exactly if n - 1 >> bit"),
    "length: of the sequence before": (
        'count["has"]) & joins.replicate(len(count["has"]))',
        'count["has"]) & Cat(joins, Const(-1, len(count["has"])))',
    ),
    "length: two bytes at once": (
        'Cat(Const(1, 1), count["has"]) &',
        'Cat(Const(3, 2), count["has"]) &',
    ),
    # The output buffer.
    "payload changes under stall": ("with m.If(load):", "with m.If(1):"),
    "payload depends on ready": ("Mux(show, entries[1]", "Mux(show & o.ready, entries[1]"),
    "buffer: a full entry is filled": (
        "loads[0].eq(~will_stall & ~other_next)",
        "loads[0].eq(~other_next)",
    ),
    "buffer: one entry is shown": ("Mux(show, entries[1], entries[0])", "entries[0]"),
    "buffer: the second token is forgotten": (
        "both_full.eq(will_stall & (both_full | comes))",
        "both_full.eq(0)",
    ),
    "buffer: the same token again": (
        "comes = stage.valid & ~self.stalled",
        "comes = stage.valid",
    ),
    "valid waits for ready": (
        "o.valid.eq(will_stall | both_full | comes)",
        "o.valid.eq((will_stall | both_full | comes) & o.ready)",
    ),
    "valid depends on ready": (
        "m.d.sync += [\n            o.valid.eq(will_stall",
        "shown = Signal()\n"
        "        m.d.comb += o.valid.eq(shown & o.ready)\n"
        "        m.d.sync += [\n            shown.eq(will_stall",
    ),
    # The clock enable.
    "valid bits move while stalled": (
        "stage.next_valid = select(self.stalled, stage.valid, valid)",
        "stage.next_valid = valid",
    ),
    "payloads move while stalled": (
        "self._enable if when is None else when",
        "1 if when is None else when",
    ),
    "the first payload moves while stalled": (
        "return take.load(",
        "return take.load(when=Value.cast(1),",
    ),
    "the first valid bit is that of the next item": (
        "select(enable, valid, stage.valid)",
        "valid & enable",
    ),
    "state moves, and the rest of the sequence does not": ("when=moves,", "when=Const(0, 1),"),
    "token forgotten while stalled": ("with m.If(~self.stalled):", "with m.If(1):"),
    "token is lost while stalled": ("return make.load(", "return make.load(when=Const(1, 1), "),
    "never stalled": (
        "m.d.sync += [self.enable.eq(~self.will_stall), self.stalled.eq(self.will_stall)]",
        "m.d.sync += [self.enable.eq(1), self.stalled.eq(0)]",
    ),
    "enabled at once": ('self.enable = control.signal("enable")', "self.enable = Signal(init=1)"),
    # What is accepted, and the skid register.
    "byte taken without room": (READY, "i.ready.eq(1)"),
    "half rate": (READY, "i.ready.eq(~taken_next & ~i.ready)"),
    "rate: a cycle lost after every pause": (READY, "i.ready.eq(~taken_next & ~skid_taken)"),
    "never ready": (READY, "i.ready.eq(0)"),
    "byte taken that was not offered": (
        "valid = i.valid | skid_taken",
        "valid = i.ready | skid_taken",
    ),
    "skid: overwritten while it is taken": (
        "        with m.If(i.ready):\n            m.d.sync += skid",
        "        with m.If(1):\n            m.d.sync += skid",
    ),
    "skid: taken by what was not offered": ("accepts = i.valid & i.ready", "accepts = i.ready"),
    "skid: byte lost in it": (
        "valid = i.valid | skid_taken",
        "valid = i.valid",
    ),
    "skid: emptied by a stall of two cycles": ("accepts, skid_taken | accepts", "accepts, accepts"),
    "skid: never taken": (
        "select(enable, skid_taken & accepts, skid_taken | accepts)",
        "skid_taken & ~enable",
    ),
    "skid: the later byte goes first": (
        "select(skid_taken, kept[name], field)",
        "field",
    ),
    "skid: last of the later byte": (
        "select(skid_taken, kept[name], field)",
        'select(skid_taken & (name != "last"), kept[name], field)',
    ),
}

WHOLE_UCS4 = replace(UCS4, error_span=ErrorSpan.WHOLE_SEQUENCE)

# Breaks of rules that `unicode` does not have: a profile that has them, and the edit.
BREAKS_OF_OTHER_RULES = {
    "noncharacter: FFFF is one no more": (UCS4, "among([0xBE, 0xBF])", "among([0xBE])"),
    "noncharacter: EFFF is one": (
        UCS4,
        "among([lead])",
        "among([lead, 0xEE] if lead == 0xEF else [lead])",
    ),
    "noncharacter: of four bytes": (UCS4, "held & among([byte])", "among([byte])"),
    "noncharacter: across texts": (UCS4, 'joins & byte["noncharacter"]', 'byte["noncharacter"]'),
    "noncharacter: a character in the value": (
        UCS4,
        '& ~byte["noncharacter"] & ~count',
        "& ~count",
    ),
    "noncharacter: truncated": (
        UCS4,
        "kind | noncharacter.replicate(3)",
        "kind",
    ),
    "out of range: overlong": (
        ODD_PROFILES["F0 restricted twice"],
        "if kind is ErrorKind.OUT_OF_RANGE)",
        "if kind is ErrorKind.OVERLONG)",
    ),
    "out of range: the kind of the lead byte": (
        ODD_PROFILES["FF restricted twice"],
        'select(byte["beyond"], out_of_range, sequence["kind"])',
        'sequence["kind"]',
    ),
    "out of range: the kind of the lead byte, whole sequence": (
        ODD_PROFILES["F0 restricted twice, whole sequence"],
        'old_kind = Mux(byte["beyond"], ErrorKind.OUT_OF_RANGE, count["kind"])',
        'old_kind = count["kind"]',
    ),
    "whole sequence: cut by a refused byte": (
        WHOLE_UCS4,
        "continuation if self._whole_sequence else",
        "",
    ),
    "whole sequence: a wrong lead byte is one": (
        WHOLE_UCS4,
        "and not may_be_wrong",
        "",
    ),
    "whole sequence: the kind of the newest byte": (
        WHOLE_UCS4,
        'kind = Mux(joins, old_kind, byte["kind"])',
        'kind = byte["kind"]',
    ),
    "whole sequence: forgiven by the next byte": (
        WHOLE_UCS4,
        'count["known"] | byte["refused"]',
        'byte["refused"]',
    ),
    "whole sequence: a wrong lead byte forgiven": (WHOLE_UCS4, 'byte["wrong"]', "0"),
    "whole sequence: nothing refused": (
        WHOLE_UCS4,
        'count["known"] | byte["refused"] | byte["noncharacter"]',
        'count["known"] | byte["noncharacter"]',
    ),
    "whole sequence: noncharacter without a kind": (
        WHOLE_UCS4,
        'count["known"] | byte["refused"] | byte["noncharacter"]',
        'count["known"] | byte["refused"]',
    ),
    "whole sequence: an error is a character": (
        WHOLE_UCS4,
        '~byte["noncharacter"] & ~count["known"]',
        '~byte["noncharacter"]',
    ),
    "whole sequence: truncated": (
        WHOLE_UCS4,
        'select(sequence["known"], sequence["kind"], unknown)',
        "unknown",
    ),
    "whole sequence: never truncated": (
        WHOLE_UCS4,
        'truncated & sequence["unfinished"].replicate(3)',
        "Const(0, 3)",
    ),
}


# What is wrong with a pipelined encoder.
ENCODER_BREAKS = {
    # What the code points mean.
    "range: DFFF is no surrogate": (
        "return code_point[11:] == SURROGATES.start >> 11",
        "return code_point[10:] == SURROGATES.start >> 10",
    ),
    "range: 110000 is in range": ('exceeds=take["exceeds"] &', "exceeds=0 &"),
    "range: 10000 is out of range": ('& take["code_point"][-1]', ""),
    "range: high bits are cut off": (
        'too_high = ones[-1] | measure["exceeds"]',
        'too_high = measure["exceeds"]',
    ),
    "range: a surrogate with a stray high bit": ("(special & ~ones[2:].any())", "special"),
    "overlong: 80 to 87 in one byte": (
        'parts = [take["ones"][n : n + 4]',
        'parts = [take["ones"][1:]',
    ),
    "overlong: 7F in two bytes": (
        "borders = [*(FORM_BITS[form] for form",
        "borders = [*(FORM_BITS[form] - (form == 1) for form",
    ),
    "form: a refused value in its own": (
        "in_form | too_high if shorter == 2",
        "in_form if shorter == 2",
    ),
    # The bytes.
    "groups in the wrong order": ("6 * n : 6 * n + 6] & sent", "18 - 6 * n : 24 - 6 * n] & sent"),
    "lead byte: a bit short": ("Cat(sends[6 - bit :])", "Cat(sends[7 - bit :])"),
    "lead byte: 40 to 7F without their bit": ("(~start | code_point[6])", "~start"),
    "last with every byte": ('last=send["last"] & start', 'last=send["last"]'),
    "last forgotten": ("last=self.i.p.last,", "last=Const(0, 1),"),
    "no error flag": ('error=send["error"]', "error=Const(0, 1)"),
    "refused value sent": (
        "select(refused, Const(REPLACEMENT, len(code_point)), code_point)",
        "code_point",
    ),
    # Flow control.
    "taken while sending": ("i.ready.eq(advance)", "i.ready.eq(pipeline.enable)"),
    "nothing offered is taken": ("            self.i.valid,\n", "            Const(1),\n"),
    "pause: characters advance": (
        "advance.eq(following[0] & ~pipeline.will_stall)",
        "advance.eq(following[0])",
    ),
    "pause: bytes advance": ("select(stalled, state, select(", "select(Const(0), state, select("),
    "byte changes under stall": ("with m.If(load):", "with m.If(1):"),
    "bubble after every byte": ("o.valid & ~o.ready)", "o.valid)"),
    "bubble after every character": (
        "following[0] & ~pipeline",
        "following[0] & ~advance & ~pipeline",
    ),
    "a state for nothing": ("comes_long = measure.valid & ", "comes_long = "),
}

# What is wrong with a compact decoder of `ucs4`.
COMPACT_DECODER_BREAKS = {
    "compact: interrupting byte swallowed": (
        "next_state.eq(Mux(begins, announced, State.HELD))",
        "next_state.eq(Mux(begins, announced, State.START))",
    ),
    "compact: a held byte again": ("Mux(i.valid, State.HELD, State.START)", "State.HELD"),
    "compact: value of the new byte": ("Mux(held, before.data, now.data)", "now.data"),
    "compact: kind of the new byte": ("Mux(held, before.kind, now.kind)", "now.kind"),
    "compact: last of the new byte": ("Mux(held, before.last, now.last)", "now.last"),
    "compact: an error held is none": ("error.eq(before.data[7])", "error.eq(0)"),
    "compact: value: of the token before": ("value = Mux(is_second, ", "value = Mux(0, "),
    "compact: value: marks of the lead byte": ("(bit > lowest_shifted_out)", "0"),
    "compact: length: of the token before": ("length = Mux(is_second, ", "length = Mux(0, "),
    "compact: length: with the byte that cuts": ("length + joins", "length + 1"),
    "compact: last: of the byte that cuts": ("now.last & joins", "now.last"),
    "compact: last: a lead byte waits": ("announced.any() & ~now.last", "announced.any()"),
    "compact: last: text goes on": (
        "Mux(now.last, State.START, State(count - 1))",
        "State(count - 1)",
    ),
    "compact: a refused byte joins": ("(~refused | self._whole_sequence)", "1"),
    "compact: kind of a refused byte": (
        "so_far.eq(Mux(refused, reason, known))",
        "so_far.eq(known)",
    ),
    "compact: noncharacters pass": ('matches("1011111-")', 'matches("10111111")'),
    "compact: moves while it is stalled": ("step.eq(~stalled & (i.valid", "step.eq((i.valid"),
    "compact: gaps count": ("(i.valid | ~unfinished)", "1"),
    "compact: half rate": ("i.ready.eq(~stalled & runs)", "i.ready.eq(~o.valid & runs)"),
    "compact: valid in a gap": ("ends.eq(i.valid & ~begins)", "ends.eq(~begins)"),
    "compact: value of an error": (
        "code_point.eq(REPLACEMENT)",
        "code_point[2:].eq(REPLACEMENT >> 2)",
    ),
}

# What is wrong with a compact encoder.
COMPACT_ENCODER_BREAKS = {
    "compact: range: DFFF is no surrogate": (
        "return code_point[11:] == SURROGATES.start >> 11",
        "return code_point[10:] == SURROGATES.start >> 10",
    ),
    "compact: range: 110000 is in range": ("profile.highest >> second_byte", "0x110"),
    "compact: range: high bits are cut off": ("refused = code_point[width:].any()", "refused = 0"),
    "compact: overlong: 7F in two bytes": (
        "~value[FORM_BITS[form] :]",
        "~value[FORM_BITS[form] - 1 :]",
    ),
    "compact: groups in the wrong order": (
        "6 * (count - 1) : 6 * count]",
        "6 * (longest - 1 - count) : 6 * (longest - count)]",
    ),
    "compact: last with every byte": ("last if count == 1 else 0", "last"),
    "compact: last with the lead byte": ("self.i.p.last & ~more", "self.i.p.last"),
    "compact: last forgotten": (" last.eq(self.i.p.last),", " last.eq(0),"),
    "compact: no error flag": ("self.o.p.user.error.eq(refused)", "self.o.p.user.error.eq(0)"),
    "compact: refused value sent": (
        "Mux(refused, REPLACEMENT, self.i.p.code_point)",
        "self.i.p.code_point",
    ),
    "compact: taken while sending": ("self.i.ready.eq(free & ~sending)", "self.i.ready.eq(free)"),
    "compact: byte changes under stall": (
        "~self.o.valid | self.o.ready",
        "~self.o.valid | self.o.ready | self.i.valid",
    ),
    "compact: bubble after every byte": (
        "runs & (~self.o.valid | self.o.ready)",
        "runs & ~self.o.valid",
    ),
}


def altered(which: str, edits: Iterable[Edit]) -> type:
    """The class of one of the `DESIGNS` whose source is edited, or that of modules it uses."""
    modules = "rules", "stage", "pipeline", which.replace(" ", "_")
    return getattr(Altered(*edits, within=modules), DESIGNS[which].__name__)


LANE_MODULES = (
    "logic",
    "stage",
    "credit",
    "rules",
    "detection",
    "wide_decoder",
    "decoder",
    "first_error",
    "validator",
)


def altered_lanes(*edits: Edit) -> Altered:
    """The package, in which the source of decoder and validator with lanes is edited."""
    return Altered(*edits, within=LANE_MODULES)


def moves_with_the_slots(event: str) -> str:
    """Source that adds a register ``event`` to each stage, for edits of the sequence detector.

    In the first stage it has the value of an event at the pins of ``i`` and ``o``.
    """
    return (
        "            first, *others = self._credit._stages\n"
        "            i, o = self._credit._i, self._credit._o\n"
        "            if 'event' not in first._registers:\n"
        f"                first.register('event', {event})\n"
        "            for each in others:\n"
        "                if 'event' not in each._registers:\n"
        "                    each.carry('event')\n"
    )


COUNTER_FLAWS: dict[str, tuple[int, int, Edit]] = {
    "the offset does not saturate": (4, 6, ("over.eq(1)", "over.eq(0)")),
    "the offset saturates one unit early": (
        4,
        6,
        ("~lowest[0] & lowest[1:].all()", "lowest[0] & ~lowest[1] & lowest[2:].all()"),
    ),
    "a carry in the lowest part": (
        4,
        6,
        ("[lowest.eq(up(lowest)),", "[lowest.eq(up(lowest) ^ (lowest == 5)),"),
    ),
    "no carry into a part that is zero": (
        8,
        8,
        ("with m.If(counts):", "with m.If(counts & (part != 0)):"),
    ),
    "the third part counts with the second": (
        8,
        12,
        ("else lowest_full & is_below", "else lowest_full"),
    ),
}
"""Flaws of a validator's counter: lanes and width of an offset that reach them, and the edit."""


def broken(name: str) -> Decoder | Encoder:
    """A design with one of the breaks. The compact decoder has those of tables."""
    if name in BREAKS_OF_OTHER_RULES:
        profile, *edit = BREAKS_OF_OTHER_RULES[name]
        return altered("decoder", [edit])(profile)
    if name in COMPACT_DECODER_BREAKS:
        return altered("compact decoder", [COMPACT_DECODER_BREAKS[name]])(UCS4)
    plain = name.removeprefix("compact: ")
    compact = "compact " * (plain != name)
    if plain in BREAKS:
        return altered(f"{compact}decoder", [BREAKS[plain]])()
    edit = (ENCODER_BREAKS | COMPACT_ENCODER_BREAKS)[name]
    return altered(f"{compact}encoder", [edit])()


def verilog_ports(verilog: str) -> dict[str, int]:
    """Names and widths of the ports of generated Verilog, in order."""
    [module] = re.findall(r"^module \w+ \(\n(.*?)\n\);$", verilog, re.M | re.S)
    ports = re.findall(r"^  (?:in|out)put wire (?:\[(\d+):0\] )?(\w+)(?:,|$)", module, re.M)
    assert len(ports) == module.count("put ")
    return {name: int(high or 0) + 1 for high, name in ports}


def quick_engine(design: Any) -> Engine:
    """A compiled one, if there is a compiler.

    With lanes Verilator's, if that is there: what CXXRTL makes takes ten times as long to compile.
    """
    if not shutil.which(CXX):
        return AmaranthEngine(design)
    if getattr(design, "lanes", 1) > 1 and find("verilator"):
        return VerilatorEngine(design, generate(design))
    return CxxrtlEngine(design)


def random_part(engine: Engine) -> Part:
    """The random part of the built-in campaign, which shows much in little time."""
    parts = engine.component.campaign(engine.design, 0)
    [part] = (part for part in parts if part.name.startswith("random"))
    return part


def campaign_catches(design: Decoder | Encoder) -> bool:
    """Whether the built-in campaign finds a difference or a hang, at full rate or with stalls."""
    engine = AmaranthEngine(design)
    parts = engine.component.campaign(design, 0)
    for part in sorted(parts, key=lambda part: part.size):
        for stalls in (STALLS["full rate"], STALLS["both slow"]):
            try:
                difference = Lockstep(engine, Stimulus(part.pieces(), *stalls)).run()
            except HangError:
                return True
            if difference:
                assert difference.expected != difference.actual
                return True
    return False
