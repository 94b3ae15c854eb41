"""The hardware, run for a test: traces, tokens, bytes, and designs broken on purpose."""

import inspect
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from types import SimpleNamespace

import numpy as np

from needs import CXX
from reference import RefToken
from utf8_hdl import (
    PROFILES,
    UCS4,
    UNICODE,
    Decoder,
    Encoder,
    ErrorSpan,
    Kind,
    Profile,
    decoder,
    encoder,
    tables,
)
from utf8_sim.campaign import campaign
from utf8_sim.engines.compiled import CxxrtlEngine
from utf8_sim.engines.engine import AmaranthEngine, Engine, HangError
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import FixedStalls, RandomStalls, Stimulus
from utf8_sim.trace import Trace

NO_STALLS = FixedStalls()
STALLS = {
    "full rate": (NO_STALLS, NO_STALLS),
    "slow producer": (RandomStalls(0.5, 1), NO_STALLS),
    "slow consumer": (NO_STALLS, RandomStalls(0.5, 2)),
    "both slow": (RandomStalls(0.4, 3), RandomStalls(0.4, 4)),
}


@cache
def engine_of(component: type[Decoder] | type[Encoder], profile: Profile) -> AmaranthEngine:
    """The one for a design as it should be: making it takes longer than a short run."""
    return AmaranthEngine(component(profile))


def rtl_trace(
    texts: Iterable[Sequence[int]],
    stalls=(NO_STALLS, NO_STALLS),
    design: Decoder | Encoder | AmaranthEngine | None = None,
) -> np.ndarray:
    """Every cycle of a simulation, as the engine recorded it: an array with a field a pin."""
    design = design or engine_of(Decoder, UNICODE)
    engine = design if isinstance(design, AmaranthEngine) else AmaranthEngine(design)
    stimulus = Stimulus([(text, True) for text in texts], *stalls)
    return Trace.join(list(engine.run(stimulus))).table()


def accepted(trace: np.ndarray) -> np.ndarray:
    """The cycles in which an input was accepted."""
    return trace[(trace["i.valid"] & trace["i.ready"]).astype(bool)]


def taken(trace: np.ndarray) -> np.ndarray:
    """The cycles in which an output was taken."""
    return trace[(trace["o.valid"] & trace["o.ready"]).astype(bool)]


def rtl_tokens(data: bytes, stalls=(NO_STALLS, NO_STALLS), profile: Profile = UNICODE):
    """Tokens of one text, in the form of `ref_tokens`."""
    tokens = taken(rtl_trace([data] if data else [], stalls, engine_of(Decoder, profile)))
    ends = np.cumsum(tokens["o.length"], dtype=int)
    return [
        RefToken(
            int(end) - int(token["o.length"]),
            int(token["o.length"]),
            int(token["o.code_point"]),
            Kind(int(token["o.kind"])).label if token["o.error"] else None,
        )
        for end, token in zip(ends, tokens, strict=True)
    ]


def rtl_encode(
    values: Sequence[int], stalls=(NO_STALLS, NO_STALLS), profile: Profile = UNICODE
) -> tuple[bytes, list[int]]:
    """The bytes of one text of code points, and the indices of those flagged as errors."""
    encoded = taken(rtl_trace([values] if len(values) else [], stalls, engine_of(Encoder, profile)))
    return bytes(encoded["o.data"].tolist()), np.flatnonzero(encoded["o.error"]).tolist()


def lockstep(
    texts: Iterable[Sequence[int]],
    stalls=(NO_STALLS, NO_STALLS),
    design: Decoder | Encoder | None = None,
):
    """The first difference between hardware and golden model, or None."""
    stimulus = Stimulus([(text, True) for text in texts], *stalls)
    engine = AmaranthEngine(design) if design else engine_of(Decoder, UNICODE)
    return Lockstep(engine, stimulus).run()


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

MOVES = "will_move.eq(~pipeline.waits & _select(pipeline.stands, byte.valid, next_valid))"
READY = "self.i.ready.eq(self.o.ready | (runs & ~extra_taken))"

# What is wrong with a decoder, and the edit to its source that makes it so.
BREAKS = {
    # What the bytes mean.
    "range: ED BF is no surrogate": ("range(0xA0, 0xC0), Kind", "range(0xA0, 0xB0), Kind"),
    "range: F4 90 is in range": ("highest_second + 1, 0xC0", "highest_second + 2, 0xC0"),
    "range: E0 9F is not overlong": ("0x80 + (1 << 8 - length)", "0x7F + (1 << 8 - length)"),
    "range: C1 is not overlong": ("byte in (0xC0, 0xC1)", "byte == 0xC0"),
    "range: F5 is in range": (
        "byte > highest_start(profile)[0]",
        "byte > highest_start(profile)[0] + 1",
    ),
    "kind: FF is out of range": ("if length <= 6 else", "if length <= 8 else"),
    "kind: without its highest bit": ("for bit in range(3)", "for bit in range(2)"),
    "kind: ED begins no surrogate": (
        "if byte in of_pairs:",
        "if byte in of_pairs and byte != 0xED:",
    ),
    "wrong kind": ("sequence.unfinished & ~refused, truncated", "sequence.unfinished, truncated"),
    "missed last: refused by the next text": (
        "refused = byte.refused & ~sequence.last",
        "refused = byte.refused",
    ),
    "value of an error": ("with m.If(sequence.error):", "with m.If(0):"),
    "value of an error: its high bits": ("is_error = sequence.error", "is_error = Const(0, 1)"),
    # The pairs of a lead byte and what follows.
    "pair: of two that share a bit, one": ("_any(refused[n : n + 2])", "refused[n]"),
    "pair: what was there in a gap counts": ("_select(split.valid, matches, register)", "matches"),
    "pair: a refused byte joins": ("pair.continuation & ~refused", "pair.continuation"),
    "joins nothing": ("joins.eq(byte.follows & ~start)", "joins.eq(byte.follows)"),
    # The state machine.
    "state: two at once": (
        "(byte.begins_any | (byte.follows_on & more_needed))",
        "byte.begins_any",
    ),
    "state: gaps count": (MOVES, "will_move.eq(~pipeline.waits)"),
    "state: counts while it stands": (
        MOVES,
        "will_move.eq(_select(pipeline.stands, byte.valid, next_valid))",
    ),
    "interrupting byte swallowed": (
        'pipeline.valid("sequence", byte.valid)',
        'pipeline.valid("sequence", byte.valid & (start | byte.follows))',
    ),
    "interrupted sequence dropped": ("_select(start, sequence.new, cut)", "start & sequence.new"),
    "cut by a gap": ("cut = byte.valid & ~byte.follows", "cut = ~byte.follows"),
    "missed last: text goes on": ("follows_on=follows & ~pair.last", "follows_on=follows"),
    "missed last: lead byte waits for the next text": (") & ~split.last\n", ")\n"),
    "missed last: token without it": ("sequence.last.eq(byte.last)", "sequence.last.eq(0)"),
    "missed last: cut character kept": (
        "_select(start, sequence.new, cut)",
        "_select(start, sequence.new & ~sequence.unfinished, cut)",
    ),
    # The token.
    "stale bits in the value": (" & sequence.has[form - 2].replicate(len(places))", ""),
    "value: bit 6 of the byte before": ("_select(sequence.has[0], bits[6], newest[6])", "bits[6]"),
    "value: six bits of a lone byte": ("_select(sequence.has[0], bits[6], newest[6])", "newest[6]"),
    "value: a group is skipped": (
        "pairwise([byte.data, *sequence.low_bits])",
        "pairwise([byte.data, sequence.low_bits[0], *sequence.low_bits])",
    ),
    "length counts from zero": ("for n in exactly if n >> bit", "for n in exactly if n - 1 >> bit"),
    "length: of the sequence before": ("more.eq(fewer & joins)", "more.eq(fewer)"),
    "length: two bytes at once": ("more.eq(fewer & joins)", "more.eq((fewer | joins) & joins)"),
    # The slots.
    "payload changes under stall": ("with m.If(fill):", "with m.If(1):"),
    "payload depends on ready": ("Mux(show, slots[1]", "Mux(show & o.ready, slots[1]"),
    "slots: a full one is filled": (
        "fills[0].eq(~pipeline.waits & ~other_next)",
        "fills[0].eq(~other_next)",
    ),
    "slots: one of them is shown": ("Mux(show, slots[1], slots[0])", "slots[0]"),
    "slots: the second token is forgotten": (
        "both_full.eq(pipeline.waits & (both_full | comes))",
        "both_full.eq(0)",
    ),
    "slots: the same token again": (
        "comes = token_valid & ~pipeline.stands",
        "comes = token_valid",
    ),
    "valid waits for ready": (
        "o.valid.eq(pipeline.waits | both_full | comes)",
        "o.valid.eq((pipeline.waits | both_full | comes) & o.ready)",
    ),
    "valid depends on ready": (
        "m.d.sync += [\n            o.valid.eq(pipeline.waits",
        "shown = Signal()\n"
        "        m.d.comb += o.valid.eq(shown & o.ready)\n"
        "        m.d.sync += [\n            shown.eq(pipeline.waits",
    ),
    # What moves, and what stands.
    "valid bits move while the rest stands": (
        "valid.eq(_select(self.stands, valid, value))",
        "valid.eq(value)",
    ),
    "registers move while the rest stands": ("with self.m.If(self.runs):", "with self.m.If(1):"),
    "state moves, and the rest of the sequence stands": ("with m.If(moves):", "with m.If(0):"),
    "token forgotten while the rest stands": ("with m.If(~pipeline.stands):", "with m.If(1):"),
    "token is lost while the rest stands": ("with m.If(pipeline.runs):", "with m.If(1):"),
    "never stands": (
        "m.d.sync += [self.runs.eq(~self.waits), self.stands.eq(self.waits)]",
        "m.d.sync += [self.runs.eq(1), self.stands.eq(0)]",
    ),
    "runs at once": (
        'self.runs = self.register("runs")',
        "self.runs = Signal(init=1)",
    ),
    # What is accepted, and the extra place.
    "byte taken without room": (READY, "self.i.ready.eq(1)"),
    "half rate": (READY, "self.i.ready.eq(~self.o.valid)"),
    "rate: a cycle lost after every pause": (READY, "self.i.ready.eq(runs & ~extra_taken)"),
    "never ready": (READY, "self.i.ready.eq(0)"),
    "byte taken that was not offered": (
        "_select(runs, self.i.valid | extra_taken, valid)",
        "_select(runs, self.i.ready | extra_taken, valid)",
    ),
    "extra: two bytes in it": (READY, "self.i.ready.eq(self.o.ready | runs)"),
    "extra: taken by what was not offered": (
        "extra_taken.eq(self.i.valid & self.i.ready &",
        "extra_taken.eq(self.i.ready &",
    ),
    "extra: byte lost in it": (
        "_select(runs, self.i.valid | extra_taken, valid)",
        "_select(runs, self.i.valid, valid)",
    ),
    "extra: byte behind it lost": ("(extra_taken | ~runs)),", "~runs),"),
    "extra: never taken": ("(extra_taken | ~runs)),", "extra_taken),"),
    "extra: the later byte goes first": (
        "item = _select(extra_taken, extra, offered)",
        "item = offered",
    ),
    "extra: last of the later byte": ("last=item[8])", "last=self.i.p.last)"),
}

WHOLE_UCS4 = replace(UCS4, error_span=ErrorSpan.WHOLE_SEQUENCE)

# Breaks of rules that `unicode` does not have: a profile that has them, and the edit.
BREAKS_OF_OTHER_RULES = {
    "noncharacter: FFFF is one no more": (UCS4, "among([0xBE, 0xBF])", "among([0xBE])"),
    "noncharacter: EFFF is one": (UCS4, "among([0xEF])", "among([0xEE, 0xEF])"),
    "noncharacter: of four bytes": (UCS4, 'before("EF", among([0xEF])) & among', "among"),
    "noncharacter: across texts": (UCS4, "joins & byte.noncharacter", "byte.noncharacter"),
    "noncharacter: a character in the value": (UCS4, "need[0] & ~byte.noncharacter", "need[0]"),
    "noncharacter: truncated": (
        UCS4,
        "next_kind | noncharacter.replicate(3)",
        "next_kind",
    ),
    "out of range: overlong": (
        ODD_PROFILES["F0 restricted twice"],
        "if kind is Kind.OUT_OF_RANGE)",
        "if kind is Kind.OVERLONG)",
    ),
    "out of range: the kind of the lead byte": (
        ODD_PROFILES["FF restricted twice"],
        "_select(byte.beyond, out_of_range, sequence.kind)",
        "sequence.kind",
    ),
    "out of range: the kind of the lead byte, whole sequence": (
        ODD_PROFILES["F0 restricted twice, whole sequence"],
        "old_kind = Mux(byte.beyond, Kind.OUT_OF_RANGE, kind)",
        "old_kind = kind",
    ),
    "whole sequence: cut by a refused byte": (
        WHOLE_UCS4,
        "pair.continuation if self._whole_sequence else",
        "",
    ),
    "whole sequence: a wrong lead byte is one": (
        WHOLE_UCS4,
        "and not may_be_wrong",
        "",
    ),
    "whole sequence: the kind of the newest byte": (
        WHOLE_UCS4,
        "next_kind = Mux(joins, old_kind, byte.kind)",
        "next_kind = byte.kind",
    ),
    "whole sequence: forgiven by the next byte": (
        WHOLE_UCS4,
        "known | byte.refused",
        "byte.refused",
    ),
    "whole sequence: a wrong lead byte forgiven": (WHOLE_UCS4, ", byte.wrong)", ", 0)"),
    "whole sequence: nothing refused": (
        WHOLE_UCS4,
        "known | byte.refused | byte.noncharacter",
        "known | byte.noncharacter",
    ),
    "whole sequence: noncharacter without a kind": (
        WHOLE_UCS4,
        "known | byte.refused | byte.noncharacter",
        "known | byte.refused",
    ),
    "whole sequence: an error is a character": (
        WHOLE_UCS4,
        "~byte.noncharacter & ~known",
        "~byte.noncharacter",
    ),
    "whole sequence: truncated": (
        WHOLE_UCS4,
        "_select(sequence.known, sequence.kind, unknown)",
        "unknown",
    ),
    "whole sequence: never truncated": (
        WHOLE_UCS4,
        "truncated & sequence.unfinished.replicate(3)",
        "Const(0, 3)",
    ),
}


ENCODER_BREAKS = {
    "range: DFFF is no surrogate": (
        "code_point[11:16] == 0b11011",
        "code_point[10:16] == 0b110110",
    ),
    "range: 110000 is in range": ("profile.highest >> second_byte", "0x110"),
    "range: high bits are cut off": ("refused = code_point[width:].any()", "refused = 0"),
    "overlong: 7F in two bytes": ("~value[FORM_BITS[form] :]", "~value[FORM_BITS[form] - 1 :]"),
    "groups in the wrong order": (
        "6 * (count - 1) : 6 * count]",
        "6 * (longest - 1 - count) : 6 * (longest - count)]",
    ),
    "last with every byte": ("last if count == 1 else 0", "last"),
    "last with the lead byte": ("self.i.p.last & ~more", "self.i.p.last"),
    "last forgotten": (" last.eq(self.i.p.last),", " last.eq(0),"),
    "no error flag": ("self.o.p.error.eq(refused)", "self.o.p.error.eq(0)"),
    "refused value sent": ("Mux(refused, REPLACEMENT, self.i.p.code_point)", "self.i.p.code_point"),
    "taken while sending": ("self.i.ready.eq(free & ~sending)", "self.i.ready.eq(free)"),
    "byte changes under stall": ("free.eq(~self.o.valid | self.o.ready)", "free.eq(1)"),
    "bubble after every byte": ("free.eq(~self.o.valid | self.o.ready)", "free.eq(~self.o.valid)"),
}


def altered(component: str, edits: Iterable[tuple[str, str]]) -> type[Decoder] | type[Encoder]:
    """The class of a component whose source is edited, or that of the tables which it uses."""
    modules = {"tables": tables, component: {"decoder": decoder, "encoder": encoder}[component]}
    sources = {name: inspect.getsource(module) for name, module in modules.items()}
    for good, bad in edits:
        if sum(source.count(good) for source in sources.values()) != 1:
            # No AssertionError, which some tests expect of a design.
            raise LookupError(f"{good!r} is not in the {component}'s source once")
        sources = {name: source.replace(good, bad) for name, source in sources.items()}
    edited = {}
    for name, source in sources.items():
        edited[name] = {"__name__": "utf8_hdl.broken", "__package__": "utf8_hdl"}
        exec(compile(source, f"<broken {name}>", "exec"), edited[name])
    edited[component]["tables"] = SimpleNamespace(**edited["tables"])
    return edited[component][component.capitalize()]


def broken(name: str) -> Decoder | Encoder:
    """A design with one of the breaks."""
    if name in BREAKS_OF_OTHER_RULES:
        profile, *edit = BREAKS_OF_OTHER_RULES[name]
        return altered("decoder", [edit])(profile)
    component = "decoder" if name in BREAKS else "encoder"
    return altered(component, [(BREAKS | ENCODER_BREAKS)[name]])()


def verilog_ports(verilog: str) -> dict[str, int]:
    """Names and widths of the ports of generated Verilog, in order."""
    [module] = re.findall(r"^module \w+ \(\n(.*?)\n\);$", verilog, re.M | re.S)
    ports = re.findall(r"^  (?:in|out)put wire (?:\[(\d+):0\] )?(\w+)(?:,|$)", module, re.M)
    assert len(ports) == module.count("put ")
    return {name: int(high or 0) + 1 for high, name in ports}


def quick_engine(design: Decoder | Encoder) -> Engine:
    """A compiled one, if there is a compiler."""
    return (CxxrtlEngine if shutil.which(CXX) else AmaranthEngine)(design)


def campaign_catches(design: Decoder | Encoder) -> bool:
    """Whether the built-in campaign finds a difference or a hang, at full rate or with stalls."""
    engine = AmaranthEngine(design)
    for part in campaign(engine, seed=0):
        for stalls in (STALLS["full rate"], STALLS["both slow"]):
            try:
                difference = Lockstep(engine, Stimulus(part.pieces(), *stalls)).run()
            except HangError:
                return True
            if difference:
                assert difference.expected != difference.actual
                return True
    return False
